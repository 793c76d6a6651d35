"""Helpers of the checks of Qu et al. 2022: verdicts, exact instances, and decisions on printed identities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from theory.kit.statement import Statement, backing, corrected
from theory.kit.verdict import Replay, Verdict, decided


def proved(certificate: str, margin: float | None = None, **numbers: Any) -> Verdict:
    """Verdict ``proved`` with a certificate that a reader can verify."""
    return Verdict("proved", {"certificate": certificate, **numbers}, margin)


def refuted(counterexample: Mapping[str, Any], margin: float | None = None, **numbers: Any) -> Verdict:
    """Verdict ``refuted``; ``counterexample`` holds plain numbers and strings of rationals."""
    return Verdict("refuted", {"counterexample": dict(counterexample), **numbers}, margin)


def repaired(
    counterexample: Mapping[str, Any], corrected: str, certificate: str, margin: float | None = None, **numbers: Any
) -> Verdict:
    """Verdict ``repaired``: refuted as printed, ``corrected`` is proved by ``certificate``."""
    evidence = {"counterexample": dict(counterexample), "repair": {"certificate": certificate}, **numbers}
    return Verdict("repaired", evidence, margin, corrected)


def proved_instead(
    counterexample: Mapping[str, Any], statements: Sequence[Statement], margin: float | None = None, **numbers: Any
) -> Verdict:
    """Verdict ``repaired`` whose corrected form is a statement object: its text, proof, runs and sharpness."""
    evidence = {"counterexample": dict(counterexample), "repair": backing(*statements), **numbers}
    return Verdict("repaired", evidence, margin, corrected(*statements))


def compared(printed: Any, derived: Any, agrees: bool, **numbers: Any) -> Verdict:
    """Verdict ``consistent`` or ``inconsistent`` with both sides stored."""
    return Verdict("consistent" if agrees else "inconsistent", {"printed": printed, "derived": derived, **numbers})


def instance(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Stored counterexample with every rational string turned into a ``Fraction``."""
    return {name: _exact(value) for name, value in evidence.get("counterexample", evidence).items()}


def _exact(value: Any) -> Any:
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, str):
        try:
            return Fraction(value)
        except ValueError:
            return value
    return Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value


def require(condition: bool, statement: str) -> str:
    """Return ``statement`` for a certificate; raise ``ArithmeticError`` when the computation does not support it."""
    if not bool(condition):
        raise ArithmeticError(f"a step of a certificate fails: {statement}")
    return decided(statement, "exact arithmetic")


def require_identity(left: sp.Expr, right: sp.Expr, name: str) -> str:
    """Certificate text of ``left == right`` after ``sympy.simplify(left - right)`` gave zero."""
    difference = sp.simplify(sp.expand(left - right))
    text = require(difference == 0, f"{left} - ({right}) expands to 0")
    return f"{name}: {decided(text, 'identity', left == right)}"


def evaluate(expression: sp.Expr, values: Mapping[str, Any]) -> sp.Expr:
    """Exact value of ``expression`` at a map from symbol names to rationals."""
    table = {symbol: sp.Rational(str(values[symbol.name])) for symbol in expression.free_symbols}
    return sp.nsimplify(expression.subs(table), rational=False)


def decide_identity(printed: sp.Expr, derived: sp.Expr, values: Mapping[str, Any], name: str) -> Verdict:
    """``proved`` when both expressions agree symbolically, otherwise ``refuted`` at ``values``."""
    if sp.simplify(sp.expand(printed - derived)) == 0:
        return proved(f"{name}: sympy reduces printed - derived to 0; common value {sp.expand(derived)}", 1.0)
    left, right = evaluate(printed, values), evaluate(derived, values)
    require(left != right, f"{name} differs at the stored values")
    return refuted({k: str(v) for k, v in values.items()}, None, printed=str(left), derived=str(right))


def correct_identity(
    printed: sp.Expr, derived: sp.Expr, correct: sp.Expr, values: Mapping[str, Any], corrected: str
) -> Verdict:
    """``repaired`` when ``printed`` differs from ``derived`` and ``correct`` equals it; ``proved`` when all agree.

    derived: expression computed from the factors in the proof; correct: the closed form offered as the repair.
    """
    certificate = require_identity(derived, correct, "derived = corrected form")
    first = decide_identity(printed, derived, values, "printed form")
    if first.verdict == "proved":
        return first
    sides = {key: first.evidence[key] for key in ("printed", "derived")}
    return repaired(first.evidence["counterexample"], corrected, certificate, None, **sides)


def identity_replay(printed: sp.Expr, derived: sp.Expr, **conditions: sp.Expr) -> Callable[[Mapping[str, Any]], Replay]:
    """Replay of an identity: both sides in rational arithmetic at the stored values.

    conditions: relational sympy expressions that the stored values must satisfy (the assumptions).
    """

    def replay(evidence: Mapping[str, Any]) -> Replay:
        values = instance(evidence)
        satisfied = {"all symbols are positive": all(v > 0 for v in values.values() if isinstance(v, Fraction))}
        for name, condition in conditions.items():
            table = {s: sp.Rational(str(values[s.name])) for s in condition.free_symbols}
            satisfied[name.replace("_", " ")] = bool(condition.subs(table))
        return Replay(satisfied, evaluate(printed, values), evaluate(derived, values), "==")

    return replay


def ratio(left: Any, right: Any) -> float | None:
    """``left / right`` as a float, None when the right side is zero."""
    return None if right == 0 else float(Fraction(left) / Fraction(right))
