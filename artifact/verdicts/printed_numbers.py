"""A paper's printed numbers beside those that follow from its other numbers, and whether they agree."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any


def comparisons(evidence: Mapping[str, Any], verdict: str = "") -> list[tuple[Any, Any, Any, bool | None]]:
    """(printed, derived, where, agrees) from rows, parallel lists or mappings, or single values.

    Numbers agree when the derived one rounds to the printed one, texts when they are equal. Whether two different texts
    disagree ("most of 16", "15 of 16") only the check knows: they do where its verdict is ``inconsistent``, else
    ``agrees`` is None, and so it is where one side has no entry.
    """
    if rows := compared_rows(evidence):
        return [(r["printed"], r.get("derived"), r.get("where", ""), r.get("agrees")) for r in rows]
    printed, derived = evidence["printed"], evidence["derived"]
    if isinstance(printed, Mapping) and isinstance(derived, Mapping):
        found = [(printed.get(key, ""), derived.get(key, ""), key) for key in {**printed, **derived}]
    elif isinstance(printed, list) and isinstance(derived, list) and len(printed) == len(derived):
        found = list(zip(printed, derived, labels(evidence)[1], strict=True))
    else:
        found = [(printed, derived, "")]
    return [_row(*one, texts_decide=verdict == "inconsistent") for one in found]


def compared_rows(evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of evidence that compares row by row; none where it holds parallel lists or single values."""
    rows = evidence.get("rows")
    if isinstance(rows, list) and all(isinstance(row, Mapping) and "printed" in row for row in rows):
        return rows
    return []


def labels(evidence: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Names of parallel lists and the entry that is nothing else: the first other one of as many texts or keys."""
    printed = evidence.get("printed")
    count = len(printed) if isinstance(printed, list) else 0
    for key, entry in evidence.items():
        if key in ("printed", "derived") or not isinstance(entry, list | Mapping) or not len(entry) == count > 0:
            continue
        if all(isinstance(name, str) for name in entry):
            return key if isinstance(entry, list) else "", list(entry)
    return "", [""] * count


def _row(printed: Any, derived: Any, where: Any, texts_decide: bool) -> tuple[Any, Any, Any, bool | None]:
    """texts_decide: whether texts disagree when they differ."""
    printed, derived = (x[0] if isinstance(x, list) and len(x) == 1 else x for x in (printed, derived))
    left, right = as_float(printed), as_float(derived)
    if left is not None and right is not None:
        _, _, digits = str(printed).partition(".")
        precise = isinstance(printed, str) and "/" not in printed
        slack = 0.5000001 * 10 ** -len(digits) if precise else 1e-6 * max(1.0, abs(left))
        return printed, derived, where, abs(left - right) <= slack
    if type(printed) is not type(derived) or not isinstance(printed, str | bool) or "" in (printed, derived):
        return printed, derived, where, None
    same = printed == derived
    return printed, derived, where, same if same or texts_decide or isinstance(printed, bool) else None


def as_float(value: Any) -> float | None:
    """A number, or a text that is one (also a fraction); None for anything else and for booleans."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(Fraction(value)) if isinstance(value, str) else None
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
