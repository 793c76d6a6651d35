"""How long a run will take, from the stored timings of runs like it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from artifact.runs.archive import finished, unfinished
from artifact.runs.lookup import signature
from artifact.runs.store import Run, is_number
from artifact.training.config import RunConfig

#: what two runs must share at least, from the most to the least alike; the counted work scales the rest. A GPU's pace
#: says nothing of a CPU's
_ALIKE = (
    ("model", "dtype", "device", "batch_size", "dataset"),
    ("model", "dtype", "device", "batch_size"),
    ("model", "dtype", "device"),
)
#: the share of a group's runs that counts as undisturbed by other work on the machine: the fastest tenth
_UNDISTURBED = 0.1


class Span(NamedTuple):
    """Seconds. fast: as the fastest tenth of the runs alike.  usual: as their median, with what ran beside them."""

    fast: float
    usual: float


def work(config: Mapping[str, Any], per_step: float = 1.0, full_passes: float = 0.0) -> float:
    """Gradients of an example that a round computes; of an example that is evaluated, a third of one.

    per_step, full_passes: gradients per local step and passes over a client's data, as runs count them.
    """
    examples = config.get("train_size") or 50_000  # the same for all runs on whole data: it cancels
    own = math.ceil(examples / config["clients"])
    steps = config["local_steps"]
    seen = steps * config["batch_size"] if steps else config["local_epochs"] * own
    evaluated = (config.get("test_size") or 10_000) * len(config["evaluate"]) + examples * bool(config["eval_train"])
    return config["cohort"] * (seen * per_step + own * full_passes) + evaluated / config["eval_every"] / 3


class Estimator:
    """Seconds that a config will take: its gradients, as stored runs of the method count them, times a pace.

    The pace is seconds per gradient of an example in the stored runs that are most like it; a run's own pace is that
    of its median round, which a pause of the machine does not change.
    """

    def __init__(self, store: Path):
        self._defaults = {name: field.default for name, field in RunConfig.model_fields.items()}
        self._pace: list[dict[tuple, list[float]]] = [{} for _ in _ALIKE]
        self._spans: dict[tuple, Span] = {}
        self._cost: dict[tuple, tuple[float, float]] = {}
        #: signature and device of a config -> the config as it is used
        self._configs: dict[tuple[str, str], Mapping[str, Any]] = {}
        #: device as a config names it -> the one that this machine takes
        self._devices: dict[str, str] = {}
        for run in finished(store):
            if run.intact:
                self._add(run)
        for begun in unfinished(store):
            self._add(begun)

    def _add(self, run: Run) -> None:
        seconds = run.round_seconds()
        if not (seconds and run.completed()):
            return
        config = self._defaults | run.config()
        counted = _counted(run.cost())
        self._cost[_values(config, ("algorithm", "variant"))] = counted
        if gradients := work(config, *counted):
            for names, paces in zip(_ALIKE, self._pace, strict=True):
                paces.setdefault(_values(config, names), []).append(median(seconds) / gradients)

    def gradients(self, config: RunConfig) -> float:
        """Gradients of an example in all rounds, evaluation included; one a step for a method that was never run."""
        canonical = self._canonical(config)
        counted = self._cost.get(_values(canonical, ("algorithm", "variant")), (1.0, 0.0))
        return work(canonical, *counted) * config.rounds

    def span(self, config: RunConfig) -> Span | None:
        """Seconds on a core without other work, and as usual; None where no run of its network was timed."""
        canonical = self._canonical(config)
        for names, paces in zip(_ALIKE, self._pace, strict=True):
            alike = _values(canonical, names)
            if alike in paces:
                gradients = self.gradients(config)
                pace = self._spans.get(alike) or self._spans.setdefault(alike, _span(paces[alike]))
                return Span(gradients * pace.fast, gradients * pace.usual)
        return None

    def _canonical(self, config: RunConfig) -> Mapping[str, Any]:
        """The config as it is used, worked out once."""
        if config.device not in self._devices:
            self._devices[config.device] = config.resolved_device.type
        place = (signature(config), config.device)
        if place not in self._configs:
            self._configs[place] = config.settings() | {"device": self._devices[config.device]}
        return self._configs[place]

    def __call__(self, config: RunConfig, declared: float | None = None) -> float | None:
        """Seconds as usual; where no run of its network was ever timed, ``declared``."""
        found = self.span(config)
        return found.usual if found else declared


def _span(paces: list[float]) -> Span:
    """The pace without other work on the machine, and the usual one."""
    alike = sorted(paces)
    return Span(alike[int(_UNDISTURBED * len(alike))], median(alike))


def _counted(cost: Any) -> tuple[float, float]:
    """Gradients per step and full passes of a metrics line; one and none where it does not hold both as numbers."""
    counted: Any = (cost.get("gradients_per_step"), cost.get("full_passes")) if isinstance(cost, dict) else (None,)
    return counted if all(map(is_number, counted)) else (1.0, 0.0)


def _values(config: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(repr(config[name]) for name in names)
