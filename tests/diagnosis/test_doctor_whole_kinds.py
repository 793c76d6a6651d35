"""The doctor: small shares of wrong terms, random networks, reordered batches, two clients, methods of one's own."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from registries import kept
from torch import nn

import artifact
from artifact.__main__ import main
from artifact.algorithms import build
from artifact.algorithms.base import FedAvg
from artifact.base.errors import UserError

sys.path.insert(0, str(Path(__file__).parent))

from patients import client_of

RHO, LR = 0.05, 0.1


@pytest.fixture(autouse=True)
def _forgotten():
    with kept():
        yield


class Step:
    """A step of SAM by hand. ascent, descent: weight decay in either gradient.  beta: of momentum.

    order: reorders the samples before each pass.  still: the pass, 0 or 1, at which BatchNorm stands still.
    """

    def __init__(self, ascent=0.0, descent=0.0, beta=0.0, nesterov=False, stale=False, order=None, still=1):
        self.ascent, self.descent, self.beta, self.nesterov = ascent, descent, beta, nesterov
        self.stale, self.order, self.still = stale, order, still
        self.buffer = self.last = None

    def gradient(self, model, x, y, number):
        layers = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
        before = [m.momentum for m in layers]
        for m in layers:
            m.momentum = 0.0 if number == self.still else m.momentum
        if self.order is not None:
            order = self.order(len(y))
            x, y = x[order], y[order]
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for m, momentum in zip(layers, before, strict=True):
            m.momentum = momentum
        return [p.grad.clone() for p in model.parameters()]

    def __call__(self, model, x, y):
        own = list(model.parameters())
        g = self.gradient(model, x, y, 0)
        if self.stale and self.last is not None:
            g = self.last
        g = [a + self.ascent * p.detach() for a, p in zip(g, own, strict=True)]
        size = torch.cat([a.flatten() for a in g]).norm()
        shifts = [RHO * a / size for a in g]
        self.shift(own, shifts, 1)
        g = self.last = self.gradient(model, x, y, 1)
        self.shift(own, shifts, -1)
        g = [a + self.descent * p.detach() for a, p in zip(g, own, strict=True)]
        if self.beta:
            old = self.buffer
            self.buffer = g if old is None else [self.beta * b + a for a, b in zip(g, old, strict=True)]
            g = [a + self.beta * b for a, b in zip(g, self.buffer, strict=True)] if self.nesterov else self.buffer
        self.shift(own, g, -LR)

    @staticmethod
    @torch.no_grad()
    def shift(own, vectors, factor):
        for p, v in zip(own, vectors, strict=True):
            p.add_(v, alpha=factor)


def examine(patient, method="fedsam", **options):
    return artifact.doctor(lambda model, x, y: patient(model, x, y), method, lr=LR, rho=RHO, **options)


def own_network(*more):
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), *more]
    return nn.Sequential(*layers, nn.Linear(24, 4))


def own_data():
    stream = torch.Generator().manual_seed(1)
    return torch.randn(80, 3, 8, 8, generator=stream), torch.randint(4, (80,), generator=stream)


# ---- small shares ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("single", [False, True])
def test_weight_decay_in_the_ascent_is_found_at_any_usual_size(decay, single):
    own = {"model": own_network(), "data": own_data()} if single else {}
    assert examine(Step(descent=decay), weight_decay=decay, **own).healthy
    report = examine(Step(ascent=decay, descent=decay), weight_decay=decay, **own)
    assert report.alarms.keys() == {"cosine"}
    assert "weight decay has weight 1.0" in report.alarms["cosine"], report.alarms


def test_a_decay_that_nobody_asked_for_and_one_that_is_missing():
    report = examine(Step(ascent=1e-3))
    assert "the weights has weight 0.001, meant 0" in report.alarms["cosine"], report.alarms
    report = examine(Step(), weight_decay=1e-4)
    assert report.alarms.keys() == {"update"} and report.terms == {"weight decay": (pytest.approx(0, abs=1e-3), 1.0)}
    report = examine(Step(descent=1e-3))
    assert report.terms == {"the weights": (pytest.approx(1e-3, rel=1e-3), 0.0)}


def test_weight_decay_in_the_ascent_of_asam():
    """Its ascent is no sum of vectors."""

    def step(model, x, y):
        F.cross_entropy(model(x), y).backward()
        scale = [p.detach().abs() + 0.2 if n.endswith("weight") else torch.ones_like(p)
                 for n, p in model.named_parameters()]  # fmt: skip
        with torch.no_grad():
            g = [p.grad + decay * p for p in model.parameters()]
            size = torch.cat([(t * a).flatten() for t, a in zip(scale, g, strict=True)]).norm()
            shifts = [0.5 * t * t * a / size for t, a in zip(scale, g, strict=True)]
        Step.shift(list(model.parameters()), shifts, 1)
        g = Step(still=0).gradient(model, x, y, 0)
        Step.shift(list(model.parameters()), shifts, -1)
        Step.shift(list(model.parameters()), g, -LR)
        model.zero_grad()

    decay = 0.0
    right = artifact.doctor(step, "fedasam", rho=0.5, lr=LR)
    assert right.healthy, right
    decay = 0.01
    report = artifact.doctor(step, "fedasam", rho=0.5, lr=LR)
    assert "cosine" in report.alarms and "the weights has weight 0.01" in report.alarms["cosine"], report.alarms


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_that_the_method_lacks_is_named(nesterov):
    report = examine(Step(beta=0.9, nesterov=nesterov))
    assert report.alarms.keys() == {"update"}
    assert report.terms["the last step's direction (momentum)"] == (pytest.approx(0.9, abs=1e-3), 0.0)
    if nesterov:
        assert report.terms["gradient"][0] == pytest.approx(1.9, abs=1e-3)
        assert report.terms["the last step's gradient"][0] == pytest.approx(-0.9, abs=1e-3)


def test_an_ascent_along_the_gradient_of_the_last_step():
    report = examine(Step(stale=True))
    assert "the last step's gradient has weight 1.00, meant 0.00" in report.alarms["cosine"], report.alarms


def test_momentum_that_is_meant_is_no_fault():
    assert examine(Step(beta=0.9, descent=1e-3), momentum=0.9, weight_decay=1e-3).healthy
    report = examine(Step(beta=0.5), momentum=0.9)
    assert report.terms["buffer"] == (pytest.approx(0, abs=1e-3), 1.0)
    assert report.terms["the last step's direction (momentum)"] == (pytest.approx(0.5, abs=1e-3), 0.0)


# ---- optimisers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_an_optimiser_alone_raises_no_alarm(momentum):
    """It cannot hold BatchNorm still; that is said, and is no fault of the optimiser."""

    def optimiser(model):
        base = {"base_optimizer": torch.optim.SGD, "momentum": momentum, "weight_decay": 1e-3}
        return artifact.optim.SAM(model.parameters(), rho=RHO, lr=LR, **base)

    report = artifact.doctor(optimiser)
    assert report.healthy, report
    assert "hold them still in the second pass of your loop" in report.notes["statistics"]


class Around:
    """A minimiser around an optimiser, without param_groups."""

    def __init__(self, optimiser, model):
        self.optimiser, self.model = optimiser, model

    @torch.no_grad()
    def ascent_step(self):
        size = torch.cat([p.grad.flatten() for p in self.model.parameters()]).norm()
        self.shifts = [RHO * p.grad / size for p in self.model.parameters()]
        Step.shift(list(self.model.parameters()), self.shifts, 1)

    @torch.no_grad()
    def descent_step(self):
        Step.shift(list(self.model.parameters()), self.shifts, -1)
        self.optimiser.step()


def test_a_minimiser_around_an_optimiser_needs_no_zero_grad():
    def optimiser(model):
        return Around(torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.8, weight_decay=0.01), model)

    report = artifact.doctor(optimiser, rho=RHO)
    assert report.healthy, report
    with pytest.raises(UserError, match="ascent_step and descent_step, or step"):
        artifact.doctor(lambda model: object.__new__(type("Nothing", (), {})), rho=RHO)


# ---- passes ----------------------------------------------------------------------------------------------------------


class Noisy(nn.Module):
    def forward(self, x):
        return x + 0.3 * torch.randn_like(x) if self.training else x


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), Noisy()], ids=["dropout", "noise"])
def test_a_network_that_draws_is_replayed(layer):
    own = {"model": own_network(layer), "data": own_data()}
    report = examine(Step(), **own)
    assert report.healthy, report
    assert "draw different random numbers" in report.notes["draws"]
    assert examine(Step(ascent=1e-2, descent=1e-2), weight_decay=1e-2, **own).alarms.keys() == {"cosine"}

    def same(model, x, y):
        """Both passes draw alike."""
        torch.manual_seed(int(x.sum() * 1000))
        state = torch.get_rng_state()
        patient = Step()
        plain = patient.gradient
        patient.gradient = lambda *a: (torch.set_rng_state(state), plain(*a))[1]
        patient(model, x, y)

    report = examine(same, **own)
    assert report.healthy and not report.notes, report


def test_the_order_of_a_batch_is_no_fault_and_other_samples_are():
    stream = torch.Generator().manual_seed(0)
    x = torch.randint(2, (48, 3), generator=stream).double()  # many samples are alike, with labels that are not
    y = torch.randint(4, (48,), generator=stream)
    own = {"model": nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4)).double(), "data": (x, y)}
    assert examine(Step(order=torch.randperm), **own).healthy
    assert examine(Step(order=torch.randperm)).healthy
    report = examine(Step(order=lambda n: torch.zeros(n, dtype=torch.long)))
    assert report.alarms.keys() == {"minibatch"}


def test_statistics_that_move_at_the_perturbed_weights():
    assert "perturbed" in examine(Step(still=0)).alarms["statistics"]
    assert "move 2 times" in examine(Step(still=None)).alarms["statistics"]
    assert examine(Step(still=1)).healthy


def test_a_gradient_of_a_copy_of_the_model_is_seen():
    import copy

    def step(model, x, y):
        other = copy.deepcopy(model)
        F.cross_entropy(other(x), y).backward()
        Step.shift(list(model.parameters()), [p.grad for p in other.parameters()], -LR)

    own = {"model": nn.Linear(6, 4).double(), "data": None}
    assert artifact.doctor(step, "fedavg", lr=LR, **own).healthy


# ---- two clients -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scaffold", "feddyn", "fedsmoo", "fedlesam-d", "mofedsam"])
def test_states_of_two_clients(name):
    method = build(name)
    apart = [client_of(method), client_of(method)]

    def right(model, batches, sent, client):
        apart[client](model, batches, sent | {"number": client})

    options = {"rho": method.rho} if hasattr(method, "rho") else {}
    report = artifact.doctor(right, name, lr=LR, **options)
    assert report.healthy, report
    assert {row.client for row in report.rows} == {0, 1}


def test_a_state_that_two_clients_share_is_named():
    """SCAFFOLD with one c_i for both, as code has it that forgets to look the client up."""
    method = build("scaffold")
    own = [client_of(method), client_of(method)]
    memories = [dict(zip(f.__code__.co_freevars, f.__closure__, strict=True))["memory"].cell_contents for f in own]

    def swapped(model, batches, sent, client):
        if sent["round"] == 1 and client == 0:
            states = [memory["state"] for memory in memories]
            memories[0]["state"], memories[1]["state"] = states[1], states[0]
        own[client](model, batches, sent)

    report = artifact.doctor(swapped, "scaffold", lr=LR, rounds=2)
    assert report.alarms.keys() == {"update"}
    assert report.terms == {"c_i": (0.0, 1.0), "c_i of another client": (1.0, 0.0)}
    assert "c_i belongs to the other client" in report.alarms["update"]


# ---- methods of one's own --------------------------------------------------------------------------------------------

METHOD = '''
from dataclasses import dataclass
from artifact.algorithms.base import FedAvg

@dataclass(frozen=True)
class FedHalved(FedAvg):
    """FedAvg with a part of the gradient."""

    share: float = 0.5

    def direction(self, g, c):
        return self.share * g
'''
PATIENT = """
import torch.nn.functional as F
options = {"method": "fedhalved", "lr": 0.1}
def step(model, x, y):
    model.zero_grad()
    F.cross_entropy(model(x), y).backward()
    for p in model.parameters():
        p.data.sub_(0.05 * p.grad)
