"""The front page: findings, matrix of verdicts, list of claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from artifact.claims import CHOICES, PAPERS
from artifact.report.content import Finding, Record
from artifact.report.pages.papers import statement_parts
from artifact.report.site import Page, Site

LOSSES = (
    (
        "sam-helps",
        "Where local SAM helps: all points of the valley have loss 0; FedAvg stays in its stiff part, FedSAM reaches "
        "the flat part.",
    ),
    (
        "sharp-average",
        "Flat clients, sharp average: both clients sit at flat global minima, and the average of their models lies in "
        "a narrow well.",
    ),
)
GREEK = {"rho": "ρ", "eta": "η", "kappa": "κ", "beta": "β", "lambda": "λ", "mu": "μ", "sigma": "σ", "delta": "δ"}
SUBSCRIPTS = {"k": "ₖ", "l": "ₗ", "i": "ᵢ", "t": "ₜ"}
SHORT = 420  # characters of a statement that is shown without a click
WORDS = 220  # characters of a statement that the search sees


def build(site: Site) -> Iterator[Page]:
    content = site.content
    records = content.records.values()
    counts = {paper: Counter(r.verdict for r in content.of_paper(paper)) for paper in PAPERS}
    losses = [(site.pictures.find(f"loss-{name}", small=True), caption) for name, caption in LOSSES]
    context = {
        "title": "Overview",
        "losses": [(picture, caption) for picture, caption in losses if picture is not None],
        "findings": [_finding(site, finding) for finding in content.findings],
        "matrix": [{"paper": p, "counts": counts[p], "total": counts[p].total()} for p in PAPERS],
        "totals": Counter(record.verdict for record in records),
        "kinds": [kind for kind in CHOICES["kind"] if any(record.claim.kind == kind for record in records)],
        "records": [{"claim": r.claim, "verdict": r.verdict, "link": r.link, "words": _words(r)} for r in records],
    }
    yield Page("index.html", "index.html", context)


def _finding(site: Site, finding: Finding) -> dict[str, Any]:
    first = finding.records[0]
    _, statement = statement_parts(first.claim.statement)
    names = (f"loss-{finding.picture}", finding.picture)
    picture = next((found for name in names if (found := site.pictures.find(name, small=True))), None)
    drawn = site.content.records.get(finding.picture, first).claim
    return {
        "title": greek(finding.title),
        "records": finding.records,
        "meaning": greek(finding.meaning),
        "short": len(statement) <= SHORT,
        "statement": site.converter.html(statement, first.claim.id),
        "repaired": site.converter.inline(first.repaired, first.claim.id) if first.repaired else "",
        "picture": picture,
        "alt": f"Figure to the finding: {finding.title}. It shows the evidence of {drawn.id}: {drawn.title}.",
    }


def greek(text: str) -> str:
    """Plain text with Greek letters and exponents as characters."""
    for name, letter in GREEK.items():
        text = re.sub(rf"(?<![A-Za-z]){name}(?![A-Za-z])", letter, text)
    text = re.sub(r"(?<=[A-Za-zα-ω])_([klgit])\b", lambda found: SUBSCRIPTS.get(found[1], found[0]), text)
    return re.sub(r"\^([0-9])", lambda found: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(found[1])], text)


def _words(record: Record) -> str:
    """Words of the statement for the search, without TeX."""
    plain = re.sub(r"\$[^$]*\$|[\\{}^_]", " ", statement_parts(record.claim.statement)[1])
    return " ".join(plain.split())[:WORDS]
