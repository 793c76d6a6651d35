"""MoFedSAM's theorem: proved, run on the class itself, and each constant needed by the proof."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from theory.inexact import momentum
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
    """R-T11: beta L Delta/sqrt(RKN) survives; with minibatch noise a term in 1/beta stands beside it."""
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
