"""What is to be run: the configs of tables and figures, each once."""

from __future__ import annotations

from artifact.papers import experiments
from artifact.papers.declared import Table
from artifact.papers.figures import series
from artifact.runs.lookup import merged
from artifact.training.config import RunConfig


def configs(selection: str, profile: str, everything: bool = False) -> list[RunConfig]:
    """The configs of a selection, each once, seed by seed so that an interrupted sweep holds whole comparisons.

    selection: empty (all), ``PAPER``, ``PAPER/TABLE`` or ``PAPER/figN``.  everything: also what the profile marks as
    not run here. Raises UserError for an unknown selection.
    """
    wanted: list[RunConfig] = []
    for table in _tables_in(selection):
        if profile in table.profiles or "/" in selection:
            for cell in experiments.cells(table, profile):
                wanted += cell.configs if everything or not cell.not_run else ()
    wanted += series.configs(selection, profile, everything)
    return sorted(merged(wanted), key=lambda c: c.seed)


def _tables_in(selection: str) -> list[Table]:
    paper, _, name = selection.partition("/")
    if name:
        return [] if _is_figure(paper, name) else [experiments.find(selection)[1]]
    chosen = [experiments.load(paper).paper] if paper else experiments.papers()
    return [table for declared, table in experiments.all_tables() if declared.paper in chosen]


def _is_figure(paper: str, name: str) -> bool:
    return any(figure.id == name for figure in experiments.load(paper).figure)
