"""What comes from elsewhere: from packages above ``artifact``, loaded when first asked for, and from a user's files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: name -> function that imports and returns it; the command line enters the theory's ``schematics``
LOADERS: dict[str, Callable[[], Any]] = {}
#: (``model`` or ``dataset``, its name) -> the user's own file that defines it, and a hash of the file's content
ADDED: dict[tuple[str, str], tuple[str, str]] = {}


def registered(name: str) -> Any:
    """Raises LookupError where nothing was registered under that name, as without ``artifact.cli``."""
    if name not in LOADERS:
        raise LookupError(f"{name} is not registered; importing artifact.cli registers it")
    return LOADERS[name]()
