"""What the stored runs show of each claim: a scale and a finding, at every scale that has runs.

Nothing is trained here. A claim's predicate (in ``claims/PAPER.toml``) becomes a tree of one-sided comparisons of cells
that share seeds (``statements.comparisons``); ``finding_rule`` turns the tree into a finding, with its error rates
(``statements.hypotheses``). No correction is made over different claims.

A claim has two predicates once the protocol (``docs/protocol.md``) names it: the one in ``claims/protocol.toml``, which
its runs are judged by as soon as they are there, at two looks, and the one on other runs. Both are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from artifact.base import paths
from artifact.base.cache import cache
from artifact.base.stats import Interval, holm
from artifact.papers import experiments
from artifact.papers.declared import read_toml
from artifact.papers.folders import option
from artifact.papers.table_results import SYMBOLS
from artifact.runs.store import finite
from artifact.statements.comparisons import Missing, NothingLeft, tree
from artifact.statements.contrasts import mean_contrast
from artifact.statements.hypotheses import ALPHA, Comparison, Node
from artifact.statements.predicates import AnyPredicate, Cost, Value
from artifact.verdicts import fidelity, protocol
from artifact.verdicts.finding_rule import Finding, finding, moves_back, strengthened
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import FEWEST_SEEDS, Evidence, Store, open_store
from artifact.verdicts.scales import SCALES, printed_rounds, scale
from artifact.verdicts.setting import in_words

PROFILE = "laptop"
NOT_FLAT = "the difference still moves"
#: findings after which the second look is not taken
DECIDED = ("seen", "reproduced", "reversed", "contradicted")
#: what is measured on the last model's loss surface and depends on how far training has come
EARLY = "the loss surface depends on how far training has come"
#: and where the predicate cannot speak of the sentence, or a knob that the claim hangs on was not tuned
NOT_ITS_SENTENCE = "the comparison is"
NOT_TUNED = "not tuned for these runs"
#: beginnings of the reasons for which a claim has no finding whatever its numbers are
WITHOUT_A_FINDING = (NOT_FLAT, EARLY, NOT_ITS_SENTENCE, NOT_TUNED)
SURFACE = ("top-eigenvalue", "trace")


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
        """The size in words: ``claimed +2 not excluded, printed +2.70 excluded: +2.30 [+1.90, +2.60] points``."""
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

    id, paper, title: of the claim.  says: the tested statement.  margin: in ``unit``.
    interval: the adjusted interval that decided, of the comparison ``decided_by``; None for not-run.
    n: paired seeds of the comparison with the fewest.  text: the verdict in words.
    scale: of the runs (``verdicts.scales``).  k, K: comparisons whose mean lies on the claimed side, of all.
    against: those established on the other side.  note: what the profile changes.
    evidence: what the runs of every scale show, the largest first; the verdict is that of the largest.
    setting: data, network, rounds and seeds of the runs, and whether the difference still moves.
    tables: that the predicate names.  cells: ids used.  runs: keys used.  missing: cells that lack runs.
    limit: what the decisive comparison had to exceed.
    comparisons: every one with its own 95 % interval, one-sided p and Holm's p.
    command: makes the runs.  provisional: why the verdict is not final; empty where it is.
    size: the answer to how large the effect is; None where nothing says so.
    omitted: methods that did not learn, with which nothing is compared.
    reading: no paper contains the sentence, so that counts of papers leave the verdict out.
    predicts: whether the setting of the runs predicts the larger one (``verdicts.fidelity``); None where nothing
    says so. Only where it does, the finding takes part in a headline.
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
    k: int = 0
    K: int = 0
    against: tuple[str, ...] = ()
    note: str = ""
    setting: str = ""
    evidence: tuple[dict[str, Any], ...] = ()
    tables: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    comparisons: tuple[dict[str, Any], ...] = ()
    command: str = ""
    provisional: tuple[str, ...] = ()
    size: Size | None = None
    omitted: tuple[str, ...] = ()
    reading: bool = False
    predicts: bool | None = None

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.verdict]

    @property
    def record(self) -> dict[str, Any]:
        """Plain data for ``--json`` and the evidence files; an open end of an interval is None."""
        return finite(asdict(self)) | {"finding": self.verdict}


# ---- decisions -------------------------------------------------------------------------------------------------------


def decide(claim: Claim, profile: str = PROFILE, store: Store | Path | None = None) -> Verdict:
    """What the stored runs show of a claim at a profile. Raises UserError for an unknown profile.

    The protocol's predicate speaks as soon as its runs have six of the ten fresh seeds, and the claim's own
    predicate on its own runs. Each has a scale and a finding (``finding_rule``, ``docs/protocol.md``). The larger
    scale leads, and the protocol's runs where both have one scale. not-run: no predicate has its runs.
    """
    store = store if isinstance(store, Store) else open_store(profile, store)
    if claim.predicate is None:
        return _not_run(claim, profile, claim.undecided or "the claim has no predicate, which says what runs must show")
    found = []
    if claim.judged is not None and profile == PROFILE:
        looked_at = _looked_at(claim, claim.judged, profile, store)
        if looked_at is not None and looked_at.omitted and looked_at.verdict == "not-run":
            return looked_at  # its methods did not learn, which older seeds do not mend
        found.append(looked_at)
    if profile in claim.predicate.profiles:
        found.append(_judged(claim, claim.predicate, profile, store))
    shown = [_held(one, store) for one in found if one is not None and one.verdict != "not-run"]
    if shown:
        largest_first = sorted(shown, key=lambda one: -SCALES.index(one.scale))
        return replace(largest_first[0], evidence=tuple(_brief(one) for one in largest_first))
    without = [one for one in found if one is not None]
    if without:
        return without[-1]
    text = f"says nothing at this profile, only at {', '.join(claim.predicate.profiles)}"
    return _not_run(claim, profile, text, Evidence(claim.predicate, profile, store))


def _held(one: Verdict, store: Store) -> Verdict:
    """The verdict with the answer whether its setting predicts the larger one."""
    if one.profile != PROFILE:
        return one
    return replace(one, predicts=fidelity.predicts(store, one.tables, one.scale))


def _brief(one: Verdict) -> dict[str, Any]:
    """What one scale shows, without what the claim has in common with the others."""
    names = ("scale", "predicts", "k", "K", "against", "n", "says", "text", "setting", "interval", "provisional")
    interval = None if one.interval is None else asdict(one.interval)
    return {"finding": one.verdict} | {name: getattr(one, name) for name in names} | {"interval": interval}


def _looked_at(claim: Claim, predicate: AnyPredicate, profile: str, store: Store) -> Verdict | None:
    """The verdict of the first look that decides, else of the last one that the runs allow; None without six seeds."""
    found = None
    for n, level in protocol.levels().items():
        look = _judged(claim, predicate, profile, store.at(protocol.SEEDS[:n]), level, n)
        if look.verdict == "not-run" and not look.omitted:  # the runs are not there
            break
        found = look
        if look.verdict in DECIDED:
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
        note=evidence.scale,
        cells=tuple(evidence.cells),
        missing=missing,
        command=_command(evidence.predicate, profile),
    )


def _decided(
    claim: Claim, predicate: AnyPredicate, profile: str, evidence: Evidence, node: Node, level: float
) -> Verdict:
    band = isinstance(predicate, Value) and None not in (predicate.above, predicate.below)  # its two sides cancel
    contrast = mean_contrast(node) if len(evidence.units) == 1 and not band else None
    leaves = list(node.leaves())
    unit = evidence.unit
    smallest = smallest_effect(predicate) if unit == "points" else None
    found = finding(node, contrast, smallest, level)
    n = min(len(one.differences) for one in leaves)
    configs = [run.config() for key in sorted(evidence.keys) if (run := evidence.store.by_key.get(key))]
    tables = (predicate.table, *predicate.also)
    runs_scale = scale(configs, tables) or SCALES[0]
    size = _size(predicate, evidence, contrast if contrast is not None else node, level)
    excludes = size is not None and size.printed is not None and size.interval.high < size.printed
    word, reasons = strengthened(found.word, runs_scale, n, excludes), _provisional(predicate, evidence, found, n)
    if any(reason.startswith((NOT_FLAT, EARLY)) for reason in reasons):
        word = "undecided"
    if (reason := _not_the_sentence(claim, word)) is not None:
        word, reasons = "undecided", (*reasons, reason)
    if (knob := untuned(tables)) is not None:
        word, reasons = "untuned", (*reasons, f"{NOT_TUNED}: {knob}")
    return Verdict(
        id=claim.id,
        paper=claim.paper,
        title=claim.title,
        verdict=word,
        profile=profile,
        says=predicate.says,
        text=_text(found.leaf, found.interval, leaves, predicate.margin, unit),
        margin=predicate.margin,
        limit=found.leaf.margin,
        unit=unit,
        interval=found.interval,
        decided_by=found.leaf.label,
        n=n,
        scale=runs_scale,
        k=found.k,
        K=found.K,
        against=found.against,
        note=evidence.scale,
        setting=_setting(evidence, n, reasons),
        tables=tables,
        cells=tuple(evidence.cells),
        runs=tuple(sorted(evidence.keys)),
        comparisons=tuple(_comparisons(leaves)),
        command=_command(evidence.predicate, profile),
        provisional=reasons,
        size=size,
        omitted=tuple(sorted(evidence.omitted)),
        reading=claim.reading,
    )


def _provisional(predicate: AnyPredicate, evidence: Evidence, found: Finding, n: int) -> tuple[str, ...]:
    """Why a finding is not final, by the protocol's rules for seeds, for the difference and for the loss surface."""
    first, last = protocol.LOOKS
    reasons = []
    if evidence.store.seeds is None:
        reasons.append(f"{n} seeds that are not the protocol's")
    elif n == first and found.word not in DECIDED:
        reasons.append(f"first look: {n} of {last} seeds")
    rise = _rise_of_difference(predicate, evidence)
    if rise is not None and moves_back(found.word, rise, smallest_effect(predicate)):
        reasons.append(f"{NOT_FLAT}: {in_figures(rise)} points over the last quarter of the rounds")
    printed = printed_rounds((predicate.table, *predicate.also))
    played = evidence.rounds() if evidence.keys <= evidence.store.by_key.keys() else []
    if _of_surface(predicate) and played and (printed is None or max(played) < printed):
        asked = f"of {printed} printed" if printed else "where no paper prints the runs"
        reasons.append(f"{EARLY}: {max(played)} rounds {asked}")
    return tuple(reasons)


