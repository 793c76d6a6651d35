"""The strongly convex theorem: last iterate of FedAvg with inexact local gradients and steps that decrease as 1/t.

The thesis' Theorem 1 with its misprints corrected, and more: E local steps of eta_t = 2/(E mu (t + gamma + 2)) in round
t, so that A = E eta_t. Neither bounded gradients nor a radius tied to the distance (A2, A4) is needed, clients need not
be convex, and cohorts may be drawn. o = w^t - w^* is the distance, F the expected value at w^t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import sympy as sp

from theory.inexact import runs
from theory.inexact.proof import (
    NAMES,
    Case,
    between_clients,
    local_steps,
    mean_direction,
    round_vectors,
    wrong_gradients,
)
from theory.inexact.runs import NOISE_RUNS, Problem, Setting
from theory.inexact.theorem import GROWTH, QUANTITIES, R, n
from theory.kit.hypotheses import (
    INDEPENDENT_CLIENTS,
    NOISE_GIVEN_THE_PAST,
    Hypothesis,
    cohorts,
    dissimilar,
    inexact,
    named,
    noise_power,
    smooth,
    steps_along,
)
from theory.kit.proof import Proof, Step, Vector, dot, square_of
from theory.kit.statement import Condition, Quantity, Run, Statement, drawn

COUNT = 1000
STRONGLY_CONVEX = Hypothesis(
    "strongly convex",
    r"$F=\frac1N\sum_iF_i$ is $\mu$-strongly convex with minimiser $w^*$",
    ("strongly convex", "growth", "least value"),
)
STEPS = (
    r"round $t$ has the local step $\eta_t=\frac2{E\mu(t+\gamma+2)}$ and the server takes the mean; where every client "
    r"is active, weights $p_i$ may stand for $\frac1N$, with $N=1/\max_ip_i$"
)
mu, gamma = sp.symbols("mu gamma", positive=True)
t, more = sp.symbols("t more", nonnegative=True)  # more: E - 1
Gap, D0 = sp.symbols("Gap D_0", nonnegative=True)  # E F(w^T) - F^*, |w^0 - w^*|^2
AGE = t + gamma + 2
STEP = 2 / (mu * AGE)
CASE = Case(
    replace(
        NAMES,
        K=1 + more,
        A=STEP,
        eta=STEP / (1 + more),
        X=more / (1 + more) * n.L * STEP,
        a=R(1, 2),
        s=sp.Integer(1),
        theta=R(1, 2),
    ),
    GROWTH,
)
#: how much of |r|^2 a round's distance feels: 2A/mu + 5A^2 <= (5/2) A/mu
WEIGHT = R(5, 2)


def sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides of the theorem."""
    end = (n.T + gamma) * (n.T + gamma + 1)
    share, drift = 4 * n.L * n.T / (mu**2 * end), n.L**3 * n.T / (mu**4 * (gamma + 2) * end)
    local = 1 - 1 / n.K
    return Gap, (
        n.L * gamma * (gamma + 1) * D0 / (2 * end),
        share * n.sigma_l**2 / (n.K * n.N),
        share * n.kappa * (n.sigma_g**2 + n.sigma_l**2 / n.K),
        R(250, 9) * local**2 * drift * n.sigma_g**2,
        R(500, 9) * local * drift * n.sigma_l**2 / n.K,
        R(275, 144) * n.L**3 * n.rho**2 / mu**2,
    )


def factors(right: Sequence[sp.Expr]) -> list[sp.Expr]:
    """What the terms behind the first are multiplied with in ``right``; 0 for one that is dropped."""
    own = sides()[1]
    if len(right) < len(own):
        return [sp.Integer(term in right) for term in own[1:]]
    return [sp.cancel(new / old) for new, old in zip(right[1:], own[1:], strict=True)]


