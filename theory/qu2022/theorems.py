"""Convergence theorems 3.1, B.6, B.9 (FedSAM) and 4.1, D.4, D.7 (MoFedSAM): points where the methods stand still.

Where the perturbed gradients cancel, the iterate never moves although the gradient is of size L rho. Two exact
instances: ``Stall`` (four quadratic clients; the gradient is rho at w and 3 rho at w + delta, so that both readings
of the left side fail) and ``plateau`` (one non-convex client, used with any number of identical clients and any
cohort).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import sympy as sp

from theory.inexact import momentum, statements
from theory.kit.formula import formula
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, always, check
from theory.qu2022.common import instance, proved_instead, ratio, require, require_identity
from theory.qu2022.printed import L, beta, eta_g
from theory.qu2022.recursions import Stall, fedsam_round, mofedsam_round, plateau, quadratic, shoulder, shoulder_loss

C_FULL = Fraction(2, 5)  # below 1/2 - 30 x^2 for x <= 1/100


def _phi_full(x: Fraction, rho: Fraction, smooth: int, sigma2: Fraction) -> Fraction:
    """C Phi of Theorem B.6 for K = 1 and sigma_l = 0; x = L eta_l."""
    eta = x / smooth
    return (
        90 * x**2 * sigma2
        + 180 * x**2 * smooth**2 * rho**2
        + 120 * smooth**6 * eta**6 * rho**2
        + 16 * eta**4 * smooth**6 * rho**2
    )


def _phi_sampled(x, rho, smooth, sigma2, step, size) -> Fraction:
    """Additional terms of C Phi in Theorem B.9 for K = 1, sigma_l = 0; step = eta_g eta_l."""
    eta = x / smooth
    bracket = 180 * smooth**3 * eta**2 * sigma2 + 360 * smooth**5 * eta**2 * rho**2 + 72 * smooth**7 * eta**4 * rho**2
    bracket += 6 * smooth**3 * eta**2 * rho**2 + 6 * smooth * sigma2 + 6 * smooth**3 * rho**2
    return step / size * bracket


def _sides_b(v) -> dict[str, Fraction]:
    """Both sides of Theorems B.6 and B.9 (S = N = 4) on ``Stall``, for R rounds with constant steps."""
    stall = Stall(v["rho"])
    smooth, sigma2 = stall.smoothness, stall.heterogeneity()
    step = v["eta_l"] * v["eta_g"]
    x = smooth * v["eta_l"]
    progress = max(stall.excess(), stall.perturbed_excess()) / (C_FULL * step * v["R"])
    full = progress + _phi_full(x, v["rho"], smooth, sigma2) / C_FULL
    sampled = full + _phi_sampled(x, v["rho"], smooth, sigma2, step, 4) / C_FULL
    shifted = stall.start + v["rho"]  # delta = +rho because grad F > 0
    left = {"plain": stall.gradient(stall.start) ** 2, "perturbed": stall.gradient(shifted) ** 2}
    return {**left, "full": full, "sampled": sampled, "x": x, "step": step * smooth}


_CONSTANT = {"rho": "1/2", "eta_l": "1/3000", "eta_g": "1/10", "R": 10**9, "K": 1, "N": 4, "S": 4}


def _conditions_b(v, sides) -> dict[str, bool]:
    smooth = Stall.smoothness
    positivity = Fraction(1, 2) - 30 * sides["x"] ** 2 - sides["step"] / 8 * (3 + 180 * sides["x"] ** 2)
    return {
        "A1: quadratics with curvature at most L = 3": always(smooth == 3),
        "A2: sigma_g^2 is the largest deviation at the only iterate": always(Stall(v["rho"]).heterogeneity() > 0),
        "A3: deterministic gradients, sigma_l = 0": BY_CONSTRUCTION,
        "eta_l <= 1/(10KL)": 10 * sides["x"] <= 1,
        "eta_g eta_l <= 1/(KL)": sides["step"] <= 1,
        "C below both positivity conditions": positivity > C_FULL,
        "the server iterate never moves (exact round)": always(Stall(v["rho"]).stands_still(v["eta_l"], v["eta_g"])),
    }


def _replay_b6(evidence) -> Replay:
    v = instance(evidence)
    sides = _sides_b(v)
    conditions = {**_conditions_b(v, sides), "reading (P) fails as well": sides["perturbed"] > sides["full"]}
    return Replay(conditions, sides["plain"], sides["full"])


def _replay_b9(evidence) -> Replay:
    v = instance(evidence)
    sides = _sides_b(v)
    conditions = {**_conditions_b(v, sides), "reading (P) fails as well": sides["perturbed"] > sides["sampled"]}
    return Replay(conditions, sides["plain"], sides["sampled"])


def draw_stall(axes, evidence) -> None:
    """The four clients' gradients, their mean, the stalled iterate and the perturbed points."""
    stall = Stall(Fraction(1, 2))
    grid = [Fraction(i, 40) for i in range(121)]
    for client in stall.clients[1:3]:
        axes.plot([float(x) for x in grid], [float(client(x)) for x in grid], lw=1, color="0.5")
    axes.plot([float(x) for x in grid], [float(stall.gradient(x)) for x in grid], lw=2, label="grad F")
    start = float(stall.start)
    axes.axvline(start, color="C3", label="iterate that never moves")
    axes.scatter(
        [start + 0.5, start - 0.5], [4.5 * 0.5, -4.5 * 0.5], color="C1", zorder=3, label="SAM gradients cancel"
    )
    axes.axhline(0, color="k", lw=0.5)
    axes.set_xlabel("w")
    axes.set_ylabel("gradient")
    axes.legend()


