"""The protocol's rules as data: seeds, looks and their levels, smallest effects, the horizon, collapsed methods.

``docs/protocol.md`` says why each is as it is; nothing here depends on a result. ``decide`` applies them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from artifact.base.stats import known, slope
from artifact.papers import folders
from artifact.statements.hypotheses import ALPHA

#: fresh seeds that the protocol's runs have, and how many of them are complete when a claim is looked at
SEEDS = tuple(range(10, 20))
LOOKS = (6, 10)
#: smallest effect of interest in points of accuracy; where most images are right, a smaller one counts, which
#: ``claims/papers.toml`` names
SMALLEST = 0.5
#: a collapsed method stays below this share of the way from chance to the median method of its column
COLLAPSED = 0.5
#: share of training over which a curve has to be flat, and how many evaluated rounds that takes
LAST_PART, FEWEST_ROUNDS = 0.25, 5


# ---- looks -----------------------------------------------------------------------------------------------------------


def levels(alpha: float = ALPHA) -> dict[int, float]:
    """Number of seeds -> one-sided level of that look; they add up to ``alpha``.

    The first look spends what O'Brien and Fleming's bound spends at its share of the seeds (Lan and DeMets 1983), the
    last one the rest. Because the levels add up, a claim errs at either look with probability at most alpha, however
    it is made of comparisons.

    >>> {n: round(level, 4) for n, level in levels().items()}
    {6: 0.0038, 10: 0.0212}
    """
    first, last = LOOKS
    spent = 2 * special.ndtr(special.ndtri(alpha / 2) / math.sqrt(first / last))
    return {first: float(spent), last: float(alpha - spent)}


def critical_values(alpha: float = ALPHA) -> dict[int, float]:
    """Number of seeds -> what Student's t of a single comparison has to exceed at that look."""
    return {n: float(special.stdtrit(n - 1, 1 - level)) for n, level in levels(alpha).items()}


# ---- smallest effects, horizon, collapse -----------------------------------------------------------------------------


def smallest(table: str) -> float:
    """Smallest effect of interest in points of accuracy, of ``paper/table``."""
    return folders.SMALLEST.get(table, SMALLEST)


def rise(rounds: Sequence[int], accuracies: Sequence[float]) -> float | None:
    """Points that a curve [R] of accuracies in per cent gains over the last quarter of its rounds, by least squares.

    None where fewer than five rounds of that quarter were evaluated.

    >>> rise([80, 85, 90, 95, 100], [50.0, 50.1, 50.2, 50.3, 50.4])
    0.5
    """
    last = rounds[-1] if rounds else 0
    kept = [i for i, r in enumerate(rounds) if r > (1 - LAST_PART) * last]
    if len(kept) < FEWEST_ROUNDS:
        return None
    return round(slope([rounds[i] for i in kept], [accuracies[i] for i in kept]) * LAST_PART * last, 12)


def flat(rises: Mapping[str, Sequence[float | None]], within: float) -> bool:
    """Whether every method's rise (label -> one per seed) stays within the smallest effect, in the mean over its seeds.

    A falling curve is not flat either. False where a rise is not known.
    """
    return all(known(own) and abs(float(np.mean(own))) <= within for own in rises.values())


def collapsed(accuracies: Mapping[str, float], classes: int) -> tuple[str, ...]:
    """Labels of the methods of a column whose accuracy in per cent shows that they do not learn.

    accuracies: the mean over the seeds; of a sweep the best point's.

    >>> collapsed({"FedAvg": 44.5, "FedSAM": 46.2, "FedCM": 40.3, "MimeLite": 15.6}, classes=10)
    ('MimeLite',)
    """
    if not accuracies:
        return ()
    chance = 100 / classes
    bound = chance + COLLAPSED * (float(np.median(list(accuracies.values()))) - chance)
    return tuple(label for label, accuracy in accuracies.items() if accuracy < bound)
