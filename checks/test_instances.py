"""Instances that the corrected statements of the ledger must meet, or whose hypotheses must turn them away."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import numpy as np
import pytest
import sympy as sp
import torch
from torch.nn.functional import cross_entropy, pad, unfold

from artifact.verdicts.findings import load
from artifact.verdicts.ledger import load as ledger
from checks import runner
from theory.kit import formula as kit
from theory.kit.hypotheses import FIXED_DIRECTIONS, OTHER_MINIBATCH, ZERO_PADDING, Law
from theory.kit.verdict import registry
from theory.yashwanth2023 import layers


@pytest.fixture(scope="module", autouse=True)
def papers():
    runner.import_theory()


def printed(claim):
    """Corrected statement of a claim, and the formulas that it prints, as the check makes them."""
    kit.MADE.clear()
    verdict = registry.checks[claim].run()
    return verdict, list(kit.MADE)


def formula_with(made, *parts):
    return next(one for one in made if all(part in one.latex for part in parts))


def broken_line(knots, values):
    return lambda x: float(np.interp(x, knots, values))


def test_the_inner_product_of_the_thesis_needs_the_gradients_at_perturbed_points():
    """E = 2, eta L = 3, radii 1 and 0: unperturbed gradients stay within 0.01, perturbed ones reach 1."""
    verdict, made = printed("thesis-A2-A")
    g, eta, p = 0.01, 3.0, 0.5
    knots = [-50, -1, 0, 1.5, 3, 4, 100, 101]
    slopes = (
        broken_line(knots, [-1, -1, -g, 1.5 - g, g, -1 + g, -1 + g, g]),
        broken_line([-50, -1, 0, 1.5, 4, 100, 101], [-1, -1, 0, 1.5, -1, -1, 0]),
    )
    models, radii, plain, moved = [0.0, 0.0], [1.0, 0.0], [], []

    def step():
        own = [f(x) for f, x in zip(slopes, models, strict=True)]
        there = [f(x + r * np.sign(s)) for f, x, r, s in zip(slopes, models, radii, own, strict=True)]
        plain.extend(map(abs, own)), moved.extend(map(abs, there))
        return there

    there = step()
    models = [x - eta * s for x, s in zip(models, there, strict=True)]
    radii = [0.0, 0.0]
    there = [f(x + r * np.sign(f(x))) for f, x, r in zip(slopes, models, [1.0, 0.0], strict=True)]
    plain.extend(abs(f(x)) for f, x in zip(slopes, models, strict=True)), moved.extend(map(abs, there))
    mean = sum(p * x for x in models)
    gradient, direction = sum(p * f(mean) for f in slopes), sum(p * s for s in there)
    bound = formula_with(made, "A\\le")
    values = {"L": 1, "E": 2, "eta": eta, "radii": p, "slope2": gradient**2}
    left = -eta * gradient * direction
    assert left > float(bound.at(values | {"G": max(plain)})[1])  # what the words must exclude
    assert left <= float(bound.at(values | {"G": max(moved)})[1])
    limit = formula_with(made, r"\tilde g_k")
    assert float(limit.at({"moment": max(moved) ** 2, "G": max(plain)})[1]) < max(moved) ** 2
    assert limit.latex in verdict.repaired and "perturbed point" in verdict.repaired


def test_the_server_of_fedlesam_d_rests_elsewhere_with_inexact_solves():
    """F = w^2/2, beta = eta = 1, two local steps: the model returns to 1, where the gradient is 1."""
    w = x = Q(1)
    dual = Q(0)
    for _ in range(2):
        x -= x - dual + (x - w)
    assert x - w == 0 and w - (x - w) == 1
    verdict, made = printed("fan24-alg4-server")
    solved = formula_with(made, r"\nabla F_i")
    with pytest.raises(kit.Violated):
        solved.holds_at({"slope": x, "lambda_i": dual, "W_end": x, "W_t": w, "beta": 1})
    assert f"exact local solves, ${solved.latex}$" in verdict.repaired


@pytest.mark.parametrize("claim", ["qu22-lemB.7", "qu22-lemB.7-sampling"])
def test_the_second_moment_under_sampling_is_for_directions_that_are_not_random(claim):
    """N = S = 1, two steps on a concave parabola: the second gradient follows the first one's noise."""
    step, outcomes = Q(1, 10), []
    for first, second in product((Q(1), Q(-1)), repeat=2):
        moved = 0 - step * first
        outcomes.append((-moved, (step * (first - moved + second)) ** 2))
    left = sum(square for _, square in outcomes) / 4
    mean_square = sum(x**2 for x, _ in outcomes) / 4
    verdict, made = printed(claim)
    bound = formula_with(made, r"\Delta^r")
    values = {"K": 2, "eta": step, "s": 1, "N": 1, "S": 1, "inverse_size": 1, "q": mean_square, "t": mean_square}
    assert left > Q(str(bound.at(values)[1]))
    directions = [[[float(x)]] for x, _ in outcomes]
    assert FIXED_DIRECTIONS.holds_on(Law(directions=directions, complete=True)) is False
    assert FIXED_DIRECTIONS.holds_on(Law(directions=[[[1.0]], [[1.0]]])) is True
    assert verdict.repaired.startswith(FIXED_DIRECTIONS.words)


