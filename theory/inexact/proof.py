"""Proof of the theorem on inexact local gradients, from named facts, for all N, S, K, d and every law of the noise.

One round: client i of N starts at w and makes K steps x_{k+1} = x_k - eta g_k with
g_k = grad F_i(w + x_k) + e_k + zeta_k, |e_k| <= L rho (it may depend on the noise), zeta_k unbiased with mean square at
most sigma_l^2, independent between clients. S clients are drawn without replacement; the server moves by A times the
mean of their average gradients, A = K eta_g eta. G = grad F(w), b_i = grad F_i(w) - G, r_i and z_i are the means over k
of (change of the gradient + e_k) and of zeta_k; so a client's average gradient is u = G + b + r + z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from theory.kit.proof import Proof, Step, Vector, dot, square_of

R = sp.Rational


@dataclass(frozen=True)
class Names:
    """The theorem's parameters, symbols or expressions; a, s, theta are weights of Young's inequality, any positive."""

    L: Any
    K: Any
    N: Any
    T: Any
    A: Any
    eta: Any
    a: Any
    s: Any
    theta: Any
    X: Any
    kappa: Any
    rho: Any
    sigma_g: Any
    sigma_l: Any


NAMES = Names(
    *(sp.Symbol(name, positive=True) for name in ("L", "K", "N", "T", "A", "eta", "a", "s", "theta")),
    *(sp.Symbol(name, nonnegative=True) for name in ("X", "kappa", "rho", "sigma_g", "sigma_l")),
)


@dataclass(frozen=True)
class Case:
    """What a proof is written for.

    names: the parameters, each a symbol or an expression in others (printed step sizes). growth: a bound on 1/(1 - X).
    noise: minibatch noise is there. sampled: a cohort is drawn (else every client is active). epochs: the minibatches
    of a round are one reshuffled pass through the client's samples, so that their noise at the round's model adds up to
    zero.
    """

    names: Names = NAMES
    growth: Any = None
    noise: bool = True
    sampled: bool = True
    epochs: bool = False

    @property
    def power(self) -> Any:
        """Bound on |z|^2, the squared mean of a client's noise over its local steps."""
        return sp.Integer(0) if self.epochs or not self.noise else self.names.sigma_l**2 / self.names.K

    def declare(self, proof: Proof) -> None:
        """Declare the parameters' symbols with their own signs."""
        for name in vars(self.names):
            for symbol in sorted(sp.sympify(getattr(self.names, name)).free_symbols, key=str):
                proof.scalar(symbol.name, "positive" if symbol.is_positive else "nonnegative")


def round_vectors(proof: Proof) -> dict[str, Vector]:
    """G, b (mean zero over clients), r with mean m, z with mean n, and the direction d of the drawn cohort."""
    return {
        "G": proof.vector("G"),
        "b": proof.vector("b", mean=""),
        "m": proof.vector("m", time=1),
        "r": proof.vector("r", time=1, mean="m"),
        "n": proof.vector("n", time=1, noise=True),
        "z": proof.vector("z", time=1, noise=True, mean="n"),
        "d": proof.vector("d", time=1, drawn=True),
    }


