"""Worst cases: known values, never above the proved bound, above what the method's class does, stored as computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checks import worst_cases
from theory.inexact import runs
from theory.worst_cases import YARDSTICKS, Case, bound, inexact, smoo, strongly, with_momentum

STORED = worst_cases.stored()
#: how exact the solver is: the largest distance of its dual from its primal value, as a share
ACCURACY = max(row["gap"] for rows in STORED.values() for row in rows)
EXACT = {"Delta": 1.0, "rho": 0.0, "sigma_g": 0.0, "A": 1.0}


def test_one_exact_step_has_the_known_worst_case():
    """|grad F(w)|^2 <= 2 L (F(w) - F(w - grad F(w)/L)) is attained for L-smooth losses, convex or not."""
    assert inexact(Case(1, 1, 1, 1, EXACT)).bound == pytest.approx(2, rel=1e-5)
    assert with_momentum(Case(1, 1, 1, 1, EXACT | {"beta": 1.0})).bound == pytest.approx(2, rel=1e-5)


def test_a_perturbation_alone_keeps_its_floor():
    """With F(w^0) - F(w^1) <= 0 and step 1/L, w + e may have gradient 0 while grad F(w) has length L rho."""
    assert inexact(Case(1, 1, 1, 1, EXACT | {"Delta": 0.0, "rho": 0.5})).bound >= 0.25 - 1e-5


def test_identical_clients_are_one_client():
    one, two = (inexact(Case(n, n, 2, 1, EXACT | {"rho": 0.5, "A": 0.5})).bound for n in (1, 2))
    assert one == pytest.approx(two, rel=1e-4)


@pytest.mark.parametrize("name", YARDSTICKS)
def test_stored_worst_cases_are_below_the_proved_bound_and_recomputed(name):
    make, worst, cases = YARDSTICKS[name]
    statement, rows = make(), STORED[name]
    assert [worst_cases.case_of(row) for row in rows] == cases
    assert all(0 < row["worst"] <= row["proved"] * (1 + ACCURACY) for row in rows)
    for row in (rows[0], rows[-1]):
        assert row["proved"] == pytest.approx(bound(statement, worst_cases.case_of(row)), rel=1e-9)
        assert row["worst"] == pytest.approx(worst(worst_cases.case_of(row)).bound, rel=1e-3)


@pytest.mark.parametrize("name", ["inexact-gradients-exact", "mofedsam"])
def test_a_bound_that_is_halved_is_violated(name):
    """The yardstick is sharp enough to reject half of the proved bound."""
    assert max(row["worst"] / row["proved"] for row in STORED[name]) > 0.5


@pytest.mark.parametrize(("method", "worst"), [("fedsam", inexact), ("fedlesam", inexact), ("mofedsam", with_momentum)])
def test_runs_of_the_class_stay_below_the_worst_case(method, worst):
    """The package's own class, two rounds, with its own decrease and heterogeneity put into the program."""
    rng, options = np.random.default_rng(0), {"beta": 0.5} if method == "mofedsam" else {}
    shares = []
    for _ in range(6):
        problem = runs.Problem.draw(rng, 2, 2)
        case = Case(2, 2, 2, 2, {"rho": 0.5, "A": 0.25, **options})
        v, b = case.all(), options.get("beta", 1.0)
        setting = runs.Setting(2, 2, 2, 2, v["eta"], v["A"] / (2 * v["eta"]), 0.5, 0.0, options)
        path = runs.path(method, problem, setting, rng)
        own = np.stack([problem.gradients(w) for w in path[:-1]])
        mean = own.mean(axis=1)
        end = path[-1] + (1 - b) / b * (path[-1] - path[-2])
        measured = {
            "Delta": max(0.0, problem.value(path[0]) - problem.value(end)),
            "sigma_g": float(np.sqrt(((own - mean[:, None]) ** 2).sum(axis=2).mean(axis=1).max())),
        }
        largest = worst(replace(case, values={**case.values, **measured})).bound
        shares.append(float((mean**2).sum(axis=1).mean()) / largest)
    assert 0.1 < max(shares) <= 1 + 1e-6


def test_fedsmoo_without_error_and_with_one_client_is_the_proximal_step():
    """One client, exact duals: wbar^1 = w - beta grad f(wbar^1); the first gradient is bounded by D_0 alone."""
    values = {"Delta": 100.0, "beta": 1 / 9, "eps": 0.0, "D_0": 4.0}
    assert smoo(Case(1, 1, 1, 1, values)).bound == pytest.approx(4, rel=1e-4)


def test_a_strongly_convex_loss_that_is_as_smooth_is_a_parabola():
    """mu = L = 1 leaves |w - w*|^2/2: a step of 2/(gamma + 2) = 1/10 gives (9/10)^2/2, and a second one of 2/21.

    One loss is left, so that the program has no interior, and its solver is less exact.
    """
    values = {"mu": 1.0, "gamma": 18.0, "D_0": 1.0, "rho": 0.0, "sigma_g": 0.0}
    assert strongly(Case(1, 1, 1, 1, values)).bound == pytest.approx(0.405, rel=2e-3)
    assert strongly(Case(1, 1, 1, 2, values)).bound == pytest.approx((9 / 10 * 19 / 21) ** 2 / 2, rel=2e-3)
