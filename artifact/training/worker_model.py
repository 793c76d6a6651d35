"""A thread's own copy of a model, whose parameters are pointed at a flat vector instead of being copied into it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable

import torch.nn.functional as F
from torch import Tensor, nn

from artifact.accelerate.cpu.fourier_convolutions import FourierConv2d, pays
from artifact.accelerate.cpu.pooling import PooledReLU
from artifact.base.flat import Layout, buffers
from artifact.models.activations import input_shapes
from artifact.models.networks import Chain, Model, plain_convolution

#: pixels along a side of outputs that are small to a convolution
FEW_PIXELS = 2


class Replica:
    """The model at any flat vector; what it computes is what ``functional_call`` computes, bit for bit.

    pool_first: max-pooling moves before the ReLU that it follows, which gives the same outputs and gradients (both are
    monotone and ReLU is elementwise) from a quarter of the ReLUs, and the two become one layer. Not for callers that
    watch activations.
    kind: the backend; "cropped" and "fourier" fit convolutions to their images (``fit_to_images``), the latter with
    spectra: the same function up to rounding.
    """

    def __init__(self, model: nn.Module, layout: Layout, buffer_layout: Layout, pool_first: bool, kind: str = "loop"):
        self.model = copy.deepcopy(model)
        for parameter in self.model.parameters():
            parameter.requires_grad_()
        if pool_first:
            pool_before_relu(self.model)
            pool_with_relu(self.model)
        self.kept: dict[str, tuple] = {}
        if kind in ("cropped", "fourier") and isinstance(self.model, Model) and hasattr(model, "input_shape"):
            self.kept = fit_to_images(self.model, spectra=kind == "fourier")
        self.layout, self.buffer_layout = layout, buffer_layout
        self.parameters = list(self.model.parameters())
        self.buffers = list(buffers(self.model).values())

    def point(self, w: Tensor, statistics: Tensor | None) -> None:
        """Take the parameters from w [P] and the running statistics, which move in training mode, from [Q]."""
        for parameter, (name, view) in zip(self.parameters, self.layout.views(w.detach()).items(), strict=True):
            parameter.data = view[self.kept[name]].contiguous() if name in self.kept else view
        if statistics is not None:
            for buffer, view in zip(self.buffers, self.buffer_layout.views(statistics).values(), strict=True):
                buffer.data = view

    def collect(self, gradients: Iterable[Tensor], out: Tensor) -> None:
        """Write gradients, in the order of ``parameters``, to their places in out [P]."""
        for gradient, (name, view) in zip(gradients, self.layout.views(out).items(), strict=True):
            if name in self.kept:
                view.zero_()
                view = view[self.kept[name]]
            view.copy_(gradient)


def pool_before_relu(model: nn.Module) -> None:
    """Swap every ReLU with the max-pooling right behind it, in models whose layers run in order of registration."""
    if not isinstance(model, Chain):
        return
    layers = list(model.named_children())
    for index in range(len(layers) - 1):
        if isinstance(layers[index][1], nn.ReLU) and isinstance(layers[index + 1][1], nn.MaxPool2d):
            layers[index], layers[index + 1] = layers[index + 1], layers[index]
    model._modules.clear()
    model._modules.update(layers)


def pool_with_relu(model: nn.Module) -> None:
    """Make one layer of every max-pooling and the ReLU right behind it, where ``pool_before_relu`` has swapped them."""
    layers = list(model.named_children()) if isinstance(model, Chain) else []
    for (name, pool), (follower, relu) in itertools.pairwise(layers):
        if isinstance(pool, nn.MaxPool2d) and isinstance(relu, nn.ReLU):
            model._modules[name] = PooledReLU(pool)
            del model._modules[follower]


def fit_to_images(model: Model, spectra: bool = False) -> dict[str, tuple]:
    """Fit the convolutions to the images that they get; index [O, C, k, k] of the taps kept, by name of the weight.

    Kernels keep the taps that ever meet their image. Where it has come down to one pixel, as in ResNet-18's last stage
    behind the ImageNet stem for 32x32 pixels, a 3x3 kernel is its centre: eight ninths of its products and of its
    gradient are zero. Weights that lose nothing are not in the result. Images of a few pixels lie in torch's default
    layout: with hundreds of channels and nothing to slide over, convolutions are faster there. With ``spectra`` wide
    ones on larger images go by these (``cpu.fourier_convolutions``), where that takes far fewer multiplications.
    """
    kept, was_training = {}, model.training
    model.eval()  # running statistics stay
    seen = input_shapes(model, next(model.parameters()).new_zeros(1, *model.input_shape), (nn.Conv2d,))
    model.train(was_training)
    for name, module, shape in seen:
        if not isinstance(module, nn.Conv2d) or module.padding_mode != "zeros" or isinstance(module.padding, str):
            continue
        image = shape[2:]
        axes = zip(image, module.kernel_size, module.stride, module.padding, module.dilation, strict=True)
        taps, padding = zip(*(useful_taps(*axis) for axis in axes), strict=True)
        size = tuple(part.stop - part.start for part in taps)
        if size != module.kernel_size:
            module.kernel_size, module.padding = size, padding
            kept[f"{name}.weight"] = (..., *taps)
        elif spectra and pays(module, image):
            module.__class__ = FourierConv2d  # the same tensors, another way to use them
        elif max(image) <= FEW_PIXELS * min(module.stride):
            module.register_forward_pre_hook(lambda _, inputs: (inputs[0].contiguous(),))
    return kept


def useful_taps(n: int, k: int, stride: int, padding: int, dilation: int = 1) -> tuple[slice, int]:
    """(taps of a kernel of k that meet one of n pixels, padding with which these alone give the same outputs)."""
    outputs = (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1
    first, last = max(0, padding - (outputs - 1) * stride), min(k - 1, n - 1 + padding)
    size, left = last - first + 1, padding - first
    if dilation > 1 or size < 1 or (n + 2 * left - size) // stride + 1 != outputs:
        return slice(0, k), padding
    return slice(first, last + 1), left


class ProductConv2d(nn.Conv2d):
    """The same convolution as one matrix product per batch: weights [O, C k k] times image patches [C k k, B h w]."""

    def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        assert not isinstance(self.padding, str)  # as ``plain_convolution`` has it
        patches = F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)
        axes = zip(x.shape[2:], self.kernel_size, self.stride, self.padding, self.dilation, strict=True)
        size = [(n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k, stride, padding, dilation in axes]
        products = weight.flatten(1) @ patches.transpose(0, 1).flatten(1)
        out = products.unflatten(1, (len(x), *size)).transpose(0, 1)
        return out if bias is None else out + bias[:, None, None]


def convolutions_as_products(model: nn.Module) -> nn.Module:
    """A copy of the model whose plain convolutions are matrix products, which a cohort turns into batched ones."""
    own = copy.deepcopy(model)
    for module in own.modules():
        if plain_convolution(module):
            module.__class__ = ProductConv2d  # the same tensors, another way to use them
    return own
