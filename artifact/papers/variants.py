"""``artifact variants``: what the discrepancies do, method by method, to the accuracy and to the perturbation."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from artifact import figures
from artifact.files import write_atomic
from artifact.options import DATA_ROOT, STORE, Place
from artifact.papers import experiments, tables
from artifact.papers.tables import Entry
from artifact.stats import Interval, holm, paired_difference, sign_flip_p, t_interval
from artifact.store import Run

TABLE = "discrepancies/variants"


@dataclass(frozen=True)
class Comparison:
    """A released form against the paper's, paired by seed.

    difference: accuracy of the released form minus the paper's, percentage points.  p: exact sign-flip test.
    perturbation: per side, mean over seeds of the last probed round: norm / rho, cosine to the intended direction and
    to the global gradient; None where a method has no perturbation.
    """

    label: str
    column: str
    paper: Interval
    released: Interval
    difference: Interval
    p: float
    perturbation: dict[str, dict[str, float | None]]
    switches: list[str]


def compare(entries: list[Entry]) -> list[Comparison]:
    """One comparison per row that names the row it is held against; seeds that only one side has are left out."""
    result = []
    for entry in entries:
        other = tables.reference_of(entry, entries)
        if other is None:
            continue
        mine, theirs = tables.by_seed(entry), tables.by_seed(other)
        seeds = sorted(set(entry.values) & set(other.values))
        if not seeds:
            continue
        released, paper = ([side.values[s] for s in seeds] for side in (entry, other))
        difference = np.subtract(released, paper)
        result.append(
            Comparison(
                entry.cell.row.label,
                entry.cell.column.label,
                t_interval(paper),
                t_interval(released),
                paired_difference(released, paper),
                sign_flip_p(difference),
                {"paper": perturbation(theirs, seeds), "released": perturbation(mine, seeds)},
                mine[seeds[0]].config()["switches"],
            )
        )
    return result


def perturbation(runs: dict[int, Run], seeds: list[int]) -> dict[str, float | None]:
    """Means over seeds of the last probed round."""
    last = [[line["perturbation"] for line in runs[s].metrics() if "perturbation" in line][-1:] for s in seeds]
    rho = runs[seeds[0]].config()["hyper"].get("rho")
    result = {}
    for name in ("norm", "intended", "global"):
        values = [lines[0][name] for lines in last if lines and lines[0][name] is not None]
        result[name] = float(np.mean(values)) if values else None
    result["norm"] = result["norm"] / rho if rho and result["norm"] is not None else None
    return result


def rows(comparisons: list[Comparison]) -> list[dict[str, Any]]:
    adjusted = holm([c.p for c in comparisons])
    return [
        {
            "method": c.label,
            "split": c.column,
            "n": c.difference.n,
            "paper": c.paper.mean,
            "released": c.released.mean,
            "difference": c.difference.mean,
            "low": c.difference.low,
            "high": c.difference.high,
            "p": c.p,
            "p_holm": p,
            "norm_paper": c.perturbation["paper"]["norm"],
            "norm_released": c.perturbation["released"]["norm"],
            "intended_paper": c.perturbation["paper"]["intended"],
            "intended_released": c.perturbation["released"]["intended"],
            "global_paper": c.perturbation["paper"]["global"],
            "global_released": c.perturbation["released"]["global"],
            "switches": " ".join(c.switches),
        }
        for c, p in zip(comparisons, adjusted, strict=True)
    ]


def markdown(comparisons: list[Comparison]) -> str:
    """Accuracies with n, paired difference with its 95 % interval, and the perturbation on both sides."""
    head = ["method", "paper", "released", "difference [95 %]", "norm / rho", "cos. intended", "cos. global gradient"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for c in comparisons:
        sides = [
            [c.perturbation[side][name] for side in ("paper", "released")] for name in ("norm", "intended", "global")
        ]
        interval = f"{c.difference.mean:+.2f} [{c.difference.low:+.2f}, {c.difference.high:+.2f}] (n={c.difference.n})"
        numbers = [f"{c.paper.mean:.2f}", f"{c.released.mean:.2f}", interval]
        lines.append("| " + " | ".join([c.label, *numbers, *(_both(*side) for side in sides)]) + " |")
    return "\n".join(lines)


def _both(paper: float | None, released: float | None) -> str:
    return " / ".join("-" if v is None else f"{v:.2f}" for v in (paper, released))


# ---- figures ---------------------------------------------------------------------------------------------------------


def draw_differences(comparisons: list[Comparison], title: str, folder: Path, stem: str) -> list[Path]:
    """Paired difference per method with its interval; zero means that the discrepancies change nothing."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7.5, 0.36 * len(comparisons) + 1.4))
    for y, c in enumerate(reversed(comparisons)):
        colour = figures.COLOURS[1] if c.difference.excludes(0) else figures.COLOURS[0]
        axis.plot([c.difference.low, c.difference.high], [y, y], color=colour, linewidth=2)
        axis.plot(c.difference.mean, y, "o", color=colour)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_xscale("symlog", linthresh=1)
    axis.set_yticks(range(len(comparisons)), [c.label for c in reversed(comparisons)])
    axis.set_xlabel("released minus paper, percentage points of test accuracy (95 % t interval; linear within ±1)")
    axis.grid(axis="x", alpha=0.3)
    axis.set_title(f"{title}\nn = {comparisons[0].difference.n} paired seeds; orange: the interval excludes 0")
    return figures.save(figure, folder, stem)


