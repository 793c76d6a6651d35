"""``python docs/performance/precision.py``: accuracy in bfloat16 and in float32, LeNet on CIFAR-10, paired by seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import checkout  # noqa: F401
import click
import torch

from artifact.base.console import OneLine
from artifact.base.stats import paired_difference
from artifact.bench import results
from artifact.runs.session import load_data
from artifact.runs.store import environment
from artifact.training import config
from artifact.training.trainer import Trainer

#: about ten processor minutes in all: 200 local steps of 50 images per round
SETTING: dict[str, Any] = {
    "algorithm": "fedavg",
    "model": "lenet",
    "dataset": "cifar10",
    "train_size": 4000,
    "test_size": 2000,
    "clients": 20,
    "cohort": 10,
    "batch_size": 50,
    "local_epochs": 5,
    "split": "dirichlet:0.6",
    "lr": 0.1,
    "clip": 10.0,
    "weight_decay": 0.001,
    "augment": "flip-crop",
    "rounds": 14,
    "eval_every": 14,
    "eval_last": 3,
}
SEEDS = (0, 1, 2)


def measure() -> dict[str, Any]:
    """Test accuracy, mean of the last three rounds, per type and seed, and the paired difference with its interval."""
    for remark in config.remarks([config.make(**SETTING, dtype="bfloat16")]):
        click.echo(remark, err=True)
    accuracy = {dtype: [_accuracy(dtype, seed) for seed in SEEDS] for dtype in ("float32", "bfloat16")}
    difference = paired_difference(accuracy["bfloat16"], accuracy["float32"])
    click.echo(
        f"bfloat16 - float32: {100 * difference.mean:+.2f} points "
        f"[{100 * difference.low:+.2f}, {100 * difference.high:+.2f}], 95 % t interval, n={difference.n}"
    )
    found = {"mean": difference.mean, "low": difference.low, "high": difference.high, "n": difference.n}
    return {"environment": environment(torch.device("cpu")), "setting": SETTING, "seeds": SEEDS} | {
        "accuracy": accuracy,
        "difference": found,
    }


def _accuracy(dtype: str, seed: int) -> float:
    run = config.make(**SETTING, dtype=dtype, seed=seed)
    trainer = Trainer(run, load_data(run))
    lines = [trainer.play_round() for _ in range(run.rounds)]
    tested = [line["server"]["accuracy"] for line in lines if "server" in line]
    result = sum(tested) / len(tested)
    click.echo(f"{dtype} seed {seed}: {100 * result:.2f} %")
    return result


@click.command(cls=OneLine)
@results.OUT
def main(out: Path | None) -> None:
    """Test accuracy in bfloat16 against float32, three paired seeds; about ten processor minutes."""
    result = measure()
    if out is not None:
        results.write(out, result)


if __name__ == "__main__":
    main(prog_name="python docs/performance/precision.py")
