"""The theorem on FedAvg with inexact local gradients, and its corollaries, each as one ``Statement``.

The sides stand here once, as expressions: proofs, runs, LaTeX, figures and mutations take them from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from theory.inexact.proof import NAMES, Case, one_round
from theory.kit.hypotheses import (
    EXACT_GRADIENTS,
    INDEPENDENT_CLIENTS,
    MEANS,
    NOISE_GIVEN_THE_PAST,
    Hypothesis,
    bounded_below,
    cohorts,
    dissimilar,
    inexact,
    named,
    noise_power,
    smooth,
    steps_along,
)
from theory.kit.proof import Proof, Step, atom
from theory.kit.statement import Condition, Quantity

R = sp.Rational
n = NAMES
Gamma = sp.Symbol("Gamma", nonnegative=True)  # (1/T) sum E|grad F(w^t)|^2
Delta = sp.Symbol("Delta", nonnegative=True)  # F(w^0) - F^*
SQUARE = atom("G", "G")  # E|grad F(w^t)|^2 of one round
F, F_NEXT = sp.Symbol("F", real=True), sp.Symbol("F_next", real=True)

QUANTITIES = {
    n.L: Quantity("L", (1, -2)),
    n.K: Quantity("K"),
    n.N: Quantity("N"),
    n.T: Quantity("T"),
    n.A: Quantity("A", (-1, 2)),
    n.eta: Quantity(r"\eta_l", (-1, 2)),
    n.X: Quantity("x"),
    n.kappa: Quantity(r"\kappa"),
    n.rho: Quantity(r"\rho", (0, 1), measured=True),
    n.sigma_g: Quantity(r"\sigma_g", (1, -1), measured=True),
    n.sigma_l: Quantity(r"\sigma_l", (1, -1), measured=True),
    Gamma: Quantity(r"\tfrac1T\sum_{t<T}\mathbb E\|\nabla F(w^t)\|^2", (2, -2), measured=True),
    Delta: Quantity(r"(F(w^0)-F^*)", (1, 0), measured=True),
}
NOTATION = r"$A=K\eta_g\eta_l$, $x=(K-1)L\eta_l$"


def given(
    drawn: bool,
    noise: bool = True,
    names: str = NOTATION,
    radius: str = r"\rho",
    count: str = "K",
    round_: str = "t",
    more: tuple[str, ...] = (),
) -> tuple[Hypothesis, ...]:
    """What the theorem assumes beside the step sizes.

    drawn: cohorts are. names: what letters stand for. count: the number of local steps, round_: the index of a round.
    more: further steps of the proof that only name something.
    """
    random = (NOISE_GIVEN_THE_PAST, noise_power(), INDEPENDENT_CLIENTS) if noise else (EXACT_GRADIENTS,)
    return (
        smooth(),
        bounded_below(),
        dissimilar(point=f"(w^{round_})"),
        steps_along(count),
        inexact(radius, drawn),
        *random,
        *([cohorts()] if drawn else []),
        named(names, "X", *more),
        MEANS,
    )


NAMED_X = Condition("", sp.Eq(n.X, (n.K - 1) * n.L * n.eta), hidden=True)
SMALL_X, SMALL_A = sp.Le(n.X, R(1, 10)), sp.Le(n.L * n.A, R(1, 2))


def factors(left: sp.Expr, right: Sequence[sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
    """(factor of Gamma on the left, right side without the term in Delta)."""
    return sp.expand(left).coeff(Gamma), sp.Add(*(term for term in right if not term.has(Delta)))


def general(case: Case) -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Sides of the theorem in a case; its weights a, s, theta are those of Young's inequality, any positive numbers."""
    n = case.names
    error, LA = n.L * n.rho, n.L * n.A
    sampling = 1 + (1 + 1 / n.s) * n.kappa * LA if case.sampled else sp.Integer(1)
    growth = case.growth or 1 / (1 - n.X)
    drift = (1 + 1 / n.a) * (1 + (n.theta if case.noise else 0)) / 2 * growth**2
    right = [
        2 * Delta / (n.A * n.T),
        sampling * drift * n.X**2 * n.sigma_g**2,
        sampling * (1 + n.a + drift * n.X**2) * error**2,
    ]
    if case.sampled:
        right.append((1 + n.s) * n.kappa * LA * (n.sigma_g**2 + case.power))
    if case.noise:
        noise = (1 + 1 / n.a) * (1 + 1 / n.theta) / 2 * growth**2
        right.append(sampling * noise * n.X * n.L * n.eta * n.sigma_l**2)
    if case.power != 0:
        right.append((2 * LA if case.growth else LA / (1 - LA)) * n.sigma_l**2 / (n.N * n.K))
    return (1 - sampling * drift * n.X**2) * Gamma, tuple(right)


