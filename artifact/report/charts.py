"""Charts as inline SVG: they need no script and no network, follow the page's colours, stay sharp, and print."""

from __future__ import annotations

import base64
import io
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import contourpy
import matplotlib
import numpy as np
from markupsafe import Markup, escape
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import MaxNLocator
from PIL import Image

from artifact.base import plots
from artifact.base.cache import cache
from artifact.base.stats import t_interval
from artifact.report.pictures import Picture

WIDTH, HEIGHT = 360, 240
#: of a plot inside its picture: left, top, right, bottom
EDGES = (58, 8, WIDTH - 8, HEIGHT - 36)
#: width of a digit of an axis
DIGIT = 7.0
#: intervals that one chart shows, and the characters that WIDTH has room for
SHOWN, LINE = 12, 50
#: markers along a line, contours of a surface; lines whose bands are shown together, in more only that of a chosen one
MARKS, LEVELS, BANDS = 8, 12, 3
#: of a plot of differences: where names end, characters of a line of a name
NAMES, LETTERS = 128, 20
Span = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """One plot with the title above it."""

    title: str
    svg: Markup


@dataclass(frozen=True)
class Chart:
    """Plots side by side. series: (label, key) of what can be highlighted. files: the static form.

    differences: plots of the series' differences to one of them, which come first. lines: said below the title, TeX
    in dollars.
    """

    id: str
    title: str
    panels: Sequence[Panel]
    note: str = ""
    series: Sequence[tuple[str, Markup]] = ()
    files: Picture | None = None
    differences: Sequence[Panel] = ()
    lines: Sequence[str] = ()


# ---- the frame -------------------------------------------------------------------------------------------------------


