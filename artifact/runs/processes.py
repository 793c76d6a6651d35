"""How the project's processes end: on a signal, with their driver, and without leaving anything behind."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

#: signals that ask a process to end; a system without hangups lacks the last
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
#: those that count even where a shell started the process in the background, which ignores Ctrl-C for it
DEMANDED = (signal.SIGINT, signal.SIGTERM)
#: seconds in which further signals count as the same request
SAME = 1.0


def heeded() -> list[signal.Signals]:
    """The signals of ``ENDING``, without a hangup that this process was told to ignore, as ``nohup`` does."""
    return [name for name in ENDING if name in DEMANDED or signal.getsignal(name) is not signal.SIG_IGN]


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """For a whole process: TERM and HUP raise KeyboardInterrupt as Ctrl-C does, and many signals at once raise one.

    After the block the process is ending: a signal within a second changes nothing, a later one ends it at once. While
    the interpreter takes itself down, which would make a signal deadly again, none counts.
    """
    last, over = -SAME, False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal last
        if time.monotonic() - last < SAME:
            return
        last = time.monotonic()
        if over:
            os._exit(130)
        raise KeyboardInterrupt

    for name in heeded():
        signal.signal(name, interrupt)
        atexit.register(signal.signal, name, signal.SIG_IGN)
    try:
        yield
    finally:
        over = True
        last = time.monotonic()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals wait until the block has ended; for imports, in which a raised KeyboardInterrupt can be lost."""
    asked: list[int] = []
    old: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread, which is the one that signals interrupt
        old = {name: signal.signal(name, lambda number, _: asked.append(number)) for name in heeded()}
    try:
        yield
    finally:
        for name, handler in old.items():
            signal.signal(name, handler)
    if asked:
        signal.raise_signal(asked[0])


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
