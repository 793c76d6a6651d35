"""``artifact sweep``: every run that the selected tables and figures need, each once, on all cores or on a cluster.

The plan comes from the declared experiments and the store, so the same command goes on after an interruption. Numbers
do not depend on how many workers there are, nor on where they are.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from artifact.base.errors import UserError
from artifact.base.files import require_writable
from artifact.base.options import DATA_ROOT, STORE, profile_option, refuse_given
from artifact.papers import experiments, needed_runs
from artifact.runs.store import Run, dumps, runs
from artifact.runs.sweep.estimate import Estimator
from artifact.runs.sweep.workers import Event, Job, LocalPool, Pool, Settings, get_ready
from artifact.training.config import RunConfig, remarks

#: seconds of a run up to which two workers share a core
SHORT = 5.0

# ---- plan ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What a sweep will do.  jobs: in the order in which they start.  finished: runs that the store has already."""

    jobs: list[Job]
    finished: int

    def seconds(self, workers: int) -> float | None:
        """Estimate of the whole sweep; None where nothing is known."""
        return Tally(self.jobs, workers).remaining()


def plan(configs: Iterable[RunConfig], store: Path, declared: float | None = None) -> Plan:
    """Unfinished configs in order, each with an estimate of its time.

    declared: seconds of a run for which no run like it has been timed.
    Comparisons (runs that differ in method and seed alone) start one after the other, the longest first; within one,
    seed by seed, so that an interrupted sweep leaves whole comparisons behind, and the longest run of a seed first.
    """
    asked, stored = needed_runs.merged(configs), experiments.finished(store)
    missing = [config for config in asked if experiments.found(config, stored) is None]
    if not missing:
        return Plan([], len(asked))
    begun, estimate, jobs = unfinished(store), Estimator(store), []
    for config in missing:
        run = begun.get(identity(config)) if begun else None
        jobs.append(Job(config, estimate(config, declared), 0 if run is None else len(run.metrics()), begun=run))
    return Plan(_ordered(jobs), len(asked) - len(missing))


def identity(config: RunConfig) -> str:
    """What a config is, on whatever machine."""
    return _identity(config.canonical())


def _identity(canonical: dict[str, Any]) -> str:
    defaults = {name: f.default for name, f in RunConfig.model_fields.items() if name not in ("device", "backend")}
    return dumps({name: canonical.get(name, default) for name, default in defaults.items()})


def unfinished(store: Path) -> dict[str, Run]:
    """Runs of a store that were begun and not ended, by the identity of their config."""
    return {_identity(run.config()): run for run in runs(store) if not run.done}


def declared_seconds(selection: str, profile: str, runs_in_all: int) -> float | None:
    """Share of a run in the minutes that the selected tables declare for the profile; None where they declare none."""
    paper, _, name = selection.partition("/")
    chosen = [t for _, t in experiments.all_tables() if paper in ("", t.paper) and name in ("", t.id)]
    minutes = sum(table.profiles[profile].minutes for table in chosen if profile in table.profiles)
    return 60 * minutes / runs_in_all if minutes and runs_in_all else None


def short(jobs: list[Job]) -> bool:
    """Whether a good part of the runs' time goes into writing files, during which a second worker can compute."""
    known = [job.seconds for job in jobs if job.seconds is not None]
    return bool(known) and sum(known) / len(known) < SHORT


#: what may differ between the runs of one comparison
_METHOD = {"algorithm", "variant", "source", "switches", "hyper", "lr_decay", "man_zeta", "man_layers", "evaluate"}


def _ordered(jobs: list[Job]) -> list[Job]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.config.model_dump_json(exclude=_METHOD | {"seed", "probes"}), []).append(job)
    longest = sorted(groups.values(), key=lambda group: -sum(job.seconds or 0 for job in group))
    return [job for group in longest for job in sorted(group, key=lambda j: (j.config.seed, -(j.seconds or 0)))]


