"""How well a setting predicts a larger one: do its runs put the methods in the order that larger runs put them in?

``claims/fidelity.toml`` names the tables and what each is held against: our own runs one scale up, and
the numbers that a paper prints, there only over methods that no claim is about. A setting would else earn
its voice by agreeing with the claim that it judges. A method counts by its mean over the shared columns
and over the seeds.

The interval comes from draws with replacement: of methods, and of seeds. The drawn seeds are the same for
all methods of a table, which share splits and initial weights. Where the lower end is not above zero, a
setting does not predict the larger one, and what it shows takes part in no headline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click
import numpy as np

from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.errors import UserError
from artifact.base.lazy import stats
from artifact.base.options import STORE
from artifact.base.tables_as_text import csv_table, markdown_table
from artifact.papers import experiments
from artifact.papers.declared import read_toml
from artifact.papers.measured import curve
from artifact.runs.store import LAST
from artifact.verdicts.lookup import Store, open_store

FILE = paths.CLAIMS / "fidelity.toml"
#: methods in common without which no order can be predicted
FEWEST = 5
#: draws of methods and seeds, and the seed of their generator
DRAWS = 2000
SEED = 0
#: the method that gains are counted from
REFERENCE = "FedAvg"
#: parts of a table's rounds at which its fidelity is looked at
PARTS = (0.15, 0.25, 0.5, 0.75, 1.0)
#: what is said of a setting whose interval reaches down to zero
DOES_NOT = "this setting does not predict the larger one"
#: and of one that nothing is known of
UNKNOWN = "whether this setting predicts the larger one is not known"

#: method -> [columns, seeds] accuracies in per cent
Values = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Rung:
    """One table with what it is held against.

    columns: of the table -> of the larger one, whose name is empty for the largest there is.
    subjects: labels of rows that claims are about.
    covers: patterns of other tables and figures with the same data and network.
    """

    table: str
    larger: str
    subjects: tuple[str, ...]
    columns: Mapping[str, str]
    covers: tuple[str, ...]


@dataclass(frozen=True)
class Fidelity:
    """What a table's runs, up to a round, say of a larger setting.

    against: ``PAPER/TABLE`` of our own runs, or ``printed``.  methods: in common.  columns: their number.
    rank: Spearman's correlation of the methods' means, with its 95 % interval [low, high] over methods and seeds.
    slope: of the line through zero that predicts a method's gain over FedAvg from its gain in the larger setting, with
    its interval.
    Each is nan where there are too few methods. seeds: of the smaller and of the larger runs, 0 for printed numbers.
    """

    table: str
    against: str
    round: int
    methods: tuple[str, ...]
    columns: int
    rank: float
    low: float
    high: float
    slope: float
    slope_low: float
    slope_high: float
    seeds: tuple[int, int]

    @property
    def predicts(self) -> bool:
        """Whether the lower end of the rank correlation's interval lies above zero."""
        return self.low > 0


# ---- statistics ------------------------------------------------------------------------------------------------------


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's correlation, ties at their mean rank; nan where one side has a single rank.

    >>> round(rank_correlation([1, 2, 3, 4], [10, 30, 20, 40]), 12)
    0.8
    """
    return float(_correlations(np.array([a], dtype=float), np.array([b], dtype=float))[0])


def slope_through_zero(ours: Sequence[float], larger: Sequence[float]) -> float:
    """How much of a gain of the larger setting is seen in ours: least squares without an intercept; nan without gains.

    >>> slope_through_zero([1, 2], [2, 4])
    0.5
    """
    return float(_slopes(np.array([ours], dtype=float), np.array([larger], dtype=float))[0])


def compare(ours: Values, larger: Values, draws: int = DRAWS) -> tuple[float, float, float, float, float, float]:
    """Rank correlation and slope, each with its 95 % interval, over the methods that both have.

    ours, larger: method -> [columns, seeds]; one column and one seed for a printed number. All methods of
    a side have the same columns and seeds. nan where fewer than five methods are in common; the slope also
    where FedAvg is not among them.
    """
    methods = [name for name in ours if name in larger]
    if len(methods) < FEWEST:
        return (math.nan,) * 6
    a, b = (np.stack([side[name] for name in methods]).mean(1) for side in (ours, larger))  # [methods, seeds]
    generator = np.random.default_rng(SEED)
    chosen = generator.integers(len(methods), size=(draws, len(methods)))
    chosen = np.vstack([np.arange(len(methods)), chosen])  # the first row is the sample itself
    x, y = (_seeds_drawn(side, draws, generator) for side in (a, b))  # [1 + draws, methods]
    ranks = _correlations(np.take_along_axis(x, chosen, 1), np.take_along_axis(y, chosen, 1))
    slopes = np.full(draws + 1, math.nan)
    if REFERENCE in methods:
        base = methods.index(REFERENCE)
        gains = [np.take_along_axis(side - side[:, [base]], chosen, 1) for side in (x, y)]
        slopes = _slopes(*gains)
    return float(ranks[0]), *_ends(ranks[1:]), float(slopes[0]), *_ends(slopes[1:])


def _seeds_drawn(side: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
    """[methods, seeds] -> [1 + draws, methods] means: over the seeds themselves, then over drawn ones."""
    seeds = side.shape[1]
    drawn = generator.integers(seeds, size=(draws, seeds))
    return np.vstack([side.mean(1), side[:, drawn].mean(2).T])


def _correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's correlation of every row of [draws, methods]; nan where one side of it has a single rank."""
    a, b = (stats.rankdata(side, axis=1) - (side.shape[1] + 1) / 2 for side in (x, y))
    spread = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    return np.divide((a * b).sum(1), spread, out=np.full(len(a), math.nan), where=spread > 0)


