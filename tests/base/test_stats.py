"""Intervals and tests for few seeds: coverage by simulation, exact p values by enumeration, hand examples."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from artifact.base.errors import UserError
from artifact.base.stats import (
    Crossing,
    Interval,
    area_under_curve,
    first_to_target,
    holm,
    linear_contrasts,
    p_greater,
    page_p,
    paired_difference,
    rounds_to_target,
    sign_flip_p,
    slope,
    t_interval,
)

TABLES = 2000


def binomial_error(level, draws):
    """Four standard errors of a share of ``draws`` simulated tables."""
    return 4 * math.sqrt(level * (1 - level) / draws)


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
    assert abs(inside - level) < binomial_error(level, TABLES)


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
    assert t_interval([0.1] * 3) == Interval(0.1, 0.1, 0.1, 3), "the rounded mean is another number"


def test_signed_text():
    assert Interval(1.2, 0.4, 2.0, 3).signed == "+1.20 [+0.40, +2.00] (n=3)"
    assert Interval(0.1, -0.4, 0.6, 2).signed == "+0.10 [-0.40, +0.60] (n=2)"
    assert t_interval([-0.5]).signed == "-0.50 (n=1)"


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


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_smallest_sign_flip_p(n):
    """All differences of one sign: only the observed pattern and its mirror image are as extreme, 2 / 2^n."""
    assert sign_flip_p([0.1 * (i + 1) for i in range(n)]) == pytest.approx(2.0 ** (1 - n), abs=1e-12)


def test_sign_flip_without_evidence():
    assert sign_flip_p([0.3]) == 1.0
    assert sign_flip_p([1.0, -1.0]) == 1.0
    assert sign_flip_p([0.0, 0.0, 0.0]) == 1.0


def test_sign_flip_of_many_differences_draws_signs_and_stays_near_the_normal_law():
    """For 40 differences of equal size the sum of signs is binomial; its two-sided tail is known."""
    differences = [1.0] * 26 + [-1.0] * 14  # a sum of 12: at least 26 equal signs
    exact = 2 * sum(math.comb(40, up) for up in range(26, 41)) / 2**40
    assert sign_flip_p(differences) == pytest.approx(exact, abs=0.002)
    assert sign_flip_p([1.0] * 40) < 1e-5


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


# ---- intervals of differences ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 5])
def test_coverage_of_the_paired_difference(n):
    """Seeds move both methods by the same 5 points; the true difference 0.4 is inside in 95 % of the tables."""
    generator = np.random.default_rng(10 + n)
    seeds = generator.normal(60, 5, size=(TABLES, n))
    a = seeds + 0.4 + generator.normal(0, 0.5, size=(TABLES, n))
    b = seeds + generator.normal(0, 0.5, size=(TABLES, n))
    inside = sum(not paired_difference(x, y).excludes(0.4) for x, y in zip(a, b, strict=True)) / TABLES
    assert abs(inside - 0.95) < binomial_error(0.95, TABLES)


# ---- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "alpha"), [(3, 0.25), (5, 0.0625), (5, 0.125)])
def test_size_of_the_sign_flip_test(n, alpha):
    """Differences symmetric about zero, far from normal: P(p <= alpha) is alpha at the values that p can take."""
    generator = np.random.default_rng(40 + n)
    values = generator.choice((-1, 1), size=(TABLES, n)) * generator.exponential(size=(TABLES, n))
    rejected = sum(sign_flip_p(row) <= alpha + 1e-12 for row in values) / TABLES
    assert abs(rejected - alpha) < binomial_error(alpha, TABLES)


@pytest.mark.parametrize("n", [3, 5])
def test_one_sided_p_agrees_with_the_interval_and_has_its_size(n):
    generator = np.random.default_rng(60 + n)
    rejected = 0
    for row in generator.normal(0.3, 1.0, size=(TABLES, n)):
        p = p_greater(row, 0.3)
        assert (p < 0.025) == (t_interval(row).low > 0.3)
        rejected += p < 0.025
    assert abs(rejected / TABLES - 0.025) < binomial_error(0.025, TABLES)


def test_one_sided_p_by_hand():
    """Differences 1 and 2: mean 1.5, standard error 0.5, t = 3; one degree of freedom is the Cauchy distribution."""
    assert p_greater([1.0, 2.0]) == pytest.approx(0.5 - math.atan(3) / math.pi, abs=1e-12)
    assert p_greater([1.0, 2.0], 2.0) == pytest.approx(0.75, abs=1e-12)  # t = -1


def test_one_sided_p_of_constant_and_single_values():
    assert p_greater([0.5, 0.5, 0.5], 0.4) == 0.0
    assert p_greater([0.5, 0.5, 0.5], 0.5) == 1.0
    assert p_greater([9.0]) == 1.0


# ---- trends ----------------------------------------------------------------------------------------------------------


def test_page_by_enumeration():
    """Two seeds, three levels: Page's L over all 36 pairs of rankings."""
    values = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
    weights = np.arange(1, 4)
    observed = sum(stats.rankdata(row) @ weights for row in values)
    rankings = [np.array(r) for r in itertools.permutations((1, 2, 3))]
    totals = [x @ weights + y @ weights for x in rankings for y in rankings]
    assert page_p(values) == pytest.approx(np.mean([total >= observed for total in totals]))


