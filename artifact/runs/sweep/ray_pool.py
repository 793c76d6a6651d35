"""A sweep on a Ray cluster: one run per task. Ray places the tasks and repeats those whose worker or node died.

No file system is shared. The code travels with the job. A task reports its rounds and sends its checkpoints to a
ledger, an actor on the driver's node, from which a repeated task goes on; the driver copies them to its store, so that
the next sweep, too, goes on from there. The finished run's folder comes back as the task's result.
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.interface.added import register_file
from artifact.runs.archive import open_run
from artifact.runs.store import Run
from artifact.runs.sweep.ledger import Files, Ledger
from artifact.runs.sweep.workers import DEATHS, PAUSE, REPORT, Data, Event, Job, Settings, perform, use_core
from artifact.training import config
from artifact.training.trainer import Trainer

#: a run's files in the order in which they are written, so that a reader or a killed writer never finds a checkpoint
#: without the metrics of its rounds, nor a mark without the rest
FILES = ("environment.json", "config.json", "timings.jsonl", "metrics.jsonl", "checkpoint.safetensors", "done")


def pack(run: Run) -> Files:
    """Content of a run's files."""
    return {name: (run.folder / name).read_bytes() for name in FILES if (run.folder / name).exists()}


def unpack(files: Files, run: Run) -> None:
    """Write a run's files, each at once. Raises UserError where the folder cannot be written."""
    run.folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if name in files:
            write_atomic(run.folder / name, files[name])


# ---- on a node -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """What a task is told.

    values: the run's config.  fingerprint: of the driver's data.  add: sources of the user's own methods.
    data_root: folder of the data sets on the nodes.
    """

    number: int
    values: dict[str, Any]
    fingerprint: str
    add: tuple[str, ...]
    data_root: str | None
    checkpoint_seconds: float


@dataclass(frozen=True)
class Answer:
    """What a task gives back: kind and text of the event, the run's key and files, time, CPU seconds and the node."""

    kind: str
    text: str
    key: str = ""
    files: Files | None = None
    seconds: float = 0.0
    cpu: float = 0.0


#: of this worker process, which Ray uses for many tasks
_loaders: dict[str | None, Data] = {}


def work(order: Order, ledger: Any) -> Answer:
    """One run, in a folder of its own that ends with the task."""
    import ray

    use_core()
    start, cpu = time.monotonic(), time.process_time()
    try:
        _register(order.add)
        run_config = config.make(**order.values)
        root = None if order.data_root is None else Path(order.data_root)
        load = _loaders.setdefault(order.data_root, Data(root))
        fingerprint = load(run_config).fingerprint
        if fingerprint != order.fingerprint:
            raise UserError(run_config.dataset, fingerprint, f"the driver's data, {order.fingerprint}")
        key = run_config.key(fingerprint)
    except UserError as error:
        return Answer("failed", f"on a node: {error}")
    with tempfile.TemporaryDirectory(prefix="fedsharp-") as folder:
        run = Run(Path(folder), key)
        saved = ray.get(ledger.begin.remote(order.number))
        if saved is not None and saved[0] == key:
            unpack(saved[1], run)
        settings = Settings(Path(folder), root, (), order.checkpoint_seconds)
        kind, text = perform(run_config, settings, load, _Reporter(order.number, run, ledger))
        files = pack(run) if run.done else None
    return Answer(kind, text, key, files, time.monotonic() - start, time.process_time() - cpu)


class _Reporter:
    """Tells the ledger after a round what is new; sending checkpoints takes at most a twentieth of the time."""

    def __init__(self, number: int, run: Run, ledger: Any):
        self.number, self.run, self.ledger = number, run, ledger
        self.reported, self.sent, self.pause = 0.0, self._stamp(), 0.0

    def _stamp(self) -> int:
        return self.run.checkpoint_file.stat().st_mtime_ns if self.run.checkpoint_file.exists() else 0

    def __call__(self, trainer: Trainer, _metrics: dict) -> None:
        import ray

        if self._stamp() != self.sent and time.monotonic() >= self.pause:
            began, self.sent = time.monotonic(), self._stamp()
            ray.get(self.ledger.save.remote(self.number, self.run.key, pack(self.run)))
            self.pause = time.monotonic() + 20 * (time.monotonic() - began)
        if time.monotonic() - self.reported >= REPORT:
            self.reported = time.monotonic()
            node = ray.get_runtime_context().get_node_id()
            self.ledger.note.remote(self.number, trainer.completed, node)


_registered: set[str] = set()


def _register(sources: tuple[str, ...]) -> None:
    """Methods of the user's own, once per worker process."""
    for source in sources:
        if source in _registered:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "added.py"
            path.write_text(source, encoding="utf-8")
            register_file(path)
        _registered.add(source)


# ---- the driver ------------------------------------------------------------------------------------------------------


@dataclass
class _Flight:
    """A submitted run.  number: its name in the ledger.  lock: held on the driver's store.  starts: seen so far."""

    number: int
    job: Job
    run: Run
    lock: contextlib.ExitStack
    starts: int = 1


