"""Section 3.2.2 and supplement 2: eigenvalues of the overall Hessian from those of its layer blocks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as Q
from itertools import accumulate

import numpy as np
import sympy as sp

from theory.kit.exact import fractions_of
from theory.kit.formula import Formula, formula
from theory.kit.search import worst_ratio
from theory.kit.symbolic import MEAN_SQUARE, identity, lagrange
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.yashwanth2023.common import Array, exact, proved, refuted, repaired, top_eigenvalue, vacuous
from theory.yashwanth2023.networks import digit_batch, trained_mlp

SIZES = (1, 2, 3)
B, L, d, d_l, d_j = sp.symbols("B L d d_l d_j", positive=True)  # bound of the entries, layers, dimensions
total, squares, frobenius, spectral = sp.symbols("total squares frobenius spectral", nonnegative=True)
NAMES = {total: r"\sum_{j\ne l}\|H_{lj}\|", squares: r"\sum_{j\ne l}\|H_{lj}\|^2"}
NAMES |= {frobenius: r"\|H_{lj}\|_F", spectral: r"\|H_{lj}\|_2"}


def blocks(sizes: Sequence[int]) -> list[slice]:
    """Index ranges of the layers."""
    ends = list(accumulate(sizes))
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def radius(matrix: Array, parts: Sequence[slice], layer: int) -> float:
    """R_l = sum over j != l of the spectral norm of H_lj."""
    return float(sum(np.linalg.norm(matrix[parts[layer], p], 2) for j, p in enumerate(parts) if j != layer))


def gershgorin_ratio(matrix: Array, sizes: Sequence[int]) -> float:
    """Largest min_i |lambda - lambda_i(H_ll)| / R_l over eigenpairs, l the block of largest eigenvector norm."""
    parts, worst = blocks(sizes), -np.inf
    values, vectors = np.linalg.eigh(matrix)
    for value, vector in zip(values, vectors.T, strict=True):
        layer = int(np.argmax([np.linalg.norm(vector[p]) for p in parts]))
        right = radius(matrix, parts, layer)
        left = np.abs(value - np.linalg.eigvalsh(matrix[parts[layer], parts[layer]])).min()
        worst = max(worst, left / right if right > 0 else np.nan)
    return float(worst)


def symmetric(entries: Array, size: int) -> Array:
    """Symmetric matrix [size, size] from its upper triangle."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = entries
    return matrix + matrix.T - np.diag(np.diag(matrix))


def _sides_26(matrix: Sequence[Sequence[int]], x: Sequence[int]) -> dict[str, Q]:
    """Norm of (lambda - H_11) x_1 and the printed right side of (26), blocks of size one, lambda x = H x."""
    image = [sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix]
    first, value = x[0], Q(image[0], x[0])
    mirrored = all(row[j] == other[i] for i, row in enumerate(matrix) for j, other in enumerate(matrix))
    if not mirrored or image != [value * entry for entry in x] or abs(first) < max(map(abs, x)):
        raise ValueError("(26) speaks of a symmetric H and of an eigenvector's largest block")
    moves = [abs(a * b) for a, b in zip(matrix[0], x, strict=True)][1:]
    return {"left": abs((value - matrix[0][0]) * first), "right": Q(sum(moves))}


def network_intervals() -> dict[str, list]:
    """Gershgorin intervals per layer and the overall spectrum for the dense Hessian of a trained digits network."""
    matrix, sizes = trained_mlp().network.full_hessian(*digit_batch(150, 12))
    parts, rows = blocks(sizes), []
    for layer, part in enumerate(parts):
        own, reach = np.linalg.eigvalsh(matrix[part, part]), radius(matrix, parts, layer)
        rows.append({"lower": own[0] - reach, "lambda_min": own[0], "lambda_max": own[-1], "upper": own[-1] + reach})
    spectrum = np.linalg.eigvalsh(matrix)
    if spectrum[-1] > max(row["upper"] for row in rows) or spectrum[0] < min(row["lower"] for row in rows):
        raise ValueError("an eigenvalue lies outside the proved union")
    return {"layers": [{k: float(v) for k, v in row.items()} for row in rows], "overall": [spectrum[0], spectrum[-1]]}


