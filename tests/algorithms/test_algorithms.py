"""Every method by hand: one to three rounds on one-dimensional quadratics, the numbers worked out in the docstrings.

Client 0 has f_0(w) = (w - 2)^2 / 2, so g_0(w) = w - 2; client 1 has f_1(w) = (w + 1)^2, so g_1(w) = 2w + 2.
Everybody starts at w^0 = 1, where g_0 = -1 and g_1 = 4; the local rate is 1/4, rho 1/2 and lam 1 unless said otherwise.
A SAM perturbation in one dimension is rho times the sign of the gradient.
Below, invariants that hold for any losses: means of variates and duals, radius and direction of every perturbation.
"""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.accelerate.choose import BACKENDS
from artifact.algorithms import build
from artifact.algorithms.client_rows import ClientRows
from artifact.algorithms.cohort import Cohort
from artifact.base.flat import Layout
from artifact.runs.replay import perceptron
from artifact.training.gradients import Group, Oracle, Penalty
from artifact.training.rounds import play, simulate

BOTH, FIRST, SECOND = [0, 1], [0], [1]


def flat(values):
    return (values.dense() if isinstance(values, ClientRows) else values).flatten().tolist()


def two_parabolas(W, clients, t, k):
    slope = torch.tensor([[1.0], [2.0]], dtype=torch.float64)[clients]
    return slope * W + torch.tensor([[-2.0], [2.0]], dtype=torch.float64)[clients]


def by_hand(name, cohorts, steps=1, local=None, **hyper):
    """(server models after each round, local models of each round, state of the method after the last round)."""
    method = build(name, **hyper)
    states, models = [], []

    class Watched(type(method)):
        def init(self, w, m):
            states.append(super().init(w, m))
            return states[0]

    watched, start = Watched(**dataclasses.asdict(method)), torch.ones(1, dtype=torch.float64)
    options = {"steps": steps, "lr": 0.25, "cohorts": cohorts, "probe": lambda t, w, W, c: models.append(flat(W))}
    trajectory = simulate(watched, two_parabolas, start, 2, len(cohorts), **options, **(local or {}))
    return flat(trajectory[1:]), models, states[0]


def exactly(*values):
    return pytest.approx(list(values), rel=1e-13, abs=1e-13)


def test_fedavg():
    """Two steps. Client 0: 1 - (-1)/4 = 5/4, then g = -3/4, 5/4 + 3/16 = 23/16. Client 1: 1 - 1 = 0, g = 2, -1/2.
    Updates 7/16 and -3/2, mean -17/32. Server rate 1/2: w = 1 - 17/64 = 47/64; rate 1: 15/32.
    """
    w, models, _ = by_hand("fedavg", [BOTH], steps=2, server_lr=0.5)
    assert models[0] == exactly(23 / 16, -1 / 2)
    assert w == exactly(47 / 64)
    assert by_hand("fedavg", [BOTH], steps=2)[0] == exactly(15 / 32)


def test_weight_decay_and_clip():
    """Clip 2, decay 1/2, one step. Client 0: g = -1 is short enough (factor 2/(1 + 1e-6) > 1): 1 - (-1 + 1/2)/4 = 9/8.
    Client 1: 4 * 2/(4 + 1e-6) = d: 1 - (d + 1/2)/4; the decay is outside the clip.
    """
    _, models, _ = by_hand("fedavg", [BOTH], local={"weight_decay": 0.5, "clip": 2.0})
    assert models[0] == exactly(9 / 8, 1 - (8 / (4 + 1e-6) + 0.5) / 4)


def test_fedprox():
    """Two steps, lam = 1. Client 0: 5/4, then g + (w - 1) = -3/4 + 1/4 = -1/2: 11/8. Client 1: 0, then 2 - 1 = 1: -1/4.
    Mean model (11/8 - 2/8)/2 = 9/16.
    """
    w, models, _ = by_hand("fedprox", [BOTH], steps=2, lam=1.0)
    assert models[0] == exactly(11 / 8, -1 / 4)
    assert w == exactly(9 / 16)


