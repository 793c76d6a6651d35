"""Hypotheses: a proof uses all of them and no other, runs fulfil them, and the laws that break one are turned away."""

from __future__ import annotations

import doctest
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import sympy as sp

from theory.inexact import runs, statements, theorem
from theory.kit import hypotheses
from theory.kit.hypotheses import Law, asked
from theory.kit.proof import Rejected
from theory.sun2023 import lyapunov
from theory.theorems import theorems
from theory.yashwanth2023 import layers


def named(statement, name):
    """The hypothesis of a statement that has this name."""
    return next(h for h in statement.hypotheses if h.name == name)


@pytest.mark.parametrize("make", [statements.exact, statements.sampled, lyapunov.theorem, layers.layer_weights])
def test_a_hypothesis_that_is_left_out_is_missed_and_one_too_many_is_refused(make):
    statement = make()
    assert statement.label == "machine"
    for place, hypothesis in enumerate(statement.hypotheses):
        fewer = (*statement.hypotheses[:place], *statement.hypotheses[place + 1 :])
        with pytest.raises(Rejected, match="no hypothesis gives what the proof uses"):
            _ = replace(statement, hypotheses=fewer).label
        assert hypothesis.words[1:] in statement.intro
    idle = hypotheses.Hypothesis("convex", "$F$ is convex", ("convex",))
    with pytest.raises(Rejected, match="does not use the hypothesis 'convex'"):
        _ = replace(statement, hypotheses=(*statement.hypotheses, idle)).label


def test_a_proof_that_assumes_what_it_does_not_use_is_refused():
    statement = statements.exact()

    def prove(left, right):
        proof = statement.prove(left, right)
        last = proof.steps.popitem()[1]
        proof.hypothesis("idle", statements.n.L, "never used")
        proof.steps[last.name] = last
        return proof

    with pytest.raises(Rejected, match="assumes what it does not use: idle"):
        _ = replace(statement, prove=prove).label


def test_every_printed_setting_says_what_the_noise_is_unbiased_given():
    for statement in theorems().values():
        names = {h.name for h in statement.hypotheses}
        if "unbiased" in statement.proof.assumes() and not names & {"exact gradients", "reshuffled epochs"}:
            assert hypotheses.PAST in statement.text, statement.name


@pytest.mark.parametrize("name", [s.name for s in theorems().values() if s.laws()])
def test_runs_fulfil_the_hypotheses_of_their_theorem(name):
    statement = theorems()[name]
    found = [asked(statement.hypotheses, law) for law in statement.laws()]
    assert not [(row, key) for row in found for key, held in row.items() if held is False]
    shown = {key for row in found for key, held in row.items() if held}
    assert {"smooth", "bounded below"} | ({"dissimilar"} & {h.name for h in statement.hypotheses}) <= shown
    noise = {"noise given the past", "exact gradients", "reshuffled epochs"}
    assert shown & {"inexact", "small radii"} and shown & noise


# ------------------------------------------------------------ laws that break one hypothesis, and the bound with it

SIGNS = (1.0, -1.0)


