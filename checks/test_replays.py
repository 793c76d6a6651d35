"""Every counterexample satisfies all assumptions and violates the printed statement, exactly or with 50 digits."""

from __future__ import annotations

import pytest

from checks.conftest import LEDGER
from theory.kit.verdict import Replay, registry

REFUTED = [c.id for c in LEDGER.values() if c.expected in ("refuted", "repaired")]


@pytest.mark.parametrize("claim_id", REFUTED)
def test_counterexample_replays(claim_id, results):
    outcome, check = results.outcome(claim_id), registry.checks[claim_id]
    assert outcome.verdict in ("refuted", "repaired"), outcome.evidence
    assert check.replay is not None, "a refuted statement needs a replay"
    replay = check.replay(outcome.evidence)
    assert replay.assumptions and all(replay.assumptions.values()), replay.assumptions
    assert replay.violated, (replay.left, replay.relation, replay.right)


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
    [(2, 1, "<=", True), (1, 1, "<=", False), (1, 1, "<", True), (1, 2, "==", True), (1, 1, "==", False)],
)
def test_replay_relations(left, right, relation, violated):
    assert Replay({"a": True}, left, right, relation).violated is violated
