"""The numbers that predicates ask of the stored runs: one per cell and seed, read once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from artifact.base.errors import UserError
from artifact.base.stats import area_under_curve, known, rounds_to_target
from artifact.data.sources import classes_of
from artifact.papers import experiments, folders
from artifact.papers.declared import Metric, Profile
from artifact.papers.experiments import Cell
from artifact.papers.measured import curve, measure
from artifact.runs import schema
from artifact.runs.lookup import find_run, finished_runs
from artifact.runs.store import LAST, Run
from artifact.statements.comparisons import UP_TO_TARGET, BySeed, Missing, Numbers, Spent, at_point
from artifact.training import config
from artifact.verdicts import protocol

FEWEST_SEEDS = 2

#: (run, evaluated model) -> number, None where the run does not have it
Reader = Callable[[Run, str], float | None]
#: ids of a cell's row, column and metric
Place = tuple[str, str, str]


# ---- the store -------------------------------------------------------------------------------------------------------


@dataclass
class Store:
    """Finished runs of a folder, read once, and the numbers that predicates ask of them.

    seeds: those that are looked at, all that are declared by default.
    whole: for a look at some of the protocol's seeds, the store that looks at all of them.
    """

    folder: Path
    seeds: tuple[int, ...] | None = None
    whole: Store | None = None
    _numbers: dict[Any, Any] = field(default_factory=dict)
    _looks: dict[tuple[int, ...], Store] = field(default_factory=dict)
    _rises: dict[tuple[str, str], float | None] = field(default_factory=dict)

    @cached_property
    def stored(self) -> dict[str, list[Run]]:
        return finished_runs(self.folder)

    @cached_property
    def by_key(self) -> dict[str, Run]:
        return {run.key: run for runs in self.stored.values() for run in runs}

    def at(self, seeds: tuple[int, ...]) -> Store:
        """The same runs, of which so many seeds are looked at."""
        if seeds not in self._looks:
            whole = None if seeds == protocol.SEEDS else self.at(protocol.SEEDS)
            view = self._looks[seeds] = replace(self, seeds=seeds, whole=whole, _numbers={}, _looks={})
            view.__dict__ |= {"stored": self.stored, "by_key": self.by_key}
        return self._looks[seeds]

    def seen(self, profiles: Mapping[str, Profile], profile: str) -> dict[str, Profile]:
        """The profiles of a table or panel with the seeds that are looked at."""
        if self.seeds is None or profile not in profiles:
            return dict(profiles)
        kept = tuple(seed for seed in profiles[profile].seeds if seed in self.seeds)
        return {**profiles, profile: profiles[profile].model_copy(update={"seeds": kept or self.seeds})}

    def cells(self, name: str, profile: str) -> dict[Place, Cell]:
        """The cells of ``PAPER/TABLE`` with the seeds that are looked at, one object for all that ask."""

        def make() -> dict[Place, Cell]:
            _, declared = experiments.find(name)
            table = declared.model_copy(update={"profiles": self.seen(declared.profiles, profile)})
            found = experiments.cells(declared if self.seeds is None else table, profile)
            return {(one.row.id, one.column.id, one.metric.id): one for one in found}

        return self.once(("cells", name, profile), make)

    def cell(self, name: str, profile: str, row: str, column: str, metric: str | None) -> Cell:
        """The cell of ``PAPER/TABLE`` by id or label. Raises Missing for one that is not declared."""

        def make() -> Cell:
            found = experiments.select(name, profile, row, column, metric)
            if not found:
                raise Missing(f"{name} has no cell {row} / {column}")
            return self.cells(name, profile)[found[0].row.id, found[0].column.id, found[0].metric.id]

        try:
            return self.once(("cell", name, profile, row, column, metric), make)
        except UserError as error:
            raise Missing(str(error)) from None

    def column(self, cell: Cell) -> list[Cell]:
        """The cells of all rows in a cell's column, of its metric."""
        cells = self.cells(f"{cell.table.paper}/{cell.table.id}", cell.profile)
        places = [(row.id, cell.column.id, cell.metric.id) for row in cell.table.rows]
        return [cells.get(place) or replace(cell, row=row) for place, row in zip(places, cell.table.rows, strict=True)]

    def rise(self, run: Run, model: str) -> float | None:
        """Points that the accuracy of a run's evaluated model gained over the last quarter of the rounds."""
        place = (run.key, model)
        if place not in self._rises:
            self._rises[place] = protocol.rise(*curve(run, model))
        return self._rises[place]

    def accuracies(self, cell: Cell) -> list[float]:
        """Final accuracy in per cent of the cell's runs, 0 for one that diverged."""
        read = Metric(model="server")
        return [value for runs in self.runs(cell).values() for r in runs if (value := measure(read, r)) is not None]

    def runs(self, cell: Cell) -> dict[int, list[Run]]:
        """Seed -> the runs of the cell's members, for the seeds whose runs are all there.

        Nothing for a cell that the profile does not run: where columns coincide at a smaller profile, runs of another
        column would be found for it.
        """
        if cell.not_run:
            return {}
        return self.once(("runs", cell.id, cell.profile), lambda: self._runs(cell))

    def _runs(self, cell: Cell) -> dict[int, list[Run]]:
        if self.whole is not None:
            return _of_seeds(cell, self.whole.runs(self.whole._own(cell)))
        members = cell.configs_by_member
        rows = {seed: [find_run(m[i], self.stored) for m in members] for i, seed in enumerate(cell.seeds)}
        return {seed: runs for seed, runs in rows.items() if runs and known(runs)}

    def _own(self, cell: Cell) -> Cell:
        """This store's object for a cell of one of its looks."""
        cells = self.cells(f"{cell.table.paper}/{cell.table.id}", cell.profile)
        own = cells.get((cell.row.id, cell.column.id, cell.metric.id))
        return own or replace(next(iter(cells.values())), row=cell.row, column=cell.column, metric=cell.metric)

    def values(self, cell: Cell, measure: str) -> BySeed:
        """Seed -> number of a cell; seeds without a finished and measured run are left out."""
        return self.once((measure, cell.id, cell.profile), lambda: self._values(cell, measure))

    def _values(self, cell: Cell, measure: str) -> BySeed:
        if self.whole is not None:
            return _of_seeds(cell, self.whole.values(self.whole._own(cell), measure))
        if measure == "metric":
            means = {} if cell.not_run else experiments.by_seed(cell, self.stored)
        else:
            read = self.rise if measure == "rise" else reader(measure)[0]
            found = {seed: [read(run, cell.metric.model) for run in runs] for seed, runs in self.runs(cell).items()}
            means = {seed: float(np.mean(values)) for seed, values in found.items() if known(values)}
        return {seed: value for seed, value in means.items() if math.isfinite(value)}

    def spent(self, cell: Cell, target: float) -> dict[int, Spent]:
        """Seed -> what the cell's run spent up to the target; a cell that averages over columns has no such number."""
        found = {seed: _spent(cell, runs[0], target) for seed, runs in self.runs(cell).items() if len(runs) == 1}
        return {seed: spent for seed, spent in found.items() if spent is not None}

    def panels(self, name: str, profile: str) -> list[Any]:
        """The trained panels of a figure, or one of them."""
        from artifact.papers.figures import series  # the package loads the drawing library

        def found() -> list[Any]:
            trained = [one for one in series.select(name, profile) if one.panel.kind not in series.UNTRAINED]
            seen = [self.seen(one.panel.profiles, profile) for one in trained]
            return [
                replace(one, panel=one.panel.model_copy(update={"profiles": profiles}))
                for one, profiles in zip(trained, seen, strict=True)
            ]

        return self.once(("panels", name, profile), found)

    def lines(self, panel: Any) -> list[dict[str, Any]]:
        """A panel's lines {label, seeds [n], keys, x [X], values [n, X]}; those without runs are left out."""
        return self.once(("lines", panel.id, panel.profile), lambda: _panel_lines(panel, self))

    def once(self, name: tuple[str | None, ...], make: Callable[[], Any]) -> Any:
        if name not in self._numbers:
            self._numbers[name] = make()
        return self._numbers[name]


