"""Numbers of statements, edited one at a time: the check fails, or evidence, page and notebook change with it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest
from nightly import nightly

from checks import edits, runner
from theory.inexact import theorem
from theory.kit.verdict import registry

#: FEDSHARP_EDITS=30 draws thirty, in some minutes
COUNT, SEED = int(os.environ.get("FEDSHARP_EDITS", "2")), 0


def test_edited_numbers_are_noticed(tmp_path):
    """An edited number fails the check, or shows in its evidence, on its page and in its notebook.

    A number in a text that names a step may show nowhere; what shows in the evidence shows on the page.
    In a process of its own, which forks a child for every edit; a folder of kept verdicts changes nothing.
    """
    command = [sys.executable, "-W", "ignore", "-m", "checks.edits", str(COUNT), str(SEED)]
    kept = os.environ | {runner.KEPT_VARIABLE: os.environ.get(runner.KEPT_VARIABLE, str(tmp_path))}
    done = subprocess.run(command, capture_output=True, text=True, env=kept, timeout=60 * COUNT)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == COUNT, done.stderr[-2000:]
    unseen = [line for line in lines if line.split()[0] not in ("fails", "changes")]
    texts = tuple(" ".join(str(site).split()) for site in edits.sites() if site.text)
    assert [line for line in unseen if not line.startswith("unnoticed by evidence")] == []
    assert [line for line in unseen if not " ".join(line.split()).endswith(texts)] == []


@nightly
@pytest.mark.parametrize("claim", ["sun23-eq8", "qu22-lemA.5", "qu22-lemB.5-id"])
def test_no_number_of_these_checks_is_decoration(claim, monkeypatch):
    """Each had one that could be edited without a trace."""
    monkeypatch.delenv(runner.KEPT_VARIABLE, raising=False)
    places = [site for site in edits.sites() if site.owner == claim]
    found = list(edits.tried(places, shown=False))
    assert found and [str(site) for site, seen in found if seen not in ("fails", "changes")] == []


def test_numbers_of_texts_and_of_expressions_are_drawn_and_others_are_not():
    sites = edits.sites()
    assert len(sites) > 3000 and {site.module for site in sites} >= {module.__name__ for module in edits.OBJECTS}
    assert len({site.owner for site in sites if site.owner in registry.checks}) > 150
    text = 'def f(x):\n    """9"""\n    y = x[7] + 12\n    return decide(y, "a <= 3 b_2", function_class="5")\n'
    (function,) = ast.parse(text).body
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "source", lambda module: text)
        found = list(edits.numbers("claim", theorem, function))
        assert [(site.number, site.statement) for site in found] == [("12", 3), ("3", 4)]
        assert "y = x[7] + 13\n" in found[0].edited() and '"a <= 4 b_2"' in found[1].edited()
        assert [site.text for site in found] == [False, True]


def test_the_condition_of_a_branch_that_is_not_taken_is_no_number_of_a_statement():
    """It says when a check refuses to answer; one that is taken decides."""
    text = "def f(x):\n    if x > 5:\n        raise ValueError\n    return 7\n"
    (function,) = ast.parse(text).body
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "source", lambda module: text)
        found = list(edits.numbers("claim", theorem, function))
    assert [(site.number, site.branch) for site in found] == [("5", 3), ("7", 0)]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({"fails": "refuted: "}, "fails"),
        ({"fails": "", "evidence": 2, "page": 2, "notebook": 2}, "changes"),
        ({"fails": "", "evidence": 2, "page": 1, "notebook": 2}, "unnoticed by page"),
        ({"fails": "", "evidence": 1, "page": 1, "notebook": 1}, "unnoticed by evidence, page, notebook"),
    ],
)
def test_an_edit_must_show_everywhere(after, expected):
    assert edits.outcome({"fails": "", "evidence": 1, "page": 1, "notebook": 1}, after) == expected


def test_a_child_that_dies_has_failed():
    assert edits.in_child(lambda: os._exit(3)) == {"fails": "the process ended"}
    assert edits.in_child(lambda: 1 / 0)["fails"].startswith("ZeroDivisionError")
