"""The verifier of exported proofs refuses files that follow step by step and do not prove what they are named after."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import pytest

from artifact.base import paths
from theory.theorems import theorems

FOLDER = paths.ROOT / "docs" / "proofs"
EXACT = json.loads((FOLDER / "inexact-gradients-exact.json").read_text(encoding="utf-8"))


def verify(*files, options=("-I",)):
    command = [sys.executable, *options, FOLDER / "verify.py", *files]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def refused(tmp_path):
    """Asserts that a proof is refused in one line that says why."""

    def ask(proof, why, named="proof.json"):
        path = tmp_path / named
        path.write_text(json.dumps(proof), encoding="utf-8")
        done = verify(path)
        assert done.returncode == 1 and done.stdout == "", done.stdout
        assert done.stderr.startswith(f"refused {path}: ") and why in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1

    return ask


def edited(**changes):
    proof = copy.deepcopy(EXACT)
    proof["statement"] |= changes
    return proof


def step(name, slack, rule="hypothesis", relation=">=", **arguments):
    found = {"name": name, "rule": rule, "slack": slack, "relation": relation, "arguments": arguments}
    return found | ({"why": "assumed"} if rule == "hypothesis" else {})


def forged(*steps, hypotheses=(), conditions=(), left="Gamma", right=("0",)):
    """A file that takes over declarations and name of a theorem, with other steps."""
    statement = {"hypotheses": list(hypotheses), "conditions": list(conditions), "left": left, "right": list(right)}
    return {**edited(**statement), "steps": list(steps)}


def test_the_script_is_short_and_names_no_package():
    text = (FOLDER / "verify.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    assert not any(f"import {name}" in text or f"from {name}" in text for name in ("theory", "checks", "artifact"))


def test_hypotheses_and_conclusion_are_shown_in_words_and_formulas():
    done = verify(FOLDER / "inexact-gradients-all-clients.json")
    assert done.returncode == 0, done.stderr
    statement = theorems()["inexact-gradients-all-clients"]
    for hypothesis in statement.hypotheses:
        assert hypothesis.words in done.stdout
    assert all(statement.said(condition) in done.stdout for condition in statement.conditions)
    assert f"${statement.latex}$" in done.stdout and f"{statement.left} <= " in done.stdout
    assert "F is bounded below: F - F_star >= 0" in done.stdout
    assert f"| {statement.name} | `{statement.fingerprint}` |" in done.stdout


def test_a_file_without_a_statement_is_refused(refused):
    proof = copy.deepcopy(EXACT)
    del proof["statement"]
    refused(proof, "statement")


def test_a_conclusion_that_is_not_the_statements_is_refused(refused):
    refused({**EXACT, "steps": EXACT["steps"][:-1]}, "not the statement's inequality")
    refused(edited(right=[*EXACT["statement"]["right"][:-1]]), "not the statement's inequality")
    halved = [f"({term})/2" for term in EXACT["statement"]["right"]]
    refused(edited(right=halved), "not the statement's inequality")


def test_a_hypothesis_that_is_the_conclusion_is_refused(refused):
    claimed = step("claimed", "-Gamma")
    twice = step("twice", "-2*Gamma", "combination", terms=[["2", "claimed"]])
    given = [{"name": "smooth", "words": "every $F_i$ is $L$-smooth", "formula": "", "supplies": ["claimed"]}]
    refused(forged(claimed, twice, hypotheses=given, right=["-Gamma"]), "'claimed' is the conclusion")


def test_a_disguised_conclusion_among_the_hypotheses_has_another_fingerprint(refused):
    """Gamma <= 0 from Gamma <= -L and L > 0: no line is the conclusion itself."""
    below, after = step("small", "-Gamma - L"), [["1", "small"], ["L"]]
    given = [{"name": "smooth", "words": "every $F_i$ is $L$-smooth", "formula": "", "supplies": ["small"]}]
    proof = forged(below, step("rate", "-Gamma", "combination", terms=after), hypotheses=given)
    refused(proof, "README.md does not print | inexact-gradients-exact |")


def test_an_assumption_that_no_hypothesis_gives_is_refused(refused):
    proof = edited(hypotheses=[h for h in EXACT["statement"]["hypotheses"] if h["name"] != "bounded below"])
    refused(proof, "assumed by no hypothesis")
    proof = edited(hypotheses=[h for h in EXACT["statement"]["hypotheses"] if h["name"] != "smooth"])
    refused(proof, "assumed by no hypothesis")


def test_an_unused_hypothesis_is_refused(refused):
    idle = {"name": "convex", "words": "$F$ is convex", "formula": "", "supplies": ["convexity"]}
    refused(edited(hypotheses=[*EXACT["statement"]["hypotheses"], idle]), "unused hypothesis 'convex': $F$ is convex")
    proof = copy.deepcopy(EXACT)
    proof["steps"].insert(0, step("idle", "L - rho"))
    refused(proof, "unused hypothesis 'idle'")


def test_an_unknown_rule_is_refused(refused):
    proof = copy.deepcopy(EXACT)
    proof["steps"].insert(0, step("magic", "-Gamma", "magic"))
    refused(proof, "magic")


def test_another_word_of_a_hypothesis_or_another_declaration_has_another_fingerprint(refused):
    words = copy.deepcopy(EXACT)
    words["statement"]["hypotheses"][0]["words"] = "every $F_i$ is convex"
    refused(words, "README.md does not print")
    setting = edited(setting="For every loss.")
    refused(setting, "README.md does not print")
    declared = copy.deepcopy(EXACT)
    declared["vectors"]["m"]["drawn"] = True
    refused(declared, "README.md does not print")
    titled = {**copy.deepcopy(EXACT), "title": "FedSMOO converges"}
    refused(titled, "README.md does not print")


def test_a_letter_of_the_statement_that_a_loop_makes_is_trusted_and_shown(refused):
    """Gamma as the state of a loop that leaves it at 0: -Gamma >= 0 needs no hypothesis."""
    still = step("still", "-Gamma", "loop", loop="l", state={"Gamma": ["0", "Gamma"]})
    still["arguments"]["invariants"] = {"still": ["-Gamma", [["1", "still"]]]}
    refused(forged(still), "README.md does not print")


def test_a_letter_of_the_proof_has_no_second_meaning(refused):
    refused(edited(where={"Gamma": "0"}, left="Gamma", right=["0"]), "not the statement's inequality")


def test_a_file_under_another_theorems_name_is_refused(refused):
    refused(edited(name="inexact-gradients"), "README.md does not print")


def test_an_optimised_interpreter_is_refused_since_it_would_check_nothing():
    done = verify(FOLDER / "man-layer.json", options=("-I", "-O"))
    assert done.returncode == 1 and "checks nothing" in done.stderr
