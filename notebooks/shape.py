"""The shape of a notebook's file: which cells it has, what is generated from the ledger, what was written by hand.

Written by hand are the first cell, the order of the claims and the sentences on what to see; headings, locations and
the cell that finds the project are generated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.report import notebooks
from artifact.verdicts.ledger import Claim, load, select

#: two cells, as an import belongs at the top of one
SETUP = {
    "path": """import sys

sys.path[:0] = [".", ".."]  # the project, wherever Jupyter was started: its folder or notebooks/""",
    "import": "from notebooks.claim import show",
}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def heading(claim: Claim) -> str:
    """What stands above the sentences of a claim: its anchor, its title, its id and its place in the paper."""
    return f'<a id="{claim.id}"></a>\n\n## {claim.title}\n\n`{claim.id}` · {claim.location}\n\n'


def sentences(about: str) -> str:
    """What a claim's markdown cell says below its heading: all blocks after the anchor, the title and the location."""
    return "\n\n".join(about.split("\n\n")[3:]).strip()


def build(first: str, claims: Sequence[Claim], words: Mapping[str, str]) -> dict[str, Any]:
    """A notebook without outputs. first: markdown of the first cell. words: the sentences by claim id."""
    cells = [_cell("markdown", "title", first), *(_cell("code", name, source) for name, source in SETUP.items())]
    for claim in claims:
        cells.append(_cell("markdown", f"about-{claim.id}", heading(claim) + words[claim.id]))
        cells.append(_cell("code", claim.id, f'show("{claim.id}")'))
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, name: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": name.replace(".", "_"), "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": text.splitlines(keepends=True)}


def refresh(name: str, folder: Path = notebooks.FOLDER) -> None:
    """Write a notebook anew in this shape. Raises UserError for a claim without a markdown cell before it."""
    cells, ledger = notebooks.read(name, folder)["cells"], load()
    ids, words = [], {}
    for before, cell in pairwise(cells):
        claim = notebooks.shown(cell)
        if claim is None:
            continue
        if before["cell_type"] != "markdown":
            raise UserError(f"notebook {name}", claim, "a markdown cell with two sentences before it")
        ids.append(claim)
        words[claim] = sentences(notebooks.source(before))
    by_id = {claim.id: claim for claim in select(ledger, ids)}
    write(build(notebooks.source(cells[0]), [by_id[claim] for claim in ids], words), name, folder)


def write(content: Mapping[str, Any], name: str, folder: Path = notebooks.FOLDER) -> None:
    """Write a notebook's file, keys and line ends as Jupyter writes them."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    write_atomic(folder / f"{name}.ipynb", text + "\n")
