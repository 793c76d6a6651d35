"""The counterexample losses as charts: client losses and their average on the line, paths of methods in the plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from artifact.base import plots
from artifact.report import charts
from artifact.report.pictures import Pictures

#: the two clients and their average
LOOKS = (plots.Style("#56B4E9", "o"), plots.Style("#E69F00", "s"), plots.Style("#000000", "D", plots.DASHES[1]))


def build(pictures: Pictures) -> list[charts.Chart]:
    """One chart per loss whose numbers lie beside its figure (``python -m checks --findings`` writes them)."""
    return [_chart(name, loss, pictures) for name, loss in pictures.numbers("loss-*").items()]


def _chart(name: str, loss: Mapping[str, Any], pictures: Pictures) -> charts.Chart:
    draw = _line if "losses" in loss else _plane
    panel, looks = draw(loss)
    title, note = (text[0].upper() + text[1:] for text in (loss["name"], loss["shows"]))
    series = [(label, charts.key(look)) for label, look in looks.items()]
    formulas = tuple(f"Loss of {client}: ${tex}$" for client, tex in loss["formulas"].items())
    return charts.Chart(name, title, [panel], f"{note}.", series, pictures.find(name), lines=(*formulas, loss["run"]))


def _line(loss: Mapping[str, Any]) -> tuple[charts.Panel, dict[str, plots.Style]]:
    looks = dict(zip(loss["losses"], LOOKS, strict=True))
    lines = [
        {"label": label, "x": loss["x"], "mean": values, "n": 1, "look": looks[label]}
        for label, values in loss["losses"].items()
    ]
    marks = [
        (p["at"][0], p["loss"], f"{p['name']}: curvature of the mean {p['curvature']:.3g}") for p in loss["points"]
    ]
    y = charts.span([v for entry in lines for v in entry["mean"]], 0.14)
    return charts.lines_panel("", lines, ("parameter", "loss"), y=y, marks=marks), looks


def _plane(loss: Mapping[str, Any]) -> tuple[charts.Panel, dict[str, plots.Style]]:
    looks = {path["name"]: plots.style(path["name"], i) for i, path in enumerate(loss["paths"])}
    paths = [
        {"label": path["name"], "x": path["x"], "y": path["y"], "look": looks[path["name"]], "text": _end(path)}
        for path in loss["paths"]
    ]
    limits = charts.span([v for row in loss["z"] for v in row], 0.0)
    labels = ("first parameter", "second parameter")
    title = "Average loss and the paths of the methods"
    return charts.surface_panel(title, {**loss, "paths": paths}, labels, limits), looks


def _end(path: Mapping[str, Any]) -> str:
    return f"{path['name']} ends at loss {path['loss']:.3f}, top curvature {path['curvature']:.3f}"
