"""The steps of a replication, with stub steps: order, failures, signals, and what a second start finds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from artifact.base.paths import ROOT
from artifact.reproduce.run import Record, duration
from artifact.reproduce.sources import Sources
from artifact.reproduce.steps import PROFILES, Step, steps

#: a module that takes the place of every program that a step starts; it notes when it begins and ends
STUB = """
import os, subprocess, sys, time
words = sys.argv[1:]
name = os.environ["STUB"]
def note(what):
    with open("calls", "a") as file:
        file.write(f"{what} {words[0]}\\n")
note("begin")
if words[0] == os.environ.get("GRANDCHILD"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
    open("grandchild", "w").write(str(child.pid))
time.sleep(float(os.environ.get("SECONDS_PER_STEP", "0.05")))
note("end")
print("a line of", words[0])
os.makedirs("made", exist_ok=True)
sys.exit(3 if words[0] == os.environ.get("FAILING") else 0)
"""
#: starts steps that a test declares, as ``python -m artifact.reproduce`` starts those of the project
DRIVER = """
import json, sys
from pathlib import Path
from artifact.reproduce import run as program
from artifact.reproduce.run import Reproduction
from artifact.reproduce.steps import Step
program.PATIENCE = float(__import__("os").environ.get("PATIENCE", "15"))
steps = [Step(**{k: tuple(v) if isinstance(v, list) else v for k, v in one.items()}) for one in json.loads(sys.argv[1])]
run = Reproduction("quick", steps, Path.cwd())
run.slots = 2
sys.exit(run.run())
"""
PLAN = [
    {"name": "page", "shows": "made"},
    {"name": "train", "alone": True},
    {"name": "left", "after": ["train"]},
    {"name": "right", "after": ["train"]},
    {"name": "third", "after": ["train"]},
    {"name": "last", "after": ["left", "right", "third"], "alone": True, "makes": ["made"]},
]
NAMES = [one["name"] for one in PLAN]


@pytest.fixture
def start(tmp_path):
    """start(**variables) -> a process that runs ``PLAN`` in ``tmp_path``, its text in one pipe."""
    (tmp_path / "stub.py").write_text(STUB, encoding="utf-8")
    (tmp_path / "artifact").mkdir()
    (tmp_path / "artifact" / "source.py").write_text("", encoding="utf-8")
    plan = [{"what": one["name"], "command": f"stub {one['name']}", "minutes": 0.01} | one for one in PLAN]

    def begin(**variables: str) -> subprocess.Popen:
        driver = tmp_path / "driver.py"
        driver.write_text(DRIVER, encoding="utf-8")
        # of the steps, the stub; of the driver, the package: the folder of the test holds one of that name
        code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); exec(open('driver.py').read())"
        return subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(plan)],
            cwd=tmp_path,
            env=os.environ | {"STUB": "1"} | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return begin


def calls(folder: Path) -> list[tuple[str, str]]:
    path = folder / "calls"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [tuple(line.split()) for line in lines]


def wait_for(found, process: subprocess.Popen) -> None:
    patience = time.monotonic() + 60
    while not found():
        assert process.poll() is None and time.monotonic() < patience, process.communicate()[0]
        time.sleep(0.02)


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_steps_run_two_at_a_time_or_alone_and_a_second_start_finds_nothing_to_do(start, tmp_path):
    said, _ = start(SECONDS_PER_STEP="0.2").communicate(timeout=60)
    assert "0 of 6 steps failed" in said
    most, running = dict.fromkeys(NAMES, 0), []
    for what, name in calls(tmp_path):
        running.append(name) if what == "begin" else running.remove(name)
        most |= {one: max(most[one], len(running)) for one in running}
    assert most["left"] == most["right"] == 2
    assert most["train"] == most["last"] == 1 and max(most.values()) == 2
    assert said.index(f"report: {tmp_path / 'made'}") < said.index("[2/6]")  # before anything else starts
    (tmp_path / "calls").unlink()
    process = start()
    again, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and not calls(tmp_path)
    assert "nothing had changed since 6 of 6 steps were done" in again


def test_a_change_of_the_sources_or_a_lost_result_runs_steps_again(start, tmp_path):
    start().communicate(timeout=60)
    (tmp_path / "calls").unlink()
    shutil.rmtree(tmp_path / "made")
    start().communicate(timeout=60)
    assert {name for _, name in calls(tmp_path)} == {"last"}
    (tmp_path / "artifact" / "source.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "calls").unlink()
    start().communicate(timeout=60)
    assert {name for _, name in calls(tmp_path)} == set(NAMES)


@pytest.mark.parametrize("name", ["train", "right"])
def test_a_step_that_fails_fails_the_whole_and_runs_again(start, tmp_path, name):
    process = start(FAILING=name)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "1 of 6 steps failed" in said and f"failed: {name}, text in out/quick/{name}.txt" in said
    assert f"a line of {name}" in said and "exit code 3" in said
    assert {one for _, one in calls(tmp_path)} == set(NAMES)  # the others do their work
    (tmp_path / "calls").unlink()
    assert start().wait(timeout=60) == 0
    assert calls(tmp_path) == [("begin", name), ("end", name)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_in_any_step_ends_all_and_the_next_start_goes_on(start, tmp_path, name, number):
    if name != NAMES[0]:  # what comes before it is done
        start(FAILING=name).communicate(timeout=60)
        (tmp_path / "calls").unlink()
    process = start(GRANDCHILD=name, SECONDS_PER_STEP="60")
    wait_for((tmp_path / "grandchild").exists, process)
    wait_for(lambda: (tmp_path / "grandchild").read_text(), process)
    process.send_signal(number)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.endswith("interrupted: the same command goes on from here\n")
    child = int((tmp_path / "grandchild").read_text())
    patience = time.monotonic() + 10
    while alive(child) and time.monotonic() < patience:
        time.sleep(0.02)
    assert not alive(child)
    before = {one for what, one in calls(tmp_path) if what == "end"}
    (tmp_path / "calls").unlink()
    process = start()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert name in {one for _, one in calls(tmp_path)}
    assert not before & {one for _, one in calls(tmp_path)}


def test_a_step_that_ignores_a_signal_is_killed(start, tmp_path):
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); note('begin')"
    process = start(SECONDS_PER_STEP="60", PATIENCE="1")
    (tmp_path / "stub.py").write_text(STUB.replace('note("begin")', deaf), encoding="utf-8")
    wait_for(lambda: calls(tmp_path), process)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=40)
    assert process.returncode == 130 and "interrupted" in said


def test_a_killed_start_leaves_a_record_that_the_next_one_reads(start, tmp_path):
    process = start(SECONDS_PER_STEP="0.3")
    wait_for(lambda: ("end", "train") in calls(tmp_path), process)
    process.kill()
    process.communicate(timeout=60)
    (tmp_path / "calls").unlink()
    assert start().wait(timeout=60) == 0
    assert "page" not in {name for _, name in calls(tmp_path)}
    (tmp_path / "out" / "quick" / "done.json").write_text("{", encoding="utf-8")
    (tmp_path / "calls").unlink()
    assert start().wait(timeout=60) == 0
    assert {name for _, name in calls(tmp_path)} == set(NAMES)


def test_two_starts_at_once_are_one_line(start, tmp_path):
    first = start(SECONDS_PER_STEP="60")
    wait_for(lambda: calls(tmp_path), first)
    second = start()
    said, _ = second.communicate(timeout=30)
    assert second.returncode != 0 and "one start at a time" in said
    first.terminate()
    assert first.wait(timeout=30) == 130


@pytest.mark.parametrize("profile", [*PROFILES, "smoke"])
def test_every_step_can_run_and_what_it_waits_for_comes_before_it(profile):
    seen: set[str] = set()
    for step in steps(profile):
        assert seen.issuperset(step.after), step
        assert step.name not in seen
        seen.add(step.name)
        module = step.command.split()[0]
        assert module == "pytest" or (ROOT / module / "__main__.py").is_file()
    if profile != "smoke":
        assert steps(profile)[0].shows == steps(profile)[-1].shows == "out/report/index.html"


def test_a_fingerprint_sees_content_and_new_files_and_not_what_programs_leave(tmp_path):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "a.toml").write_text("a")
    sources = Sources(tmp_path)
    first = sources.fingerprint()
    assert Sources(tmp_path).fingerprint() == first
    (tmp_path / "claims" / "__pycache__").mkdir()
    (tmp_path / "claims" / "__pycache__" / "a.pyc").write_text("a")
    (tmp_path / "claims" / ".lock").write_text("")
    os.utime(tmp_path / "claims" / "a.toml")
    assert sources.fingerprint() == first
    (tmp_path / "claims" / "b.toml").write_text("a")
    second = sources.fingerprint()
    (tmp_path / "claims" / "b.toml").write_text("b")
    assert len({first, second, sources.fingerprint()}) == 3


def test_the_record_says_how_long_a_step_took_here(tmp_path):
    step = Step("one", "one", "stub one", 0.5)
    record = Record(tmp_path / "done.json")
    assert record.seconds(step) == 30 and not record.holds(step, "x")
    record.add(step, "x", 12.34)
    record = Record(tmp_path / "done.json")
    assert record.seconds(step) == 12.3 and record.holds(step, "x") and not record.holds(step, "y")
    assert [duration(seconds) for seconds in (5, 760, 10920)] == ["0:05", "12:40", "3 h 02 min"]


def test_the_script_starts_the_program_in_its_own_place(tmp_path):
    """A signal for ``./reproduce.sh`` reaches the program, and its exit code is the script's."""
    shutil.copy(ROOT / "reproduce.sh", tmp_path)
    (tmp_path / "requirements.lock").write_text("", encoding="utf-8")
    python = tmp_path / "python3"
    python.write_text('#!/usr/bin/env bash\n[[ $1 == - ]] && exit 0\necho "$$ $*"\nexit 7\n', encoding="utf-8")
    python.chmod(0o755)
    process = subprocess.Popen(
        [tmp_path / "reproduce.sh", "smoke"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 7
    assert said.splitlines()[-1] == f"{process.pid} -m artifact.reproduce smoke"


def test_a_wrong_verb_is_one_line():
    done = subprocess.run([ROOT / "reproduce.sh", "fly"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "verb: 'fly' is not possible; allowed: setup, quick, laptop, paper, smoke, test" in done.stderr
