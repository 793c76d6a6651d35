"""Supplement 1.2 and Lemma 1: matrix preliminaries and the Kronecker form of a fully connected layer's Hessian."""

from __future__ import annotations

from fractions import Fraction as Q

import numpy as np
import sympy as sp

from theory.kit.exact import DIGITS, fractions_of
from theory.kit.formula import formula
from theory.kit.symbolic import VARIANCE, decide_identity, identity, lagrange
from theory.kit.verdict import Replay, Verdict, always, check, decided
from theory.yashwanth2023.common import exact, proved, refuted, repaired, top_eigenvalue
from theory.yashwanth2023.networks import ACTIVATIONS, Mlp, digit_batch, random_batch, random_mlp, trained_mlp

Mii, Mij, Mjj, ap, aq = sp.symbols("M_ii M_ij M_jj a_p a_q", real=True)


def matrix_of(name: str, rows: int, columns: int) -> sp.Matrix:
    """Matrix of independent real symbols."""
    return sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"{name}{i}{j}", real=True))


def entrywise(label: str, left: sp.Matrix, right: sp.Matrix) -> str:
    """Certificate that two matrices of equal shape agree entry by entry."""
    if left.shape != right.shape:
        raise ValueError(f"{label}: shapes {left.shape} and {right.shape}")
    if any(entry != 0 for entry in sp.expand(left - right)):
        raise ValueError(f"{label}: the matrices differ")
    text = f"all {left.rows * left.cols} entries of the difference expand to 0 (sympy {sp.__version__})"
    return f"{label}: {decided(text, 'identity', left == right)}"


