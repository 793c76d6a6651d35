"""How often the finding rule errs, and what it sees: claims of the ledger on simulated seeds.

A simulated seed is a random combination of a claim's stored residuals (the paired differences of its comparisons, less
their means), so that comparisons keep their spreads and correlations. The true mean of every comparison is its margin
plus so many of its own standard deviations. What is judged is the tree of the predicate that the claim's verdict rests
on, by the code that gives verdicts, at the protocol's looks and with its mean contrast.

    python docs/protocol/verdict_errors.py --draws 1000 --seed 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from scipy import special, stats

from artifact.base.cache import cache
from artifact.base.stats import Interval
from artifact.base.tables_as_text import markdown_table
from artifact.statements.comparisons import Missing, tree
from artifact.statements.contrasts import conjuncts, mean_contrast
from artifact.statements.hypotheses import ALPHA, AtLeast, Comparison, Node
from artifact.statements.predicates import AnyPredicate
from artifact.verdicts import ledger, protocol
from artifact.verdicts.decide import DECIDED, smallest_effect
from artifact.verdicts.finding_rule import word_of
from artifact.verdicts.lookup import FEWEST_SEEDS, Evidence, Store, open_store

#: name -> (true means of the parts in standard deviations from their margins, what is counted).  In ``one`` only the
#: first part of a conjunction lies at its margin and the others far beyond, which is where *seen* errs most.
SCENARIOS: dict[str, tuple[float, str]] = {
    "null, seen": (0.0, "seen"),
    "null, reversed": (0.0, "reversed"),
    "one part null, seen": (0.0, "seen"),
    "+1 sd, seen": (1.0, "seen"),
    "+2 sd, seen": (2.0, "seen"),
    "-1 sd, reversed": (-1.0, "reversed"),
    "-2 sd, reversed": (-2.0, "reversed"),
}
FAR = 20.0


@dataclass(frozen=True)
class Drawn(Comparison):
    """A comparison whose mean and standard error are known already, since they are computed for many draws at once."""

    mean: float = 0.0
    error: float = 0.0

    def interval(self, alpha: float = ALPHA) -> Interval:
        n = len(self.differences)
        half = self.error * _quantile(n - 1, alpha)
        return Interval(self.mean, self.mean - half, self.mean + half, n, 1 - 2 * alpha).widened(*self.widening)

    def lowered(self, bound: float) -> Drawn:
        if self.margin <= bound:
            return self
        return Drawn(self.label, self.differences, bound, self.widening, mean=self.mean, error=self.error)

    @property
    def p(self) -> float:
        return self._below(self.margin - self.mean + self.widening[0])

    @property
    def p_against(self) -> float:
        return self._below(self.mean + self.widening[1] - self.margin)

    def _below(self, distance: float) -> float:
        return float(special.stdtr(len(self.differences) - 1, distance / self.error))


@cache
def _quantile(df: int, alpha: float) -> float:
    return float(special.stdtrit(df, 1 - alpha))


@dataclass(frozen=True)
class Claim:
    """A claim's tree with its stored residuals [seeds, parts], standard deviations [parts] and smallest effect."""

    id: str
    node: Node
    residuals: np.ndarray
    deviations: np.ndarray
    averaged: bool
    smallest: float | None = None

    @property
    def conjunction(self) -> bool:
        """Whether all of two or more comparisons have to hold, so that one that fails makes the claim false."""
        return len(conjuncts(self.node)) > 1


def claims() -> Iterator[Claim]:
    """Every claim of the ledger that the stored runs decide and whose comparisons vary over the seeds."""
    store = open_store("laptop")
    for one in ledger.load():
        found = next(filter(None, (on_runs(*judges) for judges in deciding(one, store))), None)
        if found is None:
            continue
        node, averaged, smallest = found
        values = np.array([leaf.differences for leaf in node.leaves()]).T
        deviations = values.std(0, ddof=1)
        if (deviations > 0).all():
            yield Claim(one.id, node, values - values.mean(0), deviations, averaged, smallest)


def deciding(one: ledger.Claim, store: Store) -> Iterator[tuple[AnyPredicate, Store, int]]:
    """(predicate, runs, seeds that it needs): as a verdict asks for them, the protocol's at its last look first."""
    if one.predicate is None:
        return
    if one.judged is not None:
        yield from ((one.judged, store.at(protocol.SEEDS[:n]), n) for n in sorted(protocol.levels(), reverse=True))
    if "laptop" in one.predicate.profiles:
        yield one.predicate, store, FEWEST_SEEDS


def on_runs(predicate: AnyPredicate, store: Store, needed: int) -> tuple[Node, bool, float | None] | None:
    """The tree on those runs, whether it has a mean contrast, and its smallest effect; None where runs are missing."""
    evidence = Evidence(predicate, "laptop", store, needed)
    try:
        node = tree(predicate, evidence)
    except Missing:
        return None
    if node is None or len({len(leaf.differences) for leaf in node.leaves()}) > 1:
        return None
    return node, len(evidence.units) == 1, smallest_effect(predicate) if evidence.unit == "points" else None


