"""Convolutions fitted to the small images that they get, in a worker's own copy of a model.

On images of a few pixels most entries of a kernel meet nothing but padding. ResNet-18 behind the ImageNet stem has one
pixel left in its last stage, for images of 32 x 32: of a 3 x 3 kernel only the centre counts, and eight ninths of the
multiplications and of the gradient are zeros. FedSAM's rounds of ResNet-18-GN take 1.32 times as long without this on
the processor with AMX and 1.18 times on that with AVX-512 (``backends.toml``).
"""

from __future__ import annotations

from torch import Tensor, nn

from artifact.models.activations import input_shapes
from artifact.models.networks import Model

#: pixels along a side of outputs that are small to a convolution
FEW_PIXELS = 2

#: by name of a convolution's weight: the index [O, C, k, k] of the entries that stay
Crops = dict[str, tuple]


def fit_to_images(model: Model) -> Crops:
    """Fit the model's convolutions to the images that they get; what was cropped of which weight.

    * A kernel keeps the entries that meet a pixel for some output; whoever sets the weights sets these alone.
    * Images of at most ``FEW_PIXELS`` outputs a side lie in torch's default layout, which is faster there: there are
      hundreds of channels and nothing to slide over.
    """
    crops: Crops = {}
    for name, layer, image in convolutions(model):
        if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
            continue
        kept, padding = fitted(layer, image)
        size = tuple(part.stop - part.start for part in kept)
        if size != layer.kernel_size:
            layer.kernel_size, layer.padding = size, padding
            crops[f"{name}.weight"] = (..., *kept)
        elif max(image) <= FEW_PIXELS * min(layer.stride):
            layer.register_forward_pre_hook(_in_default_layout)
    return crops


def fitted(layer: nn.Conv2d, image: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[int, ...]]:
    """By axis of the image: the kernel's entries that meet a pixel, and the padding of a kernel of these alone."""
    assert not isinstance(layer.padding, str)
    axes = zip(image, layer.kernel_size, layer.stride, layer.padding, layer.dilation, strict=True)
    kept, padding = zip(*(entries_that_meet_pixels(*axis) for axis in axes), strict=True)
    return kept, padding


def entries_that_meet_pixels(n: int, k: int, stride: int, padding: int, dilation: int = 1) -> tuple[slice, int]:
    """Entries of a kernel of length k that meet one of n pixels, and the padding with which they give the same outputs.

    >>> entries_that_meet_pixels(n=1, k=3, stride=1, padding=1)  # one pixel, padded on both sides: the centre alone
    (slice(1, 2, None), 0)
    """
    outputs = (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1
    first, last = max(0, padding - (outputs - 1) * stride), min(k - 1, n - 1 + padding)
    size, left = last - first + 1, padding - first
    if dilation > 1 or size < 1 or (n + 2 * left - size) // stride + 1 != outputs:
        return slice(0, k), padding
    return slice(first, last + 1), left


def convolutions(model: Model) -> list[tuple[str, nn.Conv2d, tuple[int, ...]]]:
    """(name, layer, height and width of its images) of all."""
    was_training = model.training
    model.eval()  # running statistics stay
    seen = input_shapes(model, next(model.parameters()).new_zeros(1, *model.input_shape), (nn.Conv2d,))
    model.train(was_training)
    return [(name, layer, tuple(shape[2:])) for name, layer, shape in seen if isinstance(layer, nn.Conv2d)]


def _in_default_layout(_layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (inputs[0].contiguous(),)