def test_fedadam():
    """One step a round, beta1 = beta2 = 1/2, tau = 1/8, server rate 1. Updates 1/4 and -1, D = -3/8.
    m = -3/16, v = 9/128. w^1 = 1 - (3/16) / (3/sqrt(128) + 1/8).
    A second round at w^1: g_0 = w^1 - 2, g_1 = 2 w^1 + 2, D = -3 w^1 / 8, m = -3/32 + D/2, v = 9/256 + D^2/2.
    """
    w, _, state = by_hand("fedadam", [BOTH, BOTH], beta1=0.5, beta2=0.5, tau=0.125, server_lr=1.0)
    w1 = 1 - (3 / 16) / (3 / 128**0.5 + 1 / 8)
    m, v = -3 / 32 - 3 * w1 / 16, 9 / 256 + (3 * w1 / 8) ** 2 / 2
    assert w == exactly(w1, w1 + m / (v**0.5 + 1 / 8))
    assert flat(state["m"]) == exactly(m)
    assert flat(state["v"]) == exactly(v)


def test_fedadam_from_tau():
    """ADAM-1: v_{-1} = tau^2 = 1/64, so v = 1/128 + 9/128 = 5/64 after the first round of the test above."""
    w, _, state = by_hand("fedadam", [BOTH], switches=["ADAM-1"], beta1=0.5, beta2=0.5, tau=0.125, server_lr=1.0)
    assert flat(state["v"]) == exactly(5 / 64)
    assert w == exactly(1 - (3 / 16) / (5**0.5 / 8 + 1 / 8))


def test_scaffold():
    """Round 0: updates 1/4, -1, w^1 = 5/8; c_0 = -1, c_1 = 4 (the gradients), c = 3/2.
    Round 1, client 0 alone: d = -11/8 + 3/2 + 1 = 9/8, update -9/32, w^2 = 11/32; c_0 = -1 - 3/2 + 9/8 = -11/8, its
    gradient at w^1; c = 3/2 + (-11/8 + 1)/2 = 21/16.
    """
    w, _, state = by_hand("scaffold", [BOTH, FIRST])
    assert w == exactly(5 / 8, 11 / 32)
    assert flat(state["c_i"]) == exactly(-11 / 8, 4)
    assert flat(state["c"]) == exactly(21 / 16)


def test_feddyn():
    """Two steps. Round 0 is FedProx's: models 11/8, -1/4, updates 3/8, -5/4; lambda_0 = -3/8, lambda_1 = 5/4,
    lambda = 7/16; w^1 = 9/16 - 7/16 = 1/8.
    Round 1, client 0: -15/8 + 3/8 = -3/2: 1/2; -3/2 + 3/8 + (1/2 - 1/8) = -3/4: 11/16. lambda_0 = -15/16,
    lambda = 7/16 - 9/32 = 5/32; w^2 = 11/16 - 5/32 = 17/32.
    """
    w, models, state = by_hand("feddyn", [BOTH, FIRST], steps=2, lam=1.0)
    assert models == [exactly(11 / 8, -1 / 4), exactly(11 / 16)]
    assert w == exactly(1 / 8, 17 / 32)
    assert flat(state["dual_i"]) == exactly(-15 / 16, 5 / 4)
    assert flat(state["dual"]) == exactly(5 / 32)


def test_feddc():
    """Two steps. Round 0 is FedProx's: h = 3/8, -5/4; K eta = 1/2, g_0 = -3/4, g_1 = 5/2, g = 7/8;
    w^1 = ((11/8 + 3/8) + (-1/4 - 5/4))/2 = 1/8.
    Round 1, client 0, with g - g_0 = 13/8: -15/8 + 3/8 + 13/8 = 1/8: 3/32; -61/32 + (3/8 - 1/32) + 13/8 = 1/16: 5/64.
    Update -3/64, h_0 = 21/64, w^2 = 26/64; g_0 = -3/4 - 7/8 + 3/32 = -49/32, g = 7/8 + (-49/32 + 24/32)/2 = 31/64.
    """
    w, models, state = by_hand("feddc", [BOTH, FIRST], steps=2, lam=1.0)
    assert models[1] == exactly(5 / 64)
    assert w == exactly(1 / 8, 13 / 32)
    assert flat(state["h"]) == exactly(21 / 64, -5 / 4)
    assert flat(state["g_i"]) == exactly(-49 / 32, 5 / 2)
    assert flat(state["g"]) == exactly(31 / 64)


