"""MoFedSAM: the theorem on inexact local gradients with a momentum that every local step mixes in.

x_{k+1} = x_k - eta (beta g_k + (1 - beta) V) with V = m^t; m^{t+1} = (1 - beta) m^t + beta d, d the mean over the
cohort of the average gradients, m^0 = 0; w^{t+1} = w^t - A m^{t+1}, A = K eta_g eta_l (Algorithm 2's eta_g).

The model wbar = w - A (1 - beta)/beta m moves by -A d alone, so F(wbar) descends as FedAvg's F(w) does, up to
|grad F(wbar) - grad F(w)| <= L A (1 - beta)/beta |m|, for which |m|^2 in the Lyapunov function pays:
F(wbar) + (A nu/beta)|m|^2. The local steps are those of ``local_steps`` with the step beta eta and the slope
G + b + (1 - beta)/beta V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import sympy as sp

from theory.inexact import runs, theorem
from theory.inexact.proof import (
    NAMES,
    Case,
    Names,
    between_clients,
    local_steps,
    mean_direction,
    round_vectors,
    wrong_gradients,
)
from theory.inexact.runs import Setting
from theory.inexact.theorem import F_NEXT, GROWTH, QUANTITIES, SQUARE, WEIGHTS, Delta, F, Gamma
from theory.kit.hypotheses import EVERYONE
from theory.kit.proof import Proof, Step, Vector, square_of
from theory.kit.statement import Condition, Quantity, Run, Statement

R = sp.Rational
COUNT, LONG = 1000, 100
#: the mean of the squared gradients where rounds are counted by r
ROUNDS = Quantity(r"\tfrac1R\sum_{r<R}\mathbb E\|\nabla F(w^r)\|^2", (2, -2), measured=True)
VELOCITY = sp.Symbol("dot_V_V", real=True)  # E|m^t|^2
beta, mu = (sp.Symbol(name, positive=True) for name in ("beta", "mu"))
nu, Y = (sp.Symbol(name, nonnegative=True) for name in ("nu", "Y"))  # weight of |m|^2; (K - 1) L eta_l
n = NAMES


@dataclass(frozen=True)
class Weights:
    """Parameters of the proof. names: the theorem's, with the local step beta eta and X = beta Y.

    y: (K - 1) L eta_l. mu: Young's weight for grad F(wbar) - grad F(w). nu: weight of |m|^2. growth: as in ``Case``.
    """

    names: Names
    beta: Any = beta
    y: Any = Y
    mu: Any = mu
    nu: Any = nu
    growth: Any = None

    @property
    def case(self) -> Case:
        return Case(self.names, self.growth)

    @property
    def lag(self) -> Any:
        """L |w - wbar| / |m|."""
        return self.names.L * self.names.A * (1 - self.beta) / self.beta

    @property
    def omega(self) -> Any:
        """What noise and sampling cost, over A."""
        return self.names.L * self.names.A / 2 + self.nu * self.beta

    @property
    def sampling(self) -> Any:
        """Factor of |r|^2: 1 for its mean, the rest for the cohort."""
        return 1 + 2 * self.omega * self.names.kappa * (1 + 1 / self.names.s)

    @property
    def on_slope(self) -> Any:
        """Factor of y^2 (beta |G|^2 + (1 - beta)|m|^2 + beta^2 (sigma_g^2 + L^2 rho^2)) in |r|^2."""
        growth = self.growth or 1 / (1 - self.names.X)
        return (1 + 1 / self.names.a) * (1 + self.names.theta) / 2 * growth**2

    def moves(self) -> sp.Expr:
        """Condition, slack >= 0: the mean direction pays for noise and momentum."""
        return (1 - self.mu) / 2 - self.names.L * self.names.A - self.nu * (1 + self.beta)

    def pays(self) -> sp.Expr:
        """Condition, slack >= 0: |m|^2 shrinks by more than it costs."""
        drift = self.sampling / 2 * self.on_slope * self.y**2 * (1 - self.beta)
        return self.nu - self.lag**2 / (2 * self.mu) - drift


def names_with(**changes: Any) -> Names:
    """The theorem's parameters with the local step beta eta; changes: as of ``dataclasses.replace``."""
    eta, y, b = changes.pop("eta", n.eta), changes.pop("y", Y), changes.pop("beta", beta)
    return replace(n, eta=b * eta, X=b * y, **changes)


