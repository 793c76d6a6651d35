"""Formulas of statements: how they print, what a mutation is, and that none on record survives."""

from __future__ import annotations

import re

import pytest
import sympy as sp

from artifact.base.errors import UserError
from checks import edits, formulas, proofs, runner
from theory.kit import formula as kit
from theory.kit.formula import Formula, Violated, formula

rho, L, K = sp.symbols("rho L K", positive=True)
drift = sp.Symbol("drift", nonnegative=True)
BOUND = Formula(drift, "<=", 4 * rho**2 + L, {drift: r"\|\delta\|^2"})


def test_a_formula_prints_its_sides_and_says_what_it_leaves():
    assert BOUND.latex == r"\|\delta\|^2\le L + 4 \rho^{2}" and BOUND.room == 4 * rho**2 + L - drift
    assert Formula(rho, ">=", L).room == rho - L and Formula(rho, "==", L).latex == r"\rho= L"
    with pytest.raises(ValueError, match="relation: '!='; allowed: <=, <, ==, >=, >"):
        formula(rho, "!=", L)


def test_instances_hold_are_attained_or_contradict():
    assert BOUND.holds_at({"drift": 4, "rho": 1, "L": 1}) == "4 <= 5"
    assert BOUND.attained_at({drift: 5, rho: 1, L: 1}) == "5 <= 5"
    for values, ask in (({"drift": 6, "rho": 1, "L": 1}, "holds_at"), ({"drift": 4, "rho": 1, "L": 1}, "attained_at")):
        with pytest.raises(Violated):
            getattr(BOUND, ask)(values)


def test_mutations_tighten_an_inequality_and_change_an_equality():
    found = {what: other.right for what, other in BOUND.mutations()}
    assert found["without L"] == 4 * rho**2 and found["half of 4*rho**2"] == 2 * rho**2 + L
    assert found["one power of rho less in 4*rho**2"] == 4 * rho + L
    assert not any(what.startswith("twice") for what in found)  # a larger bound says less
    found = {what: other.right for what, other in Formula(drift, "==", sp.sqrt(1 - rho)).mutations()}
    assert found["half of 1"] == sp.sqrt(sp.Rational(1, 2) - rho) and found["twice -rho"] == sp.sqrt(1 - 2 * rho)
    assert found["1/2 -> 3/2 in sqrt(1 - rho)"] == sp.sqrt(1 - rho) ** 3


def test_every_side_of_an_inequality_is_mutated_the_way_that_tightens_it():
    lower = Formula(drift * L, ">=", 3 * rho)
    for what, other in lower.mutations():
        assert what.startswith("left side: ") == (other.right == lower.right), what
    assert {"twice 3*rho", "left side: half of L*drift"} <= {what for what, _ in lower.mutations()}


def test_the_check_in_progress_gets_the_changed_sides(monkeypatch):
    monkeypatch.setattr(kit, "MADE", [])
    monkeypatch.setattr(kit, "CHANGED", {1: (drift, 2 * rho)})
    assert formula(drift, "<=", L).right == L and formula(drift, "<=", 4 * rho).right == 2 * rho
    assert formula(drift, "<=", 4 * rho).right == 2 * rho and len(kit.MADE) == 2  # made again: the same one


def test_a_check_notices_every_mutation_of_its_formula(monkeypatch, tmp_path):
    """Also where the tests share the verdicts that they have reached."""
    monkeypatch.setenv(runner.KEPT_VARIABLE, str(tmp_path))
    runner.execute(runner.Job(("fan24-lem2-fedsam",)))
    found = formulas.mutated("fan24-lem2-fedsam")
    assert len(found["formulas"]) == 2 and len(found["mutations"]) > 20 and found["loose"] == []
    assert {row["result"] for row in found["mutations"]} <= {"rejected", "unproved"}


def test_a_formula_that_decides_nothing_survives(monkeypatch):
    """The certificate of this check does not look at what it prints."""
    from theory.kit.verdict import Verdict, registry

    def decoration() -> Verdict:
        return Verdict("proved", {"certificate": f"it is so: {formula(drift, '<=', 3 * rho).latex}"})

    monkeypatch.delitem(registry.checks, "fan24-lem1", raising=False)
    decoration.__doc__ = "Statement: a\nAssumptions: b\nMethod: c\nVerdict: d\nReference: e"
    monkeypatch.setattr(registry, "checks", {})
    registry.check("fan24-lem1")(decoration)
    found = edits.in_child(lambda: formulas.mutated("fan24-lem1"))
    assert {row["result"] for row in found["mutations"]} == {"survives"}


def test_a_name_that_is_neither_a_theorem_nor_a_claim_is_refused():
    with pytest.raises(UserError, match="claim: 'nosuch' is not possible"):
        proofs.mutate_named(("nosuch",))


def test_numbers_that_no_formula_prints_are_found():
    text = r"For A1 and $w_{i,0}^{t+1}$: $\|x\|^2\le 4 \rho^{2}$ and at most $\frac23$ of Lemma 3."
    assert formulas.loose(text, [r"\|x\|^2\le 4 \rho^{2}"]) == [r"\frac", "23"]
    assert formulas.loose(r"$x_1\le 2$", ["x_1\\le 2"]) == []


def test_every_number_of_a_corrected_statement_stands_in_a_formula():
    """Those of a theorem's object print it whole; the numbers that are left are lines of Algorithm 1."""
    runner.import_theory()
    texts = {n: (r["repaired"], r["evidence"]) for n, r in runner.stored().items() if r["repaired"]}
    assert len(texts) > 180
    typed = {
        name: found
        for name, (text, evidence) in texts.items()
        if not evidence["repair"].get("statements") and (found := formulas.loose(text, evidence.get("formulas", ())))
    }
    assert typed == {"sun23-pert-approach": ["9", "13", "17"]}


def test_the_record_is_of_the_formulas_that_are_printed_and_none_survives():
    records = formulas.stored()
    assert formulas.stale(records) == [], "python -m checks --mutations"
    assert records.keys() == formulas.printing().keys()
    for name, record in records.items():
        numbered = {
            i for i, made in enumerate(record["formulas"]) if not re.search(r"(=|ge) 0$", made)
        }  # zero has no mutation
        assert numbered <= {row["formula"] for row in record["mutations"]}, name
        assert [row for row in record["mutations"] if row["result"] == "survives"] == [], name
