"""Intervals and tests for few seeds: coverage by simulation, exact p values by enumeration, hand examples."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.errors import UserError
from artifact.stats import Interval, holm, paired_difference, sign_flip_p, t_interval

TABLES = 2000


def test_interval_by_hand():
    """Values 1, 2, 3: mean 2, standard deviation 1, t_{0.975, 2} = 4.302653: 2 -+ 4.302653 / sqrt(3)."""
    interval = t_interval([1.0, 2.0, 3.0])
    half = 4.30265272974946 / math.sqrt(3)
    assert (interval.mean, interval.n, interval.level) == (2.0, 3, 0.95)
    assert interval.low == pytest.approx(2 - half, abs=1e-9)
    assert interval.high == pytest.approx(2 + half, abs=1e-9)
    assert interval.half_width == pytest.approx(half, abs=1e-9)


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_interval_coverage(n, level):
    """Normal tables of n seeds: the true mean is inside with the stated frequency, to four binomial standard errors."""
    generator = np.random.default_rng(n)
    samples = generator.normal(0.7, 0.02, size=(TABLES, n))
    inside = sum(not t_interval(row, level).excludes(0.7) for row in samples) / TABLES
    assert abs(inside - level) < 4 * math.sqrt(level * (1 - level) / TABLES)


def test_interval_is_wider_at_a_higher_level_and_with_fewer_values():
    values = [0.1, 0.4, 0.2, 0.5, 0.3]
    assert t_interval(values, 0.99).half_width > t_interval(values, 0.95).half_width
    assert t_interval(values[:3]).half_width > t_interval(values * 4).half_width


def test_one_value_has_no_interval():
    interval = t_interval([0.5])
    assert interval.mean == 0.5 and interval.n == 1
    assert math.isnan(interval.low) and math.isnan(interval.high)
    assert not interval.excludes(0.0)


def test_constant_values_have_an_interval_of_zero_width():
    assert t_interval([0.25] * 4) == Interval(0.25, 0.25, 0.25, 4)
    assert t_interval([0.25] * 4).excludes(0.0)


def test_no_values_are_refused():
    with pytest.raises(UserError):
        t_interval([])


def test_paired_difference_uses_the_pairs():
    """The seeds differ by more than the methods: paired, the difference 1 is certain; unpaired it is not."""
    a, b = [10.0, 20.0, 30.0], [9.0, 19.0, 29.0]
    assert paired_difference(a, b) == Interval(1.0, 1.0, 1.0, 3)
    assert t_interval(a).half_width > 10
    assert paired_difference(b, a).mean == -1.0


def test_sequences_of_different_length_are_refused():
    with pytest.raises(UserError):
        paired_difference([1.0, 2.0], [1.0])


def enumerated(differences):
    """Share of the 2^n sign patterns whose |mean| is at least the observed one."""
    magnitudes = np.abs(differences)
    observed = abs(np.sum(differences))
    totals = [abs(np.dot(signs, magnitudes)) for signs in itertools.product((-1, 1), repeat=len(magnitudes))]
    return sum(total >= observed * (1 - 1e-12) for total in totals) / len(totals)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_sign_flip_is_exact(n):
    generator = np.random.default_rng(100 + n)
    for _ in range(10):
        differences = generator.normal(0.5, 1.0, size=n)
        assert sign_flip_p(differences) == pytest.approx(enumerated(differences), abs=1e-12)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_smallest_sign_flip_p(n):
    """All differences of one sign: only the observed pattern and its mirror image are as extreme, 2 / 2^n."""
    assert sign_flip_p([0.1 * (i + 1) for i in range(n)]) == pytest.approx(2.0 ** (1 - n), abs=1e-12)


def test_sign_flip_without_evidence():
    assert sign_flip_p([0.3]) == 1.0
    assert sign_flip_p([1.0, -1.0]) == 1.0
    assert sign_flip_p([0.0, 0.0, 0.0]) == 1.0


def test_holm_by_hand():
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04; monotone: 0.02, 0.03, 0.06, 0.06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02], abs=1e-15)


def test_holm_stops_at_one():
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_the_raw_values_and_bonferroni_and_keeps_their_order(p_values):
    adjusted = holm(p_values)
    for raw, value in zip(p_values, adjusted, strict=True):
        assert raw <= value <= min(1.0, len(p_values) * raw)
    in_order = [adjusted[i] for i in np.argsort(p_values, kind="stable")]
    assert in_order == sorted(in_order)