def descent(draws, step, steps=1, start=0.0):
    """Mean squared gradient of F = w^2/2 under noise [m, T * steps]: average over rounds and outcomes."""
    models, squares = np.full(len(draws), start), []
    for t in range(draws.shape[1] // steps):
        squares.append(models**2)
        local = models.copy()
        moved = np.zeros_like(models)
        for k in range(steps):
            slope = local + draws[:, t * steps + k]
            moved += slope / steps
            local = local - step / steps * slope
        models = models - step * moved if steps == 1 else local
    return float(np.mean(squares))


def one_client(draws) -> Law:
    return Law({"sigma_l": 1.0}, noise=np.asarray(draws)[:, :, None, None], complete=True)


def bound(statement, **values):
    """Right side over the factor of the left one."""
    point = {symbol: sp.nsimplify(values[str(symbol)]) for symbol in statement.symbols if str(symbol) in values}
    return float(sp.Add(*statement.right).subs(point))


NOISY = {"L": 1, "K": 1, "N": 1, "eta": "1/100", "A": "1/100", "X": 0, "rho": 0, "sigma_g": 0, "sigma_l": 1, "Delta": 0}


def test_noise_that_is_drawn_once_for_all_rounds_is_not_unbiased_given_the_past():
    rounds = 1000
    kept = np.array([[sign] * rounds for sign in SIGNS])
    statement = statements.full()
    right = bound(statement, **NOISY, T=rounds)
    assert descent(kept, 0.01) > 20 * right  # 0.9 against 0.02: the bound needs the hypothesis
    few = one_client(kept[:, :3])
    assert asked(statement.hypotheses, few)["noise given the past"] is False
    fresh = one_client(np.array(list(product(SIGNS, repeat=3))))
    assert asked(statement.hypotheses, fresh)["noise given the past"] is True
    sample = np.random.default_rng(0).choice(SIGNS, (400, rounds))
    assert descent(sample, 0.01) < right


def test_a_minibatch_that_is_used_for_all_local_steps_is_not_unbiased_given_the_past():
    steps, step = 50, 0.5
    values = NOISY | {"K": steps, "eta": "1/100", "A": "1/2", "X": "49/100"}
    drawn = np.random.default_rng(0).choice(SIGNS, (2000, 50))
    reused = np.repeat(drawn, steps, axis=1)
    once = sp.Rational(108, 53) * sp.Rational(1, 2) / steps  # the term of A L sigma_l^2/(KN) alone
    assert descent(reused, step, steps) > 5 * float(once)
    few = one_client(np.repeat(np.array([[1.0], [-1.0]]), 2, axis=1))
    assert hypotheses.NOISE_GIVEN_THE_PAST.holds_on(few) is False
    assert bound(statements.full(), **values, T=50) > 0


def test_noise_that_clients_share_is_not_independent_between_them():
    shared = np.array([[[[sign], [sign]]] for sign in SIGNS])
    law = Law({"sigma_l": 1.0}, noise=shared, complete=True)
    assert hypotheses.INDEPENDENT_CLIENTS.holds_on(law) is False
    assert hypotheses.NOISE_GIVEN_THE_PAST.holds_on(law) is True
    own = np.array([[[[a], [b]]] for a in SIGNS for b in SIGNS])
    assert hypotheses.INDEPENDENT_CLIENTS.holds_on(Law(noise=own, complete=True)) is True


def test_a_negative_radius_beyond_rho_is_turned_away():
    """rho = 0 and a radius of -100: |e| is 100."""
    statement = statements.thesis()
    assert r"$|\rho_k|\le\rho$" in statement.text
    for radius, held in ((-100.0, False), (-0.5, True), (0.5, True), (0.6, False)):
        assert named(statement, "small radii").holds_on(Law({"rho": 0.5}, radii=[radius])) is held
    model, squares, step, rounds = 1.0, [], 0.5, 200
    for _ in range(rounds):
        squares.append(model**2)
        model -= step * (model - 100 * np.sign(model))
    values = {"L": 1, "K": 1, "N": 1, "eta": "1/2", "A": "1/2", "X": 0, "rho": 0, "sigma_g": 0, "sigma_l": 0}
    assert np.mean(squares) > 1000 * bound(statement, **values, Delta="1/2", T=rounds)


def test_errors_at_the_drawn_clients_alone_are_not_enough_for_fedsmoo():
    """One of ten clients is drawn; only its dual would be near a gradient."""
    statement = lyapunov.theorem()
    near = named(statement, "near gradients")
    errors = np.zeros((1, 1, 10, 1))
    errors[0, 0, 1:] = 1.5
    assert near.holds_on(Law({"eps": 1.0}, errors=errors)) is False
    errors[0, 0, 1:] = np.nan  # what a run shows of clients that rest
    assert near.holds_on(Law({"eps": 1.0}, errors=errors)) is None
    assert near.holds_on(Law({"eps": 1.0}, errors=np.full((1, 1, 10, 1), 0.9))) is True
    assert r"over all $m$ clients, those that are not drawn" in statement.text
    theta, kappa, b, m = 0.1, 1.0, 0.1 / 8, 10
    wrong = np.sqrt(m)  # error of each drawn client, 1 in the mean over the cohort's share
    left = wrong**2 * (1 - 9 * b * (kappa / 2 + b))
    values = {"L": 1, "beta": b, "theta": theta, "kappa": kappa, "eps": 1, "T": 10**6, "Delta": 5, "D_0": 10}
    assert left > 3 * bound(statement, **values)


def test_cohorts_are_drawn_without_replacement_and_all_alike():
    drawn = hypotheses.cohorts()
    values = {"N": 3, "S": 2}
    every = [[[0, 1]], [[0, 2]], [[1, 2]]]
    assert drawn.holds_on(Law(values, cohorts=every, complete=True)) is True
    assert drawn.holds_on(Law(values, cohorts=every[:2], complete=True)) is False
    assert drawn.holds_on(Law(values, cohorts=[[[1, 1]]], complete=True)) is False
    assert hypotheses.EVERYONE.holds_on(Law(values, cohorts=every)) is False
    assert drawn.holds_on(Law(values, chances=[0.6, 0.2, 0.2], cohorts=every, complete=True)) is False


@pytest.mark.parametrize("what", ["smooth", "dissimilar", "inexact", "noise power", "bounded below"])
def test_each_hypothesis_of_a_run_can_fail_alone(what):
    """A run whose recorded numbers are scaled breaks this hypothesis and no other."""
    found = runs.laws("fedsam", statements.with_everyone, count=40)
    law = next(x for x in found if min(x.values[name] for name in ("sigma_l", "sigma_g", "rho")) > 0)
    values = dict(law.values)
    broken = {
        "smooth": replace(law, turned=[2 * x + 1 for x in law.moved]),
        "dissimilar": replace(law, values=values | {"sigma_g": 0.9 * values["sigma_g"]}),
        "inexact": replace(law, values=values | {"rho": 0.5 * values["rho"]}),
        "noise power": replace(law, values=values | {"sigma_l": 0.9 * values["sigma_l"]}),
        "bounded below": replace(law, values=values | {"F_star": law.lowest + 1}),
    }[what]
    given = statements.full().hypotheses
    before, after = asked(given, law), asked(given, broken)
    assert before[what] is not False and after[what] is False
    assert {name for name in after if after[name] is not before[name]} <= {what}


def test_a_second_setting_says_only_what_is_new():
    first, second = statements.printed_steps("fedsam"), statements.sampled("fedsam")
    again = second.text_after(first)
    assert again.startswith("In the same setting, but ") and second.hypotheses[0].words not in again
    assert "drawn or not" in again and theorem.NOTATION in again


def test_the_example_of_the_module_holds():
    assert doctest.testmod(hypotheses).failed == 0