# ---- progress --------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What has happened so far, and how long the rest will take on so many workers, one per core.

    failures: text of a failure -> its jobs.  took: seconds of every trained run.  measured, estimated: sums over those
    that had an estimate, whose ratio corrects the estimates of the others.  cpu: CPU seconds of all workers.
    """

    jobs: list[Job]
    workers: int
    start: float = field(default_factory=time.monotonic)
    ended: Counter = field(default_factory=Counter)
    open: set[Job] = field(default_factory=set)
    failures: dict[str, list[Job]] = field(default_factory=dict)
    took: list[float] = field(default_factory=list)
    measured: float = 0.0
    estimated: float = 0.0
    cpu: float = 0.0
    wall: float = 0.0

    def __post_init__(self):
        self.open = set(self.jobs)

    def take(self, event: Event) -> None:
        self.wall = time.monotonic() - self.start
        self.cpu += event.cpu
        if event.kind not in ("trained", "found", "failed"):
            return
        self.open.discard(event.job)
        self.ended[event.kind] += 1
        if event.kind == "trained":
            self.took.append(event.seconds)
        if event.kind == "trained" and event.job.seconds is not None:
            self.measured += event.seconds
            self.estimated += event.job.seconds
        if event.kind == "failed":
            self.failures.setdefault(event.text, []).append(event.job)

    def remaining(self) -> float | None:
        """Seconds until the last run ends; None while nothing is known."""
        known = [job.seconds for job in self.jobs if job.seconds is not None] or self.took
        if not known:
            return None if self.open else 0.0
        factor = self.measured / self.estimated if self.estimated else 1.0
        typical = sum(known) / len(known)
        left = [
            factor * (typical if job.seconds is None else job.seconds) * (1 - job.completed / job.config.rounds)
            for job in self.open
        ]
        return max(sum(left) / self.workers, max(left, default=0.0))

    @property
    def cpu_share(self) -> float:
        """CPU seconds of the workers over wall time times cores: what they got of their cores."""
        return self.cpu / (self.wall * self.workers) if self.wall else 0.0


def duration(seconds: float | None) -> str:
    """``1 h 05 min``, ``3 min 20 s``, ``12 s``, ``an unknown time``."""
    if seconds is None:
        return "an unknown time"
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours} h {m:02d} min" if hours else f"{m} min {s:02d} s" if m else f"{s} s"


class Progress:
    """One place for the news of all workers: a bar on a terminal, else a line about every ten seconds."""

    def __init__(self, tally: Tally, quiet: bool):
        self.tally, self.quiet, self.last = tally, quiet, time.monotonic()
        self.bar = tqdm(total=len(tally.jobs), unit="run", disable=quiet or not sys.stderr.isatty())

    def show(self, event: Event) -> None:
        """Failures for the same reason are told once here; the summary has their number."""
        ended = len(self.tally.jobs) - len(self.tally.open)
        first = event.kind == "failed" and len(self.tally.failures[event.text]) == 1
        if (first or event.kind == "died") and not self.quiet:
            again = " (it is run again)" if event.kind == "died" else ""
            tqdm.write(f"{event.kind}: {event.job.name}: {event.text}{again}", file=sys.stderr)
        text = f"remaining {duration(self.tally.remaining())}"
        place = f" on {event.text}" if event.kind == "round" and event.text else ""
        rounds = f"{event.job.completed}/{event.job.config.rounds}"
        self.bar.set_postfix_str(f"{text}; {event.job.name} {rounds}{place}", False)
        self.bar.update(ended - self.bar.n)
        if self.bar.disable and not self.quiet and time.monotonic() - self.last >= 10:
            self.last = time.monotonic()
            print(f"{ended} of {len(self.tally.jobs)} runs, {text}", file=sys.stderr, flush=True)


def run_all(pool: Pool, jobs: list[Job], workers: int, quiet: bool = False) -> Tally:
    """Run the jobs and tell about them. Raises KeyboardInterrupt, with every run in progress saved, when asked to."""
    tally = Tally(jobs, workers)
    progress = Progress(tally, quiet)
    events = pool.run(jobs)
    old = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for event in events:
            tally.take(event)
            progress.show(event)
    finally:
        events.close()
        progress.bar.close()
        signal.signal(signal.SIGTERM, old)
    return tally


def run_missing(
    configs: Iterable[RunConfig], settings: Settings, workers: int | None = None, quiet: bool = False
) -> None:
    """Make what the settings' store lacks, on all cores or so many workers. Raises UserError for the first failure."""
    planned = plan(configs, settings.store).jobs
    if not planned:
        return
    workers = min(workers or os.cpu_count() or 1, len(planned))
    if not quiet:
        print(f"{len(planned)} runs to make in {settings.store}", file=sys.stderr)
    tally = run_all(LocalPool(workers, settings), planned, workers, quiet)
    for text, failed in tally.failures.items():
        raise UserError("run", failed[0].name, f"a run that ends well; {len(failed)} did not ({text})")


