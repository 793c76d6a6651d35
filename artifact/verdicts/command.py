"""``artifact verdicts``: the empirical verdicts as a table, as data, and as the generated part of a page.

``docs/reproduction-PAPER.md`` holds the output of ``artifact verdicts --paper PAPER --markdown`` in a generated block,
``docs/reproduction.md`` and ``docs/verdicts.md`` hold the output of ``--counts``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.base.options import AUDIT_ONLY, STORE, profile_option
from artifact.base.stats import Interval
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments, folders
from artifact.papers.declared import Table
from artifact.runs.store import LAST, Run
from artifact.verdicts import curve_ends, decide, ledger, moderated
from artifact.verdicts.curve_ends import Tail
from artifact.verdicts.decide import SYMBOLS, Verdict
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import Store, open_store

SECTIONS = {
    "reproduced": "Reproduced: the whole interval lies beyond the claim's margin, in the claimed direction",
    "direction-only": "Direction only: every interval lies beyond zero as claimed, one of them not beyond the margin",
    "contradicted": "Contradicted: the interval lies on the other side of zero, or below the claimed size",
    "inconclusive": "Inconclusive: the interval contains zero, or the margin of a claim that two numbers are alike",
    "not-run": "Not run",
}

# ---- text ------------------------------------------------------------------------------------------------------------


def table(found: Sequence[Verdict]) -> str:
    """One line per verdict, with the counts below."""
    width = max((len(v.id) for v in found), default=0)
    lines = [f"{v.symbol} {v.id.ljust(width)}  {v.verdict.ljust(14)}  {v.text}{_marks(v)}" for v in found]
    return "\n".join([*lines, "", summary(found)])


def _marks(v: Verdict) -> str:
    """The answer about size, what was left out, and why the verdict is provisional."""
    marks = [f"size: {v.size.text}"] if v.size is not None else []
    marks += [f"left out, since they did not learn: {', '.join(v.omitted)}"] if v.omitted else []
    marks += [f"provisional: {', '.join(v.provisional)}"] if v.provisional else []
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


def markdown(found: Sequence[Verdict], tables: Sequence[Table], profile: str, store: Store) -> str:
    """The generated part of a paper's page: what came out, at which scale, and how flat the curves are."""
    borrowed = moderated.beside(found)
    lines = _judged(found)
    for name, heading in SECTIONS.items():
        chosen = [v for v in found if v.verdict == name]
        if chosen:
            rows = _not_run(chosen) if name == "not-run" else _decided(chosen, borrowed)
            lines += [f"## {heading}", "", *rows, ""]
    lines += ["## What the figures show", "", *_figures(tables, profile, store), ""]
    lines += ["## Scale", "", *_scale(found, tables, profile), ""]
    papers = {one.paper for one in tables}
    ends = [tail for one in tables for tail in curve_ends.tails(one, profile, store)]
    ends += [tail for tail in curve_ends.panel_tails(profile, store) if tail.table.split("/")[0] in papers]
    return "\n".join([*lines, "## Are the curves flat at the end?", "", *_flatness(curve_ends.distinct(ends))])


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


def _decided(found: Sequence[Verdict], borrowed: Mapping[str, Interval]) -> list[str]:
    body = []
    for v in found:
        assert v.interval is not None  # a decided claim has one
        numbers = f"{decide.in_figures(v.interval)} {v.unit}".strip()
        level = decide.level_text(v.interval)
        level += f", margin {v.limit:g}" if v.limit > 0 else f", within {v.margin:g}" if v.margin else ""
        level += " ruled out" if v.limit > 0 and v.interval.high < v.limit else ""
        among = decide.one_of(v.decided_by, [one["label"] for one in v.comparisons])
        decisive = v.decided_by + f" (1 of {among})" * (among > 1)
        says = v.says + (f" (left out, since they did not learn: {', '.join(v.omitted)})" if v.omitted else "")
        size = v.size.text if v.size is not None else "-"
        final = "; ".join(v.provisional) or "final"
        numbers = f"{numbers} ({level})"
        second = decide.in_figures(borrowed[v.id]) if v.id in borrowed else "-"
        body.append([f"`{v.id}`", says, decisive, numbers, v.setting, second, size, final, f"`{v.command}`"])
    head = [
        "claim",
        "what is tested",
        "deciding comparison",
        "difference",
        "run on",
        "moderated t (95 %, no verdict)",
        "size",
    ]
    return markdown_table([*head, "provisional because", "runs"], body)


def _not_run(found: Sequence[Verdict]) -> list[str]:
    body = [[f"`{v.id}`", v.says, v.text] for v in found]
    return markdown_table(["claim", "what it says", "why it is not run"], body)


