r"""Clients that make different numbers of local steps, and cohorts that weigh them.

Client i makes K_i local steps, and the server moves along sum_{i in C} (N/S) p_i (w - w_i), with weights p_i that add
up to 1. In the mean that is A = K eta_g eta_l times sum_i q_i u_i, where u_i is the mean gradient of client i's steps,
K = sum_i p_i K_i and q_i = p_i K_i/K. So the method descends along F = sum_i q_i F_i, whatever the p_i are, and the
theorem on inexact local gradients holds for this F, with its means over clients weighted by q:

* x is (max K_i - 1) L eta_l, since a client's drift grows with its own number of steps;
* K in the noise is the mean K: sum_i q_i sigma_l^2/K_i = sigma_l^2/K;
* N in the noise is 1/max q_i;
* a drawn cohort costs kappa (1 + e) in place of kappa, e = N max q_i - 1, and L A (1 + kappa e) is the step.

``one_client`` proves what any one client does, in the space of its own randomness; ``prove`` takes its two conclusions
in the mean over the clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import sympy as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.inexact import theorem
from theory.inexact.one_client import CASE, GRADIENTS, NOISE, client, most
from theory.inexact.proof import between_clients, mean_direction, round_vectors
from theory.inexact.runs import NOISE_RUNS, Problem
from theory.inexact.statements import COUNT
from theory.inexact.theorem import F_NEXT, QUANTITIES, SQUARE, Delta, F, Gamma
from theory.kit.hypotheses import (
    INDEPENDENT_CLIENTS,
    MEANS,
    NOISE_GIVEN_THE_PAST,
    Hypothesis,
    bounded_below,
    dissimilar,
    inexact,
    named,
    noise_power,
    smooth,
    steps_along,
)
from theory.kit.proof import Proof, Step, Vector, atom, dot, square_of
from theory.kit.statement import Condition, Quantity, Run, Statement, drawn

Array = NDArray[np.float64]
R = sp.Rational
n = CASE.names
#: N max q_i - 1
e = sp.Symbol("excess", nonnegative=True)
WIDER = 1 + n.kappa * e
LOCAL = (GRADIENTS, NOISE)


# ------------------------------------------------------------ the mean of the clients


def averaged(step: Step, slope: Vector) -> sp.Expr:
    """A conclusion on every client in the mean over clients with weights q, where its gradient is ``slope``.

    Its slack is linear in squares of the client's vectors, so that sum_i q_i of it is the same with mean squares; of
    its other symbols only K_i differs between clients, and sum_i q_i/K_i = 1/K. Raises ValueError for another one.
    """
    own, squares = sp.Symbol("K_i", positive=True), [atom(v, v) for v in "Grz"]
    slack = sp.expand(step.slack)
    plain = sp.Poly(slack.subs(1 / own, sp.Symbol("inverse")), *squares, sp.Symbol("inverse"))
    if plain.total_degree() > 1 or slack.subs(1 / own, 0).has(own) or slack.has(sp.Symbol("X_i", nonnegative=True)):
        raise ValueError(f"{step.name} is not linear in what differs between clients")
    return slack.subs({1 / own: 1 / n.K, atom("G", "G"): square_of(slope)}, simultaneous=True)


# ------------------------------------------------------------ the theorem


def sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides."""
    error, step = n.L**2 * n.rho**2, n.L * n.A
    sampling = 1 + 2 * n.kappa * (1 + e) * step
    return (1 - R(50, 27) * sampling * n.X**2) * Gamma, (
        2 * Delta / (n.A * n.T),
        R(50, 27) * sampling * n.X**2 * n.sigma_g**2,
        sampling * (2 + R(50, 27) * n.X**2) * error,
        2 * n.kappa * (1 + e) * step * (n.sigma_g**2 + n.sigma_l**2 / n.K),
        R(100, 27) * sampling * n.X * n.L * n.eta * n.sigma_l**2,
        2 * step * WIDER * n.sigma_l**2 / (n.N * n.K),
    )


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """One round from the means of the two conclusions on clients, then the mean over the rounds."""
    lemma, gradients, noise_of_one = client()
    lemma.verify()
    proof = Proof("FedAvg with inexact local gradients, unequal numbers of steps, weighted cohorts")
    CASE.declare(proof)
    proof.scalar("excess"), proof.scalar("F", "real"), proof.scalar("F_next", "real")
    proof.hypothesis("L A < 1", 1 - n.L * n.A * WIDER, "step size", ">")
    small = proof.hypothesis("L A <= 1/2", R(1, 2) - n.L * n.A * WIDER, "step size")
    vectors = round_vectors(proof)
    G, b, m, r, noise, z, d = vectors.values()
    said = "inexact-gradients-one-client, in the mean over clients with weights q_i"
    wrong_own = proof.hypothesis(GRADIENTS, averaged(gradients, G + b), said)
    local = {"z": proof.hypothesis(NOISE, averaged(noise_of_one, G + b), f"{said}; sum of q_i/K_i = 1/K")}
    spread = proof.hypothesis("heterogeneity", n.sigma_g**2 - square_of(b), "sum q_i|grad F_i - grad F|^2 <= sigma_g^2")
    centred = proof.averaged("b has mean zero", G, b)
    r_squared = most(square_of(G) + n.sigma_g**2, n.X)
    slope = R(50, 27) * n.X**2
    wrong = proof.combine("|r|^2", r_squared - square_of(r), [(1, wrong_own), (slope, spread), (-2 * slope, centred)])
    bias, small_noise = mean_direction(proof, n, vectors, local)
    unbiased = proof.unbiased("n is unbiased", noise, G)
    u, step = G + b + r + z, n.L * n.A * WIDER
    mean = proof.mean(u)
    along = proof.hypothesis("cohort along G", dot(G, d) - dot(G, mean), "E<G, d> = <G, sum q_i u_i>", "==")
    length = proof.hypothesis(
        "weighted cohort",
        WIDER * square_of(mean) + n.kappa * (1 + e) * (square_of(u) - square_of(mean)) - square_of(d),
        "E|d|^2 <= (1 + kappa e)|mean|^2 + kappa (1 + e)|u - mean|^2",
    )
    between = between_clients(proof, n, vectors, local, spread, r_squared, wrong)
    young = proof.square("Young against the noise", (1 - step) * (G + m) - step * noise)
    falls = proof.smooth_value("smoothness of F", F_NEXT, F, G, -n.A * d, n.L)
    factor, rest = theorem.factors(left, right)
    one = proof.combine(
        "one round",
        F - F_NEXT - n.A / 2 * (factor * SQUARE - rest),
        [
            (1, falls),
            (n.A, along),
            (n.L * n.A**2 / 2, length),
            (n.A, unbiased),
            (n.A / (2 * (1 - step)), young),
            (n.A / 2 * step / (1 - step), small_noise),
            (n.A / 2, bias),
            (n.A / 2, wrong),
            (n.A * step / (1 - step) * n.sigma_l**2 / (n.K * n.N), small),
            (n.L * n.A**2 / 2 * n.kappa * (1 + e), between),
        ],
    )
    theorem.over_rounds(proof, CASE, one, left, right)
    return proof


