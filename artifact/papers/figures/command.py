"""``fedsharp figure``: run or look up what a figure of a paper needs, measure it, draw it, and say what it shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np

from artifact.base import paths, plots
from artifact.base.cache import cache
from artifact.base.errors import UserError
from artifact.base.files import read_file, write_atomic
from artifact.base.options import AUDIT_ONLY, DATA_ROOT, QUIET, STORE, Place, profile_option
from artifact.papers import experiments
from artifact.papers.figures import drawing
from artifact.papers.figures.records import Record, record, state
from artifact.papers.figures.series import NO_FIGURE, UNTRAINED, PanelAt, Stored, configs, find, select
from artifact.runs.lookup import finished_runs
from artifact.runs.store import finite
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import Settings


def collect(name: str, profile: str, store: Path, **options: Any) -> list[Record]:
    """Records of the panels of PAPER/FIGURE; options as in ``collect_all``. Raises UserError for an unknown figure."""
    find(name)
    return collect_all([name], profile, store, **options)[name]


def collect_all(
    names: Sequence[str],
    profile: str,
    store: Path,
    *,
    run_missing: bool = False,
    measure: bool = False,
    data_root: Path | None = None,
    quiet: bool = True,
    stored: Stored | None = None,
) -> dict[str, list[Record]]:
    """Records of the panels of every figure PAPER/FIGURE, each with its state.

    run_missing: train what the store lacks.  measure: measure models whose surface or spectrum is not on record.
    data_root: folder of the data sets, for both.  stored: the store's finished runs where they have been read already.
    """
    if run_missing:
        wanted = [config for name in names for config in configs(name, profile)]
        sweep.run_missing(wanted, Settings(store, data_root), quiet=quiet)
    stored = finished_runs(store) if stored is None or run_missing else stored
    return {
        name: [_record(panel, stored, store, measure, data_root) for panel in select(name, profile)] for name in names
    }


def _record(panel: PanelAt, stored: Stored, store: Path, measure: bool, data_root: Path | None) -> Record:
    content = finite(record(panel, stored, store, measure, data_root))
    return content | {"state": state(panel, stored, store)}


def draw(name: str, profile: str, records: list[Record], folder: Path) -> list[Path]:
    """PNG, PDF and the data of exactly what they show; pictures of the same data by the same program are kept."""
    figure = find(name)
    paper = experiments.load(figure.paper)
    stem = f"{figure.paper}-{figure.id}-{profile}"
    at = "" if all(r["kind"] in UNTRAINED for r in records) else f" ({profile})"
    title = f"{paper.title}, {figure.location}{at}: {figure.title}"
    data = folder / f"{stem}.json"
    content = {"figure": name, "profile": profile, "title": title, "drawn_by": _program(), "panels": records}
    if all(r["kind"] in UNTRAINED for r in records):
        content["made_by"] = _everything()
    text = json.dumps(content, separators=(",", ":")) + "\n"
    paths = [folder / f"{stem}.{suffix}" for suffix in ("png", "pdf")]
    drawn = _content(data) | {"made_by": ""} == json.loads(text) | {"made_by": ""}
    if not drawn or not all(path.exists() for path in paths):
        data.unlink(missing_ok=True)
        drawing.draw(title, records, figure.panels_per_row, folder, stem)
    if not data.exists() or data.read_text(encoding="utf-8") != text:
        write_atomic(data, text)
    return [*paths, data]


def _content(data: Path) -> dict[str, Any]:
    """What the file beside the pictures holds; nothing where there is none or it is damaged."""
    try:
        content = json.loads(read_file(data))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def kept(name: str, profile: str, folder: Path) -> list[Record] | None:
    """Records of a figure without runs from the data beside its pictures; None where any code of ours has changed."""
    figure = find(name)
    if any(panel.kind not in UNTRAINED for panel in figure.panel):
        return None
    content = _content(folder / f"{figure.paper}-{figure.id}-{profile}.json")
    return content["panels"] if content.get("made_by") == _everything() else None


@cache
def _program() -> str:
    """Hash of the code that draws and of its drawing library's version."""
    return _hash([*sorted(Path(__file__).parent.glob("*.py")), Path(plots.__file__)])


@cache
def _everything() -> str:
    """Hash of all code and declarations that a figure without runs may depend on."""
    root = paths.ROOT
    folders = (("artifact", "*.py"), ("theory", "*.py"), ("experiments", "*.toml"))
    return _hash([path for folder, pattern in folders for path in sorted((root / folder).rglob(pattern))])


def _hash(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256(f"{version('matplotlib')} {np.__version__}".encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _names(name: str) -> list[str]:
    """``all``, a paper, or a figure -> names of figures. Raises UserError for an unknown one."""
    every = [f"{paper.paper}/{figure.id}" for paper, figure in experiments.all_figures()]
    if name == "all":
        return every
    if "/" not in name:
        if not experiments.load(name).figure:
            raise UserError("figure", name, NO_FIGURE.format(name))
        return [one for one in every if one.startswith(f"{name}/")]
    find(name)
    return [name]


@click.command("figure", help="Run or look up PAPER/FIGURE, a PAPER or all, and draw them.")
@click.argument("name")
@profile_option("quick")
@click.option("--lookup", is_flag=True, help="Draw what is in the store; train and measure nothing.")
@click.option("--measure", is_flag=True, help="Train nothing, but measure models that have a checkpoint.")
@STORE
@click.option("--folder", type=Place(), default=Path("out/figures"), help="Folder of pictures and data.")
@DATA_ROOT
@AUDIT_ONLY
@QUIET
@click.option("--json", "as_json", is_flag=True, help="Print the panels' records.")
def figure_command(
    name: str,
    profile: str,
    lookup: bool,
    measure: bool,
    out: Path | None,
    folder: Path,
    data_root: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    store = experiments.store_of(profile, out, lookup or measure, name)
    options: dict[str, Any] = {
        "run_missing": not (lookup or measure),
        "measure": not lookup,
        "data_root": data_root,
        "quiet": quiet,
    }
    names = _names(name)
    known = {one: found for one in names if (found := kept(one, profile, folder)) is not None}
    new = collect_all([one for one in names if one not in known], profile, store, **options)
    records = {one: known[one] if one in known else new[one] for one in names}
    if as_json:
        click.echo(json.dumps([content for found in records.values() for content in found], indent=1))
    for found in records.values():
        for content in () if as_json else found:
            click.echo(f"{content['id']}: {content['state']}")
            for text in content["texts"]:
                click.echo(f"  {text}")
    drawings = [partial(draw, one, profile, found, folder) for one, found in records.items()]
    for written in plots.draw_all(drawings):
        for path in written:
            click.echo(f"figure: {path}", err=True)
