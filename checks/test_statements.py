"""Statements: the print follows the expressions, no mutation survives, stored proofs are those of the statements."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from checks.proofs import FOLDER, stored
from theory.inexact import decreasing, runs, statements, strongly_convex, theorem
from theory.kit.proof import Rejected
from theory.kit.prover import Prover
from theory.kit.statement import Condition, backing, corrected
from theory.sun2023 import lyapunov
from theory.sun2023.theorem import disagreeing_duals
from theory.theorems import theorems

FEW = {"runs": lambda: runs.random_runs("fedsam", 40, lambda rng: runs.any_setting(rng, False, False))}


def test_thirty_edited_constants_change_the_text_and_break_the_proof():
    draw = random.Random(0)
    statement = statements.exact()
    for _ in range(30):
        place, factor = draw.randrange(3), sp.Rational(draw.randint(50, 99), 100)
        right = tuple(term * factor if i == place else term for i, term in enumerate(statement.right))
        edited = replace(statement, right=right)
        assert edited.latex != statement.latex and edited.text != statement.text
        assert Prover(statement.proof, []).broken(edited.prove(edited.left, edited.right))[0]


def test_the_backing_of_a_verdict_comes_from_the_statement():
    statement = replace(statements.exact(), **FEW)
    found = backing(statement)
    entry = found["statements"][0]
    assert entry["latex"] in corrected(statement) and entry["label"] == "machine"
    assert entry["runs"]["evaluations"] == 40 and entry["runs"]["worst_ratio"] <= 1
    assert [c["proved"] for c in entry["constants"]] == [81 / 40, 5 / 4, 163 / 80]  # the thesis' rate, proved
    assert all(c["needed"] <= c["proved"] for c in entry["constants"])


def test_no_mutation_of_the_rate_survives():
    outcomes = replace(statements.exact(), **FEW).outcomes()
    assert len(outcomes) >= 12 and {o.result for o in outcomes} <= {"rejected", "unproved"}


def test_a_weakened_statement_has_survivors():
    statement = replace(statements.exact(), **FEW)
    weak = replace(statement, right=tuple(4 * term for term in statement.right))
    assert Prover(statement.proof, weak._points()).follows(weak.prove(weak.left, weak.right))


def test_a_run_that_breaks_a_condition_is_an_error():
    statement = replace(statements.exact(), **FEW, conditions=(Condition("", sp.Ge(statements.n.K, 100)),))
    with pytest.raises(ValueError, match="breaks the condition"):
        _ = statement.bank


@pytest.mark.parametrize("make", [statements.printed_steps, decreasing.statement, lyapunov.theorem, lyapunov.general])
def test_a_condition_is_printed_from_its_relation_and_the_proof_assumes_it(make):
    """The right side of every inequality among the conditions, raised by one, is one that the proof does not assume."""
    statement = make()
    for place, condition in enumerate(statement.conditions):
        relation = condition.relation
        if not isinstance(relation, sp.Le | sp.Ge | sp.Lt):
            continue
        changed = relation.func(relation.lhs, relation.rhs + 1)
        sides = statement.conditions
        if changed == sp.false:  # no run could fulfil it
            continue
        edited = (*sides[:place], replace(condition, relation=changed), *sides[place + 1 :])
        other = replace(statement, conditions=edited)
        assert condition.hidden or other.text != statement.text
        with pytest.raises(Rejected, match=r"does not assume|no hypothesis gives"):
            _ = other.label


def test_a_condition_on_roots_is_the_one_on_their_squares():
    """The proof of the printed steps assumes sqrt(T) >= 10, the statement says T >= 100."""
    statement = statements.printed_steps()
    assert r"$T\ge 100$" in statement.text and statement.label == "machine"
    with pytest.raises(Rejected, match="does not assume T >= 100"):
        _ = replace(statement, named={}).label


def test_every_term_has_the_unit_of_the_left_side():
    """Other units of loss and length change no ratio, for every theorem."""
    for statement in (replace(statements.exact(), **FEW),):
        assert statement.rescaled.ratios().max() == pytest.approx(statement.ratios().max(), rel=1e-6)
    for statement in theorems().values():
        a, b = sp.symbols("loss length", positive=True)
        units = {s: a ** q.unit[0] * b ** q.unit[1] for s, q in statement.quantities.items()}
        scaled = {s: s * units[s] for s in statement.symbols}
        terms = (statement.left, *statement.right)
        units = {sp.simplify(term.subs(scaled, simultaneous=True) / term) for term in terms}
        assert len(units) == 1, statement.name


CONVEX = strongly_convex.sides()[1]


@pytest.mark.parametrize(
    "right",
    [
        *((*CONVEX[:i], *CONVEX[i + 1 :]) for i in range(len(CONVEX))),
        *((*CONVEX[:i], CONVEX[i] * sp.Rational(99, 100), *CONVEX[i + 1 :]) for i in (0, 5)),
        (*CONVEX[:1], CONVEX[1] / statements.n.T, *CONVEX[2:]),
    ],
)
def test_the_strongly_convex_theorem_needs_every_term_constant_and_exponent(right):
    """Without a term, with a constant 1 % smaller, with one power of T less."""
    statement = strongly_convex.statement()
    assert replace(statement, right=right).latex != statement.latex
    assert Prover(statement.proof, []).broken(statement.prove(statement.left, right))[0]


def test_the_strongly_convex_theorem_with_other_multipliers_proves_weaker_bounds_alone():
    """At the edge of its conditions a quarter of the noise does not follow, twice every term does."""
    statement = strongly_convex.statement()
    point = {"L": 1.0, "mu": 0.5, "K": 2.0, "more": 1.0, "t": 0.0, "N": 3.0, "T": 2.0, "gamma": 38.0, "kappa": 0.25}
    prover = Prover(statement.proof, [point])
    less = [term / 4 if i == 1 else term for i, term in enumerate(CONVEX)]
    assert not prover.follows(statement.prove(statement.left, less))
    assert prover.follows(statement.prove(statement.left, [2 * term for term in CONVEX]))


def test_runs_of_the_strongly_convex_theorem_are_long_drawn_noisy_and_tight():
    found = strongly_convex.random_runs(60)
    assert {run["T"] for run in found} > {1, 2, 8} and any(run["kappa"] > 0 for run in found)
    assert any(run["sigma_l"] > 0 and run["rho"] > 0 and run["K"] > 1 for run in found)
    assert 0.3 < replace(strongly_convex.statement(), runs=lambda: found).ratios().max() <= 1


@pytest.mark.parametrize("symbol", ["A", "S_A", "Gamma"])
def test_a_unit_that_does_not_fit_is_rejected(symbol):
    """A stands in a condition alone, S_A in a term, Gamma on the left side."""
    statement = decreasing.statement()
    quantities = {s: replace(q, unit=(7, 7)) if str(s) == symbol else q for s, q in statement.quantities.items()}
    with pytest.raises(Rejected, match="units"):
        _ = replace(statement, quantities=quantities).label


def test_the_corrected_theorem_of_fedsmoo_starts_where_the_algorithm_starts():
    """Changing the clients' duals and not the server's stops every move; the mean stays 1, the bound falls."""
    found = disagreeing_duals(100)
    assert found["mean_squared_gradient"] == 1 > found["bound_with_consistent_duals"] == Fraction(24, 25)
    assert "zero duals" in lyapunov.theorem().text and r"\lambda_i^0=\nabla" not in lyapunov.theorem().text


def test_constant_steps_turn_the_weighted_theorem_into_the_one_for_cohorts():
    """With x = 1/10 and L A = 1/2 in every round both say the same: no constant is lost by steps that may change."""
    n, (left, right) = statements.n, decreasing.sides()
    sums = {s: n.T * one for s, one in decreasing.ADDED.items()}
    ends = {n.X: sp.Rational(1, 10), n.A: 1 / (2 * n.L)}
    own_left, own_right = theorem.general(theorem.numbers())
    assert sp.expand((left - own_left).subs(ends)) == 0
    assert sp.expand((sp.Add(*right).subs(sums) - sp.Add(*own_right)).subs(ends)) == 0


def test_runs_of_the_weighted_theorem_have_steps_and_radii_of_their_own():
    found = decreasing.random_runs(30)
    assert any(run["S_A"] * run["K"] < 0.9 * run["K"] * run["A"] * run["W"] for run in found)  # A_t < A_0 somewhere
    weighted = replace(decreasing.statement(), runs=lambda: found)
    assert 0.3 < weighted.ratios().max() <= 1


def test_a_round_of_the_weighted_theorem_may_not_lend_its_step_to_the_next():
    """Were a sum of the loop added up with the first round's step, the invariant would not hold."""
    statement = decreasing.statement()
    proof = statement.proof
    step = proof.steps["after every round"]
    state = {**step.arguments["state"], decreasing.S_A: (0, decreasing.S_A + statements.n.A)}
    with pytest.raises(Rejected):
        proof.replay(replace(step, arguments={**step.arguments, "state": state}), proof.steps)


def test_exported_proofs_are_those_of_the_statements_and_verify_alone():
    for name, statement in theorems().items():
        exported = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        assert exported == json.loads(json.dumps(statement.export())), f"{name}: python -m checks --mutations"
    files = sorted(FOLDER.glob("*.json"))
    done = subprocess.run([sys.executable, "-I", FOLDER / "verify.py", *files], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("verified") == len(files) == len(theorems()), done.stderr


def test_no_stored_mutation_survives():
    found = stored()
    assert found.keys() == theorems().keys()
    assert all(row["result"] in ("rejected", "unproved") for rows in found.values() for row in rows)


def test_a_second_statement_does_not_say_the_setting_again():
    first, second = statements.printed_steps("fedsam"), statements.sampled("fedsam")
    text = corrected(first, second)
    assert text.startswith(first.text) and text.count("very $F_i$ is $L$-smooth") == 1
    assert text.endswith(f"${second.latex}$.") and "$S$ of $N$ clients are drawn uniformly without replacement" in text
    assert text.count("$") % 2 == 0
    other = replace(second, hypotheses=(lyapunov.theorem().hypotheses[0],))
    assert corrected(first, other) == f"{first.text} {other.text}"
