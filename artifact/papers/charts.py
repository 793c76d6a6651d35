"""The charts that stand beside a table: accuracy against rounds, and intervals under each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from artifact.base import plots
from artifact.base.files import write_atomic
from artifact.base.lazy import pyplot as plt
from artifact.base.stats import Interval, t_interval
from artifact.base.tables_as_text import csv_table

#: of the data beside a figure of curves
FIELDS = ("panel", "method", "round", "n", "mean", "low95", "high95", "minimum", "maximum")
#: method -> round -> accuracy of every run, as a share
Curves = Mapping[str, Sequence[Mapping[int, float]]]


def forest(axis: plt.Axes, rows: Sequence[tuple[str, Interval]]) -> None:
    """Labelled intervals under each other, the first on top; orange and filled where the interval excludes zero."""
    for y, (_, i) in enumerate(reversed(rows)):
        colour = plots.COLOURS[1] if i.excludes(0) else plots.COLOURS[0]
        axis.plot([i.low, i.high], [y, y], color=colour, linewidth=1.8)
        axis.plot(i.mean, y, "o", color=colour, markerfacecolor=colour if i.excludes(0) else "white")
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_yticks(range(len(rows)), [label for label, _ in reversed(rows)])
    axis.grid(axis="x", alpha=0.3)


def curves(panels: Mapping[str, Curves], model: str, title: str, folder: Path, stem: str) -> list[Path]:
    """Accuracy against round: a panel per entry, a line per method (mean over seeds, band from minimum to maximum)."""
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.6), sharey=True, squeeze=False)
    rows = []
    for axis, (panel, methods) in zip(axes[0], panels.items(), strict=True):
        for index, (label, runs) in enumerate(methods.items()):
            rounds, values = plots.on_shared_rounds(runs)
            if not len(rounds):
                continue
            values = 100 * values
            look = plots.style(label, index)
            every = max(1, len(rounds) // 8)
            name = f"{label} (n={len(values)})"
            axis.plot(rounds, values.mean(0), **look.plot(), markevery=every, markersize=4, label=name, linewidth=1.4)
            axis.fill_between(rounds, values.min(0), values.max(0), color=look.colour, alpha=0.15, linewidth=0)
            for r, column in zip(rounds, values.T, strict=True):
                i = t_interval(column)
                rows.append([panel, label, int(r), i.n, i.mean, i.low, i.high, column.min(), column.max()])
        axis.set_title(panel)
        axis.set_xlabel("communication round")
        axis.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel(f"test accuracy of the {model} model (%)")
    entries: dict[str, Any] = {}
    for axis in axes[0]:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.suptitle(title, y=1.04)
    columns = min(4, max(1, len(entries)))
    figure.legend(entries.values(), entries, loc="upper center", ncols=columns, bbox_to_anchor=(0.5, -0.02))
    paths = plots.save(figure, folder, stem)
    write_atomic(folder / f"{stem}.csv", csv_table(FIELDS, rows))
    return [*paths, folder / f"{stem}.csv"]
