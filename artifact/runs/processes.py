"""How the project's processes end: on a signal, with their driver, and without leaving anything behind."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from artifact.accelerate.allocator import let_idle_threads_sleep
from artifact.base.errors import UserError

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

#: signals that ask a process to end; a system without hangups lacks the last
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
#: those that count even where a shell started the process in the background, which ignores Ctrl-C for it
DEMANDED = (signal.SIGINT, signal.SIGTERM)
#: where a driver names its folder of temporary files to the server of its workers, which alone reads it
SCRATCH = "FEDSHARP_SCRATCH"
#: what brings a signal back that came amid an import, where the system has it
TIMER = (signal.SIGALRM,) if hasattr(signal, "setitimer") else ()
#: seconds until it comes back, and seconds in which imports have to end
SOON, IMPORTS = 0.05, 10.0
#: seconds after a signal in which a further one counts as the same request, and seconds that one request can take
SAME, LONGEST = 1.0, 5.0
#: bytes of address space that torch and scipy map as they load: 3.7 billion (VmPeak of a run of two rounds of the
#: CNN, torch 2.15 without a GPU, two cores), rounded up
ADDRESSES = 4 << 30


class Request:
    """Signals that follow each other closely are one request to end, whoever heard the first of them.

    raised: whether it was told as a KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.first = self.last = -LONGEST
        self.raised = False

    def again(self) -> bool:
        """Note a signal; whether it belongs to the request before it."""
        now = time.monotonic()
        same = now - self.last < SAME and now - self.first < LONGEST
        self.first, self.last = self.first if same else now, now
        return same


REQUEST = Request()


def set_up() -> None:
    """Settings of a process that is a command of the project, before anything heavy is imported.

    Idle threads of OpenMP sleep, and figures need no screen. Whoever imports the package keeps settings of their own.
    """
    let_idle_threads_sleep()
    os.environ.setdefault("MPLBACKEND", "Agg")


def require_address_space() -> None:
    """Raise UserError where addresses are limited to fewer, for which scipy's OpenBLAS would ask for ever."""
    limit = ADDRESSES if resource is None else resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit < ADDRESSES and limit != resource.RLIM_INFINITY:
        allowed = f"{ADDRESSES} or more, which torch and scipy map as they load, or no limit (ulimit -v unlimited)"
        raise UserError("address space in bytes", limit, allowed)


def heeded() -> list[signal.Signals]:
    """The signals of ``ENDING``, without a hangup that this process was told to ignore, as ``nohup`` does."""
    return [name for name in ENDING if name in DEMANDED or signal.getsignal(name) is not signal.SIG_IGN]


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """For a whole process: TERM and HUP raise KeyboardInterrupt as Ctrl-C does, and many signals at once raise one.

    It is raised when the imports in progress have ended: in the midst of one it is lost, or leaves a compiled module in
    halves, which can end the process by another signal. After the block the process is ending: a signal of the same
    request changes nothing, a later one ends it at once. While the interpreter takes itself down, which would make a
    signal deadly again, none counts. An interrupted process ends after Python's exit functions, of which the first
    registered runs last: a compiled module whose threads were interrupted amid their start would abort it.
    """
    over, since, interrupted = False, None, False

    def leave() -> None:
        if interrupted:
            with contextlib.suppress(OSError, ValueError):  # a closed pipe, a closed stream
                sys.stdout.flush(), sys.stderr.flush()
            os._exit(130)

    def interrupt(_number: int, frame: FrameType | None) -> None:
        nonlocal since
        if not over and TIMER and _imports(frame) and (since is None or time.monotonic() - since < IMPORTS):
            since = time.monotonic() if since is None else since
            signal.setitimer(signal.ITIMER_REAL, SOON)
            return
        since = None
        if REQUEST.again():
            return
        if over:
            os.write(2, b"interrupted\n")
            os._exit(130)
        REQUEST.raised = True
        raise KeyboardInterrupt

    atexit.register(leave)
    for name in (*heeded(), *TIMER):
        signal.signal(name, interrupt)
        atexit.register(signal.signal, name, signal.SIG_IGN)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        interrupted = isinstance(end, KeyboardInterrupt) or end.code == 130
        raise
    finally:
        over = True
        REQUEST.again()  # so that a signal right after the end belongs to it


def _imports(frame: FrameType | None) -> bool:
    """Whether an import is in progress in this frame or in one that called it."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def progress_bar(**options: Any) -> Any:
    """A bar of tqdm; its lock is this process's own, since the usual one is a semaphore, which a kill leaves behind."""
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())
    return tqdm(**options)


def end_with_driver(patience: float = 0.0) -> None:
    """Call in a worker: when its driver is no more, it is asked to end, and ended after so many seconds.

    With no patience it ends at once, instead of computing for nobody.
    """
    import multiprocessing  # not with every command's start
    from multiprocessing.connection import wait

    driver = multiprocessing.parent_process()
    assert driver is not None, "only a worker has a driver"

    def watch() -> None:
        wait([driver.sentinel])
        if patience:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(patience)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