COHORTS = Hypothesis(
    "weighted cohorts",
    r"$S$ of $N$ clients are drawn uniformly without replacement in every round, independently of all else, and the "
    r"server moves by $\eta_g$ along $\frac NS\sum_{i\in C}p_i(w_i-w)$, $\kappa=\frac{N-S}{S(N-1)}$ ($\kappa=0$ for "
    r"$S=N$)",
    ("cohort along G", "weighted cohort"),
    r"\kappa=\frac{N-S}{S(N-1)}",
)
NAMES = (
    r"$K=\sum_ip_iK_i$, $q_i=p_iK_i/K$, $F=\sum_iq_iF_i$, $\bar N=1/\max_iq_i$, $\delta=N\max_iq_i-1$, "
    r"$A=K\eta_g\eta_l$, $x=(\max_iK_i-1)L\eta_l$"
)


def statement(method: str = "fedsam") -> Statement:
    """Unequal numbers of local steps and weighted cohorts, any perturbation of bounded error."""
    left, right = sides()
    return Statement(
        name="inexact-gradients-unequal-steps",
        left=left,
        right=right,
        quantities=QUANTITIES | {n.N: Quantity(r"\bar N"), e: Quantity(r"\delta")},
        conditions=(
            Condition("", sp.Le(n.X, R(1, 10)), gives=(GRADIENTS,)),
            Condition("", sp.Le(n.L * n.A * WIDER, R(1, 2)), gives=("L A < 1",)),
        ),
        prove=prove,
        runs=partial(random_runs, method),
        keeps=(
            "minibatch noise",
            "heterogeneity",
            "unequal numbers of local steps",
            "weights",
            "partial participation without replacement",
            "any number of clients and dimensions",
        ),
        method=method,
        hypotheses=(
            smooth(),
            bounded_below(),
            dissimilar(r"\sum_iq_i"),
            replace(steps_along("K_i"), supplies=LOCAL),
            replace(inexact(drawn=True), supplies=(GRADIENTS,)),
            NOISE_GIVEN_THE_PAST,
            replace(noise_power(r"\mathbb E\|\zeta\|^2\le\sigma_l^2\text{ for every client}"), supplies=LOCAL),
            INDEPENDENT_CLIENTS,
            COHORTS,
            named(NAMES),
            MEANS,
        ),
        remark="The smoothness of $F_i$ serves the local steps, too.",
    )


