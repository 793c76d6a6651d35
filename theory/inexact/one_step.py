r"""One local step a round: constants that cannot be improved.

Without local drift a round moves along the mean of the clients' gradients, each with an error of at most L rho, and
with exact gradients L A <= 1 gives Gamma <= 2 Delta/(A T) + L^2 rho^2. ``attained`` has an instance for each of the two
constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

import numpy as np
import sympy as sp

from theory.inexact import runs, theorem
from theory.inexact.proof import descent, round_vectors
from theory.inexact.runs import Setting
from theory.inexact.statements import ALL_ACTIVE, COUNT, HALF
from theory.inexact.theorem import F_NEXT, QUANTITIES, SQUARE, Delta, F, Gamma, n
from theory.kit.hypotheses import (
    EXACT_GRADIENTS,
    INDEPENDENT_CLIENTS,
    MEANS,
    NOISE_GIVEN_THE_PAST,
    bounded_below,
    cohorts,
    dissimilar,
    inexact,
    named,
    noise_power,
    one_local_step,
    smooth,
)
from theory.kit.proof import Proof, Step, Vector, square_of
from theory.kit.statement import Condition, Run, Statement

R = sp.Rational
CASE = theorem.numbers(K=sp.Integer(1), X=sp.Integer(0))
EXACT = theorem.numbers(K=sp.Integer(1), X=sp.Integer(0), sampled=False, noise=False)
NAMES = named(r"$A=\eta_g\eta_l$")


def sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides with noise and cohorts, for L A <= 1/2."""
    LA, error = n.L * n.A, n.L**2 * n.rho**2
    return Gamma, (
        2 * Delta / (n.A * n.T),
        (1 + 2 * n.kappa * LA) * error,
        2 * n.kappa * LA * (n.sigma_g**2 + n.sigma_l**2),
        2 * LA * n.sigma_l**2 / n.N,
    )


def exact_sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides with exact gradients of every client, for L A <= 1."""
    return Gamma, (2 * Delta / (n.A * n.T), n.L**2 * n.rho**2)


def wrong_gradient(proof: Proof, r: Vector) -> Step:
    """|r|^2 <= L^2 rho^2 for the error r of a client's one step."""
    size = proof.scalar("size_e")
    norm = proof.norm("norm size_e", size, r)
    bounded = proof.hypothesis("error", n.L * n.rho - size, "|e| <= L rho")
    return proof.combine("|r|^2", n.L**2 * n.rho**2 - square_of(r), [(n.L * n.rho + size, bounded), (1, norm)])


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """One round from its one local step, then the mean over the rounds."""
    proof = Proof("FedAvg with inexact local gradients, one local step a round")
    CASE.declare(proof)
    proof.hypothesis("L A < 1", 1 - n.L * n.A, "step size", ">")
    small_a = proof.hypothesis("L A <= 1/2", R(1, 2) - n.L * n.A, "step size")
    vectors = round_vectors(proof)
    wrong = wrong_gradient(proof, vectors["r"])
    power = proof.hypothesis("noise", n.sigma_l**2 - square_of(vectors["z"]), "E|zeta|^2 <= sigma_l^2")
    spread = proof.hypothesis(
        "heterogeneity", n.sigma_g**2 - square_of(vectors["b"]), "mean |grad F_i - grad F|^2 <= sigma_g^2"
    )
    proof.averaged("b has mean zero", vectors["G"], vectors["b"])
    _, rest = theorem.factors(left, right)
    target = F - F_NEXT - n.A / 2 * (SQUARE - rest)
    errors = spread, n.L**2 * n.rho**2, wrong
    one = descent(proof, target, CASE, small_a, vectors, {"z": power}, errors)
    theorem.over_rounds(proof, CASE, one, left, right)
    return proof


