"""Trees of comparisons: their error rates by simulation at n = 3 and n = 5, and small ones by hand."""

import math

import numpy as np
import pytest

from artifact.base.stats import t_interval
from artifact.statements.hypotheses import (
    ALPHA,
    AtLeast,
    Comparison,
    equivalent,
    every,
    flat,
    interior_maximum,
    lowest,
    some,
    somewhere_falling,
    verdict,
)

DRAWS = 1000


def error(rate, draws=DRAWS):
    """Four standard errors of a share of ``draws`` simulated claims."""
    return 4 * math.sqrt(rate * (1 - rate) / draws)


def rates(make, draws=DRAWS, seed=0):
    """Share of simulated claims per verdict; make(generator) gives a tree."""
    generator = np.random.default_rng(seed)
    names = [verdict(make(generator))[0] for _ in range(draws)]
    return {name: names.count(name) / draws for name in set(names)}


@pytest.mark.parametrize("n", [3, 5])
def test_one_comparison_errs_at_its_level_on_both_sides(n):
    found = rates(lambda g: Comparison("a > b", tuple(g.normal(size=n))))
    for name in ("reproduced", "contradicted"):
        assert abs(found[name] - ALPHA) < error(ALPHA)


@pytest.mark.parametrize("n", [3, 5])
def test_margin_has_the_stated_level_at_its_own_boundary(n):
    """True difference equal to the margin: reproduced in 2.5 %; the direction is found, the size is not."""
    found = rates(lambda g: Comparison("a > b", tuple(g.normal(1.0, 0.1, size=n)), 1.0))
    assert abs(found["reproduced"] - ALPHA) < error(ALPHA)
    assert found["direction-only"] > 0.8 and found.get("contradicted", 0) == 0


def conjunction(generator, n, effects, noise=1.0):
    """One method against several baselines on shared seeds, whose noise the method's own is part of."""
    own = generator.normal(0, noise, size=n)
    return every([Comparison(f"{i}", tuple(e + own - generator.normal(0, noise, n))) for i, e in enumerate(effects)])


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("effects", [(0, 0, 0, 0), (50, 50, 0, 50)])
def test_a_conjunction_that_is_false_somewhere_is_reproduced_at_most_at_its_level(n, effects):
    """The second case is the least favourable one: a single false part among very large effects."""
    found = rates(lambda g: conjunction(g, n, effects))
    assert found.get("reproduced", 0) < ALPHA + error(ALPHA)
    if 0 not in effects[:1]:
        assert found["reproduced"] > ALPHA - error(ALPHA)


@pytest.mark.parametrize("n", [3, 5])
def test_a_conjunction_at_its_boundary_is_contradicted_at_most_at_its_level(n):
    found = rates(lambda g: conjunction(g, n, (0,) * 6))
    assert found.get("contradicted", 0) < ALPHA + error(ALPHA)


@pytest.mark.parametrize("n", [3, 5])
def test_conjunctions_find_large_effects_and_large_failures(n):
    assert rates(lambda g: conjunction(g, n, (40,) * 5), 200)["reproduced"] > 0.95
    assert rates(lambda g: conjunction(g, n, (200, 200, -200)), 200)["contradicted"] > 0.95


@pytest.mark.parametrize(("needed", "effects"), [(1, (0, 0, 0)), (2, (60, 0, 0)), (3, (60, 60, 0, 0))])
@pytest.mark.parametrize("n", [3, 5])
def test_at_least_u_of_k_keeps_its_level_with_u_minus_one_true_parts(n, needed, effects):
    found = rates(lambda g: AtLeast(needed, conjunction(g, n, effects).parts))
    assert found.get("reproduced", 0) < ALPHA + error(ALPHA)
    mirrored = rates(lambda g: AtLeast(len(effects) - needed + 1, conjunction(g, n, [-e for e in effects]).parts))
    assert mirrored.get("contradicted", 0) < ALPHA + error(ALPHA)


def test_at_least_by_hand():
    """Levels of the parts: a conjunction tests at a, a disjunction of three at a / 3, two of three at a / 2."""
    sure, open_, wrong = (Comparison(name, values) for name, values in (
        ("sure", (5.0, 5.1, 4.9)), ("open", (1.0, -1.0, 0.5)), ("wrong", (-5.0, -5.1, -4.9))))  # fmt: skip
    assert verdict(AtLeast(1, (sure, open_, wrong)))[0] == "reproduced"
    assert verdict(AtLeast(2, (sure, open_, wrong)))[0] == "inconclusive"
    assert verdict(AtLeast(2, (open_, wrong, wrong)))[0] == "contradicted"
    name, interval, leaf = verdict(AtLeast(3, (sure, open_, wrong)))
    assert (name, leaf.label) == ("contradicted", "wrong")
    assert interval == t_interval(wrong.differences, 1 - 2 * ALPHA / 3)
    name, interval, leaf = verdict(AtLeast(2, (sure, sure, open_)))
    assert (name, leaf.label) == ("reproduced", "sure")
    assert interval == t_interval(sure.differences, 1 - 2 * ALPHA / 2)
    for needed in (0, 4):
        with pytest.raises(ValueError, match="parts"):
            AtLeast(needed, (sure, open_, wrong))


