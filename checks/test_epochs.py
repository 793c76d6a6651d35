"""One reshuffled epoch a round, and one local step a round: proved, run, and as sharp as is said."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from theory.inexact import epochs, one_step, runs, theorem
from theory.inexact.theorem import Gamma, n
from theory.kit.hypotheses import NOISE_GIVEN_THE_PAST, RESHUFFLED, asked
from theory.kit.proof import Rejected

MAKERS = {
    "epochs": (epochs.statement, epochs.setting),
    "one step": (one_step.statement, one_step.setting),
    "one step, exact": (one_step.exact, one_step.exact_setting),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("method", ["fedsam", "fedlesam"])
def test_it_is_proved_and_holds_on_the_classes(name, method):
    make, draw = MAKERS[name]
    rows = runs.random_runs(method, 30, draw, seed=3)
    statement = replace(make(method), runs=lambda: rows)
    assert statement.label == "machine"
    assert 0.3 < statement.ratios().max() <= 1


@pytest.mark.parametrize("name", MAKERS)
def test_one_percent_off_any_term_is_rejected(name):
    statement = MAKERS[name][0]()
    for place in range(len(statement.right)):
        right = [term * (sp.Rational(99, 100) if i == place else 1) for i, term in enumerate(statement.right)]
        with pytest.raises(Rejected):
            statement.prove(statement.left, right).verify()


def test_noise_of_one_pass_adds_up_to_zero_and_keeps_its_size():
    draws = np.random.default_rng(0).normal(size=(2, 4, 3, 5))
    noise = runs.one_pass(draws)
    assert np.allclose(noise.sum(axis=1), 0) and np.allclose((noise**2).sum(axis=3).mean(axis=1), 1)
    assert not runs.one_pass(draws[:, :1]).any()  # one minibatch is all samples


def test_a_reshuffled_epoch_is_not_unbiased_given_the_past_and_an_independent_one_does_not_add_up():
    """Two minibatches: the second is decided by the first."""
    setting = runs.Setting(2, 2, 2, 30, 0.05, 1.0, 0.1, 1.0, epochs=True)
    problem, rng = runs.Problem.draw(np.random.default_rng(0), 2, 2), np.random.default_rng(1)
    one_pass = runs.law("fedsam", problem, setting, rng)
    drawn = runs.law("fedsam", problem, replace(setting, epochs=False), rng)
    both = (RESHUFFLED, NOISE_GIVEN_THE_PAST)
    assert asked(both, one_pass) == {RESHUFFLED.name: True, NOISE_GIVEN_THE_PAST.name: False}
    assert asked(both, drawn) == {RESHUFFLED.name: False, NOISE_GIVEN_THE_PAST.name: True}


def test_with_one_minibatch_an_epoch_has_no_noise_left_and_the_independent_theorem_has():
    """K = 1, so x = 0: the right side does not know sigma_l."""
    x = {n.X: 0}
    assert not sp.Add(*epochs.statement().right).subs(x).has(n.sigma_l)
    assert sp.Add(*theorem.general(theorem.numbers())[1]).subs(x).has(n.sigma_l)


def test_independent_noise_violates_what_holds_for_epochs():
    """F = w^2/2 from its minimiser, A = 1/2: minibatches that are drawn anew move the model, a pass of one does not."""
    statement = epochs.statement()
    problem = runs.Problem(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.zeros(1))
    setting = runs.Setting(1, 1, 1, 40, 0.5, 1.0, 0.0, 1.0)
    moved = runs.measured("fedsam", problem, setting, np.random.default_rng(0))
    right = float(
        sp.Add(*statement.right).subs({s: sp.nsimplify(moved[str(s)]) for s in statement.symbols if s != Gamma})
    )
    assert right == 0 < 0.1 < moved["Gamma"]
    still = runs.measured("fedsam", problem, replace(setting, epochs=True), np.random.default_rng(0))
    assert still["Gamma"] == 0


def test_both_constants_of_one_exact_step_are_attained():
    """One round of A = 1/L from anywhere on a parabola; and a model that its error holds at distance rho."""
    left, right = one_step.attained(1000)["start"]
    assert left == right
    left, right = one_step.attained(1000)["radius"]
    assert left < right <= left * (1 + Fraction(1, 1000))


def test_a_step_beyond_the_condition_breaks_the_exact_theorem():
    """w^2/2 and A = 4 > 1/L: the model grows by 3 a round, the bound does not."""
    problem = runs.Problem(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.ones(1))
    found = runs.measured("fedsam", problem, runs.Setting(1, 1, 1, 4, 1.0, 4.0, 0.0, 0.0), np.random.default_rng(0))
    right = 2 * found["Delta"] / (found["A"] * found["T"])
    assert found["Gamma"] > 100 * right
