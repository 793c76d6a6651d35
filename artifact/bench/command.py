"""``fedsharp bench``: seconds per round of models, methods and backends, and of a clone of the released simulator."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from artifact.accelerate.choose import BACKENDS, measured_for
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.base.lazy import torch
from artifact.base.options import Place, refuse_given
from artifact.bench import results
from artifact.bench.cases import (
    CASES,
    CUDA_GRAPHS,
    METHODS,
    PRECISIONS,
    RELEASED,
    ROUNDS_PER_TURN,
    UNCOMPILED,
    available,
    contender,
)
from artifact.bench.flops import limits
from artifact.bench.measure import interleave, ratios, row
from artifact.runs.store import environment
from artifact.training import config

BACKENDS_FILE = paths.PACKAGE / "accelerate" / "backends.toml"
#: backends worth timing per device and family; "*" are the remaining models, to which the others have nothing special
BACKENDS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "cpu": {
        "mlp": ("loop", "batched", "explicit", "onednn"),
        "resnet18": ("loop", "cropped", "batched"),
        "*": ("loop", "batched"),
    },
    "cuda": {
        "mlp": ("batched", "explicit", "loop"),
        "resnet18": ("stacked", "kernels", "batched", "loop", "cropped"),
        "*": ("stacked", "kernels", "batched", "loop"),
    },
}


def device() -> torch.device:
    """Where the contenders run."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def measure(
    models: Iterable[str],
    algorithms: Iterable[str],
    kinds: Iterable[str],
    turns: int,
    reference: Path | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """Environment, limits, one row per contender and, with a reference, its ratios to each of ours.

    kinds: backends, auto or a precision.  asked: further entries for the contenders (cores, evaluate, visited).
    """
    machine = limits(device=device())
    rows, quotients = [], []
    for model in models:
        for algorithm in algorithms:
            work = [contender(model, algorithm, kind) | asked for kind in kinds]
            if reference is not None and algorithm in RELEASED:
                work.insert(0, contender(model, algorithm, "reference") | {"path": str(reference)} | asked)
            # what cannot run is one line here, and nothing has started
            for remark in config.remarks([config.make(**one["config"]) for one in work]):
                click.echo(remark, err=True)
            played = interleave(work, turns, ROUNDS_PER_TURN.get(model, 1))
            for one in played:
                rows.append(row(one, machine["limit"]))
                click.echo(line(rows[-1]), err=True)
            if played[0].asked["kind"] == "reference":
                for ours in played[1:]:
                    quotients.append(ratios(played[0], ours))
                    click.echo(ratio_line(quotients[-1]), err=True)
    return {"environment": environment(device()), "limits": machine, "rows": rows, "ratios": quotients}


def line(result: dict[str, Any]) -> str:
    train, whole = result["train"], result["whole"]
    text = f"{result['model']:<12} {result['algorithm']:<9} {result['contender']:<10}"
    text += f" train {train['median']:8.3f} s [{train['min']:.3f}, {train['max']:.3f}]"
    text += f"  cpu {result['train_cpu']['median']:8.3f} s  whole {whole['median']:8.3f} s  n={train['n']}"
    if "examples_per_second" in result:
        text += f"  {result['examples_per_second']:8.0f} examples/s  {100 * result['share_of_limit']:5.1f} % of limit"
    return text + f"  peak {result['peak_mib']:6.0f} MiB  others {100 * result['others']['median']:.0f} %"


def ratio_line(result: dict[str, Any]) -> str:
    text = f"{result['model']:<12} {result['algorithm']:<9} reference / {result['contender']:<9}"
    for name in ("train", "evaluate", "whole"):
        value, cpu = result[name], result[name + "_cpu"]
        text += f" {name} {value['median']:5.2f}x [{value['min']:.2f}, {value['max']:.2f}] (cpu {cpu['median']:.2f}x)"
    return text + f" n={result['train']['n']}"


def write_backends(turns: int, models: Iterable[str]) -> str:
    """Time every backend per model with FedSAM and write the fastest of each to ``backends.toml``; its text."""
    candidates, fastest = BACKENDS_OF[device().type], {}
    result: dict[str, Any] = {}
    for model in models:
        kinds = candidates.get(model.split("-")[0], candidates["*"])
        result = measure([model], ["fedsam"], kinds, turns, evaluate=False)
        # a backend that does not know the model has given its work to another one
        seconds = {
            row["backend"]: row["train"]["median"] for row in result["rows"] if row["backend"] == row["contender"]
        }
        timings = ", ".join(f"{backend} {1000 * value:.0f} ms" for backend, value in seconds.items())
        fastest[model] = min(seconds, key=seconds.__getitem__), timings
    text = merge(BACKENDS_FILE.read_text(encoding="utf-8"), measured_for(device()), fastest, result)
    write_atomic(BACKENDS_FILE, text)
    return text


