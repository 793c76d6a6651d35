"""Theorem 2 and what it is used for: activation norms against the top eigenvalues of fully connected layers."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import pairwise

import numpy as np
import sympy as sp

from theory.kit.exact import fractions_of, mp, mpf
from theory.kit.formula import Formula, Violated, formula
from theory.kit.search import worst_ratio
from theory.kit.symbolic import combination, identity, total
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, always, check
from theory.yashwanth2023.common import Array, decide_bound, exact, refuted, repaired, softmax, vacuous
from theory.yashwanth2023.kronecker import kronecker_entries
from theory.yashwanth2023.networks import Mlp, digit_batch, trained_mlp

top, mean, S = sp.symbols("top mean S", nonnegative=True)
alpha, count, n, radius = sp.symbols("alpha count n radius", positive=True)  # count: of the batch, n = L - l
NAMES = {top: r"\lambda_{\max}(H_{W_l})", alpha: r"\alpha_l", count: "B", n: "(L-l)", radius: r"\tilde B"}
NAMES |= {mean: r"\frac1B\sum_i\|a^i_{l-1}\|^2", S: r"\sum_i\|a^i_{l-1}\|^2"}


def alpha_bound() -> tuple[Formula, Formula, tuple[str, ...]]:
    """alpha_l for l < L and for l = L, and their certificate; both are suprema, for two classes at equal logits."""
    names = NAMES | {top: r"\lambda_{\max}(M_l)"}
    bound = formula(top, "<=", (radius**2 / n) ** n / 2, names)
    last = formula(top, "<=", sp.Rational(1, 2), names | {top: r"\lambda_{\max}(M_L)"})
    level, factors = sp.symbols("level factors", positive=True)  # mean of the ||W_j||_F^2, product of the y_j
    largest = bound.right.subs(radius, sp.sqrt(n * level))
    steps = combination(
        largest - top,
        [
            (
                1,
                last.right * level**n * factors - top,
                "man-eq49's factor <= 1/2 and ||J||^2 <= the product of the norms",
            ),
            (last.right * level**n, 1 - factors, "prod y_j <= 1"),
        ],
    )
    half = last.attained_at({top: sp.Matrix(2, 2, [Q(1, 4), -Q(1, 4), -Q(1, 4), Q(1, 4)]).norm(2)})
    deep = bound.attained_at({top: last.right * sp.Rational(9, 2) ** 2, radius: 3, n: 2})  # ||W_j||_F^2 = 9/2 twice
    return bound, last, (*alpha_steps(), f"{steps}, n mean of the norms <= B~^2; suprema {half} and {deep}")


def explicit_alpha(squared_radius: float, depth: int, layer: int) -> float:
    """alpha_l = (1/2) (B~^2 / (L-l))^(L-l), and 1/2 for l = L: a bound of lambda_max(M_l) on the ball of radius B~."""
    above = depth - layer
    return 0.5 * (squared_radius / above) ** above if above else 0.5


def alpha_steps() -> tuple[str, ...]:
    """Certificate of ``explicit_alpha`` for ReLU networks with cross-entropy."""
    p, y, n = sp.symbols("p y n", positive=True)
    return (
        identity(
            sp.Rational(1, 2) - 2 * p * (1 - p),
            2 * (p - sp.Rational(1, 2)) ** 2,
            label="Gershgorin row i of diag(p) - p p^T",
        )
        + ", so lambda_max(diag(p) - p p^T) <= 1/2",
        "M_l = J^T (diag(p) - p p^T) J with J = W_L D_{L-1} ... W_{l+1} D_l, D diagonal with entries 0 or 1, hence "
        "lambda_max(M_l) <= ||J||^2/2 <= (1/2) prod_{j>l} ||W_j||_F^2",
        "AM-GM for n = L - l factors over their mean, y_j: y <= e^(y - 1), as both are 1 at y = 1 and "
        + identity(sp.diff(sp.exp(y - 1) - y, y), sp.exp(y - 1) - 1, label="d/dy (e^(y-1) - y)")
        + ", of the sign of y - 1; "
        + identity(total(y - 1, {y: n}, n), 0, label="sum of the y_j - 1, sum y_j = n")
        + ", so prod y_j <= 1: prod ||W_j||_F^2 <= (sum ||W_j||_F^2 / (L-l))^(L-l) <= (B~^2/(L-l))^(L-l)",
    )


def relu_jump(side: int) -> object:
    """M_1 of the network logits = (relu(z), -relu(z)) at z = side * 10^-40, to 50 digits."""
    z = side * mp.mpf(10) ** -40
    if z <= 0:
        return mp.mpf(0)
    p = 1 / (1 + mp.exp(-2 * z))
    return 4 * p * (1 - p)


def _replay_jump(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    jump = relu_jump(+1) - relu_jump(-1)
    ok = {"||theta|| <= B~": 2 * c["W2"][0] ** 2 <= c["B"] ** 2, "points 2e-40 apart": BY_CONSTRUCTION}
    return Replay(ok, jump, mpf(c["tolerance"]))


@check("man-alpha-finite", mutations=((0.9, "refuted"), (1.1, "repaired")), replay=_replay_jump)
def alpha_is_finite(scale: float = 1.0) -> Verdict:
    """Continuity of M_l in theta and finiteness of alpha_l.

    Statement: the entries of M_l(x, theta) are continuous in theta, so lambda_max(M_l) attains a finite supremum
    alpha_l on the compact ball ||theta|| <= B~.
    Assumptions: ReLU network (supplement Sec. 2), cross-entropy.
    Method: logits (relu(z), -relu(z)): M_1 is 0 for z < 0 and tends to 1 for z -> 0+, so it jumps; an explicit bound by
    Gershgorin and AM-GM; scaled constants are tested at a point of the ball where the bound is nearly attained (C = 2).
    Verdict: repaired. Not continuous, so compactness gives nothing; the supremum is finite all the same, with the
    explicit alpha_l = (1/2)(B~^2/(L-l))^(L-l) for l < L and 1/2 for l = L, sharp for C = 2.
    Reference: Yashwanth et al. 2024, supplement eq. (50) and the text before it.
    """
    bound, last, steps = alpha_bound()
    size, gate = 3.0, 1e-3
    column = np.sqrt(size**2 - gate**2) / np.sqrt(2)  # W_2 = column * (1, -1)^T, b_1 = gate, all else 0
    p = softmax(np.array([column * gate, -column * gate]))
    attained = column**2 * (p.sum() - (p[0] - p[1]) ** 2)
    claimed = float(bound.at({radius: Q(size), n: 1})[1])
    if attained > float(exact(scale)) * claimed:
        scaled = float(exact(scale)) * claimed
        return refuted({"W2": [column, -column], "b1": gate, "norm": size, "M_1": attained, "scaled_alpha": scaled})
    return repaired(
        {"W2": [Q(1), Q(-1)], "B": Q(2), "z": ["1e-40", "-1e-40"], "tolerance": Q(1, 2)},
        rf"The supremum $\alpha_l$ is finite for ReLU networks, although $M_l$ is discontinuous in $\theta$: on "
        rf"$\|\theta\|_2\le\tilde B$ ${bound.latex}$ for $l<L$, and ${last.latex}$.",
        *steps,
        f"b_1 = {gate:g} on the sphere of radius {size:g} attains {attained / claimed:.9f} of it",
        margin=2.0,
        repair={"attained_over_bound": attained / claimed},
    )


def _one_class(evidence) -> Replay:
    """0 < alpha_l against its value where the softmax has one class: every M_l = J^T (1 - 1) J vanishes."""
    classes = int(evidence["counterexample"]["classes"])
    p = [Q(1, classes)] * classes  # softmax of equal logits; the only distribution on one class
    spread = max(p[i] - sum(q * q for q in p) for i in range(classes))  # top eigenvalue of diag(p) - p p^T there
    return Replay(
        {"a classifier has a class": always(classes >= 1), "softmax sums to 1": always(sum(p) == 1)}, 0, spread, "<"
    )


@check("man-alpha-positive", replay=_one_class)
def alpha_is_positive() -> Verdict:
    """alpha_l is positive.

    Statement: alpha_l^i = sup over the ball of lambda_max(M_l) is positive, because a negative value would make the
    loss concave.
    Assumptions: ReLU network with biases, B~ > 0, any number of classes.
    Method: with one class M_l = 0, so alpha_l = 0 (exact). For C >= 2 a point of the ball with one open unit per layer:
    M_l has the entry t^(2(L-l)) [(p1+p2)(1-p1-p2) + 4 p1 p2]/2, positive because softmax probabilities are. The
    printed reason is no proof: it excludes negative values only, and a negative top eigenvalue in one layer's block
    does not make the loss concave (tanh, man-M-psd, where the full Hessian is indefinite).
    Verdict: repaired: true for C >= 2 by the construction, false for C = 1; the printed "because" is refuted.
    Reference: Yashwanth et al. 2024, supplement, text after eq. (50).
    """
    p1, p2 = sp.symbols("p1 p2", positive=True)
    curvature = identity(
        p1 + p2 - (p1 - p2) ** 2, (p1 + p2) * (1 - p1 - p2) + 4 * p1 * p2, label="(e1-e2).(diag(p) - p p^T)(e1-e2)"
    )
    classes = formula(sp.Symbol("C", positive=True), ">=", 2)
    fewest, spread = int(classes.right), {}
    for c in (fewest - 1, fewest):
        p = sp.Matrix([sp.Rational(1, c)] * c)  # softmax of equal logits
        spread[c] = max((sp.diag(*p) - p * p.T).eigenvals())
    if spread[fewest - 1] != 0 or not spread[fewest] > 0:
        raise Violated(f"largest eigenvalue of diag(p) - p p^T by the number of classes: {spread}")
    z, v = sp.symbols("z v", real=True)
    digits, loss = 30, sp.log(1 + sp.exp(-v * sp.tanh(z)))
    full = sp.hessian(loss, (z, v)).subs({z: sp.Rational(-3, 2), v: 1}).evalf(digits)
    if not (full[0, 0] < 0 < -full.det()):
        raise ArithmeticError("the tanh point no longer has a negative block and an indefinite Hessian")
    return repaired(
        {"classes": 1, "softmax": 1, "alpha": 0},
        rf"$\alpha_l$ is positive for ${classes.latex}$ classes and positive $\tilde B$, by a point of the ball at "
        "which one unit of every layer is open. The printed reason does not show it: a negative block of one layer "
        "does not make the loss concave.",
        "W_j = t e1 e1^T for l < j < L, W_L = (t/sqrt 2)(e1 - e2) e1^T, b_l = s e1 and -s in the other units of "
        "every layer above, all else 0: unit 1 is open in every layer, the rest closed, J = (t^(L-l)/sqrt 2)(e1 - e2) "
        "e1^T, and the norm is below B~ for small s, t > 0",
        curvature,
        "p1, p2 > 0 and p1 + p2 <= 1, so the entry is positive and lambda_max(M_l) > 0",
        tanh_point={"block_entry": float(full[0, 0]), "full_determinant": float(full.det()), "digits": digits},
        largest_eigenvalue_by_classes=spread,
    )


def layer_top_ratio(parameters: Array, widths: tuple[int, ...], layer: int) -> float:
    """lambda_max(H_{W_l}) over alpha_l ||a_{l-1}||^2 for one sample, alpha_l at B~ = ||theta|| (ReLU, analytic)."""
    position, weights, biases = 0, [], []
    for n, m in pairwise(widths):
        weights.append(parameters[position : position + n * m].reshape(m, n))
        biases.append(parameters[position + n * m : position + n * m + m])
        position += n * m + m
    below = parameters[position:]
    squared_norm, jacobian, norm_at_layer = float(parameters[:position] @ parameters[:position]), None, 0.0
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        if index == layer:
            norm_at_layer = float(below @ below)
        z = weight @ below + bias
        jacobian = weight @ jacobian if jacobian is not None else (np.eye(len(z)) if index == layer else None)
        if index < len(weights):
            below = np.maximum(z, 0)
            jacobian = (z > 0)[:, None] * jacobian if jacobian is not None else None
    p = softmax(z)
    M = jacobian.T @ (np.diag(p) - np.outer(p, p)) @ jacobian
    right = explicit_alpha(squared_norm, len(weights), layer) * norm_at_layer
    return float(np.linalg.eigvalsh(M)[-1] * norm_at_layer / right) if right > 0 else np.nan


def _draw_theorem_two(axes, evidence) -> None:
    rows = evidence["digits"]
    axes.semilogy([r["layer"] for r in rows], [r["measured"] for r in rows], "o", label="measured, power iteration")
    axes.semilogy([r["layer"] for r in rows], [r["bound_mean"] for r in rows], "s", label="bound with 1/B")
    axes.semilogy([r["layer"] for r in rows], [r["bound_sum"] for r in rows], "^", label="bound as printed (sum)")
    axes.set(xlabel="layer", ylabel="top eigenvalue of the layer block")
    axes.legend()


def digits_rows(network: Mlp, count: int = 150) -> list[dict[str, float]]:
    """Measured lambda_max(H_{W_l}) of the batch, both bounds with alpha_l at B~ = ||theta||, layers 2..L."""
    inputs, labels = digit_batch(count, network.weights[0].shape[1])
    rows = []
    for layer in range(2, network.depth + 1):
        total = float((network.trace(inputs)[1][layer - 1] ** 2).sum())
        alpha = explicit_alpha(network.squared_norm, network.depth, layer)
        dense = float(np.linalg.eigvalsh(network.layer_hessian(layer, inputs, labels))[-1])
        measured = network.layer_top(layer, inputs, labels)
        if abs(dense - measured) > 1e-5 * abs(dense):
            raise ValueError(f"power iteration {measured} against dense {dense}")
        rows.append(
            {"layer": layer, "measured": measured, "bound_mean": alpha * total / count, "bound_sum": alpha * total}
        )
    return rows


@check("man-thm2", mutations=((0.9, "refuted"), (1.1, "proved")), figure=_draw_theorem_two)
def theorem_two(scale: float = 1.0) -> Verdict:
    """Theorem 2: activation norms bound the top eigenvalue of a fully connected layer's Hessian.

    Statement: if ||theta|| <= B~ there is alpha_l > 0 with lambda_max(H_{W_l}(L)) <= alpha_l sum_i ||a_{l-1}^i||^2, l =
    2..L.
    Assumptions: ReLU classifier, cross-entropy, batch mean, away from kinks.
    Method: man-eq7 over the batch, man-eq49, and the explicit alpha_l of man-alpha-finite; search for the worst ratio
    over small networks; power iteration and dense Hessians on a trained digits network; extremal case l = L, two equal
    logits, one sample, where lambda_max = ||a||^2/2 is attained.
    Verdict: proved, with alpha_l = (1/2)(B~^2/(L-l))^(L-l). For smooth activations with |sigma'| <= 1 and bounded
    sigma'' alpha_l is finite by continuity. How loose it is on a real network: man-B-dependence.
    Reference: Yashwanth et al. 2024, Theorem 2; supplement Theorem 5, eqs. (45)-(53).
    """

    _, last, steps = alpha_bound()
    bound, per_sample = formula(top, "<=", alpha * S, NAMES), sp.Symbol("per_sample", nonnegative=True)
    summed = combination(
        bound.room,
        [
            (1, per_sample - top, "man-eq7: lambda_max of a mean <= mean of lambda_max"),
            (1, alpha * S / count - per_sample, "man-eq49, lambda_max(M_l) <= alpha_l"),
            (alpha * S / count, count - 1, "man-thm2-sum-mean: B >= 1"),
        ],
    )

    def extremal(case) -> tuple[Q, Q]:
        p, total = case["softmax"], sum(v * v for v in case["a"])
        return (p[0] * (1 - p[0]) + p[0] * p[1]) * total, exact(bound.at({alpha: last.right, S: total})[1])

    cases = ({"softmax": [Q(1, 2), Q(1, 2)], "a": [Q(1), Q(2)]},)
    widths = (2, 2, 2, 2)
    size = sum(low * high + high for low, high in pairwise(widths)) + widths[0]
    searches = {}
    if exact(scale) == 1:
        for layer in (2, 3):
            found = worst_ratio(
                lambda v, layer=layer: layer_top_ratio(v, widths, layer),
                lambda rng: rng.standard_normal(size) * rng.choice([0.3, 1, 3]),
                draws=800,
                restarts=4,
                climb=400,
            )
            if found.value > 1 + 1e-9:
                raise ValueError(f"the proved bound fails numerically: {found.value}")
            searches[f"layer_{layer}"] = {"worst_ratio": found.value, "evaluations": found.admissible}
    rows = digits_rows(trained_mlp().network)
    return decide_bound(
        cases,
        extremal,
        scale,
        (summed, *steps),
        search=searches,
        digits=rows,
    )


@check("man-thm2-sum-mean", mutations=((0.9, "refuted"), (1.1, "proved")))
def sum_or_mean(scale: float = 1.0) -> Verdict:
    """The statement of Theorem 2 has a sum, its proof a mean.

    Statement: both (alpha_l/B) sum_i ||a^i||^2 and alpha_l sum_i ||a^i||^2 bound lambda_max(H_{W_l}).
    Assumptions: alpha_l >= 0, B >= 1.
    Method: the difference is alpha_l S (B-1)/B >= 0; a scaled sum is tested for B = 1, where the two are equal.
    Verdict: proved. The printed sum is B times larger, a factor of 50 at the batch size of Sec. 4.
    Reference: Yashwanth et al. 2024, Theorem 2 against supplement eq. (53).
    """
    larger = formula(alpha * S / count, "<=", alpha * S, NAMES)
    return decide_bound(
        ({"B": Q(1), "alpha": Q(1, 2), "S": Q(3)}, {"B": Q(50), "alpha": Q(1, 2), "S": Q(3)}),
        lambda c: tuple(map(exact, larger.at({alpha: c["alpha"], S: c["S"], count: c["B"]}))),
        scale,
        (combination(larger.room, [(alpha * S / count, count - 1, "B >= 1")]),),
        factor_by_batch={str(b): b for b in (1, 2, 10, 50, 128)},
    )


U = (Q(1), Q(-1))  # W_2 = u u^T, so that equal hidden units give equal logits


def two_unit_network(c: Q, epsilon: Q = Q(1)) -> dict[str, Q]:
    """x = 1, W_1 = c eps (1, 1)^T, W_2 = u u^T / c, u = (1, -1), both labels once: exact curvature numbers.

    Logits are (0, 0), p = (1/2, 1/2), the mean residual is 0, so the Hessian is the positive semidefinite J^T H_z J.
    """
    hidden = [c * epsilon, c * epsilon]
    W2 = [[U[i] * U[j] / c for j in range(2)] for i in range(2)]
    Hz = [[Q(1, 4) * U[i] * U[j] for j in range(2)] for i in range(2)]
    M = [[sum(W2[k][i] * Hz[k][m] * W2[m][j] for k in range(2) for m in range(2)) for j in range(2)] for i in range(2)]
    norm = sum(h * h for h in hidden)
    first = sum(M[0][j] * U[j] for j in range(2)) / U[0]  # eigenvalue of M along u; M has rank one
    if [sum(M[i][j] * U[j] for j in range(2)) for i in range(2)] != [first * v for v in U]:
        raise ValueError("u is not an eigenvector")
    return {
        "penalty": norm / 2,
        "activation_norm": norm,
        "logit_gap": sum(W2[0][j] * hidden[j] for j in range(2)) - sum(W2[1][j] * hidden[j] for j in range(2)),
        "top_W1": first,
        "top_W2": Q(1, 2) * norm,
        "trace": 2 * first + Q(1, 2) * norm + Q(1, 2),
        "theta_squared": norm + sum(e * e for row in W2 for e in row),
    }


def _replay_layers(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    values = two_unit_network(Q(1), c["epsilon"])
    ok = {
        "||theta|| <= B~": values["theta_squared"] <= c["B"] ** 2,
        "alpha at least the supremum on the ball": c["alpha"] >= c["B"] ** 2 / 2,
        "pre-activations positive": c["epsilon"] > 0,
    }
    return Replay(ok, values["top_W1"], c["alpha"] * values["activation_norm"])


@check("man-thm2-layers", replay=_replay_layers)
def which_layers() -> Verdict:
    """Which Hessian blocks the penalised activations control.

    Statement: the penalised activations are the inputs of layers 2..L, and the blocks of layer 1 and of the biases are
    controlled by the same argument.
    Assumptions: ReLU network in a ball of radius B~.
    Method: x = 1, hidden units eps (1, 1), W_2 = u u^T with u = (1, -1): lambda_max(H_{W_1}) = lambda_max(H_{b_1}) = 2
    for every eps while the penalised activations vanish; the joint block of (W_l, b_l) as a symbolic quadratic form.
    Verdict: repaired. Layer 1 has input x, which no training changes, and a bias sees the input 1: the bound of the
    joint block is alpha_l (||a_{l-1}||^2 + 1) and, for l = 1, alpha_1 (||x||^2 + 1).
    Reference: Yashwanth et al. 2024, Theorem 2 (l = 2..L) and eq. (16) (l = 1..L).
    """
    values = two_unit_network(Q(1), Q(1, 10**4))
    joint = formula(top, "<=", alpha * (mean + 1), NAMES | {top: r"\lambda_{\max}(H_{(W_l,b_l)})"})
    alone = formula(top, "<=", alpha, NAMES | {top: r"\lambda_{\max}(H_{b_l})"})
    a2, per_sample = sp.symbols("a2 per_sample", nonnegative=True)
    inputs = total(a2 + 1, {a2: S}, count)  # sum of the ||(a, 1)||^2
    blocks = combination(
        joint.room.subs(mean, S / count),
        [
            (1, per_sample - top, "man-eq7: lambda_max of a mean <= mean of lambda_max"),
            (1, alpha * inputs / count - per_sample, "man-eq49 with (a, 1) in place of a"),
        ],
    )
    return repaired(
        {"epsilon": Q(1, 10**4), "B": Q(3), "alpha": Q(5), "top_W1": values["top_W1"]},
        f"${joint.latex}$, in the first layer with the inputs in place of the activations, and ${alone.latex}$: the "
        "penalty lowers none of them to zero.",
        "(W_l, b_l) is a matrix of weights with the input (a, 1), so its block is M_l (x) (a, 1)(a, 1)^T by man-lem1",
        *(entry.evidence["certificate"] for entry in kronecker_entries(sp.Integer(1))),
        blocks,
        identity(alone.right, joint.right.subs(mean, 0), label="the bias is the joint block with input (0, 1)"),
        margin=float(values["top_W1"] / (5 * values["activation_norm"])),
        values=values,
    )


def _replay_mechanism(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    before, after = two_unit_network(c["c_before"]), two_unit_network(c["c_after"])
    ok = {
        "same logits, hence same loss": always(before["logit_gap"] == after["logit_gap"] == 0),
        "activation norms fell": after["penalty"] < before["penalty"],
        "mean residual 0 (both labels once), so H >= 0 and lambda_max(H) <= trace": BY_CONSTRUCTION,
    }
    return Replay(ok, after["top_W1"], before["trace"])


def rescaled(network: Mlp, c: float) -> Mlp:
    """Same function: hidden pre-activations times c, last weights divided by c (ReLU)."""
    weights = [network.weights[0] * c, *network.weights[1:-1], network.weights[-1] / c]
    biases = [*(b * c for b in network.biases[:-1]), network.biases[-1]]
    return Mlp(tuple(weights), tuple(biases), network.activation)


def rescaling_rows(factors: tuple[float, ...] = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)) -> list[dict[str, float]]:
    """Penalty, norms and top eigenvalues of a trained digits network along the function-preserving rescaling."""
    base, (inputs, labels) = trained_mlp(widths=(12, 10, 10)).network, digit_batch(150, 12)
    rows = []
    for c in factors:
        network = rescaled(base, c)
        matrix, _ = network.full_hessian(inputs, labels)
        rows.append({
            "c": c,
            "loss": float(network.loss_from(1, network.trace(inputs)[0][0], labels)),
            "penalty": float(network.activation_penalty(inputs)),
            "top_W1": network.layer_top(1, inputs, labels),
            "top_W2": network.layer_top(2, inputs, labels),
            "top": float(np.linalg.eigvalsh(matrix)[-1]),
            "trace": float(np.trace(matrix)),
            "norm": network.squared_norm**0.5,
        })  # fmt: skip
    return rows


def _draw_mechanism(axes, evidence) -> None:
    rows = evidence["digits"]
    for key, label in (("penalty", "L^act"), ("top_W1", "layer 1"), ("top_W2", "layer 2"), ("top", "overall")):
        axes.loglog([r["c"] for r in rows], [r[key] for r in rows], "o-", label=label)
    axes.set(xlabel="rescaling c (same function, same loss)", ylabel="penalty and top eigenvalues")
    axes.set_xticks([r["c"] for r in rows], [str(r["c"]) for r in rows])
    axes.minorticks_off()
    axes.legend()


@check("man-thm2-mechanism", replay=_replay_mechanism, figure=_draw_mechanism)
def mechanism() -> Verdict:
    """Lower activation norms, lower top eigenvalues?

    Statement: at fixed loss, decreasing the activation norms decreases lambda_max(H_{W_l}) for every layer and thereby
    lambda_max(H).
    Assumptions: ReLU network, cross-entropy.
    Method: function-preserving rescaling (W_1, b_1) -> c (W_1, b_1), W_2 -> W_2/c. Exact two-unit network: c from 1 to
    1/2 divides the penalty by 4, multiplies lambda_max(H_{W_1}) by 4 and lifts lambda_max(H) from at most 11/2 to at
    least 8. The same sweep on a trained digits network by power iteration and dense Hessians; block scaling
    symbolically.
    Verdict: repaired. The penalty moves curvature from a layer to the one below it; at fixed function the product of
    the two layers' top eigenvalues does not change, and the overall one has an interior minimum in c. The statement is
    true for layer l alone with the layers above it held fixed.
    Reference: Yashwanth et al. 2024, Abstract, Secs. 3.2.3-3.2.4.
    """
    before, after = two_unit_network(Q(1)), two_unit_network(Q(1, 2))
    c = sp.Symbol("c", positive=True)
    h, w_ki, w_lj, a_p, a_q, w, z = sp.symbols("h_kl w_ki w_lj a_p a_q w z", real=True)
    low, high, new = sp.symbols("low high new", real=True)
    names = {low: "H_{W_l}", high: "H_{W_{l+1}}", w: "W_{l+1}"}
    divided = formula(new, "==", w / c, names | {new: "W_{l+1}^+"})
    lower = formula(new, "==", low / c**2, names | {new: "H_{W_l}^+"})
    upper = formula(new, "==", c**2 * high, names | {new: "H_{W_{l+1}}^+"})
    below = lower.holds_at({c: Q(1, 2), low: before["top_W1"], new: after["top_W1"]})
    above = upper.holds_at({c: Q(1, 2), high: before["top_W2"], new: after["top_W2"]})
    rows = rescaling_rows()
    middle = next(row for row in rows if row["c"] == 1.0)
    drift = max(abs(r["top_W1"] * r["top_W2"] / (middle["top_W1"] * middle["top_W2"]) - 1) for r in rows)
    if drift > 1e-4:
        raise ValueError(f"the product of the layers' top eigenvalues changed by {drift}")
    return repaired(
        {"c_before": Q(1), "c_after": Q(1, 2), "before": before, "after": after},
        rf"Let $(W_l,b_l)$ be multiplied by $c$ and ${divided.latex}$ (same function): then ${upper.latex}$ and "
        rf"${lower.latex}$, so the product of their top eigenvalues is invariant. With the layers from $l$ on fixed, "
        r"scaling $a_{l-1}$ down lowers Theorem 2's bound of $H_{W_l}$ in proportion to its squared norm.",
        "open units stay open: relu(c z) = c relu(z) for c > 0, and the logits, hence H_z, do not change",
        identity(divided.right * (c * z), w * z, label="next layer's input c z"),
        identity(
            divided.right.subs(w, w_ki) * h * divided.right.subs(w, w_lj),
            lower.right.subs(low, w_ki * h * w_lj),
            label="term (k, l) of entry (i, j) of M_l = W^T H W, any sizes: M_l -> M_l / c^2, same input of layer l",
        ),
        identity(
            h * (c * a_p) * (c * a_q),
            upper.right.subs(high, h * a_p * a_q),
            label="entry ((k, p), (l, q)) of H (x) a a^T, any sizes: input of layer l+1 -> c a",
        ),
        identity(lower.right * upper.right, low * high, label="product of the two"),
        margin=float(after["top_W1"] / before["trace"]),
        repair={"largest_relative_change_of_product": drift},
        two_units=[below, above],
        digits=rows,
    )


#: E||theta||^2 of the CIFAR-100 model of Table 4 with weights and biases uniform on +-1/sqrt(fan-in): d_l / (3 fan-in)
CIFAR100_INITIAL_SQUARED_NORM = sum(
    size / (3 * fan_in) for size, fan_in in ((4864, 75), (102464, 1600), (614784, 1600), (73920, 384), (19300, 192))
)


def _draw_norms(axes, evidence) -> None:
    for name, run in evidence["runs"].items():
        axes.plot(run["norm_path"], label=name)
    axes.set(xlabel="checkpoint", ylabel="||theta||")
    axes.legend()


@check("man-B-dependence", figure=_draw_norms)
def role_of_norm_bound() -> Verdict:
    """The bound on the parameter norm and the size of the constant it gives.

    Statement: alpha_l depends on B~ >= ||theta|| only through a fixed compact set, so the bound can be used in
    training.
    Assumptions: ||theta|| <= B~ along training.
    Method: explicit alpha_l (sharp up to a limit for C = 2) at the norm reached; digits networks trained with the
    penalty, with weight decay, with both and with neither; measured lambda_max(H_{W_l}) against the bound; growth with
    depth.
    Verdict: vacuous. Nothing in the method keeps ||theta|| in a ball (without weight decay the norm grows all along,
    also with the penalty), and alpha_l grows like B~^(2(L-l)).
    Reference: Yashwanth et al. 2024, Theorems 2-3.
    """
    runs = {}
    for name, zeta, decay in (
        ("plain", 0.0, 0.0),
        ("MAN", 0.15, 0.0),
        ("decay", 0.0, 1e-3),
        ("MAN and decay", 0.15, 1e-3),
    ):
        trained = trained_mlp(zeta=zeta, decay=decay)
        rows = digits_rows(trained.network)
        runs[name] = {
            "norm_path": [norm for _, norm, _ in trained.path[:: len(trained.path) // 6]],
            "final": list(trained.path[-1]),
            "measured_over_bound": [row["measured"] / row["bound_mean"] for row in rows],
        }
    worst = min(min(run["measured_over_bound"]) for run in runs.values())
    cifar = {f"layer {layer}": explicit_alpha(CIFAR100_INITIAL_SQUARED_NORM, 5, layer) for layer in (3, 4, 5)}
    growth = [run["norm_path"][-1] / run["norm_path"][0] for run in runs.values()]
    return vacuous(
        f"measured lambda_max(H_W_l) is down to {worst:.2g} times the bound on a three-layer digits network; at the "
        f"initialisation of the CIFAR-100 model (||theta||^2 = {CIFAR100_INITIAL_SQUARED_NORM:.0f}) alpha is "
        f"{cifar['layer 3']:.3g} "
        f"for the first fully connected layer; norm growth over training (plain, MAN, decay, both): "
        + ", ".join(f"{g:.2f}" for g in growth),
        margin=max(max(run["measured_over_bound"]) for run in runs.values()),
        runs=runs,
        cifar100_alpha=cifar,
        alpha_by_depth={str(depth): explicit_alpha(100.0, depth, 1) for depth in (2, 3, 4, 6, 8)},
    )
