"""When the loops of ``accelerate.cpu.compiled_loops`` take over from torch's operations: same bits, fewer passes.

The one difference is the sign of some zeros (of a pixel from outside the image, of a ReLU), which no sum shows.
They read and write plain memory of the CPU. Everything else (a GPU, tensors that autograd follows, few numbers, an
environment without numba) stays with torch.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from types import ModuleType

from artifact.base.cache import cache
from artifact.base.lazy import Tensor, torch

#: numbers below which calling torch a few times costs nothing worth saving
FEW = 1 << 14


@cache
def compiled() -> ModuleType | None:
    """The module of the loops; None where numba is not there or has no folder to write to."""
    try:
        return import_module("artifact.accelerate.cpu.compiled_loops")
    except (ImportError, RuntimeError):  # a torch of one's own, without our pins; nowhere to keep what is compiled
        return None


def loops_for(*tensors: Tensor, dtypes: Collection[torch.dtype] | None = None) -> ModuleType | None:
    """The compiled loops if they may work on these tensors, largest first; else None.

    dtypes: types that the wanted loop knows; float32 and float64 by default.
    """
    if tensors[0].numel() < FEW:
        return None
    plain = all(t.device.type == "cpu" and t.is_contiguous() and not t.requires_grad for t in tensors)
    known = (torch.float32, torch.float64) if dtypes is None else dtypes
    return compiled() if plain and {t.dtype for t in tensors} <= set(known) else None
