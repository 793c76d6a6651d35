"""Datasets with random transforms: every local step reads its minibatch anew.

The random numbers of the transforms, from torch, numpy or Python, are a function of (seed, round, client, step).
Therefore methods under one seed see the same images, and a resumed training needs no stored state.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves
from torch.utils.data import DataLoader, TensorDataset

from artifact.base.random import key
from artifact.interface.entry import Collate, Pair, collated, is_dataset, pair
from artifact.interface.own_model import Samples, forked

#: samples that are read twice, to find transforms with a generator of their own
_TWICE = 8


@dataclass(frozen=True)
class Live:
    """A Dataset that is read by the minibatch."""

    dataset: Any
    collate_fn: Collate | None
    name: str

    def batch(self, numbers: list[int]) -> Pair:
        """(inputs, labels) of some samples, read now."""
        return pair(collated([self.dataset[i] for i in numbers], self.name, self.collate_fn), self.name)


def source(given: Any, name: str, collate_fn: Collate | None, seed: int, client: int) -> tuple[Pair, Live | None]:
    """All samples as they are read at first, and the Dataset itself where its samples change.

    They change where reading draws random numbers, or reads other numbers the second time.
    """
    with forked(key(seed, "samples", -1, client)):
        before = _states()
        first = pair(given, name, collate_fn)
        drew = not _same(before, _states())
        if isinstance(given, DataLoader):
            own = None if given.collate_fn is torch.utils.data.default_collate else given.collate_fn
            given, collate_fn = given.dataset, collate_fn or own
        if not is_dataset(given) or isinstance(given, TensorDataset):
            return first, None
        live = Live(given, collate_fn, name)
        some = list(range(min(_TWICE, len(given))))
        if drew or not _equal(live.batch(some), live.batch(some)):
            return first, live
        return first, None


class LiveSamples(Samples):
    """Inputs of all samples, and of each client's present minibatch as it was just read.

    ends: [m], where the samples of each client end.
    """

    def __init__(self, inputs: Any, ends: np.ndarray):
        super().__init__(inputs)
        self.ends, self.now = ends, dict[int, tuple[Tensor, Any]]()

    def client(self, index: Tensor) -> int:
        return int(np.searchsorted(self.ends, int(index[0]), side="right"))

    def put(self, index: Tensor, inputs: Any) -> None:
        self.now[self.client(index)] = (index, inputs)

    def drop(self, index: Tensor) -> None:
        self.now.pop(self.client(index), None)

    def __getitem__(self, index: Tensor) -> Any:
        kept = self.now.get(self.client(index)) if index.dim() and len(index) else None
        if kept is not None and torch.equal(kept[0], index):
            return kept[1]
        return super().__getitem__(index)


def _states() -> tuple[Any, Any, Any]:
    return torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002  (what transforms may use)


def _same(one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> bool:
    of_numpy = one[1][2] == other[1][2] and np.array_equal(one[1][1], other[1][1])
    return torch.equal(one[0], other[0]) and of_numpy and one[2] == other[2]


def _equal(one: Pair, other: Pair) -> bool:
    leaves = zip(tree_leaves(one), tree_leaves(other), strict=True)
    return all(a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in leaves)
