"""Libraries that take seconds to import, each imported when something of it is first used.

A module that serves readers as well as the training says ``from artifact.base.lazy import torch`` and reads as if it
had imported torch: methods are listed, configs checked and stored runs read without it. A module that only computes
imports torch itself.

    >>> from artifact.base.lazy import torch
    >>> torch.zeros(2)  # imports torch, the first time
    tensor([0., 0.])
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Later(ModuleType):
    """Stands for a module of this name, and fetches from it whatever is asked for."""

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self.__name__) or import_module(self.__name__)
        return getattr(module, name)


if TYPE_CHECKING:
    import torch
    from matplotlib import pyplot
    from scipy import stats
    from torch import Tensor, nn
else:
    torch, pyplot, stats = _Later("torch"), _Later("matplotlib.pyplot"), _Later("scipy.stats")
    Tensor = nn = None  # for annotations, which are never evaluated; elsewhere it is torch.Tensor

__all__ = ["Tensor", "nn", "pyplot", "stats", "torch"]
