"""The first command of README.md beside busy loops, in a fresh clone: ``python tests/door/under_load.py --loops 8``.

It prints the exit code, the seconds until the first report and until the end, whether git sees a change, and the
seconds of a second start. Without ``--loops`` it measures an idle machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def timed(folder: Path, verb: str) -> tuple[int, float, float | None, str]:
    """(exit code, seconds, seconds until the first line on the report, the last lines) of one start."""
    start, first, lines = time.monotonic(), None, []
    process = subprocess.Popen(
        ["./reproduce.sh", verb], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if first is None and line.startswith("report: "):
            first = time.monotonic() - start
    return process.wait(), time.monotonic() - start, first, "".join(lines[-8:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=0)
    parser.add_argument("--verb", default="quick")
    asked = parser.parse_args()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(asked.loops)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            clone = Path(folder) / "clone"
            subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
            code, seconds, first, last = timed(clone, asked.verb)
            print(last)
            changed = subprocess.run(
                ["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True
            ).stdout
            again, seconds_again, _, _ = timed(clone, asked.verb)
    finally:
        for one in loops:
            one.kill()
    said = "never" if first is None else f"after {first:.0f} s"
    print(f"{asked.loops} busy loops: exit code {code} after {seconds:.0f} s, first report {said}")
    print(f"git status --porcelain: {changed.splitlines() or 'empty'}")
    print(f"second start: exit code {again} after {seconds_again:.0f} s")
    return int(bool(code or again or changed))


if __name__ == "__main__":
    sys.exit(main())
