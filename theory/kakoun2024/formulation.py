"""Chapter 3, the objectives: pooled risk, Global and Local SAM, their linearisations, Lemma 1."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from theory.kakoun2024.common import Statement, decide
from theory.kit.formula import Formula, formula
from theory.kit.losses import Well, Wells
from theory.kit.symbolic import decide_identity, identity, lagrange, total
from theory.kit.verdict import Verdict, always, check


@check("thesis-eq3.1", mutations=((0.9, "refuted"), (1.1, "refuted")))
def weighted_objective(scale: float = 1.0) -> Verdict:
    """Weighted objective equals the pooled risk.

    Statement: with p_k = N_k/sum_j N_j and F_k the mean over N_k points, sum p_k F_k is the mean over all points.
    Assumptions: N_k > 0.
    Method: substitution with S_k the sum of the losses of client k; induction over the clients.
    Verdict: proved.
    Reference: Al Kakoun 2024, eq. (3.1).
    """
    size, everyone = sp.symbols("N_k N", positive=True)
    loss, before, mean, losses = sp.symbols("S_k S mean losses", real=True)
    pooled = formula(mean, "==", losses / everyone, {mean: r"\sum_kp_kF_k", losses: r"\sum_kS_k"})
    label = (
        "sum p_k F_k = (sum S_k)/N for any number of clients, p_k = N_k/N, F_k = S_k/N_k, N the size of all clients, "
        "by induction: both are 0 without a client; S: sum of the S_k so far, one more client"
    )
    grown = pooled.right.subs(losses, before) + (size / everyone) * (loss / size)
    claimed = sp.Rational(str(scale)) * pooled.right.subs(losses, before + loss)
    return decide_identity(grown, claimed, label=label)


def _two_quadratics(a, rho):
    """F_i = (x -+ a)^2/2, weights 1/2, theta = 0: both maxima in closed form."""
    return (rho * rho + a * a) / 2, (a + rho) ** 2 / 2, {"rho>0": rho > 0, "a>=0": a >= 0}


MAXIMA = Statement(("a", "rho"), _two_quadratics)


@check("thesis-eq3.2-3.3", mutations=((0.5, "refuted"), (2.0, "proved")))
def global_against_local(scale: float = 1.0) -> Verdict:
    """Global SAM objective against Local SAM objective.

    Statement: max_v sum p_k F_k(theta+v) <= sum p_k max_{v_k} F_k(theta+v_k), equal where all F_k are equal.
    Assumptions: the same radius, weights p_k >= 0.
    Method: take the maximiser v of the left side: every bracket max F_k - F_k(theta+v) is >= 0. Two quadratics: gap a
        rho.
    Verdict: proved; the gap is unbounded: for (x -+ a)^2/2 at 0 it is a rho, with a the distance of the clients'
        optima.
    Reference: Al Kakoun 2024, eqs. (3.2), (3.3).
    """
    a, rho = sp.symbols("a rho", nonnegative=True)
    p, top, here, joint, apart, lost = sp.symbols("p_k M_k F_k joint apart gap", real=True)
    names = {joint: r"\max_{\|v\|\le\rho}\sum_kp_kF_k(\theta+v)", apart: r"\sum_kp_k\max_{\|v\|\le\rho}F_k(\theta+v)"}
    bound = formula(joint, "<=", apart, names)
    gap = formula(lost, "==", a * rho, {lost: f"{names[apart]}-{names[joint]}"})
    bound.attained_at({joint: 8, apart: 8})  # equal clients (x - 3)^2/2 at 0, rho = 1
    brackets = total(p * (top - here), {p * top: apart, p * here: joint})
    quadratics = identity((a + rho) ** 2 / 2 - (a**2 + rho**2) / 2, gap.right, label="gap of the two quadratics")
    room = identity(bound.room, brackets, label="sum p_k [max F_k(theta+.) - F_k(theta+v)]")
    text = f"{room}, each bracket >= 0 because |v| <= rho; {quadratics}"
    return decide(MAXIMA, scale, points=[{"a": 0, "rho": 1}, {"a": 3, "rho": 1}], proof=text)


def _linear_maximum(v1, v2, g1, g2, rho):
    """(<v,g>)^2 against rho^2 |g|^2 for |v| <= rho in the plane."""
    return (v1 * g1 + v2 * g2) ** 2, rho * rho * (g1 * g1 + g2 * g2), {"|v| <= rho": v1 * v1 + v2 * v2 <= rho * rho}


LINEAR = Statement(("v1", "v2", "g1", "g2", "rho"), _linear_maximum)


def linear_in_v() -> str:
    """Certificate of sum_k p_k <v, g_k> = <v, sum_k p_k g_k> for any number of clients and any dimension."""
    before, p, g, v = sp.symbols("M p_k g_k v", real=True)
    label = (
        "sum p_k <v,g_k> = <v,sum p_k g_k> per coordinate and for any number of clients by induction, M: coordinate of "
        "the sum of the p_k g_k so far, one more client"
    )
    return identity(v * before + p * (v * g), v * (before + p * g), label=label)


def double_sum_grows(scale: float = 1.0) -> Verdict:
    """|sum_k p_k g_k|^2 against scale * sum_k p_k |g_k| r_k, any number of clients and any dimension."""
    before, p, g = sp.symbols("M p g", real=True)
    label = (
        "|sum p_k g_k|^2 = sum_k p_k |g_k| r_k with |g_k| r_k = sum_j p_j <g_j,g_k>, per coordinate and for any number "
        "of clients by induction: both are 0 without a client; M: sum of the p_k g_k so far, M^2 the double sum so "
        "far; one more client (p, g) adds its terms with itself and twice those with the others"
    )
    return decide_identity(
        (before + p * g) ** 2, sp.Rational(str(scale)) * (before**2 + 2 * p * g * before + (p * g) ** 2), label=label
    )


@check("thesis-eq3.6", mutations=((0.5, "refuted"), (2.0, "proved")))
def maximiser(scale: float = 1.0) -> Verdict:
    """Maximiser of the linearised global problem.

    Statement: v* = rho grad F/|grad F| maximises sum p_k (F_k + <v, g_k>) over |v| <= rho if grad F is not 0.
    Assumptions: grad F = sum p_k g_k is not 0.
    Method: Cauchy-Schwarz by Lagrange's identity in any dimension; v* attains rho|grad F|.
    Verdict: proved. At a stationary point of F every v is a maximiser, which the printed formula leaves open.
    Reference: Al Kakoun 2024, eq. (3.6).
    """
    rho, n = sp.symbols("rho n", positive=True)
    g, v = sp.symbols("g_i v_i", real=True)
    best = formula(v, "==", rho * g / n, {v: "v_i^*", g: r"(\nabla F)_i", n: r"\|\nabla F\|"})
    steps = (
        f"{linear_in_v()}, so the objective is sum p_k F_k + <v,g>, g = grad F",
        lagrange("with a = v, b = g it is |v|^2|g|^2 - <v,g>^2, so <v,g> <= |v||g| <= rho|g|"),
        identity(total(best.right * g, {g**2: n**2}), rho * n, label="attained: <v*,g>, n = |g|"),
        identity(total(best.right**2, {g**2: n**2}), rho**2, label="|v*|^2"),
    )
    point = {"v1": "3/5", "v2": "4/5", "g1": 3, "g2": 4, "rho": 1}
    return decide(LINEAR, scale, points=[point], proof="; ".join(steps))


@check("thesis-eq3.7", mutations=((0.9, "refuted"), (1.1, "refuted")))
def linearised_value(scale: float = 1.0) -> Verdict:
    """Linearised Global SAM objective.

    Statement: the maximum in (3.5) is F + rho |grad F|, so (3.4) and (3.8) are the same problem.
    Assumptions: as for eq. (3.6); at grad F = 0 both sides are F.
    Method: linearity in v, Cauchy-Schwarz for the bound (certificate of thesis-eq3.6), then substitute v* = rho grad
        F/|grad F|.
    Verdict: proved; (3.7) prints theta_k in the second gradient where theta is meant, as (3.8) does.
    Reference: Al Kakoun 2024, eqs. (3.7), (3.8).
    """
    rho, n = sp.symbols("rho n", positive=True)
    F, g, most = sp.symbols("F g_i maximum", real=True)
    penalised = formula(most, "==", F + rho * n, {most: r"\max_v(F+\langle v,\nabla F\rangle)", n: r"\|\nabla F\|"})
    label = "F + <v*,grad F>, v* = (rho/n) grad F, n = |grad F|"
    attained = F + total(rho / n * g * g, {g**2: n**2})
    value = decide_identity(attained, sp.Rational(str(scale)) * penalised.right, label=label)
    if value.verdict == "refuted":
        return value
    steps = (
        f"{linear_in_v()}, so (3.5) is F + max <v,grad F> over |v| <= rho",
        lagrange("with a = v, b = grad F it gives <v,grad F> <= |v||grad F| <= rho|grad F|"),
        f"attained: {value.evidence['certificate']}",
    )
    return Verdict("proved", {"certificate": "; ".join(steps)})


@check("thesis-eq3.9-smooth")
def squared_penalty() -> Verdict:
    """Squared penalty is differentiable.

    Statement: |grad F|^2 is C^1 with gradient 2 (Hessian) grad F; |grad F| is in general not differentiable where it is
        0.
    Assumptions: F twice continuously differentiable.
    Method: chain rule for one term (dF/dx_j)^2 of a generic function, for j = i and j != i, summed over j; one-sided
        derivatives of |grad F| for F = x^2/2 at 0.
    Verdict: proved. The price is the unit: rho in (3.9) has the unit length^2/loss, in (3.8) it is a length.
    Reference: Al Kakoun 2024, eq. (3.9).
    """
    x, y = sp.symbols("x y", real=True)
    F = sp.Function("F")(x, y)
    slope, product = sp.symbols("slope product", real=True)
    chain = formula(slope, "==", 2 * product, {slope: r"\nabla\|\nabla F\|^2", product: r"\nabla^2F\,\nabla F"})
    label = "d(dF/dx_j)^2/dx_i = 2 d^2F/dx_i dx_j dF/dx_j, generic F, x_i = x"
    summands = [(z, chain.right.subs(product, F.diff(x, z) * F.diff(z))) for z in (x, y)]
    terms = [identity((F.diff(z) ** 2).diff(x), right, label=f"{label}, x_j = {z}") for z, right in summands]
    sided = [sp.limit((sp.Abs(x) - 0) / x, x, 0, side) for side in "+-"]
    if sided[0] == sided[1]:
        raise ArithmeticError(f"{sided}")
    text = (
        f"{'; '.join(terms)}; the sum over j = 1..d is d|grad F|^2/dx_i = 2 (Hessian grad F)_i, continuous for F in C^2"
        f"; |grad(x^2/2)| = |x|: slopes {sided} at 0"
    )
    return Verdict("proved", {"certificate": text})


TWO_WELLS = Wells(
    "broad well and narrow, slightly deeper well",
    (
        Well((Fraction(0),), Fraction(1), (Fraction(4),)),
        Well((Fraction(10),), Fraction(9, 8), (Fraction(1, 2),)),
    ),
)


def _penalised(rho, power):
    """F + rho|F'|^power at the broad well against the narrow well, both shifted by 2."""
    (flat, flat_slope, flat_h), (sharp, sharp_slope, sharp_h) = (TWO_WELLS.exact([Fraction(c)]) for c in (0, 10))
    fits = {
        "both points stationary": always(flat_slope == [0] and sharp_slope == [0]),
        "the second is sharper and the global minimum": always(sharp_h[0][0] > flat_h[0][0] and sharp < flat),
        "rho > 0": rho > 0,
    }
    left = flat + rho * abs(flat_slope[0]) ** int(power)
    return 2 + left, 2 + sharp + rho * abs(sharp_slope[0]) ** int(power), fits


