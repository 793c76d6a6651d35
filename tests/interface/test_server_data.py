"""Samples at the server: a method reads their gradient and their loss between two rounds."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import artifact
from artifact import algorithms
from artifact.algorithms.base import FedAvg, NonNegative
from artifact.base.errors import UserError
from artifact.runs.session import load_data
from artifact.training.config import make
from artifact.training.trainer import Trainer
from tests.registries import kept

METHOD = '''
from dataclasses import dataclass

from artifact.algorithms.base import FedAvg, NonNegative


@dataclass(frozen=True)
class FedTuned(FedAvg):
    """FedAvg whose server adds a step on its own samples, and keeps it where their loss falls.

    rate: of the step.
    """

    rate: NonNegative = 0.1

    def finish(self, state, c, w, W, C):
        mean = super().finish(state, c, w, W, C)
        tuned = mean - self.rate * C.server_gradient(mean)
        return tuned if C.server_loss(tuned) < C.server_loss(mean) else mean
'''


@dataclass(frozen=True)
class FedTuned(FedAvg):
    rate: NonNegative = 0.1

    def finish(self, state, c, w, W, C):
        mean = super().finish(state, c, w, W, C)
        tuned = mean - self.rate * C.server_gradient(mean)
        return tuned if C.server_loss(tuned) < C.server_loss(mean) else mean


def data(seed, n):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    return x, (x[:, 0] + x[:, 1] > 0).long()


def network():
    torch.manual_seed(0)
    return nn.Linear(4, 2).double()


@pytest.mark.parametrize("rate", [0.5, 100.0])
def test_a_round_is_fedavg_and_a_step_on_the_servers_samples_by_hand(rate):
    """A step of 100 raises the loss, so the mean stays."""
    clients, server = [data(1, 20), data(2, 30)], data(3, 12)
    with kept():
        setting = {"rounds": 1, "batch_size": 100, "lr": 0.1, "dtype": "float64"}
        run = artifact.train(network(), clients, method=FedTuned, server_data=server, rate=rate, **setting)
    models = []
    for x, y in clients:
        model = network()
        F.cross_entropy(model(x), y).backward()
        models.append([p.detach() - 0.1 * p.grad for p in model.parameters()])
    mean = network()
    for p, *own in zip(mean.parameters(), *models, strict=True):
        p.data = torch.stack(own).mean(0)
    before = F.cross_entropy(mean(server[0]), server[1])
    before.backward()
    tuned = network()
    for p, q in zip(tuned.parameters(), mean.parameters(), strict=True):
        p.data = q.detach() - rate * q.grad
    better = F.cross_entropy(tuned(server[0]), server[1]) < before
    assert bool(better) == (rate < 1)
    for p, q in zip(run.model.parameters(), (tuned if better else mean).parameters(), strict=True):
        assert torch.allclose(p.double(), q, atol=1e-6)


def test_no_client_has_a_sample_of_the_server():
    setting = {"algorithm": "fedavg", "dataset": "digits", "model": "mlp-12", "train_size": 100, "clients": 5}
    config = make(**setting, cohort=5, split="dirichlet:0.3", server_size=20)
    trainer = Trainer(config, load_data(config))
    clients = torch.cat(trainer.pools).tolist()
    assert len(clients) == len(set(clients)) == 80 and not set(clients) & set(trainer.server_pool.tolist())
    again = Trainer(config.model_copy(update={"algorithm": "fedsam"}), load_data(config))
    assert torch.equal(again.server_pool, trainer.server_pool)
    g = trainer.cohort(torch.arange(5), [1] * 5).server_gradient(trainer.w)
    x, y = trainer.inputs(trainer.data.train_x[trainer.server_pool]), trainer.data.train_y[trainer.server_pool]
    F.cross_entropy(trainer.model(x), y).backward()
    by_hand = torch.cat([p.grad.flatten() for p in trainer.model.parameters()])
    assert torch.allclose(g, by_hand, atol=1e-6)


def test_a_stored_run_of_a_file_has_data_at_the_server(tmp_path):
    (tmp_path / "method.py").write_text(METHOD, encoding="utf-8")
    from artifact.interface.added import register_file

    with kept():
        register_file(tmp_path / "method.py")
        assert "fedtuned" in algorithms.ALGORITHMS
        setting = {"algorithm": "fedtuned", "dataset": "digits", "model": "mlp-12", "train_size": 100, "clients": 4}
        config = make(**setting, cohort=4, server_size=20, rounds=2)
        trainer = Trainer(config, load_data(config))
        assert [trainer.play_round()["round"] for _ in range(2)] == [1, 2]
        none = make(**setting, cohort=4, rounds=2)
        with pytest.raises(UserError, match="server_size"):
            Trainer(none, load_data(none)).play_round()


@pytest.mark.parametrize(
    "options",
    [{"server_size": 98}, {"server_size": 10, "personal": ("fc2",)}, {"server_size": 10, "split": "domain:x"}],
)
def test_sizes_that_leave_a_client_without_a_sample_and_other_faults_are_refused(options):
    with pytest.raises(UserError, match="server_size"):
        config = make(
            algorithm="fedavg", dataset="digits", train_size=100, model="mlp-12", clients=5, cohort=5, **options
        )
        Trainer(config, load_data(config))


def test_train_without_data_at_the_server_names_the_argument():
    with kept(), pytest.raises(UserError, match="server"):
        artifact.train(network(), [data(1, 20)], method=FedTuned, rounds=1, dtype="float64")


def test_a_hyper_parameter_that_hides_a_function_is_refused():
    @dataclass(frozen=True)
    class Hiding(FedAvg):
        step: NonNegative = 0.1

    with kept(), pytest.raises(UserError, match="hyper-parameter: 'step'"):
        algorithms.register("hiding", Hiding)


def test_data_at_the_server_and_personal_parameters_exclude_each_other():
    setting = {"method": FedTuned, "server_data": data(3, 5), "personal": "bias", "rounds": 1}
    with kept(), pytest.raises(UserError, match="server_data"):
        artifact.train(network(), [data(1, 20)], **setting)
