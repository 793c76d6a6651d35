"""Constants of Appendices B and D: do the printed products follow from the printed factors?

Every check multiplies the factors that the proof names and compares with the printed line.
"""

from __future__ import annotations

import sympy as sp

from theory.kit.formula import Formula, formula
from theory.kit.verdict import Replay, Verdict, check
from theory.qu2022.common import (
    compared,
    correct_identity,
    evaluate,
    identity_replay,
    instance,
    repaired,
    require,
    require_identity,
)
from theory.qu2022.drift import widest_drift
from theory.qu2022.printed import (
    BRACKET,
    DRIFT_DELTA,
    DRIFT_W,
    MOMENTUM_BRACKET,
    MOMENTUM_DRIFT_W,
    MOMENTUM_SAMPLING,
    PHI_MOMENTUM,
    PHI_MOMENTUM_STATEMENT,
    SQUARED_DIRECTIONS,
    K,
    L,
    N,
    S,
    beta,
    eta,
    eta_g,
    grad2,
    half,
    rho,
    sg,
    sl,
)

#: K = 10 local steps, L = 1, eta = 1/(30 K L): admissible in Lemmas B.1, B.2 and, for beta = 1/10, D.1
VALUES = {
    "K": 10,
    "N": 100,
    "S": 20,
    "L": 1,
    "eta": "1/300",
    "eta_g": "1/10",
    "rho": "1/2",
    "beta": "1/10",
    "sl": 1,
    "sg": 1,
    "grad2": 1,
}


def _values(*expressions: sp.Expr) -> dict:
    names = {symbol.name for expression in expressions for symbol in expression.free_symbols}
    return {name: VALUES[name] for name in sorted(names)}


#: what the lemmas bound, the bracket of Lemma B.2, and a term or coefficient by itself
E_w, E_delta, B, T, T_printed = sp.symbols("E_w E_delta B T T_printed", positive=True)
NAMES = {E_w: r"\mathcal E_w", E_delta: r"\mathcal E_\delta", eta: r"\eta_l", sl: r"\sigma_l", sg: r"\sigma_g"}
DRIFTS = {E_w: DRIFT_W, E_delta: DRIFT_DELTA}


def _equal(left: sp.Expr, right: sp.Expr) -> Formula:
    return formula(left, "==", right, NAMES | {grad2: r"\|\nabla\tilde f\|^2"})


_B2_PRINTED = 24 * K**3 * eta**4 * L**4 * rho**2
_B2_PRODUCT = 12 * K * L**2 * eta**2 * DRIFT_DELTA * 5 * K


@check("qu22-lemB.2-delta", replay=identity_replay(_B2_PRINTED, _B2_PRODUCT, step_size=eta * 10 * K * L <= 1))
def perturbation_term_of_b2() -> Verdict:
    """Constant 24 K^3 in the last line of the proof of Lemma B.2.

    Statement: the product of 12 K L^2 eta^2, E_delta <= 2 K^2 L^2 eta^2 rho^2 and sum_tau (1 + 1/(K-1))^tau <= 5K is
        the printed 24 K^3 eta^4 L^4 rho^2.
    Assumptions: eta <= 1/(10KL); the printed Lemma B.1.
    Method: symbolic multiplication of the three factors; exact evaluation at K = 10.
    Verdict: repaired. The product is 120 K^4 L^4 eta^4 rho^2; the printed line leaves out the unrolling factor 5K
        (Lemma B.5 then carries the factor, with eta^6 in place of eta^4).
    Reference: Qu et al. 2022, proof of Lemma B.2, step (b).
    """
    term = _equal(12 * K * L**2 * eta**2 * E_delta * 5 * K, 120 * K**4 * L**4 * eta**4 * rho**2)
    return correct_identity(
        _B2_PRINTED, term.left.subs(DRIFTS), term.right, _values(_B2_PRODUCT), f"the term is ${term.latex}$"
    )


