"""``artifact.train`` drives the engine: its numbers on own tensors are those of a run on the same data."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import artifact
from artifact.algorithms import ALGORITHMS, FedAvg
from artifact.base.errors import UserError
from artifact.data import load
from artifact.data.augment import normalise
from artifact.models import networks
from artifact.training.config import make
from artifact.training.trainer import Trainer

SETTING = {"rounds": 2, "cohort": 4, "lr": 0.05, "batch_size": 40, "local_epochs": 1, "seed": 3}


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.fixture(scope="module")
def digits():
    return load("digits")


@pytest.mark.parametrize("model", ["mlp-16", "cnn-fmnist"])
@pytest.mark.parametrize("method", list(ALGORITHMS))
def test_the_numbers_are_those_of_a_run(digits, method, model):
    """Weights and metrics, bit for bit; cnn-fmnist has BatchNorm."""
    config = make(algorithm=method, model=model, split="dirichlet:0.3", clients=8, backend="loop", **SETTING)
    trainer = Trainer(config, digits)
    rows = [trainer.play_round() for _ in range(2)]
    x, y = normalise(digits.train_x, digits), digits.train_y
    clients = [(x[part], y[part]) for part in artifact.partition(y, "dirichlet:0.3", clients=8, seed=3)]
    start = networks.build(model, (1, 8, 8), 10, seed=3)
    test = (normalise(digits.test_x, digits), digits.test_y)
    run = artifact.train(start, clients, test=test, method=method, **SETTING)
    assert torch.equal(flat(run.model), trainer.w)
    assert torch.equal(flat(start), flat(networks.build(model, (1, 8, 8), 10, seed=3)))
    expected = [
        {k: v for k, v in row.items() if k not in ("server", "cost")} | row["server"] | row["cost"] for row in rows
    ]
    assert run.metrics == expected


class House(nn.Module):
    """Dict inputs, BatchNorm, dropout, a frozen parameter, a constant and a tied weight."""

    def __init__(self):
        super().__init__()
        self.a, self.norm, self.drop = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.4)
        self.tied, self.out = nn.Linear(4, 6), nn.Linear(6, 1)
        self.tied.weight = self.a.weight
        self.scale = nn.Parameter(torch.full((1,), 1.1), requires_grad=False)
        self.register_buffer("shift", torch.full((6,), 0.1))

    def forward(self, x):
        hidden = self.norm(self.a(x["one"]) + self.tied(x["two"]) + self.shift)
        return self.out(self.drop(hidden.relu()))[:, 0] * self.scale


def houses(size, seed):
    draw = torch.Generator().manual_seed(seed)
    x = {name: torch.randn(size, 4, generator=draw) for name in ("one", "two")}
    return x, x["one"].sum(1) + x["two"].sum(1)


def trained(method="fedsam", **options):
    torch.manual_seed(0)
    clients = [houses(25, i) for i in range(3)]
    setting = {"rounds": 15, "batch_size": 10, "lr": 0.05, "loss": nn.functional.mse_loss} | options
    return artifact.train(House(), clients, test=houses(40, 9), method=method, **setting)


@pytest.mark.parametrize("method", ["fedavg", "fedsam", "scaffold", "globalfedsam"])
def test_a_regression_on_dicts_is_learned_and_repeated(method):
    run, again = trained(method), trained(method)
    losses = [row["loss"] for row in run.metrics]
    assert losses[-1] < losses[0] / 2
    assert "accuracy" not in run.metrics[0]
    assert run.metrics == again.metrics
    assert torch.equal(flat(run.model), flat(again.model))


def test_frozen_numbers_stay_and_running_statistics_move():
    run, start = trained(), House()
    assert torch.equal(run.model.scale, start.scale)
    assert torch.equal(run.model.shift, start.shift)
    assert not torch.equal(run.model.norm.running_mean, start.norm.running_mean)
    assert run.model.tied.weight is run.model.a.weight
    assert not run.model.training


def test_dropout_masks_follow_the_seed_and_not_the_threads():
    torch.manual_seed(5)
    one = trained(seed=1)
    torch.manual_seed(6)
    assert trained(seed=1).metrics == one.metrics
    assert trained(seed=2).metrics != one.metrics


def test_data_sets_of_torch_and_pairs_are_the_same():
    x, y = torch.randn(30, 3), torch.randint(2, (30,))
    model = nn.Linear(3, 2)
    pairs, sets = [(x[:15], y[:15]), (x[15:], y[15:])], [TensorDataset(x[:15], y[:15]), TensorDataset(x[15:], y[15:])]
    assert (
        artifact.train(model, pairs, test=(x, y)).metrics
        == artifact.train(model, sets, test=TensorDataset(x, y)).metrics
    )


def test_without_a_test_rows_tell_the_cost():
    run = artifact.train(nn.Linear(3, 2), [(torch.randn(9, 3), torch.randint(2, (9,)))], rounds=1)
    assert {"round", "update_norm", "down"} <= run.metrics[0].keys()
    assert "loss" not in run.metrics[0]


def test_a_loss_of_ones_own_gives_the_accuracy_of_a_classifier():
    x = torch.randn(60, 3)
    y = (x[:, 0] > 0).long()
    smooth = nn.CrossEntropyLoss(label_smoothing=0.1)
    run = artifact.train(nn.Linear(3, 2), [(x, y)], test=(x, y), loss=smooth, lr=0.5)
    assert run.metrics[-1]["accuracy"] > 0.9
    logits = run.model(x)
    assert run.metrics[-1]["loss"] == pytest.approx(smooth(logits, y).item(), rel=1e-5)


def test_a_method_of_ones_own_and_its_next_version():
    from dataclasses import dataclass

    def version(factor):
        @dataclass(frozen=True)
        class Mine(FedAvg):
            def direction(self, g, c):
                return factor * g

        return Mine

    data = [(torch.randn(12, 3), torch.randint(2, (12,)))]
    model = nn.Linear(3, 2)
    first, second, plain = (
        flat(artifact.train(model, data, method=m, rounds=1, lr=lr).model)
        for m, lr in ((version(1.0), 0.1), (version(2.0), 0.1), ("fedavg", 0.2))
    )
    assert not torch.equal(first, second)
    assert torch.allclose(second, plain)
    ALGORITHMS.pop("mine")


X, Y = torch.randn(10, 3), torch.randint(2, (10,))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"rho": 0.1}, "rho.*option of fedavg"),
        ({"dataset": "digits"}, "dataset"),
        ({"method": "fedfoo"}, "fedsmoo"),
        ({"cohort": 2}, "cohort"),
        ({"clients": [X]}, r"clients\[0\]"),
        ({"clients": [(X, Y[:5])]}, r"clients\[0\].*one length"),
        ({"clients": [(X, Y), (X[:, :2], Y)]}, "one kind and shape"),
        ({"clients": [(X, Y + 5)]}, "labels.*0 to 1"),
        ({"model": nn.Flatten()}, "a parameter"),
        ({"model": nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), "batch_size": 3}, "batch_size"),
        ({"model": nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)), "backend": "batched"}, "backend.*loop"),
    ],
)
def test_what_is_not_possible_is_told(arguments, told):
    given = {"model": nn.Linear(3, 2), "clients": [(X, Y)]} | arguments
    with pytest.raises(UserError, match=told):
        artifact.train(given.pop("model"), given.pop("clients"), **given)


def test_public_names_are_there():
    for name in artifact.PUBLIC:
        assert getattr(artifact, name) is not None
    with pytest.raises(AttributeError, match="it has train"):
        artifact.trian  # noqa: B018
