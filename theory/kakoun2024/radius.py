"""Eq. (3.12) and Algorithm 3: the individual radii r_k."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp

from theory.kakoun2024.common import Statement, decide, dot, weighted
from theory.kakoun2024.formulation import double_sum_grows, linear_in_v
from theory.kakoun2024.runs import radii_in_training, radii_of_run
from theory.kit.exact import plain
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import decide_identity, identity, lagrange, total
from theory.kit.verdict import Replay, Verdict, always, check

radius, inner, total_sum, own, other = sp.symbols("r_k inner S own other", real=True)
size, length, whole, p_k, beta = sp.symbols("size length n p_k beta_k", positive=True)
cosine = sp.Symbol("cosine", real=True)
NAMES = {radius: r"r_k=\sum_jp_j\|g_j\|\cos\beta_{jk}", inner: r"\langle\nabla F(\theta),g_k\rangle"}
NAMES |= {length: r"\|g_k\|", whole: r"\|\nabla F(\theta)\|", size: "|r_k|", total_sum: r"\sum_kp_kr_k\|g_k\|"}
NAMES |= {own: r"\partial r_k/\partial\|g_k\|", other: r"\partial r_j/\partial\|g_k\|", cosine: r"\cos\beta_{jk}"}
GRADIENTS, WEIGHTS = [(3, 4), (-8, 6), (5, 12)], [sp.Rational(1, n) for n in (2, 3, 6)]


def radii(gradients: list[tuple[int, ...]], weights: list[sp.Rational]) -> list[dict[sp.Symbol, sp.Expr]]:
    """r_k of eq. (3.12) with what its formulas measure, exactly, for every client."""
    norms, mean = [sp.sqrt(dot(g, g)) for g in gradients], weighted(weights, gradients)
    found = []
    for norm, g in zip(norms, gradients, strict=True):
        cosines = [dot(x, g) / (n * norm) for n, x in zip(norms, gradients, strict=True)]
        r = sum(p * n * cosine for p, n, cosine in zip(weights, norms, cosines, strict=True))
        found.append({radius: r, inner: dot(mean, g), length: norm, whole: sp.sqrt(dot(mean, mean))})
    return found


def projected(scale: float = 1.0) -> tuple[Formula, Formula, Verdict]:
    """r_k as a projection, its bound, and the verdict on both."""
    rule = formula(radius, "==", sp.Rational(str(scale)) * inner / length, NAMES)
    bound = formula(size, "<=", whole, NAMES)
    for client in radii(GRADIENTS, WEIGHTS) if scale == 1 else ():
        rule.attained_at(client)
    before, p, g, own = sp.symbols("M p_j g_j g_k", real=True)
    label = (
        "|g_k| r_k = sum_j p_j <g_j,g_k> = <grad F,g_k> per coordinate and for any number of clients by induction: "
        "both are 0 without a client; M: coordinate of the sum of the p_j g_j so far, one more client"
    )
    product = (rule.right * length).subs(inner, (before + p * g) * own)
    verdict = decide_identity(before * own + p * (g * own), product, label=label)
    if verdict.verdict == "refuted":
        return rule, bound, verdict
    along = radii([(3, 4), (6, 8)], [WEIGHTS[1], 2 * WEIGHTS[1]])[0]
    bound.attained_at({whole: along[whole], size: abs(along[radius])})
    squares = (bound.right**2 - rule.right**2) * length**2
    text = "; ".join(
        (
            f"{verdict.evidence['certificate']}; divided by |g_k|",
            identity(squares, whole**2 * length**2 - inner**2, label="|g_k|^2 (right^2 - r_k^2), inner = <grad F,g_k>"),
            lagrange("with a = grad F, b = g_k it gives |<grad F,g_k>| <= |grad F||g_k|, hence |r_k| <= |grad F|"),
        )
    )
    return rule, bound, Verdict("proved", {"certificate": text})


def share_of_negative_radii(clients: int, dimension: int, common: float, seed: int = 0, draws: int = 400) -> float:
    """Share of r_k < 0 for gradients common * e_1 + standard normal noise, equal weights."""
    rng = np.random.default_rng(seed)
    gradients = rng.standard_normal((draws, clients, dimension))
    gradients[..., 0] += common
    inner = np.einsum("nkd,nd->nk", gradients, gradients.mean(axis=1))
    return float(np.mean(inner < 0))


def identity_along_a_run(seed: int = 0) -> dict[str, float]:
    """Radii that the project's method sends for five random gradients in 8 dimensions: identity and bound."""
    g = np.random.default_rng(seed).standard_normal((5, 8))
    r, mean = radii_of_run(g.tolist()), g.mean(axis=0)
    return {
        "mean_of_r|g|_minus_|grad F|^2": float(abs(np.mean(r * np.linalg.norm(g, axis=1)) - mean @ mean)),
        "largest_|r|_over_|grad F|": float(np.abs(r).max() / np.linalg.norm(mean)),
    }


