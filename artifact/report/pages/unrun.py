"""The page of what is not run: tables and figures with their missing runs, the reasons, and the time that they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from artifact.papers import experiments
from artifact.papers.figures import select
from artifact.report.numbers import page_of
from artifact.report.outstanding import NEAREST, told
from artifact.report.site import Page, Site
from artifact.runs.sweep.estimate import Span
from artifact.verdicts.ledger import PAPERS


def build(site: Site) -> Iterator[Page]:
    profiles = [_at_profile(site, profile) for profile in site.content.profiles]
    context: dict[str, Any] = {"title": "What is not run yet", "profiles": profiles, "nearest": NEAREST}
    waiting = [record for record in site.content.records.values() if record.in_training == "not-run"]
    context |= {"benched": sorted(site.outstanding.benched), "waiting": waiting}
    yield Page("unrun.html", "unrun.html", context)


def _at_profile(site: Site, profile: str) -> dict[str, Any]:
    rows = [row for row in (*_tables(site, profile), *_figures(site, profile)) if row["missing"].runs]
    every: dict[str, Span | None] = {}
    for row in rows:
        every |= row["missing"].runs
    return {"name": profile, "rows": rows, "runs": len(every), "time": told(every.values())}


def _tables(site: Site, profile: str) -> Iterator[dict[str, Any]]:
    for at in site.numbers.tables:
        if at.profile == profile and at.table.given is None:
            reasons = [e.state.removeprefix("not-run: ") for e in at.entries if e.state.startswith("not-run: ")]
            yield {
                "link": at.link,
                "name": f"{at.paper.title}, {at.table.location or at.table.id}",
                "cells": f"{sum(not entry.runs for entry in at.entries)} of {len(at.entries)} cells",
                "missing": site.outstanding.of(at.table.paper, at.table.id, profile),
                "reasons": list(dict.fromkeys(reasons)),
            }


def _figures(site: Site, profile: str) -> Iterator[dict[str, Any]]:
    for paper, figure in experiments.all_figures():
        panels = select(f"{figure.paper}/{figure.id}", profile)
        yield {
            "link": page_of("figure", paper.paper, figure.id) if paper.paper in PAPERS else "",
            "name": f"{paper.title}, {figure.location}" + f": {figure.title}" * figure.location.startswith("no figure"),
            "cells": f"{len(panels)} panel{'s' if len(panels) != 1 else ''}",
            "missing": site.outstanding.of(figure.paper, figure.id, profile),
            "reasons": list(dict.fromkeys(panel.not_run for panel in panels if panel.not_run)),
        }
