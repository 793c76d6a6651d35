"""Sections 3.2.4-3.2.5: the activation penalty, its weights, and the stationary points of the penalised loss."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import numpy as np
import sympy as sp
import torch

from theory.kit.exact import fractions_of, mp, mpf
from theory.kit.formula import formula
from theory.kit.symbolic import identity
from theory.kit.verdict import Replay, Verdict, check
from theory.yashwanth2023.common import exact, proved, refuted, repaired
from theory.yashwanth2023.convolution import digit_images, trained_cnn
from theory.yashwanth2023.networks import Mlp, digit_batch, trained_mlp


def index_sum(activation: list) -> Q:
    """Right side of eq. (17) with its four sums, activation [B][C][H][W] of rationals."""
    B, C, H, W = len(activation), len(activation[0]), len(activation[0][0]), len(activation[0][0][0])
    total = sum(activation[i][j][k][m] ** 2 for i, j, k, m in product(range(B), range(C), range(H), range(W)))
    return total / (B * C * H * W)


def open_choices() -> dict[str, float]:
    """Size of the penalty on trained digits networks under the readings that the text leaves open."""
    inputs, _ = digit_batch(150, 12)
    network = trained_mlp().network
    pre, post = network.trace(inputs)
    hidden = float(network.activation_penalty(inputs))
    cnn, (images, _) = trained_cnn("flatten"), digit_images()
    first = cnn.below(images)
    return {
        "hidden_layers": hidden,
        "with_logits": hidden + float((pre[-1] ** 2).mean()),
        "with_input": hidden + float((post[0] ** 2).mean()),
        "convolution_before_pooling": float((first**2).mean()),
        "convolution_after_pooling": float((torch.nn.functional.max_pool2d(first, 2) ** 2).mean()),
    }


@check("man-reg-def", mutations=((0.9, "refuted"), (1.1, "refuted")))
def definition(scale: float = 1.0) -> Verdict:
    """Definition of the regulariser: index sums and compact forms agree.

    Statement: E||a_l||^2 = (1/(B C H W)) sum_i ||a_l^i||_F^2 (convolution), (1/(B d)) sum_i ||a_l^i||_2^2 (fully
    connected); f_k = L_k + zeta sum_l E||a_l||^2.
    Assumptions: activations after the non-linearity.
    Method: exact rational arithmetic on integer activations [3][2][2][4]; a fully connected layer is the case H = W =
    1; the mean of squares that a program computes is compared on the same numbers. Readings left open by the text
    (logits z = a_L inside the sum, before or after pooling) are evaluated on trained digits networks.
    Verdict: proved. The sum l = 1..L as printed includes the logits; the released code leaves them out.
    Reference: Yashwanth et al. 2024, eqs. (15)-(18), (63).
    """
    rng = np.random.default_rng(0)
    numbers = rng.integers(-5, 6, (3, 2, 2, 4))
    exactly = [[[[Q(int(e)) for e in row] for row in channel] for channel in sample] for sample in numbers]
    C, H, W, B, d, norm, size, term = sp.symbols("C_l H_l W_l B d_l norm size term", positive=True)
    names = {term: r"\mathbb E\|a_l\|^2", norm: r"\sum_i\|a_l^i\|_F^2", size: r"\sum_i\|a_l^i\|_2^2"}
    conv, full = formula(term, "==", norm / (B * C * H * W), names), formula(term, "==", size / (B * d), names)
    printed, squares = index_sum(exactly), int((numbers**2).sum())
    compact = exact(scale) * conv.right.subs({norm: squares, B: 3, C: 2, H: 2, W: 4})
    if printed != compact:
        return refuted({"activations": numbers.tolist(), "index_sums": printed, "scaled_compact_form": str(compact)})
    program = float((torch.from_numpy(numbers.astype(float)) ** 2).mean())
    if abs(program - float(printed)) > 1e-12:
        raise ValueError("the mean of squares differs from eq. (17)")
    vector = [[[[Q(int(e))]] for e in sample] for sample in numbers[:, 0, 0]]
    full.holds_at({term: index_sum(vector), size: int((numbers[:, 0, 0] ** 2).sum()), B: 3, d: 4})
    return proved(
        "any B, C, H, W: ||a_l^i||_F^2 is the sum of the squared entries over channel, row and column, so both forms "
        "are the same finite sum of squares in another order, divided by the same count B C H W; eq. (18) is the case "
        f"H = W = 1; exact on 48 integers: index sums of eq. (17) = compact form = {printed}",
        margin=1.0,
        open_choices=open_choices(),
    )


#: units per activation map of the CIFAR-100 model of Table 4 (before pooling), hidden layers
CIFAR100_UNITS = {"conv1": 64 * 28 * 28, "conv2": 64 * 10 * 10, "fc1": 384, "fc2": 192}


@check("man-reg-weights", mutations=((0.9, "refuted"), (1.1, "refuted")))
def weights_of_layers(scale: float = 1.0) -> Verdict:
    """The penalty's layer terms and the activation factors of the bounds.

    Statement: E||a_l||^2 = (1/units_l) (1/B) sum_i ||a_l^i||^2, so minimising the term minimises the factor of
    alpha_{l+1}.
    Assumptions: a_l is the input of layer l+1.
    Method: exact identity on rationals; layer constants of the CIFAR-100 model; two hand-made states that differ.
    Verdict: proved for each term. For the sum over layers it says less: the constants 1/units_l differ by a factor 261
    between conv1 and fc2, so the sum can fall while the bound's factor of a layer rises; with max-pooling in between,
    the input of layer l+1 is the pooled map, whose norm is only bounded by that of a_l.
    Reference: Yashwanth et al. 2024, eqs. (16)-(18) against Theorems 2-3.
    """
    activations = [[Q(1), Q(2), Q(-3)], [Q(0), Q(1, 2), Q(4)]]
    B, C, H, W, d, S, factor, norm = sp.symbols("B C_l H_l W_l d_l S factor norm", positive=True)
    term = sp.Symbol("term", positive=True)
    names = {term: r"\mathbb E\|a_l\|^2", factor: r"\frac1B\sum_i\|a_l^i\|_2^2", norm: r"\frac1B\sum_i\|a_l^i\|_F^2"}
    full, conv = formula(term, "==", factor / d, names), formula(term, "==", norm / (C * H * W), names)
    squares = sum(e * e for row in activations for e in row)
    left, right = full.at({term: squares / 6, factor: squares / 2, d: 3})
    if left != exact(scale) * right:
        return refuted({"activations": activations, "term": str(left), "scaled_factor": str(exact(scale) * right)})
    before, after = (
        {"wide": (Q(100), Q(1, 100)), "narrow": (Q(2), Q(1))},
        {"wide": (Q(150), Q(1, 100)), "narrow": (Q(1), Q(1))},
    )

    def penalty(state) -> Q:
        return sum(norm * weight for norm, weight in state.values())

    return proved(
        identity(full.right.subs(factor, S / B), S / (B * d), label="term = factor / units"),
        identity(conv.right.subs(norm, S / B), S / (B * C * H * W), label="term = factor / units, convolution"),
        "a positive constant does not move minimisers of a single term",
        tested_at={"activations": activations, "term": squares / 6, "factor": squares / 2},
        layer_constants=CIFAR100_UNITS,
        spread=Q(max(CIFAR100_UNITS.values()), min(CIFAR100_UNITS.values())),
        sum_can_mislead={
            "penalty": [penalty(before), penalty(after)],
            "sum_of_factors": [sum(n for n, _ in before.values()), sum(n for n, _ in after.values())],
        },
    )


def euler_products(network: Mlp, count: int = 150) -> dict[str, float]:
    """Derivatives of loss and penalty along the function-preserving scaling, by automatic differentiation."""
    inputs, labels = digit_batch(count, network.weights[0].shape[1])
    tensors = [t.clone().requires_grad_() for t in (*network.weights, *network.biases)]
    depth = network.depth
    live = Mlp(tuple(tensors[:depth]), tuple(tensors[depth:]), network.activation)
    loss, penalty = live.loss_from(depth, live.trace(inputs)[0][-1], labels), live.activation_penalty(inputs)
    middle = [torch.zeros_like(w) for w in network.weights[1:-1]]
    direction = [
        network.weights[0],
        *middle,
        -network.weights[-1],
        *network.biases[:-1],
        torch.zeros_like(network.biases[-1]),
    ]

    def along(value: torch.Tensor) -> float:
        gradients = torch.autograd.grad(value, tensors, retain_graph=True, allow_unused=True)
        return float(sum((g * d).sum() for g, d in zip(gradients, direction, strict=True) if g is not None))

    return {"loss": along(loss), "penalty": along(penalty), "twice_penalty": 2 * float(penalty.detach())}


def _replay_stationary(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    xs, w = c["inputs"], c["stationary"]["w"]
    hidden = [max(Q(0), w * x) for x in xs]
    residuals = [Q(1, 2) - 1, Q(1, 2)]  # p - y for the first logit, equal logits because the unit is dead
    gradient = {
        "w": sum(r * c["stationary"]["v"] * x * (w * x > 0) for r, x in zip(residuals, xs, strict=True)),
        "v": sum(r * h for r, h in zip(residuals, hidden, strict=True)),
        "b": sum(residuals),
        "penalty": sum(2 * h for h in hidden),
    }
    margin = mpf(c["separating"]["v"]) / 2
    good = mp.log(1 + mp.exp(-margin)) + mpf(c["zeta"]) * sum(mpf(x) ** 2 for x in xs) / 2
    ok = {
        "gradient of f is exactly 0": all(g == 0 for g in gradient.values()),
        "f differentiable there (unit strictly closed)": all(w * x < 0 for x in xs),
        "zeta > 0": c["zeta"] > 0,
    }
    return Replay(ok, mp.log(2), good + mpf(c["slack"]))


def _draw_scaling(axes, evidence) -> None:
    penalty = evidence["digits"]["plain"]["twice_penalty"] / 2
    c = np.geomspace(0.05, 1.5, 60)
    for zeta in (0.15, 0.6, 1.5):
        axes.plot(c, zeta * penalty * c**2, label=f"zeta = {zeta}")
    axes.set(xlabel="rescaling c of a trained digits network (same outputs)", ylabel="f - l = zeta L^act")
    axes.legend()


@check("man-reg-bias", replay=_replay_stationary, figure=_draw_scaling)
def stationary_points() -> Verdict:
    """Stationary points of the penalised loss.

    Statement: FedAvg+MAN converges to stationary points of f = l + zeta L^act; for small zeta the training loss there
    is close to that of l.
    Assumptions: ReLU (or any positively homogeneous activation) with at least one hidden layer, zeta > 0, no weight
    decay.
    Method: along the scaling that keeps the outputs, (W_1, hidden biases) times c and W_L/c, l is constant and L^act is
    c^2 L^act: the derivative of f at c = 1 is 2 zeta L^act. Hence no point with a non-zero hidden activation is
    stationary, and f has no local minimum there. Checked by automatic differentiation on digits networks with three
    layers; exact stationary point of a two-sample problem with loss log 2, while l has infimum 0.
    Verdict: repaired. Every stationary point of f is a constant classifier on the training data, for every zeta > 0,
    whether or not the logits are penalised as well. Without penalised logits inf f = inf l, approached by hidden
    weights shrinking and last weights growing. Weight decay is what makes the penalty well posed: at a stationary point
    2 zeta L^act = lambda (||W_L||^2 - ||W_1||^2 - sum of ||b_l||^2), so its strength along this path is zeta/lambda.
    Reference: Yashwanth et al. 2024, Secs. 3.2.4-3.2.5.
    """
    c, w, v, x, b, zeta, lam = sp.symbols("c w v x b zeta lambda", positive=True)
    A, A_u, last, first, biases = sp.symbols("zeta_w zeta_u a_last b_first c_biases", nonnegative=True)
    decay, theta, theta_u, at_w, at_u = sp.symbols("decay theta theta_u at_w at_u", nonnegative=True)
    names = {A: "L^{act}(w)", A_u: "L^{act}(u)", decay: "D(w)", theta: r"\|w\|^2", theta_u: r"\|u\|^2"}
    names |= {last: r"\|W_L\|^2", first: r"\|W_1\|^2", biases: r"\sum_{l<L}\|b_l\|^2", at_w: "l(w)", at_u: "l(u)"}
    strength = formula(decay, "==", lam * theta / 2, names)
    balance = formula(2 * zeta * A, "==", lam * (last - first - biases), names)
    best = formula(at_w, "<=", at_u + zeta * A_u + lam * theta_u / 2, names)
    path = sp.diff(zeta * c**2 * A, c).subs(c, 1)
    scaled = strength.right.subs(theta, c**2 * (first + biases) + last / c**2)
    slope = sp.diff(zeta * c**2 * A + scaled, c).subs(c, 1)
    f_w, f_u = at_w + zeta * A + strength.right, at_u + zeta * A_u + strength.right.subs(theta, theta_u)
    measured = {
        name: euler_products(trained_mlp(**options).network)
        for name, options in (("plain", {}), ("MAN", {"zeta": 0.15}))
    }
    for row in measured.values():
        if abs(row["loss"]) > 1e-10 or abs(row["penalty"] - row["twice_penalty"]) > 1e-10:
            raise ValueError(f"the scaling derivatives are not (0, 2 L^act): {row}")
    return repaired(
        {
            "inputs": [Q(1), Q(2)],
            "labels": [0, 1],
            "stationary": {"w": Q(-1), "v": Q(1), "b": Q(0)},
            "separating": {"w": Q(1), "v": Q(40)},
            "zeta": Q(1, 10**6),
            "slack": Q(1, 10),
        },
        r"With a positive $\zeta$ and no weight decay every stationary point of $f$ has all hidden activations zero (a "
        rf"constant classifier) and $\inf f=\inf l$. With weight decay ${strength.latex}$: ${balance.latex}$ at every "
        rf"stationary point, and ${best.latex}$ for every $u$ at a minimiser $w$.",
        identity((v / c) * (c * w * x + c * b), v * (w * x + b), label="outputs along the scaling (open unit)"),
        identity(path, balance.left, label="derivative of f at c = 1, A = L^act"),
        "a stationary point (also one at a kink: f is smooth in c) needs 2 zeta A = 0; f(c) -> l as c -> 0 gives inf "
        "f = inf l",
        identity(
            slope, balance.left - balance.right, label="the same with weight decay, first = ||W_1||^2, last = ||W_L||^2"
        ),
        identity(best.room, f_u - f_w + zeta * A + lam * theta / 2, label="l(u) + zeta A(u) + D(u) - l(w)"),
        "w minimises f + D, and A and the squared norm are not negative",
        margin=float(mp.log(2) / mpf("0.1")),
        digits=measured,
    )
