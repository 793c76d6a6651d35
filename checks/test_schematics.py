"""The papers' schematics: what each suggests is computed, and holds or is refuted as the ledger says."""

from __future__ import annotations

import pytest

from theory.schematics import SCHEMATICS


@pytest.mark.parametrize("name", SCHEMATICS)
def test_schematics_state_what_they_suggest(name):
    statements = SCHEMATICS[name]()["statements"]
    refuted = {
        "flat-clients": [False, False, True, False],  # what the ledger's claims thesis-fig3.1-* say of the printed pair
    }
    assert [bool(s["holds"]) for s in statements] == refuted.get(name, [True] * len(statements))
