"""Claims as trees of one-sided comparisons, with an error rate that holds for the whole tree.

A leaf states that a mean over seeds exceeds a margin. A node states that at least u of its k parts hold: u = k is a
conjunction ("A beats B and B beats C"), u = 1 a disjunction ("some interior value is best").

Rule (partial conjunction, Benjamini and Heller 2008, with Bonferroni's bound; valid under any dependence): a node is
established at level a when at least u parts are established at level a / (k - u + 1). For a conjunction that is the
intersection-union test: every part at the full level a, without correction, because the claim is wrong as soon as
one part is. For a disjunction it is Bonferroni, which rejects a global null exactly when Holm's procedure does. A node
is refuted when at least k - u + 1 parts are refuted at level a / u: one refuted part at a / k refutes a conjunction.
By induction a claim that is false is established with probability at most a, and one that is true is refuted with
probability at most a; no claim can be both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from artifact.base.stats import Interval, Sample, p_greater

#: one-sided error of the 95 % two-sided interval
ALPHA = 0.025


@dataclass(frozen=True)
class Comparison:
    """The mean of ``differences`` (one per paired seed, positive in the claimed direction) exceeds ``margin``.

    widening: added below and above, for values that are known up to a grid only.  printed: the mean in a paper.
    """

    label: str
    differences: tuple[float, ...]
    margin: float = 0.0
    widening: tuple[float, float] = (0.0, 0.0)
    printed: float | None = None

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Two-sided t interval whose ends each err with probability alpha."""
        return self._sample.interval(1 - 2 * alpha).widened(*self.widening)

    @cached_property
    def _sample(self) -> Sample:
        return Sample.of(self.differences)

    def established(self, alpha: float) -> bool:
        return self.interval(alpha).low > self.margin

    def lowered(self, bound: float) -> Comparison:
        """The same with a margin of at most ``bound``: with 0, the claimed direction, whatever the size."""
        return self if self.margin <= bound else replace(self, margin=bound)

    def refuted(self, alpha: float) -> bool:
        """Wholly below the margin: on the other side of zero, or of a size that is claimed."""
        return self.interval(alpha).high < self.margin

    @property
    def p(self) -> float:
        """One-sided p value against the margin; without the widening of a grid it agrees with the interval."""
        below, _ = self.widening
        if below == 0 and self.differences:
            return self._sample.p_greater(self.margin)
        if np.isinf(below):
            return 1.0
        return p_greater(np.subtract(self.differences, below), self.margin)

    @property
    def p_against(self) -> float:
        """One-sided p value of the opposite, that the mean lies below the margin."""
        _, above = self.widening
        if np.isinf(above):
            return 1.0
        return p_greater(-np.add(self.differences, above), -self.margin)

    def leaves(self) -> Iterator[Comparison]:
        yield self

    def weakest(self, alpha: float) -> tuple[Comparison, float]:
        return self, alpha

    def worst(self, alpha: float) -> tuple[Comparison, float]:
        return self, alpha


@dataclass(frozen=True)
class AtLeast:
    """At least ``needed`` of the parts hold. Raises ValueError for a number that the parts cannot reach."""

    needed: int
    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.needed <= len(self.parts):
            raise ValueError(f"{self.needed} of {len(self.parts)} parts")

    def _share(self, alpha: float) -> float:
        return alpha / (len(self.parts) - self.needed + 1)

    def established(self, alpha: float) -> bool:
        return sum(part.established(self._share(alpha)) for part in self.parts) >= self.needed

    def lowered(self, bound: float) -> AtLeast:
        return AtLeast(self.needed, tuple(part.lowered(bound) for part in self.parts))

    def refuted(self, alpha: float) -> bool:
        return sum(part.refuted(alpha / self.needed) for part in self.parts) >= len(self.parts) - self.needed + 1

    def leaves(self) -> Iterator[Comparison]:
        for part in self.parts:
            yield from part.leaves()

    def weakest(self, alpha: float) -> tuple[Comparison, float]:
        """The leaf that decides whether the node is established, and the level at which it is judged."""
        share = self._share(alpha)
        found = sorted((part.weakest(share) for part in self.parts), key=_doubt)
        return found[self.needed - 1]

    def worst(self, alpha: float) -> tuple[Comparison, float]:
        """The leaf that decides whether the node is refuted, and the level at which it is judged."""
        found = sorted((part.worst(alpha / self.needed) for part in self.parts), key=_support)
        return found[len(self.parts) - self.needed]


Node = Comparison | AtLeast


# Leaves differ in spread. So p values rank them, each as a multiple of its own level; ends of intervals break ties.


def _doubt(judged: tuple[Comparison, float]) -> tuple[float, float]:
    """Small for a leaf that is established, large for one that fails."""
    comparison, alpha = judged
    return comparison.p / alpha, comparison.margin - comparison.interval(alpha).low


