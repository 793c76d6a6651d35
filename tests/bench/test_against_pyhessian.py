"""The comparison with PyHessian, with a stand-in of its interface that this file writes."""

from __future__ import annotations

import sys

import against_pyhessian as script
import pytest
import torch

from artifact import curvature
from artifact.base.errors import UserError

STAND_IN = """
import torch


def flat(parts):
    return torch.cat([p.reshape(-1) for p in parts])


def hessian_vector_product(grads, params, v):
    return torch.autograd.grad(grads, params, grad_outputs=v, retain_graph=True)


class hessian:
    def __init__(self, model, criterion, data=None, dataloader=None, cuda=True):
        self.model, self.loader = model.eval(), dataloader
        self.criterion, self.params = criterion, list(model.parameters())
        if data is not None:
            self.grads = torch.autograd.grad(criterion(model(data[0]), data[1]), self.params, create_graph=True)

    def dataloader_hv_product(self, v):
        total, count = 0.0, 0
        for x, y in self.loader:
            grads = torch.autograd.grad(self.criterion(self.model(x), y), self.params, create_graph=True)
            total = total + len(x) * flat(torch.autograd.grad(grads, self.params, grad_outputs=v))
            count += len(x)
        product = self.cut(total / count)
        return float(flat(product) @ flat(v)), product

    def cut(self, vector):
        parts = vector.split([p.numel() for p in self.params])
        return [part.view_as(p) for part, p in zip(parts, self.params)]

    def product(self, v):
        if self.loader is not None:
            return self.dataloader_hv_product(self.cut(v))[1]
        return hessian_vector_product(self.grads, self.params, self.cut(v))

    def eigenvalues(self, maxIter=100, tol=1e-3):
        v, last = torch.randn(sum(p.numel() for p in self.params)), None
        for _ in range(maxIter):
            v = v / v.norm()
            product = flat(self.product(v))
            value, v = float(v @ product), product
            if last is not None and abs(value - last) < tol * abs(last):
                break
            last = value
        return [value], [self.cut(v / v.norm())]

    def trace(self, maxIter=100, tol=1e-3):
        signs = [2.0 * torch.randint(2, (sum(p.numel() for p in self.params),)) - 1 for _ in range(maxIter)]
        return [float(z @ flat(self.product(z))) for z in signs]
"""


@pytest.fixture
def tool(tmp_path):
    (tmp_path / "pyhessian").mkdir()
    (tmp_path / "pyhessian" / "__init__.py").write_text("from pyhessian.hessian import hessian")
    (tmp_path / "pyhessian" / "hessian.py").write_text(STAND_IN)
    return tmp_path


@pytest.fixture(scope="module")
def measured():
    draw = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    x = torch.randn(90, 10, generator=draw)
    risk = curvature.EmpiricalRisk(model, None, (x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()), batch=40)
    return risk, risk.weights


def test_both_tools_reach_the_same_numbers_and_leave_no_trace(measured, tool):
    risk, w = measured
    state, path = torch.random.get_rng_state(), list(sys.path)
    rows = script.compare(risk, w, tool, tol=1e-2, error=0.1)
    assert torch.equal(state, torch.random.get_rng_state()) and path == sys.path and "pyhessian" not in sys.modules
    assert [row["tool"] for row in rows] == ["artifact.curvature"] * 2 + [
        f"PyHessian, {mode}" for mode in ("batches", "batches", "one batch", "one batch")
    ]
    H = curvature.dense_hessian(risk, w)
    top, trace = float(torch.linalg.eigvalsh(H)[-1]), float(H.trace())
    for row in rows:
        if row["number"] == "top eigenvalue":
            assert row["value"] == pytest.approx(top, rel=0.02) and row["error"] <= 0.01
        else:
            assert abs(row["value"] - trace) <= 4 * row["error"] * row["value"] and row["error"] <= 0.1
        assert row["products"] > 1 and row["cpu_seconds"] > 0 and row["peak_memory_bytes"] > 1e6
    eigen = [row for row in rows if "tolerance" in row]
    assert len(eigen) == 2 and all(row["guarantee_products"] == script.guarantee(len(w), 1e-2) for row in eigen)
    ratios = script.ratios(rows)
    assert ratios["both"]["batches"] == pytest.approx(
        sum(row["cpu_seconds"] for row in rows[2:4]) / sum(row["cpu_seconds"] for row in rows[:2])
    )
    text = script.text(rows)
    assert "not certified" in text and f"{script.guarantee(len(w), 1e-2)} products" in text
    assert text.count("PyHessian") == 4 and "one product: " in text


def test_the_guarantee_is_what_power_iteration_needs():
    """Simulated on a spectrum without a gap: the share of starts that fail after so many products is below the risk."""
    size, tol = 300, 0.1
    products = script.guarantee(size, tol)
    d = torch.linspace(1.0, 0.0, size, dtype=torch.float64).clamp_max(0.9)
    d[0] = 1.0
    starts = torch.randn(4000, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    powers = (starts * d ** (products - 1)) ** 2
    values = (powers * d).sum(1) / powers.sum(1)
    assert float((values < (1 - tol) * 1.0 - 1e-12).double().mean()) <= script.RISK + 3.3 * (script.RISK / 4000) ** 0.5
    assert script.guarantee(size, tol / 10) > 8 * products


def test_a_folder_without_the_package_is_refused(measured, tmp_path):
    risk, w = measured
    with pytest.raises(UserError, match="PyHessian's package"):
        script.compare(risk, w, tmp_path)