def _of_seeds(cell: Cell, found: Mapping[int, Any]) -> dict[int, Any]:
    """What is known of a cell's own seeds."""
    return {seed: found[seed] for seed in cell.seeds if seed in found}


def open_store(profile: str, folder: Path | None = None) -> Store:
    """The profile's own store, or another folder. Raises UserError for an unknown profile."""
    if profile not in experiments.STORES:
        raise UserError("profile", profile, ", ".join(experiments.STORES))
    return Store(folder or experiments.ROOT / experiments.readable_store(profile))


def _spent(cell: Cell, run: Run, target: float) -> Spent | None:
    rounds, accuracies = curve(run, cell.metric.model)
    if not rounds:
        return None
    rate = 1.0
    if cell.metric.quantity == "seconds-to":
        rate = run.seconds() / run.completed()
    elif cell.metric.quantity == "communication-to":
        sent = float(np.mean(run.traffic()))
        rate = sent * run.config()["parameters"] / 1e9
    return Spent(rounds_to_target(rounds, accuracies, target), rate)


def _panel_lines(panel: Any, store: Store) -> list[dict[str, Any]]:
    from artifact.papers.figures import (
        surface_figures,
        surfaces,
        training,  # they load the drawing library
    )

    if panel.panel.kind in ("curves", "sweep", "probe"):
        return training.lines(panel, store.stored)
    read = {"spectrum": surface_figures.spectrum_lines, "landscape": surface_figures.rise_lines}
    read |= {"density": surface_figures.share_lines}
    if panel.panel.kind not in read:
        raise Missing(f"panel {panel.id} of kind {panel.panel.kind} has no lines to compare")
    return read[panel.panel.kind](surfaces.entries(panel, store.stored, store.folder, measure=False))