_D1_PRINTED = 28 * beta**2 * K**3 * L**4 * eta**4 * rho**2
_D1_PRODUCT = 14 * K * beta**2 * L**2 * eta**2 * DRIFT_DELTA * 5 * K


@check("qu22-lemD.1-const", replay=identity_replay(_D1_PRINTED, _D1_PRODUCT, step_size=30 * beta * eta * K * L <= 1))
def perturbation_term_of_d1() -> Verdict:
    """Constant 28 K^3 in Lemma D.1.

    Statement: 14 K beta^2 L^2 eta^2 times E_delta <= 2 K^2 L^2 eta^2 rho^2 times the unrolling factor 5K is 28 beta^2
        K^3 L^4 eta^4 rho^2, and statement and proof agree in the power of eta.
    Assumptions: eta <= 1/(30 beta K L), beta <= 1/2; the printed Lemma B.1.
    Method: symbolic multiplication; degree in eta of the bracket in statement (5K eta^2 times) and proof (5K times).
    Verdict: repaired. The product is 140 beta^2 K^4 L^4 eta^4 rho^2; the statement has one factor eta^2 more than the
        proof.
    Reference: Qu et al. 2022, Lemma D.1 and last line of its proof.
    """
    term = _equal(14 * K * beta**2 * L**2 * eta**2 * E_delta * 5 * K, 140 * beta**2 * K**4 * L**4 * eta**4 * rho**2)
    factor = _equal(T, 5 * K)
    require_identity(MOMENTUM_DRIFT_W - _D1_PRINTED, factor.right * MOMENTUM_BRACKET, "last line of the proof")
    verdict = correct_identity(
        _D1_PRINTED,
        term.left.subs(DRIFTS),
        term.right,
        _values(_D1_PRODUCT),
        f"the term is ${term.latex}$, and the bracket has the factor ${factor.latex}$ of the proof",
    )
    powers = [sp.degree(sp.expand(factor * MOMENTUM_BRACKET), eta) for factor in (eta**2, eta**0)]
    require(powers == [4, 2], "statement and proof differ by eta^2")
    extra = {"powers_of_eta_statement_and_proof": [int(p) for p in powers]}
    return Verdict(verdict.verdict, {**verdict.evidence, **extra}, None, verdict.repaired)


_B5_LEFT = sp.expand(L**2 * (DRIFT_W + DRIFT_DELTA))
_B5_RIGHT = (
    30 * K**2 * L**2 * eta**2 * grad2
    + 10 * K * L**4 * eta**2 * rho**2 * sl**2
    + 90 * K**2 * L**2 * eta**2 * sg**2
    + 180 * K**2 * L**4 * eta**2 * rho**2
    + 120 * K**4 * L**6 * eta**6 * rho**2
    + 16 * K**3 * L**6 * eta**4 * rho**2
)


def _replay_b5(evidence) -> Replay:
    values = instance(evidence)
    admissible = {"eta_l <= 1/(10KL)": 10 * values["K"] * values["L"] * values["eta"] <= 1}
    return Replay(admissible, evaluate(_B5_LEFT, values), evaluate(_B5_RIGHT, values))