PENALISED = Statement(("rho", "power"), _penalised)


@check("thesis-eq3.8-sharp", replay=PENALISED.replay)
def penalty_and_sharpness() -> Verdict:
    """Does the gradient penalty prefer flat minima.

    Statement: minimisers of F + rho|grad F| or F + rho|grad F|^2 prefer flat minima: for some F they differ from every
        minimiser of F.
    Assumptions: F differentiable, minimum attained.
    Method: at a minimiser of F the penalty is 0, so F* = H(theta*) <= F <= H everywhere: H and F have the same
        minimisers, for every F and rho. Two wells, one narrow and 1/8 deeper: (3.8), (3.9) keep the narrow one, exact
        Global SAM (3.2) with rho = 1 takes the broad one.
    Verdict: repaired: the objective has no preference; only (3.2) itself, or the dynamics at finite step, has one.
    Reference: Al Kakoun 2024, Section 3.3, text after eq. (3.8).
    """
    value = TWO_WELLS.exact
    inside, outside = {v: value([Fraction(v)])[0] for v in (-1, 0, 1)}, value([Fraction(9)])[0]
    broad, listed = max(inside.values()), ", ".join(f"F({v}) = {size}" for v, size in inside.items())
    exact = f"max_|v|<=1 F(0+v) = {broad} ({listed}) < {outside} = F(9) <= max_|v|<=1 F(10+v)"
    if not broad < outside:
        raise ArithmeticError(exact)
    text = (
        "grad F(theta*) = 0 gives H(theta*) = F* <= F(theta) <= H(theta); H(theta) = F* forces F(theta) = F*; "
        f"for the two wells {exact}; an interval of length 2 around any point that meets the narrow well (width "
        f"1) leaves it"
    )
    statement = "(3.8) and (3.9) have exactly the minimisers of $F$; the exact objective (3.2) can prefer the flat well"
    return decide(PENALISED, points=[{"rho": 1, "power": 1}, {"rho": 1, "power": 2}], repair=(statement, text))


