"""A training that goes on in its folder: callbacks, schedules and Ctrl-C are as if it had never stopped."""

from __future__ import annotations

import csv

import pytest
import torch
from torch import nn

import fedsharp
from artifact.base.errors import UserError


@pytest.fixture
def task():
    torch.manual_seed(0)
    x = torch.randn(300, 8)
    y = ((x[:, 0] + 0.8 * torch.randn(300)) > 0).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    return {
        "model": model,
        "clients": [(x[i:200:4], y[i:200:4]) for i in range(4)],
        "test": (x[200:], y[200:]),
        "method": "fedsam",
        "rho": 0.05,
        "lr": 0.5,
    }


def early():
    return fedsharp.callbacks.EarlyStopping("accuracy", patience=3)


def test_early_stopping_counts_the_rounds_before(task, tmp_path):
    whole = fedsharp.train(**task, rounds=40, out=tmp_path / "whole", on_round=early())
    end = len(whole.metrics)
    assert end < 40
    fedsharp.train(**task, rounds=end - 1, out=tmp_path / "two", on_round=early())
    resumed = fedsharp.train(**task, rounds=40, out=tmp_path / "two", resume=True, on_round=early())
    assert resumed.metrics == whole.metrics
    again = fedsharp.train(**task, rounds=40, out=tmp_path / "whole", resume=True, on_round=early())
    assert again.metrics == whole.metrics


def test_early_stopping_waits_for_evaluated_rounds(task):
    run = fedsharp.train(**task, rounds=6, eval_every=2, on_round=fedsharp.callbacks.EarlyStopping("loss", patience=9))
    assert [row["round"] for row in run.metrics] == [2, 4, 6]


def test_a_table_keeps_its_rows(task, tmp_path):
    table = tmp_path / "rounds.csv"
    fedsharp.train(**task, rounds=2, out=tmp_path / "run", on_round=fedsharp.callbacks.CSV(table))
    fedsharp.train(**task, rounds=4, out=tmp_path / "run", resume=True, on_round=fedsharp.callbacks.CSV(table))
    with table.open(encoding="utf-8") as file:
        assert [row["round"] for row in csv.DictReader(file)] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("name", ["lr", "rho"])
def test_another_schedule_is_refused(task, tmp_path, name):
    first = task | {name: lambda t: 0.1}
    fedsharp.train(**first, rounds=2, out=tmp_path)
    with pytest.raises(UserError, match=r"0\.1 in round 2"):
        fedsharp.train(**task | {name: lambda t: 0.1 * (1 + t)}, rounds=4, out=tmp_path, resume=True)


def test_a_cosine_of_more_rounds_is_refused_unless_it_names_them(task, tmp_path):
    fedsharp.train(**task | {"lr": fedsharp.cosine(0.3)}, rounds=2, out=tmp_path / "open")
    with pytest.raises(UserError, match="rounds=N"):
        fedsharp.train(**task | {"lr": fedsharp.cosine(0.3)}, rounds=4, out=tmp_path / "open", resume=True)
    named = task | {"lr": fedsharp.cosine(0.3, rounds=4)}
    whole = fedsharp.train(**named, rounds=4)
    fedsharp.train(**named, rounds=2, out=tmp_path / "named")
    assert fedsharp.train(**named, rounds=4, out=tmp_path / "named", resume=True).metrics == whole.metrics


def test_ctrl_c_in_a_callback_gives_what_there_is(task, tmp_path):
    def interrupt(r):
        if r.round == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted after round 2"):
        run = fedsharp.train(**task, rounds=5, out=tmp_path, on_round=interrupt)
    assert len(run.metrics) == 2
    whole = fedsharp.train(**task, rounds=5)
    assert fedsharp.train(**task, rounds=5, out=tmp_path, resume=True).metrics == whole.metrics


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"lr": [0.1, 0.2], "lr_decay": 0.9}, "lr_decay"),
        ({"lr": fedsharp.cosine(0.1, warmup=9)}, "warmup"),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_refused(task, change, field):
    with pytest.raises(UserError, match=field):
        fedsharp.train(**task | change, rounds=3)


def test_several_labels_a_sample_want_a_loss_of_their_own(task):
    x = torch.randn(40, 8)
    several = torch.randint(2, (40, 2)).float()
    several[0] = 1.0
    own = task | {"clients": [(x, several)], "test": (x, several)}
    with pytest.raises(UserError, match="BCEWithLogitsLoss"):
        fedsharp.train(**own, rounds=1)
    run = fedsharp.train(**own | {"loss": nn.BCEWithLogitsLoss()}, rounds=1)
    assert run.metrics[0]["loss"] > 0


def test_accuracy_leaves_out_what_the_loss_ignores(task):
    (x, y), kept = task["test"], task["test"][1] != 0
    run = fedsharp.train(**task | {"loss": nn.CrossEntropyLoss(ignore_index=0)}, rounds=1)
    right = run.model(x[kept]).argmax(1) == y[kept]
    assert run.metrics[0]["accuracy"] == pytest.approx(right.double().mean().item())


def test_ragged_labels_are_refused():
    with pytest.raises(UserError, match="one class per sample"):
        fedsharp.partition([[0], [1, 2], [0]], clients=2)
