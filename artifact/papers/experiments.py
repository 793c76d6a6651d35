"""The papers' tables and figures as cells: what is run, what was run, and what the paper prints beside it.

``experiments/<paper>.toml`` declares them (``papers.declared``); a cell is one row, column and metric of a table at
one profile, run for several seeds. Cells are looked up in the store by what they are, so only what is missing is run.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from artifact.algorithms import ALGORITHMS, hyperparameters
from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.errors import UserError, allowed_by
from artifact.base.files import inside
from artifact.base.stats import known
from artifact.papers import folders
from artifact.papers.declared import (
    PROFILES,
    Figure,
    Line,
    Metric,
    Panel,
    Paper,
    Profile,
    Settings,
    Table,
    as_number,
    expand,
    read_csv,
    read_toml,
    slug,
)
from artifact.papers.measured import measure
from artifact.runs.lookup import Stored, find_run, find_runs
from artifact.runs.store import Run
from artifact.statements.comparisons import UP_TO_TARGET
from artifact.training import config
from artifact.training.config import RunConfig

__all__ = ["PROFILES", "Cell", "Figure", "Line", "Metric", "Panel", "Paper", "Profile", "Table"]

ROOT, EXPERIMENTS, PRINTED = paths.ROOT, paths.EXPERIMENTS, paths.PRINTED
#: where a profile's runs are kept; quick ones are made anew everywhere and are not part of the repository
STORES = {"quick": Path("out/quick"), "laptop": Path("results"), "paper": Path("results")}

#: data sets as papers write them
DATA_NAMES = {
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "emnist-20": "EMNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "tiny-imagenet": "Tiny-ImageNet",
    "officehome": "OfficeHome",
    "domainnet": "DomainNet",
}


@dataclass(frozen=True)
class Number:
    """A number of the paper: value (None where it prints a text or a dash), what it prints, deviation, CSV line."""

    value: float | None
    text: str
    std: float | None
    line: int


@dataclass(frozen=True)
class Cell:
    """One row, column and metric of a table at one profile."""

    table: Table
    row: Line
    column: Line
    metric: Metric
    profile: str

    @cached_property
    def id(self) -> str:
        return "/".join((self.table.paper, self.table.id, self.row.id, self.column.id, self.metric.id))

    @cached_property
    def members(self) -> tuple[Line, ...]:
        """The columns that the cell averages over at this profile: its own, or its pool as far as it is run here."""
        pool = self.column.pool or (self.column,)
        return tuple(c for c in pool if not self._not_run(c)) or pool

    @cached_property
    def configs_by_member(self) -> tuple[tuple[RunConfig, ...], ...]:
        """The settings of every run behind the cell, a list over seeds for each member; empty without training."""
        if self.table.given is not None:
            return ()
        table, probes = self.table, self.metric.probes
        return tuple(configs_of(table, self.row, column, self.profile, probes) for column in self.members)

    @cached_property
    def configs(self) -> tuple[RunConfig, ...]:
        """One per seed, alike in all else; for a pool one per seed and member."""
        return tuple(config for member in self.configs_by_member for config in member)

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.table.profiles[self.profile].seeds

    @property
    def target(self) -> float | None:
        """Accuracy in per cent that the metric counts up to."""
        return (self.column.target or self.metric.target).get(self.profile)

    @property
    def trained_on(self) -> str:
        """Name of the data set that the profile trains; empty where nothing is trained."""
        return DATA_NAMES.get(self.configs[0].dataset, self.configs[0].dataset) if self.configs else ""

    @cached_property
    def heading(self) -> str:
        """The column's label; where the profile trains other data or counts up to another target, those come first.

        ``CIFAR-100, Dirichlet-0.3`` -> ``CIFAR-10 (paper: CIFAR-100), Dirichlet-0.3``. A metric that counts up to a
        target names it: ``Pathological-3, to 38 % (paper: to 74 %)``.
        """
        label, own = self.column.label, self.trained_on
        declared = (self.table.settings | self.column.settings | self.row.settings).get("dataset", "")
        theirs = DATA_NAMES.get(declared, declared)
        if own and theirs and own != theirs:
            said = f"{own} (paper: {theirs})"
            label = label.replace(theirs, said, 1) if theirs in label else ", ".join(filter(None, (said, label)))
        return self._up_to_target(label, self.target)

    @property
    def printed_heading(self) -> str:
        """The column's label with the paper's own target."""
        return self._up_to_target(self.column.label, (self.column.target or self.metric.target).get("paper"))

    def _up_to_target(self, label: str, target: float | None) -> str:
        printed = (self.column.target or self.metric.target).get("paper")
        if target is None or printed is None:
            return label
        theirs = f"to {printed:g} %"
        ours = theirs if target == printed else f"to {target:g} % (paper: {theirs})"
        if theirs in self.column.label:
            return label.replace(theirs, ours)
        return ", ".join(filter(None, (label, ours))) if self.metric.quantity in UP_TO_TARGET else label

    @property
    def samples(self) -> int | None:
        """Training images on which curvature is measured; None: all."""
        return self.metric.samples.get(self.profile)

    @cached_property
    def not_run(self) -> str:
        """Why this profile does not run the cell here; empty where it does."""
        if self.table.given is not None or self.metric.not_run:
            return self.metric.not_run
        return min((self._not_run(column) for column in self.column.pool or (self.column,)), key=bool)

    def _not_run(self, column: Line) -> str:
        profile = self.table.profiles[self.profile]
        if self.profile != "quick" and (column.not_run or self.row.not_run):
            return column.not_run or self.row.not_run
        if any(fnmatch.fnmatchcase(f"{self.row.id}/{column.id}/{self.metric.id}", pattern) for pattern in profile.only):
            return ""
        return profile.reason or "not declared for this profile"

    def beside(self, row: str) -> Cell:
        """The same column and metric in the row with that label. Raises UserError for an unknown one."""
        for line in self.table.rows:
            if line.label == row:
                return replace(self, row=line)
        raise UserError("row", row, ", ".join(line.label for line in self.table.rows))


def configs_of(
    table: Table, row: Line, column: Line, profile: str, probes: tuple[str, ...] = ()
) -> tuple[RunConfig, ...]:
    """The runs of a row and column, one per seed of the profile."""
    values = settings_of(table, row, column, profile)
    return seeded(values | ({"probes": probes} if probes else {}), table.profiles[profile].seeds)


def settings_of(table: Table, row: Line, column: Line, profile: str) -> Settings:
    """The flat settings of a row and column.

    Later settings replace earlier ones: table, column, row, profile, column and row at that profile, exceptions.
    """
    declared = table.profiles[profile]
    values = table.settings | column.settings | row.settings
    values |= declared.settings | column.at.get(profile, {}) | row.at.get(profile, {})
    for exception in table.exceptions:
        if profile in exception.profiles and fnmatch.fnmatchcase(f"{row.id}/{column.id}", exception.cells):
            values |= exception.settings
    return values


def seeded(values: Settings, seeds: tuple[int, ...]) -> tuple[RunConfig, ...]:
    """Checked configs of flat settings; hyper-parameters that only other methods have are left out."""
    text = json.dumps(_nested(values), sort_keys=True)
    return tuple(_made(text, seed) for seed in seeds)


@cache
def _made(values: str, seed: int) -> RunConfig:
    """A config that many cells share is checked once."""
    return config.make(**(json.loads(values) | {"seed": seed}))


#: names of settings that a round of one server and a cohort has no place for -> why
OUTSIDE = dict.fromkeys(
    ("topology", "graph", "gossip", "neighbours", "neighbors", "peers", "mixing", "mixing_matrix"),
    "no decentralised run: clients that send to each other have no server's model that a claim could be about",
) | dict.fromkeys(
    ("asynchronous", "staleness", "delay", "delays", "buffer_size"),
    "no asynchronous run: a round ends when the whole cohort has answered, so no update is stale",
)


def _nested(values: Settings) -> Settings:
    if not isinstance(values.get("algorithm"), str):
        raise UserError("algorithm", values.get("algorithm"), "the name of a method, in the settings of a row or table")
    own = hyperparameters(values["algorithm"])
    for name in values.keys() - RunConfig.model_fields - own.keys() - _of_any(tuple(ALGORITHMS)):
        option = f"an option of a run or of {values['algorithm']}: {', '.join(own)}"
        raise UserError(name, values[name], OUTSIDE.get(name, option))
    known = {name: value for name, value in values.items() if name in RunConfig.model_fields}
    return known | {"hyper": {name: value for name, value in values.items() if name in own}}


@cache
def _of_any(methods: tuple[str, ...]) -> frozenset[str]:
    """Hyper-parameters that one of the methods has at least."""
    return frozenset(name for method in methods for name in hyperparameters(method))


# ---- what is declared ------------------------------------------------------------------------------------------------


def papers() -> list[str]:
    return list(folders.experiments_files(EXPERIMENTS))


def load(paper: str) -> Paper:
    """The declared tables and figures of a paper.

    Raises UserError for an unknown paper or a file that breaks the schema.
    """
    files = folders.experiments_files(EXPERIMENTS)
    if paper not in files:
        raise UserError("paper", paper, ", ".join(files))
    return _load(files[paper], files[paper].stat().st_mtime_ns)


@cache
def _load(path: Path, _changed: int) -> Paper:
    content = read_toml(path, "experiments")
    try:
        declared = Paper(**expand(content))
        return declared.model_copy(update={"table": tuple(_with_given_lines(table) for table in declared.table)})
    except ValidationError as error:
        first = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")  # often a misspelt name
        if isinstance(cause := first.get("ctx", {}).get("error"), UserError):
            raise folders.at_setting(cause, path) from None
        said = f"{'.'.join(map(str, first['loc']))}: {allowed_by(first)}"
        raise folders.located(UserError("experiments", path.name, said), path, first["loc"]) from None
    except UserError as error:
        raise folders.at_setting(error, path) from None
    except Exception as error:  # entries of another kind than the schema's lead to whatever error
        allowed = f"tables and figures as the schema has them ({type(error).__name__}: {error})"
        raise UserError("experiments", path.name, allowed) from None


def _with_given_lines(table: Table) -> Table:
    """A given table takes rows, columns and metrics from its CSV, in the CSV's order."""
    if table.given is None:
        return table
    assert table.csv is not None  # as the declaration of a given table has it
    given, found = table.given, transcription(table)
    update: dict[str, Any] = {"rows": _from_csv(found, given.rows), "columns": _from_csv(found, given.columns)}
    update["metrics"] = tuple(Metric(id=slug(f), label=f, unit="", quantity="given", field=f) for f in given.fields)
    return table.model_copy(update=update)