@pytest.mark.parametrize("n", [3, 5])
def test_size_and_power_of_the_trend_test(n):
    generator = np.random.default_rng(70 + n)
    draws = 1000
    noise = generator.normal(size=(draws, n, 5))
    assert np.mean([page_p(row) <= 0.05 for row in noise]) < 0.05 + binomial_error(0.05, draws)
    rising = noise + 1.5 * np.arange(5)
    assert np.mean([page_p(row) <= 0.05 for row in rising]) > 0.99
    assert np.mean([page_p(-row) <= 0.05 for row in rising]) == 0


def test_page_of_many_levels_is_normal():
    """Nine levels, two seeds, all rising: L = 2 * 285, of mean 2 * 225 and variance 2 * 9^2 * 10^2 * 8 / 144."""
    z = (2 * 285 - 2 * 225) / math.sqrt(2 * 9**2 * 10**2 * 8 / 144)
    assert page_p([list(range(9))] * 2) == pytest.approx(stats.norm.sf(z), rel=1e-9)


def test_trend_refuses_two_levels_and_cannot_tell_from_one_seed():
    with pytest.raises(UserError):
        page_p([[1.0, 2.0], [1.0, 2.0]])
    assert page_p([[1.0, 2.0, 3.0]]) == 1.0


def test_linear_contrast_is_the_rise_of_the_fitted_line():
    """0, 1, 5 at positions -1, 0, 1: slope 2.5, rise 5; a constant row does not rise; a shift does not matter."""
    assert linear_contrasts([[0.0, 1.0, 5.0], [2.0, 2.0, 2.0]]) == pytest.approx([5.0, 0.0])
    assert linear_contrasts([[7.0, 8.0, 12.0]]) == pytest.approx([5.0])


@pytest.mark.parametrize("n", [3, 5])
def test_coverage_of_the_trend_interval(n):
    """Levels rise by 0.5 each over six levels: the line rises by 2.5."""
    generator = np.random.default_rng(80 + n)
    tables = 0.5 * np.arange(6) + generator.normal(size=(TABLES, n, 6)) + generator.normal(size=(TABLES, n, 1))
    inside = sum(not t_interval(linear_contrasts(table)).excludes(2.5) for table in tables) / TABLES
    assert abs(inside - 0.95) < binomial_error(0.95, TABLES)


# ---- curves ----------------------------------------------------------------------------------------------------------

ROUNDS, VALUES = [1, 10, 20, 30, 40], [20.0, 55.0, 61.0, 59.0, 66.0]


