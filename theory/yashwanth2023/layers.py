"""What the activation norm bounds in a layer, and what its penalty does along training, as statement objects.

A convolution with kernel K_1 x K_2 at one sample, or a fully connected layer (K_1 = K_2 = 1): z = W U(a). top and
curvature are the largest eigenvalues of the loss' Hessians in W and in z. The balance is |theta_l|^2 - |W_{l+1}|^2, for
the parameters theta_l of a layer with a positively homogeneous activation and the weights that read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import sympy as sp
import torch
from torch import Tensor, nn
from torch.func import hessian, vmap
from torch.nn.functional import cross_entropy, unfold

from artifact.losses import man
from theory.kit.hypotheses import ZERO_PADDING, Hypothesis
from theory.kit.proof import Proof, Step, atom, square_of
from theory.kit.statement import Quantity, Run, Statement, drawn

R = sp.Rational
K1, K2, eta, zeta, T = (sp.Symbol(name, positive=True) for name in ("K_1", "K_2", "eta", "zeta", "T"))
top, curvature, energy, weights = (sp.Symbol(n, nonnegative=True) for n in ("top", "curvature", "energy", "weights"))
A, A_mean, U0, VT, Gu = (sp.Symbol(name, nonnegative=True) for name in ("A", "A_mean", "U_0", "V_T", "G_u"))

QUANTITIES = {
    K1: Quantity("K_1"),
    K2: Quantity("K_2"),
    top: Quantity(r"\lambda_{\max}(H_{W_l})", (1, -2), measured=True),
    curvature: Quantity(r"\lambda_{\max}(\nabla^2_{z_l}\mathcal L)", (1, -2), measured=True),
    energy: Quantity(r"\|a_{l-1}\|_F^2", measured=True),
    weights: Quantity(r"\prod_{j>l}c_j\|W_j\|_F^2", (1, -2), measured=True),
}

BALANCE = {
    eta: Quantity(r"\eta", (-1, 2)),
    zeta: Quantity(r"\zeta"),
    T: Quantity("T"),
    A_mean: Quantity(r"\tfrac1T\sum_{t<T}\mathbb E\|a_l^t\|^2", (1, 0), measured=True),
    U0: Quantity(r"\|\theta_l^0\|^2", (0, 2), measured=True),
    VT: Quantity(r"\|W_{l+1}^T\|^2", (0, 2), measured=True),
    Gu: Quantity(r"\tfrac1T\sum_{t<T}\|\nabla_{\theta_l}f(\theta^t)\|^2", (2, -2), measured=True),
}


# ------------------------------------------------------------ the layer


def _layer(proof: Proof) -> Step:
    """top <= K_1 K_2 curvature energy, with the steps of linear algebra that it needs as hypotheses."""
    for symbol in (K1, K2):
        proof.scalar(symbol.name, "positive")
    for symbol in (top, curvature, energy):
        proof.scalar(symbol.name)
    image, patches, direction = (proof.scalar(name) for name in ("image", "patches", "direction"))
    rayleigh = proof.hypothesis(
        "Rayleigh", curvature * image - top, "top = vec(VU).H_z vec(VU) at a unit V, at most curvature |VU|_F^2"
    )
    product = proof.hypothesis("product", direction * patches - image, "|VU|_F^2 <= |V|_F^2 |U|_F^2 (Cauchy-Schwarz)")
    unit = proof.hypothesis("unit", 1 - direction, "|V|_F = 1", "==")
    counted = proof.hypothesis(
        "count",
        K1 * K2 * energy - patches,
        "an entry of a meets each of the K_1 K_2 kernel positions at most once: position and entry fix the patch",
    )
    return proof.combine(
        "layer",
        K1 * K2 * curvature * energy - top,
        [(1, rayleigh), (curvature, product), (curvature * patches, unit), (curvature, counted)],
    )


def prove_layer(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the bound with the curvature in z."""
    proof = Proof("top eigenvalue of a layer's Hessian against its input")
    layer = _layer(proof)
    proof.combine("bound", sp.Add(*right) - left, [(1, layer)])
    return proof


