"""Exact and 50-digit arithmetic for the replay of counterexamples.

Evidence stores plain numbers; ``fractions_of`` reads them back as rationals without loss (a float is the rational that
it is, ``"3/7"`` is three sevenths). Where a statement needs roots, ``mp`` gives 50 digits, and ``sqrt_le`` decides an
inequality between square roots of rationals exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

import mpmath

DIGITS = 50

#: mpmath context with 50 digits, apart from the global one
mp = mpmath.mp.clone()
mp.dps = DIGITS

Rational = Fraction
RationalMatrix = list[list[Fraction]]


def fractions_of(value: Any) -> Any:
    """Plain numbers, ``"p/q"`` or decimal strings, and nested lists and mappings of them, as ``Fraction``."""
    if isinstance(value, dict):
        return {key: fractions_of(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [fractions_of(entry) for entry in value]
    if hasattr(value, "tolist"):
        return fractions_of(value.tolist())
    return Fraction(value)


def plain(value: Any) -> Any:
    """Inverse of ``fractions_of`` for evidence: Fraction -> int or ``"p/q"``, arrays -> lists, mpf -> 50-digit text."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    if isinstance(value, mpmath.mpf) or type(value).__name__ == "mpf":
        return mpmath.nstr(value, DIGITS)
    return value


def listed(values: Mapping[str, Any]) -> str:
    """Named numbers as a text for a certificate: ``a = 1, b = 3/2``."""
    return ", ".join(f"{name.replace('_', ' ')} = {value}" for name, value in plain(dict(values)).items())


def mpf(value: Any) -> Any:
    """Number, rational or ``"p/q"`` as a 50-digit float; lists entrywise."""
    if isinstance(value, list | tuple):
        return [mpf(entry) for entry in value]
    if isinstance(value, str) and "/" in value:
        value = Fraction(value)
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / mp.mpf(value.denominator)
    return mp.mpf(value)


def dot(x: Sequence, y: Sequence) -> Any:
    return sum((a * b for a, b in zip(x, y, strict=True)), 0 * x[0])


def norm2(x: Sequence) -> Any:
    """Squared Euclidean norm, rational for rational x."""
    return dot(x, x)


def norm(x: Sequence) -> Any:
    """Euclidean norm with 50 digits."""
    return mp.sqrt(mpf(norm2(x)))


def add(x: Sequence, y: Sequence, factor: Any = 1) -> list:
    """x + factor * y."""
    return [a + factor * b for a, b in zip(x, y, strict=True)]


def scaled(factor: Any, x: Sequence) -> list:
    return [factor * a for a in x]


def matvec(matrix: Sequence[Sequence], x: Sequence) -> list:
    return [dot(row, x) for row in matrix]


def mean(rows: Sequence[Sequence]) -> list:
    """Mean of vectors, rational for rational entries."""
    return [sum(column, 0 * column[0]) / len(rows) for column in zip(*rows, strict=True)]


def unit(x: Sequence) -> list:
    """x/||x|| with 50 digits; zero for zero."""
    length = norm(x)
    return [mpf(a) / length if length else mp.mpf(0) for a in x]


def rational_sqrt(value: Fraction) -> Fraction | None:
    """The rational square root where there is one, else None."""
    value = Fraction(value)
    if value < 0:
        return None
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    return root if root * root == value else None


def sqrt_le(a: Fraction, b: Fraction) -> bool:
    """sqrt(a) <= b, decided without rounding, for rational a >= 0 and b."""
    return b >= 0 and Fraction(a) <= Fraction(b) ** 2


def is_positive_semidefinite(matrix: RationalMatrix) -> bool:
    """Exact test of a symmetric rational matrix by elimination without pivot search (a zero pivot needs a zero row)."""
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    size = len(rows)
    for k in range(size):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][j] != 0 for j in range(k + 1, size))):
            return False
        for i in range(k + 1, size):
            factor = rows[i][k] / pivot if pivot else Fraction(0)
            rows[i] = [entry - factor * above for entry, above in zip(rows[i], rows[k], strict=True)]
    return True


def eigenvalues_within(matrix: RationalMatrix, low: Fraction, high: Fraction) -> bool:
    """low I <= matrix <= high I, decided exactly: the assumption "mu-strongly convex and L-smooth" of a quadratic."""
    size = range(len(matrix))
    above = [[Fraction(matrix[i][j]) - (Fraction(low) if i == j else 0) for j in size] for i in size]
    below = [[(Fraction(high) if i == j else 0) - Fraction(matrix[i][j]) for j in size] for i in size]
    return is_positive_semidefinite(above) and is_positive_semidefinite(below)
