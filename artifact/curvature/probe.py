"""Pairs that a solver found, and what says that it missed none: a Krylov space that would have shown it.

How much of a uniformly random start lies along a given eigenvector is known: its squared component is below
eps^2 pi / (2 (n - 1)) with probability at most eps. What a Krylov space allows an unseen eigenvector to hold is known
too (``Krylov.log_weight``). Once that is less, an eigenvalue there would contradict all but a share eps of the starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from artifact.base.lazy import Tensor, torch
from artifact.curvature.hessian import HessianOperator
from artifact.curvature.lanczos import Krylov, random_unit

#: How far out an eigenvalue is, by ``which``: largest algebraic, smallest algebraic, largest magnitude.
SCORES: dict[str, Callable] = {"LA": lambda x: x, "SA": lambda x: -x, "LM": abs}
#: Ends of the spectrum that ``which`` looks at.
_ENDS: dict[str, tuple[int, ...]] = {"LA": (1,), "SA": (-1,), "LM": (1, -1)}
#: A missed eigenvalue may lie beyond the probe's by this share of the spectrum's width ...
_SHARE = 0.1
#: ... with at most this probability over the probe's random start.
RISK = 1e-3
#: From here on the tridiagonal matrix is diagonalised in every eighth step only.
_MANY = 64


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
    def limit(self) -> float:
        """The lowest of the limits."""
        return float(self.limits.min())

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


def excludes(krylov: Krylov, which: str, score: float) -> bool:
    """Whether an eigenvalue that scores this or more would show, with probability at least 1 - ``RISK``.

    score: beyond all Ritz values, which themselves are eigenvalues to within their residuals.
    """
    if krylov.room < 3:  # the bound on a start's component holds from there on; smaller spaces are searched entirely
        return False
    least = math.log((RISK / 2) ** 2 * math.pi / (2 * (krylov.room - 1)))
    return all(krylov.log_weight(end * score) <= least for end in _ENDS[which])


def ceiling(krylov: Krylov, which: str, reach: float) -> float:
    """The lowest score, to 1e-6 of its distance from the outermost Ritz score ``reach``, that is excluded."""
    low, step = reach, 1e-12 * max(abs(reach), krylov.noise, 1e-300)
    while not excludes(krylov, which, reach + step):
        low, step = reach + step, 2 * step
        if not math.isfinite(step):
            return math.inf
    high = reach + step
    while high - low > 1e-6 * (high - reach):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if excludes(krylov, which, middle) else (middle, high)
    return high


class OwnSpace:
    """The solver's own Krylov space as the witness that nothing lies beyond one eigenpair.

    It says nothing about how often the eigenvalue occurs, so it can vouch for the outermost one only. Its start was
    drawn at random and nothing was chosen by it. ``outermost`` and ``ceiling`` are as of ``Probe``.
    """

    def __init__(self, krylov: Krylov, pairs: Pairs):
        self.krylov, self.outermost = krylov, pairs.limit
        values, _ = krylov.tridiagonal()
        self.ceiling = ceiling(krylov, pairs.which, float(SCORES[pairs.which](values).max())) + pairs.rounding

    def explored(self) -> tuple[Tensor, float]:
        """Orthonormal rows [m, n] that hold the pair, and the trace of the operator restricted to them."""
        return self.krylov.basis, float(sum(self.krylov.alpha))


class Probe:
    """Lanczos in the orthogonal complement of found pairs, from a fresh random start.

    It ends at the first step that excludes an eigenvalue beyond the found ones or finds one. Where neither comes about,
    as with a cluster at the end of the spectrum, it takes at least the steps that bound a miss by ``_SHARE`` at
    ``RISK``, then up to ``budget`` steps until its Ritz values lie inside the found ones.

    outermost: what is known of the outermost score in the complement; reach: the outermost Ritz score; found_more: a
    converged pair beyond the found ones; ceiling: see ``EigenResult``.
    """

    def __init__(self, operator: HessianOperator, pairs: Pairs, seed: tuple[int, int], budget: int):
        self.pairs, self.limit = pairs, pairs.limit
        self.outermost = self.reach = self.ceiling = -math.inf
        self.found_more = False
        self.room = operator.size - len(pairs.vectors)
        if self.room == 0:
            return
        exponent = math.log(1.648 * math.sqrt(self.room) / (RISK / 2))
        self.first = min(self.room, math.ceil((exponent / math.sqrt(_SHARE) + 1) / 2))
        start = random_unit(operator.size, pairs.vectors, seed[0], "curvature/probe", seed[1])
        self.krylov = Krylov(operator, start, against=pairs.vectors)
        self._search(min(self.room, max(self.first, budget)))

    def _search(self, cap: int) -> None:
        krylov, settled = self.krylov, False
        while not settled and krylov.steps < cap and not krylov.exhausted:
            krylov.extend()
            last = krylov.steps == cap or krylov.exhausted
            if krylov.steps <= _MANY or krylov.steps % 8 == 0 or last:
                settled = self._judge()
        self.ceiling = self._ceiling()

    def _ceiling(self) -> float:
        """The lower of two bounds at the same risk: of the Ritz value's error, and of an unseen weight."""
        complete = self.krylov.steps >= self.first or self.krylov.exhausted
        share = 0.0 if self.krylov.exhausted else _SHARE / (1 - 2 * _SHARE)
        known = self.reach + share * float(self.values[-1] - self.values[0]) if complete else math.inf
        if self.room < 3:
            return known
        return min(known, ceiling(self.krylov, self.pairs.which, self.reach) + self.pairs.rounding)

    def _judge(self) -> bool:
        krylov, which = self.krylov, self.pairs.which
        self.values, self.S = krylov.tridiagonal()
        scores = SCORES[which](self.values)
        slack = krylov.beta[-1] * np.abs(self.S[-1])
        self.best = int(np.argmax(scores))
        self.reach = float(scores[self.best])
        sharp = slack[self.best] <= max(self.pairs.tol * abs(self.reach), self.pairs.rounding)
        self.found_more = bool(sharp and self.reach > self.limit)
        beyond = self.limit - self.pairs.rounding
        if self.reach < beyond and excludes(krylov, which, beyond):
            self.outermost = self.limit
            return True
        ends = (0, len(scores) - 1) if which == "LM" else (self.best,)
        self.outermost = max(float(scores[i] + slack[i]) for i in ends)
        complete = krylov.steps >= self.first or krylov.exhausted
        return self.found_more or (complete and self.outermost <= self.limit)

    def explored(self) -> tuple[Tensor, float]:
        """Orthonormal rows [m, n] that begin with the pairs, and the trace of the operator restricted to them."""
        share = float(self.pairs.values.sum())  # Rayleigh quotients, and the tridiagonal matrix's trace
        if self.room == 0:
            return self.pairs.vectors, share
        return torch.cat([self.pairs.vectors, self.krylov.basis]), share + float(sum(self.krylov.alpha))

    def vector(self) -> Tensor:
        """The outermost Ritz vector of the complement [1, n]."""
        return self.krylov.vectors(self.S[:, [self.best]])
