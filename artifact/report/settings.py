"""The settings that several methods were trained in alike, over all tables: what any two methods, or a budget, ask for.

Within a setting the methods of one seed share the initial weights, the partition, the cohorts and the batches, so their
accuracies are paired by seed. What a round costs is what the engine counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any

import numpy as np

from artifact.base.stats import Interval, t_interval
from artifact.data.sources import classes_of
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
#: of a run's configuration, beside its hyper-parameters: what tables may choose for a method by itself
OWN = ("lr", "lr_decay", "clip", "man_zeta", "variant")
#: these with their values, and a method's label with them
Own = tuple[tuple[str, Any], ...]
Form = tuple[str, Own]
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
    """Methods that were trained alike.

    group: its data, network and rounds.  flat: whether every curve has ended level.  tables: that show the methods.
    collapsed: methods that do not learn, by the protocol's rule.
    forms: method -> labels of its forms, the usual one first.
    """

    data: str
    split: str
    share: str
    what: str
    horizon: int
    group: str = ""
    flat: bool = False
    collapsed: tuple[str, ...] = ()
    forms: dict[str, list[str]] = field(default_factory=dict)
    tables: list[TableAt] = field(default_factory=list)
    lines: dict[str, Line] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.data}, {self.split}, {self.share}"

    def forms_of(self, a: str, b: str) -> tuple[str, str]:
        """The forms of two methods that one table trained, so that they share its schedule; else the usual ones."""
        for one, other in product(*(self.forms.get(label, [label]) for label in (a, b))):
            tables = set(self.lines[one].tables) & set(self.lines[other].tables)
            if tables and one != other and not {one, other} & set(self.collapsed):
                return one, other
        return a, b


@dataclass(frozen=True)
class Pair:
    """Two methods over settings: the mean of their differences, and that of every group; n counts settings."""

    pooled: Interval
    groups: dict[str, Interval]

    @property
    def mixed(self) -> bool:
        """Whether the groups' means differ in sign, so that the pooled number speaks of none of them."""
        means = [one.mean for one in self.groups.values()]
        return min(means) < 0 < max(means)

    @property
    def starred(self) -> bool:
        return self.pooled.n >= FEWEST and self.pooled.excludes(0) and not self.mixed


@dataclass(frozen=True)
class Best:
    """Who is highest at a budget. level: others whose paired 95 % interval against it includes zero. n: seeds."""

    label: str
    accuracy: Interval
    level: tuple[str, ...]


def collect(numbers: Numbers) -> list[Setting]:
    """Settings with at least two methods, those with one seed last.

    Where tables train a method differently in a setting, the form that most settings have keeps the method's name, and
    the other one's name says what differs. Tables that train it alike share its seeds.
    """
    found: dict[tuple[Any, ...], Setting] = {}
    shown: dict[tuple[Any, ...], dict[Form, list[tuple[Entry, str]]]] = {}
    sizes: dict[str, int | None] = {}  # fingerprint of the data -> name of their number of test images
    for at in numbers.tables:
        for entry in _accuracies(at):
            config = entry.runs[0].config()
            data = [run.config()["data_fingerprint"] for run in entry.runs]
            size = next((sizes[one] for one in data if one in sizes), config["test_size"])
            sizes |= dict.fromkeys(data, size)
            place = tuple((config | {"test_size": size})[name] for name in ALIKE)
            setting = found.setdefault(place, _setting(config))
            if at.link not in [one.link for one in setting.tables]:
                setting.tables.append(at)
            form = SAME.get(entry.cell.row.label, entry.cell.row.label), _own(config)
            shown.setdefault(place, {}).setdefault(form, []).append((entry, at.link))
    usual = Counter(form for of in shown.values() for form in of)
    for place, of in shown.items():
        setting, plain = found[place], dict[str, dict[str, Any]]()
        for label, own in sorted(of, key=lambda form: -usual[form]):
            usually = plain.setdefault(label, dict(own))
            differs = [f"{_said(name)} {_said(value)}" for name, value in own if usually.get(name) != value]
            name = f"{label} ({', '.join(differs)})" if differs else label
            setting.lines[name] = _line(of[label, own])
            setting.forms.setdefault(label, []).append(name)
        means = {label: float(np.mean(list(line.ends.values()))) for label, line in setting.lines.items()}
        setting.collapsed = protocol.collapsed(means, classes_of(place[0]))
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
            words = ", ".join(f"{_said(ALIKE[i])} {_said(place[i])}" for i in differs)
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
    model = MODEL_NAMES.get(config["model"], config["model"])
    what = f"{model}, {images}, {config['rounds']} rounds"
    what += f", {config['local_epochs']} local epoch{'s' if config['local_epochs'] != 1 else ''}"
    split = SPLITS.get(kind, kind).format(*rest) + RECYCLED * ("replace" in rest)
    share = f"{100 * config['cohort'] / config['clients']:g}% of {config['clients']} clients"
    group = f"{data}, {model}, {config['rounds']} rounds"
    return Setting(f"{data} ({what})", split, share, what, config["rounds"], group)