def one_round(proof: Proof, small: Sequence[Step], local_small: Step, by: Sequence[sp.Expr]) -> Step:
    """(1 - mu A)|o|^2 + noise - |o - A d|^2 >= 0, each part of the noise multiplied ``by`` the factor of its term.

    small: L A <= 1/10, mu <= L, kappa <= 1, x <= 1/10. local_small: 24 L x^2 <= mu.
    """
    v = CASE.names
    small_a, below, share, small_x = small
    vectors = round_vectors(proof)
    G, b, m, r, noise, z, d = vectors.values()
    o, A, L = proof.norms[sp.Symbol("dist", nonnegative=True)], v.A, v.L
    local = local_steps(proof, v)
    spread = proof.hypothesis("heterogeneity", v.sigma_g**2 - square_of(b), "mean |grad F_i - grad F|^2 <= sigma_g^2")
    centred = proof.averaged("b has mean zero", G, b)
    steep = [(1, spread), (-1, proof.steps["norm g"]), (-2, centred)]
    r_squared, wrong = wrong_gradients(proof, CASE, local, small_x, square_of(G) + v.sigma_g**2, steep)
    bias, small_noise = mean_direction(proof, v, vectors, local)
    between = between_clients(proof, v, vectors, local, spread, r_squared, wrong)
    # strong convexity of F, and F at w - G/L
    here, low, best = (proof.scalar(name, "real") for name in ("F", "F_low", "F_star"))
    convex = proof.hypothesis(
        "strongly convex", (G_o := dot(G, o)) - here + best - mu / 2 * square_of(o), "at w^t, towards w^*"
    )
    grows = proof.hypothesis("growth", here - best - mu / 2 * square_of(o), "strong convexity at w^*, where grad F = 0")
    least = proof.hypothesis("least value", low - best, "F >= F^*")
    down = proof.smooth_value("smoothness of F", low, here, G, -1 / L * G, L)
    steepest = proof.combine("slope against value", here - best - square_of(G) / (2 * L), [(1, down), (1, least)])
    inner = proof.combine(
        "slope along the distance",
        2 * G_o - R(3, 2) * mu * square_of(o) - square_of(G) / (2 * L),
        [(2, convex), (1, grows), (1, steepest)],
    )
    # the cohort's direction
    u = G + b + r + z
    along = proof.sampled_direction("cohort along o", o, d, u)
    length = proof.sampled_square("cohort", d, u, v.kappa)
    free_o, free_g = proof.unbiased("n against o", noise, o), proof.unbiased("n against G", noise, G)
    young_o = proof.square("Young against the distance", o + 2 / mu * m)
    young_g, young_n = proof.square("slope against error", G - m), proof.square("error against noise", m - noise)
    rest = sp.expand(r_squared).subs(square_of(G), 0)
    steep_square = proof.square("|G|^2", G)
    parts = zip((v.sigma_g, v.sigma_l, v.rho), by[2:], strict=True)
    lost = WEIGHT * A / mu * sp.Add(*(f * rest.coeff(x, 2) * x**2 for x, f in parts)) + A**2 * own_noise(by)
    drift = R(25, 9) * v.X**2
    return proof.combine(
        "one round",
        (1 - mu * A) * square_of(o) + lost - square_of(o - A * d),
        [
            (A, inner),
            (2 * A, along),
            (2 * A, free_o),
            (A * mu / 2, young_o),
            (2 * A / mu, bias),
            (2 * A / mu, wrong),
            (-(A**2), length),
            (-2 * A**2, free_g),
            (A**2, young_g),
            (A**2, young_n),
            (3 * A**2, bias),
            (3 * A**2, wrong),
            (2 * A**2, small_noise),
            (A**2 * v.kappa, between),
            *((5 * A / mu * rest * f, *s) for f, *s in [(1, small_a), (A, below)]),
            (2 * A**2 * rest, share),
            *((5 * A / mu * drift * f, steep_square, *s) for f, *s in [(1, small_a), (A, below)]),
            (2 * A**2 * drift, steep_square, share),
            (2 * A / L, steep_square, small_a),
            (R(3, 10) * A / (L * mu), steep_square, local_small),
            (R(23, 90) * A / mu * v.X**2, steep_square),
        ],
    )


