"""The first command of README.md, stopped by SIGTERM once in every step: ``python tests/door/stopped.py``.

Each start goes on from the last one and is stopped again a few seconds after the first step that was not stopped yet
has begun. The last start runs to the end. Printed are the exit code of every start, the processes that it left behind,
and what git sees in the end.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: a step begins: "[3/13] what it does: python -m its command"
BEGINS = re.compile(r"^\[(\d+)/(\d+)\] .*: python -m ")


def left_behind(folder: Path) -> list[str]:
    """Command lines of processes that still work in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(folder):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return found


def start(folder: Path, verb: str, stopped: set[int], seconds: float) -> tuple[int, int | None, str]:
    """(exit code, number of the step in which it was stopped or None, the last lines) of one start."""
    process = subprocess.Popen(
        ["./reproduce.sh", verb], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    lines: list[str] = []
    number = None
    for line in process.stdout:
        lines.append(line)
        begun = BEGINS.match(line)
        if number is None and begun and int(begun[1]) not in stopped:
            number = int(begun[1])
            time.sleep(seconds)
            process.send_signal(signal.SIGTERM)
    return process.wait(), number, "".join(lines[-6:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verb", default="quick")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a step until it is stopped")
    asked = parser.parse_args()
    stopped: set[int] = set()
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
        began = time.monotonic()
        while True:
            code, number, last = start(folder, asked.verb, stopped, asked.seconds)
            left = left_behind(folder)
            print(f"stopped in step {number}: exit code {code}, {len(left)} processes left", flush=True)
            wrong += left
            if number is None:
                break
            stopped.add(number)
            if code != 130:
                wrong.append(f"step {number}: exit code {code} instead of 130\n{last}")
        print(last)
        changed = subprocess.run(
            ["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
    print(f"{len(stopped)} steps stopped, last start: exit code {code}, {time.monotonic() - began:.0f} s in all")
    print(f"git status --porcelain: {changed.splitlines() or 'empty'}")
    print("\n".join(wrong))
    return int(bool(code or changed or wrong))


if __name__ == "__main__":
    sys.exit(main())
