"""The notebooks as data: which there are, and where each claim is shown.

A notebook of ``notebooks/`` covers one section of one paper. A claim is shown by a code cell that is exactly
``show("claim-id")``; the markdown cell before it has an anchor with the claim's id, a heading, the location in the
paper, and two sentences on what to see. Nothing here runs a notebook: ``python -m notebooks`` does.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.errors import UserError, first_fault
from artifact.base.files import read_file
from artifact.verdicts.ledger import PAPERS

FOLDER = paths.NOTEBOOKS
CALL = re.compile(r'^show\("([^"\\]+)"\)$')


class _Text(BaseModel):
    """A cell of text."""

    cell_type: Literal["markdown", "raw"]
    source: str | list[str]
    metadata: dict[str, Any]


class _Code(BaseModel):
    """A cell of code with what it printed."""

    cell_type: Literal["code"]
    source: str | list[str]
    metadata: dict[str, Any]
    outputs: list[dict[str, Any]]
    execution_count: int | None


class _Notebook(BaseModel):
    """What readers need of a file in the format nbformat 4."""

    nbformat: Literal[4]
    nbformat_minor: int
    metadata: dict[str, Any]
    cells: list[_Text | _Code] = Field(min_length=1)


def names(folder: Path = FOLDER) -> list[str]:
    """Stems of the notebooks: papers in the ledger's order, then the front matter, sections, appendices."""
    return sorted((path.stem for path in folder.glob("*.ipynb")), key=_order)


def _order(name: str) -> tuple[int, bool, str]:
    """Numbered sections and chapters come before appendices and supplements."""
    paper, _, section = name.partition("-")
    position = PAPERS.index(paper) if paper in PAPERS else len(PAPERS)
    return position, section.startswith(("appendi", "supplement")), section.split("-", 1)[-1]


def read(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The notebook as parsed JSON. Raises UserError for an unknown name and a damaged file."""
    path, known = folder / f"{name}.ipynb", names(folder)
    if name not in known:
        raise UserError("notebook", name, ", ".join(known))
    try:
        content = json.loads(read_file(path, "notebook"))
    except (OSError, ValueError, RecursionError) as error:  # a folder, no UTF-8, no JSON, too deep
        raise UserError("notebook", str(path), f"a JSON file in UTF-8 that can be read ({error})") from None
    try:
        _Notebook.model_validate(content)
    except ValidationError as error:
        fault = first_fault(error)
        allowed = f"a notebook of nbformat 4 with at least one cell ({fault.field}: {fault.allowed})"
        raise UserError("notebook", str(path), allowed) from None
    return content


def source(cell: dict[str, Any]) -> str:
    """Text of a cell, which the format keeps as a list of lines or as one text."""
    return "".join(cell["source"])


def shown(cell: dict[str, Any]) -> str | None:
    """Id of the claim that a cell shows, None for any other cell."""
    found = CALL.match(source(cell).strip()) if cell["cell_type"] == "code" else None
    return found[1] if found else None


def claims_of(name: str, folder: Path = FOLDER) -> list[str]:
    """Ids of the claims that a notebook shows, in its order."""
    return [claim for cell in read(name, folder)["cells"] if (claim := shown(cell))]


@cache
def _locations() -> dict[str, str]:
    return {claim: name for name in names() for claim in claims_of(name)}


@cache
def _explained() -> dict[str, str]:
    pairs = (pair for name in names() for pair in pairwise(read(name)["cells"]))
    return {id: source(before).strip().split("\n\n")[-1] for before, cell in pairs if (id := shown(cell))}


def explained(claim_id: str) -> str:
    """The sentences before a claim's cell: what is tested, on which instance, and what to see; empty without a cell."""
    return _explained().get(claim_id, "")


def location(claim_id: str) -> tuple[str, str]:
    """(stem of the notebook, anchor in its page) of a claim. Raises UserError for a claim that no notebook shows."""
    if claim_id not in _locations():
        raise UserError("claim", claim_id, "an id that a notebook of notebooks/ shows")
    return _locations()[claim_id], claim_id