# ------------------------------------------------------------ runs


@dataclass(frozen=True)
class Weighted(Problem):
    """Clients with weights q [N] in the mean."""

    q: Array = field(default_factory=lambda: np.ones(1))

    def _coordinates(self, points: Array) -> Array:
        x = points[None] - self.centre[:, :, None]
        share, curvature = self.share[:, :, None], self.curvature[:, :, None]
        return np.einsum("i,ijk->jk", self.q, share * (1 - np.cos(x)) + (1 - share) * curvature * x**2 / 2)


def measured(method: str, rng: np.random.Generator) -> Run:
    """Values of the theorem's symbols on one random problem.

    Either every client is active and the server weighs them, or a cohort is drawn and its clients weigh the same: a
    cohort's weights are those of the class, which divides by their sum, only where all take part.
    """
    clients, rounds, size = int(rng.integers(1, 6)), int(rng.choice([1, 2, 4, 12])), int(rng.integers(2, 5))
    counts = rng.integers(1, 5, clients)
    active = int(rng.integers(1, clients + 1)) if rng.random() < 0.5 else clients
    p = np.full(clients, 1 / clients) if active < clients else rng.dirichlet(np.ones(clients)) * 0.9 + 0.1 / clients
    mean = float(p @ counts)
    q = p * counts / mean
    kappa, excess = (clients - active) / (active * max(clients - 1, 1)), clients * q.max() - 1
    local = float(rng.choice([1.0, rng.uniform(0.1, 1)])) * 0.1 / max(counts.max() - 1, 1)
    whole = float(rng.choice([0.5, 0.25, 0.05])) / (1 + kappa * excess)
    rho, noise = float(rng.choice([0.0, 0.05, 0.5, 2.0])), float(rng.choice([0.0, 0.0, 0.1, 1.0]))
    plain = Problem.draw(rng, clients, size)
    bent = plain.curvature if (q @ ((1 - plain.share) * plain.curvature)).min() >= 0.1 else abs(plain.curvature)
    problem = Weighted(plain.share, bent, plain.centre, plain.start, q)
    runs = NOISE_RUNS if noise > 0 or active < clients else 1
    squares, spreads = [], []
    for _ in range(runs):
        models = path(method, problem, rng, counts, p, active, rounds, local, whole / (mean * local), rho, noise)
        gradients = np.stack([problem.gradients(w) for w in models[:-1]])
        average = np.einsum("i,tij->tj", q, gradients)
        squares.append((average**2).sum(axis=1).mean())
        spreads.append(np.einsum("i,tij->t", q, (gradients - average[:, None]) ** 2).max())
    return {
        "L": 1.0,
        "K": mean,
        "N": 1 / q.max(),
        "T": rounds,
        "eta": local,
        "A": whole,
        "X": (counts.max() - 1) * local,
        "kappa": kappa,
        "excess": max(excess, 0.0),
        "rho": rho,
        "sigma_g": float(np.sqrt(max(spreads))),
        "sigma_l": noise,
        "Gamma": float(np.mean(squares)),
        "Delta": problem.value(problem.start) - problem.infimum(),
    }


