"""What the theorems cover of what is run: partial participation and the step-size schedule of the experiments."""

from __future__ import annotations

import sympy as sp

from theory.kakoun2024.common import Statement, decide
from theory.kakoun2024.methods import run_quadratics
from theory.kakoun2024.proof_convex import eta, mu
from theory.kakoun2024.rate_convex import NAMES, a, beta, eta_t, gamma, induction, recursion, t, xi
from theory.kit.formula import formula
from theory.kit.symbolic import identity
from theory.kit.verdict import Verdict, always, check


def _partial(c, eta):
    """Two clients (x -+ c)^2/2, one active, E = 1, rho = sigma = 0, start at theta* = 0: F - F* after a round.

    The right side of Theorem 1 is 0 there: xi = 0 and the starting distance is 0.
    """
    gradient = 0 - c
    moved = 0 - eta * gradient
    fits = {
        "start at theta*": always((0 - c) / 2 + (0 + c) / 2 == 0),
        "E = 1, rho = sigma = 0, so xi = 0; A4 holds": eta > 0,
        "eta <= 1/(2L(K+1)), L = 1, K = 2": 6 * eta <= 1,
        "heterogeneous": c != 0,
    }
    return moved * moved / 2, 0 * moved, fits


PARTIAL = Statement(("c", "eta"), _partial)


@check("thesis-thm1-partial", replay=PARTIAL.replay)
def partial_participation() -> Verdict:
    """Do the theorems cover partial participation.

    Statement: Theorem 1 holds for Algorithm 3, which averages a subset C of the clients.
    Assumptions: A1-A4, strong convexity; |C| < K; weights renormalised over C.
    Method: Appendix A averages all K clients in every step (theta^(t+1) = sum_{k=1}^K p_k theta_k), so its noise xi has
        no sampling term: two quadratics, exact gradients, start at theta*, one active client: the right side is 0, the
        left is not, whatever gamma and epsilon. The corrected recursion is then proved for E = 1 and a uniform cohort.
    Verdict: repaired: with equal weights and a uniformly drawn cohort the corrected recursion holds unchanged for E =
        1, because its noise is the second moment G^2, which bounds the cohort's mean gradient as well.
    Reference: Al Kakoun 2024, Theorem 1 and eq. (A.1) against Algorithm 3.
    """
    K, total, squares, apart = sp.symbols("K sum_g sum_g2 apart", real=True)
    _, statement, recursed = recursion()
    text = "; ".join(
        (
            identity(
                (K * apart**2 - 2 * eta * apart * total + eta**2 * squares) / K,
                apart**2 - 2 * eta * apart * total / K + eta**2 * squares / K,
                label="mean of (apart - eta g_k)^2 over the one active client; larger cohorts by E[mean over C] = mean",
            ),
            "E|mean over C of gtilde_k|^2 <= (1/K) sum E|gtilde_k|^2 <= G^2",
            recursed,
        )
    )
    centres, cohorts = [[1.0], [-1.0]], [[0], [1], [0]]
    curvatures = [[[1.0]] for _ in centres]
    path = run_quadratics("fedavg", curvatures, centres, [0.0], len(cohorts), lr=1 / 6, cohorts=cohorts)
    return decide(
        PARTIAL,
        points=[{"c": 1, "eta": "1/6"}],
        repair=(f"for one local step, equal weights and a uniform cohort: {statement}", text),
        models_of_a_run_from_theta_star=[float(x) for x in path[:, 0]],
    )


def _geometric(rate, decay, x0, gamma, T):
    """Equal clients x^2/2, E = 1, rho = sigma = 0, eta^(t) = rate decay^t: a lower bound of F(x_T) and the bound.

    x_T >= x0 (1 - sum eta) >= x0 (1 - rate/(1-decay)), because a product of 1 - eta is at least 1 minus their sum.
    """
    left_over = 1 - rate / (1 - decay)
    fits = {
        "eta = O(1/t), decreasing": 0 < decay < 1 and rate > 0,
        "the steps sum to less than 1": left_over > 0,
        "gamma, T > 0": gamma > 0 and T > 0,
    }
    return (left_over * x0) ** 2 / 2, (gamma + 1) / (T + gamma) * abs(x0), fits


GEOMETRIC = Statement(("rate", "decay", "x0", "gamma", "T"), _geometric)


@check("thesis-thm1-schedule", replay=GEOMETRIC.replay)
def geometric_schedule() -> Verdict:
    """Is the schedule of the experiments covered.

    Statement: the step sizes of the experiments, multiplied by 0.998 in every round (Appendix B), are "decreasing with
        rate O(1/t)" as Theorem 1 asks, so its bound applies.
    Assumptions: plain steps, E = 1, rho = sigma = 0 (xi = 0), F = x^2/2, first step 1/1000 (in the tried list).
    Method: 0.998^t is O(1/t), but the steps sum to 500 times the first one: x_T >= x_0/2 for every T, while the right
        side tends to 0; checked for gamma = 1, T = 10^4; for any other gamma take T = 100 (gamma + 1).
    Verdict: repaired: an upper bound on the step size is not enough; the proof needs eta^(t) = beta/(t+gamma) with beta
        mu eps > 1, in particular steps with infinite sum. The schedule that was run is outside.
    Reference: Al Kakoun 2024, Theorem 1 against Appendix B.
    """
    n = sp.Symbol("n", positive=True)
    steps_of = formula(eta_t, "==", beta / (t + gamma), NAMES)
    bound, _, recursed = recursion()
    step, statement, induced = induction(beta * mu, beta**2 * xi)
    factors = [sp.diff(bound.right, a).subs(eta, steps_of.right), sp.diff(step.right, a)]
    decay = "0.998"
    steps = sp.summation(sp.Rational(decay) ** t, (t, 0, sp.oo))
    harmonic = sp.simplify(sp.integrate(steps_of.right, (t, 0, gamma * n)))
    text = (
        f"sum over t of {decay}^t = {steps} < oo; sum of beta/(t+gamma) >= its integral, up to t = gamma n equal to "
        f"{harmonic}, limit {sp.limit(harmonic, n, sp.oo)}; "
        f"{recursed}; {identity(*factors, label='its factor of a_t with these steps')}; {induced}"
    )
    shares = {str(rate): float(sp.exp(-steps * rate)) for rate in (0.0001, 0.001, 0.003, 0.01)}
    return decide(
        GEOMETRIC,
        points=[{"rate": "1/1000", "decay": decay, "x0": 10, "gamma": 1, "T": 10000}],
        repair=(rf"${steps_of.latex}$; for a constant bound $\xi$ of the noise, {statement}", text),
        total_step=float(steps),
        distance_left_after_infinitely_many_steps_mu_1=shares,
    )
