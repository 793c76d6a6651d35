"""``python docs/performance/scaling.py``: how the seconds of a round grow, along six axes.

The axes are active clients, model size, all clients, rounds played, cores and nodes. A run is on one node, so nodes
share out the runs of a sweep: that panel has seconds of a sweep per round of its runs.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import nodes
import torch
from checkout import HERE

from artifact.base.console import OneLine
from artifact.base.files import require_writable
from artifact.base.options import Place
from artifact.bench import results
from artifact.bench.cases import contender
from artifact.bench.measure import Contender, interleave
from artifact.runs.store import environment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: rounds of the panel that shows one run's rounds, after the first
PLAYED = 40


def axes() -> dict[str, tuple[str, list[tuple[float, dict[str, Any]]]]]:
    """Per figure panel: label of the axis, and (position, contender) of every point. FedSMOO keeps client state."""
    cores = range(1, (os.cpu_count() or 1) + 1)
    many = {"train_size": 60000, "local_steps": 10, "batch_size": 6}  # what one of 10,000 clients has
    return {
        "cohort": ("active clients S", [(s, _case(cohort=s)) for s in (1, 2, 5, 10, 20, 50)]),
        "parameters": (
            "hidden units (P grows in proportion)",
            [(h, _case(model=f"mlp-{h}")) for h in (25, 50, 100, 200, 400, 800)],
        ),
        "clients": ("all clients m", [(m, _case(clients=m, **many)) for m in (100, 1000, 10000)]),
        "cores": ("cores", [(n, contender("lenet", "fedsmoo", "auto") | {"cores": n}) for n in cores]),
    }


def _case(**changes: Any) -> dict[str, Any]:
    """FedSMOO on the MLP with some options changed."""
    asked = contender("mlp-200", "fedsmoo", "auto")
    return asked | {"config": asked["config"] | changes}


def measure(rounds: int) -> dict[str, Any]:
    """Medians of interleaved rounds per point."""
    panels = {}
    for name, (label, points) in axes().items():
        played = interleave([asked | {"evaluate": False} for _, asked in points], rounds)
        panels[name] = {"label": label, "points": [_point(x, one) for (x, _), one in zip(points, played, strict=True)]}
        for point in panels[name]["points"]:
            click.echo(
                f"{name:<11} {point['x']:>6} {point['train']:9.4f} s  peak {point['peak_mib']:6.0f} MiB", err=True
            )
    played = interleave([_case() | {"evaluate": False}], PLAYED)
    points = [{"x": t, "train": s["train"], "cpu": s["train_cpu"]} for t, s in enumerate(played[0].samples, 2)]
    panels["rounds"] = {"label": "round", "points": points}
    if nodes.missing():
        click.echo(f"nodes: left out, {nodes.missing()}", err=True)
    else:
        panels["nodes"] = {"label": "nodes of one core; a sweep of 4 runs", "points": nodes.measure(rounds)}
    return {"environment": environment(torch.device("cpu")), "rounds": rounds, "panels": panels}


def _point(x: float, played: Contender) -> dict[str, float]:
    seconds = [s["train"] for s in played.samples]
    return {
        "x": x,
        "train": statistics.median(seconds),
        "min": min(seconds),
        "max": max(seconds),
        "cpu": statistics.median(s["train_cpu"] for s in played.samples),
        "others": statistics.median(s["others"] for s in played.samples),
        "peak_mib": max(s["peak_mib"] for s in played.samples),
        "loaded_mib": played.facts["loaded_mib"],
        "parameters": played.facts["parameters"],
    }


def draw(result: dict[str, Any], folder: Path) -> None:
    """One panel per axis: wall seconds with their range, and processor seconds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(3.2 * len(result["panels"]), 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    for axis, panel in zip(figure.subplots(1, len(result["panels"])), result["panels"].values(), strict=True):
        points = panel["points"]
        x = [p["x"] for p in points]
        if "ray" in points[0]:
            _curve(axis, [p for p in points if not p["ray"]], "C1", "local workers")
            _curve(axis, [p for p in points if p["ray"]], "C2", "Ray nodes")
            axis.legend(frameon=False, fontsize=7)
        else:
            axis.plot(x, [p["cpu"] for p in points], "s--", color="0.6", ms=3, label="processor")
            _curve(axis, points, "C0", "wall (median, range)")
        if max(x) >= 100 * min(x):
            axis.set_xscale("log")
        else:
            axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axis.set_ylim(bottom=0)
        axis.set_xlabel(panel["label"])
    figure.axes[0].set_ylabel("seconds per round")
    figure.axes[0].legend(frameon=False, fontsize=7)
    for ending in ("pdf", "png"):
        figure.savefig(
            folder / f"scaling.{ending}", dpi=150, metadata={"CreationDate": None} if ending == "pdf" else None
        )


def _curve(axis: Axes, points: list[dict[str, float]], color: str, label: str) -> None:
    """Wall seconds over x, with their range where a point has one."""
    x = [p["x"] for p in points]
    axis.plot(x, [p["train"] for p in points], "o-", color=color, ms=3, label=label)
    if "min" in points[0]:
        axis.fill_between(x, [p["min"] for p in points], [p["max"] for p in points], color=color, alpha=0.2, lw=0)


@click.command(cls=OneLine)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Counted rounds of each point.")
@click.option("--folder", type=Place(file_okay=False), default=HERE, help="For scaling.json, scaling.png, scaling.pdf.")
def main(rounds: int, folder: Path) -> None:
    """Seconds per round along six axes: active clients, model size, clients, cores, rounds played, nodes."""
    require_writable(folder, "folder")
    result = measure(rounds)
    results.write(folder / "scaling.json", result)
    draw(result, folder)


if __name__ == "__main__":
    main(prog_name="python docs/performance/scaling.py")