def merge(text: str, section: str, fastest: dict[str, tuple[str, str]], result: dict[str, Any]) -> str:
    """The table with one section replaced; a family (``mlp-*``) takes what its measured member has.

    Entries of other models stay, with the timings that stand behind them.
    """
    notes = dict(re.findall(r'^"(.+)" = ".+"  # (.+)$', _section(text, section), re.M))
    kept = tomllib.loads(text).get(section, {})
    entries = {name: (backend, notes.get(name, "not measured here")) for name, backend in kept.items()}
    for model, measured in fastest.items():
        entries[f"{model.split('-')[0]}-*" if model.startswith("mlp-") else model] = measured
    environment, turns = result["environment"], result["rows"][0]["train"]["n"]
    gpu = f"{environment['device']}, " if section == "cuda" else ""
    title = _title(section)
    lines = [
        title,
        f"# {gpu}{environment['processor']}, {environment['cores']} cores, torch {environment['torch']},",
        f"# FedSAM, 10 of 100 clients, medians of {turns} turns",
        *(f'"{name}" = "{backend}"  # {note}' for name, (backend, note) in sorted(entries.items())),
    ]
    head, *sections = re.split(r"\n(?=\[)", text.rstrip("\n"))
    others = [other.rstrip("\n") for other in sections if not other.startswith(title)]
    return "\n\n".join([head.rstrip("\n"), *others, "\n".join(lines)]) + "\n"


def _title(section: str) -> str:
    return f'["{section}"]' if " " in section else f"[{section}]"


def _section(text: str, section: str) -> str:
    """Its lines in the table; empty where it is not there."""
    return next((part for part in re.split(r"\n(?=\[)", text) if part.startswith(_title(section))), "")


@click.command("bench", help="Measure seconds per round of models, methods and backends.")
@click.option("--model", "models", multiple=True, type=click.Choice(list(CASES)), help="Default: all.")
@click.option("--algorithm", "algorithms", multiple=True, default=METHODS, help="Methods.")
@click.option(
    "--backend",
    "kinds",
    multiple=True,
    type=click.Choice([*BACKENDS, "auto", UNCOMPILED, *PRECISIONS, CUDA_GRAPHS]),
    default=("auto",),
    help="bfloat16, tf32: the default backend in that precision; uncompiled: without compiled loops; "
    "cuda-graphs: replayed as a CUDA graph.",
)
@click.option(
    "--rounds",
    "turns",
    type=click.IntRange(1),
    default=5,
    help="Counted turns of each contender: one round, of the MLPs ten.",
)
@click.option("--cores", type=click.IntRange(1), help="Cores that every contender may use; default all.")
@click.option("--visited", is_flag=True, help="Every client has state already, as after many rounds (memory).")
@click.option("--reference", type=Place(), help="Checkout of the released FL-Simulator to time too.")
@click.option(
    "--write", is_flag=True, help="Time FedSAM by every backend; write the fastest of each model to backends.toml."
)
@click.option(
    "--roofline",
    "counts",
    is_flag=True,
    help="What a round must compute and move, the limit of this device, and the share of it that is reached.",
)
@results.OUT
@click.option("--json", "as_json", is_flag=True, help="Print the JSON result.")
def bench(
    models: tuple[str, ...],
    algorithms: tuple[str, ...],
    kinds: tuple[str, ...],
    turns: int,
    cores: int | None,
    visited: bool,
    reference: Path | None,
    write: bool,
    counts: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    if reference is not None and not (reference / "server" / "server.py").is_file():
        raise UserError("reference", str(reference), "a checkout of woodenchild95/FL-Simulator")
    if write:
        why = "nothing with --write, which times FedSAM by every backend"
        refuse_given(why, "algorithms", "kinds", "cores", "visited", "reference", "out", "as_json")
    if counts:
        refuse_given("nothing with --roofline, which times the default", "kinds", "cores", "visited", "reference")
        refuse_given("one of the two: --roofline or --write", *(("write",) if write else ()))
        from artifact.bench import roofline  # torch comes when something is counted

        found = roofline.measure(models or CASES, algorithms, turns, device())
        found = {"environment": environment(device())} | found
        if out is not None:
            results.write(out, found)
        click.echo(json.dumps(found, indent=1)) if as_json else roofline.show(found)
        return
    chosen = available(models or CASES)
    if not chosen:
        raise UserError(
            "model", ", ".join(models or CASES), "models whose data are here; artifact data fetch gets them"
        )
    if write:
        click.echo(write_backends(turns, chosen))
        return
    result = measure(chosen, algorithms, kinds, turns, reference, cores=cores, visited=visited)
    if out is not None:
        results.write(out, result)
    if as_json:
        click.echo(json.dumps(result, indent=1))
