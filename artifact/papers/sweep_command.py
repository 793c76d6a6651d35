"""``fedsharp sweep``: every run that the selected tables and figures need, each once, on all cores or on a cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from artifact.base.errors import UserError
from artifact.base.files import require_writable
from artifact.base.options import (
    ADD,
    AS_JSON,
    AUDIT_ONLY,
    DATA_ROOT,
    POSITIVE,
    QUIET,
    STORE,
    Finite,
    jobs_option,
    profile_option,
    refuse_given,
)
from artifact.papers import experiments, folders, needed_runs
from artifact.runs.command import CHECKPOINTS
from artifact.runs.store import finished_folders
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import LocalPool, Pool, Settings, get_ready
from artifact.training.config import RunConfig, remarks


def declared_seconds(selection: str, profile: str, runs_in_all: int) -> float | None:
    """Share of a run in the minutes that the selected tables declare for the profile; None where they declare none."""
    paper, _, name = selection.partition("/")
    chosen = [t for _, t in experiments.all_tables() if paper in ("", t.paper) and name in ("", t.id)]
    minutes = sum(table.profiles[profile].minutes for table in chosen if profile in table.profiles)
    return 60 * minutes / runs_in_all if minutes and runs_in_all else None


@click.command("sweep", help="Train all runs that a PAPER, PAPER/TABLE, PAPER/FIGURE or all need.")
@click.argument("selection", default="")
@profile_option("quick")
@jobs_option("workers")
@click.option("--ray", "address", help="Run on the Ray cluster at this address (auto: the one of this machine).")
@click.option("--cpus", type=POSITIVE, default=1.0, help="Per run, on Ray.")
@click.option("--gpus", type=Finite(0), default=0.0, help="Per run, on Ray; may be 0.25.")
@click.option("--nodes-data", help="Folder of the data sets on the nodes, on Ray; default: each node's own default.")
@STORE
@DATA_ROOT
@ADD
@AUDIT_ONLY
@CHECKPOINTS
@click.option("--everything", is_flag=True, help="Also the cells that the profile leaves out for want of machine time.")
@click.option("--dry-run", is_flag=True, help="Show the plan and run nothing.")
@click.option(
    "--on",
    "machine",
    type=click.Choice(["h200", "h100", "two-cores"]),
    help="With --dry-run: the hours on this machine, by counted work and the share of its limit that runs reached.",
)
@QUIET
@AS_JSON
def sweep_command(
    selection: str,
    profile: str,
    workers: int,
    address: str | None,
    cpus: float,
    gpus: float,
    nodes_data: str | None,
    out: Path | None,
    data_root: Path | None,
    add: tuple[str, ...],
    checkpoint_seconds: float,
    everything: bool,
    dry_run: bool,
    machine: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    if not dry_run:
        refuse_given("nothing without --dry-run", "machine")
    if address is None:
        refuse_given("nothing without --ray", "cpus", "gpus", "nodes_data")
    else:
        refuse_given("nothing with --ray, whose nodes have their own", "workers")
    if address is None and not dry_run:
        get_ready()
    selection = "" if selection == "all" else selection
    store = out or experiments.own_store(profile, selection)
    configs = needed_runs.configs(selection, profile, everything)
    planned = sweep.plan(configs, store, declared_seconds(selection, profile, len(configs)))
    settings = Settings(store, data_root, (*add, *folders.files()), checkpoint_seconds)
    pool: Pool = LocalPool(workers, settings, doubled=sweep.short(planned.jobs))
    if address is not None and planned.jobs:
        from artifact.runs.sweep.ray_pool import RayPool  # needs an optional package

        pool = RayPool(address, settings, cpus, gpus, nodes_data)
        workers = pool.slots()
    workers = max(1, min(workers, len(planned.jobs)))
    outlook: dict[str, Any] = {
        "finished": planned.finished,
        "to_make": len(planned.jobs),
        "estimate": planned.seconds(workers),
    }
    if machine is not None:
        outlook["on"] = hours_on(machine, [job.config for job in planned.jobs], store)
    if not as_json or not (planned.jobs and not dry_run):
        click.echo(json.dumps(outlook) if as_json else _outlook(outlook, workers))
    for remark in remarks(job.config for job in planned.jobs):
        click.echo(remark, err=True)
    if dry_run or not planned.jobs:
        return
    require_writable(store)
    try:
        tally = sweep.run_all(pool, planned.jobs, workers, quiet)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the last checkpoints", file=sys.stderr)
        raise SystemExit(130) from None
    click.echo(json.dumps(outlook | report(tally), indent=1) if as_json else _summary(tally))
    for text, jobs in tally.failures.items():
        number = f"{len(jobs)} runs, first " if len(jobs) > 1 else ""
        print(f"failed: {number}{jobs[0].name}: {text}", file=sys.stderr)
    if tally.failures:
        raise SystemExit(1)


def report(tally: sweep.Tally) -> dict[str, Any]:
    """The summary of a sweep as data for ``--json``."""
    return {
        "trained": tally.ended["trained"],
        "by_another_sweep": tally.ended["found"],
        "failed": [{"run": job.name, "reason": text} for text, jobs in tally.failures.items() for job in jobs],
        "worker_deaths": sum(job.deaths for job in tally.jobs),
        "seconds": round(tally.wall, 3),
        "cpu_share": round(tally.cpu_share, 4),
    }


def hours_on(name: str, runs: list[RunConfig], store: Path) -> dict[str, Any]:
    """Hours of some runs on a known machine.

    hours: what to expect.  at_the_limit: if every run computed and moved as fast as the machine can.
    timed: runs whose network was timed there; the others are expected to be as far from the limit as the slowest one.
    left_out: runs that cannot be counted: attention, or a network of the user's own.
    """
    from artifact.runs import roofline  # torch comes when something is counted

    machine = roofline.machines()[name]
    known = roofline.reached(machine, store if any(finished_folders(store)) else experiments.STORES["paper"])
    expected = limit = 0.0
    timed = left_out = 0
    for run in runs:
        try:
            limit += run.rounds * roofline.of_round(run).seconds(machine, run.dtype)
        except UserError:
            left_out += 1
            continue
        expected += known.seconds(run)
        timed += known.share(run)[1]
    hours, at_the_limit = (seconds / 3600 / machine.at_once for seconds in (expected, limit))
    return {
        "machine": machine.title,
        "hours": hours,
        "at_the_limit": at_the_limit,
        "timed": timed,
        "left_out": left_out,
    }


def _outlook(outlook: dict[str, Any], workers: int) -> str:
    text = f"{outlook['finished']} runs are finished, {outlook['to_make']} to make"
    if "on" in outlook:
        on = outlook["on"]
        counted = outlook["to_make"] - on["left_out"]
        text += f"; on {on['machine']} {on['hours']:.1f} h, at its limit {on['at_the_limit']:.1f} h"
        text += f" ({on['timed']} of {counted} runs have a network that was timed there"
        return text + (f"; {on['left_out']} cannot be counted)" if on["left_out"] else ")")
    return text + (f", about {sweep.duration(outlook['estimate'])} on {workers} workers" if outlook["to_make"] else "")


def _summary(tally: sweep.Tally) -> str:
    made = f"{tally.ended['trained']} trained, {tally.ended['found']} by another sweep, {tally.ended['failed']} failed"
    return f"{made}; {sweep.duration(tally.wall)}, cpu share {100 * tally.cpu_share:.0f} %"