def _own(config: dict[str, Any]) -> Own:
    return tuple(sorted((config["hyper"] | {name: config.get(name) for name in OWN}).items()))


def _said(value: Any) -> str:
    return "unset" if value is None else str(value).replace("_", " ")


def _line(shown: Sequence[tuple[Entry, str]]) -> Line:
    """shown: entries of one form of a method, each with the link of its table."""
    runs = [run for entry, _ in shown for run in entry.runs]
    by_seed: dict[int, Run] = {run.config()["seed"]: run for run in runs}
    ends = {seed: value for entry, _ in shown for seed, value in entry.values.items()}
    curves = {seed: dict(zip(*curve(run, "server"), strict=True)) for seed, run in sorted(by_seed.items())}
    rounds = sorted(set.intersection(*(set(points) for points in curves.values())))
    cost, config = runs[0].cost(), runs[0].config()
    return Line(
        ends={seed: round(value, 4) for seed, value in sorted(ends.items())},
        rounds=rounds,
        curves={seed: [round(points[r], 3) for r in rounds] for seed, points in curves.items()},
        passes=config["local_epochs"] * cost["gradients_per_step"] + cost["full_passes"],
        models=cost["up"] + cost["down"],
        tables=list(dict.fromkeys(link for _, link in shown)),
    )


def difference(setting: Setting, a: str, b: str) -> Interval | None:
    """a minus b at the end, paired by seed; None where a setting has not both."""
    if a not in setting.lines or b not in setting.lines:
        return None
    own, other = (setting.lines[label].ends for label in setting.forms_of(a, b))
    seeds = sorted(own.keys() & other.keys())
    return t_interval([own[seed] - other[seed] for seed in seeds]) if seeds else None


def pair(settings: Sequence[Setting], a: str, b: str) -> Pair | None:
    """a minus b over the settings, each counted once; None where none counts.

    A setting with one seed counts not, nor one in which a or b does not learn. An interval from fewer than ``FEWEST``
    settings says nothing.
    """
    means: dict[str, list[float]] = {}
    for setting in settings:
        found = difference(setting, a, b)
        if found is not None and found.n > 1 and not set(setting.forms_of(a, b)) & set(setting.collapsed):
            means.setdefault(setting.group, []).append(found.mean)
    groups = {group: t_interval(own) for group, own in means.items()}
    return Pair(t_interval([mean for own in means.values() for mean in own]), groups) if groups else None


def pairs(settings: Sequence[Setting]) -> dict[tuple[str, str], Pair]:
    """(a, b) -> their pair, in both orders."""
    labels = dict.fromkeys(label for setting in settings for label in setting.lines)
    return {two: found for two in permutations(labels, 2) if (found := pair(settings, *two)) is not None}


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
