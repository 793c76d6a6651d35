"""Figures: the papers' panels, loss surfaces, partitions, counterexample losses, and bounds against what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from artifact.papers import experiments
from artifact.papers.figures import record as record_of
from artifact.papers.figures import select
from artifact.papers.figures.series import UNTRAINED, PanelAt
from artifact.papers.folders import named
from artifact.report import charts, counterexamples
from artifact.report.numbers import page_of
from artifact.report.pictures import Picture
from artifact.report.site import Page, Site
from artifact.runs.lookup import Stored, find_runs
from artifact.verdicts import setting
from artifact.verdicts.ledger import PAPERS, TITLES

LINES = {"curves", "sweep", "probe", "spectrum"}


def build(site: Site) -> Iterator[Page]:
    papers = _papers(site)
    for paper, shown in papers.items():
        own: dict[str, Any] = {"title": f"Figures: {TITLES[paper]}", "paper": paper, "figures": shown}
        yield Page(f"figures-{paper}.html", "figures_of_paper.html", own)
    context: dict[str, Any] = {
        "title": "Figures",
        "overview": papers,
        "losses": counterexamples.build(site.pictures),
        "bounds": _bounds(site),
        "still": _still(site),
    }
    yield Page("figures.html", "figures.html", context)


# ---- the papers' figures ---------------------------------------------------------------------------------------------


def _papers(site: Site) -> dict[str, list[dict[str, Any]]]:
    """Paper -> its figures with their panels at the profiles that have something to show."""
    found: dict[str, list[dict[str, Any]]] = {}
    for paper, figure in experiments.all_figures():
        shown = [_at_profile(site, figure, profile) for profile in site.content.profiles]
        first = next((entry for entry in shown if entry["charts"] or entry["picture"]), shown[0])
        found.setdefault(paper.paper, []).append(
            {
                "figure": figure,
                "anchor": f"figure-{figure.id}".replace(".", "-"),
                "link": page_of("figure", paper.paper, figure.id),
                "shown": first,
                "others": [e for e in shown if e is not first and (e["charts"] or e["picture"])],
                "claims": [site.content.records[id] for id in figure.claims if id in site.content.records],
            }
        )
    return {paper: found[paper] for paper in PAPERS if paper in found}


def _at_profile(site: Site, figure: Any, profile: str) -> dict[str, Any]:
    store = site.content.root / site.content.stores[profile]
    stored = site.content.finished[profile]
    found = select(f"{figure.paper}/{figure.id}", profile)
    records = [record_of(panel, stored, store, False) for panel in found]
    picture = site.pictures.find(f"{figure.paper}-{figure.id}-{profile}")
    scales = [{"title": r["title"], "scale": _scale(p, stored)} for p, r in zip(found, records, strict=True)]
    return {
        "profile": profile,
        "scale": "; ".join(_by_panel(scales, "scale")),
        "charts": _charts(f"{figure.id}-{profile}".replace(".", "-"), records, picture),
        "picture": picture,
        "texts": _by_panel(records, "texts"),
        "shows": _by_panel(records, "shows"),
        "trained": any(record["kind"] not in UNTRAINED for record in records),
        "not_run": sorted({record["not_run"] for record in records if record["not_run"]}),
        "missing": site.outstanding.of(figure.paper, figure.id, profile),
        "command": f"python -m fedsharp figure {named(figure.paper, figure.id)} --profile {profile}",
    }


def _scale(panel: PanelAt, stored: Stored) -> str:
    """What a panel's runs were trained on, in words; n: seeds."""
    runs = [run for series in panel.series for run in find_runs(series.configs, stored)]
    return setting.in_words(runs, len({run.config()["seed"] for run in runs}))


