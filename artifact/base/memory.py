"""Peak memory of this process."""

from __future__ import annotations

import resource

from artifact.base.lazy import torch


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes, and what torch has held on an accelerator."""
    held = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + held
