"""``fedsharp variants``: what the discrepancies do, method by method, to the accuracy and to the perturbation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from artifact.base import plots
from artifact.base.files import write_atomic
from artifact.base.lazy import pyplot as plt
from artifact.base.options import AS_JSON, DATA_ROOT, QUIET, STORE, Place, profile_option
from artifact.base.stats import Interval, t_interval
from artifact.base.tables_as_text import csv_table, markdown_table
from artifact.papers import charts, experiments
from artifact.papers.table_results import Comparison, Entry, by_seed, look_up, make, reference_of
from artifact.runs.lookup import finished_runs
from artifact.runs.store import Run
from artifact.runs.sweep.workers import Settings

TABLE = "discrepancies/variants"
#: of a perturbation: its norm, and its cosines to the intended direction and to the global gradient
PROBED = ("norm", "intended", "global")


@dataclass(frozen=True)
class Difference:
    """A released form against the paper's, over the seeds that both have.

    paper, released: accuracy in per cent; comparison: released minus paper, paired by seed.  perturbation: per side,
    mean over seeds of the last probed round: norm / rho, cosine to the intended direction and to the global gradient;
    None where a method has no perturbation.
    """

    label: str
    column: str
    paper: Interval
    released: Interval
    comparison: Comparison
    perturbation: dict[str, dict[str, float | None]]
    switches: list[str]

    @property
    def method(self) -> str:
        """``FedSMOO`` of the label ``FedSMOO, released (FL-Simulator)``."""
        return self.label.partition(",")[0]


def compare(entries: list[Entry]) -> list[Difference]:
    """One per row that names the row it is held against; seeds that only one side has are left out."""
    result = []
    for entry in entries:
        if entry.comparison is None:
            continue
        other = reference_of(entry, entries)
        assert other is not None  # a comparison has one
        mine, theirs = by_seed(entry), by_seed(other)
        seeds = sorted(set(entry.values) & set(other.values))
        paper, released = (t_interval([side.values[s] for s in seeds]) for side in (other, entry))
        probed = {"paper": perturbation(theirs, seeds), "released": perturbation(mine, seeds)}
        row, column = entry.cell.row.label, entry.cell.column.label
        switches = mine[seeds[0]].config()["switches"]
        result.append(Difference(row, column, paper, released, entry.comparison, probed, switches))
    return result


def perturbation(runs: dict[int, Run], seeds: list[int]) -> dict[str, float | None]:
    """Means over seeds of the last probed round."""
    rho = runs[seeds[0]].config()["hyper"].get("rho")
    result = {}
    for name in PROBED:
        series = [list(runs[seed].series(f"perturbation.{name}").values()) for seed in seeds]
        values = [one[-1] for one in series if one]
        result[name] = float(np.mean(values)) if values else None
    result["norm"] = result["norm"] / rho if rho and result["norm"] is not None else None
    return result


def rows(differences: list[Difference]) -> list[dict[str, Any]]:
    return [
        {
            "method": d.label,
            "split": d.column,
            "n": d.comparison.difference.n,
            "paper": d.paper.mean,
            "released": d.released.mean,
            "difference": d.comparison.difference.mean,
            "low": d.comparison.difference.low,
            "high": d.comparison.difference.high,
            "p": d.comparison.p_sign,
            "p_holm": d.comparison.holm_sign,
            **{f"{name}_{side}": d.perturbation[side][name] for name in PROBED for side in ("paper", "released")},
            "switches": " ".join(d.switches),
        }
        for d in differences
    ]


def markdown(differences: list[Difference]) -> str:
    """Accuracies with n, paired difference with its 95 % interval, and the perturbation on both sides."""
    head = ["method", "paper", "released", "difference [95 %]", "norm / rho", "cos. intended", "cos. global gradient"]
    body = []
    for d in differences:
        sides = [_both(d.perturbation["paper"][name], d.perturbation["released"][name]) for name in PROBED]
        means = (f"{side.mean:.2f}" for side in (d.paper, d.released))
        body.append([d.label, *means, d.comparison.difference.signed, *sides])
    return "\n".join(markdown_table(head, body))


def _both(paper: float | None, released: float | None) -> str:
    return " / ".join("-" if v is None else f"{v:.2f}" for v in (paper, released))


# ---- figures ---------------------------------------------------------------------------------------------------------


def draw_differences(differences: list[Difference], title: str, folder: Path, stem: str) -> list[Path]:
    """Paired difference per method with its interval; zero means that the discrepancies change nothing."""
    figure, axis = plt.subplots(figsize=(7.5, 0.36 * len(differences) + 1.4))
    charts.forest(axis, [(d.label, d.comparison.difference) for d in differences])
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlabel("released minus paper, percentage points of test accuracy (95 % t interval; linear within ±1)")
    n = differences[0].comparison.difference.n
    axis.set_title(f"{title}\nn = {n} paired seeds; orange, filled: the interval excludes 0")
    return plots.save(figure, folder, stem)


def draw_perturbation(
    entries: list[Entry], paper: str, released: str, title: str, folder: Path, stem: str
) -> list[Path]:
    """One method's perturbation over rounds in both variants: its norm over rho, and where it points."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8))
    for label, colour, style in ((paper, plots.COLOURS[0], "-"), (released, plots.COLOURS[1], "--")):
        runs = [run for e in entries if e.cell.row.label == label for run in e.runs]
        rho = runs[0].config()["hyper"]["rho"]
        for axis, name, scale in zip(axes, PROBED, (1 / rho, 1, 1), strict=True):
            rounds, values = plots.on_shared_rounds([run.series(f"perturbation.{name}") for run in runs])
            values = scale * values
            axis.plot(rounds, values.mean(0), style, color=colour, marker=".", label=f"{label} (n={len(runs)})")
            axis.fill_between(rounds, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
    labels = ("norm of the perturbation / rho", "cosine to w_old - w of the client", "cosine to the global gradient")
    for axis, label in zip(axes, labels, strict=True):
        axis.set_xlabel("communication round")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_yscale("log")
    for axis in axes[1:]:
        axis.set_ylim(-1.05, 1.05)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=2, bbox_to_anchor=(0.5, -0.1))
    figure.suptitle(title)
    figure.tight_layout()
    return plots.save(figure, folder, stem)


