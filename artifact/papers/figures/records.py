"""A panel's record: everything that its picture shows, as plain data, with the runs and the command behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from artifact.papers import experiments
from artifact.papers.figures import partitions, schematics, surface_figures, surfaces, training
from artifact.papers.figures.series import MEASURED, TRAINED, UNTRAINED, PanelAt, Stored, runs_of, select
from artifact.papers.figures.statements import Statement, decide
from artifact.papers.folders import named
from artifact.runs.lookup import finished_runs

Record = dict[str, Any]


def record(panel: PanelAt, stored: Stored, store: Path, measure: bool, data_root: Path | None = None) -> Record:
    """The panel as data. measure: models whose surface or spectrum is not on record are measured now, on the data sets
    below ``data_root``."""
    declared = panel.panel
    head = {
        "id": panel.id,
        "kind": declared.kind,
        "title": declared.title,
        "profile": panel.profile,
        "shows": declared.shows,
        "note": panel.note,
        "setting": _setting(panel),
        "ours": declared.ours,
        "not_run": panel.not_run,
        "command": f"python -m fedsharp figure {named(panel.figure.paper, panel.figure.id)} --profile {panel.profile}",
    }
    if declared.kind == "sketch":
        assert declared.function is not None  # as the declaration of a sketch has it
        content = schematics.computed(declared.function)
        return _finished(head, content | {"statements": [Statement(**one) for one in content["statements"]]})
    if declared.kind in ("bars", "heatmap"):
        return _finished(head, partitions.record(panel))
    if declared.kind in TRAINED:
        return _finished(head, _trained(panel, stored))
    return _finished(head, _measured(panel, surfaces.entries(panel, stored, store, measure, data_root)))


def _setting(panel: PanelAt) -> str:
    """What is run at this profile, in a line: data, model, clients, rounds."""
    if not panel.series or panel.not_run:
        return ""
    one = next(series for series in panel.series if not series.not_run).configs[0]
    clients = f"{one.clients} client{'' if one.clients == 1 else 's'}"
    return f"run here: {one.dataset}, {one.model}, {clients}, {one.rounds} rounds"


def _finished(head: Record, content: Record) -> Record:
    """Statements as plain records, and their sentences as the caption has them."""
    statements: list[Statement] = content.pop("statements")
    keys = sorted({key for line in content.get("lines", []) for key in line.get("keys", [])})
    texts = [str(statement) for statement in statements]
    return head | content | {"statements": [s.record() for s in statements], "texts": texts, "runs": keys}


def _trained(panel: PanelAt, stored: Stored) -> Record:
    declared = panel.panel
    label, _, unit = training.QUANTITIES[declared.y]
    lines = training.lines(panel, stored)
    if declared.kind == "curves":
        lines = [training.with_smoothing(line) for line in lines]
    axes = {"x_label": "communication round", "y_label": declared.y_label or label, "log": declared.log}
    if declared.kind == "sweep":
        ticks = sorted({x for line in lines for x in line["x"]})
        spaced = training.crowded(ticks, declared.log)
        log = declared.log and not spaced
        scale = ", equally spaced" if spaced else ", log scale" if log else ""
        x_label = f"{declared.x_label or declared.x}{scale}"
        axes |= {"x_label": x_label, "ticks": ticks, "equally_spaced": spaced, "log": log}
    ends = training.accuracies(lines) if declared.kind == "probe" else []
    return axes | {"lines": lines, "statements": decide(declared.checks, lines, unit) + ends}


def _measured(panel: PanelAt, entries: Sequence[surfaces.Entry]) -> Record:
    declared = panel.panel
    if declared.kind == "spectrum":
        lines = surface_figures.spectrum_lines(entries)
        return {"lines": lines, "statements": decide(declared.checks, lines, "mean eigenvalue")}
    if declared.kind == "density":
        lines = surface_figures.density_lines(entries)
        return {"lines": lines, "statements": surface_figures.density_statements(lines)}
    lines = surface_figures.rise_lines(entries)
    surface = {e["label"]: e["surface"] for e in entries if "surface" in e}
    others = [label for label in surface if label != declared.overlay]
    shown = others[0] if others else None
    return {
        "lines": lines,
        "shown": shown,
        "surface": surface.get(shown),
        "overlay": declared.overlay,
        "overlay_surface": surface.get(declared.overlay),
        "statements": surface_figures.flatness(lines, declared.checks),
    }


# ---- states ----------------------------------------------------------------------------------------------------------


def state(panel: PanelAt, stored: Stored, store: Path) -> str:
    """As of a table's cell: ``given`` (nothing is trained), ``finished n/m``, ``missing`` or ``not-run: reason``.

    A measured panel counts the models that are on record or whose checkpoint is there to be measured.
    """
    if panel.panel.kind in UNTRAINED:
        return "given"
    declared = [config for series in panel.series if not series.not_run for config in series.configs]
    found = [run for series in panel.series for run in runs_of(series, stored)]
    if panel.panel.kind in MEASURED:
        known = {entry["key"] for entry in surfaces.entries(panel, stored, store, measure=False)}
        found = [run for run in found if run.key in known or run.checkpoint_file.exists()]
    if panel.not_run and len(found) < sum(len(series.configs) for series in panel.series):
        return f"not-run: {panel.not_run}"
    return f"finished {len(found)}/{max(len(declared), len(found))}" if found else "missing"


def states(profile: str, store: Path | None = None, selection: str = "") -> dict[str, str]:
    """Panel id -> state, for every declared panel, or the selected ones, at a profile."""
    root = store or experiments.readable_store(profile)
    stored = finished_runs(root)
    return {panel.id: state(panel, stored, root) for panel in select(selection, profile)}