@check("qu22-thmB.6", replay=_replay_b6, figure=draw_stall)
def constant_steps_full_participation() -> Verdict:
    """Theorem B.6: FedSAM with constant steps, full participation.

    Statement: min_r E|grad F(w^r)|^2 <= F/(C K eta_g eta_l R) + Phi for every rho and R, read at w^r (U) or at w^r +
        delta (P).
    Assumptions: A1-A3, eta_l <= 1/(10KL), eta_g eta_l <= 1/(KL), C < 1/2 - 30 K^2 L^2 eta_l^2.
    Method: ``Stall``: the SAM gradients of four quadratic clients cancel at a point with |grad F| = rho (and 3 rho at
        the perturbed point). Phi contains rho only with eta_l, so that it is small for small eta_l; both sides exact.
        Repair: the
        theorem on inexact local gradients (theory.inexact), proved from named facts and run on FedSAM's own class.
    Verdict: repaired: Phi lacks a term L^2 rho^2 that no choice of step sizes removes.
    Reference: Qu et al. 2022, Theorem B.6.
    """
    v = instance(_CONSTANT)
    sides = _sides_b(v)
    require(sides["plain"] > sides["full"] and sides["perturbed"] > sides["full"], "both readings fail")
    return proved_instead(
        _CONSTANT,
        (statements.full(), statements.exact()),
        ratio(sides["plain"], sides["full"]),
        margin_of_reading_P=ratio(sides["perturbed"], sides["full"]),
    )


@check("qu22-thmB.9", replay=_replay_b9, figure=draw_stall)
def constant_steps_partial_participation() -> Verdict:
    """Theorem B.9: FedSAM with constant steps, partial participation.

    Statement: as Theorem B.6 with S sampled clients, the positivity condition of the theorem and its longer Phi.
    Assumptions: A1-A3 and the printed step-size conditions; S = N is allowed.
    Method: ``Stall`` with S = N = 4 and small eta_g eta_l; exact. Repair: the theorem on inexact local
        gradients with cohorts drawn without replacement and minibatch noise.
    Verdict: repaired.
    Reference: Qu et al. 2022, Theorem B.9.
    """
    v = instance(_CONSTANT)
    sides = _sides_b(v)
    require(sides["plain"] > sides["sampled"] and sides["perturbed"] > sides["sampled"], "both readings fail")
    return proved_instead(
        _CONSTANT,
        (statements.sampled(),),
        ratio(sides["plain"], sides["sampled"]),
        margin_of_reading_P=ratio(sides["perturbed"], sides["sampled"]),
    )


def _sides_rate(v) -> dict[str, Fraction]:
    """Left sides and printed right sides (without c) at R = root^2 on ``Stall`` with K = 1, N = S = 4."""
    root = v["root_R"]
    rho = 1 / root
    stall, rounds = Stall(rho), root**2
    smooth, sigma2 = stall.smoothness, stall.heterogeneity()
    gap = max(stall.excess(), stall.perturbed_excess())
    beta = v.get("beta", Fraction(1, 10))
    leading = gap * smooth / (root * 2)
    return {
        "plain": stall.gradient(stall.start) ** 2,
        "perturbed": stall.gradient(stall.start + rho) ** 2,
        "full": leading + sigma2 / rounds + smooth**2 / rounds**2,
        "partial": leading + sigma2 / (root * 2) + smooth**2 / (root**3 * 2),
        "momentum": beta * leading + beta * sigma2 / (rounds * smooth**2) + beta * smooth**2 / rounds**2,
        "momentum_partial": beta * leading + beta * sigma2 / (root * 2),
        "still": stall.stands_still(1 / (root * smooth), Fraction(2)),
    }


