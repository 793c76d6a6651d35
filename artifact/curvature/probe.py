"""Pairs that a solver found, and the probe that looks for what it missed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from artifact.curvature.hessian import HessianOperator
from artifact.curvature.lanczos import Krylov, random_unit

#: How far out an eigenvalue is, by ``which``: largest algebraic, smallest algebraic, largest magnitude.
SCORES: dict[str, Callable] = {"LA": lambda x: x, "SA": lambda x: -x, "LM": abs}
#: A missed eigenvalue may lie beyond the probe's by this share of the spectrum's width ...
_PROBE_SHARE = 0.1
#: ... with at most this probability over the probe's random start.
_PROBE_RISK = 1e-3


@dataclass(frozen=True)
class Pairs:
    """Ritz pairs, outermost first, with fresh residuals; rounding: of one product with a unit vector."""

    values: Tensor
    vectors: Tensor
    residuals: Tensor
    rounding: float
    which: str
    tol: float

    @property
    def allowed(self) -> Tensor:
        """Residual [k] that counts as converged; a value near zero cannot be asked for more than rounding allows."""
        return (self.tol * self.values.abs()).clamp_min(4 * self.rounding)

    @property
    def limits(self) -> Tensor:
        """Scores [k] beyond which an eigenvalue in the complement contradicts the rank of the found ones."""
        return SCORES[self.which](self.values) + torch.maximum(self.residuals, self.allowed)

    @property
    def any_converged(self) -> bool:
        return bool((self.residuals <= self.allowed).any())


def rayleigh_ritz(operator: HessianOperator, V: Tensor, which: str, k: int, tol: float) -> Pairs:
    """Best k pairs in the span of the rows of V, from fresh products."""
    Q = torch.linalg.qr(V.T)[0].T.contiguous()
    HQ = operator(Q, fresh=True)
    T = (Q @ HQ.T).double()
    values, S = torch.linalg.eigh(((T + T.T) / 2).cpu())
    order = sorted(range(len(values)), key=lambda i: -float(SCORES[which](values[i])))[:k]
    values, S = values[order], S[:, order].to(V)
    vectors = S.T @ Q
    lengths = torch.linalg.vector_norm(vectors, dim=1, keepdim=True, dtype=torch.float64).to(vectors)
    residuals = ((S.T @ HQ - values[:, None].to(V) * vectors) / lengths).norm(dim=1).double().cpu()
    rounding = 16 * torch.finfo(V.dtype).eps * operator.norm
    return Pairs(values, vectors / lengths, residuals + rounding, rounding, which, tol)


class Probe:
    """Lanczos in the orthogonal complement of found pairs, from a fresh random start.

    It takes at least the steps that bound a miss by ``_PROBE_SHARE`` at ``_PROBE_RISK``, then up to ``budget`` steps
    until the complement is known to lie inside the found ones or a converged pair lies beyond them.

    outermost: upper end of the outermost Ritz interval in the complement; reach: that Ritz score; found_more: a
    converged pair beyond the found ones; ceiling: see ``EigenResult``.
    """

    def __init__(self, operator: HessianOperator, pairs: Pairs, seed: tuple[int, int], budget: int):
        self.pairs = pairs
        self.limit = float(pairs.limits[-1])
        self.outermost = self.reach = self.ceiling = -math.inf
        self.found_more = False
        self.room = operator.size - len(pairs.vectors)
        if self.room == 0:
            return
        exponent = math.log(1.648 * math.sqrt(self.room) / (_PROBE_RISK / 2))
        self.first = min(self.room, math.ceil((exponent / math.sqrt(_PROBE_SHARE) + 1) / 2))
        start = random_unit(operator.size, pairs.vectors, seed[0], "curvature/probe", seed[1])
        self.krylov = Krylov(operator, start, against=pairs.vectors)
        self._search(min(self.room, max(self.first, budget)))

    def _search(self, cap: int) -> None:
        krylov, settled = self.krylov, False
        while not settled and krylov.steps < cap and not krylov.exhausted:
            krylov.extend()
            if krylov.steps >= self.first or krylov.exhausted:
                settled = self._judge()
        share = 0.0 if krylov.exhausted else _PROBE_SHARE / (1 - 2 * _PROBE_SHARE)
        self.ceiling = self.reach + share * float(self.values[-1] - self.values[0])

    def _judge(self) -> bool:
        self.values, self.S = self.krylov.tridiagonal()
        scores = SCORES[self.pairs.which](self.values)
        slack = self.krylov.beta[-1] * np.abs(self.S[-1])
        self.best = int(np.argmax(scores))
        self.reach = float(scores[self.best])
        ends = (0, len(scores) - 1) if self.pairs.which == "LM" else (self.best,)
        self.outermost = max(float(scores[i] + slack[i]) for i in ends)
        sharp = slack[self.best] <= max(self.pairs.tol * abs(self.reach), self.pairs.rounding)
        self.found_more = bool(sharp and self.reach > self.limit)
        return self.found_more or self.outermost <= self.limit

    def explored(self) -> tuple[Tensor, float]:
        """Orthonormal rows [m, n], orthogonal to the pairs, and the trace of the operator restricted to them."""
        if self.room == 0:
            return self.pairs.vectors[:0], 0.0
        return self.krylov.basis, float(sum(self.krylov.alpha))

    def vector(self) -> Tensor:
        """The outermost Ritz vector of the complement [1, n]."""
        return self.krylov.vectors(self.S[:, [self.best]])
