"""Methods and audits that a test opens are unknown again when it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from artifact.algorithms import ALGORITHMS, HOME, RELEASED, SWITCHES
from artifact.papers import folders
from artifact.runs import lookup

METHODS = (ALGORITHMS, HOME, RELEASED, SWITCHES)
AUDITS = (folders.TITLES, folders.AUDITS, folders.SMALLEST, folders.USED_BY)
LISTS = (folders.PAPERS, lookup.ALSO)


@contextmanager
def kept(*more: MutableMapping[str, Any]) -> Iterator[None]:
    """The registries are afterwards as they were before. more: registries besides those of methods and audits."""
    registries = (*METHODS, *AUDITS, *more)
    before, lists = [dict(one) for one in registries], [list(one) for one in LISTS]
    try:
        yield
    finally:
        for one, old in zip(registries, before, strict=True):
            one.clear()
            one.update(old)
        for one, old in zip(LISTS, lists, strict=True):
            one[:] = old
        for name in [name for name in sys.modules if name.startswith("statements of ")]:
            del sys.modules[name]
