"""Curves, sweeps and probes: lines read from the metrics of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from artifact.base import plots
from artifact.base.lazy import pyplot as plt
from artifact.base.stats import t_interval
from artifact.papers.figures.series import PanelAt, Series, Stored, runs_of
from artifact.papers.figures.statements import Statement, measured
from artifact.runs.store import LAST, Run

#: quantity of a round -> (axis label, factor, unit of a difference)
QUANTITIES = {
    "server.accuracy": ("test accuracy (%)", 100.0, "points"),
    "active.accuracy": ("test accuracy, active clients' mean (%)", 100.0, "points"),
    "all.accuracy": ("test accuracy, all clients' mean (%)", 100.0, "points"),
    "train.accuracy": ("training accuracy (%)", 100.0, "points"),
    "server.loss": ("test loss", 1.0, ""),
    "train.loss": ("training loss", 1.0, ""),
    "drift.drift": ("perturbation drift PD", 1.0, ""),
    "drift.ratio": ("drift / bound", 1.0, ""),
    "estimation.bias": ("bias of the estimate", 1.0, ""),
    "estimation.kappa": ("kappa", 1.0, ""),
    "estimation.ratio": ("bias / bound", 1.0, ""),
    "estimation.floor_ratio": ("measured / bound", 1.0, ""),
    "layers.inner_top": ("top eigenvalue of a layer's block", 1.0, ""),
    "layers.inner_norm": ("mean squared input of a layer", 1.0, ""),
    "layers.corrected": ("measured / bound", 1.0, ""),
    "layers.sample": ("measured / bound", 1.0, ""),
    "ratios.cosine": ("mean r / largest r", 1.0, ""),
    "ratios.mean": ("mean r over the active clients", 1.0, ""),
    "ratios.atypical": ("correlation of r with atypical labels", 1.0, ""),
    "sharpness.ascent": ("rise of the training loss", 1.0, ""),
}


def curve(run: Run, quantity: str) -> dict[int, float]:
    """Round -> value in its unit, on the rounds that have one."""
    return {number: value * QUANTITIES[quantity][1] for number, value in run.series(quantity).items()}


def final(run: Run, quantity: str) -> float:
    """Mean of the last ten evaluated rounds; 0 for an accuracy of a run that diverged."""
    values = list(curve(run, quantity).values())[-LAST:]
    if quantity.endswith("accuracy") and (not values or run.diverged):
        return 0.0
    return float(np.mean(values)) if values else math.nan


def lines(panel: PanelAt, stored: Stored) -> list[dict[str, Any]]:
    """The panel's lines {label, seeds [n], x [X], values [n, X], keys, level}; empty ones are left out."""
    quantity = panel.panel.y
    if panel.panel.kind == "sweep":
        return _swept(panel, quantity, stored)
    result = []
    for series in panel.series:
        found = [(run, curve(run, quantity)) for run in runs_of(series, stored)]
        found = [(run, values) for run, values in found if values]
        if not found:
            continue
        x = sorted(set.intersection(*(set(values) for _, values in found)))
        rows = [[values[r] for r in x] for _, values in found]
        line = _line(series.label, [run for run, _ in found], x, rows) | {"curve": True}
        if panel.panel.kind == "probe":
            line["accuracy"] = [list(curve(run, "server.accuracy").values())[-1] for run, _ in found]
        result.append(line)
    return result


def accuracies(found: Sequence[Mapping[str, Any]]) -> list[Statement]:
    """How well the probed models do: a flat model that has learned little is no merit."""
    text = "test accuracy in the last evaluated round"
    return [measured(f"{line['label']}: {text}", t_interval(line["accuracy"]), "%") for line in found]


def _line(label: str, runs: Sequence[Run], x: Sequence[float | None], rows: list[list[float]]) -> dict[str, Any]:
    seeds = [run.config()["seed"] for run in runs]
    return {"label": label, "seeds": seeds, "x": list(x), "values": rows, "keys": [run.key for run in runs]}


