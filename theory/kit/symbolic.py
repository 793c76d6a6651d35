"""Symbolic checks with sympy: identities, orders, sign certificates.

Each helper either returns the text of a certificate that a reader can verify, or raises ``NotProved`` with the point or
the term that shows why not. Nothing here decides by floating point alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy as sp

from theory.kit.verdict import Verdict, decided

#: multiplier, quantity, why the quantity is >= 0
Slack = tuple[Any, Any, str]


class NotProved(ValueError):
    """A statement that sympy could not reduce.

    difference: what was left over. point: rational values of the symbols at which the statement fails exactly (text),
    or None where no failure was found, in which case nothing is decided.
    """

    def __init__(self, message: str, difference: sp.Expr, point: dict[str, str] | None = None):
        super().__init__(message)
        self.difference, self.point = difference, point


def _reduce(expression: sp.Expr) -> sp.Expr:
    for step in (sp.expand, sp.together, sp.simplify):
        expression = step(expression)
        if expression == 0:
            return sp.Integer(0)
    return sp.factor(expression)


def rational_points(
    symbols: Iterable[sp.Symbol], count: int = 40, seed: int = 0
) -> Iterable[dict[sp.Symbol, sp.Rational]]:
    """Small rational values that respect the symbols' assumptions (positive, non-negative, integer)."""
    rng, symbols = random.Random(seed), sorted(symbols, key=str)
    for _ in range(count):
        point = {}
        for symbol in symbols:
            value = sp.Rational(rng.randint(1, 12), 1 if symbol.is_integer else rng.randint(1, 12))
            negative = not (symbol.is_positive or symbol.is_nonnegative) and rng.random() < 0.5
            point[symbol] = -value if negative else value
        yield point


def identity(lhs: Any, rhs: Any, *, substitute: Mapping | None = None, label: str = "") -> str:
    """Certificate that lhs - rhs reduces to 0 (after ``substitute``, for example the stated step sizes).

    Raises NotProved with an exact rational point where the two sides differ, if there is one.
    """
    lhs, rhs = sp.sympify(lhs), sp.sympify(rhs)
    before = lhs - rhs
    difference = _reduce(before.subs(dict(substitute)) if substitute else before)
    name = f"{label}: " if label else ""
    if difference == 0:
        given = f", with {dict(substitute)}" if substitute else ""
        text = f"({lhs}) - ({rhs}) reduces to 0{given} (sympy {sp.__version__}: expand, together, simplify)"
        return name + decided(text, "identity", before == 0)
    raise NotProved(f"{name}the sides differ by {difference}", difference, _witness(difference))


def combination(target: Any, slacks: Sequence[Slack], label: str = "") -> str:
    """Certificate that ``target`` >= 0: it equals a sum of multipliers >= 0 times quantities >= 0.

    A multiplier must be non-negative by its symbols' own assumptions. Raises ValueError where it is not, and NotProved
    where the sum differs from ``target``.
    """
    for multiplier, quantity, _ in slacks:
        if not sp.sympify(multiplier).is_nonnegative:
            raise ValueError(f"the multiplier {multiplier} of {quantity} is not known to be non-negative")
    text = identity(target, sum(multiplier * quantity for multiplier, quantity, _ in slacks), label=label)
    reasons = "; ".join(f"{multiplier} * ({quantity}) >= 0: {why}" for multiplier, quantity, why in slacks)
    return f"{text}. Terms: {reasons}"


def lagrange(reading: str) -> str:
    """Certificate of Lagrange's identity for any number of terms; its right side gives the Cauchy-Schwarz inequality.

    sum a_i^2 sum b_i^2 - (sum a_i b_i)^2 = sum over pairs of (a_i b_j - a_j b_i)^2, by induction over the terms.
    reading: what a_i and b_i stand for.
    """
    A, B, mixed, a, b = sp.symbols("A B I a b")
    grown = (A + a**2) * (B + b**2) - (mixed + a * b) ** 2 - (A * B - mixed**2)
    step = identity(
        grown, A * b**2 - 2 * mixed * a * b + B * a**2, label="A, B, I: the sums so far; one more term (a, b)"
    )
    text = (
        "Lagrange: sum a_i^2 sum b_i^2 - (sum a_i b_i)^2 = sum over pairs of (a_i b_j - a_j b_i)^2 >= 0 for any number "
        f"of terms, by induction: both sides are 0 for one term; {step}, which is sum_i (a_i b - b_i a)^2, the new "
        "pairs"
    )
    return f"{decided(text, 'induction')}; {reading}"


#: readings of Lagrange's identity
MEAN_SQUARE = "with a_i = 1, b_i = x_i it is n sum x_i^2 - (sum x_i)^2 = sum over pairs of (x_i - x_j)^2"
VARIANCE = "with a_i = sqrt(p_i), b_i = sqrt(p_i) x_i, sum p_i = 1 it is sum p_i x_i^2 - (sum p_i x_i)^2"


