"""Pages to learn from: where to begin, an hour to teach, and a bound to break."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from artifact.papers.declared import read_toml
from artifact.report import notebooks
from artifact.report.content import TEXT
from artifact.report.site import Page, Site

#: the claim whose printed bound the reader breaks
BROKEN = "fan24-thm1"


def build(site: Site) -> Iterator[Page]:
    yield Page("learn.html", "learn.html", {"title": "Learn", "to_try": notebooks.names(notebooks.FOLDER / "try")})
    record = site.content.records[BROKEN]
    own: dict[str, Any] = {"title": "Break a bound", "record": record}
    own["statement"] = site.converter.html(record.claim.statement, BROKEN)
    own["repaired"] = site.converter.html(record.repaired or "", BROKEN)
    yield Page("break.html", "break.html", own)
    steps = read_toml(TEXT / "teach.toml", "teach")["step"]
    to_try = {
        name.partition("-")[2]: f"notebooks/try/{name}.ipynb" for name in notebooks.names(notebooks.FOLDER / "try")
    }
    shown = [
        step
        | ({"notebook": to_try[step["notebook"]]} if "notebook" in step else {})
        | {name: site.converter.html(step[name], "teach") for name in ("do", "question", "answer")}
        | {"claims": [site.content.records[id] for id in step["claims"] if id in site.content.records]}
        for step in steps
    ]
    yield Page(
        "teach.html",
        "teach.html",
        {
            "title": "Teach this in an hour",
            "steps": shown,
            "pages": {"break": "Break a bound", "sam": "Does SAM help?"},
        },
    )
