"""FedSMOO from the printed zero duals: a Lyapunov function that needs neither exact local solves nor a gradient start.

wbar = w + beta lambda with lambda the mean of the clients' duals; on it the printed updates of the duals alone give
w_i - wbar = beta (d_i - dbar - grad f(wbar) - h_i), whatever the local solver did, where d_i = lambda_i - grad
f_i(wbar) is the error of the old dual and h_i = lambda_i^+ - grad f_i(wbar) that of the new one. What the local solver
did enters by eps only: lambda_i^+ differs from grad f_i(w_i) by at most eps in the mean square over clients (exact
solves with ||s_i|| <= r: eps = L r).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
import torch

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.inexact.runs import Problem
from theory.kit.hypotheses import MEANS, NEAR_GRADIENTS, ZERO_DUALS, bounded_below, cohorts, smooth
from theory.kit.proof import Proof, Step, atom, square_of
from theory.kit.statement import Condition, Quantity, Run, Statement, drawn, slack

R = sp.Rational
L, beta, T, theta, alpha = (sp.Symbol(name, positive=True) for name in ("L", "beta", "T", "theta", "alpha"))
kappa, eps, Gamma, Delta, D0 = (sp.Symbol(name, nonnegative=True) for name in ("kappa", "eps", "Gamma", "Delta", "D_0"))
F, F_NEXT = sp.Symbol("F", real=True), sp.Symbol("F_next", real=True)
b = beta * L


def cost(a: Any) -> sp.Expr:
    """What the squared movement of the local models costs, times beta; a is the weight alpha of the dual error."""
    return b**2 * (1 + a * (2 + theta)) + kappa * (b / 2 + a * b**2 * (2 + theta) / theta**2)


def spent(a: Any) -> sp.Expr:
    """Share of the decrease that the movement takes."""
    return 2 * cost(a) / (1 - b) ** 2


def moves(a: Any) -> sp.Expr:
    """Condition, slack >= 0: the mean model's own movement is paid for."""
    return 1 - b - 2 * a * b**2 * (2 + theta) / theta**2


def pays(a: Any) -> sp.Expr:
    """Condition, slack >= 0: the dual errors shrink by more than the movement adds."""
    return a * (1 + theta) / 2 - spent(a)


QUANTITIES = {
    L: Quantity("L", (1, -2)),
    beta: Quantity(r"\beta", (-1, 2)),
    T: Quantity("T"),
    theta: Quantity(r"\theta"),
    kappa: Quantity(r"\kappa"),
    alpha: Quantity(r"\alpha"),
    eps: Quantity(r"\epsilon", (1, -1), measured=True),
    Gamma: Quantity(r"\tfrac1T\sum_{t<T}\mathbb E\|\nabla f(\bar w^t)\|^2", (2, -2), measured=True),
    Delta: Quantity(r"(f(w^0)-f^*)", (1, 0), measured=True),
    D0: Quantity(r"\tfrac1m\sum_i\|\nabla f_i(w^0)\|^2", (2, -2), measured=True),
}
HYPOTHESES = (
    ZERO_DUALS,
    cohorts("n", "m", ("drawn or not",)),
    smooth("f_i"),
    bounded_below("f", "f^*"),
    NEAR_GRADIENTS,
    MEANS,
)
SHARE = r"Here $\theta=\frac nm$."