def _of_surface(predicate: AnyPredicate) -> bool:
    """Whether the numbers are of the loss surface: curvature, spectra, landscapes, or a probed sharpness."""
    if predicate.measure in SURFACE or predicate.measure.startswith("sharpness."):
        return True
    if not predicate.of_figure:
        metrics = experiments.find("/".join(predicate.table.split("/")[:2]))[1].metrics
        chosen = [one for one in metrics if one.id in predicate.metrics] or list(metrics[:1])
        return predicate.measure == "metric" and any(one.quantity in SURFACE for one in chosen)
    from artifact.papers.figures import series  # the package loads the drawing library

    kinds = {one.panel.kind for one in series.select(predicate.table, PROFILE)}
    return bool(kinds & {"spectrum", "landscape", "density"})


def _rise_of_difference(predicate: AnyPredicate, evidence: Evidence) -> Interval | None:
    """What the claim's difference, or the mean of its differences, gained over the last quarter of the rounds.

    The same comparisons are made of every run's own rise. None for claims on other numbers than accuracies, and where
    curves have too few evaluated rounds.
    """
    if predicate.measure != "metric" or predicate.of_figure or evidence.unit != "points":
        return None
    if isinstance(predicate, (Cost, Value)):
        return None
    of_rises = predicate.model_copy(update={"measure": "rise", "margin": 0.0})
    own = Evidence(of_rises, evidence.profile, evidence.store, evidence.needed)
    try:
        node = tree(of_rises, own)
    except Missing:
        return None
    if node is None:
        return None
    whole = mean_contrast(node) or (node if isinstance(node, Comparison) else None)
    return None if whole is None else whole.interval(ALPHA)


