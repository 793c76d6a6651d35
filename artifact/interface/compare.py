"""``fedsharp.compare``: several methods on a user's own network and data, over seeds, with honest uncertainty."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from torch import nn

from artifact.base.errors import UserError
from artifact.base.files import require_writable, write_atomic
from artifact.base.stats import holm, p_greater, paired_difference, t_interval
from artifact.base.tables_as_text import csv_table
from artifact.interface.entry import Pair, pair
from artifact.interface.live import source
from artifact.interface.saved import identity
from artifact.interface.train import train

#: tuning seeds start here, far from those that are reported
TUNING = 10_000

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """Results of ``compare``: final numbers of every method and seed, and the paired differences.

    chosen: method -> its options, with the radius and rate that the tuning seeds preferred.
    tuning: method -> (options, mean over tuning seeds) of every choice that was tried.
    runs: method -> one list of rows per seed.
    table: one dict per method: mean and its interval, difference to the reference with its interval, Holm's p, and the
    cost of a run in gradients per local step and models sent per client and round, each summed over the rounds.
    """

    metric: str
    reference: str
    chosen: dict[str, dict[str, Any]]
    tuning: dict[str, list[tuple[dict[str, Any], float]]]
    runs: dict[str, list[Rows]]
    table: list[dict[str, Any]]

    def __str__(self) -> str:
        lines = [f"| method | {self.metric} | difference to {self.reference} | p (Holm) | gradients | models sent |"]
        lines.append("|---|---|---|---|---|---|")
        for row in self.table:
            mean = f"{row['mean']:.4g} [{row['low']:.4g}, {row['high']:.4g}]"
            beside = ["", ""]
            if row["p"] is not None:
                beside = [f"{row['difference']:+.4g} [{row['from']:+.4g}, {row['to']:+.4g}]", f"{row['p']:.3g}"]
            cells = [row["method"], mean, *beside, f"{row['gradients']:g}", f"{row['models']:g}"]
            lines.append("| " + " | ".join(cells) + " |")
        told = []
        for name, tried in self.tuning.items():
            axes = [key for key in self.chosen[name] if len({repr(options[key]) for options, _ in tried}) > 1]
            if axes:
                picked = ", ".join(f"{key}={self.chosen[name][key]}" for key in axes)
                told.append(f"{name}: {picked}, the best of {len(tried)} choices on seeds that are not reported")
        return "\n".join([*lines, *([""] if told else []), *told])

    def csv(self) -> str:
        """The table as CSV."""
        return _csv(self.table)

    def json(self) -> str:
        """Table, choices and curves for other programs."""
        told = {"metric": self.metric, "reference": self.reference, "chosen": self.chosen, "tuning": self.tuning}
        return json.dumps(told | {"table": self.table, "curves": list(self.curves())}, indent=1, default=repr)

    def write(self, folder: str | Path) -> None:
        """``table.md``, ``table.csv``, ``curves.csv`` and the figure ``curves.png``."""
        folder = Path(folder)
        require_writable(folder)
        write_atomic(folder / "table.md", str(self) + "\n")
        write_atomic(folder / "table.csv", _csv(self.table))
        curves = list(self.curves())
        write_atomic(folder / "curves.csv", _csv(curves))
        _draw(self, curves, folder)

    def curves(self) -> Iterable[dict[str, Any]]:
        """Mean over seeds of every evaluated round, beside what the rounds up to it cost."""
        for name, runs in self.runs.items():
            for parts in zip(*runs, strict=False):
                t = parts[0]["round"]
                cost = [row for row in runs[0] if row["round"] <= t]
                yield {
                    "method": name,
                    "round": t,
                    self.metric: sum(row[self.metric] for row in parts) / len(parts),
                    **_cost(cost),
                }


def compare(
    methods: Mapping[str, Mapping[str, Any]],
    model: nn.Module | Callable[[int], nn.Module],
    clients: Sequence[Pair],
    test: Pair,
    *,
    seeds: int = 5,
    tuning_seeds: int = 2,
    metric: str = "accuracy",
    reference: str | None = None,
    validation: Pair | None = None,
    out: str | Path | None = None,
    workers: int = 1,
    **setting: Any,
) -> Comparison:
    """Train several methods on the same clients over seeds and say how they differ.

    methods: name -> options of ``train``; where one is a list, such as ``"rho": [0.01, 0.05, 0.1]``, the value is
    chosen by the mean over tuning seeds, which are others than the reported ones. ``"method"`` among the options allows
    one method under several names.
    model: the module, or a function of the seed that makes it.  clients, test: as in ``train``.
    seeds: reported ones, 0 to seeds - 1, the same for all methods, so that differences are paired.
    metric: number of a row; ``loss`` counts downwards.  reference: whom the others are compared with, by default the
    first.  validation: data on which choices are made, by default the test.
    out: a folder for finished runs, with which an interrupted comparison goes on, and for table and figure.
    workers: processes.  setting: further options of ``train`` for all.
    Raises UserError for what ``train`` refuses, and for a name or number that is not possible.

        methods = {"fedavg": {}, "fedsam": {"rho": [0.05, 0.1]}}
        found = fedsharp.compare(methods, model, clients, test, seeds=5, rounds=20)
        print(found)
    """
    reference = checked(methods, reference, seeds, tuning_seeds, workers)
    read = [source(one, f"clients[{i}]", setting.get("collate_fn"), 0, i) for i, one in enumerate(clients)]
    data = [samples for samples, _ in read]
    given = [one if live else samples for one, (samples, live) in zip(clients, read, strict=True)]
    held, chosen_on = (pair(one, "test", setting.get("collate_fn")) for one in (test, validation or test))
    job = _Job(model, given, data, held, setting, None if out is None else Path(out))
    tuner = _Job(model, given, data, chosen_on, setting, job.out)

    def play(asked: list[Asked]) -> list[Rows]:
        given = [(tuner if one.tuning else job, one.name, one.options, one.seed) for one in asked]
        return _played(given, workers)

    result = compared(methods, play, seeds, tuning_seeds, metric, reference)
    if out is not None:
        result.write(out)
    return result


@dataclass(frozen=True)
class Asked:
    """One run of a comparison.  tuning: it is for a choice and is not reported."""

    name: str
    options: dict[str, Any]
    seed: int
    tuning: bool


def checked(methods: Mapping[str, Any], reference: str | None, seeds: int, tuning_seeds: int, workers: int) -> str:
    """Whom the others are compared with. Raises UserError for a number or name that is not possible."""
    if not methods:
        raise UserError("methods", "none", "at least one method")
    reference = next(iter(methods)) if reference is None else reference
    if reference not in methods:
        raise UserError("reference", reference, ", ".join(methods))
    for name, value, least in (("seeds", seeds, 2), ("tuning_seeds", tuning_seeds, 1), ("workers", workers, 1)):
        if not isinstance(value, int) or value < least:
            raise UserError(name, value, f"a whole number from {least} on")
    return reference


def compared(
    methods: Mapping[str, Mapping[str, Any]],
    play: Callable[[list[Asked]], list[Rows]],
    seeds: int,
    tuning_seeds: int,
    metric: str,
    reference: str,
) -> Comparison:
    """The comparison whose runs ``play`` makes: first the runs of all choices, then the reported runs."""
    choices = {name: _choices(name, options) for name, options in methods.items()}
    found = iter(
        play(
            [
                Asked(name, options, TUNING + seed, True)
                for name, given in choices.items()
                if len(given) > 1
                for options in given
                for seed in range(tuning_seeds)
            ]
        )
    )
    chosen: dict[str, Any] = {}
    tuning: dict[str, Any] = {}
    for name, given in choices.items():
        tuning[name] = []
        if len(given) > 1:
            for options in given:
                last = [_last(next(found), metric) for _ in range(tuning_seeds)]
                tuning[name].append((options, sum(last) / len(last)))
        sign = -1 if "loss" in metric else 1
        chosen[name] = max(tuning[name], key=lambda one: sign * one[1])[0] if tuning[name] else given[0]
    finals = iter(play([Asked(n, o, seed, False) for n, o in chosen.items() for seed in range(seeds)]))
    runs = {name: [next(finals) for _ in range(seeds)] for name in chosen}
    return Comparison(metric, reference, chosen, tuning, runs, _table(runs, reference, metric))


@dataclass(frozen=True)
class _Job:
    """What the runs of a comparison share.

    clients: the data, or a Dataset whose transforms draw random numbers, which ``train`` reads in every step.
    samples: of every client as they are read at first, by which the file of a finished run is named.
    """

    model: Any
    clients: list[Any]
    samples: list[Pair]
    test: Pair
    setting: dict[str, Any]
    out: Path | None

    def play(self, name: str, options: dict[str, Any], seed: int) -> Rows:
        """The rows of one run, from the folder where it has been made before."""
        made = self.model if isinstance(self.model, nn.Module) else self.model(seed)
        given = {"method": name} | self.setting | options | {"seed": seed}
        kept = None
        if self.out is not None:
            told = {key: _named(value) for key, value in given.items()}
            kept = self.out / "runs" / f"{identity(told, made, [self.samples, self.test])[:24]}.json"
            if kept.exists():
                return json.loads(kept.read_text())
        with warnings.catch_warnings():
            warnings.simplefilter("default" if seed == 0 else "ignore")  # said once, not by every seed
            rows = train(made, self.clients, test=self.test, **given).metrics
        if kept is not None:
            require_writable(kept.parent)
            write_atomic(kept, json.dumps(rows))
        return rows


def _named(value: Any) -> Any:
    """What tells one option from another in a file's name; a function by its code."""
    code = getattr(value, "__code__", None)
    return hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest() if code is not None else repr(value)


