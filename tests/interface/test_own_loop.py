"""A training loop of the user's own takes the engine's steps: same batches, same bits."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from artifact import algorithms
from artifact.base.errors import UserError
from artifact.interface.own_loop import LoopClient, samples_of
from artifact.interface.own_trainer import OwnTrainer
from artifact.interface.sides import Server
from artifact.interface.train import _config
from artifact.training.batches import schedule

ROUNDS, SETTING = 3, {"local_epochs": 2, "batch_size": 8, "lr": 0.05, "seed": 3, "weight_decay": 1e-3}
#: methods whose clients need a gradient over all their data, or a map of their inputs
REFUSED = {"fedrobust", "globalfedsam", "globalfedsam-norm", "mimelite"} | {
    n for n in algorithms.ALGORITHMS if "signed" in n
}


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def clients():
    x = torch.randn(90, 6, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    return [(x[:20], y[:20]), (x[20:50], y[20:50]), (x[50:], y[50:])]


def loop(network, batches, optimiser):
    """What a user writes, but for the batches, which are the engine's."""
    losses = []
    for x, y in batches:

        def closure(x=x, y=y):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(network(x), y)
            loss.backward()
            return loss

        losses.append(optimiser.step(closure).item())
    return {"loss": sum(losses) / len(losses)}


def engines_batches(task, x, y):
    pool = torch.arange(len(y))
    plan = schedule([pool], [task.number], SETTING["batch_size"], [task.steps], SETTING["seed"], task.t)
    return [(x[i], y[i]) for k in range(task.steps) for i in [plan.indices[0, k, : plan.lengths[0][k]]]]


def played(method, train=loop, steps=None, **options):
    config, data = _config(method, 3, 2, SETTING | options), clients()
    server, kept = Server(config, network(), [len(y) for _, y in data]), {}
    told = []
    for _ in range(ROUNDS):
        tasks, sent = server.begin()
        answers = []
        for task in tasks:
            module = network()
            client = LoopClient(config, module, len(data[task.number][1]), task, kept.get(task.number, {}))
            with torch.no_grad():  # as a node loads the server's arrays
                for name, value in client.oracle.layout.views(sent[0]).items():
                    dict(module.named_parameters())[name.removeprefix("module.")].copy_(value)
                for name, value in client.oracle.buffer_layout.views(server.statistics).items():
                    dict(module.named_buffers())[name.removeprefix("module.")].copy_(value)
            batches = engines_batches(task, *data[task.number])[:steps]
            answer, numbers = client.play([x.clone() for x in sent], batches, train)
            answers.append(answer)
            told.append(numbers)
            kept[task.number] = client.kept()
        server.finish(answers)
    return server, told


@pytest.mark.parametrize("method", [name for name in algorithms.ALGORITHMS if name not in REFUSED])
def test_a_loop_of_ones_own_has_the_engines_bits(method):
    server, told = played(method)
    trainer = OwnTrainer(_config(method, 3, 2, SETTING), network(), clients(), None, None)
    for _ in range(ROUNDS):
        trainer.play_round()
    assert not torch.equal(server.w, Server(server.config, network(), [1, 1, 1]).w)
    assert torch.equal(server.w, trainer.w)
    assert torch.equal(server.statistics, trainer.statistics)
    assert all(0 < numbers["loss"] < 10 for numbers in told)


def test_a_loop_without_a_closure_does_for_methods_that_differentiate_at_the_model():
    def plain(network, batches, optimiser):
        for x, y in batches:
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(x), y).backward()
            optimiser.step()

    for method in ("fedavg", "scaffold", "feddyn"):
        assert torch.equal(played(method, plain)[0].w, played(method)[0].w)
    with pytest.raises(UserError, match=r"optimiser.step: 'called without a closure' .* step\(closure\), as fedsam"):
        played("fedsam", plain)


def test_both_passes_of_a_step_draw_the_same_and_a_round_repeats():
    drawn = []

    def noisy(network, batches, optimiser):
        for x, y in batches:

            def closure(x=x, y=y):
                optimiser.zero_grad()
                drawn.append(torch.randn(1).item())
                loss = nn.functional.cross_entropy(network(x + 0.1 * torch.randn(x.shape)), y)
                loss.backward()
                return loss

            optimiser.step(closure)

    torch.manual_seed(5)
    first = played("fedsam", noisy)[0].w
    assert drawn[::2] == drawn[1::2]
    assert len(set(drawn)) == len(drawn) // 2
    torch.manual_seed(6)
    assert torch.equal(played("fedsam", noisy)[0].w, first)


@pytest.mark.parametrize(
    ("train", "options", "said"),
    [
        (loop, {"steps": 2}, r"train: '2 steps of its optimiser' .* local_epochs, batch_size or local_steps"),
        (lambda network, batches, optimiser: None, {}, "train: '0 steps of its optimiser'"),
        (lambda *a: loop(*a)["loss"], {}, "train: 'float' is not possible; allowed: a dict of numbers to report"),
        (loop, {"method": "mimelite"}, "method: 'mimelite' .* without a gradient over all of a client's data"),
        (loop, {"man_zeta": 0.1}, "man_zeta: 0.1 is not possible; allowed: 0 with a loop of your own"),
    ],
)
def test_a_loop_that_does_not_fit_is_one_line(train, options, said):
    with pytest.raises(UserError, match=said):
        played(options.pop("method", "fedavg"), train, **options)


def test_the_samples_of_a_loader_are_counted():
    data = TensorDataset(torch.zeros(7, 2))
    assert samples_of(DataLoader(data, 3)) == samples_of(data) == 7
    with pytest.raises(UserError, match="loader: 'generator' is not possible; allowed: a DataLoader"):
        samples_of(x for x in "ab")
