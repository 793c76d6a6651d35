"""Finished runs with metrics that a test chooses, in a store of its own; and how the repository's own stores stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from artifact.base import paths
from artifact.papers import experiments
from artifact.report import fingerprints
from artifact.runs.store import Run
from artifact.training.config import RunConfig

#: fingerprint of data that no run has seen
DATA = "0" * 64
#: of FedAvg
COST = {"up": 1.0, "down": 1.0, "client_memory": 0.0, "full_passes": 0, "gradients_per_step": 1.0}


def stores_now() -> str:
    """Fingerprint of the stores and names of the drawn figures, which other processes may add to."""
    drawn = sorted(str(path) for path in (paths.ROOT / "out").glob("**/figures/*.png"))
    stores = (paths.ROOT / store for store in experiments.STORES.values())
    return "\n".join([fingerprints.digest([], fingerprints.records(stores)), *drawn])


def stored_run(root: Path, run_config: RunConfig, lines: Sequence[dict[str, Any]], seconds: float = 1.0) -> Run:
    """A finished run in a store with the given metrics lines."""
    run = Run(root, run_config.key(DATA))
    run.create(run_config.canonical() | {"parameters": 1000, "data_fingerprint": DATA}, torch.device("cpu"))
    for line in lines:
        run.append({"cohort": 2, "cost": COST} | line, {"round": line["round"], "seconds": seconds})
    run.finish(len(lines))
    return run


def mark(folder: Path) -> dict[str, Any]:
    """A run's done mark but for the digest of its timings, which no run repeats."""
    mark = Run(folder.parent, folder.name).mark()
    del mark["parts"]["timings.jsonl"]
    return mark


def accuracies(values: Sequence[float], model: str = "server") -> list[dict[str, Any]]:
    """Metrics lines of rounds that are all evaluated."""
    return [{"round": t + 1, model: {"accuracy": value, "client_sd": 0.1}} for t, value in enumerate(values)]
