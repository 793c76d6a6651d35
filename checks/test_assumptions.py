"""An assumption that a replay calls tested can fail, and what an author types is not called decided."""

from __future__ import annotations

from fractions import Fraction

import pytest

from checks import runner
from checks.breaking import never_broken
from theory.kit.verdict import BY_CONSTRUCTION, Check, Replay, Verdict, decided, registry

runner.import_theory()
STORED = runner.stored()
REPLAYED = [name for name, check in registry.checks.items() if check.replay and "sides" in STORED[name]["evidence"]]


@pytest.mark.parametrize("claim_id", REPLAYED)
def test_an_assumption_that_is_called_tested_can_fail(claim_id):
    assert never_broken(registry.checks[claim_id], STORED[claim_id]["evidence"]) == set()


@pytest.mark.parametrize("claim_id", REPLAYED)
def test_no_assumption_of_a_stored_instance_fails(claim_id):
    assumptions = STORED[claim_id]["evidence"]["assumptions"]
    assert assumptions and set(assumptions.values()) <= {"tested", BY_CONSTRUCTION}


def test_a_true_through_a_variable_or_a_comprehension_is_found():
    yes = True

    def replay(evidence):
        x = evidence["counterexample"]["x"]
        return Replay({**dict.fromkeys(("a", "b"), yes), "x > 0": x > 0, "c": BY_CONSTRUCTION}, x, 0)

    check = Check("claim", lambda: None, replay=replay)
    assert never_broken(check, {"counterexample": {"x": 1}}) == {"a", "b"}


def typed():
    """
    Statement: x <= 4.
    Assumptions: x is whole, and F is smooth.
    Method: One x is larger.
    Verdict: refuted.
    Reference: Lemma 1.
    """
    return Verdict("refuted", {"counterexample": {"x": 5}})


def test_what_an_author_types_is_not_called_machine():
    """The same replay with a program for each assumption, and with a True for one of them."""

    def by_program(evidence):
        x = evidence["counterexample"]["x"]
        return Replay({"x is whole": x == int(x), "x <= 9": x <= 9}, x, 4)

    def by_hand(evidence):
        x = Fraction(evidence["counterexample"]["x"])
        return Replay({"x is whole": x == int(x), "F is smooth": True}, x, 4)

    evidence = {"counterexample": {"x": 5}}
    found = runner.contest(Check("c", typed, replay=by_program), "refuted", evidence)
    assert found["refutation"] == "machine" and set(found["assumptions"].values()) == {"tested"}
    found = runner.contest(Check("c", typed, replay=by_hand), "refuted", evidence)
    assert found["refutation"] == "derived"
    assert found["assumptions"] == {"x is whole": "tested", "F is smooth": BY_CONSTRUCTION}


def test_an_author_decides_nothing_by_saying_so():
    with pytest.raises(ValueError, match="only programs of theory"):
        eval("decided('it is so', 'proof object')", {"decided": decided, "__name__": "statements of mine2025"})


def test_a_search_that_no_program_made_is_stated():
    from checks.labels import labelled
    from theory.kit.search import worst_ratio

    found = worst_ratio(lambda x: float(1 / (1 + x[0] ** 2)), lambda rng: rng.normal(size=1), draws=1000, restarts=1)
    counted = found.as_evidence("the line")
    assert labelled("holds", counted, {}, typed=True)["label"] == "tested"
    by_hand = {**counted, "evaluations": 10**6}
    assert labelled("holds", by_hand, {}, typed=True)["label"] == "stated"
