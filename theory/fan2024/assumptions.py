"""Section 5.1: what Assumptions 1-4 allow and exclude."""

from __future__ import annotations

from fractions import Fraction as Q

import sympy as sp

from theory.fan2024.common import exact, proved, refuted, repaired, sign
from theory.kit.exact import fractions_of
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import combination, identity
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check

#: positive random factor with mean 1: value 100 with probability 1/200, else 100/199
HEAVY_FACTOR = {"value": [Q(100), Q(100, 199)], "probability": [Q(1, 200), Q(199, 200)]}


def moments(c) -> tuple[Q, Q]:
    """Mean and second moment of the random factor."""
    pairs = list(zip(c["value"], c["probability"], strict=True))
    return sum(v * p for v, p in pairs), sum(v * v * p for v, p in pairs)


def multiplicative_noise_is_admissible(c) -> dict[str, bool]:
    """Assumption 1 for the oracle c_xi grad F: unbiased, and every unit stochastic gradient is the unit gradient."""
    first, _ = moments(c)
    return {
        "probabilities sum to 1": sum(c["probability"]) == 1,
        "unbiased": first == 1,
        "unit variance 0 (all factors > 0), sigma_l = 0": min(c["value"]) > 0,
        "F = w^2/2 is 1-smooth": BY_CONSTRUCTION,
    }


def bounded_variance() -> Formula:
    """The assumption on the noise that the corrected lemmas make."""
    noise, s = sp.symbols("noise s", nonnegative=True)
    return formula(noise, "<=", s**2, {noise: r"\mathbb E\|\nabla F_i(u,\xi)-\nabla F_i(u)\|^2"})


def _unit_variance(gradient: str) -> tuple[Formula, Q, str]:
    """Largest unit variance of any noise, that of an unbiased oracle which turns in 99 of 100 cases, and a certificate.

    gradient: LaTeX of the gradient without its arguments.
    """
    turn, phi = sp.Symbol("turn", nonnegative=True), sp.Symbol("phi", real=True)
    name = rf"\mathbb E\|{{\rm unit}}({gradient}(u,\xi))-{{\rm unit}}({gradient}(u))\|^2"
    bound = formula(turn, "<=", 4, {turn: name})
    oracle = {"value": [Q(-1), Q(199)], "probability": [Q(99, 100), Q(1, 100)]}
    turning = sum(p * (sign(v) - moments(oracle)[0]) ** 2 for v, p in zip(*oracle.values(), strict=True))
    bound.holds_at({turn: turning})
    a, b = sp.Matrix([1, 0]), sp.Matrix([sp.cos(phi), sp.sin(phi)])
    room = bound.room.subs(turn, (a - b).dot(a - b))
    return bound, turning, combination(room, [(1, (a + b).dot(a + b), "a square")], label="unit vectors a, b")


