"""The torture chamber's own parts: scenarios follow from their seed, damage damages, and a broken rule is written down.

``python -m tests.torture`` plays whole scenarios, which takes minutes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.torture import __main__ as program  # noqa: E402
from tests.torture import damage, scenarios  # noqa: E402
from tests.torture.chamber import Chamber, Ended, Violation  # noqa: E402


def test_a_scenario_follows_from_its_seed():
    drawn = [scenarios.draw(3, number) for number in range(200)]
    assert drawn == [scenarios.draw(3, number) for number in range(200)]
    kinds = {step.kind for steps in drawn for step in steps}
    assert kinds == {"run", "sweep", "pair", "damage", "read", "scarce"}
    assert all(callable(getattr(Chamber, kind)) for kind in kinds)
    assert {step.how["how"] for steps in drawn for step in steps if step.kind == "damage"} == set(scenarios.DAMAGES)


@pytest.mark.parametrize("kind", scenarios.DAMAGES)
def test_every_kind_of_damage_changes_a_file(kind, tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"round": 1}\n{"round": 2}\n')
    before = path.read_bytes()
    damage.KINDS[kind](path, 0.4)
    small = path.is_file() and path.lstat().st_size < 100 and not path.is_symlink()
    assert os.path.lexists(path) == (kind != "gone")
    assert not small or path.read_bytes() != before


@pytest.mark.parametrize(
    ("code", "errors", "rule"),
    [
        (1, "Traceback (most recent call last):\n", "no traceback"),
        (2, "error: a\nerror: b\n", "one line and code 2"),
        (2, "", "one line and code 2"),
        (0, "There appear to be 1 leaked semaphore objects", "nothing left behind"),
        (2, "left out: x\nerror: a\n", None),
    ],
)
def test_a_broken_rule_is_written_down(code, errors, rule, tmp_path):
    chamber = Chamber(tmp_path, tmp_path, {}, 1.0)
    chamber._judge(Ended("words", code, "", errors))
    assert [violation.rule for violation in chamber.violations] == ([rule] if rule else [])


def test_a_process_that_does_not_end_and_what_it_leaves_are_written_down(tmp_path):
    """The command's place is taken by a shell that starts a process of its own and waits."""
    chamber = Chamber(tmp_path, tmp_path, {}, 0.3)
    chamber.program = ["sh", "-c", "sleep 60 & sleep 60"]
    chamber.grace = 0.2
    ended = chamber.end(chamber.start(""), "words")
    assert ended.code is None
    assert [violation.rule for violation in chamber.violations] == ["ends in time", "nothing left behind"]


@pytest.mark.parametrize(("seconds", "kept"), [(0, [1]), (150, [1]), (200, [0, 1])])
def test_steps_that_a_rule_does_not_need_are_dropped_while_there_is_time(seconds, kept, monkeypatch):
    """Step 1 breaks the rule; a replay takes so many seconds, and none begins after 300."""
    clock = [0.0]
    monkeypatch.setattr(program.time, "monotonic", lambda: clock[0])

    def tried(steps):
        clock[0] += seconds
        return [Violation(0, "ends in time", "")] if 1 in steps else [], [], []

    assert program._shrunk([0, 1, 2], [0, 1, 2], "ends in time", tried) == kept


def test_what_store_repair_says_is_done_and_a_pipe_is_not_opened(tmp_path, monkeypatch):
    """The program's place is taken by a shell that always says to move the first run away."""
    monkeypatch.setattr("tests.torture.chamber.METHODS", ())
    (tmp_path / "undisturbed" / "b").mkdir(parents=True)
    chamber = Chamber(tmp_path, tmp_path / "undisturbed", {}, 5.0)
    for key in "ab":
        (chamber.store / key).mkdir(parents=True)
    for run in (chamber.store / "b", chamber.undisturbed / "b"):
        (run / "metrics.jsonl").write_text("")
    (chamber.store / "b" / "done").touch()
    os.mkfifo(chamber.store / "b" / "checkpoint.safetensors")
    chamber.program = ["sh", "-c", f"echo 'make again: {chamber.store}/a: move the folder away, then run'"]
    chamber.close()
    assert [path.name for path in chamber.store.iterdir()] == ["b"] and chamber.violations == []
