"""Statistics for three to five seeds: t intervals, paired differences, exact tests, censored rounds, trends.

Three seeds are too few for a bootstrap (its nominal 95 % interval covers about 75 %); Student's t covers 95 % for the
normal data that means over many test images are close to. Exact tests need no normality, and at n = 3 their smallest
two-sided p value is 1/4, so they stand beside the intervals and do not decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from artifact.base.cache import cache
from artifact.base.errors import UserError

#: Page's exact distribution is enumerated up to so many levels; beyond, its normal approximation
_EXACT_LEVELS = 8


T = TypeVar("T")


def known(values: Collection[T | None]) -> TypeGuard[list[T]]:
    """Whether none of the values is missing.

    >>> known([1.0, 2.0]), known([1.0, None])
    (True, False)
    """
    return None not in values


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

    @property
    def signed(self) -> str:
        """``+1.20 [+0.40, +2.00] (n=3)``; no interval where there is none."""
        bounds = "" if self.n < 2 else f" [{self.low:+.2f}, {self.high:+.2f}]"
        return f"{self.mean:+.2f}{bounds} (n={self.n})"

    def widened(self, below: float, above: float) -> Interval:
        """For values that are known up to a grid only, by which each end is moved outwards."""
        return replace(self, low=self.low - below, high=self.high + above)

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of ``value``; False where there is no interval."""
        return self.low > value or self.high < value


# ---- intervals -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """What Student's t needs to know of values, for intervals and tests at any level.

    n: number of values.  error: standard error of their mean; 0 where all are equal, None for a single one.

    >>> Sample.of([1.0, 2.0, 3.0]).interval().signed
    '+2.00 [-0.48, +4.48] (n=3)'
    """

    n: int
    mean: float
    error: float | None

    @classmethod
    def of(cls, values: ArrayLike) -> Sample:
        """Raises UserError for no values."""
        data = np.asarray(values, dtype=float)
        if data.size == 0:
            raise UserError("values", [], "at least one number")
        if data.size == 1:
            return cls(1, float(data[0]), None)
        if np.ptp(data) == 0:  # exactly, whatever the rounding of the mean
            return cls(data.size, float(data[0]), 0.0)
        return cls(data.size, float(data.mean()), float(data.std(ddof=1) / math.sqrt(data.size)))

    def interval(self, level: float = 0.95) -> Interval:
        """Student t interval of the mean."""
        if self.error is None:
            return Interval(self.mean, math.nan, math.nan, self.n, level)
        half = self.error * _t_quantile(self.n - 1, (1 + level) / 2) if self.error else 0.0
        return Interval(self.mean, self.mean - half, self.mean + half, self.n, level)

    def p_greater(self, margin: float = 0.0) -> float:
        """One-sided p value of Student's t test for mean <= margin; 1 for fewer than two values.

        It is at most (1 - level) / 2 exactly where the lower end of ``interval`` at that level is at least the margin.
        """
        if self.error is None:
            return 1.0
        if self.error == 0:
            return 0.0 if self.mean > margin else 1.0
        return float(special.stdtr(self.n - 1, (margin - self.mean) / self.error))


@cache
def _t_quantile(freedom: int, share: float) -> float:
    return float(special.stdtrit(freedom, share))


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Student t interval of the mean. Raises UserError for no values."""
    return Sample.of(values).interval(level)


