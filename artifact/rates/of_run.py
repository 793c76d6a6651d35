"""The numbers of a theorem from a stored run: what it was told, and what is measured at two of its models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from artifact.base.lazy import Tensor, torch
from artifact.base.random import stream
from artifact.curvature import EmpiricalRisk
from artifact.looseness.directions import largest_curvature
from artifact.rates.bound import METHODS
from artifact.runs.stored_model import open_target

#: what an estimate is worth
WORTH = (
    "L, sigma_g and sigma_l are the largest values at two models of the run, the first and the stored one; the theorem "
    "asks for numbers that hold everywhere, and L for every client and minibatch. They are estimates from below, so "
    "the bound is an illustration of its size, and no guarantee. A network with ReLU has no L at all."
)
_CLIENTS, _BATCHES = 20, 4


def numbers(reference: str, store: Path, data_root: Path | None = None, samples: int = 2000) -> tuple[str, dict]:
    """Name of the run's method, and fields of ``Setting``.

    samples: of the training set for the curvature, a fixed subset.  delta is the training loss of the first model,
    since a loss of at least 0 has an infimum of at least 0.  K is the mean over clients
    (steps, where they differ and a theorem covers it), and eta_g is the method's own.
    Raises UserError as ``open_target`` does.
    """
    from artifact.training.trainer import Trainer  # the engine comes when something is measured

    target = open_target(reference, store, data_root)
    trainer = target.trainer
    config = trainer.config
    points = [Trainer(config, trainer.data).w, target.w]
    method = config.build_algorithm()
    counts = tuple(trainer.local_steps(trainer.pools))
    spread, noise = (max(values) for values in zip(*(_spreads(trainer, w) for w in points), strict=True))
    found: dict[str, Any] = {
        "L": largest_curvature(trainer.risk(samples), points),
        "T": config.rounds,
        "K": round(sum(counts) / len(counts)),
        "N": config.clients,
        "S": config.cohort,
        "rho": float(getattr(method, "rho", 0.0)),
        "sigma_g": spread,
        "sigma_l": noise,
        "delta": float(trainer.risk()(points[0])),
        "eta_l": config.lr,
        "eta_g": float(getattr(method, "server_lr", 1.0)),
    }
    known = METHODS.get(config.algorithm)
    if known and known.unequal:
        found |= {"steps": counts} if len(set(counts)) > 1 else {}
        sizes = tuple(float(len(pool)) for pool in trainer.pools)
        # a drawn cohort's weights are divided by their sum, which no theorem covers
        found |= {"weights": sizes} if trainer.weighted and config.cohort == config.clients else {}
    beta = getattr(method, "beta", None)
    return config.algorithm, found | ({"beta": float(beta)} if beta is not None else {})


def _spreads(trainer: Any, w: Tensor) -> tuple[float, float]:
    """(sigma_g, sigma_l) at w: of clients' gradients around their mean, and of minibatches around their client's."""
    risks = [trainer.risk(client=i) for i in range(len(trainer.pools))]
    gradients = torch.stack([risk.gradient(w) for risk in risks])
    away = (gradients - gradients.mean(0)).square().sum(1).mean()
    squares = []
    for client in range(0, len(risks), math.ceil(len(risks) / _CLIENTS)):
        risk, draw = risks[client], stream(0, "rates/minibatches", 0, client)
        x, y = risk.tensors
        size = min(trainer.config.batch_size, len(y))
        for _ in range(_BATCHES):
            index = torch.randperm(len(y), generator=draw)[:size].to(y.device)
            batch = EmpiricalRisk(risk.model, risk.loss, (x[index], y[index]), buffers=risk.buffers)
            squares.append((batch.gradient(w) - gradients[client]).square().sum())
    return float(away.sqrt()), float(torch.stack(squares).mean().sqrt())
