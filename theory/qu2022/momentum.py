"""Appendix D: drift, second moment and descent of MoFedSAM (sign pair (-1, -1) of qu22-alg2-sign)."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import sympy as sp

from theory.kit import lemmas
from theory.kit.formula import formula
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022 import corrected
from theory.qu2022.common import compared, instance, proved, ratio, refuted, repaired, require, require_identity
from theory.qu2022.printed import K, L, N, S, beta, eta
from theory.qu2022.recursions import mofedsam_round, quadratic


def _overshoot(beta, eta, server) -> dict[str, Fraction]:
    """Two exact rounds on x^2/2 (rho = 0, N = 1, K = 2) from w = 1, Delta^0 = 0: what round 1 starts from."""
    clients = [quadratic(Fraction(1), Fraction(0))]
    first = mofedsam_round(Fraction(1), Fraction(0), clients, Fraction(0), beta, eta, server, 2)
    second = mofedsam_round(first.w, first.momentum, clients, Fraction(0), beta, eta, server, 2)
    drift = (second.iterates[0][1] - first.w) ** 2
    return {"w": first.w, "momentum": first.momentum, "drift": drift}


def _overshoot_conditions(v) -> dict[str, bool]:
    return {
        "eta_l <= 1/(30 beta K L), K = 2, L = 1": 60 * v["beta"] * v["eta"] <= 1,
        "eta_g <= 1/(beta L)": v["eta_g"] * v["beta"] <= 1,
        "beta <= 1/2": 2 * v["beta"] <= 1,
        "rho = 0, deterministic, one client": BY_CONSTRUCTION,
    }


def _right_d1(v, power: int) -> Fraction:
    """5K eta^power' 14K(1-beta)^2 eta^2 |grad|^2 for K = 2: power 2 as in the proof, 4 as in the statement."""
    return 10 * v["eta"] ** power * 28 * (1 - v["beta"]) ** 2 * _overshoot(v["beta"], v["eta"], v["eta_g"])["w"] ** 2


_OVERSHOOT = {"beta": "1/10", "eta": "1/100", "eta_g": 10, "K": 2, "N": 1}


def _replay_d1(evidence) -> Replay:
    v = instance(evidence)
    drift = _overshoot(v["beta"], v["eta"], v["eta_g"])["drift"]
    conditions = {**_overshoot_conditions(v), "statement (eta^4) violated as well": drift > _right_d1(v, 4)}
    return Replay(conditions, drift, _right_d1(v, 2))


@check("qu22-lemD.1", replay=_replay_d1)
def client_drift_of_mofedsam() -> Verdict:
    """Client drift of MoFedSAM.

    Statement: E_w <= 5K(2 beta^2 L^2 eta^2 rho^2 sigma_l^2 + 7K beta^2 eta^2 (3 sigma_g^2 + 6 L^2 rho^2) + 14K
        (1-beta)^2 eta^2 |grad f~|^2) + 28 beta^2 K^3 L^4 eta^4 rho^2 (proof), with another eta^2 in the statement.
    Assumptions: eta_l <= 1/(30 beta K L), beta <= 1/2, Delta^0 = 0.
    Method: two exact rounds on x^2/2 with rho = 0 and eta_g = 1/(beta L): round 0 ends next to the minimiser, so that
        the gradient is small while Delta^1 is not, and the clients drift along Delta^1. Repair: the bound with
        |Delta^r|^2.
    Verdict: repaired.
    Reference: Qu et al. 2022, Lemma D.1.
    """
    v = instance(_OVERSHOOT)
    drift = _overshoot(v["beta"], v["eta"], v["eta_g"])["drift"]
    printings = {f"eta^{power}": _right_d1(v, power) for power in (2, 4)}
    require(all(drift > right for right in printings.values()), "both printings fail")
    return repaired(
        _OVERSHOOT,
        *corrected.momentum_drift(),
        ratio(drift, printings["eta^2"]),
        right_of_both_printings={name: str(right) for name, right in printings.items()},
    )