def _noise_instance(root: int, size: Fraction) -> dict[str, Fraction]:
    """Average E|grad F(w^r)|^2 of FedSAM on x^2/2 from its minimiser with gradient noise +-size; N = K = L = 1.

    R = root^2, rho = eta_l = 1/root. While |w| < size the SAM gradient is w +- (size + rho), so that the second moment
    obeys m' = (1 - eta)^2 m + eta^2 (size + rho)^2; F(w^0) = F^*, sigma_g = 0, and sigma_l^2 = 4 always satisfies A3.
    """
    step, rho = Fraction(1, root), Fraction(1, root)
    moment, total = Fraction(0), Fraction(0)
    for _ in range(root**2):
        moment = (1 - step) ** 2 * moment + step**2 * (size + rho) ** 2
        total += moment
    reach = (size + rho) * (1 - (1 - step) ** (root**2))
    right = 4 / Fraction(root) ** 3 + 1 / Fraction(root) ** 4
    return {"left": total / root**2, "right": right, "inside": size - reach}


def _identical_instance(root: Fraction) -> Fraction:
    """Left over right of Theorem 3.1 (U) on ``plateau`` with identical clients (sigma_g = sigma_l = 0), K = L = 1."""
    rho, rounds = 1 / root, root**2
    still = fedsam_round(-rho, [plateau(rho, Fraction(1))], rho, 1 / root, Fraction(1), 1)
    require(still.w == -rho, "FedSAM does not move")
    return plateau(rho, Fraction(1))(-rho) ** 2 / (rho**2 / 2 / root + 1 / rounds**2)


def fixed_problem(root: Fraction, size: Fraction) -> dict[str, Fraction]:
    """Both sides of Theorem 3.1 (U), c = 1, on one problem for every R: curvatures 1, 1, 3, 3 from its minimiser 0.

    Gradients x - size (twice) and 3x + size (twice): F = x^2, L = 3, F(w^0) = F^*. While |x| < size/3 no sign changes
    and the mean SAM gradient is 2x + rho, so x falls to -rho/2 and every client deviates by |x + size| <= size.
    R = root^2, K = 1, N = 4, printed steps. left: a lower bound of the average of (2x)^2, from the geometric sum
    without its positive last part.
    """
    rounds, step, rho = root**2, 2 / (3 * root), 1 / root
    first = fedsam_round(Fraction(0), _fixed_clients(size), rho, 1 / (3 * root), Fraction(2), 1)
    require(first.w == -step * rho, "the first round by the closed form")
    left = rho**2 * (1 - 2 / (rounds * 2 * step))
    return {"left": left, "right": size**2 / rounds + 9 / rounds**2, "inside": size / 3 - rho / 2}


def _fixed_clients(size: Fraction) -> list:
    return [quadratic(Fraction(1), size)] * 2 + [quadratic(Fraction(3), -size / 3)] * 2


def _replay_rate(name: str):
    def replay(evidence) -> Replay:
        v = instance(evidence)
        sides = _sides_rate(v)
        conditions = {
            "A1: L = 3, A3: deterministic": BY_CONSTRUCTION,
            "A2 at the only iterate": always(Stall(1 / v["root_R"]).heterogeneity() > 0),
            "R large: eta_l = 1/(sqrt(R)KL) <= 1/(10KL), eta_g eta_l <= 1/(KL)": v["root_R"] >= 10,
            "the server iterate never moves (exact round)": always(sides["still"]),
            "reading (P) fails as well": sides["perturbed"] > v["c"] * sides[name],
        }
        if name == "full":
            fixed = fixed_problem(v["root_R"], v["fixed_size"])
            conditions["one fixed problem fails as well, with the signs that its closed form uses"] = (
                fixed["inside"] > 0 and fixed["left"] > v["c"] * fixed["right"]
            )
            identical = min(_identical_instance(root) for root in (v["root_R"], 100 * v["root_R"]))
            conditions["identical clients, sigma_g = 0, fail as well"] = identical > v["c"]
        return Replay(conditions, sides["plain"], v["c"] * sides[name])

    return replay