def _from_csv(found: list[dict[str, str]], fields: tuple[str, ...]) -> tuple[Line, ...]:
    """One line per combination of the fields' texts; a single one named ``all`` for no fields."""
    lines: dict[str, Line] = {}
    for content in found:
        printed: dict[str, str | tuple[str, ...]] = {field: content[field] for field in fields}
        label = ", ".join(filter(None, map(content.__getitem__, fields)))
        lines.setdefault(label, Line(id=slug(label) or "all", label=label, printed=printed))
    return tuple(lines.values())


def find(name: str) -> tuple[Paper, Table]:
    """``PAPER/TABLE`` -> paper and table. Raises UserError with what there is."""
    paper, _, wanted = name.partition("/")
    declared = load(paper)
    for table in declared.table:
        if table.id == wanted:
            return declared, table
    raise UserError("table", name, ", ".join(f"{paper}/{table.id}" for table in declared.table))


def select_tables(name: str, profile: str) -> list[tuple[Paper, Table]]:
    """``PAPER/TABLE`` -> that table; ``PAPER`` or ``all`` -> the tables that have the profile.

    Raises UserError for an unknown paper or table, and for a table or a paper without the profile.
    """
    if "/" in name:
        chosen = [find(name)]
        cells(chosen[0][1], profile)
        return chosen
    papers_chosen = papers() if name == "all" else [load(name).paper]
    of_papers = [(p, table) for p, table in all_tables() if p.paper in papers_chosen]
    chosen = [(p, table) for p, table in of_papers if profile in table.profiles]
    if not chosen:
        declared = (own for _, table in of_papers for own in table.profiles)
        raise UserError("profile", profile, f"one with tables of {name}: {', '.join(dict.fromkeys(declared))}")
    return chosen


