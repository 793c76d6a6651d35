"""Shared pieces of the checks of Sun et al. 2023: rounds with exact local solves in rational arithmetic, verdicts.

Notation of the paper: m clients, n active, ``lam`` the client duals, ``w_bar`` the mean of the active local models,
``w_tilde`` the virtual local minimisers of eq. (20), beta the penalty, r the perturbation radius.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from theory.kit.exact import plain
from theory.kit.statement import Statement, backing
from theory.kit.verdict import Replay, Verdict


@dataclass(frozen=True)
class Clients:
    """Scalar quadratic clients f_i(w) = a_i (w - c_i)^2 / 2, perturbed gradient a_i (w + s_i - c_i); L = max |a_i|."""

    curvature: tuple[Fraction, ...]
    centre: tuple[Fraction, ...]

    @classmethod
    def of(cls, curvature: Sequence, centre: Sequence) -> Clients:
        return cls(tuple(Fraction(a) for a in curvature), tuple(Fraction(c) for c in centre))

    @property
    def m(self) -> int:
        return len(self.curvature)

    @property
    def L(self) -> Fraction:
        return max(abs(a) for a in self.curvature)

    def gradients(self, w: Sequence[Fraction], s: Sequence[Fraction] | None = None) -> list[Fraction]:
        """Gradient of each client at its own point w_i + s_i."""
        s = s or [Fraction(0)] * self.m
        return [a * (x + p - c) for a, c, x, p in zip(self.curvature, self.centre, w, s, strict=True)]

    def gradient(self, w: Fraction) -> Fraction:
        """Gradient of the mean loss."""
        return sum(self.gradients([w] * self.m)) / self.m

    def value(self, w: Fraction) -> Fraction:
        """Mean loss."""
        return sum(a * (w - c) ** 2 for a, c in zip(self.curvature, self.centre, strict=True)) / 2 / self.m

    def minimum(self) -> Fraction:
        """Least mean loss; needs a positive mean curvature."""
        return self.value(sum(a * c for a, c in zip(self.curvature, self.centre, strict=True)) / sum(self.curvature))


@dataclass(frozen=True)
class State:
    """State between rounds: server model w, client duals lam, last local models (w^0 before the first round)."""

    w: Fraction
    lam: tuple[Fraction, ...]
    last: tuple[Fraction, ...]

    @classmethod
    def start(cls, m: int, w: Any = 0, lam: Sequence | None = None) -> State:
        w = Fraction(w)
        return cls(w, tuple(Fraction(x) for x in (lam or [0] * m)), (w,) * m)


def virtual_models(
    clients: Clients, state: State, beta: Fraction, s: Sequence[Fraction] | None = None
) -> list[Fraction]:
    """Exact minimisers of eq. (20) for every client; needs beta < 1/L."""
    s = s or [Fraction(0)] * clients.m
    rows = zip(clients.curvature, clients.centre, state.lam, s, strict=True)
    return [(a * (c - p) + lam + state.w / beta) / (a + 1 / beta) for a, c, lam, p in rows]


def averaged(state: State, beta: Fraction) -> Fraction:
    """w_bar^t = w^t + beta lambda^t, eq. (21), with lambda^t the mean of the client duals."""
    return state.w + beta * sum(state.lam) / len(state.lam)


def advance(state: State, models: Sequence[Fraction], active: Sequence[int], beta: Fraction) -> State:
    """Lines 14, 18 and 19 of Algorithm 1 for given local models of the active clients."""
    lam, last = list(state.lam), list(state.last)
    for i in active:
        lam[i] -= (models[i] - state.w) / beta
        last[i] = models[i]
    w = sum((models[i] for i in active), Fraction(0)) / len(active) - beta * sum(lam) / len(lam)
    return State(w, tuple(lam), tuple(last))


def histories(
    clients: Clients, start: State, beta: Fraction, n: int, rounds: int, s: Sequence[Fraction] | None = None
) -> Iterator[tuple[State, list[Fraction]]]:
    """All equally likely states after ``rounds`` rounds of exact solves (every sequence of active sets)."""
    sets = list(combinations(range(clients.m), n))
    for sequence in product(sets, repeat=rounds):
        state = start
        for active in sequence:
            state = advance(state, virtual_models(clients, state, beta, s), active, beta)
        yield state, virtual_models(clients, state, beta, s)


def square_mean(values: Sequence[Fraction], centre: Fraction) -> Fraction:
    """Mean squared distance to ``centre``."""
    return sum(((x - centre) ** 2 for x in values), Fraction(0)) / len(values)


def repaired(
    counterexample: Mapping[str, Any],
    statement: str | Statement,
    certificate: str | None = None,
    search: Mapping[str, Any] | None = None,
    **more: Any,
) -> Verdict:
    """Verdict ``repaired``: the counterexample to the print, and the corrected statement with its backing.

    certificate, search: the backing of a statement in words.  A statement object brings its own text and backing; its
    certificate comes first.

    The margin is left over right of the printed statement at the counterexample, where both are numbers.
    """
    behind: dict[str, Any] = dict(search or {}) | ({"certificate": certificate} if certificate else {})
    if isinstance(statement, Statement):
        behind = backing(statement)
        behind["certificate"] = "; ".join(filter(None, (behind["certificate"], certificate)))
        statement = statement.text
    evidence = {"counterexample": plain(dict(counterexample)), "repair": behind, **plain(more)}
    return Verdict("repaired", evidence, margin=margin_of(counterexample), repaired=statement)


def refuted(counterexample: Mapping[str, Any], **more: Any) -> Verdict:
    """Verdict ``refuted`` with its numbers."""
    return Verdict("refuted", {"counterexample": plain(dict(counterexample)), **plain(more)}, margin_of(counterexample))


def margin_of(counterexample: Mapping[str, Any]) -> float | None:
    """left / right of a counterexample when it stores both and right is positive."""
    try:
        left, right = (float(Fraction(counterexample[side])) for side in ("left", "right"))
    except (KeyError, TypeError, ValueError):
        return None
    return left / right if right > 0 else None


def replay_of(sides: Callable[[Mapping[str, Any]], tuple], relation: str = "<=") -> Callable[..., Replay]:
    """Replay from a function: counterexample -> (assumptions, left, right), evaluated in exact arithmetic.

    The stored left and right must be those that the function gives, so a stale counterexample fails.
    """

    def replay(evidence: Mapping[str, Any]) -> Replay:
        stored = evidence["counterexample"]
        assumptions, left, right = sides(stored)
        if "left" in stored:
            same = plain(left) == stored["left"] and plain(right) == stored["right"]
            assumptions = {**assumptions, "stored sides are reproduced": same}
        return Replay(assumptions, left, right, relation)

    return replay


def tight_bound(
    scale: float, sides: Callable[..., tuple], point: Mapping[str, Any], certificate: str, **more
) -> Verdict:
    """Inequality left <= scale * right: refuted when it fails at its tight ``point``, else proved by the certificate.

    ``sides(**point)`` gives (left, right) exactly; right >= 0, so a proof for scale 1 covers every larger scale.
    Raises ValueError for a scale below 1 at which the point is no counterexample (nothing is decided then).
    """
    left, right = sides(**point)
    bound = Fraction(str(scale)) * right
    if left > bound:
        return refuted({**point, "left": left, "right": bound})
    if scale < 1:
        raise ValueError(f"scale {scale}: the point {dict(point)} does not decide the statement")
    margin = float(left / right) if right else None
    tested = plain({**point, "left": left, "right": bound})
    return Verdict("proved", {"certificate": certificate, "tested_at": tested, **plain(more)}, margin=margin)
