"""What the parts of a claim's evidence leave out, cut short or round: shown behind them, with every digit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from artifact.report.values import exact, is_whole, leaves, number

#: entries that a part shows as they are stored
SHOWN = {"label", "refutation", "reason", "parts"}
#: entries that are shown beside an instance
BESIDE = {"instance", "assumptions"}
#: entries of which six digits are shown
ROUNDED = {"sides", "interval", "worst_ratio"}
#: names of a row of compared numbers that the table shows
COLUMNS = {"where", "printed", "derived", "agrees"}

Row = tuple[str, str]


def rows(evidence: Mapping[str, Any], tables: set[str], most: int, letters: int, formulas: bool) -> Iterator[Row]:
    """(entry, value) of what the page does not show above.

    tables: entries that a table shows. most: its rows. letters: of a step of a certificate. formulas: whether a part
    shows the formulas.
    """
    for key, entry in evidence.items():
        if key in SHOWN or (key == "formulas" and formulas) or (key in BESIDE and evidence.keys() >= BESIDE):
            continue
        if key == "certificate":
            yield from _certificate({key: entry}, letters)
        elif key == "repair":
            found = {name: stored for name, stored in entry.items() if name not in ("certificate", "statements")}
            yield from _certificate(
                {f"{key}, {name}": entry[name] for name in ("certificate",) if name in entry}, letters
            )
            yield from _all({key: found})
        elif key in ROUNDED:
            yield from ((name, exact(one)) for name, one in leaves({key: entry}) if number(one) != exact(one))
        elif key not in tables:
            yield from _all({key: entry})
        elif key == "rows" and len(entry) <= most:
            yield from _other_columns(entry)
        elif len(entry) > most if isinstance(entry, list | Mapping) else False:
            yield from _all({key: entry})
        else:
            yield from ((name, exact(one)) for name, one in _opened({key: entry}) if not is_whole(one))


def _all(entries: Mapping[str, Any]) -> Iterator[Row]:
    return ((name, exact(one)) for name, one in _opened(entries))


def _certificate(entries: Mapping[str, Any], letters: int) -> Iterator[Row]:
    """Texts whose steps a part may have cut."""
    return ((name, text) for name, text in entries.items() if len(str(text)) > letters)


def _other_columns(entry: list[Mapping[str, Any]]) -> Iterator[Row]:
    """What a table of compared numbers has no column for, and numbers that it rounds."""
    for at, row in enumerate(entry, 1):
        left_out = {name: one for name, one in row.items() if name not in COLUMNS or not is_whole(one)}
        if left_out:
            yield f"row {at}, {exact(row.get('where', ''))}", exact(left_out)


def _opened(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(name, entry), a list of mappings row by row."""
    for name, entry in leaves(entries):
        if isinstance(entry, list) and any(isinstance(row, Mapping) for row in entry):
            yield from ((f"{name}, row {at}", row) for at, row in enumerate(entry, 1))
        else:
            yield name, entry