# ---- command ---------------------------------------------------------------------------------------------------------


@click.command("sweep", help="Train all runs that a PAPER, PAPER/TABLE, PAPER/FIGURE or all need.")
@click.argument("selection", default="")
@profile_option("quick")
@click.option("--jobs", "workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="cores")
@click.option("--ray", "address", help="Run on the Ray cluster at this address (auto: the one of this machine).")
@click.option(
    "--cpus", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True, help="Per run, on Ray."
)
@click.option("--gpus", type=click.FloatRange(0), default=0.0, show_default=True, help="Per run, on Ray; may be 0.25.")
@click.option("--nodes-data", help="Folder of the data sets on the nodes, on Ray; default: each node's own default.")
@STORE
@DATA_ROOT
@click.option("--add", multiple=True, help="Python file with a method of your own; may be repeated.")
@click.option("--checkpoint-seconds", type=click.FloatRange(0), default=20.0, show_default=True)
@click.option("--everything", is_flag=True, help="Also the cells that the profile leaves out for want of machine time.")
@click.option("--dry-run", is_flag=True, help="Show the plan and run nothing.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
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
    quiet: bool,
    as_json: bool,
) -> None:
    for name, value in (("checkpoint-seconds", checkpoint_seconds), ("cpus", cpus), ("gpus", gpus)):
        if not math.isfinite(value):  # click's ranges let nan and inf pass
            raise UserError(name, value, "a finite number")
    if address is None:
        refuse_given("nothing without --ray", "cpus", "gpus", "nodes_data")
    else:
        refuse_given("nothing with --ray, whose nodes have their own", "workers")
    if address is None and not dry_run:
        get_ready()
    store = out or experiments.STORES[profile]
    selection = "" if selection == "all" else selection
    configs = needed_runs.configs(selection, profile, everything)
    planned = plan(configs, store, declared_seconds(selection, profile, len(configs)))
    settings = Settings(store, data_root, add, checkpoint_seconds)
    pool: Pool = LocalPool(workers, settings, doubled=short(planned.jobs))
    if address is not None and planned.jobs:
        from artifact.runs.sweep.ray_pool import RayPool  # needs an optional package

        pool = RayPool(address, settings, cpus, gpus, nodes_data)
        workers = pool.slots()
    workers = max(1, min(workers, len(planned.jobs)))
    outlook = {"finished": planned.finished, "to_make": len(planned.jobs), "estimate": planned.seconds(workers)}
    if not as_json or not (planned.jobs and not dry_run):
        click.echo(json.dumps(outlook) if as_json else _outlook(outlook, workers))
    for remark in remarks(job.config for job in planned.jobs):
        click.echo(remark, err=True)
    if dry_run or not planned.jobs:
        return
    require_writable(store)
    try:
        tally = run_all(pool, planned.jobs, workers, quiet)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the last checkpoints", file=sys.stderr)
        raise SystemExit(130) from None
    click.echo(json.dumps(outlook | report(tally), indent=1) if as_json else _summary(tally))
    for text, jobs in tally.failures.items():
        number = f"{len(jobs)} runs, first " if len(jobs) > 1 else ""
        print(f"failed: {number}{jobs[0].name}: {text}", file=sys.stderr)
    if tally.failures:
        raise SystemExit(1)


def report(tally: Tally) -> dict[str, Any]:
    """What a sweep has done, for programs."""
    return {
        "trained": tally.ended["trained"],
        "by_another_sweep": tally.ended["found"],
        "failed": [{"run": job.name, "reason": text} for text, jobs in tally.failures.items() for job in jobs],
        "worker_deaths": sum(job.deaths for job in tally.jobs),
        "seconds": round(tally.wall, 3),
        "cpu_share": round(tally.cpu_share, 4),
    }


def _outlook(outlook: dict[str, Any], workers: int) -> str:
    text = f"{outlook['finished']} runs are finished, {outlook['to_make']} to make"
    return text + (f", about {duration(outlook['estimate'])} on {workers} workers" if outlook["to_make"] else "")


def _summary(tally: Tally) -> str:
    made = f"{tally.ended['trained']} trained, {tally.ended['found']} by another sweep, {tally.ended['failed']} failed"
    return f"{made}; {duration(tally.wall)}, cpu share {100 * tally.cpu_share:.0f} %"
