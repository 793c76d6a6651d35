"""How many problems a check looks at: all that it asks for, or a few while a folder's files are only being tried."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

#: problems of a trial
FEW = 25
_most: list[int] = []


def problems(wanted: int) -> int:
    """The number of problems to look at, where a check wants so many.

    >>> problems(1000)
    1000
    >>> with at_most(25):
    ...     problems(1000)
    25
    """
    return min([wanted, *_most])


def tried() -> bool:
    """Whether this is a trial, whose verdict counts for nothing."""
    return bool(_most)


@contextlib.contextmanager
def at_most(number: int) -> Iterator[None]:
    """For a block in which every check looks at so many problems and no more."""
    _most.append(number)
    try:
        yield
    finally:
        _most.pop()
