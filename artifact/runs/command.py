"""``artifact run`` and ``artifact replay``: one configuration from the command line, one case from a file.

The options of ``run`` are the fields of ``RunConfig`` and the hyper-parameters of all registered methods.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import click

from artifact import algorithms
from artifact.accelerate.choose import BACKENDS
from artifact.base.errors import UserError, fault
from artifact.base.options import AS_JSON, Place
from artifact.runs.store import CHECKPOINT_SECONDS, dumps
from artifact.training import config
from artifact.training.config import RunConfig


def _method_options() -> dict[str, str]:
    """Hyper-parameter -> the methods that have it, over all registered methods."""
    owners: dict[str, list[str]] = {}
    for name, cls in algorithms.ALGORITHMS.items():
        for field in dataclasses.fields(cls):
            owners.setdefault(field.name, []).append(name)
    return {name: ", ".join(methods) for name, methods in owners.items()}


def run_command() -> click.Command:
    """``run`` with one option per config field and per hyper-parameter of any method; the config checks the values."""
    options: list[click.Parameter] = []
    for name, field in RunConfig.model_fields.items():
        flag = "--" + ("switch" if name == "switches" else name).replace("_", "-")
        if name == "hyper":
            continue
        default = "required" if field.is_required() else f"default {field.default}"
        many, boolean = name == "switches", field.annotation is bool
        options.append(click.Option([flag, name], help=default, multiple=many, is_flag=boolean, default=None))
    options += [
        click.Option(["--out"], type=Place(), default=Path("out/runs"), help="Store of the runs."),
        click.Option(["--data", "data_root"], type=Place(), help="Folder of the data sets."),
        click.Option(["--add"], multiple=True, help="Python file with a method of your own; may be repeated."),
        click.Option(["--resume"], is_flag=True, help="Go on with a run that was begun."),
        click.Option(
            ["--checkpoint-seconds"],
            type=float,
            default=CHECKPOINT_SECONDS,
            show_default=True,
            help="Time between checkpoints; no number of the run depends on it.",
        ),
        click.Option(["--quiet"], is_flag=True, help="No progress bar."),
        click.Option(["--json", "as_json"], is_flag=True, help="Machine-readable output."),
    ]
    taken = {flag for option in options for flag in option.opts} | {"--help"}
    for name, owners in _method_options().items():
        flag = "--" + name.replace("_", "-")
        if flag in taken:
            raise UserError("hyper-parameter", name, f"for {owners} a name that is no option of run itself")
        options.append(click.Option([flag, f"hyper_{name}"], help=f"hyper-parameter of {owners}"))
    return click.Command(
        "run", callback=_run, params=options, help="Train one configuration; a finished one is looked up."
    )


def _run(
    out: Path,
    data_root: Path | None,
    add: tuple[str, ...],
    resume: bool,
    checkpoint_seconds: float,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    if not 0 <= checkpoint_seconds < math.inf:
        raise UserError("checkpoint-seconds", checkpoint_seconds, "0 or more seconds")
    wanted = _config(given)
    for remark in config.remarks([wanted]):
        click.echo(remark, err=True)
    from artifact.runs import session  # with it come torch and the trainer, which a wrong option does not wait for

    try:
        outcome = session.execute(
            wanted, out, resume=resume, data_root=data_root, quiet=quiet, checkpoint_seconds=checkpoint_seconds
        )
    except (UserError, OSError):
        raise
    except (Exception, SystemExit) as error:  # the user's own code may raise anything
        added = wanted.build_algorithm().added_from
        raise (fault(added, error) if added else error) from error
    summary = outcome.summary | {"folder": str(outcome.run.folder), "found": outcome.found}
    if as_json:
        click.echo(dumps(summary))
        return
    state = "found" if outcome.found else "trained"
    click.echo(f"{state} {outcome.run.folder}: {summary['rounds']} rounds, {summary['seconds']:.1f} s")
    if summary["diverged"]:
        click.echo("the model became infinite or undefined; the run ended there")
    for name in ("server", "active", "all", "train"):
        if name in summary:
            last, mean, best = (100 * summary[name][k] for k in ("last", "mean_last_10", "best"))
            click.echo(f"{name:>7}: last round {last:.2f} %, mean of last ten {mean:.2f} %, best round {best:.2f} %")


def _config(given: dict[str, Any]) -> RunConfig:
    values = {name: value for name, value in given.items() if value not in (None, ()) and not name.startswith("hyper_")}
    for name in ("evaluate", "probes"):
        if name in values:
            values[name] = values[name].split(",")
    if "algorithm" not in values:
        raise UserError("algorithm", None, ", ".join(algorithms.ALGORITHMS))
    hyper = {name.removeprefix("hyper_"): value for name, value in given.items() if name.startswith("hyper_")}
    hyper = {name: value for name, value in hyper.items() if value is not None}
    return config.make(**values, hyper={name: _number(name, value) for name, value in hyper.items()})


def _number(name: str, text: str) -> float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(name, text, "a finite number, or true or false where it is a switch")
    return value


# ---- replay ----------------------------------------------------------------------------------------------------------


@click.command("replay", help="Replay a case file: data, batches and cohorts in, trajectory out.")
@click.argument("case", type=Place())
@click.option("--out", required=True, type=Place(), help="Trajectory, .npz.")
@click.option("--variant", type=click.Choice(["paper", "released"]), help="Default: what the file was made with.")
@click.option("--backend", type=click.Choice(BACKENDS), default="batched", show_default=True)
@AS_JSON
def replay_command(case: Path, out: Path, variant: str | None, backend: str, as_json: bool) -> None:
    from artifact.runs import replay  # with it come torch and the gradients

    arrays = _replayed(case, variant, backend)
    replay.write(arrays, out)
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    click.echo(json.dumps({"out": str(out), "arrays": shapes}) if as_json else f"{out}: {', '.join(shapes)}")


def _replayed(case: Path, variant: str | None, backend: str) -> dict[str, Any]:
    """Entries of a case file that contradict each other may show only while it is played."""
    from artifact.runs import replay

    try:
        return replay.replay(case, variant, backend)
    except UserError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError("case", str(case), f"a file whose entries agree with the format ({reason})") from error