def _not_the_sentence(claim: Claim, word: str) -> str | None:
    """Why what was found says nothing of the paper's sentence; None where it does.

    A predicate that asks for more than the sentence cannot speak against it, and one that asks something else cannot
    speak at all.
    """
    if claim.reading:  # no paper contains the sentence
        return None
    if claim.fit == "another":
        return f"{NOT_ITS_SENTENCE} another one than the paper's sentence"
    if claim.fit == "wider" and word in ("reversed", "contradicted", "no-difference"):
        return f"{NOT_ITS_SENTENCE} one that asks for more than the paper's sentence"
    return None


@cache
def untuned(tables: tuple[str, ...]) -> str | None:
    """The setting that the claim hangs on and nobody tuned for these tables; None where there is none."""
    for entry in read_toml(paths.CLAIMS / "untuned.toml", "untuned")["untuned"]:
        for name in tables:
            short = "/".join(name.split("/")[:2])
            if any(fnmatch(short, pattern) for pattern in entry["tables"]):
                return str(entry["setting"])
    return None


def smallest_effect(predicate: AnyPredicate) -> float:
    """The smallest effect of interest of the claim's tables, the smallest one where they differ."""
    return min(protocol.smallest("/".join(name.split("/")[:2])) for name in (predicate.table, *predicate.also))


def _setting(evidence: Evidence, n: int, provisional: Sequence[str]) -> str:
    runs = [run for key in sorted(evidence.keys) if (run := evidence.store.by_key.get(key))]
    rising = any(reason.startswith(NOT_FLAT) for reason in provisional)
    return in_words(runs, n) + (", the difference still moves" if rising else "")


def _size(predicate: AnyPredicate, evidence: Evidence, node: Node, level: float) -> Size | None:
    """The size of a single comparison or of a mean contrast; None for any other claim."""
    if not isinstance(node, Comparison) or any(map(math.isinf, node.widening)):
        return None
    smallest = smallest_effect(predicate) if evidence.unit == "points" else None
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
    return f"python -m fedsharp sweep {selection}{option(selection.split('/')[0])} --profile {profile}"


def decide_all(claims: Sequence[Claim], profile: str = PROFILE, store: Store | Path | None = None) -> list[Verdict]:
    """Verdicts of all claims that training decides, in ledger order, from one reading of the store."""
    trained = [claim for claim in claims if claim.empirical]
    if not trained:
        return []  # no store is needed, where an installed package may have none
    store = store if isinstance(store, Store) else open_store(profile, store)
    return [decide(claim, profile, store) for claim in trained]
