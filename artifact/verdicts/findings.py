"""The findings that matter most to a user: a list written by hand, with numbers from stored evidence and runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from artifact.base.cache import cache
from artifact.base.errors import UserError, first_fault
from artifact.base.stats import Interval
from artifact.papers import experiments, table_results, variants
from artifact.papers.declared import read_toml
from artifact.papers.table_results import Comparison, Entry
from artifact.runs.lookup import finished_runs
from artifact.verdicts.ledger import FOLDER
from artifact.verdicts.setting import MODEL_NAMES, in_words

LIST = FOLDER / "findings.toml"
#: the committed runs, which the numbers speak of
PROFILE = "laptop"
NORM = "#norm"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Fact:
    """A number that a check stored. label: what it is. claim: id. at: the way to it in the claim's evidence."""

    label: str
    claim: str
    at: tuple[str, ...]

    def value(self, evidence: Mapping[str, Any]) -> Any:
        """The number in the claim's evidence. Raises UserError where the way leads nowhere."""
        found: Any = evidence
        try:
            for key in self.at:
                found = found[int(key)] if isinstance(found, list) else found[key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise UserError(f"fact of {self.claim}", "/".join(self.at), "keys of the stored evidence") from None
        return found


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Finding:
    """title: one line. claims: ids, the first one's statement is shown. meaning: for a user of the method, in words.

    figure: the claim whose figure is shown (the first one by default), a counter-example loss, or the stem of a picture
    in docs/figures or, drawn from the numbers, docs/findings.
    facts: numbers below the meaning, from stored evidence. numbers: the same from the stored runs, name -> cell of a
    table, whose paired difference to the row that it is held against is shown with its 95 % interval; with ``#norm``,
    the norm of the perturbation over its radius, from the least to the greatest of the seeds.
    """

    title: str
    claims: tuple[str, ...]
    meaning: str
    figure: str = ""
    facts: tuple[Fact, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)

    @property
    def picture(self) -> str:
        return self.figure or self.claims[0]

    def measured(self, root: Path = experiments.ROOT) -> list[tuple[str, str]]:
        """(what it is, its value) of every number of the stored runs. Raises UserError where one has no runs."""
        cells = [(cell, _compared(cell.removesuffix(NORM), root)[1].difference.n) for cell in self.numbers.values()]
        levels = ("" if n == 1 else f" (n={n})" if cell.endswith(NORM) else f" (95 %, n={n})" for cell, n in cells)
        return [(label_of(c, root), text_of(c, root) + level) for (c, _), level in zip(cells, levels, strict=True)]

    def differences(self, root: Path = experiments.ROOT) -> dict[str, Interval]:
        """``row minus reference (setting)`` -> paired difference, of numbers over seeds.

        Raises UserError for two numbers that this would not tell apart.
        """
        cells = [cell for cell in self.numbers.values() if not cell.endswith(NORM)]
        found: dict[str, Interval] = {}
        for entry, comparison in (_compared(cell, root) for cell in cells):
            if comparison.difference.n < 2:
                continue
            label = _difference_label(entry, comparison)
            if label in found:
                raise UserError("number of a finding", entry.cell.id, f"one beside which nothing is called {label}")
            found[label] = comparison.difference
        return found


def load(path: Path = LIST) -> list[Finding]:
    """The list of findings. Raises UserError for an unknown or missing field."""
    content = read_toml(path, "findings")
    findings = []
    for entry in content.get("finding", []):
        try:
            findings.append(Finding(**entry))
        except ValidationError as error:
            raise first_fault(error, "findings.toml: ", Finding.__dataclass_fields__) from None
    return findings


@cache
def _entries(table: str, root: Path) -> dict[str, Entry]:
    _, declared = experiments.find(table)
    found = table_results.look_up(declared, PROFILE, finished_runs(root / experiments.STORES[PROFILE]))
    return {entry.cell.id: entry for entry in found}


def _compared(cell: str, root: Path) -> tuple[Entry, Comparison]:
    entry = _entries("/".join(cell.split("/")[:2]), root).get(cell)
    if entry is None or entry.comparison is None:
        allowed = f"a cell with runs at the {PROFILE} profile that is held against a row"
        raise UserError("number of a finding", cell, allowed)
    return entry, entry.comparison


def _difference_label(entry: Entry, comparison: Comparison) -> str:
    run, metric = entry.cell.configs[0], entry.cell.metric
    split = run.split.removesuffix(":replace").replace(":", " ")
    what = "" if metric is entry.cell.table.metrics[0] else f", {metric.label}"
    where = f"{run.dataset}, {split}, {run.cohort} of {run.clients} clients, {run.local_epochs} local epochs{what}"
    return f"{entry.cell.row.label} minus {comparison.against} ({where})"


def label_of(cell: str, root: Path = experiments.ROOT) -> str:
    """What a number of a finding is: who minus whom and where, or whose perturbation."""
    entry, comparison = _compared(cell.removesuffix(NORM), root)
    if cell.endswith(NORM):
        return f"length of the perturbation over its radius, {entry.cell.row.label}, {network_of(cell, root)}"
    return f"{_difference_label(entry, comparison)}, {entry.cell.configs[0].rounds} rounds"


def network_of(cell: str, root: Path = experiments.ROOT) -> str:
    """``perceptron of width 200 on Fashion-MNIST``: what a number of a finding was trained with."""
    config = _compared(cell.removesuffix(NORM), root)[0].cell.configs[0]
    return (
        f"{MODEL_NAMES.get(config.model, config.model)} on {experiments.DATA_NAMES.get(config.dataset, config.dataset)}"
    )


def scale_of(cell: str, root: Path = experiments.ROOT) -> str:
    """``CIFAR-10, 5,000 training images, CNN, 80 rounds, n=3``: the runs of a number of a finding."""
    entry, comparison = _compared(cell.removesuffix(NORM), root)
    return in_words(entry.runs, comparison.difference.n)


def text_of(cell: str, root: Path = experiments.ROOT) -> str:
    """A number as a finding shows it: a paired difference in points with its interval, or the norm over the radius."""
    entry, comparison = _compared(cell.removesuffix(NORM), root)
    if cell.endswith(NORM):
        runs = table_results.by_seed(entry)
        norms = [norm for seed in runs if (norm := variants.perturbation(runs, [seed])["norm"]) is not None]
        return f"{min(norms):.0f} to {max(norms):.0f}"
    difference = comparison.difference
    if difference.n == 1:
        return f"{difference.mean:+.1f} (n=1)"
    return f"{difference.mean:+.1f} [{difference.low:+.1f}, {difference.high:+.1f}]"
