"""The estimate that the protocol declares beside the claims: one method minus another, the mean over a table's columns.

A seed's number is the mean of its paired differences over the columns, so that the interval is over seeds alone: the
columns are those of the papers' tables, not a sample of columns. It is given once, when all declared seeds are there.

    python -m artifact.verdicts.estimate horizon/fashion-mnist fedsmoo feddyn --out STORE
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.options import STORE
from artifact.base.stats import Interval, t_interval
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments
from artifact.papers.experiments import Stored
from artifact.verdicts.lookup import open_store

#: points of accuracy within which two methods count as alike
ALIKE = 0.5


@dataclass(frozen=True)
class Estimate:
    """first, second: labels of the methods.  columns: label -> mean of each, and their paired difference.

    mean: of the differences over the columns, in points.
    """

    first: str
    second: str
    columns: dict[str, tuple[float, float, Interval]]
    mean: Interval

    @property
    def answer(self) -> str:
        """What the declared rule says."""
        alike = max(-self.mean.low, self.mean.high) <= ALIKE
        if self.mean.excludes(0):
            side, less = "better" if self.mean.mean > 0 else "worse", f", by at most {ALIKE} points" if alike else ""
            return f"the interval excludes zero: {self.first} is {side}{less}"
        return f"the interval lies within {ALIKE} points of zero" if alike else "open"


def estimate(table: str, first: str, second: str, stored: Stored) -> Estimate | None:
    """The estimate on the stored runs; None before all declared seeds of all columns are there."""
    rows = [experiments.select(table, "laptop", row=name) for name in (first, second)]
    columns, differences = {}, []
    for cells in zip(*rows, strict=True):
        a, b = (experiments.by_seed(cell, stored) for cell in cells)
        seeds = cells[0].seeds
        if not set(seeds) <= a.keys() & b.keys():
            return None
        means = [float(np.mean([own[seed] for seed in seeds])) for own in (a, b)]
        differences.append([a[seed] - b[seed] for seed in seeds])
        columns[cells[0].column.label] = means[0], means[1], t_interval(differences[-1])
    return Estimate(rows[0][0].row.label, rows[1][0].row.label, columns, t_interval(np.mean(differences, axis=0)))


def lines(found: Estimate) -> list[str]:
    """A row for every column, whose intervals are uncorrected, and the mean with its answer."""
    body = [[name, f"{a:.2f}", f"{b:.2f}", difference.signed] for name, (a, b, difference) in found.columns.items()]
    body.append([f"mean of {len(body)} columns", "", "", f"{found.mean.signed}; {found.answer}"])
    return markdown_table(["column", f"{found.first}, %", f"{found.second}, %", "difference in points, 95 %"], body)


@click.command(cls=OneLine, help=__doc__)
@click.argument("table")
@click.argument("first")
@click.argument("second")
@STORE
def estimate_command(table: str, first: str, second: str, out: Path | None) -> None:
    store = open_store("laptop", experiments.there(out))
    found = estimate(table, first, second, store.stored)
    if found is None:
        allowed = f"a store with every declared seed of {first} and {second} in {table}"
        raise UserError("out", str(store.folder), allowed)
    click.echo("\n".join(lines(found)))


if __name__ == "__main__":
    estimate_command()
