"""``fedsharp bounds``: curvature of every layer beside its bounds, for stored runs and for a network of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.base.options import ADD_ONLY, AS_JSON, DATA_ROOT, RUNS, Finite
from artifact.curvature import EmpiricalRisk
from artifact.looseness import bounds
from artifact.runs.archive import finished
from artifact.runs.bound_rows import rows, summary, text
from artifact.runs.own_network import FIGURE, MODEL, PARAMETERS, require_picture, risk_of_file, save_picture
from artifact.runs.stored_model import open_target


@click.command("bounds", help="Measure each layer's curvature beside the theorems' bounds, of a run or of any network.")
@click.argument("references", metavar="RUN_OR_CHECKPOINT", nargs=-1)
@MODEL
@PARAMETERS
@RUNS
@click.option("--tol", type=Finite(0, 1, min_open=True, max_open=True), default=1e-2, help="Relative residual.")
@click.option("--data-size", type=click.IntRange(1), default=500, help="Training samples of a run, a fixed subset.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32", help="Type of the numbers.")
@click.option("--power/--no-power", default=True, help="Repeat every eigenvalue by power iteration.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the random vectors.")
@click.option("--along", is_flag=True, help="Every bound that the store's runs recorded in training.")
@FIGURE
@DATA_ROOT
@ADD_ONLY
@AS_JSON
def bounds_command(
    references: Sequence[str],
    files: Sequence[Path],
    parameters: str,
    store: Path,
    tol: float,
    data_size: int,
    dtype: str,
    power: bool,
    seed: int,
    along: bool,
    picture: Path | None,
    data_root: Path | None,
    as_json: bool,
) -> None:
    """See ``artifact.looseness``. Exit code 1 where a theorem's bound is below the measurement; with ``--along``, where
    a record does not say so.
    """
    if along:
        _along(store, as_json, bool(references or files))
        return
    require_picture(picture)
    if not (references or files):
        raise UserError("run", "nothing", "run folders, run keys, checkpoints, or --model FILE.py")
    reports, records = [], []
    for name, risk, w in _sources(references, files, parameters, store, data_size, data_root):
        report = bounds(risk, w=w.to(getattr(torch, dtype)), tol=tol, seed=seed, power=power)
        reports.append(report)
        records.append({"model": name, "dtype": dtype} | report.plain())
        if not as_json:
            click.echo(f"{name}\n{report}\n")
    if as_json:
        click.echo(json.dumps(records, indent=1))
    save_picture(picture, lambda: reports[-1].figure())
    if any(report.violated for report in reports):
        raise click.exceptions.Exit(1)


def _along(store: Path, as_json: bool, others: bool) -> None:
    """Prints what the store's runs recorded of bounds. Exit code 1 where a bound fails in silence."""
    if others:
        raise UserError("along", True, "left out beside runs and files, or alone")
    found = summary(row for run in finished(store) for row in rows(run))
    click.echo(json.dumps(found, indent=1) if as_json else text(found))
    if any(one["silent"] for one in found["theorems"].values()):
        raise click.exceptions.Exit(1)


def _sources(
    references: Sequence[str],
    files: Sequence[Path],
    parameters: str,
    store: Path,
    data_size: int,
    data_root: Path | None,
) -> Iterator[tuple[str, EmpiricalRisk, Tensor]]:
    """Name, risk and weights [P] of each model, one after the other."""
    for reference in references:
        target = open_target(reference, store, data_root)
        yield target.describe(), target.trainer.risk(data_size), target.w
    for file in files:
        risk = risk_of_file(file, parameters)
        yield str(file), risk, risk.weights