def _choices(name: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    axes = {key: value if isinstance(value, list) else [value] for key, value in options.items()}
    empty = [key for key, values in axes.items() if not values]
    if empty:
        raise UserError(f"{name} {empty[0]}", "[]", "a value, or a list of values to choose from")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _played(asked: list[tuple[_Job, str, dict[str, Any], int]], workers: int) -> list[Rows]:
    if workers == 1 or len(asked) < 2:
        return [job.play(name, options, seed) for job, name, options, seed in asked]
    from joblib import Parallel, delayed

    return Parallel(n_jobs=workers)(delayed(job.play)(name, options, seed) for job, name, options, seed in asked)


def _last(rows: Rows, metric: str) -> float:
    if not rows or metric not in rows[-1]:
        if rows and rows[-1].get("diverged"):
            return float("inf") if "loss" in metric else 0.0
        raise UserError("metric", metric, f"a number of a row: {', '.join(rows[-1]) if rows else 'none'}")
    return float(rows[-1][metric])


def _cost(rows: Rows) -> dict[str, float]:
    """A row stands for the rounds since the row before it, of which the costs are the same."""
    ends = [0, *(row["round"] for row in rows)]
    lengths = [end - start for start, end in pairwise(ends)]
    return {
        "gradients": sum(n * row["gradients_per_step"] for n, row in zip(lengths, rows, strict=True)),
        "models": sum(n * (row["down"] + row["up"]) for n, row in zip(lengths, rows, strict=True)),
    }


def _table(runs: Mapping[str, list[Rows]], reference: str, metric: str) -> list[dict[str, Any]]:
    last = {name: [_last(rows, metric) for rows in found] for name, found in runs.items()}
    others = [name for name in runs if name != reference]
    gaps = {name: [a - b for a, b in zip(last[name], last[reference], strict=True)] for name in others}
    two_sided = [min(1.0, 2 * min(p_greater(gaps[n]), p_greater([-d for d in gaps[n]]))) for n in others]
    adjusted = dict(zip(others, holm(two_sided), strict=True))
    table = []
    for name in runs:
        mean = t_interval(last[name])
        gap = paired_difference(last[name], last[reference]) if name in gaps else None
        table.append(
            {
                "method": name,
                "mean": mean.mean,
                "low": mean.low,
                "high": mean.high,
                "difference": None if gap is None else gap.mean,
                "from": None if gap is None else gap.low,
                "to": None if gap is None else gap.high,
                "p": adjusted.get(name),
                "seeds": len(last[name]),
                **_cost(runs[name][0]),
            }
        )
    return table


def _csv(rows: list[dict[str, Any]]) -> str:
    return csv_table(list(rows[0]), (row.values() for row in rows))


def _draw(found: Comparison, curves: list[dict[str, Any]], folder: Path) -> None:
    from artifact.base.lazy import pyplot as plt
    from artifact.base.plots import save, style

    titles = {"round": "round", "gradients": "gradients per local step, summed", "models": "models sent"}
    figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
    for axis, by in zip(axes, ("round", "gradients", "models"), strict=True):
        for position, name in enumerate(found.runs):
            own = [row for row in curves if row["method"] == name]
            how = style(name, position)
            axis.plot([row[by] for row in own], [row[found.metric] for row in own], color=how.colour, label=name)
        axis.set_xlabel(titles[by])
    axes[0].set_ylabel(found.metric)
    axes[0].legend()
    figure.tight_layout()
    save(figure, folder, "curves")
    plt.close(figure)
