"""``fedsharp verdicts``: the empirical verdicts as a table, as data, and as counts for a page."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.base.options import AUDIT_ONLY, STORE, profile_option
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments, folders
from artifact.runs.store import Run
from artifact.verdicts import decide, fidelity, ledger
from artifact.verdicts.decide import SYMBOLS, Verdict
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import Store, open_store

# ---- text ------------------------------------------------------------------------------------------------------------


def table(found: Sequence[Verdict]) -> str:
    """A line per verdict, with what smaller scales show below it, and the counts at the end."""
    width = max((len(v.id) for v in found), default=0)
    lines = []
    for v in found:
        where = f"{v.scale}, {v.setting}: " if v.scale and v.setting else ""
        lines.append(f"{v.symbol} {v.id.ljust(width)}  {v.verdict.ljust(14)}  {where}{v.text}{_marks(v)}")
        lines += [
            f"  {'and'.rjust(width)}  {one['finding'].ljust(14)}  {one['scale']}, {one['setting']}: {one['text']}"
            for one in v.evidence[1:]
        ]
    return "\n".join([*lines, "", summary(found)])


def _marks(v: Verdict) -> str:
    """The answer about size, what was left out, and why the verdict is provisional."""
    marks = [f"size: {v.size.text}"] if v.size is not None else []
    marks += [f"left out, since they did not learn: {', '.join(v.omitted)}"] if v.omitted else []
    marks += [f"provisional: {', '.join(v.provisional)}"] if v.provisional else []
    marks += [fidelity.DOES_NOT if v.predicts is False else fidelity.UNKNOWN] if v.scale and not v.predicts else []
    return "".join(f"; {mark}" for mark in marks)


def summary(found: Sequence[Verdict]) -> str:
    """The verdicts on sentences of papers; those on questions that this ledger asks are counted after them."""
    theirs, own = [v for v in found if not v.reading], [v for v in found if v.reading]
    profile = found[0].profile if found else "-"
    asked = f"{len(own)} question{'s' * (len(own) > 1)}"
    apart = f". Counted apart: {asked} that no paper states and this ledger asks ({_tally(own)})"
    return f"In training: {len(theirs)} claims, profile {profile}: {_tally(theirs)}" + (apart if own else "")


def _tally(found: Sequence[Verdict]) -> str:
    count = Counter(v.verdict for v in found)
    counts = ", ".join(f"{count[name]} {name}" for name in SYMBOLS if count[name])
    return f"{counts}; {sum(bool(v.provisional) for v in found)} are provisional"


def _judged(found: Sequence[Verdict]) -> list[str]:
    """The same counts as a table below a sentence, for pages."""
    groups = {
        "sentences of papers": [v for v in found if not v.reading],
        "questions of this ledger": [v for v in found if v.reading],
    }
    body = []
    for asked, own in groups.items():
        count = Counter(v.verdict for v in own)
        if own:
            body.append(
                [asked, *(str(count[name] or "") for name in SYMBOLS), str(sum(bool(v.provisional) for v in own))]
            )
    profile = found[0].profile if found else "-"
    return [
        f"The runs of the profile {profile} judge these claims. Questions that no paper states are counted apart.",
        "",
        *markdown_table(["claims", *(f"{symbol} {name}" for name, symbol in SYMBOLS.items()), "provisional"], body),
        "",
    ]


def counts(found: Sequence[Verdict], store: Store) -> str:
    """Papers against verdicts, claims that are one result, and what was trained."""
    return "\n".join([*_judged(found), *_counts(found), "", *_final(found), *_twice(found), *_work(store)])


def _counts(found: Sequence[Verdict]) -> list[str]:
    body = []
    for paper, title in ledger.TITLES.items():
        count = Counter(v.verdict for v in found if v.paper == paper and not v.reading)
        if count:
            body.append([title, *(str(count[name] or "") for name in SYMBOLS)])
    return markdown_table(["paper", *(f"{symbol} {name}" for name, symbol in SYMBOLS.items())], body)


def _final(found: Sequence[Verdict]) -> list[str]:
    """The verdicts that are not provisional, as a sentence."""
    final = [f"`{v.id}` ({v.verdict})" for v in found if v.verdict != "not-run" and not v.provisional]
    return [f"Final, since seeds and curves are as the protocol asks: {', '.join(final)}.", ""] if final else []


def _twice(found: Sequence[Verdict]) -> list[str]:
    """Claims that the papers make twice, and which the same comparisons of the same runs decide."""
    groups: dict[tuple, list[str]] = {}
    for v in found:
        if v.comparisons:
            numbers = sorted((one["mean"], one["low"], one["high"], one["margin"]) for one in v.comparisons)
            groups.setdefault((v.runs, *numbers), []).append(f"`{v.id}`")
    same = [" = ".join(ids) for ids in groups.values() if len(ids) > 1]
    said = f"Decided by the same comparisons of the same runs, so one result each: {', '.join(same)}."
    return [said, ""] if same else []


def _work(store: Store) -> list[str]:
    """What was trained: runs by data set, rounds' time, seeds."""
    by_data: dict[str, list[Run]] = {}
    for run in (run for same in store.stored.values() for run in same):
        by_data.setdefault(run.config()["dataset"], []).append(run)
    body = []
    for name, runs in sorted(by_data.items()):
        seeds, hours = {run.config()["seed"] for run in runs}, sum(run.seconds() for run in runs) / 3600
        body.append([name, str(len(runs)), str(len(seeds)), f"{hours:.1f}"])
    text = "Finished runs in the store. Hours are by the clocks of their rounds, with other work on the same machine."
    return [text, "", *markdown_table(["data set", "runs", "seeds", "hours"], body)]


