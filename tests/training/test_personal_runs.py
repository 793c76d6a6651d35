"""Stored runs whose parameters stay with their clients: what they train, what they report, and resume."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import artifact
from artifact import NUMBERS
from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.runs.session import load_data
from artifact.training.config import hashed, make
from artifact.training.trainer import Trainer

SETTING = {"rounds": 3, "lr": 0.1, "batch_size": 8, "dtype": "float64", "device": "cpu", "backend": "loop"}
DIVIDED = {"dataset": "digits", "train_size": 90, "test_size": 60, "clients": 5, "cohort": 3, "split": "dirichlet:0.2"}


def trained(personal=("fc2",), rounds=3, method="fedsam"):
    config = make(algorithm=method, model="mlp-12", personal=personal, **SETTING, **DIVIDED)
    trainer = Trainer(config, load_data(config))
    return trainer, [trainer.play_round() for _ in range(rounds)]


@pytest.mark.parametrize("method", ["fedsam", "scaffold", "fedsmoo"])
def test_a_run_is_train_on_the_same_clients(method):
    trainer, _ = trained(method=method)
    x, y = trainer.inputs(trainer.data.train_x), trainer.data.train_y
    clients = [(x[pool], y[pool]) for pool in trainer.pools]
    model = Trainer(trainer.config, load_data(trainer.config)).model
    own = artifact.train(model, clients, method=method, cohort=3, personal="fc2", **SETTING)
    for i in range(5):
        w, _ = trainer.of_client(i)
        flat = torch.cat([p.detach().flatten() for p in own.client_model(i).parameters()])
        assert torch.allclose(w, flat.double(), atol=1e-6)


def test_the_result_is_the_mean_over_clients_of_what_their_own_models_have_on_data_of_their_kind():
    trainer, metrics = trained()
    x, y = trainer.inputs(trainer.data.test_x), trainer.data.test_y
    views = trainer.oracle.layout.views
    expected, losses = [], []
    for i, pool in enumerate(trainer.pools):
        weights = views(trainer.of_client(i)[0])
        hidden = torch.relu(x.flatten(1) @ weights["fc1.weight"].T + weights["fc1.bias"])
        logits = hidden @ weights["fc2.weight"].T + weights["fc2.bias"]
        accuracy = loss = 0.0
        for c in range(10):
            share = float((trainer.data.train_y[pool] == c).double().mean())
            at = y == c
            accuracy += share * float((logits[at].argmax(1) == c).double().mean())
            loss += share * float(F.cross_entropy(logits[at], y[at]))
        expected.append(accuracy)
        losses.append(loss)
    found = metrics[-1]["server"]
    assert found["accuracy"] == pytest.approx(np.mean(expected), abs=1e-12)
    assert found["client_mean"] == found["accuracy"] and found["client_min"] == pytest.approx(min(expected))
    assert found["client_sd"] == pytest.approx(np.std(expected, ddof=1))
    assert found["loss"] == pytest.approx(np.mean(losses))
    assert [one["accuracy"] for one in trainer.final()["per_client"]] == pytest.approx(expected)
    heads = {tuple(trainer.of_client(i)[0][-10:].tolist()) for i in range(5)}
    assert len(heads) > 1 and metrics[-1]["cost"]["up"] < 1


def test_a_resumed_run_has_the_same_bits():
    whole, _ = trained(rounds=4)
    begun, _ = trained(rounds=2)
    again, _ = trained(rounds=0)
    again.restore(begun.tensors(), 2)
    for _ in range(2):
        again.play_round()
    for name, value in whole.tensors().items():
        assert torch.equal(value, again.tensors()[name]), name


def test_a_run_without_personal_parameters_has_the_key_of_before_they_were_a_setting():
    config = make(algorithm="fedavg")
    before = {name: value for name, value in config.canonical().items() if name not in ("personal", "server_size")}
    assert config.key("data") == hashed(before, "data", NUMBERS, None)
    assert config.key("data") != make(algorithm="fedavg", personal=("fc2",)).key("data")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"personal": ("head",)}, "personal"),
        ({"personal": ("*",)}, "personal"),
        ({"evaluate": ("all",)}, "evaluate"),
        ({"probes": ("staleness",)}, "probes"),
        ({"eval_train": True}, "eval_train"),
    ],
)
def test_what_speaks_of_one_common_model_is_refused(options, field):
    with pytest.raises(UserError) as caught:
        config = make(**({"algorithm": "fedsam", "model": "mlp-12", "personal": ("fc2",)} | DIVIDED | options))
        Trainer(config, load_data(config))
    assert caught.value.field == field and "\n" not in str(caught.value)


def test_the_command_trains_and_the_model_of_the_server_alone_is_not_measured(tmp_path, capsys):
    words = "run --algorithm fedavg --dataset digits --model mlp-12 --train-size 90 --clients 3 --cohort 3 --rounds 1"
    assert main([*words.split(), "--personal", "fc2", "--out", str(tmp_path)]) == 0
    (folder,) = (path.parent for path in tmp_path.glob("*/done"))
    assert json.loads((folder / "config.json").read_text())["personal"] == ["fc2"]
    capsys.readouterr()
    assert main(["sharpness", str(folder)]) == 2
    assert capsys.readouterr().err.startswith("error: checkpoint: ")
