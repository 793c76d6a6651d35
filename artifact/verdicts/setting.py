"""The scale of the runs behind a verdict, in words: data, network, rounds, seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from artifact.papers.experiments import DATA_NAMES
from artifact.runs.store import Run

MODEL_NAMES = {"lenet": "LeNet", "resnet18-gn": "ResNet-18", "mlp": "perceptron", "mlp-64": "small perceptron"}
MODEL_NAMES |= {"mlp-200": "perceptron of width 200"}
MODEL_NAMES |= {"cnn-mnist": "CNN", "cnn-fmnist": "CNN", "cnn-cifar": "CNN"}


#: settings that the words are made of
SAID = ("dataset", "train_size", "model", "rounds")


def in_words(runs: Sequence[Run], n: int) -> str:
    """``CIFAR-10, 5,000 training images, LeNet, 60 rounds, n=3``; empty without runs. n: paired seeds."""
    if not runs:
        return ""
    configs = list({tuple(map(run.config().get, SAID)): run.config() for run in runs}.values())
    sizes = _values(configs, "dataset", "train_size")
    data = [f"{DATA_NAMES.get(name, name)}, {_images(size)}" for name, size in sizes]
    models = dict.fromkeys(MODEL_NAMES.get(name, name) for (name,) in _values(configs, "model"))
    rounds = " or ".join(str(count) for (count,) in sorted(_values(configs, "rounds")))
    return ", ".join([" and ".join(data), " and ".join(models), f"{rounds} rounds", f"n={n}"])


def _values(configs: Sequence[Mapping[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(tuple(config.get(name) for name in names) for config in configs))


def _images(size: int | None) -> str:
    return "all training images" if size is None else f"{size:,} training images"
