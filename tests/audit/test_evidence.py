"""Constructors of evidence say what they compared, and nothing where the comparison fails."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from artifact.algorithms import build
from theory.kit import effort, evidence
from theory.kit.verdict import DECIDED

x, y = sp.symbols("x y", real=True)


def prox(problem, mu):
    """FedProx by hand: the local gradient has mu times the way from the server's model."""
    w, path = problem.start, [problem.start]
    for t, cohort in enumerate(problem.cohorts):
        local = []
        for client in cohort:
            v = w
            for k in range(problem.steps):
                v = v - problem.lr * (problem.gradient(client, v, t, k) + mu * (v - w))
            local.append(v)
        w = np.mean(local, axis=0)
        path.append(w)
    return np.array(path)


def test_two_sides_that_are_equal_are_a_decided_certificate():
    text = evidence.identical((x - y) ** 2, x**2 - 2 * x * y + y**2)
    assert DECIDED[text] == ("identity", False)
    with pytest.raises(ValueError, match="reduces to"):
        evidence.identical(x**2, x**3)


@pytest.mark.parametrize(
    ("left", "right", "relation"), [(1, 2, "<="), (2, 2, "=="), (1, 2, "<"), (float("nan"), 1, "<=")]
)
def test_an_instance_at_which_the_relation_holds_refutes_nothing(left, right, relation):
    with pytest.raises(ValueError, match="nothing is refuted"):
        evidence.refuting(left, right, relation, n=1)


def test_a_refutation_keeps_instance_and_sides():
    found = evidence.refuting(3, 2, "<=", n=1)
    assert (found.verdict, found.evidence["counterexample"]) == ("refuted", {"n": 1, "left": 3.0, "right": 2.0})


def test_a_method_agrees_with_its_formulas_and_with_no_other_ones():
    same = evidence.same_program(build("fedprox", lam=0.5), lambda problem: prox(problem, 0.5), problems=20)
    assert same.verdict == "agrees" and same.evidence["problems"] == 20 and same.evidence["largest_gap"] < 1e-12
    other = evidence.same_program(build("fedprox", lam=0.5), lambda problem: prox(problem, 0.6), problems=20)
    told = other.evidence["counterexample"]
    problem = evidence.drawn(told["problem"])
    assert other.verdict == "refuted" and told["round"] >= 1
    assert told["program"] == prox(problem, 0.6)[told["round"], told["parameter"]]


def test_a_trial_looks_at_few_problems():
    with effort.at_most(5):
        found = evidence.same_program(build("fedavg"), lambda problem: prox(problem, 0.0))
    assert found.evidence["problems"] == 5


def test_a_program_of_another_shape_or_without_numbers_agrees_with_nothing():
    with pytest.raises(ValueError, match="rounds"):
        evidence.same_program(build("fedavg"), lambda problem: problem.start, problems=2)
    nan = evidence.same_program(build("fedavg"), lambda problem: prox(problem, 0.0) * np.nan, problems=2)
    assert nan.verdict == "refuted"
