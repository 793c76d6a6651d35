"""Empirical verdicts: what the stored runs say of a claim, from paired intervals against the claim's margin.

Nothing is trained here. A claim's predicate (in ``claims/PAPER.toml``) becomes a tree of one-sided comparisons of cells
that share seeds (``papers.comparisons``); the tree is decided, with its error rates, by ``papers.hypotheses``. A claim
that is false is called reproduced with probability at most 0.025, whatever the number of comparisons in it; no
correction is made over different claims.

A claim has two predicates once the protocol (``docs/protocol.md``) names it: the one in ``claims/protocol.toml``, which
its runs are judged by as soon as they are there, at two looks, and the one on other runs, whose verdict is provisional.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from artifact.base.stats import Interval, holm
from artifact.papers.comparisons import Missing, NothingLeft, tree
from artifact.papers.folders import option
from artifact.papers.hypotheses import ALPHA, Comparison, Node, verdict
from artifact.papers.predicates import AnyPredicate, Cost, Value
from artifact.papers.table_results import SYMBOLS
from artifact.runs.store import finite
from artifact.verdicts import protocol
from artifact.verdicts.contrasts import mean_contrast
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import FEWEST_SEEDS, Evidence, Store, open_store
from artifact.verdicts.setting import in_words

PROFILE = "laptop"
NOT_FLAT = "curves not flat"


@dataclass(frozen=True)
class Size:
    """How large the effect of a claim is: of its mean contrast, or of its only comparison.

    interval: at the level of the verdict.  printed: what the paper prints for it; claimed: what the claim names as its
    least size.  smallest: effect of interest.  All in ``unit``; None where there is none.
    """

    interval: Interval
    printed: float | None
    claimed: float | None
    smallest: float | None
    unit: str = ""

    @property
    def negligible(self) -> bool:
        """The whole interval lies within the smallest effect of interest."""
        return self.smallest is not None and -self.smallest < self.interval.low and self.interval.high < self.smallest

    @property
    def answers(self) -> dict[str, str]:
        """``claimed +2``, ``printed +2.7`` -> ``excluded`` (the effect is smaller), ``exceeded``, ``not excluded``."""
        stated = {"claimed": self.claimed, "printed": self.printed}
        return {f"{what} {x:+.3g}": self._answer(x) for what, x in stated.items() if x is not None}

    def _answer(self, stated: float) -> str:
        if self.interval.high < stated:
            return "excluded"
        return "exceeded" if self.interval.low > stated else "not excluded"

    @property
    def text(self) -> str:
        """``claimed +2 not excluded, printed +2.70 excluded: +2.30 [+1.90, +2.60] points``."""
        said = [
            f"{' and '.join(what for what, own in self.answers.items() if own == answer)} {answer}"
            for answer in dict.fromkeys(self.answers.values())
        ]
        start = f"{', '.join(said)}: " if said else ""
        seen = f"{in_figures(self.interval)} {self.unit}".strip()
        return f"{start}{seen}{', negligible' if self.negligible else ''}"


@dataclass(frozen=True)
class Verdict:
    """What the store says of a claim at a profile.

    id, paper, title: of the claim.  says: the tested statement.  margin: in ``unit``.  interval: the adjusted interval
    that decided, of the comparison ``decided_by``; None for not-run.  n: paired seeds of the comparison with the
    fewest.  text: the verdict in words.  scale: what the profile changes.  setting: data, network, rounds and seeds of
    the runs, and whether their curves are flat.  cells: ids used.  runs: keys used.  missing: cells that lack runs.
    limit: what the decisive comparison had to exceed.  comparisons: every one with its own 95 % interval, one-sided p
    and Holm's p.  command: makes the runs.  provisional: why the verdict is not final; empty where it is.
    size: the answer to how large the effect is; None where nothing says so.  omitted: methods that did not learn, with
    which nothing is compared. reading: no paper contains the sentence, so that counts of papers leave the verdict out.
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
    setting: str = ""
    cells: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    comparisons: tuple[dict[str, Any], ...] = ()
    command: str = ""
    provisional: tuple[str, ...] = ()
    size: Size | None = None
    omitted: tuple[str, ...] = ()
    reading: bool = False

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.verdict]

    @property
    def record(self) -> dict[str, Any]:
        """Plain data for ``--json`` and the evidence files; an open end of an interval is None."""
        return finite(asdict(self))


# ---- decisions -------------------------------------------------------------------------------------------------------


