r"""A formula of a statement: a page prints it from the two sides that a check decides with.

``formula(left, "<=", right)`` is made inside the check. Its certificates, instances and runs take ``left``, ``right``
or ``room`` from it, and the statement's text takes ``latex``; so a number stands in one place. A mutation gives the
check another formula (a constant halved or doubled, a term dropped, a power more or less) and the check must then fail.

    drift, rho = sp.symbols("drift rho", nonnegative=True)
    bound = formula(drift, "<=", 4 * rho**2, {drift: r"\|\delta_i-\delta\|^2"})
    identity(bound.right, ((a + b) ** 2).subs({a: rho, b: rho}))         # decides with the number that is printed
    f"${bound.latex}$ for all step sizes"                                # prints it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from theory.kit.symbolic import rational_points

#: a name that stands for something measured
LONG = re.compile(r"\\(\||sum|langle|mathbb)")
SIGNS = {"<=": r"\le", "<": "<", "==": "=", ">=": r"\ge", ">": ">"}


class Violated(ValueError):
    """A formula that an instance contradicts."""


@dataclass(frozen=True)
class Formula:
    """left relation right, as sympy expressions.

    relation: a key of ``SIGNS``; "==" also for rules and definitions. names: symbol -> LaTeX, where it is not the
    symbol's own.
    """

    left: sp.Expr
    relation: str
    right: sp.Expr
    names: Mapping[sp.Symbol, str] = field(default_factory=dict)

    @property
    def latex(self) -> str:
        """LaTeX without delimiters; what has a norm or a sum in its name stands last in a product."""
        long = {s: sp.Symbol(f"zz_{s}", **s.assumptions0) for s, name in self.names.items() if LONG.search(name)}
        names = {long.get(symbol, symbol): name for symbol, name in self.names.items()}
        left, right = (sp.latex(side.xreplace(long), symbol_names=names) for side in (self.left, self.right))
        text = rf"{left}{SIGNS[self.relation]} {right}"
        for name in self.names.values():
            if name.startswith(r"\|") and name.endswith(r"\|"):
                text = text.replace(rf"\left({name}\right)^", f"{name}^")
        return text

    @property
    def room(self) -> sp.Expr:
        """What the formula says is >= 0 (> 0, or 0 for an equality)."""
        return self.left - self.right if self.relation in (">=", ">") else self.right - self.left

    def at(self, values: Mapping[Any, Any]) -> tuple[sp.Expr, sp.Expr]:
        """Both sides with values (numbers or expressions) in place of symbols, which may be given by name."""
        put = {s: sp.sympify(values[k]) for s in self.symbols for k in (s, str(s)) if k in values}
        left, right = (side.subs(put, simultaneous=True) for side in (self.left, self.right))
        return left, right

    def holds_at(self, values: Mapping[Any, Any]) -> str:
        """The two sides at an instance, in words. Raises Violated where they contradict the formula.

        An instance speaks for a formula and does not prove it, so the text belongs beside a certificate, not into it.
        """
        left, right = self.at(values)
        room = sp.simplify(replace(self, left=left, right=right).room)
        if not (room == 0 if self.relation == "==" else room > 0 if self.relation in ("<", ">") else room >= 0):
            raise Violated(f"{self.latex} fails: {left} against {right} at {dict(values)}")
        return f"{left} {self.relation} {right}"

    def attained_at(self, values: Mapping[Any, Any]) -> str:
        """The same for an instance at which both sides are equal, which no smaller constant allows."""
        text = self.holds_at(values)
        left, right = self.at(values)
        if sp.simplify(left - right) != 0:
            raise Violated(f"{self.latex} is not attained: {left} against {right} at {dict(values)}")
        return text

    @property
    def symbols(self) -> list[sp.Symbol]:
        return sorted(self.left.free_symbols | self.right.free_symbols, key=str)

    def mutations(self) -> Iterator[tuple[str, Formula]]:
        """What was changed, and the changed formula, for every change that tightens the formula or makes it another."""
        seen = {(self.left, self.right)}
        sides = ("right",) if self.left.is_Atom else ("right", "left")
        for side in sides:
            for what, changed in _variants(getattr(self, side), lambda whole: whole):
                other = replace(self, **{side: changed})
                if (other.left, other.right) not in seen and self._is_tightened_by(other):
                    seen.add((other.left, other.right))
                    yield (what if side == "right" else f"left side: {what}"), other

    def _is_tightened_by(self, other: Formula) -> bool:
        """Whether the other one leaves less room somewhere; an equality is another one wherever it differs."""
        try:
            before, after = self._rooms, other._at_points(self.symbols)
        except (NameError, TypeError, ValueError, KeyError):  # a function that machine numbers do not know
            return True
        lost = before - after
        gone = np.isfinite(before) & ~np.isfinite(after)
        return bool(np.any(gone | (abs(lost) > 1e-9 if self.relation == "==" else lost > 1e-9)))

    @cached_property
    def _rooms(self) -> NDArray[np.float64]:
        return self._at_points(self.symbols)

    def _at_points(self, symbols: list[sp.Symbol]) -> NDArray[np.float64]:
        """The room at rational points [n] of the symbols, nan where it is no real number."""
        points = [np.array([float(value) for value in point.values()]) for point in rational_points(symbols)]
        with np.errstate(all="ignore"):
            values = np.asarray(sp.lambdify(symbols, self.room, "numpy")(*np.array(points).T), dtype=complex)
        return np.broadcast_to(np.where(abs(values.imag) > 0, np.nan, values.real), (len(points),))


#: formulas that the check in progress has made
MADE: list[Formula] = []
#: place among them -> the sides that it is given in place of its own
CHANGED: dict[int, tuple[sp.Expr, sp.Expr]] = {}


def formula(left: Any, relation: str, right: Any, names: Mapping[sp.Symbol, str] | None = None) -> Formula:
    """A formula that the check in progress prints and decides with, to be made inside the check: not in a constant of
    its module, not in a cached function. Raises ValueError for a relation that is none of ``SIGNS``."""
    if relation not in SIGNS:
        raise ValueError(f"relation: {relation!r}; allowed: {', '.join(SIGNS)}")
    made = Formula(sp.sympify(left), relation, sp.sympify(right), dict(names or {}))
    if made not in MADE:
        MADE.append(made)
    left, right = CHANGED.get(MADE.index(made), (made.left, made.right))
    return replace(made, left=left, right=right)


def _variants(whole: sp.Expr, put: Callable[[sp.Expr], sp.Expr]) -> Iterator[tuple[str, sp.Expr]]:
    """Changes of one sum, and of what stands inside its terms. put: the whole side with another sum in its place."""
    terms = sp.Add.make_args(whole)
    for place, term in enumerate(terms):

        def among(new: sp.Expr, place: int = place) -> sp.Expr:
            return put(sp.Add(*terms[:place], new, *terms[place + 1 :]))

        yield f"without {term}", among(sp.Integer(0))
        yield f"half of {term}", among(term / 2)
        yield f"twice {term}", among(2 * term)
        for symbol in sorted(term.free_symbols, key=str):
            yield f"one power of {symbol} more in {term}", among(term * symbol)
            yield f"one power of {symbol} less in {term}", among(term / symbol)
        yield from _inside(term, among)


def _inside(node: sp.Expr, put: Callable[[sp.Expr], sp.Expr]) -> Iterator[tuple[str, sp.Expr]]:
    """Changes of the sums, arguments and exponents inside a term."""
    if node.is_Pow:
        base, power = node.args
        if base.args:
            yield from (_variants if base.is_Add else _inside)(base, lambda new: put(new**power))
            for other in (power + 1, power - 1):
                yield f"{power} -> {other} in {node}", put(base**other)
        if not power.is_Number:
            yield from _variants(power, lambda new: put(base**new))
    else:
        for place, part in enumerate(node.args):

            def among(new: sp.Expr, place: int = place) -> sp.Expr:
                return put(node.func(*node.args[:place], new, *node.args[place + 1 :]))

            if part.args or not node.is_Mul:
                yield from (_inside if node.is_Mul and not part.is_Add else _variants)(part, among)