def _by_panel(records: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """What the panels' records say, each text once, with the panels that say it where others say something else."""
    panels: dict[str, list[str]] = {}
    for record in records:
        said = record[name]
        for text in [said] if isinstance(said, str) else said:
            panels.setdefault(text, []).append(record["title"])
    return [
        text if len(titles) == len(records) else f"{', '.join(dict.fromkeys(titles))}: {text}"
        for text, titles in panels.items()
        if text
    ]


def _charts(stem: str, records: Sequence[Mapping[str, Any]], picture: Picture | None) -> list[charts.Chart]:
    """One chart per kind of panel; kinds without a chart are left to the static figure."""
    totals = [_totals(record) for record in records if record["kind"] == "bars" and record["lines"]]
    lines = [p for record in records if (p := _lines(record)) is not None]
    landscapes = [record for record in records if record["kind"] == "landscape"]
    lines += _rises(landscapes)
    found = []
    if totals:
        note = "Counted on one partition."
        found.append(charts.lines_chart(f"{stem}-totals", "Class totals", totals, note, picture))
    if lines:
        note = "Lines are means over seeds, bands 95 % intervals."
        found.append(charts.lines_chart(f"{stem}-lines", "Curves", lines, note, picture))
    surfaces = _surfaces(landscapes)
    if surfaces:
        note = "The model lies at (0, 0); distances are in filter lengths. One scale for all panels: darker is higher."
        found.append(charts.Chart(f"{stem}-surfaces", "Loss surfaces", surfaces, note))
    maps = _maps([record for record in records if record["kind"] == "heatmap"])
    if maps:
        found.append(charts.Chart(f"{stem}-maps", "Samples per client and class", maps, files=picture))
    return found


def _totals(record: Mapping[str, Any]) -> dict[str, Any]:
    lines = [
        charts.line(entry["label"], range(len(entry["totals"])), np.array([entry["totals"]], float), position)
        for position, entry in enumerate(record["lines"])
    ]
    return {"title": record["title"], "lines": lines, "labels": ("class", "samples over all clients")}


def _lines(record: Mapping[str, Any]) -> dict[str, Any] | None:
    if record["kind"] == "density":
        lines = [_density(entry, position) for position, entry in enumerate(record["lines"])]
        axes = ("eigenvalue of the Hessian", "density")
    elif record["kind"] in LINES:
        lines = _drawn(record["lines"])
        axes = (record.get("x_label", "index of the eigenvalue"), record.get("y_label", "eigenvalue"))
    else:
        return None
    return {"title": record["title"], "lines": lines, "labels": axes, "log": bool(record.get("log"))} if lines else None


def _drawn(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        charts.line(entry["label"], entry["x"], np.array(entry["values"], float), position)
        for position, entry in enumerate(entries)
        if entry["x"]
    ]


def _rises(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mean rise of the loss around the models of landscapes: one panel while each label stands for one model."""
    panels: list[tuple[list[str], dict[str, Any]]] = []
    for record in records:
        own = {entry["label"]: entry for entry in record["lines"] if entry["x"]}
        if not own:
            continue
        fits = next((found for found in panels if all(found[1].get(k, v) == v for k, v in own.items())), None)
        if fits is None:
            panels.append(([], {}))
            fits = panels[-1]
        fits[0].append(record["title"])
        fits[1].update(own)
    axes = ("radius, in filter lengths", "mean rise of the loss")
    whole = "Rise of the loss around the models"
    return [
        {"title": ", ".join(titles) if len(panels) > 1 else whole, "lines": _drawn(lines.values()), "labels": axes}
        for titles, lines in panels
    ]


def _density(entry: Mapping[str, Any], position: int) -> dict[str, Any]:
    line = charts.line(entry["label"], entry["grid"], np.array([entry["density"]], float), position)
    return line | {"low": entry["low"], "high": entry["high"], "n": len(entry["seeds"])}


def _maps(records: Sequence[Mapping[str, Any]]) -> list[charts.Panel]:
    counts = [np.array(record["counts"]).T for record in records]
    alike = len({len(one) for one in counts}) == 1
    highest = [max(map(np.max, counts)) if alike else one.max() for one in counts]
    return [
        charts.counts_panel(record["title"], one, ("client", "class"), top)
        for record, one, top in zip(records, counts, highest, strict=True)
    ]


def _surfaces(records: Sequence[Mapping[str, Any]]) -> list[charts.Panel]:
    """The surface of every model that landscapes show, also of the one that the static figures lay over the others."""
    found: dict[str, Any] = {}
    for record in records:
        for name in ("", "overlay_"):
            label, surface = record["shown" if not name else "overlay"], record[f"{name}surface"]
            if surface is not None:
                own = label if found.get(label, surface) == surface else f"{record['title']}: {label}"
                found[own] = surface
    heights = {label: np.array(surface, float).T for label, surface in found.items()}
    limits = charts.span([v for z in heights.values() for v in z.flat], 0.0)
    axes = ("first direction", "second direction")
    return [
        charts.surface_panel(label, {"x": side, "y": side, "z": z}, axes, limits)
        for label, z in heights.items()
        for side in [np.linspace(-1, 1, len(z))]
    ]


# ---- bounds ----------------------------------------------------------------------------------------------------------


def _bounds(site: Site) -> list[dict[str, Any]]:
    """Largest left/right of every statement that was tested, printed or corrected; largest first."""
    rows = []
    for record in site.content.records.values():
        search = record.evidence if record.verdict == "holds" else record.evidence.get("repair", {})
        if search.get("worst_ratio") is not None:
            constant = search.get("constant_that_covers_it")
            rows.append(
                {
                    "record": record,
                    "ratio": float(search["worst_ratio"]),
                    "form": "printed" if record.verdict == "holds" else "corrected",
                    "evaluations": search["evaluations"],
                    "constant": "" if constant is None else f"{constant:g}",
                }
            )
    return sorted(rows, key=lambda row: -row["ratio"])


# ---- drawn before ----------------------------------------------------------------------------------------------------


def _still(site: Site) -> list[dict[str, Any]]:
    """Figures that checks draw themselves, by claim."""
    found = []
    for record in site.content.records.values():
        picture = site.pictures.find(record.claim.id)
        if picture is not None:
            words = re.sub(r"\s+", " ", record.claim.title)
            found.append({"record": record, "picture": picture, "alt": f"Figure of the check of {words}."})
    return found