def _growth(name: str) -> dict[str, list[float]]:
    """LHS/RHS at R = 10^4, 10^6, 10^8 for the readings U and P: unbounded in R."""
    rows = [_sides_rate({"root_R": Fraction(10**k)}) for k in (2, 3, 4)]
    return {key: [round(ratio(row[key], row[name]), 2) for row in rows] for key in ("plain", "perturbed")}


def draw_growth(axes, evidence) -> None:
    """LHS/RHS of the printed rate against R for both readings."""
    rounds = [10**4, 10**6, 10**8]
    for key, label in (("plain", "gradient at w"), ("perturbed", "gradient at w + delta")):
        axes.loglog(rounds, evidence["left_over_right"][key], "o-", label=label)
    axes.axhline(1, color="k", lw=0.5)
    axes.set_xlabel("rounds R")
    axes.set_ylabel("left / printed right (c = 1)")
    axes.legend()


_RATE_POINT = {"root_R": 10**6, "c": 100, "K": 1, "N": 4, "S": 4, "beta": "1/10", "fixed_size": "1/100"}


@check("qu22-thm3.1-full", "qu22-thmB.6-omit", "qu22-rem3.3-extra", replay=_replay_rate("full"), figure=draw_growth)
def fedsam_rate() -> Verdict:
    """Theorem 3.1, full participation, and the order of its SAM term.

    Statement: the average squared gradient is O(F L/sqrt(RKN) + sigma_g^2/R + L^2 sigma_l^2/(R^(3/2) sqrt(KN)) +
        L^2/R^2) with an absolute constant; the SAM part L^2/R^2 is of higher order and negligible (Remark 3.3, end of
        B.6).
    Assumptions: A1-A3, prescribed step sizes, rho = 1/sqrt(R), R large.
    Method: ``Stall`` with radius 1/sqrt(R): gradient^2 = 1/R (9/R at w + delta) for ever, sigma_g^2 = 25/(4R), F of
        order 1/R; left/right grows like sqrt(R). Exact at R = 10^12 with c = 100. Identical clients (sigma_g = 0) fail
        as well, and so does one problem that is the same for every R: gradients x - e, x - e, 3x + e, 3x + e from the
        minimiser, where left/right tends to 1/e^2. Where F(w^0) > F^* and gradients are exact, the printed rate of a
        fixed problem is true from some R on, because its first term is the largest. With rho = 0 the printed bound
        has no noise term at all. Repair: the theorem on inexact local gradients, whose term L^2 rho^2 = L^2/R is
        needed.
    Verdict: repaired: SAM with rho = 1/sqrt(R) costs L^2/R, the order of sigma_g^2/R.
    Reference: Qu et al. 2022, Theorem 3.1, Remark 3.3, end of the proof of Theorem B.6.
    """
    growth, factor = _growth("full"), 10
    require(growth["plain"][-1] > factor * growth["plain"][0], "the ratio grows with R")
    noise = _noise_instance(10, Fraction(10**4))
    require(noise["inside"] > 0 and noise["left"] > 10**6 * noise["right"], "noise that satisfies A3 violates the rate")
    return proved_instead(
        _RATE_POINT,
        (statements.full(), statements.exact()),
        growth["plain"][-1],
        left_over_right=growth,
        grows_by_more_than=factor,
        fixed_problem_left_over_right={
            f"R = 10^{2 * k}, e = {size}": ratio(*list(fixed_problem(Fraction(10**k), size).values())[:2])
            for k in (2, 3, 4)
            for size in (Fraction(1, 10), Fraction(1, 20))
        },
        identical_clients_left_over_right=[float(_identical_instance(Fraction(10**k))) for k in (2, 3, 4)],
        noise_instance={name: float(value) for name, value in noise.items()},
    )


