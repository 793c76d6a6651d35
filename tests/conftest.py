"""How tests share processes; the report of the repository's own stores, built once for all that look at it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from stored import stores_now

import artifact.cli  # noqa: F401  registers the theory's schematics
from artifact.report.build import build
from artifact.report.content import Content

# processes share the cores: OpenMP's teams of two threads would wait for each other's turns
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)


#: beginnings of files that share what takes minutes to make, or that must not look at a store while the others fill it
TOGETHER = (("checks/",), ("tests/report/",), ("tests/audit/",))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadfile`` some files go to one process together, as if they were one.

    (Groups of pytest-xdist 3.8 have no effect with pytest 9.2.)
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return next((names[0] for names in TOGETHER if file.startswith(names)), file)

    return Together(config, log)


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
