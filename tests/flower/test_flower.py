"""A round in two places is the engine's round: method by method without Flower, and in Flower's own simulation."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from flower_case import CLIENTS, COHORT, METHODS, ROUNDS, SETTING, data, loader_of, loop, network

from artifact import algorithms
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.interface.own_loop import LoopClient, samples_of
from artifact.interface.own_trainer import OwnTrainer
from artifact.interface.sides import Client, Server
from artifact.interface.train import _config

#: (method, variant) -> what its refusal names
REFUSED = {
    ("fedrobust", "paper"): "its clients keep a map of their inputs",
    ("globalfedsam", "paper"): "one exchange a round",
    ("globalfedsam-norm", "paper"): "one exchange a round",
    ("fedavg-signed", "paper"): "one exchange a round",
    ("scaffold-signed", "paper"): "one exchange a round",
    ("feddyn-signed", "paper"): "one exchange a round",
    ("fedcm-signed", "paper"): "one exchange a round",
    ("feddc", "released"): "its clients' sums alone",  # its server averages the drift of all clients, absent ones, too
}
FORMS = [
    (name, variant)
    for name in algorithms.ALGORITHMS
    for variant in ("paper", "released")
    if (name, variant) not in REFUSED and (variant == "paper" or algorithms.has_code(name))
]


def _engine(method: str, options: dict) -> list[dict[str, torch.Tensor]]:
    """The server's parameters and running statistics before the first round and after every one, by name."""
    trainer = OwnTrainer(_config(method, CLIENTS, COHORT, SETTING | options), network(), data(), None, None)
    models = []
    for t in range(ROUNDS + 1):
        if t:
            trainer.play_round()
        views = trainer.oracle.layout.views(trainer.w) | trainer.oracle.buffer_layout.views(trainer.statistics)
        models.append({name.removeprefix("module."): value.clone() for name, value in views.items()})
    return models


def _two_places(method: str, options: dict) -> tuple[Server, OwnTrainer]:
    """A server and clients that are made anew every round, as on nodes; and the engine after the same rounds."""
    config, clients = _config(method, CLIENTS, COHORT, SETTING | options), data()
    server, trainer = (
        Server(config, network(), [len(y) for _, y in clients]),
        OwnTrainer(config, network(), clients, None, None),
    )
    kept: dict[int, dict] = {}
    for _ in range(ROUNDS):
        trainer.play_round()
        tasks, sent = server.begin()
        answers = []
        for task in tasks:
            client = Client(config, network(), clients[task.number], None, task, kept.get(task.number, {}))
            answers.append(client.play([x.clone() for x in sent], server.statistics))
            kept[task.number] = client.kept()
        server.finish(answers)
    return server, trainer


@pytest.mark.parametrize(("method", "variant"), FORMS)
def test_a_round_in_two_places_has_the_engines_bits(method, variant):
    server, trainer = _two_places(method, {"variant": variant})
    assert torch.isfinite(server.w).all()
    assert torch.equal(server.w, trainer.w)
    assert torch.equal(server.statistics, trainer.statistics)


@pytest.mark.parametrize("method", ["fedavg", "scaffold", "fedsmoo", "fedlesam-d"])
def test_a_round_without_a_failed_client_is_that_of_the_others(method, monkeypatch):
    """Two of three answer in round 1: the round is the one whose cohort is these two, and later rounds go on."""
    from artifact.interface import sides

    config, clients = _config(method, CLIENTS, COHORT, SETTING), data()

    def trained(fails):
        server, kept = Server(config, network(), [len(y) for _, y in clients]), {}
        for t in range(3):
            tasks, sent = server.begin()
            present = [0, 2] if fails and t == 1 else [*range(len(tasks))]
            answers = []
            for task in (tasks[position] for position in present):
                client = Client(config, network(), clients[task.number], None, task, kept.get(task.number, {}))
                answers.append(client.play([x.clone() for x in sent], server.statistics))
                kept[task.number] = client.kept()
            server.finish(answers, present)
        return server

    failed, draw = trained(True), sides.draw_cohort

    def smaller(seed, t, *rest):
        found = draw(seed, t, *rest)
        return found[[0, 2]] if t == 1 else found

    monkeypatch.setattr(sides, "draw_cohort", smaller)
    whole = trained(False)
    assert torch.isfinite(failed.w).all()
    assert torch.equal(failed.w, whole.w) and torch.equal(failed.statistics, whole.statistics)


def test_the_mean_by_size_is_the_engines_too():
    server, trainer = _two_places("fedsam", {"server_mean": "weighted", "dtype": "float64"})
    assert server.w.dtype == torch.float64
    assert torch.equal(server.w, trainer.w)


@pytest.mark.parametrize(("method", "variant"), REFUSED)
def test_a_method_that_does_not_fit_is_refused(method, variant):
    with pytest.raises(UserError, match=REFUSED[method, variant]):
        _two_places(method, {"variant": variant})


