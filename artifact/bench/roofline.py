"""``fedsharp bench --roofline``: what a round must compute and move, the limit of this device, and what is reached.

The device is measured by a copy of large tensors and by products of large matrices in every type that it has. The work
of a round is counted (``artifact.runs.roofline``). A network whose data are here plays rounds, so that the share of the
limit that our code reaches stands beside the limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import click

from artifact.base.devices import finish, has_bfloat16, prepare
from artifact.base.lazy import torch
from artifact.base.random import stream
from artifact.base.tables_as_text import markdown_table
from artifact.bench.cases import ROUNDS_PER_TURN, available, contender
from artifact.bench.flops import seconds_of
from artifact.bench.measure import interleave
from artifact.runs.roofline import Machine, of_round
from artifact.training import config

#: the papers' own cell: all of CIFAR-10 at 100 clients, in bfloat16
CELL: dict[str, Any] = {"train_size": None, "test_size": None, "dtype": "bfloat16", "eval_every": 10}
#: numbers of the copied tensor: more than any cache holds
COPIED = {"cpu": 1 << 25, "cuda": 1 << 29}
#: rows of the square matrices
ROWS = {"cpu": 1024, "cuda": 8192}
COLUMNS = ("network", "method", "type", "TFLOP", "GB", "weights live", "limit s", "bound by", "round s", "share %")


def this_machine(device: torch.device, repeats: int = 7) -> Machine:
    """The device's rates, the best of some repeats: a copy (reads and writes) and a product in every type it has."""
    kind, generator = device.type, stream(0, "bench")
    source = torch.rand(COPIED[kind], generator=generator).to(device)
    target = torch.empty_like(source)
    copy = 2 * source.nbytes / min(seconds_of(lambda: target.copy_(source), repeats, device))
    products = {}
    for dtype in ("float32", *(("tf32",) if kind == "cuda" else ()), *(("bfloat16",) if has_bfloat16(device) else ())):
        prepare(device, dtype)
        rows = ROWS[kind]
        a, b = (torch.rand(rows, rows, generator=generator).to(device) for _ in range(2))
        if dtype == "bfloat16":
            a, b = a.bfloat16(), b.bfloat16()
        products[dtype] = 2 * rows**3 / min(seconds_of(partial(torch.matmul, a, b), repeats, device)) / 1e12
    finish(device)
    return Machine(title=str(device), copy_tb=copy / 1e12, products=products, source="measured here")


def measure(models: Iterable[str], algorithms: Iterable[str], turns: int, device: torch.device) -> dict[str, Any]:
    """The machine and a row per network and method; the papers' cell comes first, counted only."""
    machine, rows = this_machine(device), []
    chosen, algorithms = list(models), list(algorithms)
    if "resnet18-gn" in chosen:
        for algorithm in algorithms:
            asked = contender("resnet18-gn", algorithm, "auto", **CELL)
            rows.append(row(asked["config"], machine) | {"name": "the papers' cell"})
    timed = available(chosen)
    for model in chosen:
        for algorithm in algorithms:
            asked = contender(model, algorithm, "auto")
            result = row(asked["config"], machine)
            if model in timed:
                (played,) = interleave([asked | {"evaluate": False}], turns, ROUNDS_PER_TURN.get(model, 1))
                result["seconds"] = sorted(s["train"] for s in played.samples)[turns // 2]
                result["share"] = result["limit"] / result["seconds"]
            rows.append(result)
    return {"machine": machine.model_dump(), "rows": rows}


def row(settings: dict[str, Any], machine: Machine) -> dict[str, Any]:
    """The work and the limit of a round of a run."""
    run = config.make(**settings)
    work = of_round(run)
    return {
        "name": run.model,
        "algorithm": run.algorithm,
        "dtype": run.dtype,
        "operations": work.operations,
        "moved": work.moved,
        "live": work.live,
        "weights": work.weights,
        "limit": work.seconds(machine, run.dtype),
        "bound_by": work.bound_by(machine, run.dtype),
    }


def show(result: dict[str, Any]) -> None:
    """The result as a table."""
    machine = result["machine"]
    products = ", ".join(f"{rate:.3g} TFLOP/s in {dtype}" for dtype, rate in machine["products"].items())
    click.echo(f"{machine['title']}: a copy moves {1000 * machine['copy_tb']:.3g} GB/s, products make {products}\n")
    body = []
    for r in result["rows"]:
        numbers = [f"{r['operations'] / 1e12:.3g}", f"{r['moved'] / 1e9:.3g}", f"{r['live']:,} of {r['weights']:,}"]
        reached = [f"{r['seconds']:.3g}", f"{100 * r['share']:.1f}"] if "share" in r else ["not timed", "-"]
        body.append([r["name"], r["algorithm"], r["dtype"], *numbers, f"{r['limit']:.3g}", r["bound_by"], *reached])
    click.echo("\n".join(markdown_table(list(COLUMNS), body)))
