"""Sections 3.1, 3.2 and 4.1: the SAM, FedSAM and FedSMOO objectives, eqs. (3)-(8) and Figure 1."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import sympy as sp
from scipy.optimize import brentq

from theory.kit.exact import fractions_of, listed, plain
from theory.kit.formula import Formula, formula
from theory.kit.search import worst_ratio
from theory.kit.symbolic import decide_identity, identity, lagrange, total
from theory.kit.verdict import BY_CONSTRUCTION, Verdict, check
from theory.sun2023.common import refuted, repaired, replay_of
from theory.sun2023.losses import (
    CONSISTENT,
    INCONSISTENT,
    PiecewiseLinear,
    fedsam_objective,
    mean,
    minimisers,
)

RADIUS = Fraction(1)


@check("sun23-eq3", mutations=((0.9, "refuted"), (1.1, "refuted")))
def inner_maximiser(scale: float = 1.0) -> Verdict:
    """Closed form of the linearised inner maximisation.

    Statement: for grad f(w) = g != 0 the unique maximiser of s.g over ||s|| <= r is s* = r g/||g||.
    Assumptions: g in R^d, g != 0, r > 0.
    Method: Lagrange's identity gives Cauchy-Schwarz with its equality case in any dimension; the attained value is r
        ||g||. ``scale`` multiplies s*: a shorter vector is beaten by s*, a longer one leaves the ball (point g = (3,
        4), r = 1).
    Verdict: proved; at g = 0 every s in the ball is a maximiser, and r g/||g|| is undefined (0/0).
    Reference: Sun et al. 2023, Sec. 3.1, eq. (3).
    """
    candidate = Fraction(str(scale))
    if candidate != 1:
        inside = candidate <= 1
        left, right = (5, 5 * candidate) if inside else (candidate, 1)
        why = "value of s* exceeds that of the candidate" if inside else "norm of the candidate exceeds r"
        return refuted({"g": [3, 4], "r": 1, "left": left, "right": right, "why": why})
    step, r, norm = sp.symbols("s r n", positive=True)
    g = sp.Symbol("slope", real=True)  # one coordinate, the sum of its squares is n^2
    rule = formula(step, "==", r * g / norm, {step: "s^*", g: r"\nabla f(w)", norm: r"\|\nabla f(w)\|"})
    value = identity(total(rule.right * g, {g**2: norm**2}), r * norm, label="s*.g, any dimension")
    length = identity(total(rule.right**2, {g**2: norm**2}), r**2, label="|s*|^2, any dimension")
    text = (
        "Hence s.g <= ||s|| ||g|| <= r ||g||, and equality needs all 2x2 minors of (s, g) to vanish (s parallel to g), "
        "||s|| = r and a positive factor: s = r g/||g|| only."
    )
    return Verdict("proved", {"certificate": f"{value}; {length}; {lagrange('a = s, b = g')}. {text}"}, margin=1.0)


def _exact_ball_maximiser(matrix: np.ndarray, g: np.ndarray, r: float) -> np.ndarray:
    """Maximiser of g.s + s.A s/2 on the ball of radius r < ||g||/||A||: s = (nu I - A)^{-1} g with ||s|| = r."""
    values, vectors = np.linalg.eigh(matrix)
    h = vectors.T @ g

    def excess(nu: float) -> float:
        return float(np.linalg.norm(h / (nu - values)) - r)

    low, high = values[-1] + 1e-12 + abs(h[-1]) / r / 2, values[-1] + np.linalg.norm(g) / r + 1
    return vectors @ (h / (brentq(excess, low, high, xtol=1e-14) - values))


def _sam_gradient_ratio(x: np.ndarray, limit: Callable[[float, float], float]) -> float:
    """Error of the first-order SAM gradient over limit(r, ||g||) for the quadratic with matrix and gradient in x."""
    matrix = np.array([[x[0], x[2]], [x[2], x[1]]])
    size = max(np.abs(np.linalg.eigvalsh(matrix)).max(), 1e-9)
    matrix, g = matrix / size, x[3:5]
    slope = np.linalg.norm(g)
    r = 0.9 * slope / (1 + np.exp(-x[5]))
    if slope < 1e-3 or r < 1e-6 * slope:
        return np.nan
    best = _exact_ball_maximiser(matrix, g, r)
    error = np.linalg.norm(matrix @ (best - r * g / slope))
    return error / limit(r, slope)


def _exact_sam_error(L: sp.Rational, r: sp.Rational) -> tuple[sp.Expr, sp.Expr]:
    """(error of the first-order SAM gradient, ||g||) for A = diag(L, -L), where (nu I - A) s = g at the maximiser."""
    matrix, best = sp.diag(L, -L), sp.Matrix([r, r]) / sp.sqrt(2)
    g = (4 * L / 3 * sp.eye(2) - matrix) * best  # nu = 4L/3 > L: the maximiser lies on the sphere
    return (matrix * (best - r * g / g.norm())).norm(), g.norm()


def danskin_error(cases: int = 40, step: float = 1e-6) -> float:
    """Largest difference between central differences of f_s and grad f(w + s*), random quadratics on R^2."""
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(cases):
        matrix = rng.normal(size=(2, 2))
        matrix = (matrix + matrix.T) / 2
        matrix /= np.abs(np.linalg.eigvalsh(matrix)).max()
        w, linear = rng.normal(size=2), rng.normal(size=2)
        r = 0.5 * float(np.linalg.norm(matrix @ w + linear))

        def worst_value(v: np.ndarray, matrix=matrix, linear=linear, r=r) -> float:
            point = v + _exact_ball_maximiser(matrix, matrix @ v + linear, r)
            return float(linear @ point + point @ matrix @ point / 2)

        best = w + _exact_ball_maximiser(matrix, matrix @ w + linear, r)
        for axis in np.eye(2):
            slope = (worst_value(w + step * axis) - worst_value(w - step * axis)) / (2 * step)
            worst = max(worst, abs(slope - float(axis @ (matrix @ best + linear))))
    return worst


@check("sun23-eq4", mutations=((0.2, "refuted"), (2.0, "holds")))
def sam_gradient(scale: float = 1.0) -> Verdict:
    """SAM gradient approximated by the gradient at the perturbed point.

    Statement: grad f_s(w) = grad f(w + s*) for the unique exact maximiser s* (Danskin); with s1 = r g/||g|| the error
        is at most 2 L^2 r^2/||g||, hence vanishes as r -> 0.
    Assumptions: f is L-smooth, g = grad f(w) != 0, r < ||g||/L (so the maximiser lies on the sphere).
    Method: s* = r u/||u|| with u = grad f(w + s*), ||u - g|| <= L r, and ||u/|u| - g/|g||| <= 2 ||u - g||/||g|| give
        the bound; searched over 2-D quadratics (also indefinite) with the exact trust-region maximiser. ``scale``
        multiplies the bound.
    Verdict: holds; the dropped derivative of s*(w) costs nothing at the exact maximiser and O(r) to first order.
    Reference: Sun et al. 2023, Sec. 3.1, eq. (4).
    """
    L, r, slope, error = sp.symbols("L r g error", positive=True)
    names = {slope: r"\|\nabla f(w)\|", error: r"\|\nabla f_s(w)-\nabla f(w+s_1)\|"}
    bound = formula(error, "<=", sp.Rational(str(scale)) * 2 * L**2 * r**2 / slope, names)
    limit = sp.lambdify((r, slope), bound.right.subs(L, 1))
    found = worst_ratio(
        lambda x: _sam_gradient_ratio(x, limit), lambda rng: rng.normal(size=6), draws=1200, restarts=4, climb=200
    )
    if found.value > 1:
        return refuted({"argument": found.argument, "left": found.value, "right": 1})
    points = ((sp.Integer(3), sp.Integer(5)), (sp.Rational(1, 3), sp.Rational(1, 5)))
    exact = []
    for size, radius in points:
        miss, norm = _exact_sam_error(size, radius)
        exact.append(bound.holds_at({L: size, r: radius, error: miss, slope: norm}))
    more = {"bound": bound.latex, "exact instances": exact, "danskin_error": danskin_error()}
    evidence = found.as_evidence("quadratics on R^2 with ||A|| = 1, r < 0.9 ||g||/L", **more)
    return Verdict("holds", evidence, margin=found.value)


@check("sun23-eq6", mutations=((0.9, "refuted"), (1.1, "refuted")))
def fedsam_gradient(scale: float = 1.0) -> Verdict:
    """The FedSAM gradient is the mean of the clients' own SAM gradients.

    Statement: the first-order SAM gradient of (1/m) sum_i f_i^s is (1/m) sum_i grad f_i(w + r g_i/||g_i||), and one
        FedSAM round with one local step and full participation is a step along it.
    Assumptions: all g_i = grad f_i(w) != 0.
    Method: linearity of the derivative, by induction over the clients; the server mean of w - eta h_i equals w - eta
        mean(h_i) for any m, and in rationals for two quadratics with gradients (3, 4) and (5, 12). ``scale`` multiplies
        1/m on the right.
    Verdict: proved.
    Reference: Sun et al. 2023, Sec. 3.2, eqs. (5)-(6).
    """
    w, eta, m, h, gradients = sp.symbols("w eta m h_i sum_h_i")
    slope = sp.Symbol("slope")
    names = {gradients: r"\sum_i\nabla f_i(w+r\nabla f_i(w)/\|\nabla f_i(w)\|)", slope: r"\nabla f^s(w)"}
    sam = formula(slope, "==", sp.Rational(str(scale)) * gradients / m, names)
    left = total(w - eta * h, {h: gradients}, m) / m
    label = "mean of the local steps w - eta h_i = step along the mean of the h_i, per coordinate, any m, by linearity"
    step = decide_identity(left, w - eta * sam.right, label=label)
    if step.verdict == "refuted":
        return step
    before, client = sp.Function("S")(w), sp.Function("f")(w)
    label = "m times the gradient of f^s, by induction: S(w) the sum of the f_i^s so far, one more client f"
    grown = identity(sp.diff(before + client, w), sp.diff(before, w) + sp.diff(client, w), label=label)
    why = (
        "the first-order gradient of f_i^s is h_i = grad f_i(w + r g_i/|g_i|), the maximiser kept fixed (Danskin), "
        "from one client's data only"
    )
    return Verdict(
        "proved", {"certificate": f"{grown}; {why}; {step.evidence['certificate']}", "note": _exact_example()}
    )


def _exact_example() -> str:
    """Perturbed gradients at w = (3, 4) of |w|^2/2 and |w - c|^2/2, c = (-2, -8): gradients (3, 4) and (5, 12)."""
    shifted = [[x * (1 + Fraction(1, norm)) for x in g] for g, norm in (((3, 4), 5), ((5, 12), 13))]
    return f"r = 1, w = (3, 4): perturbed gradients {plain(shifted)}, each computed from one client's data only"


@check("sun23-fig1", figure=lambda axes, evidence: draw_toy(axes, evidence))
def toy_landscapes() -> Verdict:
    """FedSAM flattens the mean loss when clients agree and can do the opposite when they do not.

    Statement: there are pairs (f_1, f_2) (a) with nearly coincident minima where the FedSAM minimiser has low global
        sharpness, and (b) with inconsistent minima where it has strictly larger global sharpness than the minimiser
        of the global SAM objective.
    Assumptions: m = 2, scalar parameter, r = 1, piecewise linear losses.
    Method: exact minimisers of both objectives over their finitely many breakpoints, in rational arithmetic.
    Verdict: proved by two explicit instances.
    Reference: Sun et al. 2023, Sec. 3.2, Figure 1.
    """
    agree, disagree = (_minimiser_report(pair) for pair in (CONSISTENT, INCONSISTENT))
    low = agree["sharpness_fedsam"] <= agree["sharpness_sam"]
    if not (low and disagree["sharpness_fedsam"] > disagree["sharpness_sam"] and disagree["objective_gap"] > 0):
        return refuted({"agree": agree, "disagree": disagree, "left": 1, "right": 0})
    text = (
        f"FedSAM's and global SAM's minimisers, the sharpness of the mean loss at each, and what SAM's minimiser lacks "
        f"in FedSAM's objective: (a) {listed(agree)}; (b) {listed(disagree)}: at the FedSAM minimiser the mean loss is "
        "sharper, and the gap is positive, so no tie decides."
    )
    return Verdict("proved", {"certificate": text, "consistent": plain(agree), "inconsistent": plain(disagree)})


def _minimiser_report(pair: tuple[PiecewiseLinear, ...]) -> dict[str, Fraction]:
    found, average = minimisers(pair, RADIUS), mean(pair)
    fedsam, sam = found["fedsam"][0], found["sam"][0]
    return {
        "fedsam": fedsam,
        "sam": sam,
        "sharpness_fedsam": average.sharpness(fedsam, RADIUS),
        "sharpness_sam": average.sharpness(sam, RADIUS),
        "objective_gap": fedsam_objective(pair, sam, RADIUS) - found["fedsam"][1],
    }


def draw_toy(axes, evidence) -> None:
    """The inconsistent pair, its mean, and the two minimisers."""
    grid = [Fraction(k, 50) for k in range(-200, 201)]
    for label, f in (("$f_1$", INCONSISTENT[0]), ("$f_2$", INCONSISTENT[1]), ("mean", mean(INCONSISTENT))):
        axes.plot([float(x) for x in grid], [float(f(x)) for x in grid], label=label)
    for name, colour in (("fedsam", "red"), ("sam", "black")):
        point = fractions_of(evidence["inconsistent"][name])
        axes.axvline(float(point), linestyle=":", color=colour, label=f"{name} minimiser")
    axes.set_xlabel("parameter $w$")
    axes.set_ylabel("loss")
    axes.legend(fontsize="small")


@check("sun23-fedsam-indirect")
def fedsam_bounds_global_sam() -> Verdict:
    """The FedSAM objective is an upper bound of the global SAM objective, with other minimisers.

    Statement: (1/m) sum_i max_{s_i} f_i(w + s_i) >= max_s (1/m) sum_i f_i(w + s) for all w; minimisers can differ.
    Assumptions: none beyond existence of the maxima.
    Method: for the maximiser s of the right side each term satisfies f_i(w + s) <= max_{s_i} f_i(w + s_i); summing
        gives the inequality, for any m. Difference of minimisers: exact instance. The gap is evaluated at 81 rational
        points.
    Verdict: proved.
    Reference: Sun et al. 2023, Sec. 3.2, text after eq. (6).
    """
    f, slack, values, slacks, m, whole, maxima = sp.symbols("f_i s_i sum_f_i sum_s_i m sam sum_M_i", positive=True)
    label = "(1/m) sum_i M_i, M_i = f_i(w+s) + s_i = max f_i, s_i >= 0, any m, by linearity"
    names = {whole: r"\max_{\|s\|\le r}\frac1m\sum_if_i(w+s)", maxima: r"\sum_i\max_{\|s_i\|\le r}f_i(w+s_i)"}
    bound = formula(whole, "<=", maxima / m, names)
    room = bound.room.subs({whole: values / m, maxima: total(f + slack, {f: values, slack: slacks}, m)})
    split = identity(room, slacks / m, label=label)
    average, gap = mean(INCONSISTENT), sp.lambdify((whole, maxima), bound.room.subs(m, 2))
    points = [Fraction(k, 10) for k in range(-40, 41)]
    objectives = [(average.neighbourhood_maximum(w, RADIUS), fedsam_objective(INCONSISTENT, w, RADIUS)) for w in points]
    gaps = [gap(sam, 2 * fedsam) for sam, fedsam in objectives]
    at = {"gaps at": f"{len(points)} points from {points[0]} to {points[-1]}"}
    report = _minimiser_report(INCONSISTENT)
    if min(gaps) < 0 or report["fedsam"] == report["sam"]:
        return refuted({"smallest gap": min(gaps), "left": 1, "right": 0})
    text = f"{split}; the slacks are >= 0 by definition of the maxima. Different minimisers: {listed(report)}."
    return Verdict("proved", {"certificate": text, "largest gap": str(max(gaps)), "smallest gap": str(min(gaps)), **at})


def _opposite_slopes(example) -> tuple[dict, Fraction, Fraction]:
    """f_1 = b w, f_2 = -b w: printed (7) is b r everywhere, max_s of the mean is 0."""
    b, r, w = (fractions_of(example[key]) for key in ("slope", "r", "w"))
    printed = (max(b * (w + s) for s in (-r, r)) + max(-b * (w + s) for s in (-r, r))) / 2
    global_sam = max((b * (w + s) - b * (w + s)) / 2 for s in (-r, r))
    return {"r > 0": r > 0, "f_i differentiable": BY_CONSTRUCTION}, printed, global_sam


OPPOSITE = {"slope": 1, "r": 1, "w": 0}


def _mean_of_values(values: str) -> tuple[Formula, str]:
    """The global loss at w + s as a mean of the clients' values, and its certificate; values: LaTeX of their sum."""
    value, summed, m, whole = sp.symbols("f_i sum_f_i m f", real=True)
    rule = formula(whole, "==", summed / m, {whole: "f(w+s)", summed: values})
    for w in (Fraction(-3, 2), Fraction(5, 4)):
        rule.holds_at({whole: mean(INCONSISTENT)(w), summed: sum(f(w) for f in INCONSISTENT), m: len(INCONSISTENT)})
    label = "eq. (1) at w + s, any m, by linearity"
    return rule, identity(total(value / m, {value: summed}, m), rule.right, label=label)


