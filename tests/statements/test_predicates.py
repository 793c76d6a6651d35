"""Typed predicates: what the ledger may say, and what is refused."""

import pytest

from artifact.base.errors import UserError
from artifact.statements.comparisons import Numbers, tree
from artifact.statements.predicates import parse


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
        ({"type": "difference", "pairs": [["A", ["B", "C"]]], "rank": 3}, "rank at most 2"),
        ({"type": "difference", "pairs": [["A", "B"]], "slack": 1.0, "margin": 1.0}, "slack"),
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


# ---- sides of several names, ranks and slack -------------------------------------------------------------------------


class Typed(Numbers):
    """Three seeds of four methods in one column; the best in the mean is C, then A, B and D."""

    def values(self, compared, within):
        return dict(enumerate({"A": (3, 4, 5), "B": (2, 3, 4), "C": (5, 5, 5), "D": (1, 1, 1)}[compared]))

    def levels(self, within):
        return ()


def compared(**entry):
    predicate = parse({"type": "difference", "says": "s", "table": "own/1", "within": ["X"]} | entry, "c")
    return tree(predicate, Typed(predicate))


def test_of_several_names_on_either_side_the_best_in_the_mean_counts():
    assert compared(pairs=[[["A", "B"], ["C", "D"]]]).differences == (-2, -1, 0)


def test_the_second_best_of_the_others_is_the_one_that_best_or_second_best_has_to_beat():
    assert compared(pairs=[["A", ["B", "C", "D"]]], rank=2).differences == (1, 1, 1)


def test_not_worse_leaves_a_slack_below_zero():
    assert compared(pairs=[["A", "B"]], slack=0.5).margin == -0.5
    order = compared(type="ordering", order=["C", "A"], slack=2.0)
    assert order.margin == -2.0 and order.differences == (2, 1, 0)