class RayPool:
    """Runs jobs on the cluster at ``address`` (``auto``: the one that this machine belongs to).

    cpus, gpus: what one run takes of a node; fractions of a GPU let several runs share it.
    data_root of the settings is the folder of the data sets here; ``nodes_data`` the one on the nodes.
    """

    def __init__(
        self, address: str, settings: Settings, cpus: float = 1.0, gpus: float = 0.0, nodes_data: str | None = None
    ):
        self.ray = _import()
        self.address, self.settings, self.cpus, self.gpus = address, settings, cpus, gpus
        self.nodes_data = nodes_data
        self.sources = tuple(Path(file).read_text(encoding="utf-8") for file in settings.add)
        self.load = Data(settings.data_root)

    def slots(self) -> int:
        """Runs that the cluster can hold at once now. Raises UserError where there is no cluster."""
        self._connect()
        there = self.ray.cluster_resources()
        shares = [there.get(name, 0) / need for name, need in (("CPU", self.cpus), ("GPU", self.gpus)) if need]
        return int(min(shares))

    def _connect(self) -> None:
        if self.ray.is_initialized():
            return
        _knock(self.address)
        code = {"py_modules": [str(paths.PACKAGE)], "excludes": ["__pycache__"]}
        try:
            self.ray.init(self.address, runtime_env=code, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UserError("ray", self.address, f"the address of a running cluster ({error})") from None

    def run(self, jobs: list[Job]) -> Generator[Event]:
        """Yields events until every job has ended. Ends the tasks and the connection when it is closed."""
        self._connect()
        ray, here = self.ray, self.ray.get_runtime_context().get_node_id()
        near = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        self.ledger = (
            ray.remote(Ledger)
            .options(num_cpus=0, scheduling_strategy=near, max_restarts=-1, max_task_retries=-1)
            .remote()
        )
        self.task = ray.remote(work).options(num_cpus=self.cpus, num_gpus=self.gpus, max_retries=DEATHS - 1)
        self.flights: dict[Any, _Flight] = {}
        queue = deque(enumerate(jobs))
        held: dict[tuple[int, Job], float] = {}
        try:
            while queue or held or self.flights:
                for item in [item for item, since in held.items() if time.monotonic() - since >= PAUSE]:
                    del held[item]
                    queue.append(item)
                while queue and len(self.flights) < 2 * max(1, self.slots()):  # Ray's queue, not ours, is kept filled
                    event = self._submit(*queue[0])
                    item = queue.popleft()
                    if event is not None:
                        held |= {item: time.monotonic()} if event.kind == "held" else {}
                        yield event
                ended, _ = ray.wait(list(self.flights), timeout=REPORT) if self.flights else ([], [])
                yield from self._news()
                yield from map(self._end, ended)
                if held and not self.flights:
                    time.sleep(REPORT)
        finally:
            for flight in self.flights.values():
                flight.lock.close()
            ray.shutdown()

    def _submit(self, number: int, job: Job) -> Event | None:
        """Hand a run to Ray; an event instead where there is nothing to hand over."""
        lock = contextlib.ExitStack()
        try:
            fingerprint = self.load(job.config).fingerprint
            run = open_run(self.settings.store, job.config.key(fingerprint))
            if run.done:
                return Event("found", job)
            lock.enter_context(run.locked())
        except UserError as error:
            return Event("held" if error.field == "run" else "failed", job, str(error))
        if run.done:
            lock.close()
            return Event("found", job)
        begun = job.begun if job.begun is not None and job.begun.checkpoint_file.exists() else None
        if begun is not None:
            self.ray.get(self.ledger.seed.remote(number, begun.key, pack(begun)))
        root = self.nodes_data
        pause = self.settings.checkpoint_seconds
        order = Order(number, job.config.model_dump(), fingerprint, self.sources, root, pause)
        self.flights[self.task.remote(order, self.ledger)] = _Flight(number, job, run, lock)
        return None

    def _news(self) -> Iterator[Event]:
        """Progress of all nodes, repeated starts, and checkpoints, which go to the store."""
        starts, completed, checkpoints = self.ray.get(self.ledger.news.remote())
        for flight in self.flights.values():
            number, job = flight.number, flight.job
            if number in checkpoints:
                key, files = checkpoints[number]
                unpack(files, Run(self.settings.store, key))
            if starts.get(number, 0) > flight.starts:
                job.deaths += starts[number] - flight.starts
                flight.starts = starts[number]
                yield Event("died", job, "its worker or node ended")
            rounds, node = completed.get(number, (job.completed, ""))
            if rounds != job.completed:
                job.completed = rounds
                yield Event("round", job, f"node {node}")

    def _end(self, reference: Any) -> Event:
        """The event of a task that has ended; its run goes to the store."""
        flight = self.flights.pop(reference)
        try:
            answer = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            flight.job.deaths += 1
            reason = str(error).strip().splitlines()[0]
            answer = Answer("failed", f"its worker or node ended, {DEATHS} times ({type(error).__name__}: {reason})")
        self.ledger.forget.remote(flight.number)
        if answer.files is not None:
            unpack(answer.files, Run(self.settings.store, answer.key))
        flight.lock.close()
        with contextlib.suppress(OSError):  # nothing in it: the run failed, or has another key on the nodes' hardware
            flight.run.folder.rmdir()
        return Event(answer.kind, flight.job, answer.text, answer.seconds, answer.cpu)


def _knock(address: str) -> None:
    """Find out at once that nobody answers at HOST:PORT, where Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()):
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise UserError("ray", address, f"the address of a running cluster ({error})") from None


def _import() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UserError("ray", "not installed", "pip install 'fedsharp[cluster]', which brings Ray") from None
    return ray
