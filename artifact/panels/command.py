"""``artifact figure``: run or look up what a figure of a paper needs, measure it, draw it, and say what it shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from artifact import experiments, figures, sweep
from artifact.files import write_atomic
from artifact.panels import drawing
from artifact.panels.records import Record, finite, record, state
from artifact.panels.series import PanelAt, Stored, configs, find, select
from artifact.workers import Settings


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
    stored: the store's finished runs where they have been read already.
    """
    if run_missing:
        wanted = [config for name in names for config in configs(name, profile)]
        sweep.run_missing(wanted, Settings(store, data_root), quiet=quiet)
    stored = experiments.finished(store) if stored is None or run_missing else stored
    return {name: [_record(panel, stored, store, measure) for panel in select(name, profile)] for name in names}


def _record(panel: PanelAt, stored: Stored, store: Path, measure: bool) -> Record:
    content = finite(record(panel, stored, store, measure))
    return content | {"state": state(panel, stored, store)}


def draw(name: str, profile: str, records: list[Record], folder: Path) -> list[Path]:
    """PNG, PDF and the data of exactly what they show; pictures of the same data by the same program are kept."""
    figure = find(name)
    paper = experiments.load(figure.paper)
    stem = f"{figure.paper}-{figure.id}-{profile}"
    title = f"{paper.title}, {figure.location} ({profile}): {figure.title}"
    data = folder / f"{stem}.json"
    text = json.dumps({"figure": name, "profile": profile, "panels": records}, separators=(",", ":")) + "\n"
    paths = [folder / f"{stem}.{suffix}" for suffix in ("png", "pdf")]
    if not _drawn(paths, data, text):
        data.unlink(missing_ok=True)
        drawing.draw(title, records, figure.panels_per_row, folder, stem)
        write_atomic(data, text)
    return [*paths, data]


def _drawn(pictures: list[Path], data: Path, text: str) -> bool:
    """Whether the pictures are there, show this data and are younger than the code that draws them."""
    if not all(path.exists() for path in (*pictures, data)) or data.read_text(encoding="utf-8") != text:
        return False
    sources = (*Path(__file__).parent.glob("*.py"), Path(figures.__file__))
    return min(path.stat().st_mtime for path in pictures) > max(path.stat().st_mtime for path in sources)


def _names(name: str) -> list[str]:
    """``all``, a paper, or a figure -> names of figures. Raises UserError for an unknown one."""
    every = [f"{paper.paper}/{figure.id}" for paper, figure in experiments.all_figures()]
    if name == "all":
        return every
    if "/" not in name:
        return [one for one in every if one.startswith(f"{experiments.load(name).paper}/")]
    find(name)
    return [name]


@click.command(
    "figure", help="Run or look up the panels of PAPER/FIGURE, a PAPER or all, and draw them: PNG, PDF and data."
)
@click.argument("name")
@click.option("--profile", type=click.Choice(experiments.PROFILES), default="quick", show_default=True)
@click.option("--lookup", is_flag=True, help="Draw what is in the store; train and measure nothing.")
@click.option("--measure", is_flag=True, help="Train nothing, but measure models that have a checkpoint.")
@click.option("--out", type=click.Path(path_type=Path), help="Store; default out/quick, or results for other profiles.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("out/figures"), show_default=True)
@click.option("--data", "data_root", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--quiet", is_flag=True)
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
    store = out or experiments.STORES[profile]
    options = {"run_missing": not (lookup or measure), "measure": not lookup, "data_root": data_root, "quiet": quiet}
    records = collect_all(_names(name), profile, store, **options)
    if as_json:
        click.echo(json.dumps([content for found in records.values() for content in found], indent=1))
    for one, found in records.items():
        for content in () if as_json else found:
            click.echo(f"{content['id']}: {content['state']}")
            for text in content["texts"]:
                click.echo(f"  {text}")
        for path in draw(one, profile, found, folder):
            click.echo(f"figure: {path}", err=True)
