"""What people expect of a training: schedules, callbacks, folders, data that are not tensors yet, one-line refusals."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import artifact
from artifact.base.errors import UserError

STREAM = torch.Generator().manual_seed(0)
X, Y = torch.randn(40, 4, generator=STREAM), torch.arange(40) % 3
CLIENTS, TEST = [(X[:20], Y[:20]), (X[20:], Y[20:])], (X, Y)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def trained(**options):
    setting = {"test": TEST, "method": "fedsam", "rho": 0.1, "rounds": 4, "batch_size": 8} | options
    return artifact.train(net(), CLIENTS, **setting)


@pytest.mark.parametrize("lr", [[0.2, 0.1, 0.05], lambda t: [0.2, 0.1, 0.05, 0.05][t]])
def test_a_rate_may_be_a_list_or_a_function(lr):
    run = trained(lr=lr)
    assert [row["lr"] for row in run.metrics] == [0.2, 0.1, 0.05, 0.05]
    assert not torch.equal(flat(run.model), flat(trained(lr=0.2).model))


def test_a_radius_may_change_too_and_a_constant_one_changes_no_bit():
    assert torch.equal(flat(trained(rho=lambda t: 0.1).model), flat(trained().model))
    run = trained(rho=[0.1, 0.0])
    assert [row["rho"] for row in run.metrics] == [0.1, 0.0, 0.0, 0.0]
    with pytest.raises(UserError, match="rho"):
        trained(rho=lambda t: -1.0)


def test_cosine_by_hand():
    at = artifact.cosine(0.1, warmup=2, rounds=6)
    expected = [0.05, 0.1, *(0.05 * (1 + math.cos(math.pi * k / 4)) for k in range(4)), 0.0]
    assert [at(t) for t in range(7)] == pytest.approx(expected)
    assert trained(lr=artifact.cosine(0.1, warmup=1)).metrics[1]["lr"] == pytest.approx(0.1)


def test_callbacks_see_each_round_and_may_stop(tmp_path):
    seen = []

    def look(r):
        seen.append((r.round, r.metrics["loss"], flat(r.model)))
        if r.round == 3:
            r.stop()

    run = trained(rounds=9, on_round=[look, artifact.callbacks.CSV(tmp_path / "rounds.csv")])
    assert [number for number, _, _ in seen] == [1, 2, 3] and len(run.metrics) == 3
    assert torch.equal(seen[-1][2], flat(run.model)) and not torch.equal(seen[0][2], seen[1][2])
    with open(tmp_path / "rounds.csv", encoding="utf-8") as file:
        assert [float(row["loss"]) for row in csv.DictReader(file)] == [row["loss"] for row in run.metrics]


def test_early_stopping_waits():
    numbers, stopped = iter([3.0, 2.0, 2.5, 2.5]), []
    early = artifact.callbacks.EarlyStopping("loss", patience=2)
    for t, loss in enumerate(numbers, 1):
        r = artifact.callbacks.Round(t, {"loss": loss}, net)
        early(r)
        stopped.append(r.stopped)
    assert stopped == [False, False, False, True]


@pytest.mark.parametrize("method", ["fedsam", "fedsmoo"])
def test_a_training_that_goes_on_has_the_bits_of_one_that_never_stopped(tmp_path, method):
    options = {"method": method, "lr": artifact.cosine(0.2, rounds=6), "rounds": 6}
    whole = trained(**options)
    out = tmp_path / "mine"

    def leave(r):
        if r.round == 3:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        trained(**options, out=out, on_round=leave, best="accuracy")
    run = trained(**options, out=out, resume=True, best="accuracy")
    assert torch.equal(flat(run.model), flat(whole.model)) and run.metrics == whole.metrics
    assert [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()] == run.metrics
    for name in ("last.pt", "best.pt"):
        model = net()
        model.load_state_dict(torch.load(out / name))
        found = (model(X).argmax(1) == Y).double().mean().item()
        expected = run.metrics[-1]["accuracy"] if name == "last.pt" else max(r["accuracy"] for r in run.metrics)
        assert found == pytest.approx(expected)
    with pytest.raises(UserError, match="resume=True"):
        trained(**options, out=out)
    with pytest.raises(UserError, match="these settings"):
        trained(**options | {"rho": 0.2}, out=out, resume=True)


def test_an_interrupt_gives_what_there_is():
    def interrupt(t):
        if t == 2:
            raise KeyboardInterrupt
        return 0.1

    with pytest.warns(UserWarning, match="interrupted in round 3"):
        run = trained(lr=interrupt)
    assert torch.equal(flat(run.model), flat(trained(rounds=2).model)) and len(run.metrics) == 2


class Texts(Dataset):
    """Whole numbers of unequal length, as a tokenizer gives them."""

    def __init__(self, lengths):
        self.items = [(torch.arange(1, 1 + n), n % 3) for n in lengths]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def padded(samples):
    return nn.utils.rnn.pad_sequence([x for x, _ in samples], batch_first=True), torch.tensor([y for _, y in samples])


def test_texts_of_unequal_length_and_loaders():
    model = nn.Sequential(nn.EmbeddingBag(12, 4), nn.Linear(4, 3))
    clients = [Texts([3, 4, 5, 6]), Texts([2, 9, 3, 4])]
    one = artifact.train(model, clients, collate_fn=padded, rounds=2)
    two = artifact.train(model, [DataLoader(c, 2, collate_fn=padded) for c in clients], rounds=2)
    assert torch.equal(flat(one.model), flat(two.model))
    with pytest.raises(UserError, match="collate_fn"):
        artifact.train(model, clients, rounds=2)


def test_every_client_may_have_a_test_and_some_parameters_alone_may_train():
    run = trained(client_tests=CLIENTS, train_only="2.*")
    for (x, y), row in zip(CLIENTS, run.metrics[-1]["per_client"], strict=True):
        assert row["loss"] == pytest.approx(F.cross_entropy(run.model(x), y).item(), rel=1e-5)
    assert torch.equal(run.model[0].weight, net()[0].weight) and not torch.equal(run.model[2].weight, net()[2].weight)
    assert run.model[0].weight.requires_grad
    with pytest.raises(UserError, match="train_only"):
        trained(train_only="lora*")


@pytest.mark.parametrize(
    "loss",
    [nn.CrossEntropyLoss(weight=torch.tensor([1.0, 5.0, 0.2])), nn.CrossEntropyLoss(ignore_index=1)],
    ids=["weighted", "ignoring"],
)
def test_the_loss_of_a_test_in_parts_is_a_true_mean(loss, monkeypatch):
    import artifact.interface.own_trainer as module

    monkeypatch.setattr(module, "EVALUATION_BATCH", 7)
    run = trained(loss=loss)
    assert run.metrics[-1]["loss"] == pytest.approx(loss(run.model(X), Y).item(), rel=1e-5)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = net()

    def forward(self, x):
        out = self.inner(x)
        return out, out.mean()


def test_an_output_of_several_parts_and_labels_in_a_column():
    run = artifact.train(Two(), CLIENTS, output=lambda out: out[0], test=TEST, rounds=2)
    column = artifact.train(net(), [(x, y[:, None].int()) for x, y in CLIENTS], test=TEST, rounds=2)
    assert run.metrics == column.metrics


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"clients": [(X, np.array(["a", "b"] * 20))]}, "np.unique"),
        ({"clients": [(X, Y + 1)]}, "labels - 1"),
        ({"clients": [(X, Y - 1)]}, "ignore_index"),
        ({"clients": [([torch.randn(3 + i % 2) for i in range(9)], torch.zeros(9).long())]}, "pad samples"),
        ({"clients": [TensorDataset(X, Y, Y)]}, "a pair"),
        ({"clients": []}, "at least one"),
        ({"clients": [((255 * X.abs()).to(torch.uint8), Y)]}, "255 of images"),
        ({"model": nn.LazyLinear(3)}, "call it once"),
        ({"model": nn.Linear}, "an object of it"),
        ({"model": Two()}, "output="),
        ({"loss": lambda o, y: F.cross_entropy(o, y, reduction="none")}, "scalar"),
        ({"momentum": 0.5}, 'optimiser="momentum"'),
        ({"resume": True}, "out="),
    ],
)
def test_what_cannot_be_taken_names_the_remedy(given, told):
    arguments = {"model": net(), "clients": [(X, Y)], "rounds": 1} | given
    with pytest.raises(UserError, match=told) as caught:
        artifact.train(arguments.pop("model"), arguments.pop("clients"), **arguments)
    assert "\n" not in str(caught.value)
