r"""Radii that vanish with the gradient: the theorem on Algorithm 3 of Al Kakoun (2024), which leaves no floor.

Client k perturbs by rho r_k with r_k = <gbar, g_k>/|g_k|, so |r_k| <= |gbar| whatever its sign, and gbar is the mean
gradient. The error of a local gradient is then at most L rho |gbar|, and what it costs is a share L^2 rho^2 of the
squared gradient that the round pays for anyway. With gbar exact nothing else remains of the perturbation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import sympy as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.inexact import theorem
from theory.inexact.proof import one_round
from theory.inexact.theorem import F_NEXT, FULL_DIVISOR, QUANTITIES, SQUARE, F, Gamma, n, numbers
from theory.kit.hypotheses import (
    EVERYONE,
    INDEPENDENT_CLIENTS,
    MEANS,
    NOISE_GIVEN_THE_PAST,
    Hypothesis,
    bounded_below,
    dissimilar,
    named,
    noise_power,
    smooth,
    steps_along,
)
from theory.kit.proof import Proof
from theory.kit.statement import Condition, Quantity, Run, Statement, drawn

R = sp.Rational
COUNT = 1000
EVERYTHING = ("minibatch noise", "heterogeneity", "any number of clients, local steps and dimensions")
#: h^2 = E|gbar|^2 of one round, nu^2 = E|gbar - grad F|^2 at most
h, nu = sp.symbols("h nu", nonnegative=True)
CASE = numbers(sampled=False, rho=n.rho * h)
#: what is left of a squared gradient: 109/53 is the factor of the floor of a constant radius
SHARE = 2 / FULL_DIVISOR + (1 - FULL_DIVISOR) / FULL_DIVISOR


def sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides: the term of the radius of the theorem for all clients, with |grad F|^2 + nu^2 in the radius."""
    _, right = theorem.divided(theorem.FULL, FULL_DIVISOR)
    left = Gamma * (1 - SHARE * n.L**2 * n.rho**2)
    return left, tuple(nu**2 * term if term.has(n.rho) else term for term in right)


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """One round with the error L rho h, then h^2 <= |grad F|^2 + nu^2, the mean over the rounds, and numbers."""
    proof, small_a, small_x = theorem.begin("FedAvg with local gradients whose errors vanish with the gradient", CASE)
    proof.scalar("nu")
    factor, rest = theorem.factors(*theorem.general(CASE))
    one = one_round(proof, F - F_NEXT - n.A / 2 * (factor * SQUARE - rest), CASE, small_a, small_x)
    size = proof.hypothesis("mean gradient", SQUARE + nu**2 - h**2, "E|gbar|^2 <= E|grad F|^2 + nu^2")
    cost = sp.expand(rest).coeff(h**2)
    own_left = (factor - cost) * Gamma
    own_right = (2 * theorem.Delta / (n.A * n.T), sp.expand(rest).subs(h, nu))
    shared = proof.combine(
        "one round, with the gradient in the radius",
        F - F_NEXT - n.A / 2 * ((factor - cost) * SQUARE - own_right[1]),
        [(1, one), (n.A / 2 * cost, size)],
    )
    rate = theorem.over_rounds(proof, CASE, shared, own_left, own_right)
    spare = (1 - FULL_DIVISOR) * 100 / FULL_DIVISOR * (R(1, 10) + n.X)
    small = Gamma + n.L**2 * n.rho**2 * (Gamma + nu**2)
    proof.combine("corollary", sp.Add(*right) - left, [(1 / FULL_DIVISOR, rate), (spare * small, small_x)])
    return proof


# ------------------------------------------------------------ runs


@dataclass(frozen=True)
class Quadratics:
    """Clients F_k(w) = sum_j q_kj (w_j - c_kj)^2/2 with |q| <= 1, so L = 1; q, c: [N, d]; sizes [N]; start [d]."""

    q: NDArray[np.float64]
    c: NDArray[np.float64]
    sizes: NDArray[np.float64]
    start: NDArray[np.float64]

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Quadratics:
        """Up to five clients, concave ones among them, of sizes 1 to 50; F is strongly convex."""
        clients, size = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        while True:
            q, sizes = rng.uniform(-1, 1, (clients, size)), rng.integers(1, 51, clients).astype(float)
            if rng.random() < 0.3:
                q = np.sign(q) * rng.choice([1.0, 0.9], q.shape)
            found = cls(q, rng.normal(0, rng.choice([0.0, 0.1, 1.0, 5.0]), (clients, size)), sizes, np.zeros(size))
            if (found.curvature > 0.02).all():
                away = rng.normal(0, 3, size) * rng.choice([0.01, 1.0, 1.0])
                return replace(found, start=found.minimiser + away)

    @property
    def p(self) -> NDArray[np.float64]:
        """[N, 1], the weights."""
        return (self.sizes / self.sizes.sum())[:, None]

    @property
    def curvature(self) -> NDArray[np.float64]:
        """[d], of F."""
        return np.asarray((self.p * self.q).sum(0))

    @property
    def minimiser(self) -> NDArray[np.float64]:
        """[d], of F."""
        return np.asarray((self.p * self.q * self.c).sum(0) / self.curvature)

    def path(
        self, rng: np.random.Generator, rho: float, rounds: int, steps: int, local: float, server: float, noise: float
    ) -> NDArray[np.float64]:
        """Server models [T + 1, d] of the class GlobalFedSAM; noise: sigma of a minibatch, gbar has none."""
        draws = rng.normal(size=(rounds, steps, *self.q.shape))
        zeta = torch.as_tensor(noise * draws / np.linalg.norm(draws, axis=3, keepdims=True))
        q, c = torch.as_tensor(self.q), torch.as_tensor(self.c)

        def gradient(W: Tensor, index: Tensor, t: int, k: int) -> Tensor:
            exact = q[index] * (W - c[index])
            return exact if k < 0 else exact + zeta[t, k, index]

        method = build("globalfedsam", rho=rho, server_lr=server)
        options = {"steps": steps, "lr": local, "sizes": self.sizes.tolist()}
        return simulate(method, gradient, torch.as_tensor(self.start), len(self.q), rounds, **options).numpy()


