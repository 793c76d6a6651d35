"""Mean contrasts by hand, and what they refute that no part does."""

import doctest
from dataclasses import replace

import numpy as np
import pytest

from artifact.statements import contrasts
from artifact.statements.contrasts import mean_contrast
from artifact.statements.hypotheses import ALPHA, Comparison, equivalent, every, some, verdict


def test_examples():
    assert doctest.testmod(contrasts).failed == 0


def test_a_mean_refutes_a_conjunction_none_of_whose_parts_does():
    """Sixteen parts of mean -1: each is noisy, their mean is not."""
    noise = np.random.default_rng(0).normal(size=(16, 6))
    parts = [Comparison(str(i), tuple(-1 + 1.5 * row)) for i, row in enumerate(noise - noise.mean(0) / 2)]
    claim = every(parts)
    assert verdict(claim)[0] == "inconclusive"
    name, interval, leaf = verdict(claim, contrast=mean_contrast(claim))
    assert name == "contradicted" and leaf.label == "mean of 16 comparisons"
    assert interval.level == pytest.approx(1 - ALPHA) and interval.high < 0


def test_a_part_still_refutes_at_its_share_of_half_the_level():
    good, bad = (tuple(sign * (5 + 0.1 * x) for x in range(6)) for sign in (3, -1))
    claim = every([Comparison("good", good), Comparison("bad", bad)])
    name, interval, leaf = verdict(claim, contrast=mean_contrast(claim))
    assert (name, leaf.label) == ("contradicted", "bad")
    assert interval.level == pytest.approx(1 - 2 * ALPHA / 4)


def test_the_mean_contrast_is_seed_by_seed_and_of_nested_conjunctions_too():
    a, b, c = (Comparison(x, tuple(v), m) for x, v, m in (("a", (1, 2), 0), ("b", (3, 0), 1), ("c", (5, 4), 2)))
    found = mean_contrast(every([a, every([b, c])]))
    assert found.differences == (3.0, 2.0) and found.margin == 1.0 and found.printed is None
    printed = mean_contrast(every([replace(a, printed=2.0), replace(b, printed=4.0)]))
    assert printed.printed == 3.0


def test_what_has_no_mean_contrast():
    a, b = Comparison("a", (1.0, 2.0)), Comparison("b", (3.0, 0.0))
    assert mean_contrast(a) is None
    assert mean_contrast(some([a, b])) is None and mean_contrast(every([a, some([a, b])])) is None
    assert mean_contrast(every([a, Comparison("c", (1.0, 2.0, 3.0))])) is None
    assert mean_contrast(every([a, Comparison("c", (1.0, 2.0), widening=(1.0, 0.0))])) is None
    assert mean_contrast(equivalent("a", (1.0, 2.0), 3.0)) is None
