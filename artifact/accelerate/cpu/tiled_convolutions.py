"""Gradients of narrow convolutional networks by formulas: what a pooling compares is one column of a matrix product.

A convolution of few channels gives the kernels of a library little to do at a time. The outputs in one window of a
max-pooling, a tile, share most of their pixels: they see one patch of the image and are its product with a matrix that
holds the kernel once per output, shifted, and zeros elsewhere. For 5 x 5 kernels and windows of 2 x 2 a third of the
matrix is zeros, but one large product over all tiles runs at the processor's full rate, patches overlap less than
patches of single outputs, and the pooling compares different rows: it is a maximum of matrices.

The batch is innermost, [R, C, H, W, B] for R clients: patches are cut and joined in runs of B numbers, and to the fully
connected layers behind it the last image is a matrix of columns.

This room stays for the thesis CNN (cnn-mnist): training by ``loop`` takes 1.76 times as long on the processor with AVX2
alone, 1.24 times on that with AVX-512 and 1.39 times on that with AMX (FedSAM; the timings stand in ``backends.toml``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor, nn

from artifact.accelerate.cpu.fully_connected import Perceptron, is_flatten, layers_in_a_row
from artifact.accelerate.loops import loops_for
from artifact.base.flat import Layout
from artifact.models.networks import Dropout, Model, plain_convolution


class Kept(NamedTuple):
    """What the way back needs of a tiled convolution.

    matrix: [R, p p O, patch].  patches: [R, patch, tiles B].  candidates: [R, p p, O, tiles B], of which pooling has
    taken the largest, [R, O, tiles B].  winner: which these are, where compiled loops have pooled.
    """

    matrix: Tensor
    patches: Tensor
    candidates: Tensor
    largest: Tensor
    winner: Tensor | None


@dataclass(frozen=True)
class Tiling:
    """A convolution without padding, and the max-pooling of p x p behind it (p = 1: none).

    image: height and width that it gets.
    """

    channels: int
    outputs: int
    kernel: tuple[int, int]
    image: tuple[int, int]
    pool: int

    @property
    def pooled(self) -> tuple[int, int]:
        """Height and width behind the pooling."""
        (H, W), (high, wide) = self.image, self.kernel
        return (H - high + 1) // self.pool, (W - wide + 1) // self.pool

    @property
    def patch(self) -> tuple[int, int]:
        """Pixels that one tile sees."""
        high, wide = self.kernel
        return self.pool + high - 1, self.pool + wide - 1

    @property
    def numbers(self) -> int:
        """About what a pass holds for one sample: patches and their derivatives, three matrices of candidates."""
        tall = 2 * self.channels * math.prod(self.patch) + 3 * self.pool**2 * self.outputs
        return tall * math.prod(self.pooled)

    def forward(self, x: Tensor, weight: Tensor) -> tuple[Tensor, Kept]:
        """x: [R, C, H, W, B], weight: [R, O, C, k, l] -> ([R, O, h, w, B] without bias, what ``backward`` needs)."""
        matrix, patches = self._spread(weight), self._cut(x)
        candidates = torch.bmm(matrix, patches).unflatten(1, (self.pool**2, -1))
        largest, winner = self._pool(candidates)
        return largest.unflatten(2, (*self.pooled, x.shape[-1])), Kept(matrix, patches, candidates, largest, winner)

    def backward(self, d: Tensor, kept: Kept, weight: Tensor, inwards: bool) -> Tensor | None:
        """Derivatives of the loss, from those in the outputs, d [R, O, h, w, B], which ``kept`` serves once.

        Those in the kernels are written to weight [R, O, C, k, l]; those in the images are the result if ``inwards``.
        """
        dy = self._unpool(d.flatten(2), kept)
        torch.sum(torch.stack([*self._places(torch.bmm(dy, kept.patches.mT))]), 0, out=weight)
        return self._mend(torch.bmm(kept.matrix.mT, dy), d.shape[-1]) if inwards else None

    def _places(self, matrix: Tensor) -> Iterator[Tensor]:
        """Where a matrix [R, p p O, patch] holds the kernel: views [R, O, C, k, l], one per output of a tile."""
        p, (high, wide) = self.pool, self.kernel
        blocks = matrix.view(len(matrix), p, p, self.outputs, self.channels, *self.patch)
        for i, j in itertools.product(range(p), range(p)):
            yield blocks[:, i, j, ..., i : i + high, j : j + wide]

    def _spread(self, weight: Tensor) -> Tensor:
        """[R, O, C, k, l] -> [R, p p O, patch]."""
        rows, columns = self.pool**2 * self.outputs, self.channels * math.prod(self.patch)
        matrix = weight.new_zeros(len(weight), rows, columns)
        for place in self._places(matrix):
            place.copy_(weight)
        return matrix

    def _cut(self, x: Tensor) -> Tensor:
        """[R, C, H, W, B] -> [R, patch, tiles B]."""
        for axis, patch in zip((2, 3), self.patch, strict=True):
            x = x.unfold(axis, patch, self.pool)  # the pixels of a patch become the last axis
        return x.permute(0, 1, 5, 6, 2, 3, 4).flatten(4).flatten(1, 3)

    def _mend(self, patches: Tensor, batch: int) -> Tensor:
        """The adjoint of ``_cut``: overlapping patches add up, along one axis, then along the other."""
        p, (high, wide), (h, w) = self.pool, self.patch, self.pooled
        loops = loops_for(patches)
        if loops is not None:
            x = patches.new_empty(len(patches), self.channels, *self.image, batch)
            tiles = patches.view(-1, high, wide, h, w, batch)
            loops.mend(tiles.numpy(), p, x.flatten(0, 1).numpy())
            return x
        parts = patches.view(len(patches), self.channels, high, wide, h, w, batch)
        rows = patches.new_zeros(len(patches), self.channels, self.image[0], wide, w, batch)
        for i in range(high):
            rows[:, :, i : i + p * h : p] += parts[:, :, i].transpose(2, 3)
        x = patches.new_zeros(len(patches), self.channels, *self.image, batch)
        for j in range(wide):
            x[:, :, :, j : j + p * w : p] += rows[:, :, :, j]
        return x

    def _pool(self, candidates: Tensor) -> tuple[Tensor, Tensor | None]:
        """[R, p p, O, tiles B] -> the largest, [R, O, tiles B], and by compiled loops which these are."""
        loops = loops_for(candidates) if self.pool > 1 else None
        if loops is None:
            return reduce(torch.maximum, candidates.unbind(1)), None
        largest = torch.empty_like(candidates[:, 0])
        winner = torch.empty(largest.shape, dtype=torch.int8)
        loops.pool_planes(candidates.numpy(), largest.numpy(), winner.numpy())
        return largest, winner

    def _unpool(self, d: Tensor, kept: Kept) -> Tensor:
        """[R, O, tiles B] -> [R, p p O, tiles B]: of equal candidates the first one, as in torch."""
        loops = None if kept.winner is None else loops_for(kept.candidates)
        if loops is not None and kept.winner is not None:
            dy, d = torch.empty_like(kept.candidates), d.contiguous()
            loops.unpool_planes(d.numpy(), kept.winner.numpy(), dy.numpy())
            return dy.flatten(1, 2)
        below = kept.candidates.sub_(kept.largest[:, None])
        dy, nearly_zero = torch.empty_like(below), -torch.finfo(d.dtype).tiny
        for candidate, place in zip(below.unbind(1)[:-1], dy.unbind(1), strict=False):
            torch.ops.aten.threshold_backward.grad_input(d, candidate, nearly_zero, grad_input=place)
            d = d - place
        dy[:, -1] = d
        return dy.flatten(1, 2)


@dataclass(frozen=True)
class Block:
    """A convolution with its pooling, and the layers behind: ReLU and dropout of channels, which commute with it."""

    name: str
    tiling: Tiling
    behind: tuple[nn.Module, ...]

    @property
    def units(self) -> int:
        """Uniform numbers per sample that dropout takes."""
        return sum(layer.units for layer in self.behind if isinstance(layer, Dropout))

    def forward(
        self, x: Tensor, weights: dict[str, Tensor], uniforms: Tensor
    ) -> tuple[Tensor, tuple[Kept, list[Tensor]]]:
        """x: [R, C, H, W, B], uniforms: [R, B, units] -> ([R, O, h, w, B], what ``backward`` needs)."""
        outputs, kept = self.tiling.forward(x, weights[f"{self.name}.weight"])
        a, seen, used = outputs + weights[f"{self.name}.bias"][..., None, None, None], [], 0
        for layer in self.behind:
            if isinstance(layer, Dropout):
                draws, used = uniforms[..., used : used + layer.units].mT, used + layer.units
                seen.append(layer.factors(draws, a.dtype)[:, :, None, None])
                a = a * seen[-1]
            else:
                a = a.relu()
                seen.append(a)
        return a, (kept, seen)

    def backward(
        self, d: Tensor, passed: tuple[Kept, list[Tensor]], gradients: dict[str, Tensor], inwards: bool
    ) -> Tensor | None:
        """Fills its entries of ``gradients``; the derivatives in x are the result if ``inwards``."""
        kept, seen = passed
        for layer, factor in zip(reversed(self.behind), reversed(seen), strict=True):
            dropped = isinstance(layer, Dropout)
            d = d * factor if dropped else torch.ops.aten.threshold_backward(d, factor, 0.0)
        torch.sum(d, (2, 3, 4), out=gradients[f"{self.name}.bias"])
        return self.tiling.backward(d, kept, gradients[f"{self.name}.weight"], inwards)


@dataclass(frozen=True)
class TiledNetwork:
    """Convolutions by tiles, then fully connected layers."""

    blocks: tuple[Block, ...]
    head: Perceptron
    layout: Layout

    @classmethod
    def of(cls, model: nn.Module, layout: Layout) -> TiledNetwork | None:
        """None for a model that has other layers."""
        layers, blocks = layers_in_a_row(model, layout), []
        if not layers or not isinstance(model, Model) or not hasattr(model, "input_shape"):
            return None
        _, height, width = model.input_shape
        image = height, width
        while layers and _written(layers[0][1]):
            blocks.append(_take_block(layers, image))
            image = blocks[-1].tiling.pooled
        head = Perceptron.of_layers(layers, layout) if blocks and _makes_rows(layers, blocks[-1].tiling) else None
        return None if head is None else cls(tuple(blocks), head, layout)

    def gradients(self, W: Tensor, x: Tensor, y: Tensor, uniforms: Tensor | None, memory: int) -> Tensor:
        """W: [R, P], x: [R, B, C, H, W], y: [R, B], uniforms: [R, B, D] or None -> [R, P], of mean losses.

        As many clients in one call as fit into ``memory`` bytes, one at least.
        """
        per_client = x.element_size() * x.shape[1] * sum(block.tiling.numbers for block in self.blocks)
        size = max(1, memory // per_client)
        if size >= len(W):
            return self._in_one_call(W, x, y, uniforms)
        given = [None] * -(-len(W) // size) if uniforms is None else uniforms.split(size)
        return torch.cat([*map(self._in_one_call, W.split(size), x.split(size), y.split(size), given)])

    def _in_one_call(self, W: Tensor, x: Tensor, y: Tensor, uniforms: Tensor | None) -> Tensor:
        out = torch.empty_like(W)
        weights, gradients = self.layout.views(W), self.layout.views(out)
        *draws, rest = self._shares(x.new_empty(*y.shape, 0) if uniforms is None else uniforms)
        a, passed = x.permute(0, 2, 3, 4, 1).contiguous(), []
        for block, share in zip(self.blocks, draws, strict=True):
            a, seen = block.forward(a, weights, share)
            passed.append(seen)
        d = self.head.fill(weights, gradients, a.flatten(1, 3).mT, y, rest, inwards=True)
        d = d.mT.contiguous().view(a.shape)
        for block, seen in zip(reversed(self.blocks), reversed(passed), strict=True):
            below = block.backward(d, seen, gradients, inwards=block is not self.blocks[0])
            d = d if below is None else below
        return out

    def _shares(self, uniforms: Tensor) -> tuple[Tensor, ...]:
        """Each block's uniform numbers, then the fully connected layers' own."""
        units = [block.units for block in self.blocks]
        return uniforms.split([*units, uniforms.shape[-1] - sum(units)], -1)


def _take_block(layers: list[tuple[str, nn.Module]], image: tuple[int, int]) -> Block:
    """The convolution that the list of layers begins with and what belongs to it; they leave the list."""
    (name, convolution), pool, behind = layers.pop(0), 1, []
    assert plain_convolution(convolution)
    for _, layer in layers:
        if isinstance(layer, nn.ReLU) or (isinstance(layer, Dropout) and layer.units == convolution.out_channels):
            behind.append(layer)
        elif isinstance(layer, nn.MaxPool2d) and pool == 1 and (side := _square(layer)):
            pool = side
        else:
            break
    del layers[: len(behind) + (pool > 1)]
    height, width = convolution.kernel_size
    tiling = Tiling(convolution.in_channels, convolution.out_channels, (height, width), image, pool)
    return Block(name, tiling, tuple(behind))


def _makes_rows(layers: list[tuple[str, nn.Module]], last: Tiling) -> bool:
    """Whether the last image becomes a row, with nothing before but what takes every number by itself."""
    size = last.outputs * math.prod(last.pooled)
    for _, layer in layers:
        if not isinstance(layer, nn.ReLU) and not (isinstance(layer, Dropout) and layer.units == size):
            return is_flatten(layer)
    return False


def _written(layer: nn.Module) -> bool:
    """Whether it is a convolution of the only kind that is written here."""
    if not plain_convolution(layer) or layer.bias is None:
        return False
    return {*layer.stride, *layer.dilation} == {1} and {*layer.padding} == {0}


def _square(layer: nn.MaxPool2d) -> int:
    """The side of its windows, if these are squares of more than a pixel that lie side by side, else 0."""
    side = layer.kernel_size
    apart = layer.stride == side and layer.padding == 0 and layer.dilation == 1 and not layer.ceil_mode
    return side if isinstance(side, int) and side > 1 and apart else 0
