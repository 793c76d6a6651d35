"""What packages above ``artifact`` give to modules that must not import them, loaded when it is first asked for.

The command line registers it: ``register("schematics", load)``, where ``load()`` imports the theory's schematics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_loaders: dict[str, Callable[[], Any]] = {}


def register(name: str, load: Callable[[], Any]) -> None:
    """From now on ``registered(name)`` is what ``load()`` returns."""
    _loaders[name] = load


def registered(name: str) -> Any:
    """Raises LookupError where nothing was registered under that name, as without ``artifact.cli``."""
    if name not in _loaders:
        raise LookupError(f"{name} is not registered; importing artifact.cli registers it")
    return _loaders[name]()