def prove_weights(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof of the bound with the norms of the layers above, by induction over them."""
    proof = Proof("top eigenvalue of a layer's Hessian against its input and the layers above")
    layer = _layer(proof)
    proof.scalar("weights")
    size, product, ratio, factor = (proof.scalar(name) for name in ("size", "product", "ratio", "factor"))
    grows = proof.hypothesis(
        "one layer above",
        factor - ratio,
        "|W_j U(u)|_F^2/|u|_F^2 <= c_j |W_j|_F^2, c_j = K_1 K_2 of a convolution, 1 of a linear layer; ReLU and "
        "non-overlapping max-pooling do not lengthen a difference direction",
    )
    found = proof.loop(
        "layers above",
        {size: (1, ratio * size), product: (1, factor * product)},
        {"size after the layers": (product - size, [(factor, "size after the layers"), (size, grows)])},
    )
    named = proof.hypothesis("weights", weights - product, "names the product over the layers above", "==")
    softmax = proof.hypothesis(
        "softmax",
        size / 2 - curvature,
        "Gershgorin: diag(p) - p p^T has none above 1/2; at a unit z",
    )
    whole = K1 * K2 * energy
    proof.combine(
        "bound",
        sp.Add(*right) - left,
        [(1, layer), (whole, softmax), (whole / 2, found["size after the layers"]), (whole / 2, named)],
    )
    return proof


#: input channels and side, kernel, filters, hidden units above (0: none), classes
SHAPES = ((1, 3, 2, 1, 0, 2), (2, 4, 2, 1, 0, 3), (1, 5, 3, 2, 0, 2), (2, 3, 1, 2, 3, 3), (1, 4, 2, 1, 4, 2))
EACH, CONSTANT_SIDES = 240, tuple(range(3, 13)) * 5


def _above(z: Tensor, layers: Sequence[Tensor], label: Tensor) -> Tensor:
    """Cross-entropy of the linear layers above on relu(z)."""
    a = torch.relu(z).flatten()
    for weight in layers[:-1]:
        a = torch.relu(weight @ a)
    return cross_entropy((layers[-1] @ a)[None], label[None])


def _tops(kernel: Tensor, below: Tensor, layers: Sequence[Tensor], label: Tensor) -> tuple[Tensor, Tensor]:
    """(top, curvature) of a batch of networks: dense Hessians by automatic differentiation."""

    patches, w = unfold(below, kernel.shape[-1]), kernel.flatten(2)

    def in_weights(w: Tensor, u: Tensor, above: Sequence[Tensor], y: Tensor) -> Tensor:
        return _above(w @ u, above, y)

    z = w @ patches
    found = [
        vmap(hessian(in_weights))(w, patches, layers, label).reshape(len(w), *2 * [w[0].numel()]),
        vmap(hessian(_above))(z, layers, label).reshape(len(z), *2 * [z[0].numel()]),
    ]
    tops = [torch.linalg.eigvalsh(h)[:, -1] for h in found]
    return tops[0], tops[1]


def _runs_of(kernel: Tensor, below: Tensor, layers: Sequence[Tensor], label: Tensor) -> list[Run]:
    tops, curvatures = _tops(kernel, below, layers, label)
    size = kernel.shape[-1]
    rows = zip(tops.tolist(), curvatures.tolist(), below.square().flatten(1).sum(1).tolist(), strict=True)
    product = torch.stack([w.square().flatten(1).sum(1) for w in layers]).prod(0).tolist()
    return [
        {"K_1": size, "K_2": size, "top": t, "curvature": c, "energy": e, "weights": p}
        for (t, c, e), p in zip(rows, product, strict=True)
        if t > 1e-9
    ]


@cache
def networks(seed: int = 0) -> tuple[Run, ...]:
    """Random convolutional networks, and constant images under a mean head, where patches add up the most."""
    draw, found = torch.Generator().manual_seed(seed), []

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    for channels, side, kernel, filters, hidden, classes in SHAPES:
        outputs = filters * (side - kernel + 1) ** 2
        sizes = [outputs, *([hidden] if hidden else []), classes]
        layers = [normal(EACH, after, before) for before, after in pairwise(sizes)]
        label = torch.randint(classes, (EACH,), generator=draw)
        below = torch.relu(normal(EACH, channels, side, side) + 0.5)
        found += _runs_of(normal(EACH, filters, channels, kernel, kernel), below, layers, label)
    for number, side in enumerate(CONSTANT_SIDES):
        kernel = 2 + number % 2
        outputs = (side - kernel + 1) ** 2
        head = torch.tensor([[1.0], [-1.0]], dtype=torch.float64).expand(2, outputs)[None] / outputs
        ones = torch.ones(1, 1, side, side, dtype=torch.float64)
        small = torch.full((1, 1, kernel, kernel), 1e-3 * (1 + number), dtype=torch.float64)
        found += _runs_of(small, ones, [head], torch.zeros(1, dtype=torch.long))
    return tuple(found)


SAMPLE = Hypothesis(
    "one sample",
    r"one sample, cross-entropy, ReLU or other piecewise linear activations, $l$ a convolution with a $K_1\times K_2$ "
    r"kernel or a fully connected layer ($K_1=K_2=1$)",
    ("Rayleigh", "product", "unit"),
)
ABOVE = Hypothesis(
    "layers above",
    r"the layers above are convolutions, non-overlapping max-poolings and linear layers, under a softmax; "
    r"$c_j$ is the kernel's area for a convolution above, 1 for a linear layer",
    ("one layer above", "softmax", "weights"),
)
TRAINED = Hypothesis(
    "trained with the penalty",
    r"gradient descent with step $\eta$ on $f=\mathcal L+\zeta\sum_j\mathbb E\|a_j\|^2$",
    ("A_mean", "G_u", "V_T"),
)
HOMOGENEOUS = Hypothesis(
    "homogeneous",
    r"hidden layer $l$ with parameters $\theta_l=(W_l,b_l)$ has a positively homogeneous activation and is read by "
    r"$W_{l+1}$ alone",
    ("Euler",),
)
#: what one step does to the balance: the penalty moves norm to the next layer, up to second order in the step
STEP_WORDS = (
    r"In every step $\|\theta_l\|^2-\|W_{l+1}\|^2$ falls by $4\eta\zeta\,\mathbb E\|a_l\|^2$, up to "
    r"$\eta^2(\|\nabla_{\theta_l}f\|^2-\|\nabla_{W_{l+1}}f\|^2)$: the penalty moves norm to the next layer."
)
LAYER_KEEPS = ("convolutions", "any depth and width", "any stride and zero padding")


def layer() -> Statement:
    """The layer's top eigenvalue against the curvature in its outputs and the norm of its input."""
    return Statement(
        name="man-layer",
        left=top,
        right=(K1 * K2 * curvature * energy,),
        quantities=QUANTITIES,
        conditions=(),
        prove=prove_layer,
        runs=networks,
        keeps=LAYER_KEEPS,
        method="torch's unfold with dense Hessians",
        hypotheses=(SAMPLE, ZERO_PADDING),
    )


def layer_weights() -> Statement:
    """The same with an explicit alpha_l: the norms of the layers above."""
    return Statement(
        name="man-layer-weights",
        left=top,
        right=(R(1, 2) * K1 * K2 * weights * energy,),
        quantities=QUANTITIES,
        conditions=(),
        prove=prove_weights,
        runs=networks,
        keeps=(*LAYER_KEEPS, "any softmax outputs"),
        method="torch's unfold with dense Hessians",
        hypotheses=(SAMPLE, ZERO_PADDING, ABOVE),
    )


# ------------------------------------------------------------ along training


def prove_balance(left: sp.Expr, right: Sequence[sp.Expr]) -> Proof:
    """Proof that the penalty moves norm from a layer to the next: without it the balance is conserved."""
    proof = Proof("activation norm along gradient descent with MAN's penalty")
    for symbol in (eta, zeta, T):
        proof.scalar(symbol.name, "positive")
    for symbol in (A, A_mean, U0, VT, Gu):
        proof.scalar(symbol.name)
    u, v, on_u, on_v = (proof.vector(name) for name in ("u", "v", "g", "h"))
    scaling = proof.hypothesis(
        "Euler",
        atom("g", "u") - atom("h", "v") - 2 * zeta * A,
        "d/dc f(c u, v/c) at c = 1: network and other activations stay, a_l becomes c a_l, its term 2 zeta A",
        "==",
    )
    late = proof.square("gradient of the next layer", on_v)
    V0, rounds, sum_a, sum_g = (proof.scalar(name) for name in ("V_0", "t", "A_sum", "G_sum"))
    loop = proof.loop(
        "steps",
        {
            rounds: (0, rounds + 1),
            atom("u", "u"): (U0, sp.expand(square_of(u - eta * on_u))),
            atom("v", "v"): (V0, sp.expand(square_of(v - eta * on_v))),
            sum_a: (0, sum_a + A),
            sum_g: (0, sum_g + square_of(on_u)),
        },
        {
            "balance": (
                U0 - V0 - square_of(u) + square_of(v) + eta**2 * sum_g - 4 * eta * zeta * sum_a,
                [(1, "balance"), (2 * eta, scaling), (eta**2, late)],
            )
        },
    )
    share = 1 / (4 * eta * zeta * T)
    end = proof.square("norm of the layer at the end", u)
    names = {
        A_mean: proof.hypothesis("A_mean", A_mean - sum_a / T, "names the mean over the steps", "=="),
        Gu: proof.hypothesis("G_u", Gu - sum_g / T, "names the mean over the steps", "=="),
        VT: proof.hypothesis("V_T", VT - square_of(v), "names |W_{l+1}|^2 after T steps", "=="),
    }
    proof.combine(
        "rate",
        sp.Add(*right) - left,
        [
            (share, loop["balance"]),
            (share, end),
            (share * V0,),
            (share, names[VT]),
            (eta / (4 * zeta), names[Gu]),
            (-1, names[A_mean]),
        ],
    )
    return proof


def _train(draw: np.random.Generator) -> Run:
    """Gradient descent of a random network with ``artifact.losses.man``; values for its first hidden layer."""
    torch.manual_seed(int(draw.integers(2**31)))
    inputs, width, classes, count = (int(draw.integers(low, high)) for low, high in ((1, 5), (2, 9), (2, 4), (2, 9)))
    first, second = nn.Linear(inputs, width).double(), nn.Linear(width, width, bias=False).double()
    deep = bool(draw.random() < 0.3)
    layers = [first, nn.ReLU(), *([second, nn.ReLU()] if deep else []), nn.Linear(width, classes, bias=False).double()]
    model = nn.Sequential(*layers)
    reader = second if deep else layers[-1]
    with torch.no_grad():
        reader.weight *= float(draw.choice([1.0, 1.0, 0.1, 0.01]))
    x, y = torch.randn(count, inputs, dtype=torch.float64), torch.randint(classes, (count,))
    strength, step = float(draw.choice([0.01, 0.15, 1.0, 4.0])), float(draw.choice([0.01, 0.05, 0.2]))
    rounds = int(draw.choice([1, 1, 1, 2, 5]))
    own, start = (first.weight, first.bias), sum(float(p.detach().square().sum()) for p in (first.weight, first.bias))
    activations, slopes = [], []
    for _ in range(rounds):
        with man(model, zeta=strength) as term:
            loss = cross_entropy(model(x), y) + term()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        found = dict(zip(model.parameters(), gradients, strict=True))
        activations.append(float(torch.relu(first(x)).detach().square().mean()))
        slopes.append(sum(float(found[p].square().sum()) for p in own))
        with torch.no_grad():
            for parameter, gradient in found.items():
                parameter -= step * gradient
    values = {"eta": step, "zeta": strength, "T": rounds, "A_mean": np.mean(activations), "U_0": start}
    return {**values, "V_T": float(reader.weight.detach().square().sum()), "G_u": np.mean(slopes)}


@cache
def trainings(count: int = 1000, seed: int = 0) -> tuple[Run, ...]:
    """Runs of gradient descent with the project's penalty in which the layer is active."""
    return drawn(_train, "A_mean", count, seed)


def balance() -> Statement:
    """What MAN's penalty does along training: the mean activation norm is paid for by the layers' norms."""
    pay = 4 * eta * zeta
    return Statement(
        name="man-balance",
        left=A_mean,
        right=(U0 / (pay * T), VT / (pay * T), eta * Gu / (4 * zeta)),
        quantities=BALANCE,
        conditions=(),
        prove=prove_balance,
        runs=trainings,
        keeps=("any loss", "any depth and width", "any step size", "every step of the training"),
        method="artifact.losses.man under gradient descent",
        hypotheses=(TRAINED, HOMOGENEOUS),
        remark=STEP_WORDS,
    )
