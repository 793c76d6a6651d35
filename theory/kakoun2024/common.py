"""What the modules of this package share: statements as two exact sides, and the way from a statement to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from theory.kit.exact import fractions_of, plain
from theory.kit.search import Search, safe_ratio, worst_ratio
from theory.kit.verdict import Replay, Verdict

Sides = tuple[Any, Any, dict[str, bool]]
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Statement:
    """left <= scale * right (or ==) as a function of named numbers.

    names: the parameters, in the order of a search argument. sides: keyword numbers -> (left, right, assumptions); only
    + - * / and abs/max of its arguments, so that it runs on floats in a search and on ``Fraction`` in a replay.
    """

    names: tuple[str, ...]
    sides: Callable[..., Sides]
    relation: str = "<="

    def replay_at(self, counterexample: Mapping[str, Any]) -> Replay:
        """Exact evaluation at stored numbers; the entry ``scale`` multiplies the right side."""
        numbers = fractions_of({name: counterexample[name] for name in self.names})
        left, right, assumptions = self.sides(**numbers)
        return Replay(assumptions, left, Fraction(counterexample.get("scale", 1)) * right, self.relation)

    def replay(self, evidence: Mapping[str, Any]) -> Replay:
        return self.replay_at(evidence["counterexample"])

    def counterexample(self, point: Mapping[str, Any], scale: float = 1.0) -> dict[str, Any] | None:
        """Plain numbers of a point with its two sides where it violates the statement exactly, else None."""
        stored = self.at(point, scale)
        found = self.replay_at(stored)
        return stored if found.violated and all(found.assumptions.values()) else None

    def at(self, point: Mapping[str, Any], scale: float = 1.0) -> dict[str, Any]:
        """Plain numbers of a point with its two sides."""
        stored = {**plain(fractions_of(dict(point))), "scale": plain(Fraction(scale))}
        found = self.replay_at(stored)
        return {**stored, "left": plain(found.left), "right": plain(found.right)}

    def ratio(self, argument: np.ndarray, scale: float = 1.0) -> float:
        """left / (scale * right) at floats; nan where an assumption fails."""
        left, right, assumptions = self.sides(**dict(zip(self.names, map(float, argument), strict=True)))
        return safe_ratio(left, scale * right) if all(assumptions.values()) and right >= 0 else float("nan")

    def search(self, low: Sequence[float], high: Sequence[float], scale: float = 1.0, seed: int = 0) -> Search:
        """Adversarial search in the box [low, high]; nan outside."""
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)

        def ratio(x):
            inside = np.all(x >= low) and np.all(x <= high)
            return self.ratio(x, scale) if inside else float("nan")

        return worst_ratio(ratio, lambda rng: rng.uniform(low, high), draws=2000, restarts=4, seed=seed, climb=200)


def decide(
    statement: Statement,
    scale: float = 1.0,
    *,
    points: Sequence[Mapping[str, Any]] = (),
    proof: str | None = None,
    box: tuple[Sequence[float], Sequence[float]] = ((), ()),
    function_class: str = "",
    repair: tuple[str, str] | None = None,
    **more: Any,
) -> Verdict:
    """Verdict on ``left <= scale * right``.

    points: candidate counterexamples or points of equality, tried exactly first. proof: certificate that holds for
    every scale >= 1. box: lowest and highest arguments of a search where neither decides. repair: (corrected statement,
    certificate), used at scale 1 only. more: further evidence.
    """
    tested = [statement.at(point, scale) for point in points]
    violating = next((found for point in points if (found := statement.counterexample(point, scale))), None)
    if others := [one for one in tested if one != violating]:
        more["tested_at"] = others
    if violating:
        return _violated(violating, scale, repair, more)
    if proof is not None and scale >= 1:
        return Verdict("proved", {"certificate": proof, **more}, margin=_margin(statement, points))
    search = statement.search(*box, scale)
    if search.value > 1 + TOLERANCE:
        found = statement.counterexample(dict(zip(statement.names, search.argument.tolist(), strict=True)), scale)
        if found:
            return _violated(found, scale, repair, {**more, "search": search.as_evidence(function_class)})
    return Verdict("holds", search.as_evidence(function_class, **more), margin=search.value)


def _violated(found: dict[str, Any], scale: float, repair: tuple[str, str] | None, more: Mapping[str, Any]) -> Verdict:
    left, right = Fraction(found["left"]), Fraction(found["right"])
    margin = float(left / right) if right > 0 else None
    if repair is None or scale != 1:
        return Verdict("refuted", {"counterexample": found, **more}, margin=margin)
    statement, certificate = repair
    evidence = {"counterexample": found, "repair": {"certificate": certificate}, **more}
    return Verdict("repaired", evidence, margin=margin, repaired=statement)


def _margin(statement: Statement, points: Sequence[Mapping[str, Any]]) -> float | None:
    replays = [statement.replay_at({**plain(fractions_of(dict(p)))}) for p in points]
    ratios = [float(Fraction(r.left) / Fraction(r.right)) for r in replays if r.right > 0]
    return max(ratios, default=None)


def dot(x: Sequence, y: Sequence) -> Any:
    return sum((a * b for a, b in zip(x, y, strict=True)), 0)


def weighted(weights: Sequence, rows: Sequence[Sequence]) -> list:
    """sum_k p_k x_k for vectors x_k."""
    return [dot(weights, column) for column in zip(*rows, strict=True)]
