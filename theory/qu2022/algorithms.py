"""Algorithms 1 to 3: pseudo-code readings, special cases, signs, and what the momentum is.

The exact recursions are ``recursions``; where a statement is about iterates in floating point the training core's own
methods run through ``artifact.training.rounds.simulate``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp
import torch

from artifact.algorithms import build
from artifact.training.rounds import simulate
from theory.kit.formula import Formula, formula
from theory.kit.symbolic import total
from theory.kit.verdict import BY_CONSTRUCTION, Replay, Verdict, check
from theory.qu2022 import figures
from theory.qu2022.common import compared, instance, proved, ratio, refuted, repaired, require, require_identity
from theory.qu2022.recursions import fedavg_round, fedcm_round, fedsam_round, mofedsam_round, quadratic

#: symbol -> LaTeX in the rules of the algorithms
NAMES = {
    sp.Symbol("w_r"): "w^r",
    sp.Symbol("w_0"): "w_{i,0}^r",
    sp.Symbol("w_before"): "w_{i,k-1}^r",
    sp.Symbol("w_after"): "w_{i,k}^r",
    sp.Symbol("w_next"): "w^{r+1}",
    sp.Symbol("sum_moved"): r"\sum_i\Delta_i",
    sp.Symbol("sum_ends"): r"\sum_iw_{i,K}^r",
    sp.Symbol("g_i_k"): "g_{i,k-1}^r",
    sp.Symbol("g_sharp"): r"\tilde{g}_{i,k-1}^r",
    sp.Symbol("Delta_r"): r"\Delta^r",
    sp.Symbol("Delta_next"): r"\Delta^{r+1}",
}
w, w0, before, after, w_next, moved, ends, g, sharp, Delta, Delta_next = NAMES
K, N, S, rho, beta, eta_l, eta_g = sp.symbols("K N S rho beta eta_l eta_g", positive=True)
gradient, unit = sp.Function("g"), sp.Function("u")


def _rule(left: sp.Symbol, right: sp.Expr) -> Formula:
    return formula(left, "==", right, NAMES)


def _trajectory(name: str, rounds: int = 12, steps: int = 3, lr: float = 0.05, **hyper) -> torch.Tensor:
    """Server models [rounds + 1, 4] of a method of the training core on five quadratic clients with sampled noise."""
    rng = np.random.default_rng(7)
    curvature = torch.from_numpy(rng.uniform(0.2, 2.0, (5, 4)))
    centres = torch.from_numpy(rng.standard_normal((5, 4)))
    noise = torch.from_numpy(rng.standard_normal((rounds, steps, 5, 4)))

    def gradient(W, clients, t, k):
        return curvature[clients] * (W - centres[clients]) + 0.1 * noise[t, k][clients]

    start = torch.from_numpy(rng.standard_normal(4))
    return simulate(build(name, **hyper), gradient, start, 5, rounds, steps=steps, lr=lr)


def _literal(rounds: int, late_update: bool, late_start: bool) -> list[Fraction]:
    """Server iterates on x^2/2, K = 1, rho = 1/2, eta_l = 1/10, eta_g = 1, under a literal reading of the pseudo-code.

    late_update: the server applies Delta^r (of the round before); late_start: clients start at w^{r-1}.
    """
    path, update = [Fraction(1), Fraction(1)], Fraction(0)
    for _ in range(rounds):
        start = path[-2] if late_start else path[-1]
        following = fedsam_round(
            start, [quadratic(Fraction(1), Fraction(0))], Fraction(1, 2), Fraction(1, 10), 1, 1
        ).update
        path.append(path[-1] + (update if late_update else following))
        update = following
    return path[1:]


def _replay_literal(evidence) -> Replay:
    rounds = int(instance(evidence)["rounds"])
    return Replay(
        {"one client, deterministic": BY_CONSTRUCTION},
        _literal(rounds, True, False)[-1],
        _literal(rounds, True, True)[-1],
        "==",
    )


@check("qu22-alg1-alg3", replay=_replay_literal)
def two_pseudo_codes() -> Verdict:
    """Main-text and appendix pseudo-code of FedSAM.

    Statement: Algorithm 1 (k = 0.., w_{i,0}^r = w^r, Delta^r in the server step) and Appendix B.1 (k - 1, w_{i,0}^r =
        w^(r-1)) define the same sequence.
    Assumptions: none.
    Method: exact runs on x^2/2 of the four literal readings (update applied now or one round late, start at w^r or
        w^(r-1)); Algorithm 3 at k = 0 reads w_{i,-1}, which is undefined, so k must run from 1. Repair: with the
        shift k - 1 -> k the local recursions are the same map, so induction over k; expanded for K = 3.
    Verdict: repaired: w_{i,0}^r = w^r, k = 1..K in Algorithm 3, and Delta^(r+1) in the server step.
    Reference: Qu et al. 2022, Algorithm 1, Algorithm 3, Appendix B.1.
    """
    rounds, steps = 4, 3
    flags = (False, True)
    ends = {f"late update {u}, late start {s}": _literal(rounds, u, s)[-1] for u in flags for s in flags}
    require(len(set(ends.values())) == len(ends), "the literal readings differ")
    start, local = _rule(w0, w), _rule(after, before - eta_l * sharp)
    server = _rule(w_next, w + eta_g * Delta_next)
    main = fedsam_round(w, [gradient], rho, eta_l, eta_g, steps, unit)  # Algorithm 1
    appendix = [start.right]  # Algorithm 3
    for _ in range(steps):
        point = appendix[-1]
        appendix.append(local.right.subs({before: point, sharp: gradient(point + rho * unit(gradient(point)))}))
    expanded = require(
        main.iterates == [appendix], f"w_0 to w_{steps} of Algorithm 1, k from 0, are those of Algorithm 3, k from 1"
    )
    served = require(main.w == server.right.subs(Delta_next, main.update), "its server step is the rule")
    certificate = f"{expanded}; the same map for every k, so w_k agree by induction for any K; {served}"
    readings = {name: str(value) for name, value in ends.items()}
    return repaired(
        {"rounds": rounds},
        f"${start.latex}$, ${local.latex}$ for $k$ from one to $K$ in Algorithm 3, ${server.latex}$",
        certificate,
        None,
        last_iterates=readings,
    )


@check("qu22-alg1-rho0", mutations=((0.9, "refuted"), (1.1, "refuted")))
def fedsam_without_perturbation(scale: float = 1.0) -> Verdict:
    """FedSAM with rho = 0 is FedAvg.

    Statement: for rho = 0 FedSAM and FedAvg with the same minibatches produce the same server models.
    Assumptions: differentiable clients, unit(0) = 0.
    Method: with rho = 0 the local step of eq. (4) is w - eta g(w) for an arbitrary g, and the server steps agree for
        any number of clients: induction over steps and rounds. The training core's methods are compared bit by bit on
        noisy quadratics. ``scale`` - 1 is the radius, tried on x^2/2 first.
    Verdict: proved.
    Reference: Qu et al. 2022, Algorithm 1.
    """
    rho = Fraction(str(scale)) - 1
    point, half = (Fraction(1), [quadratic(1, 0)]), Fraction(1, 2)
    sam, plain = fedsam_round(*point, rho, half, 1, 1).w, fedavg_round(*point, half, 1, 1)
    inputs = {"F": "x^2/2", "w": str(point[0]), "rho": str(rho), "eta": str(half)}
    tried = {**inputs, "fedsam": str(sam), "fedavg": str(plain)}
    if sam != plain:
        return refuted(tried)
    local, server = _rule(after, before - eta_l * g), _rule(w_next, w + eta_g * (ends / N - w))
    expected = local.right.subs({before: w, g: gradient(w)})
    one = fedsam_round(w, [gradient], 0, eta_l, 1, 1, unit).w  # eta_g = 1, one client, K = 1: the local step itself
    step = require_identity(one, expected, "local step of FedSAM, delta = 0 u(g) = 0, and of FedAvg, any g")
    require(fedavg_round(w, [gradient], eta_l, 1, 1) == expected, "local step of FedAvg, as run")
    end = sp.Symbol("w_i_K")
    mean_move = w + eta_g * total(end - w, {end: ends}, N) / N
    last = require_identity(mean_move, server.right, "both servers from the sum of the last local models, any N")
    equal = torch.equal(_trajectory("fedsam", rho=0.0), _trajectory("fedavg"))
    require(equal, "bitwise equal trajectories in the training core")
    return proved(
        f"both run ${local.latex}$ and ${server.latex}$: {step}, so the local models agree by induction over "
        f"k = 0..K-1 in R^d, g the gradient of the client and minibatch of step k; {last}, so the server models agree "
        "by induction over the rounds; trajectories of the training core agree bit by bit",
        1.0,
        tested_at=tried,
    )


def _replay_ascent(evidence) -> Replay:
    v = instance(evidence)
    run = mofedsam_round(
        v["w"], Fraction(0), [quadratic(Fraction(1), Fraction(0))], v["rho"], v["beta"], v["eta_l"], v["eta_g"], 1,
        signs=(-1, 1),
    )  # fmt: skip
    step = {"eta_g <= 1/(beta L)": v["eta_g"] * v["beta"] <= 1, "Delta estimates +grad F": run.momentum * v["w"] > 0}
    return Replay(step, run.w**2 / 2, v["w"] ** 2 / 2)


def _schur(momentum: Formula, server: Formula) -> tuple[Formula, str]:
    """Stability of the two rules, K = 1, on a quadratic of curvature a, where v = beta a w + (1 - beta) Delta."""
    a, v = sp.Symbol("a", positive=True), sp.Symbol("v")
    stable = formula(eta_g * beta * a, "<", 2 * (2 - beta))
    mean = momentum.right.subs(moved, -eta_l * K * S * v)
    average = require_identity(mean, v, "Delta^(r+1) from sum Delta_i = -eta_l K S v, v the mean direction")
    following = mean.subs(v, beta * a * w + (1 - beta) * Delta)
    matrix = sp.Matrix([server.right.subs(Delta_next, following), following]).jacobian([w, Delta])
    room = require_identity(1 + matrix.det() + matrix.trace(), stable.room, "1 + determinant + trace")
    other = require_identity(1 + matrix.det() - matrix.trace(), stable.left, "1 + determinant - trace")
    determinant = require_identity(matrix.det(), 1 - beta, "determinant")
    return stable, f"{average}; {determinant}; {room}; {other}; Schur-Cohn: a contraction iff the last two are > 0"


@check("qu22-alg2-sign", replay=_replay_ascent, figure=figures.sign_pairs)
def signs_of_algorithm_2() -> Verdict:
    """Signs of Delta and of the server step in MoFedSAM.

    Statement: the printed combinations (Algorithm 2: w^r - eta_g Delta^(r+1); Appendix D.1: w^r + eta_g Delta^r)
        agree and give a descent method.
    Assumptions: v = beta g~ + (1 - beta) Delta, w <- w - eta_l v.
    Method: spectral radius of the four sign pairs on x^2/2 (rho = 0, beta = 0.1, eta_g = 0.5, K = 1); exact step of
        the D.1 sign with the gradient-like Delta that the text asks for.
    Verdict: repaired: the printings contradict each other; the pair (-1, -1) is the only one that descends with Delta
        ~ +grad F, and it is stable on quadratics for eta_g beta L < 2 (2 - beta).
    Reference: Qu et al. 2022, Algorithm 2 lines 12-13, eq. (6), Appendix D.1.
    """
    share, step, radii = 0.1, 0.5, {}
    for s1 in (1, -1):
        for s2 in (1, -1):
            # Delta' = -s1 (beta w + (1 - beta) Delta), w' = w + s2 eta_g Delta'
            row = [-s1 * share, -s1 * (1 - share)]
            matrix = np.array([[1 + s2 * step * row[0], s2 * step * row[1]], row])
            radii[f"({s1:+d}, {s2:+d})"] = float(np.abs(np.linalg.eigvals(matrix)).max())
    momentum, server = _rule(Delta_next, -moved / (eta_l * K * S)), _rule(w_next, w - eta_g * Delta_next)
    stable, certificate = _schur(momentum, server)
    require(radii["(-1, -1)"] < 1 < min(radii["(-1, +1)"], radii["(+1, -1)"]), "stability of the pairs")
    return repaired(
        {"w": 1, "rho": 0, "beta": "1/10", "eta_l": "1/10", "eta_g": "1/2", "signs": "(-1, +1)"},
        f"${momentum.latex}$, ${server.latex}$; without perturbation and with one local step this contracts on a "
        f"quadratic of curvature $a$ if and only if ${stable.latex}$",
        certificate,
        None,
        spectral_radius=radii,
        note="(+1, +1) also contracts on this example, but its Delta points along -grad F and the momentum "
        "opposes the step",
    )


def _one_round(lr, steps, server_fed, server_mo):
    clients = [quadratic(Fraction(1), Fraction(0)), quadratic(Fraction(3), Fraction(1))]
    fed = fedsam_round(Fraction(2), clients, Fraction(1, 4), lr, server_fed, steps).w
    mo = mofedsam_round(Fraction(2), Fraction(0), clients, Fraction(1, 4), Fraction(1), lr, server_mo, steps).w
    return mo, fed


def _replay_beta1(evidence) -> Replay:
    v = instance(evidence)
    mo, fed = _one_round(v["eta_l"], int(v["K"]), v["eta_g"], v["eta_g"])
    return Replay({"beta = 1": BY_CONSTRUCTION, "same eta_g, eta_l, K": BY_CONSTRUCTION}, mo, fed, "==")


@check("qu22-alg2-beta1", replay=_replay_beta1)
def mofedsam_without_momentum() -> Verdict:
    """MoFedSAM with beta = 1 is FedSAM.

    Statement: for beta = 1 both produce the same server models: (a) same eta_g, (b) eta_g^Mo = K eta_l eta_g^Fed, (c)
        defaults eta_g = 1, eta_l = 0.1, K = 10.
    Assumptions: the sign pair (-1, -1).
    Method: Delta^(r+1) = -mean Delta_i/(eta_l K), so that MoFedSAM's server step is eta_g/(eta_l K) times the mean
        update; exact runs, and the training core (whose eta_g multiplies the mean update) bit by bit.
    Verdict: repaired: (a) fails unless eta_l K = 1; (b) holds; (c) holds because 0.1 * 10 = 1.
    Reference: Qu et al. 2022, text after eq. (6).
    """
    tenth = Fraction(1, 10)
    mo, fed = _one_round(tenth, 5, Fraction(1), Fraction(1))
    require(mo != fed, "(a) differs")
    of_mo, of_fed = sp.symbols("eta_g_Mo eta_g_Fed", positive=True)
    matched = formula(of_mo, "==", K * eta_l * of_fed, {of_mo: r"\eta_g^{Mo}", of_fed: r"\eta_g^{Fed}"})
    for steps in (5, 10):  # the second is the default, where both rates are 1
        mo_rate = matched.right.subs({K: steps, eta_l: sp.Rational(1, 10), of_fed: 1})
        pair = _one_round(tenth, steps, Fraction(1), Fraction(str(mo_rate)))
        require(pair[0] == pair[1] and (steps == 5 or mo_rate == 1), "(b) and (c) agree exactly")
    equal = torch.equal(_trajectory("mofedsam", rho=0.3, beta=1.0), _trajectory("fedsam", rho=0.3))
    require(equal, "bitwise equal in the training core")
    update = sp.Symbol("Dbar")
    certificate = require_identity(
        w - matched.right * (-update / (eta_l * K)), w + of_fed * update, "server step with the matched eta_g^Mo"
    )
    return repaired(
        {"eta_l": "1/10", "K": 5, "eta_g": 1},
        f"without momentum, $\\beta$ being one, MoFedSAM with ${matched.latex}$ is FedSAM",
        certificate,
        None,
        same_eta_g={"mofedsam": str(mo), "fedsam": str(fed)},
    )


@check("qu22-alg2-rho0", mutations=((0.9, "refuted"), (1.1, "refuted")))
def mofedsam_without_perturbation(scale: float = 1.0) -> Verdict:
    """MoFedSAM with rho = 0 is FedCM.

    Statement: for rho = 0 and alpha = beta the iterates are those of FedCM.
    Assumptions: the sign pair (-1, -1).
    Method: local step and server step against an independently written FedCM, arbitrary gradients, momentum and number
        of clients: induction over steps and rounds; the training core's methods bit by bit. ``scale`` - 1 is the
        radius, tried on x^2/2 first.
    Verdict: proved.
    Reference: Qu et al. 2022, Section 4.1; Xu et al. 2021.
    """
    rho, half = Fraction(str(scale)) - 1, Fraction(1, 2)
    point = (Fraction(1), Fraction(0), [quadratic(1, 0)])
    mo, cm = mofedsam_round(*point, rho, half, half, 1, 1).w, fedcm_round(*point, half, half, 1, 1).w
    inputs = {"F": "x^2/2", "w": str(point[0]), "rho": str(rho), "eta_l, beta": str(half)}
    tried = {**inputs, "mofedsam": str(mo), "fedcm": str(cm)}
    if mo != cm:
        return refuted(tried)
    local = _rule(after, before - eta_l * (beta * g + (1 - beta) * Delta))
    momentum = _rule(Delta_next, (S * w - ends) / (eta_l * K * S))
    (ours,) = mofedsam_round(w, Delta, [gradient], 0, beta, eta_l, eta_g, 1, unit).iterates
    (theirs,) = fedcm_round(w, Delta, [gradient], beta, eta_l, eta_g, 1).iterates
    step = require_identity(ours[-1], theirs[-1], "local step of MoFedSAM, delta = 0 u(g) = 0, and of FedCM, any g")
    require_identity(local.right.subs({before: w, g: gradient(w)}), theirs[-1], "the rule of FedCM")
    end = sp.Symbol("w_i_K")
    delta = -total(end - w, {end: ends}, S) / S / (eta_l * K)
    last = require_identity(delta, momentum.right, "Delta^(r+1) from the sum of the last local models, any K and S")
    require(torch.equal(_trajectory("mofedsam", rho=0.0), _trajectory("fedcm")), "bitwise equal in the training core")
    return proved(
        f"both run ${local.latex}$ and ${momentum.latex}$: {step}, so the local models agree by induction over "
        f"k = 0..K-1 in R^d, g the gradient of the client and minibatch of step k; {last}; both servers then take "
        "w - eta_g Delta: (w, Delta) agree by induction over the rounds; the training core agrees bit by bit",
        1.0,
        tested_at=tried,
    )


def _momentum_error(rho, server) -> tuple[Fraction, Fraction]:
    """x^2/2 from w = 1, beta = 1/10, K = 1: (|Delta^1 - grad F(w^1 + delta^1)|, |grad F(w^1 + delta^1)|)."""
    gradient = quadratic(Fraction(1), Fraction(0))
    run = mofedsam_round(Fraction(1), Fraction(0), [gradient], rho, Fraction(1, 10), Fraction(1, 30), server, 1)
    sharp = gradient(run.w + rho * ((run.w > 0) - (run.w < 0)))
    return abs(run.momentum - sharp), abs(sharp)


def _replay_momentum(evidence) -> Replay:
    v = instance(evidence)
    error, size = _momentum_error(v["rho"], v["eta_g"])
    conditions = {
        "eta_g <= 1/(beta L)": v["eta_g"] <= 10,
        "eta_l <= 1/(30 beta K L)": BY_CONSTRUCTION,
        "beta = 1/10": BY_CONSTRUCTION,
    }
    return Replay(conditions, error, size, "<")


@check("qu22-alg2-delta", replay=_replay_momentum)
def momentum_as_gradient() -> Verdict:
    """The momentum as an approximation of the global gradient.

    Statement: |Delta^r - grad F(w^r + delta^r)| <= eps |grad F(w^r + delta^r)| with eps < 1 along the iterates, for
        the step sizes of Theorem D.4.
    Assumptions: beta = 1/10, eta_l <= 1/(30 beta K L), eta_g <= 1/(beta L).
    Method: r = 0 has Delta^0 = 0, hence eps = 1. At r = 1 an exact round on x^2/2 with eta_g close to 1/(beta L) ends
        where the gradient is small and Delta^1 is not: eps is above 8.
    Verdict: refuted. The proofs use equality (step (e) of D.1, step (a) of D.3).
    Reference: Qu et al. 2022, Section 4.1, proofs of Lemmas D.1 and D.3.
    """
    rho, server = Fraction(1, 100), Fraction(989, 100)
    error, size = _momentum_error(rho, server)
    require(error > size, "the error exceeds the gradient")
    return refuted(
        {"rho": str(rho), "eta_g": str(server), "beta": "1/10", "w0": 1, "round": 1},
        ratio(error, size),
        error_at_round_0="1 (Delta^0 = 0)",
    )


@check(
    "qu22-alg2-partial",
    mutations=((0.9, "refuted"), (1.1, "refuted")),
    replay=lambda evidence: _replay_memory(evidence),
)
def memory_of_the_momentum(scale: float = 1.0) -> Verdict:
    """The momentum keeps the gradients of earlier cohorts.

    Statement: Delta^r is a sum of earlier rounds' average gradients, weight beta (1 - beta)^j for the round j rounds
        ago.
    Assumptions: the sign pair (-1, -1), any cohorts.
    Method: Delta^(r+1) = mean over steps and clients of v = beta gbar^r + (1 - beta) Delta^r, because Delta^r is
        constant during the round: sums over any number of steps and clients. One round thus adds weight beta for the
        newest average and multiplies all others by 1 - beta, which is the claim by induction; four rounds are also
        played. ``scale`` multiplies the claimed weights.
    Verdict: proved, for every K, with gbar the mean of the local SAM gradients.
    Reference: Qu et al. 2022, Section 4.1.
    """
    count, j = sp.Symbol("n", positive=True), sp.Symbol("j", integer=True, nonnegative=True)
    gradients, weight = sp.symbols("sum_g c_j")
    weights = _rule(weight, beta * (1 - beta) ** j)
    one_round = total(beta * g + (1 - beta) * Delta, {g: gradients}, count) / count
    label = "Delta^(r+1) = mean of v = beta g + (1 - beta) Delta^r over the n = K S steps and clients of a round, any n"
    newest = weights.right.subs(j, 0) * gradients / count
    step = require_identity(one_round, newest + (1 - beta) * Delta, label)
    label = "so the round's mean gradient gets the weight of j = 0, and an older weight is multiplied by 1 - beta, to"
    aged = require_identity((1 - beta) * weights.right, weights.right.subs(j, j + 1), label)
    point = {"beta": "1/2", "scale": str(Fraction(scale))}
    if _replay_memory(point).violated:
        return refuted(point, scale)
    text = f"the weight for j + 1: induction over the rounds from Delta^0 = 0; played at beta = {point['beta']}"
    return proved(f"${weights.latex}$: {step}; {aged}, {text}", 1.0)


def _replay_memory(evidence) -> Replay:
    v = instance(evidence)
    momentum = Fraction(0)
    for _ in range(4):  # constant gradient 1, so that the claimed sum is 1 - (1 - beta)^4
        momentum = v["beta"] + (1 - v["beta"]) * momentum
    claimed = v["scale"] * sum(v["beta"] * (1 - v["beta"]) ** j for j in range(4))
    return Replay({"beta in (0, 1)": 0 < v["beta"] < 1}, momentum, claimed, "==")


#: printed term -> (power of beta, of eta, of rho, of G), and the unit (loss, length) that its place asks for
BETA_TERMS = {
    "B.1: 2 K^2 beta^2 eta^2 rho^2": ((2, 2, 2, 0), [0, 2]),
    "D.3: 6 K^2 eta^2 beta^4 rho^2": ((4, 2, 2, 0), [2, -2]),
    "D.3: 5 K^2 eta beta^4 rho^2 sigma^2": ((4, 1, 2, 0), [2, -2]),
    "D.3: 20 K^3 eta^3 beta^2 G^2": ((2, 3, 0, 2), [2, -2]),
    "D.3: 16 K^3 eta^4 beta^6 rho^2": ((6, 4, 2, 0), [2, -2]),
}


@check("qu22-lemB.1-beta")
def beta_or_smoothness() -> Verdict:
    """beta in Lemma B.1 and in the statements of Lemmas D.3 and D.6.

    Statement: beta denotes the smoothness constant in these places, not the momentum parameter.
    Assumptions: units: F in l, w in x, so that L is l/x^2, eta is x^2/l, rho is x, G is l/x; a bound of a squared
        gradient has l^2/x^2, a bound of a squared displacement x^2.
    Method: unit of every printed term under both readings; value of Lemma B.1 for beta = 0.1 and L = 1, 10.
    Verdict: consistent: with beta = L the bound of B.1 (as its proof has it) and the two terms of D.3 with even
        powers of eta get the right unit; with the dimensionless momentum no term does. The two terms with odd powers
        of eta are off by one power of eta under either reading.
    Reference: Qu et al. 2022, Lemma B.1, proof of Lemma B.3, statements of Lemmas D.3 and D.6.
    """

    def unit(beta: tuple[int, int], powers: tuple[int, ...]) -> list[int]:
        factors = (beta, (-1, 2), (0, 1), (1, -1))  # beta, eta, rho, G as exponents of (l, x)
        return [sum(power * factor[i] for power, factor in zip(powers, factors, strict=True)) for i in range(2)]

    right = {
        reading: [term for term, (powers, expected) in BETA_TERMS.items() if unit(beta, powers) == expected]
        for reading, beta in (("smoothness", (1, -2)), ("momentum", (0, 0)))
    }
    return compared(
        "beta is the smoothness constant",
        {"terms with the right unit": right},
        len(right["smoothness"]) >= 3 and not right["momentum"],
        beta2_against_L2={f"L = {level}": [0.1**2, float(level) ** 2] for level in (1, 10)},
    )