def decide(claim: Claim, profile: str = PROFILE, store: Store | Path | None = None) -> Verdict:
    """The verdict of the stored runs on a claim at a profile. Raises UserError for an unknown profile.

    reproduced: the whole adjusted interval lies beyond the margin in the claimed direction.  direction-only: beyond
    zero, not beyond the margin.  contradicted: none of these, and the interval lies below the margin.
    inconclusive: none of these.  not-run: a needed cell lacks runs (fewer than two paired seeds), or no predicate can
    be stated on cells.
    A conjunction ("A beats B and C") is tested part by part at the full level (intersection-union test), so its error
    is at most the error of one part; it is contradicted when its mean contrast is, at half the level, or when one part
    is, at the other half divided by the number of parts. ``at_least`` = u of k parts: both rules in between
    (``artifact.papers.hypotheses``).
    The protocol's predicate decides as soon as its runs have six of the ten fresh seeds; else the claim's own one does,
    provisionally.
    """
    store = store if isinstance(store, Store) else open_store(profile, store)
    if claim.predicate is None:
        return _not_run(claim, profile, claim.undecided or "the claim has no predicate, which says what runs must show")
    if claim.judged is not None and profile == PROFILE:
        looked_at = _looked_at(claim, claim.judged, profile, store)
        if looked_at is not None:
            return looked_at
    predicate = claim.predicate
    if profile not in predicate.profiles:
        text = f"says nothing at this profile, only at {', '.join(predicate.profiles)}"
        return _not_run(claim, profile, text, Evidence(predicate, profile, store))
    return _judged(claim, predicate, profile, store)


def _looked_at(claim: Claim, predicate: AnyPredicate, profile: str, store: Store) -> Verdict | None:
    """The verdict of the first look that decides, else of the last one that the runs allow; None without six seeds."""
    found = None
    for n, level in protocol.levels().items():
        look = _judged(claim, predicate, profile, store.at(protocol.SEEDS[:n]), level, n)
        if look.verdict == "not-run" and not look.omitted:  # the runs are not there
            break
        found = look
        if look.verdict in ("reproduced", "contradicted"):
            break
    return found


def _judged(
    claim: Claim,
    predicate: AnyPredicate,
    profile: str,
    store: Store,
    level: float = ALPHA,
    needed: int = FEWEST_SEEDS,
) -> Verdict:
    """The verdict of one predicate at a level; ``not-run`` where a number lacks so many seeds as are needed."""
    evidence = Evidence(predicate, profile, store, needed)
    try:
        node = tree(predicate, evidence)
    except NothingLeft as error:
        return replace(_not_run(claim, profile, str(error), evidence), omitted=tuple(sorted(evidence.omitted)))
    except Missing as error:
        return _not_run(claim, profile, str(error), evidence)
    if node is None:
        reason = "; ".join(sorted(set(evidence.missing.values())))
        text = f"{len(evidence.missing)} of {len(evidence.cells)} cells lack runs: {reason}"
        return _not_run(claim, profile, text, evidence)
    return _decided(claim, predicate, profile, evidence, node, level)


def _not_run(claim: Claim, profile: str, text: str, evidence: Evidence | None = None) -> Verdict:
    found = Verdict(claim.id, claim.paper, claim.title, "not-run", profile, claim.title, text, reading=claim.reading)
    if evidence is None:
        return found
    missing = tuple(f"{name} ({reason})" for name, reason in evidence.missing.items())
    return replace(
        found,
        says=evidence.predicate.says,
        margin=evidence.predicate.margin,
        scale=evidence.scale,
        cells=tuple(evidence.cells),
        missing=missing,
        command=_command(evidence.predicate, profile),
    )


def _decided(
    claim: Claim, predicate: AnyPredicate, profile: str, evidence: Evidence, node: Node, level: float
) -> Verdict:
    band = isinstance(predicate, Value) and None not in (predicate.above, predicate.below)  # its two sides cancel
    contrast = mean_contrast(node) if len(evidence.units) == 1 and not band else None
    name, interval, leaf = verdict(node, level, contrast)
    leaves = list(node.leaves())
    unit = evidence.unit
    n = min(len(one.differences) for one in leaves)
    provisional = _provisional(predicate, evidence, name, n)
    return Verdict(
        id=claim.id,
        paper=claim.paper,
        title=claim.title,
        verdict=name,
        profile=profile,
        says=predicate.says,
        text=_text(leaf, interval, leaves, predicate.margin, unit),
        margin=predicate.margin,
        limit=leaf.margin,
        unit=unit,
        interval=interval,
        decided_by=leaf.label,
        n=n,
        scale=evidence.scale,
        setting=_setting(evidence, n, provisional),
        cells=tuple(evidence.cells),
        runs=tuple(sorted(evidence.keys)),
        comparisons=tuple(_comparisons(leaves)),
        command=_command(evidence.predicate, profile),
        provisional=provisional,
        size=_size(predicate, evidence, contrast if contrast is not None else node, level),
        omitted=tuple(sorted(evidence.omitted)),
        reading=claim.reading,
    )


