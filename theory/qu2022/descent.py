"""Appendix B.2 and B.3: inner product, second moments and the descent lemma of FedSAM."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import sympy as sp

from theory.kit import hypotheses
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import MEAN_SQUARE, combination, lagrange
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022 import corrected
from theory.qu2022.common import instance, proved, ratio, refuted, repaired, require, require_identity
from theory.qu2022.recursions import fedsam_round, quadratic, sign

eta, L, K, N, S, A, x, rho = sp.symbols("eta L K N S A x rho", positive=True)
E_w, E_delta, grad, gradients = sp.symbols("E_w E_delta grad gradients", nonnegative=True)
moment, s, q, t, size = sp.symbols("moment s q t inverse_size", nonnegative=True)
product = sp.Symbol("product")
NAMES = {
    eta: r"\eta_l",
    E_w: r"\mathcal E_w",
    E_delta: r"\mathcal E_\delta",
    grad: r"\|\nabla\tilde f\|",
    gradients: r"\mathbb E\|\sum_{i,k}\nabla f_i(\tilde w_{i,k})\|^2",
    moment: r"\mathbb E\|\Delta^r\|^2",
    q: r"\sum_i\|x_i\|^2",
    t: r"\|\sum_ix_i\|^2",
    size: r"\mathbb E[1/|S_r|]",
    product: r"\langle\nabla\tilde f,\mathbb E[\Delta^r+\eta_lK\nabla\tilde f]\rangle",
}


def _replay_inner(evidence) -> Replay:
    v = instance(evidence)
    gradient, eta = v["gradient"], v["eta"]
    # rho = 0, N = K = 1: Delta = -eta grad F, both drifts are 0
    left = gradient * (-eta * gradient + eta * gradient)
    right = eta / 2 * gradient**2 - v["scale"] * eta / 2 * gradient**2
    return Replay({"one client, one step, no noise": BY_CONSTRUCTION}, left, right)


def polarisation(symbol: str = "eta K") -> str:
    """<p, c p - c q> = (c/2)|p|^2 + (c/2)|p - q|^2 - (c/2)|q|^2, per coordinate, with c = eta K (or beta)."""
    p, q, c = sp.symbols("p q c", real=True)
    text = require_identity(p * (c * p - c * q), c / 2 * (p**2 + (p - q) ** 2 - q**2), f"polarisation, c = {symbol}")
    return text + " with q the mean over i, k of the gradients at w~_{i,k}"


@check("qu22-lemB.3", mutations=((0.5, "proved"), (2.0, "refuted")), replay=_replay_inner)
def inner_product_bound(scale: float = 1.0) -> Verdict:
    """Inner-product bound.

    Statement: <grad f~, E[Delta + eta K grad f~]> <= (eta K/2)|grad f~|^2 + K eta L^2 (E_w + E_delta) - eta/(2KN^2)
        E|sum grad f_i(w~_{i,k})|^2.
    Assumptions: E g~_{i,k} = grad f_i(w~_{i,k}); f_i(w~) = F_i(w + delta), so that grad f~ is their mean; A1.
    Method: right - left is a sum of non-negative terms: Lagrange's identity for the changes d of the gradients, A1 for
        |d|, 2 |y|^2 + 2 |z|^2 >= |y + z|^2, and E_w, E_delta of the worst k. ``scale`` multiplies the last term.
    Verdict: proved under these assumptions (the first one fails for one shared minibatch, qu22-lemA.4-unbiased).
    Reference: Qu et al. 2022, Lemma B.3.
    """
    point = {"gradient": 1, "eta": "1/10", "scale": str(Fraction(scale))}
    if _replay_inner(point).violated:
        return refuted(point, None)
    factor = sp.Rational(str(scale))
    last = factor * eta / (2 * K * N**2) * gradients
    bound = formula(product, "<=", eta * K / 2 * grad**2 + K * eta * L**2 * (E_w + E_delta) - last, NAMES)
    p, change, squares, y2, z2, yz = sp.symbols("p D sum_d2 sum_y2 sum_z2 sum_yz")
    total = N * K * p + change  # sum of the gradients p + d_ik
    room = bound.room.subs({product: p * (eta * K * p - eta * total / N), grad: p, gradients: total**2})
    slacks = [
        (eta / (2 * K * N**2), N * K * squares - change**2, "n = N K, x = d"),
        (eta / (2 * N), L**2 * (y2 + z2 + 2 * yz) - squares, "sum of L^2 (y + z)^2 - d^2, A1, y of w, z of delta"),
        (eta * L**2 / (2 * N), y2 + z2 - 2 * yz, "sum of (y - z)^2"),
        (eta * L**2 / N, K * N * E_w - y2, "worst k"),
        (eta * L**2 / N, K * N * E_delta - z2, "worst k"),
        ((1 - factor) * eta / (2 * K * N**2), total**2, "a square"),
    ]
    text = f"{combination(room, slacks)}; d_ik is the change of the gradient, and its sum D; {lagrange(MEAN_SQUARE)}"
    return proved(f"${bound.latex}$: {text}; all of it under E over the noise", 1.0, tested_at=point)


def _two_steps(curvature: Fraction, noise: Fraction, lr: Fraction) -> dict[str, Fraction]:
    """N = 1, K = 2, F = curvature x^2/2 from w = 0 with additive two-point noise, rho = 0: exact moments over eta^2."""
    outcomes = [(a, b) for a in (noise, -noise) for b in (noise, -noise)]
    gradients = [curvature * (-lr * first) for first, _ in outcomes]  # the gradient at w = 0 is 0
    total = sum((first + second + g) ** 2 for (first, second), g in zip(outcomes, gradients, strict=True)) / 4
    return {
        "update": total,
        "noise": sum((first + second) ** 2 for first, second in outcomes) / 4,
        "gradients": sum(g**2 for g in gradients) / 4,
        "cross": sum(first * g for (first, _), g in zip(outcomes, gradients, strict=True)) / 4,
    }


def _replay_moment(evidence) -> Replay:
    v = instance(evidence)
    m = _two_steps(v["curvature"], v["noise"], v["eta"])
    local = {
        "noise independent, mean zero": BY_CONSTRUCTION,
        "|F''| = 1 on the region visited (flat beyond it)": abs(v["curvature"]) == 1,
    }
    return Replay(local, m["update"], 2 * v["noise"] ** 2 + m["gradients"])


_MOMENT = {"curvature": -1, "noise": 1, "eta": "1/10", "N": 1, "K": 2}


@check("qu22-lemB.4", replay=_replay_moment)
def second_moment_of_the_update() -> Verdict:
    """Second moment of the server update.

    Statement: E|Delta|^2 <= K eta^2 s^2/N + (eta^2/N^2) E|sum grad f_i(w~_{i,k})|^2 with independent mean-zero noise
        of variance s^2 per step.
    Assumptions: A1; the noise model of the proof.
    Method: N = 1, K = 2, F = -x^2/2 near 0: the second gradient carries the first noise; the cross term 2 eta L s^2
        is missing on the right. Repair: Lemma A.1 (2) with two terms.
    Verdict: repaired with the factor 2 on both terms.
    Reference: Qu et al. 2022, Lemma B.4.
    """
    m = _two_steps(Fraction(-1), Fraction(1), Fraction(1, 10))
    right = 2 + m["gradients"]
    require(m["update"] > right, "left exceeds right")
    bound = formula(moment, "<=", 2 * K * eta**2 / N * s**2 + 2 * eta**2 / N**2 * gradients, NAMES)
    noise, drift = sp.symbols("Z T")
    parts = {moment: eta**2 * (noise + drift) ** 2 / N**2, s: noise / sp.sqrt(N * K), gradients: drift**2}
    return repaired(
        _MOMENT,
        f"${bound.latex}$",
        require_identity(bound.room.subs(parts), eta**2 * (noise - drift) ** 2 / N**2, "room for sums Z and T")
        + ", and E|Z|^2 = sum E|zeta|^2 <= NK s^2 by qu22-lemA.3 for the noises among themselves",
        ratio(m["update"], right),
        excess_over_the_right_side=str(m["update"] - right),
    )


def _replay_orthogonal(evidence) -> Replay:
    v = instance(evidence)
    m = _two_steps(v["curvature"], v["noise"], v["eta"])
    return Replay({"noise independent, mean zero": BY_CONSTRUCTION}, m["update"], m["noise"] + m["gradients"], "==")


@check("qu22-lemB.4-orth", replay=_replay_orthogonal)
def orthogonality_of_noise_and_drift() -> Verdict:
    """Orthogonality of noise and gradients.

    Statement: E|sum (zeta + grad f_i(w~))|^2 = E|sum zeta|^2 + E|sum grad f_i(w~)|^2 for K >= 2.
    Assumptions: independent mean-zero noise.
    Method: on a quadratic with curvature a the cross term is 2 E zeta_0 grad(w_1) = -2 a eta s^2, exact enumeration
        and symbolic. For K = 1 no gradient depends on the noise and the identity is Lemma A.3.
    Verdict: repaired: true for K = 1; for K >= 2 the cross term is of order eta L K^2 s^2.
    Reference: Qu et al. 2022, proof of Lemma B.4, step (b).
    """
    a = sp.Symbol("a", positive=True)
    lacking = formula(sp.Symbol("T"), "==", -2 * a * eta * s**2, NAMES)
    any_step = _two_steps(a, s, eta)
    cross = any_step["update"] - any_step["noise"] - any_step["gradients"]
    certificate = require_identity(cross, lacking.right, "cross term of the enumeration")
    m = _two_steps(Fraction(-1), Fraction(1), Fraction(1, 10))
    require(m["update"] != m["noise"] + m["gradients"], "the identity fails")
    return repaired(
        _MOMENT,
        "the identity for a single local step; for two and a quadratic of curvature $a$ it lacks the term "
        f"${lacking.latex}$",
        certificate + ", two local steps; for K = 1 the gradients are not random given w, and E zeta = 0",
        ratio(m["update"], m["noise"] + m["gradients"]),
        moments={name: str(value) for name, value in m.items()},
    )


def _crossing(w, rho, lr, server) -> dict[str, Fraction]:
    """One exact FedSAM round (N = K = 1) on x^2/2 from w > 0: values of F and of F(w + delta) before and after."""
    following = fedsam_round(w, [quadratic(Fraction(1), Fraction(0))], rho, lr, server, 1).w
    value = {"w": w, "next": following}
    plain = {name: x**2 / 2 for name, x in value.items()}
    sharp = {name: (abs(x) + rho) ** 2 / 2 for name, x in value.items()}
    return {
        "next": following,
        "F": plain["w"],
        "F_next": plain["next"],
        "sharp": sharp["w"],
        "sharp_next": sharp["next"],
        "slope": abs(w) + rho,
    }


def _right_b5(value, squared_gradient, rho, lr, server) -> Fraction:
    """Right side of Lemma B.5 for N = K = L = 1 and sigma_g = sigma_l = 0."""
    bracket = 180 * lr**2 * rho**2 + 120 * lr**6 * rho**2 + 16 * lr**4 * rho**2
    return value - server * lr * (Fraction(1, 2) - 30 * lr**2) * squared_gradient + server * lr * bracket


_CROSSING = {"w": "1/100", "rho": "1/2", "eta_l": "1/100", "eta_g": 100, "N": 1, "K": 1, "L": 1}


def _replay_descent(evidence) -> Replay:
    v = instance(evidence)
    run = _crossing(v["w"], v["rho"], v["eta_l"], v["eta_g"])
    right = _right_b5(run["sharp"], run["slope"] ** 2, v["rho"], v["eta_l"], v["eta_g"])
    steps = {"eta_l <= 1/(10KL)": 10 * v["eta_l"] <= 1, "eta_g eta_l <= 1/(KL)": v["eta_g"] * v["eta_l"] <= 1}
    plain = _right_b5(run["F"], v["w"] ** 2, v["rho"], v["eta_l"], v["eta_g"])
    return Replay({**steps, "the unperturbed version fails too": run["F_next"] > plain}, run["sharp_next"], right)


@check("qu22-lemB.5", replay=_replay_descent)
def descent_lemma() -> Verdict:
    """Descent lemma of FedSAM.

    Statement: E f~(w~^{r+1}) <= f~(w~^r) - K eta_g eta_l (1/2 - 30 K^2 L^2 eta_l^2)|grad f~|^2 + K eta_g eta_l
        (printed bracket), and the same with F(w^r) and grad F(w^r).
    Assumptions: A1-A3, eta_l <= 1/(10KL), eta_g eta_l <= 1/(KL).
    Method: N = K = 1, F = x^2/2, start near the minimiser: the perturbed gradient w + rho is not small, the step
        crosses the minimiser and both F and F(w + delta) increase. Exact. Repair: descent lemma for F with an L^2
        rho^2 term.
    Verdict: repaired.
    Reference: Qu et al. 2022, Lemma B.5.
    """
    v = instance(_CROSSING)
    run = _crossing(v["w"], v["rho"], v["eta_l"], v["eta_g"])
    right = _right_b5(run["sharp"], run["slope"] ** 2, v["rho"], v["eta_l"], v["eta_g"])
    require(run["sharp_next"] > right, "left exceeds right")
    return repaired(_CROSSING, *corrected.descent(), ratio(run["sharp_next"], right))


def _replay_identity(evidence) -> Replay:
    v = instance(evidence)
    run = _crossing(v["w"], v["rho"], v["eta_l"], v["eta_g"])
    moved = run["next"] + v["rho"] * sign(run["next"]) - v["w"] - v["rho"]
    return Replay({"w > 0": v["w"] > 0, "one client": BY_CONSTRUCTION}, moved, run["next"] - v["w"], "==")


@check("qu22-lemB.5-id", replay=_replay_identity)
def perturbed_iterates_move_alike() -> Verdict:
    """Movement of the perturbed iterates.

    Statement: E F(w^{r+1}) = E f~(w~^{r+1}) and w~^{r+1} - w~^r = eta_g Delta^r.
    Assumptions: none beyond the definitions.
    Method: the exact step of qu22-lemB.5 across the minimiser: delta turns round, so that w~ moves by 2 rho more; and
        F(w) = w^2/2 differs from (w + rho)^2/2. Repair: the difference delta^{r+1} - delta^r is kept.
    Verdict: repaired.
    Reference: Qu et al. 2022, first lines of the proof of Lemma B.5.
    """
    w, old, new = sp.symbols("w delta delta_next")
    update, server, moved, turn = sp.symbols("update eta_g moved turn", positive=True)
    names = {update: r"\Delta^r", old: r"\delta^r", new: r"\delta^{r+1}", moved: r"\tilde w^{r+1}-\tilde w^r"}
    moves = formula(moved, "==", server * update + new - old, names)
    widest = formula(turn, "<=", 2 * rho, {turn: r"\|\delta^{r+1}-\delta^r\|"})
    certificate = require_identity((w + server * update + new) - (w + old), moves.right, "w~ moves by")
    both = require_identity(widest.right, (old - new).subs({old: rho, new: -rho}), "two perturbations at most apart")
    v = instance(_CROSSING)
    run = _crossing(v["w"], v["rho"], v["eta_l"], v["eta_g"])
    require(run["F_next"] != run["sharp_next"], "F(w) differs from F(w + delta)")
    return repaired(
        _CROSSING,
        f"${moves.latex}$ with ${widest.latex}$",
        f"{certificate}; {both}",
        None,
        attained=widest.attained_at({"turn": v["rho"] * (1 - sign(run["next"])), "rho": v["rho"]}),
    )


def _sampled(values: list[Fraction], size: int) -> tuple[Fraction, Fraction]:
    """(exact E|mean over a uniform subset|^2, printed right side) for scalar client directions without noise."""
    subsets = list(combinations(values, size))
    exact = sum((sum(chosen) / size) ** 2 for chosen in subsets) / len(subsets)
    count = len(values)
    first = sum(x**2 for x in values) / (count * size)
    return exact, first + Fraction(size - 1, size * count**2) * sum(values) ** 2


def _replay_sampling(evidence) -> Replay:
    v = instance(evidence)
    exact, right = _sampled(v["directions"], int(v["S"]))
    return Replay(
        {"uniform subset without replacement": BY_CONSTRUCTION, "no noise": BY_CONSTRUCTION},
        exact,
        v["scale"] * right,
        v["relation"],
    )


def _sampled_moment(m: sp.Expr) -> tuple[Formula, str]:
    """Second moment when the mean of the cohort's inverse size is m, and its certificate."""
    bound = formula(moment, "<=", eta**2 * (K * m * s**2 + m * q / N + (1 - m) * t / N**2), NAMES)
    exact = eta**2 * (K * m * s**2 + m * q / N + (1 - m) * (t - q) / (N * (N - 1)))
    spread = eta**2 * (1 - m) * (N * q - t) / (N**2 * (N - 1))
    room = require_identity(bound.room.subs(moment, exact), spread, "right - exact")
    return bound, f"{room} >= 0 by {lagrange(MEAN_SQUARE)}"


