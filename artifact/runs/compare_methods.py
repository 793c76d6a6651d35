"""``fedsharp compare`` without a table: methods on one network and data set, over seeds, with runs kept in a store.

``fedsharp run`` makes the runs and ``artifact.compare`` compares them. So each run is made once, a stopped comparison
goes on, and workers change no number. Weights, clients, cohorts and batches follow the seed, for all methods
alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from artifact import algorithms
from artifact.base.errors import UserError
from artifact.interface.compare import Asked, Comparison, Rows, checked, compared
from artifact.interface.train import flat_row
from artifact.runs.lookup import find_run, finished_runs
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import Settings
from artifact.training import config as configs
from artifact.training.config import RunConfig

FORM = '"METHOD NAME=VALUE NAME=VALUE,VALUE", or "LABEL=METHOD NAME=VALUE"'


def method_of(text: str) -> tuple[str, dict[str, Any]]:
    """(label, options) of a text such as ``fedsam rho=0.05,0.1``; several values are there to choose from.

    Raises UserError for another form.
    """
    first, *others = text.split() or [""]
    label, _, method = first.rpartition("=")
    options: dict[str, Any] = {"method": algorithms.canonical(method)}
    for word in others:
        name, sign, values = word.partition("=")
        if not sign or not name or not values:
            raise UserError("method", text, FORM)
        given = [_value(value) for value in values.split(",")]
        options[name.replace("-", "_")] = given if len(given) > 1 else given[0]
    return label or first, options


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def methods_of(texts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Label -> options. Raises UserError for a label that stands twice."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        label, options = method_of(text)
        if label in found:
            raise UserError("method", text, f"another label, LABEL={options['method']}: {label} stands twice")
        found[label] = options
    return found


def config_of(options: Mapping[str, Any], seed: int, setting: Mapping[str, Any]) -> RunConfig:
    """The config of one run. Raises UserError for an option that neither the method nor a run has."""
    method = options["method"]
    own = algorithms.hyperparameters(method)
    run = {name: value for name, value in options.items() if name not in own and name != "method"}
    known = RunConfig.model_fields.keys() - {"algorithm", "hyper", "seed", "dataset", "model"}
    for name, value in run.items():
        if name not in known:
            raise UserError(name, value, f"an option of {method} or of a run: {', '.join(sorted({*own, *known}))}")
    hyper = {name: value for name, value in options.items() if name in own}
    return configs.make(algorithm=method, hyper=hyper, seed=seed, **{**setting, **run})


def compare_methods(
    methods: Mapping[str, Mapping[str, Any]],
    setting: Mapping[str, Any],
    store: Path,
    *,
    seeds: int,
    tuning_seeds: int,
    metric: str,
    reference: str | None,
    workers: int,
    data_root: Path | None,
    add: tuple[str, ...],
    quiet: bool,
) -> Comparison:
    """Train several methods at one setting over seeds and compare them in pairs.

    methods: label -> options, lists to choose from.  setting: of all runs, by the names of ``RunConfig``.

    Raises UserError for what is not possible, before anything is trained.
    """
    reference = checked(methods, reference, seeds, tuning_seeds, workers)

    def play(asked: list[Asked]) -> list[Rows]:
        wanted = [config_of(one.options, one.seed, setting) for one in asked]
        sweep.run_missing(wanted, Settings(store, data_root, add), workers, quiet)
        stored = finished_runs(store)
        found = [find_run(one, stored) for one in wanted]
        return [[flat_row(row) for row in run.metrics() if "server" in row] for run in found if run is not None]

    for options in methods.values():
        for name, value in options.items():
            for one in value if isinstance(value, list) else [value]:
                config_of({"method": options["method"], name: one}, 0, setting)
    return compared(methods, play, seeds, tuning_seeds, metric, reference)