#: |grad F|
NORM = sp.Symbol("n", positive=True)


def _decomposed(penalty: sp.Expr, ratio: str, reached: sp.Expr) -> tuple[Formula, str]:
    """F + rho penalty = sum p_k (F_k + rho ratio |g_k|), where the sum of the p_k ratio |g_k| is reached."""
    F, rho, losses, aligned = sp.symbols("F rho losses aligned", real=True)
    names = {NORM: r"\|\nabla F\|", losses: r"\sum_kp_kF_k", aligned: rf"\sum_kp_k{ratio}\|g_k\|"}
    lemma = formula(F + rho * penalty, "==", losses + rho * aligned, names)
    return lemma, identity(lemma.left, lemma.right, substitute={F: losses, aligned: reached}, label="n = |grad F|")


def _decomposition(g1, g2, p, rho):
    """Two clients on the line: rho|grad F| against rho sum p_k r_k |g_k|, r_k of (3.12); K = 1 for g1 = g2."""
    mean = p * g1 + (1 - p) * g2
    radii = [mean * (1 if g > 0 else -1) for g in (g1, g2)]
    right = rho * (p * radii[0] * abs(g1) + (1 - p) * radii[1] * abs(g2))
    return rho * abs(mean), right, {"gradients not 0": g1 * g2 != 0, "0<p<1": 0 < p < 1, "rho>0": rho > 0}


