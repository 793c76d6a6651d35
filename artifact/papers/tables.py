"""``fedsharp table``: run or look up the cells of a table and print ours beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from artifact.base import plots
from artifact.base.options import AUDIT_ONLY, DATA_ROOT, QUIET, STORE, Place, profile_option
from artifact.base.stats import Interval
from artifact.base.tables_as_text import csv_table, markdown_row, markdown_table
from artifact.papers import charts, experiments, folders
from artifact.papers.declared import Given, Line, Metric, Paper, Table
from artifact.papers.table_results import Entry, look_up, make
from artifact.runs.lookup import finished_runs
from artifact.runs.store import finite
from artifact.runs.sweep.workers import Settings
from artifact.statements.comparisons import UP_TO_TARGET

FORMATS = ("markdown", "csv", "latex", "json")
FORMAT = click.option("--format", "style", type=click.Choice(FORMATS), default="markdown", help="Form of a table.")
MODELS = {
    "server": "server model",
    "active": "mean of the active clients' models",
    "all": "mean of all clients' last models",
    "train": "server model on the training set",
}
WIDE = 4  # a Markdown table with more columns shows only those that have runs


# ---- rendering -------------------------------------------------------------------------------------------------------


def markdown(paper: Paper, table: Table, profile: str, entries: list[Entry]) -> str:
    """A grid per metric, the paired differences under it, and the multiplicity below all."""
    head = f"{paper.title}, {table.location}. {table.title}."
    if table.given is not None:
        return "\n".join(
            [f"{head} {_given_note(table.given)}", "", *_grid(table, table.columns, entries, lambda e: e.printed)]
        )
    lines = [f"{head} Profile {profile}: {table.profiles[profile].note or 'as declared'}."]
    for metric in table.metrics:
        own = [e for e in entries if e.cell.metric is metric]
        columns = _shown(table, own)
        lines += [
            "",
            f"{_explain(metric, profile)}{_targets(own)} Ours / the paper's.",
            "",
            *_grid(table, columns, own, _both),
        ]
        differences = [line for row in table.rows if (line := _differences(row, columns, own))]
        if differences:
            lines += ["", "Paired by seed, row minus reference row with its 95 % t interval, ours / the paper's:", ""]
            lines += [*_header(columns, own), *differences]
    return "\n".join([*lines, *_below(table, entries)])


def _shown(table: Table, entries: list[Entry]) -> tuple[Line, ...]:
    """All columns of a narrow table; of a wide one those with runs, as long as there are any."""
    with_runs = {e.cell.column.id for e in entries if e.runs}
    if len(table.columns) <= WIDE or not with_runs:
        return table.columns
    return tuple(column for column in table.columns if column.id in with_runs)


def _header(columns: tuple[Line, ...], entries: list[Entry]) -> list[str]:
    return markdown_table(["ours / paper", *(heading(column, entries) for column in columns)], [])


def heading(column: Line, entries: list[Entry]) -> str:
    """The column's label with what was trained and counted up to where that is not the paper's; else the paper's."""
    own = [e for e in entries if e.cell.column is column]
    trained = next((e.cell.heading for e in own if e.runs), None)
    return trained or (own[0].cell.printed_heading if own else column.label) or "value"


def _grid(table: Table, columns: tuple[Line, ...], entries: list[Entry], render: Callable[[Entry], str]) -> list[str]:
    by_place = {(e.cell.row.id, e.cell.column.id, e.cell.metric.id): e for e in entries}
    lines = _header(columns, entries)
    for row in table.rows:
        for metric in dict.fromkeys(e.cell.metric.id for e in entries):
            found = [by_place.get((row.id, column.id, metric)) for column in columns]
            label = row.label if table.given is None or len(table.metrics) == 1 else f"{row.label}: {metric}"
            if any(found):
                lines.append(markdown_row([label, *("" if e is None else render(e) for e in found)]))
    return lines


def _both(entry: Entry) -> str:
    """Ours, the paper's, and the symbol; a miniature says in the cell what it was trained on, and has no symbol."""
    data = f"on {entry.cell.trained_on}" if entry.miniature and entry.runs else ""
    return " ".join(filter(None, [entry.text, data, f"/ {entry.printed}" if entry.printed else "", entry.symbol]))