def _support(judged: tuple[Comparison, float]) -> tuple[float, float]:
    """Small for a leaf that is refuted, large for one that is not."""
    comparison, alpha = judged
    return comparison.p_against / alpha, comparison.interval(alpha).high - comparison.margin


def every(parts: Sequence[Node]) -> Node:
    """All parts hold."""
    return parts[0] if len(parts) == 1 else AtLeast(len(parts), tuple(parts))


def some(parts: Sequence[Node]) -> Node:
    """One of the parts holds."""
    return parts[0] if len(parts) == 1 else AtLeast(1, tuple(parts))


def verdict(claim: Node, alpha: float = ALPHA, contrast: Comparison | None = None) -> tuple[str, Interval, Comparison]:
    """Verdict of a claim with the interval and the comparison that decided it.

    contrast: a comparison that the claim implies; it and the parts then refute at half the level each.
    reproduced: established, the whole adjusted interval lies beyond the margin in the claimed direction.
    direction-only: beyond zero but not beyond the margin.  contradicted: neither, and refuted: below the margin.
    inconclusive: none of these. A comparison that fails at the full level alone is shown with its adjusted interval.
    """
    against = alpha if contrast is None else alpha / 2
    leaf, level = claim.weakest(alpha)
    if claim.established(alpha):
        return "reproduced", leaf.interval(level), leaf
    if claim.lowered(0.0).established(alpha):
        return "direction-only", leaf.interval(level), leaf
    if contrast is not None and contrast.refuted(against):
        return "contradicted", contrast.interval(against), contrast
    worst, adjusted = claim.worst(against)
    if claim.refuted(against):
        return "contradicted", worst.interval(adjusted), worst
    untold, level = claim.lowered(0.0).weakest(alpha)
    if untold.refuted(level):
        return "inconclusive", worst.interval(adjusted), worst
    leaf = next(leaf for leaf in claim.leaves() if leaf.lowered(0.0) == untold)
    return "inconclusive", leaf.interval(level), leaf


# ---- shapes of a sweep -----------------------------------------------------------------------------------------------


def equivalent(label: str, differences: Sequence[float], within: float) -> Node:
    """The mean lies in [-within, within]: two one-sided comparisons, each at the full level."""
    data = tuple(differences)
    below = Comparison(f"{label} > -{within:g}", data, -within)
    above = Comparison(f"-({label}) > -{within:g}", tuple(-d for d in data), -within)
    return AtLeast(2, (below, above))


def interior_maximum(values: ArrayLike, labels: Sequence[str], margin: float = 0.0) -> Node:
    """Some level between the ends of a sweep beats both ends; values [seeds, levels].

    Which level is best is not chosen first: every interior one is a part of a disjunction, which pays for the choice.
    """
    data = np.asarray(values, dtype=float)
    ends = (0, data.shape[1] - 1)
    return some([every([_gain(data, labels, j, end, margin) for end in ends]) for j in range(1, ends[1])])


def lowest(
    values: ArrayLike, labels: Sequence[str], level: int, margin: float = 0.0, others: Iterable[int] | None = None
) -> Node:
    """One level of a sweep is below every other one, or every one of ``others``; values [seeds, levels]."""
    data = np.asarray(values, dtype=float)
    rest = range(data.shape[1]) if others is None else others
    return every([_gain(data, labels, j, level, margin) for j in rest if j != level])


def highest(
    values: ArrayLike, labels: Sequence[str], level: int, margin: float = 0.0, others: Iterable[int] | None = None
) -> Node:
    """One level of a sweep, named beforehand, is above every other one, or every one of ``others``; as ``lowest``."""
    data = np.asarray(values, dtype=float)
    rest = range(data.shape[1]) if others is None else others
    return every([_gain(data, labels, level, j, margin) for j in rest if j != level])


def somewhere_falling(values: ArrayLike, labels: Sequence[str], margin: float = 0.0) -> Node:
    """The sweep is not monotone: it falls between some pair of neighbouring levels; values [seeds, levels]."""
    data = np.asarray(values, dtype=float)
    return some([_gain(data, labels, j, j + 1, margin) for j in range(data.shape[1] - 1)])


def flat(values: ArrayLike, labels: Sequence[str], within: float, from_first: bool = False) -> Node:
    """All pairs of levels differ by at most ``within`` in the mean; values [seeds, levels].

    from_first: only the pairs that the first level is in.
    """
    data = np.asarray(values, dtype=float)
    pairs = [(i, j) for i in range(1 if from_first else data.shape[1]) for j in range(i + 1, data.shape[1])]
    return every([equivalent(f"{labels[j]} - {labels[i]}", data[:, j] - data[:, i], within) for i, j in pairs])


def _gain(data: np.ndarray, labels: Sequence[str], high: int, low: int, margin: float) -> Comparison:
    return Comparison(f"{labels[high]} > {labels[low]}", tuple(data[:, high] - data[:, low]), margin)