@check("qu22-thm3.1-partial", replay=_replay_rate("partial"), figure=draw_growth)
def fedsam_rate_partial() -> Verdict:
    """Theorem 3.1, partial participation.

    Statement: the average squared gradient is O(F L/sqrt(RKS) + sqrt(K) sigma_g^2/sqrt(RS) + L^2 sigma_l^2/(R^(3/2)
        K) + sqrt(K) L^2/(R^(3/2) sqrt(S))).
    Assumptions: as Theorem 3.1 with S >= K; S = N is allowed.
    Method: ``Stall`` with S = N = 4, K = 1: left 1/R, right of order R^(-3/2). Repair: the theorem on inexact
        local gradients with cohorts.
    Verdict: repaired: the printed terms plus L^2/R.
    Reference: Qu et al. 2022, Theorem 3.1.
    """
    growth, factor = _growth("partial"), 10
    require(growth["plain"][-1] > factor * growth["plain"][0], "the ratio grows with R")
    numbers = {"left_over_right": growth, "grows_by_more_than": factor}
    return proved_instead({**_RATE_POINT, "root_R": 10**6}, (statements.sampled(),), growth["plain"][-1], **numbers)


@check("qu22-thm4.1-full", replay=_replay_rate("momentum"), figure=draw_growth)
def mofedsam_rate() -> Verdict:
    """Theorem 4.1, full participation.

    Statement: the average squared gradient is O(beta F L/sqrt(RKN) + beta sigma_g^2/(R L^2) + L sigma_l^2/(R^2 beta)
        + beta L^2/R^2) for beta <= 1/2.
    Assumptions: A1-A3, prescribed step sizes, Delta^0 = 0.
    Method: ``Stall`` with Delta^0 = 0: Delta^1 = beta mean g~ = 0, so that MoFedSAM stands still as well (exact
        round). Repair: the theorem on inexact local gradients with momentum (theory.inexact) at the printed step
        sizes, with minibatch noise.
    Verdict: repaired: a term L^2 rho^2 = L^2/R is needed. The printed leading term beta F L/sqrt(RKN) is right from R
        = 16KN/beta^4 and 100/beta^2 on; sigma_g^2/R replaces beta sigma_g^2/(R L^2).
    Reference: Qu et al. 2022, Theorem 4.1.
    """
    growth = _growth("momentum")
    require(growth["plain"][-1] > growth["plain"][0], "the ratio grows with R")
    return proved_instead(_RATE_POINT, (momentum.printed_steps(),), growth["plain"][-1], left_over_right=growth)


@check("qu22-thm4.1-partial", replay=_replay_rate("momentum_partial"), figure=draw_growth)
def mofedsam_rate_partial() -> Verdict:
    """Theorem 4.1, partial participation (leading terms).

    Statement: the average squared gradient is O(beta F L/sqrt(RKS) + beta sqrt(K) sigma_g^2/sqrt(RS) + ...).
    Assumptions: as Theorem 4.1 with S >= K; the further terms of the damaged print are of smaller order in R.
    Method: ``Stall`` with S = N = 4: left 1/R; both terms are of order R^(-3/2) there. Repair: the theorem on inexact
        local gradients with momentum and cohorts drawn without replacement, for eta_g <= beta/(4L).
    Verdict: repaired: sampling costs kappa sigma_g^2 times a factor of order beta, kappa <= 1/S, so that a small beta
        does reduce the effect of client sampling, while the optimisation term is at least 8 L F/(beta R).
    Reference: Qu et al. 2022, Theorem 4.1, Theorem D.7.
    """
    growth = _growth("momentum_partial")
    require(growth["plain"][-1] > growth["plain"][0], "the ratio grows with R")
    return proved_instead(_RATE_POINT, (momentum.statement(),), growth["plain"][-1], left_over_right=growth)


def _sides_d(v) -> dict[str, Fraction]:
    """Both sides of Theorems D.4 and D.7 on ``plateau`` with identical clients, K = 1, L = 1, from w = -rho."""
    rho, beta = v["rho"], v["beta"]
    loss = plateau(rho, Fraction(1))
    state = mofedsam_round(-rho, Fraction(0), [loss] * 2, rho, beta, v["eta_l"], v["eta_g"], 1)
    plain = fedsam_round(-rho, [loss] * 2, rho, v["eta_l"], v["eta_g"], 1)
    eta = v["eta_l"]
    phi = 210 * beta**2 * eta**2 * rho**2 + 28 * beta**2 * eta**4 * rho**2 + 2 * eta**2 * rho**2
    # D.6: prefactor beta L eta_g/(K^2 S N) times the printed bracket at sigma_g = sigma_l = 0
    bracket = (540 * v["N"] + 6 * v["N"]) * eta**2 * rho**2 + 72 * eta**4 * rho**2 + 3 * v["N"] * rho**2
    sampled = phi + beta * v["eta_g"] / (v["S"] * v["N"]) * bracket
    progress = rho**2 / 2 / (v["C"] * beta * v["eta_g"] * v["R"])  # F(w^0) - F^* = L rho^2/2
    return {
        "left": loss(-rho) ** 2,
        "right": progress + phi / v["C"],
        "sampled": progress + sampled / v["C"],
        "still": state.w == -rho and state.momentum == 0 and plain.w == -rho,
    }


