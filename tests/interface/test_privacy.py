"""Clipping and noise on what clients send, and what the channel says about each method."""

import math
from dataclasses import dataclass

import pytest
import torch
from registries import kept
from torch import nn

import artifact
from artifact import algorithms
from artifact.base.errors import UserError
from artifact.base.random import stream
from artifact.interface.own_trainer import OwnTrainer
from artifact.interface.privacy import leaves
from artifact.interface.train import _config


def clients(scale=1.0):
    x = torch.randn(60, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = (x[:, 0] > 0).long()
    return [(scale * x[i::3], y[i::3]) for i in range(3)]


def network():
    torch.manual_seed(0)
    return nn.Linear(5, 2)


def flat(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()]).double()


SETTING = {"batch_size": 8, "lr": 0.5, "dtype": "float64"}


def test_the_clip_is_by_hand():
    """One round of FedAvg: the mean of the clients' updates, each divided by max(1, norm / clip)."""
    start = flat(network())
    config = _config("fedavg", 3, 3, SETTING)
    trainer = OwnTrainer(config, network(), clients(), None, None)
    steps = trainer.local_steps(trainer.pools)
    _, W = trainer.train(trainer.cohort(torch.arange(3), steps), steps, None, None)
    updates = W - start
    free = artifact.train(network(), clients(), rounds=1, **SETTING)
    assert torch.allclose(flat(free.model), start + updates.mean(0), atol=1e-6)
    limit = sorted(u.norm().item() for u in updates)[1]  # one is clipped, one is not
    clipped = [u * min(1.0, limit / (u.norm().item() + 1e-6)) for u in updates]
    run = artifact.train(network(), clients(), rounds=1, update_clip=limit, **SETTING)
    assert torch.allclose(flat(run.model), start + torch.stack(clipped).mean(0), atol=1e-6)
    assert not torch.allclose(flat(run.model), flat(free.model), atol=1e-4)


def test_the_noise_is_as_large_as_it_says():
    """On an update that the clip makes nearly nothing: standard deviation noise * clip / clients, by its stream."""
    setting = SETTING | {"rounds": 1, "update_clip": 1e-3}
    quiet, loud = (flat(artifact.train(network(), clients(), **setting, update_noise=z).model) for z in (0.0, 50.0))
    drawn = torch.randn(12, generator=stream(0, "update-noise", 0, 0), dtype=torch.float64)
    assert torch.allclose(loud - quiet, 50 * 1e-3 * drawn / 3, atol=1e-6)


def test_one_client_changes_the_model_by_no_more_than_its_share():
    """The bound that differential privacy stands on, for every method that allows it: a client with other data."""
    data = clients()
    other = [*data[:2], (100 * data[2][0], 1 - data[2][1])]
    for method in ("fedavg", "fedsam", "fedprox"):
        setting = SETTING | {"rounds": 1, "update_clip": 0.05, "method": method}
        one, two = (flat(artifact.train(network(), given, **setting).model) for given in (data, other))
        assert 0 < (one - two).norm() <= 2 * 0.05 / 3 * 1.001
        free = [
            flat(artifact.train(network(), given, **setting | {"update_clip": None}).model) for given in (data, other)
        ]
        assert (free[0] - free[1]).norm() > 0.1


def test_a_private_training_resumes_with_its_bits(tmp_path):
    setting = SETTING | {"method": "fedsmoo", "update_clip": 0.1, "update_noise": 0.5}
    whole = artifact.train(network(), clients(), rounds=4, **setting)
    artifact.train(network(), clients(), rounds=2, out=tmp_path, **setting)
    again = artifact.train(network(), clients(), rounds=4, out=tmp_path, resume=True, **setting)
    assert torch.equal(flat(whole.model), flat(again.model))
    with pytest.raises(UserError, match="resume"):
        other = setting | {"update_noise": 0.6}
        artifact.train(network(), clients(), rounds=5, out=tmp_path, resume=True, **other)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"update_noise": 1.0}, "update_noise: 1.0 .* without a clip noise hides nothing"),
        ({"update_clip": 0}, "update_clip: 0 is not possible; allowed: a finite number above 0"),
        ({"update_clip": 1.0, "update_noise": -1}, "update_noise: -1 is not possible; allowed: a finite number from 0"),
        ({"update_clip": 1.0, "update_noise": math.nan}, "update_noise: nan"),
        ({"update_clip": 1.0, "method": "mofedsam"}, "mofedsam: no: its server reads single clients"),
        ({"update_clip": 1.0, "method": "feddc"}, "feddc: no: it sends models, not updates"),
        ({"update_clip": 1.0, "workers": 2}, "workers: 2 is not possible; allowed: 1 with update_clip"),
    ],
)
def test_what_is_not_private_is_one_line(options, said):
    with pytest.raises(UserError, match=said):
        artifact.train(network(), clients(), rounds=1, **options)


def test_running_statistics_would_leave_without_noise():
    model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    with pytest.raises(UserError, match=r"update_noise: 'BatchNorm' .* GroupNorm"):
        artifact.train(model, clients(), rounds=1, update_clip=1.0, update_noise=1.0)


def test_what_leaves_is_what_the_papers_equations_send():
    """By hand: FedSAM its update; SCAFFOLD a variate beside it; FedSMOO a dual; Global FedSAM asks twice."""
    assert leaves("fedsam").sent == leaves("fedlesam").sent == 1 and not leaves("fedsam").keeps
    assert leaves("scaffold").sent == leaves("fedsmoo").sent == 2 and leaves("fedsmoo").keeps
    assert (leaves("globalfedsam").exchanges, leaves("fedsam").exchanges) == (2, 1)
    assert not leaves("fedcm").sums_alone  # divides every client's update by that client's own steps
    assert not leaves("feddc").updates  # sends its model plus its drift
    with pytest.raises(UserError, match="method: 'nothing'"):
        leaves("nothing")


def test_a_method_of_ones_own_that_reads_single_clients_is_found():
    @dataclass(frozen=True)
    class Median(algorithms.FedAvg):
        def finish(self, state, c, w, W, C):
            C.mean(W - w)
            return W.median(0).values

    with kept():
        algorithms.register("median-of-models", Median)
        assert not leaves("median-of-models").sums_alone
        with pytest.raises(UserError, match="median-of-models: no: its server reads single clients"):
            artifact.train(network(), clients(), method="median-of-models", update_clip=1.0, rounds=1)