def test_fedcm():
    """Two steps, beta = 1/2. Round 0, momentum 0. Client 0: -1/2: 9/8; -7/16: 79/64. Client 1: 2: 1/2; 3/2: 1/8.
    Updates 15/64, -56/64; w^1 = 1 - 41/128 = 87/128; M = (41/128) / (2/4) = 41/64.
    Round 1, client 1: (215/64 + 41/64)/2 = 2: 23/128; (151/64 + 41/64)/2 = 3/2: -25/128 = w^2; M = (7/8)/(1/2) = 7/4.
    """
    w, models, state = by_hand("fedcm", [BOTH, SECOND], steps=2, beta=0.5)
    assert models[0] == exactly(79 / 64, 1 / 8)
    assert w == exactly(87 / 128, -25 / 128)
    assert flat(state["momentum"]) == exactly(7 / 4)


def test_mimelite():
    """Round 0 is FedCM's, w^1 = 87/128; M = (1/2) (-1 + 4)/2 = 3/4, full gradients at w^0.
    Round 1, client 1: 215/128 + 3/8 = 263/128: 85/512; (597/256)/2 + 3/8 = 789/512: -449/2048 = w^2.
    M = (215/64)/2 + (3/4)/2 = 263/128.
    """
    w, _, state = by_hand("mimelite", [BOTH, SECOND], steps=2, beta=0.5)
    assert w == exactly(87 / 128, -449 / 2048)
    assert flat(state["momentum"]) == exactly(263 / 128)


def test_fedsam():
    """Two steps. Client 0: g(1/2) = -3/2: 11/8; g(7/8) = -9/8: 53/32. Client 1: g(3/2) = 5: -1/4; g(1/4) = 5/2: -7/8.
    Mean model (53/32 - 28/32)/2 = 25/64. The descent starts at w, not at the perturbed point.
    """
    w, models, _ = by_hand("fedsam", [BOTH], steps=2, rho=0.5)
    assert models[0] == exactly(53 / 32, -7 / 8)
    assert w == exactly(25 / 64)


def test_mofedsam():
    """beta = 1/2. Round 0: (-3/2)/2, 5/2; updates 3/16, -5/8; w^1 = 1 - 7/32 = 25/32, M = 7/8.
    Round 1: g_0(9/32) = -55/32, d = -55/64 + 7/16 = -27/64; g_1(41/32) = 73/16, d = 73/32 + 7/16 = 87/32.
    w^2 = 25/32 + (27/256 - 174/256)/2 = 253/512.
    """
    assert by_hand("mofedsam", [BOTH, BOTH], beta=0.5, rho=0.5)[0] == exactly(25 / 32, 253 / 512)


def test_fedgamma():
    """Round 0: perturbed gradients -3/2, 5, updates 3/8, -5/4; w^1 = 9/16, c_0 = -3/2, c_1 = 5, c = 7/4.
    Round 1, client 0: g(1/16) = -31/16, d = -31/16 + 7/4 + 3/2 = 21/16; w^2 = 36/64 - 21/64; c_0 = -31/16, c = 49/32.
    """
    w, _, state = by_hand("fedgamma", [BOTH, FIRST], rho=0.5)
    assert w == exactly(9 / 16, 15 / 64)
    assert flat(state["c_i"]) == exactly(-31 / 16, 5)
    assert flat(state["c"]) == exactly(49 / 32)


