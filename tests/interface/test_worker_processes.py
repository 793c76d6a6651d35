"""Clients of a round in processes: the bits of one process, for weights, statistics, rows and a resumed training."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

import artifact
from artifact.base.errors import UserError

STREAM = torch.Generator().manual_seed(0)
X = torch.randn(150, 6, generator=STREAM)
Y = (X[:, 0] > 0).long() + (X[:, 1] > 0).long()
ENDS = [0, 20, 55, 90, 120]
CLIENTS = [(X[a:b], Y[a:b]) for a, b in pairwise(ENDS)]


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))


def trained(method, workers, **options):
    given = {"rounds": 3, "cohort": 3, "batch_size": 10, "seed": 2, "test": (X[120:], Y[120:])} | options
    return artifact.train(network(), CLIENTS, method=method, workers=workers, **given)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("fedsmoo", {"rho": lambda t: 0.1 / (1 + t), "lr": [0.1, 0.05, 0.02]}),
        ("scaffold", {"weight_decay": 1e-3, "clip": 1.0}),
        ("fedlesam-d", {"rho": 0.05, "dtype": "float64"}),
    ],
)
def test_two_processes_give_the_bits_of_one(method, options):
    one, two = (trained(method, workers, **options) for workers in (1, 2))
    assert one.metrics == two.metrics
    for name, value in one.model.state_dict().items():
        assert torch.equal(value, two.model.state_dict()[name]), name


def test_a_training_in_processes_is_resumed_in_one(tmp_path):
    trained("scaffold", 2, rounds=2, out=tmp_path)
    resumed = trained("scaffold", 1, rounds=3, out=tmp_path, resume=True)
    whole = trained("scaffold", 1, rounds=3)
    assert resumed.metrics == whole.metrics
    assert torch.equal(resumed.model[0].weight, whole.model[0].weight)


@pytest.mark.parametrize(
    ("method", "workers", "told"),
    [
        ("fedavg", 0, "workers: 0 is not possible"),
        ("globalfedsam", 2, "one exchange a round"),
        ("fedrobust", 2, "map of their inputs"),
    ],
)
def test_what_does_not_fit_is_one_line(method, workers, told):
    with pytest.raises(UserError, match=told):
        trained(method, workers)
