"""The choice of a backend on every kind of processor that was measured, and on one that was not."""

import re

import pytest
import torch

from artifact.accelerate import choose
from artifact.accelerate.choose import BACKENDS, PROCESSOR_VARIABLE, default_backend, measured_for
from artifact.base import paths
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


def gain(section: str, model: str, backend: str) -> str:
    """`` (1.31)``: the time by ``loop`` over the backend's, as the notes in the table of backends have them."""
    text = (paths.PACKAGE / "accelerate" / "backends.toml").read_text(encoding="utf-8")
    part = next((p for p in re.split(r"\n(?=\[)", text) if p.startswith(f'["{section}"]')), "")
    family = f"{model.split('-')[0]}-*"
    note = re.search(rf'^"({re.escape(model)}|{re.escape(family)})" = ".+"  # (.+)$', part, re.M)
    times = dict(re.findall(r"(\w+) (\d+) ms", note[2])) if note else {}
    return f" ({int(times['loop']) / int(times[backend]):.2f})" if "loop" in times else ""


def what_runs_where(monkeypatch) -> str:
    """The table of docs/performance-backends.md."""
    lines = [f"| | {' | '.join(UNITS.values())} | GPU |", "|---" * (len(UNITS) + 2) + "|"]
    for model, (title, _) in MODELS.items():
        cells = []
        for unit in UNITS:
            monkeypatch.setenv(PROCESSOR_VARIABLE, unit)
            backend = default_backend(model, CPU)
            cells.append(f"`{backend}`{gain(f'cpu {unit}', model, backend)}")
        lines.append(f"| {title} | {' | '.join(cells)} | `{default_backend(model, torch.device('cuda'))}` |")
    return "\n".join(lines)


def test_the_documented_choice_is_the_measured_one(monkeypatch):
    text = (paths.DOCS / "performance-backends.md").read_text(encoding="utf-8")
    table = what_runs_where(monkeypatch)
    assert table in text, f"docs/performance-backends.md, What runs where:\n{table}"


def test_what_the_rule_keeps_wins_on_two_kinds_of_processor():
    """At least 1.25 times less training time than ``loop``, on two of the three kinds that were measured."""
    for backend, model in (("fourier", "lenet"), ("tiles", "cnn-mnist")):
        gains = [gain(f"cpu {unit}", model, backend) for unit in ("avx2", "avx512", "amx")]
        assert sum(float(g.strip(" ()")) >= 1.25 for g in gains) >= 2


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


@pytest.mark.slow
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