LEMMA1 = Statement(("g1", "g2", "p", "rho"), _decomposition, relation="==")


@check("thesis-lem1", replay=LEMMA1.replay)
def lemma1() -> Verdict:
    """Lemma 1 as printed.

    Statement: F + rho|grad F| = sum p_k (F_k + r_k rho|g_k|) with r_k = sum_j p_j |g_j| cos beta_jk.
    Assumptions: gradients not 0.
    Method: equal gradients g: the left penalty is rho|g|, the right one rho|g|^2; equal only where |grad F| = 1.
    Verdict: repaired: with r_k = cos(grad F, g_k) the identity for (3.7) holds; with (3.12) it is the squared objective
        (3.9).
    Reference: Al Kakoun 2024, Lemma 1, eqs. (3.7), (3.10)-(3.12).
    """
    lemma, text = _decomposed(NORM, r"\cos(\nabla F,g_k)", NORM**2 / NORM)
    text = f"with v = grad F: {linear_in_v()}, hence sum p_k <grad F,g_k> = |grad F|^2; divided by |grad F|: {text}"
    statement = f"${lemma.latex}$."
    return decide(LEMMA1, points=[{"g1": 2, "g2": 2, "p": "1/2", "rho": 1}], repair=(statement, text))


@check("thesis-lem1-sq", mutations=((0.9, "refuted"), (1.1, "refuted")))
def lemma1_squared(scale: float = 1.0) -> Verdict:
    """Lemma 1 for the squared objective.

    Statement: F + rho|grad F|^2 = sum p_k (F_k + rho r_k |g_k|) with r_k of eq. (3.12).
    Assumptions: |g_j||g_k| cos beta_jk = <g_j, g_k>.
    Method: bilinear expansion per coordinate, by induction over the clients.
    Verdict: proved; this is what the proof of Lemma 1 shows.
    Reference: Al Kakoun 2024, proof of Lemma 1.
    """
    _, text = _decomposed(NORM**2, "r_k", NORM**2)
    grown = double_sum_grows(scale)
    if grown.verdict == "refuted":
        return grown
    return Verdict("proved", {"certificate": f"{grown.evidence['certificate']}; {text}"})


