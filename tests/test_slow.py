"""Slow tests: each is in one part, a landing plays one part, and what is named is always played."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
from slow import PARTS, everything, part, waits


def item(name: str, **kwargs):
    """A slow test of that name."""
    return SimpleNamespace(nodeid=name, get_closest_marker=lambda _: pytest.mark.slow(**kwargs).mark)


NAMES = [f"tests/test_a.py::test_b[{number}]" for number in range(800)]


def played_in(**kwargs) -> dict[str, list[int]]:
    return {name: [p for p in range(PARTS) if not waits(item(name, **kwargs), p)] for name in NAMES}


def test_each_slow_test_is_played_in_one_part_and_parts_are_alike():
    parts = played_in().values()
    assert {len(own) for own in parts} == {1}
    count = Counter(own[0] for own in parts)
    assert len(count) == PARTS and max(count.values()) < 2 * min(count.values())


def test_a_file_that_shares_what_is_slow_is_in_one_part():
    assert len(set(map(tuple, played_in(whole_file=True).values()))) == 1


def test_at_night_all_are_played(monkeypatch):
    monkeypatch.setenv("FEDSHARP_NIGHTLY", "1")
    assert part() is None and not any(waits(item(name), part()) for name in NAMES)


def test_the_part_follows_the_commits(monkeypatch):
    monkeypatch.delenv("FEDSHARP_NIGHTLY", raising=False)
    seen = []
    for count in ("663\n", "664\n", "671\n", ""):  # nothing: no repository
        monkeypatch.setattr("slow.subprocess.run", lambda *_, count=count, **__: SimpleNamespace(stdout=count))
        seen.append(part())
    assert seen == [7, 0, 7, 0]


@pytest.mark.parametrize(
    ("args", "chosen", "all_of_it"),
    [
        (["tests", "checks"], {}, True),
        (["/a/tests", "/a/checks"], {}, True),
        (["tests", "checks"], {"keyword": "kills"}, False),
        (["tests", "checks"], {"markexpr": "slow"}, False),
        (["tests/test_slow.py"], {}, False),
        (["tests"], {}, False),
        (["tests/test_robustness.py::test_ten_kills_and_the_same_bits"], {}, False),
    ],
)
def test_what_is_selected_by_hand_is_played(args, chosen, all_of_it):
    config = SimpleNamespace(args=args, getoption=lambda name: chosen.get(name, ""))
    assert everything(config) is all_of_it
