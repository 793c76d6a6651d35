"""The prover on a perturbation of one's own: known theorems come back, runs obey, missing facts are named."""

from __future__ import annotations

import doctest
import json
from dataclasses import replace

import pytest
import sympy as sp
from click.testing import CliRunner

from artifact.base.errors import UserError
from theory import own
from theory.inexact import theorem, vanishing_radius
from theory.inexact.theorem import n
from theory.kit.proof import Rejected
from theory.own import held, sides, theorem_for


def test_the_module_example_holds():
    assert doctest.testmod(own).failed == 0


def test_a_constant_radius_gives_the_theorem_on_inexact_gradients_back():
    for cohorts in (False, True):
        found = theorem_for("rho", cohorts).statement
        left, right = theorem.general(theorem.numbers(sampled=cohorts))
        assert sp.expand(found.left - left) == 0 == sp.expand(sp.Add(*found.right) - sp.Add(*right))
        assert found.label == "machine"


def test_a_radius_of_the_gradients_length_leaves_no_floor_and_holds_for_global_fedsam():
    found = theorem_for("rho*G")
    assert found.floor == 0 and theorem_for("rho").floor == 2 * n.L**2 * n.rho**2
    rows = vanishing_radius.random_runs(40)
    assert 0.1 < replace(found.statement, runs=lambda: rows).ratios().max() <= 1


def test_a_clients_own_gradient_leaves_the_floor_that_unlike_clients_make():
    assert theorem_for("c*Gi").floor == 2 * n.L**2 * n.sigma_g**2 * sp.Symbol("c", nonnegative=True) ** 2


def test_one_percent_off_any_term_is_rejected():
    parts = own.squared(own.read("rho + c*Gi"))
    left, right = sides(parts, True)
    own._prove(parts, True, left, right).verify()
    for place in range(len(right)):
        less = [term * (sp.Rational(99, 100) if i == place else 1) for i, term in enumerate(right)]
        with pytest.raises(Rejected):
            own._prove(parts, True, left, less).verify()


@pytest.mark.parametrize(
    ("bound", "missing"),
    [
        ("c*M", "a bound on the length of the last server move"),
        ("rho + c*x", "a bound on the distance of a local model from the round's"),
        ("c*G**2", "is not linear in a gradient's norm"),
        ("rho*G/(c + G)", "is not linear in a gradient's norm"),
        ("K*G", "K has a meaning in the theorem already"),
        ("c + c*G", "c stands for two things of different units"),
    ],
)
def test_the_fact_that_is_missing_is_named(bound, missing):
    found = theorem_for(bound)
    assert found.statement is None and missing in found.lacks and found.plain()["lacks"] == found.lacks


@pytest.mark.parametrize("bound", ["", "rho +", "__import__('os')", "sin(G)", "rho; G"])
def test_what_is_no_formula_is_refused(bound):
    with pytest.raises(UserError):
        theorem_for(bound)


def test_a_class_is_held_against_its_bound():
    assert held("fedsam", "rho", {"rho": 0.3}).share == pytest.approx(1)
    assert held("fedsam", "rho/2", {"rho": 0.3}).share == pytest.approx(2)
    assert held("fedavg", "rho", {"rho": 0.3}).share == 0
    with pytest.raises(UserError, match="value"):
        held("fedsam", "c", {"rho": 0.3})


def test_the_command_says_what_was_proved_and_ends_with_one_where_it_was_not():
    said = CliRunner().invoke(own.main, ["rho + c*G", "--json"])
    assert said.exit_code == 0 and json.loads(said.output)["proof"]["statement"]["name"] == "own-perturbation"
    assert CliRunner().invoke(own.main, ["c*M"]).exit_code == 1
    beyond = CliRunner().invoke(own.main, ["rho", "--method", "fedsam", "--value", "rho=0.3"])
    assert beyond.exit_code == 0 and "within" in beyond.output
    beyond = CliRunner().invoke(own.main, ["rho/3", "--method", "fedsam", "--value", "rho=0.3"])
    assert beyond.exit_code == 1 and "BEYOND" in beyond.output
