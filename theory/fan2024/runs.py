"""The project's own algorithms on toy clients: what is checked is what is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from artifact.algorithms import build
from artifact.training.rounds import simulate

Oracle = Callable[[Tensor, Tensor, int, int], Tensor]


def quadratic_clients(curvature: Sequence, minima: Sequence) -> Oracle:
    """Gradients h_i (w - m_i), diagonal curvature; curvature and minima [clients, P]."""
    h, m = (torch.as_tensor(np.asarray(x, dtype=float), dtype=torch.float64) for x in (curvature, minima))
    return lambda W, index, t, k: h[index] * (W - m[index])


def path(name: str, oracle: Oracle, start: Sequence[float], clients: int, rounds: int, **options) -> Tensor:
    """Server models [rounds + 1, P] of a method of the project.

    options: steps, lr and cohorts go to the simulation, everything else (switches, hyper-parameters) to the method.
    """
    run = {key: options.pop(key) for key in ("steps", "lr", "cohorts", "probe") if key in options}
    return simulate(build(name, **options), oracle, torch.tensor(start, dtype=torch.float64), clients, rounds, **run)


def random_problem(seed: int, clients: int = 6, size: int = 4) -> tuple[Oracle, list[float]]:
    """Heterogeneous convex quadratics with curvature in [0.2, 1], and a start."""
    rng = np.random.default_rng(seed)
    curvature, minima = rng.uniform(0.2, 1, (clients, size)), rng.standard_normal((clients, size))
    return quadratic_clients(curvature, minima), list(rng.standard_normal(size))


def random_cohorts(seed: int, clients: int, active: int, rounds: int) -> list[list[int]]:
    """``active`` of ``clients`` drawn uniformly without replacement in every round."""
    rng = np.random.default_rng(seed)
    return [sorted(rng.choice(clients, active, replace=False).tolist()) for _ in range(rounds)]


def largest_difference(first: tuple[str, dict], second: tuple[str, dict], seeds: int = 3) -> float:
    """Largest |difference| of the models of two methods over random problems with partial participation."""
    gaps = []
    for seed in range(seeds):
        oracle, start = random_problem(seed)
        shared = {"steps": 3, "lr": 0.1, "cohorts": random_cohorts(seed, 6, 3, 20)}
        a, b = (path(name, oracle, start, 6, 20, **shared, **options) for name, options in (first, second))
        gaps.append(float((a - b).abs().max()))
    return max(gaps)


def evaluation_offsets(**options: Any) -> list[list[Tensor]]:
    """Per round, the distance of the gradient's point from client 0's local model at each local step (FedLESAM)."""
    oracle, start = random_problem(1)
    rounds, lr = 4, 0.1
    offsets: list[list[Tensor]] = [[] for _ in range(rounds)]
    model: dict[int, Tensor] = {}

    def recording(W, index, t, k):
        G = oracle(W, index, t, k)
        offsets[t].append(W[0].clone())
        model[t] = G[0].clone()
        return G

    server = path("fedlesam", recording, start, 6, rounds, steps=5, lr=lr, **options)
    for t, points in enumerate(offsets):
        local = server[t].clone()
        for k, point in enumerate(points):
            offsets[t][k] = point - local
            local = local - lr * oracle(point[None], torch.tensor([0]), t, k)[0]
    return offsets


def logistic_clients(clients: int, heterogeneity: float, seed: int = 0, samples: int = 40, size: int = 5) -> Oracle:
    """Full-batch gradients of logistic regression; client means of the features spread with ``heterogeneity``."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(size)
    features = rng.standard_normal((clients, samples, size)) + heterogeneity * rng.standard_normal((clients, 1, size))
    labels = np.sign(features @ truth + 0.5 * rng.standard_normal((clients, samples)))
    X = torch.as_tensor(features * labels[..., None])

    def gradient(W, index, t, k):
        own = X[index]
        weight = torch.sigmoid(-(own @ W[:, :, None])[:, :, 0])
        return -(weight[:, :, None] * own).mean(dim=1) + 1e-3 * W

    return gradient


def cosines_along_a_run(
    steps: int, active: int, radius: float, heterogeneity: float, rounds: int = 60
) -> dict[str, float]:
    """FedLESAM on 20 logistic clients: mean cosine with grad F(w^t) of the estimate and of the own gradients."""
    clients, lr = 20, 0.5
    oracle, everyone = logistic_clients(clients, heterogeneity), torch.arange(clients)
    cohorts = random_cohorts(1, clients, active, rounds)
    models = path("fedlesam", oracle, [0.0] * 5, clients, rounds, steps=steps, lr=lr, rho=radius, cohorts=cohorts)
    seen, estimate, early, local = {}, [], [], []
    for t, cohort in enumerate(cohorts):
        gradients = oracle(models[t].repeat(clients, 1), everyone, t, 0)
        direction = gradients.mean(dim=0)
        for i in cohort:
            local.append(float(torch.cosine_similarity(gradients[i], direction, dim=0)))
            if i in seen:
                step = models[seen[i]] - models[t]
                estimate.append(float(torch.cosine_similarity(step, direction, dim=0)))
                early += estimate[-1:] if t < rounds // 3 else []
            seen[i] = t
    positive = sum(value > 0 for value in estimate) / len(estimate)
    return {
        "estimate": float(np.mean(estimate)),
        "estimate_in_the_first_third": float(np.mean(early)),
        "share_positive": positive,
        "local_gradient": float(np.mean(local)),
    }


def cosine_study() -> dict[str, dict[str, float]]:
    """``cosines_along_a_run`` over local steps, participation, radius and heterogeneity, one factor at a time."""
    base = {"steps": 5, "active": 20, "radius": 0.0, "heterogeneity": 1.0}
    changes = [{}, {"steps": 1}, {"steps": 20}, {"active": 4}, {"active": 1}, {"radius": 0.1}, {"radius": 0.5}]
    changes += [{"heterogeneity": 0.0}, {"heterogeneity": 3.0}]
    return {
        ", ".join(f"{k}={v}" for k, v in c.items()) or "base": cosines_along_a_run(**{**base, **c}) for c in changes
    }


def mean_gradient_norms(
    curvature: Sequence[float], start: Sequence[float], radius: float, rounds: int
) -> dict[str, float]:
    """(1/T) sum of |grad F(w^{t+1})| for one client, one local step, step 1/sqrt(T), L = 1 (Theorem 1's setting)."""
    oracle = quadratic_clients([curvature], [[0.0] * len(curvature)])
    h = torch.as_tensor(curvature, dtype=torch.float64)
    found = {}
    for name in ("fedlesam", "fedsam"):
        models = path(name, oracle, start, 1, rounds + 1, steps=1, lr=rounds**-0.5, rho=radius)
        found[name] = float((h * models[2:]).norm(dim=1).mean())
    return found


def msam_deviation(steps: int, rounds: int = 20, clients: int = 6, radius: float = 0.1, lr: float = 0.1) -> float:
    """Largest difference of the project's FedSAM from mSAM with step ``steps * lr`` over shards = clients."""
    oracle, start = random_problem(2, clients)
    federated = path("fedsam", oracle, start, clients, rounds, steps=steps, lr=lr, rho=radius)
    w, everyone, gap = federated[0], torch.arange(clients), 0.0
    for t in range(rounds):
        g = oracle(w.repeat(clients, 1), everyone, t, 0)
        perturbed = w + radius * g / g.norm(dim=1, keepdim=True)
        w = w - steps * lr * oracle(perturbed, everyone, t, 0).mean(dim=0)
        gap = max(gap, float((federated[t + 1] - w).abs().max()))
    return gap
