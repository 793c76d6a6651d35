"""Typed predicates: what the ledger may say, and what is refused."""

import pytest

from artifact.base.errors import UserError
from artifact.papers.predicates import parse


def test_predicates_of_every_type_are_read():
    common = {"says": "s", "table": "sun2023/1", "within": ["x"]}
    own = [
        {"type": "ordering", "order": ["A", ["B", "C"]]},
        {"type": "difference", "pairs": [["A", "B"]], "margin": 1.5, "at_least": 1},
        {"type": "trend", "order": ["1", "2", "3"], "shape": "rising"},
        {"type": "value", "labels": ["A"], "above": 1.0},
        {"type": "cost", "pairs": [["A", "B"]], "factor": 0.5},
    ]
    found = [parse(common | entry, "c") for entry in own]
    assert [p.type for p in found] == ["ordering", "difference", "trend", "value", "cost"]
    assert found[0].order == ("A", ("B", "C")) and found[1].margin == 1.5 and found[4].factor == 0.5
    assert all(p.better == "higher" and p.measure == "metric" and not p.of_figure for p in found)


def test_a_sweep_of_a_panel_takes_its_levels_from_there():
    entry = {
        "type": "trend",
        "says": "s",
        "table": "qu2022/fig3/b",
        "within": ["A"],
        "shape": "lowest-at",
        "level": "first",
    }
    found = parse(entry | {"along": "columns"}, "c")
    assert found.of_figure and found.order == ()
    with pytest.raises(UserError):
        parse(entry, "c")


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"type": "poem"}, "type"),
        ({"type": "ordering", "order": ["A"]}, "order"),
        ({"type": "ordering", "order": ["A", "B"], "margin": -1.0}, "margin"),
        ({"type": "ordering", "order": ["A", ["B", "A"]]}, "where A would be compared with itself"),
        ({"type": "difference", "pairs": [["A", "B"], ["B", "B"]]}, "where B would be compared with itself"),
        ({"type": "difference", "pairs": [["A", ["B", "A"]]]}, "where A would be compared with itself"),
        ({"type": "trend", "order": ["A", "B", "B"], "shape": "rising"}, "where B would be compared with itself"),
        ({"type": "cost", "pairs": [["A", "A"]]}, "where A would be compared with itself"),
        ({"type": "difference", "pairs": [["A", "B"]], "equal": True}, "equal"),
        ({"type": "difference", "pairs": [["A", "B"]], "lead": ["X", "Y"]}, "lead"),
        ({"type": "trend", "order": ["A", "B"], "shape": "rising"}, "order"),
        ({"type": "trend", "order": ["A", "B", "C"], "shape": "peak-at"}, "level"),
        ({"type": "trend", "order": ["A", "B", "C"], "shape": "flat"}, "flat"),
        ({"type": "value", "labels": ["A"]}, "above"),
        ({"type": "cost", "pairs": [["A", "B"]], "factor": 0.0}, "factor"),
        ({"type": "cost", "pairs": [["A", "B"]], "colour": "red"}, "colour"),
        ({"type": "cost", "pairs": [["A", "B"]], "table": "Table 1"}, "table"),
    ],
)
def test_bad_predicates_are_refused_on_one_line(entry, field):
    with pytest.raises(UserError) as caught:
        parse({"says": "planted", "table": "qu2022/1", "within": ["X"]} | entry, "planted")
    assert field in str(caught.value) and "planted" in str(caught.value) and "\n" not in str(caught.value)
