"""Pictures of the counter-example losses: clients and their average, marked points, the runs that show the effect.

``as_data`` gives the same numbers to who draws them otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from theory.kit.losses import Scenario, federated_run, top_curvature

CLIENTS = ("#1f77b4", "#ff7f0e")
METHODS = {
    "FedAvg": "#2166ac",
    "FedSAM": "#b2182b",
    "Global FedSAM": "#1b7837",
    "FedLESAM": "#e08214",
    "FedSMOO": "#762a83",
}

#: points of a line, of a side of a plane, and of a run's path, as data
POINTS, GRID, STEPS = 401, 61, 60


def as_data(scenario: Scenario) -> dict[str, Any]:
    """Name, what it shows, marked points, and the losses on a line or the average loss and the runs in a plane.

    A line has x [X] and one list [X] per client and for the average; a plane has x [X], y [Y], z [Y][X] and paths.
    """
    average = scenario.average
    found: dict[str, Any] = {"name": scenario.name, "shows": scenario.shows}
    found["points"] = [_point(scenario, name, np.array(point)) for name, point in scenario.points.items()]
    if average.dimension == 1:
        x = np.linspace(*scenario.window[0], POINTS)
        losses = {loss.name: loss.value(x[:, None]).tolist() for loss in scenario.clients}
        return found | {"x": x.tolist(), "losses": losses | {"average": average.value(x[:, None]).tolist()}}
    x, y = (np.linspace(*side, GRID) for side in scenario.window)
    paths = []
    for name, path in runs(scenario).items():
        kept = path[np.unique(np.linspace(0, len(path) - 1, STEPS).round().astype(int))]
        paths.append(_point(scenario, name, path[-1]) | {"x": kept[:, 0].tolist(), "y": kept[:, 1].tolist()})
    z = average.value(np.stack(np.meshgrid(x, y), axis=-1))
    return found | {"x": x.tolist(), "y": y.tolist(), "z": z.tolist(), "paths": paths}


def _point(scenario: Scenario, name: str, place: np.ndarray) -> dict[str, Any]:
    """A point of the average loss with its height and its largest curvature."""
    average = scenario.average
    measured = {"loss": float(average.value(place)), "curvature": float(top_curvature(average, place))}
    return {"name": name, "at": place.tolist(), **measured}


def runs(scenario: Scenario) -> dict[str, np.ndarray]:
    """Global models [rounds + 1, d] of the compared methods, all with the scenario's radius and step size."""
    from artifact.algorithms import ALGORITHMS

    names = {"FedSAM": "fedsam", "Global FedSAM": "globalfedsam", "FedLESAM": "fedlesam", "FedSMOO": "fedsmoo"}
    methods = {name: ALGORITHMS[key](rho=scenario.rho) for name, key in names.items()}
    return {
        name: federated_run(scenario, method) for name, method in {"FedAvg": ALGORITHMS["fedavg"](), **methods}.items()
    }


def plot_scenario(axes: Axes, scenario: Scenario) -> None:
    """Draw a scenario on axes: curves on the line, contours and runs in the plane."""
    if scenario.average.dimension == 1:
        _plot_line(axes, scenario)
    else:
        _plot_plane(axes, scenario)
    axes.set_title(scenario.shows, fontsize=8)


def _plot_line(axes: Axes, scenario: Scenario) -> None:
    x = np.linspace(*scenario.window[0], 2001)[:, None]
    for client, colour in zip(scenario.clients, CLIENTS, strict=True):
        axes.plot(x[:, 0], client.value(x), color=colour, linewidth=1.2, label=client.name)
    average = scenario.average
    axes.plot(x[:, 0], average.value(x), color="#2ca02c", linestyle=":", linewidth=1.8, label="average")
    for name, point in scenario.points.items():
        height, bend = float(average.value(np.array(point))), top_curvature(average, point)
        axes.plot(*point, height, "o", color="black", markersize=4)
        text = f"{name}\nf'' of the average = {bend:.3g}"
        axes.annotate(text, (*point, height), (0, -26), textcoords="offset points", fontsize=7, ha="center")
    axes.margins(y=0.25)
    axes.set_xlabel("parameter")
    axes.set_ylabel("loss")
    axes.legend(fontsize=7, loc="upper right")


def _plot_plane(axes: Axes, scenario: Scenario, resolution: int = 160) -> None:
    average = scenario.average
    first, second = (np.linspace(*side, resolution) for side in scenario.window)
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    filled = axes.contourf(first, second, average.value(grid), levels=24, cmap="Greys", alpha=0.6)
    axes.figure.colorbar(filled, ax=axes, label="global loss", shrink=0.85)
    for name, path in runs(scenario).items():
        end = path[-1]
        loss, bend = float(average.value(end)), top_curvature(average, end)
        axes.plot(*path.T, color=METHODS[name], linewidth=1, alpha=0.8)
        axes.plot(*end, "o", color=METHODS[name], label=f"{name}: loss {loss:.3f}, top curvature {bend:.3f}")
    axes.plot(*scenario.start, "k^", label="start")
    for name, point in scenario.points.items():
        axes.plot(*point, "k+")
        axes.annotate(name, point, (0, -12), textcoords="offset points", fontsize=7, ha="center")
    axes.set_xlabel("first parameter")
    axes.set_ylabel("second parameter")
    axes.legend(fontsize=7, loc="lower left")
