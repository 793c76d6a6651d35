"""Which slow tests are played and how tests share processes; the report of the repository's own stores, built once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from zlib import crc32

import pytest
import torch
from stored import stores_now

import artifact.cli  # noqa: F401  registers the theory's schematics
from artifact.report.build import build
from artifact.report.content import Content

# processes share the cores: OpenMP's teams of two threads would wait for each other's turns
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)


#: one part of the slow tests is played with the others, in turn from commit to commit
PARTS = 8


def part() -> int | None:
    """Which; None where all are played."""
    if os.environ.get("FEDSHARP_NIGHTLY"):
        return None
    words = ["git", "rev-list", "--count", "HEAD"]
    count = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True).stdout
    return int(count or 0) % PARTS


def waits(item: pytest.Item, played: int | None) -> bool:
    """Whether a test is a slow one of another part; a file whose tests share what is slow is in one part whole."""
    mark = item.get_closest_marker("slow")
    if mark is None or played is None:
        return False
    name = item.nodeid.split("::")[0] if mark.kwargs.get("whole_file") else item.nodeid
    return crc32(name.encode()) % PARTS != played


def everything(config: pytest.Config) -> bool:
    """Whether neither files nor words select what is played."""
    return {Path(name).name for name in config.args} == {"tests", "checks"} and not config.getoption("keyword")


def pytest_collection_modifyitems(config, items):
    if not everything(config):
        return
    played, playing, waiting = part(), [], []
    for item in items:
        (waiting if waits(item, played) else playing).append(item)
    items[:] = playing
    config.hook.pytest_deselected(items=waiting)


def pytest_report_header(config):
    played = part()
    if played is None or not everything(config):
        return "slow tests: all"
    return f"slow tests: part {played + 1} of {PARTS}, by the number of commits; FEDSHARP_NIGHTLY=1 plays all"


#: beginnings of files that share what takes minutes to make, or that must not look at a store while the others fill it
TOGETHER = (("checks/",), ("tests/report/",))


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