def paired_difference(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of mean(a - b) for runs that share seeds. Raises UserError for different lengths."""
    if len(a) != len(b):
        raise UserError("pairs", (len(a), len(b)), "two sequences of one length, paired by seed")
    return t_interval(np.asarray(a, dtype=float) - np.asarray(b, dtype=float), level)


# ---- tests -----------------------------------------------------------------------------------------------------------


def sign_flip_p(differences: Sequence[float]) -> float:
    """Two-sided p value of the paired sign-flip test.

    Up to twenty differences it is exact, over all choices of signs, and at least 2^(1-n). Of more differences a million
    choices are drawn, the same ones for the same number of differences, and the observed choice counts as one of them.
    """
    data = np.asarray(differences, dtype=float)
    if data.size < 2:
        return 1.0
    least = abs(data.sum()) * (1 - 100 * np.finfo(float).eps)  # equal up to rounding
    if data.size <= 20:
        sums = np.zeros(1)
        for value in data:  # of all 2^n choices of signs
            sums = np.concatenate([sums - value, sums + value])
        return float(np.mean(np.abs(sums) >= least))
    draws = np.random.default_rng(data.size)
    reached = 0
    for _ in range(100):
        signs = draws.choice([-1.0, 1.0], (10_000, data.size))
        reached += int(np.sum(np.abs(signs @ data) >= least))
    return (reached + 1) / 1_000_001


def p_greater(differences: ArrayLike, margin: float = 0.0) -> float:
    """One-sided p value of the mean difference exceeding the margin, by Student's t; 1 for no values."""
    data = np.asarray(differences, dtype=float)
    return Sample.of(data).p_greater(margin) if data.size else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the given order."""
    order = np.argsort(p_values)
    adjusted, largest = np.empty(len(order)), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted.tolist()


def page_p(values: ArrayLike) -> float:
    """One-sided p value of Page's test that values [seeds, levels] increase with the level; 1 for under two seeds.

    For up to eight levels from the permutation distribution within each seed, exact without ties and too large with
    them; beyond, its normal approximation.
    Raises UserError for fewer than three levels.
    """
    data = np.asarray(values, dtype=float)
    if data.ndim != 2 or data.shape[1] < 3:
        raise UserError("levels", data.shape, "values of at least three levels, one row per seed")
    seeds, levels = data.shape
    if seeds < 2:
        return 1.0
    total = float((_ranks(data) @ np.arange(1, levels + 1)).sum())
    if levels > _EXACT_LEVELS:
        mean = seeds * levels * (levels + 1) ** 2 / 4
        variance = seeds * levels**2 * (levels + 1) ** 2 * (levels - 1) / 144
        return float(special.ndtr((mean - total) / math.sqrt(variance)))
    chances = np.ones(1)
    for _ in range(seeds):
        chances = np.convolve(chances, _page_chances(levels))
    return float(min(1.0, chances[math.floor(total) :].sum()))


def _ranks(data: np.ndarray) -> np.ndarray:
    """Rank of each value in its row [seeds, levels], from 1; equal values share the mean of their ranks."""
    below = (data[:, :, None] > data[:, None, :]).sum(-1)
    not_above = (data[:, :, None] >= data[:, None, :]).sum(-1)
    return (below + not_above + 1) / 2


@cache
def _page_chances(levels: int) -> np.ndarray:
    """Probability of each value of Page's L, from 0, where all orders of one row's ranks are equally likely."""
    orders = np.array(list(permutations(range(1, levels + 1))))
    return np.bincount(orders @ np.arange(1, levels + 1)) / len(orders)


def linear_contrasts(values: ArrayLike) -> np.ndarray:
    """Per seed, the rise of the least-squares line over the levels, first to last [seeds]; levels count as equidistant.

    In the unit of the values; its t interval over seeds is the interval of a trend.
    """
    data = np.asarray(values, dtype=float)
    position = np.arange(data.shape[1]) - (data.shape[1] - 1) / 2
    return data @ position / (position @ position) * (data.shape[1] - 1)


# ---- curves ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crossing:
    """When a curve first reached a target.

    rounds: first evaluated round at or above the target, or the horizon for a curve that never was.
    grid: unevaluated rounds just before it, by which the true first round may be earlier; 0 when censored.
    censored: never reached; the first round then is larger than the horizon by an unknown number.
    """

    rounds: int
    grid: int
    censored: bool
    horizon: int


def rounds_to_target(rounds: Sequence[int], values: Sequence[float], target: float) -> Crossing:
    """First evaluated round [R] whose value [R] is at least the target. Raises UserError for an empty curve."""
    if len(rounds) == 0 or len(rounds) != len(values):
        raise UserError("curve", (len(rounds), len(values)), "as many values as evaluated rounds, at least one")
    horizon, before = int(rounds[-1]), 0
    for current, value in zip(rounds, values, strict=True):
        if value >= target:
            return Crossing(int(current), int(current) - before - 1, False, horizon)
        before = int(current)
    return Crossing(horizon, 0, True, horizon)


@dataclass(frozen=True)
class Wins:
    """Pairs in which a reached the target first, b did, both between the same two evaluations, or neither at all."""

    a: int
    b: int
    same: int
    neither: int


def first_to_target(a: Sequence[Crossing], b: Sequence[Crossing]) -> Wins:
    signs = [_sign(x, y) for x, y in zip(a, b, strict=True)]
    return Wins(*(signs.count(sign) for sign in (-1, 1, 0, None)))


def _sign(x: Crossing, y: Crossing) -> int | None:
    if x.censored != y.censored:
        return 1 if x.censored else -1
    return None if x.censored else int(np.sign(x.rounds - y.rounds))


def area_under_curve(rounds: Sequence[float], values: Sequence[float]) -> float:
    """Trapezoidal area over the evaluated rounds divided by their span: the mean height, in the unit of the values."""
    if len(rounds) == 1:
        return float(values[0])
    return float(np.trapezoid(values, rounds) / (rounds[-1] - rounds[0]))


def slope(rounds: Sequence[float], values: Sequence[float]) -> float:
    """Least-squares slope per round; 0 for a single point."""
    if len(rounds) < 2:
        return 0.0
    spread, common, _, _ = np.cov(rounds, values, bias=True).flat
    return float(common / spread)