FREE = Weights(names_with())


def sides(w: Weights) -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides of the theorem at some weights."""
    n, drift = w.names, w.sampling * w.on_slope * w.y**2
    error, growth = n.L**2 * n.rho**2, w.growth or 1 / (1 - w.names.X)
    noise = (1 + 1 / n.a) * (1 + 1 / n.theta) / 2 * growth**2
    return (1 - drift * w.beta) * Gamma, (
        2 * Delta / (n.A * n.T),
        drift * w.beta**2 * n.sigma_g**2,
        (w.sampling * (1 + n.a) + drift * w.beta**2) * error,
        w.sampling * noise * w.beta * w.y * n.L * n.eta * n.sigma_l**2,
        2 * w.omega * n.kappa * (1 + n.s) * (n.sigma_g**2 + n.sigma_l**2 / n.K),
        4 * w.omega * n.sigma_l**2 / (n.K * n.N),
    )


def one_round(proof: Proof, target: Any, w: Weights, small_x: Step, moved_by: Step, paid_by: Step) -> Step:
    """``target`` >= 0, where target is the Lyapunov function's decrease minus the theorem's one-round loss.

    small_x: beta Y < 1, or <= 1 - 1/growth. moved_by, paid_by: the steps ``moves`` >= 0 and ``pays`` >= 0.
    """
    n = w.names
    vectors = round_vectors(proof)
    G, b, m, r, noise, z, d = vectors.values()
    V = proof.vector("V")
    behind, lag = (
        proof.vector("back"),
        proof.vector("C", change_along="back"),
    )  # wbar - w, and what it changes in grad F
    before, after = proof.scalar("F", "real"), proof.scalar("F_next", "real")
    local = local_steps(proof, n, G + b + (1 - w.beta) / w.beta * V)
    # beta^2 g^2 <= beta |G|^2 + (1 - beta)|V|^2 + beta^2 sigma_g^2
    spread = proof.hypothesis("heterogeneity", n.sigma_g**2 - square_of(b), "mean |grad F_i - grad F|^2 <= sigma_g^2")
    centred = [proof.averaged(f"b has mean zero, against {v}", Vector({v: sp.Integer(1)}), b) for v in "GV"]
    between = proof.square("convexity in the slope", G - V)
    steepest = (w.beta * square_of(G) + (1 - w.beta) * square_of(V)) / w.beta**2 + n.sigma_g**2
    share = proof.steps["beta <= 1"]
    steep = [
        (1, spread),
        (-1, proof.steps["norm g"]),
        (-2, centred[0]),
        (-2 * (1 - w.beta) / w.beta, centred[1]),
        (1 / w.beta, between, share),
    ]
    r_squared, wrong = wrong_gradients(proof, w.case, local, small_x, steepest, steep)
    bias, small_noise = mean_direction(proof, n, vectors, local)
    spread_of_u = between_clients(proof, n, vectors, local, spread, r_squared, wrong)
    # the gradient at wbar
    length = n.A * (1 - w.beta) / w.beta
    sizes = {"back_own": behind, "back_V": -length * V, "size_C": lag}
    size = {name: proof.scalar(name) for name in sizes}
    norm = {name: proof.norm(f"norm {name}", size[name], vector) for name, vector in sizes.items()}
    own = proof.hypothesis("wbar", size["back_own"] - size["back_V"], "wbar - w, one vector under two names", "==")
    lipschitz = proof.smooth_gradient("smooth at wbar", size["size_C"], size["back_own"], n.L)
    reach = n.L * size["back_V"] + size["size_C"]
    late = proof.combine(
        "|C|^2",
        w.lag**2 * square_of(V) - square_of(lag),
        [(reach, lipschitz), (-n.L * reach, own), (1, norm["size_C"]), (-(n.L**2), norm["back_V"])],
    )
    # the round
    u = G + b + r + z
    along = [proof.sampled_direction(f"cohort along {name}", v, d, u) for name, v in (("H", G + lag), ("V", V))]
    drawn = proof.sampled_square("cohort", d, u, n.kappa)
    free = [proof.unbiased(f"n is unbiased, against {name}", noise, v) for name, v in (("H", G + lag), ("V", V))]
    smooth = proof.smooth_value("smoothness of F", after, before, G + lag, -n.A * d, n.L)
    young_lag = proof.square("Young against the lag", lag + w.mu * (G + m))
    young_m = proof.square("convexity in the momentum", V - G - m)
    young_n = proof.square("Young against the noise", G + m - noise)
    towards = proof.square("mean direction", G + m)
    momentum = proof.square("|V|^2", V)
    steps = n.A * w.nu / w.beta
    mixed = 2 * steps * w.beta * (1 - w.beta)
    return proof.combine(
        "one round",
        target,
        [
            (1, smooth),
            (n.A, along[0]),
            (n.A, free[0]),
            (-mixed, along[1]),
            (-mixed, free[1]),
            (-n.A * w.omega, drawn),
            (n.A * w.omega * n.kappa, spread_of_u),
            (n.A / (2 * w.mu), young_lag),
            (n.A / (2 * w.mu), late),
            (n.A * w.nu, young_m, share),
            (n.A * w.omega, young_n),
            (2 * n.A * w.omega, small_noise),
            (n.A, towards, moved_by),
            (n.A / 2, bias),
            (n.A / 2, wrong),
            (n.A, momentum, paid_by),
        ],
    )


def telescope(
    proof: Proof, w: Weights, left: sp.Expr, right: Sequence[sp.Expr], small_x: Step, moved_by: Step, paid_by: Step
) -> Step:
    """One round, then the mean over T rounds: right - left >= 0."""
    n = w.names
    factor, rest = theorem.factors(left, right)
    after = square_of((1 - w.beta) * Vector({"V": sp.Integer(1)}) + w.beta * Vector({"d": sp.Integer(1)}))
    weight = n.A * w.nu / w.beta
    target = F - F_NEXT + weight * (VELOCITY - after) - n.A / 2 * (factor * SQUARE - rest)
    one = one_round(proof, target, w, small_x, moved_by, paid_by)
    start, best = proof.scalar("F_0", "real"), proof.scalar("F_star", "real")
    rounds, total = proof.scalar("t"), proof.scalar("G_sum")
    proof.scalar("Gamma"), proof.scalar("Delta")
    loop = proof.loop(
        "rounds",
        {rounds: (0, rounds + 1), F: (start, F_NEXT), VELOCITY: (0, after), total: (0, total + SQUARE)},
        {
            "after t rounds": (
                start - F - weight * VELOCITY - n.A / 2 * (factor * total - rounds * rest),
                [(1, "after t rounds"), (1, one)],
            )
        },
    )
    at_end = proof.instance("after T rounds", loop["after t rounds"], {rounds: n.T})
    bounded = proof.hypothesis("F is bounded below", F - best, "F(wbar^T) >= F^*")
    mean = proof.hypothesis("Gamma", Gamma - total / n.T, "Gamma names the mean over the rounds", "==")
    gap = proof.hypothesis("Delta", Delta - start + best, "Delta names F(w^0) - F^*; m^0 = 0, so wbar^0 = w^0", "==")
    share = 2 / (n.A * n.T)
    return proof.combine(
        "rate",
        sp.Add(*right) - left,
        [
            (share, at_end),
            (share, bounded),
            (share, gap),
            (share * weight, proof.steps["|V|^2"]),
            (-factor, mean),
        ],
    )


def begin(title: str, w: Weights) -> Proof:
    """A proof with the parameters of some weights declared and beta <= 1."""
    proof = Proof(title)
    parts = (*vars(w.names).values(), w.beta, w.y)
    for symbol in sorted(set().union(*(sp.sympify(part).free_symbols for part in parts)), key=str):
        proof.scalar(symbol.name, "positive" if symbol.is_positive else "nonnegative")
    proof.hypothesis("beta <= 1", 1 - w.beta, "momentum")
    return proof


def prove_general(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the theorem with its weights as free positive symbols."""
    proof = begin("MoFedSAM", FREE)
    proof.scalar("mu", "positive"), proof.scalar("nu")
    small_x = proof.hypothesis("X < 1", 1 - beta * Y, "local step size", ">")
    moved_by = proof.hypothesis("moves", FREE.moves(), "step size")
    paid_by = proof.hypothesis("pays", FREE.pays(), "step size")
    telescope(proof, FREE, left, right, small_x, moved_by, paid_by)
    return proof


