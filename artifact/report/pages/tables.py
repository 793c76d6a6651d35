"""Tables: ours beside the paper's, with paired differences, curves and the runs behind every number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from artifact.papers.declared import Metric
from artifact.papers.folders import named
from artifact.papers.table_results import Entry
from artifact.papers.tables import as_csv, heading
from artifact.report.numbers import TableAt, curves
from artifact.report.site import Page, Site
from artifact.verdicts import setting


def build(site: Site) -> Iterator[Page]:
    """One page a paper, one for each table that stands alone, and the list of all tables."""
    numbers, overview = site.numbers, []
    for paper in numbers.papers:
        found = list(numbers.of_paper(paper.paper).values())
        sections = [_section(site, at) for at in found]
        alone = [section for section in sections if _is_alone(section)]
        together = [section for section in sections if not _is_alone(section)]
        own = {"paper": paper, "tables": [_states(at) for at in found]}
        page = {"title": f"Tables: {paper.title}", "shown": together}
        yield Page(f"tables-{paper.paper}.html", "tables.html", own | page)
        for section in alone:
            page = {"title": f"{section['name']}, {paper.title}", "shown": [section]}
            yield Page(section["at"].link, "tables.html", own | page)
        overview.append(own)
    yield Page("tables.html", "results.html", {"title": "Results", "overview": overview})


def _is_alone(section: dict[str, Any]) -> bool:
    return "#" not in section["at"].link


def _section(site: Site, found: list[TableAt]) -> dict[str, Any]:
    first = found[0]
    claims = _claims_of(site, first)
    profiles = sorted((_at_profile(site, at) for at in found), key=lambda shown: not shown["finished"])
    name = f"{first.table.location or first.table.id}: {first.table.title}"
    return {"at": first, "name": name, "profiles": profiles, "claims": claims}


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


def _at_profile(site: Site, at: TableAt) -> dict[str, Any]:
    profile = at.table.profiles[at.profile]
    grids = [grid for metric in at.table.metrics for grid in _grids(at, metric)]
    numbers = f"csv/{at.paper.paper}-{at.table.id}-{at.profile}.csv"
    scales = [setting.in_words(entry.runs, len(entry.values)) for entry in at.entries]
    site.files[numbers] = as_csv(at.paper, at.table, at.profile, at.entries, scales).encode()
    reasons: dict[str, list[str]] = {}
    for entry in at.entries:
        if entry.state.startswith("not-run: "):
            reasons.setdefault(entry.state.removeprefix("not-run: "), []).append(entry.cell.column.label)
    return {
        "at": at,
        "note": profile.note,
        "grids": grids,
        "csv": numbers,
        "finished": sum(bool(entry.runs) for entry in at.entries),
        "cells": len(at.entries),
        "not_run": [(reason, "; ".join(dict.fromkeys(columns))) for reason, columns in reasons.items()],
        "missing": site.outstanding.of(at.table.paper, at.table.id, at.profile) if at.table.given is None else None,
        "chart": curves(at) if at.table.given is None else None,
        "command": f"python -m fedsharp table {named(at.table.paper, at.table.id)} --profile {at.profile} --lookup",
    }


def _grids(at: TableAt, metric: Metric) -> Iterator[dict[str, Any]]:
    """The columns that were trained, then, folded, those that were not."""
    own = {(e.cell.row.id, e.cell.column.id): e for e in at.entries if e.cell.metric is metric}
    ran = {column for (_, column), entry in own.items() if entry.runs}
    for trained in (True, False):
        columns = [column for column in at.table.columns if (column.id in ran) is trained]
        rows = []
        for row in at.table.rows:
            cells = [_cell(own.get((row.id, column.id))) for column in columns]
            if any(cells):
                rows.append({"label": row.label, "against": row.against, "cells": cells})
        if rows:
            headings = [heading(column, list(own.values())) for column in columns]
            words = explain(metric, at.profile) if trained or not ran else ""
            folded = bool(ran) and not trained
            target = f" {metric.relation} to {metric.to}" if metric.to is not None else ""
            name = f"{metric.label}{target}{'' if trained or not ran else ', columns not run'}"
            yield {"name": name, "explain": words, "columns": headings, "rows": rows, "folded": folded}


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
        "side": entry.side,
        "difference": difference,
        "key": entry.runs[0].key if entry.runs else None,
    }


def explain(metric: Metric, profile: str) -> str:
    """A sentence on one of our cells; empty where nothing is trained."""
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