"""


@dataclass(frozen=True)
class FedThird(FedAvg):
    """FedAvg with a third of the gradient."""

    def direction(self, g, c):
        return g / 3


def test_a_class_of_ones_own_is_what_is_meant():
    def step(model, x, y):
        Step.shift(list(model.parameters()), Step().gradient(model, x, y, 0), -LR / 3)

    assert artifact.doctor(step, FedThird, lr=LR).healthy
    assert artifact.doctor(step, "fedavg", lr=LR).terms == {"gradient": (pytest.approx(1 / 3, abs=1e-5), 1.0)}


def test_the_command_takes_files_and_audits_with_methods(tmp_path, capsys):
    (tmp_path / "method.py").write_text(METHOD)
    (tmp_path / "patient.py").write_text(PATIENT)
    assert main(["doctor", str(tmp_path / "patient.py"), "--add", str(tmp_path / "method.py")]) == 0
    assert "meant: fedhalved paper" in capsys.readouterr().out
    assert main(["audit", "init", str(tmp_path / "doctored2025")]) == 0
    (tmp_path / "patient.py").write_text(PATIENT.replace("fedhalved", "mine"))
    capsys.readouterr()
    assert main(["doctor", str(tmp_path / "patient.py"), "--audit", str(tmp_path / "doctored2025"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["terms"] == {"gradient": [0.25, 1.0]}