def firm(found: Sequence[Verdict]) -> str:
    """The findings that are final and rest on a setting that predicts the larger one, on one sheet."""
    kept = [
        v for v in found if v.predicts and not v.provisional and v.verdict not in ("not-run", "undecided", "untuned")
    ]
    body = [[f"`{v.id}`", v.verdict, v.scale, f"{v.k} of {v.K}", v.says, in_figures(v)] for v in kept]
    head = ["claim", "finding", "scale", "comparisons on the claimed side", "tested", "what decided"]
    return "\n".join(markdown_table(head, body))


def in_figures(v: Verdict) -> str:
    """The interval that decided, with its unit and seeds."""
    return f"{decide.in_figures(v.interval)} {v.unit}".strip() + f", n={v.n}" if v.interval else ""


def changed(found: Sequence[Verdict], words: Path = ledger.FOLDER / "words-0.1.csv") -> str:
    """Claims whose word is another one than in version 0.1, each with both words and the reason for the new one."""
    with words.open(encoding="utf-8", newline="") as file:
        before = {row["claim"]: row["word"] for row in csv.DictReader(file)}
    renamed = {("reproduced", "seen"), ("inconclusive", "undecided"), ("not-run", "not-run")}
    body = []
    for v in found:
        old = before.get(v.id, "")
        if old and (old, v.verdict) not in renamed:
            body.append([f"`{v.id}`", old, v.verdict, v.scale, f"{v.k} of {v.K}", _why(v)])
    head = ["claim", "in 0.1", "now", "scale", "comparisons on the claimed side", "why"]
    return "\n".join(markdown_table(head, body))


def _why(v: Verdict) -> str:
    """What decided the new word: the rule that holds a finding back, or the interval."""
    rules = [reason for reason in v.provisional if "seeds" not in reason]
    return "; ".join(rules) or f"{v.decided_by}: {in_figures(v)}"


# ---- the ledger's expectations ---------------------------------------------------------------------------------------

_BLOCK = re.compile(r"(?m)^\[\[claim\]\]\n")
_EXPECTED = re.compile(r'(?m)^expected = "[^"]*"$')


def accept(found: Sequence[Verdict], ledger: Sequence[Claim], folder: Path = ledger.FOLDER) -> list[str]:
    """Write verdicts into the ledger's ``expected`` fields, after somebody has looked at them. Returns changed ids.

    For a claim that the checks decide, the field of its predicate is meant; every other line stays as it is.
    """
    wanted, changed = {v.id: v.verdict for v in found}, []
    for paper in sorted({claim.paper for claim in ledger if claim.id in wanted}):
        path = folder / f"{paper}.toml"
        head, *blocks = _BLOCK.split(path.read_text(encoding="utf-8"))
        by_id = {claim.id: claim for claim in ledger if claim.paper == paper}
        for index, block in enumerate(blocks):
            claim = by_id[re.findall(r'(?m)^id = "([^"]+)"$', block)[0]]
            if claim.id in wanted and claim.expected_empirical != wanted[claim.id]:
                blocks[index] = _with_expected(block, claim, wanted[claim.id])
                changed.append(claim.id)
        write_atomic(path, "[[claim]]\n".join([head, *blocks]))
    return changed


def _with_expected(block: str, claim: Claim, verdict: str) -> str:
    start = 0 if claim.decided_by == "experiments" else block.index("[claim.predicate]")
    line, rest = f'expected = "{verdict}"', block[start:]
    if _EXPECTED.search(rest):
        return block[:start] + _EXPECTED.sub(line, rest, count=1)
    return block[:start] + rest.replace("[claim.predicate]", f"[claim.predicate]\n{line}", 1)


# ---- command ---------------------------------------------------------------------------------------------------------


@click.command("verdicts", help="Decide the claims of the papers by the stored runs; train nothing.")
@click.option("--paper", "papers", multiple=True, metavar="KEY", help="Only this paper; may be repeated.")
@click.option("--claim", "ids", multiple=True, metavar="ID", help="Only this claim; may be repeated.")
@profile_option(decide.PROFILE)
@STORE
@AUDIT_ONLY
@click.option("--json", "as_json", is_flag=True, help="Verdicts with cells, runs and every comparison.")
@click.option("--counts", "only_counts", is_flag=True, help="Papers against verdicts, final findings, stored runs.")
@click.option("--firm", "only_firm", is_flag=True, help="The findings that are final, as a table.")
@click.option("--changed", "only_changed", is_flag=True, help="Claims whose word differs from version 0.1, with why.")
@click.option("--accept", "accepting", is_flag=True, help="Write these verdicts into the ledger as the expected ones.")
def verdicts_command(
    papers: tuple[str, ...],
    ids: tuple[str, ...],
    profile: str,
    out: Path | None,
    as_json: bool,
    only_counts: bool,
    only_firm: bool,
    only_changed: bool,
    accepting: bool,
) -> None:
    if accepting and (profile != decide.PROFILE or out is not None):
        raise UserError("accept", profile, f"the {decide.PROFILE} profile and its own store")
    claims = ledger.load()
    chosen = ledger.select(claims, ids, papers)
    for claim in chosen:
        if claim.id in ids and not claim.empirical:
            by = folders.checked_by(claim.paper, claim.id)
            raise UserError("claim", claim.id, f"a claim that training decides; `{by}` decides this one")
    store = open_store(profile, experiments.there(out))
    found = decide.decide_all(chosen, profile, store)
    if accepting:
        click.echo("\n".join(accept(found, claims)) or "the ledger expects these verdicts already")
    elif as_json:
        click.echo(json.dumps([v.record for v in found], indent=1))
    elif only_firm or only_changed:
        click.echo(firm(found) if only_firm else changed(found))
    elif only_counts:
        click.echo(counts(found, store))
    else:
        click.echo(table(found))