def sides(a: Any) -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides of the theorem with its weight a of the dual error."""
    return (R(1, 2) - spent(a)) * Gamma, (
        Delta / (beta * T),
        a / (theta * T) * D0,
        (1 + a * (2 + theta) + spent(a)) * eps**2,
    )


def factors(left: sp.Expr, right: Sequence[sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
    """(factor of Gamma on the left, what every round adds on the right)."""
    return sp.expand(left).coeff(Gamma), sp.Add(*(term for term in right if not term.has(T)))


def one_round(
    proof: Proof, a: Any, left: sp.Expr, right: Sequence[sp.Expr], moved_by: Step, paid_by: Step
) -> tuple[Step, sp.Expr]:
    """f + (alpha beta/theta) D decreases. Returns the step and D after the round.

    moved_by, paid_by: the steps that say moves(a) >= 0 and pays(a) >= 0.
    """
    G = proof.vector("G")
    mean_d, d = proof.vector("dbar"), proof.vector("d", mean="dbar")
    mean_h, h = proof.vector("hbar", time=1), proof.vector("h", time=1, mean="hbar")
    displaced, wrong = proof.vector("x_own", time=1), proof.vector("e", time=1)
    change = proof.vector("D_f", time=1, change_along="x_own")
    move, mix = proof.vector("move", time=1, drawn=True), proof.vector("q", time=1, drawn=True)
    moved, shift = proof.vector("y_own", time=1), proof.vector("g_own", time=1, change_along="y_own")
    x = beta * (d - mean_d - G - h)
    before, after = F, F_NEXT
    for name in ("L", "beta", "T", "theta", "alpha"):
        proof.scalar(name, "positive")
    for name in ("kappa", "eps", "Gamma", "Delta", "D_0"):
        proof.scalar(name)
    proof.scalars |= {"F": "real", "F_next": "real"}
    if "b < 1" not in proof.steps:
        proof.hypothesis("b < 1", 1 - b, "beta L < 1", ">")
    # sizes of the vectors
    sizes = {"X": x, "X_own": displaced, "Y": d - mean_d - G, "H": h, "H_sum": change + wrong, "C": change, "E": wrong}
    sizes |= {"M": move, "M_own": moved, "S": shift}
    size = {name: proof.scalar(name) for name in sizes}
    norm = {name: proof.norm(f"norm {name}", size[name], vector) for name, vector in sizes.items()}
    X, Y, H, M = (size[name] for name in ("X", "Y", "H", "M"))
    own = proof.hypothesis("local model", size["X_own"] - X, "x, one vector under two names", "==")
    moved_own = proof.hypothesis("mean model", size["M_own"] - M, "the move, one vector under two names", "==")
    dual = proof.hypothesis("new dual", size["H_sum"] - H, "h = change of the gradient + e, two names", "==")
    exact = proof.hypothesis("eps", eps - size["E"], "lambda_i^+ is grad f_i(w_i) up to eps")
    lipschitz = proof.smooth_gradient("smooth at w_i", size["C"], size["X_own"], L)
    lipschitz_mean = proof.smooth_gradient("smooth at the mean", size["S"], size["M_own"], L)
    split_h = proof.triangle("h", size["H_sum"], [(1, size["C"]), (1, size["E"])])
    split_x = proof.triangle("x", X, [(beta, Y), (-beta, H)])
    size_h = proof.combine(
        "size of h", L * X + eps - H, [(1, split_h), (1, exact), (1, lipschitz), (-L, own), (1, dual)]
    )
    size_x = proof.combine("size of x", beta * (Y + eps) - (1 - b) * X, [(1, split_x), (beta, size_h)])
    # squares
    centred = [proof.averaged(f"{name} against d", vector, d) for name, vector in (("G", G), ("dbar", mean_d))]
    spread = proof.square("mean of d", mean_d)
    D = square_of(d)
    y_squared = proof.combine(
        "Y^2", D + square_of(G) - Y**2, [(-1, norm["Y"]), (1, spread), (2, centred[0]), (2, centred[1])]
    )
    young = proof.scalar_square("Young in x", Y - eps)
    reach = beta * (Y + eps) / (1 - b)
    cost_x = 2 * beta**2 / (1 - b) ** 2
    x_squared = proof.combine(
        "X^2",
        cost_x * (D + square_of(G) + eps**2) - X**2,
        [(reach / (1 - b) + X / (1 - b), size_x), (beta**2 / (1 - b) ** 2, young), (cost_x, y_squared)],
    )
    young_h = proof.scalar_square("Young in h", L * X - eps)
    h_squared = proof.combine("H^2", 2 * L**2 * X**2 + 2 * eps**2 - H**2, [(L * X + eps + H, size_h), (1, young_h)])
    jensen = proof.square("Jensen", h - mean_h)
    mean_of_h = proof.averaged("hbar is the mean of h", mean_h, h)
    small_bias = proof.combine("|hbar|^2", H**2 - square_of(mean_h), [(1, jensen), (2, mean_of_h), (1, norm["H"])])
    # the move of the mean model: (1 - kappa) |xbar|^2 + kappa |x|^2
    mean_x = proof.mean(x)
    along = proof.sampled_direction("cohort along G", G, move, x)
    length = proof.sampled_square("cohort", move, x, kappa)
    smooth = proof.smooth_value("smoothness of f", after, before, G, move, L)
    length_m = proof.combine(
        "M^2",
        (1 - kappa) * square_of(mean_x) + kappa * X**2 - M**2,
        [(-1, length), (-1, norm["M"]), (kappa, norm["X"])],
        "==",
    )
    # the new dual error q - shift, q_i = h_i for drawn clients and d_i for the others
    mixed = proof.mixed("drawn or not", mix, h, d, theta)
    error = square_of(mix - shift)
    young_d = proof.square("Young in d", theta * mix + 2 * shift)
    shift_squared = proof.combine(
        "S^2",
        L**2 * M**2 - square_of(shift),
        [(L * M + size["S"], lipschitz_mean), (-L * (L * M + size["S"]), moved_own), (1, norm["S"])],
    )
    mean_term = L / 2 + a * beta * L**2 * (2 + theta) / theta**2
    new_error = proof.combine(
        "new dual error",
        (1 + theta / 2) * (theta * H**2 + (1 - theta) * D) + (1 + 2 / theta) * L**2 * M**2 - error,
        [
            (1 / (2 * theta), young_d),
            (-(1 + theta / 2), mixed),
            ((1 + theta / 2) * theta, norm["H"]),
            (1 + 2 / theta, shift_squared),
        ],
    )
    weight = a * beta / theta
    dual_part = proof.square("dual error", d)
    paid = proof.square("mean move", mean_x)
    on_h = beta / 2 + weight * (1 + theta / 2) * theta
    factor, floor = factors(left, right)
    target = before - after + weight * (D - error) - beta * (factor * square_of(G) - floor)
    done = proof.combine(
        "one round",
        target,
        [
            (1, smooth),
            (-1, along),
            (L / 2, norm["M"]),
            (mean_term, length_m),
            (weight, new_error),
            (beta / 2, small_bias),
            (on_h, h_squared),
            (cost(a) / beta, x_squared),
            (1 / (2 * beta), paid, moved_by),
            (kappa * mean_term, paid),
            (beta, dual_part, paid_by),
        ],
    )
    return done, error


def prove(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the theorem, alpha free."""
    proof = Proof("FedSMOO from zero duals")
    moved_by = proof.hypothesis("moves", moves(alpha), "step size")
    paid_by = proof.hypothesis("pays", pays(alpha), "step size")
    telescope(proof, alpha, left, right, moved_by, paid_by)
    return proof


