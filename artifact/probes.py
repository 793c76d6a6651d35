"""Measurements of a round: pure functions of what the engine passes by, never part of a method."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from artifact import algorithms
from artifact.algorithms.lesam import FedLESAM
from artifact.cohort import Cohort, Context
from artifact.flat import norm, unit

if TYPE_CHECKING:
    from artifact.engine import Trainer


class PerturbationProbe:
    """Norm of the perturbations that a round applies, and how they point.

    intended: cosine to what the paper's formula gives for the same client, weights and minibatch. For FedLESAM that
    is w_old - w of the client's own last visit; the probe remembers it, since the released code does not keep it.
    global: cosine to the gradient of the whole training loss at w^t (cost: one pass over all data per probed round).
    """

    def __init__(self, trainer: Trainer, C: Cohort):
        self.trainer, self.clients = trainer, C.clients
        everyone = trainer.gradients_of(trainer.w, list(range(trainer.config.clients)))
        weights = trainer.sizes.to(everyone.device) / trainer.sizes.sum().item()
        self.global_gradient = weights @ everyone
        method = trainer.algorithm
        own = {name: getattr(method, name) for name in algorithms.hyperparameters(method.name)}
        self.formula = algorithms.build(method.name, **own)
        self.values: dict[str, list[Tensor]] = {"norm": [], "intended": [], "global": []}

    def before(self, W: Tensor, G: Callable[[Tensor], Tensor], c: Context, rows: Tensor | None) -> None:
        counted = self.trainer.oracle.passes
        self.reference = self._intended(W, G, copy.copy(c), rows)
        self.trainer.oracle.passes = counted

    def _intended(self, W: Tensor, G: Callable[[Tensor], Tensor], c: Context, rows: Tensor | None) -> Tensor | None:
        if isinstance(self.formula, FedLESAM):
            clients = self.clients if rows is None else self.clients[rows]
            return self.trainer.last_seen[clients] - self.trainer.w if self.trainer.last_seen is not None else None
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
