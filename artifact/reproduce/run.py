"""Runs steps side by side in process groups of their own, keeps their logs, and says what runs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.reproduce.sources import Sources
from artifact.reproduce.steps import Step

#: seconds between two looks at the processes; between two lines of progress, on a terminal and in a file
LOOK, TERMINAL, FILE = 0.1, 1.0, 30.0
#: seconds that an interrupted step has until it is killed
PATIENCE = 15.0
INTERRUPTED = 130


def duration(seconds: float) -> str:
    """Seconds as text: 0:05, 12:40, 3 h 02 min."""
    whole = int(seconds + 0.5)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60}:{whole % 60:02d}"


@dataclass
class Running:
    step: Step
    number: int
    process: subprocess.Popen[bytes]
    log: Path
    output: IO[bytes]
    fingerprint: str
    start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start


class Record:
    """What ended well before: step -> fingerprint, command and seconds, in one file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            self.steps: dict[str, dict[str, Any]] = {n: dict(one) for n, one in dict(found).items()}
        except (OSError, ValueError, TypeError):
            self.steps = {}

    def holds(self, step: Step, fingerprint: str) -> bool:
        one = self.steps.get(step.name, {})
        return one.get("fingerprint") == fingerprint and one.get("command") == step.command

    def seconds(self, step: Step) -> float | None:
        """How long the step took here the last time, else how long it takes on two idle cores."""
        measured = self.steps.get(step.name, {}).get("seconds")
        if isinstance(measured, int | float):
            return float(measured)
        return None if step.minutes is None else 60 * step.minutes

    def add(self, step: Step, fingerprint: str, seconds: float) -> None:
        self.steps[step.name] = {"fingerprint": fingerprint, "command": step.command, "seconds": round(seconds, 1)}
        write_atomic(self.path, json.dumps(self.steps, indent=1) + "\n")


