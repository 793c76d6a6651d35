"""What a panel has to show, as statements that a program decides from the numbers that are drawn.

A panel's ``checks`` are short sentences; with lines A and B, values of the swept setting x, v:

- ``A > B at v``: the value of A at v lies above that of B.
- ``A > B``: A lies above B; per seed the mean over the drawn points, of a curve its mean height, paired by seed.
- ``A > B from v``: the same over the points from v on; left out where none is drawn.
- ``rising`` or ``rising: A, B``: the mean change per step of the sweep is positive.
- ``lowest at v: A``, ``peak at v: A``: the value at v lies below (above) each of the others, or of both ends.
- ``highest inside: A``: some value between the ends lies above both ends (Bonferroni over them).
- ``flat within m: A``: the value at every point differs from the first point's by less than m.

Every statement carries the number that decides it with its Student t interval over seeds; it is true when the interval
lies on the stated side, false when it lies on the other, and undecided otherwise. Intervals are not adjusted for the
number of statements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from artifact.base.errors import UserError
from artifact.base.hypotheses import interior_maximum, verdict
from artifact.base.stats import Interval, area_under_curve, t_interval

Lines = Sequence[Mapping[str, Any]]
GRAMMAR = (
    "A > B[ at v | from v], rising[: A, B], lowest at v[: A], peak at v[: A], highest inside[: A], flat within m[: A]"
)


@dataclass(frozen=True)
class Statement:
    """A decided sentence.

    holds: True, False, None for undecided, or "measured" where nothing is claimed.  value: what was measured, with low
    and high of its 95 % interval (None where there is none) over n seeds; unit: of the value.
    """

    text: str
    holds: bool | Literal["measured"] | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    unit: str = ""

    def record(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        verdict = {True: "holds", False: "does not hold", None: "undecided"}.get(self.holds, "")
        if self.value is None:
            return f"{self.text}: {verdict}"
        unit = f" {self.unit}" if self.unit else ""
        spread = "" if self.low is None else f" [{_short(self.low)}, {_short(self.high)}]"
        number = f"{_short(self.value)}{spread}{unit} (n={self.n})"
        return f"{self.text}: {verdict}; {number}" if verdict else f"{self.text}: {number}"


def _short(value: float) -> str:
    """Three significant digits, without an exponent for large numbers; what rounding leaves of nothing is 0."""
    if abs(value) < 1e-12:
        return "0"
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def from_interval(text: str, interval: Interval, unit: str) -> Statement:
    """The statement that the mean is positive."""
    holds = None
    if interval.n > 1:
        holds = True if interval.low > 0 else False if interval.high < 0 else None
    low, high = (None if math.isnan(x) else x for x in (interval.low, interval.high))
    return Statement(text, holds, interval.mean, low, high, interval.n, unit)


def measured(text: str, interval: Interval, unit: str = "") -> Statement:
    """A number with its interval about which the paper claims nothing."""
    return replace(from_interval(text, interval, unit), holds="measured")


def decide(checks: Sequence[str], lines: Lines, unit: str) -> list[Statement]:
    """Statements about lines {label, seeds [n], x [X], values [n, X], curve}; where a line has no data it is left out.

    Raises UserError for a sentence that is none of the module's forms.
    """
    by_label = {line["label"]: line for line in lines}
    result: list[Statement] = []
    for sentence in checks:
        for pattern, function in FORMS:
            match = re.fullmatch(pattern, sentence.strip())
            if match:
                result += function(by_label, unit, *match.groups())
                break
        else:
            raise UserError("check", sentence, GRAMMAR)
    return result


def _values(line: Mapping[str, Any]) -> dict[int, np.ndarray]:
    return {seed: np.asarray(row, float) for seed, row in zip(line["seeds"], line["values"], strict=True)}


def _paired(a: Mapping[str, Any], b: Mapping[str, Any]) -> Interval | None:
    """Interval of the difference of the means over the points that both lines have, over the seeds that both have."""
    mine, theirs = _values(a), _values(b)
    seeds = sorted(mine.keys() & theirs.keys())
    x = sorted(set(a["x"]) & set(b["x"]))
    if not seeds or not x:
        return None
    left, right = ([line["x"].index(value) for value in x] for line in (a, b))
    curve = a.get("curve") and len(x) > 1
    height = (lambda values: area_under_curve(x, values)) if curve else np.mean
    return t_interval([float(height(mine[s][left]) - height(theirs[s][right])) for s in seeds])


def _above(lines: Mapping[str, Any], unit: str, upper: str, lower: str) -> list[Statement]:
    a, b = lines.get(upper.strip()), lines.get(lower.strip())
    interval = None if a is None or b is None else _paired(a, b)
    if interval is None:
        return []
    text = f"{a['label']} above {b['label']}"
    x = [value for value in a["x"] if value in b["x"]]
    if len(x) > 1:
        mean = {line["label"]: np.mean(line["values"], 0) for line in (a, b)}
        ahead = [mean[a["label"]][a["x"].index(v)] > mean[b["label"]][b["x"].index(v)] for v in x]
        what = "mean height of the curve" if a.get("curve") else "mean"
        text += f" ({what}; above at {sum(ahead)} of {len(x)} points)"
    return [from_interval(text, interval, unit)]


def _above_from(lines: Mapping[str, Any], unit: str, upper: str, lower: str, first: str) -> list[Statement]:
    later = {}
    for label, line in lines.items():
        kept = [i for i, x in enumerate(line["x"]) if x >= float(first)]
        later[label] = {
            **line,
            "x": [line["x"][i] for i in kept],
            "values": [[v[i] for i in kept] for v in line["values"]],
        }
    found = _above(later, unit, upper, lower)
    return [replace(one, text=f"{one.text}, from {float(first):g} on") for one in found]


def _chosen(lines: Mapping[str, Any], names: str | None) -> list[Mapping[str, Any]]:
    wanted = [name.strip() for name in names.split(",")] if names else list(lines)
    found = [lines[name] for name in wanted if name in lines]
    return [line for line in found if len(line["x"]) > 1 and not line.get("level")]


def _rising(lines: Mapping[str, Any], unit: str, names: str | None) -> list[Statement]:
    statements = []
    for line in _chosen(lines, names):
        steps = np.arange(len(line["x"])) - (len(line["x"]) - 1) / 2
        slopes = [float(row @ steps / (steps @ steps)) for row in _values(line).values()]
        statements.append(from_interval(f"{line['label']} rises", t_interval(slopes), f"{unit} per step"))
    return statements


def _at(line: Mapping[str, Any], value: str) -> int | None:
    near = [i for i, x in enumerate(line["x"]) if math.isclose(x, float(value), rel_tol=1e-6)]
    return near[0] if near else None


def _extreme(sign: int, only_ends: bool, word: str) -> Callable[..., list[Statement]]:
    """Difference between the point v and the least favourable of the others, by the mean curve."""

    def check(lines: Mapping[str, Any], unit: str, value: str, names: str | None) -> list[Statement]:
        statements = []
        for line in _chosen(lines, names):
            at = _at(line, value)
            if at is None:
                continue
            last = len(line["x"]) - 1
            others = [i for i in ((0, last) if only_ends else range(last + 1)) if i != at]
            rows = np.array(list(_values(line).values()))
            intervals = [t_interval(sign * (rows[:, at] - rows[:, i])) for i in others]
            weakest = min(intervals, key=lambda interval: interval.mean)
            ends = "both ends" if len(others) == 2 else "the other end"
            against = ends if only_ends else "every other value"
            text = f"{line['label']} {word} {float(value):g} than at {against}, least difference"
            found = from_interval(text, weakest, unit)
            all_above = found.holds is True and all(interval.low > 0 for interval in intervals)
            holds = True if all_above else False if found.holds is False else None
            statements.append(replace(found, holds=holds))
        return statements

    return check


def _above_at(lines: Mapping[str, Any], unit: str, upper: str, lower: str, value: str) -> list[Statement]:
    pair = [lines.get(name.strip()) for name in (upper, lower)]
    at = [None if line is None else _at(line, value) for line in pair]
    if None in at:
        return []
    points = [
        {**line, "x": [float(value)], "values": [[row[i]] for row in line["values"]]}
        for line, i in zip(pair, at, strict=True)
    ]
    interval = _paired(*points)
    text = f"{pair[0]['label']} above {pair[1]['label']} at {float(value):g}"
    return [] if interval is None else [from_interval(text, interval, unit)]


def _inside(lines: Mapping[str, Any], unit: str, names: str | None) -> list[Statement]:
    statements = []
    for line in _chosen(lines, names):
        rows = np.array(list(_values(line).values()))
        if rows.shape[0] < 2 or rows.shape[1] < 3:
            continue
        name, interval, leaf = verdict(interior_maximum(rows, [f"{x:g}" for x in line["x"]], 0.0))
        text = f"{line['label']} is highest between the ends of the range; decisive, at an adjusted level, {leaf.label}"
        holds = {"reproduced": True, "contradicted": False}.get(name)
        statements.append(replace(from_interval(text, interval, unit), holds=holds))
    return statements


def _flat(lines: Mapping[str, Any], unit: str, margin: str, names: str | None) -> list[Statement]:
    statements = []
    for line in _chosen(lines, names):
        rows = np.array(list(_values(line).values()))
        intervals = [t_interval(rows[:, i] - rows[:, 0]) for i in range(1, rows.shape[1])]
        widest = max(intervals, key=lambda interval: abs(interval.mean))
        bound = float(margin)
        inside = all(i.n > 1 and -bound < i.low and i.high < bound for i in intervals)
        outside = any(i.n > 1 and (i.low > bound or i.high < -bound) for i in intervals)
        text = f"{line['label']} changes by less than {bound:g}, largest change"
        holds = True if inside else False if outside else None
        found = from_interval(text, widest, unit)
        statements.append(replace(found, holds=holds))
    return statements


_NAMES = r"(?:: *(.+))?"
FORMS: tuple[tuple[str, Callable[..., list[Statement]]], ...] = (
    (r"(.+) > (.+) at ([\d.e+-]+)", _above_at),
    (r"(.+) > (.+) from ([\d.e+-]+)", _above_from),
    (r"(.+) > (.+)", _above),
    (rf"rising{_NAMES}", _rising),
    (rf"lowest at ([\d.e+-]+){_NAMES}", _extreme(-1, False, "is lower at")),
    (rf"peak at ([\d.e+-]+){_NAMES}", _extreme(1, True, "is higher at")),
    (rf"highest inside{_NAMES}", _inside),
    (rf"flat within ([\d.]+){_NAMES}", _flat),
)
