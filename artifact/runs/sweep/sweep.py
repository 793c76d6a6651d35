"""Many runs: which of them a store lacks, in which order they start, and what is told while a pool makes them.

The plan comes from the store, so the same configs go on after an interruption. Numbers do not depend on how many
workers there are, nor on where they are.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from artifact.base.errors import UserError
from artifact.runs.lookup import find_run, finished_runs, identity, merged, unfinished_runs
from artifact.runs.processes import heeded, progress_bar
from artifact.runs.sweep.estimate import Estimator
from artifact.runs.sweep.workers import Event, Job, LocalPool, Pool, Settings
from artifact.training.config import RunConfig

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
    asked, stored = merged(configs), finished_runs(store)
    missing = [config for config in asked if find_run(config, stored) is None]
    if not missing:
        return Plan([], len(asked))
    begun, estimate, jobs = unfinished_runs(store), Estimator(store), []
    for config in missing:
        run = begun.get(identity(config.settings())) if begun else None
        jobs.append(Job(config, estimate(config, declared), 0 if run is None else len(run.metrics()), begun=run))
    return Plan(_ordered(jobs), len(asked) - len(missing))


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

    def __post_init__(self) -> None:
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
        self.bar = progress_bar(total=len(tally.jobs), unit="run", disable=quiet or not sys.stderr.isatty())

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
    deadly = [name for name in heeded() if signal.getsignal(name) is signal.SIG_DFL]
    old = {name: signal.signal(name, signal.default_int_handler) for name in deadly}
    try:
        for event in events:
            tally.take(event)
            progress.show(event)
    finally:
        events.close()
        progress.bar.close()
        for name, handler in old.items():
            signal.signal(name, handler)
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
