"""How tests share two processes; the report of the repository's own stores, built once for all that look at it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from artifact import inputs
from artifact.papers import experiments
from artifact.report.build import build
from artifact.report.content import ROOT, Content

# two processes share two cores: OpenMP's teams of two threads would wait for each other's turns
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)


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
