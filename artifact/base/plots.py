"""Static figures: PNG and PDF with the plotted numbers beside them, and one colour and marker per method everywhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, cpu_count, delayed

from artifact.base.errors import UserError
from artifact.base.files import replacing, write_atomic
from artifact.base.lazy import pyplot as plt
from artifact.base.stats import Interval, t_interval
from artifact.base.tables_as_text import csv_table

os.environ["MPLBACKEND"] = "Agg"  # read when matplotlib is imported, which happens with the first figure

#: Okabe and Ito's colours, told apart with any colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")

#: colour and marker of every method, the same in every figure; a marker tells apart what two colours may not
METHODS = {
    "FedAvg": ("#000000", "o"),
    "SCAFFOLD": ("#8C6D31", "s"),
    "FedRobust": ("#8A8A8A", "D"),
    "FedCM": ("#E69F00", "^"),
    "MimeLite": ("#56B4E9", "v"),
    "FedSAM": ("#0072B2", "P"),
    "MoFedSAM": ("#D55E00", "X"),
    "FedSMOO": ("#CC79A7", "*"),
    "FedLESAM": ("#009E73", "p"),
    "FedLESAM-S": ("#66C2A5", "h"),
    "FedLESAM-D": ("#4DAF00", "H"),
    "FedDyn": ("#6A3D9A", "<"),
    "FedDC": ("#B2182B", ">"),
    "FedAdam": ("#A69B00", "d"),
    "FedASAM": ("#44AA99", "8"),
    "FedSpeed": ("#882255", "1"),
    "FedGAMMA": ("#00B5D8", "2"),
    "Global FedSAM": ("#A65628", "3"),
    "DynReg+SAM": ("#332288", "4"),
    "centralised": ("#006D77", "+"),
    "FedAvg, Dirichlet 0.6": ("#555555", "s"),
    "FedAvg, Dirichlet 0.06": ("#C44E52", "v"),
}
_SAME = {"Local FedSAM": "FedSAM", "DynReg": "FedDyn", "FedProx": "FedAvg"}

#: pictures for which starting processes takes less time than they save
MANY = 8
#: of the data beside a figure of curves
FIELDS = ("panel", "method", "round", "n", "mean", "low95", "high95", "minimum", "maximum")
Drawn = TypeVar("Drawn")
#: method -> round -> accuracy of every run, as a share
Curves = Mapping[str, Sequence[Mapping[int, float]]]


@dataclass(frozen=True)
class Style:
    """How a line of a figure looks."""

    colour: str
    marker: str
    line: str = "-"

    def plot(self) -> dict[str, Any]:
        """Keyword arguments for ``Axes.plot``."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.line}


def style(label: str, position: int = 0) -> Style:
    """Colour and marker of the method that a label names; its released form is dotted, with MAN it is dashed, as it is
    without something that it usually has, "METHOD (without ...)".

    A label that names no method takes the next colour by its position in the figure.
    """
    base, line = label, "-"
    if re.search(r"\+ ?MAN\b", label):
        base, line = re.sub(r" ?\+ ?MAN\b", "", base), "--"
    if "released" in label:
        base, line = re.split(r",? \(?released", base)[0], ":"
    if "(without" in label:
        line = "--"
    base = re.sub(r" \(.*\)$", "", base).strip()
    base = _SAME.get(base, base)
    if base in METHODS:
        return Style(*METHODS[base], line)
    return Style(COLOURS[position % len(COLOURS)], "os^vDPX*"[position % 8], line)


def draw_all(drawings: Sequence[Callable[[], Drawn]]) -> Iterator[Drawn]:
    """What every drawing gives, in order; many are spread over the cores."""
    if len(drawings) < MANY:
        yield from (draw() for draw in drawings)
    else:
        yield from Parallel(cpu_count(), return_as="generator")(delayed(draw)() for draw in drawings)


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


def smooth(rounds: Sequence[float], values: np.ndarray, half_width: float) -> np.ndarray:
    """Values [R] averaged with a Hanning window over the rounds, for display only; spacing may be uneven.

    half_width: in rounds; a value weighs (1 + cos(pi d / half_width)) / 2 at distance d, none beyond.
    """
    distance = np.abs(np.subtract.outer(np.asarray(rounds, float), np.asarray(rounds, float)))
    weights = np.where(distance < half_width, 0.5 * (1 + np.cos(np.pi * distance / half_width)), 0.0)
    return weights @ np.asarray(values, float) / weights.sum(1)


def on_shared_rounds(series: Sequence[Mapping[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """(rounds [R], values [n, R]) of n series round -> value, on the rounds that all of them have."""
    rounds = sorted(set.intersection(*(set(s) for s in series))) if series else []
    return np.array(rounds), np.array([[s[r] for r in rounds] for s in series])


def forest(axis: plt.Axes, rows: Sequence[tuple[str, Interval]]) -> None:
    """Labelled intervals under each other, the first on top; orange and filled where the interval excludes zero."""
    for y, (_, i) in enumerate(reversed(rows)):
        colour = COLOURS[1] if i.excludes(0) else COLOURS[0]
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
            rounds, values = on_shared_rounds(runs)
            if not len(rounds):
                continue
            values = 100 * values
            look = style(label, index)
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
    paths = save(figure, folder, stem)
    write_atomic(folder / f"{stem}.csv", csv_table(FIELDS, rows))
    return [*paths, folder / f"{stem}.csv"]