def _differences(row: Line, columns: tuple[Line, ...], entries: list[Entry]) -> str:
    """The row's paired differences as a line; empty when it has none."""
    texts = []
    for column in columns:
        entry = next((e for e in entries if e.cell.row is row and e.cell.column is column), None)
        c = None if entry is None else entry.comparison  # a row need not have every metric
        if entry is None or c is None:
            texts.append("")
            continue
        printed = "" if c.printed is None else f" / {c.printed:+.2f} {entry.symbol}".rstrip()
        texts.append(f"{c.difference.signed}{printed}")
    return markdown_row([f"{row.label} minus {row.against}", *texts]) if any(texts) else ""


def _below(table: Table, entries: list[Entry]) -> list[str]:
    """Meaning of the symbols, multiplicity over the table, and what was not run and why."""
    made = [e.comparison for e in entries if e.comparison is not None]
    lines = []
    if made:
        t, sign = (sum(getattr(c, name) <= 0.05 for c in made) for name in ("holm_t", "holm_sign"))
        n = max(c.difference.n for c in made)
        lines += [
            "",
            "Symbols: ✓ the paired interval excludes 0 on the paper's side, ~ only the mean lies there, ✗ the interval "
            "excludes 0 on the other side, ? neither, or one seed, which has no interval.",
        ]
        if n > 1:
            lines += [
                f"Multiplicity: {len(made)} comparisons; at 5 % after Holm {t} by Student's t and {sign} by the exact "
                f"sign-flip test, whose smallest p value with {n} seeds is {2.0 ** (1 - n):g}.",
            ]
    lines += _curves(entries)
    reasons: dict[str, list[str]] = {}
    for entry in entries:
        if entry.state.startswith("not-run") or (entry.cell.column.pool and entry.runs):
            reasons.setdefault(_reason(entry), []).append(entry.cell.column.label)
    for reason, columns in reasons.items():
        names = list(dict.fromkeys(columns))
        where = "; ".join(names) if len(names) <= WIDE // 2 else f"{len(names)} columns"
        lines += ["", f"{reason}: {len(columns)} cells in {where}."]
    return lines


def _curves(entries: list[Entry]) -> list[str]:
    """Whether the curves are flat at the end, and how finely a target is located."""
    trained = [e for e in entries if e.runs]
    lines = []
    rises = [rise for e in trained if (rise := e.rise()) is not None]
    if rises:
        mean, largest = sum(rises) / len(rises), max(rises, key=abs)
        lines += [
            "",
            f"Change over the last ten evaluated rounds, by least squares: {mean:+.2f} points on average over ",
        ]
        lines[-1] += f"the cells, {largest:+.2f} at most; zero would be a flat curve."
    grids = {e.cell.configs[0].eval_every for e in trained if e.cell.metric.quantity.endswith("-to")}
    if grids - {1}:
        lines += [
            "",
            f"Targets are looked for in evaluated rounds only, one in {max(grids)} and the last ones. The intervals "
            "of differences are widened by that grid, and equal differences are not tested (their p value is 1).",
        ]
    return lines


def _reason(entry: Entry) -> str:
    if entry.state.startswith("not-run"):
        return f"Not run ({entry.cell.not_run})"
    return f"Averaged over {len(entry.cell.members)} of {len(entry.cell.column.pool)} columns, those that were run"


def _explain(metric: Metric, profile: str) -> str:
    where = f", {MODELS[metric.model]}" if metric.quantity in ("accuracy", "deviation", "rounds-to") else ""
    when = ", mean of the last ten evaluated rounds" if metric.quantity in ("accuracy", "deviation") else ""
    data = f", on {metric.samples[profile]:,} training images" if profile in metric.samples else ""
    to = "the row's reference" if metric.to == "against" else metric.to
    relation = "" if metric.to is None else f", {metric.relation} to {to}"
    unit = f" ({metric.unit})" if metric.unit else ""
    return (
        f"**{metric.label}**{unit}{where}{when}{data}{relation}; mean ± half width of the 95 % t interval over n seeds."
    )