# ---- what is read off a run ------------------------------------------------------------------------------------------


def _curve_height(run: Run, model: str) -> float | None:
    rounds, accuracies = curve(run, model)
    return area_under_curve(rounds, accuracies) if rounds else None


def _end(name: str, scale: float = 1.0) -> Reader:
    """Mean over the last ten evaluations of the evaluated model, as headlines are; none for a run that diverged."""

    def read(run: Run, model: str) -> float | None:
        tail = list(run.series(f"{model}.{name}").values())[-LAST:]
        return scale * sum(tail) / len(tail) if tail and not run.diverged else None

    return read


def _train(run: Run, _model: str) -> float | None:
    return _end("accuracy", 100)(run, "train")


def _gap(run: Run, model: str) -> float | None:
    train, test = _train(run, model), _end("accuracy", 100)(run, model)
    return None if train is None or test is None else train - test


def _fluctuation(run: Run, model: str) -> float | None:
    """Standard deviation about the line through the last ten evaluated rounds, so that a trend does not count."""
    rounds, accuracies = (np.array(values[-LAST:]) for values in curve(run, model))
    if len(rounds) < 3:
        return None
    return float(np.std(accuracies - np.polyval(np.polyfit(rounds, accuracies, 1), rounds)))


def _recorded(name: str) -> Reader:
    """What ``artifact.papers.measured`` has recorded of the last model's Hessian."""
    return lambda run, _model: run.curvature().get(name, {}).get("value")


def _probed(measure: str) -> Reader:
    """``probe.field``: the last probed round's value."""
    return lambda run, _model: next(reversed(run.series(measure).values()), None)


def _rise(run: Run, model: str) -> float | None:
    """Points that the accuracy gained over the last quarter of the rounds."""
    return protocol.rise(*curve(run, model))


#: what ``Predicate.measure`` reads off a run beside the table's own metric, with its unit; ``probe.field`` as well.
#: Accuracies, losses and their deviations are means over the last ten evaluations, like the headlines of the tables.
MEASURES: dict[str, tuple[Reader, str]] = {
    "curve": (_curve_height, "points"),  # mean height of the accuracy curve
    "rise": (_rise, "points"),  # of the accuracy over the last quarter of the rounds
    "train": (_train, "points"),  # training accuracy
    "gap": (_gap, "points"),  # training minus test accuracy
    "loss": (_end("loss"), ""),  # test loss
    "spread": (_end("client_sd", 100), "points"),  # deviation of the accuracy over clients
    "fluctuation": (_fluctuation, "points"),  # of the accuracy over the last ten evaluated rounds
    "top-eigenvalue": (_recorded("top_eigenvalue"), ""),
    "trace": (_recorded("trace"), ""),
}


#: what a measure with a dot begins with: what every metrics line has, and what probes add to it
GROUPS = (*schema.EVALUATED, *get_args(config.Measured))


def reader(measure: str) -> tuple[Reader, str]:
    """Function and unit of a measure other than ``metric``. Raises UserError for an unknown one."""
    if measure.partition(".")[0] in GROUPS and "." in measure:
        return _probed(measure), ""
    if measure not in MEASURES:
        dotted = f"PART.NUMBER of a metrics line with PART {', '.join(GROUPS)}"
        raise UserError("measure", measure, f"metric, {', '.join(MEASURES)}, or {dotted}")
    return MEASURES[measure]


def _evaluated(measure: str, model: str) -> tuple[str, ...]:
    """The evaluated models whose accuracies a measure of a cell is read off; model: the cell's own."""
    return {"train": ("train",), "gap": ("train", model)}.get(measure, (model,))


def _count(seeds: int) -> str:
    return {1: "one", 2: "two"}.get(seeds, str(seeds))


