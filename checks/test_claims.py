"""Every claim's verdict equals the one that the ledger expects."""

from __future__ import annotations

import json
import math

import pytest

from artifact.base.errors import UserError
from artifact.verdicts import ledger
from checks import runner
from checks.conftest import IMPORT_ERRORS, LEDGER
from theory.kit.verdict import VERDICTS, registry

STORED = runner.stored()


def decided(claim_id, results):
    """The outcome of a check; one that states why it cannot run here (no solver, no data) skips the test."""
    outcome = results.outcome(claim_id)
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    return outcome


@pytest.mark.parametrize("claim_id", list(LEDGER))
def test_verdict_is_the_expected_one(claim_id, results):
    outcome = decided(claim_id, results)
    assert outcome.verdict == outcome.claim.expected, outcome.evidence


def certificates(evidence):
    """Those of the statement and of its repair; None where there is none."""
    return [part.get("certificate") for part in (evidence, evidence.get("repair", {}))]


@pytest.mark.parametrize("claim_id", [id for id, stored in STORED.items() if any(certificates(stored["evidence"]))])
def test_the_stored_certificate_is_the_one_that_the_check_gives(claim_id, results):
    """What the claim's page shows is what the code proves today."""
    assert certificates(decided(claim_id, results).evidence) == certificates(STORED[claim_id]["evidence"])


def rounded(value):
    """Plain data with numbers to nine digits: another processor may sum in another order."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return f"{value:.9g}" if isinstance(value, float) else value


@pytest.mark.parametrize("claim_id", [claim.id for claim in LEDGER.values() if claim.decided_by == "experiments"])
def test_the_stored_evidence_of_the_experiments_is_what_the_runs_say(claim_id, results):
    assert rounded(STORED[claim_id]["evidence"]) == rounded(runner.plain(decided(claim_id, results).evidence))


def test_every_theory_package_imports():
    assert IMPORT_ERRORS == {}


def test_every_check_has_a_ledger_entry_that_leaves_the_decision_to_it():
    assert runner.unknown_checks(LEDGER.values()) == []


def test_every_theory_or_arithmetic_claim_has_a_check():
    from theory.kit.verdict import registry

    assert [c.id for c in LEDGER.values() if c.decided_by == "checks" and c.id not in registry.checks] == []


def test_claims_left_to_the_experiments_have_a_predicate_or_say_why_not():
    left = [c for c in LEDGER.values() if c.decided_by == "experiments"]
    assert all(c.expected in ledger.EMPIRICAL and c.needs != "cpu-toy" for c in left)
    assert [c.id for c in left if bool(c.predicate) == bool(c.undecided)] == []
    assert [c.id for c in left if c.undecided and c.expected != "not-run"] == []


def test_ledger_vocabulary_is_the_checks_vocabulary():
    assert tuple(VERDICTS) == ledger.VERDICTS


@pytest.fixture
def ledger_file(tmp_path):
    def write(*entries: str):
        (tmp_path / "qu2022.toml").write_text("\n".join(f"[[claim]]\n{entry}" for entry in entries), encoding="utf-8")
        return ledger.load(["qu2022"], tmp_path)

    return write


ENTRY = """id = "a"\nlocation = "x"\nkind = "text"\ntitle = "t"\nstatement = "s"\nhow_to_check = "h"\nneeds = "gpu"\n"""


def test_ledger_reads_a_valid_entry(ledger_file):
    (claim,) = ledger_file(ENTRY + 'expected = "proved"')
    assert (claim.id, claim.paper, claim.expected, claim.decided_by) == ("a", "qu2022", "proved", "checks")


@pytest.mark.parametrize(
    ("entries", "field"),
    [
        ([ENTRY + 'verdict = "proved"'], "verdict"),
        ([ENTRY + 'expected = "true"'], "expected"),
        ([ENTRY, ENTRY], "claim id"),
        ([ENTRY.replace('title = "t"\n', "")], "field"),
        ([ENTRY.replace('"text"', '"poem"')], "kind"),
        (["id = "], "ledger"),
    ],
)
def test_ledger_refuses(ledger_file, entries, field):
    with pytest.raises(UserError) as caught:
        ledger_file(*entries)
    assert field in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("ids", "papers"), [(["no-such-claim"], []), ([], ["no-such-paper"])])
def test_unknown_selection_is_refused(ids, papers):
    with pytest.raises(UserError):
        ledger.select(LEDGER.values(), ids, papers)


def test_evidence_is_plain_json():
    from fractions import Fraction

    import numpy as np

    value = {"a": np.arange(2), "b": Fraction(3, 7), "c": (1.5, float("inf")), 1: np.float64(0.1), "d": np.bool_(True)}
    text = json.dumps(runner.plain(value), allow_nan=False)
    assert json.loads(text) == {"a": [0, 1], "b": "3/7", "c": [1.5, "inf"], "1": 0.1, "d": True}


@pytest.mark.parametrize("claim_id", ["qu22-rem4.2-beta"])
def test_rounds_of_mofedsam_are_counted_by_the_gradient_at_steps_that_its_theorem_admits(claim_id, results):
    """The remark speaks of the gradient's size: an own recursion of x^2/2 counts until it is at the target."""
    evidence = results.outcome(claim_id).evidence
    stored = evidence["counterexample"]
    assert stored["R"] >= 900  # Theorem 4.1 asks for 30 beta K L eta_l = 30 / sqrt(R) <= 1 (qu22-rem4.2-small-beta)
    w, momentum, mofedsam, sam, fedsam = 1.0, 0.0, [], 1.0, []
    for _ in range(300):
        momentum = 0.1 * w + 0.9 * momentum  # eta_g = sqrt(N) / (sqrt(R) beta) = 1
        w, sam = w - momentum, 0.9 * sam  # FedSAM: eta_g eta_l = sqrt(N / R) = 1/10
        mofedsam.append(abs(w) <= 1e-3)
        fedsam.append(abs(sam) <= 1e-3)
    replay = registry.checks[claim_id].replay(evidence)
    assert (replay.left, replay.right) == (mofedsam.index(True) + 1, fedsam.index(True) + 1) == (83, 66)
    kept = evidence["rounds_until_the_gradient_stays_below"]["prescribed, beta = 1/10"]["1/1000"]
    assert kept == len(mofedsam) - mofedsam[::-1].index(False) + 1 == 129


@pytest.mark.parametrize("claim_id", ["qu22-C.3-cover"])
def test_the_cover_has_the_stated_size_and_not_its_power(claim_id, results):
    """O((d log M)^d) has one constant for all depths; (O(d log M))^d, with a constant to the power d, is weaker."""
    for name, points in results.outcome(claim_id).evidence["points_per_layer"].items():
        bound, depth = (int(part.split("=")[1]) for part in name.split(","))
        assert depth * math.log(points / (depth * math.log(bound))) <= 1, name
        widest = math.log((depth + 1) / (depth - 1))  # what one point covers within the relative accuracy 1/d
        assert points * widest >= 2 * math.log(bound), name