def local_steps(proof: Proof, n: Names, slope: Vector | None = None, epochs: bool = False) -> dict[str, Step]:
    """What K local steps x_{k+1} = x_k - eta (slope + change of the gradient + e_k + zeta_k) do, for any K.

    The proof must hold the vectors of ``round_vectors``. slope: G + b where none is given. P is L times the mean over k
    of |x_k|, g = |slope|, X = (K-1) L eta. Steps: "r" (|r| <= P + L rho), "drift"
    ((1 - X) P <= (X/2)(g + L rho) + tau), "tau" (tau^2 <= X L eta sigma_l^2/2), "z" (|z|^2 <= sigma_l^2/K).

    epochs: the minibatches are one reshuffled pass. The noise of the next one then points against the sum Q_k of those
    before, E<zeta_k, Q_k> = -k/(K - 1) E|zeta_k|^2, and that of all K adds up to zero, so that "z" is |z|^2 = 0.
    """
    error = n.L * n.rho
    biased, summed, rest = proof.vector("P_k"), proof.vector("Q_k"), proof.vector("R_k")  # sums over the steps before k
    x, fresh = proof.vector("x"), proof.vector("zeta", time=1, noise=True)
    change, wrong = proof.vector("D", change_along="x"), proof.vector("e", time=1)
    slope = slope or Vector({"G": sp.Integer(1), "b": sp.Integer(1)})
    named = {
        "p": biased,
        "p_next": biased + slope + change + wrong,
        "g": slope,
        "size_D": change,
        "size_e": wrong,
        "q": summed,
        "q_next": summed + fresh,
        "v": rest,
        "v_next": rest + change + wrong,
        "y": x,
        "y_sum": -n.eta * (biased + summed),
    }
    size = {key: proof.scalar(key) for key in named}
    norm = {key: proof.norm(f"norm {key}", size[key], vector) for key, vector in named.items()}
    p, g, y, q, v = (size[key] for key in ("p", "g", "y", "q", "v"))
    bounded = proof.hypothesis("error", error - size["size_e"], "|e_k| <= L rho")
    same = proof.hypothesis("local model", size["y_sum"] - y, "x_k = -eta (P_k + Q_k), one vector, two names", "==")
    lipschitz = proof.smooth_gradient("smooth", size["size_D"], y, n.L)
    parts = [(1, size["size_D"]), (1, size["size_e"])]
    step_p = proof.triangle("P_k next", size["p_next"], [(1, p), (1, g), *parts])
    step_v = proof.triangle("R_k next", size["v_next"], [(1, v), *parts])
    step_y = proof.triangle("x_k", size["y_sum"], [(-n.eta, p), (-n.eta, q)])
    grows = [(1, lipschitz), (1, bounded)]
    grow_p = proof.combine("P grows", p + g + n.L * y + error - size["p_next"], [(1, step_p), *grows])
    grow_v = proof.combine("R grows", v + n.L * y + error - size["v_next"], [(1, step_v), *grows])
    reach = proof.combine("x from P and Q", n.eta * (p + q) - y, [(1, step_y), (1, same)])
    power = proof.hypothesis("noise", n.sigma_l**2 - square_of(fresh), "E|zeta_k|^2 <= sigma_l^2")
    if epochs:
        against = proof.hypothesis("without replacement", -dot(fresh, summed), "E<zeta_k, Q_k> <= 0 in one pass")
    else:
        against = proof.unbiased("noise is unbiased", fresh, summed)
    grow_q = proof.combine(
        "Q grows",
        q**2 + n.sigma_l**2 - size["q_next"] ** 2,
        [(1, norm["q"]), (-1, norm["q_next"]), (1, power), (2 if epochs else -2, against)],
    )
    # after k steps: Y, SP, SQ, C are the sums over the steps before of y, p, q^2, q
    k, Y, SP, SQ, C = (proof.scalar(name) for name in ("k", "Y", "SP", "SQ", "C"))
    c = proof.scalar("c", "real")
    near = proof.scalar_square("distance of q from c", q - c)
    turn = {k: (0, k + 1), Y: (0, Y + y), SP: (0, SP + p), SQ: (0, SQ + q**2), C: (0, C + q)}
    turn |= {p: (0, size["p_next"]), q: (0, size["q_next"]), v: (0, size["v_next"])}
    found = proof.loop(
        "local steps",
        turn,
        {
            "p after k": (k * (g + error) + n.L * Y - p, [(1, "p after k"), (1, grow_p)]),
            "sum of p": (
                k * (k - 1) / 2 * (g + error) + (k - 1) * n.L * Y - SP,
                [(1, "sum of p"), (1, "p after k"), (k * n.L * y,)],
            ),
            "sum of y": (n.eta * (SP + C) - Y, [(1, "sum of y"), (1, reach)]),
            "q after k": (k * n.sigma_l**2 - q**2, [(1, "q after k"), (1, grow_q)]),
            "sum of q^2": (k * (k - 1) / 2 * n.sigma_l**2 - SQ, [(1, "sum of q^2"), (1, "q after k")]),
            "q near c": (SQ - 2 * c * C + k * c**2, [(1, "q near c"), (1, near)]),
            "R after k": (n.L * Y + k * error - v, [(1, "R after k"), (1, grow_v)]),
        },
    )
    at_end = {key: proof.instance(f"{key}, k = K", step, {k: n.K}) for key, step in found.items()}
    P, tau, size_r = proof.scalar("P"), proof.scalar("tau"), proof.scalar("size_r")
    r, z = Vector({"r": sp.Integer(1)}), Vector({"z": sp.Integer(1)})
    proof.norm("norm size_r", size_r, r)
    def_p = proof.definition("P", P, n.L * Y / n.K)
    def_tau = proof.definition("tau is the mean of q", tau, n.L * n.eta * C / n.K)
    mean_r = proof.hypothesis("r is a mean", size_r - v / n.K, "r = R_K/K, one vector under two names", "==")
    if epochs:
        size_z = proof.hypothesis("epoch", -square_of(z), "z = Q_K/K = 0: the K minibatches are all samples", "==")
    else:
        size_z = proof.hypothesis("z is a mean", square_of(z) - q**2 / n.K**2, "z = Q_K/K, one vector, two names", "==")
    X = n.X
    named_x = proof.hypothesis("X", X - (n.K - 1) * n.L * n.eta, "X names (K - 1) L eta", "==")
    steps = {
        "r": proof.combine("size of r", P + error - size_r, [(1 / n.K, at_end["R after k"]), (1, def_p), (-1, mean_r)]),
        "drift": proof.combine(
            "drift",
            X / 2 * (g + error) + tau - (1 - X) * P,
            [
                (n.L / n.K, at_end["sum of y"]),
                (n.L * n.eta / n.K, at_end["sum of p"]),
                (1, def_tau),
                (-(1 - X), def_p),
                ((g + error) / 2 + n.L * Y / n.K, named_x),
            ],
        ),
    }
    quiet = n.sigma_l**2 / n.K - square_of(z)
    steps["z"] = (
        size_z if epochs else proof.combine("size of z", quiet, [(1 / n.K**2, at_end["q after k"]), (-1, size_z)])
    )
    cauchy = proof.instance("Cauchy", at_end["q near c"], {c: C / n.K})
    share = n.L**2 * n.eta**2 / n.K
    squares = proof.combine(
        "square of tau",
        share * (SQ - C**2 / n.K) + (n.L * n.eta * C / n.K) ** 2 - tau**2,
        [(share, cauchy), (-(tau + n.L * n.eta * C / n.K), def_tau)],
    )
    steps["tau"] = proof.combine(
        "tau",
        X * n.L * n.eta * n.sigma_l**2 / 2 - tau**2,
        [(1, squares), (share, at_end["sum of q^2"]), (n.L * n.eta * n.sigma_l**2 / 2, named_x)],
    )
    return steps