def draw_perturbation(
    entries: list[Entry], paper: str, released: str, title: str, folder: Path, stem: str
) -> list[Path]:
    """One method's perturbation over rounds in both variants: its norm over rho, and where it points."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8))
    for label, colour, style in ((paper, figures.COLOURS[0], "-"), (released, figures.COLOURS[1], "--")):
        runs = [run for e in entries if e.cell.row.label == label for run in e.runs]
        rho = runs[0].config()["hyper"]["rho"]
        for axis, name, scale in zip(axes, ("norm", "intended", "global"), (1 / rho, 1, 1), strict=True):
            series = [{m["round"]: m["perturbation"][name] for m in r.metrics() if "perturbation" in m} for r in runs]
            rounds = [t for t in sorted(series[0]) if all(s.get(t) is not None for s in series)]
            values = scale * np.array([[s[t] for t in rounds] for s in series])
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
    return figures.save(figure, folder, stem)


# ---- command ---------------------------------------------------------------------------------------------------------


@click.command("variants", help="Every method in both variants with paired seeds: accuracy and perturbation.")
@click.option("--profile", type=click.Choice(["quick", "laptop"]), default="quick", show_default=True)
@click.option("--lookup", is_flag=True, help="Show what is in the store, run nothing.")
@STORE
@click.option("--figures", "folder", type=Place(), help="Draw the figures into this folder.")
@DATA_ROOT
@click.option("--quiet", is_flag=True)
@click.option("--json", "as_json", is_flag=True)
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
    store = (experiments.there(out) if lookup else out) or experiments.STORES[profile]
    entries = tables.collect(table, profile, store, not lookup, quiet, data_root)
    comparisons = compare(entries)
    click.echo(json.dumps(rows(comparisons), indent=1) if as_json else markdown(comparisons))
    if folder is None or not comparisons:
        return
    note = f"{table.profiles[profile].note}; {comparisons[0].column}"
    paths = draw_differences(comparisons, note, folder, f"variants-{profile}")
    label = "FedLESAM, released (FedLESAM repository)"
    paths += draw_perturbation(entries, "FedLESAM", label, note, folder, f"fedlesam-perturbation-{profile}")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows(comparisons)[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(comparisons))
    write_atomic(folder / f"variants-{profile}.csv", text.getvalue())
    for path in [*paths, folder / f"variants-{profile}.csv"]:
        click.echo(f"figure: {path}", err=True)
