"""Tables as text: Markdown for pages and terminals, CSV for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; a cell's line breaks become blanks and its bars are escaped."""
    return [markdown_row(head), "|---" * len(head) + "|", *map(markdown_row, rows)]


def markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def csv_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The whole file; an empty field stands for None."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()
