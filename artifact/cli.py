"""Commands and options; those of ``run`` come from the config and from the methods' dataclasses."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from artifact import algorithms, data
from artifact.accelerate.choose import BACKENDS
from artifact.algorithms.switches import OPTIONS, SAME_EQUATION, SWITCHES
from artifact.base.errors import UserError, fault
from artifact.base.options import DATA_ROOT, Place
from artifact.base.tables_as_text import markdown_table
from artifact.bench.command import bench
from artifact.data.figures import partition_heatmap
from artifact.models import networks
from artifact.papers import experiments, listing, tables
from artifact.papers.compare import compare_command
from artifact.papers.costs import costs_command
from artifact.papers.figures.command import figure_command
from artifact.papers.variants import variants_command
from artifact.report.command import report_command
from artifact.report.markdown_blocks import readme_command
from artifact.runs import replay, session
from artifact.runs.measure_landscape import landscape_command
from artifact.runs.measure_sharpness import sharpness_command
from artifact.runs.store import dumps
from artifact.runs.sweep.sweep import sweep_command
from artifact.training import config
from artifact.training.config import RunConfig
from artifact.verdicts.command import verdicts_command

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


def commands(arguments: Sequence[str]) -> click.Group:
    """The command group; files named by ``--add`` are registered first, so that their options exist."""
    for file in _added(arguments):
        _register(file)
    group = click.Group("artifact", help="Replication and audit of five papers on sharpness-aware federated learning.")
    for command in (
        list_command(),
        run_command(),
        replay_command,
        data_group,
        tables.table_command,
        figure_command,
        variants_command,
        verdicts_command,
        sweep_command,
        compare_command,
        costs_command,
        readme_command,
        report_command,
        sharpness_command,
        landscape_command,
        bench,
    ):
        group.add_command(command)
    return group


def _added(arguments: Sequence[str]) -> list[str]:
    """Values of ``--add FILE`` and ``--add=FILE``."""
    apart = [value for flag, value in itertools.pairwise(arguments) if flag == "--add"]
    return apart + [word.removeprefix("--add=") for word in arguments if word.startswith("--add=")]


def _register(file: str) -> None:
    try:
        algorithms.register_file(file)
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # the user's own code may raise anything
        raise fault(file, error) from error


# ---- list ------------------------------------------------------------------------------------------------------------


def _algorithms() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "title": (cls.__doc__ or "").split("\n")[0],
            "options": {f.name: algorithms.SPECIAL.get(name, ((), {}))[1].get(f.name, f.default) for f in fields},
            "released": sorted(algorithms.resolve(name, "released", None, ())) if algorithms.has_code(name) else [],
        }
        for name, cls in algorithms.ALGORITHMS.items()
        for fields in [dataclasses.fields(cls)]
    ]


def _discrepancies() -> list[dict[str, Any]]:
    rows = [
        {
            "id": id,
            "kind": group[0].kind,
            "explanation": " / ".join(dict.fromkeys(s.explanation for s in group)),
            "switch": True,
            "methods": sorted(n for n, cls in algorithms.ALGORITHMS.items() if any(s.concerns(cls) for s in group)),
        }
        for id, group in SWITCHES.items()
    ]
    rows += [
        {"id": id, "kind": "same equation", "explanation": f"switch {', '.join(same)}", "switch": True, "methods": []}
        for id, same in SAME_EQUATION.items()
    ]
    rows += [
        {"id": id, "kind": "option", "explanation": option, "switch": False, "methods": []}
        for id, option in OPTIONS.items()
    ]
    return rows


def _datasets() -> list[dict[str, Any]]:
    return [data.status(name) for name in data.DATASETS]


def _models() -> list[dict[str, Any]]:
    return [{"name": name, "title": info.title, "papers": list(info.papers)} for name, info in networks.MODELS.items()]


def _experiments() -> list[dict[str, Any]]:
    return [
        {
            "name": f"{paper.paper}/{table.id}",
            "title": table.title,
            "profiles": sorted(table.profiles),
            "minutes": {name: f"{profile.minutes:g}" for name, profile in table.profiles.items()},
        }
        for paper, table in experiments.all_tables()
    ]


def _claims() -> list[dict[str, Any]]:
    from artifact.verdicts import ledger

    return [
        {"id": c.id, "paper": c.paper, "kind": c.kind, "title": c.title, "expected": c.expected} for c in ledger.load()
    ]


LISTS = {
    "algorithms": _algorithms,
    "datasets": _datasets,
    "models": _models,
    "experiments": _experiments,
    "claims": _claims,
    "discrepancies": _discrepancies,
    "cells": listing.cells,
}


def list_command() -> click.Command:
    @click.command("list", help="What there is: " + ", ".join(LISTS) + ".")
    @click.argument("what", type=click.Choice(list(LISTS)))
    @click.option("--paper", help="Cells, experiments or claims of this paper only.")
    @click.option("--profile", type=click.Choice(experiments.PROFILES), default="laptop", help="Profile of the cells.")
    @click.option("--markdown", is_flag=True, help="As a Markdown table.")
    @AS_JSON
    def show(what: str, paper: str | None, profile: str, markdown: bool, as_json: bool) -> None:
        rows = listing.cells(paper, profile) if what == "cells" else _of_paper(paper, what, LISTS[what]())
        if as_json:
            click.echo(json.dumps(rows, indent=1, default=str))
            return
        if markdown and rows:  # without rows there is nothing to name the columns after
            click.echo("\n".join(markdown_table(list(rows[0]), (map(_short, row.values()) for row in rows))))
            return
        for row in rows:
            first, *others = row.values()
            click.echo(f"{first:<17} " + "  ".join(_short(value) for value in others))

    return show


def _of_paper(paper: str | None, what: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one paper, of lists that name it. Raises UserError for other lists and unknown papers."""
    if paper is None:
        return rows
    if what not in ("claims", "experiments"):
        raise UserError("paper", paper, f"a paper with cells, experiments or claims; {what} belong to none")
    papers = [row["paper"] if what == "claims" else row["name"].split("/")[0] for row in rows]
    if paper not in papers:
        raise UserError("paper", paper, ", ".join(sorted(set(papers))))
    return [row for row, own in zip(rows, papers, strict=True) if own == paper]


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