WEIGHT = 9 * b * (b + kappa / 2)  # the closed theorem's alpha, for every step size that it admits
STEP, ROOT, COHORT = sp.Le(b, R(1, 9)), sp.Le(16 * b**2, theta), sp.Le(64 * kappa * b**2, theta**2)  # its conditions


def closed_sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides for beta L <= min(1/9, sqrt(theta)/4, theta/(8 sqrt(kappa)))."""
    a = WEIGHT
    return (1 - a) * Gamma, (2 * Delta / (beta * T), 2 * a * D0 / (theta * T), (2 + 7 * a) * eps**2)


def prove_closed(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the closed theorem: the free one with alpha = ``WEIGHT``."""
    proof, a = Proof("FedSMOO from zero duals, closed step size"), WEIGHT
    for name in ("theta", "beta", "L"):
        proof.scalar(name, "positive")
    proof.scalar("kappa")
    positive = proof.hypothesis("b < 1", 1 - b, "beta L <= 1/9", ">")
    small = proof.hypothesis("step", slack(STEP), "beta L <= 1/9")
    root = proof.hypothesis("root", slack(ROOT), "beta L <= sqrt(n/m)/4")
    cohort = proof.hypothesis("large cohort", slack(COHORT), "beta L <= (n/m)/(8 sqrt(kappa))")
    share = proof.hypothesis("n <= m", 1 - theta, "theta = n/m")
    moved_by = proof.combine(
        "moves",
        moves(a),
        [
            (1 + R(27, 64), small),
            (2 * a * b**2 / theta**2, share),
            (R(54, 256) * (theta + 16 * b**2) / theta**2, root),
            (R(27, 64) * b / theta**2, cohort),
            (R(8, 9) - R(54, 256) - R(27, 576),),
        ],
    )
    movement = b**2 + kappa * b**2 / theta**2
    half = proof.combine(  # a/2 - spent, times (1 - b)^2
        "pays, multiplied",
        (1 - b) ** 2 * a / 2 - 2 * cost(a),
        [
            (a / 2, small, positive),
            (R(4, 9) * a + 6 * a * (R(1, 9) + b), small),
            (2 * a * movement, share),
            (R(6, 64) * a / theta**2, cohort),
            (a * (R(8, 81) - R(3, 32)),),
        ],
    )
    paid_by = proof.combine("pays", pays(a), [(1 / (1 - b) ** 2, half), (a * theta / 2,)])
    rate = telescope(proof, a, *sides(a), moved_by, paid_by)
    proof.combine(
        "corollary",
        sp.Add(*right) - left,
        [(2, rate), (2 * (Gamma + eps**2) / (1 - b) ** 2, half), (2 * a * eps**2, share)],
    )
    return proof


