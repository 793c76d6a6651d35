"""``artifact table``: run or look up the cells of a table and print ours beside the paper's."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from artifact import experiments, figures, session
from artifact.experiments import Cell, DataCache, Paper, Table
from artifact.stats import Interval, paired_difference
from artifact.store import Run

FORMATS = ("markdown", "csv", "latex", "json")


@dataclass(frozen=True)
class Entry:
    """One cell's result: ours with n and interval, the paper's number, the runs behind it."""

    cell: Cell
    ours: Interval | None
    paper: float | None
    runs: list[Run]

    @property
    def text(self) -> str:
        """``mean ± half width (n)``; the paper's number follows after a bar."""
        ours = "not run" if self.ours is None else _ours(self.ours)
        return ours if self.paper is None else f"{ours} | {self.paper:.2f}"


def _ours(interval: Interval) -> str:
    spread = f" ± {interval.half_width:.2f}" if interval.n > 1 else ""
    return f"{interval.mean:.2f}{spread} (n={interval.n})"


def collect(
    table: Table, profile: str, store: Path, run_missing: bool, quiet: bool, data_root: Path | None
) -> list[Entry]:
    """The table's entries; missing runs are trained when asked for, one after the other, each resumable."""
    cache, printed, entries = DataCache(), experiments.printed(table), []
    cells = experiments.cells(table, profile)
    if run_missing:  # seed by seed, so that an interrupted table holds whole comparisons
        for one_seed in zip(*(cell.configs for cell in cells), strict=True):
            for config in one_seed:
                session.execute(config, store, data_root=data_root, quiet=quiet, dataset=cache(config))
    stored = experiments.finished(store)
    for cell in cells:
        runs = experiments.look_up(cell, stored)
        number = printed.get((cell.row.name, cell.column.name))
        entries.append(Entry(cell, experiments.value(cell, runs), number, runs))
    return entries


def markdown(paper: Paper, table: Table, profile: str, entries: list[Entry]) -> str:
    head = ["ours | paper", *(column.label for column in table.columns)]
    lines = [f"{paper.title}, {table.location}. {table.title}. Profile {profile}; {_explain(table)}", ""]
    lines += ["| " + " | ".join(head).replace("ours | paper", "ours / paper") + " |", "|---" * len(head) + "|"]
    for row, cells in _by_row(table, entries):
        lines.append("| " + " | ".join([row, *(e.text.replace(" | ", " / ") for e in cells)]) + " |")
    differences = _difference_rows(table, entries)
    if differences:
        lines += ["", "Paired by seed, percentage points with the 95 % t interval of the difference:", ""]
        lines += ["| " + " | ".join(["ours / paper", *head[1:]]) + " |", "|---" * len(head) + "|", *differences]
    return "\n".join(lines)


def paired(entry: Entry, other: Entry) -> Interval | None:
    """Difference of two entries' metrics over the seeds that both have; None without such seeds."""
    mine, theirs = by_seed(entry), by_seed(other)
    seeds = sorted(set(mine) & set(theirs))
    if not seeds:
        return None
    ours, reference = ([experiments.value(entry.cell, [side[s]]).mean for s in seeds] for side in (mine, theirs))
    return paired_difference(ours, reference)


def by_seed(entry: Entry) -> dict[int, Run]:
    return {run.config()["seed"]: run for run in entry.runs}


def reference_of(entry: Entry, entries: list[Entry]) -> Entry | None:
    """The entry of the same column that this one's row is held against."""
    wanted = (entry.cell.row.against, entry.cell.column.label)
    return next((e for e in entries if (e.cell.row.label, e.cell.column.label) == wanted), None)


def _difference_rows(table: Table, entries: list[Entry]) -> list[str]:
    """Paired differences, ours / the paper's, for the rows that name a row they are held against."""
    lines = []
    for row, cells in _by_row(table, entries):
        texts = []
        for entry in cells:
            other = reference_of(entry, entries)
            difference = None if other is None else paired(entry, other)
            if difference is None:
                continue
            text = f"{difference.mean:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}] (n={difference.n})"
            if entry.paper is not None and other.paper is not None:
                text += f" / {entry.paper - other.paper:+.2f}"
            texts.append(text)
        if len(texts) == len(table.columns):
            lines.append("| " + " | ".join([f"{row} minus {cells[0].cell.row.against}", *texts]) + " |")
    return lines


