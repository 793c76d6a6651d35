"""A command that runs a user's own file gets a guardian, which ends all of it where the file does not come to its end.

The file's code runs once, in the command's own process; nothing there could stop it for certain. So the command is the
child of a process that does nothing but wait: it is told when a file begins and ends (``base.own_code``), and where
that takes too long, or the code ends the process, it says so in one line and ends with exit code 2.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from artifact.base import family
from artifact.runs.processes import heeded

#: words of a command line that name files with a user's own code
_WORDS = ("--add", "--audit", "audit")


def needed(arguments: Sequence[str]) -> bool:
    """Whether a command line may run code of the user's own, on a system where a guardian can wait for it."""
    able = hasattr(os, "fork") and hasattr(os, "pidfd_open")
    return able and any(word.split("=")[0] in _WORDS or word.endswith(".py") for word in arguments)


def guarded() -> None:
    """Go on as the child of a guardian. Only the child returns; the guardian ends as the child does.

    Call it before any thread is started and any signal is handled.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        from artifact.base import own_code

        family.end_with_parent()
        os.close(reader)
        own_code.GUARDIAN = writer
        return
    os.close(writer)
    family.adopt_orphans()
    for name in heeded():
        signal.signal(name, _forwarded(child))
    code = _wait(child, reader)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush(), sys.stderr.flush()
    if code < 0:  # the guardian ends by the same signal
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _forwarded(child: int) -> Callable[[int, FrameType | None], None]:
    def forward(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    return forward


def _wait(child: int, reader: int) -> int:
    """The exit code of the child, negative for a signal; 2 where a file did not come to its end."""
    handle, told = os.pidfd_open(child), b""
    running: dict[str, Any] | None = None
    deadline: float | None = None
    while True:
        patience = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([handle, reader] if reader >= 0 else [handle], [], [], patience)
        if reader in ready:
            block = os.read(reader, 1 << 16)
            *lines, told = (told + block).split(b"\n")
            for line in lines:
                running = json.loads(line)
                deadline = time.monotonic() + running["seconds"] if running else None
            if not block:  # the command closed its end
                reader = -1
            continue
        if handle in ready:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if running and code not in (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP, 130):
                return _told(child, running, "its code ends the process")
            return code
        if running and deadline is not None and time.monotonic() >= deadline:
            return _told(child, running, f"its code has not ended after {running['seconds']:g} seconds")


def _told(child: int, running: dict[str, Any], why: str) -> int:
    from artifact.base.errors import UserError

    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    family.end_descendants(os.getpid())
    allowed = f"a file whose code runs to its end ({why})"
    print(f"error: {UserError(running['field'], running['path'], allowed)}", file=sys.stderr)
    return 2