def wrong_gradients(
    proof: Proof, case: Case, local: Mapping[str, Step], small_x: Step, steepest: Any, steep: Sequence[tuple]
) -> tuple[sp.Expr, Step]:
    """Bound on |r|^2, and the step that says it. steepest: what the terms ``steep`` show g^2 to be at most."""
    n = case.names
    P, tau, g, size_r = (sp.Symbol(name, nonnegative=True) for name in ("P", "tau", "g", "size_r"))
    error, r = n.L * n.rho, Vector({"r": sp.Integer(1)})
    quiet = [] if case.noise else [proof.hypothesis("no noise", -tau, "exact gradients: every zeta is zero", "==")]
    growth = case.growth or 1 / (1 - n.X)
    U = n.X / 2 * (g + error) + (tau if case.noise else 0)
    near = [(growth * P, small_x)] if case.growth else []
    bounded = proof.combine(
        "bound on P", growth * U - P, [(growth, local["drift"]), *near, *((growth, step) for step in quiet)]
    )
    theta = n.theta if case.noise else sp.Integer(0)
    on_g = (1 + theta) / 2 * growth**2
    on_tau = (1 + 1 / theta) / 2 * growth**2 if case.noise else sp.Integer(0)
    second = proof.scalar_square("g against L rho", g - error)
    drift_squared = on_g * n.X**2 * (steepest + error**2) + on_tau * n.X * n.L * n.eta * n.sigma_l**2
    terms = [
        (growth * U + P, bounded),
        ((1 + theta) * n.X**2 / 4 * growth**2, second),
        *((on_g * n.X**2 * factor, *steps) for factor, *steps in steep),
    ]
    if case.noise:
        first = proof.scalar_square("Young in the drift", theta * n.X / 2 * (g + error) - tau)
        terms += [(growth**2 / theta, first), (2 * on_tau, local["tau"])]
    squared = proof.combine("P^2", drift_squared - P**2, terms)
    weighted = proof.scalar_square("Young in r", P - n.a * error)
    r_squared = (1 + 1 / n.a) * drift_squared + (1 + n.a) * error**2
    wrong = proof.combine(
        "|r|^2",
        r_squared - square_of(r),
        [
            (P + error + size_r, local["r"]),
            (1, proof.steps["norm size_r"]),
            (1 / n.a, weighted),
            (1 + 1 / n.a, squared),
        ],
    )
    return r_squared, wrong


