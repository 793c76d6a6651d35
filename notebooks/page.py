"""An executed notebook as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup

from artifact.report import notebooks
from artifact.verdicts.ledger import TITLES
from notebooks import render

STYLE = Path(__file__).with_suffix(".css")
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="inputs" content="{mark}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header><nav aria-label="Report"><a href="../index.html">Report</a> · <a href="{report}">{paper}</a> ·
<code>notebooks/{name}.ipynb</code></nav></header>
<main>
{body}
</main>
</body>
</html>
"""
HEADING = re.compile(r"^#+ +(.+)$", re.M)


def is_of(path: Path, mark: str) -> bool:
    """Whether a page was made from the inputs that the fingerprint stands for."""
    if not path.is_file():
        return False
    with open(path, encoding="utf-8") as file:
        return f'<meta name="inputs" content="{mark}">' in file.read(1000)


def page(content: Mapping[str, Any], name: str, mark: str) -> str:
    """HTML page of an executed notebook. content: the notebook as parsed JSON. name: its stem. mark: its inputs'."""
    paper = name.partition("-")[0]
    report = f"../paper-{paper}.html"
    first, *rest = content["cells"]
    body = [Markup(render.markdown(notebooks.source(first))), _contents(content["cells"])]
    body += [_cell(cell, report) for cell in rest]
    fields = {"title": _title(first), "name": name, "paper": TITLES[paper], "report": report, "mark": mark}
    style = Markup(STYLE.read_text(encoding="utf-8"))
    return str(Markup(PAGE).format(style=style, body=Markup("\n").join(body), **fields))


def _title(cell: Mapping[str, Any]) -> str:
    found = HEADING.search(notebooks.source(cell))
    return found[1].strip() if found else ""


def _contents(cells: list[Mapping[str, Any]]) -> Markup:
    """Links to the claims, behind a disclosure."""
    shown = [(notebooks.shown(cell), _title(before)) for before, cell in pairwise(cells) if notebooks.shown(cell)]
    lines = Markup("").join(Markup('<li><a href="#{}">{}</a></li>').format(claim, title) for claim, title in shown)
    return Markup('<nav aria-label="Claims">{}</nav>').format(
        render.folded(f"{len(shown)} claims", Markup("<ul>{}</ul>").format(lines))
    )


def _cell(cell: Mapping[str, Any], report: str) -> Markup:
    """A cell with its outputs; below a claim's, the way to the claim in the report."""
    source = notebooks.source(cell)
    if cell["cell_type"] != "code":
        return Markup(render.markdown(source) if cell["cell_type"] == "markdown" else "")
    parts = [Markup("<pre><code>{}</code></pre>").format(source), *map(_output, cell["outputs"])]
    claim = notebooks.shown(cell)
    if claim:
        link = '<p class="measure"><a href="{}#{}">{} in the report</a></p>'
        parts.append(Markup(link).format(report, claim, claim))
    return Markup("\n").join(parts)


def _output(output: Mapping[str, Any]) -> Markup:
    """HTML of an output; an output without HTML is shown as text."""
    if output["output_type"] == "stream":
        return Markup("<pre>{}</pre>").format("".join(output["text"]))
    data = output.get("data", {})
    if "text/html" in data:
        return Markup("".join(data["text/html"]))
    if "image/png" in data:
        return render.image(base64.b64decode(data["image/png"]), "The figure that the cell above draws.")
    return Markup("<pre>{}</pre>").format("".join(data.get("text/plain", "")))
