"""Unequal numbers of local steps and weighted cohorts: proved, run on the classes, and beside exact worst cases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import sympy as sp

from theory.inexact import one_client, theorem, unequal
from theory.kit.proof import Rejected, Vector, atom

VALUES = {"Delta": 1.0, "rho": 0.5, "sigma_g": 0.5, "A": 0.5}


@pytest.fixture(scope="module")
def statement():
    return replace(unequal.statement(), runs=lambda: unequal.random_runs("fedsam", 120))


def test_both_proof_objects_verify(statement):
    assert one_client.statement().label == statement.label == "machine"


@pytest.mark.parametrize("method", ["fedsam", "fedlesam"])
def test_it_holds_on_the_classes(method):
    held = replace(unequal.statement(method), runs=lambda: unequal.random_runs(method, 120))
    assert 0.3 < held.ratios().max() <= 1
    assert held.bank["excess"].max() > 0.5 and held.bank["kappa"].max() > 0.5


@pytest.mark.parametrize("method", ["fedsam", "fedlesam"])
def test_it_holds_on_the_classes_on_a_thousand_problems(method):
    held = unequal.statement(method)
    assert len(held.ratios()) == 1000 and held.ratios().max() <= 1


@pytest.mark.parametrize("method", ["fedsam", "fedlesam"])
def test_what_one_client_does_holds_on_the_classes(method):
    held = replace(one_client.statement(method), runs=lambda: one_client.random_runs(method, 200))
    assert 0.3 < held.ratios().max() <= 1 + 1e-12
    assert {"K_i", "rho", "sigma_l"} <= {name for name in held.bank if np.ptp(held.bank[name]) > 0}


def test_the_round_takes_the_two_bounds_that_one_client_has_and_no_more():
    """With the weights 1, 0 and 0, 1 the inequality on one client is what the proof of the round averages."""
    left, right = one_client.sides()
    slack = sp.expand(sp.Add(*right) - left)
    letters = {"slope": atom("G", "G"), "wrong": atom("r", "r"), "quiet": atom("z", "z")}
    meant = {sp.Symbol(name, nonnegative=True): square for name, square in letters.items()}
    _, *bounds = one_client.client()
    for weight, bound in zip((one_client.A, one_client.S), bounds, strict=True):
        assert sp.expand(slack.coeff(weight).subs(meant) - bound.slack) == 0


@pytest.mark.parametrize("place", range(6))
def test_one_percent_off_any_term_is_rejected(place):
    left, right = unequal.sides()
    changed = tuple(term * sp.Rational(99, 100) if i == place else term for i, term in enumerate(right))
    with pytest.raises(Rejected):
        unequal.prove(left, changed).verify()


def test_with_equal_steps_and_weights_it_is_the_theorem_on_cohorts():
    left, right = unequal.sides()
    own_left, own_right = theorem.general(theorem.numbers())
    assert sp.expand(left.subs(unequal.e, 0) - own_left) == 0
    assert sp.expand(sp.Add(*right).subs(unequal.e, 0) - sp.Add(*own_right)) == 0


def test_only_what_is_linear_in_a_client_may_be_averaged():
    proof, gradients, noise = one_client.client()
    slope = Vector({"G": sp.Integer(1)})
    assert unequal.averaged(noise, slope).has(theorem.n.K)
    for name in ("tau", "X_i <= X"):
        with pytest.raises(ValueError, match="not linear"):
            unequal.averaged(proof.steps[name], slope)
    square = replace(gradients, slack=gradients.slack * gradients.slack)
    with pytest.raises(ValueError, match="not linear"):
        unequal.averaged(square, slope)


def test_the_facts_on_a_weighted_cohort_by_enumeration():
    """Over all cohorts, exactly: the mean direction, and its square against (1 + kappa e), kappa (1 + e)."""
    u, p, counts = [Fraction(3), Fraction(-1), Fraction(5, 2), Fraction(0)], [2, 3, 1, 4], [1, 4, 2, 3]
    weights = [Fraction(x, sum(p)) for x in p]
    mean_steps = sum(x * k for x, k in zip(weights, counts, strict=True))
    q = [x * k / mean_steps for x, k in zip(weights, counts, strict=True)]
    assert sum(q) == 1 and sum(x / k for x, k in zip(q, counts, strict=True)) == 1 / mean_steps
    clients, mean = len(u), sum(a * b for a, b in zip(q, u, strict=True))
    spread, excess = sum(a * (b - mean) ** 2 for a, b in zip(q, u, strict=True)), len(u) * max(q) - 1
    for active in range(1, clients + 1):
        kappa = Fraction(clients - active, active * (clients - 1))
        d = [Fraction(clients, active) * sum(q[i] * u[i] for i in c) for c in combinations(range(clients), active)]
        assert sum(d) / len(d) == mean
        bound = (1 + kappa * excess) * mean**2 + kappa * (1 + excess) * spread
        assert sum(x * x for x in d) / len(d) <= bound


@pytest.mark.parametrize(("counts", "p", "rounds"), [((1, 2), (0.5, 0.5), 1), ((1, 3), (0.7, 0.3), 1)])
def test_an_exact_worst_case_is_below_the_bound(counts, p, rounds):
    pytest.importorskip("PEPit")
    solved, proved = unequal.worst_case(counts, p, rounds, VALUES)
    assert abs(solved.bound / solved.example - 1) < 1e-3
    assert 0.5 < solved.bound / proved <= 1
