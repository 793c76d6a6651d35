"""``artifact.compare``: paired by seed, tuned on other seeds, resumed, the same in parallel."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import artifact
from artifact.base.errors import UserError
from artifact.interface.compare import TUNING

STREAM = torch.Generator().manual_seed(0)
X = torch.randn(120, 4, generator=STREAM)
Y = (X[:, 0] + 0.5 * X[:, 1] + 0.7 * torch.randn(120, generator=STREAM) > 0).long()
CLIENTS, TEST = [(X[i:80:4], Y[i:80:4]) for i in range(4)], (X[80:], Y[80:])
METHODS = {"fedavg": {}, "fedsam": {"rho": [0.02, 0.5]}, "slow": {"method": "fedavg", "lr": 0.001}}
SETTING = {"seeds": 3, "metric": "loss", "rounds": 3, "cohort": 2, "batch_size": 8, "lr": 0.2}


def make(seed):
    torch.manual_seed(seed)
    return nn.Linear(4, 2)


def test_the_table_is_that_of_paired_runs(tmp_path):
    found = artifact.compare(METHODS, make, CLIENTS, TEST, out=tmp_path, **SETTING)

    def last(seed, **options):
        rows = artifact.train(
            make(seed),
            CLIENTS,
            test=TEST,
            seed=seed,
            **{"rounds": 3, "cohort": 2, "batch_size": 8, "lr": 0.2} | options,
        ).metrics
        return rows[-1]["loss"]

    tried = {rho: np.mean([last(TUNING + s, method="fedsam", rho=rho) for s in range(2)]) for rho in (0.02, 0.5)}
    assert found.chosen["fedsam"]["rho"] == min(tried, key=tried.get)
    plain, slow = [last(s) for s in range(3)], [last(s, lr=0.001) for s in range(3)]
    row = found.table[2]
    assert row["method"] == "slow" and row["difference"] == pytest.approx(np.mean(slow) - np.mean(plain))
    p = [stats.ttest_rel([rows[-1]["loss"] for rows in found.runs[n]], plain).pvalue for n in ("fedsam", "slow")]
    assert [found.table[1]["p"], row["p"]] == pytest.approx(
        [min(1, 2 * p[0]) if p[0] <= p[1] else max(p[0], min(1, 2 * p[1])),
         min(1, 2 * p[1]) if p[1] < p[0] else max(p[1], min(1, 2 * p[0]))]
    )  # fmt: skip
    assert found.table[1]["gradients"] == 2 * found.table[0]["gradients"]
    with open(tmp_path / "table.csv", encoding="utf-8") as file:
        assert [r["method"] for r in csv.DictReader(file)] == list(METHODS)
    assert (tmp_path / "curves.png").stat().st_size > 1000
    assert "| slow |" in (tmp_path / "table.md").read_text()


def test_finished_runs_are_not_made_again_and_processes_change_nothing(tmp_path, monkeypatch):
    one = artifact.compare(METHODS, make, CLIENTS, TEST, out=tmp_path, workers=2, **SETTING)
    import artifact.interface.compare as module

    monkeypatch.setattr(module, "train", lambda *a, **k: pytest.fail("a run was made again"))
    two = artifact.compare(METHODS, make, CLIENTS, TEST, out=tmp_path, **SETTING)
    monkeypatch.undo()
    three = artifact.compare(METHODS, make, CLIENTS, TEST, **SETTING)
    assert one.table == two.table == three.table


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"reference": "fedprox"}, "reference"),
        ({"seeds": 1}, "seeds"),
        ({"metric": "f1"}, "metric"),
        ({"methods": {"fedsam": {"rho": []}}}, "fedsam rho"),
        ({"methods": {"fedfoo": {}}}, "fedfoo"),
    ],
)
def test_what_is_not_possible_is_told(given, told):
    arguments = {"methods": {"fedavg": {}}, **SETTING} | given
    with pytest.raises(UserError, match=told):
        artifact.compare(arguments.pop("methods"), make, CLIENTS, TEST, **arguments)
