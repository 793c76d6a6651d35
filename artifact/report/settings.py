"""The settings that several methods were trained in alike, over all tables: what any two methods, or a budget, ask for.

Within a setting the methods of one seed share the initial weights, the partition, the cohorts and the batches, so their
accuracies are paired by seed. What a round costs is what the engine counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from artifact.base.stats import Interval, t_interval
from artifact.papers.experiments import DATA_NAMES
from artifact.papers.measured import curve
from artifact.papers.table_results import Entry
from artifact.report.numbers import Numbers, TableAt
from artifact.runs.store import LAST, Run
from artifact.verdicts import protocol
from artifact.verdicts.setting import MODEL_NAMES

#: of a run's configuration; runs that agree in these differ in the method and its own settings only
ALIKE = (
    *("dataset", "train_size", "test_size", "model", "split", "clients", "cohort", "rounds", "local_epochs"),
    *("local_steps", "batch_size", "sizes", "augment", "momentum", "weight_decay"),
)
#: settings that a method has to be trained in to stand in the matrix of pairs, and a pair to have an interval
FEWEST = 3
#: labels of rows that name a method of another name
SAME = {"Local FedSAM": "FedSAM", "DynReg+SAM": "FedDyn + SAM", "DynReg+SAM+correction": "FedSMOO"}
SPLITS = {"iid": "IID", "dirichlet": "Dirichlet-{}", "pathological": "Pathological-{}"}
#: said of splits in which clients share images, as papers' tables and faults name them
RECYCLED = ", recycled pools"


@dataclass(frozen=True)
class Line:
    """One method in a setting.

    ends: seed -> accuracy in per cent as the tables have it, the mean of the last ten evaluations.
    rounds: evaluated ones [R].  curves: seed -> accuracy [R].
    passes: gradients per active client and round, in passes over the client's own data.
    models: sent and received per active client and round.  tables: links of those that show it.
    """

    ends: dict[int, float]
    rounds: list[int]
    curves: dict[int, list[float]]
    passes: float
    models: float
    tables: list[str] = field(default_factory=list)

    @property
    def window(self) -> int:
        """Rounds that the last ten evaluations span; their mean is the tables' accuracy."""
        return self.rounds[-1] - self.rounds[max(len(self.rounds) - LAST, 0)] if self.rounds else 0

    def at(self, passes: float, models: float) -> dict[int, float]:
        """Seed -> accuracy within a budget per active client.

        That is the mean over the evaluations in as many last rounds that it pays for as the tables average, so that a
        budget for all rounds gives the tables' number.
        """
        paid = [r for r in self.rounds if r * self.passes <= passes and r * self.models <= models]
        used = [self.rounds.index(r) for r in paid if r >= paid[-1] - self.window]
        return {seed: float(np.mean([values[i] for i in used])) for seed, values in self.curves.items() if paid}


@dataclass
class Setting:
    """Methods that were trained alike. tables: that show them. flat: whether every curve has ended level."""

    data: str
    split: str
    share: str
    what: str
    horizon: int
    flat: bool = False
    tables: list[TableAt] = field(default_factory=list)
    lines: dict[str, Line] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.data}, {self.split}, {self.share}"


@dataclass(frozen=True)
class Best:
    """Who is highest at a budget. level: others whose paired 95 % interval against it includes zero. n: seeds."""

    label: str
    accuracy: Interval
    level: tuple[str, ...]


def collect(numbers: Numbers) -> list[Setting]:
    """Settings with at least two methods, those with one seed last.

    Where tables train a method differently in a setting, the form that most settings have keeps the method's name, and
    the other one's name says what differs.
    """
    found: dict[tuple[Any, ...], Setting] = {}
    shown: dict[tuple[Any, ...], dict[frozenset[str], tuple[str, Entry, list[str]]]] = {}
    for at in numbers.tables:
        for entry in _accuracies(at):
            config = entry.runs[0].config()
            place = tuple(config[name] for name in ALIKE)
            setting = found.setdefault(place, _setting(config))
            if at.link not in [one.link for one in setting.tables]:
                setting.tables.append(at)
            label = SAME.get(entry.cell.row.label, entry.cell.row.label)
            runs = frozenset(run.key for run in entry.runs)
            shown.setdefault(place, {}).setdefault(runs, (label, entry, []))[2].append(at.link)
    usual = Counter((label, *_hyper(entry)) for of in shown.values() for label, entry, _ in of.values())
    for place, of in shown.items():
        lines, plain = found[place].lines, dict[str, tuple[Any, ...]]()
        for label, entry, links in sorted(of.values(), key=lambda one: -usual[one[0], *_hyper(one[1])]):
            own = _hyper(entry)
            differs = ", ".join(f"{name} {value}" for name, value in own if (name, value) not in plain.get(label, own))
            plain.setdefault(label, own)
            lines.setdefault(f"{label} ({differs})" if differs else label, _line(entry, links))
    several = _told_apart({place: setting for place, setting in found.items() if len(setting.lines) > 1})
    for setting in several:
        rises = {
            label: [protocol.rise(line.rounds, values) for values in line.curves.values()]
            for label, line in setting.lines.items()
        }
        setting.flat = protocol.flat(rises, protocol.SMALLEST)
    return sorted(several, key=lambda setting: max(len(line.ends) for line in setting.lines.values()) == 1)


