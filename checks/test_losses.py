"""The counter-example losses do what they are there for; statements at rational points are decided exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy

from artifact.algorithms import FedAvg, FedSAM, FedSMOO, GlobalFedSAM
from checks import loss_formulas
from theory.kit import losses
from theory.kit.loss_figures import plot_scenario


def _exact_average(scenario, point):
    """Value, gradient and Hessian of the average at a rational point."""
    parts = [client.exact(point) for client in scenario.clients]
    n, d = len(parts), range(len(point))
    value = sum(part[0] for part in parts) / n
    gradient = [sum(part[1][i] for part in parts) / n for i in d]
    return value, gradient, [[sum(part[2][i][j] for part in parts) / n for j in d] for i in d]


@pytest.fixture(params=list(losses.SCENARIOS))
def scenario(request):
    return losses.SCENARIOS[request.param]()


def _random_points(scenario, count=50):
    rng = np.random.default_rng(0)
    return [np.array([rng.uniform(*side) for side in scenario.window]) for _ in range(count)]


def test_derivatives(scenario):
    h = 1e-6
    for x in _random_points(scenario):
        for client in scenario.clients:
            steps = h * np.eye(client.dimension)
            slopes = [(client.value(x + e) - client.value(x - e)) / (2 * h) for e in steps]
            bends = [(client.gradient(x + e) - client.gradient(x - e)) / (2 * h) for e in steps]
            np.testing.assert_allclose(slopes, client.gradient(x), atol=1e-5)
            np.testing.assert_allclose(bends, client.hessian(x), atol=1e-4)


@pytest.mark.parametrize("name", ["fedsmoo-consistent", "fedsmoo-inconsistent", "sharp-average", "sam-sharpens"])
def test_smoothness_certificate_and_exact_values(name):
    scenario = losses.SCENARIOS[name]()
    for client in scenario.clients:
        for x in _random_points(scenario):
            assert np.linalg.norm(client.hessian(x), 2) <= float(client.L) * (1 + 1e-12)
            value, gradient, hessian = client.exact([Fraction(float(entry)) for entry in x])
            assert float(value) == pytest.approx(float(client.value(x)), abs=1e-12)
            np.testing.assert_allclose(np.array(gradient, dtype=float), client.gradient(x), atol=1e-12)
            np.testing.assert_allclose(np.array(hessian, dtype=float), client.hessian(x), atol=1e-11)


def test_wells_are_twice_continuously_differentiable():
    """At the edge of its support value, slope and curvature of a well vanish, at the rate (1 - u)^3, ^2, ^1."""
    well = losses.Wells("one", (losses.Well((Fraction(0),), Fraction(1), (Fraction(1),)),))
    gap = Fraction(1, 10**6)
    value, gradient, hessian = well.exact([1 - gap])
    assert abs(value) < 10 * gap**3 and abs(gradient[0]) < 30 * gap**2 and abs(hessian[0][0]) < 60 * gap
    assert well.exact([Fraction(1)]) == (0, [0], [[0]])


def test_thesis_pair_jumps_at_its_joins():
    """0.07 * 4.283^2 = 1.2841 meets 9 sin(0.7 * 4.283) = 1.2870; 0.07 * 4.2^2 = 1.2348 meets 9 sin(2.94) = 1.8021."""
    one, two = losses.thesis_pair().clients
    jumps = []
    for client, join in ((one, 4.283), (two, -12.8)):
        left, right = (float(client.value(np.array([join + side * 1e-12]))) for side in (-1, 1))
        jumps.append(right - left)
    np.testing.assert_allclose(jumps, [0.0029, 0.5673], atol=1e-4)
    assert float(one.hessian(np.array([0.0]))[0, 0]) == pytest.approx(0.14)


def test_thesis_average_is_not_stationary():
    average = losses.thesis_pair().average
    assert abs(float(average.gradient(np.array([-8.5]))[0])) > 1.0


def test_formulas_are_the_losses(scenario):
    """What the report prints, evaluated by sympy, is what the programs compute, on a grid over the plot's window."""
    grids = np.meshgrid(*(np.linspace(*side, 23) for side in scenario.window))
    for loss in scenario.clients:
        formula = sympy.lambdify((loss_formulas.X, loss_formulas.Y), loss_formulas.expression(loss), "numpy")
        second = grids[1] if len(grids) > 1 else np.zeros_like(grids[0])
        assert np.allclose(formula(grids[0], second), loss.value(np.stack(grids, axis=-1)), atol=1e-12)


def test_a_loss_says_its_formulas_and_what_runs_on_it():
    told = loss_formulas.told("sharp-average")
    assert told["formulas"]["client 1"].startswith(r"- \max\left(0, 1 - \frac{x^{2}}{4}\right)^{3}")
    assert told["claims"] == ["thesis-fig3.1-flatglobal", "thesis-fig3.1-concl"] and "No method runs" in told["run"]
    run = loss_formulas.told("sam-helps")["run"]
    assert "starts at (1.5, 0.5)" in run and "400 rounds, with 5 steps of size 0.05" in run and "radius 0.3" in run
    with pytest.raises(TypeError, match="no formula"):
        loss_formulas.expression(losses.SCENARIOS["sharp-average"]().average)


