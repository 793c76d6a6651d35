"""fedsharp: federated training with sharpness-aware methods, and the audit of the papers that propose them.

The names of ``PUBLIC`` are imported when they are first used, so that ``import artifact`` waits for nothing, and
changes nothing in the process that imports it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from artifact import curvature, losses, optim
    from artifact.diagnosis.examine import doctor
    from artifact.interface import callbacks, privacy
    from artifact.interface.added import dataset, network
    from artifact.interface.compare import compare
    from artifact.interface.schedules import cosine
    from artifact.interface.train import partition, train
    from artifact.looseness import bounds
    from artifact.rates import rate
    from artifact.runs.frames import stored_rounds, stored_runs

__version__ = "0.2.0"

#: Part of every run's key. Raised only when a change may alter numbers.
NUMBERS = 1

#: name -> where it lives, MODULE or MODULE:NAME
PUBLIC = {
    "train": "artifact.interface.train:train",
    "partition": "artifact.interface.train:partition",
    "compare": "artifact.interface.compare:compare",
    "cosine": "artifact.interface.schedules:cosine",
    "callbacks": "artifact.interface.callbacks",
    "privacy": "artifact.interface.privacy",
    "optim": "artifact.optim",
    "losses": "artifact.losses",
    "curvature": "artifact.curvature",
    "bounds": "artifact.looseness:bounds",
    "rate": "artifact.rates:rate",
    "network": "artifact.interface.added:network",
    "dataset": "artifact.interface.added:dataset",
    "doctor": "artifact.diagnosis.examine:doctor",
    "stored_runs": "artifact.runs.frames:stored_runs",
    "stored_rounds": "artifact.runs.frames:stored_rounds",
}


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(PUBLIC)}")
    module, _, attribute = PUBLIC[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


__all__ = [
    "bounds",
    "callbacks",
    "compare",
    "cosine",
    "curvature",
    "dataset",
    "doctor",
    "losses",
    "network",
    "optim",
    "partition",
    "privacy",
    "rate",
    "stored_rounds",
    "stored_runs",
    "train",
]
