"""A page of contents per paper, and its claims as articles on one page per section."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from artifact.papers import experiments, folders
from artifact.report import evidence, notebooks, places, values
from artifact.report.content import Record
from artifact.report.numbers import page_of
from artifact.report.site import Page, Site
from artifact.verdicts.ledger import EMPIRICAL, ON_PAPER, PAPERS, TITLES

#: a first paragraph that several claims repeat
SETTING = re.compile(r"Setting\b.*")


def build(site: Site) -> Iterator[Page]:
    places, losses = _places(), site.pictures.numbers("loss-*")
    for paper in PAPERS:
        records = site.content.of_paper(paper)
        settings = _settings(records)
        pages = [section for section in site.content.sections if section.paper == paper]
        counted = [
            (name, [(v, n) for v in known if (n := sum(r.counted(name) == v for r in records))])
            for name, known in (("on_paper", ON_PAPER), ("in_training", EMPIRICAL))
        ]
        contents = [(section, [site.content.records[id] for id in section.claims]) for section in pages]
        context = {
            "title": TITLES[paper],
            "paper": paper,
            "audit": paper in folders.AUDITS,
            "claims": len(records),
            "contents": contents,
            "counted": counted,
            "own": sum(record.claim.reading for record in records),
            "author": _for_the_author(records),
            "explained": {r.claim.id: site.converter.inline(notebooks.explained(r.claim.id)) for r in records},
            "why_open": {r.claim.id: evidence.why_open(r.experiment) for r in records if r.experiment},
            "tables_page": f"tables-{paper}.html" if site.numbers.of_paper(paper) else "",
            "figures_page": f"figures-{paper}.html" if any(name.startswith(f"{paper}/fig") for name in places) else "",
            "notebooks": [
                (f"notebooks/{name}.html", name.partition("-")[2].replace("-", " "))
                for name in notebooks.names()
                if name in site.notebooks and name.startswith(f"{paper}-")
            ],
        }
        yield Page(f"paper-{paper}.html", "paper.html", context)
        for before, (section, shown), after in zip([None, *pages], contents, [*pages[1:], None], strict=False):
            articles = [
                _article(site, record, settings) | {"links": _links(record, places, losses)} for record in shown
            ]
            used = [settings[i - 1] for i in sorted({a["setting"] for a in articles if a["setting"]})]
            context = {
                "title": f"{section.title}: {TITLES[paper]}",
                "paper": paper,
                "changes": CHANGES,
                "section": section,
                "records": articles,
                "around": (before, after),
                "settings": [
                    (settings.index(text) + 1, _name(text), site.converter.html(text, f"setting of {paper}"))
                    for text in used
                ],
            }
            yield Page(section.page, "section.html", context)


#: what a changed sentence changes in its paper, by the weight that two readings set
CHANGES = {
    "conclusion": "a rate, a term or a statement of the paper changes",
    "proof": "a step of a proof fails; the conclusion may stand",
    "constant": "a constant or a condition changes",
    "slip": "an index, a sign or a factor",
}
CONFIRMED = ("reproduced", "seen", "mostly-seen")
AGAINST = ("reversed", "contradicted", "no-difference")


def _for_the_author(records: list[Record]) -> dict[str, Any]:
    """What an author reads first: confirmed, not seen and at which scale, what changes by weight."""
    own = [record for record in records if not record.claim.reading and record.claim.weight != "reading"]
    changed = [r for r in own if r.on_paper in ("refuted", "repaired", "inconsistent")]
    trained = [r for r in own if r.in_training and r.experiment]
    return {
        "confirmed": [r for r in own if r.on_paper in ("proved", "holds", "consistent")],
        "seen": [r for r in trained if r.in_training in CONFIRMED],
        "against": [r for r in trained if r.in_training in AGAINST],
        "open": [r for r in trained if r.in_training in ("undecided", "untuned")],
        "not_run": [r for r in trained if r.in_training == "not-run"],
        "changes": [
            (weight, said, [r for r in changed if r.claim.weight == weight]) for weight, said in CHANGES.items()
        ],
        "unweighted": [r for r in changed if not r.claim.weight and r.on_paper != "inconsistent"],
        "numbers": [r for r in changed if not r.claim.weight and r.on_paper == "inconsistent"],
        "readings": sum(record.claim.weight == "reading" for record in records),
    }


def statement_parts(statement: str) -> tuple[str, str]:
    """(setting, rest): the first line where it is a setting that other claims repeat, else an empty text."""
    first, _, rest = statement.partition("\n")
    return (first, rest) if SETTING.match(first) and rest.strip() else ("", statement)


def _places() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """``paper/table`` and ``paper/figure`` -> link, name, claims that are listed with it."""
    found = {}
    for paper, table in experiments.all_tables():
        listed = tuple(table.given.claims) if table.given is not None else ()
        link = page_of("table", paper.paper, table.id)
        found[f"{paper.paper}/{table.id}"] = (link, f"Ours beside {table.location or table.id}", listed)
    for paper, figure in experiments.all_figures():
        link = page_of("figure", paper.paper, figure.id)
        found[f"{paper.paper}/{figure.id}"] = (link, f"Ours beside {figure.location}", tuple(figure.claims))
    return found


def _links(
    record: Record, places: dict[str, tuple[str, str, tuple[str, ...]]], losses: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """The tables and figures that decide a claim or belong to it, and the losses that its check uses."""
    formulas = [
        (f"figures.html#{name}", f"The losses of “{loss['name']}” as formulas")
        for name, loss in losses.items()
        if record.claim.id in loss["claims"]
    ]
    cells = (record.experiment or {}).get("cells", ())
    used = {"/".join(str(cell).split("/")[:2]) for cell in cells}
    found = [(link, name) for place, (link, name, ids) in places.items() if place in used or record.claim.id in ids]
    return formulas + found


def _evidence(paper: str) -> str:
    return folders.evidence_file(paper, Path("results")).as_posix()


def _settings(records: list[Record]) -> list[str]:
    """Settings that more than one claim of the paper starts with, in order of appearance."""
    counted = Counter(statement_parts(record.claim.statement)[0] for record in records)
    return [text for text, count in counted.items() if text and count > 1]


def _name(text: str) -> str:
    found = re.match(r"Setting(?: \(([^)]*)\)| (of [^.]*))?", text)
    return (found[1] or found[2] or "common to several claims") if found else text


def _article(site: Site, record: Record, settings: list[str]) -> dict[str, Any]:
    claim, convert = record.claim, site.converter
    setting, statement = statement_parts(claim.statement)
    if setting not in settings:
        setting, statement = "", claim.statement
    picture = site.pictures.find(claim.id)
    return {
        "record": record,
        "heading": "",
        "setting": settings.index(setting) + 1 if setting else None,
        "statement": convert.html(statement, claim.id),
        "note": convert.html(claim.note, f"note of {claim.id}") if claim.note else "",
        "repaired": convert.html(record.repaired, f"repair of {claim.id}") if record.repaired else "",
        "told": convert.html(notebooks.explained(claim.id), f"explanation of {claim.id}"),
        "replies": [
            (r.by, convert.html(r.text, f"reply to {claim.id}")) for r in site.content.replies.get(claim.id, [])
        ],
        "evidence_file": _evidence(claim.paper) if claim.decided_by == "checks" else "",
        "entry": folders.claims_file(claim.paper, Path("claims")).as_posix(),
        "store": Path(_evidence(claim.paper)).parent.parent.as_posix(),
        "option": folders.option(claim.paper),
        "decided_in": places.check(claim, site.content.root),
        "predicate_in": places.predicate(claim, record.experiment, site.content.root),
        "how": convert.html(claim.how_to_check, f"check of {claim.id}"),
        "parts": evidence.parts(record),
        "experiment": evidence.experiment(record),
        "picture": picture,
        "alt": f"Figure of the check of {claim.id}: {claim.title}. Verdict: {record.verdict}. "
        "The numbers are in the text above.",
        "margin": "" if record.margin is None else values.number(record.margin),
        "notebook": site.notebook(claim.id),
    }