def test_flat_clients_have_a_sharp_average_exactly():
    scenario = losses.flat_clients_sharp_average()
    flat = [client.exact([point]) for client, point in zip(scenario.clients, (0, 6), strict=True)]
    assert flat == [(-1, [0], [[Fraction(3, 2)]])] * 2
    assert _exact_average(scenario, [Fraction(3)]) == (Fraction(-1, 2), [0], [[48]])
    assert _exact_average(scenario, [Fraction(0)]) == (Fraction(-7, 8), [0], [[Fraction(21, 16)]])
    assert all(client.L == 48 for client in scenario.clients)


def test_flat_clients_sit_at_their_global_minima():
    """No well is deeper than 1 and supports are disjoint, so -1 is the infimum of each client."""
    for client in losses.flat_clients_sharp_average().clients:
        assert max(well.depth for well in client.wells) == 1
        spans = sorted((well.centre[0] - well.widths[0], well.centre[0] + well.widths[0]) for well in client.wells)
        assert all(left[1] <= right[0] for left, right in pairwise(spans))


def _minimisers(scenario):
    """(FedSAM minimiser, global SAM minimiser) on a grid of the window."""
    x = np.linspace(*scenario.window[0], 1101)[:, None]
    client_wise = np.mean([losses.sam_value(client, x, scenario.rho) for client in scenario.clients], axis=0)
    return x[client_wise.argmin()], x[losses.sam_value(scenario.average, x, scenario.rho).argmin()]


def test_fedsmoo_toy_consistent_clients_agree_with_the_global_objective():
    scenario = losses.fedsmoo_toy("1/10")
    client_wise, centralised = _minimisers(scenario)
    np.testing.assert_allclose(client_wise, centralised, atol=0.02)


def test_fedsmoo_toy_inconsistent_clients_end_much_sharper():
    scenario = losses.fedsmoo_toy("9/10")
    sharp = [float(losses.sharpness(scenario.average, point, scenario.rho)) for point in _minimisers(scenario)]
    assert sharp[0] > 50 * sharp[1] > 0


def _ends(scenario):
    """Last global models of FedAvg and FedSAM."""
    return [losses.federated_run(scenario, method)[-1] for method in (FedAvg(), FedSAM(rho=scenario.rho))]


@pytest.mark.parametrize(
    ("build", "raised"), [(losses.local_sam_sharpens, True), (losses.local_sam_helps, False)], ids=["raises", "helps"]
)
def test_local_sam_changes_the_global_curvature(build, raised):
    scenario = build()
    plain, sam = _ends(scenario)
    curvatures = [losses.top_curvature(scenario.average, point) for point in (plain, sam)]
    gains = [losses.sharpness(scenario.average, point, scenario.rho) for point in (plain, sam)]
    assert (curvatures[1] > 2 * curvatures[0]) if raised else (curvatures[1] < curvatures[0] / 2)
    assert (gains[1] > 2 * gains[0]) if raised else (gains[1] < gains[0] / 2)


def test_local_sam_that_sharpens_also_raises_the_loss():
    scenario = losses.local_sam_sharpens()
    plain, sam = _ends(scenario)
    assert scenario.average.value(sam) > scenario.average.value(plain) + 0.01


@pytest.mark.parametrize("method", [FedSMOO, GlobalFedSAM])
def test_global_perturbations_keep_the_flat_minimum_that_local_ones_leave(method):
    scenario = losses.local_sam_sharpens()
    end = losses.federated_run(scenario, method(rho=scenario.rho))[-1]
    assert abs(end[0]) < 0.01
    assert abs(losses.federated_run(scenario, FedSAM(rho=scenario.rho))[-1][0]) > 0.8


def test_one_round_of_fedsam_by_hand():
    """One local step from (0.1, 0), f_i a well of depth 1, widths (2, 10), centre -0.88 and 0.88, rho 0.3, lr 0.05.

    Both perturbations are horizontal: client 1 sees its slope at 0.4, client 2 at -0.2.
    """
    scenario = replace(losses.local_sam_sharpens(), start=(0.1, 0.0))
    slopes = [6 * (1 - offset**2 / 4) ** 2 * offset / 4 for offset in (0.4 + 0.88, -0.2 - 0.88)]
    end = losses.federated_run(scenario, FedSAM(rho=0.3), rounds=1, local_steps=1)[-1]
    np.testing.assert_allclose(end, [0.1 - 0.05 * np.mean(slopes), 0.0], atol=1e-14)


def test_the_flat_minimum_is_stable_for_plain_descent_and_unstable_for_local_sam():
    """Along the first axis: f''(0) > 0, but F_1'' at the perturbed point 0.3 is negative, exactly."""
    scenario = losses.local_sam_sharpens()
    origin = [Fraction(0), Fraction(0)]
    _, gradient, hessian = _exact_average(scenario, origin)
    assert gradient == [0, 0] and hessian[0][0] > 0 and hessian[1][1] > 0 and hessian[0][1] == 0
    assert scenario.clients[0].exact([Fraction(3, 10), Fraction(0)])[2][0][0] < 0
    assert scenario.clients[1].exact([Fraction(-3, 10), Fraction(0)])[2][0][0] < 0


def test_figure_draws(scenario):
    figure, axes = plt.subplots()
    plot_scenario(axes, scenario)
    assert axes.lines and axes.get_title() == scenario.shows
    plt.close(figure)
