"""Statements about lines: how the sentences of a panel are decided."""

from __future__ import annotations

import hypothesis.extra.numpy as arrays
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.base.errors import UserError
from artifact.papers import figures
from artifact.papers.figures import statements


def _line(label, rows, x=(1, 2, 3)):
    return {"label": label, "seeds": list(range(len(rows))), "x": list(x), "values": rows}


UP = [[1.0, 2.0, 3.0], [1.1, 2.2, 3.1], [0.9, 2.1, 3.2]]
DOWN = [row[::-1] for row in UP]


@pytest.mark.parametrize(
    "sentence, lines, expected",
    [
        ("A > B", [_line("A", [[x + 1 for x in row] for row in UP]), _line("B", UP)], [True]),
        ("B > A", [_line("A", [[x + 1 for x in row] for row in UP]), _line("B", UP)], [False]),
        ("A > B", [_line("A", UP), _line("B", DOWN)], [None]),
        ("A > C", [_line("A", UP)], []),
        ("A > B at 3", [_line("A", UP), _line("B", DOWN)], [True]),
        ("A > B at 1", [_line("A", UP), _line("B", DOWN)], [False]),
        ("A > B at 7", [_line("A", UP), _line("B", DOWN)], []),
        ("A > B from 3", [_line("A", UP), _line("B", DOWN)], [True]),
        ("B > A from 2", [_line("A", UP), _line("B", DOWN)], [False]),
        ("A > B from 4", [_line("A", UP), _line("B", DOWN)], []),
        ("highest inside", [_line("A", [[1.0, 3.0, 1.1], [1.1, 3.2, 0.9], [0.9, 3.1, 1.0]])], [True]),
        ("highest inside: B", [_line("A", UP), _line("B", DOWN)], [False]),
        ("highest inside", [_line("A", [[1.0, 3.0, 1.1], [1.0, 0.5, 1.1]])], [None]),
        ("rising", [_line("A", UP), _line("B", DOWN)], [True, False]),
        ("rising", [_line("A", [row[:2] for row in UP], x=(1, 2))], []),  # of a sweep that goes on
        ("rising: B", [_line("A", UP), _line("B", DOWN)], [False]),
        ("lowest at 1", [_line("A", UP)], [True]),
        ("lowest at 3", [_line("A", UP)], [False]),
        ("peak at 2", [_line("A", [[1.0, 3.0, 1.1], [1.1, 3.2, 0.9], [0.9, 3.1, 1.0]])], [True]),
        ("peak at 2", [_line("A", UP)], [False]),
        ("flat within 0.5", [_line("A", [[1.0, 1.1, 1.0], [2.0, 2.1, 2.1], [3.0, 3.0, 3.1]])], [True]),
        ("flat within 0.5", [_line("A", UP)], [False]),
    ],
)
def test_sentences_are_decided(sentence, lines, expected):
    assert [s.holds for s in statements.decide([sentence], lines, "points")] == expected


def test_a_pair_is_compared_on_shared_seeds_and_points_only():
    a = _line("A", [[5.0, 6.0], [7.0, 8.0]], x=(1, 2))
    b = {"label": "B", "seeds": [1, 2], "x": [2, 3], "values": [[1.0, 9.0], [9.0, 9.0]]}
    (statement,) = statements.decide(["A > B"], [a, b], "")
    assert (statement.value, statement.n, statement.holds) == (8.0 - 1.0, 1, None)


SENTENCES = ["A > B", "A > B at 2", "highest inside: A", "rising: A", "lowest at 1", "peak at 2", "flat within 0.5"]


@settings(max_examples=300, deadline=None)
@given(arrays.arrays(float, (2, 3, 4), elements=st.integers(-20, 20).map(float)), st.sampled_from(SENTENCES))
def test_the_interval_that_is_shown_is_the_one_that_decided(values, sentence):
    """It lies beyond the limit exactly where the sentence holds, and below it exactly where it does not."""
    lines = [_line(label, rows.tolist(), x=(1, 2, 3, 4)) for label, rows in zip("AB", values, strict=True)]
    for one in statements.decide([sentence], lines, "points"):
        assert one.holds == (True if one.low > one.limit else False if one.high < one.limit else None)


def test_a_statement_of_several_comparisons_names_the_level_that_pays_for_them():
    """Two comparisons, three seeds: t(0.9875, 2) = 6.205 instead of 4.303 times the standard error, 0.7 / sqrt(3)."""
    line = _line("A", [[1.3, 0.0, -4.0], [2.0, 0.0, -4.2], [2.7, 0.0, -4.1]])
    (statement,) = statements.decide(["peak at 2"], [line], "points")
    assert (statement.holds, statement.value, statement.level) == (None, -2.0, 0.975)
    assert [statement.low, statement.high] == pytest.approx([-2 - 6.2053 * 0.40415, -2 + 6.2053 * 0.40415], abs=1e-3)
    assert str(statement) == (
        "A is higher at 2 than at both ends; decisive of 2 comparisons 2 > 1: undecided; "
        "-2 [-4.51, 0.508] points (n=3, 97.5 %)"
    )
    (one,) = statements.decide(["A > B at 2"], [_line("A", UP), _line("B", DOWN)], "points")
    assert one.level == 0.95 and "%" not in str(one)


def test_a_statement_with_a_margin_is_held_against_the_margin():
    """Flat within 0.5 is decided by how far the change lies above -0.5."""
    (statement,) = statements.decide(
        ["flat within 0.5"], [_line("A", [[1.0, 1.1], [2.0, 2.1], [3.0, 3.0]], x=(1, 2))], ""
    )
    assert statement.holds is True and statement.limit == -0.5 and -0.5 < statement.low < 0 < statement.high


def test_an_unknown_sentence_is_refused():
    with pytest.raises(UserError, match="rising"):
        statements.decide(["A beats B"], [], "")


def test_every_declared_sentence_is_one_of_the_forms_and_names_lines_that_are_there():
    for panel in figures.select("", "quick"):
        if panel.panel.kind in ("bars", "heatmap", "sketch"):
            continue
        labels = list(dict.fromkeys(series.label for series in panel.series))
        lines = [_line(label, UP, x=(panel.values or (1, 2, 3))[:3]) for label in labels]
        for sentence in panel.panel.checks:
            if " at " not in sentence and " from " not in sentence:
                assert statements.decide([sentence], lines, ""), (panel.id, sentence)


def test_no_verdict_from_one_seed():
    (statement,) = statements.decide(["A > B"], [_line("A", [[3.0]], x=(1,)), _line("B", [[1.0]], x=(1,))], "")
    assert statement.holds is None
    assert statement.low is None
