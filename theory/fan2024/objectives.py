"""Sections 2 and 3.1, appendix A: SAM, the centralised and the federated SAM objective, and when they agree."""

from __future__ import annotations

from fractions import Fraction as Q

import sympy as sp

from theory.fan2024.common import exact, proved, refuted, repaired, sam_path
from theory.fan2024.runs import msam_deviation
from theory.kit.exact import fractions_of
from theory.kit.formula import formula
from theory.kit.symbolic import combination, decide_identity, identity, lagrange, total
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check


def _replay_sam_step(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    before, after = sam_path(c["w"], c["rho"], c["eta"], 1)
    return Replay(
        {"rho > 0": c["rho"] > 0, "0 < eta <= 1/L": 0 < c["eta"] <= 1, "L = 1": BY_CONSTRUCTION},
        after**2 / 2,
        before**2 / 2,
    )


def _draw_sam_step(axes, evidence) -> None:
    c = fractions_of(evidence["counterexample"])
    path = sam_path(Q(31, 10), c["rho"], c["eta"], 30)
    axes.plot([float(w) for w in path], "o-", label="SAM iterates on F = w^2/2")
    axes.axhline(float(c["eta"] * c["rho"] / (2 - c["eta"])), ls="--", label="amplitude of the limit cycle")
    axes.set(xlabel="step", ylabel="w")
    axes.legend()


@check("fan24-sam-steps", replay=_replay_sam_step, figure=_draw_sam_step)
def sam_in_two_steps() -> Verdict:
    """The SAM step: linearised maximiser, and what one step does near a minimum.

    Statement: delta = rho unit(grad F(w)), then w <- w - eta grad F(w + delta); the step minimises loss and sharpness.
    Assumptions: F smooth, rho > 0, 0 < eta <= 1/L; grad F(w) not 0.
    Method: Lagrange's identity for the maximiser of the linearisation; one exact step on F = w^2/2 at w = rho/10; the
    two-cycle of SAM on F = L w^2/2 in closed form.
    Verdict: repaired. The perturbation is the maximiser of the linearised loss, but the step need not lower either the
    loss or the sharpness: with constant rho and eta SAM ends in a two-cycle around the minimum.
    Reference: Fan et al. 2024, Sec. 2.2.
    """
    eta, L, rho, w, norm = sp.symbols("eta L rho w norm", positive=True)
    delta, g, loss, reach = sp.symbols("delta slope F amplitude", real=True)
    step = formula(delta, "==", rho * g / norm, {delta: r"\delta", g: r"\nabla F", norm: r"\|\nabla F\|"})
    bowl = formula(loss, "==", L * w**2 / 2)
    amplitude = formula(reach, "==", eta * L * rho / (2 - eta * L), {reach: "A"})
    _, other_end = sam_path(Q(3, 4), Q(3), Q(2, 5), 1)
    amplitude.holds_at({reach: -other_end, eta: Q(2, 5), L: 1, rho: 3})
    slope, end = sp.diff(bowl.right, w), amplitude.right
    cycle = identity(end - eta * slope.subs(w, end + rho), -end, label="two-cycle w -> -w of F = L w^2/2")
    excess = identity(
        bowl.right.subs(w, w + rho) - bowl.right, L * rho * w + L * rho**2 / 2, label="sharpness at w >= 0"
    )
    sums = {g**2: norm**2}
    length = identity(total(step.right**2, sums), rho**2, label="|delta|^2, summed over the coordinates")
    gain = identity(total(step.right * g, sums), rho * norm, label="<delta, grad F>, at most rho |grad F| in the ball")
    example = {"w": Q(1, 10), "rho": 1, "eta": Q(1, 2)}
    _, after = sam_path(Q(1, 10), Q(1), Q(1, 2), 1)
    return repaired(
        _replay_sam_step,
        {**example},
        rf"${step.latex}$ maximises the linearised loss over the ball; with constant $\rho,\eta$ the iterates of "
        rf"${bowl.latex}$ end in a cycle of amplitude ${amplitude.latex}$, which vanishes only with $\rho$ or $\eta$.",
        f"Cauchy-Schwarz: {lagrange('a = delta, b = grad F')}. {length}. {gain}. {cycle}. {excess}",
        sharpness_before=float(Q(1, 10) + Q(1, 2)),
        sharpness_after=float(abs(after) + Q(1, 2)),
    )


@check("fan24-eq1", mutations=((0.9, "refuted"), (1.1, "refuted")))
def centralised_objective(scale: float = 1.0) -> Verdict:
    """The global expectation is the average of the client expectations.

    Statement: max_delta E_{xi~P} l(w+delta; xi) = max_delta E_i E_{xi~P_i} l(w+delta; xi).
    Assumptions: P is the average of the P_i (equal weights, or weights p_i that define both sides).
    Method: the integrands agree at every sample, by induction over the clients, for any loss, delta and sample space;
    equal integrands have equal integrals, and equal functions of delta have equal maxima.
    Verdict: proved; with unequal client sizes E_i must use the weights that define P.
    Reference: Fan et al. 2024, Sec. 3.1, eq. (1).
    """
    before, p, density, loss = sp.symbols("M p h l", positive=True)
    label = (
        "integrand at a sample z, l = l(w + delta; z), h_i the density of P_i relative to P = sum_i p_i P_i: l sum_i "
        "p_i h_i = sum_i p_i (l h_i) for any number of clients by induction, both are 0 without a client, M is the sum "
        "of the p_i h_i so far, one more client (p, h)"
    )
    pooled, averaged = sp.symbols("pooled averaged", positive=True)
    names = {
        pooled: r"\mathbb E_{\xi\sim P}\mathcal L(w+\delta;\xi)",
        averaged: r"\mathbb E_i\mathbb E_{\xi_i\sim P_i}\mathcal L(w+\delta;\xi_i)",
    }
    both = formula(pooled, "==", exact(scale) * averaged, names)
    right = both.right.subs(averaged, loss * before + p * (loss * density))
    step = decide_identity(loss * (before + p * density), right, label=label)
    if step.verdict == "refuted":
        return step
    return proved(
        f"{step.evidence['certificate']}; the integral over z gives E over P = E_i E over P_i for every delta; equal "
        "functions of delta have equal maxima"
    )


@check("fan24-jensen", mutations=((0.5, "proved"), (1.1, "refuted")))
def federated_objective_is_an_upper_bound(scale: float = 1.0) -> Verdict:
    """Mean of the clients' worst cases bounds the worst case of the mean.

    Statement: E_i max_{delta_i} F_i(w+delta_i) >= max_delta E_i F_i(w+delta), all models equal to w.
    Assumptions: the maxima exist; non-negative losses are used for the mutated constant only.
    Method: at a maximiser d of the right side, M_i = max F_i >= F_i(w+d) for every client: non-negative combination of
    the sums over any number of clients.
    Verdict: proved (the paper calls it Jensen; it is monotonicity of the mean). It fails when the client models
    differ: at their own minima the left side can be smaller than the worst case at the averaged model (numbers in the
    evidence).
    Reference: Fan et al. 2024, Sec. 3.1, display after eq. (2).
    """
    worst, at = sp.Symbol("sum_M_i", real=True), sp.Symbol("sum_f_i", nonnegative=True)
    N = sp.Symbol("N", positive=True)
    factor = exact(scale)
    of_maxima, of_mean = sp.Symbol("of_maxima", real=True), sp.Symbol("of_mean", nonnegative=True)
    names = {
        of_maxima: r"\mathbb E_i\max_{\|\delta_i\|\le\rho}F_i(w+\delta_i)",
        of_mean: r"\max_{\|\delta\|\le\rho}\mathbb E_iF_i(w+\delta)",
    }
    bound = formula(of_maxima, ">=", factor * of_mean, names)
    if factor > 1:
        return refuted({"F_i(w+d)": [1, 1, 1], "left": 1, "right": factor}, margin=float(factor))
    slacks = [(1 / N, worst - at, "sum over i of M_i - f_i, f_i = F_i(w+d), each >= 0: definition of the maximum M_i")]
    slacks.append(((1 - factor) / N, at, "losses are non-negative"))
    certificate = combination(bound.room.subs({of_maxima: worst / N, of_mean: at / N}), slacks, label="any N")
    # F_1 = (x-1)^2/2 at its minimum 1 and F_2 = (x+1)^2/2 at its minimum -1, radius 1/10; the mean model is 0.
    misaligned = {"left": float(Q(1, 200)), "right": float((1 + Q(1, 100)) / 2)}
    return proved(certificate, margin=1.0, different_client_models=misaligned)


def _drift(c, steps: int) -> Q:
    """Mean squared distance of two clients h_i (x - c_i)^2/2 from their mean after plain local steps from 0."""
    ends = [(1 - (1 - c["eta"] * h) ** steps) * m for h, m in zip(c["curvature"], c["minimum"], strict=True)]
    centre = sum(ends) / 2
    return sum((x - centre) ** 2 for x in ends) / 2


def _replay_misaligned(evidence) -> Replay:
    c = fractions_of(evidence["counterexample"])
    small_steps = all(0 < c["eta"] * h <= 1 for h in c["curvature"])
    return Replay({"two convex clients": BY_CONSTRUCTION, "eta <= 1/L": small_steps}, _drift(c, 1), _drift(c, 20))


def _draw_drift(axes, evidence) -> None:
    c = fractions_of(evidence["counterexample"])
    steps = range(1, 41)
    axes.plot(steps, [float(_drift(c, n)) for n in steps], label="curvatures 2 and 1/10, minima 1 and 11/10")
    same = {**c, "curvature": [Q(1, 10), Q(1, 10)]}
    axes.plot(steps, [float(_drift(same, n)) for n in steps], label="curvature 1/10 for both")
    axes.set(xlabel="local steps E", ylabel="mean squared distance from the mean model", yscale="log")
    axes.legend()


@check("fan24-misaligned", replay=_replay_misaligned, figure=_draw_drift)
def local_steps_and_heterogeneity_break_alignment() -> Verdict:
    """Client drift against the number of local steps.

    Statement: as E and the heterogeneity grow, client models leave the global one and minimising local sharpness no
    longer minimises global sharpness.
    Assumptions: quadratic clients, eta <= 1/L, all clients start at the global model.
    Method: closed form of the drift; exact counterexample to monotonicity in E with different curvatures; proof for
    equal curvature; distance of FedSAM's fixed point from the global minimiser in closed form.
    Verdict: repaired. Drift need not grow with E when curvatures differ; for equal curvature it is
    (1-(1-eta h)^E)^2 times the spread of the client minima, and it grows with both.
    Reference: Fan et al. 2024, Sec. 3.1, text after the display that follows eq. (2).
    """
    example = {"eta": Q(1, 2), "curvature": [Q(2), Q(1, 10)], "minimum": [Q(1), Q(11, 10)]}
    m, E, drift, spread, norm = sp.symbols("m E drift spread norm", nonnegative=True)
    eta, h, h1, h2, c1, c2, rho = sp.symbols("eta h h_1 h_2 c_1 c_2 rho", positive=True)
    names = {drift: r"\frac1N\sum_i\|w_{i,E}-\bar w\|^2", spread: r"\frac1N\sum_i\|c_i-\bar c\|^2"}
    grown = formula(drift, "==", (1 - (1 - eta * h) ** E) ** 2 * spread, names)
    same = {**example, "curvature": [Q(2, 5), Q(2, 5)], "minimum": [Q(1), Q(4)]}
    grown.holds_at({"eta": Q(1, 2), "h": Q(2, 5), "E": 3, "spread": Q(9, 4), "drift": _drift(same, 3)})
    share = 1 - (1 - eta * h) ** E  # of the way to the minimum
    steps = identity(share * m + eta * h * (m - share * m), share.subs(E, E + 1) * m, label="one more step towards m")
    mean = identity(grown.right.subs(spread, m**2), (share * m) ** 2, label="squares, distances m from the mean")
    small = formula(eta * h, "<=", 1)
    q = small.room**E
    growth = identity(
        grown.right.subs(E, E + 1) - grown.right,
        spread * eta * h * q * ((1 - small.room * q) + (1 - q)),
        label="E + 1 steps minus E steps, any E",
    )
    fixed = formula(norm, "==", rho * sp.Abs(h1 - h2) / 2, {norm: r"\|\nabla F\|"})
    x = sp.solve(h1 * (sp.Symbol("x") - c1 + rho) + h2 * (sp.Symbol("x") - c2 - rho), sp.Symbol("x"))[0]
    gradient = sp.simplify((h1 * (x - c1) + h2 * (x - c2)) / 2)
    bias = identity(gradient**2, fixed.right**2, label="|grad F|^2 at FedSAM's fixed point between two minima")
    return repaired(
        _replay_misaligned,
        {**example},
        rf"For clients with equal curvature $h$, minima $c_i$ and ${small.latex}$: ${grown.latex}$, growing in both; "
        rf"${fixed.latex}$ at FedSAM's fixed point between the minima of two clients in one dimension with curvatures "
        r"$h_1,h_2$.",
        f"{steps}. {mean}. {growth}, non-negative for eta h <= 1. {bias}",
    )


@check("fan24-msharp", mutations=((0.9, "refuted"), (1.1, "refuted")))
def aligned_fedsam_is_msam(scale: float = 1.0) -> Verdict:
    """One aligned FedSAM round is one mSAM step over shards.

    Statement: when client models stay equal to the global model, one aggregated FedSAM step is an mSAM step.
    Assumptions: w_{i,k} = w for all i at the local step in question (at k = 0 this always holds), full participation,
    equal shard sizes, the same minibatch per shard.
    Method: symbolic, for any number of clients: mean of the local models after that step against w - eta times the mean
    of the perturbed gradients; the project's FedSAM beside mSAM on random quadratics for E = 1, 2, 5, 20.
    Verdict: proved: every local step at aligned models is an mSAM step of size eta_l, a round with E = 1 one of size
    eta_g eta_l. For E > 1 the models of later steps are not aligned in general (deviations in the evidence).
    Reference: Fan et al. 2024, Appendix A.
    """
    deviation = {f"E = {steps}": msam_deviation(steps) for steps in (1, 2, 5, 20)}
    if deviation["E = 1"] > 1e-12:
        return refuted({"E": 1, "largest_difference": deviation["E = 1"]})
    w, eta_l, eta_g, N, g, gradients = sp.symbols("w eta_l eta_g N g_i sum_g_i", positive=True)
    server = w - eta_g * total(eta_l * g, {g: gradients}, N) / N  # local moves w - w_i = eta_l g_i
    after, local = sp.symbols("after local")
    names = {gradients: r"\sum_i\nabla F_i(w^t+\delta_i)", w: "w^t", after: "w^{t+1}", local: r"\frac1N\sum_iw_{i,k+1}"}
    after = formula(after, "==", w - exact(scale) * eta_g * eta_l * gradients / N, names)
    label = "FedSAM round, E = 1, is an mSAM step: any N, g_i = grad F_i(w + delta_i) of shard i, sums by linearity"
    round_of_one = decide_identity(server, after.right, label=label, project_deviation=deviation)
    if round_of_one.verdict == "refuted":
        return round_of_one
    label = "local step k at w_{i,k} = w for all i: mean of the w_{i,k+1} is an mSAM step of size eta_l"
    local = formula(local, "==", w - eta_l * gradients / N, names)
    step = identity(total(w - eta_l * g, {g: gradients}, N) / N, local.right, label=label)
    return proved(f"{round_of_one.evidence['certificate']}; {step}", project_deviation=deviation)


@check("fan24-sharpness-nonneg", mutations=((0.5, "proved"), (1.5, "refuted")))
def sharpness_is_nonnegative(scale: float = 1.0) -> Verdict:
    """Sharpness is the SAM excess and cannot be negative.

    Statement: s(w,P) = max_{|delta|<=rho} E[l(w+delta) - l(w)] = F_SAM(w) - F(w) >= 0.
    Assumptions: the maximum exists; delta = 0 is feasible.
    Method: M = max F(w+delta) is at least its value f0 at delta = 0 and at least its value f at any other feasible
    point; hence an estimator that returns max(f0, f) - f0 lies in [0, s].
    Verdict: proved; the estimator F(w + rho unit(grad F)) - F(w) alone can be negative when F is not convex.
    Reference: Fan et al. 2024, Sec. 2.2.
    """
    worst, base = sp.symbols("M f0", nonnegative=True)
    factor = exact(scale)
    if factor > 1:
        return refuted({"M": 1, "f0": 1, "excess": 1 - factor}, margin=float(factor))
    bound = formula(worst, ">=", factor * base, {worst: r"\max_{\|\delta\|\le\rho}F(w+\delta)", base: "F(w)"})
    slacks = [(1, worst - base, "delta = 0 is feasible"), (1 - factor, base, "non-negative loss")]
    x = sp.Symbol("x", real=True)
    bumpy = sp.Rational(1, 10) * x - x**2
    single = sp.simplify(bumpy.subs(x, 1) - bumpy.subs(x, 0))
    return proved(combination(bound.room, slacks), one_gradient_step_excess=f"{single} for {bumpy}")


@check("fan24-variants-direct", mutations=((0.9, "refuted"), (1.1, "refuted")))
def idealised_variants(scale: float = 1.0) -> Verdict:
    """What FedLESAM-S and FedGAMMA descend when alignment and estimate are perfect.

    Statement: with w_i = w_g and the true global perturbation, the mean FedLESAM-S step is a SAM step on
    max_delta F(w+delta); FedGAMMA's is a step on the mean of the clients' maxima.
    Assumptions: exact alignment, the true maximisers (each unique), exact gradients.
    Method: Danskin's theorem (cited): the gradient of a maximum is that of the maximised function at its maximiser. For
    the first the maximiser is the same for all clients, and gradients are linear; for the second it is the client's
    own. Sums over any number of clients; the second also for two quadratics in one dimension, where the linearised
    maximiser is the true one.
    Verdict: proved under the idealisation; it says nothing on how close the algorithms come to it. With linearised
    maximisers the second holds in one dimension only.
    Reference: Fan et al. 2024, App. D, first paragraph.
    """
    h1, h2, rho = sp.symbols("h1 h2 rho", positive=True)
    w, x, N, eta, g, gradients = sp.symbols("w x N eta g_i sum_g_i", real=True)
    losses = total(g * x, {g: gradients}, N) / N  # part of the mean loss linear in x, the move of one coordinate
    mean_step = total(w - eta * g, {g: gradients}, N) / N
    label = (
        "any N: mean of the steps w - eta g_i = step along the gradient of the mean loss, F_i with linear part g_i x"
    )
    slope, move = sp.symbols("slope move", real=True)
    names = {move: r"w-\frac1N\sum_iw_{i,k+1}", slope: r"\nabla_w\max_{\|\delta\|\le\rho}F(w+\delta)"}
    rule = formula(move, "==", exact(scale) * eta * slope, names)
    first = decide_identity(w - mean_step, rule.right.subs(slope, sp.diff(losses, x)), label=label)
    if first.verdict == "refuted":
        return first
    which = (
        "FedLESAM-S: F_i at w + d* with the d* of max_d F(w + d), F the mean of the F_i, so the step is one on that "
        "maximum; FedGAMMA: F_i at w + d_i*, d_i* of max F_i(w + d_i), so it is one on the mean of the clients' maxima"
    )
    r, s = sp.symbols("r s", positive=True)  # distances w - m1 = r on one side, m2 - w = s on the other
    maxima = (h1 * (r + rho) ** 2 + h2 * (s + rho) ** 2) / 4
    slope = sp.diff(maxima, r) - sp.diff(maxima, s)
    second = identity(slope, (h1 * (r + rho) - h2 * (s + rho)) / 2, label="two quadratics, mean of the maxima")
    danskin = "Danskin: grad max_d F(w + d) = grad F(w + d*), d* the unique maximiser, in any dimension"
    return proved(f"{danskin}. {first.evidence['certificate']}. {which}. {second}")
