"""One figure per claim that a person can judge by eye: the check's own, else a generic one from its evidence."""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib

if not os.environ.get("MPLBACKEND"):  # a notebook has set its own, and draws into its page
    matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from artifact.verdicts.ledger import Claim, load
from artifact.verdicts.printed_numbers import comparisons
from checks.text import margin_text
from theory.kit.verdict import HEADINGS, Check, registry

COLOURS = {
    "proved": "#1b7837",
    "holds": "#5aae61",
    "agrees": "#5aae61",
    "consistent": "#5aae61",
    "refuted": "#b2182b",
    "inconsistent": "#b2182b",
    "repaired": "#d6604d",
    "vacuous": "#8073ac",
    "reproduced": "#1b7837",
    "seen": "#1b7837",
    "mostly-seen": "#5aae61",
    "no-difference": "#777777",
    "undecided": "#777777",
    "reversed": "#b2182b",
    "untuned": "#777777",
    "contradicted": "#b2182b",
    "not-run": "#777777",
}
ROWS = 24  # of a printed-against-derived table, or of the comparisons of an empirical claim
WIDTH, HEIGHT = 7.2, 4.6  # inches
DPI = 110


@cache
def ledger() -> dict[str, Claim]:
    """Claims by id, read once per process."""
    return {claim.id: claim for claim in load()}


def sections(check: Check) -> dict[str, str]:
    """The docstring of a check by heading (without the colon), each on one line."""
    parts, current = {}, None
    for line in (inspect.getdoc(check.function) or "").splitlines():
        heading = next((h for h in HEADINGS if line.startswith(h)), None)
        if heading:
            current, line = heading.rstrip(":"), line[len(heading) :]
        if current:
            parts[current] = f"{parts.get(current, '')} {line.strip()}".strip()
    return parts


def draw(claim: str, result: Mapping[str, Any], *paths: Path) -> None:
    """Draw the figure of a claim. result: verdict, evidence, repaired, as in the stored file.  paths: .png, .pdf."""
    check, evidence = registry.checks[claim], result["evidence"]
    with _canvas(ledger()[claim], result["verdict"], *paths) as axes:
        if check.figure is not None:
            check.figure(axes, evidence)
        else:
            generic(axes, check, result, evidence)


def draw_card(claim: Claim, card: Mapping[str, str], path: Path) -> None:
    """A claim that no check function decides, as text: heading -> text."""
    with _canvas(claim, "not-run", path) as axes:
        text_panel(axes, card)