def _replay_replacement(evidence) -> Replay:
    v = instance(evidence)
    state = _overshoot(v["beta"], v["eta"], v["eta_g"])
    return Replay(_overshoot_conditions(v), abs(state["momentum"]), abs(state["w"]))


@check("qu22-lemD.1-delta", replay=_replay_replacement)
def momentum_replaced_by_the_gradient() -> Verdict:
    """Replacing Delta by the gradient in the proof of Lemma D.1.

    Statement: 7K(1-beta)^2 eta^2 |Delta^r|^2 + 7K beta^2 eta^2 |grad f~|^2 <= 14K (1-beta)^2 eta^2 |grad f~(w~^r)|^2
        for beta <= 1/2, that is |Delta^r| <= |grad f~(w~^r)|.
    Assumptions: beta <= 1/2, step sizes of Theorem D.4.
    Method: the state of qu22-lemD.1 after one exact round has |Delta^1| > |grad F(w^1)|, rho = 0. The algebra alone
        is right: (1-beta)^2 - beta^2 = 1 - 2 beta >= 0.
    Verdict: repaired: keep |Delta^r|^2.
    Reference: Qu et al. 2022, proof of Lemma D.1, step (e).
    """
    v = instance(_OVERSHOOT)
    state = _overshoot(v["beta"], v["eta"], v["eta_g"])
    require(abs(state["momentum"]) > abs(state["w"]), "the momentum exceeds the gradient")
    m, p = sp.symbols("m p", nonnegative=True)
    small = formula(beta, "<=", sp.Rational(1, 2))
    old, new = 7 * K * (1 - beta) ** 2 * eta**2, 7 * K * beta**2 * eta**2
    names = {eta: r"\eta_l", m: r"\|\Delta^r\|", p: r"\|\nabla\tilde f\|"}
    bound = formula(old * m**2 + new * p**2, "<=", old * (m**2 + p**2), names)
    attained = bound.attained_at({beta: small.right, K: 3, eta: 5, m: 2, p: 7})
    room = require_identity(bound.room, 2 * small.room * 7 * K * eta**2 * p**2, "right - left")
    return repaired(
        _OVERSHOOT,
        f"${bound.latex}$ for ${small.latex}$",
        f"{room}, >= 0 for beta <= {small.right}",
        ratio(abs(state["momentum"]), abs(state["w"])),
        attained=attained,
    )


def _identical(clients: int, beta: Fraction, server: Fraction) -> dict[str, Fraction]:
    """Identical clients x^2/2, K = 1, rho = 0, from w = 1 and Delta^0 = 0: state of round 1 and its update."""
    gradients = [quadratic(Fraction(1), Fraction(0))] * clients
    first = mofedsam_round(Fraction(1), Fraction(0), gradients, Fraction(0), beta, Fraction(1, 30), server, 1)
    second = mofedsam_round(first.w, first.momentum, gradients, Fraction(0), beta, Fraction(1, 30), server, 1)
    return {"w": first.w, "momentum": first.momentum, "update": second.momentum**2}


def _right_d2(v, state) -> Fraction:
    kn = v["N"]  # K = 1
    return 2 * (1 - v["beta"]) ** 2 / kn * state["w"] ** 2 + 2 * v["beta"] ** 2 * state["w"] ** 2


def _identical_conditions(v, state) -> dict[str, bool]:
    return {
        "Delta^1 = grad F(w^1), as the proof assumes": state["momentum"] == state["w"],
        "eta_g <= 1/(beta L)": v["eta_g"] * v["beta"] <= 1,
        "eta_l <= 1/(30 beta K L)": BY_CONSTRUCTION,
        "identical clients, rho = 0, no noise": BY_CONSTRUCTION,
    }


_IDENTICAL = {"N": 10, "beta": "1/10", "eta_g": 9, "K": 1}