# ---- run -------------------------------------------------------------------------------------------------------------


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
            default=session.CHECKPOINT_SECONDS,
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


@click.command("replay", help="Replay a case file: explicit data, batches and cohorts in, trajectory out.")
@click.argument("case", type=Place())
@click.option("--out", required=True, type=Place(), help="Trajectory, .npz.")
@click.option("--variant", type=click.Choice(["paper", "released"]), help="Default: what the file was made with.")
@click.option("--backend", type=click.Choice(BACKENDS), default="batched", show_default=True)
@AS_JSON
def replay_command(case: Path, out: Path, variant: str | None, backend: str, as_json: bool) -> None:
    arrays = _replayed(case, variant, backend)
    replay.write(arrays, out)
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    click.echo(json.dumps({"out": str(out), "arrays": shapes}) if as_json else f"{out}: {', '.join(shapes)}")


def _replayed(case: Path, variant: str | None, backend: str) -> dict[str, Any]:
    """Entries of a case file that contradict each other may show only while it is played."""
    try:
        return replay.replay(case, variant, backend)
    except UserError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError("case", str(case), f"a file whose entries agree with the format ({reason})") from error


# ---- data ------------------------------------------------------------------------------------------------------------


@click.group("data", help="Local data: status, fetch (torchvision's download, checksums), import of an .npz file.")
def data_group() -> None:
    pass


@data_group.command("status", help="What is here, where, and how to get the rest.")
@click.argument("name", required=False)
@DATA_ROOT
@AS_JSON
def data_status(name: str | None, data_root: Path | None, as_json: bool) -> None:
    rows = [data.status(n, data_root) for n in ([name] if name else data.DATASETS)]
    if as_json:
        click.echo(json.dumps(rows, indent=1, default=str))
        return
    for row in rows:
        first, *others = row.values()
        click.echo(f"{first:<16}" + "  ".join(_short(value) for value in others))


@data_group.command("fetch", help="Download a data set and verify it.")
@click.argument("name")
@DATA_ROOT
def data_fetch(name: str, data_root: Path | None) -> None:
    place = data.fetch(name, data_root)
    click.echo(f"{name}: {place or 'ships with an installed package'}")


@data_group.command("split", help="Partition of a data set over clients: sizes, fingerprint, heat map.")
@click.argument("name")
@click.argument("spec")
@click.option("--clients", type=click.IntRange(1), default=100, show_default=True)
@click.option("--sizes", default="equal", show_default=True, help="equal or lognormal:SIGMA.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--figure", type=Place(), help="Heat map of clients by classes, .png or .pdf.")
@DATA_ROOT
@AS_JSON
def data_split(
    name: str,
    spec: str,
    clients: int,
    sizes: str,
    seed: int,
    figure: Path | None,
    data_root: Path | None,
    as_json: bool,
) -> None:
    dataset = data.load(name, data_root)
    domains = {"domains": dataset.domains, "domain_names": dataset.domain_names}
    parts = data.partition(spec, dataset.train_y, clients, seed, sizes=sizes, **domains)
    if figure is not None:
        partition_heatmap(parts, dataset.train_y, dataset.classes, figure)
    row = {"fingerprint": parts.fingerprint, "clients": clients, "smallest": int(parts.sizes.min())}
    row |= {"largest": int(parts.sizes.max()), "reused": parts.reused}
    click.echo(json.dumps(row) if as_json else "  ".join(f"{key} {value}" for key, value in row.items()))


@data_group.command("import", help="Take over an .npz file with train_x, train_y, test_x, test_y, classes.")
@click.argument("name")
@click.argument("file", type=Place())
@DATA_ROOT
def data_import(name: str, file: Path, data_root: Path | None) -> None:
    click.echo(f"{name}: {data.import_npz(name, file, data_root)}")
