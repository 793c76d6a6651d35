"""Runs every check that the collected tests need once, in worker processes, and shares the results."""

from __future__ import annotations

import pytest

from artifact.verdicts.ledger import Claim, load
from checks import runner

LEDGER: dict[str, Claim] = {claim.id: claim for claim in load()}
IMPORT_ERRORS = runner.import_theory()


class Results:
    """Outcomes of claims and verdicts of mutated checks, computed for the whole session at the first question."""

    def __init__(self, claims: list[Claim], mutations: list[runner.Job]):
        self.claims, self.mutations = claims, mutations
        self._outcomes: dict[str, runner.Outcome] | None = None
        self._mutated: dict[runner.Job, dict] | None = None

    def outcome(self, claim: str) -> runner.Outcome:
        if self._outcomes is None:
            self._outcomes = {outcome.claim.id: outcome for outcome in runner.run_claims(self.claims)}
        return self._outcomes[claim]

    def mutated(self, job: runner.Job) -> dict:
        if self._mutated is None:
            self._mutated = runner.run_jobs(self.mutations)
        return self._mutated[job]


def _asked(items, name: str) -> list:
    found = [item.callspec.params[name] for item in items if hasattr(item, "callspec") and name in item.callspec.params]
    return list(dict.fromkeys(found))


@pytest.fixture(scope="session")
def results(request) -> Results:
    """Holds only what the selected tests ask for, so that ``-k`` stays quick."""
    claims = [LEDGER[name] for name in _asked(request.session.items, "claim_id")]
    return Results(claims, _asked(request.session.items, "mutation"))