#: E|Delta^(r+1)|^2, E|Delta^r|^2, E|u_bar|^2 with u_i the mean gradient of client i, (1/N) sum E|u_i - u_bar|^2, kappa
following, before, mean, spread, kappa = sp.symbols("next before mean spread kappa", nonnegative=True)
MOMENTS = {following: r"\mathbb E\|\Delta^{r+1}\|^2", before: r"\mathbb E\|\Delta^r\|^2"}


def second_moment(right: sp.Expr) -> str:
    """Certificate of the corrected Lemma D.5: E|Delta^(r+1)|^2 <= right."""
    on = sp.Poly(right, before, mean, spread)
    sampling = sp.cancel(on.coeff_monomial(spread) / kappa)
    return lemmas.momentum_moment(on.coeff_monomial(before), on.coeff_monomial(mean), sampling).certificate()


def _cohorts(velocity: int, gradients: tuple[int, ...], size: int, factor: sp.Rational) -> dict[sp.Symbol, sp.Expr]:
    """Exact moments of one MoFedSAM update over all cohorts of a size; gradients [N], the same in every local step."""
    average = sp.Rational(sum(gradients), len(gradients))
    updates = [factor * sp.Rational(sum(c), size) + (1 - factor) * velocity for c in combinations(gradients, size)]
    return {
        beta: factor,
        N: len(gradients),
        S: size,
        before: velocity**2,
        mean: average**2,
        spread: sum((u - average) ** 2 for u in gradients) / len(gradients),
        following: sum(u**2 for u in updates) / len(updates),
    }


def _replay_d2(evidence) -> Replay:
    v = instance(evidence)
    state = _identical(int(v["N"]), v["beta"], v["eta_g"])
    return Replay(_identical_conditions(v, state), state["update"], _right_d2(v, state))


@check("qu22-lemD.2", replay=_replay_d2)
def second_moment_of_mofedsam() -> Verdict:
    """Second moment of the MoFedSAM update.

    Statement: E|Delta^(r+1)|^2 <= beta^2 L^2 rho^2 sigma_l^2/(KN) + (2(1-beta)^2/(KN))|grad f~|^2 + (c beta^2/(K^2
        N^2)) E|sum grad f_i(w~_{i,k})|^2 with c = 1 or 2.
    Assumptions: Delta^r = grad f~(w~^r), as in the proof; full participation.
    Method: ten identical clients, K = 1, rho = 0: after one exact round with eta_g = 9 and beta = 1/10 the
        identification holds exactly, and the update is |grad F|^2 while the right side has the factor 2 (1-beta)^2/10
        + 2 beta^2 = 0.182. Repair: a proof object by convexity; the mean of N equal vectors does not shrink with N.
        (Two terms of Lemma A.1 (2) give 2 (1-beta)^2 and 2 beta^2: for beta < 0.29 no decay at all.)
    Verdict: repaired; the lemma's own (1 + beta) is also not what its proof has.
    Reference: Qu et al. 2022, Lemma D.2.
    """
    v = instance(_IDENTICAL)
    state = _identical(int(v["N"]), v["beta"], v["eta_g"])
    right = _right_d2(v, state)
    require(state["momentum"] == state["w"] and state["update"] > right, "left exceeds right")
    total = sp.Symbol("total", nonnegative=True)
    names = {**MOMENTS, total: r"\mathbb E\|\sum_{i,k}\tilde g_{i,k}\|^2"}
    bound = formula(following, "<=", (1 - beta) * before + beta / (K**2 * N**2) * total, names)
    point = _cohorts(3, (3, 3), 2, sp.Rational(1, 4))
    attained = bound.attained_at({**point, K: 5, total: (5 * 2) ** 2 * point[mean]})
    return repaired(
        _IDENTICAL,
        f"${bound.latex}$, with any noise",
        second_moment(bound.right.subs(total, K**2 * N**2 * mean) + beta**2 * kappa * spread),  # kappa = 0: S = N
        ratio(state["update"], right),
        attained=attained,
    )


