"""``artifact bench``: seconds per round, per model and backend, interleaved in one run."""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

import click
import torch

from artifact import config
from artifact.engine import Trainer
from artifact.errors import UserError
from artifact.oracle import BACKENDS
from artifact.session import load_data
from artifact.store import environment

#: model -> data set and the share of it that a round works on
CASES: dict[str, dict[str, Any]] = {
    "mlp": {"dataset": "fashion-mnist", "batch_size": 32, "local_epochs": 1},
    "cnn-fmnist": {"dataset": "fashion-mnist", "batch_size": 32, "local_epochs": 1},
    "lenet": {"dataset": "cifar10", "batch_size": 50, "local_epochs": 1},
    "resnet18-gn": {"dataset": "cifar10", "batch_size": 50, "local_steps": 1},
}


def measure(model: str, algorithms: list[str], backends: list[str], rounds: int, device: str) -> list[dict[str, Any]]:
    """Seconds of a round's training part: after one warm-up round each, the contenders play in turn."""
    contenders = {}
    for algorithm in algorithms:
        for backend in backends:
            values = CASES[model] | {"clients": 100, "cohort": 10, "rounds": 10**6, "eval_every": 10**6}
            run = config.make(algorithm=algorithm, model=model, backend=backend, device=device, **values)
            contenders[algorithm, backend] = Trainer(run, load_data(run))
    seconds: dict[tuple[str, str], list[float]] = {name: [] for name in contenders}
    for repeat in range(rounds + 1):
        for name, trainer in contenders.items():
            start = time.perf_counter()
            trainer.play_round()
            if trainer.device.type == "cuda":
                torch.cuda.synchronize()
            if repeat:
                seconds[name].append(time.perf_counter() - start)
    return [_row(model, *name, contenders[name], values) for name, values in seconds.items()]


def _row(model: str, algorithm: str, backend: str, trainer: Trainer, seconds: list[float]) -> dict[str, Any]:
    steps = trainer.local_steps(trainer.pools[: trainer.config.cohort])
    examples = sum(steps) * trainer.config.batch_size
    median = statistics.median(seconds)
    return {
        "model": model,
        "algorithm": algorithm,
        "backend": backend,
        "rounds": len(seconds),
        "median_seconds": median,
        "min_seconds": min(seconds),
        "max_seconds": max(seconds),
        "examples_per_second": examples / median,
    }


@click.command("bench", help="Seconds per round (training part) per model and backend; medians of interleaved rounds.")
@click.option(
    "--model", "models", multiple=True, help="One of " + ", ".join(CASES) + "; default all whose data are here."
)
@click.option("--algorithm", "algorithms", multiple=True, default=("fedavg", "fedsam"), show_default=True)
@click.option("--backend", "backends", multiple=True, type=click.Choice(BACKENDS), default=BACKENDS, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Counted rounds of each.")
@click.option("--device", default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True)
def bench(
    models: tuple[str, ...],
    algorithms: tuple[str, ...],
    backends: tuple[str, ...],
    rounds: int,
    device: str,
    as_json: bool,
) -> None:
    for model in models:
        if model not in CASES:
            raise UserError("model", model, ", ".join(CASES))
    rows = []
    for model in models or CASES:
        try:
            measured = measure(model, list(algorithms), list(backends), rounds, device)
        except UserError as error:
            if models or error.field != "dataset":
                raise
            click.echo(f"{model}: left out, {error}", err=True)
            continue
        rows += measured
        for row in measured if not as_json else ():
            click.echo(
                f"{row['model']:<12} {row['algorithm']:<10} {row['backend']:<8} {row['median_seconds']:8.3f} s/round "
                f"[{row['min_seconds']:.3f}, {row['max_seconds']:.3f}] n={row['rounds']}  "
                f"{row['examples_per_second']:10.0f} examples/s"
            )
    if as_json:
        machine = environment(torch.device("cuda" if torch.cuda.is_available() and device != "cpu" else "cpu"))
        click.echo(json.dumps({"environment": machine, "rows": rows}, indent=1))
