"""From a predicate and the numbers that it speaks of to the comparisons that decide it.

A predicate becomes a tree of one-sided comparisons of numbers that share seeds (``statements.hypotheses``, where the
error rates are stated). Claims of the ledger and statements of panels are decided by the same tree; they differ in
where their numbers come from, which is what a subclass of ``Numbers`` knows.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from artifact.base.stats import Crossing, area_under_curve, first_to_target, known, linear_contrasts, page_p
from artifact.runs.store import LAST
from artifact.statements.hypotheses import (
    AtLeast,
    Comparison,
    Node,
    equivalent,
    every,
    flat,
    highest,
    interior_maximum,
    lowest,
    somewhere_falling,
)
from artifact.statements.predicates import AnyPredicate, Cost, Difference, Ordering, Place, Predicate, Trend, Value

#: quantities that are counted up to a target accuracy and are therefore censored, with their unit; the target is looked
#: for in evaluated rounds only
UP_TO_TARGET = {"rounds-to": "rounds", "communication-to": "1e9 parameters", "seconds-to": "s"}
#: seed -> value, in the unit of the metric
BySeed = Mapping[int, float]


class Missing(Exception):
    """A predicate names what is not declared (yet), not run at the profile, or not drawn."""


class NothingLeft(Missing):
    """All methods have collapsed, or so many that fewer comparisons are left than have to hold."""


@dataclass(frozen=True)
class Spent:
    """When a run reached a target, and what a round of it costs in the unit of ``UP_TO_TARGET``."""

    crossing: Crossing
    rate: float


@dataclass
class Numbers(ABC):
    """The numbers that a predicate compares, by the names that it uses.

    metric, table: those that are looked at now, of a predicate that names several.  missing: names of numbers that are
    not there -> why.  omitted: labels of methods whose comparisons are left out.
    """

    predicate: AnyPredicate
    metric: str | None = field(default=None, kw_only=True)
    table: str = field(default="", kw_only=True)
    missing: dict[str, str] = field(default_factory=dict, kw_only=True)
    omitted: set[str] = field(default_factory=set, kw_only=True)

    @abstractmethod
    def values(self, compared: str, within: str) -> BySeed:
        """The values of one of the things that are compared, at one place."""

    def ranked_by(self, compared: str, within: str) -> BySeed:
        """The values by which the best of several things is chosen: the compared ones themselves."""
        return self.values(compared, within)

    @abstractmethod
    def levels(self, within: str) -> tuple[str, ...]:
        """All levels of a sweep, from low to high."""

    def shared(self, *sides: Mapping[int, Any]) -> list[int]:
        """Seeds that all sides have."""
        return sorted(set.intersection(*map(set, sides)))

    def collapsed(self, compared: str, within: str) -> bool:
        """Whether a method does not learn at a place, so that comparisons with it say nothing."""
        return False

    def printed_number(self, compared: str, within: str) -> float | None:
        """What a paper prints there; None where it prints nothing."""
        return None

    def counted(self, compared: str, within: str) -> tuple[str, float | None]:
        """What a cost counts, such as ``rounds-to``, and the accuracy in per cent up to which it does.

        Raises Missing for what is no cell of a table.
        """
        raise Missing(f"{compared} is no cell of a table")

    def spent(self, compared: str, within: str) -> Mapping[int, Spent]:
        """Seed -> what was spent up to a target. Raises Missing where there is none."""
        raise Missing(f"{compared} has no target accuracy")

    def name(self, id: str) -> str:
        """The label of something that the predicate names by its id."""
        return id

    def level_name(self, level: str, within: str) -> str:
        return self.name(level)

    def place(self, compared: str, within: str) -> tuple[str, str]:
        """(row, column), (line, point of the axis)."""
        return (compared, within) if self.predicate.along == "rows" else (within, compared)


# ---- points of a panel's line ----------------------------------------------------------------------------------------


def at_point(line: Mapping[str, Any], at: str) -> np.ndarray | None:
    """[n] values of a line {x [X], values [n, X]} at a point of its axis; None where it has no such point.

    at: a position, ``last`` for the mean over the last ten, ``mean`` over all points: of a line with ``curve`` its mean
    height, since the last rounds are evaluated more often than the others.
    """
    values = np.array(line["values"], dtype=float)
    if at == "mean":
        curve = line.get("curve") and len(line["x"]) > 1
        return np.array([area_under_curve(line["x"], one) for one in values]) if curve else values.mean(1)
    if at == "last":
        return values[:, -LAST:].mean(1)
    near = [i for i, x in enumerate(line["x"]) if math.isclose(x, float(at), rel_tol=1e-5)]
    return values[:, near[0]] if near else None


# ---- predicates ------------------------------------------------------------------------------------------------------


def tree(predicate: AnyPredicate, numbers: Numbers) -> Node | None:
    """The comparisons of a predicate; None where a cell lacks runs (then ``numbers.missing`` says which)."""
    parts: list[Node] = []
    for numbers.table, numbers.metric in itertools.product(
        (predicate.table, *predicate.also), predicate.metrics or (None,)
    ):
        parts += _BUILD[type(predicate)](predicate, numbers)
    if numbers.missing:
        return None
    if len(parts) < (predicate.at_least or 1):
        left = f"only {len(parts)} of {predicate.at_least}" if parts else "nothing"
        raise NothingLeft(f"{left} is left to compare: {', '.join(sorted(numbers.omitted))} did not learn")
    return every(parts) if predicate.at_least is None else AtLeast(predicate.at_least, tuple(parts))


def _left_out(numbers: Numbers, within: Sequence[str], *compared: Place) -> bool:
    """Whether one side of a comparison has collapsed at one of the places: with more than one method, all of them."""
    for place, names in itertools.product(within, compared):
        several = (names,) if isinstance(names, str) else names
        if all(numbers.collapsed(name, place) for name in several):
            numbers.omitted |= {numbers.name(numbers.place(name, place)[0]) for name in several}
            return True
    return False


def _printed_gap(predicate: Predicate, numbers: Numbers, a: Place, b: Place, within: str) -> float | None:
    """How much better a is than b, or the best of a than the best of b, in the quantity that the paper prints."""
    mine, theirs = ([numbers.printed_number(name, within) for name in _names(side)] for side in (a, b))
    if not known(mine) or not known(theirs):
        return None
    sign = 1 if predicate.better == "higher" else -1
    first, second = (sorted((sign * one for one in side), reverse=True) for side in (mine, theirs))
    return first[0] - second[_rank(predicate) - 1]


def _names(place: Place) -> tuple[str, ...]:
    return (place,) if isinstance(place, str) else tuple(place)


def _rank(predicate: Predicate) -> int:
    """Which of several names on the second side counts: 1 the best."""
    return predicate.rank if isinstance(predicate, Difference) else 1


def _mean_printed(gaps: Sequence[float | None]) -> float | None:
    return float(np.mean(gaps)) if known(gaps) else None


def _labelled(numbers: Numbers, text: str, within: str) -> str:
    """The comparison with the metric and the place where it is made, when the predicate has several."""
    predicate = numbers.predicate
    where = [numbers.table] if predicate.also else []
    where += [numbers.name(within)] if len(predicate.within) > 1 else []
    where += [numbers.metric] if numbers.metric and len(predicate.metrics) > 1 else []
    return f"{text} ({'; '.join(where)})" if where else text


def _differences(predicate: Predicate, numbers: Numbers, a: Place, b: Place, within: str) -> BySeed:
    """Seed -> how much better a is than b, or the best in the mean that a names than the one that b names."""
    mine = _best_of(predicate, numbers, a, within)
    theirs = _best_of(predicate, numbers, b, within, _rank(predicate))
    sign = 1 if predicate.better == "higher" else -1
    return {seed: sign * (mine[seed] - theirs[seed]) for seed in numbers.shared(mine, theirs)}


def _best_of(predicate: Predicate, numbers: Numbers, names: Place, within: str, rank: int = 1) -> BySeed:
    """Seed -> the value at that seed; of several names, the one that is best in the mean over all seeds.

    rank: 2 for the second best, and so on.

    The best at each seed would be another method from seed to seed, and better than any of them by chance.
    """
    if isinstance(names, str):
        return numbers.values(names, within)
    found = {name: numbers.values(name, within) for name in names}
    ranks = {name: numbers.ranked_by(name, within) for name in names}
    shared = numbers.shared(*found.values(), *ranks.values())
    sign = 1 if predicate.better == "higher" else -1
    best_first = sorted(names, key=lambda name: -sign * sum(ranks[name][seed] for seed in shared))
    return {seed: found[best_first[rank - 1]][seed] for seed in shared}


def _ordering(predicate: Ordering, numbers: Numbers) -> list[Node]:
    places = [(place,) if isinstance(place, str) else place for place in predicate.order]
    parts: list[Node] = []
    for within in predicate.within:
        learning = [[name for name in names if not _left_out(numbers, [within], name)] for names in places]
        for better, worse in itertools.pairwise(filter(None, learning)):
            for a, b in itertools.product(better, worse):
                found = _differences(predicate, numbers, a, b, within)
                label = _labelled(numbers, f"{numbers.name(a)} better than {numbers.name(b)}", within)
                printed = _printed_gap(predicate, numbers, a, b, within)
                parts.append(Comparison(label, tuple(found.values()), _margin(predicate), printed=printed))
    return parts


def _margin(predicate: Ordering | Difference) -> float:
    """What a difference has to exceed: below zero where the better one may fall short of the other."""
    return predicate.margin - predicate.slack


def _difference(predicate: Difference, numbers: Numbers) -> list[Node]:
    pairs = [(a, b) for a, b in predicate.pairs if not (predicate.lead or predicate.mean) or _whole(numbers, a, b)]
    if predicate.lead:
        return [_lead(predicate, predicate.lead, numbers, a, b) for a, b in pairs]
    if predicate.mean:
        found = [_averaged(predicate, numbers, a, b) for a, b in pairs]
    else:
        places = [(w, *pair) for w, pair in itertools.product(predicate.within, pairs)]
        kept = [place for place in places if not _left_out(numbers, place[:1], *place[1:])]
        found = [_at_place(predicate, numbers, a, b, within) for within, a, b in kept]
    if predicate.equal:
        return [equivalent(label, tuple(values.values()), predicate.margin) for label, values, _ in found]
    return [Comparison(label, tuple(values.values()), _margin(predicate), printed=gap) for label, values, gap in found]


def _whole(numbers: Numbers, a: Place, b: Place) -> bool:
    """Whether both sides learn at all places, which a difference over all of them needs."""
    return not _left_out(numbers, numbers.predicate.within, a, b)


#: label, seed -> difference, what the paper prints for its mean
Found = tuple[str, BySeed, float | None]


def _at_place(predicate: Difference, numbers: Numbers, a: Place, b: Place, within: str) -> Found:
    """Seed -> how much better a is than b; the names for the label are known once the values are."""
    values = _differences(predicate, numbers, a, b, within)
    return _labelled(numbers, _minus(numbers, a, b), within), values, _printed_gap(predicate, numbers, a, b, within)


def _averaged(predicate: Difference, numbers: Numbers, a: Place, b: Place) -> Found:
    """Seed -> how much better a is than b in the mean over ``within``."""
    places = [_differences(predicate, numbers, a, b, within) for within in predicate.within]
    names = [numbers.name(within) for within in predicate.within]
    many = f"{len(names)} {'columns' if predicate.along == 'rows' else 'rows'}"
    label = f"{_minus(numbers, a, b)} (mean over {many if len(names) > 2 else ' and '.join(names)})"
    gap = _mean_printed([_printed_gap(predicate, numbers, a, b, within) for within in predicate.within])
    return label, {s: float(np.mean([values[s] for values in places])) for s in numbers.shared(*places)}, gap


def _minus(numbers: Numbers, a: Place, b: Place) -> str:
    """How much better a is than b, in words that hold for both directions."""
    rank = _rank(numbers.predicate)
    best = "best" if rank == 1 else "second best" if rank == 2 else f"{rank}th best"
    first = numbers.name(a) if isinstance(a, str) else f"best of {', '.join(map(numbers.name, a))}"
    second = numbers.name(b) if isinstance(b, str) else f"{best} of {', '.join(map(numbers.name, b))}"
    return f"{first} - {second}" if numbers.predicate.better == "higher" else f"{second} - {first}"


def _lead(predicate: Difference, lead: tuple[str, str], numbers: Numbers, a: Place, b: Place) -> Node:
    first, second = (_differences(predicate, numbers, a, b, within) for within in lead)
    shared = numbers.shared(first, second)
    at = [numbers.name(within) for within in lead]
    label = f"{_minus(numbers, a, b)} at {at[0]} above that at {at[1]}" + (
        f" ({numbers.table})" if predicate.also else ""
    )
    gaps = [_printed_gap(predicate, numbers, a, b, within) for within in lead]
    printed = gaps[0] - gaps[1] if known(gaps) else None
    return Comparison(label, tuple(first[seed] - second[seed] for seed in shared), _margin(predicate), printed=printed)


def _trend(predicate: Trend, numbers: Numbers) -> list[Node]:
    parts: list[Node] = []
    for within in predicate.within:
        levels = predicate.order or numbers.levels(within)
        if predicate.level not in ("", "first", *levels):
            raise Missing(f"{predicate.table} has no level {predicate.level}; it has {', '.join(levels)}")
        if numbers.collapsed(levels[0], within) and predicate.along == "columns":
            numbers.omitted.add(numbers.name(within))
            continue
        sweep = [numbers.values(level, within) for level in levels]
        shared = numbers.shared(*sweep)
        if numbers.missing:
            continue
        table = np.array([[values[seed] for values in sweep] for seed in shared])
        sign = 1 if predicate.better == "higher" else -1
        parts.append(_shape(predicate, numbers, levels, sign * table, within))
    return parts


def _shape(predicate: Trend, numbers: Numbers, levels: Sequence[str], table: np.ndarray, within: str) -> Node:
    """table: [seeds, levels], higher is better."""
    names = [numbers.level_name(level, within) for level in levels]
    labels = [_labelled(numbers, name, within) for name in names]
    if predicate.shape in ("rising", "falling"):
        sign = 1 if predicate.shape == "rising" else -1
        text = f"{predicate.shape} from {names[0]} to {names[-1]}"
        label = _labelled(numbers, f"{text}, Page's p = {page_p(sign * table):.2g}", within)
        return Comparison(label, tuple(sign * linear_contrasts(table)), predicate.margin)
    if predicate.shape == "flat":
        return flat(table, labels, predicate.margin, predicate.against == "first")
    if predicate.shape in ("lowest-at", "peak-at"):
        level = 0 if predicate.level == "first" else levels.index(predicate.level)
        others = (0, len(levels) - 1) if predicate.against == "ends" else range(len(levels))
        extreme = lowest if predicate.shape == "lowest-at" else highest
        return extreme(table, labels, level, predicate.margin, others)
    build = interior_maximum if predicate.shape == "interior-maximum" else somewhere_falling
    return build(table, labels, predicate.margin)


def _value(predicate: Value, numbers: Numbers) -> list[Node]:
    parts: list[Node] = []
    for within, label in itertools.product(predicate.within, predicate.labels):
        if _left_out(numbers, [within], label):
            continue
        values = np.array(list(numbers.values(label, within).values()))
        name = _labelled(numbers, numbers.name(label), within)
        if predicate.above is not None:
            parts.append(Comparison(f"{name} above {predicate.above:g}", tuple(values - predicate.above)))
        if predicate.below is not None:
            parts.append(Comparison(f"{name} below {predicate.below:g}", tuple(predicate.below - values)))
        if predicate.short_of_printed is not None:
            printed = numbers.printed_number(label, within)
            if printed is None:
                raise Missing(f"{label} has no printed number")
            bound = printed - predicate.short_of_printed
            parts.append(Comparison(f"{name} above {bound:g}", tuple(values - bound)))
    return parts


def _cost(predicate: Cost, numbers: Numbers) -> list[Node]:
    places = [(within, a, b) for within in predicate.within for a, b in predicate.pairs]
    kept = [(within, a, b) for within, a, b in places if not _left_out(numbers, [within], a, b)]
    return [_cheaper(predicate, numbers, a, b, within) for within, a, b in kept]


def _cheaper(predicate: Cost, numbers: Numbers, a: str, b: str, within: str) -> Node:
    """factor times the cost of b exceeds the cost of a."""
    (quantity, target), _ = (numbers.counted(name, within) for name in (a, b))
    times = f"{predicate.factor:g} times " if predicate.factor != 1 else ""
    text = f"{numbers.name(a)} costs less than {times}{numbers.name(b)}"
    if quantity in UP_TO_TARGET and target is not None:
        text += f" up to {target:g} % accuracy"  # of the profile; the column is named after the paper's target
    label = _labelled(numbers, text, within)
    if quantity in UP_TO_TARGET:
        spent, other = (numbers.spent(name, within) for name in (a, b))
        seeds = numbers.shared(spent, other)
        return _restricted(label, predicate.factor, [spent[s] for s in seeds], [other[s] for s in seeds])
    mine, theirs = numbers.values(a, within), numbers.values(b, within)
    seeds = numbers.shared(mine, theirs)
    return Comparison(label, tuple(predicate.factor * theirs[s] - mine[s] for s in seeds))


def _restricted(label: str, factor: float, mine: Sequence[Spent], theirs: Sequence[Spent]) -> Comparison:
    """Restricted means up to the last round, widened by the evaluation grid.

    Where a round of one side weighs more (by the factor, or by what a round sends), cutting both off at the last round
    can turn the sign: what the lighter side would have spent beyond it is unknown, and the interval is open there.
    Equal differences of such counts have no spread to judge them by: their interval is open on both sides.
    """
    horizons = {spent.crossing.horizon for spent in (*mine, *theirs)}
    if len(horizons) > 1:
        raise Missing(f"{label}: runs of {' and '.join(map(str, sorted(horizons)))} rounds have no common horizon")
    cost = [[s.rate * s.crossing.rounds for s in side] for side in (mine, theirs)]
    grid = [float(np.mean([s.rate * s.crossing.grid for s in side])) if side else 0.0 for side in (mine, theirs)]
    wins = first_to_target([s.crossing for s in mine], [s.crossing for s in theirs])
    label += (
        f"; of {len(mine)} pairs it is there earlier in {wins.a}, later in {wins.b}, at the same time in {wins.same}"
    )
    label += f", neither in {wins.neither}" * bool(wins.neither)
    differences = tuple(factor * b - a for a, b in zip(*cost, strict=True))
    pairs = [(a, b, factor * b.rate / a.rate) for a, b in zip(mine, theirs, strict=True)]
    untested = len(set(differences)) == 1
    open_below = untested or any(a.crossing.censored and ratio > 1 + 1e-9 for a, _, ratio in pairs)
    open_above = untested or any(b.crossing.censored and ratio < 1 - 1e-9 for _, b, ratio in pairs)
    below, above = (math.inf if unknown else 0.0 for unknown in (open_below, open_above))
    return Comparison(label, differences, widening=(factor * grid[1] + below, grid[0] + above))


_BUILD: dict[type, Callable[[Any, Numbers], list[Node]]] = {
    Ordering: _ordering,
    Difference: _difference,
    Trend: _trend,
    Value: _value,
    Cost: _cost,
}