def _swept(panel: PanelAt, quantity: str, stored: Stored) -> list[dict[str, Any]]:
    """One line per method over the values that have all its seeds; a level is repeated at every one of them."""
    points: dict[str, list[tuple[Series, list[Run]]]] = {}
    for series in panel.series:
        runs = runs_of(series, stored)
        if runs and len(runs) == len(series.configs):
            points.setdefault(series.label, []).append((series, runs))
    axis = sorted({series.x for pairs in points.values() for series, _ in pairs if series.x is not None})
    result = []
    for label, pairs in points.items():
        level = pairs[0][0].x is None
        columns = [[final(run, quantity) for run in runs] for _, runs in pairs]
        x, columns = (list(axis), columns * len(axis)) if level else ([series.x for series, _ in pairs], columns)
        rows = [list(row) for row in zip(*columns, strict=True)]
        line = _line(label, pairs[0][1], x, rows) | {"level": level}
        result.append(line | {"keys": [run.key for _, runs in pairs for run in runs]})
    return result


# ---- drawing ---------------------------------------------------------------------------------------------------------


def draw(axes: plt.Axes, record: Mapping[str, Any]) -> None:
    """Mean over seeds with the band from the smallest to the largest; of curves the raw mean lies thin behind."""
    smoothed = record["kind"] == "curves"
    for position, line in enumerate(record["lines"]):
        look, values = plots.style(line["label"], position), np.array(line["values"])
        x, mean = positions(record, line["x"]), values.mean(0)
        label = f"{line['label']} (n={len(values)})"
        if line.get("level"):
            band: dict[str, Any] = {"facecolor": "none", "edgecolor": look.colour, "hatch": "///", "linewidth": 0}
            axes.fill_between(x, values.min(0), values.max(0), alpha=0.25, **band)
            axes.plot(x, mean, color=look.colour, linestyle=":", label=f"{label}, level", linewidth=2)
            continue
        axes.fill_between(x, values.min(0), values.max(0), color=look.colour, alpha=0.12, linewidth=0)
        if smoothed:
            axes.plot(x, mean, color=look.colour, linewidth=0.5, alpha=0.5)
            mean = np.array(line["smoothed"])
        every = max(1, len(x) // 7)
        axes.plot(x, mean, **look.plot(), markevery=every, markersize=4.5, label=label, linewidth=1.4)
    if record["log"]:
        axes.set_xscale("log")
    if record["kind"] == "sweep":
        axes.set_xticks(positions(record, record["ticks"]), [f"{x:g}" for x in record["ticks"]])
        axes.minorticks_off()
    elif not record["log"]:
        axes.xaxis.set_major_locator(plt.MaxNLocator(integer=True))  # rounds
    axes.set_xlabel(record["x_label"])
    axes.set_ylabel(record["y_label"])
    axes.grid(alpha=0.3)


def positions(record: Mapping[str, Any], x: Sequence[float]) -> list[float]:
    """Where values of x lie on the axis: themselves, or their rank where they are drawn equally spaced."""
    return [record["ticks"].index(value) for value in x] if record.get("equally_spaced") else list(x)


def crowded(ticks: Sequence[float], log: bool) -> bool:
    """Whether labels of these ticks would lie over each other, neighbours being closer than 7 % of the axis."""
    places = np.log(ticks) if log else np.asarray(ticks, float)
    return len(ticks) > 2 and float(np.diff(places).min()) < 0.07 * float(places[-1] - places[0])


def with_smoothing(line: dict[str, Any]) -> dict[str, Any]:
    """The line with its mean smoothed for display: a Hanning window of 5 % of the rounds to each side, at least 2."""
    width = max(2.0, 0.05 * (line["x"][-1] - line["x"][0]))
    return line | {"smoothed": plots.smooth(line["x"], np.mean(line["values"], 0), width).tolist()}
