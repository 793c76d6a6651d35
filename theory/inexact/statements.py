"""The theorem and its corollaries as statements: sides, proof, runs of the real classes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import sympy as sp

from theory.inexact import runs, theorem
from theory.inexact.proof import Case
from theory.inexact.runs import Setting
from theory.inexact.theorem import QUANTITIES, Delta, Gamma, given, n
from theory.kit.hypotheses import (
    EVERYONE,
    INDEPENDENT_CLIENTS,
    MEANS,
    NOISE_GIVEN_THE_PAST,
    bounded_below,
    dissimilar,
    named,
    noise_power,
    small_radii,
    smooth,
    steps_along,
)
from theory.kit.statement import Condition, Quantity, Run, Statement

COUNT = 1000  # random problems per theorem
LONG = 200  # further ones with the printed number of rounds, 100 or more
EVERYTHING = ("minibatch noise", "heterogeneity", "any number of clients, local steps and dimensions")
ALL_ACTIVE = Condition(EVERYONE.words, sp.Eq(n.kappa, 0), gives=EVERYONE.supplies)
HALF = Condition("", theorem.SMALL_A, gives=("L A < 1",))


def small() -> tuple[Condition, ...]:
    """Small steps."""
    return Condition("", theorem.SMALL_X), HALF, theorem.NAMED_X


@cache
def _runs(method: str, partial_cohorts: bool, noise: bool) -> tuple[Run, ...]:
    draw = partial(runs.any_setting, cohorts=partial_cohorts, noise=noise)
    return runs.random_runs(method, COUNT, draw)


def with_cohorts(rng: np.random.Generator) -> Setting:
    """A setting of the theorem with drawn cohorts and noise."""
    return runs.any_setting(rng)


def with_everyone(rng: np.random.Generator) -> Setting:
    """The same with every client."""
    return runs.any_setting(rng, cohorts=False)


def without_noise(rng: np.random.Generator) -> Setting:
    """The same with every client and exact gradients."""
    return runs.any_setting(rng, cohorts=False, noise=False)


@cache
def _weighted(method: str) -> tuple[Run, ...]:
    """The runs of the corollary with cohorts, each with its own random weights a, s, theta."""
    rng = np.random.default_rng(1)
    weights = (dict(zip(("a", "s", "theta"), np.exp(rng.normal(0, 1, 3)), strict=True)) for _ in range(COUNT))
    return tuple({**run, **own} for run, own in zip(_runs(method, True, True), weights, strict=True))


def printed_setting(rng: np.random.Generator) -> Setting:
    """The step sizes of Fan et al.: eta_l = 1/(sqrt(T) E L), eta_g = sqrt(EN), T >= max(100, 4EN).

    Some runs have eight local steps: with two at most, (E - 1)/E is half of what the bound allows, and a halved term
    would follow from the proof's facts at every run.
    """
    clients, steps = int(rng.integers(1, 5)), int(rng.choice([1] * 15 + [2] * 4 + [8]))
    rounds = max(int(rng.choice([100, 100, 100, 144])), 4 * clients * steps)
    rho, noise = rng.choice([0.0, 0.1, 1.0, 3.0]), rng.choice([0.0, 0.0, 0.0, 1.0])
    return Setting(clients, clients, steps, rounds, 1 / (np.sqrt(rounds) * steps), np.sqrt(steps * clients), rho, noise)


@cache
def _printed(method: str) -> tuple[Run, ...]:
    found = runs.random_runs(method, LONG, printed_setting)
    return tuple({**run, "root_T": np.sqrt(run["T"]), "root_EN": np.sqrt(run["K"] * run["N"])} for run in found)


def general(method: str = "fedsam") -> Statement:
    """The theorem with its weights free."""
    left, right = theorem.general(Case())
    weights = {n.a: Quantity("a"), n.s: Quantity("s"), n.theta: Quantity(r"\theta")}
    return Statement(
        name="inexact-gradients",
        left=left,
        right=right,
        quantities=QUANTITIES | weights,
        conditions=(
            Condition("", sp.Lt(n.X, 1)),
            Condition("", sp.Lt(n.L * n.A, 1)),
            Condition(r"$a,s,\theta>0$"),
            theorem.NAMED_X,
        ),
        prove=theorem.prove_general,
        runs=partial(_weighted, method),
        keeps=(*EVERYTHING, "partial participation without replacement"),
        method=method,
        hypotheses=given(drawn=True),
        laws=partial(runs.laws, method, with_cohorts),
    )


def sampled(method: str = "fedsam") -> Statement:
    """The theorem with weights a = s = 1, theta = 1/2, for cohorts drawn without replacement."""
    left, right = theorem.general(theorem.numbers())
    return Statement(
        name="inexact-gradients-cohorts",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=small(),
        prove=theorem.prove_sampled,
        runs=partial(_runs, method, True, True),
        keeps=(*EVERYTHING, "partial participation without replacement"),
        method=method,
        hypotheses=given(drawn=True),
        laws=partial(runs.laws, method, with_cohorts),
    )


def full(method: str = "fedsam") -> Statement:
    """All clients active, minibatch noise."""
    left, right = theorem.divided(theorem.FULL, theorem.FULL_DIVISOR)
    return Statement(
        name="inexact-gradients-all-clients",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=(ALL_ACTIVE, *small()),
        prove=partial(theorem.prove_divided, theorem.FULL, theorem.FULL_DIVISOR),
        runs=partial(_runs, method, False, True),
        keeps=EVERYTHING,
        method=method,
        hypotheses=given(drawn=False),
        laws=partial(runs.laws, method, with_everyone),
    )


def exact(method: str = "fedsam") -> Statement:
    """All clients active, exact gradients: smaller constants."""
    left, right = theorem.divided(theorem.EXACT, theorem.EXACT_DIVISOR)
    return Statement(
        name="inexact-gradients-exact",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=(
            ALL_ACTIVE,
            Condition("", sp.Eq(n.sigma_l, 0), hidden=True),
            Condition("", theorem.SMALL_X),
            Condition("", sp.Lt(n.L * n.A, 1)),
            theorem.NAMED_X,
        ),
        prove=partial(theorem.prove_divided, theorem.EXACT, theorem.EXACT_DIVISOR),
        runs=partial(_runs, method, False, False),
        keeps=EVERYTHING[1:],
        scope="special case: exact gradients",
        method=method,
        hypotheses=given(drawn=False, noise=False),
        laws=partial(runs.laws, method, without_noise),
    )


def printed_steps(method: str = "fedsam") -> Statement:
    """Theorem 1 of Fan et al. with its own step sizes, corrected."""
    left, right = theorem.printed_steps()
    return Statement(
        name=f"inexact-gradients-printed-steps-{method}",
        left=left,
        right=right,
        quantities=QUANTITIES | {n.K: Quantity("E")},
        conditions=(
            Condition("", sp.Eq(n.eta, 1 / (sp.sqrt(n.T) * n.K * n.L))),
            Condition(r"$\eta_g=\sqrt{EN}$", sp.Eq(n.A, n.K * n.eta * sp.sqrt(n.K * n.N))),
            Condition("", sp.Ge(n.T, 100)),
            Condition("", sp.Ge(n.T, 4 * n.K * n.N), gives=("L A < 1",)),
            ALL_ACTIVE,
        ),
        prove=theorem.prove_printed_steps,
        runs=partial(_printed, method),
        keeps=EVERYTHING,
        method=method,
        hypotheses=given(drawn=False, names=r"$x=(E-1)L\eta_l$", count="E", more=("x",)),
        laws=partial(runs.laws, method, with_everyone),
        named={theorem.ROOT_T: sp.sqrt(n.T), theorem.ROOT_EN: sp.sqrt(n.K * n.N)},
    )


def thesis() -> Statement:
    """Theorem 2 of Al Kakoun: weights p_k, E local steps of eta between two averages, T averages."""
    plain = full()
    return replace(
        plain,
        name="inexact-gradients-thesis",
        quantities=QUANTITIES
        | {
            n.K: Quantity("E"),
            n.N: Quantity(r"\bar N"),
            n.eta: Quantity(r"\eta", (-1, 2)),
            Gamma: replace(QUANTITIES[Gamma], latex=r"\tfrac1T\sum_{t<T}\mathbb E\|\nabla F(\bar\theta^{(tE)})\|^2"),
            Delta: replace(QUANTITIES[Delta], latex=r"(F(\bar\theta^{(0)})-F^*)"),
        },
        keeps=(*EVERYTHING, "weights"),
        hypotheses=(
            smooth("F_k", " on every sample"),
            bounded_below(),
            dissimilar(r"\sum_kp_k", "at the averages", "F_k", "F", r"(\bar\theta^{(tE)})"),
            steps_along("E", r"\nabla F_k(\theta)"),
            small_radii(),
            NOISE_GIVEN_THE_PAST,
            noise_power(r"\sum_kp_k\mathbb E\|\zeta_k\|^2\le\sigma_l^2"),
            INDEPENDENT_CLIENTS,
            named(r"$\bar N=1/\max_kp_k$, a constant step $\eta$, $T$ averages, $A=E\eta$, $x=(E-1)L\eta$", "X"),
            MEANS,
        ),
        remark="Bounded gradients (A2) and A4 are not needed.",
    )
