"""The papers' tables as cells: what is run, what was run, and what the paper prints beside it.

``experiments/<paper>.toml`` declares tables; a cell is one row and one column of a table at one profile, run for
several seeds. Cells are looked up in the store by key, so only what is missing is ever run.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from artifact import config, data
from artifact.algorithms import hyperparameters
from artifact.config import RunConfig
from artifact.errors import UserError
from artifact.session import load_data, summarise
from artifact.stats import Interval, t_interval
from artifact.store import Run, dumps, runs

ROOT = Path(__file__).resolve().parent.parent
EXPERIMENTS, PRINTED = ROOT / "experiments", ROOT / "claims" / "tables"
PROFILES = ("quick", "laptop", "paper")
#: where a profile's runs are kept; quick ones are made anew everywhere and are not part of the repository
STORES = {"quick": Path("out/quick"), "laptop": Path("results"), "paper": Path("results")}

Settings = dict[str, Any]


class Line(BaseModel):
    """A row or column: its label, how the paper's CSV names it, the row it is held against, and its settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str
    printed: str | None = None
    against: str | None = None
    settings: Settings = {}

    @property
    def name(self) -> str:
        return self.printed or self.label


class Profile(BaseModel):
    """One profile's settings, its seeds, and the reason where it cannot be run here."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    settings: Settings = {}
    minutes: float
    note: str = ""


class Table(BaseModel):
    """A table of a paper.

    csv, csv_rows, csv_columns: the transcription and which of its columns hold the labels of our rows and columns.
    settings: common to all cells.  ours: settings that the paper leaves open, our choice and why.
    metric: model and summary that a cell shows; the headline is never the best round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    title: str
    location: str
    csv: str | None = None
    csv_rows: str = "algorithm"
    csv_columns: str = "split"
    metric: tuple[Literal["server", "active", "all"], Literal["last", "mean_last_10"]] = ("server", "mean_last_10")
    settings: Settings
    ours: dict[str, str] = {}
    rows: Annotated[tuple[Line, ...], Field(min_length=1)]
    columns: Annotated[tuple[Line, ...], Field(min_length=1)]
    profiles: dict[Literal["quick", "laptop", "paper"], Profile]


class Paper(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    paper: str
    title: str
    table: tuple[Table, ...]


@dataclass(frozen=True)
class Cell:
    """One row and column of a table at one profile.

    configs: one per seed, alike in all else.
    """

    table: Table
    row: Line
    column: Line
    profile: str

    @cached_property
    def configs(self) -> tuple[RunConfig, ...]:
        profile = self.table.profiles[self.profile]
        values = self.table.settings | self.column.settings | self.row.settings | profile.settings
        return tuple(config.make(**_nested(values), seed=seed) for seed in profile.seeds)


def _nested(values: Settings) -> Settings:
    """Hyper-parameters of the method move into ``hyper``; those that only other methods of a table have are dropped."""
    own = hyperparameters(values["algorithm"])
    known = {name: value for name, value in values.items() if name in RunConfig.model_fields}
    return known | {"hyper": {name: value for name, value in values.items() if name in own}}


def papers() -> list[str]:
    return sorted(path.stem for path in EXPERIMENTS.glob("*.toml"))


def load(paper: str) -> Paper:
    """The declared tables of a paper. Raises UserError for an unknown paper or a file that breaks the schema."""
    if paper not in papers():
        raise UserError("paper", paper, ", ".join(papers()))
    with open(EXPERIMENTS / f"{paper}.toml", "rb") as file:
        try:
            return Paper(**tomllib.load(file))
        except (ValidationError, tomllib.TOMLDecodeError) as error:
            raise UserError("experiments", f"{paper}.toml", str(error)) from None


def find(name: str) -> tuple[Paper, Table]:
    """``PAPER/TABLE`` -> paper and table. Raises UserError with what there is."""
    paper, _, wanted = name.partition("/")
    declared = load(paper)
    for table in declared.table:
        if table.id == wanted:
            return declared, table
    raise UserError("table", name, ", ".join(f"{paper}/{table.id}" for table in declared.table))


def cells(table: Table, profile: str) -> list[Cell]:
    """All cells of a table, row by row. Raises UserError for a profile that the table does not have."""
    if profile not in table.profiles:
        raise UserError("profile", profile, ", ".join(table.profiles))
    return [Cell(table, row, column, profile) for row in table.rows for column in table.columns]


class DataCache:
    """Loads each (dataset, subset, seed of the subset) once."""

    def __init__(self):
        self._loaded: dict[tuple, data.Dataset] = {}

    def __call__(self, run_config: RunConfig) -> data.Dataset:
        subset = (run_config.train_size, run_config.test_size)
        name = (run_config.dataset, *subset, run_config.seed if any(subset) else None)
        if name not in self._loaded:
            self._loaded[name] = load_data(run_config)
        return self._loaded[name]


#: how gradients were computed does not matter to somebody who looks results up
_MACHINE = ("device", "backend")


def _signature(canonical: Mapping[str, Any]) -> str:
    """The config without the machine; options that came later than a stored run have their default."""
    defaults = {name: field.default for name, field in RunConfig.model_fields.items()}
    return dumps({name: canonical.get(name, default) for name, default in defaults.items() if name not in _MACHINE})


def finished(store: Path) -> dict[str, Run]:
    """Finished runs of a store by what they are; needs neither the data nor the hardware that they were made with."""
    return {_signature(run.config()): run for run in runs(store) if run.done}


def look_up(cell: Cell, stored: Mapping[str, Run]) -> list[Run]:
    """The cell's finished runs, in the order of its seeds; shorter than the seeds where some are missing."""
    found = (stored.get(_signature(c.canonical())) for c in cell.configs)
    return [run for run in found if run is not None]


def value(cell: Cell, runs: list[Run]) -> Interval | None:
    """Mean over seeds of the table's metric in per cent, with its interval; None without runs."""
    model, summary = cell.table.metric
    values = [100 * s[model][summary] if model in s else 0.0 for s in map(summarise, runs)]
    return t_interval(values) if values else None


def printed(table: Table) -> Mapping[tuple[str, str], float]:
    """(row name, column name) -> the paper's number; empty for a table without transcription."""
    if table.csv is None:
        return {}
    with open(PRINTED / table.csv, newline="", encoding="utf-8") as file:
        return {(r[table.csv_rows], r[table.csv_columns]): float(r["value"]) for r in csv.DictReader(file)}


def all_tables() -> Iterator[tuple[Paper, Table]]:
    for name in papers():
        declared = load(name)
        for table in declared.table:
            yield declared, table
