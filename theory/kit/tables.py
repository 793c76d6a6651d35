"""The papers' tables as tidy rows, and comparison of printed with derived numbers at the printed rounding.

A printed number with k decimals stands for an interval of half a unit of the last digit on either side. Derived numbers
carry the interval that follows from their inputs, so "inconsistent" means that no unrounded numbers behind the print
can satisfy the stated relation, not that a last digit differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.papers.declared import read_csv
from theory.kit.verdict import Verdict

FOLDER = paths.PRINTED


class Row(dict):
    """One row of a table: column name -> text as transcribed ("" for an empty cell)."""

    @property
    def value(self) -> Decimal:
        """The number in the column ``value`` with its printed decimals. Raises UserError where it is not a number."""
        return decimal(self.get("value", ""))

    @property
    def is_number(self) -> bool:
        try:
            return self.value is not None
        except UserError:
            return False


class Table(list):
    """Rows of one table, in the order of the file."""

    def where(self, **columns: Any) -> Table:
        """Rows whose columns equal the given text; a list, tuple or set allows several; a function decides itself."""
        return Table(row for row in self if all(_matches(row.get(name, ""), want) for name, want in columns.items()))

    def one(self, **columns: Any) -> Row:
        """The only row that matches. Raises UserError when there is none or more than one."""
        rows = self.where(**columns)
        if len(rows) != 1:
            raise UserError("table row", columns, f"a selection with exactly one row (found {len(rows)})")
        return rows[0]

    def value(self, **columns: Any) -> Decimal:
        """The number of the only matching row."""
        return self.one(**columns).value

    def values(self, **columns: Any) -> list[Decimal]:
        """Numbers of the matching rows that hold a number, in order."""
        return [row.value for row in self.where(**columns) if row.is_number]

    def distinct(self, column: str) -> list[str]:
        """Different entries of a column in order of appearance."""
        return list(dict.fromkeys(row.get(column, "") for row in self))


def _matches(text: str, want: Any) -> bool:
    if callable(want):
        return bool(want(text))
    if isinstance(want, list | tuple | set | frozenset):
        return text in {str(entry) for entry in want}
    return text == str(want)


@cache
def table(name: str) -> Table:
    """Table by file stem, for example ``table("man_table1")``. Raises UserError for an unknown name."""
    path = FOLDER / f"{name}.csv"
    if not path.is_file():
        raise UserError("table", name, ", ".join(sorted(entry.stem for entry in FOLDER.glob("*.csv"))))
    return Table(map(Row, read_csv(path)))


def decimal(text: Any) -> Decimal:
    """Number with its printed decimals; Decimal("79.50") keeps the zero. Raises UserError otherwise."""
    try:
        number = Decimal(str(text).strip().replace(",", ""))
    except InvalidOperation:
        raise UserError("table value", text, "a decimal number") from None
    if not number.is_finite():
        raise UserError("table value", text, "a finite number")
    return number


def unit(printed: Any) -> Fraction:
    """Unit of the last printed digit: "79.52" -> 1/100, "246" -> 1."""
    return Fraction(10) ** min(decimal(printed).as_tuple().exponent, 0)


@dataclass(frozen=True)
class Interval:
    """A derived number: value from the printed inputs, and the range that their rounding allows."""

    value: Fraction
    low: Fraction
    high: Fraction

    @classmethod
    def exactly(cls, value: Any) -> Interval:
        number = Fraction(str(value)) if not isinstance(value, Fraction) else value
        return cls(number, number, number)

    @classmethod
    def printed(cls, value: Any) -> Interval:
        """Printed number with half a unit of its last digit on either side; integers are counts, hence exact.

        An Interval passes through. A number whose decimals were lost (a float) is read at its shortest decimal form.
        """
        if isinstance(value, Interval):
            return value
        number, step = Fraction(decimal(value)), unit(value)
        half = step / 2 if step < 1 else Fraction(0)
        return cls(number, number - half, number + half)


def derive(function: Callable[..., Fraction], *inputs: Any) -> Interval:
    """Interval of ``function`` of printed numbers (coordinate-wise monotone function: its extremes lie at corners).

    Cost 2^n for n inputs; ``average`` and ``total`` are linear and do not need it.
    """
    boxes = [Interval.printed(entry) for entry in inputs]
    corners = [function(*corner) for corner in product(*({box.low, box.high} for box in boxes))]
    return Interval(function(*(box.value for box in boxes)), min(corners), max(corners))


def total(values: Iterable[Any]) -> Interval:
    """Sum of printed numbers."""
    boxes = [Interval.printed(entry) for entry in values]
    return Interval(sum(b.value for b in boxes), sum(b.low for b in boxes), sum(b.high for b in boxes))


def average(values: Iterable[Any]) -> Interval:
    """Arithmetic mean of printed numbers."""
    values = list(values)
    whole, count = total(values), len(values)
    return Interval(whole.value / count, whole.low / count, whole.high / count)


def difference(a: Any, b: Any) -> Interval:
    """a - b of printed numbers."""
    return derive(lambda x, y: x - y, a, b)


def ratio(a: Any, b: Any) -> Interval:
    """a / b of printed numbers, b not 0."""
    return derive(lambda x, y: x / y, a, b)


@dataclass(frozen=True)
class Comparison:
    """A printed number beside the number that follows from others.

    label: where it stands. printed: as printed. derived: value and range. agrees: the printed interval and the derived
    range meet. same_digits: the derived value rounded to the printed decimals gives the printed digits.
    """

    label: str
    printed: str
    derived: Interval
    agrees: bool
    same_digits: bool

    @property
    def evidence(self) -> dict[str, Any]:
        return {
            "where": self.label,
            "printed": self.printed,
            "derived": float(self.derived.value),
            "derived_range": [float(self.derived.low), float(self.derived.high)],
            "difference": float(Fraction(decimal(self.printed)) - self.derived.value),
            "agrees": self.agrees,
            "same_digits": self.same_digits,
        }


def compare(label: str, printed: Any, derived: Any, *, slack: Any = 0, rounding: Any = None) -> Comparison:
    """Compare a printed number with a derived one (Interval, Fraction or number).

    slack: extra tolerance. rounding: the printed unit where it is not that of the last digit (for example 1 for "about
    300 rounds", which is read as +- 1/2).
    """
    derived = derived if isinstance(derived, Interval) else Interval.exactly(derived)
    number, step = Fraction(decimal(printed)), Fraction(str(rounding)) if rounding is not None else unit(printed)
    reach = step / 2 + Fraction(str(slack))
    agrees = derived.low - reach <= number <= derived.high + reach
    return Comparison(label, str(printed), derived, agrees, abs(number - derived.value) <= step / 2)


def arithmetic_verdict(comparisons: Sequence[Comparison], **more: Any) -> Verdict:
    """``consistent`` when every comparison agrees, else ``inconsistent``; the evidence lists them side by side."""
    rows = [entry.evidence for entry in comparisons]
    evidence = {
        "printed": [row["printed"] for row in rows],
        "derived": [row["derived"] for row in rows],
        "rows": rows,
        "disagreeing": [row for row in rows if not row["agrees"]],
        **more,
    }
    return Verdict("consistent" if all(entry.agrees for entry in comparisons) else "inconsistent", evidence)