def test_a_failure_that_the_adjustment_does_not_confirm_is_shown_with_its_adjusted_interval():
    """Below zero at 95 %, not at the level of one of four: inconclusive, and the interval that is shown contains 0."""
    failing = Comparison("failing", (-1.0, -1.2, -1.9))
    assert failing.refuted(ALPHA) and not failing.refuted(ALPHA / 4)
    name, interval, leaf = verdict(every([failing] + [Comparison("fine", (5.0, 5.1, 4.9))] * 3))
    assert (name, leaf) == ("inconclusive", failing)
    assert interval == failing.interval(ALPHA / 4) and interval.low < 0 < interval.high


@pytest.mark.parametrize("n", [3, 5])
def test_no_tree_is_both_established_and_refuted(n):
    generator = np.random.default_rng(n)
    for _ in range(300):
        leaves = [Comparison("", tuple(generator.normal(generator.normal(0, 3), 0.3, n))) for _ in range(5)]
        node = AtLeast(int(generator.integers(1, 4)), (every(leaves[:2]), some(leaves[2:4]), leaves[4]))
        assert not (node.established(ALPHA) and node.refuted(ALPHA))


@pytest.mark.parametrize("n", [3, 5])
def test_equivalence_keeps_its_level_at_the_border_and_finds_equal_methods(n):
    found = rates(lambda g: equivalent("a - b", g.normal(1.0, 0.2, size=n), within=1.0))
    assert found.get("reproduced", 0) < ALPHA + error(ALPHA)
    assert rates(lambda g: equivalent("a - b", g.normal(0, 0.05, size=n), within=1.0), 200)["reproduced"] > 0.95
    assert rates(lambda g: equivalent("a - b", g.normal(-3, 0.2, size=n), within=1.0), 200)["contradicted"] > 0.9
    assert rates(lambda g: equivalent("a - b", g.normal(3, 0.2, size=n), within=1.0), 200)["contradicted"] > 0.9


LEVELS = ["0.1", "0.2", "0.5", "0.8", "1"]


@pytest.mark.parametrize("n", [3, 5])
def test_shapes_of_a_sweep_keep_their_level_on_noise(n):
    """A flat sweep has no interior maximum, no lowest level and never falls; the search over levels is paid for."""
    for build in (
        lambda g: interior_maximum(g.normal(size=(n, 5)), LEVELS),
        lambda g: somewhere_falling(g.normal(size=(n, 5)), LEVELS),
        lambda g: lowest(g.normal(size=(n, 5)), LEVELS, 0),
        # the least favourable case: one end is far below, the other as high as the interior
        lambda g: interior_maximum(g.normal(size=(n, 5)) - [50, 0, 0, 0, 0], LEVELS),
    ):
        assert rates(build).get("reproduced", 0) < ALPHA + error(ALPHA)


def test_shapes_of_a_sweep_are_found():
    generator = np.random.default_rng(1)
    hill = np.array([0.0, 4.0, 8.0, 5.0, 1.0]) + generator.normal(0, 0.3, size=(5, 5))
    assert verdict(interior_maximum(hill, LEVELS))[0] == "reproduced"
    assert verdict(interior_maximum(-hill, LEVELS))[0] == "contradicted"
    assert verdict(somewhere_falling(hill, LEVELS))[0] == "reproduced"
    assert verdict(somewhere_falling(np.sort(hill, axis=1) + np.arange(5), LEVELS))[0] == "contradicted"
    assert verdict(lowest(hill, LEVELS, 0))[0] in ("reproduced", "inconclusive")
    assert verdict(lowest(hill, LEVELS, 2))[0] == "contradicted"
    assert verdict(flat(hill, LEVELS, within=20.0))[0] == "reproduced"
    assert verdict(flat(hill, LEVELS, within=1.0))[0] == "contradicted"


def test_what_is_shown_is_the_comparison_that_fails_not_the_widest():
    """A wide interval that is all but established ends lower than a narrow one around zero."""
    wide, narrow = Comparison("wide", (10.0, 60.0, 30.0)), Comparison("narrow", (-0.2, 0.1, -0.3))
    assert wide.interval().low < narrow.interval().low and wide.p < narrow.p
    assert verdict(every([wide, narrow]))[2].label == "narrow"
    assert verdict(some([every([wide, narrow]), every([narrow, narrow])]))[2].label == "narrow"
    against = [Comparison("wide", (-10.0, -60.0, -30.0)), Comparison("narrow", (-0.5, -0.52, -0.51))]
    word, _, shown = verdict(every(against))
    assert (word, shown.label) == ("contradicted", "narrow")


def test_an_undecided_claim_of_size_shows_the_comparison_whose_direction_cannot_be_told():
    """Neither lies wholly below the margin; what keeps the claim from "direction only" is the one around zero."""
    clear, untold = Comparison("clear", (2.0, 3.1, 2.5), margin=2), Comparison("untold", (0.5, -0.4, 3.0), margin=2)
    name, _, leaf = verdict(every([clear, untold]))
    assert (name, leaf) == ("inconclusive", untold)
    assert verdict(every([clear, clear]))[0] == "direction-only"


def test_a_claimed_size_is_refuted_where_the_direction_cannot_be_told():
    untold = Comparison("untold", (0.5, -0.4, 0.3), margin=8)
    name, interval, leaf = verdict(untold)
    assert (name, leaf) == ("contradicted", untold) and interval.low < 0 < interval.high < 8
    assert verdict(Comparison("untold", (0.5, -0.4, 0.3), margin=0.3))[0] == "inconclusive"
