"""``functools.cache`` for functions whose calls are checked: the library's own type takes any arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Cached(Protocol[P, R_co]):
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def cache_clear(self) -> None: ...


def cache(function: Callable[P, R_co]) -> Cached[P, R_co]:
    """The function, which computes its result once for every combination of (hashable) arguments."""
    return cast("Cached[P, R_co]", functools.cache(function))