@check("qu22-lemB.5-const", replay=_replay_b5)
def constants_of_b5() -> Verdict:
    """Constants of Lemma B.5 from Lemmas B.1 and B.2.

    Statement: L^2 (E_w + E_delta), with the printed bounds of B.1 and B.2, is at most the bracket of Lemma B.5.
    Assumptions: 0 < eta <= 1/(10KL).
    Method: expand both sides; four terms agree, the rest is compared in x = K L eta: 24 x^4/K + 2 x^2 against 120
        x^6/K^2 + 16 x^4/K (times L^2 rho^2, with unit lengths for the term whose dimension differs).
    Verdict: repaired. 2 K^2 L^4 eta^2 rho^2 (from E_delta) is missing on the right and exceeds what replaces it.
    Reference: Qu et al. 2022, proof of Lemma B.5, step (e).
    """
    missing = sp.expand(_B5_LEFT - _B5_RIGHT)
    printed = _equal(T_printed, 120 * K**4 * L**6 * eta**6 * rho**2 + 16 * K**3 * L**6 * eta**4 * rho**2)
    given = _equal(T, 24 * K**3 * L**6 * eta**4 * rho**2 + 2 * K**2 * L**4 * eta**2 * rho**2)
    certificate = require_identity(_B5_LEFT, _B5_RIGHT - printed.right + given.right, "L^2 (E_w + E_delta)")
    widest, _ = widest_drift()  # Lemma B.1 as corrected, in place of DRIFT_DELTA
    repeated = _equal(sp.Symbol("T_corrected"), 240 * K**2 * L**4 * eta**2 * rho**2 + 4 * L**2 * rho**2)
    enters = L**2 * (_B2_PRODUCT / DRIFT_DELTA * widest.right + widest.right)
    certificate += "; " + require_identity(enters, repeated.right, "terms after correction of Lemma B.1")
    point = {**_values(_B5_LEFT), "sl": "1/100", "sg": "1/100", "grad2": "1/100"}
    require(evaluate(missing, point) > 0, "left exceeds right at the stored values")
    return repaired(
        point,
        f"${given.latex}$ in place of the two terms ${printed.latex}$, and ${repeated.latex}$ where Lemma B.1 is "
        "corrected, too",
        certificate,
        float(evaluate(_B5_LEFT, point) / evaluate(_B5_RIGHT, point)),
        left_minus_right=str(missing),
    )


_B8_PRINTED = 30 * N * K**2 * L**2 * eta**2 * BRACKET + (144 * K**4 * L**6 * eta**4 + 12 * N * K**4 * L**2 * eta**2) * (
    rho**2
)
_B8_PRODUCT = 6 * N * K**2 * L**2 * (DRIFT_W + DRIFT_DELTA)


@check("qu22-lemB.8-const", replay=identity_replay(_B8_PRINTED, _B8_PRODUCT, step_size=10 * K * L * eta <= 1))
def constants_of_b8() -> Verdict:
    """Constants of Lemma B.8 from Lemmas B.1 and B.2.

    Statement: 6 N K^2 L^2 (E_w + E_delta) with the printed bounds equals the first three terms of Lemma B.8.
    Assumptions: eta <= 1/(10KL).
    Method: symbolic multiplication.
    Verdict: repaired. The powers are 30 N K^3, 144 N K^5 and 12 N K^4 L^4 instead of 30 N K^2, 144 K^4 and 12 N K^4
        L^2.
    Reference: Qu et al. 2022, proof of Lemma B.8, step (b).
    """
    product = _equal(
        6 * N * K**2 * L**2 * (E_w + E_delta),
        30 * N * K**3 * L**2 * eta**2 * B + (144 * N * K**5 * L**6 * eta**4 + 12 * N * K**4 * L**4 * eta**2) * rho**2,
    )
    corrected = f"${product.latex}$ with the bracket $B$ of Lemma B.2 (given the printed B.1 and B.2)"
    derived, correct = product.left.subs(DRIFTS), product.right.subs(B, BRACKET)
    return correct_identity(_B8_PRINTED, derived, correct, _values(_B8_PRODUCT), corrected)


_FACTOR = L * eta_g**2 * eta**2 / (2 * N * S)
_COND_PRINTED = L * eta_g * eta / (2 * S) * (3 * K + 180 * K**3 * L**2 * eta**2)
_COND_DERIVED = sp.cancel(_FACTOR * sp.diff(sp.expand(SQUARED_DIRECTIONS), grad2) / (K * eta_g * eta))


