"""A panel at a profile: the lines that it draws and the runs behind every point of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from artifact.base.errors import UserError
from artifact.papers import experiments
from artifact.papers.declared import PROFILES, Figure, Line, Panel, Profile
from artifact.runs.lookup import Stored, find_runs
from artifact.runs.store import Run
from artifact.training.config import RunConfig

#: kinds whose runs are curves or points; of these, models that are measured after training; and those without runs
TRAINED = ("curves", "sweep", "probe")
MEASURED = ("landscape", "spectrum", "density")
UNTRAINED = ("bars", "heatmap", "sketch")


@dataclass(frozen=True)
class Series:
    """One point of a sweep, or a whole line of any other panel.

    x: position on the axis, None without a sweep and for a level.  configs: one per seed.  not_run: why they are not
    run here, empty where they are.  replaced: whether the profile replaces the paper's settings by its own, so that
    other panels may have the same runs.
    """

    label: str
    x: float | None
    configs: tuple[RunConfig, ...]
    not_run: str = ""
    replaced: bool = True


@dataclass(frozen=True)
class PanelAt:
    """A declared panel at one profile."""

    figure: Figure
    panel: Panel
    profile: str

    @property
    def id(self) -> str:
        return f"{self.figure.paper}/{self.figure.id}/{self.panel.id}"

    @property
    def name(self) -> str:
        """Stem of the panel's record."""
        return f"{self.id.replace('/', '-')}-{self.profile}"

    @property
    def settings(self) -> Profile:
        return self.panel.profiles.get(self.profile, Profile())

    @property
    def note(self) -> str:
        """What the profile changes, in words."""
        return self._table_profile.note if self._table_profile else self.settings.note

    @property
    def _table_profile(self) -> Profile | None:
        if self.panel.of is None:
            return None
        return experiments.find(f"{self.figure.paper}/{self.panel.of.split('/')[0]}")[1].profiles[self.profile]

    @cached_property
    def not_run(self) -> str:
        """Why this profile does not run the panel here; empty where it does, if only in part."""
        if self.panel.kind in UNTRAINED:
            return ""
        return min((series.not_run for series in self.series), key=bool)

    @property
    def _reason(self) -> str:
        """Why the lines that are the panel's own are not run at this profile."""
        profile = self.settings
        given = "" if "*" in profile.only else profile.reason or "not declared for this profile"
        return self.panel.not_run.get(self.profile, given)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """All lines, or points of a sweep, those included that this profile does not run here."""
        panel = self.panel
        if panel.kind in UNTRAINED:
            return ()
        if panel.of is not None:
            other = panel.not_run.get(self.profile, "")
            cells = self._cells()
            return tuple(Series(c.row.label, None, c.configs, other or c.not_run, self._replaced) for c in cells)
        if panel.kind != "sweep":
            return tuple(self._series(row, None) for row in panel.rows)
        swept = (self._series(row, value) for row in panel.rows for value in self.values)
        return (*swept, *(self._series(row, None) for row in panel.levels))

    def _series(self, row: Line, value: float | None) -> Series:
        """A line, or its point at one value of the swept setting, which goes over all other settings."""
        swept = {} if value is None or self.panel.x is None else {self.panel.x: value}
        settings = self._settings_of(row) | swept
        x = None if value is None else self._position(row, value)
        reason = self._reason if self.profile == "quick" else row.not_run or self._reason
        return Series(row.label, x, experiments.seeded(settings, self.settings.seeds), reason, self._replaced)

    @property
    def _replaced(self) -> bool:
        return self.profile != "paper"

    @property
    def values(self) -> tuple[float, ...]:
        """Values of the swept setting at this profile."""
        values = self.panel.values
        return values.get(self.profile, ()) if isinstance(values, Mapping) else values

    def _settings_of(self, row: Line) -> dict[str, Any]:
        """The profile goes over the panel and the row, as in the tables."""
        own = row.at.get(self.profile, {})
        return {**self.panel.settings, **row.settings, **self.settings.settings, **own}

    def _position(self, row: Line, value: float) -> float:
        divide = self.panel.divide
        return float(value) if divide is None else float(value) / float(self._settings_of(row)[divide])

    def _cells(self) -> list[Any]:
        """The cells of the table's column that the panel draws, in the order of its rows."""
        assert self.panel.of is not None
        name, _, wanted = self.panel.of.partition("/")
        _, table = experiments.find(f"{self.figure.paper}/{name}")
        found = [c for c in experiments.cells(table, self.profile) if c.column.id == wanted]
        # the runs of a row differ between metrics in probes only: take those that ask for least and are run here
        found.sort(key=lambda c: (bool(c.not_run), len(c.configs[0].probes)), reverse=True)
        cells = {c.row.id: c for c in found}
        if not cells:
            raise UserError("of", self.panel.of, ", ".join(f"{table.id}/{column.id}" for column in table.columns))
        rows = [row.id for row in self.panel.rows] or list(cells)
        missing = [row for row in rows if row not in cells]
        if missing:
            raise UserError(f"rows of {self.id}", missing[0], ", ".join(cells))
        return [cells[row] for row in rows]


NO_FIGURE = "a figure of another paper; {} declares none in experiments.toml"


def find(name: str) -> Figure:
    """``PAPER/FIGURE`` -> figure. Raises UserError with what there is."""
    paper, _, wanted = name.partition("/")
    figures = experiments.load(paper).figure
    for figure in figures:
        if figure.id == wanted:
            return figure
    raise UserError("figure", name, ", ".join(f"{paper}/{figure.id}" for figure in figures) or NO_FIGURE.format(paper))


def select(selection: str, profile: str) -> list[PanelAt]:
    """Panels of everything (empty), ``PAPER``, ``PAPER/FIGURE`` or ``PAPER/FIGURE/PANEL``; empty for another name."""
    if profile not in PROFILES:
        raise UserError("profile", profile, ", ".join(PROFILES))
    parts = selection.split("/") if selection else []
    papers = experiments.papers()
    figures = [one for key in papers if parts[:1] in ([], [key]) for one in experiments.load(key).figure]
    panels = [PanelAt(figure, panel, profile) for figure in figures for panel in figure.panel]
    return [panel for panel in panels if panel.id.split("/")[: len(parts)] == parts]


def configs(selection: str, profile: str, everything: bool = False) -> list[RunConfig]:
    """The runs that the selected panels need; panels may share runs.

    everything: also the runs that the profile leaves out here.
    """
    series = [s for panel in select(selection, profile) for s in panel.series if everything or not s.not_run]
    return [config for s in series for config in s.configs]


def runs_of(series: Series, stored: Stored) -> list[Run]:
    """Finished runs of a series in the order of its seeds.

    None where a profile does not run the series and would borrow another panel's runs, on other data.
    """
    return [] if series.not_run and series.replaced else find_runs(series.configs, stored)