def _targets(entries: list[Entry]) -> str:
    """The accuracies up to which ours count, which the paper's label does not say."""
    found: dict[float, list[str]] = {}
    for entry in entries:
        counts = entry.cell.metric.quantity in UP_TO_TARGET and not entry.state.startswith("not-run")
        if counts and entry.cell.target is not None:
            found.setdefault(entry.cell.target, []).append(entry.cell.column.label)
    if len(found) < 2:
        return "".join(f" Ours count up to {target:g} %." for target in found)
    named = [f"{target:g} % ({_common(list(dict.fromkeys(columns)))})" for target, columns in found.items()]
    return f" Ours count up to {', '.join(named)}."


def _common(columns: list[str]) -> str:
    """The last part of the columns' labels where all share it, as "to 68 %"; else all labels."""
    ends = {label.rsplit(", ", 1)[-1] for label in columns}
    return ends.pop() if len(ends) == 1 else "; ".join(columns)


def _given_note(given: Given) -> str:
    decided = f"decided by {', '.join(given.claims)}" if given.claims else "nothing in it is measured"
    beside = f"; ours: `{given.command}`" if given.command else ""
    return f"The paper's own values; {decided}{beside}."


CSV_FIELDS = (
    "id",
    "row",
    "column",
    "metric",
    "unit",
    "state",
    "mean",
    "low",
    "high",
    "n",
    "last",
    "best",
    "rise",
    "printed",
    "printed_std",
    "against",
    "difference",
    "difference_low",
    "difference_high",
    "printed_difference",
    "side",
    "p_t",
    "p_sign",
    "holm_t",
    "holm_sign",
    "keys",
)


def records(entries: list[Entry]) -> list[dict[str, Any]]:
    """One flat record per cell: ours, last and best round apart from the headline, the paper's, and the comparison."""
    return [_record(entry) for entry in entries]


def _record(e: Entry) -> dict[str, Any]:
    record: dict[str, Any] = dict.fromkeys(CSV_FIELDS)
    cell = e.cell
    record |= {"id": cell.id, "row": cell.row.label, "column": cell.column.label, "metric": cell.metric.id}
    record |= {"unit": cell.metric.unit, "state": e.state, "n": len(e.values), "keys": [run.key for run in e.runs]}
    record |= {"last": e.summary("last"), "best": e.summary("best"), "rise": e.rise()}
    if e.ours is not None:
        record |= {"mean": e.ours.mean, "low": e.ours.low, "high": e.ours.high}
    if e.paper is not None:
        record |= {"printed": e.paper.text if e.paper.value is None else e.paper.value, "printed_std": e.paper.std}
    if e.comparison is not None:
        c = e.comparison
        record |= {"against": c.against, "difference": c.difference.mean, "printed_difference": c.printed}
        record |= {"difference_low": c.difference.low, "difference_high": c.difference.high}
        record |= {name: getattr(c, name) for name in ("p_t", "p_sign", "holm_t", "holm_sign")}
        record["side"] = e.side or None
    return finite(record)


def as_csv(paper: Paper, table: Table, profile: str, entries: list[Entry], scales: Sequence[str] = ()) -> str:
    """A row for every cell. scales: of each cell's runs in words; with them the level of the intervals is told too."""
    head = [f"{paper.paper}/{table.id}", profile]
    rows = [[*head, *(record | {"keys": " ".join(record["keys"])}).values()] for record in records(entries)]
    if scales:
        rows = [[*row, str(Interval.level) if scale else "", scale] for row, scale in zip(rows, scales, strict=True)]
    return csv_table(["table", "profile", *CSV_FIELDS, *(["level", "scale"] if scales else [])], rows).rstrip()


def as_json(paper: Paper, table: Table, profile: str, entries: list[Entry]) -> str:
    head = {"paper": paper.paper, "table": table.id, "profile": profile}
    return json.dumps(head | {"cells": records(entries)}, indent=1)


