"""The fuzzer's own parts, and a small part of what it draws: ``python -m tests.fuzz`` plays tens of thousands."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.fuzz.__main__ import Workshop  # noqa: E402
from tests.fuzz.process import Ended, attempt  # noqa: E402


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    before = dict(os.environ)
    yield Workshop(tmp_path_factory.mktemp("fuzz"), 300.0)
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("sort", ["line", "file"])
def test_forty_hostile_attempts_break_no_rule(sort, shop):
    found = []
    for number in range(40):
        text, play = getattr(shop, sort)(35, number)
        found += [(number, rule, text) for rule in play().broken()]
    assert found == []


def test_attempts_follow_from_their_seed(shop):
    assert [shop.line(3, number)[0] for number in range(50)] == [shop.line(3, number)[0] for number in range(50)]
    kinds = {shop.sound.draw(3, number).kind for number in range(2000)}
    assert kinds == set(shop.sound.kinds)


@pytest.mark.parametrize(
    ("ended", "rules"),
    [
        (Ended(0, "well", ""), []),
        (Ended(None, "", ""), ["ends in time"]),
        (Ended(None, "", "\r22 of 933 runs, remaining 11 min 15 s"), []),
        (Ended(None, "", "\r7 %"), []),
        (Ended(None, "", "22 of 933 runs, remaining 11 min 15 s\nerror: x"), ["ends in time"]),
        (Ended(1, "", "Traceback (most recent call last):"), ["no traceback"]),
        (Ended(-11, "", ""), ["exit code"]),
        (Ended(2, "", "error: a\nerror: b"), ["one line and code 2"]),
        (Ended(2, "", "left out: x\nerror: a"), []),
        (Ended(2, "Usage: artifact data", ""), []),
        (Ended(2, "", "error: a", left="x"), ["nothing left behind"]),
        (Ended(0, "", "", outside="x"), ["nothing outside its folder"]),
    ],
)
def test_a_broken_rule_is_found(ended, rules):
    assert ended.broken() == rules


@pytest.mark.parametrize(
    ("call", "code", "errors"),
    [
        (lambda: 2, 2, ""),
        (lambda: sys.exit(1), 1, ""),
        (lambda: os.abort(), -6, ""),
        (lambda: 1 / 0, 1, "ZeroDivisionError"),
        (lambda: time.sleep(60), None, ""),
    ],
)
def test_an_attempt_says_how_its_call_ended(call, code, errors, tmp_path):
    ended = attempt(call, tmp_path, 3.0 if code is None else 60.0)
    assert ended.code == code and errors in ended.errors
