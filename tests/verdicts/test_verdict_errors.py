"""The simulation judges by the verdict code: same intervals, same trees, and a claim that errs would be seen."""

import numpy as np
import pytest
import verdict_errors as simulation
from click.testing import CliRunner
from verdict_errors import Claim, Drawn, draws, judged, planted, rates

from artifact.statements.hypotheses import Comparison, equivalent, every, interior_maximum, some


def made(node, n=3, averaged=True) -> Claim:
    values = np.array([leaf.differences for leaf in node.leaves()]).T
    return Claim("made", node, values - values.mean(0), values.std(0, ddof=1), averaged)


@pytest.mark.parametrize("margin", [0.0, 0.7, -0.3])
@pytest.mark.parametrize("alpha", [0.025, 0.0038, 0.0004])
def test_a_drawn_comparison_is_the_comparison(margin, alpha):
    data = np.random.default_rng(1).normal(0.4, size=6)
    plain = Comparison("a", tuple(data), margin, (0.1, 0.2))
    drawn = Drawn("a", tuple(data), margin, (0.1, 0.2), mean=data.mean(), error=data.std(ddof=1) / np.sqrt(6))
    for name in ("low", "high", "mean", "level", "n"):
        assert getattr(drawn.interval(alpha), name) == pytest.approx(getattr(plain.interval(alpha), name))
    assert (drawn.p, drawn.p_against) == pytest.approx((plain.p, plain.p_against))
    assert drawn.established(alpha) == plain.established(alpha) and drawn.refuted(alpha) == plain.refuted(alpha)


def test_a_tree_keeps_its_shape_and_the_order_of_its_leaves():
    values = np.arange(12.0).reshape(3, 4) ** 2
    for node in (
        interior_maximum(values, "abcd"),
        equivalent("a", (1.0, 2.0), 1.0),
        every([some([Comparison("x", (1.0,))])]),
    ):
        other = planted(node, iter([Drawn(f"{i}", leaf.differences) for i, leaf in enumerate(node.leaves())]))
        assert [leaf.label for leaf in other.leaves()] == [str(i) for i, _ in enumerate(node.leaves())]
        assert type(other) is type(node) or isinstance(node, Comparison)


def test_simulated_seeds_have_the_spread_and_the_correlation_of_the_residuals():
    base = np.array([1.0, -2.0, 0.5, 0.5])
    claim = made(every([Comparison("a", tuple(base)), Comparison("b", tuple(2 * base), margin=1.0)]))
    found = draws(claim, 1.0, False, 4000, np.random.default_rng(0))
    assert found.shape == (4000, 10, 2)
    assert found.std((0, 1)) == pytest.approx(claim.deviations, rel=0.03)
    assert found.mean((0, 1)) == pytest.approx([*(claim.deviations + np.array([0, 1]))], rel=0.05)
    assert np.corrcoef(found[:, :, 0].ravel(), found[:, :, 1].ravel())[0, 1] > 0.999


def test_a_single_comparison_errs_at_its_level_and_sees_two_deviations():
    claim = made(Comparison("a", (1.0, -2.0, 0.5, 0.7)))
    found = rates(claim, 3000, np.random.default_rng(0))
    assert found["null, seen"] < 0.025 + 0.0085 and found["null, reversed"] < 0.025 + 0.0085  # 3 sigma
    assert found["null, seen"] > 0.015
    assert found["+2 sd, seen"] > 0.99 and found["-2 sd, reversed"] > 0.99
    assert 0.75 < found["+1 sd, seen"] < 0.9
    assert np.isnan(found["one part null, seen"])


def test_one_part_at_its_margin_makes_a_conjunction_false_and_no_other_claim():
    data = np.random.default_rng(0).normal(size=(3, 4))
    assert made(every([Comparison("a", tuple(data[:, 0])), Comparison("b", tuple(data[:, 1]))])).conjunction
    assert not made(every([interior_maximum(data, "abcd"), Comparison("a", tuple(data[:, 0]))])).conjunction


def test_too_high_a_level_would_be_seen(monkeypatch):
    monkeypatch.setattr(simulation.protocol, "levels", lambda: {6: 0.025, 10: 0.025})
    found = rates(made(Comparison("a", (1.0, -2.0, 0.5, 0.7))), 3000, np.random.default_rng(0))
    assert found["null, seen"] > 0.025 + 0.0085


def test_a_mean_contrast_sees_what_no_part_does():
    """Twelve independent parts, each a third of a deviation on the other side: their mean is a whole one."""
    noise = np.random.default_rng(3).normal(size=(12, 60))
    node = every([Comparison(str(i), tuple(row)) for i, row in enumerate(noise)])
    data = draws(made(node), -0.35, False, 100, np.random.default_rng(0))
    with_mean, without = (judged(made(node, averaged=x), data) for x in (True, False))
    assert with_mean.count("reversed") > 70 and without.count("reversed") < 40


def test_the_verdict_is_that_of_the_first_look_that_decides():
    claim = made(Comparison("a", (1.0, -2.0, 0.5, 0.7)))
    first = np.concatenate([np.linspace(5, 6, 6), np.full(4, -50.0)])
    assert judged(claim, np.stack([first, np.linspace(-1, 1.2, 10)])[:, :, None]) == ["seen", "undecided"]


def test_the_command_prints_a_table_and_repeats_itself():
    run = lambda: CliRunner().invoke(simulation.errors_command, ["--draws", "20", "--claim", "fan24-vasso"])  # noqa: E731
    first, second = run(), run()
    assert first.exit_code == 0 and "null, reversed" in first.stdout and first.stdout == second.stdout