def path(
    method: str,
    problem: Problem,
    rng: np.random.Generator,
    counts: NDArray[np.int64],
    p: Array,
    active: int,
    rounds: int,
    local: float,
    server: float,
    rho: float,
    noise: float,
) -> Array:
    """Server models [T + 1, d] of the package's own class.

    counts: local steps of every client. p: its weight. local, server: eta_l, eta_g.
    """
    clients, size = problem.centre.shape
    directions = rng.normal(size=(rounds, counts.max(), clients, size))
    away = noise * directions / np.linalg.norm(directions, axis=3, keepdims=True)
    cohorts = [rng.choice(clients, active, replace=False).tolist() for _ in range(rounds)]
    return models_of(method, problem, away, counts, p, cohorts, local, server, rho)


def models_of(
    method: str,
    problem: Problem,
    away: Array,
    counts: NDArray[np.int64],
    p: Array,
    cohorts: Sequence[Sequence[int]],
    local: float,
    server: float,
    rho: float,
) -> Array:
    """The same with the noise [T, max K_i, N, d] and the cohorts of every round given."""
    drawn_noise, rounds = torch.as_tensor(away), len(cohorts)

    def gradient(W: Tensor, index: Tensor, t: int, k: int) -> Tensor:
        return torch.as_tensor(problem.gradients(W.numpy(), index.numpy())) + drawn_noise[t, k, index]

    found = simulate(
        build(method, rho=rho, server_lr=server),
        gradient,
        torch.as_tensor(problem.start),
        len(problem.centre),
        rounds,
        steps=counts.tolist(),
        lr=local,
        cohorts=cohorts,
        sizes=p.tolist(),
        weighted=True,
    )
    return np.asarray(found.numpy())


@cache
def random_runs(method: str, count: int = COUNT) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""
    return drawn(partial(measured, method), "Gamma", count, seed=0)


# ------------------------------------------------------------ exact worst cases


def worst_case(counts: Sequence[int], p: Sequence[float], rounds: int, values: dict[str, float]) -> tuple[Any, float]:
    """(solution of the semidefinite program, proved bound) with exact gradients and every client active.

    values: of A, rho, sigma_g, Delta; the local step is the largest that the theorem takes.
    """
    from theory.worst_cases import Problem as Estimation

    mean, problem = sum(a * b for a, b in zip(p, counts, strict=True)), Estimation(len(p), 1.0)
    q = [a * b / mean for a, b in zip(p, counts, strict=True)]
    local = 0.1 / max(max(counts) - 1, 1)

    def weigh(terms: Sequence[Any]) -> Any:
        first, *others = (share * term for share, term in zip(q, terms, strict=True))
        return sum(others, start=first)

    w, begin, squares = problem.start, None, []
    for _ in range(rounds):
        own, levels = zip(*(one.oracle(w) for one in problem.clients), strict=True)
        gradient, level = weigh(own), weigh(levels)
        begin = level if begin is None else begin
        squares.append(gradient**2)
        problem.pep.add_constraint(weigh([(g - gradient) ** 2 for g in own]) <= values["sigma_g"] ** 2)
        directions = []
        for one, count in zip(problem.clients, counts, strict=True):
            x, total = w, []
            for _ in range(count):
                total.append(problem.wrong_gradient(one, x, values["rho"]))
                x = x - local * total[-1]
            directions.append(sum(total[1:], start=total[0]) / count)
        w = w - values["A"] * weigh(directions)
    end = weigh([one.value(w) for one in problem.clients])
    solved = problem.solve(squares, begin - end, values["Delta"], "unequal numbers of local steps")
    left, right = sides()
    at = {n.L: 1, n.K: mean, n.N: 1 / max(q), n.T: rounds, n.eta: local, n.X: (max(counts) - 1) * local}
    at |= {n.kappa: 0, e: len(p) * max(q) - 1, n.sigma_l: 0, Delta: values["Delta"]}
    at |= {n.A: values["A"], n.rho: values["rho"], n.sigma_g: values["sigma_g"]}
    return solved, float((sp.Add(*right) / sp.expand(left).coeff(Gamma)).subs(at))
