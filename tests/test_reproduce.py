"""``reproduce.sh`` with an interpreter that notes what it is asked: order of steps, failures, interruption.

The two steps that train or decide keep both cores busy and stand alone; those in the middle run two at a time.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from artifact.base.paths import ROOT

PYTHON = """#!/usr/bin/env bash
[[ $1 == - ]] && exit 0 # has the pinned packages
echo "begin $3" >>calls
sleep "${SECONDS_PER_STEP:-0.2}"
echo "end $3" >>calls
echo "a line of $3"
mkdir -p out/quick/figures
[[ $3 != "${FAILING:-none}" ]]
"""
MIDDLE = {"table", "figure", "variants", "--draw", "costs", "verdicts"}
ALONE = ("--no-store", "sweep", "audit", "", "report")


@pytest.fixture
def start(tmp_path):
    """Starts ``./reproduce.sh quick`` in a folder with nothing but the script, and returns the process."""
    shutil.copy(ROOT / "reproduce.sh", tmp_path)
    for name in ("artifact", "audits", "theory", "checks", "claims", "experiments", "notebooks", "results", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "requirements.lock").write_text("", encoding="utf-8")
    python = tmp_path / "bin" / "python3"
    python.write_text(PYTHON, encoding="utf-8")
    python.chmod(0o755)

    def begin(**variables: str) -> subprocess.Popen:
        path = f"{python.parent}:{os.environ['PATH']}"
        return subprocess.Popen(
            [tmp_path / "reproduce.sh", "quick"],
            env=os.environ | {"PATH": path} | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return begin


def calls(folder: Path) -> list[list[str]]:
    path = folder / "calls"
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def test_steps_of_one_core_run_two_at_a_time_and_the_others_alone(start, tmp_path):
    said, _ = start().communicate(timeout=60)
    open_now, most = [], dict.fromkeys([*MIDDLE, *ALONE], 0)
    for what, *name in calls(tmp_path):
        name = "".join(name)
        open_now.append(name) if what == "begin" else open_now.remove(name)
        most |= {one: max(most[one], len(open_now)) for one in open_now}
    assert {name for name, count in most.items() if count == 2} >= MIDDLE - {"verdicts"}
    assert all(most[name] == 1 for name in ALONE) and max(most.values()) == 2
    assert "0 of 11 steps failed" in said and "a line of figure\n[4] done in" in said
    (tmp_path / "calls").unlink()
    again, _ = start().communicate(timeout=60)
    assert again.count("nothing has changed since it was done") == 11 and not calls(tmp_path)


@pytest.mark.parametrize("name", ["sweep", "costs"])
def test_a_step_that_fails_fails_the_whole_and_runs_again(start, tmp_path, name):
    process = start(FAILING=name)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "1 of 11 steps failed" in said and f"-{name}.txt: python -m" in said
    (tmp_path / "calls").unlink()
    assert start().wait(timeout=60) == 0
    assert calls(tmp_path) == [["begin", name], ["end", name]]


def test_an_interruption_ends_the_steps_that_run_side_by_side(start, tmp_path):
    start(FAILING="table").communicate(timeout=60)
    (tmp_path / "calls").unlink()
    for done in (tmp_path / "out/quick/.done").glob("4-*"):
        done.unlink()
    process = start(SECONDS_PER_STEP="30")
    patience = time.monotonic() + 60
    while len(calls(tmp_path)) < 2:
        assert process.poll() is None and time.monotonic() < patience, "no two steps side by side"
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=20)  # ends when the last step has let go of its output
    assert process.returncode == 130 and said.endswith("interrupted: the same command goes on from here\n")
    assert sorted(calls(tmp_path)) == [["begin", "figure"], ["begin", "table"]]
