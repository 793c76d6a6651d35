"""Layers: eigenvalues against dense blocks, bounds by hand and on drawn networks, what is no theorem, bad input."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from itertools import pairwise

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import nn
from torch.nn import functional

import artifact
from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.curvature import EmpiricalRisk, dense_hessian
from artifact.looseness import BOUNDS, GaussNewton, bounds, chain_of

DOUBLE = torch.float64
THEOREMS = BOUNDS[:-1]


class Convolutions(nn.Module):
    """Two convolutions, batch normalisation, pooling and functional operations."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Conv2d(3, 4, 2, stride=2)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        x = functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        return self.out(functional.relu(self.second(x)).flatten(1))


class Shared(nn.Module):
    """One layer called twice, with a smooth activation between."""

    def __init__(self):
        super().__init__()
        self.own, self.out = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.relu(self.own(torch.tanh(self.own(x)))))


class Tied(nn.Module):
    """Two modules with one weight."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.out(torch.relu(self.b(torch.relu(self.a(x)))))


class Residual(nn.Module):
    """A branch, piecewise linear."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        x = torch.relu(self.a(x))
        return self.out(x + torch.relu(self.b(x)))


class Beside(nn.Module):
    """A weight that is also used outside its layer."""

    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.relu(self.a(x)) @ self.a.weight)


class Sequence(nn.Module):
    """A linear layer on every position of a sequence."""

    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.out(torch.relu(self.a(x.reshape(-1, 2, 4))).mean(1))


NETWORKS = {
    "convolutions": (Convolutions, (1, 8, 8)),
    "shared": (Shared, (4,)),
    "tied": (Tied, (4,)),
    "residual": (Residual, (4,)),
    "sequence": (Sequence, (8,)),
}


def case(name, samples=24, seed=0):
    """A network in float64 with statistics of its own, and its data."""
    torch.manual_seed(seed)
    make, shape = NETWORKS[name]
    model = make().to(DOUBLE)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(), module.running_var.uniform_(0.2, 2)
            nn.init.normal_(module.weight)
    return model, (torch.randn(samples, *shape, dtype=DOUBLE), torch.randint(3, (samples,)))


@functools.cache
def measured(name):
    """Risk and report of a case with every eigenvalue by both solvers, made once for all tests."""
    model, data = case(name)
    loss = functional.cross_entropy if name == "shared" else nn.CrossEntropyLoss()  # both are the known loss
    return EmpiricalRisk(model, loss, data), bounds(model, loss, data)


@pytest.mark.parametrize("name", NETWORKS)
def test_eigenvalues_are_those_of_dense_blocks(name):
    risk, report = measured(name)
    assert report.known
    w, slices = risk.weights, dict(risk.layout.slices())
    for layer in report.layers:
        part = slices[layer.weight]
        whole, fitted = dense_hessian(risk, w, part), dense_hessian(GaussNewton(risk), w, part)
        for found, block in ((layer.hessian, whole), (layer.covered, fitted), (layer.power, whole)):
            dense = float(torch.linalg.eigvalsh(block)[-1])
            assert found.converged.all()
            assert abs(float(found.values[0]) - dense) <= float(found.residuals[0]) + 1e-12
        assert layer.solvers_agree
        same = torch.allclose(whole, fitted, atol=1e-12)
        assert same == (layer.gauss_newton is None), "the Gauss-Newton block stands beside where it differs, only there"


@pytest.mark.parametrize("name", NETWORKS)
def test_every_theorem_is_above_the_measurement_and_each_above_the_sharper(name):
    _, report = measured(name)
    assert report.violated == []
    for layer in report.layers:
        held = [layer.bounds[bound] for bound in THEOREMS if bound in layer.bounds]
        assert held and held[0] >= layer.measured * (1 - 1e-9)
        assert all(a <= b * (1 + 1e-9) for a, b in pairwise(held))
        assert layer.looseness["sample"] == layer.bounds["sample"] / layer.measured


def test_numbers_by_hand():
    """x = 1, W_1 = (1, 2)^T, W_2 = I, two classes: p_2 = 1/(1 + e^-1); all from the definitions."""
    model = nn.Sequential(nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False)).to(DOUBLE)
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[1.0], [2.0]]))
        model[2].weight.copy_(torch.eye(2))
    report = bounds(model, None, (torch.ones(1, 1, dtype=DOUBLE), torch.tensor([0])))
    first, second = report.layers
    p = 1 / (1 + torch.e**-1)
    top = 2 * p * (1 - p)  # of diag(p) - p p^T
    assert first.squared_norm == pytest.approx(1) and second.squared_norm == pytest.approx(5)
    assert first.measured == pytest.approx(top) and second.measured == pytest.approx(5 * top)
    assert first.bounds == pytest.approx({
        "sample": top, "spectral": 0.5, "frobenius": 1.0, "am-gm": 1.0, "corrected": 3.5, "printed": 3.5,
    })  # fmt: skip
    assert second.bounds == pytest.approx({"sample": 5 * top} | dict.fromkeys(BOUNDS[1:], 2.5))
    assert report.squared_weights == pytest.approx(7) and report.output_curvature == 0.5 and report.known


