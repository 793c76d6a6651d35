"""Solver certificates beside a check's own evidence: present where installed, left out with a message where not."""

from __future__ import annotations

import pytest

import theory.fan2024
import theory.kakoun2024
import theory.qu2022  # noqa: F401
from theory.kit import certificates, second_certificate
from theory.kit.verdict import registry

CLAIMS = {
    "qu22-lemA.1-2": "cvxpy",
    "qu22-lemA.2": "cvxpy",
    "qu22-lemA.5": "z3",
    "qu22-lemB.1-same": "z3",
    "qu22-lemB.2-step": "z3",
    "fan24-lem1": "PEPit",
    "fan24-lem2-fedsam": "z3",
    "fan24-lem3": "z3",
    "fan24-lem6": "PEPit",
    "fan24-lem6-stepsize": "z3",
    "thesis-A-C": "PEPit",
    "thesis-A-D2": "PEPit",
    "thesis-A-A4": "z3",
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_verdict_without_the_solver_is_the_same_and_says_so(claim, monkeypatch):
    check, solver = registry.checks[claim], CLAIMS[claim]
    if not certificates.available(solver):
        pytest.skip(f"optional {certificates.SOLVERS[solver]} is not installed")
    full = check.run()
    monkeypatch.setattr(certificates, "available", lambda name: False)
    bare = check.run()
    assert "certificate" in full.evidence["solver"] and "not installed" in bare.evidence["solver"]["left_out"]
    assert bare.verdict == full.verdict and bare.margin == full.margin
    assert {k: v for k, v in bare.evidence.items() if k != "solver"} == {
        k: v for k, v in full.evidence.items() if k != "solver"
    }


@pytest.mark.skipif(not certificates.available("PEPit"), reason="optional PEPit is not installed")
def test_false_first_order_statements_get_no_certificate():
    with pytest.raises(ArithmeticError):
        second_certificate.inexact_step_by_pepit(1.1)
    with pytest.raises(ArithmeticError):
        second_certificate.two_client_inner_product_by_pepit(0.2)