def all_tables() -> Iterator[tuple[Paper, Table]]:
    for name in papers():
        declared = load(name)
        for table in declared.table:
            yield declared, table


def all_figures() -> Iterator[tuple[Paper, Figure]]:
    for name in papers():
        declared = load(name)
        for figure in declared.figure:
            yield declared, figure


def cells(table: Table, profile: str) -> list[Cell]:
    """All cells of a table, row by row. Raises UserError for a profile that the table does not have."""
    return list(_cells(table, profile, table.rows, table.columns, table.metrics))


def _cells(
    table: Table, profile: str, rows: Sequence[Line], columns: Sequence[Line], metrics: Sequence[Metric]
) -> Iterator[Cell]:
    """The table's cells in some of its rows and columns and of some of its metrics. Raises UserError as ``cells``."""
    if profile not in table.profiles:
        raise UserError("profile", profile, ", ".join(table.profiles))
    numbers = None if table.given is None else printed(table)
    for row, column, metric in itertools.product(rows, columns, metrics):
        if metric.to == "against" and row.against is None:
            continue
        found = Cell(table, row, column, metric, profile)
        if numbers is None or _place(found) in numbers:
            yield found


def cell(id: str, profile: str) -> Cell:
    """The cell with an id. Raises UserError for an unknown one."""
    _, table = find("/".join(id.split("/")[:2]))
    for found in cells(table, profile):
        if found.id == id:
            return found
    raise UserError("cell", id, "an id that `python -m fedsharp list cells` prints")


