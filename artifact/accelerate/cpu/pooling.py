"""Max-pooling of 2 x 2 pixels and the ReLU next to it as one layer, in a worker's own copy of a model.

Both functions are monotone, so their order does not matter: pooling first leaves a quarter of the ReLUs. One layer
takes one pass over the images instead of two, and keeps one byte per output for the backward pass, where torch keeps
eight.
"""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from artifact.accelerate.loops import loops_for
from artifact.models.networks import Chain

#: by type: integers of its size, and its infinity read as one
_BITS: dict[torch.dtype, tuple[torch.dtype, np.signedinteger]] = {
    torch.bfloat16: (torch.int16, np.int16(0x7F80)),
    torch.float32: (torch.int32, np.int32(0x7F800000)),
}
#: channels below which a vector is never full
_CHANNELS = 32


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


def join_pooling_and_relu(model: nn.Module) -> None:
    """Make one layer of every max-pooling and the ReLU right behind it, where ``pool_before_relu`` has swapped them."""
    layers = list(model.named_children()) if isinstance(model, Chain) else []
    for (name, pool), (follower, relu) in itertools.pairwise(layers):
        if isinstance(pool, nn.MaxPool2d) and isinstance(relu, nn.ReLU):
            model._modules[name] = PooledReLU(pool)
            del model._modules[follower]


class PooledReLU(nn.Module):
    """ReLU of a max-pooling: the numbers of torch's two layers, forward and backward."""

    def __init__(self, pool: nn.MaxPool2d):
        super().__init__()
        self.pool = pool
        self.pairs = (pool.kernel_size, pool.stride, pool.padding, pool.dilation, pool.ceil_mode) == (2, 2, 0, 1, False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, H, W] -> [B, C, H', W'], H' and W' as the pooling has them."""
        loops = _loops(x) if self.pairs else None
        return F.relu(self.pool(x)) if loops is None else _PooledReLU.apply(x, loops)


def _loops(x: Tensor) -> ModuleType | None:
    """The compiled loops for images with even sides and many channels, which lie innermost."""
    fits = x.dim() == 4 and x.shape[-1] % 2 == x.shape[-2] % 2 == 0 and x.shape[1] >= _CHANNELS
    return loops_for(_pixels_first(x.detach()), dtypes=tuple(_BITS)) if fits else None


class _PooledReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, loops: ModuleType) -> Tensor:
        integers, infinity = _BITS[x.dtype]
        bits = _pixels_first(x).view(integers)
        B, H, W, C = bits.shape
        y = bits.new_empty(B, H // 2, W // 2, C)
        ctx.winner, ctx.loops = torch.empty(y.shape, dtype=torch.int8), loops
        loops.pool_relu(bits.numpy(), infinity, np.iinfo(infinity).max, y.numpy(), ctx.winner.numpy())
        return _channels_second(y.view(x.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None]:
        bits = _pixels_first(dy).contiguous().view(_BITS[dy.dtype][0])
        B, H, W, C = bits.shape
        dx = bits.new_empty(B, 2 * H, 2 * W, C)
        ctx.loops.pool_relu_backward(bits.numpy(), ctx.winner.numpy(), dx.numpy())
        return _channels_second(dx.view(dy.dtype)), None


def _pixels_first(x: Tensor) -> Tensor:
    """[B, C, H, W] -> [B, H, W, C] without moving a number."""
    return x.permute(0, 2, 3, 1)


def _channels_second(x: Tensor) -> Tensor:
    return x.permute(0, 3, 1, 2)
