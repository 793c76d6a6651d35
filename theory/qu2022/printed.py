"""The paper's printed right sides as sympy expressions, and the prescribed step sizes.

Symbols: K local steps, N clients, S sampled clients, R rounds, L smoothness, eta = eta_l, eta_g, rho, beta
(momentum), sl = sigma_l, sg = sigma_g, grad2 = squared norm of the gradient of f~ at w~^r, gap = F(w^0) - F^*, C.
"""

from __future__ import annotations

import sympy as sp

K, N, S, R, L, eta, eta_g, rho, beta, sl, sg, grad2, gap, C = sp.symbols(
    "K N S R L eta eta_g rho beta sl sg grad2 gap C", positive=True
)
half = sp.Rational(1, 2)

#: Lemma B.1 (proof): bound of E_delta
DRIFT_DELTA = 2 * K**2 * L**2 * eta**2 * rho**2
#: bracket of Lemma B.2
BRACKET = 2 * L**2 * rho**2 * sl**2 + 6 * K * (3 * sg**2 + 6 * L**2 * rho**2) + 6 * K * grad2
#: Lemma B.2: bound of E_w
DRIFT_W = 5 * K * eta**2 * BRACKET + 24 * K**3 * eta**4 * L**4 * rho**2
#: Lemma B.8: bound of the sum over clients of the squared direction
SQUARED_DIRECTIONS = (
    30 * N * K**2 * L**2 * eta**2 * BRACKET
    + 144 * K**4 * L**6 * eta**4 * rho**2
    + 12 * N * K**4 * L**2 * eta**2 * rho**2
    + 3 * N * K**2 * (3 * sg**2 + 6 * L**2 * rho**2)
    + 3 * N * K**2 * grad2
)
#: Lemma D.1, last line of the proof: bound of E_w of MoFedSAM
MOMENTUM_BRACKET = (
    2 * beta**2 * L**2 * eta**2 * rho**2 * sl**2
    + 7 * K * beta**2 * eta**2 * (3 * sg**2 + 6 * L**2 * rho**2)
    + 14 * K * (1 - beta) ** 2 * eta**2 * grad2
)
MOMENTUM_DRIFT_W = 5 * K * MOMENTUM_BRACKET + 28 * beta**2 * K**3 * L**4 * eta**4 * rho**2

_COMMON = (
    10 * K * L**4 * eta**2 * rho**2 * sl**2
    + 90 * K**2 * L**2 * eta**2 * sg**2
    + 180 * K**2 * L**4 * eta**2 * rho**2
    + 120 * K**4 * L**6 * eta**6 * rho**2
    + 16 * K**3 * eta**4 * L**6 * rho**2
)
#: C * Phi of Theorem B.6
PHI_FULL = _COMMON + eta_g * eta * L**3 * rho**2 * sl**2 / N
#: C * Phi of Theorem B.9
PHI_PARTIAL = (
    _COMMON
    + L**3 * eta_g * eta * rho**2 * sl**2 / (2 * S)
    + eta_g
    * eta
    / S
    * (
        30 * K * L**5 * eta**2 * rho**2 * sl**2
        + 180 * K**2 * L**3 * eta**2 * sg**2
        + 360 * K * L**5 * eta**2 * rho**2
        + 72 * K**3 * L**7 * eta**4 * rho**2
        + 6 * K**3 * L**3 * eta**2 * rho**2
        + 6 * K * L * sg**2
        + 6 * K * L**3 * rho**2
    )
)
_MOMENTUM_COMMON = (
    10 * beta**2 * L**4 * eta**2 * rho**2 * sl**2
    + 35 * beta**2 * K * L**2 * eta**2 * (3 * sg**2 + 6 * L**2 * rho**2)
    + 28 * beta**2 * K**3 * L**6 * eta**4 * rho**2
    + 2 * K**2 * L**4 * eta**2 * rho**2
)
#: C * Phi of Theorem D.4, version of the proof, noise term with eta_g^2 as printed
PHI_MOMENTUM = _MOMENTUM_COMMON + beta * L**3 * eta_g**2 * rho**2 * sl**2 / (K * N)
#: C * Phi of Theorem D.4, version of the statement, with G read as sigma_g
PHI_MOMENTUM_STATEMENT = (
    20 * beta**3 * L**4 * eta**2 * rho**2 * sl**2
    + 25 * beta**2 * K**2 * L**2 * eta**2 * sg**2
    + 20 * beta**2 * K**4 * L**5 * eta**4 * rho**2
    + 4 * beta**2 * K * L**4 * eta**2 * rho**2
    + beta * L**3 * rho**2 * eta_g**2 / (2 * K * N)
)
#: last bracket of Lemma D.6, as printed
MOMENTUM_SAMPLING = (
    30 * N * K**2 * L**4 * eta**2 * rho**2 * sl**2
    + 270 * N * K**3 * L**2 * eta**2 * sg**2
    + 540 * N * K**2 * L**4 * eta**2 * rho**2
    + 72 * K**4 * L**6 * eta**4 * rho**2
    + 6 * N * K**4 * L**2 * eta**2 * rho**2
    + 4 * N * K**2 * sg**2
    + 3 * N * K**2 * L**2 * rho**2
)

