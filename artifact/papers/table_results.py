"""Results of a table's cells: ours from finished runs, the paper's number, and the paired comparison between rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from artifact.base.stats import Interval, holm, known, p_greater, paired_difference, sign_flip_p, slope, t_interval
from artifact.papers import experiments, needed_runs
from artifact.papers.declared import Metric, Table
from artifact.papers.experiments import Cell, Number
from artifact.papers.measured import curve, grid
from artifact.runs import measure_sharpness, session
from artifact.runs.lookup import Stored, find_runs, finished_runs
from artifact.runs.store import LAST, Run
from artifact.runs.stored_model import open_target
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import Settings
from artifact.statements.comparisons import UP_TO_TARGET

#: verdicts of claims in training
SYMBOLS = {
    "reproduced": "✓",
    "seen": "+",
    "mostly-seen": "~",
    "no-difference": "=",
    "undecided": "?",
    "reversed": "−",
    "contradicted": "✗",
    "untuned": "○",
    "not-run": "–",
}
#: where a cell's difference to the row that it is held against lies, beside the paper's; no verdict of a claim
SIDES = {
    "same side, interval without 0": "✓",
    "same side, mean alone": "~",
    "neither side": "?",
    "other side, interval without 0": "✗",
}
#: quantities that are measured on a run's last model, after training
CURVATURE = {"top-eigenvalue", "trace"}


@dataclass(frozen=True)
class Comparison:
    """A cell against the cell of the row that it is held against, paired by seed.

    difference: own minus reference, in the metric's unit; a round count that was not reached enters as the number of
    rounds run, which makes the difference a bound. What is counted up to a target is known to evaluated rounds only:
    its interval is widened by that grid.  printed: the paper's difference.
    p_t, p_sign: two-sided, Student and exact sign-flip; p_t is 1 for equal differences of such counts, which have no
    spread to judge them by; holm_t, holm_sign: adjusted over the comparisons of the table.
    """

    against: str
    difference: Interval
    printed: float | None
    p_t: float
    p_sign: float
    holm_t: float = math.nan
    holm_sign: float = math.nan

    @property
    def side(self) -> str:
        """By the paper's sign: the interval excludes 0 on its side, only the mean lies there, neither, the opposite.

        Empty for one seed, which has no interval.
        """
        same, mean_alone, neither, other = SIDES
        if self.difference.n < 2:
            return ""
        if not self.printed:
            return neither
        along = math.copysign(1.0, self.printed) * self.difference.mean
        if self.p_t < 1 and self.difference.excludes(0):
            return same if along > 0 else other
        return mean_alone if along > 0 else neither


@dataclass(frozen=True)
class Entry:
    """One cell's result: seed -> value, the paper's number, the runs behind it, its state and its comparison."""

    cell: Cell
    values: dict[int, float]
    paper: Number | None
    runs: list[Run]
    state: str
    comparison: Comparison | None = None

    @cached_property
    def ours(self) -> Interval | None:
        """Mean over seeds with its interval; None without values or where a seed has not reached the target."""
        values = list(self.values.values())
        return t_interval(values) if values and all(map(math.isfinite, values)) else None

    @property
    def text(self) -> str:
        """``mean ± half width (n)``, or why there is none."""
        if self.ours is not None:
            spread = f" ± {digits(self.ours.half_width, self.cell.metric)}" if self.ours.n > 1 else ""
            return f"{digits(self.ours.mean, self.cell.metric)}{spread} (n={self.ours.n})"
        if self.values:
            reached = sum(map(math.isfinite, self.values.values()))
            return (
                f"not reached (n={len(self.values)})" if not reached else f"reached in {reached} of {len(self.values)}"
            )
        if not self.runs:
            return SYMBOLS["not-run"]
        return "incomplete" if len(self.runs) < len(self.cell.configs) else "not measured"

    @property
    def printed(self) -> str:
        """The paper's number as it is printed; empty where it prints nothing."""
        return "" if self.paper is None else self.paper.text

    @property
    def miniature(self) -> bool:
        """Whether the number only tests the program and is not held against the paper's."""
        return self.cell.profile == "quick"

    @property
    def side(self) -> str:
        """On which side of the paper's sign the comparison lies; empty without a comparison, and for a miniature."""
        if self.comparison is None or self.comparison.printed is None or self.miniature:
            return ""
        return self.comparison.side

    @property
    def symbol(self) -> str:
        return SIDES.get(self.side, "")

    def summary(self, kind: str) -> float | None:
        """Mean over runs of the last or best round's accuracy in per cent, for an accuracy; None for other metrics."""
        if self.cell.metric.quantity != "accuracy" or not self.runs:
            return None
        model = self.cell.metric.model
        found = [100 * s[model][kind] for s in map(session.summarise, self.runs) if model in s]
        return sum(found) / len(found) if found else None

    def rise(self) -> float | None:
        """Mean over runs of the least-squares change in points over the last ten evaluated rounds, of an accuracy."""
        if self.cell.metric.quantity != "accuracy" or not self.runs:
            return None
        found = []
        for run in self.runs:
            rounds, values = (part[-LAST:] for part in curve(run, self.cell.metric.model))
            found.append(slope(rounds, values) * (rounds[-1] - rounds[0]) if rounds else math.nan)
        return None if any(map(math.isnan, found)) else sum(found) / len(found)


def digits(value: float, metric: Metric) -> str:
    return f"{value:.2f}" if metric.unit == "%" else f"{value:.4g}"


# ---- collecting ------------------------------------------------------------------------------------------------------


