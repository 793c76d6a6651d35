"""``python -m artifact.bench.worker JSON``: one contender. Each line on standard input plays one round.

Answers are JSON lines: {"ready": facts}, then what ``play`` returns of each round.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from typing import Any

import numpy as np
import torch

from artifact.accelerate import loops
from artifact.algorithms.client_rows import ClientRows
from artifact.base.devices import finish
from artifact.bench.flops import round_flops
from artifact.runs.session import load_data
from artifact.training import config
from artifact.training.trainer import Trainer


def request() -> dict[str, Any]:
    """Read what this process shall measure, and keep to the number of cores that the request names."""
    asked = json.loads(sys.argv[1])
    if asked.get("cores"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked["cores"]])
        torch.set_num_threads(asked["cores"])
    return asked


def main() -> None:
    asked = request()
    if not asked.get("loops", True):
        loops.compiled = lambda: None
    run = config.make(**asked["config"])
    trainer = Trainer(run, load_data(run))
    if asked.get("visited"):
        visit_everyone(trainer)
    answer({"ready": facts(trainer)})
    for _ in sys.stdin:
        result = play(trainer, asked.get("evaluate", True))
        if asked.get("weights"):
            np.save(asked["weights"], trainer.w.numpy(force=True))
        answer(result)


def facts(trainer: Trainer) -> dict[str, Any]:
    """Work of a round that does not change from round to round."""
    steps = sum(trainer.local_steps(trainer.pools[: trainer.config.cohort]))
    return {
        "backend": trainer.oracle.backend,
        "parameters": trainer.oracle.layout.numel,
        "local_steps": steps,
        "examples": steps * trainer.config.batch_size,
        "flops_per_pass": round_flops(trainer),
        "threads": trainer.oracle.threads,
        "loops": loops.compiled() is not None,
        "loaded_mib": peak_mib(trainer.device),
    }


def visit_everyone(trainer: Trainer) -> None:
    """Give every client a row of its own, as after many rounds: the largest state that a run can come to."""
    for rows in trainer.state.values():
        if isinstance(rows, ClientRows):
            for client in range(rows.shape[0]):
                rows[torch.tensor([client])] = rows[client][None] + 1e-12 * client


def play(trainer: Trainer, evaluate: bool) -> dict[str, float]:
    """One round; evaluation (test and training set) is timed on its own."""
    cpu, start = time.process_time(), time.perf_counter()
    metrics = trainer.play_round()
    finish(trainer.device)
    trained, trained_cpu = time.perf_counter() - start, time.process_time() - cpu
    cpu, start = time.process_time(), time.perf_counter()
    if evaluate:
        trainer.evaluate({"server": trainer.w})
        finish(trainer.device)
    return {
        "train": trained,
        "train_cpu": trained_cpu,
        "evaluate": time.perf_counter() - start,
        "evaluate_cpu": time.process_time() - cpu,
        "passes": metrics["cost"]["gradients_per_step"],
        "peak_mib": peak_mib(trainer.device),
    }


def peak_mib(device: torch.device) -> float:
    """Most memory that this process has taken so far: of the GPU that it works on, or its resident set."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / (1 << 20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def answer(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
