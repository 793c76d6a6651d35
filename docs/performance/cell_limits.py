"""``python docs/performance/cell_limits.py``: limits of the papers' own cell beside what its stored runs took.

Prints the generated part of docs/gpu.md: work and limits by ``artifact.runs.roofline``, times of runs in ``results/``.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import click

from artifact.base.tables_as_text import markdown_table
from artifact.runs import roofline
from artifact.runs.archive import finished
from artifact.training import config

#: CIFAR-10 and ResNet-18 with group norms, ten of 100 clients, 50 local steps of 50 images
CELL: dict[str, Any] = {"dataset": "cifar10", "model": "resnet18-gn", "clients": 100, "cohort": 10, "local_epochs": 5}
CELL |= {"batch_size": 50, "dtype": "bfloat16", "rounds": 800, "eval_every": 10}
#: one gradient a step and no state, then duals, an estimated perturbation, an own one, and all of it
METHODS = ("fedavg", "feddyn", "fedlesam-d", "fedsam", "fedsmoo")
NIGHT = 10 * 3600
STORE = Path(__file__).parents[2] / "results"
COLUMNS = ("method", "must compute", "must move", "limit on an H200", "on an H100", "measured", "runs in ten hours")


def measured(store: Path) -> dict[str, tuple[float, int]]:
    """(median seconds of a round, rounds) of the cell's stored runs on an H200, by method."""
    found = {}
    for run in finished(store):
        settings = run.config()
        alike = all(settings.get(name) == CELL[name] for name in ("dataset", "model", "cohort", "clients", "dtype"))
        if alike and run.environment().get("device") == roofline.machines()["h200"].where["device"]:
            seconds = run.round_seconds()
            found[settings["algorithm"]] = (median(seconds), len(seconds))
    return found


def rows(store: Path = STORE) -> list[list[str]]:
    """A row per method."""
    times, machines, body = measured(store), roofline.machines(), []
    known = roofline.reached(machines["h200"], store)
    for method in METHODS:
        run = config.make(algorithm=method, **CELL)
        work = roofline.of_round(run)
        limits = [f"{work.seconds(machines[name], run.dtype):.3f} s" for name in ("h200", "h100")]
        told = f"{times[method][0]:.2f} s over {times[method][1]} rounds" if method in times else "not stored"
        ran = NIGHT / (run.rounds * times[method][0] if method in times else known.seconds(run))
        work_told = [f"{work.operations / 1e12:.1f} TFLOP", f"{work.moved / 1e9:.0f} GB"]
        body.append([method, *work_told, *limits, told, f"{ran:.0f}"])
    return body


@click.command()
def main() -> None:
    """Print the table."""
    click.echo("\n".join(markdown_table(list(COLUMNS), rows())))


if __name__ == "__main__":
    main()