def test_the_error_of_the_kronecker_form_is_that_of_its_second_factor():
    """The Hessian of the instance is a Kronecker product itself; only one with U U^T beside M~ is far away."""
    T = 3.0
    H = np.kron([[0.25, -0.25], [-0.25, 0.25]], np.diag([1.0, 0.0]))
    shuffled = H.reshape(2, 2, 2, 2).transpose(0, 2, 1, 3).reshape(4, 4)
    values = np.linalg.svd(shuffled)[1]
    assert 1 - values[0] ** 2 / (values**2).sum() < 1e-12
    factor = np.diag([1.0, T**2])  # patches (1, 0) and (0, T)
    best = np.einsum("iajb,ab->ij", H.reshape(2, 2, 2, 2), factor) / (factor**2).sum()
    error = np.linalg.norm(H - np.kron(best, factor)) ** 2 / np.linalg.norm(H) ** 2
    verdict, made = printed("man-lem2")
    assert error == pytest.approx(float(formula_with(made, r"\epsilon^2").at({"T": 3})[1]))
    assert "best Kronecker form" not in verdict.repaired
    assert r"best $\tilde M\otimes UU^\top$ with this right factor" in verdict.repaired


def test_the_bound_of_a_layer_is_for_zero_padding():
    """A pixel that is repeated around itself meets one kernel position in many places."""
    pixel = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    head = torch.ones(2, 9, dtype=torch.float64)
    head[1] = -1

    def tops(mode):
        image = pad(pixel, (2, 2, 2, 2)) if mode == "constant" else pad(pixel, (2, 2, 2, 2), mode=mode)
        patches = unfold(image, 3)[0]  # [9, 9]
        label = torch.tensor([0])
        z0 = torch.zeros(9, dtype=torch.float64)
        curvature = torch.autograd.functional.hessian(lambda z: cross_entropy((head @ z)[None], label), z0)
        top_z = float(torch.linalg.eigvalsh(curvature)[-1])
        top = float(torch.linalg.eigvalsh(patches @ curvature @ patches.T)[-1])
        return top, top_z, int((patches != 0).sum(dim=1).max())

    statement = layers.layer()
    for mode, held in (("constant", True), ("replicate", False)):
        top, top_z, meetings = tops(mode)
        area = {layers.K1: 3, layers.K2: 3, layers.curvature: top_z, layers.energy: 1}
        right = float(statement.right[0].subs(area))
        assert (top <= right * (1 + 1e-9)) is held
        assert ZERO_PADDING.holds_on(Law(meetings=meetings)) is held
    assert ZERO_PADDING in statement.hypotheses and ZERO_PADDING.words in statement.text


def test_the_averaged_update_is_for_perturbations_of_another_minibatch():
    """E = N = 1, F = w^2/2 at 0 with noise +-1 and rho = 1: FedSAM's perturbation has the sign of its own noise."""
    verdict, made = printed("fan24-lem5")
    single = next(
        one for one in made if str(one.left) == "update" and sp.Symbol("E", positive=True) not in one.right.free_symbols
    )
    moved = [z + np.sign(z) for z in (1, -1)]  # gradient at w + delta plus noise
    left = np.mean(np.square(moved))
    signal = np.mean([np.sign(z) ** 2 for z in (1, -1)])
    values = {"eta_l": 1, "s": 1, "N": 1, "G": signal}
    assert left == 4 > float(single.at(values)[1]) == 2
    # what the proof calls noise is the whole deviation from the expected gradient at the perturbed point, here 0 or 2
    law = Law(noise=[[[[m - d]]] for m, d in zip(moved, (1, 1), strict=True)], complete=True)
    assert OTHER_MINIBATCH.holds_on(law) is False
    assert OTHER_MINIBATCH.words in verdict.repaired


