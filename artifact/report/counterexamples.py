"""The counterexample losses as charts: client losses and their average on the line, paths of methods in the plane."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from artifact.report import plotly_charts
from artifact.report.pictures import Pictures

POINTS, GRID, STEPS = 401, 61, 60
CLIENTS = ("#56B4E9", "#E69F00")


def charts(pictures: Pictures) -> list[plotly_charts.Chart]:
    """One chart per loss. Their formulas live with the theory, which is built on the core and so is imported late."""
    losses = importlib.import_module("theory.kit.losses")
    drawing = importlib.import_module("theory.kit.loss_figures")
    found = []
    for name, build in losses.SCENARIOS.items():
        scenario, files = build(), pictures.find(f"loss-{name}")
        note = scenario.shows[0].upper() + scenario.shows[1:] + "."
        if scenario.average.dimension == 1:
            panel = _line(scenario, losses)
            series = _switches(panel.content["lines"])
            title = scenario.name[0].upper() + scenario.name[1:]
            found.append(plotly_charts.Chart(f"loss-{name}", "lines", title, [panel], note, series, files=files))
        else:
            panel = _plane(scenario, losses, drawing.runs(scenario))
            title = scenario.name[0].upper() + scenario.name[1:]
            views = ("contour", "surface")
            series = _switches(panel.content["paths"])
            chart = plotly_charts.Chart(
                f"loss-{name}", "surface", title, [panel], note, series, views=views, height=460
            )
            found.append(replace(chart, files=files))
    return found


def _switches(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"label": entry["label"], "colour": entry["colour"], "dash": "solid"} for entry in entries]


def _line(scenario: Any, losses: Any) -> plotly_charts.Panel:
    x = np.linspace(*scenario.window[0], POINTS)
    shown = [
        (client.name, client.value(x[:, None]), colour)
        for client, colour in zip(scenario.clients, CLIENTS, strict=True)
    ]
    shown.append(("average", scenario.average.value(x[:, None]), "#000000"))
    lines = [
        {"label": label, "x": x.tolist(), "mean": values, "n": 1, "colour": colour, "dash": "solid"}
        for label, values, colour in shown
    ]
    marked = "; ".join(
        f"{name} at {point[0]:g}, curvature of the average {losses.top_curvature(scenario.average, point):.3g}"
        for name, point in scenario.points.items()
    )
    marks = [
        {
            "x": point[0],
            "y": float(scenario.average.value(np.array(point))),
            "text": f"{name}: curvature {losses.top_curvature(scenario.average, point):.3g}",
        }
        for name, point in scenario.points.items()
    ]
    content = {"title": "Black dots: marked points of the average", "lines": lines, "marks": marks}
    content |= {"x_label": "parameter", "y_label": "loss", "log": False}
    return plotly_charts.Panel(f"{scenario.name}: losses of two clients and their average; {marked}.", content)


def _plane(scenario: Any, losses: Any, runs: Mapping[str, np.ndarray]) -> plotly_charts.Panel:
    first, second = (np.linspace(*side, GRID) for side in scenario.window)
    z = scenario.average.value(np.stack(np.meshgrid(first, second), axis=-1))
    paths = []
    for position, (name, path) in enumerate(runs.items()):
        kept = path[np.unique(np.linspace(0, len(path) - 1, STEPS).round().astype(int))]
        loss = float(scenario.average.value(path[-1]))
        bend = losses.top_curvature(scenario.average, path[-1])
        line = plotly_charts.line(name, kept[:, 0].tolist(), kept[:, 1][None], position)
        text = f"{name}: ends at loss {loss:.3f}, top curvature {bend:.3f}"
        paths.append({"label": name, "x": kept[:, 0], "y": kept[:, 1], "colour": line["colour"], "text": text})
    content = {"x": first, "y": second, "z": z, "paths": paths}
    content |= {"x_label": "first parameter", "y_label": "second parameter"}
    panel = plotly_charts.surface_panel(
        "Global loss and the paths of the methods", content, float(z.min()), float(z.max())
    )
    return plotly_charts.Panel(f"{panel.alt} {'; '.join(path['text'] for path in paths)}.", panel.content)