def telescope(proof: Proof, case: Case, small_a: Step, small_x: Step, left: sp.Expr, right: Sequence[sp.Expr]) -> Step:
    """One round, then the mean over T rounds with constant steps: right - left >= 0."""
    factor, rest = factors(left, right)
    target = F - F_NEXT - case.names.A / 2 * (factor * SQUARE - rest)
    return over_rounds(proof, case, one_round(proof, target, case, small_a, small_x), left, right)


def over_rounds(proof: Proof, case: Case, one: Step, left: sp.Expr, right: Sequence[sp.Expr]) -> Step:
    """The mean over T rounds, each of which falls as ``one`` says: right - left >= 0."""
    n = case.names
    factor, rest = factors(left, right)
    start, best = proof.scalar("F_0", "real"), proof.scalar("F_star", "real")
    rounds, total = proof.scalar("t"), proof.scalar("G_sum")
    proof.scalar("Gamma"), proof.scalar("Delta")
    loop = proof.loop(
        "rounds",
        {rounds: (0, rounds + 1), F: (start, F_NEXT), total: (0, total + SQUARE)},
        {
            "after t rounds": (
                start - F - n.A / 2 * (factor * total - rounds * rest),
                [(1, "after t rounds"), (1, one)],
            )
        },
    )
    at_end = proof.instance("after T rounds", loop["after t rounds"], {rounds: n.T})
    bounded = proof.hypothesis("F is bounded below", F - best, "F(w^T) >= F^*")
    mean = proof.hypothesis("Gamma", Gamma - total / n.T, "Gamma names the mean over the rounds", "==")
    gap = proof.hypothesis("Delta", Delta - start + best, "Delta names F(w^0) - F^*", "==")
    share = 2 / (n.A * n.T)
    return proof.combine(
        "rate", sp.Add(*right) - left, [(share, at_end), (share, bounded), (share, gap), (-factor, mean)]
    )