def own_noise(by: Sequence[sp.Expr]) -> sp.Expr:
    """What minibatches and cohorts add to the square of the direction."""
    v = CASE.names
    return 2 * by[0] * v.sigma_l**2 / (v.K * v.N) + 2 * by[1] * v.kappa * (v.sigma_g**2 + v.sigma_l**2 / v.K)


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """One round, then the sum over the rounds with the weights (t + gamma)(t + gamma + 1)."""
    proof, v = Proof("FedAvg with inexact local gradients, F strongly convex, steps that decrease as 1/t"), CASE.names
    CASE.declare(proof)
    for symbol in (t, Gap, D0):
        proof.scalar(symbol.name)
    early = proof.hypothesis("gamma + 2 >= 20 L/mu", mu * (gamma + 2) - 20 * v.L, "first step")
    slow = proof.hypothesis(
        "local steps", mu**3 * (gamma + 2) ** 2 * v.K**2 - 96 * more**2 * v.L**3, "24 L x^2 <= mu at the first step"
    )
    below = proof.hypothesis("mu <= L", v.L - mu, "strong convexity and smoothness of one F")
    share = proof.hypothesis("kappa <= 1", 1 - v.kappa, "(N-S)/(S(N-1)) is at most 1")
    small_a = proof.combine("L A <= 1/10", R(1, 10) - v.L * v.A, [(1 / (10 * mu * AGE), early), (t / (10 * AGE),)])
    small_x = proof.combine("x <= 1/10", R(1, 10) - v.X, [(1, small_a), (v.L * v.A / v.K,)])
    local_small = proof.combine(
        "24 L x^2 <= mu",
        mu - 24 * v.L * v.X**2,
        [(1 / (mu**2 * AGE**2 * v.K**2), slow), (mu * t * (t + 2 * gamma + 4) / AGE**2,)],
    )
    size, size_next = proof.scalar("dist"), proof.scalar("dist_next")
    o = proof.vector("o")
    distance = proof.norm("norm dist", size, o)
    after = proof.norm("norm dist_next", size_next, o - v.A * Vector({"d": sp.Integer(1)}))
    by = factors(right)
    one = one_round(proof, (small_a, below, share, small_x), local_small, by)
    start = proof.scalar("d_0")
    w = (t + gamma) * (t + gamma + 1)
    noise, x = own_noise(by), more / v.K
    late = R(500, 9) * (by[2] * x**2 * v.sigma_g**2 + 2 * by[3] * x / v.K * v.sigma_l**2) * v.L**2 / mu**4
    sums = 4 * noise / mu**2 + late / (gamma + 2)
    floor = R(275, 36) * by[4] * v.L**2 * v.rho**2 / mu**2
    keep = (t + gamma + 1) * AGE
    spare = noise * 4 / (mu**2 * AGE)
    loop = proof.loop(
        "rounds",
        {t: (0, t + 1), size: (start, size_next)},
        {
            "after t rounds": (
                gamma * (gamma + 1) * start**2 + t * sums + t * (t + 2 * gamma + 1) / 2 * floor - w * size**2,
                [
                    (1, "after t rounds"),
                    (keep, one),
                    (w, distance),
                    (-keep, after),
                    (spare,),
                    (late * (t / ((gamma + 2) * AGE) + 1 / AGE**2),),
                    (keep * WEIGHT * v.A / mu * by[4] * v.L**2 * v.rho**2 * R(25, 9) * (R(1, 10) + v.X), small_x),
                ],
            )
        },
    )
    at_end = proof.instance("after T rounds", loop["after t rounds"], {t: n.T})
    last, best = proof.scalar("F_end", "real"), sp.Symbol("F_star", real=True)
    value = proof.smooth_value("F at the end", last, best, Vector(), o, v.L)
    named = proof.hypothesis("Gap", Gap - last + best, "Gap names E F(w^T) - F^*", "==")
    first = proof.hypothesis("D_0", D0 - start**2, "D_0 names |w^0 - w^*|^2", "==")
    end = (n.T + gamma) * (n.T + gamma + 1)
    half = v.L / (2 * end)
    target = (sp.Add(*right) - left).subs(n.K, v.K)
    proof.combine(
        "rate",
        target,
        [
            (half, at_end),
            (1, value),
            (v.L / 2, distance),
            (-1, named),
            (half * gamma * (gamma + 1), first),
            (half * gamma * (gamma + 1) / 2 * floor,),
        ],
    )
    return proof


# ------------------------------------------------------------ runs


def convex(problem: Problem) -> tuple[Problem, float]:
    """A strongly convex F of the family, quadratic where cosines would leave less than mu = 1/10; with its mu."""
    least = ((1 - problem.share) * problem.curvature - problem.share).mean(axis=0).min()
    if least >= 0.1:
        return problem, float(least)
    flat = replace(problem, share=0 * problem.share, curvature=np.maximum(abs(problem.curvature), 0.3))
    return flat, float(flat.curvature.mean(axis=0).min())


