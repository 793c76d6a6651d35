"""What works with a plain install and what needs an extra: each command with the libraries of other extras blocked.

``COMMANDS_NEED`` is the table that docs/troubleshooting.md shows.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from artifact.base import paths
from artifact.base.extras import COMMANDS_NEED, EXTRA_OF, EXTRAS
from artifact.cli import COMMANDS

#: on the path of every process, workers too: a library whose name is in $BLOCKED is not there
BLOCKER = """
import os, sys
from importlib.abc import MetaPathFinder
class Block(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in os.environ["BLOCKED"].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
"""
#: libraries that come with several extras
SHARED = {"theory": ("matplotlib",), "report": ("polars",), "data": ("PIL",)}
#: command -> a line that needs what the command needs, in a checkout; without one the table's entry is a line
LINES = {
    "run": "run --algorithm fedsam --model mlp-16 --rounds 1 --quiet --out OUT/runs",
    "data": "data split digits dirichlet:0.3",
    "export": "export fedsam --out OUT/fedsam.py",
    "audit": "audit init OUT/half2025",
    "list": "list algorithms",
    "doctor": "doctor --help",
    "replay": "replay --help",
    "bench": "bench --help",
    "sharpness": "sharpness --help",
    "density": "density --help",
    "store": "store --help",
    "table": "table sun2023/1 --lookup --profile laptop",
    "verdicts": "verdicts --claim sun23-tab2",
    "fidelity": "fidelity --help",
    "sweep": "sweep sun2023/1 --profile quick --dry-run",
    "compare": "compare --help",
    "variants": "variants --help",
    "readme": "readme --help",
    "headlines": "headlines",
    "costs": "costs --help",
    "bounds": "bounds --help",
    "rate": "rate --help",
    "figure": "figure sun2023/fig1 --lookup --profile laptop --folder OUT/figures",
    "report": "report --out OUT/report",
    "landscape": "landscape --help",
    "docs": "docs --help",
}


#: runs command lines one after the other; ends with the first exit code that is not 0, and names its line
PROBE = """
import sys
from artifact.__main__ import main
for line in sys.argv[1:]:
    if code := main(line.split()):
        sys.exit(f"{line}: {code}")
"""


def answer(tmp_path, extras: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
    """Python with these words in a process that has the libraries of these extras alone."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKER, encoding="utf-8")
    there = {module for extra in extras for module in (*EXTRAS[extra], *SHARED.get(extra, ()))}
    blocked = ",".join(sorted(EXTRA_OF.keys() - there))
    path = os.pathsep.join([str(tmp_path), str(paths.ROOT)])
    return subprocess.run(
        [sys.executable, *(word.replace("OUT", str(tmp_path)) for word in words)],
        cwd=paths.ROOT,
        env=os.environ | {"BLOCKED": blocked, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_stands_in_the_table():
    assert COMMANDS_NEED.keys() - {"checks", "notebooks"} == COMMANDS.keys() == LINES.keys()
    assert {extra for needed in COMMANDS_NEED.values() for extra in needed} <= EXTRAS.keys()


@pytest.mark.parametrize("extras", sorted({COMMANDS_NEED[name] for name in LINES if name != "report"}), ids="-".join)
def test_commands_work_with_their_extras_alone(tmp_path, extras):
    """The report is built whole by its own tests."""
    lines = [line for name, line in LINES.items() if COMMANDS_NEED[name] == extras]
    done = answer(tmp_path, extras, "-c", PROBE, *lines)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["figure", "report", "table", "verdicts"])
def test_without_its_extra_a_command_ends_in_one_line_that_names_it(tmp_path, name):
    done = answer(tmp_path, (), "-m", "artifact", *LINES[name].split())
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    needed = {*COMMANDS_NEED[name], "results"}  # which the report's extra brings, too
    assert any(f'pip install "fedsharp[{extra}]"' in done.stderr for extra in needed), done.stderr


@pytest.mark.parametrize(
    ("module", "line", "extra"), [("notebooks", "--help", "lab"), ("checks", "--draw --figures OUT/figures", "report")]
)
def test_programs_of_a_checkout_say_which_extra_they_lack(tmp_path, module, line, extra):
    done = answer(tmp_path, (), "-m", module, *line.split())
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert f'pip install "fedsharp[{extra}]"' in done.stderr


def test_a_claim_is_decided_with_the_extra_for_theory_alone(tmp_path):
    done = answer(tmp_path, ("theory",), "-m", "checks", "--claim", "thesis-fig3.1-concl", "--no-store")
    assert done.returncode == 0, done.stderr
