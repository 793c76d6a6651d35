"""Worker processes of one machine that run jobs: each on one core, one run at a time, warm imports and data."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.util import get_temp_dir  # of this process and its server, which no public name tells
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from artifact import data
from artifact.base.errors import UserError
from artifact.base.lazy import torch
from artifact.interface.added import register_file
from artifact.runs import session
from artifact.runs.processes import ENDING, SCRATCH, end_with_driver
from artifact.runs.store import Run
from artifact.training.config import RunConfig

if TYPE_CHECKING:
    from artifact.training.trainer import Trainer

#: a run whose worker died that often is given up
DEATHS = 3
#: seconds between two looks at a run that another process holds, and between two reports of a worker
PAUSE, REPORT = 2.0, 0.5
#: seconds that a worker without a driver has for the round in progress and its checkpoint
PATIENCE = 600.0


@dataclass(eq=False)
class Job:
    """One run to make.

    seconds: estimate of its whole duration on one worker, None where nothing is known.  completed: rounds known to be
    done.  deaths: workers that died over it.  begun: the store's unfinished run of it.
    """

    config: RunConfig
    seconds: float | None = None
    completed: int = 0
    deaths: int = 0
    begun: Run | None = None

    @property
    def name(self) -> str:
        c = self.config
        words = [c.algorithm, *([] if c.variant == "paper" else [c.variant]), c.dataset, c.model, c.split]
        return " ".join([*words, f"seed {c.seed}"])


@dataclass(frozen=True)
class Event:
    """What happened to a job.

    kind: ``round`` (progress), ``trained``, ``found`` (another process had finished it), ``held`` (another process
    works on it), ``failed`` (its config or data were refused, or its code raised), ``died`` (its worker did).
    seconds, cpu: time and CPU seconds that the worker spent on the job.
    """

    kind: str
    job: Job
    text: str = ""
    seconds: float = 0.0
    cpu: float = 0.0


class Pool(Protocol):
    """Whatever runs jobs: yields events until every job has ended; its ``finally`` leaves nothing running."""

    def run(self, jobs: list[Job]) -> Generator[Event]: ...


@dataclass(frozen=True)
class Settings:
    """What every worker is told once.  add: files with methods of the user's own."""

    store: Path
    data_root: Path | None = None
    add: tuple[str, ...] = ()
    checkpoint_seconds: float = session.CHECKPOINT_SECONDS


class Data:
    """Loads data sets; keeps the last few."""

    def __init__(self, root: Path | None, capacity: int = 3):
        self.root, self.capacity = root, capacity
        self._loaded: dict[tuple, data.Dataset] = {}

    def __call__(self, config: RunConfig) -> data.Dataset:
        subset = (config.train_size, config.test_size)
        name = (config.dataset, *subset, config.seed if any(subset) else None)
        if name not in self._loaded:
            while len(self._loaded) >= self.capacity:
                del self._loaded[next(iter(self._loaded))]
            self._loaded[name] = session.load_data(config, self.root)
        return self._loaded[name]


def perform(
    config: RunConfig, settings: Settings, load: Data, after_round: Callable[[Trainer, dict], None]
) -> tuple[str, str]:
    """(kind of event, text) of one run, trained or looked up in the settings' store; whatever it raises is reported.

    Of a finished run's checkpoint the model stays, which probes read; hundreds of clients' states would fill a disk.
    """
    rounds = 0

    def count(trainer: Trainer, metrics: dict) -> None:
        nonlocal rounds
        rounds += 1
        after_round(trainer, metrics)

    try:
        session.execute(
            config,
            settings.store,
            dataset=load(config),
            quiet=True,
            after_round=count,
            checkpoint_seconds=settings.checkpoint_seconds,
            slim=True,
        )
    except UserError as error:
        return ("held" if error.field == "run" else "failed"), str(error)
    except (Exception, SystemExit) as error:  # one run's fault must not end the others
        return "failed", " ".join(f"{type(error).__name__}: {error}".split())
    return ("trained" if rounds else "found"), ""


def use_core(core: int | None = None) -> None:
    """Keep this process on one core, where the system can, and every operation on one thread.

    The numbers of an operation that several threads share depend on how many they are.
    """
    if core is not None:
        os.sched_setaffinity(0, [core])
    torch.set_num_threads(1)


