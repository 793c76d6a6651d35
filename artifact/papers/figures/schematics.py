"""Drawings of schematic panels, whose content ``theory.schematics`` computes: the theory stands above this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from artifact.base.errors import UserError
from artifact.base.lazy import pyplot as plt
from artifact.base.registered import registered


def computed(name: str) -> dict[str, Any]:
    """The content of a schematic, as ``theory.schematics`` describes it. Raises UserError for an unknown name."""
    known = registered("schematics")
    if name not in known:
        raise UserError("function", name, ", ".join(known))
    return known[name]()


def draw(axes: plt.Axes, record: Mapping[str, Any]) -> None:
    """Contours of the field, lines, arrows and points with a legend of their own."""
    if record["field"] is not None:
        field = record["field"]
        axes.contour(field["x"], field["y"], np.array(field["z"]).T, levels=14, colors="0.7", linewidths=0.7)
    for line in record["lines"]:
        axes.plot(line["x"], line["y"], line["style"], color=line["colour"], label=line["label"], linewidth=1.5)
    for arrow in record["arrows"]:
        shape = {"arrowstyle": "-|>", "color": arrow["colour"], "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", arrow["end"], arrow["start"], arrowprops=shape)
        axes.plot([], [], color=arrow["colour"], label=arrow["label"])
    for point in record["points"]:
        look = {"marker": point["marker"], "color": point["colour"], "markersize": point["size"]}
        axes.plot(point["x"], point["y"], linestyle="", label=point["label"], **look)
    axes.set_xlabel(record["axes"]["x"])
    axes.set_ylabel(record["axes"]["y"])
    if record["axes"]["equal"]:
        axes.set_aspect("equal")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=5, frameon=False, ncols=2)
