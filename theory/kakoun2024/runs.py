"""Runs that accompany the proofs: error curves of the three methods, the corrected bounds along runs, radii in
training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import torch

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.kit.search import worst_ratio

CURVATURE = np.array([1.0, 3.0])
CENTRE = np.array([1.0, -1.0])
OPTIMUM = float(CURVATURE @ CENTRE / CURVATURE.sum())


def local_rounds(
    radius: Callable[[float, float, np.ndarray], Any], rounds: int, *, local_steps: int, beta: float, gamma: float
) -> dict[str, np.ndarray]:
    """Two quadratics with curvatures 1 and 3 and optima +-1, weights 1/2, eta^(t) = beta/(t+gamma), t the iteration.

    radius: (eta, model, gradients at the model) -> rho_k of the round, scalar or [2]; negative ones descend.
    Result: ``x`` and ``eta`` [rounds + 1], server models and step sizes; ``G``, largest |gradient| at perturbed points.
    """
    x, t, largest = 2.0, 0, 0.0
    path, steps = [x], [beta / gamma]
    for _ in range(rounds):
        gradients = CURVATURE * (x - CENTRE)
        rho = radius(beta / (t + gamma), x, gradients)
        models = np.full(2, x)
        for _ in range(local_steps):
            ascent = rho * np.sign(models - CENTRE)
            moved = CURVATURE * (models + ascent - CENTRE)
            largest = max(largest, float(np.abs(moved).max()))
            models = models - beta / (t + gamma) * moved
            t += 1
        x = float(models.mean())
        path.append(x)
        steps.append(beta / (t + gamma))
    return {"x": np.array(path), "eta": np.array(steps), "G": np.array(largest)}


RADII: dict[str, Callable[[float, float, np.ndarray], Any]] = {
    "FedAvg": lambda eta, x, g: 0.0,
    "Local FedSAM, rho = 0.1": lambda eta, x, g: 0.1,
    "Local FedSAM, rho = 0.5 sqrt(eta)": lambda eta, x, g: 0.5 * sqrt(eta),
    "Global FedSAM, rho = 0.05": lambda eta, x, g: 0.05 * g.mean() * np.sign(g),
}


def error_curves(rounds: int = 6000) -> dict[str, Any]:
    """F - F* of the four rules at logarithmically spaced rounds, and log-log slopes over the last decade and a half."""
    marks = np.unique(np.geomspace(1, rounds, 40).astype(int))
    curves, slopes = {}, {}
    for name, radius in RADII.items():
        path = local_rounds(radius, rounds, local_steps=2, beta=4.0, gamma=16.0)["x"]
        error = (path[marks] - OPTIMUM) ** 2 * CURVATURE.mean() / 2
        late = marks > rounds / 30
        slopes[name] = float(np.polyfit(np.log(marks[late]), np.log(np.maximum(error[late], 1e-300)), 1)[0])
        curves[name] = error.tolist()
    return {"rounds": marks.tolist(), "F_minus_optimum": curves, "slopes": slopes}


def recursion_ratio(x: np.ndarray) -> float:
    """(a_+ - (1 - eta mu) a)/(noise terms) of the corrected recursion at an instance [13]: E = 1, two clients, d = 2.

    x: log curvatures [4], log eta, log rho [2], rotation, weight logit, client optima [4]; the model is the origin.
    """
    curvatures = np.exp(np.clip(x[:4], -4, 4)).reshape(2, 2)
    eta, rho = float(np.exp(np.clip(x[4], -8, 2))), np.exp(np.clip(x[5:7], -8, 4))
    p = 1 / (1 + np.exp(-np.array([x[8], -x[8]])))
    turn = np.array([[np.cos(x[7]), -np.sin(x[7])], [np.sin(x[7]), np.cos(x[7])]])
    hessians = [np.diag(curvatures[0]), turn @ np.diag(curvatures[1]) @ turn.T]
    centres = x[9:].reshape(2, 2)
    mean = p[0] * hessians[0] + p[1] * hessians[1]
    optimum = np.linalg.solve(mean, sum(p[k] * hessians[k] @ centres[k] for k in range(2)))
    gradients = [-hessians[k] @ centres[k] for k in range(2)]
    if min(np.linalg.norm(g) for g in gradients) < 1e-9:
        return float("nan")
    sam = [g + rho[k] * hessians[k] @ g / np.linalg.norm(g) for k, g in enumerate(gradients)]
    G2 = max(float(g @ g) for g in sam)
    mu, L = float(curvatures.min()), float(curvatures.max())
    moved = -eta * (p[0] * sam[0] + p[1] * sam[1]) - optimum
    left = float(moved @ moved) - (1 - eta * mu) * float(optimum @ optimum)
    right = eta**2 * G2 + 2 * eta * L**2 / mu * float(p @ rho**2)
    return left / right if right > 0 else float("nan")


def recursion_search() -> dict[str, Any]:
    """Adversarial search for a violation of the corrected recursion (proved; this guards the proof's transcription)."""
    search = worst_ratio(
        recursion_ratio, lambda rng: rng.standard_normal(13), draws=3000, restarts=6, seed=2, climb=600
    )
    return search.as_evidence("two strongly convex quadratics in the plane, one SAM step with constant radii")


def direction_cosines(draws: int = 500, clients: int = 10, dimension: int = 20, seed: int = 4) -> dict[str, Any]:
    """Cosine with the gradient of ||grad F||^2 of three first-order terms, random gradients and Hessians of rank 5.

    Result: for Algorithm 3, Local SAM and v_k = rho grad F the median, the smallest value and the share below 0.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, list[float]] = {"Algorithm 3": [], "Local SAM": [], "v_k = rho grad F": []}
    for _ in range(draws):
        g = rng.standard_normal((clients, dimension))
        factors = rng.standard_normal((clients, dimension, 5))
        m, u = g.mean(0), g / np.linalg.norm(g, axis=1, keepdims=True)
        target = np.einsum("kia,kja,j->i", factors, factors, m)
        for name, v in (
            ("Algorithm 3", u * (u @ m)[:, None]),
            ("Local SAM", u),
            ("v_k = rho grad F", np.tile(m, (clients, 1))),
        ):
            term = np.einsum("kia,kja,kj->i", factors, factors, v)
            found[name].append(float(term @ target / np.linalg.norm(term) / np.linalg.norm(target)))
    return {n: [float(np.median(c)), float(min(c)), float(np.mean(np.array(c) < 0))] for n, c in found.items()}


def tilted_cosine(x: Any, order: int = 0) -> Any:
    """Clients 1 - cos(x - c_k) + x^2/100, c = -+0.8: values or derivatives [.., 2].

    L = 1.02, slope at most 1.2 for |x| <= 8. The mean has its global minimum at 0 and a higher local minimum near 6.
    """
    y = np.asarray(x, dtype=float)[..., None] - np.array([-0.8, 0.8])
    square = np.asarray(x, dtype=float)[..., None]
    return 1 - np.cos(y) + square**2 / 100 if order == 0 else np.sin(y) + square / 50


def cosine_run(T: int, step: Callable[[int], float], start: float = 6.6, E: int = 3) -> dict[str, float]:
    """Local SAM with rho = 0.3 sqrt(eta) on ``tilted_cosine``, caught in the local minimum: measured and both bounds.

    Result: ``smallest`` min_t |F'|^2, ``corrected`` the telescoped bound, ``printed`` Theorem 2's right side with xi.
    """
    L, G2, K = 1.02, 1.44, 2
    best, x = float(tilted_cosine(0.0).mean()), start
    slopes, gaps, sums, xi = [], [], np.zeros(4), 0.0
    for t in range(1, T + 1):
        eta = step(t)
        rho2 = 0.09 * eta
        slopes.append(float(tilted_cosine(x, 1).mean()) ** 2)
        gaps.append(float(tilted_cosine(x).mean()) - best)
        sums += [eta, eta**2, eta**3, eta * rho2]
        drift = 4 * eta**2 * (E - 1) ** 2 * G2
        xi += eta**2 * (
            2 * eta * L * (E - 1) ** 2 * G2 + L * rho2 / (2 * eta) + 2 * K * L * (G2 + (L + 1) * (drift + rho2)) / 2
        )
        models = np.full(2, x)
        for _ in range(E):
            ascent = sqrt(rho2) * np.sign(np.diag(tilted_cosine(models, 1)))
            models = models - eta / E * np.diag(tilted_cosine(models + ascent, 1))
        x = float(models.mean())
    corrected = (2 * gaps[0] + L * G2 * sums[1] + 8 * L**2 * (E - 1) ** 2 * G2 * sums[2] + 2 * L**2 * sums[3]) / sums[0]
    printed = ((2 + 4 * K * L * sums[1]) * sum(gaps) + 2 * xi) / sqrt(T)
    return {"smallest": min(slopes), "corrected": float(corrected), "printed": float(printed)}


@cache
def cosine_table(horizons: tuple[int, ...] = (1, 10, 100, 1000, 3000)) -> dict[str, list[float]]:
    """``cosine_run`` with eta = 1/sqrt(t) for several T, columns by name."""
    rows = [cosine_run(T, lambda t: 1 / sqrt(t)) for T in horizons]
    return {"T": [float(T) for T in horizons], **{name: [row[name] for row in rows] for name in rows[0]}}


def radii_of_run(gradients: Sequence[Sequence[float]], switches: Sequence[str] = ()) -> np.ndarray:
    """r_k [K] that the project's Global FedSAM sends in round 0 to clients with constant gradients [K, d]."""
    g = torch.tensor(gradients, dtype=torch.float64)
    rows: list[np.ndarray] = []
    simulate(
        build("globalfedsam", switches=switches),
        lambda W, index, t, k: g[index],
        torch.zeros(g.shape[1], dtype=torch.float64),
        len(g),
        1,
        probe=lambda t, w, W, c: rows.append(c.r[:, 0].numpy().copy()),
    )
    return rows[0]


def softmax_clients(alpha: float, clients: int = 40, samples: int = 60, seed: int = 3) -> tuple[Any, Any, np.ndarray]:
    """Gaussian classes in 20 dimensions, client labels from Dirichlet(alpha).

    Result: features [K, n, 20], one-hot labels [K, n, 10], total-variation distance of each client's labels to all [K].
    """
    rng = np.random.default_rng(seed)
    means = 1.5 * rng.standard_normal((10, 20))
    shares = rng.dirichlet([alpha] * 10, clients)
    labels = np.stack([rng.choice(10, samples, p=share) for share in shares])
    X = means[labels] + rng.standard_normal((clients, samples, 20))
    distance = 0.5 * np.abs(np.eye(10)[labels].mean(1) - np.eye(10)[labels].mean((0, 1))).sum(1)
    return torch.tensor(X), torch.tensor(np.eye(10)[labels]), distance


def radii_in_training(alpha: float = 0.2, rounds: int = 40) -> dict[str, Any]:
    """r_k of Global FedSAM along a run of softmax regression.

    Result: share below 0, mean size, rank correlation with the clients' label distance, at three rounds.
    """
    X, Y, distance = softmax_clients(alpha)

    def gradient(W, index, t, k):
        logits = torch.einsum("knd,kdc->knc", X[index], W.reshape(len(index), 20, 10))
        residual = torch.softmax(logits, -1) - Y[index]
        return torch.einsum("knd,knc->kdc", X[index], residual).reshape(len(index), -1) / X.shape[1]

    rows: list[np.ndarray] = []
    simulate(
        build("globalfedsam", rho=0.05),
        gradient,
        torch.zeros(200, dtype=torch.float64),
        len(X),
        rounds,
        steps=3,
        lr=0.2,
        probe=lambda t, w, W, c: rows.append(c.r[:, 0].numpy().copy()),
    )
    r = np.array(rows)
    ranks = [np.corrcoef(np.argsort(np.argsort(row)), np.argsort(np.argsort(distance)))[0, 1] for row in r]
    chosen = [0, rounds // 2, rounds - 1]
    return {
        "setting": f"softmax regression, 40 clients, Dirichlet({alpha}), 3 local steps, {rounds} rounds",
        "share_below_0": {f"round {t}": float(np.mean(r[t] < 0)) for t in chosen},
        "mean_absolute_r": {f"round {t}": float(np.mean(np.abs(r[t]))) for t in chosen},
        "rank_correlation_with_distance": {f"round {t}": float(ranks[t]) for t in chosen},
    }
