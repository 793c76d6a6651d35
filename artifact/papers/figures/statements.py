"""What a panel has to show, decided from the numbers that are drawn.

A panel's ``checks`` are sentences (``artifact.statements.predicates``). The comparisons that decide the claims of the
ledger decide each of them too. A sentence carries its decisive number with the interval over the seeds: it is true when
the interval lies on the stated side, false when it lies on the other, and undecided otherwise. The level is 95 % for
one comparison; a sentence of several is judged at a level that pays for their number, which the sentence names. Nothing
is adjusted for the number of statements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from artifact.base.stats import Interval, t_interval
from artifact.statements.comparisons import BySeed, Missing, Numbers, at_point, tree
from artifact.statements.hypotheses import ALPHA, Comparison, verdict
from artifact.statements.predicates import Difference, Trend, parse_sentence

Line = Mapping[str, Any]
_HOLDS = {"reproduced": True, "contradicted": False}


@dataclass(frozen=True)
class Statement:
    """A decided sentence.

    holds: True, False, None for undecided, or "measured" where nothing is claimed.  value: what was measured, with low
    and high of its interval (None where there is none) over n seeds; unit: of the value.  level: of the interval.
    limit: what the value has to exceed.
    """

    text: str
    holds: bool | Literal["measured"] | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    unit: str = ""
    level: float = 1 - 2 * ALPHA
    limit: float = 0.0

    def record(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        words: dict[object, str] = {True: "holds", False: "does not hold", None: "undecided"}
        verdict = words.get(self.holds, "")
        if self.value is None:
            return f"{self.text}: {verdict}"
        unit = f" {self.unit}" if self.unit else ""
        spread = "" if self.low is None or self.high is None else f" [{_short(self.low)}, {_short(self.high)}]"
        level = f", {100 * self.level:.4g} %" if spread and self.level > 1 - 2 * ALPHA + 1e-9 else ""
        number = f"{_short(self.value)}{spread}{unit} (n={self.n}{level})"
        return f"{self.text}: {verdict}; {number}" if verdict else f"{self.text}: {number}"


def _short(value: float) -> str:
    """Three significant digits, without an exponent for large numbers; what rounding leaves of nothing is 0."""
    if abs(value) < 1e-12:
        return "0"
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def from_interval(text: str, interval: Interval, unit: str, limit: float = 0.0) -> Statement:
    """The statement that the mean exceeds the limit."""
    holds = True if interval.low > limit else False if interval.high < limit else None  # without one both are NaN
    low, high = (None if math.isnan(x) else x for x in (interval.low, interval.high))
    return Statement(text, holds, interval.mean, low, high, interval.n, unit, interval.level, limit)


def measured(text: str, interval: Interval, unit: str = "") -> Statement:
    """A number with its interval about which the paper claims nothing."""
    return replace(from_interval(text, interval, unit), holds="measured")


def decide(checks: Sequence[str], lines: Sequence[Line], unit: str) -> list[Statement]:
    """Statements about lines {label, seeds [n], x [X], values [n, X], curve}; where a line has no data it is left out.

    Raises UserError for a sentence that is none of the forms.
    """
    by_label = {line["label"]: line for line in lines}
    predicates = [one for sentence in checks for one in parse_sentence(sentence, list(by_label))]
    found = [
        _pair(one, by_label, unit) if isinstance(one, Difference) else _shape(one, by_label, unit) for one in predicates
    ]
    return [statement for statement in found if statement is not None]


@dataclass
class LineNumbers(Numbers):
    """The numbers of a panel's lines."""

    lines: Mapping[str, Line]

    def values(self, compared: str, within: str) -> BySeed:
        label, at = self.place(compared, within)
        chosen = at_point(self.lines[label], at)
        if chosen is None:
            raise Missing(f"{label} has no point at {at}")
        return dict(zip(self.lines[label]["seeds"], map(float, chosen), strict=True))

    def levels(self, within: str) -> tuple[str, ...]:
        return tuple(f"{x:g}" for x in self.lines[within]["x"])


def _pair(predicate: Difference, lines: Mapping[str, Line], unit: str) -> Statement | None:
    """One line above another over the points that both have, or from one of these on, or at one."""
    ((upper, lower),), (place,) = predicate.pairs, predicate.within
    if not isinstance(upper, str) or not isinstance(lower, str) or upper not in lines or lower not in lines:
        return None
    first = float(place.removeprefix("from ")) if place.startswith("from ") else -math.inf
    x = [value for value in lines[upper]["x"] if value in lines[lower]["x"] and value >= first]
    shared = {label: _restricted(lines[label], x) for label in (upper, lower)}
    over_points = place == "mean" or place.startswith("from ")
    at = predicate.model_copy(update={"within": ("mean",)}) if over_points else predicate
    try:
        node = tree(at, LineNumbers(at, shared)) if x else None
    except Missing:
        return None
    if not isinstance(node, Comparison) or not node.differences:
        return None
    text = f"{upper} above {lower}" + ("" if over_points else f" at {float(place):g}")
    if over_points and len(x) > 1:
        above, below = (np.mean(line["values"], 0) for line in shared.values())
        what = "mean height of the curve" if lines[upper].get("curve") else "mean"
        text += f" ({what}; above at {np.count_nonzero(above > below)} of {len(x)} points)"
    text += f", from {first:g} on" if math.isfinite(first) else ""
    return replace(from_interval(text, node.interval(), unit), holds=_HOLDS.get(verdict(node)[0]))


def _restricted(line: Line, x: Sequence[float]) -> Line:
    kept = [line["x"].index(value) for value in x]
    return {**line, "x": list(x), "values": [[row[i] for i in kept] for row in line["values"]]}


def _shape(predicate: Trend, lines: Mapping[str, Line], unit: str) -> Statement | None:
    """The shape of a swept line; None where it is not swept, too short, or not at the level of the sentence."""
    (label,) = predicate.within
    line = lines.get(label)
    inside = predicate.shape == "interior-maximum"
    points = 3 if predicate.shape in ("interior-maximum", "rising", "falling") else 2
    if line is None or line.get("level") or len(line["x"]) < points or len(line["seeds"]) < 1 + inside:
        return None
    try:
        node = tree(predicate, LineNumbers(predicate, lines))
    except Missing:
        return None
    if node is None:
        return None
    name, interval, leaf = verdict(node)
    comparisons = len(list(node.leaves()))
    decisive = f"decisive of {comparisons} comparisons {leaf.label}"
    if predicate.shape == "rising":
        text, unit = f"{label} rises", f"{unit} per step"
        interval = t_interval(np.divide(leaf.differences, len(line["x"]) - 1))
    elif inside:
        text = f"{label} is highest between the ends of the range; {decisive}"
    elif predicate.shape == "flat":
        text = f"{label} changes by less than {predicate.margin:g}; {decisive}"
    else:
        ends = "both ends" if comparisons == 2 else "the other end"
        against = ends if predicate.against == "ends" else "every other value"
        word = "lower" if predicate.shape == "lowest-at" else "higher"
        text = f"{label} is {word} at {predicate.level} than at {against}" + (f"; {decisive}" * (comparisons > 1))
    return replace(from_interval(text, interval, unit, leaf.margin), holds=_HOLDS.get(name))
