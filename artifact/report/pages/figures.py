"""Figures: the papers' panels, loss surfaces, partitions, counterexample losses, and bounds against what was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from artifact import experiments
from artifact.claims import TITLES
from artifact.report import counterexamples, plots
from artifact.report.content import optional
from artifact.report.pictures import Picture
from artifact.report.site import Page, Site

UNTRAINED = {"bars", "heatmap", "sketch"}
LINES = {"curves", "sweep", "probe", "spectrum"}


def build(site: Site) -> Iterator[Page]:
    papers = _papers(site)
    for paper, figures in papers.items():
        context = {"title": f"Figures: {TITLES[paper]}", "paper": paper, "figures": figures}
        yield Page(f"figures-{paper}.html", "figures_of_paper.html", context, interactive=True)
    context = {
        "title": "Figures",
        "overview": papers,
        "losses": counterexamples.charts(site.pictures),
        "bounds": _bounds(site),
        "still": _still(site),
    }
    yield Page("figures.html", "figures.html", context, interactive=True)


# ---- the papers' figures ---------------------------------------------------------------------------------------------


def _papers(site: Site) -> dict[str, list[dict[str, Any]]]:
    """Paper -> its figures with their panels at the profiles that have something to show."""
    panels = optional("artifact.panels")
    found: dict[str, list[dict[str, Any]]] = {}
    for paper, figure in experiments.all_figures() if panels is not None else ():
        shown = [_at_profile(site, panels, figure, profile) for profile in site.content.profiles]
        first = next((entry for entry in shown if entry["charts"] or entry["picture"]), shown[0])
        found.setdefault(paper.paper, []).append(
            {
                "figure": figure,
                "anchor": f"figure-{figure.id}".replace(".", "-"),
                "shown": first,
                "others": [e for e in shown if e is not first and (e["charts"] or e["picture"])],
                "claims": [site.content.records[id] for id in figure.claims if id in site.content.records],
            }
        )
    return found


def _at_profile(site: Site, panels: Any, figure: Any, profile: str) -> dict[str, Any]:
    store = site.content.root / site.content.stores[profile]
    stored = site.content.finished[profile]
    found = panels.select(f"{figure.paper}/{figure.id}", profile)
    records = [panels.record(panel, stored, store, False) for panel in found]
    picture = site.pictures.find(f"{figure.paper}-{figure.id}-{profile}")
    return {
        "profile": profile,
        "charts": _charts(f"{figure.id}-{profile}".replace(".", "-"), records, picture),
        "picture": picture,
        "texts": [text for record in records for text in record["texts"]],
        "shows": [record["shows"] for record in records if record["shows"]],
        "trained": any(record["kind"] not in UNTRAINED for record in records),
        "not_run": sorted({record["not_run"] for record in records if record["not_run"]}),
        "command": f"python -m artifact figure {figure.paper}/{figure.id} --profile {profile}",
    }


def _charts(stem: str, records: list[Mapping[str, Any]], picture: Picture | None) -> list[plots.Chart]:
    """One chart per kind of panel; kinds without interactive form are left to the static figure."""
    lines = [p for record in records if (p := _lines(record)) is not None]
    maps = [_heatmap(record) for record in records if record["kind"] == "heatmap"]
    surfaces = [_surface(record) for record in records if record["kind"] == "landscape" and record.get("surface")]
    found = []
    if lines:
        totals = all(record["kind"] in UNTRAINED for record in records)
        note = "Counted on one partition." if totals else "Lines are means over seeds, bands 95 % intervals."
        found.append(plots.lines_chart(f"{stem}-lines", "Class totals" if totals else "Curves", lines, note, picture))
    if surfaces:
        views = ("contour", "surface")
        found.append(
            plots.Chart(f"{stem}-surfaces", "surface", "Loss surfaces", surfaces, scales=True, views=views, height=380)
        )
    if maps:
        found.append(
            plots.Chart(f"{stem}-maps", "heatmap", "Samples per client and class", maps, scales=True, files=picture)
        )
    return found


def _lines(record: Mapping[str, Any]) -> plots.Panel | None:
    if record["kind"] == "bars":
        lines = [
            plots.line(entry["label"], range(len(entry["totals"])), np.array([entry["totals"]], float), position)
            for position, entry in enumerate(record["lines"])
        ]
        return plots.lines_panel(record["title"], lines, "class", "samples over all clients") if lines else None
    if record["kind"] == "density":
        lines = [_density(entry, position) for position, entry in enumerate(record["lines"])]
        return plots.lines_panel(record["title"], lines, "eigenvalue of the Hessian", "density") if lines else None
    if record["kind"] == "landscape":
        axes = ("radius, in filter lengths", "mean rise of the loss")
    elif record["kind"] in LINES:
        axes = (record.get("x_label", "index of the eigenvalue"), record.get("y_label", "eigenvalue"))
    else:
        return None
    lines = [
        plots.line(entry["label"], entry["x"], np.array(entry["values"], float), position)
        for position, entry in enumerate(record["lines"])
        if entry["x"]
    ]
    return plots.lines_panel(record["title"], lines, *axes, bool(record.get("log"))) if lines else None


def _density(entry: Mapping[str, Any], position: int) -> dict[str, Any]:
    line = plots.line(entry["label"], entry["grid"], np.array([entry["density"]], float), position)
    return line | {"low": entry["low"], "high": entry["high"], "n": len(entry["seeds"])}


def _heatmap(record: Mapping[str, Any]) -> plots.Panel:
    counts = np.array(record["counts"]).T
    return plots.heatmap_panel(record["title"], counts.tolist(), "client", "class", map(str, range(len(counts))))


def _surface(record: Mapping[str, Any]) -> plots.Panel:
    z = np.array(record["surface"], float).T
    side = np.linspace(-1, 1, len(z)).tolist()
    content = {"x": side, "y": side, "z": z, "x_label": "first direction", "y_label": "second direction"}
    return plots.surface_panel(record["title"], content, float(np.nanmin(z)), float(np.nanmax(z)))


# ---- bounds ----------------------------------------------------------------------------------------------------------


def _bounds(site: Site) -> plots.Chart | None:
    """Largest left/right of every statement that was tested, printed or corrected, against the bound one."""
    points = []
    for record in site.content.records.values():
        search = record.evidence if record.verdict == "holds" else record.evidence.get("repair", {})
        ratio = search.get("worst_ratio")
        if ratio is None or not 0 < float(ratio) < 10:
            continue
        printed, constant = record.verdict == "holds", search.get("constant_that_covers_it")
        free = "" if constant is None else f"; its constant is open, {constant:g} covers the search"
        points.append(
            {
                "label": record.claim.id,
                "value": float(ratio),
                "link": record.link,
                "text": f"{'printed' if printed else 'corrected'}, {search['evaluations']:,} evaluations{free}",
                "colour": "#0072B2" if printed else "#D55E00",
                "symbol": "circle" if printed else "diamond",
            }
        )
    if not points:
        return None
    points.sort(key=lambda point: point["value"])
    panel = plots.dots_panel("Largest left side / right side found", points, "ratio (bound: 1)", 1.0)
    note = "Blue circles: statements as printed; orange diamonds: corrected ones. A dot opens its claim. "
    note += (
        "A statement in O(.) leaves a constant open and is drawn with the constant 1, so it may lie beyond the line."
    )
    title = "Searches against bounds"
    return plots.Chart("bounds", "dots", title, [panel], note, height=120 + 15 * len(points))


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
