"""Files that are written: their rights are those that the user's umask leaves."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from artifact.base.files import umask, write_atomic
from artifact.base.paths import ROOT


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_umask_decides_on_the_rights_of_a_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        assert umask() == mask
        write_atomic(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~mask


def test_nobody_else_reads_a_run_of_a_careful_user(tmp_path):
    line = "umask 077; exec {} -m artifact run --algorithm fedavg --model mlp-16 --rounds 1 --quiet --out {}"
    command = line.format(sys.executable, tmp_path / "runs")
    subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, capture_output=True)
    made = list((tmp_path / "runs").rglob("*"))
    assert len(made) > 4
    assert not [path for path in made if path.stat().st_mode & 0o077]