@check("sun23-eq7", replay=replay_of(_opposite_slopes, "=="))
def objective_seven() -> Verdict:
    """Objective (7) as printed is the FedSAM objective, not the SAM objective of the global function.

    Statement: (1/m) sum_i max_{||s|| <= r} f_i(w + s) equals max_{||s|| <= r} f(w + s) for all w.
    Assumptions: f = (1/m) sum_i f_i, r > 0.
    Method: f_1(w) = w, f_2(w) = -w: the printed form gives r, the SAM objective of f = 0 gives 0. Symbol for symbol
        (7) is eq. (5) with s_i renamed.
    Verdict: repaired: the maximum has to stand outside the mean.
    Reference: Sun et al. 2023, Sec. 4.1, eq. (7).
    """
    _, left, right = _opposite_slopes(OPPOSITE)
    rule, proof = _mean_of_values(r"\sum_if_i(w+s)")
    return repaired(
        {**OPPOSITE, "left": left, "right": right},
        r"$\mathcal F(w)=\max_{\|s\|\le r}f(w+s)$ with one common perturbation in "
        f"${rule.latex}$ (maximum outside the mean)",
        f"{proof}; so the maximum over s of the mean is eq. (2) applied to eq. (1) by definition",
    )


@check("sun23-eq8", replay=replay_of(_opposite_slopes, "=="))
def consensus_reformulation() -> Verdict:
    """The consensus form (8) is equivalent to the global SAM objective, not to the printed (7).

    Statement: with w_i = w and s_i = s for all i, (8) is equivalent to the objective printed in (7).
    Assumptions: r > 0, one common perturbation s as the text says.
    Method: with s common to all clients the value of (8), maximised once over s, is max_s (1/m) sum_i f_i(w + s); on
        f_1 = w, f_2 = -w this is 0 while (7) is r. If s is a fixed argument of F_i there is nothing left to maximise;
        if every client chooses its own s the constraint s_i = s is dropped and (8) is FedSAM's (5).
    Verdict: repaired.
    Reference: Sun et al. 2023, Sec. 4.1, eq. (8).
    """
    _, seven, common = _opposite_slopes(OPPOSITE)
    rule, proof = _mean_of_values(r"\sum_if_i(w_i+s_i)")
    return repaired(
        {**OPPOSITE, "left": seven, "right": common},
        f"Under $w_i=w$, $s_i=s$ for all clients ${rule.latex}$, so that (8) with one maximum, over the common $s$, is "
        r"equivalent to $\min_w\max_{\|s\|\le r}f(w+s)$.",
        f"{proof}; so the sum in (8) is f(w + s) with w_i = w and s_i = s for every client",
    )