@check("thesis-rk-proj", mutations=((0.9, "refuted"), (1.1, "refuted")))
def projection(scale: float = 1.0) -> Verdict:
    """r_k is a projection of the global gradient.

    Statement: r_k = <grad F, g_k>/|g_k| = |grad F| cos(grad F, g_k), hence |r_k| <= |grad F|.
    Assumptions: g_k not 0.
    Method: expand |g_k| r_k = sum_j p_j <g_j, g_k> per coordinate, by induction over j; Cauchy-Schwarz for the bound.
    Verdict: proved; every value in [-|grad F|, |grad F|] occurs (g_k along, across or against grad F), and the weighted
        sum of r_k|g_k| is |grad F|^2, so not all r_k are negative.
    Reference: Al Kakoun 2024, eq. (3.12).
    """
    decided = projected(scale)[2]
    if decided.verdict == "refuted":
        return decided
    extreme = {"r_over_norm_along_across_against": [1, 0, -1], "project_run": identity_along_a_run()}
    return Verdict("proved", {**decided.evidence, **extreme})


def _sign(g1, g2, p):
    """Two clients on the line: -r_2 <= 0 is the claim."""
    mean = p * g1 + (1 - p) * g2
    return -mean * (1 if g2 > 0 else -1), 0 * mean, {"gradients not 0": g1 * g2 != 0, "0<p<1": 0 < p < 1}


SIGN = Statement(("g1", "g2", "p"), _sign)


@check("thesis-rk-negative", replay=SIGN.replay)
def radius_can_be_negative() -> Verdict:
    """Is the individual radius a radius.

    Statement: rho_k = r_k rho is a neighbourhood size, so r_k >= 0 for all k, and r_k is bounded.
    Assumptions: gradients not 0.
    Method: two clients on the line with g = 3 and -1: r_2 = -1; frequencies for random gradients and along a run of
        softmax regression with Dirichlet(0.2) clients.
    Verdict: repaired: r_k lies in [-|grad F|, |grad F|] and is unbounded over theta where |grad F| is. With r_k < 0 the
        perturbation descends the client's loss: the step is SAM turned round, it rewards sharp directions.
    Reference: Al Kakoun 2024, Section 3.5 and Algorithm 3.
    """
    rule, bound, decided = projected()
    positive = formula(total_sum, "==", whole**2, NAMES)
    clients = radii(GRADIENTS, WEIGHTS)
    found = sum(p * one[radius] * one[length] for p, one in zip(WEIGHTS, clients, strict=True))
    positive.attained_at({total_sum: found, whole: clients[0][whole]})
    p, g, v = sp.symbols("p_k g_k v", real=True)
    mean = identity(total(p * v * g, {p * g: v}), positive.right.subs(whole, v), label="v a coordinate of grad F")
    text = f"{decided.evidence['certificate']}; with v = grad F: {linear_in_v()}; {mean}"
    shares = {
        f"K={K}, d={d}, common={c}": share_of_negative_radii(K, d, c)
        for K, d, c in ((2, 1, 0.0), (10, 2, 0.0), (10, 100, 0.0), (10, 100, 3.0))
    }
    statement = f"${bound.latex}$, where ${rule.latex}$, and ${positive.latex}$, so at least one $r_k$ is not negative"
    return decide(
        SIGN,
        points=[{"g1": 3, "g2": -1, "p": "1/2"}],
        repair=(statement, text),
        share_of_negative_radii=shares,
        training=radii_in_training(),
    )


