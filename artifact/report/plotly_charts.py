"""Interactive charts as plain data; ``static/charts.js`` draws them with the bundled plotting library."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup

from artifact.base import plots
from artifact.base.stats import t_interval
from artifact.report.pictures import Picture

DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}


@dataclass(frozen=True)
class Panel:
    """One plot. alt: what to see, for a reader who does not see it. content: read by ``charts.js``."""

    alt: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Chart:
    """Plots that share switches and scales.

    kind: lines, surface, heatmap or dots. series: label and colour of what can be switched. scales: whether one scale
    for all panels can be chosen; shared: whether it is at first. views: names of a choice of views. files: static form.
    """

    id: str
    kind: str
    title: str
    panels: Sequence[Panel]
    note: str = ""
    series: Sequence[Mapping[str, Any]] = ()
    scales: bool = False
    shared: bool = True
    views: Sequence[str] = ()
    height: int = 330
    files: Picture | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> Markup:
        """JSON that is safe inside a script element."""
        content = {"kind": self.kind, "panels": [p.content for p in self.panels], "height": self.height, **self.extra}
        text = json.dumps(_short(content), separators=(",", ":"), sort_keys=True)
        return Markup(text.replace("<", "\\u003c"))


def _short(value: Any) -> Any:
    """Five significant digits; numbers that JSON lacks become null."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        return _short(value.tolist())
    if isinstance(value, Mapping):
        return {key: _short(entry) for key, entry in value.items()}
    return [_short(entry) for entry in value] if isinstance(value, list | tuple) else value


def line(label: str, x: Sequence[float], values: np.ndarray, position: int = 0) -> dict[str, Any]:
    """A line with its band. values: [n, X], one row per seed; the band is the 95 % t interval, none for one seed."""
    look = plots.style(label, position)
    values = np.asarray(values, dtype=float)
    found = {"label": label, "x": list(x), "mean": values.mean(0), "n": len(values), "colour": look.colour}
    found["dash"] = DASHES.get(look.line, "solid")
    if len(values) > 1:
        intervals = [t_interval(column) for column in values.T]
        found |= {"low": [i.low for i in intervals], "high": [i.high for i in intervals]}
    return found


def lines_panel(title: str, lines: Sequence[Mapping[str, Any]], x_label: str, y_label: str, log: bool = False) -> Panel:
    """A panel of lines; its description names the last value of every line."""
    ends = "; ".join(f"{entry['label']} {_last(entry):.4g}" for entry in lines)
    content = {"title": title, "lines": list(lines), "x_label": x_label, "y_label": y_label, "log": log}
    return Panel(f"{title}: {y_label} against {x_label}. At the right end: {ends}.", content)


def _last(entry: Mapping[str, Any]) -> float:
    return float(entry["mean"][-1])


def lines_chart(id: str, title: str, panels: Sequence[Panel], note: str = "", files: Picture | None = None) -> Chart:
    """Curves that can be switched by label in all panels at once."""
    found = {entry["label"]: entry for panel in panels for entry in panel.content["lines"]}
    series = [{name: entry[name] for name in ("label", "colour", "dash")} for entry in found.values()]
    alike = len({panel.content["y_label"] for panel in panels}) == 1
    return Chart(id, "lines", title, panels, note, series, scales=len(panels) > 1 and alike, files=files)


def heatmap_panel(
    title: str, z: Sequence[Sequence[float]], x_label: str, y_label: str, y_names: Iterable[str]
) -> Panel:
    """Counts as colours: z [rows][columns]."""
    names = list(y_names)
    alt = f"{title}: heat map, {len(z[0])} columns ({x_label}) by {len(z)} rows ({y_label})."
    return Panel(alt, {"title": title, "z": z, "x_label": x_label, "y_label": y_label, "y_names": names})


def surface_panel(title: str, content: Mapping[str, Any], lowest: float, highest: float) -> Panel:
    """A loss over a plane: x [X], y [Y], z [Y][X], paths and points drawn on it."""
    alt = f"{title}: loss over two directions, from {lowest:.4g} to {highest:.4g}."
    return Panel(alt, {"title": title, **content})


def dots_panel(title: str, points: Sequence[Mapping[str, Any]], x_label: str, bound: float) -> Panel:
    """One dot per entry, against a bound. points: label, value, link, text."""
    alt = f"{title}: {len(points)} values against the bound {bound:g}; largest {max(p['value'] for p in points):.4g}."
    return Panel(alt, {"title": title, "points": list(points), "x_label": x_label, "bound": bound})
