"""Whether a proof's facts give a changed target: a linear program over its multipliers.

A ``Prover`` keeps the facts and the products in which the proof uses them and lets the multipliers vary. A target is
given up where no multipliers exist at some admissible parameter values (found in machine numbers, by a linear program).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
from scipy.optimize import linprog

from theory.kit.proof import Proof, Rejected, Step

#: relative error of a coefficient that counts as equal
TOLERANCE = 1e-7
Monomials = dict[tuple, float]


class Prover:
    """The facts of a verified proof, at parameter values.

    points: values of the parameters by name; what a point does not name stays a variable.
    """

    def __init__(self, verified: Proof, points: Sequence[Mapping[str, float]]):
        self.verified, self.points = verified, points
        self._columns: dict[tuple[str, int, int], tuple[Monomials, bool]] = {}

    def follows(self, proof: Proof) -> bool:
        """Whether every step of a changed proof replays, or has other multipliers at each of the points."""
        broken, same = self.broken(proof)
        return all(self._has_multipliers(proof, step, i, same) for step in broken for i in range(len(self.points)))

    def broken(self, proof: Proof) -> tuple[list[Step], set[str]]:
        """Steps that do not replay, and names of those that the verified proof has as well.

        Raises Rejected where a step fails that has no multipliers to vary.
        """
        broken, before, same = [], {}, set()
        for step in proof.steps.values():
            if step == self.verified.steps.get(step.name) and proof.used(step) <= same | {step.name}:
                same.add(step.name)
            else:
                try:
                    proof.replay(step, before)
                except Rejected:
                    if step.rule not in ("combination", "loop"):
                        raise
                    broken.append(step)
            before[step.name] = step
        return broken, same

    def _has_multipliers(self, proof: Proof, step: Step, place: int, same: set[str]) -> bool:
        """Whether sum of multipliers times products of slacks equals the step's slack at a point."""
        target, products = _inside(proof, step)
        point = self.points[place]
        if _at(target, point).has(sp.zoo, sp.oo, -sp.oo, sp.nan):  # an infinite side says nothing at this point
            return True
        try:
            wanted = _monomials(target, point)
        except sp.PolynomialError:  # a measured quantity in a denominator: no such slack is among the facts
            return False
        columns = []
        for number, (slack, equal, used) in enumerate(products):
            if not used <= same:
                columns.append((_monomials(slack, point), equal))
                continue
            key = (step.name, place, number)
            if key not in self._columns:
                self._columns[key] = (_monomials(slack, point), equal)
            columns.append(self._columns[key])
        return _solvable(wanted, columns)


def _solvable(wanted: Monomials, columns: list[tuple[Monomials, bool]]) -> bool:
    """Whether non-negative multiples of the columns (any multiples of those that are 0) add up to the target."""
    keys = list({key for found in (wanted, *(column for column, _ in columns)) for key in found})
    columns = columns + [({key: 1.0}, False) for key in keys if _never_negative(key)]
    row = {key: i for i, key in enumerate(keys)}
    matrix, right = np.zeros((len(keys), len(columns))), np.zeros(len(keys))
    for j, (column, _) in enumerate(columns):
        for key, value in column.items():
            matrix[row[key], j] = value
    for key, value in wanted.items():
        right[row[key]] = value
    rows = np.maximum(abs(matrix).max(axis=1), abs(right)) + 1e-300
    matrix, right = matrix / rows[:, None], right / rows
    matrix = matrix / (abs(matrix).max(axis=0) + 1e-300)
    bounds = [(None, None) if equal else (0, None) for _, equal in columns]
    found = linprog(np.zeros(len(columns)), A_eq=matrix, b_eq=right, bounds=bounds, method="highs")
    return bool(found.status == 0 and np.allclose(matrix @ found.x, right, atol=TOLERANCE))


def _inside(proof: Proof, step: Step) -> tuple[sp.Expr, list[tuple[sp.Expr, bool, set[str]]]]:
    """Target of a step, and what may be added up: products of slacks, whether they are 0, names of their steps."""
    order = list(proof.steps)
    usable = set(order[: order.index(step.name)])
    terms = [t for s in proof.steps.values() if s.rule == "combination" for t in s.arguments["terms"]]
    target = step.slack
    if step.rule == "loop":
        target = step.slack.subs({s: after for s, (_, after) in step.arguments["state"].items()}, simultaneous=True)
        usable |= set(step.arguments["invariants"])
        terms += step.arguments["invariants"][step.name][1]
    products = []
    for factor, *names in terms:
        if set(names) <= usable:
            chosen = [proof.steps[name] for name in names]
            slack, equal = sp.Mul(*(s.slack for s in chosen)), any(s.relation == "==" for s in chosen)
            products += [(part * slack, equal, set(names)) for part in sp.Add.make_args(sp.expand(factor))]
    return target, products


def _at(expression: sp.Expr, point: Mapping[str, float]) -> sp.Expr:
    return expression.subs({symbol: point[str(symbol)] for symbol in expression.free_symbols if str(symbol) in point})


def _monomials(expression: sp.Expr, point: Mapping[str, float]) -> Monomials:
    """Coefficients of a polynomial in the quantities that are left after the parameters have values."""
    expression = _at(expression, point)
    symbols = sorted(expression.free_symbols, key=str)
    if not symbols:
        return {(): float(expression)} if expression != 0 else {}
    return {
        tuple((s, p) for s, p in zip(symbols, powers, strict=True) if p): float(factor)
        for powers, factor in sp.Poly(expression, *symbols).terms()
    }


def _never_negative(monomial: tuple) -> bool:
    """A product of non-negative scalars, squares and squared norms."""
    return all(s.is_nonnegative or power % 2 == 0 or _squared_norm(s) for s, power in monomial)


def _squared_norm(symbol: sp.Symbol) -> bool:
    _, _, names = str(symbol).partition("dot_")
    half = len(names) // 2
    return bool(names) and names[:half] == names[half + 1 :]