def _explain(table: Table) -> str:
    model, summary = table.metric
    what = {"last": "last round", "mean_last_10": "mean of the last ten evaluated rounds"}[summary]
    return f"{what}, {model} model, mean ± half width of the 95 % t interval over n seeds."


def as_csv(paper: Paper, table: Table, profile: str, entries: list[Entry]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["paper", "table", "profile", "row", "column", "mean", "low", "high", "n", "printed", "keys"])
    for e in entries:
        ours = [e.ours.mean, e.ours.low, e.ours.high, e.ours.n] if e.ours else ["", "", "", 0]
        keys = " ".join(run.key for run in e.runs)
        writer.writerow([paper.paper, table.id, profile, e.cell.row.label, e.cell.column.label, *ours, e.paper, keys])
    return out.getvalue().rstrip()


def latex(paper: Paper, table: Table, profile: str, entries: list[Entry]) -> str:
    lines = [f"% {paper.title}, {table.location}, profile {profile}; {_explain(table)}".replace(" %", r" \%")]
    lines += [r"\begin{tabular}{l" + "c" * len(table.columns) + "}", r"\hline"]
    lines += [" & ".join(["", *(column.label for column in table.columns)]) + r" \\", r"\hline"]
    for row, cells in _by_row(table, entries):
        lines.append(" & ".join([row, *(f"${e.text}$".replace("±", r"\pm").replace("|", "/") for e in cells)]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def as_json(paper: Paper, table: Table, profile: str, entries: list[Entry]) -> str:
    rows = [
        {
            "row": e.cell.row.label,
            "column": e.cell.column.label,
            "ours": None if e.ours is None else {k: getattr(e.ours, k) for k in ("mean", "low", "high", "n", "level")},
            "printed": e.paper,
            "runs": [run.key for run in e.runs],
        }
        for e in entries
    ]
    return json.dumps({"paper": paper.paper, "table": table.id, "profile": profile, "cells": rows}, indent=1)


def _by_row(table: Table, entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    return [(row.label, [e for e in entries if e.cell.row is row]) for row in table.rows]


RENDER: dict[str, Callable[..., str]] = {"markdown": markdown, "csv": as_csv, "latex": latex, "json": as_json}


@click.command("table", help="Run or look up the cells of PAPER/TABLE and print ours beside the paper's.")
@click.argument("name")
@click.option("--profile", type=click.Choice(experiments.PROFILES), default="quick", show_default=True)
@click.option("--format", "style", type=click.Choice(FORMATS), default="markdown", show_default=True)
@click.option("--lookup", is_flag=True, help="Show what is in the store, run nothing.")
@click.option("--out", type=click.Path(path_type=Path), help="Store; default out/quick, or results for other profiles.")
@click.option("--figures", "folder", type=click.Path(path_type=Path), help="Draw the curves into this folder.")
@click.option("--data", "data_root", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--quiet", is_flag=True)
@click.option("--json", "json_output", is_flag=True, help="The same as --format json.")
def table_command(
    name: str,
    profile: str,
    style: str,
    lookup: bool,
    out: Path | None,
    folder: Path | None,
    data_root: Path | None,
    quiet: bool,
    json_output: bool,
) -> None:
    paper, table = experiments.find(name)
    store = out or experiments.STORES[profile]
    entries = collect(table, profile, store, not lookup, quiet, data_root)
    click.echo(RENDER["json" if json_output else style](paper, table, profile, entries))
    if folder is not None:
        for path in draw(paper, table, profile, entries, folder):
            click.echo(f"figure: {path}", err=True)


def draw(paper: Paper, table: Table, profile: str, entries: list[Entry], folder: Path) -> list[Path]:
    """Accuracy against round, one panel per column, one line per row; PNG, PDF and the data behind them."""
    panels: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}
    for entry in entries:
        panel = panels.setdefault(entry.cell.column.label, {})
        panel[entry.cell.row.label] = [run.metrics() for run in entry.runs]
    stem = f"{paper.paper}-{table.id}-{profile}".replace("/", "-")
    title = f"{paper.title}, {table.location} ({profile})"
    return figures.curves(panels, table.metric[0], title, folder, stem)