@check("thesis-lem1-double")
def double_sum() -> Verdict:
    """Double sum in the definition of H_K.

    Statement: with H_K := sum_k p_k (F_k + r_k rho|g_k|) read literally, H = sum_k p_k H_k still holds.
    Assumptions: sum p_k = 1; squared objective.
    Method: every H_k is then the same number S, and sum p_k S = S.
    Verdict: proved, but the literal H_k is the global objective itself: it contains all clients' losses and gradients
        and is not a local objective. Without the inner sum H_k = F_k + r_k rho|g_k| is local once r_k is known.
    Reference: Al Kakoun 2024, eqs. (3.10), (3.11).
    """
    weights, S, H = sp.symbols("sum_p_k S H", real=True)
    literal = formula(H, "==", S, {H: r"\sum_kp_kH_k"})
    text = identity(weights * S, literal.right, substitute={weights: 1}, label="sum p_k S")
    return Verdict("proved", {"certificate": text})


@check("thesis-alg2-perturb", mutations=((0.9, "refuted"), (1.1, "refuted")))
def local_step_is_penalised_descent(scale: float = 1.0) -> Verdict:
    """Local SAM step as descent on the penalised loss.

    Statement: grad F(theta + rho g/|g|) = grad(F + rho|grad F|)(theta) to first order in rho.
    Assumptions: F twice differentiable, g = grad F(theta) not 0.
    Method: derivative in rho at 0 of the i-th component of grad F(theta + rho g/|g|) against the i-th derivative of
        |grad F|: both are (H g)_i/|g| in any dimension. The remainder is o(rho), and O(rho^2) where the Hessian is
        Lipschitz.
    Verdict: proved.
    Reference: Al Kakoun 2024, Section 3.4 and Algorithm 2.
    """
    t, Hg_i, hj, gj, v, left = sp.symbols("t Hg_i H_ij g_j v_j slope", real=True)
    F, norm, factor = sp.Function("F"), sp.Symbol("norm", positive=True), sp.Rational(str(scale))
    names = {left: r"\partial_i\|\nabla F\|", Hg_i: r"(\nabla^2F\,\nabla F)_i", norm: r"\|\nabla F\|"}
    change = formula(left, "==", Hg_i / norm, names)
    squares = norm**2 + 2 * t * Hg_i  # |grad F|^2 at theta + t e_i to first order: 2 (H g)_i by thesis-eq3.9-smooth
    label = (
        "any d, norm = |g|, Hg_i = sum_j H_ij g_j: the sum of H_ij g_j/norm over j against d|grad F|/dtheta_i, from "
        "d|grad F|^2/dtheta_i = 2 Hg_i (thesis-eq3.9-smooth)"
    )
    first_order = decide_identity(change.right, factor * sp.diff(sp.sqrt(squares), t).subs(t, 0), label=label)
    if first_order.verdict == "refuted":
        return first_order
    x, y = sp.symbols("theta_i theta_j", real=True)
    slope = sp.diff(sp.diff(F(x, y), x).subs(y, y + t * v), t).subs(t, 0).doit()
    label = "term j of d/drho of component i of grad F(theta + rho v) at rho = 0 (chain rule), v = g/norm"
    term = identity(slope, sp.diff(F(x, y), x, y) * v, label=label)
    summed = identity(total(hj * gj / norm, {hj * gj: Hg_i}), change.right, label="sum over j of H_ij v_j")
    return Verdict("proved", {"certificate": f"{term}; {summed}; {first_order.evidence['certificate']}"})


