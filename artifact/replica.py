"""A thread's own copy of a model, whose parameters are pointed at a flat vector instead of being copied into it."""

from __future__ import annotations

import copy

from torch import Tensor, nn

from artifact.flat import Layout, buffers
from artifact.models import Chain


class Replica:
    """The model at any flat vector; what it computes is what ``functional_call`` computes, bit for bit.

    pool_first: max-pooling moves before the ReLU that it follows, which gives the same outputs and gradients (both
    are monotone and ReLU is elementwise) from a quarter of the ReLUs. Not for callers that watch activations.
    """

    def __init__(self, model: nn.Module, layout: Layout, buffer_layout: Layout, pool_first: bool):
        self.model = copy.deepcopy(model)
        for parameter in self.model.parameters():
            parameter.requires_grad_()
        if pool_first:
            pool_before_relu(self.model)
        self.layout, self.buffer_layout = layout, buffer_layout
        self.parameters = list(self.model.parameters())
        self.buffers = list(buffers(self.model).values())

    def point(self, w: Tensor, statistics: Tensor | None) -> None:
        """Take the parameters from w [P] and the running statistics, which move in training mode, from [Q]."""
        for parameter, view in zip(self.parameters, self.layout.views(w.detach()).values(), strict=True):
            parameter.data = view
        if statistics is not None:
            for buffer, view in zip(self.buffers, self.buffer_layout.views(statistics).values(), strict=True):
                buffer.data = view


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
