"""Decreasing steps and radius: the theorem on inexact local gradients with A_t, eta_t, rho_t of every round.

In the proof A, eta, X and rho are those of one round; no invariant of the loop over the rounds speaks of them, only of
their sums, so every round may have its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import sympy as sp

from theory.inexact import runs, theorem
from theory.inexact.proof import one_round
from theory.inexact.runs import NOISE_RUNS, Problem
from theory.inexact.theorem import F_NEXT, QUANTITIES, SQUARE, Delta, F, Gamma, given, n
from theory.kit.proof import Proof, Vector
from theory.kit.statement import Condition, Quantity, Run, Statement, drawn

R = sp.Rational
COUNT = 1000
NOTATION = (
    r"round $t$ has its own local step $\eta_t$, server step and radius $\rho_t$, $A_t=K\eta_{g,t}\eta_t$, "
    r"$x_t=(K-1)L\eta_t$"
)

#: sums over the rounds: of A, A^2, A x^2, A rho^2 and A x eta
SUMS = W, S_A, S_x, S_rho, S_eta = sp.symbols("W S_A S_x S_rho S_eta", nonnegative=True)
ADDED = dict(zip(SUMS, (n.A, n.A**2, n.A * n.X**2, n.A * n.rho**2, n.A * n.X * n.eta), strict=True))
FACTOR = 1 - (1 + n.kappa) / 54


def sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides, with x_t <= 1/10 and L A_t <= 1/2 used wherever they enter in products."""
    sampling = 1 + n.kappa
    return FACTOR * Gamma, (
        2 * Delta / W,
        R(50, 27) * sampling * n.sigma_g**2 * S_x / W,
        R(109, 54) * sampling * n.L**2 * S_rho / W,
        2 * n.kappa * n.L * (n.sigma_g**2 + n.sigma_l**2 / n.K) * S_A / W,
        R(100, 27) * sampling * n.L * n.sigma_l**2 * S_eta / W,
        2 * n.L * n.sigma_l**2 * S_A / (n.K * n.N * W),
    )


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """One round with its own steps, numbers for what is small, then the sum over the rounds."""
    case = theorem.numbers()
    proof, small_a, small_x = theorem.begin("FedAvg with inexact local gradients, steps and radius of each round", case)
    own_factor, own_rest = theorem.factors(*theorem.general(case))
    one = one_round(proof, F - F_NEXT - n.A / 2 * (own_factor * SQUARE - own_rest), case, small_a, small_x)
    square = proof.square("|G|^2", Vector({"G": sp.Integer(1)}))
    factor = sp.expand(left).coeff(Gamma)
    rest = sp.expand(W * sp.Add(*(term for term in right if not term.has(Delta))))
    added = rest.subs(ADDED, simultaneous=True)
    # (1 + kappa) - (1 + 2 kappa L A) = 2 kappa (1/2 - L A), and 1/100 - x^2 = (1/10 + x)(1/10 - x)
    error, noise = n.L**2 * n.rho**2, n.L * n.eta * n.sigma_l**2
    near = R(50, 27) * (1 + n.kappa) * (R(1, 10) + n.X)
    drift = R(50, 27) * 2 * n.kappa * n.X**2
    by_a = drift * n.sigma_g**2 + 2 * n.kappa * (2 + R(50, 27) * n.X**2) * error + R(200, 27) * n.kappa * n.X * noise
    round_step = proof.combine(
        "one round, with numbers",
        F - F_NEXT - (n.A * factor * SQUARE - added) / 2,
        [
            (1, one),
            (n.A / 2 * near, square, small_x),
            (n.A / 2 * drift, square, small_a),
            (n.A / 2 * by_a, small_a),
            (n.A / 2 * near * error, small_x),
        ],
    )
    start, best = proof.scalar("F_0", "real"), proof.scalar("F_star", "real")
    total = proof.scalar("G_sum")
    for name in ("Gamma", "Delta", *map(str, SUMS)):
        proof.scalar(name)
    loop = proof.loop(
        "rounds",
        {F: (start, F_NEXT), total: (0, total + n.A * SQUARE), **{s: (0, s + own) for s, own in ADDED.items()}},
        {
            "after every round": (
                start - F - (factor * total - rest) / 2,
                [(1, "after every round"), (1, round_step)],
            )
        },
    )
    bounded = proof.hypothesis("F is bounded below", F - best, "F(w^T) >= F^*")
    mean = proof.hypothesis("Gamma", Gamma - total / W, "Gamma names the mean weighted by A_t", "==")
    gap = proof.hypothesis("Delta", Delta - start + best, "Delta names F(w^0) - F^*", "==")
    proof.combine(
        "rate",
        sp.Add(*right) - left,
        [(2 / W, loop["after every round"]), (2 / W, bounded), (2 / W, gap), (-factor, mean)],
    )
    return proof


