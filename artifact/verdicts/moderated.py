"""Moderated t (Smyth 2004): a variance that borrows from the other comparisons of a table. A second column, no verdict.

With three seeds a variance has two degrees of freedom. The variances of a table's comparisons are taken as draws around
one prior variance; its degrees of freedom d0 are estimated from how much they scatter, and capped at 6, because the
variances of a few seeds say little of it (``simulated`` shows the errors with and without the cap). Comparisons with
collapsed methods are no part of it.

    python -m artifact.verdicts.moderated --draws 2000 --seed 0
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from artifact.base.stats import Interval
from artifact.base.tables_as_text import markdown_table
from artifact.verdicts.decide import Verdict
from artifact.verdicts.simulation import Claim, claims, draws

#: most degrees of freedom that the prior may have
CAP = 6.0
#: level of the family-wise error over a table's comparisons
FAMILY = 0.05


@dataclass(frozen=True)
class Prior:
    """df: of the prior, 0 where the variances scatter too much to be pooled.  variance: of the prior."""

    df: float
    variance: float

    def of(self, variance: ArrayLike, df: int) -> np.ndarray:
        """Moderated variances: the mean of prior and own, weighed by degrees of freedom."""
        return (self.df * self.variance + df * np.asarray(variance, dtype=float)) / (self.df + df)


def prior(variances: ArrayLike, df: int, cap: float = CAP) -> Prior:
    """The prior of positive variances [k] that have ``df`` degrees of freedom each, by the moments of their logarithms.

    >>> prior([1.0, 1.0, 1.0, 1.0], df=2).df
    6.0
    """
    logs = np.log(np.asarray(variances, dtype=float)) - special.digamma(df / 2) + math.log(df / 2)
    if logs.size < 2:
        return Prior(0.0, 1.0)
    excess = float(logs.var(ddof=1)) - float(special.polygamma(1, df / 2))
    found = min(cap, 2 * _trigamma_inverse(excess)) if excess > 0 else cap
    return Prior(found, float(np.exp(logs.mean() + special.digamma(found / 2) - math.log(found / 2))))


def _trigamma_inverse(value: float) -> float:
    return float(optimize.brentq(lambda x: float(special.polygamma(1, x)) - value, 1e-6, 1e6))


def intervals(differences: Sequence[Sequence[float]], level: float = 0.95, cap: float = CAP) -> list[Interval]:
    """Moderated t intervals of comparisons [k][n] of one table; those without spread are left as they are."""
    data = np.asarray(differences, dtype=float)
    n, means, variances = data.shape[1], data.mean(1), data.var(1, ddof=1)
    shared = prior(variances[variances > 0], n - 1, cap)
    half = np.sqrt(shared.of(variances, n - 1) / n) * special.stdtrit(shared.df + n - 1, (1 + level) / 2)
    half[variances == 0] = 0
    return [Interval(m, m - h, m + h, n, level) for m, h in zip(means.tolist(), half.tolist(), strict=True)]


def beside(found: Sequence[Verdict]) -> dict[str, Interval]:
    """Claim -> moderated 95 % interval of its deciding comparison, from all comparisons of the same runs' table.

    Nothing for a claim that a mean contrast decided, or a comparison without a spread.
    """
    tables: dict[tuple[str, str, int], dict[tuple[str, float], float]] = {}
    for v in found:
        for one in v.comparisons:
            if 0 < one["high"] - one["low"] < math.inf:
                group = tables.setdefault((v.command, v.unit, one["n"]), {})
                group[one["label"], one["mean"]] = _variance(one)
    result = {}
    for v in found:
        for one in v.comparisons:
            group = tables.get((v.command, v.unit, one["n"]), {})
            if one["label"] == v.decided_by and (one["label"], one["mean"]) in group:
                shared, n = prior(list(group.values()), one["n"] - 1), one["n"]
                half = float(np.sqrt(shared.of(_variance(one), n - 1) / n) * special.stdtrit(shared.df + n - 1, 0.975))
                result[v.id] = Interval(one["mean"], one["mean"] - half, one["mean"] + half, n)
    return result


def _variance(comparison: Mapping[str, Any]) -> float:
    """Of the differences behind an unmoderated 95 % interval; a grid's widening counts as spread."""
    n = comparison["n"]
    return n * ((comparison["high"] - comparison["low"]) / 2 / float(special.stdtrit(n - 1, 0.975))) ** 2


# ---- its own simulation ----------------------------------------------------------------------------------------------


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
@click.option("--draws", "number", type=click.IntRange(1), default=2000, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--claim", "id", default="sun23-tab1", show_default=True, help="Its comparisons are the table's.")
def moderated_command(number: int, seed: int, id: str) -> None:
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
    moderated_command()
