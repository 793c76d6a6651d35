"""Proof objects: facts say what they should, false steps are rejected, the exported proof verifies on its own."""

from __future__ import annotations

import copy
import json
import random
import re
import subprocess
import sys
from fractions import Fraction
from itertools import combinations

import pytest
import sympy as sp

from artifact.base import paths
from theory.inexact import theorem
from theory.inexact.proof import NAMES, Case
from theory.kit.proof import Proof, Rejected, dot, square_of
from theory.kit.prover import Prover

VERIFIER = paths.ROOT / "docs" / "proofs" / "verify.py"
EXACT = theorem.divided(theorem.EXACT, theorem.EXACT_DIVISOR)


def prove_exact(left, right) -> Proof:
    return theorem.prove_divided(theorem.EXACT, theorem.EXACT_DIVISOR, left, right)


PROOFS = {
    "general": lambda: theorem.prove_general(*theorem.general(Case())),
    "cohorts": lambda: theorem.prove_sampled(*theorem.general(theorem.numbers())),
    "exact": lambda: prove_exact(*EXACT),
    "printed steps": lambda: theorem.prove_printed_steps(*theorem.printed_steps()),
}


@pytest.mark.parametrize("name", PROOFS)
def test_the_theorem_and_its_corollaries_verify(name):
    assert len(PROOFS[name]().verify()) > 70


@pytest.mark.parametrize("place", range(3))
def test_one_percent_off_any_constant_is_rejected(place):
    left, right = EXACT
    changed = tuple(term * sp.Rational(99, 100) if i == place else term for i, term in enumerate(right))
    with pytest.raises(Rejected):
        prove_exact(left, changed).verify()


def test_other_multipliers_do_not_save_a_tightened_constant_and_do_prove_a_weaker_one():
    left, right = EXACT
    point = {"L": 0.5, "K": 3.0, "N": 4.0, "T": 5.0, "A": 0.6, "eta": 0.08, "X": 0.08, "kappa": 0.0}
    prover = Prover(prove_exact(left, right), [point])
    halved, doubled = (tuple(factor * term for term in right) for factor in (sp.Rational(1, 2), sp.Integer(2)))
    assert not prover.follows(prove_exact(left, halved))
    assert prover.follows(prove_exact(left, doubled))


def test_sampling_without_replacement_by_enumeration():
    """The fact's formula, exactly, over all cohorts of up to five clients on the line."""
    draw = random.Random(0)
    for clients in range(2, 6):
        u = [Fraction(draw.randint(-9, 9), draw.randint(1, 9)) for _ in range(clients)]
        mean = sum(u) / clients
        spread = sum((x - mean) ** 2 for x in u) / clients
        for active in range(1, clients + 1):
            cohorts = [sum(cohort) / active for cohort in combinations(u, active)]
            share = Fraction(clients - active, active * (clients - 1))
            assert sum(x * x for x in cohorts) / len(cohorts) == mean**2 + share * spread
            assert sum(cohorts) / len(cohorts) == mean


def test_named_facts_need_the_declarations_that_they_speak_of():
    proof = Proof("x")
    c, u, noise = proof.vector("c"), proof.vector("u", mean=""), proof.vector("n", time=1, noise=True)
    later = proof.vector("later", time=1)
    with pytest.raises(Rejected):
        proof.unbiased("not noise", u, c)
    with pytest.raises(Rejected):
        proof.unbiased("not known before", noise, later)
    with pytest.raises(Rejected):
        proof.averaged("differs between clients", u, c)
    with pytest.raises(Rejected):
        proof.sampled_square("not drawn", c, u, sp.Rational(1, 2))
    with pytest.raises(Rejected):
        proof.independent("not noise either", c, sp.Integer(2))


def test_a_multiplier_must_be_non_negative_and_a_step_must_be_proved_before():
    proof = Proof("x")
    u, v = proof.vector("u"), proof.vector("v")
    square = proof.square("square", u - v)
    proof.combine("wrong", -square_of(u - v), [(-1, square)])
    with pytest.raises(Rejected, match="non-negative"):
        proof.verify()
    other = Proof("y")
    w, x = other.vector("u"), other.vector("v")
    with pytest.raises(Rejected, match="not proved before"):
        other.combine("unknown", square_of(w - x), [(1, square)])
        other.verify()


def test_a_loop_may_not_use_what_is_assumed_of_its_end():
    proof = Proof("x")
    k, s = proof.scalar("k"), proof.scalar("s")
    end = proof.hypothesis("end", k - 5, "at the end")
    proof.loop("l", {k: (0, k + 1), s: (0, s + k - 5)}, {"i": (s, [(1, "i"), (1, end)])})
    with pytest.raises(Rejected, match="end of the loop"):
        proof.verify()


