"""Partitions: how many samples of a class each client holds. No data are needed: the labels are balanced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from artifact.base import plots
from artifact.base.cache import cache
from artifact.base.lazy import pyplot as plt
from artifact.base.stats import t_interval
from artifact.data.partition import partition
from artifact.papers.figures.series import PanelAt
from artifact.papers.figures.statements import Statement, from_interval, measured

_SEEDS = 8


@cache
def counts(split: str, classes: int, samples: int, clients: int, seed: int) -> np.ndarray:
    """How many samples of each class every client gets, [clients, classes], from a set with equal classes."""
    labels = np.repeat(np.arange(classes), samples // classes)
    return partition(split, labels, clients, seed).counts(labels)


def entropy(table: np.ndarray) -> float:
    """Mean over clients of the entropy of a client's labels, divided by the log of the number of classes."""
    shares = table / table.sum(1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return float(-(shares * logs).sum(1).mean() / np.log(table.shape[1]))


def _all_seeds(panel: PanelAt) -> dict[str, list[np.ndarray]]:
    declared, settings = panel.panel, panel.panel.settings
    return {
        row.label: [
            counts(row.settings["split"], declared.classes, declared.samples, settings["clients"], seed)
            for seed in range(_SEEDS)
        ]
        for row in declared.rows
    }


def record(panel: PanelAt) -> dict[str, Any]:
    """Counts of seed 0, and statements over several seeds. A heat map shows its first row, compared with others."""
    tables = _all_seeds(panel)
    if panel.panel.kind == "bars":
        totals = {label: [t.sum(0) for t in found] for label, found in tables.items()}
        lines = [{"label": label, "totals": found[0].tolist()} for label, found in totals.items()]
        deviations = {label: [float(t.std()) for t in found] for label, found in totals.items()}
        statements = [_deviation(label, values) for label, values in deviations.items()]
        return {"lines": lines, "deviations": deviations, "statements": statements}
    (label, found), *others = tables.items()
    statements = [_support(label, found), *(_concentrated(label, found, *other) for other in others)]
    return {"label": label, "counts": found[0].tolist(), "statements": statements}


def _deviation(label: str, values: list[float]) -> Statement:
    text = f"{label}: standard deviation of the class totals"
    if max(values) == 0:
        return Statement(f"{text} is 0 for all of {_SEEDS} seeds", True, n=_SEEDS)
    return from_interval(f"{text} is positive", t_interval(values), "samples")


def _support(label: str, tables: list[np.ndarray]) -> Statement:
    """How many classes a client holds, and how evenly."""
    held = np.concatenate([(table > 0).sum(1) for table in tables])
    exact = (
        f"exactly {held[0]}"
        if (held == held[0]).all()
        else f"{held.min()} to {held.max()}, on average {held.mean():.1f},"
    )
    interval = t_interval([entropy(table) for table in tables])
    return measured(f"{label}: {exact} classes per client; label entropy over its maximum", interval)


def _concentrated(label: str, own: list[np.ndarray], other: str, tables: list[np.ndarray]) -> Statement:
    differences = [entropy(b) - entropy(a) for a, b in zip(own, tables, strict=True)]
    return from_interval(f"{label}: labels more concentrated than with {other}", t_interval(differences), "of entropy")


def draw_bars(axes: plt.Axes, record: Mapping[str, Any]) -> None:
    """Class totals side by side."""
    number = len(record["lines"])
    for position, line in enumerate(record["lines"]):
        classes = np.arange(len(line["totals"]))
        width = 0.8 / number
        place = classes + width * (position - (number - 1) / 2)
        label = f"{line['label']}: standard deviation {np.std(line['totals']):.0f} (seed 0, drawn)"
        axes.bar(place, line["totals"], width, color=plots.COLOURS[(2, 1)[position % 2]], label=label)
    axes.set_xlabel("class")
    axes.set_ylabel("samples over all clients")
    axes.set_ylim(0, 1.02 * max(max(line["totals"]) for line in record["lines"]))


def draw_map(axes: plt.Axes, record: Mapping[str, Any], highest: int) -> Any:
    """Clients across, classes up; colour from 0 to ``highest`` samples, the same in all panels of a figure."""
    table = np.array(record["counts"])
    image = axes.imshow(table.T, aspect="auto", interpolation="nearest", origin="lower", vmin=0, vmax=highest)
    axes.set_xlabel("client")
    axes.set_ylabel("class")
    return image