def prove_exact(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """The same without noise and cohorts, where the direction's own square pays for L A up to 1."""
    proof = Proof("FedAvg with inexact local gradients, one local step a round, exact gradients")
    EXACT.declare(proof)
    small_a = proof.hypothesis("L A <= 1", 1 - n.L * n.A, "step size")
    vectors = round_vectors(proof)
    G, b, m, r, _, _, d = vectors.values()
    before, after = proof.scalar("F", "real"), proof.scalar("F_next", "real")
    wrong = wrong_gradient(proof, r)
    mean = proof.averaged("m is the mean of r", m, r)
    jensen = proof.square("Jensen", r - m)
    along = proof.sampled_direction("everyone along G", G, d, G + b + r)
    length = proof.sampled_square("everyone", d, G + b + r, sp.Integer(0))
    smooth_f = proof.smooth_value("smoothness of F", after, before, G, -n.A * d, n.L)
    direction = proof.square("square of the direction", G + m)
    factor, rest = theorem.factors(left, right)
    one = proof.combine(
        "one round",
        F - F_NEXT - n.A / 2 * (factor * SQUARE - rest),
        [
            (1, smooth_f),
            (n.A, along),
            (-n.L * n.A**2 / 2, length),
            (n.A / 2, small_a, direction),
            (n.A / 2, jensen),
            (n.A, mean),
            (n.A / 2, wrong),
        ],
    )
    theorem.over_rounds(proof, EXACT, one, left, right)
    return proof


def attained(rounds: int) -> dict[str, tuple[Fraction, Fraction]]:
    """Left and right side of the theorem for exact gradients at F = w^2/2, by the constant that the instance needs.

    "start": from w = 1 one round of A = 1 without error. "radius": from w = rho = 1 the error -1 keeps the model where
    it is, for so many rounds; what the right side has beyond the left one falls as 1/rounds.
    """
    found = {}
    for name, step, error, count in (("start", 1, 0, 1), ("radius", 1, -1, rounds)):
        w, squares = Fraction(1), Fraction(0)
        for _ in range(count):
            squares += w * w
            w -= step * (w + error)
        found[name] = squares / count, 2 * Fraction(1, 2) / (step * count) + Fraction(error) ** 2
    return found


# ------------------------------------------------------------ runs


def setting(rng: np.random.Generator) -> Setting:
    """One local step, L A <= 1/2, cohorts and noise."""
    s = runs.any_setting(rng)
    return replace(s, steps=1, server=s.server * s.steps)


def exact_setting(rng: np.random.Generator) -> Setting:
    """One local step of every client, exact gradients, L A <= 1."""
    s = runs.any_setting(rng, cohorts=False, noise=False)
    return replace(s, steps=1, server=s.server * s.steps * rng.choice([1.0, 2.0]))


@cache
def random_runs(method: str, draw: Callable[[np.random.Generator], Setting], count: int = COUNT) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""
    found = runs.random_runs(method, count, draw)
    return tuple({name: value for name, value in run.items() if name not in ("X", "K")} for run in found)


def statement(method: str = "fedsam") -> Statement:
    """One local step with noise and cohorts."""
    left, right = sides()
    return Statement(
        name="inexact-gradients-one-step",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=(HALF,),
        prove=prove,
        runs=partial(random_runs, method, setting),
        keeps=(
            "minibatch noise",
            "heterogeneity",
            "partial participation without replacement",
            "any number of clients and dimensions",
        ),
        scope="special case: one local step",
        method=method,
        hypotheses=(
            smooth(),
            bounded_below(),
            dissimilar(),
            one_local_step(),
            inexact(drawn=True),
            NOISE_GIVEN_THE_PAST,
            noise_power(),
            INDEPENDENT_CLIENTS,
            cohorts(),
            NAMES,
            MEANS,
        ),
        laws=partial(runs.laws, method, setting),
    )


def exact(method: str = "fedsam") -> Statement:
    """One local step of every client, exact gradients: both constants are attained."""
    left, right = exact_sides()
    return Statement(
        name="inexact-gradients-one-step-exact",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=(ALL_ACTIVE, Condition("", sp.Le(n.L * n.A, 1))),
        prove=prove_exact,
        runs=partial(random_runs, method, exact_setting),
        keeps=("any heterogeneity", "any number of clients and dimensions", "weights"),
        scope="special case: one local step, exact gradients",
        method=method,
        hypotheses=(
            smooth(),
            bounded_below(),
            one_local_step(r"\nabla F_i(w^t)+e"),
            inexact(),
            replace(EXACT_GRADIENTS, supplies=()),
            NAMES,
            MEANS,
        ),
        laws=partial(runs.laws, method, exact_setting),
    )