def _too_few(cell: Cell, needed: int) -> str:
    """Why a cell cannot have as many seeds as are needed, whatever is trained."""
    n, file = len(cell.seeds), folders.experiments_files(experiments.EXPERIMENTS)[cell.table.paper].name
    names = f"names {_count(n)} seed{'s' * (n > 1)}"
    return f"`seeds` of {file} {names} at the profile {cell.profile}, and the claim needs {_count(needed)}"


# ---- the evidence of one predicate -----------------------------------------------------------------------------------


@dataclass
class Evidence(Numbers):
    """The cells of one predicate: looks them up by labels and remembers which were used and which lack runs.

    cells: every number's id.  curves: (key of a run, evaluated model) of all that numbers are read off.
    names: ids of lines as their labels.
    unit: of the numbers.  units: all of them, each quantity apart.
    notes: what the profile changes, of every table looked at.  needed: seeds that every number has to have.
    """

    profile: str
    store: Store
    needed: int = FEWEST_SEEDS
    cells: dict[str, Cell | None] = field(default_factory=dict)
    curves: set[tuple[str, str]] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    unit: str = ""
    units: set[str] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    _known: dict[tuple[str, ...], Cell] = field(default_factory=dict)

    @property
    def keys(self) -> set[str]:
        """Runs used."""
        return {key for key, _ in self.curves}

    @property
    def scale(self) -> str:
        return "; ".join(note for note in self.notes if note)

    def cell(self, compared: str, within: str) -> Cell:
        """Raises Missing for a table, row, column, metric or profile that is not declared."""
        row, column = self.place(compared, within)
        asked = (self.table or self.predicate.table, row, column, self.metric or "")
        if asked not in self._known:
            self._known[asked] = self._cell(*asked)
        return self._known[asked]

    def _cell(self, table: str, row: str, column: str, metric: str) -> Cell:
        cell = self.store.cell(table, self.profile, row, column, metric or None)
        self.cells[cell.id] = cell
        self.notes[cell.table.profiles[self.profile].note] = None
        own = UP_TO_TARGET.get(cell.metric.quantity, "points" if cell.metric.unit == "%" else cell.metric.unit)
        self.unit = own if self.predicate.measure == "metric" else reader(self.predicate.measure)[1]
        self.units.add(self.unit if self.unit == "points" else f"{cell.metric.quantity} {self.unit}")
        self.names |= {row: cell.row.label, column: cell.heading}
        return cell

    def values(self, compared: str, within: str) -> BySeed:
        """Seed -> number of a cell, or of a point of a panel's line."""
        if self.predicate.of_figure:
            return self._point(*self.place(compared, within))
        cell = self.cell(compared, within)
        return self._checked(cell, self.store.values(cell, self.predicate.measure))

    def ranked_by(self, compared: str, within: str) -> BySeed:
        """Of rises, the accuracies: what moves is the difference of those methods that the claim compares."""
        if self.predicate.measure != "rise":
            return self.values(compared, within)
        return self.store.values(self.cell(compared, within), "metric")

    def counted(self, compared: str, within: str) -> tuple[str, float | None]:
        cell = self.cell(compared, within)
        return cell.metric.quantity, cell.target

    def spent(self, compared: str, within: str) -> Mapping[int, Spent]:
        cell = self.cell(compared, within)
        if cell.target is None:
            raise Missing(f"{cell.id} has no target accuracy at this profile")
        return self._checked(cell, self.store.spent(cell, cell.target))

    def _checked(self, cell: Cell, found: Mapping[int, Any]) -> Mapping[int, Any]:
        keys = [run.key for runs in self.store.runs(cell).values() for run in runs]
        self.curves |= set(itertools.product(keys, _evaluated(self.predicate.measure, cell.metric.model)))
        if len(found) < self.needed:
            if len(cell.seeds) < self.needed and not cell.not_run:
                raise Missing(_too_few(cell, self.needed))
            done = len(self.store.runs(cell))
            measured = "" if len(found) == done else f", {len(found)} measured"
            self.missing[cell.id] = cell.not_run or f"{done} of {len(cell.seeds)} seeds finished{measured}"
        return found

    def shared(self, *sides: Mapping[int, Any]) -> list[int]:
        """Seeds that all sides have; fewer than are needed (two) are missing runs."""
        seeds = super().shared(*sides)
        if len(seeds) < self.needed and not self.missing:
            self.missing[self.table or self.predicate.table] = f"fewer than {_count(self.needed)} seeds in common"
        return seeds

    def levels(self, label: str) -> tuple[str, ...]:
        """All points of a sweep's line at the profile, from low to high."""
        panel = self._panel(label)
        return tuple(f"{x:g}" for x in sorted({s.x for s in panel.series if s.label == label and s.x is not None}))

    def _point(self, label: str, at: str) -> BySeed:
        """A panel's line at one x, in the mean over all of them, or over the last ten."""
        panel = self._panel(label)
        name = f"{panel.id}/{label}/{at}"
        self.cells[name] = None
        line = next((line for line in self.store.lines(panel) if line["label"] == label), None)
        if line is None:
            self.missing[name] = panel.not_run or "0 seeds finished or measured"
            return {}
        chosen = at_point(line, at)
        if chosen is None:
            self.missing[name] = f"no runs at {at}"
            return {}
        found = {s: float(v) for s, v in zip(line["seeds"], chosen, strict=True) if math.isfinite(v)}
        if len(found) < self.needed:
            self.missing[name] = panel.not_run or f"{len(found)} seeds finished or measured"
            return {}
        self.curves |= {(key, panel.panel.y.partition(".")[0]) for key in line["keys"]}
        return found

    def _panel(self, label: str) -> Any:
        """The declared panel, or the first one of the figure, that draws the line."""
        try:
            found = self.store.panels(self.table or self.predicate.table, self.profile)
        except UserError as error:
            raise Missing(str(error)) from None
        if not found:
            raise Missing(f"{self.predicate.table} is not a declared figure or panel")
        drawing = [panel for panel in found if label in {s.label for s in panel.series}]
        if not drawing:
            reasons = [panel.not_run for panel in found if panel.not_run]
            raise Missing(reasons[0] if reasons else f"{self.predicate.table} has no line {label}")
        panel = drawing[0]
        self.notes[panel.note] = None
        accuracy = panel.panel.kind in ("curves", "sweep", "probe") and panel.panel.y.endswith("accuracy")
        self.unit = "points" if accuracy else ""
        self.units.add(self.unit)
        return panel

    def printed_number(self, compared: str, within: str) -> float | None:
        if self.predicate.of_figure or self.predicate.measure != "metric":
            return None
        try:
            cell = self.cell(compared, within)
        except Missing:
            return None
        number = experiments.printed(cell.table).get((cell.row.id, cell.column.id, cell.metric.id))
        return None if number is None else number.value

    def collapsed(self, compared: str, within: str) -> bool:
        """By the protocol's rule, from the accuracies of all methods of the column or panel."""
        row = self.place(compared, within)[0]
        if self.predicate.of_figure:
            panel = self._panel(row)
            return row in self.store.once(("collapsed", panel.id, self.profile), lambda: self._collapsed_lines(panel))
        cell = self.cell(compared, within)
        name = ("collapsed", cell.table.paper, cell.table.id, cell.column.id, self.profile)
        return cell.row.label in self.store.once(name, lambda: self._collapsed_rows(cell))

    def _collapsed_rows(self, cell: Cell) -> tuple[str, ...]:
        if cell.metric.quantity == "given" or not cell.configs:
            return ()
        found = {one.row.label: self.store.accuracies(one) for one in self.store.column(cell)}
        means = {label: float(np.mean(values)) for label, values in found.items() if values}
        return protocol.collapsed(means, classes_of(cell.configs[0].dataset))

    def _collapsed_lines(self, panel: Any) -> tuple[str, ...]:
        """Of a panel that draws accuracies; a line's best point counts, of curves the mean of the last ten."""
        if panel.panel.kind not in ("curves", "sweep") or not panel.panel.y.endswith("accuracy"):
            return ()
        ends = {}
        for line in self.store.lines(panel):
            curve = at_point(line, "last") if line.get("curve") else None
            ends[line["label"]] = np.mean(line["values"], 0).max() if curve is None else curve.mean()
        return protocol.collapsed(ends, classes_of(panel.series[0].configs[0].dataset))

    def rounds(self) -> list[int]:
        """Lengths of the runs used."""
        return sorted({self.store.by_key[key].config()["rounds"] for key in self.keys})

    def level_name(self, level: str, within: str) -> str:
        """A level of a trend: a value of a panel's swept setting with the setting's name, else the level's label."""
        if not self.predicate.of_figure or self.predicate.along != "columns":
            return self.name(level)
        panel = self._panel(within).panel
        return f"{panel.x}{f'/{panel.divide}' if panel.divide else ''}={level}"

    def name(self, id: str) -> str:
        """The label of a row or column that a predicate names by its id."""
        return self.names.get(id, id)
