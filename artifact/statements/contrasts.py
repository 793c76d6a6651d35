"""Mean contrasts: what a conjunction of comparisons implies of their mean.

A conjunction implies that the mean over its parts exceeds the mean of their margins. That one mean, declared beforehand
by this rule, can refute it without a division by the number of parts (``docs/protocol.md``).
"""

from __future__ import annotations

import numpy as np

from artifact.base.stats import known
from artifact.statements.hypotheses import Comparison, Node


def mean_contrast(claim: Node) -> Comparison | None:
    """The mean over the parts of a conjunction, seed by seed, against the mean of their margins.

    None for a claim that is no conjunction of two or more comparisons on the same number of seeds, and where a part has
    a grid or a margin below zero (of an equivalence the two sides would cancel). The parts have to have one unit.

    >>> from artifact.statements.hypotheses import every
    >>> both = every([Comparison("a", (1.0, 2.0)), Comparison("b", (3.0, 0.0), margin=1.0)])
    >>> mean_contrast(both).differences, mean_contrast(both).margin
    ((2.0, 1.0), 0.5)
    """
    parts = conjuncts(claim)
    if len(parts) < 2 or len({len(part.differences) for part in parts}) > 1:
        return None
    if any(part.margin < 0 or part.widening != (0.0, 0.0) for part in parts):
        return None
    mean = np.mean([part.differences for part in parts], axis=0)
    printed = [part.printed for part in parts]
    return Comparison(
        f"mean of {len(parts)} comparisons",
        tuple(float(value) for value in mean),
        float(np.mean([part.margin for part in parts])),
        printed=float(np.mean(printed)) if known(printed) else None,
    )


def conjuncts(claim: Node) -> list[Comparison]:
    """The comparisons that all have to hold; empty where some need not."""
    if isinstance(claim, Comparison):
        return [claim]
    inner = [conjuncts(part) for part in claim.parts]
    return [one for part in inner for one in part] if claim.needed == len(claim.parts) and all(inner) else []