@check("qu22-thmB.9-cond", replay=identity_replay(_COND_PRINTED, _COND_DERIVED, step_size=10 * K * L * eta <= 1))
def condition_of_b9() -> Verdict:
    """The positivity condition of Theorem B.9 from Lemma B.8.

    Statement: the coefficient of the squared gradient that L eta_g^2 eta^2/(2NS) times Lemma B.8 (as printed)
        produces is K eta_g eta times L eta_g eta/(2S) (3K + 180 K^3 L^2 eta^2).
    Assumptions: none beyond positive symbols.
    Method: derivative of the printed right side of B.8 in the squared gradient, multiplied out.
    Verdict: repaired. B.8 as printed gives 180 K^2; 180 K^3 follows from 30 N K^3 in B.8 (the corrected power).
    Reference: Qu et al. 2022, Theorem B.9, step (d) of its proof.
    """
    scale = L * eta_g * eta / (2 * S)
    given = _equal(T, scale * (3 * K + 180 * K**2 * L**2 * eta**2))
    printed, needed = _equal(T_printed, _COND_PRINTED), _equal(sp.Symbol("T_first"), 30 * N * K**3 * L**2 * eta**2 * B)
    gradient = sp.diff(needed.right.subs(B, BRACKET), grad2) + 3 * N * K**2
    require_identity(sp.cancel(_FACTOR * gradient / (K * eta_g * eta)), printed.right, "with 30 N K^3 in B.8")
    corrected = (
        f"B.8 as printed gives the coefficient ${given.latex}$; the printed ${printed.latex}$ needs the first term "
        f"${needed.latex}$ in B.8, $B$ being the bracket"
    )
    return correct_identity(printed.right, _COND_DERIVED, given.right, _values(_COND_DERIVED), corrected)


_D3_LEFT = sp.expand(L**2 * (MOMENTUM_DRIFT_W + DRIFT_DELTA))
_D3_PRINTED = (
    10 * beta**2 * L**4 * eta**2 * rho**2 * sl**2
    + 35 * beta**2 * K * L**2 * eta**2 * (3 * sg**2 + 6 * L**2 * rho**2)
    + 70 * (1 - beta) * K**2 * L**2 * eta**2 * grad2
    + 28 * beta**2 * K**3 * L**6 * eta**4 * rho**2
    + 2 * K**2 * L**4 * eta**2 * rho**2
)


@check("qu22-lemD.3-const", replay=identity_replay(_D3_PRINTED, _D3_LEFT, step_size=30 * beta * eta * K * L <= 1))
def constants_of_d3() -> Verdict:
    """Powers of K in the MoFedSAM constants.

    Statement: L^2 (E_w + E_delta), with D.1 (last line of its proof) and B.1, equals the printed bracket of D.3.
    Assumptions: eta <= 1/(30 beta K L).
    Method: symbolic multiplication and term-by-term comparison.
    Verdict: repaired. One power of K is missing in the noise term (for eta^2 sl^2) and in the 35 beta^2 term, and 70
        (1 - beta) should be 70 (1 - beta)^2.
    Reference: Qu et al. 2022, proof of Lemma D.3, step (b).
    """
    total = _equal(
        L**2 * (E_w + E_delta),
        10 * K * beta**2 * L**4 * eta**2 * rho**2 * sl**2
        + 35 * beta**2 * K**2 * L**2 * eta**2 * (3 * sg**2 + 6 * L**2 * rho**2)
        + 70 * (1 - beta) ** 2 * K**2 * L**2 * eta**2 * grad2
        + 28 * beta**2 * K**3 * L**6 * eta**4 * rho**2
        + 2 * K**2 * L**4 * eta**2 * rho**2,
    )
    derived = total.left.subs(DRIFTS | {E_w: MOMENTUM_DRIFT_W})
    return correct_identity(_D3_PRINTED, derived, total.right, _values(_D3_LEFT), f"${total.latex}$")


