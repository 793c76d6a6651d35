"""Every counterexample satisfies all assumptions and violates the printed statement, exactly or with 50 digits."""

from __future__ import annotations

import mpmath
import pytest

from checks.conftest import LEDGER
from checks.runner import confirm
from theory.kit.verdict import Replay, registry

REFUTED = [c.id for c in LEDGER.values() if c.expected in ("refuted", "repaired")]


@pytest.mark.parametrize("claim_id", REFUTED)
def test_counterexample_replays(claim_id, results):
    outcome, check = results.outcome(claim_id), registry.checks[claim_id]
    assert outcome.verdict in ("refuted", "repaired"), outcome.evidence
    assert check.replay is not None, "a refuted statement needs a replay"
    confirm(check.replay(outcome.evidence))


@pytest.mark.parametrize("claim_id", REFUTED)
def test_replay_uses_no_machine_numbers(claim_id, results):
    replay = registry.checks[claim_id].replay(results.outcome(claim_id).evidence)
    kinds = {type(replay.left), type(replay.right)}
    assert float not in kinds, "sides must be rational, integer or 50-digit numbers"


@pytest.mark.parametrize("claim_id", [c.id for c in LEDGER.values() if c.expected == "holds"])
def test_search_found_no_violation(claim_id, results):
    evidence = results.outcome(claim_id).evidence
    assert float(evidence["worst_ratio"]) <= 1 + 1e-9 and evidence["evaluations"] >= 1000


@pytest.mark.parametrize("claim_id", [c.id for c in LEDGER.values() if c.expected == "repaired"])
def test_repair_is_backed(claim_id, results):
    outcome = results.outcome(claim_id)
    repair = outcome.evidence["repair"]
    assert outcome.repaired
    assert repair.get("certificate") or (repair["evaluations"] >= 1000 and float(repair["worst_ratio"]) <= 1 + 1e-9)


@pytest.mark.parametrize(
    ("left", "right", "relation", "violated"),
    [
        (2, 1, "<=", True),
        (1, 1, "<=", False),
        (1, 1, "<", True),
        (1, 2, "==", True),
        (1, 1, "==", False),
        (mpmath.nan, 1, "<=", False),
        (1, mpmath.nan, "==", False),
    ],
)
def test_replay_relations(left, right, relation, violated):
    assert Replay({"a": True}, left, right, relation).violated is violated


@pytest.mark.parametrize(
    ("replay", "said"),
    [
        (Replay({"L > 0": True}, 4, 4), "violates nothing: 4 <= 4"),
        (Replay({"L > 0": True, "eta < 1": False}, 5, 4), "does not meet eta < 1"),
        (Replay({}, 5, 4), "names no assumption"),
    ],
)
def test_a_replay_that_confirms_nothing_is_refused(replay, said):
    with pytest.raises(ValueError, match=said):
        confirm(replay)
    confirm(Replay({"L > 0": True}, 5, 4))
