"""The choice of tuned values by the protocol's rule."""

import doctest

import pytest
from click.testing import CliRunner
from stored import accuracies, stored_run

from artifact.base.errors import UserError
from artifact.papers.figures import series
from artifact.verdicts import tuning
from artifact.verdicts.lookup import Store
from artifact.verdicts.tuning import choose


def test_examples():
    assert doctest.testmod(tuning).failed == 0


def test_a_tie_goes_to_the_printed_value_else_to_the_smallest():
    values = {0.0316: 80.0, 0.1: 80.97, 0.3162: 81.0, 1.0: 70.0}
    assert choose("A", values).value == 0.1
    assert choose("A", values, printed=0.3162).value == 0.3162
    assert choose("A", values, printed=0.0316).value == 0.1  # not tied with the best
    assert choose("A", values, printed=0.2).value == 0.3162  # the grid's nearest stands for it: factors 1.6 and 2


@pytest.mark.parametrize(("best", "beyond"), [(0.0316, 0.01), (0.1, None), (0.3162, 1.0)])
def test_an_edge_asks_for_half_a_decade_more(best, beyond):
    found = choose("A", {x: 90.0 if x == best else 50.0 for x in (0.0316, 0.1, 0.3162)})
    assert (found.value, found.beyond) == (best, beyond)


def test_the_best_value_and_not_the_tied_one_that_is_chosen_says_whether_the_grid_is_wide_enough():
    """FedSAM+MAN: the rate 0.1 is printed and tied with 0.0316, the best, at the edge."""
    found = choose("FedSAM+MAN", {0.0316: 86.62, 0.1: 86.58, 0.3162: 78.92}, printed=0.1)
    assert (found.value, found.beyond) == (0.1, 0.01)
    inside = choose("FedGAMMA", {0.01: 85.83, 0.0316: 85.85, 0.1: 85.59})
    assert (inside.value, inside.beyond) == (0.01, None)


def test_two_values_are_no_grid():
    with pytest.raises(UserError):
        choose("A", {0.1: 1.0, 0.2: 2.0})


def test_the_choice_is_by_the_mean_over_both_tuning_seeds(tmp_path):
    """Seed 100 alone would choose 0.3162. SCAFFOLD has two finished values, which is no grid."""
    (panel,) = series.select("horizon/tuning/rate", "laptop")
    accuracy = {(0.0316, 100): 0.70, (0.0316, 101): 0.70, (0.1, 100): 0.80, (0.1, 101): 0.84}
    accuracy |= {(0.3162, 100): 0.82, (0.3162, 101): 0.60}
    for point in panel.series:
        for config in point.configs:
            wanted = point.label == "FedAvg" or (point.label == "SCAFFOLD" and point.x < 0.2)
            if wanted:
                stored_run(tmp_path, config, accuracies([accuracy[point.x, config.seed]] * 3))
    (found,) = tuning.choices("horizon/tuning", Store(tmp_path))
    assert (found.label, found.value, found.beyond) == ("FedAvg", 0.1, None)
    assert found.values == pytest.approx({0.0316: 70.0, 0.1: 82.0, 0.3162: 71.0})
    result = CliRunner().invoke(tuning.tuning_command, ["horizon/tuning", "--out", str(tmp_path)])
    assert result.exit_code == 0 and "| FedAvg | 0.0316: 70.00, 0.1: 82.00, 0.3162: 71.00 | 0.1 | - |" in result.output


def test_the_printed_radius_of_each_method_wins_its_own_ties(tmp_path):
    """FedLESAM's is 0.01, FedSMOO's 0.1; both values are tied for both, and a chosen radius is none that is printed."""
    for panel in series.select("horizon/tuning-radius", "laptop"):
        for point in panel.series:
            if point.label in ("FedLESAM", "FedSMOO"):
                for config in point.configs:
                    stored_run(tmp_path, config, accuracies([0.8 if point.x in (0.01, 0.1) else 0.7] * 3))
    found = {one.label: one.value for one in tuning.choices("horizon/tuning-radius", Store(tmp_path))}
    assert found == {"FedLESAM": 0.01, "FedSMOO": 0.1}


def test_the_tuning_uses_seeds_and_images_that_nothing_else_has():
    (panel,) = series.select("horizon/tuning/rate", "laptop")
    configs = [config for point in panel.series for config in point.configs]
    assert {config.seed for config in configs} == {100, 101}
    assert {config.dataset for config in configs} == {"fashion-mnist-validation"}
    assert {config.rounds for config in configs} == {400}
    per_method = {label: sum(p.label == label for p in panel.series) for label in {p.label for p in panel.series}}
    assert len(per_method) == 12 and set(per_method.values()) == {3}
