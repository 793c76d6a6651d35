"""The runs and the evidence that the audits of this repository keep."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from artifact.base import paths
from artifact.runs import archive, evidence

AUDITS = sorted(path.parent for path in (paths.ROOT / "audits").glob("*/claims.toml"))


@pytest.mark.parametrize("folder", AUDITS, ids=lambda folder: folder.name)
def test_every_record_is_as_it_was_sealed(folder):
    results = folder / "results"
    done = subprocess.run(
        [sys.executable, "-m", "artifact", "store", "verify", "--out", str(results)],
        capture_output=True, text=True, cwd=paths.ROOT, check=False,
    )  # fmt: skip
    records = len(archive.finished_keys(results)) + len(evidence.read_all(results / "checks"))
    assert done.returncode == 0, done.stdout
    assert re.search(rf"{records} as they were sealed, 0 not", done.stdout), done.stdout


#: prints how many runs the laptop profile of an audit needs, and how many of them its folder has
NEEDED = """
import sys
from pathlib import Path
from artifact.papers import needed_runs
from artifact.papers.folders import open_audit
from artifact.runs.lookup import find_run, finished_runs
audit = open_audit(Path(sys.argv[1]))
wanted = needed_runs.configs(audit.key, "laptop")
stored = finished_runs(audit.results)
print(len(wanted), sum(find_run(one, stored) is not None for one in wanted))
"""


@pytest.mark.parametrize("folder", AUDITS, ids=lambda folder: folder.name)
def test_the_archive_answers_for_every_run_that_decides(folder):
    done = subprocess.run(
        [sys.executable, "-c", NEEDED, str(folder)], capture_output=True, text=True, cwd=paths.ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    wanted, found = map(int, done.stdout.split())
    assert wanted == found > 0


def test_pack_and_unpack_mean_the_audits_own_store(tmp_path):
    """Without ``--out``; the folder that a command starts in has a store of other runs, which stays as it is."""
    copy = tmp_path / "liu2026"
    shutil.copytree(paths.ROOT / "audits" / "liu2026", copy)
    (tmp_path / "results").mkdir()
    files = sorted((copy / "results" / "runs").iterdir())
    for word, loose in (("unpack", 42), ("pack", 0)):
        done = subprocess.run(
            [sys.executable, "-m", "artifact", "store", word, "--audit", str(copy)],
            capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(list((copy / "results").glob("*/done"))) == loose
        assert not list((tmp_path / "results").iterdir())
    assert sorted((copy / "results" / "runs").iterdir()) == files