def _provisional(predicate: AnyPredicate, evidence: Evidence, name: str, n: int) -> tuple[str, ...]:
    """Why a verdict is not final, by the protocol's rules for seeds and for the horizon."""
    first, last = protocol.LOOKS
    reasons = []
    if evidence.store.seeds is None:
        reasons.append(f"{n} seeds that are not the protocol's")
    elif n == first and name not in ("reproduced", "contradicted"):
        reasons.append(f"first look: {n} of {last} seeds")
    if evidence.unit == "points" and not isinstance(predicate, Cost) and evidence.keys <= evidence.store.by_key.keys():
        rises = evidence.rises()
        if not protocol.flat(rises, _smallest(predicate)):
            rounds = " and ".join(map(str, evidence.rounds()))
            reasons.append(f"{NOT_FLAT} at round {rounds}")
    return tuple(reasons)


def _smallest(predicate: AnyPredicate) -> float:
    """The smallest effect of interest of the claim's tables, the smallest one where they differ."""
    return min(protocol.smallest("/".join(name.split("/")[:2])) for name in (predicate.table, *predicate.also))


def _setting(evidence: Evidence, n: int, provisional: Sequence[str]) -> str:
    runs = [run for key in sorted(evidence.keys) if (run := evidence.store.by_key.get(key))]
    rising = any(reason.startswith(NOT_FLAT) for reason in provisional)
    return in_words(runs, n) + (", curves not yet flat" if rising else "")


def _size(predicate: AnyPredicate, evidence: Evidence, node: Node, level: float) -> Size | None:
    """The size of a single comparison or of a mean contrast; None for any other claim."""
    if not isinstance(node, Comparison) or any(map(math.isinf, node.widening)):
        return None
    smallest = _smallest(predicate) if evidence.unit == "points" else None
    return Size(node.interval(level), node.printed, node.margin or None, smallest, evidence.unit)


def in_figures(interval: Interval) -> str:
    """``+1.2 [+0.3, +2.1]``; an unknown end is printed as open."""
    low, high = ("open" if math.isinf(end) else f"{end:+.3g}" for end in (interval.low, interval.high))
    return f"{interval.mean:+.3g} [{low}, {high}]"


def _text(leaf: Comparison, interval: Interval, leaves: Sequence[Comparison], margin: float, unit: str) -> str:
    numbers = f"{in_figures(interval)} {unit}".strip()
    ruled_out = ", which the interval rules out" if leaf.margin > 0 and interval.high < leaf.margin else ""
    against = f", margin {margin:g}{ruled_out}" if leaf.margin > 0 else f", within {margin:g}" if margin else ""
    comparisons = one_of(leaf.label, [one.label for one in leaves])
    among = f", decisive of {comparisons} comparisons" * (comparisons > 1)
    return f"{leaf.label}: {numbers} ({level_text(interval)}, n={interval.n}{against}{among})"


def one_of(decided_by: str, labels: Sequence[str]) -> int:
    """How many comparisons the one that decided is one of; 1 for a mean over them."""
    return len(labels) if decided_by in labels else 1


def level_text(interval: Interval) -> str:
    """The level of an interval in words, and by what the level of its look was divided.

    Without looks the level is 95 %; of the share that a part or a mean contrast has the divisor is told.

    >>> level_text(Interval(0.0, -1.0, 1.0, 3, 0.95)), level_text(Interval(0.0, -1.0, 1.0, 3, 1 - 0.05 / 4))
    ('95 %', '98.75 %, level divided by 4')
    """
    undivided = {"": ALPHA, ", for its look": protocol.levels().get(interval.n, ALPHA)}
    divisors = ((name, 2 * level / (1 - interval.level)) for name, level in undivided.items())
    name, divisor = min(divisors, key=lambda item: abs(item[1] - round(item[1])) / item[1])
    shared = name if round(divisor) == 1 else f", level divided by {round(divisor)}"
    return f"{100 * interval.level:.4g} %{shared}"


def _comparisons(leaves: Sequence[Comparison]) -> list[dict[str, Any]]:
    rows = []
    for leaf, adjusted in zip(leaves, holm([leaf.p for leaf in leaves]), strict=True):
        i = leaf.interval(ALPHA)
        numbers = {"mean": i.mean, "low": i.low, "high": i.high, "n": i.n, "margin": leaf.margin}
        rows.append({"label": leaf.label} | numbers | {"p": leaf.p, "p_holm": adjusted})
    return rows


def _command(predicate: AnyPredicate, profile: str) -> str:
    """The command that makes the runs: of the table, of the panel's figure, or of the whole paper."""
    tables = {tuple(name.split("/")[:2]) for name in (predicate.table, *predicate.also)}
    selection = "/".join(tables.pop()) if len(tables) == 1 else predicate.table.split("/")[0]
    return f"python -m artifact sweep {selection}{option(selection.split('/')[0])} --profile {profile}"


def decide_all(claims: Sequence[Claim], profile: str = PROFILE, store: Store | Path | None = None) -> list[Verdict]:
    """Verdicts of all claims that training decides, in ledger order, from one reading of the store."""
    trained = [claim for claim in claims if claim.empirical]
    if not trained:
        return []  # no store is needed, where an installed package may have none
    store = store if isinstance(store, Store) else open_store(profile, store)
    return [decide(claim, profile, store) for claim in trained]
