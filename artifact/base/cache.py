"""``functools.cache`` for functions whose calls are checked: the library's own type takes any arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def cache(function: F) -> F:
    """The function, which computes its result once for every combination of (hashable) arguments."""
    return cast(F, functools.cache(function))  # noqa: TID251
