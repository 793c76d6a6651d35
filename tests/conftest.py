"""The report of the repository's own stores, built once for all tests that look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from artifact import inputs
from artifact.papers import experiments
from artifact.report.build import build
from artifact.report.content import ROOT, Content


def stores_now() -> str:
    """Fingerprint of the stores, which other processes may add to."""
    return inputs.digest([], inputs.records(ROOT / store for store in experiments.STORES.values()))


@pytest.fixture(scope="session")
def content() -> Content:
    return Content()


@pytest.fixture(scope="session")
def stored() -> str:
    return stores_now()


@pytest.fixture(scope="session")
def site(content, stored, tmp_path_factory) -> Path:
    """The site of the repository's own stores."""
    return build(content, tmp_path_factory.mktemp("report") / "site").folder