def test_kernel_areas_by_hand_and_the_printed_bound_fails():
    """A constant 20x20 image, a 3x3 kernel, mean head, logits (mean, -mean): man-thm3-alpha on a real module."""

    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.head = nn.Conv2d(1, 1, 3, bias=False), nn.Linear(1, 2, bias=False)

        def forward(self, x):
            return self.head(torch.relu(self.conv(x)).mean((2, 3)))

    model = Mean().to(DOUBLE)
    with torch.no_grad():
        model.conv.weight.fill_(1e-6)
        model.head.weight.copy_(torch.tensor([[1.0], [-1.0]]))
    layer = bounds(model, None, (torch.ones(1, 1, 20, 20, dtype=DOUBLE), torch.tensor([0]))).layers[0]
    assert layer.measured == pytest.approx(9, rel=1e-6)  # (U 1)(U 1)^T / P^2 has 9, times v.H_z v = 1
    assert layer.squared_norm == 400
    assert layer.bounds["spectral"] == pytest.approx(0.5 * 9 * 2 * 400)
    assert layer.bounds["printed"] == pytest.approx(0.5 * (2 + 9e-12) * 400)
    # a head that averages loses a factor 1 / P, which the chain of bounds does not see: `sample` does
    assert layer.bounds["sample"] == pytest.approx(9 * 400 / 18**2, rel=1e-6)


@given(
    seed=st.integers(0, 10**6),
    widths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    gain=st.floats(0.05, 5),
    activation=st.sampled_from([nn.ReLU, nn.Tanh, nn.LeakyReLU, nn.GELU, nn.Softplus]),
    loss=st.sampled_from([nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.2), "squares"]),
)
@settings(max_examples=10, deadline=None)
def test_bounds_hold_on_drawn_networks(seed, widths, gain, activation, loss):
    generator = torch.Generator().manual_seed(seed)
    sizes = [3, *widths, 2]
    parts = []
    for n, m in pairwise(sizes):
        layer = nn.Linear(n, m)
        with torch.no_grad():
            layer.weight.copy_(gain * torch.randn(m, n, generator=generator))
            layer.bias.copy_(torch.randn(m, generator=generator))
        parts += [layer, activation()]
    model = nn.Sequential(*parts[:-1]).to(DOUBLE)
    y = torch.randint(2, (8,), generator=generator)
    if loss == "squares":
        loss, y = nn.MSELoss(), functional.one_hot(y, 2).double()
    report = bounds(model, loss, (torch.randn(8, 3, generator=generator, dtype=DOUBLE), y), power=False)
    assert report.violated == []
    for layer in report.layers:
        assert set(THEOREMS) <= set(layer.bounds) or layer.why


def test_padding_stride_pooling_and_normalisation_hold_too():
    torch.manual_seed(1)
    for _ in range(4):
        model = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1, stride=2), nn.BatchNorm2d(4), nn.LeakyReLU(1.5),
            nn.MaxPool2d(3, 2, padding=1),
            nn.Conv2d(4, 4, 3, groups=2, padding=1), nn.ReLU(), nn.AvgPool2d(3, 1, padding=1), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(4, 3),
        ).to(DOUBLE)  # fmt: skip
        model[1].running_var.uniform_(0.01, 3)
        report = bounds(model, None, (torch.randn(10, 2, 9, 9, dtype=DOUBLE), torch.randint(3, (10,))), power=False)
        assert report.violated == [] and report.chain.steps
        assert all("spectral" in layer.bounds for layer in report.layers)


def test_each_operation_stretches_by_no_more_than_its_factor():
    """||f(x) - f(y)|| <= sqrt(squared) ||x - y|| on drawn pairs, for every operation without weights."""
    torch.manual_seed(2)
    x = torch.randn(200, 2, 7, 7, dtype=DOUBLE)
    far = x + torch.randn_like(x) * torch.rand(200, 1, 1, 1, dtype=DOUBLE)
    for module in (
        nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.Softplus(), nn.GELU(), nn.SiLU(), nn.ELU(2.0), nn.LeakyReLU(3.0),
        nn.MaxPool2d(3, 1), nn.MaxPool2d(2), nn.AvgPool2d(3, 2), nn.AvgPool2d(3, 1, padding=1), nn.AdaptiveAvgPool2d(1),
    ):  # fmt: skip
        chain = chain_of(nn.Sequential(module), {})
        moved = (module(far) - module(x)).flatten(1).norm(dim=1) / (far - x).flatten(1).norm(dim=1)
        assert float(moved.max()) ** 2 <= chain.steps[0].squared * (1 + 1e-9), module


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Residual(), "no chain"),
        (nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 3)), "LayerNorm"),
        (nn.Sequential(nn.Linear(4, 4), nn.Softmax(1), nn.Linear(4, 3)), "Softmax"),
    ],
)
def test_without_a_chain_the_bound_of_the_samples_is_left(model, said):
    torch.manual_seed(0)
    report = bounds(model, None, (torch.randn(12, 4), torch.arange(12) % 3), power=False)
    assert said in report.chain.why
    assert [set(layer.bounds) for layer in report.layers] == [{"sample"}] * len(report.layers)
    assert said in str(report)