def measured(rng: np.random.Generator, noisy: bool = True) -> dict[str, float]:
    """Values of the symbols on one problem, steps at the edge of the conditions or inside."""
    problem, p = (found := Quadratics.draw(rng)), found.p
    steps, rounds = int(rng.choice([1, 2, 5])), int(rng.choice([1, 3, 20, 60], p=[0.4, 0.3, 0.25, 0.05]))
    local = (0.1 / (steps - 1) if steps > 1 else 0.5) * rng.choice([1.0, 0.5])
    whole = rng.choice([0.5, 0.5, 0.2, 0.02])
    rho = rng.choice([0.0, 0.05, 0.3, 0.6])
    noise = rng.choice([0.0, 0.0, 0.1, 1.0]) if noisy else 0.0
    squares, spreads = [], []
    for _ in range(4 if noise and rounds < 50 else 1):
        models = problem.path(rng, rho, rounds, steps, local, whole / (steps * local), noise)[:-1]
        gradients = problem.q * (models[:, None] - problem.c)
        mean = (p * gradients).sum(1)
        squares.append((mean**2).sum(1).mean())
        spreads.append((p * ((gradients - mean[:, None]) ** 2)).sum((1, 2)))
    return {
        "L": 1.0,
        "K": steps,
        "N": 1 / p.max(),
        "T": rounds,
        "eta": local,
        "A": whole,
        "X": (steps - 1) * local,
        "kappa": 0.0,
        "rho": rho,
        "nu": 0.0,
        "sigma_g": float(np.sqrt(np.mean(spreads, axis=0).max())),
        "sigma_l": noise,
        "Gamma": float(np.mean(squares)),
        "Delta": float(problem.curvature @ (problem.start - problem.minimiser) ** 2 / 2),
    }


@cache
def random_runs(count: int = COUNT, seed: int = 0) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""
    return drawn(measured, "Gamma", count, seed)


OWN_RADII = Hypothesis(
    "own radii",
    r"perturbations have radii $|\rho r_k|\le\rho\|\bar g\|$, of either sign, so that "
    r"$\|e\|\le L\rho\|\bar g\|$, and the mean gradient $\bar g$ of the round has "
    r"$\mathbb E\|\bar g\|^2\le\mathbb E\|\nabla F(\bar\theta^{(tE)})\|^2+\nu^2$ ($\nu=0$ for clients' gradients on "
    "all their samples)",
    ("error", "mean gradient"),
    r"\|e\|\le L\rho\|\bar g\|",
)


def statement() -> Statement:
    """Global FedSAM as Algorithm 3 prints it: weights p_k, E local steps, signed radii |r_k| <= |gbar|."""
    left, right = sides()
    return Statement(
        name="inexact-gradients-vanishing-radius",
        left=left,
        right=right,
        quantities=QUANTITIES
        | {
            n.K: Quantity("E"),
            n.N: Quantity(r"\bar N"),
            n.eta: Quantity(r"\eta", (-1, 2)),
            n.rho: Quantity(r"\rho", (-1, 2)),
            nu: Quantity(r"\nu", (1, -1), measured=True),
            Gamma: Quantity(r"\tfrac1T\sum_{t<T}\mathbb E\|\nabla F(\bar\theta^{(tE)})\|^2", (2, -2), measured=True),
            theorem.Delta: Quantity(r"(F(\bar\theta^{(0)})-F^*)", (1, 0), measured=True),
        },
        conditions=(
            Condition(EVERYONE.words, sp.Eq(n.kappa, 0), gives=EVERYONE.supplies),
            Condition("", theorem.SMALL_X),
            Condition("", theorem.SMALL_A, gives=("L A < 1",)),
            theorem.NAMED_X,
        ),
        prove=prove,
        runs=random_runs,
        keeps=(*EVERYTHING, "weights", "signed radii without normalisation"),
        method="globalfedsam",
        hypotheses=(
            smooth("F_k", " on every sample"),
            bounded_below(),
            dissimilar(r"\sum_kp_k", "at the averages", "F_k", "F", r"(\bar\theta^{(tE)})"),
            steps_along("E", r"\nabla F_k(\theta)"),
            OWN_RADII,
            NOISE_GIVEN_THE_PAST,
            noise_power(r"\sum_kp_k\mathbb E\|\zeta_k\|^2\le\sigma_l^2"),
            INDEPENDENT_CLIENTS,
            named(
                r"$\bar N=1/\max_kp_k$, a constant step $\eta$, server step $\eta_g$, $T$ averages, $A=E\eta_g\eta$, "
                r"$x=(E-1)L\eta$",
                "X",
            ),
            MEANS,
        ),
    )
