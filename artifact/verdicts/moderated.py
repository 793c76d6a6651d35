"""Moderated t (Smyth 2004): a variance that borrows from the other comparisons of a table. A second column, no verdict.

With three seeds a variance has two degrees of freedom. The variances of a table's comparisons are taken as draws around
one prior variance; its degrees of freedom d0 are estimated from how much they scatter, and capped at 6, because the
variances of a few seeds say little of it (``docs/protocol/moderated_errors.py`` has the errors with and without the
cap). Comparisons with collapsed methods are no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from artifact.base.stats import Interval
from artifact.verdicts.decide import Verdict

#: most degrees of freedom that the prior may have
CAP = 6.0


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
