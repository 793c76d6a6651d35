"""Rates of MoFedSAM: substitution of the step sizes, units, the printings side by side, and Remark 4.2."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from theory.kit.formula import formula
from theory.kit.symbolic import exponent_of
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022 import printed
from theory.qu2022.common import compared, instance, ratio, refuted, repaired, require, require_identity
from theory.qu2022.corrected import NAMES
from theory.qu2022.printed import (
    MOMENTUM_PROGRESS,
    MOMENTUM_SAMPLING,
    PHI_MOMENTUM,
    RATE_MOMENTUM,
    RATE_MOMENTUM_APPENDIX,
    STEPS_MOMENTUM,
    STEPS_MOMENTUM_PARTIAL,
    C,
    K,
    L,
    N,
    R,
    S,
    beta,
    eta,
    eta_g,
    gap,
    rho,
    sg,
    sl,
    substituted,
)
from theory.qu2022.rates import monomials
from theory.qu2022.recursions import fedsam_round, mofedsam_round, quadratic


def _leading(steps: dict) -> sp.Expr:
    return sp.simplify(MOMENTUM_PROGRESS.subs(printed.C, 1).subs(steps))


def _replay_leading(evidence) -> Replay:
    v = instance(evidence)
    clients = v["N"] if "N" in v else v["S"]
    root = v["root_RKN"]  # sqrt(R K N)
    claimed = v["beta"] * v["gap"] * v["L"] / root
    # F/(beta eta_g R) with eta_g = sqrt(K N)/(sqrt(R) beta L): multiply out with sqrt(KN)/sqrt(R) = root/R
    derived = v["gap"] / (v["beta"] * (root / v["R"] / (v["beta"] * v["L"])) * v["R"])
    square = root**2 == v["R"] * v["K"] * clients
    return Replay({"beta <= 1/2": 2 * v["beta"] <= 1, "the stored root is sqrt(RKN)": square}, claimed, derived, "==")


_POINT = {"R": 1000, "K": 10, "N": 100, "root_RKN": 1000, "beta": "1/10", "gap": 1, "L": 1}


@check("qu22-thm4.1-algebra", replay=_replay_leading)
def momentum_rate_by_substitution() -> Verdict:
    """Theorem 4.1 from its own Phi.

    Statement: at eta_l = 1/(sqrt(R) beta K L), eta_g = sqrt(KN)/(sqrt(R) beta L), rho = 1/sqrt(R), F/(C beta eta_g R)
        + Phi is O(beta F L/sqrt(RKN) + beta^2 sigma_g^2/R + L sigma_l^2/(R^2 beta) + L^2/R^2) (D.4) and the terms of
        Theorem 4.1.
    Assumptions: Phi of the proof as printed.
    Method: sympy substitution. The exponents (in beta) of a general eta_g = sqrt(KN/R) beta^-e are solved for: the
        leading term needs e = 2, the noise term beta^-1 needs e = 1, so that no choice gives both.
    Verdict: repaired: beta eta_g does not depend on beta, hence the leading term is F L/sqrt(RKN) without beta; the
        heterogeneity term is 105 sigma_g^2/(RK) without beta.
    Reference: Qu et al. 2022, Theorem 4.1, Theorem D.4.
    """
    whole = sp.Symbol("whole", positive=True)
    right = gap * L / sp.sqrt(R * K * N) + 105 * sg**2 / (R * K) + L * sl**2 / (R**2 * beta)
    right += 10 * L**2 * sl**2 / (R * K) ** 2
    right += 2 * L**2 / (R * beta) ** 2 + 210 * L**2 / (R**2 * K) + 28 * L**2 / (R**3 * K * beta**2)
    names = {**NAMES, whole: r"\frac{\mathcal F}{C\beta\eta_gR}+\Phi"}
    rate = formula(whole, "==", right / C, names)
    certificate = require_identity(
        (C * MOMENTUM_PROGRESS + PHI_MOMENTUM).subs(STEPS_MOMENTUM), C * rate.right, "F/(beta eta_g R) + C Phi"
    )
    e = sp.symbols("e")
    free = {**STEPS_MOMENTUM, eta_g: sp.sqrt(K * N / R) * beta ** (-e) / L}
    leading = sp.solve(sp.Eq(exponent_of(_leading(free), beta), 1), e)
    noise = sp.solve(sp.Eq(exponent_of(sp.powsimp((beta * eta_g**2).subs(free)), beta), -1), e)
    require(leading == [2] and noise == [1], "no exponent of beta in eta_g gives both printed terms")
    terms = monomials(substituted(MOMENTUM_PROGRESS + PHI_MOMENTUM, STEPS_MOMENTUM))
    return repaired(
        _POINT,
        f"${rate.latex}$ with the printed $\\Phi$: no factor $\\beta$ in the leading term",
        certificate,
        None,
        monomials=[str(t) for t in terms],
        exponent_of_beta_needed={"leading term": str(leading[0]), "noise term": str(noise[0])},
    )


_PARTIAL_POINT = {"R": 800, "K": 10, "S": 20, "root_RKS": 400, "beta": "1/10", "gap": 1, "L": 1}


def _replay_partial(evidence) -> Replay:
    v = instance(evidence)
    v["root_RKN"] = v["root_RKS"]
    return _replay_leading({key: str(value) for key, value in v.items() if key != "root_RKS"})


@check("qu22-thmD.7-rate", replay=_replay_partial)
def momentum_partial_rate_by_substitution() -> Verdict:
    """Theorem D.7: rate from its own Phi.

    Statement: at the prescribed step sizes the bound is beta F L/sqrt(RKS) + sigma_g^2/R + ... with beta in the
        leading term and beta sqrt(K) sigma_g^2/sqrt(RS) for the sampling.
    Assumptions: Phi of Lemma D.6; prefactor beta L eta_g/(K^2 S N) of its last bracket from the derivation.
    Method: sympy substitution.
    Verdict: repaired: F L/sqrt(RKS) and 4 sqrt(K) sigma_g^2/sqrt(RS), both without beta.
    Reference: Qu et al. 2022, Theorem D.7.
    """
    sampling = sp.expand(beta * L * eta_g / (K**2 * S * N) * MOMENTUM_SAMPLING)
    lead = formula(MOMENTUM_PROGRESS, "==", gap * L / (C * sp.sqrt(R * K * S)), NAMES)
    term = formula(sampling.subs({eta: 0, rho: 0}), "==", 4 * sp.sqrt(K) * sg**2 / sp.sqrt(R * S), NAMES)
    first = require_identity(*lead.at(STEPS_MOMENTUM_PARTIAL), "F/(C beta eta_g R)")
    second = require_identity(*term.at(STEPS_MOMENTUM_PARTIAL), "sampling term")
    terms = monomials(substituted(MOMENTUM_PROGRESS + PHI_MOMENTUM + sampling, STEPS_MOMENTUM_PARTIAL))
    return repaired(
        _PARTIAL_POINT,
        f"the optimisation term is ${lead.latex}$, and client sampling gives ${term.latex}$ in the printed $C\\Phi$: "
        r"neither has a factor $\beta$",
        f"{first}; {second}",
        None,
        monomials=[str(t) for t in terms],
    )


#: unit of each symbol as exponents of (loss, length); rho = R^(-1/2) absorbs one length per factor
UNITS = {gap: (1, 0), L: (1, -2), sg: (1, -1)}


def unit_of(term: sp.Expr) -> list[int]:
    """Exponents of (loss, length) of a monomial."""
    totals = [sp.Integer(0), sp.Integer(0)]
    for symbol, unit in UNITS.items():
        power = exponent_of(term, symbol)
        totals = [total + power * part for total, part in zip(totals, unit, strict=True)]
    return [int(total) for total in totals]


@check("qu22-thm4.1-units")
def units_of_the_rates() -> Verdict:
    """Units of the printed rate terms.

    Statement: every term of Theorems 3.1, 4.1, D.4 and Remark 4.2 has the unit of |grad F|^2, loss^2/length^2.
    Assumptions: F in loss, w in length, hence L in loss/length^2; sigma_l, beta, K, N, R without unit; rho = R^(-1/2)
        lengths, so that L^2 rho^2 may show as L^2 (loss^2/length^4).
    Method: exponents by differentiation of every printed monomial; allowed are (2, -2) and, with one absorbed rho^2,
        (2, -4).
    Verdict: inconsistent: beta sigma_g^2/(R L^2) and L sigma_l^2/(R^2 beta) have other units; the term 1/(R^4 K^2) at
        the end of B.6 and B.9 has none.
    Reference: Qu et al. 2022, Theorems 3.1, 4.1, D.4.
    """
    lists = {
        "3.1 full": printed.RATE_FULL,
        "3.1 partial": printed.RATE_PARTIAL,
        "4.1": RATE_MOMENTUM,
        "D.4": RATE_MOMENTUM_APPENDIX,
        "B.6, B.9 end": [1 / (R**4 * K**2)],
    }
    table = {f"{where}: {term}": unit_of(term) for where, terms in lists.items() for term in terms}
    wrong = {name: unit for name, unit in table.items() if unit not in ([2, -2], [2, -4])}
    return compared([2, -2], table, not wrong, wrong=wrong)


@check("qu22-thm4.1-vs-D4")
def printings_of_the_momentum_rate() -> Verdict:
    """The printings of the MoFedSAM rate.

    Statement: the terms of Theorem 4.1, Theorem D.4 and Remark 4.2 are identical up to constants.
    Assumptions: none.
    Method: ratio of corresponding terms of Theorems 4.1 and D.4; constant ratios only where no symbol is left.
    Verdict: inconsistent: the heterogeneity terms differ by beta L^2 and the last terms by beta.
    Reference: Qu et al. 2022, Theorems 4.1, D.4, Remark 4.2.
    """
    ratios = [sp.simplify(a / b) for a, b in zip(RATE_MOMENTUM, RATE_MOMENTUM_APPENDIX, strict=True)]
    numbers = [float(r.subs({beta: sp.Rational(1, 10), L: 10})) for r in ratios]
    agree = all(not r.free_symbols for r in ratios)
    return compared(
        [str(t) for t in RATE_MOMENTUM],
        [str(t) for t in RATE_MOMENTUM_APPENDIX],
        agree,
        ratios=[str(r) for r in ratios],
        ratios_at_beta_01_L_10=numbers,
        remark_4_2="beta sqrt(.)/(R L^2), L/(R^2 beta) + beta L^2/R^2 (as Theorem 4.1)",
    )


@check("qu22-abs-rates")
def headline_rates() -> Verdict:
    """Headline rates of the introduction.

    Statement: O(L/sqrt(RKN)) for FedSAM, O(beta L/sqrt(RKN)) and O(beta sqrt(K)/sqrt(RS)) for MoFedSAM agree with the
        theorems.
    Assumptions: step sizes and Phi as printed in the appendices.
    Method: exponent of beta of the leading terms after substitution.
    Verdict: inconsistent: FedSAM agrees; for MoFedSAM both leading terms are free of beta after substitution.
    Reference: Qu et al. 2022, Introduction; Theorems 3.1, 4.1, B.6, B.9, D.4, D.7.
    """
    fedsam = sp.simplify(printed.PROGRESS.subs(printed.C, 1).subs(printed.STEPS_FULL) - printed.RATE_FULL[0]) == 0
    sampling = (beta * L * eta_g / S * sg**2).subs(STEPS_MOMENTUM_PARTIAL)
    derived = [exponent_of(_leading(STEPS_MOMENTUM), beta), exponent_of(sampling, beta)]
    claimed = [1, 1]
    numbers = [int(d) for d in derived]
    return compared(
        claimed, numbers, numbers == claimed, compared_quantity="exponent of beta", fedsam_agrees=bool(fedsam)
    )


#: R = 900, K = 1, N = 9 equal clients, L = 1: the smallest R that Theorem 4.1 admits at beta = 1/10
_ADMITTED = {"R": 900, "root_R": 30, "N": 9, "root_N": 3, "beta": "1/10", "target": "1/1000"}
#: rounds that are followed
HORIZON = 300


def _mofedsam(gradient, beta_value: Fraction, server: Fraction, lr: Fraction) -> list[Fraction]:
    """w after each round: MoFedSAM from w = 1, rho = 0, K = 1, nine equal clients, exact."""
    w, momentum, path = Fraction(1), Fraction(0), []
    for _ in range(HORIZON):
        state = mofedsam_round(w, momentum, [gradient] * 9, Fraction(0), beta_value, lr, server, 1)
        w, momentum = state.w, state.momentum
        path.append(w)
    return path


def _fedsam(gradient, server: Fraction, lr: Fraction) -> list[Fraction]:
    """w after each round: FedSAM from w = 1, rho = 0, K = 1, nine equal clients, exact."""
    w, path = Fraction(1), []
    for _ in range(HORIZON):
        w = fedsam_round(w, [gradient] * 9, Fraction(0), lr, server, 1).w
        path.append(w)
    return path


def _reached(path: list[Fraction], target: Fraction) -> int:
    """First round after which the gradient of x^2/2 is at most the target; one past the path if none is."""
    return next((r for r, w in enumerate(path, start=1) if abs(w) <= target), len(path) + 1)


def _kept(path: list[Fraction], target: Fraction) -> int:
    """First round from which on the gradient of x^2/2 is at most the target, up to the end of the path."""
    return 1 + max(r for r, w in enumerate(path, start=1) if abs(w) > target)


def _replay_speed(evidence) -> Replay:
    v = instance(evidence)
    bowl, slowed = quadratic(Fraction(1), Fraction(0)), v["beta"]
    fed_lr, fed_server = 1 / v["root_R"], v["root_N"]
    mo_lr, mo_server = 1 / (v["root_R"] * slowed), v["root_N"] / (v["root_R"] * slowed)
    fed = _reached(_fedsam(bowl, fed_server, fed_lr), v["target"])
    mo = _reached(_mofedsam(bowl, slowed, mo_server, mo_lr), v["target"])
    conditions = {
        "roots": v["root_R"] ** 2 == v["R"] and v["root_N"] ** 2 == v["N"] == 9,
        "Theorem 3.1: eta_l <= 1/(10 K L), eta_g eta_l <= 1/(K L)": 10 * fed_lr <= 1 and fed_server * fed_lr <= 1,
        "Theorem 4.1: eta_l <= 1/(30 beta K L)": mo_lr <= 1 / (30 * slowed),
        "Theorem 4.1: eta_g <= 1/(beta L), beta <= 1/2": mo_server <= 1 / slowed and 2 * slowed <= 1,
        "equal clients, exact gradients: sigma_g = sigma_l = 0": BY_CONSTRUCTION,
    }
    return Replay(conditions, Fraction(mo), Fraction(fed))


@check("qu22-rem4.2-beta", replay=_replay_speed)
def speed_up_by_beta() -> Verdict:
    """Speed-up of MoFedSAM by the factor beta.

    Statement: MoFedSAM with beta = 0.1 reaches a given gradient norm in fewer rounds than FedSAM, at the step sizes
        of the two theorems and at equal effective server step.
    Assumptions: R = 900 (the smallest that Theorem 4.1 admits, qu22-rem4.2-small-beta), K = L = 1, N = 9 equal
        clients, rho = 0 (both methods then differ by the momentum alone), from w = 1.
    Method: exact rounds on x^2/2. Counted are the rounds until the gradient is at the target for the first time,
        as the statement says, and until it stays there, over 300 rounds. Theorem 3.1: eta_l = 1/30, eta_g = 3;
        Theorem 4.1: eta_l = 1/(30 beta), eta_g = 1/(10 beta). Equal effective step: eta_g = 1/10. On a constant slope
        1 the rounds to a distance of 20 are counted as well, and on x^2/2 the sum of the squared gradients, whose
        mean the theorems bound.
    Verdict: refuted: with beta = 0.1 the gradient gets to 1/1000 later at the prescribed steps, and to 1/100 later at
        equal step; it stays at either later in both settings, and the sum of its squares is no smaller. Momentum swings
        through the minimum, so that some targets are touched earlier than by FedSAM; beta = 1/2 needs fewer rounds.
        On the constant slope MoFedSAM is faster at the prescribed steps, because its step is 1/beta times longer
        there, and slower at equal step.
    Reference: Qu et al. 2022, Remark 4.2.
    """
    tenth, lr, targets = Fraction(1, 10), Fraction(1, 30), (Fraction(1, 100), Fraction(1, 1000))
    bowl = quadratic(Fraction(1), Fraction(0))
    paths = {"fedsam": _fedsam(bowl, Fraction(3), lr)}
    for b in (Fraction(1, 2), tenth):
        paths[f"prescribed, beta = {b}"] = _mofedsam(bowl, b, tenth / b, lr / b)
        paths[f"equal step, beta = {b}"] = _mofedsam(bowl, b, tenth, lr / b)
    reached = {name: {str(t): _reached(path, t) for t in targets} for name, path in paths.items()}
    kept = {name: {str(t): _kept(path, t) for t in targets} for name, path in paths.items()}
    squares = {name: round(1 + sum(float(w) ** 2 for w in path), 6) for name, path in paths.items()}
    slow = ("prescribed, beta = 1/10", "equal step, beta = 1/10")
    for name, target in zip(slow, ("1/1000", "1/100"), strict=True):
        require(reached[name][target] > reached["fedsam"][target], f"{name}: reaches {target} later")
        require(all(kept[name][str(t)] > kept["fedsam"][str(t)] for t in targets), f"{name}: stays later")
        require(squares[name] > squares["fedsam"], f"{name}: squared gradients")

    def slope(x):
        return x * 0 + 1

    def far(path):
        return next(r for r, w in enumerate(path, start=1) if w <= -19)

    return refuted(
        _ADMITTED,
        reached[slow[0]]["1/1000"] / reached["fedsam"]["1/1000"],
        rounds_until_the_gradient_reaches=reached,
        rounds_until_the_gradient_stays_below=kept,
        sum_of_squared_gradients=squares,
        constant_slope={
            "fedsam": far(_fedsam(slope, Fraction(3), lr)),
            "prescribed": far(_mofedsam(slope, tenth, Fraction(1), 1 / Fraction(3))),
            "equal step": far(_mofedsam(slope, tenth, tenth, 1 / Fraction(3))),
        },
    )


@check("qu22-rem4.2-fedcm")
def against_the_quoted_fedcm_rate() -> Verdict:
    """MoFedSAM's rate against the quoted rate of FedCM.

    Statement: for all beta <= 1/2 and large R the printed MoFedSAM bound is below the quoted FedCM bound, a root over
        sqrt(R) plus L/(beta^(2/3) R^(2/3)).
    Assumptions: none could be completed: the numerator under the root is lost in the text at hand.
    Method: the local-training parts are compared: exponents of R are -1 and below against -2/3.
    Verdict: not-run: both dominant terms are of order R^(-1/2), and their comparison depends on the lost numerator;
        the local-training part of MoFedSAM is of smaller order in R for fixed beta, as claimed.
    Reference: Qu et al. 2022, Remark 4.2.
    """
    local = [exponent_of(term, R) for term in RATE_MOMENTUM[1:]]
    require(all(p < sp.Rational(-2, 3) for p in local), "local-training terms are o(R^(-2/3))")
    reason = (
        "the numerator of the quoted dominant term of FedCM is lost in the available text; without it neither order "
    )
    return Verdict(
        "not-run",
        {
            "reason": reason + "of the two R^(-1/2) terms follows",
            "exponents_of_R_of_the_local_part": [str(p) for p in local],
            "quoted_exponent": "-2/3",
        },
    )


@check("qu22-rem4.2-small-beta")
def conditions_at_small_beta() -> Verdict:
    """Conditions of Theorem 4.1 at the experimental values.

    Statement: with beta = 0.1 and K <= 20 the conditions eta_l <= 1/(30 beta K L), eta_g <= 1/(beta L), beta <= 1/2
        hold for N = 100, S = 20 and R <= 800.
    Assumptions: prescribed step sizes.
    Method: 30 beta K L eta_l = 30/sqrt(R), hence R >= 900; beta L eta_g = sqrt(KN/R), hence R >= KN (full); with
        sampling eta_g <= S/(2 beta L (S-1)) needs R >= 4 K S ((S-1)/S)^2.
    Verdict: inconsistent: the smallest admissible R is 900 or more in every case.
    Reference: Qu et al. 2022, Remark 4.2, Theorems D.4 and D.7.
    """
    local = sp.simplify((30 * beta * K * L * printed.eta).subs(STEPS_MOMENTUM))
    server = sp.simplify((beta * L * eta_g).subs(STEPS_MOMENTUM))
    require(local == 30 / sp.sqrt(R) and sp.simplify(server - sp.sqrt(K * N / R)) == 0, "conditions after substitution")
    smallest = {}
    for steps in (10, 20):
        sampled = 4 * steps * 20 * Fraction(19, 20) ** 2
        smallest[f"K = {steps}, full"] = max(900, steps * 100)
        smallest[f"K = {steps}, S = 20"] = float(max(Fraction(900), sampled))
    holds = all(r <= 800 for r in smallest.values())
    return compared({"largest R in the figures": 800}, smallest, holds, ratio_at_R_800=ratio(900, 800))