def _replay_d5(evidence) -> Replay:
    v = instance(evidence)
    state = _identical(int(v["N"]), v["beta"], v["eta_g"])
    statement = Fraction(1, 30) ** 2 * state["w"] ** 2  # eta_l^2/S^2 times S^2 |grad|^2, S = N, K = 1, rho = 0
    conditions = {
        **_identical_conditions(v, state),
        "proof version violated too": state["update"] > _right_d2(v, state),
    }
    return Replay(conditions, state["update"], statement)


@check("qu22-lemD.5", replay=_replay_d5)
def second_moment_with_sampling() -> Verdict:
    """Second moment of MoFedSAM under client sampling.

    Statement: E|Delta^(r+1)|^2 is bounded by the FedSAM expression of the statement (with eta_l^2) and by the
        expression at the end of the proof.
    Assumptions: normalised Delta^(r+1); S = N is the case tested.
    Method: the statement scales with eta_l^2 but Delta^(r+1) does not; the proof's 2(1-beta)^2/(KS) fails as in D.2;
        exact on ten identical clients. Repair: convexity and sampling without replacement, one proof object; the
        sampling costs beta^2, because the cohort is drawn independently of Delta^r.
    Verdict: repaired.
    Reference: Qu et al. 2022, Lemma D.5.
    """
    v = instance(_IDENTICAL)
    state = _identical(int(v["N"]), v["beta"], v["eta_g"])
    right = state["w"] ** 2 / 900
    require(state["update"] > right, "left exceeds the statement's right side")
    names = {**MOMENTS, mean: r"\mathbb E\|\bar u\|^2", spread: r"\frac1N\sum_i\mathbb E\|u_i-\bar u\|^2"}
    drawn = formula(kappa, "==", (N - S) / (S * (N - 1)))
    bound = formula(following, "<=", (1 - beta) * before + beta * mean + beta**2 * kappa * spread, names)
    points = [_cohorts(3, (3, 3), 1, sp.Rational(1, 4)), _cohorts(0, (-6, 1, 2, 3), 3, sp.Rational(1, 3))]
    points += [_cohorts(0, (-7, 1, 1, 2, 3), 2, sp.Rational(2, 3))]
    attained = [bound.attained_at({**point, kappa: drawn.at(point)[1]}) for point in points]
    return repaired(
        _IDENTICAL,
        rf"${bound.latex}$ with $u_i$ the mean of $\tilde g_{{i,k}}$ over $k$, $\bar u$ the mean of $u_i$ over $i$, "
        f"${drawn.latex}$ for $S$ clients drawn without replacement, with any noise",
        second_moment(bound.right),
        ratio(state["update"], right),
        attained=attained,
    )


@check("qu22-lemD.3")
def statement_and_proof_of_d3() -> Verdict:
    """Statement and proof of Lemma D.3.

    Statement: the printed right side of Lemma D.3 is what its proof derives.
    Assumptions: beta of the statement read as L (qu22-lemB.1-beta), G as sigma_g, sigma as sigma_l, B as 1.
    Method: coefficient of the squared gradient divided by eta_g, and units of the terms (l and x as in
        qu22-thm4.1-units).
    Verdict: inconsistent: the statement has K eta_l (1/2 - ...) where the proof has C beta, and two of its terms have
        odd powers of eta_l, hence another unit than the rest; it is the FedSAM form of an earlier version.
    Reference: Qu et al. 2022, Lemma D.3 and its proof.
    """
    units = {
        "6 K^2 eta^2 L^4 rho^2": [2, -2],
        "5 K^2 eta L^4 rho^2 sigma^2": [3, -4],
        "20 K^3 eta^3 L^2 G^2": [-1 * 3 + 2 + 2, 2 * 3 - 4 - 2],
        "16 K^3 eta^4 L^6 rho^2": [2, -2],
    }
    wrong = [term for term, unit in units.items() if unit != [2, -2]]
    printed = {
        "gradient coefficient / eta_g": "K eta_l (1/2 - 20 K^2 L^2 eta_l^2 B^2)",
        "symbols": ["B", "G", "beta = L"],
    }
    derived = {"gradient coefficient / eta_g": "C beta", "symbols": ["L", "beta", "sigma_g", "sigma_l"]}
    return compared(printed, derived, printed == derived, units_of_the_statement=units, wrong_unit=wrong)


