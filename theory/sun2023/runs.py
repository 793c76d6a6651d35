"""Exact moments of Algorithm 1: one client with noisy gradients, and runs with exact local solves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.sun2023.common import Clients, State, averaged, histories, square_mean


@dataclass(frozen=True)
class NoisyClient:
    """m = n = 1, f(w) = w^2/2 (L = 1), r = 0, K local steps of size eta, gradient noise of variance sigma^2.

    Numbers may be floats, Fractions or mpmath numbers; the moments are exact in that arithmetic.
    """

    beta: Any
    eta: Any
    K: int
    sigma2: Any

    @property
    def factor(self) -> Any:
        """Contraction of one local step, 1 - eta (1 + 1/beta)."""
        return 1 - self.eta * (1 + 1 / self.beta)

    @property
    def round_noise(self) -> Any:
        """Variance that the noise of one round adds to the local model, eta^2 sigma^2 sum_k factor^{2k}."""
        return self.eta**2 * self.sigma2 * sum(self.factor ** (2 * k) for k in range(self.K))

    def round_map(self) -> tuple[tuple[Any, Any], tuple[Any, Any], tuple[Any, Any]]:
        """Linear maps (w^t, lam^t) -> w_bar^{t+1}, w^{t+1}, lam^{t+1} without noise."""
        power = self.factor**self.K
        share = (1 - power) / (1 + 1 / self.beta)  # weight of lam + w^t/beta, the fixed point's numerator
        bar = (power + share / self.beta, share)
        lam = ((1 - bar[0]) / self.beta, 1 - bar[1] / self.beta)
        w = (bar[0] - self.beta * lam[0], bar[1] - self.beta * lam[1])
        return bar, w, lam

    def square_gradients(self, rounds: int, w0: Any) -> list[Any]:
        """E (w_bar^t)^2 for t = 1..rounds from w^0 = w0, lam^0 = 0."""
        bar, w, lam = self.round_map()
        noise = self.round_noise
        to_w, to_lam = 2, -1 / self.beta  # noise e in w_bar enters w^{t+1} as 2 e and lam as -e/beta
        ww, wl, ll = w0 * w0, 0 * w0, 0 * w0
        out = []
        for _ in range(rounds):

            def form(x: tuple, y: tuple, moments: tuple) -> Any:
                a, b, c = moments
                return x[0] * y[0] * a + (x[0] * y[1] + x[1] * y[0]) * b + x[1] * y[1] * c

            now = (ww, wl, ll)
            out.append(form(bar, bar, now) + noise)
            ww = form(w, w, now) + to_w * to_w * noise
            wl = form(w, lam, now) + to_w * to_lam * noise
            ll = form(lam, lam, now) + to_lam * to_lam * noise
        return out


@dataclass(frozen=True)
class Averages:
    """Exact expectations along a run of exact solves from a given start.

    slopes: E||grad f(w_bar^t)||^2 for t = 1..T. kappa: E f(w_bar^1) - f^*. delta0: (1/m) sum_i E||w_i^0 - w_bar^1||^2.
    """

    slopes: list[Any]
    kappa: Any
    delta0: Any


def averages(clients: Clients, start: State, beta: Any, n: int, rounds: int, s: list | None = None) -> Averages:
    """Expectations over all histories of active sets; perturbations s_i are kept for all rounds."""
    slopes, kappa, delta0 = [], None, None
    for t in range(1, rounds + 1):
        states = [state for state, _ in histories(clients, start, beta, n, t, s)]
        bars = [averaged(state, beta) for state in states]
        slopes.append(sum(clients.gradient(bar) ** 2 for bar in bars) / len(bars))
        if t == 1:
            kappa = sum(clients.value(bar) for bar in bars) / len(bars) - clients.minimum()
            delta0 = sum(square_mean(state.last, bar) for state, bar in zip(states, bars, strict=True)) / len(bars)
    return Averages(slopes, kappa, delta0)


def simulated_average(
    radius: Callable[[int], float], rounds: int, *, noise: float = 0.0, seed: int = 0, steps: int | None = None
) -> float:
    """Average squared gradient of FedSMOO over the run: 10 quadratics, 3 active, gradient start
    near the optimum, beta = n/(24 m L).

    steps None: exact local solves with perturbation radius * sign(f_i') at w^t; otherwise K gradient steps with noise.
    """
    rng, m, n = np.random.default_rng(seed), 10, 3
    curvature, centre = np.linspace(-0.3, 1, m), np.linspace(-2, 2, m) ** 2 - 1
    best = float(curvature @ centre / curvature.sum())
    beta, w, r = n / m / 24, best + 0.2, radius(rounds)
    lam, total = curvature * (w - centre), 0.0
    for _ in range(rounds):
        active = rng.choice(m, n, replace=False)
        a, c = curvature[active], centre[active]
        s = r * np.sign(a * (w - c))
        if steps is None:
            models = (a * (c - s) + lam[active] + w / beta) / (a + 1 / beta)
        else:
            models, eta = np.full(n, w), 1 / (1 + 1 / beta)
            for _ in range(steps):
                gradient = a * (models + s - c) + noise * rng.standard_normal(n)
                models = models - eta * (gradient - lam[active] + (models - w) / beta)
        lam[active] -= (models - w) / beta
        bar = models.mean()
        w = bar - beta * lam.mean()
        total += float((curvature * (bar - centre)).mean() ** 2)
    return total / rounds


def project_averages(horizons: tuple[int, ...], noise: float = 4.0, seed: int = 0) -> dict[str, float]:
    """Average of ||grad f(w_bar^t)||^2 over T rounds of the project's FedSMOO, r = 1/sqrt(T), K = 10, 2 of 4 clients.

    Quadratics in R^2 with |a_i| <= 1 (one concave), beta = n/(24 m L), minibatch noise of the given deviation.
    """
    curvature = torch.tensor([1.0, 0.5, -0.25, 0.75], dtype=torch.float64)
    centres = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, -2.0], [3.0, 1.0]], dtype=torch.float64)
    beta = 2 / 4 / 24
    found = {}
    for rounds in horizons:
        rng = np.random.default_rng(seed)
        draws = torch.tensor(noise * rng.standard_normal((rounds, 10, 4, 2)))
        cohorts = [tuple(rng.choice(4, 2, replace=False)) for _ in range(rounds)]
        squares = []

        def gradient(W, clients, t, k, draws=draws):
            return curvature[clients, None] * (W - centres[clients]) + draws[t, k, clients]

        def probe(t, w, W, c, squares=squares):
            bar = W.mean(dim=0)
            squares.append(float(((curvature[:, None] * (bar - centres)).mean(dim=0) ** 2).sum()))

        algorithm = build("fedsmoo", rho=rounds**-0.5, lam=1 / beta)
        start = torch.tensor([2.0, 2.0], dtype=torch.float64)
        simulate(algorithm, gradient, start, 4, rounds, steps=10, lr=1 / (1 + 1 / beta), cohorts=cohorts, probe=probe)
        found[str(rounds)] = float(np.mean(squares))
    return found
