"""Section 6, Tables 3 and 4: multiplications, overhead of the penalty, model shapes."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import sympy as sp

from theory.kit.formula import formula
from theory.kit.symbolic import identity
from theory.kit.verdict import Verdict, check
from theory.yashwanth2023.common import agreement, exact, proved, refuted


def count_convolution(batch: int, inputs: int, outputs: int, side: int, kernel: int) -> dict[str, int]:
    """Multiplications of a plain loop: stride 1, no padding, no bias; and squares of the output for the penalty."""
    out = side - kernel + 1
    forward = sum(
        1
        for _ in product(
            range(batch), range(outputs), range(out), range(out), range(inputs), range(kernel), range(kernel)
        )
    )
    squares = sum(1 for _ in product(range(batch), range(outputs), range(out), range(out)))
    return {"forward": forward, "squares": squares}


@check("man-tab3", mutations=((0.9, "refuted"), (1.1, "refuted")))
def multiplication_counts(scale: float = 1.0) -> Verdict:
    """Multiplication counts of Table 3 and the totals of Section 6.

    Statement: forward N_b C_o H_o W_o C_i K^2 (convolution), N_b d_i d_o (fully connected); penalty N_b H_o W_o C_o,
    N_b d_o; totals TC_conv = N_b C_o H_o W_o (1 + C_i K^2), TC_fc = N_b d_o (1 + d_i).
    Assumptions: stride 1, no bias, one square per activation.
    Method: loops counted for several shapes; totals symbolically.
    Verdict: proved. The division by the number of units and the factor zeta add one multiplication per layer.
    Reference: Yashwanth et al. 2024, Table 3, Sec. 6.
    """
    N, Co, Ho, Wo, Ci, K, di, do = sp.symbols("N_b C_o H_o W_o C_i K d_i d_o", positive=True)
    units = N * Co * Ho * Wo
    forward = formula(sp.Symbol("F_conv"), "==", sp.Rational(str(scale)) * units * Ci * K**2)
    squares, total = (
        formula(sp.Symbol("P_conv"), "==", units),
        formula(sp.Symbol("TC_conv"), "==", units * (1 + Ci * K**2)),
    )
    forward_fc, squares_fc = formula(sp.Symbol("F_fc"), "==", N * di * do), formula(sp.Symbol("P_fc"), "==", N * do)
    total_fc = formula(sp.Symbol("TC_fc"), "==", N * do * (1 + di))
    counts = []
    for shape in ((2, 3, 4, 6, 3), (1, 1, 2, 5, 5), (3, 2, 2, 4, 2)):
        batch, inputs, outputs, side, kernel = shape
        counted, out = count_convolution(*shape), side - kernel + 1
        values = {"N_b": batch, "C_o": outputs, "H_o": out, "W_o": out, "C_i": inputs, "K": kernel}
        (_, printed), (_, kept) = forward.at(values), squares.at(values)
        if counted["forward"] != printed or counted["squares"] != kept:
            return refuted({"shape": list(shape), "counted": counted["forward"], "scaled_formula": exact(printed)})
        counts.append({"shape": list(shape), **counted})
    connected, values = count_convolution(2, 3, 5, 1, 1), {"N_b": 2, "d_i": 3, "d_o": 5}
    forward_fc.holds_at({**values, "F_fc": connected["forward"]})
    squares_fc.holds_at({**values, "P_fc": connected["squares"]})
    return proved(
        identity(forward.right + squares.right, total.right, label=f"${total.latex}$"),
        identity(forward_fc.right + squares_fc.right, total_fc.right, label=f"${total_fc.latex}$"),
        f"loop counts of three convolutions equal ${forward.latex}$ and ${squares.latex}$; a fully connected layer is "
        f"the case H = W = K = 1, ${forward_fc.latex}$ and ${squares_fc.latex}$",
        margin=1.0,
        tested_at=counts,
    )


#: (multiplications per output unit, output units) of the layers before each ReLU
CIFAR100 = {"conv1": (3 * 25, 64 * 28 * 28), "conv2": (64 * 25, 64 * 10 * 10), "fc1": (1600, 384), "fc2": (384, 192)}
CIFAR100_LOGITS = (192, 100)
TINY_CONVOLUTIONS = {"conv1": (3 * 9, 64 * 62 * 62), "conv2": (64 * 9, 64 * 29 * 29), "conv3": (64 * 9, 64 * 12 * 12)}


def overhead(layers: dict[str, tuple[int, int]], unpenalised: tuple[tuple[int, int], ...] = ()) -> Q:
    """Squares of the penalty over the forward multiplications."""
    forward = sum(cost * units for cost, units in (*layers.values(), *unpenalised))
    return Q(sum(units for _, units in layers.values()), forward)


def _draw_overhead(axes, evidence) -> None:
    shares = {k: float(Q(v)) for k, v in evidence["derived"]["per_layer"].items()}
    axes.bar(list(shares), [100 * v for v in shares.values()])
    axes.set(ylabel="extra multiplications, % of the layer's forward pass", yscale="log")
    axes.tick_params(axis="x", rotation=30)


@check("man-cost-negligible", figure=_draw_overhead)
def negligible_overhead() -> Verdict:
    """Overhead of the penalty on the paper's models.

    Statement: the relative overhead 1/(C_i K^2) and 1/d_i is negligible.
    Assumptions: multiplications as in Table 3; Tiny-ImageNet: the convolutions only, as 3x3 without padding.
    Method: exact shares per layer and in total for the models of Table 4.
    Verdict: consistent in multiplications: 0.39% in total for CIFAR-100, at most 3.7% in one layer (1/27, first 3x3
    convolution). Time and memory traffic (each activation is read once more, and kept for the backward pass) are not
    multiplications; they are measured in the experiments.
    Reference: Yashwanth et al. 2024, Sec. 6.
    """
    per_layer = {f"CIFAR-100 {n}": Q(1, c) for n, (c, _) in CIFAR100.items()}
    per_layer |= {f"Tiny {n}": Q(1, c) for n, (c, _) in TINY_CONVOLUTIONS.items()}
    totals = {
        "CIFAR-100": overhead(CIFAR100, (CIFAR100_LOGITS,)),
        "Tiny-ImageNet convolutions": overhead(TINY_CONVOLUTIONS),
    }
    agrees = max(totals.values()) < Q(1, 100)
    return agreement(agrees, {"total": "negligible, read as below 1%"}, {"total": totals, "per_layer": per_layer})


def side_after(side: int, *blocks: tuple[int, int]) -> int:
    """Side length after convolutions without padding, each followed by pooling: (kernel, pool) per block."""
    for kernel, pool in blocks:
        side = (side - kernel + 1) // pool
    return side


@check("man-tab4")
def architectures() -> Verdict:
    """Shapes and parameter counts of Table 4.

    Statement: CIFAR-100: two 5x5 convolutions with 64 channels, each with 2x2 pooling, then FC(1600, 384), FC(384,
    192), FC(192, 100); Tiny-ImageNet: 3x3 convolutions with GroupNorm and FC(384, 200) at the end.
    Assumptions: no padding, 32x32 and 64x64 inputs.
    Method: shape inference and parameter counts; features of the Tiny-ImageNet convolutions after 1, 2, 3 blocks
    against the 384 inputs of its only printed linear layer.
    Verdict: inconsistent. The CIFAR-100 column is consistent (1600 features, 815,332 parameters). In the text at hand
    the Tiny-ImageNet column has no layer from its 64 k^2 convolution features to 384; the two columns are merged in the
    source, so a line may be lost there. Equality with the FedDyn model is not checked here (that paper is not at hand).
    Reference: Yashwanth et al. 2024, Table 4, supplement Sec. 3.
    """
    cifar = 64 * side_after(32, (5, 2), (5, 2)) ** 2
    counts = {
        "conv1": 3 * 64 * 25 + 64,
        "conv2": 64 * 64 * 25 + 64,
        "fc1": 1600 * 384 + 384,
        "fc2": 384 * 192 + 192,
        "fc3": 192 * 100 + 100,
    }
    tiny = {str(n): 64 * side_after(64, *([(3, 2)] * n)) ** 2 for n in (1, 2, 3)}
    return agreement(
        cifar == 1600 and 384 in tiny.values(),
        {"CIFAR-100 features": 1600, "Tiny-ImageNet features into FC(384, 200)": 384},
        {"CIFAR-100 features": cifar, "Tiny-ImageNet features by number of blocks": tiny},
        cifar100_parameters={**counts, "total": sum(counts.values())},
    )
