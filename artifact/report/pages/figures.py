"""Figures: the papers' panels, loss surfaces, partitions, counterexample losses, and bounds against what was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from artifact.base import plots
from artifact.papers import experiments
from artifact.papers.figures import record as record_of
from artifact.papers.figures import select
from artifact.papers.figures.series import UNTRAINED
from artifact.report import counterexamples, plotly_charts
from artifact.report.pictures import Picture
from artifact.report.site import Page, Site
from artifact.verdicts.ledger import PAPERS, TITLES

LINES = {"curves", "sweep", "probe", "spectrum"}


def build(site: Site) -> Iterator[Page]:
    papers = _papers(site)
    for paper, shown in papers.items():
        context = {"title": f"Figures: {TITLES[paper]}", "paper": paper, "figures": shown}
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
    found: dict[str, list[dict[str, Any]]] = {}
    for paper, figure in experiments.all_figures():
        shown = [_at_profile(site, figure, profile) for profile in site.content.profiles]
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
    return {paper: found[paper] for paper in PAPERS if paper in found}


def _at_profile(site: Site, figure: Any, profile: str) -> dict[str, Any]:
    store = site.content.root / site.content.stores[profile]
    stored = site.content.finished[profile]
    found = select(f"{figure.paper}/{figure.id}", profile)
    records = [record_of(panel, stored, store, False) for panel in found]
    picture = site.pictures.find(f"{figure.paper}-{figure.id}-{profile}")
    return {
        "profile": profile,
        "charts": _charts(f"{figure.id}-{profile}".replace(".", "-"), records, picture),
        "picture": picture,
        "texts": _by_panel(records, "texts"),
        "shows": _by_panel(records, "shows"),
        "trained": any(record["kind"] not in UNTRAINED for record in records),
        "not_run": sorted({record["not_run"] for record in records if record["not_run"]}),
        "command": f"python -m artifact figure {figure.paper}/{figure.id} --profile {profile}",
    }


def _by_panel(records: list[Mapping[str, Any]], name: str) -> list[str]:
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


def _charts(stem: str, records: list[Mapping[str, Any]], picture: Picture | None) -> list[plotly_charts.Chart]:
    """One chart per kind of panel; kinds without interactive form are left to the static figure."""
    totals = [_totals(record) for record in records if record["kind"] == "bars" and record["lines"]]
    lines = [p for record in records if (p := _lines(record)) is not None]
    lines += _rises([record for record in records if record["kind"] == "landscape"])
    maps = [_heatmap(record) for record in records if record["kind"] == "heatmap"]
    surfaces = _surface_panels([record for record in records if record["kind"] == "landscape"])
    found = []
    if totals:
        found.append(
            plotly_charts.lines_chart(f"{stem}-totals", "Class totals", totals, "Counted on one partition.", picture)
        )
    if lines:
        note = "Lines are means over seeds, bands 95 % intervals."
        found.append(plotly_charts.lines_chart(f"{stem}-lines", "Curves", lines, note, picture))
    if surfaces:
        found.append(_surfaces(f"{stem}-surfaces", surfaces))
    if maps:
        found.append(
            plotly_charts.Chart(
                f"{stem}-maps",
                "heatmap",
                "Samples per client and class",
                maps,
                scales=len(maps) > 1,
                shared=len({len(panel.content["z"]) for panel in maps}) == 1,
                files=picture,
            )
        )
    return found


def _totals(record: Mapping[str, Any]) -> plotly_charts.Panel:
    lines = [
        plotly_charts.line(entry["label"], range(len(entry["totals"])), np.array([entry["totals"]], float), position)
        for position, entry in enumerate(record["lines"])
    ]
    return plotly_charts.lines_panel(record["title"], lines, "class", "samples over all clients")


def _lines(record: Mapping[str, Any]) -> plotly_charts.Panel | None:
    if record["kind"] == "density":
        lines = [_density(entry, position) for position, entry in enumerate(record["lines"])]
        return (
            plotly_charts.lines_panel(record["title"], lines, "eigenvalue of the Hessian", "density") if lines else None
        )
    if record["kind"] in LINES:
        axes = (record.get("x_label", "index of the eigenvalue"), record.get("y_label", "eigenvalue"))
    else:
        return None
    lines = [
        plotly_charts.line(entry["label"], entry["x"], np.array(entry["values"], float), position)
        for position, entry in enumerate(record["lines"])
        if entry["x"]
    ]
    return plotly_charts.lines_panel(record["title"], lines, *axes, bool(record.get("log"))) if lines else None


def _rises(records: list[Mapping[str, Any]]) -> list[plotly_charts.Panel]:
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
    return [
        plotly_charts.lines_panel(
            ", ".join(titles) if len(panels) > 1 else "Rise of the loss around the models",
            [
                plotly_charts.line(e["label"], e["x"], np.array(e["values"], float), i)
                for i, e in enumerate(lines.values())
            ],
            *axes,
        )
        for titles, lines in panels
    ]


def _surfaces(id: str, panels: list[plotly_charts.Panel]) -> plotly_charts.Chart:
    """Loss surfaces side by side or, of those that are switched on, together in space."""
    colours: list[str] = []
    for i, panel in enumerate(panels):  # a method with and without MAN has one colour in lines, which are dashed then
        own = plots.style(panel.content["label"], i).colour
        colours.append(own if own not in colours else plots.COLOURS[i % len(plots.COLOURS)])
    series = [
        {"label": panel.content["label"], "colour": colour, "dash": "solid"}
        for panel, colour in zip(panels, colours, strict=True)
    ]
    panels = [
        plotly_charts.Panel(panel.alt, {**panel.content, "colour": colour})
        for panel, colour in zip(panels, colours, strict=True)
    ]
    views = ("contour", "surface", "together") if len(panels) > 1 else ("contour", "surface")
    note = "The model lies at (0, 0); distances are in filter lengths."
    return plotly_charts.Chart(
        id, "surface", "Loss surfaces", panels, note, series, scales=len(panels) > 1, views=views, height=380
    )


def _density(entry: Mapping[str, Any], position: int) -> dict[str, Any]:
    line = plotly_charts.line(entry["label"], entry["grid"], np.array([entry["density"]], float), position)
    return line | {"low": entry["low"], "high": entry["high"], "n": len(entry["seeds"])}


def _heatmap(record: Mapping[str, Any]) -> plotly_charts.Panel:
    counts = np.array(record["counts"]).T
    return plotly_charts.heatmap_panel(
        record["title"], counts.tolist(), "client", "class", map(str, range(len(counts)))
    )


def _surface_panels(records: list[Mapping[str, Any]]) -> list[plotly_charts.Panel]:
    """The surface of every model that landscapes show, also of the one that the static figures lay over the others."""
    found: dict[str, Any] = {}
    for record in records:
        for name in ("", "overlay_"):
            label, surface = record["shown" if not name else "overlay"], record[f"{name}surface"]
            if surface is not None:
                own = label if found.get(label, surface) == surface else f"{record['title']}: {label}"
                found[own] = surface
    return [_surface(label, surface) for label, surface in found.items()]


def _surface(label: str, surface: list[list[float]]) -> plotly_charts.Panel:
    z = np.array(surface, float).T
    side = np.linspace(-1, 1, len(z)).tolist()
    content = {"x": side, "y": side, "z": z, "x_label": "first direction", "y_label": "second direction"}
    return plotly_charts.surface_panel(label, content | {"label": label}, float(np.nanmin(z)), float(np.nanmax(z)))


# ---- bounds ----------------------------------------------------------------------------------------------------------


def _bounds(site: Site) -> plotly_charts.Chart | None:
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
    panel = plotly_charts.dots_panel("Largest left side / right side found", points, "ratio (bound: 1)", 1.0)
    note = "Blue circles: statements as printed; orange diamonds: corrected ones. A dot opens its claim. "
    note += (
        "A statement in O(.) leaves a constant open and is drawn with the constant 1, so it may lie beyond the line."
    )
    title = "Searches against bounds"
    return plotly_charts.Chart("bounds", "dots", title, [panel], note, height=120 + 15 * len(points))


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
