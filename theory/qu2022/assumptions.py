"""Assumptions 2 and 3: when they hold, and what they imply."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from theory.kit.exact import mp
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import total
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022.common import instance, proved, refuted, repaired, require, require_identity


@check("qu22-ass2", mutations=((0.9, "refuted"), (1.1, "refuted")))
def dissimilarity_of_quadratics(scale: float = 1.0) -> Verdict:
    """Assumption 2 on quadratic clients.

    Statement: for F_i = (w - c_i)^T H_i (w - c_i)/2 it holds on all of R^d if and only if all H_i agree.
    Assumptions: symmetric H_i.
    Method: grad F_i - grad F = (H_i - Hbar) w - (H_i c_i - mean H_j c_j), per coordinate along every line w = t v and
        with sums over any number of clients; it is bounded in t if and only if its slope vanishes, for all i and v: H_i
        = Hbar. ``scale`` multiplies grad F; then already F_1 = F_2 = w^2/2 leaves a slope.
    Verdict: proved; then sigma_g = max_i |H (c_i - cbar)|.
    Reference: Qu et al. 2022, Assumption 2.
    """
    t, a, b, slopes, shifts, N = sp.symbols("t a_i b_i sum_a sum_b N")
    gradient = t * a - b  # coordinate of H_i (t v - c_i): a_i that of H_i v, b_i that of H_i c_i
    factor = sp.Rational(str(scale))
    difference = gradient - factor * total(gradient, {a: slopes, b: shifts}, N) / N
    equal = {a: 1, b: 0, slopes: 2, shifts: 0, N: 2}
    slope = difference.subs(equal).coeff(t)
    if slope != 0:
        return refuted({"H": [1, 1], "c": [0, 0], "slope": str(slope)})
    names = {slopes: r"\sum_ja_j", shifts: r"\sum_jb_j"}
    rule = formula(sp.Symbol("D_i"), "==", t * (a - slopes / N) - (b - shifts / N), names)
    affine = require_identity(
        difference,
        rule.right,
        "coordinate of grad F_i - grad F at w = t v, any v, N and d, a_i and b_i those of H_i v and H_i c_i",
    )
    constant = require_identity(rule.right.subs(slopes, N * a), shifts / N - b, "with equal H_i, so sum_a = N a_i")
    return proved(
        f"${rule.latex}$: {affine}; bounded in t only if a_i = sum_a/N, for every coordinate, v and i: "
        f"H_i v = Hbar v, so all H_i agree; "
        f"conversely {constant}, the coordinate of -H (c_i - cbar): constant, with sigma_g = max_i |H (c_i - cbar)|",
        tested_at={str(symbol): value for symbol, value in equal.items()},
    )


def _replay_chord(evidence) -> Replay:
    v = instance(evidence)
    scale = mp.mpf(v["scale"].numerator) / v["scale"].denominator
    return Replay({"unit vectors": BY_CONSTRUCTION, "angle at most pi": BY_CONSTRUCTION}, mp.mpf(4), scale * mp.pi**2)


APART, ANGLE = sp.symbols("apart t", nonnegative=True)


def _unit_vectors(right: Any) -> Formula:
    return formula(APART, "<=", right, {APART: r"\|u-v\|^2", ANGLE: r"\angle(u,v)"})


def chord_below_arc() -> str:
    """|u - v|^2 <= t^2 for unit vectors at angle t in [0, pi]: the bound and its certificate."""
    bound, chord = _unit_vectors(ANGLE**2), 2 * sp.sin(ANGLE / 2)
    require_identity(sp.expand_trig(2 - 2 * sp.cos(2 * ANGLE)), (chord**2).subs(ANGLE, 2 * ANGLE), "2 - 2 cos 2t")
    gap = sp.sqrt(bound.right) - chord
    require(gap.subs(ANGLE, 0) == 0, "arc and chord are 0 at the angle 0")
    require(sp.simplify(sp.diff(gap, ANGLE) - (1 - sp.cos(ANGLE / 2))) == 0, "derivative of t - 2 sin(t/2)")
    return (
        f"${bound.latex}$: |u - v|^2 = 2 - 2 cos t = 4 sin^2(t/2); t - 2 sin(t/2) is 0 at 0 and has the derivative "
        "1 - cos(t/2) >= 0"
    )


def largest_chord() -> tuple[Formula, str]:
    """|u - v|^2 <= 4 for unit vectors, and its certificate."""
    bound, c = _unit_vectors(4), sp.Symbol("c")  # cosine
    apart = 2 - 2 * c
    room = require_identity(bound.room.subs(APART, apart), 2 * (1 + c), f"room of ${bound.latex}$ at {apart}, c = cos")
    bound.attained_at({"apart": apart.subs(c, -1)})
    return bound, f"{room}, which is >= 0, and 0 at v = -u"


@check("qu22-ass3-pi", mutations=((0.4, "refuted"), (0.41, "proved"), (2.0, "proved")), replay=_replay_chord)
def variance_of_unit_vectors(scale: float = 1.0) -> Verdict:
    """The unit-vector variance is below pi^2.

    Statement: |u - v|^2 <= angle^2 for unit vectors, so that sigma_l^2 < pi^2 can always be taken.
    Assumptions: u, v unit vectors.
    Method: chord and arc; the largest chord is 2, at v = -u, so that the smallest universal constant is 4; ``scale``
        multiplies pi^2.
    Verdict: proved; sigma_l^2 = 4 always satisfies Assumption 3, which therefore excludes no gradient noise.
    Reference: Qu et al. 2022, Assumption 3 and the text below it.
    """
    bound, room = largest_chord()
    chord, arc = bound.right, sp.pi**2 * Fraction(scale)
    worst = float(chord / arc)
    if worst > 1:
        return refuted({"u": [1], "v": [-1], "scale": str(Fraction(scale))}, worst)
    enough = require(arc > chord, f"{chord} < {arc}")
    return proved(f"{chord_below_arc()}; {room}; {enough}", worst, smallest_constant=int(chord))


@check("qu22-lemB.1-arc", mutations=((0.4, "refuted"), (2.0, "proved")), replay=_replay_chord)
def unit_vectors_and_angles(scale: float = 1.0) -> Verdict:
    """Distance of unit vectors and angle.

    Statement: |a/|a| - b/|b||^2 <= angle(a, b)^2 for non-zero a, b.
    Assumptions: a, b not 0.
    Method: chord and arc; ``scale`` multiplies the squared angle, and opposite vectors have 4 against pi^2.
    Verdict: proved.
    Reference: Qu et al. 2022, proof of Lemma B.1, (8).
    """
    point = {"u": [1], "v": [-1], "scale": str(Fraction(scale))}
    if _replay_chord(point).violated:
        return refuted(point, None)
    require(scale >= 1, "the right side is at least the squared angle")
    return proved(chord_below_arc(), 1 / scale, tested_at=point)


def _replay_variance(evidence) -> Replay:
    v = instance(evidence)
    factors, w = v["factors"], v["w"]
    variance = sum((s * w - w) ** 2 for s in factors) / len(factors)
    assumptions = {
        "unbiased": sum(factors) / len(factors) == 1,
        "sigma_l = 0: the direction never changes": all(s > 0 for s in factors),
        "F = x^2/2 is 1-smooth": BY_CONSTRUCTION,
    }
    return Replay(assumptions, variance, v["claimed_s2"])


@check("qu22-ass3-tighter", replay=_replay_variance)
def assumption_3_against_bounded_variance() -> Verdict:
    """Assumption 3 against the classical bounded variance.

    Statement: for unbiased gradients Assumption 3 with some sigma_l^2 < pi^2 implies E|grad F_i(w; xi) - grad
        F_i(w)|^2 <= s^2 for some finite s^2, or is at least a stronger requirement.
    Assumptions: unbiased stochastic gradients.
    Method: F = x^2/2 with sample gradients x/2 and 3x/2 has sigma_l = 0 and variance x^2/4, unbounded over w: for
        each s^2 the point w = 4 s violates it. Repair: sigma_l^2 = 4 holds for every oracle (|u - v| <= 2), so that
        Assumption 3 is implied by the classical one, and never implies it.
    Verdict: repaired: Assumption 3 is weaker, not tighter.
    Reference: Qu et al. 2022, text after Assumption 3.
    """
    bound = Fraction(10**6)
    w = 4 * Fraction(10**3)
    variance = w**2 / 4
    require(variance > bound, "variance above the claimed bound")
    s = sp.symbols("s", positive=True)
    certificate = require_identity((4 * s) ** 2 / 4 - s**2, 3 * s**2, "variance at w = 4s minus s^2")
    largest, room = largest_chord()
    return repaired(
        {"factors": ["1/2", "3/2"], "w": str(w), "claimed_s2": str(bound)},
        f"${largest.latex}$ for unit vectors, so A3 holds with this constant for every stochastic gradient; bounded "
        "variance implies it and is not implied",
        f"{room}; {certificate} > 0 for every s > 0, with sigma_l = 0",
        float(variance / bound),
    )