def _replay_eq19(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    x, v = c["x"], c["eigenvector"]
    inner = sum(a * b for a, b in zip(x, v, strict=True))
    pair = all(a * inner == c["eigenvalue"] * b for a, b in zip(x, v, strict=True))
    assumptions = {"x in R^d": always(len(x) == 2), "eigenpair of x x^T": pair and any(v)}
    return Replay(assumptions, c["eigenvalue"], sum(a * a for a in x), "==")


@check("man-eq19-23", replay=_replay_eq19)
def matrix_preliminaries() -> Verdict:
    """The five matrix rules of the supplement.

    Statement: (19) eig(x x^T) = ||x||^2; (20) (A (x) B)^T = A^T (x) B^T; (21) (A (x) B)(C (x) D) = AC (x) BD; (22) (A
    (x) B) C = AC (x) B; (23) eig(A (x) B) = eig(A) (x) eig(B).
    Assumptions: compatible shapes.
    Method: symbolic matrices; characteristic polynomial of x x^T; count of shapes for (22).
    Verdict: repaired. (19) lists one of d eigenvalues: the other d - 1 are 0, which matters when an eigenvalue of a
    factor is negative (man-eq49). (22) is defined on both sides only if B is a single column, where it holds; (20),
    (21), (23) hold as printed.
    Reference: Yashwanth et al. 2024, supplement Sec. 1.2, eqs. (19)-(23).
    """
    lam, det, norm = sp.Symbol("lambda"), sp.Symbol("det", real=True), sp.Symbol("norm", positive=True)
    size = sp.Symbol("d", positive=True, integer=True)
    names = {det: r"\det(\lambda I-xx^\top)", norm: r"\|x\|"}
    spectrum = formula(det, "==", lam ** (size - 1) * (lam - norm**2), names)
    polynomials = [
        identity(
            (x * x.T).charpoly(lam).as_expr(),
            spectrum.right.subs({size: x.rows, norm: sp.sqrt((x.T * x)[0])}),
            label=f"characteristic polynomial of x x^T, d = {x.rows}",
        )
        for x in (matrix_of("x", 3, 1), matrix_of("x", 4, 1))
    ]
    A, B, C, D = (matrix_of(n, *s) for n, s in (("a", (2, 2)), ("b", (2, 3)), ("c", (2, 1)), ("d", (3, 2))))
    column, kron = matrix_of("e", 3, 1), sp.kronecker_product
    so_far, x, inner = sp.symbols("S x T", real=True)
    factors = identity((so_far + x) * inner, so_far * inner + x * inner, label="one more x = a_ij c_jk, T the q-sum")
    rows, columns = sp.symbols("n r", positive=True)
    fits = sp.solve(rows * columns - rows, columns)  # rows of C needed by each side
    return repaired(
        {"x": [Q(1), Q(1)], "eigenvector": [Q(1), Q(-1)], "eigenvalue": Q(0)},
        f"(19) ${spectrum.latex}$, so every other eigenvalue is zero; (22) for $B$ with one column; (20), (21), "
        "(23) as printed.",
        *polynomials,
        "for any d, x x^T x = (x.x) x, and x x^T v = 0 for the d - 1 dimensions of v orthogonal to x",
        "any sizes: entry ((i, p), (j, q)) of (A (x) B)^T and of A^T (x) B^T is a_ji b_qp; entry ((i, p), (k, r)) of "
        "(A (x) B)(C (x) D) is sum_jq a_ij b_pq c_jk d_qr = (sum_j a_ij c_jk)(sum_q b_pq d_qr), that of AC (x) BD, by "
        f"induction over j: {factors}; (22) for one column b: sum_j a_ij b_p c_jk = b_p (AC)_ik",
        entrywise("(20)", kron(A, B).T, kron(A.T, B.T)),
        entrywise("(21)", kron(A, B) * kron(C, D), kron(A * C, B * D)),
        entrywise("(22) with B a column", kron(A, column) * C, kron(A * C, column)),
        f"(22): A (x) B needs C with n r rows, AC needs n, so the number r of columns of B is {fits}",
        "(23): with Schur forms A = U T U*, B = V S V*, (21) gives (U (x) V)*(A (x) B)(U (x) V) = T (x) S, upper "
        "triangular "
        "with the products of the eigenvalues on its diagonal",
        margin=None,
    )


def lemma_errors(network: Mlp, samples: int, batch) -> list[dict[str, float]]:
    """Per layer, worst over samples: |H_{W_l} - M_l (x) a a^T|, power iteration (relative), formula of eq. (49)."""
    inputs, labels = batch
    rows = []
    for layer in range(1, network.depth + 1):
        entry = power = formula = 0.0
        for i in range(samples):
            one, label = inputs[i : i + 1], labels[i : i + 1]
            dense = network.layer_hessian(layer, one, label)
            below = network.trace(one)[1][layer - 1].flatten().numpy()
            M = network.output_hessian(layer, one, label)
            entry = max(entry, np.abs(dense - np.kron(M, np.outer(below, below))).max())
            spectrum = np.linalg.eigvalsh(dense)
            top, size = spectrum[-1], max(abs(spectrum[0]), abs(spectrum[-1]), 1e-12)
            power = max(power, abs(network.layer_top(layer, one, label) - top) / size)
            formula = max(formula, abs(max(top_eigenvalue(M), 0) * (below @ below) - top))
        rows.append(
            {"layer": layer, "entry_error": float(entry), "power_error": float(power), "formula_error": float(formula)}
        )
    return rows


def _require(rows: list[dict[str, float]], tolerance: float) -> None:
    worst = max(value for row in rows for key, value in row.items() if key != "layer")
    if worst > tolerance:
        raise ValueError(f"dense Hessian, power iteration and formula differ by {worst}")


def kronecker_entries(factor: sp.Rational, product: sp.Expr = Mij * ap * aq) -> list[Verdict]:
    """Entries ((i, p), (j, q)) of H_W against factor * product, those of M (x) a a^T, for any sizes of W.

    The other weights are fixed: x = W_ip and y = W_jq move z_i and z_j only, r_i and r_j hold the rest of these.
    """
    x, y, ri, rj, si, sj = sp.symbols("x y r_i r_j s_i s_j", real=True)

    def taylor(zi: sp.Expr, zj: sp.Expr) -> sp.Expr:  # part of the polynomial in z_i and z_j, slopes s, Hessian M
        return si * zi + sj * zj + Mii * zi**2 / 2 + Mij * zi * zj + Mjj * zj**2 / 2

    apart, same = taylor(x * ap + ri, y * aq + rj), taylor(x * ap + y * aq + ri, rj)
    name = "entry ((i, p), (j, q)) of H_W = that of M (x) a a^T, vec(W) row-major, any d_l and d_{l-1}"
    cases = (
        (f"{name}, j != i", sp.diff(apart, x, y), product),
        ("j = i, q != p", sp.diff(same, x, y), product.subs(Mij, Mii)),
        ("j = i, q = p", sp.diff(apart, x, 2), product.subs({Mij: Mii, aq: ap})),
    )
    return [decide_identity(left, factor * right, label=label) for label, left, right in cases]


@check("man-lem1", mutations=((0.9, "refuted"), (1.1, "refuted")))
def kronecker_form(scale: float = 1.0) -> Verdict:
    """The Hessian of a fully connected layer's weights is a Kronecker product.

    Statement: H_{W_l}(L^i) = M_l (x) a_{l-1} a_{l-1}^T with M_l symmetric [d_l, d_l], exactly.
    Assumptions: L^i is twice differentiable in z_l at the point (ReLU: no unit of a layer above at its kink).
    Method: a_{l-1} does not depend on W_l and z_l is affine in W_l, so the loss may be replaced by its second-order
    Taylor polynomial in z_l; two weights move at most two units of z_l, so its Hessian in W_l is compared entry by
    entry for any sizes. Dense automatic differentiation, power
    iteration on Hessian-vector products and the formula are compared on ReLU, leaky ReLU, tanh and GELU networks and on
    a trained digits network, every layer, float64.
    Verdict: proved, for row-major vec(W_l) (see man-eq42), with M_l the Hessian in z_l (see man-eq41).
    Reference: Yashwanth et al. 2024, supplement Lemma 1, eqs. (40)-(44).
    """
    entry = sp.Symbol("entry", real=True)
    names = {entry: r"(H_{W_l})_{(i,p),(j,q)}", Mij: "(M_l)_{ij}", ap: "(a_{l-1})_p", aq: "(a_{l-1})_q"}
    form = formula(entry, "==", Mij * ap * aq, names)
    entries = kronecker_entries(sp.Rational(str(scale)), form.right)
    for decided_entry in entries:
        if decided_entry.verdict == "refuted":
            return decided_entry
    digits, tolerance = {"count": 150, "features": 12}, 1e-6
    measured = {}
    for activation in ACTIVATIONS:
        network = random_mlp((4, 5, 4, 3), seed=3, activation=activation)
        measured[activation] = lemma_errors(network, 2, random_batch(4, 3, 3, seed=4))
    measured["digits"] = lemma_errors(trained_mlp().network, 2, digit_batch(**digits))
    _require([row for rows in measured.values() for row in rows], tolerance)
    steps = [entry.evidence["certificate"] for entry in entries]
    symmetric = "M symmetric: equality of mixed second derivatives"
    settings = {"digits": digits, "tolerance": tolerance}
    return proved(*steps, symmetric, margin=1.0, measured=measured, settings=settings)


def _replay_eq41(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    a, W2, p = c["hidden"], c["W2"], c["softmax"]
    logits = [sum(w * h for w, h in zip(row, a, strict=True)) for row in W2]
    H = [[(p[i] if i == j else 0) - p[i] * p[j] for j in range(2)] for i in range(2)]
    true = sum(W2[i][0] * H[i][j] * W2[j][0] for i in range(2) for j in range(2))
    assumptions = {
        "pre-activations positive, so ReLU is the identity nearby": min(a) > 0,
        "softmax of equal logits": logits[0] == logits[1] and p == [Q(1, 2), Q(1, 2)],
        "same shape, d_l = C": always(len(a) == len(p)),
    }
    return Replay(assumptions, H[0][0], true, "==")


@check("man-eq41", replay=_replay_eq41)
def which_hessian() -> Verdict:
    """M_l is the Hessian in the layer's pre-activation, not in the logits.

    Statement: M_l := H_z(L^i), z the logits in R^C, and the second term of (41) vanishes because nabla^2_{w_l} z[n] =
    0.
    Assumptions: ReLU network, softmax cross-entropy.
    Method: shapes (C x C against d_l x d_l); a two-layer network with d_1 = C = 2, W_2 = 2I, equal logits, where the
    printed M_1 is 1/4 of the true one; symbolic second derivative of the logits for ReLU (pattern fixed) and tanh.
    Verdict: repaired. Right for l = L. For l < L the printed matrix has the wrong shape unless d_l = C and the wrong
    values even then; the second term vanishes for z_l always, for the logits only where the activation is piecewise
    linear.
    Reference: Yashwanth et al. 2024, supplement eqs. (41)-(44).
    """
    first, second, x, y, h = sp.symbols("j_ki j_lm u_i u_m h_kl", real=True)
    w, a = sp.symbols("w a", real=True)
    curved = sp.simplify(sp.diff(sp.tanh(w * a), w, 2))
    drawn = {"widths": (4, 5, 4, 3), "seed": 3}
    batch = {"dimension": 4, "classes": 3, "count": 1, "seed": 4}
    network, (inputs, labels) = random_mlp(**drawn), random_batch(**batch)
    shapes = [list(network.output_hessian(layer, inputs, labels).shape) for layer in (1, 2, 3)]
    own, mixed, mean_i, mean_j, s, si, sj, sij = sp.symbols("M m_ij m_i m_j s s_i s_j s_ij", positive=True)
    names = {
        own: "(M_l)_{ij}",
        mixed: r"\sum_cp_cJ_{ci}J_{cj}",
        mean_i: r"\big(\sum_cp_cJ_{ci}\big)",
        mean_j: r"\big(\sum_cp_cJ_{cj}\big)",
    }
    form = formula(own, "==", mixed - mean_i * mean_j, names)
    total = sp.log(s + si * x + sj * y + sij * x * y)  # of exp(logits + J u), the terms that d^2/dx dy needs
    return repaired(
        {"hidden": [Q(1), Q(1)], "W2": [[Q(2), Q(0)], [Q(0), Q(2)]], "softmax": [Q(1, 2), Q(1, 2)]},
        r"$M_l$ is the Hessian of a sample's loss in $z_l$; for piecewise-linear activations "
        rf"$M_l=J^\top(\mathrm{{diag}}(p)-pp^\top)J$ with $J=\partial z/\partial z_l$, in entries ${form.latex}$, and "
        "only $M_L$ is the Hessian in the logits.",
        identity(
            sp.diff(total, x, y).subs({x: 0, y: 0}),
            form.right.subs({mixed: sij / s, mean_i: si / s, mean_j: sj / s}),
            label="entry (i, j) of the Hessian of log sum_c exp, p_c = exp/s, any number of classes",
        ),
        identity(
            x * (first * h * second) * y,
            (first * x) * h * (second * y),
            label="u.M_l u with M_l = J^T H J is (J u).H (J u), term (i, k, l, m), any sizes",
        ),
        "z_l is affine in w_l, so its second derivative is 0 for every activation; with the pattern of ReLU fixed "
        "the logits "
        "are affine in z_l, which gives J^T H J",
        margin=None,
        shapes_of_M_l=shapes,
        shape_of_logit_hessian=[3, 3],
        second_derivative_tanh=str(curved),
        network=drawn,
        batch=batch,
    )


def _replay_eq42(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    a, order = c["a"], c["stacked_entry"]
    assumptions = {"vec stacks columns": order == [2, 1], "W in R^(2x2)": len(a) == 2}
    true = a[0] if order[0] == 1 else Q(0)  # d z_1 / d W_21
    return Replay(assumptions, a[1], true, "==")


@check("man-eq42", replay=_replay_eq42)
def jacobian_convention() -> Verdict:
    """The Jacobian of z_l belongs to row stacking, the notation section defines column stacking.

    Statement: with vec stacking columns and W_l in R^{d_l x d_{l-1}}, dz_l/dvec(W_l) = I (x) a^T.
    Assumptions: z = W a + b.
    Method: symbolic Jacobian for both stacking orders; entry (1, 2) for a = (1, 2): the second stacked parameter is
    W_21, on which z_1 does not depend, while I (x) a^T has a_2 there.
    Verdict: repaired. I (x) a^T is right for row stacking; for column stacking it is a^T (x) I and H = a a^T (x) M. The
    two differ by a permutation, so eigenvalues and every later bound are unaffected. The main text has W_l of shape
    d_{l-1} x d_l, for which z = W^T a and column stacking does give I (x) a^T.
    Reference: Yashwanth et al. 2024, supplement eq. (42), Sec. 1.1; main text before Theorem 2.
    """
    W, a = matrix_of("w", 2, 3), matrix_of("a", 3, 1)
    z, identity_matrix, kron = W * a, sp.eye(2), sp.kronecker_product
    columns = [W[i, j] for j in range(3) for i in range(2)]
    transposed = matrix_of("t", 3, 2)
    weight, entry, rest = sp.symbols("W_iq a_q r_i", real=True)
    one = identity(sp.diff(weight * entry + rest, weight), entry, label="dz_i/dW_iq, z_i = W_iq a_q + r_i")
    return repaired(
        {"a": [Q(1), Q(2)], "row": 1, "stacked_entry": [2, 1], "printed_entry": Q(2), "true_entry": Q(0)},
        r"$\partial z_l/\partial vec(W_l)=a_{l-1}^\top\otimes I_{d_l}$ for column stacking ($I\otimes a^\top$ for "
        r"row stacking), "
        r"and $H_{W_l}=a a^\top\otimes M_l$; the eigenvalues are the same.",
        f"{one}; dz_i/dW_jq = 0 for j != i: a_q at row i, column (i, q) of I (x) a^T for row stacking, column (q, i) "
        "of a^T (x) I for column stacking, any sizes; 2 x 3 written out:",
        entrywise("row stacking", z.jacobian(list(W)), kron(identity_matrix, a.T)),
        entrywise("column stacking", z.jacobian(columns), kron(a.T, identity_matrix)),
        entrywise(
            "W of shape d_{l-1} x d_l, column stacking",
            (transposed.T * a).jacobian([transposed[i, j] for j in range(2) for i in range(3)]),
            kron(identity_matrix, a.T),
        ),
    )


def smallest_output_eigenvalues(draws: int = 12) -> dict[str, float]:
    """Smallest eigenvalue of M_l over random networks, layers and inputs, per activation."""
    worst = {}
    for activation in ACTIVATIONS:
        values = []
        for seed in range(draws):
            network = random_mlp((4, 5, 4, 3), seed, activation, gain=1.5)
            inputs, labels = random_batch(4, 3, 1, seed + 100)
            values += [np.linalg.eigvalsh(network.output_hessian(layer, inputs, labels))[0] for layer in (1, 2, 3)]
        worst[activation] = float(min(values))
    return worst


def _draw_smallest(axes, evidence) -> None:
    worst = evidence["smallest_eigenvalue"]
    axes.bar(list(worst), list(worst.values()))
    axes.axhline(0, color="k", lw=0.8)
    axes.set(ylabel="smallest eigenvalue of M_l found")


@check("man-M-psd", figure=_draw_smallest)
def definiteness() -> Verdict:
    """M_l is symmetric; positive semidefinite for piecewise-linear activations, possibly indefinite for smooth ones.

    Statement: M_l symmetric; M_l = J^T (diag(p) - p p^T) J >= 0 away from kinks for piecewise-linear activations; M_l
    can be indefinite for smooth activations.
    Assumptions: softmax cross-entropy, no unit at a kink.
    Method: u.(diag(p) - p p^T) u as a sum of squares with weights p_i p_j; an explicit negative value for tanh (z =
    -3/2, one unit, C = 2); smallest eigenvalues over random networks.
    Verdict: proved.
    Reference: Yashwanth et al. 2024, supplement Lemma 1 and Theorem 5.
    """
    z = sp.Symbol("z", real=True)
    value = sp.diff(sp.log(1 + sp.exp(-sp.tanh(z))), z, 2).subs(z, sp.Rational(-3, 2)).evalf(DIGITS)
    if not value < 0:
        raise ValueError("the tanh example is not negative")
    square, mean, pairs = sp.symbols("square mean pairs", real=True)
    form = formula(square - mean**2, ">=", 0, {square: r"\sum_ip_iu_i^2", mean: r"\big(\sum_ip_iu_i\big)"})
    flat = form.attained_at({square: 4, mean: 2})
    spread = identity(form.room.subs(square, mean**2 + pairs), pairs, label="room, pairs the sum over pairs")
    worst = smallest_output_eigenvalues()
    if min(worst["relu"], worst["leaky_relu"]) < -1e-12:
        raise ValueError("a piecewise-linear network has a negative eigenvalue")
    return proved(
        "symmetry: equality of mixed second derivatives",
        f"u.(diag(p) - p p^T) u = sum p_i u_i^2 - (sum p_i u_i)^2, x_i here u_i: {lagrange(VARIANCE)}",
        f"{spread} >= 0",
        "with J u in place of u this is u.M_l u >= 0",
        f"tanh, logits (tanh z, 0), label 1: M(-3/2) = {sp.N(value, 12)} < 0",
        smallest_eigenvalue=worst,
        attained_where_every_u_i_is_2=flat,
    )


@check("man-eq49", mutations=((0.9, "refuted"), (1.1, "refuted")))
def per_sample_top(scale: float = 1.0) -> Verdict:
    """Top eigenvalue of the per-sample layer Hessian.

    Statement: lambda_max(H_{W_l}(L^i)) = lambda_max(M_l) lambda_max(a a^T) = lambda_max(M_l) ||a_{l-1}||^2.
    Assumptions: ReLU network (as the supplement states), softmax cross-entropy, away from kinks.
    Method: in an eigenbasis of M the form of M (x) a a^T is a sum over its rows, bounded row by row by Cauchy-Schwarz
    (Lagrange's identity) and lambda_max(M) >= 0 (man-M-psd), and attained; any sizes. Power iteration against dense
    Hessians of the digits network.
    Verdict: proved. For smooth activations M_l can be negative definite; with d_{l-1} > 1 the top eigenvalue is then 0
    and the printed value is too small: lambda_max = max(lambda_max(M_l), 0) ||a||^2.
    Reference: Yashwanth et al. 2024, supplement eq. (49).
    """
    factor, (H, top, m, row, inner) = exact(scale), sp.symbols("H t m_i v2 c", real=True)
    norm = sp.Symbol("norm", positive=True)
    names = {H: r"\lambda_{\max}(H_{W_l})", top: r"\lambda_{\max}(M_l)", norm: r"\|a_{l-1}\|"}
    form = formula(H, "==", top * norm**2, names)
    M, a = sp.diag(3, 2), sp.Matrix([1, 2])
    seen = max(sp.kronecker_product(M, a * a.T).eigenvals())
    _, right = form.at({H: seen, top: max(M.eigenvals()), norm: a.norm()})
    instance = {"M": str(M.tolist()), "a": str(list(a)), "top_eigenvalue": str(seen)}
    if seen != sp.sympify(factor) * right:
        return refuted({**instance, "scaled_formula": str(sp.sympify(factor) * right)})
    digits, tolerance = {"count": 150, "features": 12}, 1e-6
    rows = lemma_errors(trained_mlp().network, 4, digit_batch(**digits))
    _require(rows, tolerance)
    return proved(
        "v.(M (x) a a^T)v = sum_i m_i c_i^2 for v = vec(V), V written in an orthonormal eigenbasis of M with "
        "eigenvalues m_i: c_i = v_i.a, v_i the rows of V",
        identity(
            form.right * row - m * inner**2,
            top * (norm**2 * row - inner**2) + (top - m) * inner**2,
            label="row i of t |a|^2 |V|^2 - v.(M (x) a a^T)v, norm = |a|, v2 = |v_i|^2, c = c_i, t = lambda_max(M)",
        ),
        f"summed over i it is >= 0, for t >= 0 by man-M-psd, t >= m_i, and {lagrange('a = v_i, b = a')}",
        identity(
            m * norm**4,
            form.right.subs(top, m) * norm**2,
            label="attained where V has only row i, v_i = a, m_i = t: c = |V|^2 = |a|^2",
        ),
        margin=1.0,
        measured=rows,
        settings={"digits": digits, "tolerance": tolerance},
        instance=instance,
        tanh_case={"M": [[-1]], "a": [1, 1], "top_eigenvalue": 0, "printed_formula": -2},
    )