def largest_step(theta: float, kappa: float) -> float:
    """The largest beta L of the closed theorem."""
    return min(1 / 9, theta**0.5 / 4, theta / (8 * kappa**0.5) if kappa else 1.0)


def telescope(proof: Proof, a: Any, left: sp.Expr, right: Sequence[sp.Expr], moved_by: Step, paid_by: Step) -> Step:
    """One round, then the mean over T rounds: right - left >= 0."""
    one, error = one_round(proof, a, left, right, moved_by, paid_by)
    factor, floor = factors(left, right)
    rounds, total = proof.scalar("t"), proof.scalar("G_sum")
    start, best = proof.scalar("F_0", "real"), proof.scalar("F_star", "real")
    D, weight = atom("d", "d"), a * beta / theta
    loop = proof.loop(
        "rounds",
        {rounds: (0, rounds + 1), F: (start, F_NEXT), D: (D0, sp.expand(error)), total: (0, total + atom("G", "G"))},
        {
            "after t rounds": (
                start - F + weight * (D0 - D) - beta * (factor * total - rounds * floor),
                [(1, "after t rounds"), (1, one)],
            )
        },
    )
    at_end = proof.instance("after T rounds", loop["after t rounds"], {rounds: T})
    bounded = proof.hypothesis("f is bounded below", F - best, "f(wbar^T) >= f^*")
    mean = proof.hypothesis("Gamma", Gamma - total / T, "Gamma names the mean over the rounds", "==")
    gap = proof.hypothesis("Delta", Delta - start + best, "Delta names f(w^0) - f^*", "==")
    share = 1 / (beta * T)
    return proof.combine(
        "rate",
        sp.Add(*right) - left,
        [
            (share, at_end),
            (share, bounded),
            (share, gap),
            (-factor, mean),
            (weight * share, proof.steps["dual error"]),
        ],
    )


# ------------------------------------------------------------ runs of the package's own class


REPEATS = 3  # runs with independent cohorts behind one expected value


def measured(problem: Problem, rng: np.random.Generator) -> dict[str, float]:
    """Values of the theorem's symbols on one problem.

    All clients active: any number of local steps, noise in a third of the runs, eps as measured. Drawn cohorts: 8 local
    steps without noise, after which the local problem is solved up to the perturbation, eps = 1.6 L r: r itself, and
    twice the last step of the solver, which follows the changing perturbation.
    """
    clients = len(problem.share)
    active, rounds = int(rng.integers(1, clients + 1)), int(rng.choice([1, 1, 2, 5]))
    whole, radius = active == clients, rng.choice([0.0, 0.05, 0.5])
    steps, noise = (int(rng.choice([1, 4, 10])), rng.choice([0.0, 0.0, 0.3])) if whole else (8, 0.0)
    kappa = (clients - active) / (active * max(clients - 1, 1))
    step = largest_step(active / clients, kappa) * rng.choice([1.0, rng.uniform(0.05, 1)])  # L = 1
    found = [_run(problem, active, rounds, steps, noise, radius, step, rng) for _ in range(1 if whole else REPEATS)]
    return {
        "L": 1.0,
        "beta": step,
        "T": rounds,
        "theta": active / clients,
        "kappa": kappa,
        "eps": float(max(error for _, error in found)) if whole else 1.6 * radius,
        "Gamma": float(np.mean([square for square, _ in found])),
        "Delta": problem.value(problem.start) - problem.infimum(),
        "D_0": float((problem.gradients(problem.start) ** 2).sum(axis=1).mean()),
    }


