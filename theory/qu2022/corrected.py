"""Statements that replace the refuted ones, with their proofs as checked certificates.

Setting, unless noise is named: deterministic client gradients (Assumption 3 does not bound the noise, see
qu22-ass3-noise), L-smooth F_i, (1/N) sum |grad F_i(w^r) - grad F(w^r)|^2 <= sigma_g^2, K L eta_l =: x <= 1/10.
Notation: G^2 = |grad F|^2 + sigma_g^2, a_k = root of the mean over clients of |w_{i,k} - w^r|^2, gbar = mean over i,
k of the SAM gradients, A = K eta_g eta_l, gap = F(w^0) - F^*.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from theory.qu2022.common import require, require_identity

X_MAX = Fraction(1, 10)
#: e^(1/10) <= 1/(1 - 1/10)
GROWTH = 1 / (1 - X_MAX)


def drift() -> str:
    """a_k <= (10/9) K eta_l (G + L rho) for k <= K, deterministic gradients."""
    k, h = sp.symbols("k h", positive=True)
    require_identity((1 + h) * ((1 + h) ** k - 1) / h + 1, ((1 + h) ** (k + 1) - 1) / h, "one step of the recursion")
    require(Fraction(10, 9) == GROWTH, "growth factor 10/9")
    return (
        "|g~_{i,k}| <= |grad F_i(w)| + L |w_{i,k} - w| + L rho; Minkowski in the mean over clients gives "
        "a_{k+1} <= (1 + L eta_l) a_k + eta_l (G + L rho), hence a_k <= eta_l (G + L rho) ((1 + h)^k - 1)/h, h "
        "= L eta_l "
        "(induction step expanded by sympy), and ((1 + h)^k - 1)/h <= k (1 + h)^k <= K e^(1/10) <= (10/9) K"
    )


def weighted_cauchy(weights: tuple[int, int, int], factors: tuple[int, int, int]) -> Fraction:
    """Smallest c with (sum f_j p_j)^2 <= c sum weight_j p_j^2: the sum of f_j^2/weight_j."""
    return sum(Fraction(f * f, w) for f, w in zip(factors, weights, strict=True))


def drift_bound() -> tuple[str, Fraction]:
    """Lemma B.2 for deterministic gradients: certificate and the share of the printed bound that is used."""
    share = GROWTH**2 * weighted_cauchy((30, 90, 180), (1, 1, 2))
    text = require(share <= 1, f"(10/9)^2 (1/30 + 1/90 + 4/180) = {share} <= 1")
    return (
        drift() + "; G + L rho <= |grad f~| + sigma_g + 2 L rho because |grad F(w)| <= |grad F(w + delta)| + L rho; "
        "Cauchy with the "
        "weights 30, 90, 180 of the printed bound 30 K^2 eta_l^2 |grad f~|^2 + 90 K^2 eta_l^2 sigma_g^2 "
        "+ 180 K^2 eta_l^2 L^2 rho^2: " + text,
        share,
    )


def directions_bound() -> tuple[str, Fraction]:
    """Lemma B.8 for deterministic gradients, from its last two terms alone."""
    share = GROWTH**2 * weighted_cauchy((3, 9, 18), (1, 1, 2))
    text = require(share <= 1, f"(10/9)^2 (1/3 + 1/9 + 4/18) = {share} <= 1")
    return (
        drift() + "; |sum_k g~_{i,k}|^2 <= K sum_k |g~_{i,k}|^2, and the mean-square norm of g~_{i,k} is at most "
        "G + L a_k + L rho <= (10/9)(G + L rho) since L a_k <= (1/10)(10/9)(G + L rho) = (G + L rho)/9; Cauchy "
        "with the "
        "weights 3, 9, 18 of 3NK^2 |grad f~|^2 + 9NK^2 sigma_g^2 + 18NK^2 L^2 rho^2: " + text,
        share,
    )


def descent_identity() -> str:
    """-A <p, q> + (L/2) A^2 |q|^2 = -(A/2)|p|^2 - (A/2)(1 - L A)|q|^2 + (A/2)|p - q|^2."""
    p, q, step, smooth = sp.symbols("p q A L", real=True)
    left = -step * p * q + smooth / 2 * step**2 * q**2
    right = -step / 2 * p**2 - step / 2 * (1 - smooth * step) * q**2 + step / 2 * (p - q) ** 2
    return require_identity(left, right, "descent, p = grad F, q = gbar, per coordinate")


DESCENT = (
    r"$F(w^{r+1})\le F(w^r)-\tfrac A2(1-\tfrac{400}{81}x^2)\|\nabla F(w^r)\|^2"
    r"+\tfrac A2\big(\tfrac{400}{81}x^2(\sigma_g^2+L^2\rho^2)+2L^2\rho^2\big)$ with $A=K\eta_g\eta_l\le1/L$, "
    r"$x=KL\eta_l\le\tfrac1{10}$, deterministic gradients"
)
RATE_MOMENTUM = (
    r"for $\eta_g\le\frac\beta{4L}$, $\eta_l\le\frac1{10KL}$, $\Delta^0=0$, deterministic gradients: "
    r"$\frac1R\sum\|\nabla "
    r"F(w^r)\|^2\le\tfrac{162}{65}\frac{F(w^0)-F^*}{\eta_gR}+\tfrac{324}{65}\frac{L(F(w^0)-F^*)}{\beta R}"
    r"+\tfrac{320}{13}\beta^2K^2L^2\eta_l^2\sigma_g^2+\tfrac{68}{13}L^2\rho^2$"
)
RATE_MOMENTUM_SAMPLED = (
    r"for $\eta_g\le\frac\beta{4L}$, $\eta_l\le\frac1{10KL}$, $\Delta^0=0$, deterministic gradients, $S$ clients drawn "
    r"without replacement: $\frac1R\sum\mathbb E\|\nabla F(w^r)\|^2\le\tfrac{81}{41}\big[\frac{2\mathcal F}{\eta_gR}"
    r"+\frac{4L\mathcal F}{\beta R}+\tfrac{4000}{81}\beta^2K^2L^2\eta_l^2(\sigma_g^2+L^2\rho^2)+4L^2\rho^2"
    r"+\frac{6\beta}S(\sigma_g^2+L^2\rho^2)\big]$ with $\mathcal F=F(w^0)-F^*$"
)


def descent() -> str:
    """Certificate of DESCENT."""
    constant = 2 * GROWTH**2 * 2
    require(constant == Fraction(400, 81), "2 (10/9)^2 times 2 is 400/81")
    return (
        drift() + "; |grad F - gbar| <= L max a_k + L rho <= (10/9) x (G + L rho) + L rho, squared at most "
        "(400/81) x^2 (|grad F|^2 + sigma_g^2 + L^2 rho^2) + 2 L^2 rho^2 by Lemma A.1 (2) twice; L A <= 1; "
        + descent_identity()
    )


def momentum_drift() -> str:
    """E_w <= (100/27) K^2 eta_l^2 (beta^2 (|grad F|^2 + sigma_g^2 + L^2 rho^2) + (1 - beta)^2 |Delta^r|^2)."""
    require(Fraction(100, 27) == 3 * GROWTH**2, "3 (10/9)^2 = 100/27")
    return (
        "as for FedSAM with v = beta g~ + (1 - beta) Delta: a_{k+1} <= (1 + beta L eta_l) a_k + eta_l (beta (G "
        "+ L rho) + "
        "(1 - beta)|Delta|), hence a_k <= (10/9) K eta_l (beta (G + L rho) + (1 - beta)|Delta|) for beta K L "
        "eta_l <= 1/10; "
        "square with Lemma A.1 (2), three terms: 3 (10/9)^2 = 100/27"
    )


def _error_recursion() -> str:
    beta = sp.symbols("beta", positive=True)
    first = require_identity((1 - beta) * (1 + beta / 2), 1 - beta / 2 - beta**2 / 2, "(1 - beta)(1 + beta/2)")
    second = require_identity((1 - beta) * (1 + 2 / beta), 2 / beta - 1 - beta, "(1 - beta)(1 + 2/beta)")
    return (
        "e^r = Delta^{r+1} - grad F(w^r) = (1 - beta)(e^{r-1} + grad F(w^{r-1}) - grad F(w^r)) + beta b^r with "
        "b^r = gbar^r - grad F(w^r); convexity and Lemma A.1 (1) with a = beta/2: |e^r|^2 <= (1 - beta/2)|e^{r-1}|^2 + "
        f"(2/beta) L^2 eta_g^2 |Delta^r|^2 + beta |b^r|^2 ({first}; {second}), |e^0|^2 <= |grad F(w^0)|^2 + "
        f"beta |b^0|^2; sum: "
        "sum|e|^2 <= (2/beta)|grad F(w^0)|^2 + (4 L^2 eta_g^2/beta^2) sum|Delta|^2 + 2 sum|b|^2; |grad "
        "F(w^0)|^2 <= 2 L gap"
    )


def momentum_rate(sampled: bool = False) -> str:
    """Certificate of RATE_MOMENTUM or, with ``sampled``, of RATE_MOMENTUM_SAMPLED."""
    square = 2 * GROWTH**2  # L^2 a^2 <= square x^2 (beta^2 (G + L rho)^2 + |Delta|^2)
    per_client = 4 * square  # 2 |b|^2, |b|^2 <= 2 L^2 a^2 + 2 L^2 rho^2
    if sampled:
        per_client += 6 * square  # (2 beta) E|n|^2 with |n|^2 <= (3 sigma_g^2 + 3 L^2 a^2 + 3 L^2 rho^2)/S
    momentum = -(1 - Fraction(1, 4)) + Fraction(4, 16) + per_client * X_MAX**2
    text = require(momentum <= 0, f"coefficient of sum|Delta|^2: -3/4 + 1/4 + {per_client}/100 = {momentum} <= 0")
    left = 1 - 2 * per_client * X_MAX**2
    if sampled:
        require(left == Fraction(41, 81) and 2 * per_client == Fraction(4000, 81), "constants 41/81 and 4000/81")
    else:
        constants = [2 / left, 4 / left, 2 * per_client / left, (4 + 2 * per_client * X_MAX**2) / left]
        expected = [Fraction(162, 65), Fraction(324, 65), Fraction(320, 13), Fraction(68, 13)]
        text += "; " + require(constants == expected, f"constants {[str(c) for c in constants]}")
    noise = "; sampling noise n^r has conditional mean 0 and enters e^r as beta n^r" if sampled else ""
    return (
        descent_identity()
        + " with A = eta_g, q = Delta^{r+1}; "
        + _error_recursion()
        + "; "
        + momentum_drift()
        + noise
        + f"; with eta_g <= beta/(4L), x <= 1/10: {text}; the gradient keeps the coefficient {left}"
    )
