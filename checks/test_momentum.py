"""MoFedSAM's theorem: proved, run on the class itself, and each constant needed by the proof."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from theory.inexact import momentum, momentum_rounds, runs
from theory.kit.proof import Rejected

SHORT = {
    "mofedsam": (momentum.statement, lambda: momentum.random_runs(60)),
    "general": (momentum.general, lambda: momentum.weighted_runs(60)),
    "printed steps": (momentum.printed_steps, lambda: momentum.printed_runs(5)),
}


@pytest.mark.parametrize("name", SHORT)
def test_it_is_proved_and_holds_on_the_class(name):
    make, runs = SHORT[name]
    statement = replace(make(), runs=runs)
    assert statement.label == "machine"
    assert 0.3 < statement.ratios().max() <= 1


@pytest.mark.parametrize("place", range(6))
def test_one_percent_off_any_term_is_rejected(place):
    left, right = momentum.closed_sides()
    changed = tuple(term * sp.Rational(99, 100) if i == place else term for i, term in enumerate(right))
    with pytest.raises(Rejected):
        momentum.prove_closed(left, changed).verify()


def test_at_the_printed_steps_the_leading_term_keeps_its_beta_and_noise_gets_its_inverse():
    """The term beta L Delta/sqrt(RKN) survives; with minibatch noise a term in 1/beta stands beside it."""
    _, right = momentum.printed_sides()
    beta, rounds = momentum.beta, momentum.n.T
    slow = [term for term in right if term.as_powers_dict()[rounds] == -sp.Rational(1, 2)]
    assert [term.has(momentum.Delta) for term in slow] == [True, False]
    assert [term.as_powers_dict()[beta] for term in slow] == [1, -1]


def test_without_momentum_it_is_the_theorem_on_inexact_gradients_up_to_what_noise_costs():
    """beta = 1: the terms without noise and cohorts are those of FedSAM's theorem at x = 1/10."""
    from theory.inexact import theorem

    quiet = {momentum.n.sigma_l: 0, momentum.n.kappa: 0, momentum.beta: 1}
    left, right = (
        sp.sympify(side).subs(quiet) for side in (momentum.closed_sides()[0], sp.Add(*momentum.closed_sides()[1]))
    )
    own_left, own_right = theorem.general(theorem.numbers())
    ends = {momentum.Y: sp.Rational(1, 10), momentum.n.X: sp.Rational(1, 10)}
    own = [sp.sympify(side).subs(quiet).subs(ends) for side in (own_left, sp.Add(*own_right))]
    assert sp.expand(left.subs(ends) - own[0]) == 0 and sp.expand(right.subs(ends) - own[1]) == 0


# ------------------------------------------------------------ the number of rounds of the printed steps


def test_the_closed_form_adds_up_what_the_class_does():
    """Heavy ball on w^2/2: the sum over all rounds against MoFedSAM itself over 2,000."""
    problem = runs.Problem(*(np.full((1, 1), x) for x in (0.0, 1.0, 0.0)), start=np.ones(1))
    total, b, A = momentum_rounds.sum_of_squares()
    for beta, step in ((0.5, 0.3), (0.1, 0.4), (0.05, 1.0)):
        setting = runs.Setting(1, 1, 1, 2000, 0.1, step / 0.1, 0.0, 0.0, {"beta": beta})
        models = runs.path("mofedsam", problem, setting, np.random.default_rng(0))
        assert (models**2).sum() == pytest.approx(float(total.subs({b: beta, A: step})), rel=1e-9)


def test_fewer_rounds_break_the_printed_steps():
    """At R = 100/beta^2 all conditions but R >= 16KN/beta^4 hold, and the bound fails by a quarter, exactly."""
    found = momentum_rounds.INSTANCE
    assert found.violates and found.root_R**2 == 100 / found.beta**2 < 16 / found.beta**4
    assert Fraction(5, 4) < found.squares / found.bound < Fraction(3, 2)
    assert not replace(found, root_R=int(4 / found.beta**2)).violates  # the theorem's own number


def test_no_constant_saves_a_lower_power_of_beta():
    """The sum over C/A Delta tends to (1 + x)/C for A = beta x, so that the bound fails at x > C - 1, whatever C is."""
    constant = sp.Symbol("C", positive=True)
    ratio, x = momentum_rounds.over_bound(constant)
    assert sp.simplify(ratio - (1 + x) / constant) == 0
    for power in (2, 3):  # R = beta^-power rounds, C = 50
        beta = Fraction(1, 10**4)
        steps = sp.Rational(10**4) ** (2 - sp.Rational(power, 2))  # x = 1/(sqrt(R) beta^2)
        total, b, A = momentum_rounds.sum_of_squares()
        at = {b: sp.Rational(beta.numerator, beta.denominator), A: steps / 10**4}
        assert float((total * 2 * A / 50).subs(at)) > 1