def measured(rng: np.random.Generator) -> dict[str, float]:
    """FedSAM with the theorem's steps on one random problem, from the edge of the conditions on gamma or far inside.

    t: a round at which mutated proofs are asked for other multipliers.
    """
    clients, steps = int(rng.integers(1, 6)), int(rng.choice([1, 1, 2, 4]))
    active = int(rng.integers(1, clients + 1))
    problem, convexity = convex(Problem.draw(rng, clients, int(rng.integers(2, 5))))
    least = max(20 / convexity, np.sqrt(96 / convexity**3) * (1 - 1 / steps)) - 2
    first = least * rng.choice([1.0, 1.0, 3.0])
    rounds, rho = int(rng.choice([1, 2, 8, 32], p=[0.4, 0.3, 0.25, 0.05])), rng.choice([0.0, 0.05, 0.5, 2.0])
    noise = rng.choice([0.0, 0.0, 0.1, 1.0])
    eta = 2 / (steps * convexity * (np.arange(rounds) + first + 2))
    setting = Setting(clients, active, steps, rounds, eta[0], 1.0, rho, noise)
    best, gaps, spreads = problem.minimiser(), [], []
    for _ in range(NOISE_RUNS if noise > 0 or active < clients else 1):
        path = runs.path("fedsam", problem, setting, rng, eta, np.full(rounds, rho))
        gradients = np.stack([problem.gradients(w) for w in path[:-1]])
        spreads.append(((gradients - gradients.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1).max())
        gaps.append(problem.value(path[-1]) - problem.value(best))
    return {
        "L": 1.0,
        "mu": convexity,
        "K": steps,
        "more": steps - 1,
        "t": int(rng.integers(rounds)),
        "N": clients,
        "T": rounds,
        "gamma": first,
        "kappa": (clients - active) / (active * max(clients - 1, 1)),
        "rho": rho,
        "sigma_g": float(np.sqrt(max(spreads))),
        "sigma_l": noise,
        "Gap": float(np.mean(gaps)),
        "D_0": float(((problem.start - best) ** 2).sum()),
    }


@cache
def random_runs(count: int = COUNT, seed: int = 0) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""
    return drawn(measured, "Gap", count, seed)


def statement() -> Statement:
    """The thesis' Theorem 1, corrected."""
    left, right = sides()
    return Statement(
        name="inexact-gradients-strongly-convex",
        left=left,
        right=right,
        quantities={
            **{symbol: QUANTITIES[symbol] for symbol in (n.L, n.N, n.T, n.kappa, n.rho, n.sigma_g, n.sigma_l)},
            n.K: Quantity("E"),
            mu: Quantity(r"\mu", (1, -2)),
            gamma: Quantity(r"\gamma"),
            Gap: Quantity(r"\mathbb EF(w^T)-F^*", (1, 0), measured=True),
            D0: Quantity(r"\|w^0-w^*\|^2", (0, 2), measured=True),
        },
        conditions=(
            Condition("", sp.Ge(gamma + 2, 20 * n.L / mu)),
            Condition("", sp.Ge((gamma + 2) ** 2, 96 * (1 - 1 / n.K) ** 2 * (n.L / mu) ** 3)),
            Condition("", sp.Le(mu, n.L), hidden=True),
            Condition("", sp.Le(n.kappa, 1), hidden=True),
        ),
        prove=prove,
        runs=random_runs,
        keeps=(
            "steps that decrease in every round",
            "minibatch noise",
            "heterogeneity",
            "partial participation without replacement",
            "any number of clients, local steps and dimensions",
            "clients that are not convex",
            "weights where every client is active",
        ),
        method="fedsam",
        hypotheses=(
            STRONGLY_CONVEX,
            smooth(where=" and need not be convex"),
            dissimilar(),
            steps_along("E"),
            inexact(drawn=True),
            NOISE_GIVEN_THE_PAST,
            noise_power(),
            INDEPENDENT_CLIENTS,
            cohorts(),
            named(STEPS, "X", "Gap", "D_0"),
        ),
        remark="Bounded gradients (A2) and A4 are not needed.",
        named={more: n.K - 1},
    )