def sam_step(gradient, theta: Fraction, rho: Fraction, eta: Fraction) -> Fraction:
    """One SAM step on the line, written as in Section 2.2."""
    g = gradient(theta)
    ascent = rho * (1 if g > 0 else -1) if g else Fraction(0)
    return theta - eta * gradient(theta + ascent)


@check("thesis-sam-cost")
def cost_of_sam() -> Verdict:
    """Two sequential gradients per SAM step.

    Statement: one SAM step needs two gradient evaluations that cannot run in parallel.
    Assumptions: the step of Section 2.2, no reuse of gradients.
    Method: count the calls; change the first answer's sign and see the second call's argument change with it.
    Verdict: consistent.
    Reference: Al Kakoun 2024, Section 2.2.
    """
    arguments: dict[int, list[Fraction]] = {}
    for sign in (1, -1):
        calls: list[Fraction] = []

        def gradient(x, calls=calls, sign=sign):
            calls.append(x)
            return sign * x if len(calls) == 1 else x

        sam_step(gradient, Fraction(2), Fraction(1, 10), Fraction(1, 4))
        arguments[sign] = calls
    derived = [len(arguments[1]), arguments[1][1] != arguments[-1][1]]
    verdict = "consistent" if derived == [2, True] else "inconsistent"
    return Verdict(
        verdict, {"printed": [2, True], "derived": derived, "meaning": ["evaluations", "second depends on first"]}
    )


def _gradient_as_sharpness(h1, h2, d1, d2):
    """Gradient norms of quadratics of curvature h1 < h2 at distances d1, d2 from their minima."""
    return h1 * d1, h2 * d2, {"the second is sharper": h1 < h2, "h, d > 0": h1 > 0 and d1 > 0 and d2 > 0}


SHARPNESS = Statement(("h1", "h2", "d1", "d2"), _gradient_as_sharpness)


@check("thesis-grad-sharpness", replay=SHARPNESS.replay, mutations=((0.5, "refuted"), (200.0, "holds")))
def gradient_as_sharpness(scale: float = 1.0) -> Verdict:
    """Does a larger gradient indicate a sharper region.

    Statement: "a sharper region is expected to have a higher norm of the gradient"; "when the gradient's magnitude of a
        client increases, indicating a sharp region, the corresponding rho increases".
    Assumptions: none on the distance to the minimum.
    Method: two quadratics of curvature 1 and 100 at distances 10 and 1/100: gradients 10 and 1.
    Verdict: repaired: the norm measures curvature times distance. The sharper client has the larger gradient at equal
        distances; with r_k of (3.12) the radius is large far from a minimum, whatever the curvature, and 0 at it.
    Reference: Al Kakoun 2024, Section 3.3 after eq. (3.8) and Section 3.5, first paragraph.
    """
    h1, h2, d, x, more = sp.symbols("h_1 h_2 d x difference", positive=True)
    rises = formula(more, "==", d * (h2 - h1), {more: r"\|\nabla F_2\|-\|\nabla F_1\|"})
    norms = [sp.diff(h * x**2 / 2, x).subs(x, d) for h in (h1, h2)]
    return decide(
        SHARPNESS,
        scale,
        points=[{"h1": 1, "h2": 100, "d1": 10, "d2": "1/100"}],
        box=((0.1, 1, 0.1, 0.1), (1, 10, 1, 1)),
        function_class="quadratics with curvatures in [0.1, 1] and [1, 10], distances in [0.1, 1]",
        repair=(
            f"At equal distance $d$ the larger curvature, $h_2>h_1$, has the larger gradient: ${rises.latex}$.",
            identity(norms[1] - norms[0], rises.right, label="slopes of h x^2/2 at d, > 0 for h_2 > h_1"),
        ),
    )
