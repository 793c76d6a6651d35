"""Peak memory of this process."""

from __future__ import annotations

import resource
import sys

import torch


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes, and what torch has held on an accelerator."""
    unit = 1 if sys.platform == "darwin" else 1024
    held = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit + held
