"""Statistics for few seeds: Student t intervals, paired differences on common random numbers, exact sign-flip tests.

Three seeds are too few for a bootstrap (its nominal 95 % interval covers about 75 %); Student's t covers 95 % for the
normal data that means over many test images are close to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from artifact.errors import UserError


@dataclass(frozen=True)
class Interval:
    """A mean with its two-sided confidence interval.

    n: number of values; low and high are nan for n = 1, where no interval exists.
    """

    mean: float
    low: float
    high: float
    n: int
    level: float = 0.95

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of ``value``; False where there is no interval."""
        return self.low > value or self.high < value


def t_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Student t interval of the mean. Raises UserError for no values."""
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise UserError("values", [], "at least one number")
    mean = float(data.mean())
    if data.size == 1:
        return Interval(mean, math.nan, math.nan, 1, level)
    if np.ptp(data) == 0:  # scipy's interval of a constant sample is nan
        return Interval(mean, mean, mean, data.size, level)
    interval = stats.ttest_1samp(data, 0.0).confidence_interval(level)
    return Interval(mean, float(interval.low), float(interval.high), data.size, level)


def paired_difference(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of mean(a - b) for runs that share seeds. Raises UserError for different lengths."""
    if len(a) != len(b):
        raise UserError("pairs", (len(a), len(b)), "two sequences of one length, paired by seed")
    return t_interval(np.asarray(a, dtype=float) - np.asarray(b, dtype=float), level)


def sign_flip_p(differences: Sequence[float]) -> float:
    """Exact two-sided p value of the paired sign-flip test; its smallest value is 2^(1-n)."""
    data = np.asarray(differences, dtype=float)
    if data.size < 2:
        return 1.0
    result = stats.permutation_test(
        (data,), np.mean, permutation_type="samples", alternative="two-sided", n_resamples=np.inf
    )
    return float(result.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the given order."""
    order = np.argsort(p_values)
    adjusted, largest = np.empty(len(order)), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted.tolist()
