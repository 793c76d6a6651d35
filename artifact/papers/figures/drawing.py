"""A figure from its panels' records: axes, shared scales, one legend, and the decided statements below."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from artifact.base import plots
from artifact.base.lazy import pyplot as plt
from artifact.papers.figures import partitions, schematics, surface_figures, surfaces, training
from artifact.papers.figures.records import Record
from artifact.papers.figures.series import UNTRAINED

_WIDTH, _HEIGHT = 4.4, 3.5
#: letters in a line of the title of a surface
_NARROW = 36
#: height of a line of the statements, in inches
_LINE = 0.127


#: what the pictures of a kind show, in a line below them
_READ = {
    "curves": "Line: mean over the seeds, smoothed over the rounds for display, as measured behind it (thin); band: "
    "smallest to largest seed.",
    "probe": "Line: mean over the seeds; band: smallest to largest seed.",
    "sweep": "Points: mean over the seeds of the last ten evaluated rounds; band: smallest to largest seed.",
    "landscape": "Surfaces: model of the first seed along the first pair of directions, loss and rise each on one "
    "scale. The model with the lower line on the right is flatter, mean over the seeds.",
    "spectrum": "Line: mean over the seeds; band: smallest to largest seed.",
}
_INTERVAL = "[ ]: interval over n seeds, at 95 % where no other level is named."


def draw(title: str, records: Sequence[Record], per_row: int, folder: Path, stem: str) -> list[Path]:
    """PNG and PDF of a figure."""
    return plots.save(compose(title, records, per_row), folder, stem)


def compose(title: str, records: Sequence[Record], per_row: int) -> plt.Figure:
    """A figure of panels, at most ``per_row`` beside each other; panels without data say why."""
    surface = any(record["kind"] == "landscape" for record in records)
    canvas = _landscapes(records) if surface else _grid(records, per_row)
    canvas.suptitle("\n".join(textwrap.wrap(title, int(canvas.get_figwidth() * 13))), fontsize=11)
    _statements(canvas, records, _legend(canvas))
    return canvas


def _grid(records: Sequence[Record], per_row: int) -> plt.Figure:
    columns = min(per_row, len(records))
    rows = math.ceil(len(records) / columns)
    height = _HEIGHT + (0.9 if any(r["kind"] == "sketch" for r in records) else 0.0)
    width = _WIDTH + (2.0 if len(records) == 1 else 0.0)
    canvas, grid = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained"
    )
    axes = list(grid.flat)
    for axis in axes[len(records) :]:
        axis.remove()
    for axis, record in zip(axes, records, strict=False):
        axis.set_title(_title(record), fontsize=9)
        _draw_one(axis, record, records)
    for classes, members in _maps(records).items():
        used = [axes[position] for position in members]
        label = f"samples of a class on a client, {classes} classes\n(top colour: this or more)"
        canvas.colorbar(used[0].images[0], ax=used, label=label, fraction=0.02, pad=0.01)
    return canvas


def _maps(records: Sequence[Record]) -> dict[int, list[int]]:
    """Positions of the heat maps by their number of classes: maps with as many classes share a colour scale."""
    groups: dict[int, list[int]] = {}
    for position, record in enumerate(records):
        if record["kind"] == "heatmap":
            groups.setdefault(len(record["counts"][0]), []).append(position)
    return groups


def _letter(record: Record) -> str:
    """``(a)`` where the paper letters its panels, else nothing."""
    letter = record["id"].rsplit("/", 1)[1]
    return f"({letter})" if letter in "abcdefgh" else ""


def name(record: Record) -> str:
    """What the figure calls a panel: the paper's letter, or the title where the paper has none."""
    return _letter(record) or record["title"]


def _title(record: Record, width: int = 60) -> str:
    """Letter and title, and what was really run; titles of trained panels name what the paper ran."""
    lines = textwrap.wrap(f"{_letter(record)} {record['title']}".strip(), min(width, 52))
    return "\n".join(lines + textwrap.wrap(record["setting"], width))


def _draw_one(axis: plt.Axes, record: Record, records: Sequence[Record]) -> None:
    kind = record["kind"]
    if kind == "sketch":
        schematics.draw(axis, record)
    elif kind == "bars":
        partitions.draw_bars(axis, record)
    elif kind == "heatmap":
        alike = _maps(records)[len(record["counts"][0])]
        samples = np.concatenate([np.ravel(records[position]["counts"]) for position in alike])
        partitions.draw_map(axis, record, int(np.quantile(samples, 0.995)))
    elif not record["lines"]:
        _empty(axis, record)
    elif kind == "spectrum":
        surface_figures.draw_spectrum(axis, record)
    elif kind == "density":
        surface_figures.draw_density(axis, record)
    else:
        training.draw(axis, record)


def _empty(axis: plt.Axes, record: Record) -> None:
    if record["not_run"]:
        reason = f"not run at this profile: {record['not_run']}"
    elif record.get("state", "").startswith("finished"):
        reason = "trained, not measured yet: `fedsharp figure` with --measure"
    else:
        reason = "no finished runs in the store"
    axis.text(0.5, 0.5, "\n".join(textwrap.wrap(reason, 40)), ha="center", va="center", fontsize=9, color="0.4")
    axis.set_axis_off()


