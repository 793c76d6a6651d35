"""``artifact report``: one self-contained site from the ledger, the stored evidence and the stores."""

from __future__ import annotations

import dataclasses
import json
import webbrowser
from pathlib import Path

import click

from artifact import experiments


@click.command("report", help="Build the static report site; it opens from the file system, offline.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/report"), show_default=True, help="Folder.")
@click.option("--profile", type=click.Choice(experiments.PROFILES), default="laptop", show_default=True)
@click.option(
    "--notebooks",
    type=click.Path(path_type=Path),
    default=Path("out/notebooks"),
    show_default=True,
    help="Folder of rendered notebooks, taken over and linked.",
)
@click.option("--draw", is_flag=True, help="First draw the figures of checks that are missing or out of date.")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def report_command(out: Path, profile: str, notebooks: Path, draw: bool, show: bool, as_json: bool) -> None:
    from artifact.report import pictures  # templates and drawing are loaded by this command alone
    from artifact.report.content import Content
    from artifact.report.site import build

    content = Content(profile=profile)
    drawn = list(pictures.draw(content)) if draw else []
    built = build(content, out, notebooks)
    index = (built.folder / "index.html").resolve()
    if as_json:
        record = dataclasses.asdict(built) | {"folder": str(built.folder), "index": str(index), "drawn": drawn}
        click.echo(json.dumps(record, indent=1))
    else:
        click.echo(f"{len(built.pages)} pages, {built.claims} claims, {built.formulas} formulas in {built.seconds} s")
        if built.unconverted:
            click.echo(f"{len(built.unconverted)} formulas are shown as text")
        click.echo(f"report: {index}")
    if show:
        webbrowser.open(index.as_uri())
