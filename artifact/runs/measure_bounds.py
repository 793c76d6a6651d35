"""``artifact bounds``: curvature of every layer beside its bounds, for stored runs and for a network of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from artifact.base.errors import UserError
from artifact.base.files import replacing
from artifact.base.lazy import Tensor, torch
from artifact.base.options import ADD_ONLY, AS_JSON, DATA_ROOT, RUNS, Finite, Place
from artifact.base.own_code import run_file, running
from artifact.curvature import EmpiricalRisk
from artifact.looseness import bounds
from artifact.runs.archive import finished
from artifact.runs.bound_rows import rows, summary, text
from artifact.runs.stored_model import open_target

#: what a file of a user's own may define; the first two it has to
NAMES = ("model", "data", "loss")


def risk_of_file(path: Path) -> EmpiricalRisk:
    """The network of a Python file, which runs: ``model``, ``data`` and perhaps ``loss``, as values or as functions
    without arguments (a ``loss`` is called with outputs and targets; without one it is cross-entropy).

    Raises UserError, with the line of the file where there is one, for a file that is missing, does not run, or defines
    something else under these names.
    """
    module = run_file(path, "model")
    found: dict[str, Any] = {}
    with running(path, "model"):
        for wanted in NAMES[:2]:
            if wanted not in vars(module):
                raise UserError(
                    "model", str(path), f"a file that defines {' and '.join(NAMES[:2])}; it has no {wanted}"
                )
            value = vars(module)[wanted]
            found[wanted] = value() if callable(value) and not isinstance(value, torch.nn.Module) else value
        if not isinstance(found["model"], torch.nn.Module):
            kind = type(found["model"]).__name__
            raise UserError("model", str(path), f"a file whose model is a torch.nn.Module; it is a {kind}")
        return EmpiricalRisk(found["model"], vars(module).get("loss"), found["data"])


@click.command("bounds", help="Measure each layer's curvature beside the theorems' bounds, of a run or of any network.")
@click.argument("references", metavar="RUN_OR_CHECKPOINT", nargs=-1)
@click.option("--model", "files", multiple=True, type=Place(), help="Python file with `model`, `data`, perhaps `loss`.")
@RUNS
@click.option("--tol", type=Finite(0, 1, min_open=True, max_open=True), default=1e-2, help="Relative residual.")
@click.option("--data-size", type=click.IntRange(1), default=500, help="Training samples of a run, a fixed subset.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32", help="Type of the numbers.")
@click.option("--power/--no-power", default=True, help="Repeat every eigenvalue by power iteration.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the random vectors.")
@click.option("--along", is_flag=True, help="Every bound that the store's runs recorded in training.")
@click.option("--figure", "picture", type=Place(), help="Draw the (last) report into this PNG, PDF or SVG file.")
@DATA_ROOT
@ADD_ONLY
@AS_JSON
def bounds_command(
    references: Sequence[str],
    files: Sequence[Path],
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
    if picture is not None and picture.suffix not in (".png", ".pdf", ".svg"):
        raise UserError("figure", str(picture), "a file that ends in .png, .pdf or .svg")
    if not (references or files):
        raise UserError("run", "nothing", "run folders, run keys, checkpoints, or --model FILE.py")
    reports, records = [], []
    for name, risk, w in _sources(references, files, store, data_size, data_root):
        report = bounds(risk, w=w.to(getattr(torch, dtype)), tol=tol, seed=seed, power=power)
        reports.append(report)
        records.append({"model": name, "dtype": dtype} | report.plain())
        if not as_json:
            click.echo(f"{name}\n{report}\n")
    if as_json:
        click.echo(json.dumps(records, indent=1))
    if picture is not None:
        with replacing(picture) as part:
            reports[-1].figure().savefig(part, format=picture.suffix[1:], dpi=150)
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
    references: Sequence[str], files: Sequence[Path], store: Path, data_size: int, data_root: Path | None
) -> Iterator[tuple[str, EmpiricalRisk, Tensor]]:
    """Name, risk and weights [P] of each model, one after the other."""
    for reference in references:
        target = open_target(reference, store, data_root)
        yield target.describe(), target.trainer.risk(data_size), target.w
    for file in files:
        risk = risk_of_file(file)
        yield str(file), risk, risk.weights