def test_feddyn_sam():
    """Two steps. Client 0: 11/8, then g(7/8) + 3/8 = -3/4: 25/16. Client 1: -1/4, then g(1/4) - 5/4 = 5/4: -9/16.
    lambda_0 = -9/16, lambda_1 = 25/16, lambda = 1/2, w^1 = 1/2 - 1/2 = 0.
    Round 1, client 0: g(-1/2) + 9/16 = -31/16: 31/64; g(-1/64) + 9/16 + 31/64 = -62/64: 93/128;
    lambda = 1/2 - 93/256 = 35/256; w^2 = 93/128 - 35/256 = 151/256.
    """
    w, models, state = by_hand("feddyn-sam", [BOTH, FIRST], steps=2, lam=1.0, rho=0.5)
    assert models == [exactly(25 / 16, -9 / 16), exactly(93 / 128)]
    assert w == exactly(0, 151 / 256)
    assert flat(state["dual"]) == exactly(35 / 256)


def test_fedspeed():
    """Mixing 1/2. Round 0: (-1 - 3/2)/2 = -5/4, (4 + 5)/2 = 9/2; updates 5/16, -9/8; ghat = -5/16, 9/8;
    xhat = 21/16 + 5/16 = 13/8, -1/8 - 9/8 = -5/4; w^1 = 3/16.
    Round 1, client 0: (-29/16 - 37/16)/2 + 5/16 = -7/4: 5/8; ghat_0 = -3/4; w^2 = 5/8 + 3/4 = 11/8: the mean is over
    the active clients, client 1's ghat plays no part.
    """
    w, _, state = by_hand("fedspeed", [BOTH, FIRST], lam=1.0, rho=0.5, mixing=0.5)
    assert w == exactly(3 / 16, 11 / 8)
    assert flat(state["dual_i"]) == exactly(-3 / 4, 9 / 8)


def test_fedsmoo():
    """Two steps. Round 0, client 0 alone, s = mu = 0: q = -1, e = -1/2, mu = -1/2, g(1/2) = -3/2: 11/8;
    q = -5/8 + 1/2 = -1/8, e = -1/2, mu = -1, g(7/8) + 3/8 = -3/4: 25/16. stilde = -1 + 1/2, s = -1/2;
    lambda_0 = -9/16, lambda = -9/32, w^1 = 25/16 + 9/32 = 59/32.
    Round 1, client 0: q = -5/32 + 1 + 1/2 > 0, e = 1/2, mu = -1 + 1/2 + 1/2 = 0, 11/32 + 9/16 = 29/32: 207/128;
    q = -49/128 + 1/2 > 0, e = 1/2, mu = 1, 15/128 + 72/128 - 29/128 = 58/128: 385/256; stilde = 1/2.
    Client 1: q > 0, e = 1/2, mu = 1, g(75/32) = 107/16: 11/64; q = 75/32 - 1 + 1/2 > 0, e = 1/2, mu = 2,
    214/64 - 107/64 = 107/64: -63/256; stilde = 3/2. s = (1/2) unit(1) = 1/2.
    lambda = -9/32 + (87 + 535)/512 = 239/256, w^2 = (385 - 63)/512 - 239/256 = -39/128.
    """
    w, models, state = by_hand("fedsmoo", [FIRST, BOTH], steps=2, lam=1.0, rho=0.5)
    assert models == [exactly(25 / 16), exactly(385 / 256, -63 / 256)]
    assert w == exactly(59 / 32, -39 / 128)
    assert flat(state["mu"]) == exactly(1, 2)
    assert flat(state["s"]) == exactly(1 / 2)
    assert flat(state["dual"]) == exactly(239 / 256)


