"""Modules of Triton's kernels: where they can run, and None elsewhere.

Triton comes with torch for GPUs. With ``TRITON_INTERPRET=1`` a CPU runs the kernels, slowly, for tests.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

from artifact.base.cache import cache
from artifact.base.lazy import Tensor

#: whether a CPU runs the kernels; numpy, which multiplies there, knows no bfloat16
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def kernels_for(name: str, *tensors: Tensor) -> ModuleType | None:
    """The module of ``artifact.accelerate`` with these kernels, if they can read and write the tensors; else None."""
    return _module(name) if INTERPRETED or all(t.is_cuda for t in tensors) else None


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return import_module(f"artifact.accelerate.{name}")
    except ImportError:  # no Triton
        return None
