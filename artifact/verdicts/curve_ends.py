"""How training curves end: slope over the last evaluated rounds and gain since halfway, per column and panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from artifact.base.stats import Interval, slope, t_interval
from artifact.papers import experiments
from artifact.papers.declared import Table
from artifact.papers.measured import curve, known
from artifact.runs.store import LAST, Run
from artifact.verdicts.lookup import Store

#: how far from the middle of training, as a share of it, the evaluation may lie that counts as halfway
_HALFWAY = 0.1


@dataclass(frozen=True)
class Tail:
    """How the runs of a table's column or of a figure's panel end.

    slope: accuracy points per ten rounds over the last ten evaluated rounds, mean over the lines, interval over the
    seeds.  gain: mean over the rounds among these that lie after halfway, minus the accuracy halfway through training,
    likewise; None where no round near the middle was evaluated.  rising: lines whose own slope has an interval above
    zero.  cells: lines with at least two seeds.  what: data and rounds of the runs.  keys: of the runs.
    """

    table: str
    column: str
    slope: Interval
    gain: Interval | None
    rising: tuple[str, ...]
    cells: int
    what: str = ""
    keys: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def still_rising(self) -> bool:
        return self.slope.low > 0

    @property
    def gained(self) -> bool:
        return self.gain is not None and self.gain.low > 0

    @property
    def text(self) -> str:
        if self.still_rising:
            return "still rising"
        if self.slope.high < 0:
            return "falling"
        return "slope not told from zero" + (", but gained in the second half" if self.gained else "")


#: seed -> (slope, gain or None) of one line's run
_Ends = Mapping[int, tuple[float, float | None]]


def tails(table: Table, profile: str, store: Store) -> Iterator[Tail]:
    """One per column that has two seeds; nothing for a table that does not show accuracies."""
    shown = [c for c in experiments.cells(table, profile) if c.metric.quantity == "accuracy" and not c.column.pool]
    for column in dict.fromkeys(cell.column.id for cell in shown):
        cells = [cell for cell in shown if cell.column.id == column]
        runs = {
            cell.row.label: {seed: found[0] for seed, found in store.runs(cell).items()}
            for cell in cells
            if cell.metric == cells[0].metric
        }
        yield from _tail(f"{table.paper}/{table.id}", cells[0].column.label, runs, cells[0].metric.model)


def panel_tails(profile: str, store: Store) -> Iterator[Tail]:
    """One per figure panel with runs of its own that draws accuracies; points of a sweep are its lines."""
    from artifact.papers.figures import series  # the package loads the drawing library

    for panel in series.select("", profile):
        declared = panel.panel
        if declared.kind not in series.TRAINED or declared.of is not None or not declared.y.endswith(".accuracy"):
            continue
        runs: dict[str, dict[int, Run]] = {}
        for one in panel.series:
            label = one.label if one.x is None else f"{one.label} at {one.x:g}"
            runs[label] = {run.config()["seed"]: run for run in series.runs_of(one, store.stored)}
        yield from _tail(panel.id, declared.title, runs, declared.y.split(".")[0])


def distinct(found: Iterable[Tail]) -> list[Tail]:
    """Those of the same runs once, under all their names."""
    groups: dict[tuple[frozenset[str], str], list[Tail]] = {}
    for tail in found:
        groups.setdefault((tail.keys, tail.what), []).append(tail)
    return [_joined(group) for group in groups.values()]


def _joined(group: Sequence[Tail]) -> Tail:
    tables, columns = (dict.fromkeys(getattr(tail, name) for tail in group) for name in ("table", "column"))
    values = {name: getattr(group[0], name) for name in Tail.__dataclass_fields__}
    return Tail(**values | {"table": ", ".join(tables), "column": " / ".join(columns)})


def _tail(name: str, column: str, runs: Mapping[str, Mapping[int, Run]], model: str) -> Iterator[Tail]:
    """The tail of lines {label: {seed: run}}, if two of their seeds are finished."""
    found = {label: _ends(by_seed, model) for label, by_seed in runs.items()}
    found = {label: values for label, values in found.items() if len(values) > 1}
    seeds = sorted(set.intersection(*map(set, found.values()))) if found else []
    if len(seeds) < 2:
        return
    own = {label: t_interval([value for value, _ in values.values()]) for label, values in found.items()}
    slopes = [float(np.mean([values[seed][0] for values in found.values()])) for seed in seeds]
    gains = [[values[seed][1] for values in found.values()] for seed in seeds]
    used = [run for label in found for run in runs[label].values()]
    yield Tail(
        name,
        column,
        t_interval(slopes),
        t_interval([float(np.mean(row)) for row in gains if known(row)]) if all(map(known, gains)) else None,
        tuple(label for label, interval in own.items() if interval.low > 0),
        len(found),
        _what([run.config() for run in used]),
        frozenset(run.key for run in used),
    )


def _what(configs: Sequence[Mapping[str, Any]]) -> str:
    data, rounds = ({config[name] for config in configs} for name in ("dataset", "rounds"))
    return f"{', '.join(sorted(data))}, {', '.join(map(str, sorted(rounds)))} rounds"


def _ends(runs: Mapping[int, Run], model: str) -> _Ends:
    """Seed -> slope in points per ten rounds over the last ten evaluated rounds, and gain of the second half."""
    result = {}
    for seed, run in runs.items():
        rounds, accuracies = curve(run, model)
        if len(rounds) > 2:
            halfway = int(np.argmin(np.abs(np.array(rounds) - rounds[-1] / 2)))
            near = abs(rounds[halfway] - rounds[-1] / 2) <= _HALFWAY * rounds[-1]
            later = accuracies[halfway + 1 :][-LAST:]  # a short run's last ten rounds begin in its first half
            gain = float(np.mean(later)) - accuracies[halfway] if near else None
            result[seed] = (10 * slope(rounds[-LAST:], accuracies[-LAST:]), gain)
    return result
