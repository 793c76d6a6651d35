"""Empirical verdicts: what the stored runs say of a claim, from paired intervals against the claim's margin.

Nothing is trained here. A claim's predicate (``papers.predicates``) becomes a tree of one-sided comparisons of cells
that share seeds (``base.hypotheses``, where the error rates are stated); the verdict and the interval that decided
it follow from the tree. A claim that is false is called reproduced with probability at most 0.025, whatever the number
of comparisons in it; no correction is made over different claims.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from artifact.base.hypotheses import ALPHA, Comparison, Node, verdict
from artifact.base.stats import Interval, holm
from artifact.papers.comparisons import Missing, tree
from artifact.papers.predicates import AnyPredicate
from artifact.papers.table_results import SYMBOLS
from artifact.runs.store import finite
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import Evidence, Store, open_store

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


# ---- decisions -------------------------------------------------------------------------------------------------------


def decide(claim: Claim, profile: str = PROFILE, store: Store | Path | None = None) -> Verdict:
    """The verdict of the stored runs on a claim at a profile. Raises UserError for an unknown profile.

    reproduced: the whole adjusted interval lies beyond the margin in the claimed direction.  direction-only: beyond
    zero, not beyond the margin.  contradicted: on the other side of zero.  inconclusive: none of these.  not-run: a
    needed cell lacks runs (fewer than two paired seeds), or no predicate can be stated on cells.
    A conjunction ("A beats B and C") is tested part by part at the full level (intersection-union test), so its error
    is at most the error of one part; it is contradicted when one part is, at a level divided by the number of parts
    (Holm's first step). ``at_least`` = u of k parts: both rules in between (``artifact.base.hypotheses``).
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
    """``+1.2 [+0.3, +2.1]``; an unknown end is printed as open."""
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
    """The command that makes the runs: of the table, of the panel's figure, or of the whole paper."""
    if claim.predicate is None:
        return ""
    tables = {tuple(name.split("/")[:2]) for name in (claim.predicate.table, *claim.predicate.also)}
    selection = "/".join(tables.pop()) if len(tables) == 1 else claim.predicate.table.split("/")[0]
    return f"python -m artifact sweep {selection} --profile {profile}"


def decide_all(claims: Sequence[Claim], profile: str = PROFILE, store: Store | Path | None = None) -> list[Verdict]:
    """Verdicts of all claims that training decides, in ledger order, from one reading of the store."""
    store = store if isinstance(store, Store) else open_store(profile, store)
    return [decide(claim, profile, store) for claim in claims if claim.empirical]