_NOISE_PRINTED = beta * L**3 * eta_g**2 * rho**2 * sl**2 / (K * N)
_NOISE_DERIVED = sp.cancel(L * eta_g**2 / 2 * beta**2 * L**2 * rho**2 * sl**2 / (K * N) / (beta * eta_g))


@check("qu22-lemD.3-noise", replay=identity_replay(_NOISE_PRINTED, _NOISE_DERIVED, step_size=eta_g * beta * L <= 1))
def noise_term_of_d3() -> Verdict:
    """Power of eta_g in the noise term of the MoFedSAM descent lemma.

    Statement: L eta_g^2/2 times beta^2 L^2 rho^2 sl^2/(KN), divided by beta eta_g, is beta L^3 eta_g^2 rho^2
        sl^2/(KN).
    Assumptions: none beyond positive symbols (the stored values satisfy eta_g <= 1/(beta L)).
    Method: cancel.
    Verdict: repaired. The quotient is beta L^3 eta_g rho^2 sl^2/(2KN); with the prescribed step sizes the noise term
        of the rate is L^2 sl^2/(2 R^(3/2) sqrt(KN)) and not L sl^2/(R^2 beta).
    Reference: Qu et al. 2022, proof of Lemma D.3, step (b).
    """
    quotient = _equal(T, beta * L**3 * eta_g * rho**2 * sl**2 / (2 * K * N))
    return correct_identity(
        _NOISE_PRINTED, _NOISE_DERIVED, quotient.right, _values(_NOISE_PRINTED), f"the term ${quotient.latex}$"
    )


def _terms(expression: sp.Expr) -> list[str]:
    return [str(term) for term in sp.Add.make_args(sp.expand(expression))]


@check("qu22-thmD.4-phi")
def two_versions_of_phi() -> Verdict:
    """Phi of Theorem D.4 in its statement and in its proof.

    Statement: both expressions are equal up to constants.
    Assumptions: G of the statement is read as sigma_g, sigma as sigma_l.
    Method: strip the numerical coefficients of all monomials and compare the two sets.
    Verdict: inconsistent. Of five monomials in the statement and six in the proof only K L^4 beta^2 eta^2 rho^2 is
        in both.
    Reference: Qu et al. 2022, Theorem D.4 and the last line of the proof of Lemma D.3.
    """

    def monomials(expression):
        return {term / term.as_coeff_Mul()[0] for term in sp.Add.make_args(sp.expand(expression))}

    statement, proof = monomials(PHI_MOMENTUM_STATEMENT), monomials(PHI_MOMENTUM)
    return compared(
        sorted(map(str, statement)),
        sorted(map(str, proof)),
        statement == proof,
        common=sorted(map(str, statement & proof)),
    )


@check("qu22-lemD.6")
def last_bracket_of_d6() -> Verdict:
    """The last bracket of Lemma D.6 against half of Lemma B.8.

    Statement: the statement of D.6 follows from its proof, and the last bracket of the proof is half of Lemma B.8.
    Assumptions: the printed Lemma B.8.
    Method: expand half of B.8 (without the gradient terms) and compare monomial by monomial; the statement is
        compared by its symbols: it has G and B and no S, the proof has sigma_g, L and S.
    Verdict: inconsistent. Three monomials differ (540 N K^3 printed with K^2, 9/2 printed as 4, 9 printed as 3).
    Reference: Qu et al. 2022, Lemma D.6 and the last line of its proof; Lemma B.8.
    """
    derived = sp.expand(half * SQUARED_DIRECTIONS.subs(grad2, 0))
    printed = sp.expand(MOMENTUM_SAMPLING)
    differences = sp.Add.make_args(sp.expand(printed - derived))
    return compared(
        _terms(printed),
        _terms(derived),
        printed == derived,
        printed_minus_derived=[str(term) for term in differences],
        statement="is the statement of Lemma D.3 word for word: it has no S although the proof's bound depends on S",
    )
