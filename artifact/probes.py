"""Measurements of a round: pure functions of what the engine passes by, never part of a method."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from artifact import algorithms
from artifact.algorithms.lesam import FedLESAM
from artifact.cohort import Context
from artifact.flat import norm, unit


class PerturbationProbe:
    """Norm of the perturbations that a round applies, and how they point.

    intended: cosine to what the paper's formula gives for the same client, weights and minibatch. For FedLESAM that
    is w_old - w of the client's own last visit; the probe is given it, since the released code does not keep it.
    global: cosine to the gradient of the whole training loss at w^t (cost: one pass over all data per probed round).
    """

    def __init__(
        self,
        method: algorithms.FedAvg,
        w: Tensor,
        global_gradient: Tensor,
        last_seen: Tensor | None,
        uncounted: Callable[[], AbstractContextManager],
    ):
        """w, global_gradient: [P].  last_seen: [S, P] models that the cohort last received, nan before a first visit.

        uncounted: context in which gradients do not count as a cost of the method.
        """
        self.w, self.global_gradient, self.last_seen, self.uncounted = w, global_gradient, last_seen, uncounted
        own = {name: getattr(method, name) for name in algorithms.hyperparameters(method.name)}
        self.formula = algorithms.build(method.name, **own)
        self.values: dict[str, list[Tensor]] = {"norm": [], "intended": [], "global": []}

    def before(self, W: Tensor, G: Callable[[Tensor], Tensor], c: Context, rows: Tensor | None) -> None:
        with self.uncounted():
            self.reference = self._intended(W, G, copy.copy(c), rows)

    def _intended(self, W: Tensor, G: Callable[[Tensor], Tensor], c: Context, rows: Tensor | None) -> Tensor | None:
        if isinstance(self.formula, FedLESAM):
            return (self.last_seen if rows is None else self.last_seen[rows]) - self.w
        if isinstance(self.formula, algorithms.FedSpeed):
            return unit(G(W))
        return self.formula.perturbation(W, G, c)

    def after(self, W: Tensor, c: Context, rows: Tensor | None) -> None:
        if c.e is None:
            return
        self.values["norm"].append(norm(c.e)[:, 0])
        self.values["global"].append(_cosines(c.e, self.global_gradient))
        if self.reference is not None:
            self.values["intended"].append(_cosines(c.e, self.reference))

    def summary(self) -> dict[str, float | None]:
        """Means over clients and steps, cosines over the perturbations that are not zero; None without any."""
        return {name: _mean(values) for name, values in self.values.items()}


def _cosines(e: Tensor, reference: Tensor) -> Tensor:
    """[R] cosines of rows that are both not zero."""
    reference = reference.expand_as(e)
    valid = (norm(e)[:, 0] > 0) & (norm(reference)[:, 0] > 0)  # false for nan: a client that was never sampled
    return (unit(e) * unit(reference)).sum(-1)[valid]


def _mean(values: list[Tensor]) -> float | None:
    flat = torch.cat(values) if values else torch.empty(0)
    return flat.mean().item() if len(flat) else None