def _replay_unit_variance(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    variance = (moments(c)[1] - 1) * c["gradient"] ** 2
    return Replay(multiplicative_noise_is_admissible(c), variance, c["allowed_multiple"] * 0)


@check("fan24-ass1", replay=_replay_unit_variance)
def unit_variance_does_not_bound_the_noise() -> Verdict:
    """Noise that Assumption 1 does not see.

    Statement: the variance of unit stochastic gradients restricts the noise enough for the variance terms (multiples of
    sigma_l^2) of Lemmas 4-6 and Theorem 1.
    Assumptions: Assumption 1, unbiased stochastic gradients.
    Method: gradients c_xi grad F with c_xi > 0, mean 1 and large second moment: the unit gradient is exact, so
    sigma_l = 0, while the variance is arbitrary. The left side of the assumption is at most 4 for every distribution.
    Verdict: repaired. At a stationary point the assumption is undefined (0/0). Unbiasedness, which Qu et al. state,
    is not part of the printed assumption.
    Reference: Fan et al. 2024, Sec. 5.1, Assumption 1.
    """
    g, a2, s, eta = sp.symbols("g a2 s eta", nonnegative=True)
    variance, (largest, turning, chord) = bounded_variance(), _unit_variance(r"\nabla F_i")
    noise = [(eta**2, variance.right - a2, "a2 = E|noise|^2")]
    step = combination(eta**2 * (g**2 + s**2) - eta**2 * (g**2 + a2), noise, label="bound on E|w_1 - w|^2 for E = 1")
    return repaired(
        _replay_unit_variance,
        {
            **HEAVY_FACTOR,
            "gradient": 1,
            "variance": moments(HEAVY_FACTOR)[1] - 1,
            "allowed_multiple": 10**6,
            "sigma_l": 0,
        },
        f"The lemmas need ${variance.latex}$ and unbiasedness, which the unit-vector variance cannot replace: "
        f"${largest.latex}$ for any noise.",
        f"{step}; {chord}",
        unit_variance_of_a_turning_oracle=str(turning),
    )


def _replay_heterogeneity(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    mean_slope = sum(c["curvature"]) / len(c["curvature"])
    gap = max(abs(h - mean_slope) * abs(c["u"]) for h in c["curvature"])
    return Replay(
        {"quadratic clients, L = 2": max(c["curvature"]) <= 2, "sigma_g finite": BY_CONSTRUCTION},
        gap**2,
        c["sigma_g"] ** 2,
    )


@check("fan24-ass2", replay=_replay_heterogeneity)
def which_clients_have_bounded_heterogeneity() -> Verdict:
    """Function classes with a finite heterogeneity bound.

    Statement: |grad F_i(u) - grad F(u)|^2 <= sigma_g^2 for all u and all i.
    Assumptions: clients L-smooth (the class to which the theorem is applied).
    Method: quadratics with different curvature violate every sigma_g at a large enough u (exact); the gap is constant
    for equal Hessians; for gradients bounded by R (logistic, softmax, Huber losses) it is at most 2R.
    Verdict: repaired: the assumption excludes all quadratic clients with different Hessians.
    Reference: Fan et al. 2024, Sec. 5.1, Assumption 2.
    """
    h1, h2, m1, m2, u = sp.symbols("h1 h2 m1 m2 u", real=True)
    gap = h1 * (u - m1) - (h1 * (u - m1) + h2 * (u - m2)) / 2
    slope = identity(sp.diff(gap, u), (h1 - h2) / 2, label="slope of the gap in u: bounded only for h1 = h2")
    sigma_g, R, a, b = sp.symbols("sigma_g R a b", nonnegative=True)
    bound = formula(sigma_g, "<=", 2 * R)
    gradients = [Q(3), *[Q(-3)] * 4]  # of five clients
    largest = max(abs(g - sum(gradients) / len(gradients)) for g in gradients)
    five_clients = bound.holds_at({sigma_g: largest, R: max(map(abs, gradients))})
    slacks = [(1, R - a, "|grad F_i| <= R"), (1, R - b, "|grad F| <= R")]
    limited = combination(bound.room.subs(sigma_g, a + b), slacks, label="|grad F_i - grad F| <= a + b")
    return repaired(
        _replay_heterogeneity,
        {"curvature": [1, 2], "u": 4, "sigma_g": 1},
        r"A finite $\sigma_g$ exists for equal Hessians and for clients with gradients bounded by $R$ "
        rf"(${bound.latex}$), not for quadratics with different Hessians.",
        f"{slope}; {limited}",
        five_clients=five_clients,
    )


@check("fan24-ass3", mutations=((0.9, "refuted"), (1.1, "proved")))
def unit_variance_of_the_average(scale: float = 1.0) -> Verdict:
    """Largest value of the unit variance.

    Statement: E|unit(sum_i g_i(u, xi_i)) - unit(sum_i grad F_i(u))|^2 <= sigma_l'^2.
    Assumptions: gradients not 0; unbiased oracle for the sharpness of the constant.
    Method: |a-b|^2 = 4 - |a+b|^2 for unit vectors; an unbiased two-point oracle shows that 4 is the smallest
    universal value.
    Verdict: proved for sigma_l'^2 = 4, for every oracle. Theorem 2 then reads 12 where its left side is at most 2, so
    the assumption helps only when the averaged stochastic gradient rarely turns.
    Reference: Fan et al. 2024, Sec. 5.1, Assumption 3.
    """
    bound, left, chord = _unit_variance(r"\sum_i\nabla F_i")
    constant = exact(scale) * bound.right
    if left > constant:
        return refuted({"left": left, "right": constant}, margin=float(left / constant))
    return proved(
        f"{chord}, so the left side is at most {bound.right} <= {constant}",
        margin=float(bound.right / constant),
        theorem_2_trivial=2,
        unit_variance_of_a_turning_oracle=str(left),
    )


@check("fan24-ass4")
def unit_difference_vanishes() -> Verdict:
    """Assumption 4 compares a vector with itself.

    Statement: unit(sum_i grad F_i(u)) - unit(grad F(u)) <= sigma_g'^2 with F the mean of the F_i; it measures
    heterogeneity.
    Assumptions: F = (1/N) sum F_i, gradients not 0.
    Method: symbolic: the left side is the zero vector for any number of clients, coordinate by coordinate. As printed a
    vector is compared with a number.
    Verdict: vacuous: it holds with sigma_g' = 0 for every heterogeneity, so the term 3 sigma_g'^2 of Theorem 2 is
    empty.
    Reference: Fan et al. 2024, Sec. 5.1, Assumption 4.
    """
    N, x, squares = sp.symbols("N x squares", positive=True)  # a coordinate of sum g_i, and |sum g_i|^2
    difference = sp.simplify(x / sp.sqrt(squares) - (x / N) / sp.sqrt(squares / N**2))
    return Verdict(
        "vacuous",
        {
            "reason": f"unit(sum g_i) - unit(mean g_i) simplifies to {difference}: sigma_g' = 0 for any N",
            "left_side": str(difference),
            "types": "printed: vector <= scalar; a norm or a squared norm of the zero vector is 0 as well",
        },
    )


@check("fan24-ass-same")
def assumptions_against_fedsam() -> Verdict:
    """The assumption lists of the two papers.

    Statement: Assumptions 1-4 are the same as in FedSAM (Qu et al. 2022).
    Assumptions: none.
    Method: table of the assumptions of Qu et al. (1 smoothness, 2 heterogeneity at the iterates, 3 unit variance of an
    unbiased stochastic gradient) against the four here.
    Verdict: inconsistent: Assumptions 3 and 4 (averaged gradients) have no counterpart, unbiasedness is missing here,
    and heterogeneity is assumed for all u instead of at the iterates.
    Reference: Fan et al. 2024, Sec. 5.1 and App. B.1; Qu et al. 2022, Assumptions 1-3.
    """
    here = {
        "smoothness": True,
        "unit variance": True,
        "heterogeneity": True,
        "averaged unit variance": True,
    }
    here |= {"averaged unit difference": True, "unbiased stochastic gradients": False}
    there = {
        name: name in ("smoothness", "unit variance", "heterogeneity", "unbiased stochastic gradients") for name in here
    }
    return Verdict(
        "inconsistent",
        {
            "printed": list(here.values()),
            "derived": list(there.values()),
            "assumption": list(here),
            "assumptions": [4, 3],
        },
    )
