"""``fedsharp report``: one self-contained site from the ledger, the stored evidence and the stores."""

from __future__ import annotations

import dataclasses
import json
import os
import webbrowser
from pathlib import Path
from typing import Any

import click

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.files import read_file
from artifact.base.options import AUDIT_ONLY, Place, profile_option
from artifact.papers import experiments, folders
from artifact.report import MARK, SHOWN, fingerprints

#: folders whose pictures the report takes over
PICTURES = ("out/figures", "docs/findings", "docs/figures")


@click.command("report", help="Build the static report site; it opens offline.")
@click.option("--out", type=Place(), default=Path("out/report"), show_default=True, help="Folder.")
@profile_option("laptop", SHOWN)
@click.option(
    "--notebooks",
    type=Place(),
    default=Path("out/notebooks"),
    show_default=True,
    help="Folder of rendered notebooks, taken over and linked.",
)
@AUDIT_ONLY
@click.option("--force", is_flag=True, help="Build it anew even if nothing that it is made from has changed.")
@click.option("--picture", type=Place(), help="PNG of the front page (needs playwright, chromium).")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def report_command(
    out: Path, profile: str, notebooks: Path, force: bool, picture: Path | None, show: bool, as_json: bool
) -> None:
    if paths.INSTALLED:
        here = "`fedsharp verdicts` and `fedsharp table NAME --lookup` read stored runs here"
        raise UserError("report", None, f"a checkout, whose proofs, pages and pictures it shows; {here}")
    index = Path(os.path.realpath(out)) / "index.html"  # of a loop of links, itself, which cannot be written
    if force or not index.is_file() or _mark(out) != _inputs(profile, notebooks):
        record = _build(out, profile, notebooks)
        said = f"{len(record['pages'])} pages, {record['claims']} claims, {record['formulas']} formulas"
        said += f" in {record['seconds']} s"
    else:
        record, said = {"folder": str(out), "unchanged": True}, "nothing that the report is made from has changed"
    if picture is not None:
        from artifact.report.photograph import photograph

        photograph(index, picture)
    if as_json:
        click.echo(json.dumps(record | {"index": str(index)}, indent=1))
    else:
        click.echo(said)
        if record.get("unconverted"):
            click.echo(f"{len(record['unconverted'])} formulas are shown as text")
        click.echo(f"report: {index}")
    if show:
        webbrowser.open(index.as_uri())


def _build(out: Path, profile: str, notebooks: Path) -> dict[str, Any]:
    from artifact.report.build import build  # templates are loaded by this command alone
    from artifact.report.content import Content

    built = build(Content(profile=profile), out, notebooks, _inputs(profile, notebooks))
    return dataclasses.asdict(built) | {"folder": str(built.folder)}


def _mark(out: Path) -> str:
    """Fingerprint of what the report in a folder was made from; empty where there is none."""
    try:
        return str(json.loads(read_file(out / MARK))["inputs"])
    except (UserError, ValueError, LookupError, TypeError, RecursionError):
        return ""


def _inputs(profile: str, notebooks: Path) -> str:
    """Fingerprint of the program, the ledger, the stores, the pictures and the notebooks' pages."""
    root = fingerprints.ROOT
    pictures = [path for name in PICTURES for path in sorted((root / name).rglob("*")) if path.is_file()]
    stored = fingerprints.records(root / store for store in experiments.STORES.values())
    added = [path for audit in folders.AUDITS.values() for path in sorted(audit.folder.rglob("*")) if path.is_file()]
    listed = [*stored, *pictures, *added, *sorted(notebooks.glob("*.html"))]
    return fingerprints.digest(
        [*fingerprints.sources(), *sorted((root / "notebooks").glob("*.ipynb"))], listed, profile
    )
