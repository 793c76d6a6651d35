"""Empirical verdicts: what the stored runs say of a claim, from paired intervals against the claim's margin.

Nothing is trained here. A claim's predicate (``judging.predicates``) becomes a tree of one-sided comparisons of cells
that share seeds (``judging.hypotheses``, where the error rates are stated); the verdict and the interval that decided
it follow from the tree. A claim that is false is called reproduced with probability at most 0.025, whatever the number
of comparisons in it; no correction is made over different claims.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from artifact.base.hypotheses import (
    ALPHA,
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
    verdict,
)
from artifact.base.stats import Interval, first_to_target, holm, linear_contrasts, page_p
from artifact.papers.measured import UP_TO_TARGET
from artifact.papers.table_results import SYMBOLS
from artifact.runs.store import finite
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import BySeed, Evidence, Missing, Spent, Store, open_store
from artifact.verdicts.predicates import AnyPredicate, Cost, Difference, Ordering, Place, Predicate, Trend, Value

PROFILE = "laptop"


@dataclass(frozen=True)
class Verdict:
    """What the store says of a claim at a profile.

    id, paper, title: of the claim.  says: the tested statement.  margin: in ``unit``.  interval: the adjusted interval
    that decided, of the comparison ``decided_by``; None for not-run.  n: paired seeds of the comparison with the
    fewest.  text: the verdict in words.  scale: what the profile changes.  cells: ids used.  runs: keys used.
    missing: cells that lack runs.  limit: what the decisive comparison had to exceed.  comparisons: every one with its
    own 95 % interval, one-sided p and Holm's p.
    command: makes the runs.
    """

    id: str
    paper: str
    title: str
    verdict: str
    profile: str
    says: str
    text: str
    margin: float = 0.0
    limit: float = 0.0
    unit: str = ""
    interval: Interval | None = None
    decided_by: str = ""
    n: int = 0
    scale: str = ""
    cells: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    comparisons: tuple[dict[str, Any], ...] = ()
    command: str = ""

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.verdict]

    @property
    def record(self) -> dict[str, Any]:
        """Plain data for ``--json`` and the evidence files; an open end of an interval is None."""
        return finite(asdict(self))


# ---- from predicates to comparisons ----------------------------------------------------------------------------------


def tree(predicate: AnyPredicate, evidence: Evidence) -> Node | None:
    """The comparisons of a predicate; None where a cell lacks runs (then ``evidence.missing`` says which)."""
    parts: list[Node] = []
    for evidence.table, evidence.metric in itertools.product(
        (predicate.table, *predicate.also), predicate.metrics or (None,)
    ):
        parts += _BUILD[type(predicate)](predicate, evidence)
    if evidence.missing:
        return None
    return every(parts) if predicate.at_least is None else AtLeast(predicate.at_least, tuple(parts))


def _labelled(evidence: Evidence, text: str, within: str) -> str:
    """The comparison with the metric and the place where it is made, when the predicate has several."""
    predicate = evidence.predicate
    where = [evidence.table] if predicate.also else []
    where += [evidence.name(within)] if len(predicate.within) > 1 else []
    where += [evidence.metric] if len(predicate.metrics) > 1 else []
    return f"{text} ({'; '.join(where)})" if where else text


def _differences(predicate: Predicate, evidence: Evidence, a: str, b: Place, within: str) -> BySeed:
    """Seed -> how much better a is than b, or than the best of several."""
    mine, theirs = evidence.values(a, within), _best_of(predicate, evidence, b, within)
    sign = 1 if predicate.better == "higher" else -1
    return {seed: sign * (mine[seed] - theirs[seed]) for seed in evidence.shared(mine, theirs)}


def _best_of(predicate: Predicate, evidence: Evidence, names: Place, within: str) -> BySeed:
    """Seed -> the value, of several the best one at that seed."""
    if isinstance(names, str):
        return evidence.values(names, within)
    found = [evidence.values(name, within) for name in names]
    best = max if predicate.better == "higher" else min
    return {seed: best(values[seed] for values in found) for seed in evidence.shared(*found)}


def _ordering(predicate: Ordering, evidence: Evidence) -> list[Node]:
    places = [(place,) if isinstance(place, str) else place for place in predicate.order]
    parts: list[Node] = []
    for within in predicate.within:
        for better, worse in itertools.pairwise(places):
            for a, b in itertools.product(better, worse):
                found = _differences(predicate, evidence, a, b, within)
                label = _labelled(evidence, f"{evidence.name(a)} better than {evidence.name(b)}", within)
                parts.append(Comparison(label, tuple(found.values()), predicate.margin))
    return parts


def _difference(predicate: Difference, evidence: Evidence) -> list[Node]:
    if predicate.lead:
        return [_lead(predicate, evidence, a, b) for a, b in predicate.pairs]
    if predicate.mean:
        found = [_averaged(predicate, evidence, a, b) for a, b in predicate.pairs]
    else:
        places = itertools.product(predicate.within, predicate.pairs)
        found = [_at_place(predicate, evidence, a, b, within) for within, (a, b) in places]
    if predicate.equal:
        return [equivalent(label, tuple(values.values()), predicate.margin) for label, values in found]
    return [Comparison(label, tuple(values.values()), predicate.margin) for label, values in found]


def _at_place(predicate: Difference, evidence: Evidence, a: str, b: Place, within: str) -> tuple[str, BySeed]:
    """Seed -> how much better a is than b; the names for the label are known once the values are."""
    values = _differences(predicate, evidence, a, b, within)
    return _labelled(evidence, _minus(evidence, a, b), within), values


def _averaged(predicate: Difference, evidence: Evidence, a: str, b: Place) -> tuple[str, BySeed]:
    """Seed -> how much better a is than b in the mean over ``within``."""
    places = [_differences(predicate, evidence, a, b, within) for within in predicate.within]
    label = f"{_minus(evidence, a, b)} (mean over {' and '.join(evidence.name(within) for within in predicate.within)})"
    return label, {s: float(np.mean([values[s] for values in places])) for s in evidence.shared(*places)}


def _minus(evidence: Evidence, a: str, b: Place) -> str:
    """How much better a is than b, in words that hold for both directions."""
    several = () if isinstance(b, str) else b
    a, b = evidence.name(a), f"best of {', '.join(map(evidence.name, several))}" if several else evidence.name(b)
    return f"{a} - {b}" if evidence.predicate.better == "higher" else f"{b} - {a}"


def _lead(predicate: Difference, evidence: Evidence, a: str, b: Place) -> Node:
    first, second = (_differences(predicate, evidence, a, b, within) for within in predicate.lead)
    shared = evidence.shared(first, second)
    at = [evidence.name(within) for within in predicate.lead]
    label = f"{_minus(evidence, a, b)} at {at[0]} above that at {at[1]}" + (
        f" ({evidence.table})" if predicate.also else ""
    )
    return Comparison(label, tuple(first[seed] - second[seed] for seed in shared), predicate.margin)


def _trend(predicate: Trend, evidence: Evidence) -> list[Node]:
    parts: list[Node] = []
    for within in predicate.within:
        levels = predicate.order or evidence.levels(within)
        if predicate.shape == "peak-at" and predicate.peak not in levels:
            raise Missing(f"{predicate.table} has no level {predicate.peak}; it has {', '.join(levels)}")
        sweep = [evidence.values(level, within) for level in levels]
        shared = evidence.shared(*sweep)
        if evidence.missing:
            continue
        table = np.array([[values[seed] for values in sweep] for seed in shared])
        sign = 1 if predicate.better == "higher" else -1
        parts.append(_shape(predicate, evidence, levels, sign * table, within))
    return parts


def _shape(predicate: Trend, evidence: Evidence, levels: Sequence[str], table: np.ndarray, within: str) -> Node:
    """table: [seeds, levels], higher is better."""
    names = [evidence.level_name(level, within) for level in levels]
    labels = [_labelled(evidence, name, within) for name in names]
    if predicate.shape in ("rising", "falling"):
        sign = 1 if predicate.shape == "rising" else -1
        text = f"{predicate.shape} from {names[0]} to {names[-1]}"
        label = _labelled(evidence, f"{text}, Page's p = {page_p(sign * table):.2g}", within)
        return Comparison(label, tuple(sign * linear_contrasts(table)), predicate.margin)
    if predicate.shape == "flat":
        return flat(table, labels, predicate.margin)
    if predicate.shape == "first-lowest":
        return lowest(table, labels, 0, predicate.margin)
    if predicate.shape == "peak-at":
        return highest(table, labels, levels.index(predicate.peak), predicate.margin)
    build = interior_maximum if predicate.shape == "interior-maximum" else somewhere_falling
    return build(table, labels, predicate.margin)


def _value(predicate: Value, evidence: Evidence) -> list[Node]:
    parts: list[Node] = []
    for within, label in itertools.product(predicate.within, predicate.labels):
        values = np.array(list(evidence.values(label, within).values()))
        name = _labelled(evidence, evidence.name(label), within)
        if predicate.above is not None:
            parts.append(Comparison(f"{name} above {predicate.above:g}", tuple(values - predicate.above)))
        if predicate.below is not None:
            parts.append(Comparison(f"{name} below {predicate.below:g}", tuple(predicate.below - values)))
        if predicate.short_of_printed is not None:
            bound = evidence.printed(label, within) - predicate.short_of_printed
            parts.append(Comparison(f"{name} above {bound:g}", tuple(values - bound)))
    return parts


def _cost(predicate: Cost, evidence: Evidence) -> list[Node]:
    return [_cheaper(predicate, evidence, a, b, within) for within in predicate.within for a, b in predicate.pairs]


def _cheaper(predicate: Cost, evidence: Evidence, a: str, b: str, within: str) -> Node:
    """factor times the cost of b exceeds that of a."""
    cell, _ = (evidence.cell(name, within) for name in (a, b))
    quantity = cell.metric.quantity
    times = f"{predicate.factor:g} times " if predicate.factor != 1 else ""
    text = f"{evidence.name(a)} costs less than {times}{evidence.name(b)}"
    if quantity in UP_TO_TARGET and cell.target is not None:
        text += f" up to {cell.target:g} % accuracy"  # of the profile; the column is named after the paper's target
    label = _labelled(evidence, text, within)
    if quantity in UP_TO_TARGET:
        mine, theirs = (evidence.spent(name, within) for name in (a, b))
        seeds = evidence.shared(mine, theirs)
        return _restricted(label, predicate.factor, [mine[s] for s in seeds], [theirs[s] for s in seeds])
    mine, theirs = evidence.values(a, within), evidence.values(b, within)
    seeds = evidence.shared(mine, theirs)
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
    label += f"; reached first in {wins.a} pairs, later in {wins.b}, tied or neither reached in {wins.tied}"
    differences = tuple(factor * b - a for a, b in zip(*cost, strict=True))
    pairs = [(a, b, factor * b.rate / a.rate) for a, b in zip(mine, theirs, strict=True)]
    untested = len(set(differences)) == 1
    open_below = untested or any(a.crossing.censored and ratio > 1 + 1e-9 for a, _, ratio in pairs)
    open_above = untested or any(b.crossing.censored and ratio < 1 - 1e-9 for _, b, ratio in pairs)
    below, above = (math.inf if unknown else 0.0 for unknown in (open_below, open_above))
    return Comparison(label, differences, widening=(factor * grid[1] + below, grid[0] + above))


_BUILD: dict[type, Callable[[Any, Evidence], list[Node]]] = {
    Ordering: _ordering,
    Difference: _difference,
    Trend: _trend,
    Value: _value,
    Cost: _cost,
}


# ---- decisions -------------------------------------------------------------------------------------------------------


def decide(claim: Claim, profile: str = PROFILE, store: Store | Path | None = None) -> Verdict:
    """The verdict of the stored runs on a claim at a profile. Raises UserError for an unknown profile.

    reproduced: the whole adjusted interval lies beyond the margin in the claimed direction.  direction-only: beyond
    zero, not beyond the margin.  contradicted: on the other side of zero.  inconclusive: none of these.  not-run: a
    needed cell lacks runs (fewer than two paired seeds), or no predicate can be stated on cells.
    A conjunction ("A beats B and C") is tested part by part at the full level (intersection-union test), so its error
    is at most that of one part; it is contradicted when one part is, at a level divided by the number of parts (Holm's
    first step). ``at_least`` = u of k parts: both rules in between (``artifact.base.hypotheses``).
    """
    store = store if isinstance(store, Store) else open_store(profile, store)
    if claim.predicate is None:
        return _not_run(claim, profile, claim.undecided)
    predicate = claim.predicate
    evidence = Evidence(predicate, profile, store)
    if profile not in predicate.profiles:
        return _not_run(
            claim, profile, f"says nothing at this profile, only at {', '.join(predicate.profiles)}", evidence
        )
    try:
        node = tree(predicate, evidence)
    except Missing as error:
        return _not_run(claim, profile, str(error), evidence)
    if node is None:
        reason = "; ".join(sorted(set(evidence.missing.values())))
        text = f"{len(evidence.missing)} of {len(evidence.cells)} cells lack runs: {reason}"
        return _not_run(claim, profile, text, evidence)
    return _decided(claim, predicate, profile, evidence, node)


def _not_run(claim: Claim, profile: str, text: str, evidence: Evidence | None = None) -> Verdict:
    found = Verdict(claim.id, claim.paper, claim.title, "not-run", profile, claim.title, text)
    if evidence is None:
        return found
    missing = tuple(f"{name} ({reason})" for name, reason in evidence.missing.items())
    return replace(
        found,
        says=claim.predicate.says,
        margin=claim.predicate.margin,
        scale=evidence.scale,
        cells=tuple(evidence.cells),
        missing=missing,
        command=_command(claim, profile),
    )


def _decided(claim: Claim, predicate: AnyPredicate, profile: str, evidence: Evidence, node: Node) -> Verdict:
    name, interval, leaf = verdict(node)
    leaves = list(node.leaves())
    unit = evidence.unit
    return Verdict(
        id=claim.id,
        paper=claim.paper,
        title=claim.title,
        verdict=name,
        profile=profile,
        says=predicate.says,
        text=_text(leaf, interval, len(leaves), predicate.margin, unit),
        margin=predicate.margin,
        limit=leaf.margin,
        unit=unit,
        interval=interval,
        decided_by=leaf.label,
        n=min(len(one.differences) for one in leaves),
        scale=evidence.scale,
        cells=tuple(evidence.cells),
        runs=tuple(sorted(evidence.keys)),
        comparisons=tuple(_comparisons(leaves)),
        command=_command(claim, profile),
    )


def in_figures(interval: Interval) -> str:
    """``+1.2 [+0.3, +2.1]``; an end of which nothing is known is open."""
    low, high = ("open" if math.isinf(end) else f"{end:+.3g}" for end in (interval.low, interval.high))
    return f"{interval.mean:+.3g} [{low}, {high}]"


def _text(leaf: Comparison, interval: Interval, comparisons: int, margin: float, unit: str) -> str:
    numbers = f"{in_figures(interval)} {unit}".strip()
    ruled_out = ", which the interval rules out" if 0 <= interval.high < leaf.margin else ""
    against = f", margin {margin:g}{ruled_out}" if leaf.margin > 0 else f", within {margin:g}" if margin else ""
    among = f", decisive of {comparisons} comparisons" if comparisons > 1 else ""
    return f"{leaf.label}: {numbers} (n={interval.n}{against}{among})"


def _comparisons(leaves: Sequence[Comparison]) -> list[dict[str, Any]]:
    rows = []
    for leaf, adjusted in zip(leaves, holm([leaf.p for leaf in leaves]), strict=True):
        i = leaf.interval(ALPHA)
        numbers = {"mean": i.mean, "low": i.low, "high": i.high, "n": i.n, "margin": leaf.margin}
        rows.append({"label": leaf.label} | numbers | {"p": leaf.p, "p_holm": adjusted})
    return rows


def _command(claim: Claim, profile: str) -> str:
    """What makes the runs; a panel's runs are those of its figure, several tables' those of their paper."""
    if claim.predicate is None:
        return ""
    tables = {tuple(name.split("/")[:2]) for name in (claim.predicate.table, *claim.predicate.also)}
    selection = "/".join(tables.pop()) if len(tables) == 1 else claim.predicate.table.split("/")[0]
    return f"python -m artifact sweep {selection} --profile {profile}"


def decide_all(claims: Sequence[Claim], profile: str = PROFILE, store: Store | Path | None = None) -> list[Verdict]:
    """Verdicts of all claims that training decides, in ledger order, from one reading of the store."""
    store = store if isinstance(store, Store) else open_store(profile, store)
    return [decide(claim, profile, store) for claim in claims if claim.empirical]
