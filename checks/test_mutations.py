"""A deliberately broken constant changes the verdict: each declared mutation gives the declared verdict."""

from __future__ import annotations

import pytest

from checks.runner import mutations
from theory.kit.verdict import registry

MUTATIONS = mutations(registry.checks)
MUTATED = [check for check in registry.checks.values() if check.mutations]


@pytest.mark.parametrize("mutation", list(MUTATIONS), ids=lambda job: f"{job.claims[0]} x {job.scale:g}")
def test_mutation_gives_the_declared_verdict(mutation, results):
    result = results.mutated(mutation)
    assert result["verdict"] == MUTATIONS[mutation], result["evidence"]


@pytest.mark.parametrize("check", MUTATED, ids=lambda check: check.claim)
def test_some_mutation_changes_the_verdict(check):
    from checks.conftest import LEDGER

    assert any(expected != LEDGER[check.claim].expected for _, expected in check.mutations)
    assert all(scale != 1 for scale, _ in check.mutations)


def test_at_least_thirty_claims_are_mutated_in_both_directions():
    both = [c.claim for c in MUTATED if min(s for s, _ in c.mutations) < 1 < max(s for s, _ in c.mutations)]
    assert len(both) >= 30