class Reproduction:
    """One start of ``./reproduce.sh PROFILE``.

    root: the checkout. python: the interpreter of the steps. again: run also what is done.
    """

    def __init__(self, profile: str, steps: Sequence[Step], root: Path, again: bool = False) -> None:
        self.profile = profile
        self.steps = list(steps)
        self.root = root
        self.again = again
        self.folder = root / "out" / profile
        self.slots = max(2, len(os.sched_getaffinity(0)))
        self.sources = Sources(root)
        self.running: list[Running] = []
        self.ended: set[str] = set()
        self.passed: list[str] = []
        self.failed: list[str] = []
        self.stop = False
        self._status = ""
        self._said = 0.0
        self._start = time.monotonic()

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Exit code: 0 well, 1 a step failed, 130 interrupted. Raises UserError where out/ cannot be written."""
        with self._owned():
            self.record = Record(self.folder / "done.json")
            with self._heeding():
                try:
                    return self._run()
                except OSError as error:
                    allowed = f"a folder that can be written ({error.strerror or error})"
                    raise UserError("out", str(self.folder), allowed) from None
                finally:
                    self._end_all()

    def _run(self) -> int:
        self._announce()
        pending = list(self.steps)
        while (pending or self.running) and not self.stop:
            self._start_what_can_run(pending)
            self._collect()
            self._progress(pending)
            if self.running:
                time.sleep(LOOK)
        if self.stop:
            self._end_all()
            self.say("", "interrupted: the same command goes on from here")
            return INTERRUPTED
        self._conclude()
        return 1 if self.failed else 0

    def _start_what_can_run(self, pending: list[Step]) -> None:
        for step in list(pending):
            if self.stop or any(one.step.alone for one in self.running) or len(self.running) >= self.slots:
                return
            if not self.ended.issuperset(name for name in step.after):
                continue
            if step.alone and self.running:
                return  # those that run end first, and nothing overtakes
            pending.remove(step)
            fingerprint = "" if self.again else self.sources.fingerprint()
            if not self.again and self._done(step, fingerprint):
                self.ended.add(step.name)
                self.passed.append(step.name)
                if step.shows:
                    self.say(f"report: {self.root / step.shows}")
                continue
            self.running.append(self._launch(step, fingerprint))

    def _done(self, step: Step, fingerprint: str) -> bool:
        there = all((self.root / path).exists() for path in step.makes)
        return there and self._log(step).is_file() and self.record.holds(step, fingerprint)

    def _launch(self, step: Step, fingerprint: str) -> Running:
        number = 1 + self.steps.index(step)
        log = self._log(step)
        output = log.open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", *step.command.split()],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # a process group of its own, which an interruption ends whole
        )
        seconds = self.record.seconds(step)
        about = "it says itself how long it takes" if seconds is None else f"about {duration(seconds)}"
        self.say(f"[{number}/{len(self.steps)}] {step.what}: python -m {step.command}   ({about})")
        return Running(step, number, process, log, output, fingerprint)

    def _collect(self) -> None:
        for one in list(self.running):
            if not self._has_ended(one):
                continue
            # what the step left behind; its number is nobody else's as long as it has not been waited for
            self._end_group(one, signal.SIGTERM)
            one.process.wait()
            one.output.close()
            self.running.remove(one)
            self.ended.add(one.step.name)
            mark, log = f"[{one.number}/{len(self.steps)}]", one.log.relative_to(self.root)
            if one.process.returncode:
                self.failed.append(one.step.name)
                self.say(*self._tail(one.log, 40))
                why = f"exit code {one.process.returncode}"
                self.say(f"{mark} FAILED after {duration(one.seconds)} ({why}), text in {log}: {one.step.command}")
                continue
            if not self.again:
                self.record.add(one.step, one.fingerprint, one.seconds)
            self.say(f"{mark} done in {duration(one.seconds)}; its lines are in {log}")
            if one.step.shows:
                self.say("", f"report: {self.root / one.step.shows}", "")

    # ---- the end -----------------------------------------------------------------------------------------------------

    def _end_all(self) -> None:
        """End every step with all processes of its group: they are asked first, and killed when they do not end."""
        for one in self.running:
            self._end_group(one, signal.SIGTERM)
        patience = time.monotonic() + PATIENCE
        while time.monotonic() < patience and not all(map(self._has_ended, self.running)):
            time.sleep(LOOK)
        for one in self.running:
            self._end_group(one, signal.SIGKILL)
            one.process.wait()
            one.output.close()
        self.running = []

    @staticmethod
    def _has_ended(one: Running) -> bool:
        """Whether a step's own process is over. It keeps its number, which ``wait`` gives back."""
        return os.waitid(os.P_PID, one.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    @staticmethod
    def _end_group(one: Running, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(one.process.pid, number)

    @contextlib.contextmanager
    def _heeding(self) -> Iterator[None]:
        """Signals end the loop at its next look, so that none falls between the start of a step and its record."""

        def stop(_number: int, _frame: object) -> None:
            self.stop = True

        asked = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup sets it
            asked.append(signal.SIGHUP)
        before = {number: signal.signal(number, stop) for number in asked}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _owned(self) -> Iterator[None]:
        """One start at a time for a profile. Raises UserError for a second one and where out/ cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / ".lock").open("a")
        except OSError as error:
            allowed = f"a folder that can be written ({error.strerror or error})"
            raise UserError("out", str(self.folder), allowed) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError("profile", self.profile, "one start at a time; another one runs here") from None
            yield

    # ---- what is said ------------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        known = [(step, self.record.seconds(step)) for step in self.steps]
        total = sum((seconds or 0) / (1 if step.alone else 2) for step, seconds in known)
        self.say("", f"profile {self.profile}: {len(self.steps)} steps, about {duration(total)} on two idle cores")
        if any(seconds is None for _, seconds in known):
            self.say("and the runs, which say how long they take before they start")
        runs = "results/" if self.profile in ("laptop", "paper") else f"out/{self.profile}/"
        self.say(f"outputs and figures: out/{self.profile}/   runs: {runs}")

    def _progress(self, pending: Sequence[Step]) -> None:
        """A line that says what runs, how long and of how much; on a terminal it is rewritten in place."""
        terminal, now = sys.stdout.isatty(), time.monotonic()
        if not self.running or now - self._said < (TERMINAL if terminal else FILE):
            return
        parts = []
        for one in self.running:
            usual = self.record.seconds(one.step)
            about = "" if usual is None else f" of about {duration(usual)}"
            parts.append(f"{one.step.name} {duration(one.seconds)}{about}")
        line = f"{', '.join(parts)}; {len(pending)} steps to come"
        if len(self.running) == 1 and (last := self._tail(self.running[0].log, 1)):
            line += f"; {last[0].strip()}"
        self._said = now
        if terminal:
            width = os.get_terminal_size(sys.stdout.fileno()).columns
            self._status = line[: max(20, width - 1)]
            print(f"\r\033[K{self._status}", end="", flush=True)
        else:
            print(line, flush=True)

    def say(self, *lines: str) -> None:
        if self._status:
            print("\r\033[K", end="")
            self._status = ""
        print("\n".join(lines), flush=True)
        self._said = time.monotonic()

    def _conclude(self) -> None:
        count, done = len(self.steps), len(self.passed)
        if done:
            self.say(f"nothing had changed since {done} of {count} steps were done")
        self.say("", f"outputs: {self.folder}/")
        self.say(f"total: {duration(time.monotonic() - self._start)}, {len(self.failed)} of {count} steps failed")
        for name in self.failed:
            self.say(f"failed: {name}, text in {self._log_of(name).relative_to(self.root)}")
        for page in dict.fromkeys(step.shows for step in self.steps if step.shows):
            self.say(f"report: {self.root / page}")

    def _log(self, step: Step) -> Path:
        return self.folder / f"{step.name}.txt"

    def _log_of(self, name: str) -> Path:
        return self.folder / f"{name}.txt"

    @staticmethod
    def _tail(log: Path, count: int) -> list[str]:
        """The last lines of a log; a bar of progress that rewrites its line counts as one."""
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 20_000))
            text = file.read().decode(errors="replace")
        lines = [line.split("\r")[-1] for line in text.rstrip().replace("\r\n", "\n").split("\n")]
        return [line for line in lines if line.strip()][-count:]
