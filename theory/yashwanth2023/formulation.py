"""Section 3.2.1: the flatness-constrained problem, its penalised form and the upper bound over clients."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q

import numpy as np
import sympy as sp

from theory.kit.exact import fractions_of
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import decide_identity, identity, total
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.yashwanth2023.common import (
    digits,
    first_violation,
    proved,
    refuted,
    repaired,
    softmax,
    tested,
    top_eigenvalue,
)


@check("man-eq4-5")
def penalised_form() -> Verdict:
    """A minimiser of the penalised loss solves the constrained problem at its own flatness level.

    Statement: for zeta > 0 a minimiser w* of l + zeta h, h = lambda_max(H(l)), minimises l over {h <= h(w*)}.
    Assumptions: none beyond the existence of w*.
    Method: exchange identity; both of its terms are non-negative on the feasible set.
    Verdict: proved for the non-strict constraint. Two limits: with the printed strict constraint "< tau", tau = h(w*),
    the point w* is itself infeasible; and the converse fails: of three models with (l, h) = (0, 4), (2, 3), (3, 0) the
    middle one solves the problem for tau = 3 but minimises l + zeta h for no zeta (it would need zeta >= 2 and zeta <=
    1/3).
    Reference: Yashwanth et al. 2024, Sec. 3.2.1, eqs. (4)-(5).
    """
    loss, best, h, h_star, zeta, total_loss = sp.symbols("l l_star h h_star zeta l_hat", real=True)
    names = {loss: "l(w)", best: "l(w^*)", total_loss: r"\hat l(w)", h: r"\lambda_{\max}(H(l(w)))"}
    penalised = formula(total_loss, "==", loss + zeta * h, names)
    smallest = formula(best, "<=", loss, names)
    at_best = penalised.right.subs({loss: best, h: h_star}, simultaneous=True)
    exchange = identity(
        smallest.room, (penalised.right - at_best) + zeta * (h_star - h), label="l(w) - l(w*), h the top eigenvalue"
    )
    models = [[0, 4], [2, 3], [3, 0]]  # loss and penalty: sharp, in the middle, flat
    sharp, middle, flat = (penalised.right.subs({loss: one, h: other}) for one, other in models)
    beats_flat, beats_sharp = (sp.solveset(middle <= other, zeta, sp.S.Reals) for other in (flat, sharp))
    gap = sp.Intersection(beats_flat, beats_sharp)
    if gap != sp.S.EmptySet:
        raise ValueError(f"the middle model minimises the penalised loss for zeta in {gap}")
    return proved(
        exchange,
        "first bracket >= 0 because w* minimises l + zeta h; second term >= 0 because zeta > 0 and h(w) <= h(w*); "
        "hence l(w) >= l(w*) for every feasible w",
        converse={
            "models_l_h": models,
            "tau": models[1][1],
            "zeta_where_it_beats_the_sharp_one": str(beats_sharp),
            "and_the_flat_one": str(beats_flat),
            "both": str(gap),
        },
        strict_constraint="with '<' and tau = h(w*) the point w* is not feasible",
    )


@check("man-eq6", mutations=((0.9, "refuted"), (1.1, "refuted")))
def hessian_of_average(scale: float = 1.0) -> Verdict:
    """The Hessian of the mean is the mean of the Hessians.

    Statement: H(l)(w) = (1/n) sum_k H(L_k)(w).
    Assumptions: L_k twice differentiable at w. (For ReLU networks this excludes the kinks, a set of measure zero.)
    Method: second-order Taylor polynomials along an arbitrary direction u, in sums over any number of clients; the
    quadratic forms u.H u of both sides agree for every u in R^d, and they determine the symmetric matrices.
    Verdict: proved.
    Reference: Yashwanth et al. 2024, eq. (6).
    """
    n, t, value, slope, form, values, slopes, forms = sp.symbols("n t f_k g_k h_k sum_f sum_g sum_h", real=True)
    taylor = value + slope * t + form * t**2 / 2  # of L_k(w + t u), h_k = u.H(L_k)u
    mean = total(taylor, {value: values, slope: slopes, form: forms}, n) / n  # of l(w + t u): n remainders o(t^2)
    whole = sp.Symbol("u.H(l)u", real=True)
    average = formula(whole, "==", forms / n, {whole: "u^TH(l)u", forms: r"\sum_ku^TH(L_k)u"})
    label = (
        "u.H(l)u = mean of h_k = u.H(L_k)u for any n, d and u: second derivative at t = 0 of l(w + t u), the mean of "
        "L_k(w + t u) = f_k + g_k t + h_k t^2/2 + o(t^2), sums over k by linearity; u.H u for all u determines H"
    )
    return decide_identity(sp.diff(mean, t, 2), sp.Rational(str(scale)) * average.right, label=label)


def _largest_diagonal(case) -> tuple[Q, Q]:
    first, second = case["S1_diagonal"], case["S2_diagonal"]
    return max(a + b for a, b in zip(first, second, strict=True)), max(first) + max(second)


EIGENVALUE_CASES = (
    {"S1_diagonal": [Q(1), Q(0)], "S2_diagonal": [Q(1), Q(0)]},
    {"S1_diagonal": [Q(-1), Q(-1)], "S2_diagonal": [Q(-1), Q(-1)]},
)


def _average_of_tops() -> tuple[Formula, sp.Symbol, sp.Symbol, sp.Symbol]:
    """Eq. (7), with its sum of the clients' top eigenvalues, the top eigenvalue of the mean, and n.

    Raises Violated where three clients on the line do not attain it, curvatures 2, 6 and 7.
    """
    tops, top = sp.symbols("sum_t t", real=True)
    n = sp.Symbol("n", positive=True)
    names = {tops: r"\sum_k\lambda_{\max}(H(L_k))", top: r"\lambda_{\max}(H(l))"}
    average = formula(top, "<=", tops / n, names)
    average.attained_at({n: 3, tops: 2 + 6 + 7, top: 5})
    return average, tops, top, n


def _draw_gap(axes, evidence) -> None:
    rows = evidence["dirichlet"]
    axes.plot([row["mean_of_tops"] for row in rows], [row["top_of_mean"] for row in rows], "o")
    reach = max(row["mean_of_tops"] for row in rows)
    axes.plot([0, reach], [0, reach], "--", label="equality")
    axes.set(xlabel="mean over clients of the top eigenvalue", ylabel="top eigenvalue of the mean")
    axes.legend()


def client_gap(delta: float, seed: int, clients: int = 10) -> dict[str, float]:
    """Both sides of eq. (7): softmax regression on digits split by Dirichlet(delta), random weights."""
    pixels, labels = digits(300)
    rng = np.random.default_rng(seed)
    features = pixels @ rng.standard_normal((64, 6)) / 8
    shares = rng.dirichlet(np.full(clients, delta), size=10)
    owner = np.array([rng.choice(clients, p=shares[label]) for label in labels])
    probabilities = softmax(features @ rng.standard_normal((6, 10)))
    per_sample = np.einsum("ic,cd->icd", probabilities, np.eye(10)) - np.einsum(
        "ic,id->icd", probabilities, probabilities
    )
    hessians = []
    for client in range(clients):
        mine = owner == client
        if mine.any():
            blocks = np.einsum("icd,ia,ib->cadb", per_sample[mine], features[mine], features[mine]) / mine.sum()
            hessians.append(blocks.reshape(60, 60))
    tops = [top_eigenvalue(h) for h in hessians]
    return {
        "delta": delta,
        "top_of_mean": top_eigenvalue(np.mean(hessians, axis=0)),
        "mean_of_tops": float(np.mean(tops)),
    }


@check("man-eq7", mutations=((0.9, "refuted"), (1.1, "refuted")), figure=_draw_gap)
def top_eigenvalue_subadditive(scale: float = 1.0) -> Verdict:
    """The top eigenvalue of a sum is at most the sum of the top eigenvalues.

    Statement: lambda_max(S1 + S2) <= lambda_max(S1) + lambda_max(S2); hence eq. (7) for the mean over clients.
    Assumptions: S1, S2 symmetric.
    Method: quadratic-form identity whose terms are non-negative by definition of lambda_max; the size of the gap is
    measured for softmax regression on digits split by Dirichlet(0.1) and Dirichlet(100).
    Verdict: proved. Equality needs a common top eigenvector; mutated constants fail on S = I and S = -I.
    Reference: Yashwanth et al. 2024, eq. (7), footnote 3, eq. (24).
    """
    violation = first_violation(EIGENVALUE_CASES, _largest_diagonal, scale)
    if violation is not None:
        return refuted(violation)
    a, b, x, y, t1, t2, square, form1, form2, joint = sp.symbols("a_ij b_ij x_i x_j t1 t2 x2 q1 q2 joint", real=True)
    names = {one: rf"\lambda_{{\max}}({of})" for one, of in ((joint, "S_1+S_2"), (t1, "S_1"), (t2, "S_2"))}
    bound, (average, tops, _, n) = formula(joint, "<=", t1 + t2, names), _average_of_tops()
    bound.attained_at({joint: 12, t1: 5, t2: 7})  # with a common top eigenvector
    t_k, form, forms = sp.symbols("t_k q_k sum_q", real=True)
    rows = [client_gap(delta, seed) for delta in (0.1, 100.0) for seed in range(4)]
    return proved(
        identity(
            x * (a + b) * y,
            x * a * y + x * b * y,
            label="term (i, j) of x.(S1 + S2)x = x.S1 x + x.S2 x, to be summed over i, j = 1..d, a = S1, b = S2",
        ),
        identity(
            bound.right * square - (form1 + form2),
            (t1 * square - form1) + (t2 * square - form2),
            label="(t1 + t2)|x|^2 - x.(S1 + S2)x with x2 = |x|^2, q_i = x.S_i x",
        ),
        "with t_i = lambda_max(S_i) both terms on the right are >= 0 for every x, so t1 + t2 bounds x.(S1 + S2)x",
        identity(
            average.right * square - forms / n,
            total(t_k * square - form, {t_k: tops, form: forms}, n) / n,
            label="eq. (7), x.H(l)x the mean of q_k = x.H(L_k)x, t_k = lambda_max(H(L_k)): the mean of t_k|x|^2 - q_k",
        ),
        margin=max(row["top_of_mean"] / row["mean_of_tops"] for row in rows),
        dirichlet=rows,
    )


@check("man-eq8", mutations=((0.9, "refuted"), (1.1, "refuted")))
def upper_bound_of_objective(scale: float = 1.0) -> Verdict:
    """The client-wise regularised loss bounds the regularised global loss.

    Statement: l(w) + zeta lambda_max(H(l)) <= (1/n) sum_k [L_k(w) + zeta lambda_max(H(L_k))] for all w.
    Assumptions: zeta > 0, L_k twice differentiable.
    Method: the difference is zeta times the gap of eq. (7), by a symbolic identity in sums over any number of clients;
    scaled right sides are tested on quadratics L = h w^2/2 at w = 0 with h = 1 and h = -1.
    Verdict: proved, with equality in one dimension, where lambda_max is the second derivative and therefore linear.
    Reference: Yashwanth et al. 2024, eqs. (8)-(9).
    """
    cases = ({"zeta": Q(1), "h": Q(1)}, {"zeta": Q(1), "h": Q(-1)})

    def sides(case: Mapping[str, Q]) -> tuple[Q, Q]:
        return (case["zeta"] * case["h"],) * 2

    violation = first_violation(cases, sides, scale)
    if violation is not None:
        return refuted(violation)
    average, tops, top, n = _average_of_tops()
    loss, own, losses, mean, zeta = sp.symbols("L_k t_k sum_L l zeta", real=True)
    clients = total(loss + zeta * own, {loss: losses, own: tops}, n) / n
    bound = formula(mean + zeta * top, "<=", clients, {**average.names, losses: r"\sum_kL_k"})
    # on the line at losses 1, 2, 3 with curvatures 2, 6, 7
    equal = bound.attained_at({n: 3, losses: 6, mean: 2, tops: 15, top: 5, zeta: sp.Rational(1, 2)})
    label = "gap, any n, t_k = lambda_max(H(L_k)), t = lambda_max(H(l)), sums over k by linearity"
    gap = identity(bound.room, zeta * average.room, substitute={mean: losses / n}, label=label)
    return proved(gap, "sum_t/n >= t by eq. (7) and zeta > 0", tested_at=tested(cases, sides), on_the_line=equal)


def _valley_client(first: bool) -> tuple[sp.Expr, tuple[sp.Symbol, ...]]:
    x, y, z = sp.symbols("x y z", real=True)
    sharp, flat = 3 + (1 - x) ** 2, 3 * x**2
    a, b = (sharp, flat) if first else (flat, sharp)
    return x**2 * (1 - x) ** 2 / 2 + a * y**2 / 2 + b * z**2 / 2, (x, y, z)


def _valley_values(position: Q) -> dict[str, Q]:
    """Diagonal Hessians at (x, 0, 0), hence exact top eigenvalues of both clients and of their mean."""
    hessians = []
    for first in (True, False):
        function, variables = _valley_client(first)
        at = dict(zip(variables, (sp.Rational(position.numerator, position.denominator), 0, 0), strict=True))
        matrix = sp.hessian(function, variables).subs(at)
        if not matrix.is_diagonal():
            raise ValueError("the Hessian on the axis is not diagonal")
        hessians.append([Q(int(e.p), int(e.q)) for e in matrix.diagonal()])
    mean = [(a + b) / 2 for a, b in zip(*hessians, strict=True)]
    return {"mean_of_tops": sum(map(max, hessians)) / 2, "top_of_mean": max(mean)}


def _replay_valley(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    at_bound, at_truth = _valley_values(c["minimiser_of_bound"]), _valley_values(c["better_point"])
    assumptions = {
        "zeta > 0": c["zeta"] > 0,
        "losses >= 0 and 0 at both points": BY_CONSTRUCTION,
        "bound at its minimiser is its lower bound 3 zeta": at_bound["mean_of_tops"] == 3,
        "bound is larger at the other point": at_truth["mean_of_tops"] > at_bound["mean_of_tops"],
    }
    return Replay(assumptions, c["zeta"] * at_bound["top_of_mean"], c["zeta"] * at_truth["top_of_mean"])


def _draw_valley(axes, evidence) -> None:
    del evidence
    grid = [Q(k, 20) for k in range(-4, 27)]
    values = [_valley_values(x) for x in grid]
    axes.plot(
        [float(x) for x in grid], [float(v["mean_of_tops"]) for v in values], label="mean of client top eigenvalues"
    )
    axes.plot([float(x) for x in grid], [float(v["top_of_mean"]) for v in values], label="top eigenvalue of the mean")
    axes.set(xlabel="x on the valley floor (y = z = 0)", ylabel="curvature")
    axes.legend()


@check("man-ub-min", replay=_replay_valley, figure=_draw_valley)
def minimising_the_bound() -> Verdict:
    """Minimising the upper bound need not minimise the regularised objective.

    Statement: a minimiser of the bound l~ minimises l^ = l + zeta lambda_max(H(l)); l^ falls whenever l~ falls.
    Assumptions: zeta > 0, clients twice differentiable.
    Method: two polynomial clients on R^3, L_1 = x^2(1-x)^2/2 + (3+(1-x)^2) y^2/2 + 3x^2 z^2/2 and L_2 with y, z
    exchanged. Every diagonal entry 3+(1-x)^2 bounds lambda_max(H(L_k)) from below, so l~ >= 3 zeta with equality only
    at (1,0,0); but l^ is 3 zeta there and 2 zeta at (0,0,0), for every zeta > 0. On the floor l~ falls while l^ rises.
    Verdict: repaired. In one dimension the two objectives coincide, so two or more dimensions are needed.
    Reference: Yashwanth et al. 2024, Sec. 3.2.1, text after eq. (9).
    """
    x = sp.symbols("x", real=True)
    function, (_, y, z) = _valley_client(True)
    curvature = identity(sp.diff(function, y, 2), 3 + (1 - x) ** 2, label="diagonal entry of H(L_1)")
    swapped, _ = _valley_client(False)
    curvature_2 = identity(sp.diff(swapped, z, 2), 3 + (1 - x) ** 2, label="diagonal entry of H(L_2)")
    bound, truth = _valley_values(Q(1)), _valley_values(Q(0))
    example = {
        "zeta": Q(1, 10),
        "minimiser_of_bound": Q(1),
        "better_point": Q(0),
        "objective_at_minimiser_of_bound": Q(1, 10) * bound["top_of_mean"],
        "objective_at_better_point": Q(1, 10) * truth["top_of_mean"],
    }
    average, tops, top, n = _average_of_tops()
    least, value, upper, losses, zeta, g = sp.symbols("least value upper sum_L zeta g", real=True)
    names = {least: r"\min\hat l", value: r"\hat l(\tilde w)", upper: r"\min\tilde l"}
    gap = formula(g, "==", average.room, {**average.names, g: "g(w)"})
    below = formula(value, "<=", upper, names)
    above = formula(upper, "<=", least + zeta * g, {**names, g: r"g(\hat w)"})
    below.attained_at({value: example["objective_at_minimiser_of_bound"], upper: Q(1, 10) * bound["mean_of_tops"]})
    # quadratics with the Hessians diag(6, 0) and diag(0, 6), zeta = 2/3
    above.attained_at({upper: 4, least: 2, zeta: sp.Rational(2, 3), g: 6 - 3})
    small, large = losses / n + zeta * top, (losses + zeta * tops) / n  # l^ and l~ at one model
    return repaired(
        example,
        r"Minimising $\tilde l$ bounds the optimum: for $\tilde w\in\arg\min\tilde l$ and a minimiser $\hat w$ of "
        rf"$\hat l$, $\min\hat l\le{below.latex}$ and ${above.latex}$ with the gap ${gap.latex}$; the two problems "
        "agree where the gap is zero, always in one dimension.",
        identity(below.room.subs({value: small, upper: large}), zeta * gap.right, label="l~ - l^ at w~, >= 0"),
        identity(above.room.subs({least: small, g: gap.right}), large - upper, label="l~(w^) - min l~, >= 0"),
        margin=float(bound["top_of_mean"] / truth["top_of_mean"]),
        lower_bound_of_bound=[curvature, curvature_2],
    )


def _replay_quartic(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    a, mean = c["offset"], (c["client_solutions"][0] + c["client_solutions"][1]) / 2
    curvature = [12 * (w + s * a) ** 2 for w, s in zip(c["client_solutions"], (1, -1), strict=True)]
    assumptions = {
        "clients at their global minimum": all(
            w + s * a == 0 for w, s in zip(c["client_solutions"], (1, -1), strict=True)
        ),
        "client minima as flat as asked": max(curvature) <= c["flatness"],
        "average of the client solutions minimises l": 4 * (mean + a) ** 3 + 4 * (mean - a) ** 3 == 0,
    }
    return Replay(assumptions, 6 * (mean + a) ** 2 + 6 * (mean - a) ** 2, c["flatness"])


def _draw_quartic(axes, evidence) -> None:
    a = float(fractions_of(evidence["counterexample"]["offset"]))
    w = np.linspace(-1.6 * a, 1.6 * a, 201)
    axes.plot(w, (w + a) ** 4, label="client 1")
    axes.plot(w, (w - a) ** 4, label="client 2")
    axes.plot(w, ((w + a) ** 4 + (w - a) ** 4) / 2, "k", label="global loss")
    axes.set(xlabel="w", ylabel="loss")
    axes.legend()


@check("man-local-global-flat", replay=_replay_quartic, figure=_draw_quartic)
def flat_clients_flat_global() -> Verdict:
    """Flat client minima do not make the global minimum flat.

    Statement: if the client models sit in flat minima then the aggregated model sits in a flat minimum of l.
    Assumptions: L_k twice differentiable, w_k a global minimiser of L_k, lambda_max(H(L_k)(w_k)) small.
    Method: L_1 = (w+a)^4, L_2 = (w-a)^4: both client minima have curvature exactly 0, the average w = 0 is the global
    minimum of l and has curvature 12 a^2, which is as large as one likes.
    Verdict: repaired. Eq. (7) compares Hessians at one and the same w; carrying it to the client solutions costs the
    Lipschitz constant of the Hessians times the distance between the models.
    Reference: Yashwanth et al. 2024, Abstract, Secs. 1 and 7.
    """
    average, there, joint, n = _average_of_tops()
    tops, moves, t_k, o_k, c_k, m_k = sp.symbols("tops moves t_k o_k c_k m_k", real=True)
    names = {joint: r"\lambda_{\max}(H(l)(\bar w))", tops: r"\sum_k\lambda_{\max}(H(L_k)(w_k))"}
    names |= {moves: r"\sum_kM_k\|\bar w-w_k\|"}
    bound = formula(joint, "<=", (tops + moves) / n, names)
    clients = ((5, 2, -1), (7, 4, 3))  # h, M, w_k of H(L_k) = h + M |w - w_k|, w_bar = 1
    curved, moved = sum(h for h, _, _ in clients), sum(M * abs(1 - w) for _, M, w in clients)
    grown = sum(h + M * abs(1 - w) for h, M, w in clients)
    attained = bound.attained_at({n: 2, tops: curved, moves: moved, joint: grown / sp.Integer(2)})
    slacks = total((o_k + c_k - t_k) + (m_k - c_k), {o_k: tops, t_k: there, m_k: moves})
    label = "t_k, o_k, c_k = lambda_max of A, B, A - B for client k, m_k = M_k ||w_bar - w_k||, sums over k"
    room = identity(bound.room, average.room + slacks / n, label=label)
    w, a = sp.symbols("w a", positive=True)
    quartic = sp.diff(((w + a) ** 4 + (w - a) ** 4) / 2, w, 2)
    at_zero = identity(quartic.subs(w, 0), 12 * a**2, label="l''(0)")
    third = identity(sp.diff((w + a) ** 4, w, 3).subs(w, 0), 24 * a, label="largest |L_1'''| on [-a, 0]")
    left = bound.room.subs({n: 2, tops: 0, moves: 2 * 24 * a * a, joint: quartic.subs(w, 0)})
    slack = identity(left, 12 * a**2, label="repaired bound 0 + 24a * a minus l''(0)")
    return repaired(
        {"offset": Q(3), "client_solutions": [Q(-3), Q(3)], "flatness": Q(1, 1000), "global_curvature": Q(108)},
        rf"${bound.latex}$ with $M_k$ the Lipschitz constant of $H(L_k)$ between $w_k$ and $\bar w$: flat clients "
        "give a flat average only if they stay close.",
        "eq. (7) at the common point w_bar, then lambda_max(A) <= lambda_max(B) + lambda_max(A - B) (man-eq7) "
        "with A = H(L_k)(w_bar), B = H(L_k)(w_k) and lambda_max(A - B) <= ||A - B|| <= M_k ||w_bar - w_k||",
        room,
        at_zero,
        third,
        slack,
        margin=108 / 0.001,
        attained_by_growing_curvature=attained,
    )
