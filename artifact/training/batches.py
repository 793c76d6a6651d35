"""Which samples every local step of a cohort takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from artifact.base.devices import sent
from artifact.base.random import stream


@dataclass(frozen=True)
class Schedule:
    """Samples of every local step of a cohort.

    indices: [S, K, B] sample indices, padded with 0.  lengths: S lists of the true batch lengths; a client has
    ``len(lengths[i])`` steps.
    """

    indices: Tensor
    lengths: list[list[int]]

    def on(self, device: torch.device) -> Schedule:
        return Schedule(sent(self.indices, device), self.lengths)

    def groups(self, k: int, members: list[int]) -> list[tuple[list[int], Tensor]]:
        """(positions among ``members``, indices [R, B]) of step k, one entry per batch length."""
        by_length: dict[int, list[int]] = {}
        for position, member in enumerate(members):
            by_length.setdefault(self.lengths[member][k], []).append(position)
        return [
            (positions, self._rows([members[p] for p in positions])[:, k, :length])
            for length, positions in by_length.items()
        ]

    def _rows(self, members: list[int]) -> Tensor:
        """Indices of some members of the cohort, ascending; of neighbours without copying."""
        first, last = members[0], members[-1]
        if last - first + 1 == len(members):
            return self.indices[first : last + 1]
        return self.indices[sent(torch.tensor(members), self.indices.device)]


def schedule(pools: list[Tensor], clients: list[int], batch: int, steps: list[int], seed: int, t: int) -> Schedule:
    """Each epoch walks a client's samples in a new random order; the last batch of an epoch may be short."""
    batch = min(batch, max(len(pool) for pool in pools))
    indices = torch.zeros(len(clients), max(steps), batch, dtype=torch.int64)
    lengths = []
    for row, (pool, client, K) in enumerate(zip(pools, clients, steps, strict=True)):
        per_epoch = math.ceil(len(pool) / batch)
        generator = stream(seed, "batches", t, client)
        order = torch.zeros(math.ceil(K / per_epoch), per_epoch * batch, dtype=torch.int64)
        for epoch in order:
            epoch[: len(pool)] = pool[torch.randperm(len(pool), generator=generator)]
        indices[row, :K] = order.view(-1, batch)[:K]
        last = len(pool) - (per_epoch - 1) * batch
        lengths.append([last if k % per_epoch == per_epoch - 1 else batch for k in range(K)])
    return Schedule(indices, lengths)