def _slopes(ours: np.ndarray, larger: np.ndarray) -> np.ndarray:
    """Least squares through zero of every row of [draws, methods]; nan without gains."""
    square = (larger * larger).sum(1)
    return np.divide((ours * larger).sum(1), square, out=np.full(len(ours), math.nan), where=square > 0)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """2.5 and 97.5 % of the draws that have a value; a draw of a single method says nothing."""
    known = values[np.isfinite(values)]
    if not known.size:
        return math.nan, math.nan
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)


# ---- what is compared ------------------------------------------------------------------------------------------------


def rungs(file: Path = FILE) -> tuple[Rung, ...]:
    """The declared tables. Raises UserError for an entry with a missing or an unknown field."""
    found = []
    for entry in read_toml(file, "fidelity")["rung"]:
        if not {"table", "columns"} <= entry.keys() <= {"table", "larger", "subjects", "columns", "covers"}:
            raise UserError(f"{file.name}: rung", sorted(entry), "table, columns and, if any, larger, subjects, covers")
        lists = {name: tuple(entry.get(name, ())) for name in ("subjects", "covers")}
        found.append(Rung(entry["table"], entry.get("larger", ""), columns=entry["columns"], **lists))
    return tuple(found)


def measured(store: Store, table: str, columns: Sequence[str], upto: float = 1.0) -> tuple[Values, int]:
    """Method -> [columns, seeds] of the table's first metric, and the last round that counts.

    upto: share of the rounds. Only methods whose every column has runs, and only seeds that all of these share.
    """
    _, declared = experiments.find(table)
    read: dict[str, list[dict[int, float]]] = {}
    last = 0
    for row in declared.rows:
        cells = [store.cell(table, "laptop", row.id, column, declared.metrics[0].id) for column in columns]
        runs = [store.runs(cell) for cell in cells]
        if not all(runs):
            continue
        read[row.label] = [
            {seed: _height(found, cell.metric.model, upto) for seed, found in of_column.items()}
            for cell, of_column in zip(cells, runs, strict=True)
        ]
        played = [one.config()["rounds"] for of_column in runs for found in of_column.values() for one in found]
        last = max(last, round(upto * max(played)))
    shared = sorted(set.intersection(*(set(column) for found in read.values() for column in found))) if read else []
    kept = {label: np.array([[column[seed] for seed in shared] for column in found]) for label, found in read.items()}
    return ({} if not shared else kept), last


def _height(runs: Sequence[Any], model: str, upto: float) -> float:
    """Mean accuracy of the last tenth of the rounds up to a share of all; 0 where a run diverged.

    At most ten evaluations count, so that at the end of a run this is the number that the tables have.
    """
    found = []
    for run in runs:
        rounds, accuracies = curve(run, model)
        end = upto * run.config()["rounds"]
        kept = [value for at, value in zip(rounds, accuracies, strict=True) if at <= end]
        near = [value for at, value in zip(rounds, accuracies, strict=True) if 0.9 * end < at <= end] or kept[-1:]
        found.append(0.0 if run.diverged or not near else float(np.mean(near[-LAST:])))
    return float(np.mean(found))


def printed(table: str, columns: Sequence[str], without: Sequence[str]) -> Values:
    """Method -> [1, 1] mean of the printed numbers over the columns, of the methods that no claim is about."""
    _, declared = experiments.find(table)
    numbers, metric = experiments.printed(declared), declared.metrics[0].id
    found = {}
    for row in (row for row in declared.rows if row.label not in without):
        own = [numbers.get((row.id, column, metric)) for column in columns]
        values = [one.value for one in own if one is not None and one.value is not None]
        if len(values) == len(columns):
            found[row.label] = np.array([[float(np.mean(values))]])
    return found


def fidelity(store: Store, rung: Rung, upto: float = 1.0, draws: int = DRAWS) -> list[Fidelity]:
    """A table's runs up to a share of their rounds, against the larger runs and against the printed numbers."""
    ours, last = measured(store, rung.table, tuple(rung.columns), upto)
    found = []
    if rung.larger:
        larger, _ = measured(store, rung.larger, tuple(rung.columns.values()))
        found.append(_held(rung, rung.larger, ours, larger, last, draws))
    print_side = printed(rung.table, tuple(rung.columns), rung.subjects)
    if print_side:
        found.append(_held(rung, "printed", ours, print_side, last, draws))
    return found


