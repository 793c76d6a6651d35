"""The targets of the cost claims, by the protocol's rule."""

import pytest
from click.testing import CliRunner
from stored import accuracies, stored_run

from artifact.papers import experiments
from artifact.runs.lookup import finished_runs
from artifact.verdicts.targets import targets, targets_command

TABLES = ("horizon/rounds", "horizon/rounds-fedlesam")


def trained(folder, finals):
    """Runs of FedAvg whose last ten evaluated rounds have these accuracies: (split, seed) -> accuracy."""
    for cell in experiments.select("horizon/targets", "laptop"):
        for config in cell.configs:
            if (config.split, config.seed) in finals:
                stored_run(folder, config, accuracies([finals[config.split, config.seed]] * 12))


def test_a_target_is_a_share_of_the_mean_over_both_seeds_rounded_down(tmp_path):
    """(0.80 + 0.86) / 2 = 83 %; 0.895 of it is 74.285, 0.974 of it 80.842. One seed of a column gives no target."""
    dirichlet, pathological = "dirichlet:0.1:replace", "pathological:3:replace"
    trained(tmp_path, {(dirichlet, 100): 0.80, (dirichlet, 101): 0.86, (pathological, 100): 0.9})
    ((label, (mean, found)),) = targets("horizon/targets", finished_runs(tmp_path)).items()
    assert "Dirichlet-0.1" in label and found == (74, 80) and mean == pytest.approx(83)
    result = CliRunner().invoke(targets_command, ["horizon/targets", "--out", str(tmp_path)])
    assert result.exit_code == 0 and "Dirichlet-0.1 | 83.00 | 74 | 80 |" in result.output


def test_no_runs_are_refused_in_one_line(tmp_path):
    result = CliRunner().invoke(targets_command, ["horizon/targets", "--out", str(tmp_path)])
    assert result.exit_code == 2 and len(result.output.splitlines()) == 1 and "every declared seed" in result.output


@pytest.mark.parametrize("table", TABLES)
def test_the_declared_targets_are_those_of_the_stored_runs(table):
    found = targets("horizon/targets", finished_runs(experiments.ROOT / experiments.STORES["laptop"]))
    for cell in experiments.select(table, "laptop"):
        split = "Dirichlet-0.1" if "dirichlet-0.1" in cell.column.id else "Pathological-3"
        ((_, of_column),) = [own for label, own in found.items() if split in label]
        assert cell.target == of_column["to-74" in cell.column.id]