def replaced(kind: str) -> Proof:
    """s adds up (t - 2)^2 over t, which a turn has from (y - 3)^2 with y = t + 1; or something else, which is false."""
    proof = Proof("x")
    t, s, y = (proof.scalar(name) for name in "tsy")
    named = proof.definition("y", y, t + 1)
    square = proof.scalar_square("square", y - 3)
    gone = proof.combine("y is gone", (t - 2) ** 2, [(1, square), (-(t + y - 5), named)])
    added, slack, terms = (t - 2) ** 2, s, [(1, "i"), (1, gone)]
    if kind == "kept and used":  # y would have one value in all turns
        slack, terms = s + y * t, [*terms, (y,)]
    if kind == "assumed":  # a hypothesis on y is one on t
        small = proof.hypothesis("y <= 5", 5 - y, "assumed")
        added, terms = 4 - t, [(1, "i"), (1, proof.combine("t <= 4", 4 - t, [(1, small), (1, named)]))]
    if kind == "twice":  # a definition by way of another one
        z = proof.scalar("z")
        again = proof.definition("z", z, y + 1)
        small = proof.hypothesis("z <= 6", 6 - z, "assumed")
        gone = proof.combine("t <= 4", 4 - t, [(1, small), (1, again), (1, named)])
        added, terms = 4 - t, [(1, "i"), (1, gone)]
    proof.loop("l", {t: (0, t + 1), s: (0, s + added)}, {"i": (slack, terms)})
    return proof


def test_a_turn_may_use_what_it_names_itself(tmp_path):
    proof = replaced("gone")
    assert proof.verify()[-1] == "i"
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(proof.export()), encoding="utf-8")
    assert _verifier(path).returncode == 0


@pytest.mark.parametrize("kind", ["kept and used", "assumed", "twice"])
def test_a_turn_may_not_use_what_is_fixed_outside_of_it(kind, tmp_path):
    proof = replaced(kind)
    with pytest.raises(Rejected, match="end of the loop"):
        proof.verify()
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(proof.export()), encoding="utf-8")
    done = _verifier(path)
    assert done.returncode != 0 and "not free" in done.stderr


def test_an_instance_may_replace_what_a_vanished_definition_speaks_of(tmp_path):
    proof = replaced("gone")
    t, m = proof.scalar("t"), proof.scalar("m")
    proof.instance("at m", proof.steps["y is gone"], {t: m})
    assert "at m" in proof.verify()
    proof.instance("y stays", proof.steps["y"], {t: m})
    with pytest.raises(Rejected, match="speaks of"):
        proof.verify()


def test_an_instance_may_not_change_what_a_hypothesis_speaks_of():
    proof = Proof("x")
    k, m = proof.scalar("k"), proof.scalar("m")
    given = proof.hypothesis("k is large", k - 5, "assumed")
    proof.instance("m is large", given, {k: m})
    with pytest.raises(Rejected, match="speaks of"):
        proof.verify()


def test_a_sum_is_only_a_sum_of_its_parts():
    proof = Proof("x")
    u, v = proof.vector("u"), proof.vector("v")
    a, b, c = (proof.scalar(name) for name in "abc")
    proof.norm("a", a, u), proof.norm("b", b, v), proof.norm("c", c, u + 2 * v)
    with pytest.raises(Rejected, match="left over"):
        proof.triangle("wrong", c, [(1, a), (1, b)])
    assert proof.triangle("right", c, [(1, a), (2, b)]).slack == a + 2 * b - c


def test_inner_products_are_bilinear():
    proof = Proof("x")
    u, v = proof.vector("u"), proof.vector("v")
    assert sp.expand(square_of(u + v) - square_of(u) - 2 * dot(u, v) - square_of(v)) == 0


# ------------------------------------------------------------ the exported proof, checked without this package


def _verifier(path):
    """The verifier on the steps of a file alone, whatever they prove."""
    alone = "import json, sys, runpy; V = runpy.run_path(sys.argv[1])['Verifier']; V(json.load(open(sys.argv[2])))"
    command = [sys.executable, "-I", "-c", f"{alone}; print('verified')", VERIFIER, path]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def exported() -> dict:
    return prove_exact(*EXACT).export()


def test_the_script_accepts_the_proof(exported, tmp_path):
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(exported), encoding="utf-8")
    done = _verifier(path)
    assert done.returncode == 0 and done.stdout.startswith("verified"), done.stderr


def test_the_script_rejects_thirty_edited_proofs(exported, tmp_path):
    """One number of one derived step is changed at a time."""
    draw = random.Random(0)
    derived = [i for i, step in enumerate(exported["steps"]) if step["rule"] in ("combination", "loop", "instance")]
    for trial in range(30):
        proof = copy.deepcopy(exported)
        step = proof["steps"][draw.choice(derived)]
        numbers = list(re.finditer(r"(?<![\w.])\d+", step["slack"]))
        if numbers:
            found = draw.choice(numbers)
            step["slack"] = f"{step['slack'][: found.start()]}{int(found[0]) + 1}{step['slack'][found.end() :]}"
        else:
            step["slack"] = f"{step['slack']} - {NAMES.L}"
        path = tmp_path / f"{trial}.json"
        path.write_text(json.dumps(proof), encoding="utf-8")
        assert _verifier(path).returncode != 0, step["name"]