def select(
    name: str, profile: str, row: str | None = None, column: str | None = None, metric: str | None = None
) -> list[Cell]:
    """Cells of ``PAPER/TABLE`` by id or label of row, column and metric; all where one is not given.

    Raises UserError for a name that the table does not have.
    """
    _, table = find(name)
    rows, columns = _named(table.rows, "row", row), _named(table.columns, "column", column)
    return list(_cells(table, profile, rows, columns, _named(table.metrics, "metric", metric)))


Named = TypeVar("Named", Line, Metric)


def _named(lines: Sequence[Named], kind: str, wanted: str | None) -> list[Named]:
    """Lines with this id or label; all for None. Raises UserError where there is none."""
    found = [line for line in lines if wanted in (None, line.id, line.label)]
    if not found:
        raise UserError(kind, wanted, ", ".join(line.label or line.id for line in lines))
    return found


# ---- what the paper prints -------------------------------------------------------------------------------------------


def transcription(table: Table) -> list[dict[str, str]]:
    """The lines of the table's CSV, in their order."""
    path = _transcribed(table)
    return _lines_of(path, path.stat().st_mtime_ns if path.is_file() else 0)


def _transcribed(table: Table) -> Path:
    assert table.csv is not None  # of whoever asks
    return inside(folders.tables_folder(table.paper, PRINTED), table.csv, "csv")


@cache
def _lines_of(path: Path, _changed: int) -> list[dict[str, str]]:
    return read_csv(path)


def printed(table: Table) -> Mapping[tuple[str, str, str], Number]:
    """(row id, column id, metric id) -> the paper's number; empty for a table without transcription.

    Raises UserError where two lines of the CSV belong to one cell.
    """
    if id(table) not in _numbers or _numbers[id(table)][0] is not table:
        _numbers[id(table)] = (table, _printed(table))
    return _numbers[id(table)][1]


#: id of a table -> the table itself, which keeps the id taken, and its numbers
_numbers: dict[int, tuple[Table, Mapping[tuple[str, str, str], Number]]] = {}


def _printed(table: Table) -> dict[tuple[str, str, str], Number]:
    result: dict[tuple[str, str, str], Number] = {}
    if table.csv is None:
        return result
    for line, content in enumerate(transcription(table)):
        rows = [row for row in table.rows if row.printed and matches(row.printed, content)]
        columns = [column for column in table.columns if matches(column.printed, content)]
        metrics = [m for m in table.metrics if m.field in content and matches(m.printed, content)]
        for row, column, metric in itertools.product(rows, columns, metrics):
            place = (row.id, column.id, metric.id)
            if place in result:
                at = f"not also line {result[place].line + 2} ({_transcribed(table)}, line {line + 2})"
                raise UserError("printed number", f"{row.label}, {column.label}, {metric.label}", f"one line, {at}")
            if content[metric.field] or table.given is None or metric.field == "value":  # "-" means not reached
                result[place] = _number(content, metric.field, line)
    return result


def matches(wanted: Mapping[str, str | tuple[str, ...]], content: Mapping[str, str]) -> bool:
    return all(content.get(f) in ((text,) if isinstance(text, str) else text) for f, text in wanted.items())