def test_a_method_that_reads_what_was_not_sent_is_refused(monkeypatch):
    """FedCM's momentum is the server's; a client that reads it without a broadcast has no number there."""
    monkeypatch.setattr(
        algorithms.ALGORITHMS["fedcm"], "begin", lambda self, state, w, C: {"momentum": state["momentum"]}
    )
    with pytest.raises(UserError, match="what is broadcast alone"):
        _two_places("fedcm", {})


def test_nodes_compute_on_the_cpu():
    config, sizes = _config("fedsam", CLIENTS, COHORT, SETTING), [len(y) for _, y in data()]
    assert config.device == "auto"
    assert Server(config, network(), sizes).config.device == "cpu"
    with pytest.raises(UserError, match="device: 'cuda' is not possible; allowed: cpu"):
        Server(config.model_copy(update={"device": "cuda"}), network(), sizes)


def test_the_sums_travel_once():
    """FedSAM sends its update alone, FedSMOO one vector more, as the engine counts it."""
    for method, vectors in (("fedsam", 0), ("fedsmoo", 1)):
        config, clients = _config(method, CLIENTS, COHORT, SETTING), data()
        server = Server(config, network(), [len(y) for _, y in clients])
        tasks, sent = server.begin()
        assert len(sent) == 1 + vectors
        client = Client(config, network(), clients[tasks[0].number], None, tasks[0], {})
        answer = client.play(sent, server.statistics)
        assert sum(x is not None for x in answer.sums) == vectors
        assert answer.passes == 2 * tasks[0].steps


@pytest.mark.skipif(importlib.util.find_spec("flwr") is not None, reason="flwr is installed")
def test_without_flower_it_is_one_line():
    import artifact.flower

    with pytest.raises(UserError, match="flwr: 'not installed' is not possible"):
        artifact.flower.FedSMOO  # noqa: B018


def _simulated(folder, what: str) -> dict[str, np.ndarray]:
    if importlib.util.find_spec("flwr") is None:
        pytest.skip("flwr is not installed; docs/yours.md, 'In Flower', says how to run this test")
    file = folder / "models.npz"
    command = [sys.executable, Path(__file__).with_name("flower_case.py"), what, file]
    done = subprocess.run(command, cwd=paths.ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "ray" in done.stderr + done.stdout
    return dict(np.load(file))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory) -> dict[str, np.ndarray]:
    return _simulated(tmp_path_factory.mktemp("flower"), "methods")


@pytest.mark.parametrize("method", METHODS)
def test_flowers_trajectory_is_the_engines(simulated, method):
    models = _engine(method, METHODS[method])
    assert not torch.equal(models[0]["0.weight"], models[-1]["0.weight"])
    worst = 0.0
    for t, model in enumerate(models):
        for name, value in model.items():
            worst = max(worst, float(np.abs(simulated[f"{method}.{t}.{name}"] - value.numpy()).max()))
    print(f"{method}: largest difference of a weight or statistic over {ROUNDS} rounds: {worst:.3g}")
    assert worst <= 1e-6


def test_flowers_clients_may_have_a_loop_of_their_own(tmp_path):
    """Shuffled DataLoaders, a client that fails in round 2: the models are those of the same loops without Flower."""
    found = _simulated(tmp_path, "loop")
    config = _config("fedsmoo", CLIENTS, None, SETTING | METHODS["fedsmoo"])
    server, kept = Server(config, network(), [len(y) for _, y in data()]), {}
    for t in range(1, 4):
        tasks, sent = server.begin()
        present = [position for position, task in enumerate(tasks) if t != 2 or task.number != CLIENTS - 1]
        answers, losses, sizes = [], [], []
        for task in (tasks[position] for position in present):
            module = network()
            whole = server.oracle.layout.views(sent[0]) | server.oracle.buffer_layout.views(server.statistics)
            module.load_state_dict({name.removeprefix("module."): value for name, value in whole.items()})
            loader = loader_of(task.number)
            client = LoopClient(config, module, samples_of(loader), task, kept.get(task.number, {}))
            answer, numbers = client.play([x.clone() for x in sent], loader, loop)
            answers.append(answer)
            losses.append(numbers["train_loss"])
            sizes.append(len(loader.dataset))
            kept[task.number] = client.kept()
        server.finish(answers, present)
        assert found[f"{t}.clients"] == len(present) == (5 if t == 2 else 6)
        assert found[f"{t}.train_loss"] == pytest.approx(np.average(losses, weights=sizes), rel=1e-6)
        for name, value in server.oracle.layout.views(server.w).items():
            assert np.array_equal(found[f"{t}.{name.removeprefix('module.')}"], value.numpy())
    assert len(found["said"]) == 1
    assert "client_app: " in found["said"][0] and "with train= for a training loop of your own" in found["said"][0]
