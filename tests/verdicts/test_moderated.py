"""Moderated t against Smyth's formulas by hand, and its errors where variances are equal and where they are not."""

import doctest
from types import SimpleNamespace

import moderated_errors
import numpy as np
import pytest
from click.testing import CliRunner
from moderated_errors import simulated
from scipy import special, stats
from verdict_errors import Claim

from artifact.base.stats import t_interval
from artifact.papers.hypotheses import Comparison, every
from artifact.verdicts import moderated
from artifact.verdicts.moderated import Prior, intervals, prior


def made(scales, n=200) -> Claim:
    values = np.random.default_rng(0).normal(size=(n, len(scales))) * scales
    node = every([Comparison(str(j), tuple(values[:, j])) for j in range(len(scales))])
    return Claim("made", node, values - values.mean(0), values.std(0, ddof=1), True)


def test_examples():
    assert doctest.testmod(moderated).failed == 0


@pytest.mark.parametrize("df", [1.5, 4.0])
def test_the_prior_of_scaled_inverse_chi_square_variances_is_found(df):
    """Smyth 2004, section 3: 1/sigma^2 ~ chi^2_d0 / (d0 s0^2), s^2 ~ sigma^2 chi^2_d / d."""
    rng = np.random.default_rng(0)
    sigma = df * 2.0 / rng.chisquare(df, 200_000)
    found = prior(sigma * rng.chisquare(2, 200_000) / 2, df=2, cap=1e6)
    assert found.df == pytest.approx(df, rel=0.05) and found.variance == pytest.approx(2.0, rel=0.05)


def test_equal_variances_are_capped():
    variances = np.random.default_rng(0).chisquare(2, 500) / 2
    assert prior(variances, 2).df == 6.0 and prior(variances, 2, cap=1e6).df > 6
    assert special.polygamma(1, moderated._trigamma_inverse(0.7)) == pytest.approx(0.7)


def test_a_moderated_variance_lies_between_its_own_and_the_priors():
    assert Prior(6.0, 1.0).of(4.0, 2) == pytest.approx((6 + 8) / 8)
    assert Prior(0.0, 1.0).of([4.0, 2.0], 2) == pytest.approx([4.0, 2.0])


def test_intervals_by_hand_and_without_spread():
    data = [[1.0, 2.0, 3.0], [2.0, 2.5, 3.0], [0.0, 2.0, 4.0], [5.0, 5.0, 5.0]]
    found = intervals(data)
    shared = prior([1.0, 0.25, 4.0], 2)
    half = np.sqrt(shared.of(1.0, 2) / 3) * stats.t.ppf(0.975, shared.df + 2)
    assert (found[0].low, found[0].high) == pytest.approx((2 - half, 2 + half))
    assert (found[3].low, found[3].mean, found[3].high) == (5, 5, 5)
    assert prior([2.0], 2).df == 0


def test_the_capped_test_keeps_its_family_wise_error_and_finds_more_than_t():
    claim = made(np.exp(np.random.default_rng(1).normal(0, 0.5, 20)))
    capped, plain = (simulated(claim, 3, 400, np.random.default_rng(0), cap) for cap in (6.0, None))
    assert capped.family < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 400)
    assert plain.worst == pytest.approx(0.95, abs=0.04)
    assert capped.found > plain.found + 0.2


def verdict(id, decided_by, comparisons, command="python -m artifact sweep a/1"):
    rows = []
    for label, data in comparisons.items():
        i = t_interval(data)
        rows.append({"label": label, "mean": i.mean, "low": i.low, "high": i.high, "n": i.n})
    return SimpleNamespace(id=id, decided_by=decided_by, comparisons=rows, command=command, unit="points")


def test_the_second_column_borrows_from_the_claims_of_the_same_table():
    a, b, c = (1.0, 2.0, 3.0), (2.0, 2.5, 3.0), (0.0, 2.0, 4.0)
    found = moderated.beside(
        [
            verdict("one", "x", {"x": a, "y": b}),
            verdict("two", "z", {"z": c, "x": a}),
            verdict("alone", "x", {"x": a}, command="python -m artifact sweep a/2"),
            verdict("mean", "mean of 2 comparisons", {"x": a, "y": b}),
        ]
    )
    expected = intervals([a, b, c])
    assert (found["one"].low, found["two"].high) == pytest.approx((expected[0].low, expected[2].high))
    assert (found["alone"].low, found["alone"].high) == pytest.approx((t_interval(a).low, t_interval(a).high))
    assert "mean" not in found


def test_the_command_prints_nine_rows():
    result = CliRunner().invoke(moderated_errors.errors_command, ["--draws", "5", "--claim", "sun23-tab8"])
    assert result.exit_code == 0 and result.stdout.count("\n") == 11
