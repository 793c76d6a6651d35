"""The page of one audit alone: its claims with their verdicts, its tables, and where published code differs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from artifact import __version__, algorithms
from artifact.audit import publication
from artifact.base.files import write_atomic
from artifact.papers import experiments
from artifact.papers.folders import Audit
from artifact.report.mathematics import Converter
from artifact.verdicts.decide import PROFILE
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import Store

STYLE = Path(__file__).resolve().parents[1] / "report" / "static" / "site.css"


def build(audit: Audit, claims: Sequence[Claim], verdicts: Iterable[Mapping[str, Any]], out: Path) -> Path:
    """Write the page; its file.

    verdicts: records {id, by, verdict, scale, expected, text}, of which a claim may have several.
    """
    key, title, about = publication.read(audit.folder)
    loader = jinja2.FileSystemLoader(publication.TEMPLATES)
    template = jinja2.Environment(loader=loader, autoescape=True).get_template("index.html")
    converter = Converter()
    by_claim: dict[str, list[Mapping[str, Any]]] = {}
    for one in verdicts:
        by_claim.setdefault(one["id"], []).append(one)
    page = template.render(
        title=title,
        about=about,
        version=__version__,
        groups=_groups(claims, by_claim, converter),
        tables=_tables(key, Store(audit.results)),
        steps={name: [converter.inline(step) for step in steps] for name, steps in about.steps.items()},
        switches=_switches(audit),
    )
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / "index.html", page)
    write_atomic(out / "site.css", STYLE.read_bytes())
    return out / "index.html"


def _groups(
    claims: Sequence[Claim], by_claim: Mapping[str, Any], converter: Converter
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Headings of the page with the claims under each: those about statements, and those that runs decide."""
    shown = [
        {
            "id": claim.id,
            "title": converter.inline(claim.title),
            "location": claim.location,
            "statement": converter.html(claim.statement),
            "verdicts": by_claim.get(claim.id, []),
        }
        for claim in claims
    ]
    by_kind = list(zip(claims, shown, strict=True))
    statements = [one for claim, one in by_kind if claim.decided_by == "checks" and claim.kind != "algorithm"]
    methods = [one for claim, one in by_kind if claim.decided_by == "checks" and claim.kind == "algorithm"]
    runs = [one for claim, one in by_kind if claim.decided_by != "checks"]
    found = [("Statements", statements), ("The method and its code", methods), ("Experiments", runs)]
    return [(heading, group) for heading, group in found if group]


def _tables(key: str, store: Store) -> list[dict[str, Any]]:
    if key not in experiments.papers():
        return []
    found = []
    for table in experiments.load(key).table:
        if PROFILE not in table.profiles:
            continue
        numbers = experiments.printed(table)
        cells = []
        for cell in experiments.cells(table, PROFILE):
            values = list(experiments.by_seed(cell, store.stored).values())
            number = numbers.get((cell.row.id, cell.column.id, cell.metric.id))
            cells.append(
                {
                    "row": cell.row.label,
                    "column": cell.heading,
                    "metric": cell.metric.label,
                    "printed": "" if number is None else number.text,
                    "ours": f"{statistics.fmean(values):.4g}" if values else "not run",
                    "n": len(values),
                }
            )
        found.append({"title": table.title, "location": table.location, "profile": PROFILE, "cells": cells})
    return found


def _switches(audit: Audit) -> list[dict[str, Any]]:
    """Every discrepancy that the audit's own file declares, with the methods that it concerns."""
    return [
        {"id": one.id, "explanation": one.explanation, "sources": one.sources, "methods": methods}
        for one, methods in algorithms.declared_in(audit.method)
    ]