@check("qu22-lemB.7", replay=_replay_sampling)
def second_moment_under_sampling() -> Verdict:
    """Second moment under client sampling.

    Statement: E|Delta|^2 <= K eta^2 s^2/S + (eta^2/(NS)) sum|x_i|^2 + ((S-1) eta^2/(S N^2))|sum x_i|^2 for a uniform
        S-subset, and the paper's chain has equality (sampling without replacement).
    Assumptions: fixed directions x_i, independent noise.
    Method: symbolic: right - exact = (S-1)/(S N^2 (N-1)) (N sum|x_i|^2 - |sum x_i|^2) >= 0; enumeration for N <= 5.
    Verdict: repaired: the inequality is true, the equality is that of sampling with replacement (S = N = 2, x = (1,
        -1) has 0 on the left and 1/2 on the right).
    Reference: Qu et al. 2022, Lemma B.7.
    """
    bound, certificate = _sampled_moment(1 / S)
    for total in range(2, 6):
        values = [Fraction(3 * i * i - 4) for i in range(total)]
        known = {"K": 1, "eta": 1, "s": 0, "N": total, "q": sum(x**2 for x in values), "t": sum(values) ** 2}
        for chosen in range(1, total + 1):
            left, _ = _sampled(values, chosen)
            weight = Fraction(chosen - 1, chosen * total**2 * (total - 1))
            room = bound.at({**known, "S": chosen})[1] - left
            require(room == weight * (total * known["q"] - known["t"]), f"enumeration N = {total}, S = {chosen}")
    equal = {"K": 3, "eta": 2, "s": 5, "N": 4, "q": 36, "t": 144}  # x_i = 3
    for chosen in (1, 3):
        bound.attained_at({**equal, "S": chosen, "moment": 4 * (Fraction(75, chosen) + 9)})
    return repaired(
        {"directions": [1, -1], "S": 2, "scale": 1, "relation": "=="},
        f"{FIXED.words}: ${bound.latex}$, with equality for a single sampled client, for equal $x_i$, or with "
        "replacement",
        certificate + "; enumerated for N = 2..5",
        None,
    )


