"""Adversarial test of the corrected statements on smooth non-convex clients, beside their proofs.

Clients on the line: F_i(x) = p_i (1 - cos(x - c_i)) + (1 - p_i) (x - d_i)^2/4 with p_i in [0, 1]; curvature lies in
[-1, 1], so that L = 1; F is bounded below, its infimum is taken on a grid refined at the best cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory.kit.search import Search, worst_ratio

L, CLIENTS, STEPS = 1.0, 3, 3
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """Three clients; share, centre, offset: [3]."""

    share: Vector
    centre: Vector
    offset: Vector

    def gradient(self, x: Vector) -> Vector:
        """[3] -> [3], client i's gradient at its own point."""
        return self.share * np.sin(x - self.centre) + (1 - self.share) * (x - self.offset) / 2

    def value(self, x: Vector) -> Vector:
        """F at points [n] -> [n]."""
        x = np.asarray(x)[:, None]
        each = self.share * (1 - np.cos(x - self.centre)) + (1 - self.share) * (x - self.offset) ** 2 / 4
        return each.mean(axis=1)

    def infimum(self) -> float:
        """Minimum of F over [-12, 12] on a grid, refined once."""
        grid = np.linspace(-12, 12, 121)
        best = grid[np.argmin(self.value(grid))]
        return float(self.value(np.linspace(best - 0.2, best + 0.2, 81)).min())


def sample(rng: np.random.Generator) -> Vector:
    """Argument [13]: shares (logit), centres, offsets, start, log radius, two step-size logits."""
    return np.concatenate([rng.normal(0, 2, 3), rng.uniform(-3, 3, 7), [rng.normal(-1, 1)], rng.normal(0, 2, 2)])


def _sigmoid(x: Vector) -> Vector:
    return 1 / (1 + np.exp(-np.clip(x, -40, 40)))


def _unpack(argument: Vector) -> tuple[Family, float, float, float, float]:
    family = Family(_sigmoid(argument[:3]), argument[3:6], np.clip(argument[6:9], -4, 4))
    start, radius = float(np.clip(argument[9], -6, 6)), float(np.exp(np.clip(argument[10], -6, 1)))
    local, server = _sigmoid(argument[11:13])
    return family, start, radius, float(local), float(server)


def _local(family: Family, w: float, radius: float, lr: float, beta: float, momentum: float) -> tuple[Vector, Vector]:
    """(final local models [3], largest displacement per client [3]) of K steps."""
    x = np.full(CLIENTS, w)
    furthest = np.zeros(CLIENTS)
    for _ in range(STEPS):
        sharp = family.gradient(x + radius * np.sign(family.gradient(x)))
        x = x - lr * (beta * sharp + (1 - beta) * momentum)
        furthest = np.maximum(furthest, np.abs(x - w))
    return x, furthest


def _spread(family: Family, w: float) -> tuple[float, float]:
    """(grad F(w), mean squared deviation of the client gradients)."""
    gradients = family.gradient(np.full(CLIENTS, w))
    return float(gradients.mean()), float(gradients.var())


def drift_ratio(argument: Vector) -> float:
    """Left over right of Lemma B.2 without noise, all K steps."""
    family, w, radius, local, _ = _unpack(argument)
    lr = local / (10 * STEPS * L)
    mean, spread = _spread(family, w)
    sharp, _ = _spread(family, w + radius * np.sign(mean))
    _, furthest = _local(family, w, radius, lr, 1.0, 0.0)
    right = 5 * STEPS * lr**2 * (6 * STEPS * (3 * spread + 6 * (L * radius) ** 2) + 6 * STEPS * sharp**2)
    return float((furthest**2).mean()) / right


def search(ratio, seed: int = 0) -> Search:
    """At least 1,000 evaluations: 300 draws, four ascents."""
    return worst_ratio(ratio, sample, draws=300, restarts=4, seed=seed, climb=220)


FUNCTION_CLASS = "three clients p(1 - cos(x - c)) + (1 - p)(x - d)^2/4 on the line, L = 1, K = 3"


def tested(ratio) -> dict:
    """Evidence of a search over ``FUNCTION_CLASS``, to stand beside a certificate."""
    return search(ratio).as_evidence(FUNCTION_CLASS)
