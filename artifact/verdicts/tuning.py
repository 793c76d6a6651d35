"""Which value of a tuned setting each method gets, by the protocol's rule and nothing else.

The best value has the highest mean, over the tuning seeds, of the validation accuracy of the last ten evaluated rounds.
Values within 0.05 points of it are tied: then the grid's nearest to the printed one is taken if it is among them, else
the smallest. A best value at an edge of its grid asks for the next one beyond it, half a decade away, whichever of the
tied ones is chosen.

    python -m artifact.verdicts.tuning horizon/tuning --out STORE
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from artifact.base.errors import UserError
from artifact.base.options import STORE
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments
from artifact.verdicts.lookup import Store, open_store

TIED = 0.05


@dataclass(frozen=True)
class Choice:
    """The value that a method gets, and the one to run first where the best lies at an edge; None where it does not.

    values: setting -> mean validation accuracy in per cent.
    """

    label: str
    values: Mapping[float, float]
    value: float
    beyond: float | None


def choose(label: str, values: Mapping[float, float], printed: float | None = None) -> Choice:
    """The choice from setting -> accuracy, of at least three settings.

    >>> choose("FedSAM", {0.0316: 80.0, 0.1: 81.0, 0.3162: 79.0})
    Choice(label='FedSAM', values={0.0316: 80.0, 0.1: 81.0, 0.3162: 79.0}, value=0.1, beyond=None)
    >>> choose("FedCM", {0.0316: 80.0, 0.1: 81.0, 0.3162: 82.0}).beyond
    1.0
    """
    if len(values) < 3:
        raise UserError(f"tuning of {label}", sorted(values), "at least three values")
    best = max(values.values())
    tied = sorted(value for value, accuracy in values.items() if accuracy >= best - TIED)
    nearest = min(values, key=lambda value: abs(np.log(value / printed))) if printed else None
    value = nearest if nearest in tied else tied[0]
    low, high = min(values), max(values)
    top = max(values, key=values.__getitem__)  # by itself: a tie does not decide whether the grid is wide enough
    step = {low: -0.5, high: 0.5}.get(top)  # on the grid of half decades, of which 0.0316 is a rounded value
    beyond = None if step is None else 10 ** (round(2 * np.log10(top)) / 2 + step)
    return Choice(label, values, value, None if beyond is None else float(f"{beyond:.3g}"))


def choices(panels: str, store: Store) -> list[Choice]:
    """The choices of all methods from the finished points of the tuning panels, which may extend each other's grids.

    The printed value is the setting's where the methods are declared; a value that was chosen stands under ``at``.
    """
    found: dict[str, dict[float, float]] = {}
    printed: dict[str, Any] = {}
    for panel in store.panels(panels, "laptop"):
        declared = panel.panel
        printed |= {row.label: (declared.settings | row.settings).get(declared.x or "") for row in declared.rows}
        for line in store.lines(panel):
            for x, column in zip(line["x"], np.transpose(line["values"]), strict=True):
                found.setdefault(line["label"], {})[x] = float(np.mean(column))
    return [choose(label, values, printed.get(label)) for label, values in found.items() if len(values) >= 3]


def table(found: Iterable[Choice]) -> list[str]:
    body = [
        [
            one.label,
            ", ".join(f"{value:g}: {accuracy:.2f}" for value, accuracy in sorted(one.values.items())),
            f"{one.value:g}",
            "-" if one.beyond is None else f"{one.beyond:g}",
        ]
        for one in found
    ]
    return markdown_table(
        ["method", "value: validation accuracy in %", "chosen", "to run first, beyond the edge"], body
    )


@click.command(help=__doc__)
@click.argument("panels")
@STORE
def tuning_command(panels: str, out: Path | None) -> None:
    store = open_store("laptop", experiments.there(out))
    found = choices(panels, store)
    click.echo("\n".join(table(found)) if found else f"no method of {panels} has three finished values")


if __name__ == "__main__":
    tuning_command()
