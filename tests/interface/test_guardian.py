"""A user's file runs once; one that does not come to its end is one line, and nothing of it lives on."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from artifact.base import family
from artifact.runs import guardian

#: the command line with another patience: seconds, then words
PROGRAM = """
import sys
from artifact.base import own_code
own_code.SECONDS = float(sys.argv.pop(1))
from artifact.__main__ import script
script()
"""
SLEEPER = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); sys.stdin.read()"


def command(seconds, *words, cwd, **more):
    words = [sys.executable, "-c", PROGRAM, str(seconds), *words]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, check=False, timeout=300, **more)


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os\nos._exit(0)", "ends the process"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "ends the process"),
        ("import os\nos.abort()", "ends the process"),
        ("while True:\n    pass", "has not ended after 0.5 seconds"),
        ("import time\ntry:\n    time.sleep(99)\nexcept BaseException:\n    time.sleep(99)", "has not ended"),
        ("import re\nre.match('(a+)+$', 'a' * 60 + 'b')", "has not ended"),
    ],
)
def test_a_file_that_ends_the_process_or_does_not_end_is_one_line(code, why, tmp_path):
    (tmp_path / "mine.py").write_text(code)
    ended = command(0.5 if "not ended" in why else 60, "list", "algorithms", "--add", "mine.py", cwd=tmp_path)
    assert ended.returncode == 2 and ended.stdout == ""
    assert ended.stderr.startswith("error: add: 'mine.py'") and why in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_what_a_file_has_started_ends_with_it_also_in_a_session_of_its_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import os, subprocess\n"
        "said = open('pids', 'a')\n"
        "print(os.getpid(), file=said)\n"
        "print(subprocess.Popen(['sleep', '600']).pid, file=said)\n"
        "inner = subprocess.Popen(['sh', '-c', 'sleep 600 & echo $!; wait'], stdout=subprocess.PIPE, text=True,\n"
        "                         start_new_session=True)\n"
        "print(inner.pid, inner.stdout.readline(), file=said, flush=True)\n"
        "while True:\n    pass\n"
    )
    ended = command(2, "list", "algorithms", "--add", "mine.py", cwd=tmp_path)
    assert ended.returncode == 2 and "not ended after 2 seconds" in ended.stderr
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 4  # the file ran once
    assert [pid for pid in pids if lives(pid)] == []


def test_a_sound_file_runs_once_and_the_command_ends_as_without_a_guardian(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import artifact\nopen('ran', 'a').write('.')\n\n@artifact.network\ndef own(shape, classes):\n    pass\n"
    )
    ended = command(60, "list", "models", "--add", "mine.py", cwd=tmp_path)
    assert ended.returncode == 0 and "own" in ended.stdout and ended.stderr == ""
    assert (tmp_path / "ran").read_text() == "."
    assert command(60, "list", "nothing", "--add", "mine.py", cwd=tmp_path).returncode == 2


def test_what_a_file_raises_is_said_with_its_line(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\nraise ValueError('mine')")
    ended = command(60, "list", "algorithms", "--add", "mine.py", cwd=tmp_path)
    assert ended.returncode == 2 and "ValueError: mine, line 2" in ended.stderr


@pytest.mark.parametrize("name", ["method.py", "statements.py"])
def test_an_audits_own_code_has_the_same_guardian(name, tmp_path):
    made = [sys.executable, "-m", "artifact", "audit", "init", "odd2025"]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "odd2025" / name).write_text("while True:\n    pass\n")
    ended = command(2, "audit", "run", "odd2025", "--lookup", "--no-report", cwd=tmp_path)
    assert ended.returncode == 2 and "not ended after 2 seconds" in ended.stderr, ended.stderr
    assert len(ended.stderr.splitlines()) == 1 and name in ended.stderr


def test_a_guardian_that_is_told_to_end_ends_its_command(tmp_path):
    (tmp_path / "mine.py").write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n")
    words = [sys.executable, "-c", PROGRAM, "300", "list", "algorithms", "--add", "mine.py"]
    for signal in (15, 9):
        with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            own = int(process.stdout.readline())
            process.send_signal(signal)
            assert process.wait(60) == (130 if signal == 15 else -9)
        end = time.monotonic() + 30
        while lives(own) and time.monotonic() < end:
            time.sleep(0.05)
        assert not lives(own)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["run", "--add", "x.py"], True),
        (["run", "--add=x.py"], True),
        (["audit", "run", "x"], True),
        (["table", "a/1", "--audit", "x"], True),
        (["doctor", "x.py"], True),
        (["run", "--rounds", "1"], False),
        ([], False),
    ],
)
def test_commands_with_own_code_alone_have_a_guardian(words, asked):
    assert guardian.needed(words) is (asked and hasattr(os, "pidfd_open"))


def test_a_family_is_found_and_ended(tmp_path):
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        assert family.descendants(process.pid) == {child} and child in family.descendants(os.getpid())
        family.end_descendants(os.getpid(), spared=family.descendants(os.getpid()))
        assert lives(child)
        family.end(process.pid)
        assert process.wait(10) == -9
    end = time.monotonic() + 10
    while lives(child) and time.monotonic() < end:
        time.sleep(0.02)
    assert not lives(child)
