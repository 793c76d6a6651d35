"""Every example of docs/yours.md runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from artifact.base import paths

PAGE = (paths.DOCS / "yours.md").read_text(encoding="utf-8")
#: name -> Python text
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n\n```python\n(.*?)```", PAGE, re.S))


def run(code: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_example_is_left_out():
    assert len(EXAMPLES) == PAGE.count("```python") > 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, tmp_path):
    assert run(EXAMPLES[name], tmp_path)


def test_training_helps_in_the_examples(tmp_path):
    accuracies = re.findall(r"accuracy ([\d.]+)", run(EXAMPLES["train.py"], tmp_path))
    assert len(accuracies) == 3
    assert min(map(float, accuracies)) > 0.6
    first, last = map(float, re.findall(r"([\d.]+) in round", run(EXAMPLES["regression.py"], tmp_path)))
    assert last < first / 2
