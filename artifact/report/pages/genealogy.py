"""The page of faults that travel: which public repositories carry which one, and what each does to the accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from artifact.papers import variants
from artifact.papers.declared import read_csv, read_toml
from artifact.report import places
from artifact.report.mathematics import with_code
from artifact.report.site import Page, Site


def build(site: Site) -> Iterator[Page]:
    claims = site.content.root / "claims"
    rows = [_row(row) for row in read_csv(claims / "genealogy.csv", ("repository", "fault", "verdict"))]
    faults = [_fault(site, one, rows) for one in read_toml(claims / "faults.toml", "faults")["fault"]]
    living = [row for row in rows if row["verdict"] == "faulty" and not row["mended"]]
    context = {
        "title": "Faults that travel",
        "rows": rows,
        "faults": faults,
        "repositories": len({row["repository"] for row in rows}),
        "living": len(living),
        "carriers": len({row["repository"] for row in living}),
        "how": {how: sum(row["how"] == how for row in rows) for how in (BY_DOCTOR, BY_EXECUTION, READ)},
        "methods": sorted({row["method"] for row in rows}),
        "mends": [row for row in rows if row["mend"] and row["verdict"] == "faulty" and not row["mended"]],
    }
    yield Page("genealogy.html", "genealogy.html", context)


def _row(row: Mapping[str, str]) -> dict[str, str]:
    """A row of the table with the address of its lines and how it was looked at; backticks in its words mark code."""
    words = {name: with_code(row[name]) for name in ("mend", "note")}
    return {**row, **words, "address": places.address(row), "how": how(row), "says": _verdict(row)}


#: how a row was looked at
BY_DOCTOR, BY_EXECUTION, READ = "by execution", "executed, outside the doctor", "read only"


def how(row: Mapping[str, str]) -> str:
    """Under the doctor's eyes, by itself, or by reading alone."""
    if not row["measured"]:
        return READ
    return BY_EXECUTION if row["doctor"] == "not watched" else BY_DOCTOR


def _verdict(row: Mapping[str, str]) -> str:
    if row["verdict"] == "clean":
        return "equals the paper"
    return f"differs: {row['fault']}" + (", not called" if row["verdict"].endswith("not called") else "")


def _fault(site: Site, fault: Mapping[str, str], rows: list[dict[str, str]]) -> dict[str, Any]:
    """The fault with its rows, faulty ones first, and with the paired effect of its switch, where runs are there."""
    own = sorted((row for row in rows if row["fault"] == fault["name"]), key=lambda row: row["verdict"] == "clean")
    if "switch" not in fault:
        return {**fault, "switch": "", "id": fault["name"].replace(" ", "-"), "rows": own}
    at = next((t for t in site.numbers.tables if f"{t.table.paper}/{t.table.id}" == fault["table"] and t.runs), None)
    effects = [] if at is None else [d for d in variants.compare(at.entries) if fault["switch"] in d.switches]
    audit = f" --audit {fault['audit']}" if "audit" in fault else ""
    profile = site.content.profile if at is None else at.profile
    command = f"python -m fedsharp table {fault['table']}{audit} --profile {profile} --lookup"
    return {**fault, "id": fault["switch"], "rows": own, "at": at, "effects": effects, "command": command}
