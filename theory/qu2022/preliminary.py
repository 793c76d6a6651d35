"""Appendix A: the preliminary lemmas, and the stochastic gradient of SAM."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from theory.kit import certificates, lemmas
from theory.kit.formula import Formula, formula
from theory.kit.second_certificate import second_certificate, three_term_split_by_z3
from theory.kit.symbolic import total
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022 import figures
from theory.qu2022.common import instance, proved, ratio, refuted, repaired, require, require_identity
from theory.qu2022.recursions import quadratic, sign


def _replay_young(evidence) -> Replay:
    v = instance(evidence)
    right = v["scale"] * ((1 + v["a"]) * v["u"] ** 2 + (1 + 1 / v["a"]) * v["v"] ** 2)
    return Replay({"a > 0": v["a"] > 0}, (v["u"] + v["v"]) ** 2, right)


@check("qu22-lemA.1-1", mutations=((0.9, "refuted"), (1.1, "proved")), replay=_replay_young)
def young_inequality(scale: float = 1.0) -> Verdict:
    """Young's inequality.

    Statement: |u + v|^2 <= (1 + a)|u|^2 + (1 + 1/a)|v|^2 for all u, v in R^d and a > 0.
    Assumptions: a > 0.
    Method: right - left is (a u - v)^2/a coordinate by coordinate; ``scale`` multiplies the right side, and u = 1, v
        = a = 1 is the case of equality.
    Verdict: proved.
    Reference: Qu et al. 2022, Lemma A.1 (1).
    """
    u, v, a, whole = sp.symbols("u v a sum2", positive=True)
    names = {u: r"\|u\|", v: r"\|v\|", whole: r"\|u+v\|^2"}
    bound = formula(whole, "<=", (1 + a) * u**2 + (1 + 1 / a) * v**2, names)
    attained = bound.attained_at({u: 2, v: 6, a: 3, whole: 64})
    room = bound.room.subs(whole, (u + v) ** 2)
    certificate = require_identity(room, (a * u - v) ** 2 / a, "right - left, per coordinate")
    point = {"u": 1, "v": 1, "a": 1, "scale": str(Fraction(scale))}
    sides = _replay_young(point)
    margin = ratio(sides.left, sides.right)
    if sides.violated:
        return refuted(point, margin)
    require(scale >= 1, "the right side is at least the printed one")
    reason = certificate + "; a square over a > 0; scaling the right side up keeps the inequality"
    return proved(reason, margin, tested_at=point, attained=attained)


def gram_matrix(bound: Formula, count: int) -> str:
    """The room for so many vectors as z^T Q z with a rational Q, positive semidefinite by exact elimination."""
    v = sp.symbols(f"v0:{count}")
    left, right = bound.at({"whole": sum(v) ** 2, "squares": sum(x**2 for x in v), "tau": count})
    return certificates.sum_of_squares(right - left, basis=list(v))


def _replay_equal(evidence) -> Replay:
    v = instance(evidence)
    values = v["vectors"]
    right = v["scale"] * len(values) * sum(x**2 for x in values)
    return Replay({"any vectors": BY_CONSTRUCTION}, sum(values) ** 2, right)


@check("qu22-lemA.1-2", "qu22-lemA.2", mutations=((0.9, "refuted"), (1.1, "proved")), replay=_replay_equal)
def relaxed_triangle_inequality(scale: float = 1.0) -> Verdict:
    """Relaxed triangle inequality, for vectors and in expectation.

    Statement: |sum v_i|^2 <= tau sum |v_i|^2, and E|sum x_i|^2 <= n E sum |x_i|^2 without independence.
    Assumptions: square-integrable random vectors for the second form.
    Method: per coordinate and pointwise, by induction over tau: one more vector x adds sum (v_i - x)^2 to right - left.
        For tau = 4 a semidefinite Gram matrix from cvxpy, tested exactly; ``scale`` multiplies the right side, equal
        vectors attain it.
    Verdict: proved.
    Reference: Qu et al. 2022, Lemma A.1 (2), Lemma A.2.
    """
    point = {"vectors": [1, 1, 1], "scale": str(Fraction(scale))}
    sides = _replay_equal(point)
    margin = ratio(sides.left, sides.right)
    if sides.violated:
        return refuted(point, margin)
    require(scale >= 1, "the right side is at least the printed one")
    tau = sp.Symbol("tau", positive=True, integer=True)
    whole, squares, before, v, x = sp.symbols("whole squares T v x", real=True)
    bound = formula(whole, "<=", tau * squares, {whole: r"\|\sum_iv_i\|^2", squares: r"\sum_i\|v_i\|^2"})
    attained = bound.attained_at({whole: (2 + 2 + 2) ** 2, squares: 2**2 + 2**2 + 2**2, tau: 3})
    one = require_identity(bound.room.subs({tau: 1, whole: squares}), sp.Integer(0), "room of one vector")
    more = {tau: tau + 1, squares: squares + x**2, whole: (before + x) ** 2}
    grown = bound.room.subs(more, simultaneous=True) - bound.room.subs(whole, before**2)
    added = total((v - x) ** 2, {v**2: squares, v: before}, tau)
    step = require_identity(grown, added, "one more vector x, T = sum v_i")
    solver = second_certificate("cvxpy", "right - left for tau = 4, per coordinate", lambda: gram_matrix(bound, 4))
    text = f"per coordinate by induction: {one}; {step}, the sum of (v_i - x)^2; taking expectations keeps the sign"
    return proved(text, margin, tested_at=point, attained=attained, solver=solver)


@check("qu22-lemA.3")
def independent_mean_zero() -> Verdict:
    """Orthogonality of independent mean-zero variables.

    Statement: E|sum x_i|^2 = sum E|x_i|^2 for independent mean-zero x_i.
    Assumptions: independence; square integrability.
    Method: expansion; E x_i x_j = E x_i E x_j = 0. Where the paper uses it the summands are noises of one local run:
        exact enumeration of a two-step local SGD with two-point noise shows that noise and later gradients correlate.
    Verdict: proved for the lemma. In B.2 (a), B.4 (b), B.7 (b), D.2 (b) it is applied to sums that hold dependent
        terms (see qu22-lemB.4-orth).
    Reference: Qu et al. 2022, Lemma A.3.
    """
    s, x, whole, squares, square = sp.symbols("s x E_s2 sum_E_x2 E_x2")  # the sum so far and one more term
    names = {whole: r"\mathbb E\|\sum_ix_i\|^2", squares: r"\sum_i\mathbb E\|x_i\|^2"}
    rule = formula(whole, "==", squares, names)
    grown = total((s + x) ** 2, {s**2: rule.right, s * x: sp.Integer(0), x**2: square})  # E s x = E s E x
    later = rule.right.subs(squares, squares + square)
    certificate = require_identity(grown, later, "E|sum + x|^2 with one more term, by induction over the terms")
    step, noise = Fraction(1, 10), (Fraction(1), Fraction(-1))
    # F = x^2/2 from w = 0: the gradient at the second step is -step * noise of the first
    cross_term = sum(z * (-step * z) for z in noise) / 2
    require(cross_term, "noise and later gradient correlate")
    return proved(certificate, 1.0, cross_term_in_local_sgd=str(cross_term))


def _multiplicative(w: Fraction, rho: Fraction, factors) -> dict[str, Fraction]:
    """F = x^2/2 with sample gradients s x: moments of the SAM gradient at w, all exact."""
    ascended = w + rho * sign(w)
    sharp = [s * ascended for s in factors]
    return {
        "second_moment": sum(g**2 for g in sharp) / len(sharp),
        "mean": sum(sharp) / len(sharp),
        "variance": sum((g - ascended) ** 2 for g in sharp) / len(sharp),
        "gradient": ascended,
    }


def _conditions(w, factors) -> dict[str, bool]:
    directions = {sign(s * w) for s in factors}
    return {
        "A1: F = x^2/2 is 1-smooth": BY_CONSTRUCTION,
        "A2: one client, sigma_g = 0": BY_CONSTRUCTION,
        "A3: unbiased": sum(factors) / len(factors) == 1,
        "A3: sigma_l = 0 (the unit vector never changes)": directions == {sign(w)},
    }


def _replay_noise(evidence) -> Replay:
    v = instance(evidence)
    moments = _multiplicative(**v)
    return Replay(_conditions(v["w"], v["factors"]), moments["variance"], Fraction(0))


#: the factors are gradient noise that never changes the direction, with mean one
_POINT = {"w": "1", "rho": "1", "factors": ["1/2", "3/2"]}


@check("qu22-ass3-noise", replay=_replay_noise)
def assumption_3_and_the_noise() -> Verdict:
    """Assumption 3 does not control the noise of the SAM gradient.

    Statement: E|g~ - grad F_i(w + delta)|^2 <= L^2 rho^2 sigma_l^2 with delta the noise-free perturbation.
    Assumptions: A1, A3.
    Method: F = x^2/2 with sample gradients x/2 and 3x/2 has sigma_l = 0 but variance (w + rho)^2/4. Repair: split g~
        - grad F(w + delta) at the sample's gradient in w + delta; per-sample smoothness bounds the first part by L
        rho |u - ubar|, the classical variance s^2 the second; Lemma A.1 (2) with two terms.
    Verdict: repaired.
    Reference: Qu et al. 2022, Assumption 3 and Lemma A.4 (b).
    """
    moments = _multiplicative(**instance(_POINT))
    require(moments["variance"], "the direction never changes, the gradient does")
    noise, L, rho, sigma, s, a, b = sp.symbols("noise L rho sigma_l s a b", positive=True)
    names = {noise: r"\mathbb E\|\tilde g-\nabla F_i(w+\bar\delta)\|^2"}
    bound = formula(noise, "<=", 2 * L**2 * rho**2 * sigma**2 + 2 * s**2, names)
    slacks = 2 * (L**2 * rho**2 * sigma**2 - a**2) + 2 * (s**2 - b**2) + (a - b) ** 2
    split = require_identity(bound.room.subs(noise, (a + b) ** 2), slacks, "right - left in the two parts a and b")
    return repaired(
        _POINT,
        f"with $L$-smooth per-sample losses and noise of standard deviation $s$: ${bound.latex}$",
        f"{split}, expectations of a sum of slacks: a is at most L rho |u - ubar|, so E a^2 <= L^2 rho^2 sigma_l^2",
        variance=str(moments["variance"]),
    )


def _replay_moment(evidence) -> Replay:
    v = instance(evidence)
    moments = _multiplicative(**v)
    return Replay(_conditions(v["w"], v["factors"]), moments["second_moment"], moments["gradient"] ** 2)


@check("qu22-lemA.4-avg", "qu22-lemA.4-client", replay=_replay_moment)
def separating_mean_and_variance() -> Verdict:
    """Separation of mean and variance for the SAM gradient.

    Statement: E|(1/N) sum g~_{i,k}|^2 <= (K/N) sum E|grad F_i(w~_{i,k})|^2 + K L^2 rho^2 sigma_l^2/N, and for one
        client E|sum_k g~_{i,k}|^2 <= K sum_k E|grad F_i(w~_{i,k})|^2 + K L^2 rho^2 sigma_l^2.
    Assumptions: A1, A3.
    Method: N = K = 1, F = x^2/2, sample gradients x/2 and 3x/2 (sigma_l = 0): 5/4 (w + rho)^2 exceeds (w + rho)^2.
        Repair: a proof object with the classical variance: the noise of later steps is unbiased given the earlier
        ones and independent between clients, so that its mean over clients costs K s^2/N and not K^2 s^2.
    Verdict: repaired.
    Reference: Qu et al. 2022, Lemma A.4.
    """
    moments = _multiplicative(**instance(_POINT))
    left, right = moments["second_moment"], moments["gradient"] ** 2
    require(left > right, "left exceeds right")
    K, N = sp.symbols("K N", positive=True, integer=True)
    update, gradients, s = sp.symbols("update gradients s", positive=True)
    names = {update: r"\mathbb E\|\frac1N\sum_{i,k}\tilde g_{i,k}\|^2"}
    names[gradients] = r"\sum_{i,k}\mathbb E\|\nabla F_i(\tilde w_{i,k})\|^2"
    bound = formula(update, "<=", 2 * K / N * gradients + 2 * K / N * s**2, names)
    on_gradient = bound.right.coeff(gradients)
    on_noise = (bound.right - on_gradient * gradients) / s**2
    return repaired(
        _POINT,
        "with noise of standard deviation $s$ in $\\tilde g_{i,k}$, unbiased given the past and independent between "
        f"clients: ${bound.latex}$ (also for a single client)",
        lemmas.mean_and_noise(on_gradient * N / K, on_noise * N / K).certificate(),
        ratio(left, right),
    )


#: two quadratic samples with opposite gradients at 0 whose mean gradient is -1/2
SAMPLE_CENTRES = (Fraction(-1), Fraction(2))


def _bias(rho: Fraction) -> tuple[Fraction, Fraction]:
    """(E g~, grad F(w + delta)) at w = 0 for the losses (x + 1)^2/2 and (x - 2)^2/2, drawn with probability 1/2."""
    samples = [quadratic(Fraction(1), c) for c in SAMPLE_CENTRES]
    mean = sum(g(rho * sign(g(Fraction(0)))) for g in samples) / 2
    full = quadratic(Fraction(1), sum(SAMPLE_CENTRES) / 2)
    return mean, full(rho * sign(full(Fraction(0))))


def _replay_bias(evidence) -> Replay:
    mean, noise_free = _bias(instance(evidence)["rho"])
    return Replay(
        {"A1: every sample is 1-smooth": BY_CONSTRUCTION, "the samples are drawn uniformly": BY_CONSTRUCTION},
        mean,
        noise_free,
        "==",
    )


@check("qu22-lemA.4-unbiased", replay=_replay_bias)
def unbiasedness_of_sam() -> Verdict:
    """The SAM gradient with one minibatch is biased.

    Statement: E g~ = grad F(w + rho grad F(w)/|grad F(w)|).
    Assumptions: A1, unbiased gradients; ascent and descent on one minibatch.
    Method: two quadratics with gradients 1 and -2 at w = 0: exact means differ by rho. Independent minibatches give E
        sign(g) = 0 in place of -1, the same bias. Repair: |E g~ - grad F(w + delta)| <= L rho E|u - ubar|.
    Verdict: repaired.
    Reference: Qu et al. 2022, proofs of Lemma A.4 and B.2 (a).
    """
    rho = Fraction(1, 2)
    mean, noise_free = _bias(rho)
    require(mean != noise_free, "the means differ")
    bias, L, radius, spread, sigma, turn = sp.symbols("bias L rho spread sigma_l turn", positive=True)
    names = {bias: r"\|\mathbb E\tilde g-\nabla F(w+\bar\delta)\|", spread: r"\mathbb E\|u-\bar u\|"}
    near = formula(bias, "<=", L * radius * spread, names)
    wide = formula(bias, "<=", L * radius * sigma, names)
    # the unit vectors of the samples are 1 and -1, that of the mean is -1
    attained = near.attained_at({bias: abs(mean - noise_free), L: 1, radius: rho, spread: 1})
    moved = require_identity(total(L * radius * turn, {turn: spread}), near.right, "L E|delta - deltabar|")
    squares = wide.right**2 - near.right**2
    jensen = require_identity(squares, L**2 * radius**2 * (sigma**2 - spread**2), "squares of the two bounds")
    return repaired(
        {"rho": str(rho), "centres": [str(c) for c in SAMPLE_CENTRES], "w": 0},
        f"for $L$-smooth per-sample losses ${near.latex}$ and ${wide.latex}$",
        "|E[grad F(w + delta; xi) - grad F(w + deltabar; xi)]| <= L E|delta - deltabar|, where E grad F(w + deltabar; "
        f"xi) = grad F(w + deltabar) because deltabar is not random; {moved}; {jensen} >= 0 by Jensen",
        attained=attained,
        mean=str(mean),
        noise_free=str(noise_free),
    )


def _dissimilarity(clients: int, sigma: Fraction, rho: Fraction) -> dict[str, Fraction]:
    """Gradients sigma + x (client 0) and -sigma/(N-1) - x (the others), L = 1: both sides of Lemma A.5 at w = 0."""
    own = sigma + rho
    other = -sigma / (clients - 1) - rho
    mean = (own + (clients - 1) * other) / clients
    return {"left": (own - mean) ** 2, "right": 3 * sigma**2 + 6 * rho**2, "mean_at_0": Fraction(0)}


def _replay_dissimilarity(evidence) -> Replay:
    v = instance(evidence)
    sides = _dissimilarity(int(v["clients"]), v["sigma"], v["rho"])
    largest = max(v["sigma"] ** 2, (v["sigma"] / (v["clients"] - 1)) ** 2)
    assumptions = {
        "A1 with L = 1": BY_CONSTRUCTION,
        "A2: dissimilarity at w = 0": largest <= v["sigma"] ** 2,
        "|delta| <= rho": BY_CONSTRUCTION,
    }
    return Replay(assumptions, sides["left"], v["scale"] * sides["right"])


@check(
    "qu22-lemA.5",
    mutations=((0.99, "refuted"), (0.9999, "refuted"), (1.1, "proved")),
    replay=_replay_dissimilarity,
    figure=figures.relative_dissimilarity,
)
def dissimilarity_at_perturbed_points(scale: float = 1.0) -> Verdict:
    """Gradient dissimilarity at perturbed points.

    Statement: |grad F_i(w + delta_i) - grad F(w + delta)|^2 <= 3 sigma_g^2 + 6 L^2 rho^2.
    Assumptions: F_i and hence F are L-smooth, |grad F_i(w) - grad F(w)| <= sigma_g, |delta_i|, |delta| <= rho.
    Method: a proof object (triangle inequality, smoothness, one square). One client against N - 1 opposite ones shows
        that the constant is the best possible as N grows (sigma_g = L rho, left/right = (1 - 1/N)^2 (1 + ...)):
        ``scale`` multiplies the right side; N = 10^5 leaves no scale below 0.9999.
    Verdict: proved.
    Reference: Qu et al. 2022, Lemma A.5.
    """
    factor = Fraction(str(scale))
    clients, sigma, rho = 10**5, Fraction(1), Fraction(1)
    sides = _dissimilarity(clients, sigma, rho)
    point = {"clients": clients, "sigma": str(sigma), "rho": str(rho), "scale": str(factor)}
    margin = ratio(sides["left"], factor * sides["right"])
    if sides["left"] > factor * sides["right"]:
        return refuted(point, margin)
    limit = sp.Rational(factor.numerator, factor.denominator)
    size, L, radius, spread = sp.symbols("size L rho sigma_g", positive=True)
    name = r"\|\nabla F_i(w+\delta_i)-\nabla F(w+\delta)\|^2"
    bound = formula(size, "<=", limit * (3 * spread**2 + 6 * L**2 * radius**2), {size: name})
    bound.holds_at({size: sides["left"], spread: sigma, L: sigma / rho, radius: rho})
    on_sigma = bound.right.coeff(spread, 2)
    on_error = (bound.right - on_sigma * spread**2) / (L * radius) ** 2
    solver = second_certificate("z3", "split with the norms a, b, c", lambda: three_term_split_by_z3(limit))
    certificate = lemmas.three_terms(on_sigma, on_error).certificate()
    return proved(certificate, margin, solver=solver, tested_at=point)


def _averages(rho: Fraction) -> tuple[Fraction, Fraction]:
    """(mean of grad F_i(w + delta_i), grad F(w + delta)) at w = 0 for gradients 3x + 1 and x - 2."""
    clients = [quadratic(Fraction(3), Fraction(-1, 3)), quadratic(Fraction(1), Fraction(2))]
    own = sum(g(rho * sign(g(Fraction(0)))) for g in clients) / 2
    step = rho * sign(sum(g(Fraction(0)) for g in clients))
    return own, sum(g(step) for g in clients) / 2


def _replay_averages(evidence) -> Replay:
    left, right = _averages(instance(evidence)["rho"])
    return Replay({"A1 with L = 3": BY_CONSTRUCTION}, left, right, "==")


@check("qu22-lemA.5-use", replay=_replay_averages)
def one_definition_for_both_uses() -> Verdict:
    """One meaning of the perturbed client loss for both uses.

    Statement: f_i at w~ can be defined so that Lemma A.5 (client perturbations delta_i) and the averaging identity
        grad f(w~) = mean_i grad f_i(w~) of the later proofs hold for it.
    Assumptions: A1.
    Method: with client perturbations the identity fails on gradients 3x + 1 and x - 2 at w = 0 (exact); with a common
        perturbation it is the definition of F, but then the clients' SAM gradients are not grad f_i(w~). Repair: the
        difference of the two sides is at most L mean|delta_i - delta| <= 2 L rho.
    Verdict: repaired.
    Reference: Qu et al. 2022, Lemma A.5 and its use in B.2, B.3, B.8.
    """
    rho = Fraction(1, 4)
    own, common = _averages(rho)
    require(own != common, "the identity fails with client perturbations")
    gap, L, N, radius, moved, move, own_size, size = sp.symbols("gap L N rho moved m_i d_i d", positive=True)
    names = {gap: r"\|\frac1N\sum_i\nabla F_i(w+\delta_i)-\nabla F(w+\delta)\|", moved: r"\sum_i\|\delta_i-\delta\|"}
    near, wide = formula(gap, "<=", L * moved / N, names), formula(gap, "<=", 2 * L * radius, names)
    # perturbations rho and -rho of the clients, -rho of the mean
    attained = near.attained_at({gap: abs(own - common), L: 3, N: 2, moved: 2 * rho})
    smooth = require_identity(total(L * move, {move: moved}, N) / N, near.right, "mean of L|delta_i - delta|")
    slacks = (radius - own_size) + (radius - size) + (own_size + size - move)
    rest = total(L * slacks, {move: moved, own_size: own_size}, N) / N
    triangle = require_identity(wide.right - near.right, rest, "mean of L(2 rho - |delta_i - delta|)")
    return repaired(
        {"rho": str(rho), "w": 0, "gradients": ["3x + 1", "x - 2"]},
        f"${near.latex}$ and ${wide.latex}$",
        f"smoothness of every F_i: {smooth}; {triangle}, with |delta_i|, |delta| <= rho and the triangle inequality",
        attained=attained,
        client_perturbations=str(own),
        common_perturbation=str(common),
    )
