"""Every example of docs/yours.md, docs/paper.md and docs/api.md runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from artifact import PUBLIC
from artifact.base import paths
from artifact.diagnosis.report import CHECKS
from artifact.statements.predicates import _TYPES as TYPES
from artifact.statements.predicates import Predicate

PAGE = "".join((paths.DOCS / name).read_text(encoding="utf-8") for name in ("yours.md", "paper.md", "api.md"))
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n\n```\w+\n(.*?)```", PAGE, re.S))
#: lines of a shell
COMMANDS = re.findall(r"<!-- commands -->\n\n```sh\n(.*?)```", PAGE, re.S)
#: name -> Python text
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n\n```python\n(.*?)```", PAGE, re.S))

#: examples that read the checkout
OF_CHECKOUT = ("statements.py", "program.py", "stored.py", "rate.py")


def run(code: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def printed(name: str) -> str:
    """What an example prints. What reads the checkout, as a file of statements finds ``theory``, runs from its root."""
    with tempfile.TemporaryDirectory() as folder:
        return run(EXAMPLES[name], paths.ROOT if name in OF_CHECKOUT else Path(folder))


def test_no_example_is_left_out():
    assert len(EXAMPLES) + len(FILES) == PAGE.count("```python") > 1


def test_every_public_name_has_an_example():
    code = "".join((*EXAMPLES.values(), *FILES.values()))
    imported = {name for line in re.findall(r"from fedsharp import (.*)", code) for name in line.split(", ")}
    assert [name for name in PUBLIC if f"fedsharp.{name}" not in code and name not in imported] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name):
    assert printed(name)


def test_the_commands_run_in_their_order(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    lines = "".join(COMMANDS).replace("python -m fedsharp", f"{sys.executable} -m artifact")
    done = subprocess.run(["bash", "-ec", lines], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"last round ([\d.]+) %", done.stdout)[1]) > 70
    assert len(COMMANDS) == PAGE.count("<!-- commands -->") > 0


def test_training_helps_in_the_examples():
    accuracies = re.findall(r"accuracy ([\d.]+)", printed("train.py"))
    assert len(accuracies) == 3
    assert min(map(float, accuracies)) > 0.6
    first, last = map(float, re.findall(r"([\d.]+) in round", printed("regression.py")))
    assert last < first / 2


def test_the_table_of_alarms_is_that_of_the_doctor():
    table = PAGE.split("| alarm | what is meant to hold |\n|---|---|\n")[1].split("\n\n")[0]
    assert table.splitlines() == [f"| `{check}` | {meaning} |" for check, meaning in CHECKS.items()]


def test_the_alarms_shown_are_those_that_the_doctor_prints():
    shown = PAGE.split("The report on the example ends with its alarms:\n\n```\n")[1].split("```")[0]
    assert shown.startswith("ALARM") and printed("doctor.py").endswith(shown)


def test_the_table_of_predicates_has_every_type_with_its_own_fields():
    rows = re.findall(r"^\| `([a-z]+)` \| [^|]+ \| (`.*`) \|$", PAGE.split("| type | what must hold |")[1], re.M)
    told = {name: set(re.findall(r"`(\w+)`", fields)) for name, fields in rows[: len(TYPES)]}
    common = Predicate.model_fields.keys() | {"type"}
    assert told == {name: one.model_fields.keys() - common for name, one in TYPES.items()}