@check("thesis-rk-equal", mutations=((0.9, "refuted"), (1.1, "refuted")))
def equal_gradients(scale: float = 1.0) -> Verdict:
    """Equal gradients give equal radii.

    Statement: if all g_k are equal, all r_k are equal.
    Assumptions: g not 0, sum p_k = 1.
    Method: substitution in |g_k| r_k = sum_j p_j <g_j, g_k>.
    Verdict: proved, with r_k = |g|: the method then is Local SAM with radius rho|g|, not rho, unless |g| = 1. It
        matches the initial value r_k = 1 only in the normalised form r_k = cos(grad F, g_k).
    Reference: Al Kakoun 2024, Section 3.3, text after Lemma 1.
    """
    weights = sp.Symbol("sum_p_j", positive=True)
    rule = formula(radius, "==", sp.Rational(str(scale)) * length, {length: r"\|g\|"})
    label = "|g| r_k = sum_j p_j <g,g> = |g|^2 for every k, length = |g|, any number of clients"
    return decide_identity(weights * length**2, rule.right * length, substitute={weights: 1}, label=label)


def _dissimilar(big, small):
    """p = 1/3 each, g_1 = (big, 0), g_2 = g_3 = (0, small): squared radii of the odd client and of a typical one."""
    g = [(big, 0 * big), (0 * small, small), (0 * small, small)]
    mean = (big / 3, 2 * small / 3)
    fits = {
        "client 1 is orthogonal to both others": always(dot(g[0], g[1]) == 0 == dot(g[0], g[2])),
        "clients 2 and 3 agree with each other": always(dot(g[1], g[2]) ** 2 == dot(g[1], g[1]) * dot(g[2], g[2])),
        "gradients not 0": big > 0 and small > 0,
    }
    return dot(mean, g[0]) ** 2 / dot(g[0], g[0]), dot(mean, g[1]) ** 2 / dot(g[1], g[1]), fits


DISSIMILAR = Statement(("big", "small"), _dissimilar)


@check("thesis-rk-dissimilar", replay=DISSIMILAR.replay, mutations=((0.5, "refuted"), (5.0, "holds")))
def dissimilar_clients(scale: float = 1.0) -> Verdict:
    """Dissimilar clients get a smaller radius.

    Statement: "the more different a client is from others, the lower its rho".
    Assumptions: difference measured by the angles to the other clients' gradients.
    Method: one client with a long gradient orthogonal to two that agree: it has the largest mean angle (90 against 45
        degrees) and, because it dominates grad F, the largest radius.
    Verdict: repaired: r_k decreases in the angle to grad F at fixed |grad F|; not in the angles to the other clients.
    Reference: Al Kakoun 2024, Section 3.3, last paragraph; Chapter 1.
    """
    rule = formula(radius, "==", whole * sp.cos(beta), {whole: NAMES[whole]})
    for one in radii(GRADIENTS, WEIGHTS):
        rule.attained_at({**one, beta: sp.acos(one[inner] / (one[whole] * one[length]))})
    falls = identity(sp.diff(rule.right, beta), -whole * sp.sin(beta), label="d r_k/d beta_k, n = |grad F|")
    text = f"{falls}, < 0 for 0 < beta_k < pi"
    angle = r"$\beta_k$ the angle between $g_k$ and $\nabla F(\theta)$"
    statement = f"${rule.latex}$, {angle}, decreases strictly in the angle at a fixed norm"
    return decide(
        DISSIMILAR,
        scale,
        points=[{"big": 4, "small": 1}],
        box=((0.1, 1), (4, 3)),
        function_class="three clients, one orthogonal to two equal ones, lengths up to 4 and 3",
        repair=(statement, text),
    )


