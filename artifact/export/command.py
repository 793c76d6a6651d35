"""``fedsharp export``: a method as one PyTorch file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from artifact import algorithms
from artifact.base.errors import UserError
from artifact.base.files import replacing
from artifact.base.options import ADD_ONLY, Finite, Place
from artifact.export.write import exported, require_running


@click.command("export", help="Write a method as one PyTorch file that runs alone.")
@click.argument("method")
@click.option("--variant", type=click.Choice(["paper", "released"]), default="paper", help="Which form of the method.")
@click.option("--source", help="Released code: fl-simulator, fedlesam, fedman.  [default: the method's own]")
@click.option("--switch", "switches", multiple=True, help="Id of a discrepancy to flip; may be repeated.")
@click.option("--man", type=Finite(0), default=0.0, help="Coefficient zeta of MAN's activation term.")
@click.option("--out", "target", type=Place(dir_okay=False), help="File to write.  [default: standard output]")
@ADD_ONLY
def export_command(
    method: str, variant: str, source: str | None, switches: Sequence[str], man: float, target: Path | None
) -> None:
    """Hyper-parameters and the setting of the run stand in the file, to be changed there."""
    if target is not None and target.suffix != ".py":
        raise UserError("out", str(target), "a file that ends in .py")
    text = exported(algorithms.build(method, variant, source, switches), man)
    require_running(text, method)
    if target is None:
        click.echo(text, nl=False)
        return
    with replacing(target) as part:
        part.write_text(text, encoding="utf-8")
    click.echo(f"wrote {target}, {len(text.splitlines())} lines")
