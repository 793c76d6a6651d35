"""``fedsharp list cells``: every cell of every table and every panel of every figure, with what is there of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from artifact.papers import experiments, figures
from artifact.runs.lookup import finished_runs


def cells(paper: str | None = None, profile: str = "laptop", store: Path | None = None) -> list[dict[str, Any]]:
    """id and state of the cells and panels of one paper or of all, in the order of the papers.

    state: ``finished n/m`` (of the runs behind it), ``missing``, ``given`` (nothing is trained for it) or
    ``not-run: reason``. Raises UserError for an unknown paper or profile.
    """
    root = store or experiments.readable_store(profile)
    stored = finished_runs(root)
    names = experiments.papers() if paper is None else [experiments.load(paper).paper]
    rows = []
    for name in names:
        for table in experiments.load(name).table:
            if profile in table.profiles:
                found = experiments.cells(table, profile)
                rows += [{"id": cell.id, "state": experiments.state(cell, stored)} for cell in found]
        rows += [{"id": id, "state": state} for id, state in figures.states(profile, root, name).items()]
    return rows
