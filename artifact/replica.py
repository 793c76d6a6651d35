"""A thread's own copy of a model, whose parameters are pointed at a flat vector instead of being copied into it."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from artifact.flat import Layout, buffers
from artifact.models import Chain, Model


class Replica:
    """The model at any flat vector; what it computes is what ``functional_call`` computes, bit for bit.

    pool_first: max-pooling moves before the ReLU that it follows, which gives the same outputs and gradients (both
    are monotone and ReLU is elementwise) from a quarter of the ReLUs. Not for callers that watch activations.
    crop: kernels lose the taps that only ever meet padding, whose gradients are zero: the same function up to rounding.
    """

    def __init__(self, model: nn.Module, layout: Layout, buffer_layout: Layout, pool_first: bool, crop: bool = False):
        self.model = copy.deepcopy(model)
        for parameter in self.model.parameters():
            parameter.requires_grad_()
        if pool_first:
            pool_before_relu(self.model)
        self.kept = crop_kernels(self.model) if crop and hasattr(model, "input_shape") else {}
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


@torch.no_grad()
def crop_kernels(model: Model) -> dict[str, tuple]:
    """Leave every convolution the taps that ever meet its image; index [O, C, k, k] of those kept, by weight name.

    Where an image has come down to 1x1 pixel, as in ResNet-18's last stage behind the ImageNet stem for 32x32 pixels, a
    3x3 kernel is its centre: eight ninths of its products and of its gradient are zero. Weights that lose nothing are
    not in the result.
    """
    sizes: dict[nn.Conv2d, torch.Size] = {}
    named = {name: module for name, module in model.named_modules() if type(module) is nn.Conv2d}
    hooks = [
        module.register_forward_pre_hook(lambda module, inputs: sizes.update({module: inputs[0].shape[2:]}))
        for module in named.values()
    ]
    was_training = model.training
    model.eval()(next(model.parameters()).new_zeros(1, *model.input_shape))  # running statistics stay
    model.train(was_training)
    for hook in hooks:
        hook.remove()
    kept = {}
    for name, module in named.items():
        if module not in sizes or module.padding_mode != "zeros" or isinstance(module.padding, str):
            continue
        axes = zip(sizes[module], module.kernel_size, module.stride, module.padding, module.dilation, strict=True)
        taps, padding = zip(*(useful_taps(*axis) for axis in axes), strict=True)
        size = tuple(part.stop - part.start for part in taps)
        if size != module.kernel_size:
            module.kernel_size, module.padding = size, padding
            kept[f"{name}.weight"] = (..., *taps)
    return kept


def useful_taps(n: int, k: int, stride: int, padding: int, dilation: int = 1) -> tuple[slice, int]:
    """(taps of a kernel of k that meet one of n pixels, padding with which these alone give the same outputs)."""
    outputs = (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1
    first, last = max(0, padding - (outputs - 1) * stride), min(k - 1, n - 1 + padding)
    size, left = last - first + 1, padding - first
    if dilation > 1 or size < 1 or (n + 2 * left - size) // stride + 1 != outputs:
        return slice(0, k), padding
    return slice(first, last + 1), left
