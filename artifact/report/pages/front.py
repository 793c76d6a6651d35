"""The front page: what came out, and the findings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape

from artifact.report import headlines, values, what_sam_buys
from artifact.report.content import Finding
from artifact.report.mathematics import typeset
from artifact.report.pages.papers import statement_parts
from artifact.report.site import Page, Site
from artifact.verdicts.ledger import Claim

LOSS_CAPTION = "Contours of the mean loss of two clients, and the paths of five methods from one start."
SHORT, LONG = 420, 1_400  # characters of a statement, and of a corrected one, that are shown without a click


def build(site: Site) -> Iterator[Page]:
    content = site.content
    context = {
        "title": "Overview",
        "findings": [_finding(site, finding) for finding in content.findings],
        "said": [(about, _linked(escape(text), site)) for about, text in headlines.said_in_short(content)],
        "adds_up": headlines.adds_up(content.counts()),
        "bought": what_sam_buys,
        "sam": site.plot(what_sam_buys.dumbbells(headlines.STYLE), "sam"),
        "sam_size": (what_sam_buys.WIDTH, what_sam_buys.height()),
        "plot": site.plot(headlines.forest(), "forest"),
        "plot_size": (headlines.WIDTH, headlines.height()),
    }
    yield Page("index.html", "index.html", context)


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
        "numbers": [(typeset(label), values.told(value), record) for label, value, record in finding.numbers],
        "meaning": _linked(typeset(finding.meaning), site),
        "short": len(statement) <= SHORT,
        "statement": site.converter.html(statement, first.claim.id),
        "repaired": site.converter.html(text, first.claim.id) if len(text := first.repaired or "") <= LONG else "",
        "picture": picture,
        "caption": _caption(finding, drawn, site),
        "alt": f"Figure to the finding: {finding.title}. It shows the evidence of {drawn.id}: {drawn.title}.",
    }


def _linked(text: Markup, site: Site) -> Markup:
    """The text with ids of discrepancies and of claims leading to their entries; other backticks mark code."""
    places = {row["id"]: f"discrepancies.html#{row['id']}" for row in site.content.discrepancies}
    places |= {id: record.link for id, record in site.content.records.items()}

    def link(found: re.Match[str]) -> str:
        return f'<a href="{places[found[1]]}">{found[1]}</a>' if found[1] in places else found[0]

    linked = re.sub(r"`?\b([A-Za-z]+[0-9]*-[\w.-]*\w)\b`?", link, str(text))
    return Markup(re.sub(r"`([^`<>]+)`", r"<code>\1</code>", linked))


def _caption(finding: Finding, drawn: Claim, site: Site) -> str:
    """What the figure of a finding is."""
    if finding.trained:
        return "Means over seeds with 95 % intervals, from the stored runs."
    if finding.picture not in site.content.records:
        return LOSS_CAPTION
    return Markup("Evidence of the claim <em>{}</em>, drawn by its check.").format(typeset(drawn.title))
