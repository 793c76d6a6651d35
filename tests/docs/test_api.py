"""The API reference: pdoc builds it from docstrings by the command that the page names."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from artifact.base import paths

PAGE = (paths.DOCS / "api.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_of_the_page_builds_pages_with_every_name_that_it_lists(tmp_path):
    command = re.search(r"^python -m pdoc -o out/api (.*)$", PAGE, re.M)[1].split()
    done = subprocess.run(
        [sys.executable, "-m", "pdoc", "-o", str(tmp_path), *command], capture_output=True, text=True, cwd=paths.ROOT
    )
    assert done.returncode == 0, done.stderr
    built = {path.relative_to(tmp_path).with_suffix("").as_posix(): path for path in tmp_path.rglob("*.html")}
    assert {name.replace(".", "/") for name in command} <= set(built)
    train = built["artifact/interface/train"].read_text(encoding="utf-8")
    assert 'id="train"' in train and "Raises" in train  # the function, with its docstring
    assert 'id="SAM"' in built["artifact/optim"].read_text(encoding="utf-8")
