"""A call in a child of its own: how it ended, what it said, and which rules that breaks."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CODES = (0, 1, 2, 130)
#: a command that was asked for minutes of work says this on standard error while it works
AT_WORK = re.compile(r"(\d+ of \d+ \w+, remaining [\d hmins]+|\d+ %)$")
#: bytes of memory that the fuzzer and its attempts may ask for
MEMORY = 6 << 30


@dataclass(frozen=True)
class Ended:
    """code: None where it had not ended in time, negative for a signal.  seconds: of its processor time.

    left: files that were not there before.  outside: the same beside the folder that it ran in.
    """

    code: int | None
    said: str
    errors: str
    seconds: float = 0.0
    left: str = ""
    outside: str = ""

    def broken(self) -> list[str]:
        """Rules that this end breaks."""
        if self.code is None:
            return [] if AT_WORK.search(self.errors.rstrip()) else ["ends in time"]
        found = []
        if "Traceback" in self.errors:
            found.append("no traceback")
        if self.code not in CODES:
            found.append("exit code")
        lines = [line for line in self.errors.splitlines() if not line.startswith("left out: ")]
        helped = self.said.startswith("Usage: ") and not lines  # a group without a command shows its help
        if self.code == 2 and not helped and (len(lines) != 1 or not lines[0].startswith("error: ")):
            found.append("one line and code 2")
        if self.code == 2 and self.left:
            found.append("nothing left behind")
        if self.outside:
            found.append("nothing outside its folder")
        return found


def attempt(call: Callable[[], int], folder: Path, patience: float) -> Ended:
    """Run a call in a child whose working folder this is, and end all that it has started."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _child(call, folder, said.fileno(), errors.fileno())
        code, seconds = _waited(child, patience)
        texts = []
        for file in (said, errors):
            file.seek(0)
            texts.append(file.read(1 << 20).decode(errors="replace"))
    return Ended(code, *texts, seconds)


def _child(call: Callable[[], int], folder: Path, said: int, errors: int) -> None:
    code = 1
    try:
        faulthandler.disable()  # a signal is told by the exit code
        os.setsid()
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for stream, file in enumerate((os.open(os.devnull, os.O_RDONLY), said, errors)):
            os.dup2(file, stream)
        sys.stdout, sys.stderr = (open(stream, "w", buffering=1, closefd=False) for stream in (1, 2))  # noqa: SIM115
        code = call()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _waited(child: int, patience: float) -> tuple[int | None, float]:
    """(exit code or None, seconds of processor time) of a child, and an end to its session."""
    handle, start = os.pidfd_open(child), time.monotonic()
    try:
        in_time = bool(select.select([handle], [], [], patience)[0])
    finally:
        os.close(handle)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    late = not in_time and time.monotonic() - start >= patience
    return None if late else os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
