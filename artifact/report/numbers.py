"""The papers' tables and figures from the stores, read once and shared by the pages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from artifact.base import plots
from artifact.papers import experiments
from artifact.papers.declared import Paper, Table
from artifact.papers.table_results import Entry, look_up
from artifact.papers.tables import heading
from artifact.report import charts
from artifact.report.content import Content
from artifact.runs.store import Run

#: lines of a panel of curves
TOGETHER = 15
#: tables whose curves are too many for a page that others share
ALONE = ("horizon/fashion-mnist",)


@dataclass(frozen=True)
class TableAt:
    """A table at one profile with its entries."""

    paper: Paper
    table: Table
    profile: str
    entries: list[Entry]

    @property
    def runs(self) -> list[Run]:
        return [run for entry in self.entries for run in entry.runs]

    @property
    def anchor(self) -> str:
        return f"table-{self.table.id}".replace(".", "-")

    @property
    def link(self) -> str:
        """Where the table stands."""
        return page_of("table", self.paper.paper, self.table.id)


@dataclass(frozen=True)
class Numbers:
    """All tables at all profiles that have them."""

    content: Content

    @cached_property
    def tables(self) -> list[TableAt]:
        found = []
        for paper, table in experiments.all_tables():
            for profile in self.content.profiles:
                if profile in table.profiles:
                    entries = look_up(table, profile, self.content.finished[profile])
                    found.append(TableAt(paper, table, profile, entries))
        return found

    def of_paper(self, paper: str) -> dict[str, list[TableAt]]:
        """Table id -> the table at its profiles, the chosen one first."""
        found: dict[str, list[TableAt]] = defaultdict(list)
        for at in self.tables:
            if at.paper.paper == paper:
                found[at.table.id].append(at)
        return dict(found)

    @property
    def papers(self) -> list[Paper]:
        return list({at.paper.paper: at.paper for at in self.tables}.values())

    def of_method(self, name: str) -> Iterator[tuple[TableAt, Entry]]:
        """Entries with results whose runs are of a method."""
        for at in self.tables:
            for entry in at.entries:
                if entry.runs and entry.ours is not None and algorithm(entry.runs[0]) == name:
                    yield at, entry


def page_of(kind: str, paper: str, id: str) -> str:
    """The place of a table or figure: on the page of its paper, or its own page. kind: ``table`` or ``figure``."""
    anchor = f"{kind}-{id}".replace(".", "-")
    if kind == "table" and f"{paper}/{id}" in ALONE:
        return f"table-{paper}-{anchor.removeprefix('table-')}.html"
    return f"{kind}s-{paper}.html#{anchor}"


def algorithm(run: Run) -> str:
    return run.config()["algorithm"]


def curves(at: TableAt) -> charts.Chart | None:
    """Accuracy against round, a panel per column and a line per row; None without runs."""
    panels, seen = [], set()
    for column in at.table.columns:
        lines, methods = [], []
        for position, row in enumerate(at.table.rows):
            entry = next((e for e in at.entries if e.cell.row is row and e.cell.column is column and e.runs), None)
            if entry is None or entry.cell.column.pool:
                continue
            model = entry.cell.metric.model
            rounds, values = plots.on_shared_rounds([run.series(f"{model}.accuracy") for run in entry.runs])
            if len(rounds):
                lines.append(charts.line(row.label, rounds.tolist(), 100 * values, position))
                methods.append(algorithm(entry.runs[0]))
        signature = str([(entry["label"], entry["mean"]) for entry in lines])
        if lines and signature not in seen:  # columns that differ only in a metric show the same runs
            seen.add(signature)
            label = heading(column, at.entries) if column.label else at.table.title
            labels = ("communication round", "test accuracy (%)")
            groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for line, method in zip(lines, methods, strict=True):  # the forms of a method, where all are too many
                groups[method if len(lines) > TOGETHER else ""].append(line)
            for method, group in groups.items():
                title = f"{label}: {group[0]['label']} and its other forms" if method else label
                panels.append({"title": title, "lines": group, "labels": labels})
    if not panels:
        return None
    note = "Lines are means over seeds, bands 95 % intervals; every method of a panel starts from the same weights."
    title = f"Accuracy against communication round, profile {at.profile}"
    chart = charts.lines_chart(f"curves-{at.anchor}-{at.profile}", title, panels, note)
    return replace(chart, differences=differences(at))


def differences(at: TableAt) -> list[charts.Panel]:
    """Each row minus the row that it is held against, a panel per column; of the first metric that has such numbers."""
    compared = [e for e in at.entries if e.comparison is not None and math.isfinite(e.comparison.difference.mean)]
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in compared:
        if entry.cell.metric is compared[0].cell.metric and entry.comparison is not None:
            d, against = entry.comparison.difference, entry.comparison.against
            row = {"label": entry.cell.row.label, "mean": d.mean, "low": d.low, "high": d.high, "n": d.n}
            row |= {"printed": entry.comparison.printed, "against": against}
            found.setdefault(heading(entry.cell.column, at.entries) or at.table.title, []).append(row)
    if not found:
        return []
    metric = compared[0].cell.metric
    rows = [row for column in found.values() for row in column]
    drawn = [
        row[name]
        for row in rows
        for name in ("mean", "low", "high", "printed")
        if row["n"] > 1 or name in ("mean", "printed")
    ]
    span = charts.span([0.0, *drawn])
    names = {row["against"] for row in rows}
    axis = f"{metric.label} minus {names.pop() if len(names) == 1 else 'the row it is held against'}"
    axis += f" ({metric.unit})" if metric.unit else ""
    return [charts.differences_panel(title, column, axis, span) for title, column in found.items()]
