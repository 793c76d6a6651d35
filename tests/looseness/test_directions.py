"""Directions: each number against its definition, bounds that hold, and bounds that fail aloud where one is planted."""

from __future__ import annotations

import math

import pytest
import torch

from artifact.base.flat import unit
from artifact.curvature import as_risk, dense_hessian
from artifact.looseness import directions, estimation, own_drift

DOUBLE = torch.float64


def quadratic(seed, size=6):
    """w^T H w / 2 + b^T w with an indefinite H, and H and a point."""
    generator = torch.Generator().manual_seed(seed)
    A, b, w = (torch.randn(*shape, dtype=DOUBLE, generator=generator) for shape in ((size, size), (size,), (size,)))
    H = (A + A.T) / 2
    return as_risk(lambda v: 0.5 * v @ H @ v + b @ v), H, w


def kink(v):
    """(|x| beyond 1) of slope 0 below and 5 above, plus a slope of 1 in y: no curvature where it is looked for."""
    return 5 * torch.relu(v[0] - 1) + v[1] + 0.5e-3 * v @ v


def test_curvature_is_the_largest_in_magnitude_that_was_met():
    risk, H, w = quadratic(0)
    expected = float(torch.linalg.eigvalsh(H).abs().max())
    assert directions.largest_curvature(risk, [w, 2 * w]) == pytest.approx(expected, rel=1e-9)
    cubic = as_risk(lambda v: (v**4).sum() / 12)  # H = diag(v^2)
    points = [torch.tensor([1.0, 0.5], dtype=DOUBLE), torch.tensor([0.1, -3.0], dtype=DOUBLE)]
    assert directions.largest_curvature(cubic, points) == pytest.approx(9.0, rel=1e-9)
    assert float(torch.linalg.eigvalsh(dense_hessian(cubic, points[1]))[-1]) == pytest.approx(9.0)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_on_quadratics_whose_curvature_is_known(seed):
    """Any update: steps along the gradient, away from it, short and long."""
    risk, _, w = quadratic(seed)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(len(w), dtype=DOUBLE, generator=generator)
    step = 10.0 ** float(torch.empty(1).uniform_(-3, 1, generator=generator))
    found = estimation(risk, w, w - step * (risk.gradient(w) + (seed % 4) * noise), 0.3)
    assert found["violated"] == []
    assert found["bias"] <= found["bound"] + 1e-12 and found["moved"] <= found["moved_bound"] + 1e-12
    assert found["floor"] <= found["floor_bound"] * (1 + 1e-12)
    path = [w + t * step * noise for t in range(4)]
    drift = own_drift(risk, path, 3, step)
    assert drift["violated"] == [] and drift["own"] <= drift["own_bound"] + 1e-12


def test_estimation_by_hand():
    """F = (x^2 + 4 y^2)/2 from (1, 1), a gradient step of 1/8: the bound is that of kappa = 1/2."""
    risk = as_risk(lambda v: 0.5 * (v * v * torch.tensor([1.0, 4.0], dtype=DOUBLE)).sum())
    w = torch.ones(2, dtype=DOUBLE)
    after = w - risk.gradient(w) / 8
    found = estimation(risk, w, after, 0.1)
    assert found["turned"] == pytest.approx(0, abs=1e-7)
    assert found["kappa"] == pytest.approx(0.5) and found["curvature"] == pytest.approx(4)
    assert found["bound"] == pytest.approx(math.sqrt(2 - 2 * math.sqrt(0.75)))
    first, second = torch.tensor([1.0, 4.0], dtype=DOUBLE), torch.tensor([0.875, 2.0], dtype=DOUBLE)
    assert found["bias"] == pytest.approx(float((unit(first) - unit(second)).norm()))
    assert found["cosine"] == pytest.approx(float(unit(first) @ unit(second)))
    added = 0.1 * unit(second) * torch.tensor([1.0, 4.0], dtype=DOUBLE)
    assert found["floor"] == pytest.approx(float(added @ added)) and found["floor_bound"] == pytest.approx(0.16)
    assert estimation(risk, w, after)["floor"] is None, "a method without a radius has no floor"


def test_drift_by_hand():
    """x^2/2 from 1 across the minimum: the direction turns round, 4 = its bound; a half step keeps it."""
    risk = as_risk(lambda v: 0.5 * v @ v)
    w = torch.ones(1, dtype=DOUBLE)
    found = own_drift(risk, [w, 0.5 * w, -w], 2, 0.5)
    assert (found["own"], found["own_bound"], found["ratio"]) == pytest.approx((4, 4, 1))
    assert found["printed"] == pytest.approx(2)
    kept = own_drift(risk, [w, 0.5 * w], 1, 0.5)
    assert (kept["own"], kept["own_bound"]) == pytest.approx((0, 1))


def test_a_bound_that_fails_is_named_and_warned_of():
    """A kink between the points: the gradient turns and no Hessian there says so. Nothing hides it."""
    risk = as_risk(kink)
    before, after = torch.tensor([2.0, 0.0], dtype=DOUBLE), torch.tensor([0.5, 0.0], dtype=DOUBLE)
    with pytest.warns(UserWarning, match="moved: measured .* above its bound"):
        found = estimation(risk, before, after)
    assert "moved" in found["violated"] and found["moved"] > found["moved_bound"]
    with pytest.warns(UserWarning, match="own: measured .* above its bound"):
        drift = own_drift(risk, [before, after], 1, 0.1)
    assert drift["violated"] == ["own"] and drift["ratio"] > 1


def test_understated_curvature_is_found(monkeypatch):
    risk, _, w = quadratic(3)
    monkeypatch.setattr(directions, "largest_curvature", lambda *_: 1e-3)
    with pytest.warns(UserWarning):
        found = estimation(risk, w, w - 0.1 * risk.gradient(w), 0.3)
    assert {"moved", "floor"} <= set(found["violated"])


def test_numbers_that_are_not_finite_have_no_bound():
    risk = as_risk(lambda v: (v / 0).sum())
    w = torch.ones(2, dtype=DOUBLE)
    assert estimation(risk, w, 2 * w)["bias"] is None
    assert own_drift(risk, [w, 2 * w], 1, 0.1)["own"] is None