def latex(paper: Paper, table: Table, profile: str, entries: list[Entry]) -> str:
    """A tabular per metric."""
    lines = [_tex(f"% {paper.title}, {table.location}, profile {profile}")]
    for metric in table.metrics:
        own = [e for e in entries if e.cell.metric is metric]
        columns = _shown(table, own)
        lines += [
            f"% {_tex(metric.label)} ({_tex(metric.unit)})",
            r"\begin{tabular}{l" + "c" * len(columns) + "}",
            r"\hline",
        ]
        lines += [" & ".join(["", *(_tex(heading(column, own)) for column in columns)]) + r" \\", r"\hline"]
        by_place = {(e.cell.row.id, e.cell.column.id): e for e in own}
        for row in table.rows:
            found = [by_place.get((row.id, column.id)) for column in columns]
            if any(found):
                lines.append(
                    " & ".join([_tex(row.label), *("" if e is None else _tex(_both(e)) for e in found)]) + r" \\"
                )
        lines += [r"\hline", r"\end{tabular}"]
    return "\n".join(lines)


#: what LaTeX reads otherwise; the first character of a comment line stays
_TEX = {
    "±": r"$\pm$",
    "✓": r"$\checkmark$",
    "✗": r"$\times$",
    "~": r"$\sim$",
    "–": "--",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
}


def _tex(text: str) -> str:
    start = 1 if text.startswith("%") else 0
    return text[:start] + "".join(_TEX.get(character, character) for character in text[start:])


RENDER: dict[str, Callable[..., str]] = {"markdown": markdown, "csv": as_csv, "latex": latex, "json": as_json}


def joined(texts: list[str], style: str) -> str:
    """Several tables as one document that other programs can read: a list in JSON, under one header in CSV."""
    if style == "json" and len(texts) > 1:
        return "[" + ",\n".join(texts) + "]"
    if style == "csv":
        return "\n".join([*texts[:1], *(rows for text in texts[1:] if (rows := text.partition("\n")[2]))])
    return "\n\n".join(texts)


@click.command("table", help="Run or look up PAPER/TABLE, a PAPER or all; print ours / theirs.")
@click.argument("name")
@profile_option("quick")
@FORMAT
@click.option("--lookup", is_flag=True, help="Show what is in the store, run nothing.")
@click.option("--everything", is_flag=True, help="Also run the cells that the profile marks as not run here.")
@STORE
@click.option("--figures", "folder", type=Place(), help="Draw the curves into this folder.")
@DATA_ROOT
@AUDIT_ONLY
@QUIET
@click.option("--json", "json_output", is_flag=True, help="The same as --format json.")
def table_command(
    name: str,
    profile: str,
    style: str,
    lookup: bool,
    everything: bool,
    out: Path | None,
    folder: Path | None,
    data_root: Path | None,
    quiet: bool,
    json_output: bool,
) -> None:
    store = experiments.store_of(profile, out, lookup, name)
    style = "json" if json_output else style
    chosen = experiments.select_tables(name, profile)
    if not lookup:
        make(
            [table for _, table in chosen],
            profile,
            Settings(store, data_root, folders.files()),
            everything=everything,
            quiet=quiet,
        )
    stored = finished_runs(store)
    found = [(paper, table, profile, look_up(table, profile, stored)) for paper, table in chosen]
    click.echo(joined([RENDER[style](*one) for one in found], style))
    drawn = [] if folder is None else [drawing(*one, folder) for one in found if one[1].given is None]
    for paths in plots.draw_all(drawn):
        for path in paths:
            click.echo(f"figure: {path}", err=True)


def drawing(paper: Paper, table: Table, profile: str, entries: list[Entry], folder: Path) -> Callable[[], list[Path]]:
    """To call: accuracy against round, one panel per column, one line per row; PNG, PDF and the data behind them."""
    metric = table.metrics[0]
    own = [e for e in entries if e.cell.metric is metric]
    panels: dict[str, dict[str, list[dict[int, float]]]] = {}
    for column in _shown(table, own):
        rows = [e for e in own if e.cell.column is column]
        panels[heading(column, own)] = {
            e.cell.row.label: [run.series(f"{metric.model}.accuracy") for run in e.runs] for e in rows
        }
    stem = f"{paper.paper}-{table.id}-{profile}".replace("/", "-")
    title = f"{paper.title}, {table.location} ({profile})"
    return partial(charts.curves, panels, metric.model, title, folder, stem)