def test_the_sum_of_client_directions_has_a_step_limit():
    """eta = 10, K = 2 on F = w^2/2 from 1: the second gradient is -9."""
    verdict, made = printed("qu22-lemB.8")
    bound, limit = formula_with(made, r"\sum_i"), formula_with(made, r"\frac{1}{10}")
    step, w = 10, 1
    directions = (w + (w - step * w)) ** 2
    values = {"K": 2, "N": 1, "L": 1, "rho": 0, "sg": 0, "grad2": 1, "eta": step, "eta_l": step}
    assert directions == 64 > float(bound.at(values)[1])
    assert limit.latex in verdict.repaired
    with pytest.raises(kit.Violated):
        limit.holds_at({"K": 2, "L": 1, "eta_l": step, "eta": step})


def test_the_balance_of_two_layers_can_rise_in_a_step():
    """One unit, a large step: the second-order term wins; the finding and the theorem's page say so."""
    u, v, x, zeta, eta = 1.0, 0.1, 1.0, 0.001, 0.5
    activation = u * x
    slope = (v * activation - 3.0) * 1.0  # of (v a - 3)^2/2 in the output
    on_u, on_v = slope * v * x + 2 * zeta * activation * x, slope * activation
    before, after = u**2 - v**2, (u - eta * on_u) ** 2 - (v - eta * on_v) ** 2
    fall = 4 * eta * zeta * activation**2
    assert after - before == pytest.approx(-fall + eta**2 * (on_u**2 - on_v**2))
    steep = 50.0  # a wide output layer: now the first layer's gradient is the larger one
    v = 2.0
    slope = v * activation - 3.0
    on_u, on_v = slope * v * x + 2 * zeta * activation, slope * activation
    before, after = u**2 - v**2, (u - steep * on_u) ** 2 - (v - steep * on_v) ** 2
    assert after > before
    finding = next(f for f in load() if "Penalising activation norms" in f.title)
    assert "in every step: |theta_l|^2" not in finding.meaning and "up to terms of order eta^2" in finding.meaning
    assert r"up to $\eta^2(" in layers.balance().text


def test_a_constant_radius_is_covered_with_a_floor():
    """The finding may not say that no rate covers it: the theorem's bound holds for any rho."""
    finding = next(f for f in load() if f.title.startswith("The SAM terms in the rates"))
    assert "No rate here covers" not in finding.meaning and "floor of order L^2 rho^2" in finding.meaning
    from theory.inexact import statements

    floor = [term for term in statements.full().right if term.has(sp.Symbol("rho", nonnegative=True))]
    assert len(floor) == 1 and floor[0].has(sp.Symbol("L", positive=True))


def test_fedsam_keeps_the_stationary_point_without_a_radius_too():
    verdict, made = printed("qu22-sec2-shift")
    size = formula_with(made, r"|\nabla F|")
    assert size.at({"a": 1, "b": 3, "rho": 0})[1] == 0
    assert verdict.repaired.endswith("zero iff $a=b$ or there is no radius")


def test_the_direction_of_algorithm_3_is_for_convex_clients():
    """lambda = -1: the summand is negative."""
    verdict, made = printed("thesis-alg3-grad")
    own, convex = formula_with(made, r"\langle H_ku_k"), formula_with(made, r"\lambda_k\ge 0")
    assert own.at({"lambda_k": -1, "i_k": 2, "n_k": 1})[1] < 0
    with pytest.raises(kit.Violated):
        convex.holds_at({"lambda_k": -1})
    assert f"with ${convex.latex}$" in verdict.repaired


def test_what_the_papers_say_is_what_the_ledger_asks():
    """Sentences that a paper does not contain are counted apart; approximate signs are not read as equalities."""
    claims = {claim.id: claim for claim in ledger()}
    for asked in ("thesis-thm1-schedule", "qu22-lemB.7-sampling"):
        assert claims[asked].reading
    assert "converges" not in claims["fan24-thm1-tighter"].statement
    assert r"fixed $\beta$" in claims["sun23-rem4.2-speedup"].statement
    for name in ("fan24-thm1-tighter", "sun23-rem4.2-speedup", "fan24-eq3", "qu22-eq3-sign"):
        assert claims[name].expected == "proved"