# ------------------------------------------------------------ numbers: a = s = 1, theta = mu = 1/2


def numbers(**changes: Any) -> Weights:
    """Weights for A <= beta/(4L), (K-1) L eta <= 1/10; changes: parameters as expressions in others."""
    return Weights(names_with(**WEIGHTS, **changes), mu=R(1, 2), growth=GROWTH)


CLOSED = numbers()


def least_nu(w: Weights) -> sp.Expr:
    """The weight of |m|^2 in the corollary."""
    return w.lag**2 + R(25, 18) * w.y**2 * (1 - w.beta)


def closed_sides(w: Weights = CLOSED) -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Both sides of the corollary for A <= beta/(4L)."""
    n, sampling = w.names, 1 + w.names.kappa / 2
    power = n.L * n.A * (2 + (1 - w.beta) ** 2) + R(50, 9) * w.beta * (1 - w.beta) * w.y**2
    return (1 - sampling / 54) * Gamma, (
        2 * Delta / (n.A * n.T),
        R(50, 27) * sampling * w.beta**2 * w.y**2 * n.sigma_g**2,
        R(109, 54) * sampling * n.L**2 * n.rho**2,
        R(100, 27) * sampling * w.beta * w.y * n.L * n.eta * n.sigma_l**2,
        power * n.kappa * (n.sigma_g**2 + n.sigma_l**2 / n.K),
        power * n.sigma_l**2 / (n.K * n.N),
    )


def closed(proof: Proof, w: Weights, left: sp.Expr, right: Sequence[sp.Expr], small_a: Step, small_y: Step) -> Step:
    """The corollary from the theorem. small_a: L A <= beta/4; small_y: y <= 1/10."""
    n, b, y, LA = w.names, w.beta, w.y, w.names.L * w.names.A
    share = proof.steps["beta <= 1"]
    proof.scalar("nu")
    named = proof.hypothesis("nu", w.nu - least_nu(w), "nu names the weight of |m|^2 in the Lyapunov function", "==")
    few = proof.hypothesis("kappa <= 1", 1 - n.kappa, "(N - S)/(S (N - 1)) <= 1")
    small_x = proof.combine("X <= 1/10", R(1, 10) - b * y, [(1, small_y), (y, share)])
    slow = b / 4 + LA
    on_lag, on_y = (1 - b) ** 2 / b**2 * slow, R(25, 18) * (R(1, 10) + y)
    rest = R(1, 4) - R(1, 16) - R(2, 72)
    moved_by = proof.combine(
        "moves",
        w.moves(),
        [
            (1, small_a),
            ((1 + b) * on_lag, small_a),
            ((1 + b) * on_y, share, small_y),
            (rest + b**2 / 16, share),
            (R(1, 72), share, share),
            (-(1 + b), named),
        ],
    )
    # omega = L A/2 + (L A)^2 (1 - b)^2/b + (25/18) b (1 - b) y^2
    cheap = proof.combine(
        "cost of noise",
        LA * (2 + (1 - b) ** 2) + R(50, 9) * b * (1 - b) * y**2 - 4 * w.omega,
        [(4 * LA * (1 - b) ** 2 / b, small_a), (-4 * b, named)],
    )
    whole = proof.combine(
        "4 omega <= 1/2",
        R(1, 2) - 4 * w.omega,
        [
            (2 + 4 * b * on_lag, small_a),
            (4 * b * on_y, share, small_y),
            (R(1, 2) - R(1, 18) - R(1, 4) + b**2 / 4, share),
            (R(1, 4) + R(1, 18), share, share),
            (-4 * b, named),
        ],
    )
    sampled = proof.combine("cost of sampling", R(1, 2) - 4 * w.omega * n.kappa, [(R(1, 2), few), (n.kappa, whole)])
    paid_by = proof.combine("pays", w.pays(), [(R(25, 27) * y**2, share, sampled), (1, named)])
    rate = telescope(proof, w, *sides(w), small_x, moved_by, paid_by)
    # 1 + kappa/2 - sampling = kappa (1/2 - 4 omega); 1/100 - beta y^2 = (1/100 - y^2) + y^2 (1 - beta)
    spare, error = n.kappa * R(50, 27) * b * y**2, n.L**2 * n.rho**2
    widest = 1 + n.kappa / 2
    noise = R(100, 27) * b * y * n.L * n.eta * n.sigma_l**2
    return proof.combine(
        "corollary",
        sp.Add(*right) - left,
        [
            (1, rate),
            (R(4, 3) * widest * on_y * (Gamma + error), small_y),
            (widest * R(50, 27) * y**2 * (Gamma + (1 + b) * error), share),
            (spare * (Gamma + b * n.sigma_g**2 + b * error) + n.kappa * (2 * error + noise), whole),
            (n.kappa * (n.sigma_g**2 + n.sigma_l**2 / n.K) + n.sigma_l**2 / (n.K * n.N), cheap),
        ],
    )


def prove_closed(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the corollary for A <= beta/(4L)."""
    proof = begin("MoFedSAM, A <= beta/(4L)", CLOSED)
    small_a = proof.hypothesis("L A <= beta/4", beta / 4 - n.L * n.A, "step size")
    closed(proof, CLOSED, left, right, small_a, proof.hypothesis("Y <= 1/10", R(1, 10) - Y, "local step size"))
    return proof