def _told_apart(found: Mapping[tuple[Any, ...], Setting]) -> list[Setting]:
    """The settings; names that two of them have say what else differs between these."""
    for name in [name for name, count in Counter(s.name for s in found.values()).items() if count > 1]:
        alike = {place: setting for place, setting in found.items() if setting.name == name}
        differs = [i for i in range(len(ALIKE)) if len({place[i] for place in alike}) > 1]
        for place, setting in alike.items():
            words = ", ".join(f"{ALIKE[i].replace('_', ' ')} {place[i]}" for i in differs)
            setting.data = f"{setting.data.removesuffix(')')}, {words})"
    return list(found.values())


def _accuracies(at: TableAt) -> Iterator[Entry]:
    """Entries with the server model's test accuracy, of tables that compare methods."""
    methods = {run.config()["algorithm"] for run in at.runs}
    if at.table.given is None and at.paper.paper != "discrepancies" and len(methods) > 1:
        for entry in at.entries:
            metric = entry.cell.metric
            plain = metric.quantity == "accuracy" and metric.model == "server" and not entry.cell.column.pool
            if plain and entry.runs and entry.ours is not None:
                yield entry


def _setting(config: dict[str, Any]) -> Setting:
    kind, *rest = config["split"].split(":")
    data = DATA_NAMES.get(config["dataset"], config["dataset"])
    images = "all images" if config["train_size"] is None else f"{config['train_size']:,} images"
    what = f"{MODEL_NAMES.get(config['model'], config['model'])}, {images}, {config['rounds']} rounds"
    what += f", {config['local_epochs']} local epoch{'s' if config['local_epochs'] != 1 else ''}"
    split = SPLITS.get(kind, kind).format(*rest) + RECYCLED * ("replace" in rest)
    share = f"{100 * config['cohort'] / config['clients']:g}% of {config['clients']} clients"
    return Setting(f"{data} ({what})", split, share, what, config["rounds"])


def _hyper(entry: Entry) -> tuple[Any, ...]:
    return tuple(sorted(entry.runs[0].config()["hyper"].items()))


def _line(entry: Entry, links: list[str]) -> Line:
    by_seed: dict[int, Run] = {run.config()["seed"]: run for run in entry.runs}
    curves = {seed: dict(zip(*curve(run, "server"), strict=True)) for seed, run in sorted(by_seed.items())}
    rounds = sorted(set.intersection(*(set(points) for points in curves.values())))
    run = entry.runs[0]
    cost, config = run.metrics()[-1]["cost"], run.config()
    return Line(
        ends={seed: round(value, 4) for seed, value in sorted(entry.values.items())},
        rounds=rounds,
        curves={seed: [round(points[r], 3) for r in rounds] for seed, points in curves.items()},
        passes=config["local_epochs"] * cost["gradients_per_step"] + cost["full_passes"],
        models=cost["up"] + cost["down"],
        tables=links,
    )


def difference(setting: Setting, a: str, b: str) -> Interval | None:
    """a minus b at the end, paired by seed; None where a setting has not both."""
    if a not in setting.lines or b not in setting.lines:
        return None
    own, other = setting.lines[a].ends, setting.lines[b].ends
    seeds = sorted(own.keys() & other.keys())
    return t_interval([own[seed] - other[seed] for seed in seeds]) if seeds else None


def pooled(differences: Sequence[Interval]) -> Interval | None:
    """One number over settings: the mean of their differences, each counted once, with its t interval over them.

    Settings with one seed are left out. None without any. An interval from fewer than ``FEWEST`` says nothing.
    """
    several = [one.mean for one in differences if one.n > 1]
    return t_interval(several) if several else None


def pairs(settings: Sequence[Setting]) -> dict[tuple[str, str], Interval]:
    """(a, b) -> pooled difference, whose n is the number of settings, in both orders."""
    labels = list(dict.fromkeys(label for setting in settings for label in setting.lines))
    found = {}
    for a, b in combinations(labels, 2):
        differences = [d for setting in settings if (d := difference(setting, a, b)) is not None and d.n > 1]
        one = pooled(differences)
        if one is not None:
            found[a, b] = one
            found[b, a] = Interval(-one.mean, -one.high, -one.low, one.n, one.level)
    return found


def best(setting: Setting, passes: float = np.inf, models: float = np.inf) -> Best | None:
    """The method with the highest mean accuracy within a budget per active client; None where no round is paid for."""
    found = {label: values for label, line in setting.lines.items() if (values := line.at(passes, models))}
    if not found:
        return None
    first = max(found, key=lambda label: np.mean(list(found[label].values())))
    level = []
    for label, values in found.items():
        seeds = sorted(values.keys() & found[first].keys())
        if label != first and seeds:
            apart = t_interval([found[first][seed] - values[seed] for seed in seeds])
            if not apart.low > 0:  # one seed has no interval
                level.append(label)
    return Best(first, t_interval(list(found[first].values())), tuple(level))
