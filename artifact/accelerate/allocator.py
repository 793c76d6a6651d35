"""Process settings that make large buffers cheap, for a process that trains.

A round allocates and frees the same few large buffers at every local step. By default glibc gives each back to the
kernel and takes it again, page by page; kept in the process they cost nothing. OpenMP's threads wait for their next
loop by spinning, which takes the core from whoever could use it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from artifact.base.cache import cache

#: numbers of mallopt's parameters in glibc's malloc.h, and the default of the second
_TRIM_THRESHOLD, _MMAP_MAX, _MMAPS = -1, -4, 65536
#: freed memory at the top of the heap that is kept, in bytes
_KEPT = 2**31 - 1
#: bytes of a cohort's matrix from which on keeping freed ones costs more memory than it saves time
LARGE = 64 << 20


@cache
def _mallopt() -> Callable[[int, int], int] | None:
    """glibc's, or None where the C library is another one or the user has set malloc up."""
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    return None if chosen or not _glibc() else ctypes.CDLL(None).mallopt


def keep_freed_memory() -> bool:
    """Let malloc keep what is freed; False where that cannot be set."""
    mallopt = _mallopt()
    return mallopt is not None and bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, _KEPT))


@contextmanager
def returning(size: int) -> Iterator[None]:
    """What is allocated inside goes back to the kernel when it is freed, if blocks are of a large ``size`` in bytes.

    The few matrices [S, P] at the two ends of a round would leave gaps in the heap, larger than they are.
    """
    mallopt = _mallopt() if size >= LARGE else None
    if mallopt is None:
        yield
        return
    mallopt(_MMAP_MAX, _MMAPS)
    try:
        yield
    finally:
        mallopt(_MMAP_MAX, 0)


def let_idle_threads_sleep() -> None:
    """OpenMP's idle threads sleep instead of spinning; read once, when torch is imported."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, ValueError, OSError):
        return False