def _run(
    problem: Problem,
    active: int,
    rounds: int,
    steps: int,
    noise: float,
    radius: float,
    step: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """(average of |grad f(wbar^t)|^2, largest root mean square of lambda_i^+ - grad f_i(w_i)) of FedSMOO itself."""
    clients = len(problem.share)
    draws = torch.as_tensor(noise * rng.normal(size=(rounds, steps, clients, len(problem.start))))
    cohorts = [rng.choice(clients, active, replace=False) for _ in range(rounds)]
    duals, before = np.zeros((clients, len(problem.start))), problem.start
    means, errors = [problem.start], []

    def gradient(W: torch.Tensor, index: torch.Tensor, t: int, k: int) -> torch.Tensor:
        return torch.as_tensor(problem.gradients(W.numpy(), index.numpy())) + draws[t, k, index]

    def probe(t: int, w: torch.Tensor, W: torch.Tensor, c: Any) -> None:
        nonlocal before
        cohort, local = cohorts[t], W.numpy().copy()
        duals[cohort] -= (local - before) / step
        errors.append(float(((duals[cohort] - problem.gradients(local, cohort)) ** 2).sum(axis=1).mean()))
        means.append(local.mean(axis=0))
        before = w.numpy().copy()

    algorithm, start = build("fedsmoo", rho=radius, lam=1 / step), torch.as_tensor(problem.start)
    order, lr = [cohort.tolist() for cohort in cohorts], 1 / (1 + 1 / step)
    simulate(algorithm, gradient, start, clients, rounds, steps=steps, lr=lr, cohorts=order, probe=probe)
    squares = [float((problem.gradients(w).mean(axis=0) ** 2).sum()) for w in means[:-1]]
    return float(np.mean(squares)), float(np.sqrt(max(errors)))


@cache
def random_runs(count: int = 1000, seed: int = 0) -> tuple[Run, ...]:
    """Values of the symbols on random problems."""

    def measure(rng: np.random.Generator) -> Run:
        return measured(Problem.draw(rng, int(rng.integers(1, 6)), int(rng.integers(2, 5))), rng)

    return drawn(measure, "Gamma", count, seed)


KEEPS = ("zero duals", "inexact local solves", "minibatch noise", "cohorts without replacement", "any m, n, K, d")


def theorem() -> Statement:
    """FedSMOO from zero duals, with a step size that does not shrink with 1/(m/n) where many clients take part."""
    left, right = closed_sides()
    return Statement(
        name="fedsmoo-zero-duals",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=(
            *(Condition("", relation, gives=("b < 1",)) for relation in (STEP, ROOT, COHORT)),
            Condition("", sp.Le(theta, 1), hidden=True),
        ),
        prove=prove_closed,
        runs=random_runs,
        keeps=KEEPS,
        method="fedsmoo",
        hypotheses=HYPOTHESES,
        remark=SHARE,
    )


def _weighted(run: Run) -> Run:
    """A run with a weight that its step size admits: 1/4 or the closed theorem's."""
    for weight in (0.25, float(WEIGHT.subs({symbol: run[str(symbol)] for symbol in WEIGHT.free_symbols}))):
        values = {symbol: run[str(symbol)] for symbol in (L, beta, theta, kappa)}
        if all(float(condition(weight).subs(values)) >= 0 for condition in (moves, pays)):
            return {**run, "alpha": weight}
    raise ValueError("the closed theorem's weight is not admitted by its own step size")


def general() -> Statement:
    """The same with its weight free and the conditions on the step size that the proof needs."""
    left, right = sides(alpha)
    return Statement(
        name="fedsmoo-general",
        left=left,
        right=right,
        quantities=QUANTITIES,
        conditions=(
            Condition("", sp.Lt(b, 1)),
            Condition("the mean model's movement is paid for", sp.Ge(moves(alpha), 0)),
            Condition("the dual errors' growth is paid for", sp.Ge(pays(alpha), 0)),
        ),
        prove=prove,
        runs=lambda: [_weighted(run) for run in random_runs()],
        keeps=KEEPS,
        method="fedsmoo",
        hypotheses=HYPOTHESES,
        remark=SHARE,
    )