#: optimisation terms of Theorems B.6 and D.4
PROGRESS = gap / (C * K * eta_g * eta * R)
MOMENTUM_PROGRESS = gap / (C * beta * eta_g * R)

#: Theorem 3.1, full and partial participation
STEPS_FULL = {eta: 1 / (sp.sqrt(R) * K * L), eta_g: sp.sqrt(K * N), rho: 1 / sp.sqrt(R)}
STEPS_PARTIAL = {eta: 1 / (sp.sqrt(R) * K * L), eta_g: sp.sqrt(K * S), rho: 1 / sp.sqrt(R)}
#: Theorem 4.1, full and partial participation
STEPS_MOMENTUM = {
    eta: 1 / (sp.sqrt(R) * beta * K * L),
    eta_g: sp.sqrt(K * N) / (sp.sqrt(R) * beta * L),
    rho: 1 / sp.sqrt(R),
}
STEPS_MOMENTUM_PARTIAL = {**STEPS_MOMENTUM, eta_g: sp.sqrt(K * S) / (sp.sqrt(R) * beta * L)}

#: printed rates (terms as a list): Theorem 3.1 full / B.6 and partial / B.9, Theorem 4.1, D.4, Remark 4.2, D.7
RATE_FULL = [
    gap * L / sp.sqrt(R * K * N),
    sg**2 / R,
    L**2 * sl**2 / (R ** sp.Rational(3, 2) * sp.sqrt(K * N)),
    L**2 / R**2,
]
RATE_PARTIAL = [
    gap * L / sp.sqrt(R * K * S),
    sp.sqrt(K) * sg**2 / sp.sqrt(R * S),
    L**2 * sl**2 / (R ** sp.Rational(3, 2) * K),
    sp.sqrt(K) * L**2 / (R ** sp.Rational(3, 2) * sp.sqrt(S)),
]
RATE_MOMENTUM = [
    beta * gap * L / sp.sqrt(R * K * N),
    beta * sg**2 / (R * L**2),
    L * sl**2 / (R**2 * beta),
    beta * L**2 / R**2,
]
RATE_MOMENTUM_APPENDIX = [
    beta * gap * L / sp.sqrt(R * K * N),
    beta**2 * sg**2 / R,
    L * sl**2 / (R**2 * beta),
    L**2 / R**2,
]


def substituted(expression: sp.Expr, steps: dict) -> sp.Expr:
    """``expression`` at the prescribed step sizes, expanded into monomials."""
    return sp.expand(sp.powsimp(sp.expand(sp.expand(expression).subs(steps)), force=True))
