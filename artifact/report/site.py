"""The report's pages, rendered and written as one folder that takes the place of the old one at once."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from artifact import __version__, algorithms
from artifact.errors import UserError
from artifact.judging.claims import PAPERS, TITLES, VERDICTS
from artifact.report import evidence
from artifact.report.command import MARK
from artifact.report.content import Content, optional
from artifact.report.mathematics import Converter, typeset
from artifact.report.pictures import Pictures
from artifact.report.terms import Linker

HERE = Path(__file__).resolve().parent
INTERACTIVE = "static/plotly.min.js"


@dataclass(frozen=True)
class Page:
    """One page: file name, template, what the template is given, and whether it needs the plotting library."""

    name: str
    template: str
    context: Mapping[str, Any]
    interactive: bool = False


@dataclass(frozen=True)
class Built:
    """What a build wrote. unconverted: (text, TeX, reason) of formulas that are shown as text."""

    folder: Path
    pages: tuple[str, ...]
    claims: int
    formulas: int
    unconverted: tuple[tuple[str, str, str], ...]
    seconds: float


class Site:
    """Renders the content. The converter and the pictures remember what the pages used."""

    def __init__(self, content: Content, notebooks: Path | None = None):
        self.content, self.converter, self.numbers = content, Converter(), content.numbers
        self.linker = Linker(content.glossary)
        docs = content.root / "docs"
        drawn = content.root / content.drawn
        self.pictures = Pictures((drawn / "claims", drawn, docs / "findings", docs / "figures"))
        self.notebooks = {path.stem: path for path in sorted(notebooks.glob("*.html"))} if notebooks else {}

    @cached_property
    def environment(self) -> jinja2.Environment:
        loader = jinja2.FileSystemLoader(HERE / "templates")
        environment = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        records = self.content.records.values()
        decided = sum(record.verdict != "not-run" for record in records)
        checked = len(list((self.content.root / "results" / "checks").glob("*.json")))
        environment.globals |= {
            "navigation": navigation(),
            "symbols": evidence.SYMBOLS,
            "meanings": evidence.MEANINGS,
            "titles": TITLES,
            "papers": PAPERS,
            "verdicts": [v for v in VERDICTS if any(record.verdict == v for record in records)],
            "mathematics": self.converter,
            "typeset": typeset,
            "none_marks": lambda marks: (None,) * len(marks),
            "version": __version__,
            "profile": self.content.profile,
            "counts": {
                "claims": len(records),
                "decided": decided,
                "checked": checked,
                "runs": len(self.content.runs),
                "methods": len(algorithms.ALGORITHMS),
            },
        }
        return environment

    def notebook(self, claim_id: str) -> str | None:
        """Link to a claim's cell in a rendered notebook; None while that notebook has not been rendered."""
        module = optional("artifact.notebook")
        try:
            place = None if module is None else module.location(claim_id)
        except UserError:
            return None
        return f"notebooks/{place[0]}.html#{place[1]}" if place and place[0] in self.notebooks else None

    def pages(self) -> Iterator[Page]:
        from artifact.report.pages import PAGES

        for build in PAGES:
            yield from build(self)

    def render(self, page: Page) -> str:
        template = self.environment.get_template(page.template)
        html = template.render(page=page.name, interactive=page.interactive, **{"description": ""} | dict(page.context))
        return html if page.name == "glossary.html" else self.linker.linked(html)


def navigation() -> list[tuple[str, str]]:
    short = {paper: TITLES[paper].split(" (")[0] for paper in PAPERS}
    return [
        ("index.html", "Overview"),
        *((f"paper-{paper}.html", short[paper]) for paper in PAPERS),
        ("tables.html", "Tables"),
        ("figures.html", "Figures"),
        ("methods.html", "Methods"),
        ("discrepancies.html", "Discrepancies"),
        ("costs.html", "Costs"),
        ("provenance.html", "Provenance"),
        ("glossary.html", "Glossary"),
    ]


def build(content: Content, folder: Path, notebooks: Path | None = None, inputs: str = "") -> Built:
    """Write the site. inputs: fingerprint of what it is made from, kept with it.

    Raises UserError for a folder that holds something else than a report.
    """
    start = time.perf_counter()
    _check_target(folder)
    site = Site(content, notebooks)
    rendered = {page.name: site.render(page) for page in site.pages()}
    totals = Counter(record.verdict for record in content.records.values())
    manifest = {"fedsharp": __version__, "profile": content.profile, "verdicts": dict(sorted(totals.items()))}
    manifest["inputs"] = inputs
    manifest["formulas"] = {"converted": site.converter.converted, "as text": len(site.converter.failures)}
    with _replaced(folder) as new:
        for name, html in rendered.items():
            (new / name).write_text(html, encoding="utf-8")
        for name, picture in site.pictures.used.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(picture)
        _static(new)
        if site.notebooks:
            (new / "notebooks").mkdir()
        for name, source in site.notebooks.items():
            shutil.copyfile(source, new / "notebooks" / f"{name}.html")
        (new / MARK).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    failures = tuple(site.converter.failures)
    count = len(content.records)
    return Built(
        folder, tuple(rendered), count, site.converter.converted, failures, round(time.perf_counter() - start, 1)
    )


def _static(folder: Path) -> None:
    shutil.copytree(HERE / "static", folder / "static")
    shutil.copyfile(str(files("plotly") / "package_data" / "plotly.min.js"), folder / INTERACTIVE)


def _check_target(folder: Path) -> None:
    allowed = f"a new or empty folder, or one with an earlier report ({MARK})"
    if folder.exists() and not folder.is_dir():
        raise UserError("out", str(folder), allowed)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise UserError("out", str(folder), allowed)


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder`` that takes its place when the block ends well; the old one goes last."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise UserError("out", str(folder), f"a folder that can be written ({error.strerror})") from None
    old = new.with_name(f"{new.name}.old")
    try:
        yield new
        new.chmod(0o755)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        raise UserError("out", str(folder), f"a folder that can be written ({error.strerror})") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
