"""The declared estimate: FedSMOO minus FedDyn, the mean over the eight columns of the horizon table, over ten seeds.

A seed's number is the mean of its eight paired differences, so that the interval is over seeds alone: the eight columns
are those of the papers' tables, not a sample of columns. Columns have intervals of their own, uncorrected.

    python docs/protocol/estimate.py            from the repository's records
    python docs/protocol/estimate.py --out STORE
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.stats import Interval, t_interval
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments
from artifact.papers.experiments import Cell
from artifact.runs.lookup import finished_runs

TABLE = "horizon/fashion-mnist"
FIRST, SECOND = "fedsmoo", "feddyn"
SEEDS = 10
#: points of accuracy within which two methods count as alike
ALIKE = 0.5


def row(name: str) -> list[Cell]:
    """The cells of a row, one per column."""
    return experiments.select(TABLE, "laptop", row=name)


def answer(estimate: Interval) -> str:
    """What the declared rule says of an interval."""
    if estimate.excludes(0):
        return f"the interval excludes zero: FedSMOO is {'better' if estimate.mean > 0 else 'worse'} than FedDyn"
    inside = max(-estimate.low, estimate.high) <= ALIKE
    return f"the interval lies within {ALIKE} points of zero" if inside else "open"


def lines(store: Path) -> list[str]:
    """The table and its answer. Raises UserError before all ten seeds of all columns are there."""
    stored, body, differences = finished_runs(store), [], []
    for one, other in zip(row(FIRST), row(SECOND), strict=True):
        a, b = experiments.by_seed(one, stored), experiments.by_seed(other, stored)
        shared = sorted(a.keys() & b.keys())
        if len(shared) != SEEDS:
            found = f"{len(shared)} seeds of {one.column.label}"
            raise UserError("out", found, f"a store with {SEEDS} seeds of {TABLE}")
        paired = np.array([a[seed] - b[seed] for seed in shared])
        differences.append(paired)
        means = (np.mean([values[seed] for seed in shared]) for values in (a, b))
        body.append([one.column.label, *(f"{mean:.2f}" for mean in means), t_interval(paired).signed])
    estimate = t_interval(np.mean(differences, axis=0))
    body.append([f"mean of {len(body)} columns", "", "", f"{estimate.signed}; {answer(estimate)}"])
    return markdown_table(["column", "FedSMOO, %", "FedDyn, %", "difference in points, 95 %"], body)


@click.command(cls=OneLine, help=__doc__)
@click.option("--out", type=click.Path(path_type=Path), help="Store of the runs.  [default: results]")
def estimate_command(out: Path | None) -> None:
    click.echo("\n".join(lines(experiments.store_of("laptop", out, only_read=True))))


if __name__ == "__main__":
    estimate_command()
