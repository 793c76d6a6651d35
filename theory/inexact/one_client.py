r"""What the local steps of one client do, in the space of its own randomness.

Client i starts a round at w with the gradient G_i and makes K_i steps along grad F_i + e + zeta. u = G_i + r + z is the
mean of what it moved along: r the mean of (change of the gradient + e), z the mean of zeta. Two bounds, on E|r|^2 and
E|z|^2, stand in one inequality with free weights; ``unequal`` takes both in the mean over clients that make different
numbers of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np
import sympy as sp
import torch
from torch import Tensor

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.inexact import theorem
from theory.inexact.proof import local_steps, wrong_gradients
from theory.inexact.runs import Problem
from theory.inexact.statements import COUNT
from theory.inexact.theorem import QUANTITIES
from theory.kit.hypotheses import (
    NOISE_GIVEN_THE_PAST,
    inexact,
    named,
    noise_power,
    smooth,
    steps_along,
)
from theory.kit.proof import Proof, Step, Vector, atom, square_of
from theory.kit.statement import Condition, Quantity, Run, Statement, drawn

R = sp.Rational
CASE = theorem.numbers()
n = CASE.names
#: the client's own numbers of steps and drift; n.X is that of the client with the most steps
K_I, X_I = sp.Symbol("K_i", positive=True), sp.Symbol("X_i", nonnegative=True)
#: |G_i|^2, E|r|^2, E|z|^2, and the weights of the two bounds
SLOPE, WRONG, QUIET = (sp.Symbol(name, nonnegative=True) for name in ("slope", "wrong", "quiet"))
A, S = (sp.Symbol(name, positive=True) for name in ("a", "s"))
#: what the two bounds are called
GRADIENTS, NOISE = "local gradients", "local noise"


def most(slope: sp.Expr, x: sp.Expr) -> sp.Expr:
    """Bound on |r_i|^2, the wrong part of a client's mean gradient. slope: bound on its squared gradient; x: of X_i."""
    error = n.L**2 * n.rho**2
    return R(50, 27) * x**2 * (slope + error) + R(100, 27) * x * n.L * n.eta * n.sigma_l**2 + 2 * error


@cache
def client() -> tuple[Proof, Step, Step]:
    """(proof, ``most`` - |r_i|^2 >= 0, sigma_l^2/K_i - |z_i|^2 >= 0) for any client.

    Its own K_i and X_i = (K_i - 1) L eta_l <= X; every symbol but K_i and X_i is the same for all clients.
    """
    own = replace(n, K=K_I, X=X_I)
    proof, case = Proof("local steps of one client"), replace(CASE, names=own)
    case.declare(proof)
    proof.scalar("X")
    proof.vector("G"), proof.vector("r", time=1), proof.vector("z", time=1, noise=True)
    slope = Vector({"G": sp.Integer(1)})  # the client's own gradient at the round's model
    small = proof.hypothesis("X <= 1/10", R(1, 10) - n.X, "local step size")
    fewer = proof.hypothesis("X_i <= X", n.X - own.X, "K_i <= max K_i")
    near = proof.combine("X_i <= 1/10", R(1, 10) - own.X, [(1, small), (1, fewer)])
    local = local_steps(proof, own, slope)
    _, wrong = wrong_gradients(proof, case, local, near, square_of(slope), [(-1, proof.steps["norm g"])])
    long = proof.square("|g_i|^2", slope)
    square = R(50, 27) * (n.X + own.X)
    noise = R(100, 27) * n.L * n.eta * n.sigma_l**2
    bound = proof.combine(
        GRADIENTS,
        most(square_of(slope), n.X) - square_of(Vector({"r": sp.Integer(1)})),
        [(1, wrong), (square, fewer, long), (square * n.L**2 * n.rho**2 + noise, fewer)],
    )
    return proof, bound, local["z"]


# ------------------------------------------------------------ the statement


def sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides."""
    error, slope = n.L**2 * n.rho**2, R(50, 27) * n.X**2
    return A * WRONG + S * QUIET, (
        slope * A * SLOPE,
        A * (2 + slope) * error,
        R(100, 27) * A * n.X * n.L * n.eta * n.sigma_l**2,
        S * n.sigma_l**2 / K_I,
    )


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """The two bounds of ``client``, weighted and added."""
    proof, gradients, noise = client.__wrapped__()
    proof.scalar("a", "positive"), proof.scalar("s", "positive")
    meant = {SLOPE: "G", WRONG: "r", QUIET: "z"}
    names = {}
    for symbol, vector in meant.items():
        proof.scalar(symbol.name)
        names[symbol] = proof.hypothesis(symbol.name, symbol - atom(vector, vector), f"names E|{vector}|^2", "==")
    slope = sp.expand(sp.Add(*right)).coeff(SLOPE)
    proof.combine(
        "both bounds",
        sp.Add(*right) - left,
        [(A, gradients), (S, noise), (slope, names[SLOPE]), (-A, names[WRONG]), (-S, names[QUIET])],
    )
    return proof


NAMES = (
    r"$r$ is the mean over the $K_i$ steps of (change of $\nabla F_i$ since the round's model $w^t$, plus $e$), "
    r"$z$ that of $\zeta$; $x=(\max_iK_i-1)L\eta_l$; $a,s>0$ are any weights"
)


def statement(method: str = "fedsam") -> Statement:
    """What K_i local steps of one client do, beside its gradient at the round's model."""
    left, right = sides()
    own = {
        K_I: Quantity("K_i"),
        SLOPE: Quantity(r"\|\nabla F_i(w^t)\|^2", (2, -2), measured=True),
        WRONG: Quantity(r"\mathbb E\|r\|^2", (2, -2), measured=True),
        QUIET: Quantity(r"\mathbb E\|z\|^2", (2, -2), measured=True),
        A: Quantity("a"),
        S: Quantity("s"),
    }
    return Statement(
        name="inexact-gradients-one-client",
        left=left,
        right=right,
        quantities=QUANTITIES | own,
        conditions=(Condition("", sp.Le(n.X, R(1, 10))),),
        prove=prove,
        runs=partial(random_runs, method),
        keeps=("minibatch noise", "any number of local steps and dimensions"),
        method=method,
        hypotheses=(
            smooth(),
            steps_along("K_i"),
            inexact(),
            NOISE_GIVEN_THE_PAST,
            noise_power(),
            named(NAMES, "X", "X_i <= X", *(symbol.name for symbol in (SLOPE, WRONG, QUIET))),
        ),
    )


# ------------------------------------------------------------ runs


def measured(method: str, rng: np.random.Generator) -> Run:
    """Values of the theorem's symbols for one client of the package's own class, in one round.

    A step's noise is one vector or its opposite, with even chances: all outcomes are run, so that means are exact.
    """
    steps, size = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    longest = steps + int(rng.choice([0, 0, 1, 3]))
    local = float(rng.choice([1.0, rng.uniform(0.1, 1)])) * 0.1 / max(longest - 1, 1)
    rho, noise = float(rng.choice([0.0, 0.05, 0.5, 2.0])), float(rng.choice([0.0, 0.1, 1.0]))
    problem = Problem.draw(rng, 1, size)
    directions = rng.normal(size=(steps, size))
    away = noise * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    slope = problem.gradients(problem.start)[0]
    outcomes = product((1.0, -1.0), repeat=steps) if noise else [(1.0,) * steps]
    wrong, quiet = [], []
    for signs in outcomes:
        zeta = np.array(signs)[:, None] * away
        z = zeta.mean(axis=0)
        u = moved_along(method, problem, zeta, local, rho)
        wrong.append(((u - slope - z) ** 2).sum())
        quiet.append((z**2).sum())
    a, s = np.exp(rng.normal(0, 1, 2))
    return {
        "L": 1.0,
        "K_i": steps,
        "X": (longest - 1) * local,
        "eta": local,
        "rho": rho,
        "sigma_l": noise,
        "slope": float(slope @ slope),
        "wrong": float(np.mean(wrong)),
        "quiet": float(np.mean(quiet)),
        "a": a,
        "s": s,
    }


def moved_along(method: str, problem: Problem, zeta: np.ndarray, local: float, rho: float) -> np.ndarray:
    """Mean [d] of what the local steps moved along; zeta: the noise of every step [K, d]."""
    noise, steps = torch.as_tensor(zeta), len(zeta)

    def gradient(W: Tensor, index: Tensor, t: int, k: int) -> Tensor:
        return torch.as_tensor(problem.gradients(W.numpy(), index.numpy())) + noise[k]

    start = torch.as_tensor(problem.start)
    algorithm = build(method, rho=rho, server_lr=1.0)
    models = simulate(algorithm, gradient, start, 1, 1, steps=steps, lr=local, cohorts=[[0]])
    return np.asarray((models[0] - models[1]).numpy()) / (steps * local)


@cache
def random_runs(method: str, count: int = COUNT) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""
    return drawn(partial(measured, method), "slope", count, seed=0)
