"""The chamber: plays steps on a store of its own and writes down each rule that a step breaks."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import numpy as np
from safetensors.numpy import load_file

from tests.torture import damage
from tests.torture.scenarios import METHODS, READERS, RUN, SURROUNDINGS, SWEEP, Step

ROOT = Path(__file__).resolve().parents[2]
#: files of a finished run whose bytes never change again, and those that the seal vouches for
NUMBERS = ("config.json", "metrics.jsonl")
SEALED = ("config.json", "metrics.jsonl", "timings.jsonl", "environment.json", "done", "checkpoint.safetensors")
#: beginnings of the names under which libraries keep what serves the next process, too
CACHES = ("torchinductor_",)


@dataclass(frozen=True)
class Violation:
    """A broken rule.  step: number of the step, -1 for the end of the scenario."""

    step: int
    rule: str
    detail: str


@dataclass(frozen=True)
class Ended:
    """How a process ended.  code: None where it had to be killed because it did not end in time."""

    words: str
    code: int | None
    said: str
    errors: str


def reference(store: Path) -> dict[str, str]:
    """A store with every run of the scenarios, made without any fault; method -> key."""
    keys = {}
    for method in METHODS:
        before = {path.name for path in store.glob("*")}
        _plain([*shlex.split(RUN), "--algorithm", method, "--out", str(store)])
        (keys[method],) = {path.name for path in store.glob("*")} - before
    _plain([*shlex.split(SWEEP), "--out", str(store)])
    return keys


def _plain(words: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "artifact", *words], check=True, env=_environment({}), capture_output=True)


def _environment(around: dict[str, str]) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)} | around


class Chamber:
    """A store under ``folder`` that starts empty, and a folder for temporary files that has to end so.

    undisturbed: store of the same runs.  keys: method -> key.  patience: seconds for a process to end.
    """

    def __init__(self, folder: Path, undisturbed: Path, keys: dict[str, str], patience: float):
        self.folder, self.undisturbed, self.keys, self.patience = folder, undisturbed, keys, patience
        self.store, self.scratch = folder / "store", folder / "scratch"
        self.scratch.mkdir()
        self.violations: list[Violation] = []
        self.damaged: set[str] = set()
        self.finished: dict[str, str] = {}
        self.step = 0
        self.commands = 0
        self.files: dict[int, tuple[BinaryIO, BinaryIO]] = {}  # standard output and error by process
        self.program = [sys.executable, "-m", "artifact"]
        self.heard: list[tuple[int, str]] = []  # (step, last line of standard error)
        self.grace = 20.0  # seconds in which what a process started has to end after it

    # ---- processes ---------------------------------------------------------------------------------------------------

    def start(self, words: str, around: int = 0, limit: tuple[str, int] | None = None) -> subprocess.Popen:
        """A command as a user starts it, in a session of its own."""
        self.commands += 1

        def scarce() -> None:
            if limit is not None:
                resource.setrlimit(getattr(resource, limit[0]), (limit[1], limit[1]))

        said, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115, ``end`` closes them
        process = subprocess.Popen(
            [*self.program, *shlex.split(words)],
            env=_environment(SURROUNDINGS[around] | {"TMPDIR": str(self.scratch)}),
            cwd=self.folder,
            start_new_session=True,
            stdout=said,
            stderr=errors,
            preexec_fn=scarce,
        )
        self.files[process.pid] = said, errors
        return process

    def end(self, process: subprocess.Popen, words: str) -> Ended:
        """Wait for a process, and for all that it started."""
        try:
            code = process.wait(self.patience)
        except subprocess.TimeoutExpired:
            code = None
            self.broken("ends in time", f"{words}: not after {self.patience:g} s")
        patience = time.monotonic() + self.grace
        while (left := _session(process.pid)) and time.monotonic() < patience:
            time.sleep(0.1)
        if left:
            self.broken("nothing left behind", f"{words}: processes {left} outlive it")
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        process.wait()
        texts = []
        for file in self.files.pop(process.pid):
            with file:
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        ended = Ended(words, code, *texts)
        self._judge(ended)
        if lines := ended.errors.strip().splitlines():
            self._hear(lines[-1])
        return ended

    def _hear(self, line: str) -> None:
        """Keep what was said at this step, without what differs from one scenario to the next."""
        line = line.replace(str(self.store), "STORE").replace(sys.prefix, "ENVIRONMENT")
        line = re.sub(r"\b[0-9a-f]{16}\b", "KEY", line)
        self.heard.append((self.step, re.sub(r"(?<![\w.])[0-9]+(?![\w.])", "N", line)))

    def _judge(self, ended: Ended) -> None:
        """What holds for every process, whatever it was told."""
        if "Traceback" in ended.errors:
            self.broken("no traceback", f"{ended.words}: {ended.errors[-600:]}")
        if "semaphore" in ended.errors or "resource_tracker" in ended.errors:
            self.broken("nothing left behind", f"{ended.words}: {ended.errors[-300:]}")
        lines = [line for line in ended.errors.splitlines() if not line.startswith("left out: ")]
        if ended.code == 2 and (len(lines) != 1 or not lines[0].startswith("error: ")):
            self.broken("one line and code 2", f"{ended.words}: {lines}")

    def allow(self, ended: Ended, *codes: int) -> None:
        if ended.code is not None and ended.code not in codes:
            self.broken("exit code", f"{ended.words}: {ended.code}, not one of {codes}: {ended.errors[-300:]}")

    def broken(self, rule: str, detail: str) -> None:
        self.violations.append(Violation(self.step, rule, " ".join(detail.split())))

    # ---- steps -------------------------------------------------------------------------------------------------------

    def play(self, step: Step) -> bool:
        """Whether the step could be played: damage needs a file that is there."""
        played = getattr(self, step.kind)(**step.how) is not False
        self._look()
        return played

    def line(self, method: str, pause: str = "20") -> str:
        return f"{RUN} --algorithm {method} --resume --checkpoint-seconds {pause} --out {self.store}"

    def refusals(self, method: str) -> tuple[int, ...]:
        """A damaged record is refused, not trained over."""
        return (2,) if self.keys[method] in self.damaged else ()

    def run(self, method: str, pause: str, around: int, **told) -> None:
        self._signalled(self.line(method, pause), around, "driver", self.refusals(method), **told)

    def sweep(self, around: int, target: str, **told) -> None:
        self._signalled(f"{SWEEP} --out {self.store}", around, target, (2,) if self.damaged else (), **told)

    def _signalled(self, words, around, target, refusals, signal, burst, delay) -> None:
        """Start a command and send it a signal so many seconds after it has begun to listen."""
        process = self.start(words, around)
        if signal is not None:
            while process.poll() is None and not _listens(process.pid):
                time.sleep(0.002)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(delay)
            _send(process, signal, burst, target)
        ended = self.end(process, words)
        told_worker = target == "worker"
        killed = {None: (), "SIGKILL": (-9,)}.get(signal, (130,))
        self.allow(ended, 0, *refusals, *(() if told_worker else killed))
        if ended.code == 130 and not (ended.errors.strip().splitlines() or [""])[-1].startswith("interrupted"):
            self.broken("resume line", f"{words}: {ended.errors[-300:]}")

    def pair(self, method: str, around: int) -> None:
        words = self.line(method, "0")
        for process in [self.start(words), self.start(words, around)]:  # both run before either is waited for
            self.allow(self.end(process, words), 0, 2)

    def scarce(self, method: str, limit: str, most: int, around: int) -> None:
        process = self.start(self.line(method, "0"), around, (limit, most))
        ended = self.end(process, f"{self.line(method, '0')} with {limit} {most}")
        self.allow(ended, 0, 2)

    def damage(self, method: str, part: str, how: str, place: float, around: int) -> bool | None:
        folder = self.store / self.keys[method]
        path = folder / part
        if not path.is_file() or path.is_symlink():
            return False
        before, done = path.read_bytes(), (folder / "done").exists()
        damage.KINDS[how](path, place)
        if path.is_file() and not path.is_symlink() and how != "huge" and path.read_bytes() == before:
            return False
        self.finished.pop(folder.name, None)
        if how == "gone" and part in ("done", "checkpoint.safetensors", "environment.json"):
            return None  # unfinished, or without the model: said where it is asked for
        self.damaged.add(folder.name)
        if done and part in SEALED:
            ended = self.end(self.start(f"store verify --out {self.store}"), "store verify")
            self.allow(ended, 1, 2)
            text = ended.said + ended.errors
            for line in ended.said.splitlines():
                if folder.name in line:
                    self._hear(line)
            if ended.code == 0 or folder.name not in text:
                self.broken("no record believed unchecked", f"{part}: {how} at {place}: {text[-300:]}")
        return None

    def read(self, method: str, reader: int, around: int) -> None:
        self.store.mkdir(exist_ok=True)
        words = f"{READERS[reader].format(key=self.keys[method])} --out {self.store}"
        self.allow(self.end(self.start(words, around), words), 0, 1, 2)

    # ---- what must hold ----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """No finished run is lost or changed, and a new one has the bits of the undisturbed store."""
        for key, known in self.finished.items():
            if key not in self.damaged and self._digest(key) != known:
                self.broken("no finished run lost", key)
        for mark in self.store.glob("*/done"):
            key = mark.parent.name
            if key in self.damaged or key in self.finished:
                continue
            self.finished[key] = self._digest(key)
            self._compare(key)

    def _digest(self, key: str) -> str:
        content = [(self.store / key / name) for name in NUMBERS]
        return sha256(b"".join(path.read_bytes() if path.is_file() else b"-" for path in content)).hexdigest()

    def _compare(self, key: str) -> None:
        theirs, ours = self.undisturbed / key, self.store / key
        if not theirs.exists():
            self.broken("same bits", f"{key} is no run of the undisturbed store")
        elif (theirs / "metrics.jsonl").read_bytes() != (ours / "metrics.jsonl").read_bytes():
            self.broken("same bits", f"metrics of {key}")
        elif (ours / "checkpoint.safetensors").is_file():
            one, two = (load_file(folder / "checkpoint.safetensors") for folder in (theirs, ours))
            if any(not np.array_equal(one[name], two[name], equal_nan=True) for name in one.keys() & two.keys()):
                self.broken("same bits", f"tensors of {key}")

    def close(self) -> None:
        """Mend the store as its messages say, and finish every run: all bits are those of the undisturbed store."""
        self.step = -1
        self.store.mkdir(exist_ok=True)
        words = f"store repair --out {self.store}"
        ended = self.end(self.start(words), words)
        self.allow(ended, 0, 1)
        for folder in re.findall("^make again: (.+?): move the folder away", ended.said, re.M):
            damage.remove(Path(folder))
        for method in METHODS:
            ended = self.end(self.start(self.line(method)), self.line(method))
            if ended.code == 2 and re.search("delete the folder|store repair", ended.errors):
                damage.remove(self.store / self.keys[method])
                ended = self.end(self.start(self.line(method)), self.line(method))
            self.allow(ended, 0)
        self.damaged.clear()
        self.finished = {key: known for key, known in self.finished.items() if (self.store / key / "done").exists()}
        self._look()
        scratch = [path for path in self.scratch.iterdir() if not path.name.startswith(CACHES)]
        for leftover in [*self.store.glob("*/.*"), *self.store.glob(".*"), *scratch]:
            self.broken("nothing left behind", str(leftover.relative_to(self.folder)))
        words = f"store verify --out {self.store}"
        self.allow(self.end(self.start(words), words), 0)


def play(steps: list[Step], folder: Path, undisturbed: Path, keys: dict[str, str], patience: float):
    """(violations, numbers of the steps that could be played, commands started, what was said at each step)."""
    folder.mkdir(parents=True)
    chamber = Chamber(folder, undisturbed, keys, patience)
    played = []
    for number, step in enumerate(steps):
        chamber.step = number
        if chamber.play(step):
            played.append(number)
    chamber.close()
    return chamber.violations, played, chamber.commands, chamber.heard


# ---- of processes ----------------------------------------------------------------------------------------------------


def _session(sid: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == sid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _listens(pid: int) -> bool:
    """Whether a process has a handler of its own for SIGTERM."""
    try:
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return False
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def _send(process: subprocess.Popen, name: str, burst: int, target: str) -> None:
    """To the driver, or to one of the workers that it has at that moment."""
    pids = [process.pid]
    if target == "worker":
        pids = [pid for pid in _session(process.pid) if pid != process.pid][-1:]
    for _ in range(burst):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, getattr(signal, name))
        time.sleep(0.001 if burst > 1 else 0)