def _conditions_d(v, sides) -> dict[str, bool]:
    beta, eta, server = v["beta"], v["eta_l"], v["eta_g"]
    lost = 2 * (1 - beta) ** 2 * server / (beta * v["N"]) + 70 * (1 - beta) * eta**2 + 90 * beta * server * eta**2
    lost += 3 * beta * server / (2 * v["S"])
    return {
        "A1 with L = 1 (plateau loss), A2 with sigma_g = 0 (identical clients), A3 without noise": BY_CONSTRUCTION,
        "beta <= 1/2": 2 * beta <= 1,
        "eta_l <= 1/(30 beta K L)": 30 * beta * eta <= 1,
        "eta_g <= S/(2 beta L (S-1)) and eta_g <= 1/(beta L)": 2 * beta * server * (v["S"] - 1) <= v["S"],
        "C below 3/4 minus every printed subtraction": Fraction(3, 4) - lost > v["C"],
        "the server iterate never moves (exact round)": always(sides["still"]),
    }


_MOMENTUM_POINT = {
    "rho": "1/2",
    "beta": "1/10",
    "eta_l": "1/1000",
    "eta_g": "1/10",
    "R": 10**6,
    "N": 1000,
    "S": 1000,
    "K": 1,
    "C": "1/2",
}


def cycling_orbit(rounds: int) -> list[Fraction]:
    """MoFedSAM with rho = 0, K = 1, beta = 1/10, eta_g = 1/(beta L) = 10 on ``shoulder`` from 97/5, exact."""
    path, momentum = [Fraction(97, 5)], Fraction(0)
    for _ in range(rounds):
        state = mofedsam_round(
            path[-1], momentum, [shoulder], Fraction(0), Fraction(1, 10), Fraction(1, 1000), Fraction(10), 1
        )
        path.append(state.w)
        momentum = state.momentum
    return path


def _cycle(rounds: int, clients: int = 10**6) -> dict[str, Fraction]:
    """Left and right side of Theorem D.4 at rho = sigma = 0 for ``clients`` identical clients; C = 1/2."""
    path = cycling_orbit(rounds)[:-1]
    left = min(shoulder(w) ** 2 for w in path)
    lost = 2 * Fraction(81, 100) * 100 / clients + 70 * Fraction(9, 10) / 10**6
    return {"left": left, "right": shoulder_loss(path[0]) / (Fraction(1, 2) * rounds), "C_bound": Fraction(3, 4) - lost}


def draw_orbit(axes, evidence) -> None:
    """The cycling orbit of MoFedSAM without perturbation, with its gradient."""
    path = [float(w) for w in cycling_orbit(200)]
    axes.plot(path, "o-", ms=2, lw=0.8, label="w^r, eta_g = 1/(beta L)")
    axes.plot([abs(float(shoulder(w))) for w in path], lw=0.8, color="C3", label="|grad F(w^r)|")
    axes.axhline(0, color="k", lw=0.5)
    axes.set_xlabel("round")
    axes.legend()


def heavy_ball() -> tuple[str, str]:
    """Decrease of F plus (1 - beta)/(2 beta eta_g)|w^r - w^(r-1)|^2 for rho = 0, K = 1: text and certificate.

    One coordinate: g = grad F(w^r), d and new the last and the next step, new = (1 - beta) d - beta eta_g g.
    """
    now, after, d, new = sp.symbols("F F_next d d_next", real=True)
    names = {eta_g: r"\eta_g", now: "F(w^r)", after: "F(w^{r+1})", d: r"\|w^r-w^{r-1}\|", new: r"\|w^{r+1}-w^r\|"}
    weight, short = (1 - beta) / (2 * beta * eta_g), formula(eta_g, "<", 2 / L, names)
    bound = formula(after + weight * new**2, "<=", now + weight * d**2 - (1 / eta_g - L / 2) * new**2, names)
    slope = ((1 - beta) * d - new) / (beta * eta_g)
    left, right = bound.at({after: now + slope * new + L / 2 * new**2})
    room = require_identity(right - left, weight * (new - d) ** 2, "right - left")
    sign = require_identity(1 / eta_g - L / 2, short.room * L / (2 * eta_g), "factor of the step")
    return (
        f"for $\\rho=0$, $K=1$: ${bound.latex}$, a decrease if ${short.latex}$",
        f"{room}, a square; {sign}, positive",
    )