class Plot:
    """An SVG with axes. x, y: what they span, in the data's units. ticks: of the x axis, by default round numbers."""

    def __init__(self, x: Span, y: Span, labels: tuple[str, str], log: bool = False, ticks: Sequence[float] = ()):
        self.x, self.y, self.log = x, y, log
        left, top, right, bottom = EDGES
        self.body: list[str] = []
        free = 0.0
        for value in ticks or _round_numbers(x):
            place, text = self.at(value, y[0])[0], f"{value:.4g}"
            self.body.append(f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{top}" y2="{bottom}"/>')
            middle = min(place, WIDTH - len(text) * DIGIT / 2)  # a label at the right end is not cut
            if middle - len(text) * DIGIT / 2 >= free:  # one that would cover the last is left out
                self.body.append(_text(middle, bottom + 14, text, "middle"))
                free = middle + (len(text) + 1) * DIGIT / 2
        for value in _round_numbers(y):
            place = self.at(x[0], value)[1]
            self.body.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{place:.1f}" y2="{place:.1f}"/>')
            self.body.append(_text(left - 5, place + 4, f"{value:.4g}", "end"))
        self.body.append(_text((left + right) / 2, HEIGHT - 6, labels[0], "middle"))
        up = f'transform="rotate(-90 11 {(top + bottom) / 2})"'
        self.body.append(_text(11, (top + bottom) / 2, labels[1], "middle", up))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the data lies in the picture."""
        left, top, right, bottom = EDGES
        low, high, x = (math.log10(v) if self.log else v for v in (*self.x, x))
        across, up = (x - low) / ((high - low) or 1.0), (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1.0)
        return left + (right - left) * across, bottom - (bottom - top) * up

    def path(self, points: Iterable[tuple[float, float]], closed: bool = False) -> str:
        """Outline through the points that are numbers, for a ``d``."""
        known = [self.at(x, y) for x, y in points if y is not None and math.isfinite(y)]
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in known) + "Z" * closed if known else ""

    def svg(self, said: str, style: str = "plot") -> Markup:
        """The plot as SVG.

        said: what is seen, for a reader who does not see it.
        """
        return _svg(HEIGHT, said, "".join(self.body), style)


def _round_numbers(span: Span) -> list[float]:
    return [float(v) for v in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(*span) if span[0] <= v <= span[1]]


def _svg(height: int, said: str, body: str, style: str = "small") -> Markup:
    return Markup(
        f'<svg class="{style}" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(said)}">{body}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(text)}</text>'


def span(values: Iterable[float | None], room: float = 0.04) -> Span:
    """The values' range with room above and below."""
    known = [v for v in values if v is not None and math.isfinite(v)] or [0.0, 1.0]
    pad = room * ((max(known) - min(known)) or 1.0)
    return min(known) - pad, max(known) + pad


# ---- lines -----------------------------------------------------------------------------------------------------------


def line(label: str, x: Sequence[float], values: np.ndarray, position: int = 0) -> dict[str, Any]:
    """A line with its band. values: [n, X], one row per seed; the band is the 95 % t interval, none for one seed."""
    values = np.asarray(values, dtype=float)
    found = {"label": label, "x": list(x), "mean": values.mean(0).tolist(), "n": len(values)}
    found["look"] = look(label, position)
    if len(values) > 1:
        intervals = [t_interval(column) for column in values.T]
        found |= {"low": [i.low for i in intervals], "high": [i.high for i in intervals]}
    return found


def look(label: str, position: int = 0) -> plots.Style:
    """How the line of a method, or of another label by its position, is drawn."""
    return plots.style(label, position)


def heights(lines: Iterable[Mapping[str, Any]]) -> Span:
    """Lowest and highest value of the lines and their bands."""
    return span(v for entry in lines for name in ("mean", "low", "high") for v in entry.get(name, ()))


def lines_panel(
    title: str,
    lines: Sequence[Mapping[str, Any]],
    labels: tuple[str, str],
    log: bool = False,
    y: Span | None = None,
    marks: Sequence[tuple[float, float, str]] = (),
) -> Panel:
    """Lines, bands and markers of their own. labels: of the axes. y: what the axis spans.

    marks: (x, height, text) of points that get a letter; the texts stand beside the title.
    """
    places = sorted({x for entry in lines for x in entry["x"]})
    few = places if log or len(places) < 7 else ()
    plot = Plot((places[0], places[-1]), y or heights(lines), labels, log, few)
    for entry in lines:
        plot.body.append(_series(plot, entry))
    letters = "abcdefgh"
    for letter, (x, height, _) in zip(letters, marks, strict=False):
        across, down = plot.at(x, height)
        plot.body.append(f'<circle class="mark" cx="{across:.1f}" cy="{down:.1f}" r="4"/>')
        plot.body.append(_text(across, down + 18, letter, "middle"))
    title += "; ".join(f"{letter}: {text}" for letter, (*_, text) in zip(letters, marks, strict=False))
    ends = "; ".join(f"{entry['label']} {entry['mean'][-1]:.4g}" for entry in lines)
    style = "plot many" if len(lines) > BANDS else "plot"
    return Panel(title, plot.svg(f"{title}: {labels[1]} against {labels[0]}. At the right end: {ends}.", style))


def _series(plot: Plot, entry: Mapping[str, Any]) -> str:
    look, x, mean = entry["look"], entry["x"], entry["mean"]
    body = []
    if "low" in entry:
        back = [*zip(x, entry["high"], strict=True), *reversed([*zip(x, entry["low"], strict=True)])]
        body.append(f'<path class="band" d="{plot.path(back, closed=True)}"/>')
    body.append(f'<path class="line" d="{plot.path(zip(x, mean, strict=True))}"{_dash(look)}/>')
    for i in {int(np.abs(np.subtract(x, place)).argmin()): None for place in np.linspace(x[0], x[-1], MARKS)}:
        if math.isfinite(mean[i]):
            band = f" [{entry['low'][i]:.4g}, {entry['high'][i]:.4g}], 95 %" if "low" in entry else ""
            said = f"{entry['label']} at {x[i]:g}: {mean[i]:.4g}{band}, n={entry['n']}"
            body.append(_marker(look, *plot.at(x[i], mean[i]), said))
    return _switched(entry["label"], look.colour, "".join(body))


def _switched(label: str, colour: str, body: str) -> str:
    return f'<g data-series="{escape(label)}" style="--key:{colour}">{body}</g>'


def dash(look: plots.Style) -> str:
    """Lengths of dashes and gaps; empty for a whole line."""
    return "" if look.line == "-" else " ".join(f"{1.4 * length:g}" for length in look.line[1])


def _dash(look: plots.Style) -> str:
    return f' stroke-dasharray="{dash(look)}"' if dash(look) else ""


def _marker(look: plots.Style, x: float, y: float, said: str = "") -> str:
    title = f"<title>{escape(said)}</title>" if said else ""
    style = "marker open" if look.open else "marker"
    return f'<path class="{style}" d="{outline(look.marker)}" transform="translate({x:.1f} {y:.1f})">{title}</path>'


@cache
def outline(name: Any) -> str:
    """The outline of one of matplotlib's markers around 0, six pixels wide; y points down."""
    style = MarkerStyle(name)
    shape = style.get_path().transformed(style.get_transform())
    widest: float = np.abs(np.asarray(shape.vertices)).max()
    pieces = [3.2 * np.asarray(piece) / widest for piece in shape.to_polygons(closed_only=False)]
    return "".join(f"M{' L'.join(f'{x:.1f} {-y:.1f}' for x, y in piece)}" for piece in pieces)


def key(look: plots.Style) -> Markup:
    """A short piece of a line with its marker, for a legend."""
    body = f'<path class="line" d="M1 6H27"{_dash(look)}/>{_marker(look, 14, 6)}'
    return Markup(
        f'<svg class="plot key" viewBox="0 0 28 12" aria-hidden="true" style="--key:{look.colour}">{body}</svg>'
    )


def lines_chart(
    id: str, title: str, panels: Sequence[Mapping[str, Any]], note: str, files: Picture | None = None
) -> Chart:
    """Curves that can be switched by label in all panels at once; panels of one quantity have one scale.

    panels: arguments of ``lines_panel``.
    """
    entries = {entry["label"]: entry for panel in panels for entry in panel["lines"]}
    alike = len({panel["labels"][1] for panel in panels}) == 1
    shared = heights([entry for panel in panels for entry in panel["lines"]]) if alike else None
    series = [(label, key(entry["look"])) for label, entry in entries.items()]
    return Chart(id, title, [lines_panel(**{"y": shared} | dict(panel)) for panel in panels], note, series, files)


# ---- differences -----------------------------------------------------------------------------------------------------


def differences_panel(title: str, rows: Sequence[Mapping[str, Any]], axis: str, x: Span) -> Panel:
    """Intervals around their means under each other, with the names at their left.

    rows: label, mean, low, high, n, and printed, the paper's difference or None. axis: what is shown. x: what the axis
    spans.
    """
    scale = (WIDTH - 12 - NAMES) / (x[1] - x[0])
    body, bottom, told = [], 4.0, []
    for row in rows:
        lines = textwrap.wrap(row["label"], LETTERS)
        middle = bottom + 3 + 6.5 * len(lines)
        at = {name: NAMES + 6 + scale * (row[name] - x[0]) for name in ("mean", "low", "high")}
        style = "plain" if row["n"] < 2 or row["low"] <= 0 <= row["high"] else "good" if row["low"] > 0 else "bad"
        place = f'y1="{middle:.1f}" y2="{middle:.1f}"'
        marks = [_text(NAMES - 2, bottom + 13 * (i + 1), line, "end") for i, line in enumerate(lines)]
        if row["n"] > 1:
            marks.append(f'<line class="interval {style}" x1="{at["low"]:.1f}" x2="{at["high"]:.1f}" {place}/>')
        marks.append(f'<circle class="{style}" cx="{at["mean"]:.1f}" cy="{middle:.1f}" r="4"/>')
        said = f"{row['mean']:+.2f} " + (
            f"[{row['low']:+.2f}, {row['high']:+.2f}], 95 %, n={row['n']}" if row["n"] > 1 else "(one seed)"
        )
        if row["printed"] is not None:
            across = NAMES + 6 + scale * (row["printed"] - x[0])
            marks.append(
                f'<path class="printed" d="M-5 0L0 -5L5 0L0 5Z" transform="translate({across:.1f} {middle:.1f})"/>'
            )
            said += f", the paper's {row['printed']:+.2f}"
        told.append(f"{row['label']}: {said}")
        body.append(f'<g data-series="{escape(row["label"])}"><title>{escape(told[-1])}</title>{"".join(marks)}</g>')
        bottom += 6 + 13 * len(lines)
    for value in _round_numbers(x):
        across = NAMES + 6 + scale * (value - x[0])
        style = "axis" if value == 0 else "grid"
        body.insert(0, f'<line class="{style}" x1="{across:.1f}" x2="{across:.1f}" y1="0" y2="{bottom:.1f}"/>')
        body.append(_text(across, bottom + 13, f"{value:.4g}", "middle"))
    body.append(_text(WIDTH / 2, bottom + 28, axis, "middle"))
    return Panel(title, _svg(round(bottom) + 34, f"{title}: {axis}. {'; '.join(told)}.", "".join(body), "small"))


# ---- surfaces and counts ---------------------------------------------------------------------------------------------


def surface_panel(title: str, surface: Mapping[str, Any], labels: tuple[str, str], limits: Span) -> Panel:
    """A loss over a plane seen from above, darker where it is higher, with the paths of methods.

    surface: x [X], y [Y], z [Y][X], paths {label, x, y, look, text}. limits: of the loss, from the first contour to the
    last.
    """
    x, y, z = (np.array(surface[name], dtype=float) for name in ("x", "y", "z"))
    plot = Plot((x[0], x[-1]), (y[0], y[-1]), labels)
    contours = contourpy.contour_generator(x, y, np.ma.masked_invalid(z), fill_type=contourpy.FillType.OuterOffset)
    levels = np.linspace(*limits, LEVELS + 2)[1:-1]
    for level in levels:
        parts = zip(*contours.filled(level, math.inf), strict=True)  # a part has an outline and holes
        rings = [ring for points, starts in parts for ring in np.split(points, starts[1:-1])]
        plot.body.append(f'<path class="level" d="{"".join(plot.path(ring, closed=True) for ring in rings)}"/>')
    for path in surface.get("paths", ()):
        track = plot.path(zip(path["x"], path["y"], strict=True))
        end = _marker(path["look"], *plot.at(path["x"][-1], path["y"][-1]), path["text"])
        body = f'<path class="line" d="{track}"{_dash(path["look"])}/>{end}'
        plot.body.append(_switched(path["label"], path["look"].colour, body))
    told = "".join(f" {path['text']}." for path in surface.get("paths", ()))
    said = f"loss from {np.nanmin(z):.4g} to {np.nanmax(z):.4g}, one contour per {levels[1] - levels[0]:.2g}"
    return Panel(f"{title}: {said}", plot.svg(f"{title}: {said}.{told}"))


def counts_panel(title: str, counts: np.ndarray, labels: tuple[str, str], highest: float) -> Panel:
    """Counts [Y, X] as colours, from none (dark) to the highest (bright)."""
    rows, columns = counts.shape
    plot = Plot((-0.5, columns - 0.5), (-0.5, rows - 0.5), labels)
    pixels = matplotlib.colormaps["viridis"](counts[::-1] / (highest or 1.0), bytes=True)
    out = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").save(out, "PNG")
    (x, y), (right, bottom) = plot.at(-0.5, rows - 0.5), plot.at(columns - 0.5, -0.5)
    place = f'x="{x}" y="{y}" width="{right - x}" height="{bottom - y}" preserveAspectRatio="none"'
    data = base64.b64encode(out.getvalue()).decode()
    plot.body.append(f'<image class="counts" {place} href="data:image/png;base64,{data}"/>')
    said = f"from 0 (dark) to {counts.max():g}" + (f" (bright: {highest:g})" if counts.max() < highest else " (bright)")
    alt = f"{title}: {columns} columns ({labels[0]}), {rows} rows ({labels[1]}), {said}."
    return Panel(f"{title}: {said}", plot.svg(alt))


# ---- small charts of a claim -----------------------------------------------------------------------------------------


def sides(left: float, right: float) -> Markup:
    """Left and right side of a statement at its counterexample, as two bars from zero."""
    if not (math.isfinite(left) and math.isfinite(right)):
        return Markup("")
    low, high = min(0.0, left, right), max(0.0, left, right)
    scale = 190 / ((high - low) or 1.0)
    zero = 70 - scale * low
    bars = []
    for y, name, value, style in ((8, "left", left, "bad"), (40, "right", right, "plain")):
        x, width = zero + scale * min(value, 0.0), max(1.5, scale * abs(value))
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
    drawn = [float(q) for q in quantiles]
    if not all(map(math.isfinite, [*values, *drawn])):
        return Markup("")
    labels = ("restart (bar: half of the random draws; dots: largest so far)", "left side / right side")
    whole = range(0, len(values), max(1, len(values) // 6))
    y = (min(0.0, *values, *drawn), max(1.1, 1.08 * max([*values, *drawn])))
    plot = Plot((-0.6, len(values) - 0.6), y, labels, ticks=whole)
    (left, bound), (right, _) = plot.at(-0.6, 1), plot.at(len(values) - 0.6, 1)
    plot.body.append(f'<line class="bound" x1="{left}" x2="{right}" y1="{bound:.1f}" y2="{bound:.1f}"/>')
    plot.body.append(_text(right, bound - 5, "bound", "end"))
    if len(drawn) == 5:
        (x, *_), ends = plot.at(-0.35, 1), [plot.at(0, q)[1] for q in drawn]
        plot.body.append(f'<line class="box" x1="{x:.1f}" x2="{x:.1f}" y1="{ends[0]:.1f}" y2="{ends[4]:.1f}"/>')
        size = f'x="{x - 5:.1f}" y="{ends[3]:.1f}" width="10" height="{max(ends[1] - ends[3], 1):.1f}"'
        plot.body.append(f'<rect class="plain" {size}/>')
    plot.body.append(f'<path class="largest" d="{plot.path(enumerate(values))}"/>')
    for place in map(plot.at, range(len(values)), values):
        plot.body.append(f'<circle class="dot" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="3"/>')
    label = f"Search: largest ratio of left to right side {worst:.6g} after {len(values)} stages; dashed line: 1."
    return _svg(HEIGHT, label, "".join(plot.body))


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
        ends = f'x1="{x(row["low"]):.1f}" x2="{x(row["high"]):.1f}" y1="{y}" y2="{y}"'
        body.append(f'<line class="interval {style}" {ends}/>')
        body.append(f'<circle class="{style}" cx="{x(row["mean"]):.1f}" cy="{y}" r="4"/>')
        if row["margin"]:
            mark = x(row["margin"])
            body.append(f'<line class="bound" x1="{mark:.1f}" x2="{mark:.1f}" y1="{y - 7}" y2="{y + 7}"/>')
    body.insert(0, f'<line class="axis" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{bottom}"/>')
    body.append(_text(x(0), bottom + 14, "0", "middle"))
    bounds = [(x(low), f"{low:.3g}", "start"), (x(high), f"{high:.3g}", "end")]
    body += [_text(place, bottom + 14, text, anchor) for place, text, anchor in bounds if abs(place - x(0)) > 40]
    label = f"difference in the claimed direction ({unit or 'plain number'}), 95 %"
    body.append(_text(WIDTH / 2, bottom + 28, label, "middle"))
    said = "; ".join(f"{row['label']}: {row['mean']:.3g} from {row['low']:.3g} to {row['high']:.3g}" for row in shown)
    return _svg(bottom + 34, f"Differences with 95 % intervals. {said}.", "".join(body))