#: with one local run the gradients of later steps depend on earlier noise, which qu22-lemB.4 refutes the bound with
FIXED = hypotheses.FIXED_DIRECTIONS


def _inverse_cohort(count: int, rate: Fraction) -> tuple[Fraction, Fraction]:
    """(E[1/|S|] given |S| >= 1, probability of an empty round) for independent participation."""
    weights = [comb(count, k) * rate**k * (1 - rate) ** (count - k) for k in range(count + 1)]
    present = 1 - weights[0]
    return sum(w / k for k, w in enumerate(weights) if k) / present, weights[0]


def _replay_bernoulli(evidence) -> Replay:
    v = instance(evidence)
    inverse, _ = _inverse_cohort(int(v["N"]), v["rate"])
    return Replay(
        {"independent participation, empty rounds redrawn": BY_CONSTRUCTION}, inverse, 1 / (v["N"] * v["rate"])
    )


@check("qu22-lemB.7-sampling", replay=_replay_bernoulli)
def sampling_of_the_experiments() -> Verdict:
    """Independent participation against a fixed cohort size.

    Statement: the analysis with fixed S = 20 covers independent participation with probability 0.2 of N = 100
        clients.
    Assumptions: empty rounds are redrawn.
    Method: the noise part of Lemma B.7 is s^2 K eta^2 E[1/|S|]; exact rational expectation over the binomial law.
    Verdict: repaired: E[1/|S|] is 4 per cent above 1/20, so the bound with S = 20 is not covered; it holds with 1/S
        replaced by E[1/|S|], because given its size the cohort is a uniform subset.
    Reference: Qu et al. 2022, Section 5.1 against Appendix B.3.
    """
    inverse, empty = _inverse_cohort(100, Fraction(1, 5))
    fixed = Fraction(1, 20)
    require(inverse > fixed, f"E[1/|S|] exceeds {fixed}")
    s, s2 = sp.symbols("a b", positive=True)
    jensen = require_identity(
        (1 / s + 1 / s2) / 2 - 2 / (s + s2), (s - s2) ** 2 / (2 * s * s2 * (s + s2)), "convexity of 1/S"
    )
    bound, certificate = _sampled_moment(size)
    return repaired(
        {"N": 100, "rate": "1/5"},
        f"{FIXED.words}, Lemma B.7 holds with the mean of the inverse cohort size: ${bound.latex}$",
        f"given |S_r| the cohort is a uniform subset, and both sides are affine in 1/|S_r|: {certificate}; {jensen}",
        float(inverse / fixed),
        expected_inverse_size=float(inverse),
        probability_of_an_empty_round=float(empty),
    )