def draws(claim: Claim, effect: float, one: bool, number: int, rng: np.random.Generator) -> np.ndarray:
    """[number, ten seeds, parts] simulated differences.

    one: only the first part has the effect, the others lie far beyond their margins.
    """
    n = len(claim.residuals)
    weights = rng.normal(size=(number, len(protocol.SEEDS), n))
    centred = weights @ claim.residuals / np.sqrt(n - 1)
    effects = np.full(len(claim.deviations), effect)
    if one:
        effects[1:] = FAR
    margins = np.array([leaf.margin for leaf in claim.node.leaves()])
    return centred + margins + effects * claim.deviations


def planted(node: Node, leaves: Iterator[Drawn]) -> Node:
    """The tree with other leaves, in their order."""
    if isinstance(node, Comparison):
        return next(leaves)
    return AtLeast(node.needed, tuple(planted(part, leaves) for part in node.parts))


def judged(claim: Claim, seeds: np.ndarray) -> list[str]:
    """The verdicts on simulated seeds [draws, 10, parts]: at six of them, and where that decides nothing at ten."""
    words = [""] * len(seeds)
    contrast = mean_contrast(claim.node) if claim.averaged else None
    known = list(claim.node.leaves())
    for n, level in protocol.levels().items():
        parts = _samples(seeds[:, :n])
        wholes = _samples(seeds[:, :n].mean(2, keepdims=True))
        for i, (found, (mean,)) in enumerate(zip(parts, wholes, strict=True)):
            if words[i] in DECIDED:
                continue
            drawn = (_drawn(leaf, *sample) for leaf, sample in zip(known, found, strict=True))
            node = planted(claim.node, drawn)
            whole = node if isinstance(node, Comparison) else contrast and _drawn(contrast, *mean)
            words[i] = word_of(node, whole, claim.smallest, level)
    return words


#: differences over the seeds, their mean and its standard error
Sampled = tuple[list[float], float, float]


def _samples(data: np.ndarray) -> list[list[Sampled]]:
    """Of every draw and part of [draws, seeds, parts]."""
    means, errors = data.mean(1).tolist(), (data.std(1, ddof=1) / np.sqrt(data.shape[1])).tolist()
    values = data.swapaxes(1, 2).tolist()
    return [list(zip(*one, strict=True)) for one in zip(values, means, errors, strict=True)]


def _drawn(leaf: Comparison, differences: list[float], mean: float, error: float) -> Drawn:
    return Drawn(leaf.label, tuple(differences), leaf.margin, leaf.widening, mean=mean, error=error)


def rates(claim: Claim, number: int, rng: np.random.Generator) -> dict[str, float]:
    """Share of the simulated claims that get the verdict of each scenario; nan where a scenario makes no sense."""
    words: dict[tuple[float, bool], list[str]] = {}
    found = {}
    for name, (effect, wanted) in SCENARIOS.items():
        one = name.startswith("one")
        if one and not claim.conjunction:
            found[name] = float("nan")
            continue
        if (effect, one) not in words:
            words[effect, one] = judged(claim, draws(claim, effect, one, number, rng))
        found[name] = words[effect, one].count(wanted) / number
    return found


def table(rows: Sequence[dict[str, Any]], number: int) -> list[str]:
    """Per scenario: mean and largest share over the claims, and how many claims exceed 2.5 % beyond chance."""
    most = int(stats.binom.ppf(1 - 0.01 / len(rows), number, 0.025))
    body = []
    for name in SCENARIOS:
        values = np.array([row[name] for row in rows])
        values = values[~np.isnan(values)]
        if not len(values):
            continue
        errs = "null" in name
        beyond = str(int((values * number > most).sum())) if errs else "-"
        numbers = [f"{100 * x:.1f} %" for x in (values.mean(), np.median(values), values.max())]
        body.append([name, str(len(values)), *numbers, beyond])
    head = ["truth, verdict", "claims", "mean", "median", "largest", f"above 2.5 % (more than {most} of {number})"]
    return markdown_table(head, body)


@click.command(help=__doc__)
@click.option("--draws", "number", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--claim", "ids", multiple=True, metavar="ID", help="Only this claim; may be repeated.")
def errors_command(number: int, seed: int, ids: tuple[str, ...]) -> None:
    chosen = [one for one in claims() if not ids or one.id in ids]
    rows = []
    for place, one in enumerate(chosen):  # a claim's numbers do not depend on which others are simulated
        name = int.from_bytes(one.id.encode(), "big") % 2**32
        rows.append({"claim": one.id} | rates(one, number, np.random.default_rng([seed, name])))
        click.echo(f"{place + 1} of {len(chosen)}: {one.id}", err=True)
    click.echo("\n".join(table(rows, number)))


if __name__ == "__main__":
    errors_command()