# ---- command ---------------------------------------------------------------------------------------------------------


@click.command("variants", help="Compare every method as printed and as released, paired by seed.")
@profile_option("quick", ["quick", "laptop"])
@click.option("--lookup", is_flag=True, help="Show what is in the store, run nothing.")
@STORE
@click.option("--figures", "folder", type=Place(), help="Draw the figures into this folder.")
@DATA_ROOT
@QUIET
@AS_JSON
def variants_command(
    profile: str,
    lookup: bool,
    out: Path | None,
    folder: Path | None,
    data_root: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    _, table = experiments.find(TABLE)
    store = experiments.store_of(profile, out, lookup, TABLE)
    if not lookup:
        make([table], profile, Settings(store, data_root), quiet=quiet)
    entries = look_up(table, profile, finished_runs(store))
    differences = compare(entries)
    click.echo(json.dumps(rows(differences), indent=1) if as_json else markdown(differences))
    if folder is None or not differences:
        return
    note = f"{table.profiles[profile].note}; {differences[0].column}"
    paths = draw_differences(differences, note, folder, f"variants-{profile}")
    label = "FedLESAM, released (FedLESAM repository)"
    paths += draw_perturbation(entries, "FedLESAM", label, note, folder, f"fedlesam-perturbation-{profile}")
    records = rows(differences)
    data = folder / f"variants-{profile}.csv"
    write_atomic(data, csv_table(list(records[0]), (record.values() for record in records)))
    for path in [*paths, data]:
        click.echo(f"figure: {path}", err=True)
