"""Findings by hand: the rule on made numbers, its error rates, the scales, and no strong word below full length."""

import numpy as np
import pytest

from artifact.base.stats import Interval
from artifact.statements.contrasts import mean_contrast
from artifact.statements.hypotheses import AtLeast, Comparison, every
from artifact.verdicts import ledger
from artifact.verdicts.decide import decide_all
from artifact.verdicts.finding_rule import LARGE, finding, moves_back, strengthened
from artifact.verdicts.scales import scale

SEEDS = np.array([-0.1, 0.0, 0.1, 0.05, -0.05])
LENET = {"dataset": "cifar10", "model": "lenet", "train_size": None, "clients": 100, "cohort": 10, "rounds": 800}


def of(*means, smallest=0.5):
    """The finding of a claim whose comparisons have these means, with little spread over five seeds."""
    node = every([Comparison(f"c{i}", tuple(mean + SEEDS)) for i, mean in enumerate(means)])
    return finding(node, mean_contrast(node), smallest)


@pytest.mark.parametrize(
    ("means", "word", "k"),
    [
        ((1.0,), "seen", 1),
        ((1.0, 2.0), "seen", 2),
        ((1.0, 1.0, -0.2), "mostly-seen", 2),
        ((2.0, -0.2, -0.2), "undecided", 1),  # a mean above zero that a third of the comparisons carries
        ((0.1, -0.3), "no-difference", 1),
        ((-1.0,), "reversed", 0),
        ((-1.0, -2.0), "reversed", 0),
        ((-0.55,), "undecided", 0),  # below zero, and not wholly beyond half a point
        ((3.0,) * 20 + (-1.0,), "mostly-seen", 20),  # one comparison of 21 does not decide alone
    ],
)
def test_the_rule_by_hand(means, word, k):
    found = of(*means)
    assert (found.word, found.k, found.K) == (word, k, len(means))


def test_comparisons_on_the_other_side_are_named():
    assert of(1.0, 1.0, -2.0).against == ("c2",)


@pytest.mark.parametrize(("mean", "word"), [(-0.3, "undecided"), (-1.0, "reversed")])
def test_parts_that_need_not_all_hold_speak_against_a_claim_beyond_the_smallest_effect(mean, word):
    """Two of three have to hold; all three lie below zero, by less or by more than half a point."""
    node = AtLeast(2, tuple(Comparison(f"c{i}", tuple(mean + SEEDS / 10)) for i in range(3)))
    assert finding(node, None, 0.5).word == word


def test_a_claimed_size_that_is_missed_is_seen_in_direction_only():
    node = Comparison("A - B", tuple(1.0 + SEEDS), margin=2.0)
    assert finding(node, None, 0.5).word == "mostly-seen"


@pytest.mark.parametrize("parts", [1, 4, 56])
def test_false_words_are_rare(parts):
    """No effect at all: seen and reversed in at most 2.5 % of draws each; 0.013 more is three standard errors."""
    generator = np.random.default_rng(parts)
    words = []
    for _ in range(400):
        draw = generator.normal(0, 0.6, size=(parts, 6))
        node = every([Comparison(f"c{i}", tuple(row)) for i, row in enumerate(draw)])
        words.append(finding(node, mean_contrast(node), 0.5).word)
    assert words.count("seen") / 400 <= 0.025 + 0.024
    assert words.count("reversed") / 400 <= 0.025


def test_a_claim_true_at_a_third_of_its_size_is_hardly_ever_reversed():
    """56 comparisons whose true effects are a third of the printed 3 points and differ by one point."""
    generator = np.random.default_rng(1)
    words = []
    for _ in range(300):
        effects = generator.normal(1.0, 1.0, size=(56, 1))
        draw = effects + generator.normal(0, 0.6, size=(56, 6))
        node = every([Comparison(f"c{i}", tuple(row)) for i, row in enumerate(draw)])
        words.append(finding(node, mean_contrast(node), 0.5).word)
    assert words.count("reversed") == 0 and words.count("mostly-seen") > 250


@pytest.mark.parametrize(
    ("word", "at", "n", "excluded", "said"),
    [
        ("seen", "toy", 10, False, "seen"),
        ("seen", "paper", 4, False, "seen"),
        ("seen", "full-length", 5, False, "reproduced"),
        ("reversed", "short", 10, True, "reversed"),
        ("reversed", "paper", 5, False, "reversed"),
        ("reversed", "paper", 5, True, "contradicted"),
        ("undecided", "paper", 10, True, "undecided"),
    ],
)
def test_strong_words_need_a_large_scale_and_five_seeds(word, at, n, excluded, said):
    assert strengthened(word, at, n, excluded) == said


def test_a_movement_counts_where_it_undoes_the_word():
    falling = Interval(-0.8, -1.0, -0.6, 10)
    assert moves_back("seen", falling, 0.5) and not moves_back("reversed", falling, 0.5)
    assert not moves_back("seen", Interval(-0.8, -1.8, 0.2, 10), 0.5)  # not told from zero
    assert not moves_back("seen", Interval(-0.3, -0.4, -0.2, 10), 0.5)  # smaller than what is of interest


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, "full-length"),
        ({"rounds": 60}, "short"),
        ({"train_size": 5000}, "short"),
        ({"model": "mlp-64"}, "toy"),
        ({"model": "resnet18-gn"}, "paper"),
    ],
)
def test_the_scale_follows_from_the_settings(change, found):
    assert scale([LENET | change], ["sun2023/1"]) == found
    assert scale([LENET | change, LENET | {"model": "mlp-64"}], ["sun2023/1"]) == "toy"


@pytest.fixture(scope="module")
def verdicts():
    return decide_all(ledger.load())


def test_no_claim_is_called_contradicted_or_reproduced_below_full_length(verdicts):
    strong = [(v.verdict, e["finding"], e["scale"]) for v in verdicts for e in v.evidence]
    assert all(at in LARGE for _, word, at in strong if word in ("contradicted", "reproduced"))


def test_every_scale_that_has_runs_is_shown_and_the_largest_leads(verdicts):
    from artifact.verdicts.scales import SCALES

    for one in verdicts:
        order = [SCALES.index(e["scale"]) for e in one.evidence]
        assert order == sorted(order, reverse=True), one.id
        if one.verdict not in ("not-run",) and one.evidence:
            assert one.evidence[0]["finding"] == one.verdict and one.scale == one.evidence[0]["scale"]
    assert any(len({e["scale"] for e in one.evidence}) > 1 for one in verdicts)
