"""From a claim's comparisons to what these runs show: seen, mostly seen, no difference, reversed or undecided.

``docs/protocol.md`` states the rule in words. A claim of several comparisons that all have to hold is judged by its
mean, too, so that one comparison of fifty does not decide alone. The words of the largest scales are stronger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from artifact.base.stats import Interval
from artifact.statements.hypotheses import ALPHA, Comparison, Node

#: share of the comparisons whose mean has to lie on the claimed side for *mostly seen*, on the other for *reversed*
MOST = 2 / 3
#: paired seeds without which the words of the largest scales are not said
ENOUGH = 5
#: scales at which a claim of a paper can be called reproduced or contradicted
LARGE = ("full-length", "paper")


@dataclass(frozen=True)
class Finding:
    """What runs of one scale show of a claim.

    word: of ``ledger.EMPIRICAL``.  k, K: comparisons whose mean lies on the claimed side, of all.  against: labels of
    those that lie on the other side by an interval that pays for their number.  interval, leaf: what decided.
    """

    word: str
    k: int
    K: int
    against: tuple[str, ...]
    interval: Interval
    leaf: Comparison


def finding(node: Node, contrast: Comparison | None, smallest: float | None, level: float = ALPHA) -> Finding:
    """The rule, before scale and tuning have their say.

    contrast: the mean of a claim whose comparisons all have to hold, None for any other claim.
    smallest: effect of interest in the unit of the comparisons, None where there is none.  level: one-sided.

    >>> finding(Comparison("A - B", (1.0, 1.2, 0.8)), None, 0.5).word
    'seen'
    >>> finding(Comparison("A - B", (0.1, -0.1, 0.0)), None, 0.5).word
    'no-difference'
    """
    leaves = list(node.leaves())
    k = sum(map(_on_the_claimed_side, leaves))
    bound = -(smallest or 0.0)
    share = level / len(leaves)
    against = tuple(leaf.label for leaf in leaves if leaf.interval(share).high < leaf.lowered(bound).margin)
    whole = contrast or (node if isinstance(node, Comparison) else None)
    word = word_of(node, whole, smallest, level)
    leaf, at = (whole, level) if whole is not None and word != "seen" else node.weakest(level)
    if whole is None and leaf.lowered(0.0).refuted(at):  # what speaks against a claim pays for the number of its parts
        leaf, at = node.lowered(bound).worst(level)
    return Finding(word, k, len(leaves), against, leaf.interval(at), leaf)


def word_of(node: Node, whole: Comparison | None, smallest: float | None, level: float) -> str:
    """The word alone. whole: the mean contrast or the only comparison; the other arguments as those of ``finding``."""
    bound = -(smallest or 0.0)
    if node.established(level):
        return "seen"
    if node.lowered(0.0).established(level):
        return "mostly-seen"
    if whole is None:
        return "reversed" if node.lowered(bound).refuted(level) else "undecided"
    leaves = list(node.leaves())
    claimed = sum(map(_on_the_claimed_side, leaves))
    if claimed >= MOST * len(leaves) and whole.lowered(0.0).established(level):
        return "mostly-seen"
    ends = whole.interval(level)
    if smallest is not None and -smallest < ends.low and ends.high < smallest:
        return "no-difference"
    most_against = len(leaves) - claimed >= MOST * len(leaves)
    return "reversed" if most_against and whole.lowered(bound).refuted(level) else "undecided"


def _on_the_claimed_side(leaf: Comparison) -> bool:
    return bool(sum(leaf.differences) / len(leaf.differences) > leaf.lowered(0.0).margin)


def strengthened(word: str, scale: str, n: int, excludes_printed: bool) -> str:
    """The word at a large scale with enough seeds: *reproduced* for seen, *contradicted* where the printed is excluded.

    >>> strengthened("seen", "paper", 5, False), strengthened("reversed", "toy", 10, True)
    ('reproduced', 'reversed')
    """
    if scale not in LARGE or n < ENOUGH:
        return word
    if word == "seen":
        return "reproduced"
    return "contradicted" if word in ("reversed", "no-difference") and excludes_printed else word


def moves_back(word: str, rise: Interval, smallest: float) -> bool:
    """Whether the difference still moves so that its word may not last.

    rise: what the difference gained over the last quarter of the rounds, in points, with its 95 % interval over seeds.
    A movement counts where its interval excludes zero and its mean exceeds the smallest effect of interest.
    """
    if abs(rise.mean) <= smallest or math.isinf(rise.low) or math.isinf(rise.high) or rise.low <= 0 <= rise.high:
        return False
    if word in ("seen", "mostly-seen"):
        return rise.mean < 0
    if word == "reversed":
        return rise.mean > 0
    return word == "no-difference"