def _draw_intervals(axes, evidence) -> None:
    rows, overall = evidence["digits"]["layers"], evidence["digits"]["overall"]
    for layer, row in enumerate(rows, start=1):
        axes.plot(
            [row["lower"], row["upper"]], [layer, layer], lw=2, color="C0", label="Gershgorin" if layer == 1 else None
        )
        axes.plot(
            [row["lambda_min"], row["lambda_max"]],
            [layer, layer],
            lw=6,
            color="C1",
            label="own" if layer == 1 else None,
        )
    axes.plot(overall, [0, 0], lw=6, color="k", label="overall spectrum")
    axes.set(xlabel="eigenvalue", ylabel="layer (0: overall)")
    axes.legend()


@check("man-thm1-gersh", mutations=((0.9, "refuted"), (1.1, "proved")), figure=_draw_intervals)
def block_gershgorin(scale: float = 1.0) -> Verdict:
    """Block Gershgorin for symmetric matrices.

    Statement: for an eigenpair (lambda, x) and l with ||x_l|| maximal, min_i |lambda - lambda_i(H_ll)| <= R_l, R_l =
    sum_{j != l} ||H_lj||_2; every eigenvalue lies in the union of [lambda_min(H_ll) - R_l, lambda_max(H_ll) + R_l].
    Assumptions: H symmetric.
    Method: re-derivation of (25)-(31); the spectral step (28) as an identity of its summands; search for the worst
    ratio on matrices with blocks of sizes 1, 2, 3; exact extremal matrix [[0, 1], [1, 0]]; intervals of a trained
    digits network.
    Verdict: proved, and tight (ratio 1). The printed "=" in the first line of (26) is an inequality: for H = [[0, 1,
    -1], [1, 0, -1], [-1, -1, 2]] with the eigenvector (1, 1, 1) it compares 0 with 2.
    Reference: Yashwanth et al. 2024, supplement Sec. 2, eqs. (25)-(31).
    """
    if exact(scale) < 1:
        return refuted({"H": [[0, 1], [1, 0]], "eigenvalue": 1, "left": 1, "right_times_scale": exact(scale)})
    lam, m, low, top = sp.symbols("lambda m low top", real=True)
    names = {m: r"\min_i|\lambda-\lambda_i(H_{ll})|", low: r"\lambda_{\min}(H_{ll})", top: r"\lambda_{\max}(H_{ll})"}
    near = formula(m, "<=", total, names | NAMES)
    above, below = formula(lam, "<=", top + total, names | NAMES), formula(lam, ">=", low - total, names | NAMES)
    # H = [[2, 3], [3, 2]] has the eigenvalues 5 and -1
    attained = [near.attained_at({m: abs(value - 2), total: 3}) for value in (5, -1)]
    attained += [above.attained_at({lam: 5, top: 2, total: 3}), below.attained_at({lam: -1, low: 2, total: 3})]
    root, weight = sp.symbols("l_i c_i", real=True)
    summand = identity(
        ((lam - root) * weight) ** 2 - m**2 * weight**2,
        ((lam - root) ** 2 - m**2) * weight**2,
        label="(28): summand i of ||(lambda - H_ll) x_l||^2 - m^2 ||x_l||^2, c_i the coordinates of x_l in an "
        "orthonormal eigenbasis of H_ll of any size, l_i its eigenvalues",
    )
    size = sum(SIZES)
    found = worst_ratio(
        lambda v: gershgorin_ratio(symmetric(v, size), SIZES),
        lambda rng: rng.standard_normal(size * (size + 1) // 2) * rng.choice([0.1, 1, 3], size * (size + 1) // 2),
        draws=500,
        restarts=2,
        climb=200,
    )
    if found.value > 1 + 1e-9:
        raise ValueError(f"the proved bound fails numerically: {found.value}")
    matrix, vector = [[0, 1, -1], [1, 0, -1], [-1, -1, 2]], [1, 1, 1]
    return proved(
        "(25): (lambda - H_ll) x_l = sum_{j != l} H_lj x_j; triangle inequality and ||Ax|| <= ||A||_2 ||x||; "
        "division by ||x_l|| > 0 (the largest block of x != 0) with ||x_j|| <= ||x_l||",
        summand,
        "with m = min_i |lambda - l_i| each factor on the right is >= 0, so the sum over i is >= 0",
        margin=1.0,
        attained=attained,
        search={"worst_ratio": found.value, "evaluations": found.admissible, "function_class": f"blocks {SIZES}"},
        digits=network_intervals(),
        printed_equality_26={"H": matrix, "vector": vector, **_sides_26(matrix, vector)},
    )


def _replay_unbounded_below(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    t, eigenvalue = c["t"], c["eigenvalue"]
    assumptions = {
        "symmetric": BY_CONSTRUCTION,
        "entries bounded above by B": max(Q(0), -t) <= c["B"],
        "eigenpair": -t * c["vector"][1] == eigenvalue * c["vector"][0]
        and -t * c["vector"][0] == eigenvalue * c["vector"][1],
    }
    return Replay(assumptions, eigenvalue, 0 + c["constant_in_O"] * 1)


@check("man-thm1", mutations=((0.9, "refuted"), (1.1, "repaired")), replay=_replay_unbounded_below)
def theorem_one(scale: float = 1.0) -> Verdict:
    """Theorem 1: overall eigenvalues within layer-wise ones plus a dimension term.

    Statement: if the entries of H are bounded above, lambda(H) lies in the union over l of [lambda_min(H_ll) -
    O(max(d_l, d-d_l)), lambda_max(H_ll) + O(max(d_l, d-d_l))].
    Assumptions: H symmetric, entries bounded above by B.
    Method: literal reading against H = [[0, -t], [-t, 0]] (entries <= 0, eigenvalue t, every layer block 0, d_l = 1);
    with |h| <= B the constant is derived, R_l <= B sqrt((L-1) d_l (d-d_l)) <= B sqrt(L-1) max(d_l, d-d_l), and scaled
    constants are tested on the all-B matrix with L equal layers.
    Verdict: repaired. An upper bound on the entries is not enough; with |h| <= B the statement holds with constant
    B sqrt(L-1). It also holds with constant 3B for every single layer l, because Bd already bounds |lambda|: the
    statement does not depend on which layer is chosen (see man-thm1-informative).
    Reference: Yashwanth et al. 2024, Theorem 1; supplement Theorem 4.
    """
    layers, size = 5, 4
    reach = _radius()
    widest = reach.right.subs({B: 1, L: layers, d_l: size, d: layers * size})
    point = {"matrix": "all entries 1", "layers": layers, "d_l": size, "eigenvalue": layers * size}
    point["bound"] = size + exact(scale) * Q(int(widest))
    if point["eigenvalue"] > point["bound"]:
        return refuted(point)
    constant = Q(10**6)
    top = constant + 1
    rest, more = sp.symbols("rest more", nonnegative=True)
    cap = formula(reach.right, "<=", B * sp.sqrt(L - 1) * sp.Max(d_l, d - d_l))
    halves = cap.attained_at({B: 3, L: 5, d_l: 4, d: 8})
    squared = cap.right**2 - cap.left**2
    small, large = squared.subs(d, 2 * d_l + more), squared.subs({d: 2 * rest + more, d_l: rest + more})
    return repaired(
        {"t": top, "B": Q(0), "vector": [Q(1), Q(-1)], "eigenvalue": top, "constant_in_O": constant},
        r"If $|h_{ij}|\le B$ then every eigenvalue lies in "
        r"$\bigcup_l[\lambda_{\min}(H_{ll})-R_l,\lambda_{\max}(H_{ll})+R_l]$, "
        f"${reach.latex}$, ${cap.latex}$.",
        "man-thm1-gersh with man-eq32 and man-eq33 (repaired): R_l <= B sum_j sqrt(d_l d_j) <= B sqrt((L-1) d_l "
        "(d-d_l))",
        identity(small, B**2 * (L - 1) * more * (d_l + more), label="squares, d - d_l = d_l + more"),
        identity(large, B**2 * (L - 1) * more * (rest + more), label="squares, d_l = d - d_l + more"),
        identity(B * d + B * d_l, 2 * B * d_l + B * (d - d_l), label="|lambda| <= Bd and lambda_max(H_ll) >= -B d_l")
        + ", at most 3 B max(d_l, d-d_l)",
        tight_on=point,
        equal_halves=halves,
        margin=float(top / constant),
    )


def _replay_frobenius(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    entries = [entry for row in c["block"] for entry in row]
    assumptions = {"entries bounded above by B": max(entries) <= c["B"]}
    return Replay(assumptions, sum(e * e for e in entries), c["B"] * len(entries))


@check("man-eq32", mutations=((0.9, "refuted"), (1.1, "repaired")), replay=_replay_frobenius)
def block_norm(scale: float = 1.0) -> Verdict:
    """Norm of an off-diagonal block from a bound on the entries.

    Statement: entries of H bounded above by B give ||H_lj||_2^2 <= ||H_lj||_F^2 <= B d_l d_j.
    Assumptions: as printed, h <= B; for the repair |h| <= B.
    Method: constant 2x2 block with entry 2 (B = 2: 16 against 8), a block of entries -5 with B = 0; the repaired
    constant B^2 by summing B^2 - h^2 >= 0; scaled constants on the constant block, where it is attained.
    Verdict: repaired. The printed constant B is right only where 0 <= h <= B <= 1 or B = 1.
    Reference: Yashwanth et al. 2024, supplement eq. (32).
    """
    entry = Q(2)
    first = formula(spectral**2, "<=", frobenius**2, NAMES)
    bound = formula(frobenius**2, "<=", B**2 * d_l * d_j, NAMES)
    block = {"block": [[entry, entry], [entry, entry]], "B": entry}
    right = exact(scale) * Q(int(bound.right.subs({B: entry, d_l: 2, d_j: 2})))
    if 4 * entry**2 > right:
        return refuted({**block, "left": 4 * entry**2, "right": right})
    norm = 5 * sp.sqrt(6)  # of the constant block [2, 3] of entries 5
    constant = {B: 5, d_l: 2, d_j: 3, frobenius: norm, spectral: norm}
    attained = [first.attained_at(constant), bound.attained_at(constant)]
    h, others = sp.symbols("h others", nonnegative=True)
    entries = bound.room.subs(frobenius, sp.sqrt(d_l * d_j) * h)
    return repaired(
        block,
        f"If $|h|\\le B$ for every entry then ${first.latex}$ and ${bound.latex}$.",
        identity(entries, d_l * d_j * (B - h) * (B + h), label="d_l d_j entries of size h, both factors >= 0"),
        identity(first.room.subs(frobenius, sp.sqrt(spectral**2 + others)), others, label="other eigenvalues of A^T A"),
        "||A||_2^2 is the largest, ||A||_F^2 the sum of the non-negative eigenvalues of A^T A",
        margin=2.0,
        attained=attained,
        corrected_bound_of_the_block=right,
        negative_entries={"block": [[-5]], "B": 0, "left": 25, "printed_right": 0},
    )


def _radius() -> Formula:
    """The radius of man-eq33 (repaired): B sqrt((L-1) d_l (d-d_l)), for entries of at most B in size."""
    return formula(sp.Symbol("R_l"), "==", B * sp.sqrt((L - 1) * d_l * (d - d_l)))


def _radius_sides(B: Q, layers: Q, d_l: Q, factor: Q) -> tuple[Q, Q]:
    """Squares of sum_{j != l} ||H_lj|| for equal layers with all entries B, and of its bound with factor^(1/2)."""
    rest = (layers - 1) * d_l  # d - d_l; each of the L-1 constant blocks [d_l, d_l] has norm B d_l
    return (B * rest) ** 2, factor * (layers - 1) * d_l * rest


def _replay_radius(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    B, layers, d_l, d = c["B"], c["layers"], c["d_l"], c["d"]
    ok = {"entries bounded above by B": BY_CONSTRUCTION, "sizes add up": d == layers * d_l}
    return Replay(ok, *_radius_sides(B, layers, d_l, B))


@check("man-eq33", mutations=((0.9, "refuted"), (1.1, "repaired")), replay=_replay_radius)
def radius_bound(scale: float = 1.0) -> Verdict:
    """Bound of the Gershgorin radius by layer dimensions.

    Statement: sum_{j != l} ||H_lj|| <= sqrt((L-1) sum ||H_lj||^2) <= sqrt(B (L-1) d_l (d-d_l)) <= O(max(d_l, d-d_l)).
    Assumptions: as printed, entries at most B; for the repair |h| <= B.
    Method: Cauchy-Schwarz by Lagrange's identity; the middle step with constant blocks of entry B, exact; repaired
    constant B sqrt((L-1) d_l (d-d_l)), attained by constant blocks of equal layers, where scaled constants are tested.
    Verdict: repaired. The middle step needs B, not sqrt(B); the last one hides the factor B sqrt(L-1)/2 (AM-GM).
    Reference: Yashwanth et al. 2024, supplement eq. (33).
    """
    entry, layers, size = Q(4), Q(3), Q(2)
    left, right = _radius_sides(entry, layers, size, (exact(scale) * entry) ** 2)
    point = {"B": entry, "layers": layers, "d_l": size}
    if left > right:
        return refuted({**point, "left": left, "right": right})
    _, printed = _radius_sides(entry, layers, size, entry)
    schwarz = formula(total, "<=", sp.sqrt((L - 1) * squares), NAMES)
    middle = formula(schwarz.right, "<=", _radius().right, NAMES)
    last = formula(middle.right, "<=", B / 2 * sp.sqrt(L - 1) * d)
    # three constant blocks, [d_l, d_j] = [2, 2], of norm 5 * 2 each
    equal = {L: 4, B: 5, d_l: 2, d: 8, total: 30, squares: 300}
    attained = [schwarz.attained_at(equal), middle.attained_at(equal), last.attained_at({B: 5, L: 4, d_l: 3, d: 6})]
    x, y = sp.symbols("x_1 x_2", positive=True)
    two = (schwarz.right**2 - total**2).subs({L: 3, squares: x**2 + y**2, total: x + y})
    return repaired(
        {**point, "d": layers * size},
        f"For $|h|\\le B$: ${schwarz.latex}$, ${middle.latex}$ and ${last.latex}$.",
        f"n here L - 1, x_j = ||H_lj||: {lagrange(MEAN_SQUARE)}",
        identity(two, (x - y) ** 2, label="two blocks"),
        "second step: man-eq32 (repaired) and sum_{j != l} d_j = d - d_l",
        identity(middle.right**2, (middle.left**2).subs(squares, B**2 * d_l * (d - d_l)), label="squares"),
        identity(last.right**2 - last.left**2, B**2 * (L - 1) * (d - 2 * d_l) ** 2 / 4, label="AM-GM, squares"),
        tight_on={"matrix": "all entries B", **point, "squared_sum": left, "squared_bound": right},
        attained=attained,
        margin=float(np.sqrt(float(left / printed))),
    )


#: parameters per layer (weights and biases) of the CIFAR-100 model of Table 4
CIFAR100_LAYERS = (4864, 102464, 614784, 73920, 19300)


def bound_shares(sizes: Sequence[int]) -> list[float]:
    """Second term of the repaired bound over the trivial bound B d, per layer: sqrt((L-1) d_l (d-d_l)) / d."""
    d, layers = sum(sizes), len(sizes)
    return [float(np.sqrt((layers - 1) * s * (d - s)) / d) for s in sizes]


def _draw_informative(axes, evidence) -> None:
    shares = evidence["cifar100_second_term_over_trivial"]
    axes.bar(range(1, len(shares) + 1), shares)
    axes.axhline(1.0, ls="--", color="k", label="trivial bound B d")
    axes.set(xlabel="layer of the CIFAR-100 model", ylabel="B sqrt((L-1) d_l (d-d_l)) / (B d)")
    axes.legend()


@check("man-thm1-informative", figure=_draw_informative)
def theorem_one_is_informative() -> Verdict:
    """How much Theorem 1 says about the overall top eigenvalue.

    Statement: the bound lambda_max(H_ll) + B sqrt((L-1) d_l (d-d_l)) is below the trivial bound B d and is not
    dominated by its second term, so that lowering the layer-wise top eigenvalues lowers the bound on lambda_max(H).
    Assumptions: |h| <= B (Theorem 1 as repaired).
    Method: second term over B d for equal layers and for the CIFAR-100 model of Table 4; the same on the dense Hessian
    of a digits network (B its largest entry); relations that do not involve dimensions: for H >= 0, lambda_max(H) <=
    sum_l lambda_max(H_ll), from man-eq7; l = log(1 + exp(-w2 w1)) at 0, whose layer blocks vanish while lambda_max(H) =
    1/2.
    Verdict: vacuous. With L equal layers the second term alone is (1 - 1/L) B d; a layer that holds half of the
    parameters of a network with six or more layers exceeds B d.
    Reference: Yashwanth et al. 2024, Sec. 3.2.2.
    """
    network = trained_mlp().network
    matrix, sizes = network.full_hessian(*digit_batch(150, 12))
    parts, largest = blocks(sizes), float(np.abs(matrix).max())
    tops = [top_eigenvalue(matrix[p, p]) for p in parts]
    second = [share * largest * sum(sizes) for share in bound_shares(sizes)]
    bound, measured = max(t + s for t, s in zip(tops, second, strict=True)), top_eigenvalue(matrix)
    L = sp.symbols("L", positive=True)
    equal = identity((L - 1) * (1 / L) * (1 - 1 / L), (1 - 1 / L) ** 2, label="equal layers, (second term / B d)^2")
    u, v = sp.symbols("u v", real=True)
    coupled = sp.hessian(sp.log(1 + sp.exp(-u * v)), (u, v)).subs({u: 0, v: 0})
    shares = bound_shares(CIFAR100_LAYERS)
    return vacuous(
        f"on a trained digits network ({sum(sizes)} parameters) the bound is {bound:.3g} against lambda_max(H) = "
        f"{measured:.3g} "
        f"and a trivial bound B d = {largest * sum(sizes):.3g}; its layer-wise part is {max(tops):.3g}; on the "
        f"CIFAR-100 model "
        f"the second term is {max(shares):.2f} times the trivial bound, before any eigenvalue is added",
        margin=measured / bound,
        measured=measured,
        bound=bound,
        trivial=largest * sum(sizes),
        layer_tops=tops,
        cifar100_second_term_over_trivial=shares,
        six_layers_half_in_one=bound_shares((5, 1, 1, 1, 1, 1))[0],
        equal_layers=equal,
        semidefinite_alternative={
            "relation": "lambda_max(H) <= sum_l lambda_max(H_ll) for H >= 0",
            "why": "H = R^T R has the non-zero spectrum of R R^T = sum_l R_l R_l^T; man-eq7; H_ll = R_l^T R_l",
            "value": sum(tops),
            "smallest_eigenvalue_here": float(np.linalg.eigvalsh(matrix)[0]),
        },
        zero_blocks={
            "hessian": [[str(e) for e in row] for row in coupled.tolist()],
            "layer_tops": [0, 0],
            "overall_top": "1/2",
        },
    )
