"""Labels come from the evidence: what a program decided, what is in words, what is an expression beside itself."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
import sympy as sp

from artifact.verdicts.ledger import load
from checks import labels, runner
from checks.conftest import LEDGER
from theory.kit.proof import Proof
from theory.kit.symbolic import identity, lagrange, nonnegative
from theory.kit.verdict import BY_CONSTRUCTION, DECIDED

STORED = runner.stored()
x, y = sp.symbols("x y", positive=True)
#: an identity as certificates print it: "(A) - (B) reduces to 0" or "A - (B) expands to 0"
PRINTED = re.compile(r"\(?(?P<left>[^;:]+?)\)? - \((?P<right>[^;:]+)\) (?:reduces|expands) to 0")


def label(certificate: str) -> str:
    return labels.of_certificate(certificate, DECIDED)[0]


def test_an_identity_is_computed_and_one_expression_beside_itself_is_trivial():
    assert label(identity((x + y) ** 2, x**2 + 2 * x * y + y**2)) == "computed"
    assert label(identity(x + y, y + x)) == "trivial"
    assert label(f"{identity(x + y, y + x)}; slack: {identity((x - y) * (x + y), x**2 - y**2)}") == "computed"


def test_a_replayed_proof_object_is_machine_and_a_typed_machine_is_words():
    proof = Proof("Young")
    u, v = proof.vector("u"), proof.vector("v")
    proof.square("square", u - v)
    text = proof.certificate()
    assert label(text) == "machine"
    assert label(f"{text}; {identity((x + 1) ** 2, x**2 + 2 * x + 1)}") == "machine"
    assert label("machine: Young: all steps replayed exactly from named facts") == "derived"


@pytest.mark.parametrize(
    "words",
    [
        "{}; the rest is monotone",
        "any m, by linearity: {}",
        "p >= q: {}",
        "{}. Smoothness is left",
        "{}, a loss (w; z)",
    ],
)
def test_a_step_in_words_is_listed(words):
    text = words.format(identity((x + y) ** 2, x**2 + 2 * x * y + y**2))
    found, parts = labels.of_certificate(text, DECIDED)
    assert found == "derived" and len(parts["in_words"]) == 1 and parts["by_program"] == {"identity": 1}


def test_the_name_of_an_identity_and_the_separators_are_no_steps():
    first, second = identity((x + 1) ** 2, x**2 + 2 * x + 1, label="slack"), nonnegative(x + x * y)
    assert labels.split(f"{first} | {second} >= 0.", DECIDED)["in_words"] == []
    assert labels.split("|a - b|^2 <= |c|, a norm", DECIDED)["in_words"] == ["|a - b|^2 <= |c|, a norm"]


def test_a_part_inside_a_part_counts_once():
    parts = labels.split(lagrange("n = 2"), DECIDED)
    assert parts["by_program"] == {"induction": 1}
    inner, outer = "a part of a part", "there is a part of a part here"
    by_hand = {**DECIDED, inner: ("exact arithmetic", False), outer: ("z3", False)}
    assert labels.split(outer, by_hand)["by_program"] == {"z3": 1}


def test_a_replay_in_machine_numbers_is_tested_and_construction_is_derived():
    assert labels.of_refutation((Fraction(1), 0), {"a": "tested"}) == "machine"
    assert labels.of_refutation((sp.sqrt(2), sp.Integer(1)), {"a": "tested"}) == "machine"
    assert labels.of_refutation((Fraction(1), 0), {"a": "tested", "b": BY_CONSTRUCTION}) == "derived"
    assert labels.of_refutation((1.5, 1), {"a": "tested"}) == "tested"


@pytest.mark.parametrize("claim_id", [c.id for c in LEDGER.values() if c.decided_by == "checks"])
def test_the_stored_label_is_the_one_that_the_check_gives(claim_id, results):
    outcome, stored = results.outcome(claim_id), STORED[claim_id]["evidence"]
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    for key in ("label", "parts", "refutation", "assumptions"):
        assert outcome.evidence.get(key) == stored.get(key), key
    assert "label" in stored or outcome.verdict == "not-run"


def test_no_certificate_is_an_identity_of_an_expression_with_itself_unless_it_is_labelled_trivial():
    """Read off the printed text, without what the program noted."""
    alone = []
    for name, record in STORED.items():
        evidence = record["evidence"]
        text = evidence.get("certificate") or evidence.get("repair", {}).get("certificate") or ""
        pairs = [(m["left"].rsplit(": ", 1)[-1].strip("() "), m["right"].strip("() ")) for m in PRINTED.finditer(text)]
        words = evidence.get("parts", {}).get("in_words")
        if pairs and not words and all(left == right for left, right in pairs) and "machine" not in text:
            alone.append(name)
            assert evidence["label"] == "trivial", name
    assert len(alone) >= 8


def test_counts_are_those_of_the_stored_evidence():
    claims = load()
    found = labels.counted(claims, STORED)
    assert found.total() == sum(c.decided_by == "checks" for c in claims)
    assert {label for _, label in found} <= {*labels.LABELS, "none"} and found["not-decided", "none"] == 3
    last = labels.table(claims, STORED).splitlines()[-2]
    assert last.split("|")[1].strip() == "all" and f" {found.total()} " in last
    assert len(labels.listing(claims, STORED)) == found.total()