@check("thesis-rk-magnitude", mutations=((0.9, "refuted"), (1.1, "refuted")))
def larger_gradient(scale: float = 1.0) -> Verdict:
    """Larger client gradient gives a larger radius.

    Statement: scaling |g_k| by s > 1 with all directions and the other gradients fixed increases r_k.
    Assumptions: p_k > 0.
    Method: derivative of r_k = sum_j p_j n_j c_jk, c_kk = 1, in n_k.
    Verdict: proved: d r_k/d n_k = p_k > 0, and d r_j/d n_k = p_k cos beta_jk for j != k, negative for opposed clients.
        The effect is weighted by p_k: with 100 clients a tenfold gradient moves its own radius by 9% of its length
        only.
    Reference: Al Kakoun 2024, Section 3.5, first paragraph.
    """
    n = sp.Symbol("n_k", positive=True)
    others = sp.Symbol("O", real=True)  # sum of the terms of the other clients, free of n_k
    grows = formula(own, "==", sp.Rational(str(scale)) * p_k, NAMES)
    crossed = formula(other, "==", p_k * cosine, NAMES)
    label = "d r_k/d n_k = p_k > 0, r_k = p_k n_k + O, O the sum of the terms without n_k"
    decided = decide_identity(sp.diff(p_k * n + others, n), grows.right, label=label)
    if decided.verdict == "refuted":
        return decided
    text = identity(sp.diff(p_k * n * cosine + others, n), crossed.right, label="d r_j/d n_k, r_j = p_k n_k c_jk + O")
    return Verdict("proved", {"certificate": f"{decided.evidence['certificate']}; {text}"})


def index_sides(instance) -> Replay:
    """sum p_k r_k |g_k| with the printed norm of client k's own gradient against |grad F|^2, on the line."""
    g = [Fraction(x) for x in instance["g"]]
    p = [Fraction(x) for x in instance["p"]]
    mean = sum(w * x for w, x in zip(p, g, strict=True))
    signs = [1 if x > 0 else -1 for x in g]
    printed = [abs(x) * s * sum(w * t for w, t in zip(p, signs, strict=True)) for x, s in zip(g, signs, strict=True)]
    total = sum(w * r * abs(x) for w, r, x in zip(p, printed, g, strict=True))
    return Replay({"weights sum to 1": sum(p) == 1, "gradients not 0": all(g)}, total, mean**2, "==")


def index_errors(seed: int = 0, draws: int = 300) -> list[float]:
    """Median and largest relative error of the printed r_k for 10 standard normal gradients in 20 dimensions."""
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((draws, 10, 20)) * np.exp(rng.standard_normal((draws, 10, 1)))
    norms = np.linalg.norm(g, axis=-1)
    cosines = np.einsum("nkd,njd->nkj", g, g) / norms[:, :, None] / norms[:, None, :]
    printed, right = norms * cosines.mean(-1), np.einsum("nkj,nj->nk", cosines, norms) / 10
    errors = np.abs(printed - right) / np.abs(right)
    return [float(np.median(errors)), float(errors.max())]


@check("thesis-alg3-index", replay=lambda evidence: index_sides(evidence["counterexample"]))
def index_in_algorithm3() -> Verdict:
    """Index in the formula of r_k.

    Statement: Algorithm 3's r_k = sum_j p_j |grad F(theta; D_k)| cos beta_jk equals (3.12) and makes sum p_k r_k|g_k| =
        |grad F|^2.
    Assumptions: gradients not 0.
    Method: two clients on the line with gradients 1 and 2; relative errors for random gradients; radii of one round of
        the project's method with and without the switch GSAM-1.
    Verdict: repaired: the norm needs the index j of the sum; the two forms agree where all |g_j| are equal.
    Reference: Al Kakoun 2024, Algorithm 3 against eq. (3.12).
    """
    instance = {"g": [1, 2], "p": ["1/2", "1/2"]}
    found = index_sides(instance)
    run = radii_of_run([[1.0], [2.0]]).tolist()
    rule, _, decided = projected()
    rule.attained_at({radius: sp.Rational(run[1]), inner: 3, length: 2})
    certificate = f"{decided.evidence['certificate']}; {double_sum_grows().evidence['certificate']}"
    evidence = {
        "counterexample": {**instance, "left": plain(found.left), "right": plain(found.right)},
        "repair": {"certificate": certificate},
        "relative_error_median_max": index_errors(),
        "radii_of_a_run_printed": radii_of_run([[1.0], [2.0]], ["GSAM-1"]).tolist(),
        "radii_of_a_run_repaired": run,
    }
    return Verdict("repaired", evidence, margin=float(found.left / found.right), repaired=f"${rule.latex}$")