def _landscapes(records: Sequence[Record]) -> plt.Figure:
    """Surfaces in space, the rise's contours below them, the rise against radius at the end; schematics underneath."""
    measured = [r for r in records if r["kind"] == "landscape"]
    others = [r for r in records if r["kind"] != "landscape"]
    columns, rows = len(measured) + 1, 3 if others else 2
    canvas = plt.figure(figsize=(3.4 * columns, 6.6 + (4.2 if others else 0)), layout="constrained")
    grid = canvas.add_gridspec(rows, columns, height_ratios=[3.3, 3.3, 4.2][:rows])
    heights, rises = _scales(measured)
    contours = [c for i, r in enumerate(measured) for c in _surface_column(canvas, grid, i, r, heights, rises)]
    if contours:
        label = "rise over the loss at +\n(top colour: this or more)"
        ticks = plt.MaxNLocator(6).tick_values(*rises)
        shown = [tick for tick in ticks if rises[0] <= tick <= rises[1]]
        canvas.colorbar(contours[-1][1], ax=[a for a, _ in contours], label=label, ticks=shown, shrink=0.9)
        lines = {line["label"]: line for r in measured for line in r["lines"]}
        last = canvas.add_subplot(grid[:2, -1])
        last.set_title(
            f"rise against radius, mean over\n{surfaces.DIRECTIONS} planes; band over training seeds", fontsize=9
        )
        surface_figures.draw_rises(last, list(lines.values()))
    span = columns // len(others) if others else 1
    for position, record in enumerate(others):
        axis = canvas.add_subplot(grid[2, position * span : (position + 1) * span])
        axis.set_title(_title(record), fontsize=9)
        _draw_one(axis, record, records)
    return canvas


def _scales(measured: Sequence[Record]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Scales that all panels share: of the loss, and of its rise over the model's own."""
    known = [s for r in measured for s in (r["surface"], r["overlay_surface"]) if s is not None]
    if not known:
        return (0.0, 1.0), (0.0, 1.0)
    drawn = [r["surface"] for r in measured if r["surface"] is not None]
    heights = surface_figures.height_scale([np.array(s, float) for s in known])
    return heights, surface_figures.height_scale([surface_figures.rise_of(s) for s in drawn])


def _surface_column(
    canvas: plt.Figure,
    grid: Any,
    column: int,
    record: Record,
    heights: tuple[float, float],
    rises: tuple[float, float],
) -> list[tuple[plt.Axes, Any]]:
    """One model's surface and contours; none where it was not measured. Returns the contours' axes and colours."""
    if record["surface"] is None:
        axis = canvas.add_subplot(grid[:2, column])
        axis.set_title(_title(record, _NARROW), fontsize=9)
        _empty(axis, record)
        return []
    above = canvas.add_subplot(grid[0, column], projection="3d")
    above.set_title(_title(record, _NARROW), fontsize=9)
    surface_figures.draw_surface(above, record, heights)
    below = canvas.add_subplot(grid[1, column])
    return [(below, surface_figures.draw_contour(below, record, rises))]


def _legend(canvas: plt.Figure) -> float:
    """One legend below all panels, each label once; returns where it ends, in figure coordinates."""
    entries: dict[str, Any] = {}
    for axis in canvas.axes:
        if axis.get_legend() is None:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
    if not entries:
        return -0.01
    columns = max(1, min(len(entries), int(canvas.get_figwidth() / 2.1)))
    rows = math.ceil(len(entries) / columns)
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.005), "ncols": columns, "fontsize": 9}
    canvas.legend([*entries.values()], [*entries], **place)
    return -0.01 - (rows * 0.21 + 0.2) / canvas.get_figheight()


def _statements(canvas: plt.Figure, records: Sequence[Record], top: float) -> None:
    """The decided statements under the legend, in two columns where the figure is wide; then how to read it."""
    wide = canvas.get_figwidth() > 12
    width = int(canvas.get_figwidth() * (8 if wide else 17))
    blocks = [textwrap.wrap(text, width, subsequent_indent="      ") for text in sentences(records)]
    columns = _halves(blocks) if wide else [[line for block in blocks for line in block]]
    for position, lines in enumerate(columns):
        _text(canvas, 0.01 + position * 0.5, top - 0.02, lines)
    below = top - 0.02 - (max(map(len, columns)) * _LINE + 0.08) / canvas.get_figheight()
    full = int(canvas.get_figwidth() * 17)
    _text(canvas, 0.01, below, [line for note in _notes(records) for line in textwrap.wrap(note, full)])


def sentences(records: Sequence[Record]) -> list[str]:
    """Every statement after the panels that it is made of; panels that show the same runs share one."""
    panels: dict[str, list[str]] = {}
    for record in records:
        for text in record["texts"]:
            panels.setdefault(text, []).append(name(record))
    return [f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in panels.items()]


def _notes(records: Sequence[Record]) -> list[str]:
    """How to read the pictures, and what the profile changes."""
    notes = [_READ[kind] for kind in dict.fromkeys(r["kind"] for r in records if r.get("lines")) if kind in _READ]
    if any(s["low"] is not None for r in records for s in r["statements"]):
        notes.append(_INTERVAL)
    if all(r["kind"] in UNTRAINED for r in records):
        return [*notes, "Nothing is trained for this figure; it is the same at every profile."]
    trained = [r for r in records if r["kind"] not in UNTRAINED and not r["not_run"]]
    return notes + list(dict.fromkeys(f"Profile {r['profile']}: {r['note']}." for r in trained if r["note"]))


def _halves(blocks: Sequence[list[str]]) -> list[list[str]]:
    """Blocks of lines as two columns of about the same height, no block broken."""
    left: list[str] = []
    right: list[str] = []
    half = sum(map(len, blocks)) / 2
    for block in blocks:
        (left if len(left) + len(block) / 2 <= half and not right else right).extend(block)
    return [left, right]


def _text(canvas: plt.Figure, x: float, y: float, lines: Sequence[str]) -> None:
    canvas.text(x, y, "\n".join(lines), va="top", ha="left", fontsize=7.5, parse_math=False, linespacing=1.2)