def _number(content: Mapping[str, str], field: str, line: int) -> Number:
    note, dash = content.get("note", ""), content.get("printed", "")  # a dash is shown where no note explains it
    text = content[field] or (note if "not reached" in note else dash or note)
    return Number(as_number(content[field]), text, as_number(content.get("std", "") if field == "value" else ""), line)


def _place(cell: Cell) -> tuple[str, str, str]:
    return (cell.row.id, cell.column.id, cell.metric.id)


# ---- what was run ----------------------------------------------------------------------------------------------------


def there(store: Path | None) -> Path | None:
    """A store that is only read. Raises UserError without one: a mistyped folder would look like an empty store."""
    if store is not None and not store.is_dir():
        raise UserError("out", str(store), "the folder of a store that is there")
    return store


def own_store(profile: str, selection: str) -> Path:
    """Where runs of a PAPER, PAPER/TABLE or PAPER/FIGURE are put: an audit's own folder, or the profile's store.

    Raises UserError where both are asked for at once, by a selection of everything.
    """
    if profile == "quick" or not folders.AUDITS:
        return STORES[profile]
    if selection in ("", "all"):
        raise UserError("selection", "all", "one paper, or --out, since an audit's runs lie in a store of their own")
    paper = selection.split("/")[0]
    return folders.AUDITS[paper].results if paper in folders.AUDITS else STORES[profile]


def store_of(profile: str, out: Path | None, only_read: bool, selection: str = "") -> Path:
    """The store that a command names, or the selection's own. Raises UserError as ``there``, where it is only read."""
    return (there(out) or readable_store(profile)) if only_read else (out or own_store(profile, selection))


def readable_store(profile: str) -> Path:
    """Where the finished runs of a profile are read. Of a package outside a checkout, the folder that it was given.

    Raises UserError where it was given none: that nothing was run would be false.
    """
    own = STORES[profile]
    if not paths.INSTALLED or own.is_dir():
        return own
    if profile != "quick" and (kept := paths.kept_results()).is_dir():
        return kept
    given = "`fedsharp data results FOLDER` keeps those of a checkout, --out FOLDER names any"
    made = f"`fedsharp sweep --profile {profile}` makes them; " if profile == "quick" else ""
    raise UserError("stored runs", None, f"a folder with them, which this install does not bring: {made}{given}")


def measured(cell: Cell, run: Run) -> float | None:
    """The cell's metric of one run, before it is held against another row; None where it has not been measured."""
    return measure(cell.metric, run, cell.target, cell.samples)


def by_seed(cell: Cell, stored: Stored) -> dict[int, float]:
    """Seed -> the cell's value, over the seeds whose runs are all finished and measured; inf: target not reached."""
    own, to = _by_seed(cell, stored), cell.row.against if cell.metric.to == "against" else cell.metric.to
    if cell.metric.to is None:
        return own
    other = _by_seed(cell.beside(to), stored) if to else {}
    return {seed: _related(value, other[seed], cell.metric.relation) for seed, value in own.items() if seed in other}


def _by_seed(cell: Cell, stored: Stored) -> dict[int, float]:
    result = {}
    for index, seed in enumerate(cell.seeds):
        runs = [find_run(member[index], stored) for member in cell.configs_by_member]
        values = [None if run is None else measured(cell, run) for run in runs]
        if values and known(values):
            result[seed] = sum(values) / len(values)
    return result


def _related(own: float, other: float, relation: str) -> float:
    if relation == "difference":
        return own - other
    above, below = (own, other) if relation == "ratio" else (other, own)
    return above / below if math.isfinite(below) and below else math.nan


def state(cell: Cell, stored: Stored) -> str:
    """``given``, ``finished n/m`` (runs that hold the cell's metric), ``not-run: reason`` or ``missing``.

    A cell that the profile leaves out can have runs that another table or figure asks for.
    """
    if cell.table.given is not None:
        return "given"
    done = sum(measured(cell, run) is not None for run in find_runs(cell.configs, stored))
    if cell.not_run:
        return f"finished {done}/{len(cell.configs)}, for others" if done else f"not-run: {cell.not_run}"
    return f"finished {done}/{len(cell.configs)}" if done else "missing"