def _held(rung: Rung, against: str, ours: Values, larger: Values, last: int, draws: int) -> Fidelity:
    methods = tuple(name for name in ours if name in larger)
    seeds = [next(iter(side.values())).shape[1] if side else 0 for side in (ours, larger)]
    if against == "printed":
        seeds[1] = 0
    numbers = compare(ours, larger, draws)
    return Fidelity(rung.table, against, last, methods, len(rung.columns), *numbers, (seeds[0], seeds[1]))


def over_rounds(store: Store, rung: Rung, draws: int = DRAWS) -> list[Fidelity]:
    """The same at several parts of the table's rounds, the last of them the whole."""
    return [one for part in PARTS for one in fidelity(store, rung, part, draws)]


def at_the_end(store: Store) -> dict[str, tuple[Fidelity, ...]]:
    """Table -> its fidelity with all of its rounds, computed once for a store."""
    return {rung.table: _at_the_end(store, rung) for rung in rungs()}


def _at_the_end(store: Store, rung: Rung) -> tuple[Fidelity, ...]:
    return store.once(("fidelity", rung.table), lambda: tuple(fidelity(store, rung)))


def predicts(store: Store, tables: Sequence[str], scale: str) -> bool | None:
    """Whether the setting of these tables predicts the larger one; None where nothing says so.

    tables: ``PAPER/TABLE`` or ``PAPER/FIGURE/PANEL``.  scale: of the runs; the paper's own has nothing to
    predict. Our own larger runs decide, and the printed numbers of methods that no claim is about only
    where no larger runs have enough methods.
    """
    if scale == "paper":
        return True
    answers = [_predicts(store, table) for table in tables]
    return None if None in answers or not answers else all(answers)


def _predicts(store: Store, table: str) -> bool | None:
    rung = rung_of("/".join(table.split("/")[:2]))
    if rung is None:
        return None
    known = [one for one in _at_the_end(store, rung) if math.isfinite(one.low)]
    return known[0].predicts if known else None


@cache
def rung_of(table: str) -> Rung | None:
    """The declared table itself, or the first one that covers it."""
    own = [rung for rung in rungs() if rung.table == table]
    covering = [rung for rung in rungs() if any(fnmatch(table, pattern) for pattern in rung.covers)]
    return next(iter([*own, *covering]), None)


# ---- command ---------------------------------------------------------------------------------------------------------

FIELDS = (
    "table",
    "against",
    "round",
    "methods",
    "columns",
    "seeds",
    "larger_seeds",
    "rank",
    "rank_low",
    "rank_high",
    "slope",
    "slope_low",
    "slope_high",
    "predicts",
)


def fields(one: Fidelity) -> dict[str, str]:
    """Fidelity as the text of a row's fields; a number that is not there is empty."""
    seeds, larger = one.seeds
    numbers = (one.rank, one.low, one.high, one.slope, one.slope_low, one.slope_high)
    texts = [f"{number:.2f}" if math.isfinite(number) else "" for number in numbers]
    known = math.isfinite(one.low)
    answer = ("yes" if one.predicts else "no") if known else f"fewer than {FEWEST} methods"
    first = (one.table, one.against, one.round, len(one.methods), one.columns, seeds, larger or "")
    return dict(zip(FIELDS, (*map(str, first), *texts, answer), strict=True))


def as_table(found: Sequence[Fidelity]) -> str:
    """A Markdown table; an interval stands behind its number."""
    body = []
    for row in map(fields, found):
        ranked, sloped = (_with_ends(row, name) for name in ("rank", "slope"))
        body.append([row["table"], row["against"], row["round"], row["methods"], ranked, sloped, row["predicts"]])
    head = ["our runs", "held against", "round", "methods", "rank correlation", "slope of gains", "predicts"]
    return "\n".join(markdown_table(head, body))


def _with_ends(row: Mapping[str, str], name: str) -> str:
    return f"{row[name]} [{row[f'{name}_low']}, {row[f'{name}_high']}]" if row[name] else ""


@click.command("fidelity", help="Say how well each setting predicts a larger one; train nothing.")
@click.option("--rounds", "grown", is_flag=True, help="At several parts of the rounds, not at the end alone.")
@click.option("--csv", "as_csv", is_flag=True, help="As CSV.")
@STORE
def fidelity_command(grown: bool, as_csv: bool, out: Path | None) -> None:
    store = open_store("laptop", experiments.there(out))
    found = [one for rung in rungs() for one in (over_rounds if grown else fidelity)(store, rung)]
    click.echo(csv_table(FIELDS, [fields(one).values() for one in found]).strip() if as_csv else as_table(found))
