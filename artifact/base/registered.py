"""What packages above ``artifact`` give to modules that must not import them, loaded when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: name -> function that imports and returns it; the command line enters the theory's ``schematics``
LOADERS: dict[str, Callable[[], Any]] = {}


def registered(name: str) -> Any:
    """Raises LookupError where nothing was registered under that name, as without ``artifact.cli``."""
    if name not in LOADERS:
        raise LookupError(f"{name} is not registered; importing artifact.cli registers it")
    return LOADERS[name]()