# ------------------------------------------------------------ the step sizes of Qu et al.

ROOT_R, ROOT_KN = sp.Symbol("root_T", positive=True), sp.Symbol("root_KN", positive=True)
PRINTED = numbers(
    eta=1 / (ROOT_R * beta * n.K * n.L),
    A=ROOT_KN / (ROOT_R * beta * n.L),
    N=ROOT_KN**2 / n.K,
    T=ROOT_R**2,
    kappa=sp.Integer(0),
)


def printed_sides() -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
    """Sides for eta_l = 1/(sqrt(R) beta K L), A = eta_g = sqrt(KN)/(sqrt(R) beta L), every client."""
    whole = sp.sqrt(n.T * n.K * n.N)
    return Gamma, (
        R(108, 53) * beta * n.L * Delta / whole,
        R(100, 53) * n.sigma_g**2 / n.T,
        R(109, 53) * n.L**2 * n.rho**2,
        R(162, 53) * n.sigma_l**2 / (beta * whole),
    )


def prove_printed(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the corollary with printed step sizes, from the one for A <= beta/(4L)."""
    w, proof = PRINTED, begin("MoFedSAM with the printed step sizes", PRINTED)
    n = w.names
    many = proof.hypothesis("R >= 16KN/beta^4", ROOT_R - 4 * ROOT_KN / beta**2, "number of rounds")
    own = proof.hypothesis("y", Y - (n.K - 1) / (n.K * ROOT_R * beta), "y names (K - 1) L eta_l", "==")
    long = proof.hypothesis("R >= 100/beta^2", ROOT_R - 10 / beta, "number of rounds")
    small_a = proof.combine("L A <= beta/4", beta / 4 - n.L * n.A, [(beta / (4 * ROOT_R), many)])
    below = proof.combine("y <= 1/(beta sqrt(R))", 1 / (beta * ROOT_R) - w.y, [(1 / (n.K * ROOT_R * beta),), (-1, own)])
    small_y = proof.combine("Y <= 1/10", R(1, 10) - w.y, [(1 / (10 * ROOT_R), long), (1, below)])
    rate = closed(proof, w, *closed_sides(w), small_a, small_y)
    target = (sp.Add(*right) - left).subs({NAMES.T: ROOT_R**2, NAMES.N: ROOT_KN**2 / NAMES.K}, simultaneous=True)
    # three times L A sigma_l^2/(KN) pays for all noise: what is left of it after the first two parts is
    # (1 + (1 - beta)) sigma_l^2/sqrt(RKN), the "1 +" for local steps, the "1 - beta" for the momentum's variance
    q, c, share = ROOT_KN, R(54, 53) * n.sigma_l**2, proof.steps["beta <= 1"]
    one = proof.hypothesis("K >= 1", n.K - 1, "local steps")
    some = proof.hypothesis("KN >= 1", q - 1, "clients and local steps")
    steps, variance = c / (ROOT_R**2 * q * n.K), c / (ROOT_R**2 * q**2)
    proof.combine(
        "corollary with printed steps",
        target,
        [
            (R(54, 53), rate),
            (R(100, 53) * beta**2 * (1 / (beta * ROOT_R) + w.y) * n.sigma_g**2, below),
            (c * R(100, 27) * beta / (ROOT_R * n.K), below),
            (steps * ROOT_R, one),
            (steps, many),
            (steps * 4 * q * (1 + beta) / beta**2, share),
            (steps * R(8, 27) * q,),
            (c * R(50, 9) * beta / q**2 * (1 / (beta * ROOT_R) + w.y), below, share),
            (variance * q, share, long),
            (variance * 10 / beta, share, some),
            (variance * R(40, 9) / beta, share),
        ],
    )
    return proof


# ------------------------------------------------------------ runs


def any_setting(rng: np.random.Generator) -> Setting:
    """A setting of the corollary: beta in (0, 1], A <= beta/(4L), y <= 1/10, up to 40 rounds.

    One in twenty stands at the edge of every condition, with noise.
    """
    if rng.random() < 0.05:
        clients, rho = int(rng.integers(2, 6)), rng.choice([0.0, 0.5])
        return Setting(
            clients,
            int(rng.choice([1, clients])),
            2,
            int(rng.choice([1, 4])),
            0.1,
            0.25 / (2 * 0.1),
            rho,
            1.0,
            {"beta": 1.0},
        )
    s = runs.any_setting(rng)
    b = float(rng.choice([1.0, 0.5, 0.1, rng.uniform(0.02, 1)]))
    whole = b / 4 * rng.choice([1.0, 1.0, rng.uniform(0.2, 1), 0.01])
    local = s.local if s.steps > 1 else 0.1
    rounds = int(rng.choice([1, 4, 12, 40], p=[0.4, 0.3, 0.25, 0.05]))
    return replace(s, local=local, server=whole / (s.steps * local), rounds=rounds, options={"beta": b})


def printed_setting(rng: np.random.Generator) -> Setting:
    """The step sizes of Qu et al., with as many rounds as the corollary asks for."""
    b, clients, steps = float(rng.choice([1.0, 0.8, 0.5])), int(rng.integers(1, 4)), int(rng.choice([1] * 6 + [2, 8]))
    rounds = int(np.ceil(max(16 * clients * steps / b**4, 100 / b**2)))
    root = np.sqrt(rounds)
    local, whole = 1 / (root * b * steps), np.sqrt(steps * clients) / (root * b)
    rho, noise = rng.choice([0.0, 0.1, 1.0, 3.0]), rng.choice([0.0, 0.0, 1.0])
    return Setting(clients, clients, steps, rounds, local, whole / (steps * local), rho, noise, {"beta": b})


def _with_symbols(run: Run) -> Run:
    found = {**run, "root_T": np.sqrt(run["T"]), "root_KN": np.sqrt(run["K"] * run["N"]), "Y": run["X"]}
    return {**found, "nu": float(least_nu(CLOSED).subs({s: found[str(s)] for s in least_nu(CLOSED).free_symbols}))}


@cache
def random_runs(count: int = COUNT) -> tuple[Run, ...]:
    return tuple(_with_symbols(run) for run in runs.random_runs("mofedsam", count, any_setting))


@cache
def printed_runs(count: int = LONG) -> tuple[Run, ...]:
    return tuple(_with_symbols(run) for run in runs.random_runs("mofedsam", count, printed_setting))


@cache
def weighted_runs(count: int = COUNT) -> tuple[Run, ...]:
    """The runs of the corollary with its weights, and for every other one more weight of |m|^2 than it needs."""
    rng, found = np.random.default_rng(1), []
    for run in random_runs(count):
        room = max(0.0, (1 / 4 - run["A"]) / (1 + run["beta"]) - run["nu"])
        extra = {"a": 1.0, "s": 1.0, "theta": 0.5, "mu": 0.5, "nu": run["nu"] + rng.choice([0.0, 0.5]) * room}
        found.append({**run, **extra})
    return tuple(found)


MOMENTUM = {beta: Quantity(r"\beta"), Y: Quantity("y"), n.rho: QUANTITIES[n.rho]}
KEEPS = (
    "momentum",
    "minibatch noise",
    "heterogeneity",
    "partial participation without replacement",
    "any number of clients, local steps and dimensions",
)
NOTATION = r"$w^{t+1}=w^t-A\Delta^{t+1}$, $\Delta^0=0$, $y=(K-1)L\eta_l$"
ROUND_NOTATION = NOTATION.replace("^t", "^r").replace("^{t+1}", "^{r+1}")
#: steps of the proofs that name the average that MoFedSAM's model runs ahead of
AHEAD = ("wbar", "nu")
BETA = Condition(r"$\beta>0$"), Condition("", sp.Le(beta, 1))


def statement() -> Statement:
    """MoFedSAM for A <= beta/(4L): momentum, noise, cohorts without replacement."""
    left, right = closed_sides()
    return Statement(
        name="mofedsam",
        left=left,
        right=right,
        quantities=QUANTITIES | MOMENTUM,
        conditions=(
            *BETA,
            Condition("", sp.Le(n.L * n.A, beta / 4)),
            Condition("", sp.Le(Y, R(1, 10))),
            Condition("", sp.Le(n.kappa, 1), hidden=True),
            Condition("", sp.Eq(Y, (n.K - 1) * n.L * n.eta), hidden=True),
        ),
        prove=prove_closed,
        runs=random_runs,
        keeps=KEEPS,
        method="mofedsam",
        hypotheses=theorem.given(True, names=NOTATION, more=AHEAD),
        laws=partial(runs.laws, "mofedsam", any_setting),
    )


def printed_steps() -> Statement:
    """MoFedSAM with the step sizes of Qu et al.: the term that survives is L beta Delta/sqrt(RKN)."""
    left, right = printed_sides()
    return Statement(
        name="mofedsam-printed-steps",
        left=left,
        right=right,
        quantities=QUANTITIES | MOMENTUM | {n.T: Quantity("R"), Gamma: ROUNDS},
        conditions=(
            *BETA,
            Condition("", sp.Eq(n.eta, 1 / (sp.sqrt(n.T) * beta * n.K * n.L))),
            Condition(
                r"$A=\eta_g=\frac{\sqrt{KN}}{\sqrt R\beta L}$",
                sp.Eq(n.A, sp.sqrt(n.K * n.N) / (sp.sqrt(n.T) * beta * n.L)),
            ),
            Condition("", sp.Ge(n.T, 16 * n.K * n.N / beta**4)),
            Condition("", sp.Ge(n.T, 100 / beta**2)),
            Condition(EVERYONE.words, sp.Eq(n.kappa, 0), gives=EVERYONE.supplies),
        ),
        prove=prove_printed,
        runs=printed_runs,
        keeps=KEEPS[:3] + KEEPS[4:],
        method="mofedsam",
        hypotheses=theorem.given(False, names=ROUND_NOTATION, round_="r", more=(*AHEAD, "y", "K >= 1", "KN >= 1")),
        named={ROOT_R: sp.sqrt(n.T), ROOT_KN: sp.sqrt(n.K * n.N)},
    )


def general() -> Statement:
    """The theorem with its weights free."""
    left, right = sides(FREE)
    weights = {n.a: "a", n.s: "s", n.theta: r"\theta", mu: r"\mu", nu: r"\nu"}
    return Statement(
        name="mofedsam-general",
        left=left,
        right=right,
        quantities=QUANTITIES | MOMENTUM | {symbol: Quantity(latex) for symbol, latex in weights.items()},
        conditions=(
            *BETA,
            Condition("", sp.Lt(beta * Y, 1)),
            Condition("the mean direction pays for noise and momentum", sp.Ge(FREE.moves(), 0)),
            Condition("the momentum's decay pays for what it costs", sp.Ge(FREE.pays(), 0)),
            Condition("", sp.Eq(Y, (n.K - 1) * n.L * n.eta), hidden=True),
        ),
        prove=prove_general,
        runs=weighted_runs,
        keeps=KEEPS,
        method="mofedsam",
        hypotheses=theorem.given(True, names=NOTATION, more=AHEAD),
        laws=partial(runs.laws, "mofedsam", any_setting),
    )
