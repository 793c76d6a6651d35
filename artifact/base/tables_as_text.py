"""Tables as text: Markdown for pages and terminals, CSV for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: a first column of a plain list takes at most so many characters
WIDEST = 17
#: a text with such a beginning is a formula to a spreadsheet; a dash alone, which stands for no number, is none
FORMULA, DASHES = ("=", "+", "-", "@", "\t", "\r", "\n"), ("-", "--")


def markdown_table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table; a cell's line breaks become blanks and its bars are escaped."""
    return [markdown_row(head), "|---" * len(head) + "|", *map(markdown_row, rows)]


def markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def csv_table(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """The whole file; an empty field stands for None, and no spreadsheet reads a text as a formula."""
    text = io.StringIO()
    # a carriage return alone would end a row for whoever reads the file
    cells = [[_one_line_end(csv_cell(one)) for one in row] for row in [head, *rows]]
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()


def _one_line_end(value: Any) -> Any:
    return value.replace("\r\n", "\n").replace("\r", "\n") if isinstance(value, str) else value


def csv_cell(value: Any) -> Any:
    """A value for a CSV file: a text that a spreadsheet would compute gets an apostrophe, which shows it as text.

    >>> csv_cell("=1+1"), csv_cell("-1.5"), csv_cell(-1.5)
    ("'=1+1", '-1.5', -1.5)
    """
    if not isinstance(value, str) or not value.lstrip(" ").startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return value if value in DASHES else f"'{value}"
    return value


def plain_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line per record for a terminal: the first value in a column of its own, the others in words behind it."""
    values = [[in_words(value) for value in row.values()] for row in rows]
    width = min(max((len(first) for first, *_ in values), default=0), WIDEST)
    return [f"{first:<{width}}  " + "  ".join(others) for first, *others in values]


def in_words(value: Any) -> str:
    """``a=1 b=2`` for a mapping, ``a, b`` for a list, else the value's own text."""
    if isinstance(value, Mapping):
        return " ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
