"""Theorems 3.1, B.6 and B.9: what the printed Phi gives at the prescribed step sizes, feasibility, and the remarks."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from theory.kit.formula import formula
from theory.kit.symbolic import exponent_of
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022 import figures
from theory.qu2022.common import instance, proved, refuted, repaired, require, require_identity
from theory.qu2022.corrected import NAMES
from theory.qu2022.printed import (
    PHI_FULL,
    PHI_PARTIAL,
    PROGRESS,
    RATE_FULL,
    RATE_PARTIAL,
    STEPS_FULL,
    STEPS_PARTIAL,
    C,
    K,
    L,
    N,
    R,
    S,
    eta,
    eta_g,
    gap,
    rho,
    sg,
    sl,
    substituted,
)


def monomials(expression: sp.Expr) -> list[sp.Expr]:
    """Terms of a sum without numerical factors and without C."""
    terms = (term / term.as_coeff_Mul()[0] for term in sp.Add.make_args(sp.expand(expression)))
    return sorted({sp.powsimp(term.subs(C, 1), force=True) for term in terms}, key=str)


def dominated(term: sp.Expr, printed: list[sp.Expr], fixed: tuple[sp.Symbol, ...]) -> bool:
    """The term is O of a printed one: equal powers of the ``fixed`` symbols, no larger power of R."""
    for other in printed:
        if all(exponent_of(term / other, symbol) == 0 for symbol in fixed) and exponent_of(term / other, R) <= 0:
            return True
    return False


@check("qu22-thm3.1-full-algebra")
def full_rate_by_substitution() -> Verdict:
    """Theorem 3.1, full participation, from Phi of Theorem B.6.

    Statement: at eta_l = 1/(sqrt(R) K L), eta_g = sqrt(KN), rho = 1/sqrt(R) the sum F/(C K eta_g eta_l R) + Phi is F
        L/sqrt(RKN) + sigma_g^2/R + L^2 sigma_l^2/(R^(3/2) sqrt(KN)) + L^2/R^2 plus terms of higher order for fixed K,
        N.
    Assumptions: printed Phi; fixed K, N, L, sigma's.
    Method: sympy substitution; every monomial is assigned to a printed term with the same dependence on F, sigma_g,
        sigma_l and no smaller power of R.
    Verdict: proved (the printed Phi itself does not bound anything, see qu22-thmB.6).
    Reference: Qu et al. 2022, Theorem 3.1, end of the proof of Theorem B.6.
    """
    whole, root = sp.Symbol("whole", positive=True), sp.sqrt(R * K * N)
    right = gap * L / root + 90 * sg**2 / R + L**2 * sl**2 / (R * root) + 10 * L**2 * sl**2 / (R**2 * K)
    right += 180 * L**2 / R**2 + 16 * L**2 / (R**3 * K) + 120 / (R**4 * K**2)
    rate = formula(whole, "==", right / C, {**NAMES, whole: r"\frac{\mathcal F}{CK\eta_g\eta_lR}+\Phi"})
    certificate = require_identity(
        (C * PROGRESS + PHI_FULL).subs(STEPS_FULL), C * rate.right, "F/(K eta_g eta_l R) + C Phi"
    )
    terms = monomials(rate.right)
    for term in terms:
        require(dominated(term, RATE_FULL, (gap, sg, sl)), f"{term} is covered")
    equal = [sp.simplify(t - p) == 0 for p in RATE_FULL for t in terms]
    require(sum(equal) == 4, "the four printed terms occur")
    listing = "; ".join(f"{term} ~ R^({exponent_of(term, R)})" for term in terms)
    return proved(
        f"{certificate}; monomials after substitution: {listing}; the four printed terms occur with these exponents",
        1.0,
    )


def _replay_partial_term(evidence) -> Replay:
    v = instance(evidence)
    factor = 10 * v["L"] ** 2 * v["sl"] ** 2 / v["K"]
    power = v["root_R"] ** 3  # R^(3/2)
    return Replay({"R = root^2 >= 100": v["root_R"] >= 10}, factor / power, factor / v["root_R"] ** 4, "==")


@check("qu22-thm3.1-partial-algebra", replay=_replay_partial_term)
def partial_rate_by_substitution() -> Verdict:
    """Theorem 3.1, partial participation, from Phi of Theorem B.9.

    Statement: the substitution gives the printed list; 10 K L^4 eta^2 rho^2 sigma_l^2 becomes L^2 sigma_l^2/(R^(3/2)
        K) and the dominant heterogeneity term is sqrt(K) sigma_g^2/sqrt(RS).
    Assumptions: printed Phi of Theorem B.9.
    Method: sympy substitution, exponents of R.
    Verdict: repaired: the term is 10 L^2 sigma_l^2/(R^2 K) (the printed one is larger, hence still an upper bound);
        the heterogeneity term is as printed, and so is sqrt(K) L^2/(R^(3/2) sqrt(S)).
    Reference: Qu et al. 2022, end of the proof of Theorem B.9.
    """
    noise = formula(10 * K * L**4 * eta**2 * rho**2 * sl**2, "==", 10 * L**2 * sl**2 / (R**2 * K), NAMES)
    sampled, tilt = 6 * K * L * eta * eta_g / S * sg**2, 6 * K * L**3 * eta * eta_g * rho**2 / S
    spread = formula(sampled, "==", 6 * sp.sqrt(K) * sg**2 / sp.sqrt(R * S), NAMES)
    radius = formula(tilt, "==", 6 * sp.sqrt(K) * L**2 / (R ** sp.Rational(3, 2) * sp.sqrt(S)), NAMES)
    parts = {"noise": noise, "heterogeneity": spread, "radius": radius}
    of_phi = sp.Add.make_args(sp.expand(PHI_PARTIAL))
    require(all(part.left in of_phi for part in parts.values()), "the left sides are terms of C Phi")
    certificate = "; ".join(require_identity(*part.at(STEPS_PARTIAL), name) for name, part in parts.items())
    terms = monomials(substituted(PROGRESS + PHI_PARTIAL, STEPS_PARTIAL))
    present = {str(p): any(sp.simplify(t - p) == 0 for t in terms) for p in RATE_PARTIAL}
    require(present[str(RATE_PARTIAL[1])] and present[str(RATE_PARTIAL[3])], "second and fourth printed term occur")
    return repaired(
        {"root_R": 10, "K": 10, "L": 1, "sl": 1},
        f"the printed $C\\Phi$ has, at the printed step sizes, ${noise.latex}$, ${spread.latex}$ and ${radius.latex}$",
        certificate,
        10.0,
        monomials=[str(t) for t in terms],
        printed_terms_that_occur=present,
    )


@check("qu22-thm3.1-feasible", figure=figures.accepted_rounds)
def feasibility_of_the_step_sizes() -> Verdict:
    """The prescribed step sizes against the conditions of Theorems B.6 and B.9.

    Statement: the conditions eta_l <= 1/(10KL), eta_g eta_l <= 1/(KL) and (partial) positivity hold for R >= R_0(K,
        N, S).
    Assumptions: eta_l = 1/(sqrt(R) K L), eta_g = sqrt(KN) (full) or sqrt(KS) (partial).
    Method: substitution. First: R >= 100. Second: R >= KN (full), KS (partial). Third: 1/2 - 30/R - sqrt(K/S)(3 +
        180/R)/(2 sqrt(R)) is 1/5 - (12/5) sqrt(K/(SR)) plus two multiples of 1/100 - 1/R, so not below it for
        R >= 100, and positive for R > 144 K/S.
    Verdict: proved with R_0 = max(100, KN), resp. max(101, KS, 145 K/S). For N = 100, K = 10 the full-participation
        rate needs R >= 1000, more than the 200 or 800 rounds of the figures; with S = 20 it needs R >= 200.
    Reference: Qu et al. 2022, Theorems 3.1, B.6, B.9.
    """
    first = require_identity((10 * K * L * eta).subs(STEPS_FULL), 10 / sp.sqrt(R), "10 K L eta_l")
    second = require_identity((K * L * eta * eta_g).subs(STEPS_FULL), sp.sqrt(K * N / R), "K L eta_g eta_l")
    condition = sp.Rational(1, 2) - 30 * K**2 * L**2 * eta**2
    condition -= L * eta_g * eta / (2 * S) * (3 * K + 180 * K**3 * L**2 * eta**2)
    closed = sp.Rational(1, 2) - 30 / R - sp.sqrt(K / S) * (3 + 180 / R) / (2 * sp.sqrt(R))
    third = require_identity(condition.subs(STEPS_PARTIAL), closed, "positivity condition")
    spare = (30 + 90 * sp.sqrt(K / (S * R))) * (sp.Rational(1, 100) - 1 / R)  # non-negative for R >= 100
    lower = sp.Rational(1, 5) - sp.Rational(12, 5) * sp.sqrt(K / (S * R))
    fourth = require_identity(closed, lower + spare, "the condition and its lower bound")
    root = require_identity(lower.subs(R, 144 * K / S), 0, "the bound at R = 144 K/S, above which it is positive")
    steps = 10 * K * L * eta, K * L * eta * eta_g  # x <= 1 if and only if R >= R x^2, which does not contain R
    full, sampled = ([sp.simplify(R * x.subs(at) ** 2) for x in steps] for at in (STEPS_FULL, STEPS_PARTIAL))
    least = sp.Symbol("R_0", positive=True)
    exact = formula(least, "==", sp.Max(100, K * N))
    bound = formula(least, "<=", sp.Max(101, K * S, 145 * K / S))
    require(set(exact.right.args) == set(full), "both step-size conditions hold from R_0 on, and not before")
    for limit in (*sampled, 144 * K / S):
        shares = [sp.simplify(arg / limit) for arg in bound.right.args]
        covering = [x for x in shares if x.is_number and (x >= 1 if limit in sampled else x > 1)]
        require(bool(covering), f"R_0 covers {limit}")
    enough = {"full": exact.right, "partial": bound.right}
    table = {}
    for rounds in (200, 800, 1000):
        values = {K: 10, N: 100, S: 20, R: rounds}
        value = float(closed.subs(values))
        table[str(rounds)] = {name: bool(rounds >= start.subs(values)) for name, start in enough.items()}
        table[str(rounds)] |= {"condition": round(value, 4)}
        require(value > 0 or not table[str(rounds)]["partial"], "the condition where the rounds are enough")
    require(table["200"]["partial"] and not table["800"]["full"] and table["1000"]["full"], "table")
    reading = f"R_0 = {exact.right} with full participation, at most {bound.right} with S of N clients"
    return proved(f"{first}; {second}; {third}; {fourth}; {root}; {reading}", None, experimental_values=table)


def _leading(k, s, heterogeneity) -> Fraction:
    """Leading coefficient of 1/sqrt(R), times sqrt(S), at K = k^2 and F L = 1: 1/k + k sigma_g^2."""
    return 1 / Fraction(k) + Fraction(k) * heterogeneity


def _replay_leading(evidence) -> Replay:
    v = instance(evidence)
    small, large = (_leading(v[name], 1, v["sigma_g2"]) for name in ("root_K_small", "root_K_large"))
    return Replay({"K grows": v["root_K_small"] < v["root_K_large"], "sigma_g > 0": v["sigma_g2"] > 0}, large, small)


def _leading_part() -> sp.Expr:
    """Terms of order R^(-1/2) of the printed bound with sampling."""
    return sp.Add(*(term for term in RATE_PARTIAL if exponent_of(term, R) == -sp.Rational(1, 2)))


@check("qu22-rem3.2", replay=_replay_leading)
def dominant_terms() -> Verdict:
    """Dominant terms with full and partial participation.

    Statement: as R grows the bound is Theta(L/sqrt(RKN)) with full participation, and has the same structure with N
        replaced by S for partial participation; it still improves with K.
    Assumptions: printed bounds, fixed parameters.
    Method: leading power of R; derivative in K of F L/sqrt(KS) + sqrt(K) sigma_g^2/sqrt(S).
    Verdict: repaired: with sampling the leading coefficient has the additional term sqrt(K) sigma_g^2/sqrt(S) of the
        same order in R, which grows with K; the bound improves with K only up to K = F L/sigma_g^2.
    Reference: Qu et al. 2022, Remark 3.2.
    """
    require(exponent_of(RATE_FULL[0], R) == sp.Rational(-1, 2), "one leading term with full participation")
    part = sp.Symbol("part", positive=True)
    right = (gap * L / sp.sqrt(K * S) + sp.sqrt(K / S) * sg**2) / sp.sqrt(R)
    leading = formula(part, "==", right, {**NAMES, part: r"\text{leading part}"})
    turn = formula(K, "<", gap * L / sg**2, NAMES)
    whole = require_identity(leading.right, _leading_part(), "the terms of order R^(-1/2)")
    slope = require_identity(
        sp.diff(_leading_part(), K),
        -turn.room * sg**2 / (2 * sp.sqrt(R * S) * K ** sp.Rational(3, 2)),
        "derivative in K",
    )
    return repaired(
        {"root_K_small": 1, "root_K_large": 2, "sigma_g2": 1},
        f"partial participation: ${leading.latex}$, decreasing in $K$ iff ${turn.latex}$",
        f"{whole}; {slope}",
        1.25,
    )


def _replay_first_k(evidence) -> Replay:
    v = instance(evidence)
    other, first = _leading(v["root_K"], 1, v["sigma_g2"]), _leading(1, 1, v["sigma_g2"])
    return Replay({"K > 1": v["root_K"] > 1, "F L = 1": BY_CONSTRUCTION}, other, first)


@check("qu22-rem-best-K1", replay=_replay_first_k, figure=figures.leading_over_k)
def one_local_step() -> Verdict:
    """K = 1 as the worst choice, theory side.

    Statement: the theory predicts K = 1 to be the worst number of local steps also for partial participation.
    Assumptions: leading part of the printed bound of Theorem 3.1.
    Method: a/sqrt(K) + b sqrt(K), a = F L/sqrt(S), b = sigma_g^2/sqrt(S): at F L = 1 and sigma_g^2 = 4, K = 4 is
        worse than K = 1. K = 1 is worst on {1..K_max} iff a - b sqrt(K_max) >= 0, by a factorisation.
    Verdict: repaired.
    Reference: Qu et al. 2022, Section 5.2 (4) with Theorem 3.1.
    """
    most = sp.Symbol("K_max", positive=True)
    worst = formula(sg**2 * sp.sqrt(most), "<=", gap * L, {**NAMES, most: r"K_{\max}"})
    loss = (sp.sqrt(K) - 1) / sp.sqrt(R * K * S) * worst.room.subs(most, K)
    certificate = require_identity(_leading_part().subs(K, 1) - _leading_part(), loss, "bound(1) - bound(K)")
    return repaired(
        {"root_K": 2, "sigma_g2": 4},
        rf"one local step is the worst choice among one to $K_{{\max}}$ iff ${worst.latex}$",
        certificate,
        8.5 / 5,
    )


@check(
    "qu22-rem3.3-S", mutations=((-1.0, "refuted"), (2.0, "proved")), replay=lambda evidence: _replay_cohort(evidence)
)
def more_participating_clients(scale: float = 1.0) -> Verdict:
    """More participating clients improve the bound.

    Statement: the partial-participation bound decreases in S, with dominant heterogeneity term sqrt(K)
        sigma_g^2/sqrt(RS).
    Assumptions: printed bound.
    Method: every monomial of the bound has a non-positive power of S, the heterogeneity term the power -1/2;
        ``scale`` multiplies the claimed sign.
    Verdict: proved (for the bound; the corrected bound of qu22-thm3.1-partial decreases in S as well).
    Reference: Qu et al. 2022, Remark 3.3.
    """
    spread = sp.Symbol("spread", positive=True)
    term = formula(spread, "==", sp.sqrt(K) * sg**2 / sp.sqrt(R * S), {**NAMES, spread: r"\text{heterogeneity term}"})
    certificate = require_identity(term.right, sp.Add(*(t for t in RATE_PARTIAL if t.has(sg))), "the term with sigma_g")
    powers = {str(t): exponent_of(t, S) for t in RATE_PARTIAL}
    require(not any(p.is_positive for p in powers.values()), "powers of S")
    require(exponent_of(term.right, S) == sp.Rational(-1, 2), "power of S in the heterogeneity term")
    point = {"root_S_small": 1, "root_S_large": 2, "claimed_sign": 1 if scale > 0 else -1}
    if _replay_cohort(point).violated:
        return refuted(point, None)
    listing = "; ".join(f"{t}: {p}" for t, p in powers.items())
    return proved(f"{certificate}; powers of S: {listing}", None, tested_at=point)


def _replay_cohort(evidence) -> Replay:
    v = instance(evidence)
    small, large = (v["claimed_sign"] / v[name] for name in ("root_S_small", "root_S_large"))
    return Replay({"S grows": v["root_S_small"] < v["root_S_large"]}, large, small)


@check("qu22-thmB.6-C", replay=lambda evidence: _replay_threshold(evidence))
def existence_of_the_constant() -> Verdict:
    """Existence of C in Theorem B.6.

    Statement: 1/2 - 30 K^2 L^2 eta_l^2 > C > 0 for some C whenever eta_l < 1/(sqrt(30) K L).
    Assumptions: reading with the radical; without it the threshold is 1/(30KL).
    Method: solve 1/2 - 30 x^2 > 0 for x = K L eta_l; x = 1/6 satisfies x < 1/sqrt(30) and gives -1/3.
    Verdict: repaired: the threshold is 1/(sqrt(60) K L). 1/(30KL) is sufficient, and so is the theorem's own eta_l <=
        1/(10KL), with C < 1/5.
    Reference: Qu et al. 2022, proof of Theorem B.6.
    """
    condition = formula(sp.Rational(1, 2) - 30 * (K * L * eta) ** 2, ">", C, NAMES)
    threshold = formula(eta, "<", 1 / (sp.sqrt(60) * K * L), NAMES)
    own, most = formula(eta, "==", 1 / (10 * K * L), NAMES), formula(C, "<", sp.Rational(1, 5))
    sign = require_identity(
        condition.room.subs(C, 0), 30 * (K * L) ** 2 * (threshold.right**2 - eta**2), "left side of the condition"
    )
    at_own = require_identity(
        condition.room.subs(eta, own.right), most.room, "room of the condition at its own step size"
    )
    return repaired(
        {"x": "1/6"},
        f"${condition.latex}$ for some positive $C$ iff ${threshold.latex}$; ${most.latex}$ at ${own.latex}$",
        f"{sign}, positive below the threshold and at no other step size; {at_own}",
        None,
    )


def _replay_threshold(evidence) -> Replay:
    x = instance(evidence)["x"]
    return Replay({"x < 1/sqrt(30)": 30 * x**2 < 1, "x > 0": x > 0}, Fraction(0), Fraction(1, 2) - 30 * x**2, "<")
