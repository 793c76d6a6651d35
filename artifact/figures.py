"""Static figures: PNG and PDF, with the plotted numbers as CSV beside them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from artifact.errors import UserError
from artifact.files import replacing, write_atomic
from artifact.stats import t_interval

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: Okabe and Ito's colours, told apart with any colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
STYLES = ("-", "--", "-.", ":")

Curves = Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]


def save(figure: plt.Figure, folder: Path, stem: str) -> list[Path]:
    """Write PNG and PDF atomically. Raises UserError where the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError("figures", str(folder), f"a folder that can be written ({error.strerror})") from None
    paths = [folder / f"{stem}.png", folder / f"{stem}.pdf"]
    for path in paths:
        with replacing(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=150, bbox_inches="tight", metadata=_undated(path))
    plt.close(figure)
    return paths


def _undated(path: Path) -> dict[str, Any] | None:
    return {"CreationDate": None} if path.suffix == ".pdf" else None


def band(runs: Sequence[Sequence[Mapping[str, Any]]], model: str) -> tuple[np.ndarray, np.ndarray]:
    """(rounds [R], accuracies in per cent [n, R]) on the rounds that every run has evaluated."""
    series = [{line["round"]: 100 * line[model]["accuracy"] for line in run if model in line} for run in runs]
    rounds = sorted(set.intersection(*(set(s) for s in series))) if series else []
    return np.array(rounds), np.array([[s[r] for r in rounds] for s in series])


def curves(panels: Mapping[str, Curves], model: str, title: str, folder: Path, stem: str) -> list[Path]:
    """Accuracy against round: a panel per entry, a line per method (mean over seeds, band from minimum to maximum)."""
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.6), sharey=True, squeeze=False)
    rows = [["panel", "method", "round", "n", "mean", "low95", "high95", "minimum", "maximum"]]
    for axis, (panel, methods) in zip(axes[0], panels.items(), strict=True):
        for index, (label, runs) in enumerate(methods.items()):
            rounds, values = band(runs, model)
            if not len(rounds):
                continue
            colour, style = COLOURS[index % len(COLOURS)], STYLES[index % len(STYLES)]
            axis.plot(rounds, values.mean(0), style, color=colour, label=f"{label} (n={len(values)})", linewidth=1.6)
            axis.fill_between(rounds, values.min(0), values.max(0), color=colour, alpha=0.15, linewidth=0)
            for r, column in zip(rounds, values.T, strict=True):
                i = t_interval(column)
                rows.append([panel, label, int(r), i.n, i.mean, i.low, i.high, column.min(), column.max()])
        axis.set_title(panel)
        axis.set_xlabel("communication round")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel(f"test accuracy of the {model} model (%)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.suptitle(title, y=1.04)
    figure.legend(handles, labels, loc="lower center", ncols=min(4, max(1, len(labels))), bbox_to_anchor=(0.5, -0.1))
    paths = save(figure, folder, stem)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomic(folder / f"{stem}.csv", text.getvalue())
    return [*paths, folder / f"{stem}.csv"]
