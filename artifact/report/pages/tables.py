"""Tables: ours beside the paper's, with paired differences, curves and the runs behind every number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from artifact.papers.declared import Metric
from artifact.papers.table_results import Entry
from artifact.papers.tables import heading
from artifact.report.numbers import TableAt, curves
from artifact.report.site import Page, Site


def build(site: Site) -> Iterator[Page]:
    numbers, overview = site.numbers, []
    for paper in numbers.papers:
        found = numbers.of_paper(paper.paper)
        sections = [_section(site, at) for at in found.values()]
        context = {"title": f"Tables: {paper.title}", "paper": paper, "sections": sections}
        yield Page(f"tables-{paper.paper}.html", "tables.html", context)
        overview.append({"paper": paper, "tables": [_states(at) for at in found.values()]})
    yield Page("tables.html", "tables_overview.html", {"title": "Tables", "overview": overview})


def _section(site: Site, found: list[TableAt]) -> dict[str, Any]:
    first = found[0]
    claims = _claims_of(site, first)
    profiles = sorted((_at_profile(at) for at in found), key=lambda shown: not shown["finished"])
    return {"at": first, "profiles": profiles, "claims": claims}


def _claims_of(site: Site, at: TableAt) -> list[Any]:
    """Records that name the table: decided from its cells, or listed as deciding a table of given numbers."""
    wanted = f"{at.table.paper}/{at.table.id}/"
    listed = at.table.given.claims if at.table.given is not None else ()
    return [
        record
        for record in site.content.records.values()
        if record.claim.id in listed
        or (record.experiment and any(str(cell).startswith(wanted) for cell in record.experiment["cells"]))
    ]


def _at_profile(at: TableAt) -> dict[str, Any]:
    profile = at.table.profiles[at.profile]
    grids = [_grid(at, metric) for metric in at.table.metrics]
    reasons: dict[str, list[str]] = {}
    for entry in at.entries:
        if entry.state.startswith("not-run: "):
            reasons.setdefault(entry.state.removeprefix("not-run: "), []).append(entry.cell.column.label)
    return {
        "at": at,
        "note": profile.note,
        "minutes": profile.minutes,
        "grids": [grid for grid in grids if grid["rows"]],
        "finished": sum(bool(entry.runs) for entry in at.entries),
        "cells": len(at.entries),
        "not_run": [(reason, ", ".join(dict.fromkeys(columns))) for reason, columns in reasons.items()],
        "chart": curves(at) if at.table.given is None else None,
        "command": f"python -m artifact table {at.table.paper}/{at.table.id} --profile {at.profile} --lookup",
    }


def _grid(at: TableAt, metric: Metric) -> dict[str, Any]:
    own = {(e.cell.row.id, e.cell.column.id): e for e in at.entries if e.cell.metric is metric}
    ran = {column for (_, column), entry in own.items() if entry.runs}
    shown = sorted(at.table.columns, key=lambda column: bool(ran) and column.id not in ran)
    rows = []
    for row in at.table.rows:
        cells = [_cell(own.get((row.id, column.id))) for column in shown]
        if any(cells):
            rows.append({"label": row.label, "against": row.against, "cells": cells})
    columns = [heading(column, list(own.values())) for column in shown]
    return {"metric": metric, "explain": explain(metric, at.profile), "columns": columns, "rows": rows}


def _cell(entry: Entry | None) -> dict[str, Any] | None:
    """The texts of a cell; None for one that the table does not have."""
    if entry is None:
        return None
    given = entry.cell.table.given is not None
    difference = None
    if entry.comparison is not None:
        d = entry.comparison.difference
        interval = f" [{d.low:+.2f}, {d.high:+.2f}]" if d.n > 1 else " (one seed, no interval)"
        difference = f"{d.mean:+.2f}{interval}"
        if entry.comparison.printed is not None:
            difference += f", the paper's {entry.comparison.printed:+.2f}"
    return {
        "ours": "" if given else entry.text,
        "ran": bool(entry.runs),
        "theirs": entry.printed,
        "symbol": entry.symbol,
        "verdict": entry.verdict,
        "difference": difference,
        "key": entry.runs[0].key if entry.runs else None,
    }


def explain(metric: Metric, profile: str) -> str:
    """What a cell of ours is, in a sentence; empty where nothing is trained."""
    if metric.quantity == "given":
        return ""
    parts = [metric.label + (f" ({metric.unit})" if metric.unit else "")]
    if metric.quantity in ("accuracy", "deviation"):
        parts.append(f"of the {metric.model} model, mean of the last ten evaluated rounds")
    if profile in metric.samples:
        parts.append(f"on {metric.samples[profile]:,} training images")
    if metric.to is not None:
        parts.append(f"{metric.relation} to {metric.to}")
    parts.append("mean over n seeds ± half width of its 95 % interval")
    return ", ".join(parts) + "."


def _states(found: list[TableAt]) -> dict[str, Any]:
    counts = {at.profile: (sum(bool(e.runs) for e in at.entries), len(at.entries)) for at in found}
    return {"at": found[0], "counts": counts, "given": found[0].table.given is not None}
