"""The folder that ``audit init`` writes, with its runs, made once for the tests of audits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def run(*words: str, cwd) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "artifact", "audit", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder as ``init`` writes it, with its runs, outside of the tree."""
    place = tmp_path_factory.mktemp("outside")
    assert run("init", "half2025", "--title", "FedHalf (Author et al., VENUE 2025)", cwd=place).returncode == 0
    done = run("run", "half2025", "--no-report", "--jobs", "1", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    return place / "half2025", json.loads(done.stdout)
