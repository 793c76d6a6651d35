"""The processes that a process has started, and those that they have started: found, and ended together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

#: of Linux's prctl: a process adopts orphans of its family; a process is told of its parent's end
_ADOPT, _TOLD = 36, 1
#: seconds in which killed processes have to be gone
PATIENCE = 5.0


def adopt_orphans() -> None:
    """From now on a descendant whose parent ends stays a descendant of this process, where the system can do that."""
    _prctl(_ADOPT, 1)


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """From now on this process gets the signal when its parent ends, where the system can do that."""
    _prctl(_TOLD, number)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def descendants(pid: int) -> set[int]:
    """Ids of all living processes that a process has started, at whatever distance; none where no system tells."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                parents.setdefault(int(parent), []).append(int(entry.parent.name))
    found: set[int] = set()
    level = [pid]
    while level:
        level = [child for one in level for child in parents.get(one, []) if child not in found]
        found.update(level)
    return found


def end_descendants(pid: int, spared: Collection[int] = ()) -> None:
    """Kill every process that a process has started, also while this runs, but for the spared ones."""
    start = time.monotonic()
    empty = 0  # one look may fall between the end of a parent and the adoption of its children
    while empty < 3 and time.monotonic() - start < PATIENCE:
        left = descendants(pid) - set(spared)
        for one in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        empty = 0 if left else empty + 1
        time.sleep(0.02)


def end(pid: int) -> None:
    """Kill a process and all that it has started."""
    own = descendants(pid)
    for one in (pid, *own):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)