def own_cores() -> list[int | None]:
    """The cores that this process may run on; [None] where the system does not tell."""
    return [*sorted(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else [None]


def _work(pipe: Connection, settings: Settings, core: int | None) -> None:
    """A worker process, until the driver closes the pipe or is no more.

    Ctrl-C and a terminal's hangup reach the whole process group: the driver, which they interrupt, ends its workers.
    A worker that is asked to end before it can have written anything ends without a word.
    """
    for name in set(ENDING) - {signal.SIGTERM}:
        signal.signal(name, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_driver(PATIENCE)
    use_core(core)
    for file in settings.add:
        register_file(file)
    load, reported = Data(settings.data_root), 0.0

    def after_round(trainer: Trainer, metrics: dict) -> None:
        nonlocal reported
        if time.monotonic() - reported < REPORT:
            return
        reported = time.monotonic()
        with contextlib.suppress(OSError):  # the driver is no more: this process is being asked to end
            pipe.send(("round", trainer.completed, 0.0, 0.0))

    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what is half-written goes
        while True:
            config = pipe.recv()
            start, cpu = time.monotonic(), time.process_time()
            kind, text = perform(config, settings, load, after_round)
            pipe.send((kind, text, time.monotonic() - start, time.process_time() - cpu))
    except (EOFError, OSError, KeyboardInterrupt):
        return


def context() -> BaseContext:
    """How workers are started: forked from a server that has imported once for all of them, where there can be one."""
    kinds = multiprocessing.get_all_start_methods()
    chosen = multiprocessing.get_context("forkserver" if "forkserver" in kinds else "spawn")
    if "forkserver" in kinds:
        first, last = "artifact.runs.sweep.server", "artifact.runs.sweep.server_ready"
        chosen.set_forkserver_preload([first, "artifact.runs.sweep.workers", "artifact.training.trainer", last])
    return chosen


def get_ready() -> None:
    """Let that server import while the caller still plans, deaf to a terminal, which the driver hears."""
    if context().get_start_method() == "forkserver":
        from multiprocessing import forkserver, resource_tracker  # not on every system

        resource_tracker.ensure_running()  # which would undo the next line
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if multiprocessing.parent_process() is None:  # else the folder is the parent's
            os.environ[SCRATCH] = get_temp_dir()
        try:
            forkserver.ensure_running()
        finally:
            os.environ.pop(SCRATCH, None)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """The driver's side of a worker process."""

    def __init__(self, settings: Settings, core: int | None):
        for pause in (0.05, 0.5, None):
            try:
                self._start(settings, core)
                break
            except (EOFError, OSError):  # somebody killed the server; the next try starts another
                if pause is None:
                    raise
                time.sleep(pause)
        self.job: Job | None = None

    def _start(self, settings: Settings, core: int | None) -> None:
        get_ready()
        processes = context()
        self.pipe, theirs = processes.Pipe()
        # typeshed gives Process to the kinds of contexts only
        self.process = processes.Process(  # type: ignore[attr-defined]
            target=_work, args=(theirs, settings, core), daemon=True
        )
        self.process.start()
        theirs.close()

    def begin(self, job: Job) -> None:
        self.job = job
        with contextlib.suppress(OSError):  # it died while idle, which ``event`` finds out
            self.pipe.send(job.config)

    def event(self) -> Event | None:
        """What the worker has to say, its death included; None when it died idle."""
        job = self.job
        try:
            kind, content, seconds, cpu = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return Event("died", job, f"its worker ended with {_ending(self.process.exitcode)}") if job else None
        assert job is not None  # a worker speaks of its job only
        if kind == "round":
            job.completed = content
            return Event("round", job)
        self.job = None
        return Event(kind, job, content, seconds, cpu)

    def stop(self) -> None:
        """Ask it to end: at once when idle, after the round in progress and a checkpoint otherwise."""
        self.pipe.close()
        if self.job is not None and self.process.is_alive():
            self.process.terminate()


def _ending(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"


class LocalPool:
    """A pool of worker processes, one per core; a job whose worker dies is tried again, ``DEATHS`` times in all.

    doubled: two workers per core: one computes while the other waits for the disk.
    """

    def __init__(self, size: int, settings: Settings, doubled: bool = False):
        self.settings, cores = settings, own_cores()
        self.cores = [cores[place % size % len(cores)] for place in range(size * (1 + doubled))]
        self.workers: list[_Worker] = []

    def run(self, jobs: list[Job]) -> Generator[Event]:
        queue: deque[Job] = deque(jobs)
        held: dict[Job, float] = {}
        try:
            self.workers = [_Worker(self.settings, core) for core in self.cores[: len(jobs)]]
            while queue or held or any(worker.job for worker in self.workers):
                for job in [job for job, since in held.items() if time.monotonic() - since >= PAUSE]:
                    del held[job]
                    queue.append(job)
                self._deal(queue)
                for event in self._events():
                    if event.kind == "held":
                        held[event.job] = time.monotonic()
                    yield retried(event, queue.appendleft)
        finally:
            self.stop()

    def _deal(self, queue: deque[Job]) -> None:
        for worker in self.workers:
            if queue and worker.job is None:
                worker.begin(queue.popleft())

    def _events(self) -> Iterator[Event]:
        """Events of the workers that have any within half a second; a dead one is replaced."""
        ready = wait([worker.pipe for worker in self.workers], timeout=REPORT)
        for place, worker in enumerate(self.workers):
            if worker.pipe not in ready:
                continue
            event = worker.event()
            if event is None or event.kind == "died":
                worker.pipe.close()
                self.workers[place] = _Worker(self.settings, self.cores[place])
            if event is not None:
                yield event

    def stop(self) -> None:
        """End all workers; those in mid-run finish their round and save it. A second Ctrl-C does not wait for that."""
        for worker in self.workers:
            worker.stop()
        try:
            for worker in self.workers:
                worker.process.join()
        except KeyboardInterrupt:
            for worker in self.workers:
                worker.process.kill()
            raise


def retried(event: Event, again: Callable[[Job], object]) -> Event:
    """A death is counted and the job run ``again``, or given up after too many; other events are passed on."""
    if event.kind != "died":
        return event
    event.job.deaths += 1
    if event.job.deaths >= DEATHS:
        return Event("failed", event.job, f"{event.text}, {DEATHS} times")
    again(event.job)
    return event