def mean_direction(
    proof: Proof, n: Names, vectors: Mapping[str, Vector], local: Mapping[str, Step], power: Any = None
) -> tuple[Step, Step]:
    """The means over clients: |m|^2 <= |r|^2 and |n|^2 <= power/N.

    power: as ``Case.power``; sigma_l^2/K by default.
    """
    power = n.sigma_l**2 / n.K if power is None else power
    m, r, noise, z = (vectors[name] for name in ("m", "r", "n", "z"))
    mean_r = proof.averaged("m is the mean of r", m, r)
    jensen = proof.square("Jensen", r - m)
    bias = proof.combine("|m|^2", square_of(r) - square_of(m), [(1, jensen), (2, mean_r)])
    shared = proof.independent("clients are independent", z, n.N)
    return bias, proof.combine("|n|^2", power / n.N - square_of(noise), [(1 / n.N, local["z"]), (1, shared)])


def spread_bound(n: Names, r_squared: Any, power: Any = None) -> sp.Expr:
    """Bound on |u - mean u|^2 <= |u - G|^2 <= (1 + s)|b + z|^2 + (1 + 1/s)|r|^2.  power: as in ``mean_direction``."""
    power = n.sigma_l**2 / n.K if power is None else power
    return (1 + n.s) * (n.sigma_g**2 + power) + (1 + 1 / n.s) * r_squared


def between_clients(
    proof: Proof,
    n: Names,
    vectors: Mapping[str, Vector],
    local: Mapping[str, Step],
    spread: Step,
    r_squared: Any,
    wrong: Step,
    power: Any = None,
) -> Step:
    """|u - mean u|^2 <= ``spread_bound``, for u = G + b + r + z."""
    G, b, m, r, noise, z, _ = vectors.values()
    u = G + b + r + z
    mean_g = proof.averaged("G against u", G, u)
    crossed = proof.unbiased("z is unbiased", z, b)
    away = proof.square("mean of u against G", m + noise)
    young = proof.square("Young between clients", n.s * (b + z) - r)
    return proof.combine(
        "spread of the clients",
        spread_bound(n, r_squared, power) - square_of(u) + square_of(proof.mean(u)),
        [
            (1, away),
            (1 / n.s, young),
            (1 + n.s, spread),
            (1 + n.s, local["z"]),
            (-2 * (1 + n.s), crossed),
            (1 + 1 / n.s, wrong),
            (-2, mean_g),
        ],
    )


