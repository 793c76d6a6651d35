"""The front page: findings, matrix of verdicts, list of claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape

from artifact.papers import folders
from artifact.report import evidence, headlines, notebooks
from artifact.report.content import Content, Finding, Record
from artifact.report.mathematics import typeset
from artifact.report.pages.papers import statement_parts
from artifact.report.site import Page, Site
from artifact.verdicts.ledger import KINDS, PAPERS, Claim

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
LOSS_CAPTION = "Contours of the mean loss of two clients, and the paths of five methods from one start."
SHORT, LONG = 420, 1_400  # characters of a statement, and of a corrected one, that are shown without a click
WORDS = 400  # characters of a statement that the search sees


def build(site: Site) -> Iterator[Page]:
    content = site.content
    records = content.records.values()
    losses = [(site.pictures.find(f"loss-{name}", small=True), caption) for name, caption in LOSSES]
    context = {
        "title": "Overview",
        "losses": [(picture, caption) for picture, caption in losses if picture is not None],
        "findings": [_finding(site, finding) for finding in content.findings],
        "said": [(about, _linked(escape(text), site)) for about, text in headlines.said_in_short(content)],
        "to_try": (to_try := notebooks.names(notebooks.FOLDER / "try")),
        "to_move": next(name for name in to_try if name.endswith("move-the-radius")),
        "plot": site.plot(headlines.forest()),
        "plot_size": (headlines.WIDTH, headlines.height()),
        "matrices": [_matrix(content, name) for name in ("on_paper", "in_training")],
        "kinds": [kind for kind in KINDS if any(record.claim.kind == kind for record in records)],
        "records": [(r, _words(r)) for r in records],
    }
    yield Page("index.html", "index.html", context)


def _matrix(content: Content, name: str) -> dict[str, Any]:
    """Papers against one of the two kinds of verdicts. name: of the record's property, which the filter shares."""
    found = {paper: Counter(v for r in content.of_paper(paper) if (v := r.counted(name))) for paper in PAPERS}
    rows = [{"paper": p, "counts": n, "total": n.total(), "audit": p in folders.AUDITS} for p, n in found.items()]
    return {"name": name, "rows": rows, "totals": getattr(content.counts(), name)}


def _finding(site: Site, finding: Finding) -> dict[str, Any]:
    first = finding.records[0]
    _, statement = statement_parts(first.claim.statement)
    names = (f"loss-{finding.picture}", finding.picture)
    picture = next((found for name in names if (found := site.pictures.find(name, small=True))), None)
    drawn = site.content.records.get(finding.picture, first).claim
    return {
        "title": typeset(finding.title),
        "records": finding.records,
        "trained": finding.trained,
        "verdicts": [r.in_training if finding.trained else r.on_paper for r in finding.records],
        "numbers": [(typeset(label), evidence.told(value), record) for label, value, record in finding.numbers],
        "meaning": _linked(typeset(finding.meaning), site),
        "short": len(statement) <= SHORT,
        "statement": site.converter.html(statement, first.claim.id),
        "repaired": site.converter.html(text, first.claim.id) if len(text := first.repaired or "") <= LONG else "",
        "picture": picture,
        "caption": _caption(finding, drawn, site),
        "alt": f"Figure to the finding: {finding.title}. It shows the evidence of {drawn.id}: {drawn.title}.",
    }


def _linked(text: Markup, site: Site) -> Markup:
    """The text with ids of discrepancies and of claims leading to their entries."""
    places = {row["id"]: f"discrepancies.html#{row['id']}" for row in site.content.discrepancies}
    places |= {id: record.link for id, record in site.content.records.items()}

    def link(found: re.Match[str]) -> str:
        return f'<a href="{places[found[1]]}">{found[1]}</a>' if found[1] in places else found[0]

    return Markup(re.sub(r"`?\b([A-Za-z]+[0-9]*-[\w.-]*\w)\b`?", link, str(text)))


def _caption(finding: Finding, drawn: Claim, site: Site) -> str:
    """What the figure of a finding is."""
    if finding.trained:
        return "Means over seeds with 95 % intervals, from the stored runs."
    if finding.picture not in site.content.records:
        return LOSS_CAPTION
    return Markup("Evidence of the claim <em>{}</em>, drawn by its check.").format(typeset(drawn.title))


def _words(record: Record) -> str:
    """Words for the search: the title where it is typeset, and the statement without TeX."""
    plain = re.sub(r"\$[^$]*\$|[\\{}^_]", " ", statement_parts(record.claim.statement)[1])
    title = record.claim.title
    return " ".join([*([title] if typeset(title) != escape(title) else []), *plain.split()])[:WORDS]