def test_target_is_reached_at_the_first_evaluated_round_at_it():
    assert rounds_to_target(ROUNDS, VALUES, 60.0) == Crossing(20, 9, False, 40)  # true first round: 11 to 20
    assert rounds_to_target(ROUNDS, VALUES, 61.0).rounds == 20
    assert rounds_to_target(ROUNDS, VALUES, 15.0) == Crossing(1, 0, False, 40)
    assert rounds_to_target(ROUNDS, VALUES, 70.0) == Crossing(40, 0, True, 40)
    for bad in (([], []), ([1, 2], [0.5])):
        with pytest.raises(UserError):
            rounds_to_target(*bad, 1.0)


def test_first_to_target_counts_censored_pairs():
    early, late, never = Crossing(10, 0, False, 50), Crossing(30, 0, False, 50), Crossing(50, 0, True, 50)
    wins = first_to_target([early, late, never, never, early], [late, never, early, never, early])
    assert (wins.a, wins.b, wins.same, wins.neither) == (2, 1, 1, 1)
    at_the_horizon = Crossing(50, 0, False, 50)
    assert first_to_target([at_the_horizon], [never]).a == 1


def restricted_difference(a, b):
    """Of min(T, H), paired by seed; T is known only up to each side's grid, as in tables and verdicts."""
    rounds = ([c.rounds for c in side] for side in (a, b))
    return paired_difference(*rounds).widened(*(float(np.mean([c.grid for c in side])) for side in (a, b)))


def test_restricted_difference_by_hand():
    """Restricted rounds 10, 20, 50 (never) against 30, 40, 50: differences -20, -20, 0; evaluation every ten rounds."""
    a = [Crossing(10, 9, False, 50), Crossing(20, 9, False, 50), Crossing(50, 0, True, 50)]
    b = [Crossing(30, 9, False, 50), Crossing(40, 9, False, 50), Crossing(50, 9, False, 50)]
    inner = t_interval([-20.0, -20.0, 0.0])
    found = restricted_difference(a, b)
    assert found.mean == pytest.approx(-40 / 3)
    assert found.low == pytest.approx(inner.low - 6.0) and found.high == pytest.approx(inner.high + 9.0)


def test_equal_crossings_on_a_coarse_grid_are_not_certain():
    """All three pairs differ by exactly one evaluation: without the grid the interval would be the point 10."""
    a, b = [Crossing(30, 9, False, 50)] * 3, [Crossing(20, 9, False, 50)] * 3
    found = restricted_difference(a, b)
    assert (found.low, found.high) == (1.0, 19.0)


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("every", [1, 10])
def test_coverage_of_the_restricted_difference(n, every):
    """Gaussian crossing times around 60 and 80 of 100 rounds, a share never reaching: the true restricted means.

    The truth is the mean of a million draws of min(T, H); evaluated every tenth round the interval may only be longer.
    """
    generator = np.random.default_rng(90 + n)
    horizon, centres = 100, (60.0, 80.0)
    many = [np.minimum(np.ceil(generator.normal(c, 20, size=10**6).clip(1)), horizon).mean() for c in centres]
    truth, inside = many[0] - many[1], 0
    for _ in range(TABLES):
        sides = [[_seen(t, horizon, every) for t in generator.normal(c, 20, size=n)] for c in centres]
        inside += not restricted_difference(*sides).excludes(truth)
    assert inside / TABLES > 0.95 - binomial_error(0.95, TABLES) - 0.01  # censoring makes the differences skewed
    if every == 1:
        assert inside / TABLES < 0.98


def _seen(time, horizon, every):
    first = max(1, math.ceil(time))
    seen = -(-first // every) * every
    return Crossing(horizon, 0, True, horizon) if first > horizon else Crossing(seen, every - 1, False, horizon)


def test_area_under_curve_is_the_mean_height():
    assert area_under_curve([5, 15, 35], [0.0, 10.0, 10.0]) == pytest.approx((50 + 200) / 30)
    assert area_under_curve([5], [3.0]) == 3.0
    assert slope([10, 20, 30], [1.0, 3.0, 5.0]) == pytest.approx(0.2)
    assert slope([10, 20], [1.0, 4.0]) == pytest.approx(0.3)
    assert slope([10], [1.0]) == 0.0
