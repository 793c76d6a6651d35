"""The choice of a backend on every kind of processor that was measured, and on one that was not."""

import pytest
import torch

from artifact.accelerate import choose
from artifact.accelerate.choose import BACKENDS, PROCESSOR_VARIABLE, default_backend, measured_for
from artifact.base.devices import vector_unit
from artifact.models import networks
from artifact.runs.session import load_data
from artifact.runs.store import environment
from artifact.training.config import make
from artifact.training.gradients import Group, Oracle
from artifact.training.trainer import Trainer

CPU = torch.device("cpu")
UNITS = {"avx2": "AVX2 alone", "avx512": "AVX-512", "amx": "AMX", "unheard-of": "any other processor"}
#: a model of each family, and the shape of the images that it is measured on
MODELS = {
    "mlp-200": ("MLP", (1, 28, 28)),
    "lenet": ("LeNet", (3, 32, 32)),
    "cnn-mnist": ("thesis CNN", (1, 28, 28)),
    "resnet18-gn": ("ResNet-18-GN", (3, 32, 32)),
    "cnn-fmnist": ("other convolutional nets", (1, 28, 28)),
}


@pytest.fixture(params=UNITS)
def unit(request, monkeypatch):
    monkeypatch.setenv(PROCESSOR_VARIABLE, request.param)
    return request.param


def test_a_forced_kind_chooses_its_section_and_changes_no_record(unit):
    section = choose._measured().get(f"cpu {unit}", {})
    assert bool(section) == (unit != "unheard-of")
    for model in MODELS:
        known = section.get(model) or section.get(f"{model.split('-')[0]}-*") or default_backend(model, CPU)
        assert default_backend(model, CPU) == known and known in BACKENDS
        run = make(algorithm="fedavg", model=model, device="cpu")
        assert run.resolved_backend == known and run.canonical()["backend"] == known
    assert environment(CPU)["instructions"] == vector_unit()
    assert measured_for(CPU) == f"cpu {vector_unit().lower()}", "what is measured here goes to this machine's section"


@pytest.mark.parametrize("model", MODELS)
def test_every_kinds_default_gives_the_gradients_of_the_loop(unit, model):
    shape = MODELS[model][1]
    net, generator = networks.build(model, shape, 10, 0).double().train(), torch.Generator().manual_seed(1)
    flat = torch.cat([p.detach().flatten() for p in net.parameters()])
    W = flat + 0.01 * torch.randn(2, len(flat), generator=generator, dtype=torch.float64)
    x = torch.randn(2, 3, *shape, generator=generator, dtype=torch.float64)
    u = torch.rand(2, 3, net.dropout_units, generator=generator) if net.dropout_units else None
    group = Group(None, x, torch.randint(10, (2, 3), generator=generator), u)
    loop, default = Oracle(net, backend="loop"), Oracle(net, backend=default_backend(model, CPU))
    running = loop.buffer_layout.flatten(dict(net.named_buffers())).repeat(2, 1) if list(net.buffers()) else None
    expected, found = (o.gradients(W, None if running is None else running.clone(), group) for o in (loop, default))
    assert default.backend == default_backend(model, CPU)
    assert (found - expected).abs().max() <= 1e-11 * expected.abs().max()


def test_every_kind_trains(unit):
    small = {"dataset": "digits", "train_size": 90, "test_size": 60, "clients": 5, "cohort": 3, "rounds": 1}
    run = make(algorithm="fedsam", model="mlp-12", dtype="float64", device="cpu", **small)
    auto, loop = (Trainer(run.model_copy(update={"backend": b}), load_data(run)) for b in ("auto", "loop"))
    auto.play_round(), loop.play_round()
    assert auto.oracle.backend == ("onednn" if unit == "avx512" else "explicit")
    assert (auto.w - loop.w).abs().max() <= 1e-12
