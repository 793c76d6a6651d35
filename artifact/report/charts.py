"""Small charts as inline SVG: they need no script, follow the page's colours, and print."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

WIDTH = 360
SHOWN = 12
#: characters that WIDTH has room for
LINE = 50


def sides(left: float, right: float) -> Markup:
    """Left and right side of a statement at its counterexample, as two bars from zero."""
    if not (math.isfinite(left) and math.isfinite(right)):
        return Markup("")
    low, high = min(0.0, left, right), max(0.0, left, right)
    span = (high - low) or 1.0
    zero = 70 + 190 * -low / span
    bars = []
    for y, name, value, style in ((8, "left", left, "bad"), (40, "right", right, "plain")):
        x = 70 + 190 * (min(value, 0.0) - low) / span
        width = max(1.5, 190 * abs(value) / span)
        bars.append(_text(62, y + 17, f"{name} side", "end"))
        bars.append(f'<rect class="{style}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="24"/>')
        bars.append(_text(max(x + width, zero) + 6, y + 17, f"{value:.6g}", "start"))
    axis = f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="2" y2="70"/>'
    return _svg(72, f"Bars: left side {left:.6g}, right side {right:.6g}.", "".join(bars) + axis)


def search(history: Sequence[float], quantiles: Sequence[float], worst: float) -> Markup:
    """Ratios left/right that a search met: quantiles of its random draws, the largest after each restart, the bound 1.

    quantiles: 5, 25, 50, 75 and 95 % of the random draws.
    """
    values = [float(v) for v in history] or [float(worst)]
    shown = [*values, *(float(q) for q in quantiles), 1.0, 0.0]
    if not all(map(math.isfinite, shown)):
        return Markup("")
    low, high = min(shown), max(1.1, 1.08 * max(shown))
    height, left, right, top, bottom = 170, 46, 348, 12, 132

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    step = (right - left - 30) / max(len(values) - 1, 1)
    x = [left + 30 + step * i for i in range(len(values))] if len(values) > 1 else [(left + right) / 2]
    body = [f'<line class="axis" x1="{left}" x2="{left}" y1="{top}" y2="{bottom}"/>']
    body.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    body.append(f'<line class="bound" x1="{left}" x2="{right}" y1="{y(1):.1f}" y2="{y(1):.1f}"/>')
    body += [_text(left - 5, y(1) + 4, "1", "end"), _text(right, y(1) - 5, "bound", "end")]
    body.append(_text(left - 5, y(low) + 4, f"{low:.2g}", "end"))
    if len(quantiles) == 5:
        q = [y(float(v)) for v in quantiles]
        body.append(f'<line class="box" x1="{left + 14}" x2="{left + 14}" y1="{q[0]:.1f}" y2="{q[4]:.1f}"/>')
        rectangle = f'y="{q[3]:.1f}" width="10" height="{max(q[1] - q[3], 1):.1f}"'
        body.append(f'<rect class="plain" x="{left + 9}" {rectangle}/>')
    points = " ".join(f"{a:.1f},{y(b):.1f}" for a, b in zip(x, values, strict=True))
    body.append(f'<polyline class="line" points="{points}"/>')
    body += [f'<circle class="dot" cx="{a:.1f}" cy="{y(b):.1f}" r="3"/>' for a, b in zip(x, values, strict=True)]
    body.append(_text((left + right) / 2, bottom + 16, "restart of the search", "middle"))
    body.append(_text((left + right) / 2, bottom + 31, "bar: half of the random draws; dots: largest so far", "middle"))
    label = f"Search: largest ratio of left to right side {worst:.6g} after {len(values)} stages; dashed line: 1."
    return _svg(height, label, "".join(body))


def intervals(rows: Sequence[Mapping[str, Any]], unit: str) -> Markup:
    """Paired differences with their 95 % intervals, the ``SHOWN`` nearest to failing, those first.

    rows: label, mean, low, high, margin; an interval with an open end (None) is not drawn.
    """
    known = [row for row in rows if None not in (row["mean"], row["low"], row["high"], row["margin"])]
    shown = sorted(known, key=lambda row: row["low"] - row["margin"])[:SHOWN]
    if not shown:
        return Markup("")
    low = min(0.0, *(row["low"] for row in shown), *(row["margin"] for row in shown))
    high = max(0.0, *(row["high"] for row in shown), *(row["margin"] for row in shown))
    scale = (WIDTH - 20) / ((high - low) or 1.0)

    def x(value: float) -> float:
        return 10 + scale * (value - low)

    body, bottom = [], 6
    for row in shown:
        style = "good" if row["low"] > row["margin"] else "bad" if row["high"] < 0 else "plain"
        lines = textwrap.wrap(str(row["label"]).split(";")[0], LINE)
        body += [_text(10, bottom + 10 + 14 * i, line, "start") for i, line in enumerate(lines)]
        bottom += 20 + 14 * len(lines)
        y = bottom - 14
        body.append(
            f'<line class="interval {style}" x1="{x(row["low"]):.1f}" x2="{x(row["high"]):.1f}" y1="{y}" y2="{y}"/>'
        )
        body.append(f'<circle class="{style}" cx="{x(row["mean"]):.1f}" cy="{y}" r="4"/>')
        if row["margin"]:
            mark = x(row["margin"])
            body.append(f'<line class="bound" x1="{mark:.1f}" x2="{mark:.1f}" y1="{y - 7}" y2="{y + 7}"/>')
    body.insert(0, f'<line class="axis" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{bottom}"/>')
    body.append(_text(x(0), bottom + 14, "0", "middle"))
    ends = [(x(low), f"{low:.3g}", "start"), (x(high), f"{high:.3g}", "end")]
    body += [_text(place, bottom + 14, text, anchor) for place, text, anchor in ends if abs(place - x(0)) > 40]
    body.append(
        _text(WIDTH / 2, bottom + 28, f"difference in the claimed direction ({unit or 'plain number'})", "middle")
    )
    said = "; ".join(f"{row['label']}: {row['mean']:.3g} from {row['low']:.3g} to {row['high']:.3g}" for row in shown)
    return _svg(bottom + 34, f"Differences with 95 % intervals. {said}.", "".join(body))


def _svg(height: int, label: str, body: str) -> Markup:
    return Markup(
        f'<svg class="small" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