def test_fedsmoo_admm():
    """As above with q = g - mu + s and one mu update a round. Round 0, client 0: e = -1/2 twice, model 25/16;
    mu_0 = -1/2, stilde = -1/2 - 1/2 (old mu and dual step give mu + e), s = -1/2, w^1 = 59/32.
    Round 1, client 0: q = -5/32 + 1/2 - 1/2 < 0, e = -1/2, g(43/32) + 9/16 = -3/32: 239/128;
    g(175/128) + 72/128 + 3/128 = -6/128: 481/256; mu = -1/2 - 1/2 + 1/2, stilde = -1.
    Client 1: the steps of the case above, -63/256; mu = 0 + 1/2 + 1/2 = 1, stilde = 3/2. s = (1/2) unit(1/4).
    lambda = -9/32 - (9 - 535)/512 = 191/256, w^2 = (481 - 63)/512 - 191/256 = 9/128.
    """
    w, models, state = by_hand("fedsmoo-admm", [FIRST, BOTH], steps=2, lam=1.0, rho=0.5)
    assert models == [exactly(25 / 16), exactly(481 / 256, -63 / 256)]
    assert w == exactly(59 / 32, 9 / 128)
    assert flat(state["mu"]) == exactly(-1 / 2, 1)
    assert flat(state["s"]) == exactly(1 / 2)


def test_fedlesam():
    """Round 0: no perturbation, w^1 = 5/8. Round 1, client 1 saw 1 before: e = +1/2, g(9/8) = 17/4, w^2 = -7/16.
    Round 2: client 0 saw 1, client 1 saw 5/8, both e = +1/2: g_0(1/16) = -31/16, g_1(1/16) = 17/8;
    w^3 = -7/16 + (31/64 - 34/64)/2 = -59/128.
    """
    assert by_hand("fedlesam", [BOTH, SECOND, BOTH], rho=0.5)[0] == exactly(5 / 8, -7 / 16, -59 / 128)


def test_fedlesam_s():
    """Round 0 is SCAFFOLD's: w^1 = 5/8, c_0 = -1, c_1 = 4, c = 3/2. Round 1, client 1: g(9/8) + 3/2 - 4 = 7/4,
    w^2 = 5/8 - 7/16 = 3/16; c_1 = 4 - 3/2 + 7/4 = 17/4, c = 3/2 + 1/8 = 13/8.
    """
    w, _, state = by_hand("fedlesam-s", [BOTH, SECOND], rho=0.5)
    assert w == exactly(5 / 8, 3 / 16)
    assert flat(state["c_i"]) == exactly(-1, 17 / 4)
    assert flat(state["c"]) == exactly(13 / 8)


def test_fedlesam_d():
    """Round 0: models 5/4, 0; lambda_0 = -1/4, lambda_1 = 1, lambda = 3/8, w^1 = 5/8 - 3/8 = 1/4.
    Round 1, client 1, e = 1/2: g(3/4) - 1 = 5/2, model -3/8; lambda_1 = 13/8, lambda = 11/16; w^2 = -3/8 - 11/16.
    """
    w, _, state = by_hand("fedlesam-d", [BOTH, SECOND], lam=1.0, rho=0.5)
    assert w == exactly(1 / 4, -17 / 16)
    assert flat(state["dual_i"]) == exactly(-1 / 4, 13 / 8)
    assert flat(state["dual"]) == exactly(11 / 16)


def test_globalfedsam():
    """gbar = (-1 + 4)/2 = 3/2, r_0 = -3/2, r_1 = 3/2: client 0 descends where its gradient opposes the mean.
    e_0 = (1/2)(-3/2)(-1) = 3/4, g_0(7/4) = -1/4; e_1 = 3/4, g_1(7/4) = 11/2; w^1 = 1 + (1/16 - 22/16)/2 = 11/32.
    Normalised: r = -1, 1; g_0(3/2) = -1/2, g_1(3/2) = 5; w^1 = 1 + (1/8 - 10/8)/2 = 7/16.
    """
    assert by_hand("globalfedsam", [BOTH], rho=0.5)[0] == exactly(11 / 32)
    assert by_hand("globalfedsam-norm", [BOTH], rho=0.5)[0] == exactly(7 / 16)


