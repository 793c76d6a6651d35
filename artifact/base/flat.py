"""Flat vectors: one model is a vector [P], all clients of a round are one matrix [S, P].

The order is torch's ``.parameters()`` order, row-major inside a tensor. Nothing else slices a flat vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from artifact.base.lazy import Tensor, nn, torch


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the tensors that make up a flat vector.

    names: parameter names; shapes: their shapes; both in ``.parameters()`` order.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Layout:
        return cls(tuple(tensors), tuple(tuple(t.shape) for t in tensors.values()))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def numel(self) -> int:
        """P, the length of the flat vector."""
        return sum(self.sizes)

    def slices(self) -> Iterator[tuple[str, slice]]:
        """(name, slice of the flat vector) per tensor."""
        start = 0
        for name, size in zip(self.names, self.sizes, strict=True):
            yield name, slice(start, start + size)
            start += size

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of the last axis: [..., P] -> {name: [..., *shape]}; writes go through to ``flat``."""
        parts = flat.split(self.sizes, dim=-1)
        lead = flat.shape[:-1]
        return {n: p.view((*lead, *s)) for n, p, s in zip(self.names, parts, self.shapes, strict=True)}

    def flatten(self, tensors: Mapping[str, Tensor], lead: int = 0) -> Tensor:
        """Inverse of ``views``: {name: [..., *shape]} with ``lead`` leading axes -> [..., P]."""
        return torch.cat([tensors[name].flatten(lead) for name in self.names], dim=-1)


def parameters(model: nn.Module) -> dict[str, Tensor]:
    return dict(model.named_parameters())


def buffers(model: nn.Module) -> dict[str, Tensor]:
    """Floating-point buffers (running statistics); they are averaged like weights, beside the flat vector."""
    return {name: b for name, b in model.named_buffers() if b.is_floating_point()}


def norm(v: Tensor) -> Tensor:
    """L2 norm over the last axis, kept: [..., P] -> [..., 1]."""
    return torch.linalg.vector_norm(v, dim=-1, keepdim=True)


def unit(v: Tensor, stabiliser: float = 0.0) -> Tensor:
    """v / (||v|| + stabiliser) over the last axis; unit(0) = 0."""
    length = norm(v) + stabiliser
    return v / torch.where(length > 0, length, torch.ones_like(length))
