"""All claims: the matrix of verdicts, the list with its filters, and the index that the search of every page reads."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from markupsafe import escape

from artifact import algorithms
from artifact.papers import folders
from artifact.report.content import Content, Record
from artifact.report.mathematics import typeset
from artifact.report.pages.papers import statement_parts
from artifact.report.site import Page, Site, navigation
from artifact.report.terms import anchor
from artifact.verdicts.ledger import KINDS, PAPERS, TITLES

WORDS = 400  # characters of a statement that the search sees


def build(site: Site) -> Iterator[Page]:
    content = site.content
    records = content.records.values()
    context = {
        "title": "Claims",
        "matrices": [_matrix(content, name) for name in ("on_paper", "in_training")],
        "kinds": [kind for kind in KINDS if any(record.claim.kind == kind for record in records)],
        "records": [(r, _words(r)) for r in records],
    }
    found = json.dumps(list(_entries(site)), ensure_ascii=False, separators=(",", ":"))
    site.files["static/index.js"] = f"window.fedsharpIndex = {found};\n".encode()
    yield Page("claims.html", "claims.html", context)


def _matrix(content: Content, name: str) -> dict[str, Any]:
    """Papers against one of the two kinds of verdicts. name: of the record's property, which the filter shares."""
    found = {paper: Counter(v for r in content.of_paper(paper) if (v := r.counted(name))) for paper in PAPERS}
    rows = [{"paper": p, "counts": n, "total": n.total(), "audit": p in folders.AUDITS} for p, n in found.items()]
    return {"name": name, "rows": rows, "totals": getattr(content.counts(), name)}


def _entries(site: Site) -> Iterator[tuple[str, str, str, str]]:
    """(title, link, what it is, more words) of everything that the search of the pages' head finds."""
    more = {
        "choose.html": "Choose a method for a budget",
        "pairs.html": "Any two methods",
        "training.html": "What training says of every claim",
        "firm.html": "Firm verdicts",
        "fidelity.html": "Which settings predict larger ones",
        "break.html": "Break a bound",
        "figures.html": "Figures",
        "discrepancies.html": "Discrepancies between papers and code",
        "genealogy.html": "Faults that travel",
        "costs.html": "Costs of the methods",
        "glossary.html": "Glossary",
        "contributing.html": "Contest a verdict",
    }
    for link, title in [*navigation(), *more.items()]:
        yield title, link, "page", ""
    for name in algorithms.ALGORITHMS:
        title = site.content.methods.get(name, {"title": name})["title"]
        yield title, site.method_page(name), "method", name
    for term in site.content.glossary:
        yield term["word"], f"glossary.html#{anchor(term['word'])}", "word", ""
    for at in {at.link: at for at in site.numbers.tables}.values():
        name = f"{at.paper.title.split(' (')[0]}, {at.table.location or at.table.id}: {at.table.title}"
        yield name, at.link, "table", ""
    for record in site.content.records.values():
        paper = TITLES[record.claim.paper].split(" (")[0]
        yield record.claim.title, record.link, f"claim, {paper}, {record.claim.location}", record.claim.id


def _words(record: Record) -> str:
    """Words for the search: the title where it is typeset, and the statement without TeX."""
    plain = re.sub(r"\$[^$]*\$|[\\{}^_]", " ", statement_parts(record.claim.statement)[1])
    title = record.claim.title
    return " ".join([*([title] if typeset(title) != escape(title) else []), *plain.split()])[:WORDS]
