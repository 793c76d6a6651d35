"""The package by the name under which it is installed: ``fedsharp.x`` is ``artifact.x``, the same object.

>>> import artifact.optim, fedsharp.optim
>>> fedsharp.optim.SAM is artifact.optim.SAM
True
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import artifact
from artifact import PUBLIC
from artifact import __all__ as __all__
from artifact import __version__ as __version__

if TYPE_CHECKING:
    from artifact import *  # noqa: F403


class _SameModules(MetaPathFinder, Loader):
    """Answers for ``fedsharp.NAME`` with the module ``artifact.NAME``, before its file would be run once more."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(f"{__name__}.") or name == f"{__name__}.__main__":
            return None
        own = f"artifact.{name.removeprefix(f'{__name__}.')}"
        try:
            found = import_module(own)
        except ModuleNotFoundError as error:
            if error.name != own:
                raise  # the module is there and lacks another one
            return None
        spec = ModuleSpec(name, self, origin=found.__file__, is_package=hasattr(found, "__path__"))
        spec.loader_state = (found, found.__spec__)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return spec.loader_state[0]

    def exec_module(self, module: ModuleType) -> None:
        """It has run under its own name; what the import has written over is put back."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state[1]

    def get_code(self, name: str) -> CodeType | None:
        """What ``python -m fedsharp.NAME`` runs: the code of ``artifact.NAME``."""
        own = find_spec(f"artifact.{name.removeprefix(f'{__name__}.')}")
        assert own is not None
        return cast(InspectLoader, own.loader).get_code(own.name)


sys.meta_path.insert(0, _SameModules())


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(PUBLIC)}")
    return getattr(artifact, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
