"""Up to which accuracy a cost claim counts, by the protocol's rule and nothing else.

A target is a share of FedAvg's final accuracy on the tuning seeds in the same column, rounded down to whole per cents.
The shares are those that the printed targets, 68 and 74 %, are of the printed 76.00 %.

    python -m artifact.verdicts.targets horizon/targets --out STORE
"""

from __future__ import annotations

import math
from pathlib import Path

import click
import numpy as np

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.options import STORE
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments
from artifact.papers.experiments import Stored
from artifact.verdicts.lookup import open_store

SHARES = (0.895, 0.974)


def targets(table: str, stored: Stored) -> dict[str, tuple[float, tuple[int, ...]]]:
    """Column -> FedAvg's mean accuracy in per cent over all declared seeds, and the targets; none where a seed misses.

    Raises UserError for a table that is not declared.
    """
    found = {}
    for cell in experiments.select(table, "laptop", row="fedavg"):
        values = experiments.by_seed(cell, stored)
        if set(cell.seeds) <= values.keys():
            mean = float(np.mean([values[seed] for seed in cell.seeds]))
            found[cell.column.label] = mean, tuple(math.floor(share * mean) for share in SHARES)
    return found


@click.command(cls=OneLine, help=__doc__)
@click.argument("table")
@STORE
def targets_command(table: str, out: Path | None) -> None:
    store = open_store("laptop", experiments.there(out))
    found = targets(table, store.stored)
    if not found:
        raise UserError("out", str(store.folder), f"a store with every declared seed of FedAvg in a column of {table}")
    body = [[label, f"{mean:.2f}", *map(str, own)] for label, (mean, own) in found.items()]
    heads = [f"{share} of it, rounded down, %" for share in SHARES]
    click.echo("\n".join(markdown_table(["column", "FedAvg, validation accuracy in %", *heads], body)))


if __name__ == "__main__":
    targets_command()