def test_a_weight_used_outside_its_layer_has_no_bound():
    torch.manual_seed(0)
    report = bounds(Beside(), None, (torch.randn(12, 4), torch.arange(12) % 3), power=False)
    inner, outer = report.layers
    assert inner.bounds == {} and "outside" in inner.why
    assert "sample" in outer.bounds


def test_a_bound_below_the_measurement_is_told():
    layer = measured("tied")[1].layers[0]
    layer = replace(layer, bounds={"sample": layer.measured / 2})
    assert layer.violated == ("sample",)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((1, None, None), "model"),
        ((nn.Linear(2, 2), 3, None), "loss"),
        ((nn.Linear(2, 2), None, None), "data"),
        ((nn.LayerNorm(2), None, (torch.ones(2, 2), torch.zeros(2).long())), "model"),
        ((nn.Linear(2, 2), lambda z, y: z.sum().square(), (torch.ones(2, 2), torch.zeros(2).long())), "loss"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, field):
    with pytest.raises(UserError) as error:
        bounds(*arguments)
    assert error.value.field == field


def test_it_is_public():
    assert artifact.bounds is bounds
    with pytest.raises(AttributeError, match="nothing"):
        _ = artifact.nothing


# ---- a network in a file of its own ----------------------------------------------------------------------------------

FILE = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Flatten(),
                      nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 5))
loss = nn.CrossEntropyLoss()

def data():
    labels = torch.arange(50) % 5
    return torch.randn(50, 1, 8, 8) + 3 * torch.randn(5, 1, 8, 8)[labels], labels
"""


def command(capsys, *words):
    code = main(["bounds", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_five_layers_of_ones_own(tmp_path, capsys):
    file = tmp_path / "net.py"
    file.write_text(FILE)
    code, out, _ = command(capsys, "--model", file, "--json", "--figure", tmp_path / "drawn.png")
    assert code == 0
    (row,) = json.loads(out)
    assert len(row["layers"]) == 5 and row["samples"] == 50
    for layer in row["layers"]:
        assert layer["solvers_agree"] and layer["measured"] > 0
        assert all(layer["looseness"][bound] >= 1 - 1e-6 for bound in THEOREMS)
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = command(capsys, "--model", file, "--no-power")
    assert code == 0 and "bound / curvature" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "an existing Python file"),
        ("model = 1", "it has no data"),
        ("model, data = 1, (1, 2)", "torch.nn.Module"),
        ("import torch\n1 / 0", "line 2"),
        ("model = (", "SyntaxError"),
        ("import torch\nmodel, data = torch.nn.Linear(2, 2), 5", "two tensors, or batches"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, capsys, text, said):
    file = tmp_path / "net.py"
    if text is not None:
        file.write_text(text)
    code, out, error = command(capsys, "--model", file)
    assert (code, out) == (2, "")
    assert said in error and len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [[], ["--tol", "2", "x"], ["--data-size", "0", "x"], ["--seed", "-1", "x"], ["--figure", "a.txt", "x"], ["no"]],
)
def test_bad_options_are_one_line(capsys, words):
    code, out, error = command(capsys, *words)
    assert (code, out) == (2, "") and len(error.splitlines()) == 1


def test_a_class_of_which_the_network_is_certain_has_bounds_in_float32():
    """Its probabilities are too small for the eigenvalue solver of that type, which gave no number or none at all."""
    torch.manual_seed(0)
    net = nn.Linear(10, 10, bias=False)
    x, y = 40 * torch.randn(120, 10), torch.arange(120) % 10
    with torch.no_grad():
        net.weight.copy_(torch.eye(10))
    report = bounds(net, nn.CrossEntropyLoss(), (x, y))
    double = bounds(net.double(), nn.CrossEntropyLoss(), (x.double(), y))
    assert report.layers[0].bounds["sample"] == pytest.approx(double.layers[0].bounds["sample"], rel=1e-4)


def test_a_loss_that_is_not_finite_is_refused():
    net = nn.Linear(3, 2)
    with torch.no_grad():
        net.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match="loss: nan is not possible; allowed: a finite loss"):
        bounds(net, nn.CrossEntropyLoss(), (torch.ones(4, 3), torch.tensor([0, 1, 0, 1])))
