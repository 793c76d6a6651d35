"""Statements that replace the refuted ones, with their proofs as checked certificates.

Setting: deterministic client gradients (Assumption 3 does not bound the noise, see qu22-ass3-noise), L-smooth F_i,
(1/N) sum |grad F_i(w^r) - grad F(w^r)|^2 <= sigma_g^2, K L eta_l =: x <= 1/10. Theorems with noise and cohorts are
statement objects (theory.inexact).
Notation: G^2 = |grad F|^2 + sigma_g^2, a_k = root of the mean over clients of |w_{i,k} - w^r|^2, A = K eta_g eta_l.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import sympy as sp

from theory.kit.formula import Formula, formula
from theory.qu2022.common import require, require_identity
from theory.qu2022.printed import K, L, beta, eta, eta_g, gap, rho, sg, sl

X_MAX = Fraction(1, 10)
#: e^(1/10) <= 1/(1 - 1/10)
GROWTH = 1 / (1 - X_MAX)

slope, G = sp.symbols("p G", nonnegative=True)  # |grad F(w^r)| and G
NAMES = {eta: r"\eta_l", eta_g: r"\eta_g", sg: r"\sigma_g", sl: r"\sigma_l", gap: r"\mathcal F"}
NAMES |= {slope: r"\|\nabla F(w^r)\|"}


def drift() -> str:
    """a_k <= (10/9) K eta_l (G + L rho) for k <= K, deterministic gradients."""
    k, h = sp.symbols("k h", positive=True)
    require_identity((1 + h) * ((1 + h) ** k - 1) / h + 1, ((1 + h) ** (k + 1) - 1) / h, "one step of the recursion")
    return (
        "|g~_{i,k}| <= |grad F_i(w)| + L |w_{i,k} - w| + L rho; Minkowski in the mean over clients gives "
        "a_{k+1} <= (1 + L eta_l) a_k + eta_l (G + L rho), hence a_k <= eta_l (G + L rho) ((1 + h)^k - 1)/h, h "
        "= L eta_l "
        "(induction step expanded by sympy), and ((1 + h)^k - 1)/h <= k (1 + h)^k <= K "
        f"e^({X_MAX}) <= ({GROWTH}) K"
    )


def local_step(rate: sp.Expr) -> tuple[Formula, sp.Expr]:
    """The condition K rate <= 1/10, and the c of a_k <= c K eta_l b that it gives for a_{k+1} <= (1 + rate) a_k + eta_l
    b (the induction of ``drift``)."""
    step = formula(K * rate, "<=", X_MAX, NAMES)
    require(step.left == K * rate, "the condition bounds K times the rate")
    return step, 1 / (1 - step.right)


def descent() -> tuple[str, str]:
    """The descent of F with an L^2 rho^2 term, in words and LaTeX, and its certificate."""
    A, x, now, after, q = sp.symbols("A x F F_next q", positive=True)
    server, (local, growth) = formula(A, "<=", 1 / L), local_step(L * eta)
    share, tilt = sp.Rational(400, 81) * x**2, L**2 * rho**2
    bound = formula(
        after,
        "<=",
        now - A / 2 * (1 - share) * slope**2 + A / 2 * (share * (sg**2 + tilt) + 2 * tilt),
        {**NAMES, now: "F(w^r)", after: "F(w^{r+1})"},
    )
    after_step = now - A * slope * q + L / 2 * A**2 * q**2
    left, right = bound.at({after: after_step, x: K * L * eta, sg: sp.sqrt(G**2 - slope**2)})
    moved = growth * L * K * eta * (G + L * rho)
    slacks = L * A / 2 * q**2 * server.room + A / 2 * ((moved + L * rho) ** 2 - (slope - q) ** 2)
    slacks += A / 2 * (moved - L * rho) ** 2 + A * (growth * L * K * eta) ** 2 * (G - L * rho) ** 2
    certificate = require_identity(right - left, slacks, "right - left as a sum of slacks, p = grad F, q the mean step")
    return (
        f"${bound.latex}$ with $A=K\\eta_g\\eta_l$, ${server.latex}$, $x={local.latex}$, deterministic gradients",
        f"{drift()}; |grad F - q| <= L max a_k + L rho <= {growth} x (G + L rho) + L rho, per coordinate "
        f"F(w^(r+1)) <= F - A p q + L A^2 q^2/2; {certificate}, each slack >= 0",
    )


def momentum_drift() -> tuple[str, str]:
    """The client drift of MoFedSAM with |Delta^r|^2, in words and LaTeX, and its certificate."""
    drifted, momentum = sp.symbols("E_w m", nonnegative=True)
    step, growth = local_step(beta * L * eta)
    sizes = beta**2 * (slope**2 + sg**2 + L**2 * rho**2) + (1 - beta) ** 2 * momentum**2
    names = {**NAMES, drifted: r"\mathcal E_w", momentum: r"\|\Delta^r\|"}
    bound = formula(drifted, "<=", sp.Rational(100, 27) * K**2 * eta**2 * sizes, names)
    parts = (beta * G, beta * L * rho, (1 - beta) * momentum)
    largest = growth * K * eta * sum(parts)
    left, right = bound.at({drifted: largest**2, sg: sp.sqrt(G**2 - slope**2)})
    squares = (growth * K * eta) ** 2 * sum((a - b) ** 2 for a, b in combinations(parts, 2))
    certificate = require_identity(right - left, squares, "right - a_k^2")
    return (
        f"deterministic gradients, ${step.latex}$: ${bound.latex}$",
        f"{drift()}; as for FedSAM with v = beta g~ + (1 - beta) Delta: a_(k+1) <= (1 + beta L eta_l) a_k + eta_l "
        f"(beta (G + L rho) + (1 - beta)|Delta|), hence a_k <= {largest}, m = |Delta^r|; {certificate}, squares",
    )