def cohort(active, sizes, gradient, t=0, layout=None, weighted=False, steps=1):
    """A cohort of any sizes with the local rate 1/4; gradient: (W [S, P], clients) -> [S, P]."""
    index, everyone = torch.tensor(active), torch.tensor(sizes, dtype=torch.float64)[:, None]
    return Cohort(
        clients=index,
        sizes=everyone[index],
        K=torch.full((len(active), 1), float(steps), dtype=torch.float64),
        m=len(sizes),
        t=t,
        lr=0.25,
        first_lr=0.25,
        layout=layout,
        full_gradient=lambda w: gradient(w.repeat(len(active), 1), index),
        relative_size=everyone[index] / everyone.mean(),
        K_first=float(steps),
        K_mean=float(steps),
        input_channels=1,
        weighted=weighted,
    )


def test_fedasam():
    """One weight and one bias at (1, 2), g(v) = (v_1 + 1/2, 2 v_2) = (3/2, 4), eta = 1, rho = 5/2.
    T = (2, 1), Tg = (3, 4) of norm 5, e = (5/2) (2 * 3/5, 4/5) = (3, 2); g(4, 4) = (9/2, 8); w = (1 - 9/8, 2 - 2).
    """
    start = torch.tensor([1.0, 2.0], dtype=torch.float64)

    def gradient(W, clients=None):
        return W * torch.tensor([1.0, 2.0]) + torch.tensor([0.5, 0.0])

    method, layout = build("fedasam", rho=2.5, eta_asam=1.0), Layout(("fc.weight", "fc.bias"), ((1,), (1,)))
    C = cohort([0], [1], gradient, layout=layout)
    w, _, c = play(method, method.init(start, 1), start, C, [1], lambda k, rows: gradient)
    assert flat(c.e) == exactly(3, 2)
    assert flat(w) == exactly(-1 / 8, 0)


class ShiftedLine:
    """Loss (w x' - 1)^2 / 2 at x' = Lambda 2 + delta, differentiated by hand."""

    def affine(self, W, Lambda, delta):
        shifted = Lambda[:, 0] * 2 + delta
        residual = W * shifted - 1
        return residual * shifted, (residual * W * 2)[:, :, None], residual * W


def test_fedrobust():
    """x = 2, y = 1, w = 1, Lambda = 1, delta = 0, ascent rate 1/4, penalty 1. Residual 1: gradients 2, 2, 1;
    Lambda = 3/2, delta = 1/4, w = 1/2. Then x' = 13/4, residual 5/8: gradients 65/32, 5/8, 5/16;
    Lambda = 3/2 + (5/8 - 1)/4 = 45/32, delta = 1/4 + (5/16 - 1/2)/4 = 13/64, w = 1/2 - 65/128 = -1/128.
    """
    start = torch.ones(1, dtype=torch.float64)
    method = build("fedrobust", ascent_lr=0.25, shift_penalty=1.0)
    state = method.init(start, 1)
    C = cohort([0], [1], None, layout=Layout(("w",), ((1,),)), steps=2)
    w, _, _ = play(method, state, start, C, [2], lambda k, rows: ShiftedLine())
    assert flat(w) == exactly(-1 / 128)
    assert flat(state["Lambda"]) == exactly(45 / 32)
    assert flat(state["delta"]) == exactly(13 / 64)


