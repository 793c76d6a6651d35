"""Section 2: the empirical risk, the perturbed losses of eq. (2)-(3), and Remark 2.1 on smoothness."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp

from theory.kit.exact import mp
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import lagrange, total
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022 import figures
from theory.qu2022.common import instance, proved, refuted, repaired, require, require_identity
from theory.qu2022.printed import RATE_FULL, L
from theory.qu2022.recursions import fedsam_round, quadratic, sign


def _risks(losses: list[list[Fraction]]) -> tuple[Fraction, Fraction]:
    """(mean over clients of the client means, pooled mean) of per-sample losses."""
    client_means = [sum(values) / len(values) for values in losses]
    pooled = [x for values in losses for x in values]
    return sum(client_means) / len(client_means), sum(pooled) / len(pooled)


def _replay_pooled(evidence) -> Replay:
    losses = instance(evidence)["losses"]
    return Replay({"every client has samples": all(losses)}, *_risks(losses), "==")


def _dirichlet_sizes(clients: int = 100, classes: int = 10, seed: int = 0) -> np.ndarray:
    """Sizes of a Dirichlet(0.6) split over clients of 10 classes with 5,000 samples each."""
    shares = np.random.default_rng(seed).dirichlet(np.full(clients, 0.6), size=classes)
    return np.maximum(1, np.round(5000 * shares)).astype(int).sum(axis=0)


@check("qu22-eq1", mutations=((0.5, "refuted"), (2.0, "refuted")), replay=_replay_pooled)
def pooled_risk(scale: float = 1.0) -> Verdict:
    """Unweighted client average and pooled empirical risk.

    Statement: with m samples on every client, (1/N) sum F_i is the pooled empirical risk for every w.
    Assumptions: m_i = m for all i, as the paper states.
    Method: symbolic, with S_i the sum of the m losses of client i and sums over any number of clients by linearity;
        ``scale`` multiplies the size of the first client, which breaks the assumption. For a Dirichlet(0.6) split the
        two weights of a client differ by the factor m_i N/sum m_j.
    Verdict: proved under equal sizes; with Dirichlet sizes the two objectives differ (largest weight ratio in the
        evidence).
    Reference: Qu et al. 2022, eq. (1).
    """
    point = {"losses": [[1] * int(2 * scale), [0, 0]]}
    if _replay_pooled(point).violated:
        return refuted(point, None)
    N, m, client, everyone, risk = sp.symbols("N m S_i sum_S_i F", positive=True)
    names = {risk: r"\frac1N\sum_iF_i(w)", everyone: r"\sum_{i,j}\ell(w;\xi_{ij})"}
    pooled = formula(risk, "==", everyone / (N * m), names)
    sums = {client: everyone}
    average = require_identity(total(client / m, sums, N) / N, pooled.right, "(1/N) sum_i S_i/m, S_i any m losses")
    weights = require_identity(everyone / total(m, sums, N), pooled.right, "(sum_i S_i)/(sum_i m), any N and m")
    sizes = _dirichlet_sizes()
    return proved(
        f"{average}; {weights}",
        1.0,
        dirichlet_largest_over_smallest_client=float(sizes.max() / sizes.min()),
        tested_at=point,
        dirichlet_largest_weight_ratio=float(sizes.max() * len(sizes) / sizes.sum()),
    )


def _replay_norm(evidence) -> Replay:
    v = instance(evidence)
    root = v["root_of_rho"]
    positive = {"rho > 0": v["rho"] > 0, "the stored root squares to rho": root**2 == v["rho"]}
    return Replay(positive, root, v["rho"], "==")


@check("qu22-eq2-norm", replay=_replay_norm)
def squared_norm_constraint() -> Verdict:
    """Squared norm in the constraint of eq. (2).

    Statement: the linearised inner problems over |delta|^2 <= rho and over |delta| <= rho have the same maximiser.
    Assumptions: nonzero gradient, rho > 0.
    Method: the maximisers are sqrt(rho) g/|g| and rho g/|g|; solve sqrt(rho) = rho. With the printed constraint and
        rho = 1/sqrt(R) a term rho^2 = 1/R of the rates would become 1/sqrt(R).
    Verdict: repaired: they agree only for rho = 1; the constraint |delta|^2 <= rho^2 is meant.
    Reference: Qu et al. 2022, eq. (2) and the line after it.
    """
    radius, size = sp.symbols("rho size", positive=True)
    squared, ball = (formula(size**power, "<=", radius**power, {size: r"\|\delta_i\|"}) for power in (2, 1))
    require(sp.solve(sp.sqrt(radius) - radius, radius) == [1], "sqrt(rho) = rho with rho > 0 only at rho = 1")
    step = sp.Matrix([3, 4]) / 10  # rho g/|g| of eq. (4) for g = (3, 4) and rho = 1/2
    same = require_identity(squared.room, ball.room * (radius + size), "rooms of the two constraints")
    return repaired(
        {"rho": "1/4", "root_of_rho": "1/2"},
        f"the maximum over ${squared.latex}$, equivalently ${ball.latex}$",
        f"{same}, where rho + |delta| > 0: the two balls are the same set",
        2.0,
        attained=ball.attained_at({size: step.norm(), radius: sp.Rational(1, 2)}),
        radius_for_the_papers_values={str(r): float(r) ** 0.5 for r in (0.2, 0.5, 0.6)},
    )


def _replay_opposite(evidence) -> Replay:
    v = instance(evidence)
    slopes, rho = v["slopes"], v["rho"]
    left = abs(sum(slopes) / len(slopes)) * rho  # linear losses: the maximum over the ball is |slope| rho
    right = sum(abs(s) * rho for s in slopes) / len(slopes)
    return Replay({"rho > 0": rho > 0, "differentiable losses (linear)": BY_CONSTRUCTION}, left, right, "==")


@check("qu22-eq2-maxavg", replay=_replay_opposite)
def maximum_of_the_average() -> Verdict:
    """The perturbed global loss against the average of the perturbed client losses.

    Statement: max over the ball of F(w + delta) equals the average of the clients' maxima, and so do the gradients.
    Assumptions: F = mean F_i.
    Method: F_1 = x and F_2 = -x have F = 0: 0 on the left, rho on the right. One-sided version: for every delta, F(w
        + delta) = mean F_i(w + delta) <= mean max F_i; the difference is a mean of non-negative terms.
    Verdict: repaired: only <= holds.
    Reference: Qu et al. 2022, eq. (2).
    """
    N, a, s, values, slacks, whole, maxima = sp.symbols("N a_i s_i sum_a sum_s f sum_f_i", positive=True)
    names = {whole: r"\tilde f(\tilde w)", maxima: r"\sum_i\tilde f_i(\tilde w)"}
    bound = formula(whole, "<=", maxima / N, names)
    equal = _replay_opposite({"slopes": [3, 3], "rho": "1/2"})
    attained = bound.attained_at({whole: equal.left, maxima: 2 * equal.right, N: 2})
    gap = bound.room.subs({whole: values / N, maxima: total(a + s, {a: values, s: slacks}, N)})
    label = "mean of maxima - value of the mean, s_i = max_i - a_i >= 0, any N, sums over i by linearity"
    certificate = require_identity(gap, slacks / N, label)
    return repaired(
        {"slopes": [1, -1], "rho": "1/2"},
        f"${bound.latex}$",
        certificate + "; take the maximum over delta on the left",
        None,
        attained=attained,
    )


def _replay_taylor(evidence) -> Replay:
    v = instance(evidence)
    w, rho, smooth = v["w"], v["rho"], v["L"]
    maximum = smooth / 2 * (abs(w) + rho) ** 2
    left = abs(maximum - smooth / 2 * w**2 - rho * abs(smooth * w))
    return Replay(
        {"F = L x^2/2 is L-smooth": BY_CONSTRUCTION, "rho > 0": rho > 0}, left, v["scale"] * smooth / 2 * rho**2
    )


@check(
    "qu22-eq3-taylor",
    mutations=((0.9, "refuted"), (1.1, "proved")),
    replay=_replay_taylor,
    figure=figures.expansion_error,
)
def expansion_error(scale: float = 1.0) -> Verdict:
    """Error of the first-order expansion of the inner maximum.

    Statement: |max F_i(w + delta) - F_i(w) - rho |grad F_i(w)|| <= L rho^2/2.
    Assumptions: L-Lipschitz gradient.
    Method: F(w + delta) = F(w) + <delta, grad F(w)> + e with |e| <= int_0^1 L t |delta|^2 dt; the linear part has the
        maximum rho |grad F|, attained. Quadratics L x^2/2 attain the constant; ``scale`` multiplies it.
    Verdict: proved, and the constant is sharp.
    Reference: Qu et al. 2022, eq. (3).
    """
    t, smooth, rho, w, error = sp.symbols("t L rho w error", positive=True)
    name = r"|\max_{\|\delta\|\le\rho}F_i(w+\delta)-F_i(w)-\rho\|\nabla F_i(w)\||"
    bound = formula(error, "<=", smooth * rho**2 / 2, {error: name})
    integral = require_identity(sp.integrate(smooth * t * rho**2, (t, 0, 1)), bound.right, "remainder")
    quadratics = smooth / 2 * (w + rho) ** 2 - smooth / 2 * w**2 - rho * smooth * w
    tight = require_identity(quadratics, bound.right, "error for F = L x^2/2, w > 0")
    point = {"w": 1, "rho": 1, "L": 1, "scale": str(Fraction(scale))}
    if _replay_taylor(point).violated:
        return refuted(point, 1 / scale)
    require(scale >= 1, "the constant is at least L/2")
    reason = f"{integral}; upper bound by it at every delta, lower bound at delta = rho g/|g|; {tight}"
    return proved(reason, 1 / scale, tested_at=point)


@check("qu22-eq3-sign")
def closed_form_of_the_ascent() -> Verdict:
    """Printed closed form of the ascent step.

    Statement: rho sign(g) |g|/|g|_2, entry by entry, attains the maximum rho |g|_2 of <delta, g> over |delta| <= rho.
    Assumptions: g is not 0.
    Method: sign(x)|x| = x entry by entry, so the vector is rho g/|g| of eq. (4); Cauchy-Schwarz. Beside it the formula
        without the bars, as the text at hand has it: rho |g_j|/|g|, 3/5 of the maximum at g = (-1, 2).
    Verdict: proved.
    Reference: Qu et al. 2022, eq. (3).
    """
    norm, rho, step = sp.symbols("n rho delta", positive=True)
    g = sp.Symbol("slope", real=True)  # one coordinate, the sum of its squares is n^2
    names = {g: r"\nabla F_i(w)", norm: r"\|\nabla F_i(w)\|", step: r"\delta_i"}
    rule = formula(step, "==", rho * g / norm, names)
    inside = require_identity(total(rule.right**2, {g**2: norm**2}), rho**2, "|delta|^2, any dimension")
    attained = require_identity(total(rule.right * g, {g**2: norm**2}), rho * norm, "<delta, g>, any dimension")
    signed = require_identity(sp.sign(g) * sp.Abs(g), g, "sign(x)|x| for a real x")
    certificate = f"{signed}; {inside}; {attained}; nothing is larger: {lagrange('a = delta, b = g')}"
    at = [Fraction(-1), Fraction(2)]
    share = sum(sign(x) * x * x for x in at) / sum(x * x for x in at)
    return proved(certificate, None, share_of_the_maximum_without_bars=str(share))


def _bias_run(a, b, distance, rho) -> tuple[Fraction, Fraction, bool]:
    """Fixed point of FedSAM (K = 1) between the centres 0 and distance: (x, grad F(x), is it fixed)."""
    x = (b * distance + (b - a) * rho) / (a + b)
    clients = [quadratic(a, Fraction(0)), quadratic(b, distance)]
    following = fedsam_round(x, clients, rho, Fraction(1, 100), Fraction(1), 1)
    return x, sum(g(x) for g in clients) / 2, following.w == x


def _replay_shift(evidence) -> Replay:
    v = instance(evidence)
    x, gradient, fixed = _bias_run(v["a"], v["b"], v["distance"], v["rho"])
    between = 0 < x < v["distance"]
    return Replay(
        {"the point is fixed under FedSAM": fixed, "between the centres": between}, abs(gradient), Fraction(0)
    )


@check("qu22-sec2-shift", replay=_replay_shift, figure=figures.shifted_fixed_point)
def effect_on_distribution_shift() -> Verdict:
    """Local SAM and distribution shift on two quadratic clients.

    Statement: the stationary point of FedSAM (K = 1) has no larger |grad F| and no larger curvature than that of
        FedAvg.
    Assumptions: F_1 = a x^2/2, F_2 = b (x - d)^2/2; FedAvg with K = 1 is stationary exactly where grad F = 0.
    Method: between the centres the perturbations are +rho and -rho; the fixed point is (b d + (b - a) rho)/(a + b)
        with grad F = (b - a) rho/2. The curvature is the same everywhere, so that the second part holds with
        equality.
    Verdict: repaired: |grad F| = |b - a| rho/2 at FedSAM's fixed point, 0 at FedAvg's: FedSAM keeps FedAvg's
        stationary point on this family only when the curvatures agree or rho = 0.
    Reference: Qu et al. 2022, Section 2.2.
    """
    a, b, d, rho, slope = sp.symbols("a b d rho slope", positive=True)
    size = formula(slope, "==", sp.Abs(b - a) * rho / 2, {slope: r"|\nabla F|"})
    x = (b * d + (b - a) * rho) / (a + b)
    fixed = require_identity(a * (x + rho) + b * (x - rho - d), sp.Integer(0), "mean perturbed gradient")
    point = {"a": 1, "b": 3, "distance": 1, "rho": "1/4"}
    _, gradient, stays = _bias_run(*instance(point).values())
    require(stays, "fixed under an exact round")
    size.holds_at({**instance(point), slope: abs(gradient)})
    bias = require_identity(((a * x + b * (x - d)) / 2) ** 2, size.right**2, "grad F squared at the fixed point")
    corrected = f"at the fixed point between the centres ${size.latex}$; zero iff $a=b$ or there is no radius"
    return repaired(point, corrected, f"{fixed}; {bias}", None)


def _smoothed(G: sp.Symbol, eps: sp.Symbol) -> tuple[Formula, str]:
    """Smoothness of E f(w + eps z) for a G-Lipschitz f, with the sharp constant, and its certificate."""
    constant, r, x = sp.symbols("constant r x", positive=True)
    bound = formula(constant, "<=", sp.sqrt(2 / sp.pi) * G / eps, {constant: r"L_\epsilon"})
    variation = sp.erf(r / (2 * sp.sqrt(2) * eps))  # 2 Phi(r/(2 eps)) - 1
    slope = require_identity(sp.diff(2 * G * variation, r).subs(r, 0), bound.right, "slope of 2G TV at r = 0")
    bend = sp.simplify(sp.diff(variation, r, 2) / sp.exp(-(r**2) / (8 * eps**2)))
    require(bend.is_negative, "concave total variation")
    smoothed = G * (x * sp.erf(x / (sp.sqrt(2) * eps)) + eps * sp.sqrt(2 / sp.pi) * sp.exp(-(x**2) / (2 * eps**2)))
    attained = require_identity(sp.diff(smoothed, x, 2).subs(x, 0), bound.right, "curvature of E G|x + eps z| at 0")
    below = f"its second derivative {bend} exp(-r^2/(8 eps^2)) < 0, so 2G TV is below its tangent"
    return bound, f"{slope}; {below}; {attained}"


def _replay_smoothing(evidence) -> Replay:
    v = instance(evidence)
    slope = mp.sqrt(2 / mp.pi)  # second derivative at 0 of E|x + eps z| for G = eps = 1
    scale = mp.mpf(v["scale"].numerator) / v["scale"].denominator
    return Replay({"|x| is 1-Lipschitz": BY_CONSTRUCTION, "eps > 0": BY_CONSTRUCTION}, slope, scale * 2)


@check(
    "qu22-rem2.1-smoothing", mutations=((0.39, "refuted"), (0.4, "proved"), (2.0, "proved")), replay=_replay_smoothing
)
def gaussian_smoothing(scale: float = 1.0) -> Verdict:
    """Smoothness of a Gaussian-smoothed Lipschitz loss.

    Statement: f G-Lipschitz implies that E f(w + eps z) is (2G/eps)-smooth in every dimension.
    Assumptions: z standard normal.
    Method: for a unit vector u, <u, grad f> lies in [-G, G], so that |<u, grad f~(w) - grad f~(v)>| <= 2G TV of the
        two Gaussians = 2G (2 Phi(r/(2 eps)) - 1), r = |w - v|, concave in r with slope sqrt(2/pi) G/eps at 0. f =
        G|x| has this second derivative at 0. ``scale`` multiplies the constant 2.
    Verdict: proved; the sharp constant is sqrt(2/pi) = 0.798 in place of 2.
    Reference: Qu et al. 2022, Remark 2.1; Nesterov and Spokoiny 2017.
    """
    G, eps = sp.symbols("G epsilon", positive=True)
    bound, certificate = _smoothed(G, eps)
    sharp = float(bound.right.subs({G: 1, eps: 1}))
    worst = sharp / (2 * scale)
    if worst > 1:
        return refuted({"f": "|x|", "G": 1, "eps": 1, "scale": str(Fraction(scale))}, worst)
    return proved(certificate, worst, sharp_constant=sharp)


def _ball_slope(x: Fraction, rho: Fraction, smooth: Fraction) -> Fraction:
    """Derivative of max over |delta| <= rho of L (x + delta)^2/2 at x != 0: L (|x| + rho) sign(x)."""
    return smooth * (abs(x) + rho) * sign(x)


def _replay_kink(evidence) -> Replay:
    v = instance(evidence)
    x, rho, smooth = v["x"], v["rho"], v["L"]
    claimed = min(smooth, 2 * v["G"] / rho)
    left = abs(_ball_slope(x, rho, smooth) - _ball_slope(-x, rho, smooth))
    # Huber loss: quadratic up to |x| = G/L, G-Lipschitz; x + rho stays in the quadratic part
    inside = {
        "Huber loss is G-Lipschitz and L-smooth": BY_CONSTRUCTION,
        "quadratic at x + rho": abs(x) + rho <= v["G"] / smooth,
    }
    return Replay(inside, left, claimed * abs(2 * x))


@check("qu22-rem2.1-sam-smooth", "qu22-ass1", replay=_replay_kink, figure=figures.ball_maximum)
def smoothness_of_the_perturbed_loss() -> Verdict:
    """The SAM-perturbed loss is not smooth at a minimiser.

    Statement: max over the ball of F(w + delta) is smooth: for some finite constant (Assumption 1 read for f_i) and
        with min(L, 2G/rho) (Remark 2.1).
    Assumptions: F L-smooth (and G-Lipschitz for the remark).
    Method: for the Huber loss with rho < G/L the maximum is L (|x| + rho)^2/2 near 0: its derivative jumps by 2 L rho
        (by 2 G for a larger rho), so that the difference quotient (2 rho/|2x| + 1) L is unbounded. Repair: Assumption
        1 for F_i itself, which quadratics satisfy; for a random perturbation the averaged loss is min(L, sqrt(2/pi)
        G/eps)-smooth.
    Verdict: repaired.
    Reference: Qu et al. 2022, Assumption 1, Remark 2.1.
    """
    x, rho, smooth, G, eps, kink, constant, z = sp.symbols("x rho L G epsilon kink constant z", positive=True)
    jump = formula(kink, "==", 2 * smooth * rho, {kink: r"|\tilde f_i'(0+)-\tilde f_i'(0-)|"})
    inherited = formula(constant, "<=", smooth, {constant: r"L_\epsilon"})
    smoothed, certificate = _smoothed(G, eps)
    sides = sp.limit(smooth * (x + rho) - (-smooth * (x + rho)), x, 0, "+")
    kinked = require_identity(sides, jump.right, "jump of the derivative at 0")
    mean = total(smooth * (x + eps * z) ** 2 / 2, {z: sp.Integer(0), z**2: sp.Integer(1)})
    curvature = require_identity(sp.diff(mean, x, 2), inherited.right, "curvature of E L(x + eps z)^2/2 for any eps")
    point = {"x": "1/100", "rho": "1/2", "L": 1, "G": 2}
    margin = (Fraction(1, 100) + Fraction(1, 2)) / Fraction(1, 100)
    return repaired(
        point,
        r"$F_i$ is assumed to be $L$-smooth, not $\tilde f_i=\max_{\|\delta\|\le\rho}F_i(\cdot+\delta)$. On the line, "
        rf"if $F_i$ is least at zero and has curvature $L$ up to the distance $\rho$, ${jump.latex}$. Averaging a "
        rf"$G$-Lipschitz $F_i$ over Gaussian perturbations of deviation $\epsilon$ gives a smoothness constant with "
        f"${inherited.latex}$ and ${smoothed.latex}$",
        f"{kinked}; {curvature}; averaging keeps L; {certificate}",
        float(margin),
    )


@check(
    "qu22-rem2.1-rate", mutations=((-1.0, "refuted"), (2.0, "proved")), replay=lambda evidence: _replay_rate(evidence)
)
def smoothness_and_speed(scale: float = 1.0) -> Verdict:
    """A smaller smoothness constant gives a smaller bound.

    Statement: the bound of Theorem 3.1 increases with L, and on quadratics with tuned constant step the number of
        steps does not decrease with L/mu.
    Assumptions: fixed F(w^0) - F^*, sigma_g, sigma_l, K, N, R, mu.
    Method: derivative of the printed bound; contraction (kappa - 1)/(kappa + 1) of gradient descent with step 2/(L +
        mu). ``scale`` multiplies the claimed sign. The statement is about bounds: F^~ of SAM also changes with rho.
    Verdict: proved.
    Reference: Qu et al. 2022, Remark 2.1, Theorem 3.1.
    """
    slope = sp.expand(sp.diff(sum(RATE_FULL), L))
    require(all(term.is_positive for term in sp.Add.make_args(slope)), "every term of the derivative is positive")
    kappa, mu, rate = sp.symbols("kappa mu q", positive=True)
    factor = formula(rate, "==", (kappa - 1) / (kappa + 1))
    step = 2 / (L + mu)
    ends = [
        require_identity(side.subs(L, kappa * mu), factor.right, f"contraction at curvature {curvature}")
        for curvature, side in ((mu, 1 - step * mu), (L, step * L - 1))
    ]
    contraction = sp.simplify(sp.diff(factor.right, kappa))
    require(contraction.is_positive, "the contraction factor increases with kappa")
    point = {"kappa_small": 2, "kappa_large": 4, "claimed_sign": 1 if scale > 0 else -1}
    if _replay_rate(point).violated:
        return refuted(point, None)
    reason = f"d bound/dL = {slope} > 0; {'; '.join(ends)}; its derivative in kappa is {contraction} > 0"
    return proved(reason, None, tested_at=point)


def _replay_rate(evidence) -> Replay:
    v = instance(evidence)
    small, large = ((v[k] - 1) / (v[k] + 1) for k in ("kappa_small", "kappa_large"))
    sign_claimed = v["claimed_sign"]
    return Replay({"kappa grows": v["kappa_small"] < v["kappa_large"]}, sign_claimed * small, sign_claimed * large)