def _replay_d3(evidence) -> Replay:
    v = instance(evidence)
    p, beta = v["gradient"], v["beta"]
    # rho = 0, N = K = 1: the server direction is -(beta p + (1 - beta) p) = -p under the identification
    left = p * (-p + beta * p)
    right = (3 * beta / 2 - 1) * p**2 - v["scale"] * beta / 2 * p**2
    return Replay(
        {"Delta^r = grad f~ (identification)": BY_CONSTRUCTION, "no drift, no noise": BY_CONSTRUCTION}, left, right
    )


@check("qu22-lemD.3-inner", mutations=((0.5, "proved"), (2.0, "refuted")), replay=_replay_d3)
def inner_product_of_d3(scale: float = 1.0) -> Verdict:
    """Inner-product step of Lemma D.3.

    Statement: <grad f~, E[Delta^(r+1) + beta grad f~]> <= (3 beta/2 - 1)|grad f~|^2 + beta L^2 (E_w + E_delta) -
        (beta/(2K^2N^2)) E|sum grad f_i(w~_{i,k})|^2.
    Assumptions: the identification Delta^r = grad f~(w~^r), unbiased SAM gradients, A1.
    Method: right minus left is (beta/2)(2 L^2 (E_w + E_delta) - |p - q|^2), p = grad f~ and q the mean gradient.
        ``scale`` multiplies the last term.
    Verdict: proved under the identification, which is false along the iterates (qu22-alg2-delta).
    Reference: Qu et al. 2022, proof of Lemma D.3, (13).
    """
    tenth = Fraction(1, 10)
    left, right = -1 + tenth, 3 * tenth / 2 - 1 - Fraction(scale) * tenth / 2
    if left > right:
        return refuted({"gradient": 1, "beta": str(tenth), "scale": str(Fraction(scale))}, None)
    p, q, total, models, turns, inner = sp.symbols("p q total E_w E_delta inner", real=True)
    last = sp.Rational(str(scale)) * beta / (2 * K**2 * N**2) * total
    product = r"\Big\langle\nabla\tilde f,\mathbb E[\Delta^{r+1}+\beta\nabla\tilde f]\Big\rangle"
    names = {inner: product, p: r"\|\nabla\tilde f\|", models: r"\mathcal E_w", turns: r"\mathcal E_\delta"}
    names |= {total: r"\mathbb E\|\sum_{i,k}\nabla\tilde f_i(\tilde w_{i,k})\|^2"}
    bound = formula(inner, "<=", (3 * beta / 2 - 1) * p**2 + beta * L**2 * (models + turns) - last, names)
    left, right = bound.at({inner: p * (-(beta * q + (1 - beta) * p) + beta * p), total: (K * N * q) ** 2})
    smooth = beta / 2 * (2 * L**2 * (models + turns) - (p - q) ** 2)
    room = require_identity(right - left, smooth + (1 - sp.Rational(str(scale))) * beta / 2 * q**2, "right - left")
    return proved(
        f"with Delta^(r+1) = -(beta q + (1 - beta) p), q the mean gradient: {room}; |p - q|^2 <= 2 L^2 (E_w + E_delta)",
        1.0,
        instance=bound.holds_at(
            {inner: tenth - 1, p: 1, total: 36, K: 2, N: 3, beta: tenth, L: 5, models: 0, turns: 0}
        ),
    )