@pytest.mark.parametrize("backend", BACKENDS)
def test_man(backend):
    """One input 1, one hidden unit 2 * 1 + 1 = 3, two classes with zero weights: both probabilities 1/2, label 0.
    Cross-entropy: d W2 = (-1/2, 1/2) * 3, d b2 = (-1/2, 1/2), nothing below (W2 = 0).
    Penalty zeta a^2, zeta = 1/4: 2 zeta a = 3/2 for the hidden weight and bias.
    """
    model = perceptron([(1, 1), (1,), (2, 1), (2,)]).double()
    oracle = Oracle(model, Penalty(0.25), backend)
    W = torch.tensor([[2.0, 1.0, 0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    group = Group(None, torch.ones(1, 1, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.int64))
    assert flat(oracle.minibatch([group])(W)) == exactly(3 / 2, 3 / 2, -3 / 2, 3 / 2, -1 / 2, 1 / 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_man_without_a_hidden_layer(backend):
    """The sum over hidden layers is empty: the gradient is that of the cross-entropy, (p - y) x."""
    oracle = Oracle(perceptron([(2, 1), (2,)]).double(), Penalty(0.25), backend)
    group = Group(None, torch.full((1, 1, 1), 3.0, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.int64))
    gradient = oracle.minibatch([group])(torch.zeros(1, 4, dtype=torch.float64))
    assert flat(gradient) == exactly(-3 / 2, 3 / 2, -1 / 2, 1 / 2)


# ---- invariants ---------------------------------------------------------------------------------------------------

SIZES, P, ROUNDS = [12, 9, 7, 16], 6, 4
LAYOUT = Layout(("a.weight", "a.bias", "b.weight"), ((2, 1), (1,), (3,)))
COHORTS = [[0, 1, 3], [2, 1], [0, 1, 2, 3], [3, 0]]
RHO = 0.3


class World:
    """Random non-quadratic client losses; records what every local step perturbs by."""

    def __init__(self, name, seed, sizes=SIZES, order=None, weighted=False, clip=None, **hyper):
        self.method = build(name, **hyper)
        generator = torch.Generator().manual_seed(seed)
        draw = [torch.randn(4, P, generator=generator, dtype=torch.float64) for _ in range(3)]
        self.scale, self.shift, self.start = draw[0].abs() + 0.2, draw[1], draw[2][0]
        self.noise = torch.randn(4, ROUNDS, 3, P, generator=generator, dtype=torch.float64)
        self.order = list(range(4)) if order is None else order  # label of each client
        self.sizes, self.weighted, self.clip = sizes, weighted, clip
        self.state = self.method.init(self.start, 4)
        self.steps, self.cohorts, self.models = [], [], [self.start]

    def gradient(self, W, labels, t=0, k=None):
        who = torch.tensor([self.order[i] for i in labels.tolist()])
        plain = self.scale[who] * torch.tanh(W - self.shift[who]) + 0.1 * torch.sin(2 * W)
        return plain if k is None else plain + 0.5 * self.noise[who, t, k]

    def before(self, W, G, c, rows):
        self.pending = {"g": G(W), "W": W, "mu": getattr(c, "mu", None), "s": getattr(c, "s", None)}

    def after(self, W, c, rows):
        self.steps.append(self.pending | {"e": c.e, "t": self.t, "r": getattr(c, "r", None)})

    def run(self):
        w = self.start
        for self.t, active in enumerate(COHORTS):
            labels = [self.order.index(i) for i in active]
            sizes = [self.sizes[i] for i in self.order]
            C = cohort(labels, sizes, self.gradient, self.t, LAYOUT, self.weighted, steps=3)

            def minibatches(k, rows, index=C.clients, t=self.t):
                return lambda W: self.gradient(W, index, t, k)

            w, _, c = play(self.method, self.state, w, C, [3] * len(active), minibatches, probe=self, clip=self.clip)
            self.cohorts.append((C, c))
            self.models.append(w)
        return self


seeds = st.integers(0, 10_000)
quick = settings(max_examples=15, deadline=None)


def units(v):
    return v / torch.linalg.vector_norm(v, dim=-1, keepdim=True)


@pytest.mark.parametrize("name", ["fedsam", "mofedsam", "fedgamma", "feddyn-sam", "fedspeed"])
@quick
@given(seed=seeds)
def test_sam_perturbations_follow_the_minibatch_gradient(name, seed):
    for step in World(name, seed, rho=RHO).run().steps:
        assert torch.allclose(step["e"], RHO * units(step["g"]), rtol=0, atol=1e-12)


@quick
@given(seed=seeds)
def test_fedsmoo_perturbations_follow_the_corrected_gradient(seed):
    for step in World("fedsmoo", seed, rho=RHO).run().steps:
        assert torch.allclose(step["e"], RHO * units(step["g"] - step["mu"] - step["s"]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["fedlesam", "fedlesam-s", "fedlesam-d"])
@quick
@given(seed=seeds)
def test_fedlesam_perturbations_point_to_the_model_seen_before(name, seed):
    world, seen = World(name, seed, rho=RHO).run(), {}
    for t, active in enumerate(COHORTS):
        sent = world.models[t]
        expected = [RHO * units(seen[i] - sent) if i in seen else torch.zeros(P).double() for i in active]
        for step in (s for s in world.steps if s["t"] == t):
            assert torch.allclose(step["e"], torch.stack(expected), rtol=0, atol=1e-12)
        seen |= dict.fromkeys(active, sent)


@quick
@given(seed=seeds)
def test_asam_perturbations_have_radius_rho_in_their_own_norm(seed):
    is_weight = torch.tensor([True, True, False, True, True, True])
    for step in World("fedasam", seed, rho=RHO, eta_asam=0.1).run().steps:
        T = torch.where(is_weight, step["W"].abs() + 0.1, torch.ones(P).double())
        assert ((step["e"] / T).norm(dim=-1) - RHO).abs().max() <= 1e-12
        assert torch.allclose(units(step["e"]), units(T**2 * step["g"]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "power"), [("globalfedsam", 2), ("globalfedsam-norm", 1)])
@quick
@given(seed=seeds)
def test_globalfedsam_ratios_and_radii(name, power, seed):
    """sum_i p_i r_i ||G_i|| = ||gbar||^2, or ||gbar|| in the normalised form; radius rho |r_i|, sign of r_i."""
    world = World(name, seed, rho=RHO).run()
    for C, c in world.cohorts:
        gbar = (C.p * c.Gfull).sum(0)
        total = (C.p * c.r * c.Gfull.norm(dim=-1, keepdim=True)).sum()
        assert torch.allclose(total, gbar.norm() ** power, rtol=1e-10)
    for step in world.steps:
        assert torch.allclose(step["e"], RHO * step["r"] * units(step["g"]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "server", "client"),
    [("scaffold", "c", "c_i"), ("fedgamma", "c", "c_i"), ("fedlesam-s", "c", "c_i"), ("feddc", "g", "g_i")]
    + [(name, "dual", "dual_i") for name in ("feddyn", "feddyn-sam", "fedsmoo", "fedsmoo-admm", "fedlesam-d")],
)
@quick
@given(seed=seeds, clip=st.sampled_from([None, 0.5]))
def test_server_estimates_are_means_over_all_clients(name, server, client, seed, clip):
    state = World(name, seed, clip=clip).run().state
    assert state[client].dense().abs().max() > 1e-3
    assert torch.allclose(state[server], state[client].mean(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "server", "client"), [("scaffold", "c", "c_i"), ("feddc", "g", "g_i")])
def test_fedman_server_variates_are_weighted_by_size(name, server, client):
    state = World(name, 1, variant="released", source="fedman").run().state
    weights = torch.tensor(SIZES).double() / sum(SIZES)
    assert torch.allclose(state[server], weights @ state[client].dense(), rtol=0, atol=1e-12)


SEVERAL = ["fedavg", "fedadam", "scaffold", "feddc", "mofedsam", "mimelite", "fedspeed", "fedsmoo", "fedlesam-d"]


@pytest.mark.parametrize("name", [*SEVERAL, "globalfedsam", "fedasam"])
@quick
@given(seed=seeds, order=st.permutations(range(4)))
def test_numbering_of_the_clients_does_not_matter(name, seed, order):
    plain, renamed = World(name, seed).run().models, World(name, seed, order=list(order)).run().models
    assert torch.allclose(torch.stack(plain), torch.stack(renamed), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", SEVERAL)
def test_weighted_mean_of_equal_clients_is_the_uniform_mean(name):
    uniform = torch.stack(World(name, 2, sizes=[5] * 4).run().models)
    weighted = torch.stack(World(name, 2, sizes=[5] * 4, weighted=True).run().models)
    unequal = torch.stack(World(name, 2, weighted=True).run().models)
    assert torch.allclose(uniform, weighted, rtol=0, atol=1e-12)
    assert name in ("feddyn", "fedsmoo", "fedlesam-d", "feddc") or (unequal - uniform).abs().max() > 1e-6