def _replay_d(name: str):
    def replay(evidence) -> Replay:
        v = instance(evidence)
        sides = _sides_d(v)
        conditions = _conditions_d(v, sides)
        if name == "right":
            cycle = _cycle(200)
            conditions["rho = 0: the cycling orbit violates the bound as well"] = always(cycle["left"] > cycle["right"])
            conditions["rho = 0: C = 1/2 is admissible"] = always(cycle["C_bound"] > Fraction(1, 2))
        return Replay(conditions, sides["left"], sides[name])

    return replay


@check("qu22-thmD.4", replay=_replay_d("right"), figure=draw_orbit)
def mofedsam_constant_steps() -> Verdict:
    """Theorem D.4: MoFedSAM with constant steps, full participation.

    Statement: min_r E|grad F(w^r)|^2 <= (F(w^0) - F^*)/(C beta eta_g R) + Phi for beta <= 1/2, eta_l <= 1/(30 beta K
        L), eta_g <= 1/(beta L) and the printed positivity condition; at rho = sigma = 0 the right side tends to 0.
    Assumptions: A1-A3, identical clients (sigma_g = 0), the sign pair (-1, -1).
    Method: rho > 0: at w = -rho of ``plateau`` the gradient is L rho but the perturbed point is a maximum, so that
        neither FedSAM nor MoFedSAM moves, while Phi contains rho only with eta_l^2. rho = 0: with eta_g = 1/(beta L),
        beta = 1/10, the orbit on ``shoulder`` (unimodal, one stationary point) keeps jumping over the minimiser;
        1,000 exact rounds have |grad F|^2 > 11. Repair: the theorem on inexact local gradients with momentum, for
        eta_g <= beta/(4L); for rho = 0, K = 1 an energy argument allows eta_g < 2/L.
    Verdict: repaired: both the radius term and the step-size range of the theorem are at fault.
    Reference: Qu et al. 2022, Theorem D.4.
    """
    sides = _sides_d(instance(_MOMENTUM_POINT))
    require(sides["left"] > sides["right"] and sides["still"], "left exceeds right")
    cycle = _cycle(1000)
    require(cycle["left"] > 11 > cycle["right"], "the cycling orbit keeps a large gradient")
    energy, certificate = heavy_ball()
    found = proved_instead(
        _MOMENTUM_POINT,
        (momentum.statement(),),
        ratio(sides["left"], sides["right"]),
        without_perturbation={
            "start": "97/5",
            "beta": "1/10",
            "eta_g": "1/(beta L)",
            "rounds": 1000,
            "smallest_squared_gradient": float(cycle["left"]),
            "printed_bound": float(cycle["right"]),
        },
    )
    found.evidence["repair"]["certificate"] += f"; {certificate}"
    return replace(found, repaired=f"{found.repaired} Moreover, {energy}.")


@check("qu22-thmD.7", replay=_replay_d("sampled"))
def mofedsam_constant_steps_partial() -> Verdict:
    """Theorem D.7: MoFedSAM with constant steps, partial participation.

    Statement: the bound with eta_g <= S/(2 beta L (S-1)), its positivity condition and the longer Phi of Lemma D.6;
        consistent with Theorem D.4 at S = N.
    Assumptions: A1-A3, identical clients.
    Method: ``plateau`` with S = N; the damaged prefactor of the last bracket is taken from the derivation, beta L
        eta_g/(K^2 S N). At S = N the step condition is about 1/(2 beta L), half of that of D.4.
    Verdict: repaired: the theorem on inexact local gradients with momentum and cohorts, for eta_g <= beta/(4L).
    Reference: Qu et al. 2022, Theorem D.7, Lemma D.6.
    """
    v = instance(_MOMENTUM_POINT)
    sides = _sides_d(v)
    require(sides["left"] > sides["sampled"], "left exceeds right")
    return proved_instead(
        _MOMENTUM_POINT,
        (momentum.statement(),),
        ratio(sides["left"], sides["sampled"]),
        step_condition_at_full_participation=[float(v["S"] / (2 * (v["S"] - 1))), 1.0],
    )