def draw_comparisons(claim: Claim, evidence: Mapping[str, Any], verdict: str, path: Path) -> None:
    """An empirical claim: every comparison with its 95 % interval, those nearest to failing first."""
    found = sorted(evidence["comparisons"], key=lambda c: c["low"] - c["margin"])[:ROWS]
    with _canvas(claim, verdict, path) as axes:
        for y, row in enumerate(reversed(found)):
            side = row["low"] > row["margin"], row["high"] < min(0, row["margin"])
            colour = COLOURS["reproduced"] if side[0] else COLOURS["contradicted"] if side[1] else "#777777"
            axes.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=2)
            axes.plot(row["mean"], y, "o", color=colour, markersize=4)
        axes.axvline(0, color="black", linewidth=0.8)
        for margin in {row["margin"] for row in found} - {0.0}:
            axes.axvline(margin, color="black", linewidth=0.8, linestyle=":")
        wrapped = [textwrap.wrap(row["label"].split(";")[0], 46) for row in reversed(found)]
        labels = ["\n".join(lines if len(found) <= ROWS // 2 else lines[:1]) for lines in wrapped]
        axes.set_yticks(range(len(found)), labels, fontsize=6.5, parse_math=False)
        left = f"; {len(evidence['comparisons']) - ROWS} further ones" if len(evidence["comparisons"]) > ROWS else ""
        axes.set_xlabel(f"difference in the claimed direction, {evidence['unit'] or 'plain number'}{left}", fontsize=8)
        text = f"{evidence['says']}. n = {evidence['n']} paired seeds, profile {evidence['profile']}; dotted: margin"
        axes.set_title("\n".join(textwrap.wrap(text, 84)), fontsize=7.5, loc="left", parse_math=False)


@contextmanager
def _canvas(claim: Claim, verdict: str, *paths: Path) -> Iterator[Axes]:
    """Axes under the claim's title and verdict, saved when the body ends."""
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    try:
        yield axes
        title = "\n".join(textwrap.wrap(f"{claim.id}: {claim.title}", 74))
        figure.suptitle(f"{title}\n", fontsize=10, x=0.01, ha="left", parse_math=False)
        figure.text(0.99, 0.985, verdict, ha="right", va="top", size=10, weight="bold", color=COLOURS.get(verdict, "k"))
        box = "tight" if axes.axison else _text_box(figure)
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=DPI, bbox_inches=box, pad_inches=0.1)
            figure.set_layout_engine("none")  # as it lies now
    finally:
        plt.close(figure)


def _text_box(figure: Figure) -> Bbox:
    """Box around all texts in inches, so that a panel of few lines gives a small picture."""
    figure.canvas.draw()
    boxes = [
        text.get_window_extent() for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()
    ]
    inside = [box for box in boxes if box.width > 1 and box.y1 > 0]
    return Bbox.union(inside).transformed(figure.dpi_scale_trans.inverted()).padded(0.1)


def generic(axes: Axes, check: Check, result: Mapping[str, Any], evidence: Mapping[str, Any]) -> None:
    """By verdict: search against bound, printed against derived, two sides of a counterexample, or the certificate."""
    verdict = result["verdict"]
    if verdict in ("consistent", "inconsistent"):
        comparison_table(axes, evidence, verdict, sections(check).get("Statement", ""))
    elif verdict == "holds":
        search_against_bound(axes, evidence)
    elif verdict in ("refuted", "repaired") and check.replay is not None:
        two_sides(axes, check.replay(evidence), evidence, result.get("repaired"))
    else:
        text_panel(axes, _card(check, verdict, evidence))


def _card(check: Check, verdict: str, evidence: Mapping[str, Any]) -> dict[str, str]:
    """Statement and method of the check and what backs its verdict."""
    keys = {"proved": ("certificate",), "vacuous": ("reason",), "not-run": ("reason",)}.get(verdict, tuple(evidence))
    words = {key: text for key, text in sections(check).items() if key in ("Statement", "Method")}
    return words | {key.capitalize(): _short(evidence[key], 1500) for key in keys if key in evidence}


def _short(value: Any, limit: int) -> str:
    text = "; ".join(f"{k} = {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
    return text if len(text) <= limit else text[:limit] + " ..."


def text_panel(axes: Axes, card: Mapping[str, str], lines: int = 30) -> None:
    """Headings with wrapped text below; mathematics is shown as typed. What does not fit ends in an ellipsis."""
    axes.axis("off")
    height = 0.0
    for heading, text in card.items():
        wrapped = [line for part in text.split("\n") for line in textwrap.wrap(part, 96)]
        room = max(int(lines - height), 1)
        wrapped = wrapped if len(wrapped) <= room else [*wrapped[: room - 1], "..."]
        style = {"va": "top", "transform": axes.transAxes, "parse_math": False}
        axes.text(0, 1 - height / lines, heading, weight="bold", fontsize=8, **style)
        axes.text(0, 1 - (height + 1.2) / lines, "\n".join(wrapped), family="monospace", fontsize=7.5, **style)
        height += 1.2 + 1.0 * len(wrapped) + 1.0
        if height >= lines - 2:
            return


def comparison_table(axes: Axes, evidence: Mapping[str, Any], verdict: str = "", statement: str = "") -> None:
    """Printed beside derived numbers, at most ``ROWS`` rows, those that disagree first and in red."""
    rows = sorted(comparisons(evidence, verdict), key=lambda row: row[3] is not False)
    named = any(str(row[2]) for row in rows)
    widths = (50, 30, 36) if named else (0, 56, 60)
    axes.axis("off")
    lines = [(line, "black", "normal") for line in textwrap.wrap(statement, 106)[:6]] + [("", "black", "normal")]
    lines.append((_columns(("where" if named else "", "printed", "derived"), widths), "black", "bold"))
    for printed, derived, where, agrees in rows[:ROWS]:
        colour = COLOURS["inconsistent"] if agrees is False else "black"
        lines.append((_columns((where, printed, derived), widths), colour, "normal"))
    if len(rows) > ROWS:
        lines.append((f"{len(rows) - ROWS} further rows in the evidence file", "#777777", "normal"))
    style = {"family": "monospace", "fontsize": 7, "va": "top", "transform": axes.transAxes, "parse_math": False}
    for number, (line, colour, weight) in enumerate(lines):
        axes.text(0, 1 - number / (ROWS + 9), line, color=colour, weight=weight, **style)


def _columns(cells: tuple[Any, ...], widths: tuple[int, ...]) -> str:
    return "".join(_cell(cell, width - 2).ljust(width) for cell, width in zip(cells, widths, strict=True) if width)


def _cell(value: Any, width: int) -> str:
    if isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, list | tuple):
        text = ", ".join(_cell(entry, width) for entry in value)
    elif isinstance(value, Mapping):
        text = ", ".join(f"{key} {_cell(entry, width)}" for key, entry in value.items())
    else:
        text = str(value)
    return text if len(text) <= width else text[: width - 1] + "~"


def search_against_bound(axes: Axes, evidence: Mapping[str, Any]) -> None:
    """Ratios left/right of the random draws (quantiles) and the largest one after each restart, against the bound 1."""
    history = [float(x) for x in evidence.get("history", ())] or [float(evidence["worst_ratio"])]
    spread = [float(x) for x in evidence.get("quantiles", ())]
    if spread:
        low, lower, middle, upper, high = spread
        axes.vlines(0, low, high, color="#999999", linewidth=3, label="random draws: 5 % to 95 %")
        axes.vlines(0, lower, upper, color="#444444", linewidth=8, label="random draws: 25 % to 75 %")
        axes.plot(0, middle, "_", color="white", markersize=8)
    axes.step(range(len(history)), history, where="post", marker="o", color=COLOURS["holds"], label="largest found")
    axes.axhline(1.0, color="black", linewidth=1, linestyle="--", label="bound")
    axes.legend(fontsize=7)
    axes.set_xlabel("restart of the search (0: random draws)")
    axes.set_ylabel("left / right")
    axes.set_xticks(range(len(history)))
    axes.set_ylim(min(0.0, *history, *spread), max(1.1, 1.1 * max(history)))
    worst = margin_text(evidence["worst_ratio"])
    label = f"{evidence['evaluations']} evaluations, worst {worst}; {evidence['function_class']}"
    axes.set_title("\n".join(textwrap.wrap(label, 96)), fontsize=8, parse_math=False)


def two_sides(axes: Axes, replay: Any, evidence: Mapping[str, Any], repaired: str | None) -> None:
    """Left and right side at the counterexample, replayed, with its numbers and the repair below."""
    left, right = float(replay.left), float(replay.right)
    axes.barh([1, 0], [left, right], color=[COLOURS["refuted"], "#4393c3"], height=0.5)
    axes.set_yticks([1, 0], ["left side", "right side"])
    for position, value in ((1, left), (0, right)):
        place = {"ha": "right" if value < 0 else "left", "va": "center", "fontsize": 9}
        axes.text(value, position, f" {value:.8g} ", **place)
    axes.margins(x=0.25)
    axes.axvline(0, color="black", linewidth=0.8)
    names = textwrap.shorten(", ".join(replay.assumptions), 130, placeholder=" ...")
    label = f"printed: left {replay.relation} right. Satisfied: {names}"
    axes.set_title("\n".join(textwrap.wrap(label, 96)), fontsize=8, parse_math=False)
    text = f"counterexample: {_short(evidence['counterexample'], 340)}"
    if repaired:
        text += f"\nrepaired: {_short(repaired, 300)}\nrepair {_backing(evidence['repair'])}"
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, 96)]
    axes.set_xlabel("\n".join(lines[:8]), fontsize=7, family="monospace", loc="left", parse_math=False)


def _backing(repair: Mapping[str, Any]) -> str:
    """What a corrected statement rests on, in a line."""
    if "evaluations" in repair:
        return f"tested: {repair['evaluations']} evaluations, worst left/right {margin_text(repair['worst_ratio'])}"
    return f"proved: {_short(repair['certificate'], 150)}"