def prove_general(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the theorem with its weights as free positive symbols."""
    proof, case = Proof("FedAvg with inexact local gradients"), Case()
    case.declare(proof)
    small_a = proof.hypothesis("L A < 1", 1 - n.L * n.A, "step size", ">")
    small_x = proof.hypothesis("X < 1", 1 - n.X, "local step size", ">")
    telescope(proof, case, small_a, small_x, left, right)
    return proof


#: weights of the corollaries: one half of the floor's room for the drift, noise against drift 3 : 3
WEIGHTS = {"a": sp.Integer(1), "s": sp.Integer(1), "theta": R(1, 2)}
GROWTH = R(10, 9)  # 1/(1 - x) for x <= 1/10


def numbers(**changes: Any) -> Case:
    """A case with the weights as numbers and x <= 1/10, L A <= 1/2."""
    names = {key: changes.pop(key) for key in list(changes) if hasattr(NAMES, key)}
    names = {**WEIGHTS, **names, **({} if changes.get("sampled", True) else {"kappa": sp.Integer(0)})}
    return Case(replace(NAMES, **names), GROWTH, **changes)


def begin(title: str, case: Case) -> tuple[Proof, Step, Step]:
    """A proof with the conditions of ``numbers``: (proof, L A <= 1/2, x <= 1/10); L A < 1 is enough without noise."""
    proof = Proof(title)
    case.declare(proof)
    names = case.names
    small_a = proof.hypothesis("L A < 1", 1 - names.L * names.A, "step size", ">")
    if case.power != 0:
        small_a = proof.hypothesis("L A <= 1/2", R(1, 2) - names.L * names.A, "step size")
    return proof, small_a, proof.hypothesis("X <= 1/10", R(1, 10) - names.X, "local step size")


def prove_sampled(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the corollary with drawn cohorts."""
    case = numbers()
    proof, small_a, small_x = begin("FedSAM, cohorts without replacement", case)
    telescope(proof, case, small_a, small_x, left, right)
    return proof


def prove_divided(case: Case, divisor: sp.Rational, left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of a corollary for all clients, with the left factor 1 - c x^2 >= ``divisor`` divided away."""
    proof, small_a, small_x = begin("FedAvg with inexact local gradients, every client active", case)
    rate = telescope(proof, case, small_a, small_x, *general(case))
    error = case.names.L * case.names.rho
    spare = (1 - divisor) * 100 / divisor * (R(1, 10) + case.names.X)
    proof.combine("corollary", sp.Add(*right) - left, [(1 / divisor, rate), (spare * (Gamma + error**2), small_x)])
    return proof


def divided(case: Case, divisor: sp.Rational) -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Sides of a corollary for all clients: x <= 1/10 in the left factor and in the floor, then divided."""
    _, right = general(case)
    error = (case.names.L * case.names.rho) ** 2
    floor = 2 / divisor + (1 - divisor) / divisor
    terms = [floor * error if term.has(case.names.rho) else sp.expand(term / divisor) for term in right]
    return Gamma, tuple(terms)


FULL, EXACT = numbers(sampled=False), numbers(sampled=False, noise=False)
FULL_DIVISOR, EXACT_DIVISOR = R(53, 54), R(80, 81)

# ------------------------------------------------------------ the step sizes of Fan et al.: eta_l = 1/(sqrt(T) E L)

ROOT_T, ROOT_EN = sp.Symbol("root_T", positive=True), sp.Symbol("root_EN", positive=True)
PRINTED_STEPS = numbers(
    sampled=False,
    eta=1 / (ROOT_T * n.K * n.L),
    A=ROOT_EN / (n.L * ROOT_T),
    N=ROOT_EN**2 / n.K,
    T=ROOT_T**2,
)


def printed_steps() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Sides for eta_l = 1/(sqrt(T) E L), eta_g = sqrt(EN), T >= max(100, 4EN), K = E local steps, every client."""
    whole = sp.sqrt(n.T * n.K * n.N)
    return Gamma, (
        R(108, 53) * n.L * Delta / whole,
        R(108, 53) * n.sigma_l**2 / whole,
        R(200, 53) * n.sigma_l**2 / (n.K * n.T),
        R(100, 53) * n.sigma_g**2 / n.T,
        R(109, 53) * n.L**2 * n.rho**2,
    )


def prove_printed_steps(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the corollary with printed step sizes, from the one for all clients."""
    case, proof = PRINTED_STEPS, Proof("FedLESAM and FedSAM with the printed step sizes")
    case.declare(proof)
    many = proof.hypothesis("T >= 4EN", ROOT_T - 2 * ROOT_EN, "number of rounds")
    long = proof.hypothesis("T >= 100", ROOT_T - 10, "number of rounds")
    proof.hypothesis("L A < 1", 1 - ROOT_EN / ROOT_T, "T >= 4EN", ">")
    named = proof.hypothesis("x", n.X - (n.K - 1) / (n.K * ROOT_T), "x names (E - 1) L eta_l", "==")
    small_a = proof.combine("L A <= 1/2", R(1, 2) - ROOT_EN / ROOT_T, [(1 / (2 * ROOT_T), many)])
    below = proof.combine("x <= 1/sqrt(T)", 1 / ROOT_T - n.X, [(1 / (n.K * ROOT_T),), (-1, named)])
    small_x = proof.combine("X <= 1/10", R(1, 10) - n.X, [(1 / (10 * ROOT_T), long), (1, below)])
    rate = telescope(proof, case, small_a, small_x, *general(case))
    floor = Gamma + n.L**2 * n.rho**2
    target = (sp.Add(*right) - left).subs({n.T: ROOT_T**2, n.N: ROOT_EN**2 / n.K})
    proof.combine(
        "corollary",
        target,
        [
            (1 / FULL_DIVISOR, rate),
            (R(100, 53) * (R(1, 10) + n.X) * floor, small_x),
            (R(100, 53) * (1 / ROOT_T + n.X) * n.sigma_g**2, below),
            (R(200, 53) / (n.K * ROOT_T) * n.sigma_l**2, below),
        ],
    )
    return proof
