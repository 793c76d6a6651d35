"""Methods: steps in words and formulas, our code beside them, variants, costs, and results over all cells."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from artifact import algorithms
from artifact.algorithms.base import FedAvg
from artifact.algorithms.switches import SWITCHES, Switch
from artifact.papers import folders, variants
from artifact.report.pages.discrepancies import cited, compared, differs, printed_at
from artifact.report.python_source import highlighted
from artifact.report.site import Page, Site


def build(site: Site) -> Iterator[Page]:
    shown, combined = [], list[dict[str, str]]()
    whole = compared(site.numbers, variants.TABLE)
    named = [(name, cls) for name, cls in algorithms.ALGORITHMS.items() if site.has_page(name)]
    shown_as = {cls: name for name, cls in reversed(named)}  # the first name of a class
    for name, cls in algorithms.ALGORITHMS.items():
        if not site.has_page(name):
            combined.append({"name": name, "title": cls.__name__, "idea": _of_an_audit(cls)["idea"]})
            continue
        text = site.content.methods.get(name) or _of_an_audit(cls)
        released = sorted(algorithms.resolve(name, "released", None, ())) if algorithms.has_code(name) else None
        context = {
            "title": text["title"],
            "name": name,
            "method": text,
            "steps": [site.converter.inline(step, f"method {name}") for step in text["steps"]],
            "code": [
                highlighted(inspect.getsource(part)) for part in _classes(cls) if part is cls or part not in shown_as
            ],
            "bases": [
                (n, _title(site, n)) for part, n in shown_as.items() if part in _classes(cls) and part is not cls
            ],
            "options": _options(name),
            "switches": _switches(site, cls),
            "discrepancies": _discrepancies(site, text, released or ()),
            "whole": [d for d in whole.differences if d.method == text["title"]],
            "scale": whole.scale,
            "released": released,
            "known": {row["id"] for row in site.content.discrepancies},
            "special": sorted(algorithms.SPECIAL.get(name, ((), {}))[0]),
            "tables": _tables(site, name),
            "claims": _claims(site, text["title"]),
        }
        yield Page(f"method-{name}.html", "method.html", context)
        shown.append({"name": name, "method": text, "tables": len(context["tables"])})
    yield Page("methods.html", "methods.html", {"title": "Methods", "methods": shown, "combined": combined})


def _title(site: Site, name: str) -> str:
    return str(site.content.methods.get(name, {"title": name})["title"])


def _discrepancies(site: Site, text: Mapping[str, Any], released: Collection[str]) -> dict[bool, list[dict[str, Any]]]:
    """True: entries in which the released code leaves the pseudo-code, with the lines it replaces; False: others."""
    found: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for row in cited(site.content):
        if row["algorithm"] == text["title"] or row["id"] in released:
            printed = (printed_at(row), row["what is printed"])
            own = text.get("lines", {}).get(row["id"]) or ": ".join(part for part in printed if part not in ("", "-"))
            found[differs(row)].append(row | {"printed": own})
    return found


def _of_an_audit(cls: type) -> dict[str, Any]:
    """What the pages say of a method that the project's texts do not know: the name and docstring of its class."""
    idea = " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())
    return {
        "title": cls.__name__,
        "source": f"The file {Path(inspect.getfile(cls)).name} of an audit",
        "idea": idea,
        "steps": _steps(cls),
    }


def _steps(cls: type) -> list[str]:
    """The steps in words that ``claims.toml`` of a method's audit gives."""
    audits = [audit for audit in folders.AUDITS.values() if str(audit.method) == getattr(cls, "added_from", "")]
    return [step for audit in audits for step in audit.entry.get("steps", {}).get(cls.__name__.lower(), [])]


def _classes(cls: type) -> list[type]:
    """The method's class and what it is built from, most specific first; FedAvg last."""
    return [part for part in cls.__mro__ if issubclass(part, FedAvg)]


def _options(name: str) -> list[dict[str, Any]]:
    cls = algorithms.ALGORITHMS[name]
    defaults = algorithms.SPECIAL.get(name, ((), {}))[1]
    about = " ".join(" ".join((inspect.getdoc(part) or "").split()) for part in _classes(cls))
    return [
        {"name": f.name, "default": defaults.get(f.name, f.default), "meaning": _meaning(f.name, about)}
        for f in dataclasses.fields(cls)
    ]


def _meaning(option: str, about: str) -> str:
    """What the docstrings say after ``option:``, to the end of the sentence."""
    found = re.search(rf"\b{re.escape(option)}: (.*?)(?=(?<!\bal)\.(?:\s|$)|  \w+:)", about)
    return found[1] if found else ""


def _switches(site: Site, cls: type) -> list[dict[str, Any]]:
    return [
        {"id": id, "kind": s.kind, "explanation": s.explanation, "sources": _released_in(site, s)}
        for id, group in sorted(SWITCHES.items())
        for s in group
        if s.concerns(cls)
    ]


def _released_in(site: Site, switch: Switch) -> str:
    """The repositories whose present code has a switch; in words where none has it."""
    if switch.sources:
        return ", ".join(switch.sources)
    if switch.kind != "released":
        return "no code: " + ("as the paper prints it" if switch.kind == "printed" else "a consistent form")
    places = site.content.code_lines[switch.id]
    return ", ".join(f"{x['repository']} at {x['commit'][:7]}, mended since" for x in places)


def _tables(site: Site, name: str) -> list[tuple[str, str]]:
    """(link, name) of the tables that have results of a method, each once."""
    found = {at.link: f"{at.paper.title}, {at.table.location or at.table.id}" for at, _ in site.numbers.of_method(name)}
    return list(found.items())


def _claims(site: Site, title: str) -> list[Any]:
    """Claims that name the method in their title."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(title)}(?![\w-])", re.I)
    return [record for record in site.content.records.values() if pattern.search(record.claim.title)]
