"""Appendix C.1.1 and the sampling identities of C.1.2: Lemmas C.1-C.4, eqs. (17)-(23)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import sympy as sp

from theory.kit.exact import fractions_of
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import MEAN_SQUARE, decide_identity, identity, lagrange
from theory.kit.verdict import BY_CONSTRUCTION, Verdict, check
from theory.sun2023.common import (
    Clients,
    State,
    averaged,
    histories,
    refuted,
    repaired,
    replay_of,
    square_mean,
    tight_bound,
    virtual_models,
)


def exact_sides(bound: Formula, **values: Any) -> tuple[Fraction, Fraction]:
    """Both sides of a formula at rational values of its symbols, by name."""
    left, right = bound.at(values)
    return Fraction(str(left)), Fraction(str(right))


@check("sun23-lemC1", mutations=((0.9, "refuted"), (1.1, "proved")))
def squared_sum(scale: float = 1.0) -> Verdict:
    """Squared norm of a sum.

    Statement: E||sum_k x_k||^2 <= K sum_k E||x_k||^2.
    Assumptions: finite second moments.
    Method: K sum x_k^2 - (sum x_k)^2 = sum_{j<k} (x_j - x_k)^2 per coordinate, Lagrange's identity by induction over K;
        equal vectors are tight. ``scale`` multiplies K.
    Verdict: proved.
    Reference: Sun et al. 2023, App. C.1.1, Lemma C.1, eq. (17).
    """
    K = sp.Symbol("K", positive=True, integer=True)
    whole, squares, pairs = sp.symbols("whole squares pairs", nonnegative=True)
    names = {whole: r"\mathbb E\|\sum_kx_k\|^2", squares: r"\sum_k\mathbb E\|x_k\|^2"}
    bound = formula(whole, "<=", K * squares, names)
    x = [2, 2, 2]
    point = {"K": len(x), "whole": sum(x) ** 2, "squares": sum(a * a for a in x)}
    bound.attained_at(point)
    proof = identity(bound.room.subs(whole, K * squares - pairs), pairs, label="right - left, pairs the sum over them")
    text = f"{lagrange(MEAN_SQUARE)}; {proof}; expectations keep the sign"
    return tight_bound(scale, partial(exact_sides, bound), point, text)


@check("sun23-lemC2", mutations=((0.9, "refuted"), (1.1, "proved")))
def young_inequality(scale: float = 1.0) -> Verdict:
    """Young-type inequality.

    Statement: ||x + y||^2 <= (1 + 1/c) ||x||^2 + (1 + c) ||y||^2 for c > 0.
    Assumptions: c > 0.
    Method: the slack is ||x - c y||^2/c; tight at x = c y (here c = 2, x = 6, y = 3). ``scale`` multiplies the right
        side.
    Verdict: proved.
    Reference: Sun et al. 2023, App. C.1.1, Lemma C.2, eq. (18).
    """
    x, y = sp.symbols("x y", real=True)
    c = sp.Symbol("c", positive=True)
    whole = sp.Symbol("whole", nonnegative=True)
    names = {x: r"\|x\|", y: r"\|y\|", whole: r"\|x+y\|"}
    bound = formula(whole**2, "<=", (1 + 1 / c) * x**2 + (1 + c) * y**2, names)
    point = {"whole": 6 + 3, "x": 6, "y": 3, "c": 2}
    bound.attained_at(point)
    proof = identity(bound.room.subs(whole, x + y), (x - c * y) ** 2 / c, label="slack per coordinate")
    return tight_bound(scale, partial(exact_sides, bound), point, proof)


def _inner_sides(example: Mapping[str, Any]) -> tuple[dict, Fraction, Fraction]:
    """<x, y> (left) against the printed bound (right), d = 1."""
    x, y = fractions_of(example["x"]), fractions_of(example["y"])
    return {"x, y real": BY_CONSTRUCTION}, x * y, (x**2 - (x - y) ** 2) / 2


INNER = {"x": 1, "y": 1}


@check("sun23-lemC3", replay=replay_of(_inner_sides))
def inner_product_bound() -> Verdict:
    """The inner-product bound drops a positive term on the wrong side.

    Statement: <x, y> <= ||x||^2/2 - ||x - y||^2/2.
    Assumptions: none.
    Method: the identity in the printed proof is <x, y> = ||x||^2/2 + ||y||^2/2 - ||x - y||^2/2; without ||y||^2/2 the
        right side is smaller, so the inequality fails for every y != 0 (x = y = 1: 1 <= 1/2).
    Verdict: repaired: keep ||y||^2/2 (then it is an equality); as printed it holds only for y = 0.
    Reference: Sun et al. 2023, App. C.1.1, Lemma C.3, eq. (19).
    """
    x, y = sp.symbols("x y", real=True)
    inner, apart = sp.Symbol("inner", real=True), sp.Symbol("apart", nonnegative=True)
    names = {inner: r"\langle x,y\rangle", x: r"\|x\|", y: r"\|y\|", apart: r"\|x-y\|"}
    whole = formula(inner, "==", x**2 / 2 + y**2 / 2 - apart**2 / 2, names)
    seen = whole.holds_at({inner: 33, x: 5, y: 13, apart: 8 * sp.sqrt(2)})  # (3, 4) and (-5, 12)
    proof = identity(x * y, whole.right.subs(apart, x - y), label="per coordinate")
    _, left, right = _inner_sides(INNER)
    example = {**INNER, "left": left, "right": right}
    return repaired(example, f"${whole.latex}$", proof, at_3_4_and_minus5_12=seen)


@check("sun23-lemC3-use", mutations=((0.9, "refuted"), (1.1, "proved")))
def inner_product_step(scale: float = 1.0) -> Verdict:
    """The inner-product step of the descent chain is right although Lemma C.3 is not.

    Statement: -<a, b> <= ||b - a||^2/2 - ||a||^2/2.
    Assumptions: none.
    Method: the slack is ||b||^2/2; tight at b = 0 (a = 1). ``scale`` multiplies ||b - a||^2.
    Verdict: proved; the step needs the true identity of sun23-lemC3, not the printed lemma.
    Reference: Sun et al. 2023, App. C.1.2, descent chain before eq. (26).
    """
    a, b = sp.symbols("a b", real=True)
    inner, apart = sp.Symbol("inner", real=True), sp.Symbol("apart", nonnegative=True)
    names = {inner: r"\langle a,b\rangle", a: r"\|a\|", apart: r"\|b-a\|"}
    bound = formula(-inner, "<=", apart**2 / 2 - a**2 / 2, names)
    point = {"inner": 0, "a": 2, "apart": 2}  # b = 0
    bound.attained_at(point)
    proof = identity(bound.room.subs({inner: a * b, apart: b - a}), b**2 / 2, label="slack")

    def sides(**values: int) -> tuple[Fraction, Fraction]:  # |a|^2/2 added to both
        left, right = exact_sides(bound, **values)
        return left + Fraction(values["a"] ** 2, 2), right + Fraction(values["a"] ** 2, 2)

    return tight_bound(scale, sides, point, proof)


@check("sun23-eq20", mutations=((0.9, "refuted"), (1.1, "refuted")))
def sampling_identity(scale: float = 1.0) -> Verdict:
    """Expectation over a uniform active set.

    Statement: w_i^t = w_tilde_i^t with probability n/m, and E (1/n) sum_{[n]} phi(w_tilde_i) = (1/m) sum_{[m]}
        phi(w_tilde_i).
    Assumptions: active set uniform among the n-subsets, w_tilde_i determined by the past; beta < 1/L for uniqueness.
    Method: a client is in C(m-1, n-1) of the C(m, n) subsets, which is n/m of them, and expectation is linear;
        enumeration of all subsets with symbolic phi_i for m <= 6 as a control. ``scale`` multiplies 1/m.
    Verdict: proved. The text names two conventions for inactive clients (w_tilde_i^{t-1} and w^t); the proofs use
        w_i^{t-1}, the last local model, which for a client that was never active is not defined by Algorithm 1.
    Reference: Sun et al. 2023, App. C.1.2, eq. (20).
    """
    m, n, total, active, drawn = sp.symbols("m n sum_phi mean_active drawn", positive=True)
    chance = formula(drawn, "==", n / m, {drawn: r"\mathbf P(i\in[n])"})
    names = {active: r"\mathbb E\frac1n\sum_{i\in[n]}\phi(\tilde w_i^t)", total: r"\sum_{i\in[m]}\phi(\tilde w_i^t)"}
    whole = formula(active, "==", total / m, names)
    share = sp.gammasimp((sp.binomial(m - 1, n - 1) / sp.binomial(m, n)).rewrite(sp.gamma))
    cases: list[str] = []
    for size in range(2, 7):
        phi = sp.symbols(f"phi1:{size + 1}")
        for count in range(1, size + 1):
            sets = list(combinations(phi, count))
            mean = sum(sum(chosen) for chosen in sets) / len(sets) / count
            right = whole.right.subs({total: sum(phi), m: size})
            result = decide_identity(mean, sp.Rational(str(scale)) * right, label=f"m={size}, n={count}")
            if result.verdict == "refuted":
                return result
            cases.append(f"{count} of {size}")
    inclusion = identity(share, chance.right, label="C(m-1, n-1)/C(m, n)")
    mean = identity(share * total / n, whole.right, label="E (1/n) sum over the active, by linearity")
    control = f"also by enumeration of the subsets of {', '.join(cases)}"
    return Verdict("proved", {"certificate": f"{inclusion}; {mean}; {control}"})


def _mean_move(clients: Clients, beta: Fraction, n: int, rounds: int) -> tuple[Fraction, Fraction]:
    """E[w_bar^{t+1}] - E[w_bar^t] and sum_i E grad F_i(w_tilde_i^t) after ``rounds`` rounds, exact."""
    before = list(histories(clients, State.start(clients.m), beta, n, rounds))
    after = list(histories(clients, State.start(clients.m), beta, n, rounds + 1))
    move = sum(averaged(s, beta) for s, _ in after) / len(after) - sum(averaged(s, beta) for s, _ in before) / len(
        before
    )
    slope = sum(sum(clients.gradients(virtual)) for _, virtual in before) / len(before)
    return move, slope


@check("sun23-lemC4", mutations=((0.9, "refuted"), (1.1, "refuted")))
def averaged_move(scale: float = 1.0) -> Verdict:
    """The averaged iterate moves along the mean virtual gradient.

    Statement: E w_bar^{t+1} - E w_bar^t = -(beta/m) sum_i E grad F_i(w_tilde_i^t), also conditionally on the past.
    Assumptions: exact local solves, lam^t = (1/m) sum_i lam_i^t, uniform active sets.
    Method: w_bar^{t+1} - w_bar^t has conditional mean (1/m) sum_i (w_tilde_i - w^t) - beta lam^t, and stationarity of
        (20) gives the claim, in sums over the clients; exact enumeration of all histories for rounds 0..2, n = 1, 2, 3
        of 3 clients, one of them concave. ``scale`` multiplies beta on the right.
    Verdict: proved.
    Reference: Sun et al. 2023, App. C.1.2, Lemma C.4, eq. (22).
    """
    clients, beta, factor = Clients.of([1, "1/2", "-1/2"], [1, -2, 3]), Fraction(2, 5), Fraction(str(scale))
    m, wt, b, lam, g, step = sp.symbols("m w_t beta sum_lambda_i sum_g_i step")
    names = {step: r"\mathbb E[\bar w^{t+1}]-\mathbb E[\bar w^t]", b: r"\beta"}
    rule = formula(step, "==", -b / m * g, names | {g: r"\sum_{i\in[m]}\mathbb E[\nabla\mathcal F_i(\tilde w_i^t)]"})
    moves: dict[str, str] = {}
    for n in (1, 2, 3):
        for rounds in range(3):
            move, slope = _mean_move(clients, beta, n, rounds)
            left, right = exact_sides(rule, step=move, beta=beta, m=clients.m, sum_g_i=slope)
            if left != factor * right:
                return refuted({"n": n, "round": rounds, "left": left, "right": factor * right})
            moves[f"n = {n}, round {rounds}"] = str(move)
    virtual = m * wt - b * (g - lam)  # sum of w_tilde_i = w_t - beta (g_i - lambda_i)
    proof = identity((virtual - m * wt) / m - b * lam / m, rule.right, label="conditional mean")
    return Verdict("proved", {"certificate": f"{proof}; exact on {len(moves)} enumerated cases", "mean_moves": moves})


@check("sun23-eq23", mutations=((0.9, "refuted"), (1.1, "proved")))
def global_move(scale: float = 1.0) -> Verdict:
    """The global move is bounded by the average local move.

    Statement: E||w_bar^{t+1} - w_bar^t||^2 <= (1/n) E sum_{[n]} ||w_i^t - w_bar^t||^2 = v^t.
    Assumptions: uniform active sets, w_i^t = w_tilde_i^t for active clients.
    Method: Lemma C.1 with K = n divided by n^2, then the sampling identity (an equality, printed as <=); n = 1 is
        tight. ``scale`` multiplies v^t.
    Verdict: proved.
    Reference: Sun et al. 2023, App. C.1.2, eq. (23).
    """
    clients, beta = Clients.of([1, 1], [1, -2]), Fraction(1, 4)

    n, move, v = sp.symbols("n move v", positive=True)
    squares, pairs = sp.symbols("squares pairs", nonnegative=True)
    bound = formula(move, "<=", v, {move: r"\mathbb E\|\bar w^{t+1}-\bar w^t\|^2", v: "v^t"})
    cohort = {move: (n * squares - pairs) / n**2, v: squares / n}  # sums over the active clients, in expectation

    def sides(n: int) -> tuple[Fraction, Fraction]:
        state = State.start(2)
        virtual, bar = virtual_models(clients, state, beta), averaged(state, beta)
        moves = [(sum(chosen) / n - bar) ** 2 for chosen in combinations(virtual, n)]
        return sum(moves) / len(moves), square_mean(virtual, bar)

    bound.attained_at(dict(zip((move, v), sides(1), strict=True)))
    proof = identity(bound.room.subs(cohort), pairs / n**2, label="v - E|move|^2, pairs the sum over them")
    return tight_bound(scale, sides, {"n": 1}, f"{lagrange(MEAN_SQUARE)}, divided by n^2; {proof}")
