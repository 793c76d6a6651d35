"""Stored values as text: short ones for sentences and table cells, and each with every digit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from artifact.verdicts.printed_numbers import as_float

#: entries of a list that a table cell shows
LIST = 12


def number(value: Any) -> str:
    """Six significant digits."""
    as_number = as_float(value)
    return str(value) if as_number is None else f"{as_number:.6g}"


def value(entry: Any) -> str:
    """A stored value for a table cell: short, exact fractions with their decimal beside them."""
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if isinstance(entry, float):
        return f"{entry:.6g}"
    if isinstance(entry, str):
        decimal = as_float(entry) if "/" in entry or len(entry) > 18 else None
        if decimal is None:
            return entry
        equal = Fraction(f"{decimal:.6g}") == Fraction(entry)
        return f"{cut(entry)} ({'=' if equal else 'about'} {decimal:.6g})"
    if isinstance(entry, Mapping):
        return "; ".join(f"{key}: {value(item)}" for key, item in entry.items())
    if isinstance(entry, list | tuple):
        shown = _between(entry).join(value(item) for item in entry[:LIST])
        return f"{shown}, ... ({len(entry)} in all)" if len(entry) > LIST else shown
    return "" if entry is None else str(entry)


def exact(entry: Any) -> str:
    """A stored value as text, with nothing rounded, cut or left out."""
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if isinstance(entry, Mapping):
        return "; ".join(f"{key}: {exact(item)}" for key, item in entry.items())
    if isinstance(entry, list | tuple):
        return _between(entry).join(exact(item) for item in entry)
    return "" if entry is None else str(entry)


def is_whole(entry: Any) -> bool:
    """Whether ``value`` shows all that is stored.

    >>> is_whole("1/3"), is_whole(0.1), is_whole(0.12345678), is_whole([1] * 13)
    (True, True, False, False)
    """
    if isinstance(entry, float):
        return float(f"{entry:.6g}") == entry
    if isinstance(entry, str):
        return entry in value(entry)
    if isinstance(entry, Mapping):
        return all(is_whole(item) for item in entry.values())
    if isinstance(entry, list | tuple):
        return len(entry) <= LIST and all(is_whole(item) for item in entry)
    return True


def told(entry: Any) -> str:
    """A stored number of a finding, or several, with six digits each."""
    return ", ".join(map(number, entry)) if isinstance(entry, list | tuple) else number(entry)


def cut(text: str, length: int = 40) -> str:
    return text if len(text) <= length else text[: length - 4] + " ..."


def leaves(entries: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """(name, entry): mappings inside are opened up to three levels deep."""
    for key, entry in entries.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(entry, Mapping) and depth < 2:
            yield from leaves(entry, f"{name}, ", depth + 1)
        else:
            yield name, entry


def flat(entries: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows (name, value) for a table."""
    return ((name, value(entry)) for name, entry in leaves(entries))


def _between(entry: list | tuple) -> str:
    return "; " if any(isinstance(item, list | tuple) for item in entry) else ", "
