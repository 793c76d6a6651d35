"""Whether a proof's facts give a changed target: a linear program over its multipliers.

``follows`` keeps the facts and the products in which the proof uses them and lets the multipliers vary. A target is
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


def follows(proof: Proof, verified: Proof, points: Sequence[Mapping[str, float]]) -> bool:
    """Whether every step replays, or has other multipliers at each of the points (values of the parameters by name).

    verified: the proof before the change; what it shares with the changed one is not replayed again.
    """
    return all(_has_multipliers(proof, step, point) for step in broken_steps(proof, verified) for point in points)


def broken_steps(proof: Proof, verified: Proof) -> list[Step]:
    """Steps that do not replay as they stand. Raises Rejected where one fails that has no multipliers to vary."""
    broken, before, same = [], {}, set()
    for step in proof.steps.values():
        if step == verified.steps.get(step.name) and proof.used(step) <= same | {step.name}:
            same.add(step.name)
        else:
            try:
                proof.replay(step, before)
            except Rejected:
                if step.rule not in ("combination", "loop"):
                    raise
                broken.append(step)
        before[step.name] = step
    return broken


def _has_multipliers(proof: Proof, step: Step, point: Mapping[str, float]) -> bool:
    """Whether sum of multipliers times products of slacks equals the step's slack at a point."""
    target, products = _inside(proof, step)
    names = {symbol for expression in (target, *(p for p, _ in products)) for symbol in expression.free_symbols}
    values = {symbol: point[str(symbol)] for symbol in names if str(symbol) in point}
    try:
        wanted = _monomials(target, values)
    except sp.PolynomialError:  # a measured quantity in a denominator: no such slack is among the facts
        return False
    columns = [(_monomials(slack, values), equal) for slack, equal in products]
    keys = list({key for found in (wanted, *(c for c, _ in columns)) for key in found})
    columns += [({key: 1.0}, False) for key in keys if _never_negative(key)]
    matrix = np.array([[column.get(key, 0.0) for column, _ in columns] for key in keys])
    right = np.array([wanted.get(key, 0.0) for key in keys])
    rows = np.maximum(abs(matrix).max(axis=1), abs(right)) + 1e-300
    matrix, right = matrix / rows[:, None], right / rows
    scale = abs(matrix).max(axis=0) + 1e-300
    bounds = [(None, None) if equal else (0, None) for _, equal in columns]
    found = linprog(np.zeros(len(columns)), A_eq=matrix / scale, b_eq=right, bounds=bounds, method="highs")
    return bool(found.status == 0 and np.allclose(matrix / scale @ found.x, right, atol=TOLERANCE))


def _inside(proof: Proof, step: Step) -> tuple[sp.Expr, list[tuple[sp.Expr, bool]]]:
    """Target of a step, and the products of slacks that may be added up, each with whether it is 0."""
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
            products += [(part * slack, equal) for part in sp.Add.make_args(sp.expand(factor))]
    return target, products


def _monomials(expression: sp.Expr, values: Mapping[sp.Symbol, float]) -> Monomials:
    """Coefficients of a polynomial in the quantities that are left after the parameters have values."""
    expression = sp.sympify(expression).subs(values)
    symbols = sorted(expression.free_symbols, key=str)
    if not symbols:
        return {(): float(expression)} if expression != 0 else {}
    poly = sp.Poly(sp.expand(expression), *symbols)
    return {
        tuple((s, p) for s, p in zip(symbols, powers, strict=True) if p): float(factor)
        for powers, factor in poly.terms()
    }


def _never_negative(monomial: tuple) -> bool:
    """A product of non-negative scalars, squares and squared norms."""
    return all(s.is_nonnegative or power % 2 == 0 or _squared_norm(s) for s, power in monomial)


def _squared_norm(symbol: sp.Symbol) -> bool:
    _, _, names = str(symbol).partition("dot_")
    half = len(names) // 2
    return bool(names) and names[:half] == names[half + 1 :]
