"""What training says of a claim: the verdict of the stored runs, and the table or figure behind it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from filelock import FileLock
from markupsafe import Markup

from artifact.base.registered import LOADERS
from artifact.papers import experiments, needed_runs, table_results, tables
from artifact.papers.figures import command
from artifact.runs.lookup import find_run
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import Settings
from artifact.verdicts import decide
from artifact.verdicts.ledger import Claim
from notebooks import render
from theory.schematics import SCHEMATICS

LOADERS["schematics"] = lambda: SCHEMATICS

#: the committed runs, which the ledger's expected verdicts speak of
COMMITTED = "laptop"
#: where ``fedsharp figure`` leaves its pictures; those that show the same data are taken over
DRAWN = Path("out/figures")
MINIATURE = "<p>A miniature on handwritten digits: its numbers and symbols are not comparable to the paper's.</p>"


@dataclass(frozen=True)
class Section:
    """verdict: of the committed runs. parts: HTML."""

    verdict: str
    parts: tuple[Markup, ...]


def section(claim: Claim, profile: str) -> Section:
    """Verdicts, table and figure of a claim; empty for a claim that no run and no figure concerns."""
    parts, found = [], []
    name = _table_of(claim)
    if name:
        parts.append(_table(name, profile))
    parts += [_figure(figure, profile) for figure in _figures_of(claim)[:1]]
    if claim.empirical:
        found = [decide.decide(claim, p, _opened(p)) for p in dict.fromkeys((COMMITTED, profile))]
    said = [_said(verdict) for verdict in found]
    head = [Markup("<h3>Training</h3>")] if said or parts else []
    return Section(found[0].verdict if found else "not-run", (*head, *said, *parts))


def _said(verdict: decide.Verdict) -> Markup:
    """A profile's verdict, the tested statement, and what was found."""
    tested, found = (" ".join(text.split()).rstrip(".") for text in (verdict.says, verdict.text))
    words = f"Tested: {tested}. Found: {found}." if found else f"{tested}."
    words += f" Run here: {verdict.setting}." if verdict.setting else ""
    miniature = ", which tests the program and decides no claim" if verdict.profile == "quick" else ""
    return render.paragraphs(words, f"In training, {verdict.profile} profile{miniature}: {verdict.verdict}")


def _table_of(claim: Claim) -> str:
    """``paper/table`` that the claim's predicate compares cells of; empty for a figure and without a predicate."""
    name = claim.predicate.table if claim.predicate else ""
    paper, _, table = name.partition("/")
    return name if name and table in {one.id for one in experiments.load(paper).table} else ""


def _figures_of(claim: Claim) -> list[str]:
    """``paper/figure`` of the declared figures that bear on a claim, the one that its predicate compares first."""
    compared = "/".join(claim.predicate.table.split("/")[:2]) if claim.predicate else ""
    names = [name for name, claims in _figures().items() if claim.id in claims or name == compared]
    return sorted(names, key=lambda name: name != compared)


@cache
def _figures() -> dict[str, tuple[str, ...]]:
    """Declared figures with the ids of their claims."""
    return {f"{paper.paper}/{figure.id}": figure.claims for paper, figure in experiments.all_figures()}


def _store(profile: str) -> Path:
    return experiments.ROOT / experiments.STORES[profile]


@cache
def _opened(profile: str) -> decide.Store:
    """The profile's runs, read once per process; anew after training."""
    return decide.open_store(profile, _store(profile))


def train(name: str, profile: str) -> None:
    """Train what a table or figure lacks."""
    configs = needed_runs.configs(name, profile)
    if all(find_run(config, _opened(profile).stored) for config in configs):
        return
    sweep.run_missing(configs, Settings(_store(profile)), quiet=True)
    _opened.cache_clear()


@cache
def _table(name: str, profile: str) -> Markup:
    """The table, ours beside the paper's; at the quick profile what is missing is trained first."""
    if profile == "quick":
        train(name, profile)
    paper, table = experiments.find(name)
    found = table_results.look_up(table, profile, _opened(profile).stored)
    shown = render.wide(render.markdown(tables.markdown(paper, table, profile, found)), f"{name}, {profile}")
    return (Markup(MINIATURE) if profile == "quick" else Markup("")) + shown


@cache
def _figure(name: str, profile: str) -> Markup:
    """The figure; at the quick profile what is missing is trained and measured first."""
    own, folder = profile == "quick", experiments.ROOT / DRAWN
    if own:
        train(name, profile)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):  # two kernels may want the same picture
        records = command.collect(name, profile, _store(profile), measure=own, stored=_opened(profile).stored)
        png = command.draw(name, profile, records, folder)[0].read_bytes()
    shown = "; ".join(record["title"] for record in records)
    return render.image(png, f"Our version of {name} at the {profile} profile: {shown}.")
