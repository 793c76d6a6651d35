"""The first of the benchmark's cases on data that are always there."""

from __future__ import annotations

import pytest

from artifact.bench import cases

DIGITS = {"dataset": "digits", "train_size": 100, "test_size": 60, "clients": 5, "cohort": 2, "batch_size": 10}
DIGITS |= {"local_epochs": 1}


@pytest.fixture
def digits(monkeypatch) -> dict:
    """``mlp-200`` on the digits: two of five clients, two steps of ten images each. Returns what was changed."""
    monkeypatch.setitem(cases.CASES, "mlp-200", DIGITS)
    return DIGITS
