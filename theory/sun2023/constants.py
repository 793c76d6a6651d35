"""Appendix C.1.2: the constants p, q and zeta, the step-size condition and the summed inequality, eqs. (29)-(31)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import sympy as sp

from theory.kit.exact import fractions_of
from theory.kit.formula import Formula, formula
from theory.kit.statement import slack
from theory.kit.symbolic import NotProved, identity, nonnegative
from theory.kit.tables import table
from theory.kit.verdict import Verdict, check
from theory.sun2023 import lyapunov
from theory.sun2023.common import refuted, repaired, replay_of
from theory.sun2023.figures import bars, cells_of

L, B, M, N, BETA, P = sp.symbols("L b m n beta p", positive=True)  # b = beta L
THETA, ZETA = sp.Symbol("theta", positive=True), sp.Symbol("zeta", real=True)  # theta = n/m


def coefficients(L: Any, b: Any, m: Any, n: Any) -> tuple[Any, Any]:
    """(p, q) that solve (29)-(30), for numbers or symbols; beta = b/L."""
    p = L * (1 + 2 * b) / 2 / (1 + 60 * b**2 - 216 * m * b**2 / n)
    return p, q_of(p, b, m, n)


def q_of(p: Any, b: Any, m: Any, n: Any) -> Any:
    """q that solves (30) for given p."""
    return 36 * p * b**2 * (2 * m - n) / n


def repaired_coefficients(L: Any, b: Any, m: Any, n: Any) -> tuple[Any, Any]:
    """(p, q) when the recursion of Lemma C.6 has its repaired coefficients; beta = b/L."""
    slack = n / (2 * m - n) if not isinstance(m, int) else Fraction(n, 2 * m - n)
    on_v = 2 * slack + 2 * (m / n if not isinstance(m, int) else Fraction(m, n))
    p = L * (1 + 2 * b) / 2 / (1 - 12 * b**2 - 36 * b**2 * on_v / slack)
    return p, 36 * p * b**2 / slack


def zeta_of(b: Any, m: Any, n: Any) -> Any:
    """zeta = 1/2 - 12 p beta at L = 1."""
    return Fraction(1, 2) - 12 * coefficients(1, b, m, n)[0] * b


def largest_beta() -> Formula:
    """The printed limit of the step size."""
    return formula(sp.Symbol("beta_max", positive=True), "==", sp.sqrt(N) / (6 * sp.sqrt(6 * M) * L))


def _system_sides(example: Mapping[str, Any]) -> tuple[dict, Fraction, Fraction]:
    """Both sides of (30) with the printed p and q."""
    size, b, m, n = (fractions_of(example[key]) for key in ("L", "b", "m", "n"))
    p, _ = coefficients(size, b, m, n)
    q = (2 * m - n) * 36 * b**2 / n
    return {"0 < b": b > 0, "216 m b^2 <= n": 216 * m * b**2 <= n}, q, 36 * p * b**2 + q * (2 * m - 2 * n) / (2 * m - n)


SYSTEM = {"L": 4, "b": "1/50", "m": 2, "n": 1}


@check("sun23-eq29-30", mutations=((0.9, "refuted"), (1.1, "refuted")), replay=replay_of(_system_sides, "=="))
def coefficient_system(scale: float = 1.0) -> Verdict:
    """Solution of the coefficient equations.

    Statement: (29)-(30) have the solution p = L(1+2b)/2 (1 + 60 b^2 - 216 m b^2/n)^{-1}, q = (2m-n) 36 b^2/n, b =
        beta L.
    Assumptions: coefficients of Lemma C.6 as printed.
    Method: linear solve with sympy; ``scale`` multiplies 216 in the printed p.
    Verdict: repaired: p is right, q misses the factor p, so its unit is wrong too (q must scale like f).
    Reference: Sun et al. 2023, App. C.1.2, eqs. (29)-(30).
    """
    p, q = sp.symbols("p q")
    on_delta, on_v = (2 * M - 2 * N) / (2 * M - N), (6 * M - 2 * N) / (2 * M - N)
    system = [p * (1 - 12 * B**2) - L * (1 + 2 * B) / 2 - q * on_v, q - 36 * p * B**2 - q * on_delta]
    solution = sp.solve(system, [p, q], dict=True)[0]
    printed_p, _ = coefficients(L, BETA * L, sp.Rational(str(scale)) * M, N)
    own_p, own_q = formula(P, "==", printed_p), formula(sp.Symbol("q", positive=True), "==", q_of(P, BETA * L, M, N))
    _, left, right = _system_sides(SYSTEM)
    try:
        proofs = [
            identity(solution[p], own_p.right.subs(BETA, B / L), label="p"),
            identity(solution[q], own_q.right.subs({P: solution[p], BETA: B / L}), label="q with the factor p"),
        ]
    except NotProved as error:
        return refuted({**(error.point or {}), "left": str(error.difference), "right": 0})
    statement = f"${own_q.latex}$; ${own_p.latex}$ as printed."
    return repaired({**SYSTEM, "left": left, "right": right}, statement, "; ".join(proofs))


@check("sun23-beta-pos", mutations=((1.1, "refuted"), (0.9, "proved")))
def positive_constants(scale: float = 1.0) -> Verdict:
    """The step-size condition makes p and q positive.

    Statement: beta <= sqrt(n)/(6 sqrt(6 m) L) gives p > 0 and q > 0.
    Assumptions: p, q from (29)-(30), 1 <= n <= m.
    Method: 216 m b^2/n <= 1, so the denominator of p is at least 60 b^2 > 0; the exact region is b^2 (216 m/n - 60) <
        1. ``scale`` multiplies the step-size limit (checked at n/m = 1/100).
    Verdict: proved.
    Reference: Sun et al. 2023, App. C.1.2, after the solution of (29)-(30).
    """
    limit, region = largest_beta(), formula(BETA**2 * L**2 * (216 * M / N - 60), "<", 1)
    tried = {"n/m": Fraction(1, 100), "b": sp.Rational(str(scale)) * limit.right.subs({L: 1, N: 1, M: 100})}
    left, right = region.at({BETA: tried["b"], L: 1, N: 1, M: 100})
    if left >= right:
        return refuted({**tried, "b": str(tried["b"]), "left": str(left), "right": str(right)})
    p, _ = coefficients(L, BETA * L, M, N)
    exact = identity(region.room, L * (1 + 2 * BETA * L) / 2 / p, label="right - left is the denominator of p")
    at_limit = identity(
        region.room.subs(BETA, limit.right), 60 * limit.right**2 * L**2, label="at the limit it is 60 beta^2 L^2"
    )
    return Verdict(
        "proved",
        {
            "certificate": f"{exact}; {at_limit}; for fixed m/n it is linear in b^2 and 1 at b = 0, so positive up "
            "to the limit, and q has the sign of p for n <= m",
            "tested_at": {"n/m": str(tried["n/m"]), "denominator": str(right - left)},
        },
    )


def _zeta_sides(example: Mapping[str, Any]) -> tuple[dict, Fraction, Fraction]:
    """0 (left) < zeta (right) at a step size inside the printed condition."""
    b, m, n = (fractions_of(example[key]) for key in ("b", "m", "n"))
    return (
        {"1 <= n <= m": 1 <= n <= m, "beta within Theorem 4.1": 216 * m * b**2 <= n, "b > 0": b > 0},
        Fraction(0),
        zeta_of(b, m, n),
    )


INSIDE = {"b": "1/15", "m": 1, "n": 1}


def largest_step(theta: float) -> float:
    """b at which zeta = 0 with the printed recursion: positive root of (216/theta - 36) b^2 + 12 b - 1."""
    a = 216 / theta - 36
    return (-12 + sqrt(144 + 4 * a)) / (2 * a)


def repaired_step() -> tuple[Formula, Formula, str]:
    """The step sizes that the repaired recursion admits, the zeta that they leave, and the certificate of both."""
    step = formula(BETA, "<=", N / (24 * M * L))
    least = formula(ZETA, ">=", sp.Rational(1, 8))
    denominator = (1 + 2 * B) / 2 / P  # of p/L
    room = least.room.subs(ZETA, sp.Rational(1, 2) - 12 * P * B) * denominator
    needed = identity(
        room, 3 * denominator / 8 - 6 * B - 12 * B**2, label="(zeta - bound) D, D = (1 + 2 b)/(2 p), L = 1"
    )
    own = {P: repaired_coefficients(1, B, 1 / THETA, sp.Integer(1))[0]}
    at_edge = sp.factor(room.subs(own).subs(B, (step.right * L).subs({N: THETA * M})))
    sign = identity(at_edge, (1 + (1 - THETA) * (107 + 29 * THETA)) / 384, label="at the largest b, theta = n/m")
    slope = sp.diff(sp.expand(denominator.subs(own)), B)
    falls = nonnegative(-slope, shift={THETA: 1 / (1 + sp.Symbol("u", nonnegative=True))})
    return step, least, f"{needed}; D decreases in b: {falls} for theta = 1/(1+u); {sign} > 0 for theta <= 1"


def zeta_at_the_limit() -> tuple[Formula, str]:
    """zeta at the printed limit, for every participation."""
    value = formula(ZETA, "==", (3 - 6 * sp.sqrt(6 * M / N)) / 10)
    proof = identity(zeta_of(largest_beta().right * L, M, N), value.right, label="zeta at the printed limit")
    return value, f"{proof}, below -1 for n <= m, where 6 sqrt(6 m/n) > 14"


def printed_step_is_admitted() -> tuple[Formula, str]:
    """Where the printed limit meets the conditions of the proved theorem (kappa <= 1/n)."""
    admitted = formula(N**2, ">=", sp.Rational(8, 27) * M)
    beta = largest_beta().right.subs(L, lyapunov.L)
    limit = {lyapunov.beta: beta, lyapunov.kappa: 1 / N, lyapunov.theta: N / M}
    root, cohort = (slack(own).subs(limit, simultaneous=True) for own in (lyapunov.ROOT, lyapunov.COHORT))
    proofs = (
        "printed limit in the conditions of sun23-thm4.1: beta L <= 1/sqrt(216) < 1/9",
        identity(root, sp.Rational(25, 27) * N / M, label="theta - 16 (beta L)^2"),
        identity(cohort * M**2, admitted.room, label="m^2 times the cohort's condition, kappa <= 1/n"),
    )
    return admitted, "; ".join(proofs)


@check(
    "sun23-zeta-pos",
    mutations=((0.7, "proved"), (1.2, "repaired")),
    replay=replay_of(_zeta_sides, "<"),
    figure=lambda axes, evidence: draw_region(axes, evidence),
)
def gradient_coefficient(scale: float = 1.0) -> Verdict:
    """The step-size condition does not keep the coefficient of the gradient term positive.

    Statement: for 0 < beta <= sqrt(n)/(6 sqrt(6m) L) the coefficient beta/2 - 12 p beta^2 is positive.
    Assumptions: p from (29)-(30), 1 <= n <= m.
    Method: zeta > 0 iff (216 m/n - 36) b^2 + 12 b < 1, b = beta L. At n = m and b = 1/15 < 0.0680, zeta = -0.98.
        ``scale`` multiplies the limit; at 0.7 of it the condition is proved for all n/m.
    Verdict: repaired: b below the positive root, where p > 0 (beyond that both signs turn); with the repaired Lemma
        C.6, beta <= n/(24 m L) gives zeta >= 1/8. At the printed limit zeta = (3 - 6 sqrt(6m/n))/10 is negative for
        every n and m; the proof fails there, the theorem need not.
    Reference: Sun et al. 2023, App. C.1.2, text before eq. (31); Theorem 4.1.
    """
    u = sp.Symbol("u", nonnegative=True)
    b = sp.Rational(str(scale)) / (1 + u) / sp.sqrt(216)  # theta = 1/(1+u)^2
    exact = formula((216 * M / N - 36) * BETA**2 * L**2 + 12 * BETA * L, "<", 1)
    try:
        sign = nonnegative(sp.together(exact.room.subs({BETA: b / L, N: M / (1 + u) ** 2})))
        return Verdict(
            "proved", {"certificate": f"1 - 12 b - (216/theta - 36) b^2 at scale {scale} of the limit: {sign}"}
        )
    except NotProved:
        pass
    example = {**INSIDE, "b": Fraction(str(scale)) * Fraction(1, 15)} if scale <= 1 else INSIDE
    _, left, right = _zeta_sides(example)
    steps = {
        str(t): {
            "zeta = 0": largest_step(t),
            "printed": sqrt(t / 216),
            "repaired": t / 24,
            "zeta at the printed limit": float(zeta_of(sqrt(t / 216), 1 / t, 1.0)),
        }
        for t in (0.05, 0.1, 0.5, 1.0)
    }
    p, _ = coefficients(1, BETA * L, M, N)
    region = identity(
        zeta_of(BETA * L, M, N) * (1 + 2 * BETA * L) / p, exact.room, label="2 zeta times the denominator of p"
    )
    step, least, own = repaired_step()
    value, at_limit = zeta_at_the_limit()
    admitted, theorem = printed_step_is_admitted()
    statement = (
        rf"Where $p$ is positive, $\zeta$ is so iff ${exact.latex}$ (printed Lemma C.6); with the repaired Lemma C.6 "
        rf"${step.latex}$ gives ${least.latex}$. At the printed limit ${value.latex}$, which is negative for every "
        r"$n\le m$. The theorem does not need $\zeta$: with the duals' errors in the Lyapunov function, as in the "
        f"repaired theorem, the printed limit is admitted wherever ${admitted.latex}$."
    )
    certificate = "; ".join([region, own, at_limit, theorem])
    return repaired({**example, "left": left, "right": right}, statement, certificate, steps=steps)


def draw_region(axes, evidence) -> None:
    """Step-size limits against participation: printed, exact for the printed recursion, repaired."""
    theta = np.linspace(0.01, 1, 200)
    axes.plot(theta, np.sqrt(theta / 216), label="printed limit")
    axes.plot(theta, [largest_step(t) for t in theta], label=r"$\zeta=0$, printed recursion")
    axes.plot(theta, theta / 24, label="repaired limit n/(24 m)")
    axes.set_xlabel("participation $n/m$")
    axes.set_ylabel(r"$\beta L$")
    axes.legend(fontsize="small")


def _radius_sides(example: Mapping[str, Any]) -> tuple[dict, Fraction, Fraction]:
    """Sum of the two r^2 coefficients (left) and the printed combination (right), L = 1."""
    beta, p = fractions_of(example["beta"]), fractions_of(example["p"])
    return {"beta, p > 0": beta > 0 and p > 0}, beta + 30 * p * beta**2, (1 + 30 * p * beta) * beta**2


RADIUS = {"beta": "1/50", "p": "1/2"}


@check("sun23-rterm", replay=replay_of(_radius_sides))
def radius_coefficient() -> Verdict:
    """The combined coefficient of r^2 has one beta too many.

    Statement: beta L^2 r^2 + 30 p beta^2 L^2 r^2 = (1 + 30 p beta) beta^2 L^2 r^2.
    Assumptions: p, beta > 0.
    Method: factorisation; at beta = 1/50, p = 1/2 the sum is 50 times the printed term (used as an upper bound in
        (31)).
    Verdict: repaired: (1 + 30 p beta) beta L^2 r^2.
    Reference: Sun et al. 2023, App. C.1.2, display after eq. (29).
    """
    r = sp.Symbol("r", positive=True)
    whole = formula(BETA * L**2 * r**2 + 30 * P * BETA**2 * L**2 * r**2, "==", (1 + 30 * P * BETA) * BETA * L**2 * r**2)
    proof = identity(whole.left, whole.right, label="sum of the two terms")
    _, left, right = _radius_sides(RADIUS)
    return repaired({**RADIUS, "left": left, "right": right}, f"${whole.latex}$", proof)


def _q_sides(example: Mapping[str, Any]) -> tuple[dict, Fraction, Fraction]:
    """q of (29)-(30) (left) against 72 m b^2/n (right)."""
    size, b, m, n = (fractions_of(example[key]) for key in ("L", "b", "m", "n"))
    _, q = coefficients(size, b, m, n)
    return {"beta within Theorem 4.1": 216 * m * b**2 <= n, "n <= m": n <= m}, q, 72 * m * b**2 / n


@check("sun23-qbound", replay=replay_of(_q_sides))
def q_bound() -> Verdict:
    """The bound used for q forgets the factor p.

    Statement: q <= 72 m b^2/n under the conditions of the theorem.
    Assumptions: q from (29)-(30).
    Method: q = 36 p (2m-n) b^2/n; L = 4, b = 1/50, m = 2, n = 1 gives p = 2.44 and q above the bound. p scales with
        f, the bound does not, so it fails for every problem after f -> C f with C large, whenever n < 2m.
    Verdict: repaired: q <= 72 p m b^2/n.
    Reference: Sun et al. 2023, App. C.1.2, text before eq. (31).
    """
    q = sp.Symbol("q", positive=True)
    bound = formula(q, "<=", 72 * P * M * BETA**2 * L**2 / N)
    room = bound.room.subs({q: q_of(P, B, M, N), BETA: B / L})
    proof = identity(room, 36 * P * B**2, label="right - q")
    _, left, right = _q_sides(SYSTEM)
    return repaired({**SYSTEM, "left": left, "right": right}, f"${bound.latex}$", f"{proof} >= 0")


@check(
    "sun23-beta-practice",
    figure=bars(
        cells_of("derived", "beta 10 over limit"),
        "beta = 10 over the printed limit",
        reference=1,
        log=True,
    ),
)
def penalty_in_practice() -> Verdict:
    """Experimental penalties against the admissible ones.

    Statement: beta = 10 (CIFAR-10) and 100 (CIFAR-100) with n/m = 10/100, 10/200 satisfy beta <= sqrt(n)/(6 sqrt(6m)
        L).
    Assumptions: L >= top Hessian eigenvalue of f at the FedSMOO solutions (Table 2), because f is L-smooth when all
        f_i are.
    Method: arithmetic with the printed eigenvalues.
    Verdict: inconsistent: the used beta exceeds the printed limit by a factor of 4e4 and more, and exceeds 1/L, so
        the local problems need not be convex. The analysis says nothing about the experiments.
    Reference: Sun et al. 2023, Theorem 4.1; Tables 2 and 5; App. B.4.
    """
    rows = table("fedsmoo_table2").where(algorithm="FedSMOO", metric="hessian_top_eigenvalue")
    derived = {}
    for row in rows:
        size = float(row.value)
        for n, m in ((10, 100), (10, 200)):
            limit = sqrt(n / m) / (6 * sqrt(6) * size)
            derived[f"{row['split']}, n={n}, m={m}"] = {
                "printed limit": limit,
                "beta 10 over limit": 10 / limit,
                "repaired limit": n / m / 24 / size,
                "1/L": 1 / size,
            }
    agree = all(entry["beta 10 over limit"] <= 1 for entry in derived.values())
    return Verdict(
        "consistent" if agree else "inconsistent", {"printed": {"CIFAR-10": 10, "CIFAR-100": 100}, "derived": derived}
    )