# ------------------------------------------------------------ runs


def measured(rng: np.random.Generator) -> dict[str, float]:
    """FedSAM, one round after the other, each with its own step sizes and radius, on one random problem."""
    s = runs.any_setting(rng)
    problem = Problem.draw(rng, s.clients, int(rng.integers(2, 5)))
    rounds = np.arange(1, s.rounds + 1)
    falls = {what: rounds ** -rng.choice([0.0, 0.5, 1.0]) for what in ("step", "radius")}
    eta, rho = s.local * falls["step"], s.rho * falls["radius"]
    A, X = s.steps * eta * s.server, (s.steps - 1) * eta
    squares, spreads = [], []
    chance = s.noise > 0 or s.active < s.clients
    for _ in range(NOISE_RUNS if chance else 1):
        path = runs.path("fedsam", problem, s, rng, eta, rho)
        gradients = np.stack([problem.gradients(w) for w in path[:-1]])
        mean = gradients.mean(axis=1)
        squares.append((mean**2).sum(axis=1) @ A / A.sum())
        spreads.append(((gradients - mean[:, None]) ** 2).sum(axis=2).mean(axis=1).max())
    return {
        "L": 1.0,
        "K": s.steps,
        "N": s.clients,
        "A": A[0],
        "eta": eta[0],
        "X": X[0],
        "kappa": (s.clients - s.active) / (s.active * max(s.clients - 1, 1)),
        "W": A.sum(),
        "S_A": (A**2).sum(),
        "S_x": (A * X**2).sum(),
        "S_rho": (A * rho**2).sum(),
        "S_eta": (A * X * eta).sum(),
        "sigma_g": float(np.sqrt(max(spreads))),
        "sigma_l": s.noise,
        "Gamma": float(np.mean(squares)),
        "Delta": problem.value(problem.start) - problem.infimum(),
    }


@cache
def random_runs(count: int = COUNT, seed: int = 0) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""
    return drawn(measured, "Gamma", count, seed)


def statement() -> Statement:
    """Any steps and radii, each round with its own; cohorts drawn without replacement, minibatch noise."""
    left, right = sides()
    sums = {
        W: Quantity(r"\sum_tA_t", (-1, 2)),
        S_A: Quantity(r"(\sum_tA_t^2)", (-2, 4)),
        S_x: Quantity(r"(\sum_tA_tx_t^2)", (-1, 2), measured=True),
        S_rho: Quantity(r"(\sum_tA_t\rho_t^2)", (-1, 4), measured=True),
        S_eta: Quantity(r"(\sum_tA_tx_t\eta_t)", (-2, 4), measured=True),
        n.A: Quantity("A_t", (-1, 2)),
        n.X: Quantity("x_t"),
    }
    weighted = r"\frac{\sum_{t<T}A_t\mathbb E\|\nabla F(w^t)\|^2}{\sum_tA_t}"
    return Statement(
        name="inexact-gradients-decreasing",
        left=left,
        right=right,
        quantities=QUANTITIES | sums | {Gamma: Quantity(weighted, (2, -2), measured=True)},
        conditions=(
            Condition("in every round", theorem.SMALL_X),
            Condition("", theorem.SMALL_A, gives=("L A < 1",)),
        ),
        prove=prove,
        runs=random_runs,
        keeps=(
            "steps and radius of every round",
            "minibatch noise",
            "heterogeneity",
            "partial participation without replacement",
            "any number of clients, local steps and dimensions",
        ),
        method="fedsam",
        hypotheses=given(True, names=NOTATION, radius=r"\rho_t"),
    )