def _witness(difference: sp.Expr) -> dict[str, str] | None:
    for point in rational_points(difference.free_symbols):
        value = difference.subs(point)
        if value.is_number and value.is_finite and abs(sp.N(value, 50)) > sp.Float("1e-30"):
            return {str(symbol): str(entry) for symbol, entry in point.items()}
    return None


def decide_identity(lhs: Any, rhs: Any, *, substitute: Mapping | None = None, label: str = "", **more: Any) -> Verdict:
    """``proved`` with the certificate, or ``refuted`` with an exact point, its two sides and their difference.

    Raises NotProved when neither is possible (then the statement needs another method).
    """
    try:
        return Verdict("proved", {"certificate": identity(lhs, rhs, substitute=substitute, label=label), **more})
    except NotProved as error:
        if error.point is None:
            raise
        sides = evaluate_at(error.point, left=lhs, right=rhs, substitute=substitute)
        return Verdict(
            "refuted", {"counterexample": {**error.point, **sides}, "difference": str(error.difference), **more}
        )


def evaluate_at(
    point: Mapping[str, str], *, left: Any, right: Any, substitute: Mapping | None = None
) -> dict[str, str]:
    """Both sides at a rational point, as text: exact where rational, else 50 digits."""
    sides = {}
    for name, expression in (("left", left), ("right", right)):
        expression = sp.sympify(expression).subs(dict(substitute or {}))
        value = expression.subs({s: sp.Rational(point[str(s)]) for s in expression.free_symbols if str(s) in point})
        sides[name] = str(value if value.is_Rational else sp.N(value, 50))
    return sides


def total(summand: Any, sums: Mapping[Any, Any], count: Any = 1) -> sp.Expr:
    """Sum over i, or expectation, of a polynomial in quantities that depend on i, by linearity.

    sums: monomial in these quantities -> symbol of its sum over i. count: number of terms, the sum of 1; E 1 = 1.
    Raises KeyError where a monomial has no sum.
    """
    terms = sorted(set().union(*(sp.sympify(monomial).free_symbols for monomial in sums)), key=str)
    known = {sp.Poly(monomial, *terms).monoms()[0]: value for monomial, value in sums.items()}
    known[(0,) * len(terms)] = count
    return sum((factor * known[powers] for powers, factor in sp.Poly(summand, *terms).terms()), sp.Integer(0))


def exponent_of(term: Any, symbol: sp.Symbol) -> sp.Expr:
    """Exponent of ``symbol`` in a product of powers. Raises NotProved when the term is not such a product."""
    term = sp.powsimp(sp.expand_power_base(sp.sympify(term), force=True), force=True)
    exponent = sp.simplify(symbol * sp.diff(term, symbol) / term)
    if exponent.has(symbol):
        raise NotProved(f"{term} is not a power of {symbol}", term)
    return exponent


def nonnegative(expression: Any, *, shift: Mapping | None = None) -> str:
    """Certificate that a polynomial is >= 0 for non-negative symbols: after ``shift`` all its coefficients are >= 0.

    shift: symbol -> expression in non-negative symbols, for instance ``{K: 1 + k}`` for K >= 1. Sufficient, not
    necessary. Raises NotProved with the negative terms.
    """
    shifted = sp.expand(sp.sympify(expression).subs(dict(shift or {})))
    top, bottom = sp.fraction(sp.together(shifted))
    for part in (top, bottom):
        symbols = sorted(part.free_symbols, key=str)
        values = sp.Poly(part, *symbols).coeffs() if symbols else [part]
        if any(not value.is_nonnegative for value in values):
            raise NotProved(f"{part} has a negative coefficient", part)
    given = f" with {dict(shift)}" if shift else ""
    text = f"{expression} = ({top}) / ({bottom}){given}: every coefficient is non-negative for non-negative symbols"
    return decided(text, "signs of coefficients")


def implies(premise: Any, conclusion: Any, symbols: Iterable[sp.Symbol]) -> str:
    """Certificate that one inequality implies another: the premise's solution set lies in the conclusion's.

    premise, conclusion: sympy relations in the single symbol given. Raises NotProved with the set difference.
    """
    (symbol,) = symbols
    inside = sp.solveset(premise, symbol, sp.S.Reals)
    outside = inside - sp.solveset(conclusion, symbol, sp.S.Reals)
    if outside == sp.S.EmptySet:
        text = f"{premise} implies {conclusion}: the solution set {inside} minus that of the conclusion is empty"
        return decided(text, "solution sets")
    raise NotProved(f"{premise} does not imply {conclusion}: left over {outside}", outside)
