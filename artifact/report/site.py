"""What a page is, and what every page is rendered with: content, templates, formulas, pictures, links."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from artifact import __version__, algorithms
from artifact.base.errors import UserError
from artifact.report import evidence, notebooks
from artifact.report.content import Content
from artifact.report.mathematics import Converter, typeset
from artifact.report.numbers import Numbers
from artifact.report.outstanding import Outstanding
from artifact.report.pictures import Pictures
from artifact.report.settings import Setting, collect
from artifact.report.terms import Linker
from artifact.verdicts.ledger import EMPIRICAL, ON_PAPER, PAPERS, TITLES

HERE = Path(__file__).resolve().parent
#: beginnings of pages' names -> the entry of the menu that leads to them
ABOVE = {
    ("paper-", "training", "firm"): "claims.html",
    ("table", "figure", "discrepancies", "genealogy"): "tables.html",
    ("method", "choose", "pairs", "costs"): "methods.html",
    ("break", "teach", "glossary", "contributing"): "learn.html",
}
#: before anything is drawn, so that a dark page does not flash white; the only script that stands in a page
EARLY = 'try{document.documentElement.dataset.theme=localStorage.getItem("fedsharp-theme")||"auto"}catch(e){}'
#: what a browser may load and run for a page: the report's own files, and pictures that stand in it
POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src 'self' 'sha256-{b64encode(sha256(EARLY.encode()).digest()).decode()}'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",  # a line's own colour in a chart
        "img-src 'self' data:",
        "form-action 'self'",
        "base-uri 'none'",
    )
)


@dataclass(frozen=True)
class Page:
    """One page: file name, template, and what the template is given."""

    name: str
    template: str
    context: Mapping[str, Any]


class Site:
    """Renders the content. The converter and the pictures remember what the pages used.

    files: path in the site -> content of what the pages link to beside pictures.
    """

    def __init__(self, content: Content, notebooks: Path | None = None):
        self.content, self.converter, self.numbers = content, Converter(), Numbers(content)
        self.outstanding = Outstanding(content)
        self.linker = Linker(content.glossary)
        self.files: dict[str, bytes] = {}
        docs = content.root / "docs"
        drawn = content.root / content.drawn
        self.pictures = Pictures((drawn / "claims", drawn, docs / "findings", docs / "figures"))
        self.notebooks = {path.stem: path for path in sorted(notebooks.glob("*.html"))} if notebooks else {}

    @cached_property
    def settings(self) -> list[Setting]:
        """The settings that several methods were trained in alike."""
        return collect(self.numbers)

    @cached_property
    def environment(self) -> jinja2.Environment:
        loader = jinja2.FileSystemLoader(HERE / "templates")
        environment = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        counts = self.content.counts()
        known = {name: [r.counted(name) for r in self.content.records.values()] for name in ("on_paper", "in_training")}
        environment.globals |= {
            "policy": POLICY,
            "early": Markup(EARLY),
            "navigation": navigation(),
            "symbols": evidence.SYMBOLS,
            "meanings": evidence.MEANINGS,
            "titles": TITLES,
            "papers": PAPERS,
            "on_paper": [v for v in ON_PAPER if v in known["on_paper"]],
            "in_training": [v for v in EMPIRICAL if v in known["in_training"]],
            "mathematics": self.converter,
            "typeset": typeset,
            "none_marks": lambda marks: (None,) * len(marks),
            "version": __version__,
            "profile": self.content.profile,
            "counts": counts,
            "asked_by": list(dict.fromkeys(record.asked for record in self.content.records.values())),
            "finished_runs": len(self.content.runs) - self.content.audit_runs,
            "audit_runs": self.content.audit_runs,
            "methods_known": sum(map(self.has_page, algorithms.ALGORITHMS)),
            "method_page": self.method_page,
        }
        return environment

    def has_page(self, method: str) -> bool:
        """Whether a method has a page: one of a paper, or one of an audit; combinations of parts share one."""
        own = algorithms.ALGORITHMS[method].__module__.startswith("artifact.")
        return method in self.content.methods or not own

    def method_page(self, method: str) -> str:
        """Where a method is described."""
        return f"method-{method}.html" if self.has_page(method) else f"methods.html#{method}"

    def notebook(self, claim_id: str) -> str | None:
        """Link to a claim's cell in a rendered notebook; None while that notebook has not been rendered."""
        try:
            place = notebooks.location(claim_id)
        except UserError:
            return None
        return f"notebooks/{place[0]}.html#{place[1]}" if place and place[0] in self.notebooks else None

    def plot(self, svg: str, name: str) -> str:
        """The place of a plot that the page shows as a picture of its own.

        name: of its file in ``static/``; two plots of one name would be one picture. Raises ValueError for that.
        """
        place = f"static/{name}.svg"
        if self.files.setdefault(place, svg.encode()) != svg.encode():
            raise ValueError(f"two plots are called {name}")
        return place

    def render(self, page: Page) -> str:
        template = self.environment.get_template(page.template)
        up = next((hub for stems, hub in ABOVE.items() if page.name.startswith(stems)), "")
        html = template.render(page=page.name, up=up, **{"description": ""} | dict(page.context))
        return html if page.name == "glossary.html" else self.linker.linked(html)


def navigation() -> list[tuple[str, str]]:
    return [
        ("index.html", "Overview"),
        ("sam.html", "Does SAM help?"),
        ("claims.html", "Claims"),
        ("tables.html", "Results"),
        ("methods.html", "Methods"),
        ("learn.html", "Learn"),
    ]