def make(
    tables: Sequence[Table], profile: str, settings: Settings, *, everything: bool = False, quiet: bool = False
) -> None:
    """Train what the settings' store lacks for the tables, on all cores, each run resumable.

    Where a table shows curvature, runs without a record of it are measured. everything: also
    the cells that the profile marks as not run here.
    """
    configs = [c for table in tables for c in needed_runs.configs(f"{table.paper}/{table.id}", profile, everything)]
    sweep.run_missing(configs, settings, quiet=quiet)
    curved = [table for table in tables if CURVATURE & {metric.quantity for metric in table.metrics}]
    stored = finished_runs(settings.store) if curved else {}
    for table in curved:
        for run, samples in _unmeasured(table, profile, stored, everything):
            record_curvature(run, samples, settings.data_root)


def _unmeasured(table: Table, profile: str, stored: Stored, everything: bool) -> Iterator[tuple[Run, int | None]]:
    """Runs behind the table's curvature cells that have no record on the images that it asks for, each once."""
    shown = [c for c in experiments.cells(table, profile) if c.metric.quantity in CURVATURE]
    wanted_cells = [c for c in shown if everything or not c.not_run]
    asked = {run.key: (run, c.samples) for c in wanted_cells for run in find_runs(c.configs, stored)}
    for run, samples in asked.values():
        known = run.curvature()
        if not known or samples not in (None, known["data"]):
            yield run, samples


def record_curvature(run: Run, samples: int | None, data_root: Path | None) -> None:
    """Measure the largest Hessian eigenvalue and the trace of a run's last model and store them beside the run.

    samples: training images, a fixed random subset; all by default.

    Raises UserError for a run whose checkpoint is gone.
    """
    target = open_target(run.key, run.folder.parent, data_root)
    options = measure_sharpness.Options(parts=("top", "trace"), k=1, error=0.05)
    measured = measure_sharpness.measure(target.trainer.risk(samples), target.w.float(), options)
    measure_sharpness.record(target, measured, samples, options)


def look_up(table: Table, profile: str, stored: Stored) -> list[Entry]:
    """The table's entries from finished runs alone."""
    printed = experiments.printed(table)
    entries = []
    for cell in experiments.cells(table, profile):
        number = printed.get((cell.row.id, cell.column.id, cell.metric.id))
        runs = find_runs(cell.configs, stored)
        values = experiments.by_seed(cell, stored)
        entries.append(Entry(cell, values, number, runs, experiments.state(cell, stored)))
    return compared(entries)


def by_seed(entry: Entry) -> dict[int, Run]:
    return {run.config()["seed"]: run for run in entry.runs}


def reference_of(entry: Entry, entries: list[Entry]) -> Entry | None:
    """The entry of the same column and metric that this one's row is held against."""
    wanted = (entry.cell.row.against, entry.cell.column.id, entry.cell.metric.id)
    return next((e for e in entries if (e.cell.row.label, e.cell.column.id, e.cell.metric.id) == wanted), None)


def compared(entries: list[Entry]) -> list[Entry]:
    """The entries with their comparisons; p values adjusted over all comparisons of the table."""
    found = adjusted([compare(entry, reference_of(entry, entries)) for entry in entries])
    return [replace(entry, comparison=comparison) for entry, comparison in zip(entries, found, strict=True)]


def adjusted(comparisons: list[Comparison | None]) -> list[Comparison | None]:
    """The comparisons with p values after Holm over all that there are."""
    made = [c for c in comparisons if c is not None]
    by_holm = zip(holm([c.p_t for c in made]), holm([c.p_sign for c in made]), strict=True)
    tested = iter([replace(c, holm_t=t, holm_sign=sign) for c, (t, sign) in zip(made, by_holm, strict=True)])
    return [None if c is None else next(tested) for c in comparisons]


def compare(entry: Entry, other: Entry | None) -> Comparison | None:
    """Paired difference over the seeds that both have; None without such seeds or for a metric that is a relation."""
    if other is None or entry.cell.metric.to is not None:
        return None
    seeds = sorted(set(entry.values) & set(other.values))
    pairs = [(_restricted(entry, s), _restricted(other, s)) for s in seeds]
    if not pairs or not all(math.isfinite(v) for pair in pairs for v in pair):
        return None
    own, reference = zip(*pairs, strict=True)
    differences = [a - b for a, b in pairs]
    theirs = [None if side.paper is None else side.paper.value for side in (entry, other)]
    printed = theirs[0] - theirs[1] if known(theirs) else None
    earlier, later = (sum(_grid(side, s) for s in seeds) / len(seeds) for side in (entry, other))
    interval = paired_difference(own, reference).widened(earlier, later)
    above, below = p_greater([d - earlier for d in differences]), p_greater([-d - later for d in differences])
    untested = entry.cell.metric.quantity in UP_TO_TARGET and len(set(differences)) == 1
    two_sided = 1.0 if untested else min(1.0, 2 * min(above, below))
    return Comparison(entry.cell.row.against or "", interval, printed, two_sided, sign_flip_p(differences))


def _grid(entry: Entry, seed: int) -> float:
    """By how much the seed's value may be too large, in the mean over its runs."""
    metric, target = entry.cell.metric, entry.cell.target
    found = [grid(metric, run, target) for run in entry.runs if run.config()["seed"] == seed]
    return sum(found) / len(found) if found else 0.0


def _restricted(entry: Entry, seed: int) -> float:
    """The value, or the rounds that were run for a target that was not reached in them."""
    value = entry.values[seed]
    if math.isinf(value) and entry.cell.metric.quantity == "rounds-to":
        return float(entry.cell.configs[0].rounds)
    return value
