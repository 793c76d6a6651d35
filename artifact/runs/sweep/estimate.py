"""How long a run will take, from the stored timings of runs like it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from artifact.runs.store import Run, finished, unfinished
from artifact.training.config import RunConfig

#: settings that change neither the work of a round nor its speed
_FREE = {"seed", "hyper", "switches", "rounds", "lr", "lr_decay", "weight_decay", "momentum", "split", "probes"}
#: what two runs must share at least, from the most to the least alike; the work of a round scales the rest
_ALIKE = (
    tuple(name for name in RunConfig.model_fields if name not in _FREE),
    ("algorithm", "variant", "model", "dataset", "dtype"),
    ("model", "dataset", "dtype"),
    ("model",),
)


def work(config: Mapping[str, Any]) -> float:
    """Examples that the cohort sees in a round, in shares of the training set where local work is given in epochs."""
    if config.get("local_steps"):
        return config["cohort"] * config["local_steps"] * config["batch_size"]
    examples = config.get("train_size") or 50_000  # the same for all runs on whole data: it cancels
    return config["cohort"] * config["local_epochs"] * math.ceil(examples / config["clients"])


class Estimator:
    """Seconds that a config will take: median seconds per round of the stored runs that are most like it."""

    def __init__(self, store: Path):
        self._defaults = {name: field.default for name, field in RunConfig.model_fields.items()}
        self._pace: list[dict[tuple, list[float]]] = [{} for _ in _ALIKE]
        for run in finished(store):
            if run.intact:
                self._add(run)
        for begun in unfinished(store):
            self._add(begun)

    def _add(self, run: Run) -> None:
        rounds, seconds = len(run.metrics()), run.seconds()
        if not (rounds and seconds):
            return
        config = self._defaults | run.config()
        pace = seconds / rounds / work(config)
        for names, paces in zip(_ALIKE, self._pace, strict=True):
            paces.setdefault(_values(config, names), []).append(pace)

    def __call__(self, config: RunConfig, declared: float | None = None) -> float | None:
        """Seconds; where nothing like it was ever timed, ``declared``."""
        canonical = config.canonical()
        for names, paces in zip(_ALIKE, self._pace, strict=True):
            alike = paces.get(_values(canonical, names))
            if alike:
                return median(alike) * work(canonical) * config.rounds
        return declared


def _values(config: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(repr(config[name]) for name in names)