def one_round(proof: Proof, target: Any, case: Case, small_a: Step, small_x: Step) -> Step:
    """The descent of one round: ``target`` >= 0, where target is F - F_next minus the theorem's one-round loss.

    F, F_next are the expected values of F before and after the round. small_a: L A < 1, and with ``case.growth`` L A <=
    1/2. small_x: X < 1, and with ``case.growth`` X <= 1 - 1/growth.
    """
    n = case.names
    vectors = round_vectors(proof)
    G, b = vectors["G"], vectors["b"]
    for name in ("F", "F_next"):
        proof.scalar(name, "real")
    local = local_steps(proof, n, epochs=case.epochs)
    silent = [] if case.noise else [proof.hypothesis("sigma_l", n.sigma_l, "exact gradients", "==")]
    spread = proof.hypothesis("heterogeneity", n.sigma_g**2 - square_of(b), "mean |grad F_i - grad F|^2 <= sigma_g^2")
    centred = proof.averaged("b has mean zero", G, b)
    steep = [(1, spread), (-1, proof.steps["norm g"]), (-2, centred)]
    r_squared, wrong = wrong_gradients(proof, case, local, small_x, square_of(G) + n.sigma_g**2, steep)
    return descent(proof, target, case, small_a, vectors, local, (spread, r_squared, wrong), silent)


def descent(
    proof: Proof,
    target: Any,
    case: Case,
    small_a: Step,
    vectors: Mapping[str, Vector],
    local: Mapping[str, Step],
    errors: tuple[Step | None, Any, Step],
    silent: Sequence[Step] = (),
) -> Step:
    """``one_round`` from what local steps do.

    local: holds the step "z", ``case.power`` - |z|^2 >= 0. errors: the step on |b|^2 where a cohort is drawn, a bound
    on |r|^2 and the step that says it. silent: that sigma_l = 0, where gradients are exact.
    """
    n = case.names
    G, b, m, r, noise, z, d = vectors.values()
    spread, r_squared, wrong = errors
    before, after = proof.scalar("F", "real"), proof.scalar("F_next", "real")
    LA = n.L * n.A
    power = n.sigma_l**2 / n.K if silent else case.power
    bias, small_noise = mean_direction(proof, n, vectors, local, power)
    unbiased = proof.unbiased("n is unbiased", noise, G)
    # the drawn cohort, and the step of the server
    u = G + b + r + z
    along = proof.sampled_direction("cohort along G", G, d, u)
    length = proof.sampled_square("cohort", d, u, n.kappa)
    young_n = proof.square("Young against the noise", (1 - LA) * (G + m) - LA * noise)
    smooth = proof.smooth_value("smoothness of F", after, before, G, -n.A * d, n.L)
    terms = [
        (1, smooth),
        (n.A, along),
        (-LA * n.A / 2, length),
        (n.A, unbiased),
        (n.A / (2 * (1 - LA)), young_n),
        (n.A / 2 * LA / (1 - LA), small_noise),
        (n.A / 2, bias),
        (n.A / 2, wrong),
    ]
    if case.growth and case.power != 0:
        terms.append((n.A * LA / (1 - LA) * case.power / n.N, small_a))
    terms += [(-n.A / 2 * LA / (1 - LA) * n.sigma_l / (n.N * n.K), step) for step in silent]
    if case.sampled and spread is not None:
        between = between_clients(proof, n, vectors, local, spread, r_squared, wrong, power)
        terms.append((n.A / 2 * LA * n.kappa, between))
    return proof.combine("one round", target, terms)
