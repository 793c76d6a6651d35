"""Signals, from the first import of a process to its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from artifact import cli
from artifact.__main__ import main
from artifact.base import console, paths
from artifact.runs import processes

MAIN = """
import sys
import time
from artifact.base.console import exit_code
from artifact.runs.processes import interruptible

def command():
    import slow
    time.sleep(30)
    print("after the import", flush=True)

if __name__ == "__main__":
    with interruptible():
        sys.exit(exit_code(command))
"""
SLOW = """
import time
print("begun", flush=True)
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    time.sleep(0.01)
print("imported", flush=True)
"""


def _interrupted_in_an_import(tmp_path, seconds: float, count: int, first: str = "") -> tuple[int, str, str]:
    """(exit code, output, errors) of a process that was sent so many signals; first: lines before its own."""
    (tmp_path / "main.py").write_text(first + MAIN)
    (tmp_path / "slow.py").write_text(SLOW.format(seconds=seconds))
    words = [sys.executable, "-m", "main"]
    around = {"PYTHONPATH": f"{tmp_path}:{paths.ROOT}", "PATH": ""}
    with subprocess.Popen(
        words, cwd=tmp_path, env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        for _ in range(count):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        said, errors = process.communicate(timeout=60)
    return process.returncode, said, errors


@pytest.mark.parametrize("count", [1, 30])
def test_a_signal_waits_for_the_import_in_progress(tmp_path, count):
    code, said, errors = _interrupted_in_an_import(tmp_path, 0.5, count)
    assert (code, said, errors) == (130, "imported\n", "interrupted\n")


def test_an_import_that_takes_too_long_is_ended(tmp_path):
    limited = "import artifact.runs.processes as processes\nprocesses.IMPORTS = 0.3\n"
    code, said, errors = _interrupted_in_an_import(tmp_path, 30, 1, limited)
    assert (code, said, errors) == (130, "", "interrupted\n")


def test_signals_that_follow_closely_are_one_request(monkeypatch):
    now = 100.0
    monkeypatch.setattr(processes.time, "monotonic", lambda: now)
    request, heard = processes.Request(), []
    for now in (100.0, 100.5, 101.4, 102.5, 103.4, 104.3, 105.2, 106.1, 107.0, 107.9):  # noqa: B007  the clock's
        heard.append(request.again())
    assert heard == [False, True, True, False, True, True, True, True, True, False], "1.1 s apart, 5 s after the first"


def test_a_terminal_s_signals_do_not_reach_the_server_of_workers():
    """It imports for seconds, and would end in a traceback; what the driver blocks meanwhile comes afterwards."""
    code = """
import os, signal, sys
from multiprocessing import forkserver
from artifact.runs.sweep import workers
signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
ensured = forkserver.ensure_running
forkserver.ensure_running = lambda: (ensured(), os.killpg(0, signal.SIGINT))
workers.get_ready()
import time
time.sleep(0.5)
print(os.waitpid(forkserver._forkserver._forkserver_pid, os.WNOHANG))
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, start_new_session=True, check=True)
    assert (done.stdout, done.stderr) == ("heard\n(0, 0)\n", "")


ENDING = """
import sys
import time
from artifact.runs import processes

processes.SAME = processes.LONGEST = {same}
with processes.interruptible():
    pass
print("begun", flush=True)
time.sleep({seconds})
"""


@pytest.mark.parametrize(("same", "pause", "expected"), [(60, 0.0, (0, "")), (0.5, 1.5, (130, "interrupted\n"))])
def test_a_signal_after_the_end_changes_nothing_at_first_and_is_told_later(same, pause, expected):
    """same: seconds in which a signal belongs to the request before it; a busy machine takes its time."""
    words = [sys.executable, "-c", ENDING.format(seconds=3, same=same)]
    around = {"PYTHONPATH": str(paths.ROOT), "PATH": ""}
    with subprocess.Popen(words, env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(pause)
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stderr.read()) == expected


ABORTS = """
import atexit
import ctypes
import sys
from artifact.runs.processes import interruptible

libc = ctypes.CDLL(None)
with interruptible():
    libc.__cxa_atexit(ctypes.cast(libc.abort, ctypes.c_void_p), None, None)  # as a thread that nobody joined does
    atexit.register(lambda: print("exit functions ran"))
    {end}
"""


@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(130)", 130), ("raise KeyboardInterrupt", 130), ("sys.exit(0)", -signal.SIGABRT)]
)
def test_an_interrupted_process_is_not_aborted_by_what_compiled_modules_left(end, code):
    """Python's exit functions run and the output is written, but the destructors of compiled modules do not run."""
    words = [sys.executable, "-c", ABORTS.format(end=end)]
    done = subprocess.run(words, cwd=paths.ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert code < 0 or done.stdout == "exit functions ran\n"


def test_an_interruption_that_compiled_code_tells_as_its_own_error_is_one(monkeypatch, capsys):
    def fails(*_):
        raise ValueError("Error building `dict` serializer: KeyboardInterrupt")

    monkeypatch.setattr(cli, "commands", fails)
    monkeypatch.setattr(processes.REQUEST, "raised", True)
    assert main(["table"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    monkeypatch.setattr(processes.REQUEST, "raised", False)
    with pytest.raises(ValueError, match="serializer"):
        main(["table"])


def test_a_signal_before_the_command_begins_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(console, "_escape_what_cannot_be_shown", lambda: signal.default_int_handler(2, None))
    assert console.exit_code(lambda: 0) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("words", [["list", "nothing"], ["run", "--rounds", "none"]])
def test_the_exit_code_is_right_where_the_error_line_cannot_be_written(words, tmp_path):
    """As on a full disk: the file of standard error may not grow beyond 20 bytes."""
    limited = "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20)); "
    start = [sys.executable, "-B", "-c", limited + "runpy.run_module('artifact', run_name='__main__')", *words]
    with (tmp_path / "errors").open("wb") as errors:
        assert subprocess.run(start, cwd=paths.ROOT, stderr=errors, timeout=60).returncode == 2
    assert (tmp_path / "errors").stat().st_size == 20
