"""Pieces of a card and of a page as HTML with MathML: no script, no request, readable without a style sheet."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache

import mistune
from markupsafe import Markup, escape
from mistune.plugins.math import math as math_plugin
from mistune.plugins.table import table as table_plugin

from artifact.report.evidence import Part
from artifact.report.mathematics import Converter

CONVERTER = Converter()
AGREES = {True: "yes", False: "no", None: ""}


def text(source: str) -> Markup:
    """A line of text with TeX between dollar signs. A wide formula scrolls in its own box, by keyboard too."""
    return Markup(str(CONVERTER.inline(source)).replace('<span class="wide">', '<span class="wide" tabindex="0">'))


def paragraphs(source: str, lead: str = "") -> Markup:
    """Text of one or several paragraphs. lead: set in bold before the first."""
    head = Markup("<strong>{}.</strong> ").format(lead) if lead else Markup("")
    parts = [part for part in source.strip().split("\n") if part.strip()]
    lines = [Markup("<p>{}{}</p>").format(head if i == 0 else "", text(part)) for i, part in enumerate(parts)]
    return Markup("").join(lines)


def markdown(source: str) -> str:
    """Markdown with TeX between dollar signs; HTML in it is kept."""
    return str(_markdown()(source))


@cache
def _markdown() -> mistune.Markdown:
    renderer = mistune.HTMLRenderer(escape=False)
    made = mistune.create_markdown(renderer=renderer, plugins=[math_plugin, table_plugin])
    renderer.register("inline_math", lambda _, formula: str(text(f"${formula}$")))
    renderer.register("block_math", lambda _, formula: str(text(f"$${formula}$$")))
    return made


def image(png: bytes, alternative: str) -> Markup:
    """A PNG as a figure with its alternative text."""
    data = base64.b64encode(png).decode()
    return Markup('<figure><img src="data:image/png;base64,{}" alt="{}"></figure>').format(data, alternative)


def wide(content: str, label: str) -> Markup:
    """A box that can be scrolled with finger and keyboard where its content is wider than the screen."""
    return Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>').format(
        label, Markup(content)
    )


def folded(summary: str, content: Markup) -> Markup:
    """Content behind a disclosure."""
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, content)


def part(piece: Part, label: str) -> Markup:
    """One piece of evidence. label: what it belongs to, for readers who do not see the page."""
    body = [Markup("<p>{}</p>").format(text(piece.text)) if piece.text else Markup(""), piece.chart]
    body += [Markup("<p><code>{}</code></p>").format(line) for line in piece.code]
    if piece.rows:
        body.append(wide(_table(piece.head, piece.rows, piece.marks), f"{piece.heading} of {label}"))
    content = Markup("").join(body)
    if piece.folded:
        return folded(piece.heading, content)
    return Markup("<h3>{}</h3>").format(piece.heading) + content if piece.heading else content


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], marks: Sequence[bool | None]) -> Markup:
    marked = any(mark is not None for mark in marks)
    columns = [*head, "agrees"] if marked else head
    lines = [Markup("<tr>{}</tr>").format(_cells("th", columns, ' scope="col"'))]
    for i, row in enumerate(rows):
        style = ' class="differs"' if marked and marks[i] is False else ""
        cells = [*row, AGREES[marks[i]]] if marked else row
        lines.append(Markup("<tr{}>{}</tr>").format(Markup(style), _cells("td", cells)))
    return Markup("<table>{}</table>").format(Markup("\n").join(lines))


def _cells(tag: str, cells: Sequence[str], attributes: str = "") -> Markup:
    return Markup("").join(Markup(f"<{tag}{attributes}>{escape(cell)}</{tag}>") for cell in cells)
