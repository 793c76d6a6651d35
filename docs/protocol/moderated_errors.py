"""Errors of the moderated t on the stored residuals of a table's comparisons, beside those of the ordinary t.

A true variance is here the sample variance of three stored seeds. These scatter more than true variances do, so that
borrowing errs more often than it would: the numbers are a bound of what to expect.

    python docs/protocol/moderated_errors.py --draws 1000 --seed 0
"""

from __future__ import annotations

from dataclasses import dataclass

import click
import numpy as np
from scipy import special
from verdict_errors import Claim, claims, draws

from artifact.base.tables_as_text import markdown_table
from artifact.verdicts.moderated import CAP, Prior, prior

#: level of the family-wise error over a table's comparisons
FAMILY = 0.05


@dataclass(frozen=True)
class Errors:
    """family: share of null tables with a false decision after Bonferroni.  worst: least coverage of a comparison.

    found: share of comparisons that are decided after Bonferroni where all means are two standard deviations.
    """

    family: float
    worst: float
    found: float


def simulated(claim: Claim, n: int, number: int, rng: np.random.Generator, cap: float | None) -> Errors:
    """Errors of the moderated t on n seeds of a claim's comparisons; cap None: of the ordinary t."""
    k = len(claim.deviations)
    margins = np.array([leaf.margin for leaf in claim.node.leaves()])
    null, effect = (draws(claim, size, False, number, rng)[:, :n] - margins for size in (0.0, 2.0))
    wrong, covered, found = 0, np.zeros(k), 0.0
    for data, other in zip(null, effect, strict=True):
        t, df = _t(data.T, cap)
        wrong += bool((np.abs(t) > special.stdtrit(df, 1 - FAMILY / 2 / k)).any())
        covered += np.abs(t) <= special.stdtrit(df, 0.975)
        t, df = _t(other.T, cap)
        found += float((t > special.stdtrit(df, 1 - FAMILY / 2 / k)).mean())
    return Errors(wrong / number, float(covered.min() / number), found / number)


def _t(data: np.ndarray, cap: float | None) -> tuple[np.ndarray, float]:
    """t [k] of comparisons [k, n] and its degrees of freedom."""
    n, variances = data.shape[1], data.var(1, ddof=1)
    shared = Prior(0.0, 1.0) if cap is None else prior(variances, n - 1, cap)
    return data.mean(1) / np.sqrt(shared.of(variances, n - 1) / n), shared.df + n - 1


@click.command(help=__doc__)
@click.option("--draws", "number", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--claim", "id", default="sun23-tab1", show_default=True, help="Its comparisons are the table's.")
def errors_command(number: int, seed: int, id: str) -> None:
    claim = next(one for one in claims() if one.id == id)
    body = []
    for n in (3, 6, 10):
        for name, cap in (
            ("ordinary t", None),
            (f"moderated t, d0 at most {CAP:g}", CAP),
            ("moderated t, no cap", 1e6),
        ):
            found = simulated(claim, n, number, np.random.default_rng([seed, n]), cap)
            body.append([name, str(n), *(f"{100 * x:.1f} %" for x in (found.family, found.worst, found.found))])
    head = ["test", "seeds", f"family-wise error over {len(claim.deviations)} (nominal {100 * FAMILY:g} %)"]
    click.echo("\n".join(markdown_table([*head, "least coverage of a comparison", "found at two deviations"], body)))


if __name__ == "__main__":
    errors_command()
