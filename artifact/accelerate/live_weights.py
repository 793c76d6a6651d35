"""Local steps on the weights that meet a pixel alone; the others' movement in closed form at the end of the round.

Behind the ImageNet stem 4.2 of ResNet-18's 11.2 million weights meet a pixel of a CIFAR image. The others, the *idle*
ones, receive no gradient, and no gradient depends on them. Yet they move: weight decay shrinks them, and a dual, a
variate or a momentum pushes them. In the idle columns a local step adds and scales the vectors that the round began
with, by numbers that depend on norms over all columns (clipping, the length of an ascent).

Such a step treats the idle columns alike in any coordinates that keep lengths. So before the first step every vector's
idle part is replaced by its few coordinates along the directions that these vectors span. The method's own step then
runs on narrow matrices, [S, P_live + r] for r directions: sums, scalings and norms come out as on the whole ones. After
the last step coordinates become vectors again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from artifact.base.flat import Layout, unit


@dataclass(frozen=True)
class LiveWeights:
    """Which weights of a network meet a pixel.

    layout: of all weights.  crops: by name of a convolution's weight, the index [..., k, k] of the entries that do.
    """

    layout: Layout
    crops: Mapping[str, tuple]

    @cached_property
    def narrow(self) -> Layout:
        """The layout of the live weights, without the coordinates behind them."""
        return Layout.of(self.parts(torch.empty(self.layout.numel, device="meta")))

    def parts(self, V: Tensor) -> dict[str, Tensor]:
        """Views [..., *shape] of the live weights of [..., P], by name."""
        return {name: v[self.crops[name]] if name in self.crops else v for name, v in self.layout.views(V).items()}

    def taken(self, V: Tensor) -> Tensor:
        """[..., P] -> [..., P_live]."""
        return torch.cat([part.flatten(V.dim() - 1) for part in self.parts(V).values()], -1)

    def idle(self, V: Tensor) -> Tensor:
        """[..., P] -> [..., P], with zeros for the live weights."""
        rest = V.clone(memory_format=torch.contiguous_format)
        for part in self.parts(rest).values():
            part.zero_()
        return rest


class Narrow:
    """The vectors of a round on live weights and coordinates.

    live: which weights.  width: P_live + r.
    directions: r orthonormal idle vectors, [1, P] where every client has the same, else [S, P].
    """

    def __init__(self, live: LiveWeights, vectors: Iterable[Tensor]):
        """vectors: [P] or [S, P], those that local steps may read."""
        self.live, self.directions = live, list[Tensor]()
        self._narrow = live.narrow
        distinct = {id(v): v for v in vectors}.values()
        for vector in sorted(distinct, key=Tensor.dim):  # those that all clients share have coordinates that they share
            own = live.idle(vector if vector.dim() == 2 else vector[None])
            for _ in range(2):  # a vector along earlier ones leaves rounding errors, which are not orthogonal at once
                for earlier in self.directions:
                    own = own - _product(own, earlier) * earlier
                own = unit(own)
            self.directions.append(own)
        self.width = self._narrow.numel + len(self.directions)

    def entered(self, V: Tensor) -> Tensor:
        """[P] or [S, P] -> [width] or [S, width]."""
        if V.dtype == torch.bool:
            return torch.cat([self.live.taken(V), V.new_zeros(*V.shape[:-1], len(self.directions))], -1)
        rows = V if V.dim() == 2 else V[None]
        coordinates = [_product(rows, q) if V.dim() == 2 or len(q) == 1 else V.new_zeros(1, 1) for q in self.directions]
        return torch.cat([self.live.taken(V), *(one if V.dim() == 2 else one[0] for one in coordinates)], -1)

    def left(self, V: Tensor, before: Tensor | None, at_start: Tensor | None) -> Tensor:
        """[S, width] or [width] -> [S, P] or [P].

        before, at_start: the same vector when the round began, whole and narrow; None for one that was not there then.
        Adding what has changed keeps the bits of weights that have not moved.
        """
        size = self._narrow.numel
        change = V[..., size:] if at_start is None else V[..., size:] - at_start[..., size:]
        whole = (*V.shape[:-1], self.live.layout.numel)
        out = (
            V.new_zeros(whole) if before is None else before.expand(whole).clone(memory_format=torch.contiguous_format)
        )
        for number, direction in enumerate(self.directions):
            if V.dim() == 2 or len(direction) == 1:
                out.addcmul_(change[..., number : number + 1], direction if V.dim() == 2 else direction[0])
        for name, part in self.live.parts(out).items():
            part.copy_(self._narrow.views(V[..., :size])[name])
        return out


def _product(V: Tensor, direction: Tensor) -> Tensor:
    """[S, 1], of rows [S, P] with [1, P] or [S, P]."""
    return (V * direction).sum(-1, keepdim=True)


class NarrowRound:
    """Entries of a context on their way into the local steps and out again."""

    def __init__(self, live: LiveWeights, entries: dict[str, Any]):
        """entries: the attributes of a context; vectors of the model's length among them become narrow in place."""
        P = live.layout.numel
        self.whole = {n: v for n, v in entries.items() if torch.is_tensor(v) and v.dim() in (1, 2) and v.shape[-1] == P}
        self.form = Narrow(live, [v for v in self.whole.values() if v.is_floating_point()])
        once = {id(v): self.form.entered(v) for v in self.whole.values()}
        self.narrow = {name: once[id(v)] for name, v in self.whole.items()}
        entries.update(self.narrow)

    def leave(self, W: Tensor, entries: dict[str, Any]) -> Tensor:
        """The cohort's models [S, width] -> [S, P]; entries become whole in place."""
        for name, value in list(entries.items()):
            at_start = self.narrow.get(name)
            if at_start is not None and value is at_start:
                entries[name] = self.whole[name]
            elif torch.is_tensor(value) and value.dim() in (1, 2) and value.shape[-1] == self.form.width:
                same = at_start is not None and self.whole[name].dim() <= value.dim()
                given = (self.whole[name], at_start) if same else (None, None)
                entries[name] = self.form.left(value, *given)
        return self.form.left(W, self.whole["w"], self.narrow["w"])