def _scale(found: Sequence[Verdict], tables: Sequence[Table], profile: str) -> list[str]:
    """Tables that are run alike on one line, and below them what else the verdicts speak of."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in tables:
        if one.given is None and profile in one.profiles:
            declared = one.profiles[profile]
            run = declared.note if declared.only else "nothing"
            groups.setdefault((one.paper, run, declared.reason or "-"), []).append(one.id)
    body = [[f"{paper}: {', '.join(ids)}", run, missing] for (paper, run, missing), ids in groups.items()]
    head = ["tables and figures", "what is run at this profile", "not run at this profile"]
    return markdown_table(head, [*body, *_scale_of_others(found, tables)])


def _scale_of_others(found: Sequence[Verdict], tables: Sequence[Table]) -> list[list[str]]:
    """Rows for what the verdicts speak of beside these tables: figures, which have settings of their own."""
    known = {f"{one.paper}/{one.id}" for one in tables}
    groups: dict[str, dict[str, None]] = {}
    for v in found:
        selection = v.command.removeprefix("python -m artifact sweep ").split(" ")[0]
        if v.scale and "/" in selection and selection not in known:
            groups.setdefault(v.scale, {})[selection] = None
    return [[", ".join(others), scale, "-"] for scale, others in groups.items()]


def _flatness(found: Sequence[Tail]) -> list[str]:
    """Slopes and gains with their intervals; the sentence above them is computed from the same numbers."""
    if not found:
        return ["No table has two finished seeds at this profile."]
    rising, gained = sum(tail.still_rising for tail in found), sum(tail.gained for tail in found)
    known = sum(tail.gain is not None for tail in found)
    lines = [
        f"{rising} of {len(found)} groups of runs are still rising at the end: the slope of the accuracy over the last "
        f"{LAST} evaluated rounds, mean over the methods (of a sweep: over its points), has an interval over the seeds "
        f"that lies above zero. {gained} of the {known} that were evaluated halfway have gained accuracy over the "
        "second half of training (same criterion). Where a group still rises or has gained much, the numbers are those "
        "of undertrained models, and the order of methods can still change.",
        "",
    ]
    head = ["table or panel", "column", "run here", "slope, points per ten rounds", "gain in the second half, points"]
    return lines + markdown_table([*head, "at the end", "rising"], map(_tail_row, found))


def _tail_row(tail: Tail) -> list[str]:
    numbers = [
        "not evaluated there" if i is None else f"{i.mean:+.2f} [{i.low:+.2f}, {i.high:+.2f}] (n={i.n})"
        for i in (tail.slope, tail.gain)
    ]
    listed = ", ".join(tail.rising) if len(tail.rising) <= 8 else str(len(tail.rising))
    return [tail.table, tail.column, tail.what, *numbers, tail.text, f"{listed or 'none'} of {tail.cells}"]


# ---- figures ---------------------------------------------------------------------------------------------------------


def _figures(tables: Sequence[Table], profile: str, store: Store) -> list[str]:
    """What the panels with finished runs show of what they have to show, one line per panel."""
    from artifact.papers.figures import (
        command,
        series,  # the package loads the drawing library
    )

    papers = {one.paper for one in tables}
    names = [f"{paper.paper}/{figure.id}" for paper, figure in experiments.all_figures() if paper.paper in papers]
    found = command.collect_all(names, profile, store.folder, stored=store.stored)
    shown = [r for records in found.values() for r in records if r["kind"] not in series.UNTRAINED and r["texts"]]
    if not shown:
        return ["No panel has finished runs at this profile."]
    lines = [
        f"{len(shown)} panels have finished runs; `python -m artifact figure all --profile {profile} --lookup` draws "
        "them.",
        "",
        "What a panel has to show is decided from the numbers that it draws, curves by their mean height. A "
        "statement holds when its interval over the seeds lies on its side of zero, or of its margin where it names "
        "one. It does not hold when the interval lies on the other side, and is undecided otherwise.",
        "",
        "Intervals are at 95 %; a statement of several comparisons is judged at a level that pays for their number, "
        "and names it. Unlike the verdicts above, these statements are not adjusted for their own number.",
        "",
    ]
    body = []
    for record in shown:
        groups = [
            [text for text, one in zip(record["texts"], record["statements"], strict=True) if one["holds"] is wanted]
            for wanted in (True, False, None)
        ]
        if any(groups):
            texts = ["<br>".join(_shortened(text) for text in group) for group in groups]
            body.append([f"{record['id']}: {record['title']}", record["shows"], *texts])
    return lines + markdown_table(["panel", "what it has to show", "holds", "does not hold", "undecided"], body)


def _shortened(text: str) -> str:
    """A statement without its verdict, which the column's head says, and without what the page says once."""
    text = re.sub(r"\((mean height of the curve|mean); above", "(above", text)
    return re.sub(r": (holds|does not hold|undecided); ", ": ", text)


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
@click.option("--markdown", "as_markdown", is_flag=True, help="The generated part of docs/reproduction-PAPER.md.")
@click.option("--counts", "only_counts", is_flag=True, help="Papers against verdicts; generated in docs/verdicts.md.")
@click.option("--accept", "accepting", is_flag=True, help="Write these verdicts into the ledger as the expected ones.")
def verdicts_command(
    papers: tuple[str, ...],
    ids: tuple[str, ...],
    profile: str,
    out: Path | None,
    as_json: bool,
    as_markdown: bool,
    only_counts: bool,
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
    elif as_markdown:
        wanted = {claim.paper for claim in chosen}
        tables = [one for declared, one in experiments.all_tables() if declared.paper in wanted]
        click.echo(markdown(found, tables, profile, store))
    elif only_counts:
        click.echo(counts(found, store))
    else:
        click.echo(table(found))
