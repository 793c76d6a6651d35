"""What vouches for extreme eigenvalues: bounds on what a Krylov space can have missed, and how often they fail."""

import math

import numpy as np
import pytest
import torch

from artifact import curvature
from artifact.curvature.hessian import HessianOperator
from artifact.curvature.lanczos import Krylov, random_unit
from artifact.curvature.probe import Probe, rayleigh_ritz

DOUBLE = torch.float64


def quadratic(spectrum, seed=0):
    """(loss, w, H) with these eigenvalues in a random basis."""
    draw = torch.Generator().manual_seed(seed)
    d = torch.as_tensor(np.asarray(spectrum, dtype=float))
    Q = torch.linalg.qr(torch.randn(len(d), len(d), generator=draw, dtype=DOUBLE))[0]
    H = Q @ torch.diag(d) @ Q.T
    H = (H + H.T) / 2
    return (lambda w: 0.5 * w @ H @ w), torch.randn(len(d), generator=draw, dtype=DOUBLE), H


def krylov_of(H, start, steps):
    krylov = Krylov(lambda V: V @ H, start)
    while krylov.steps < steps and not krylov.exhausted:
        krylov.extend()
    return krylov


@pytest.mark.parametrize("steps", [1, 4, 9, 30, 40])
def test_unseen_weight_bounds_every_component_of_the_start(steps):
    """|<e, start>|^2 <= exp(log_weight) for every eigenpair, and for one far out a bound that falls with the steps."""
    _, _, H = quadratic(np.r_[np.linspace(-1, 2, 50), 6.0])
    values, vectors = torch.linalg.eigh(H)
    start = random_unit(51, H, 3, "test")
    krylov = krylov_of(H, start, steps)
    ritz = torch.from_numpy(krylov.tridiagonal()[0])
    unseen = [i for i, value in enumerate(values) if (ritz - value).abs().min() > 1e-9]
    assert len(unseen) > 40 or steps > 30
    for value, e in zip(values[unseen].tolist(), vectors.T[unseen], strict=True):
        assert 2 * math.log(abs(float(e @ start))) <= krylov.log_weight(value) + 1e-6
    further = krylov_of(H, start, steps + 3)
    assert further.log_weight(8.0) < krylov.log_weight(8.0) < 0
    assert krylov.log_weight(80.0) < krylov.log_weight(8.0)


def test_unseen_weight_does_not_overflow_and_allows_for_rounding():
    H = torch.diag(torch.linspace(0, 1, 300, dtype=DOUBLE))
    assert krylov_of(H, random_unit(300, H, 0, "test"), 200).log_weight(1e9) < -4000
    same = krylov_of(torch.eye(40).double(), random_unit(40, H, 0, "test"), 5)
    assert same.exhausted and -2 * math.log(1e15) < same.log_weight(2.0) < 0, "rounding could hide that much"


@pytest.mark.parametrize("gap", [0.002, 0.02, 0.2, 2.0])
def test_an_eigenvalue_beyond_is_not_overlooked(gap):
    """The probe is handed the second largest eigenpair, 300 times, with the largest beyond by various gaps."""
    size = 400
    d = torch.cat([torch.tensor([1 + gap, 1.0]), torch.linspace(-0.3, 0.9, size - 2)]).double()
    operator = HessianOperator(lambda w: 0.5 * (d * w * w).sum(), torch.ones(size, dtype=DOUBLE))
    pairs = rayleigh_ritz(operator, torch.eye(size, dtype=DOUBLE)[1:2], "LA", 1, 1e-3)
    found = [Probe(operator, pairs, (seed, 0), 400) for seed in range(300)]
    assert sum(probe.found_more for probe in found) >= 299
    assert sum(probe.ceiling >= 1 + gap - 1e-9 for probe in found) >= 299


def test_a_start_that_hardly_touches_the_top_is_the_stated_risk():
    """A share eps of starts holds less than eps^2 pi / (2 (n - 1)) of a vector: simulated at eps = 0.05."""
    size, eps = 80, 0.05
    shares = torch.stack([random_unit(size, torch.zeros(1).double(), seed, "test") for seed in range(4000)])[:, 0] ** 2
    missed = float((shares <= eps**2 * math.pi / (2 * (size - 1))).double().mean())
    assert missed <= eps + 3.3 * (eps * (1 - eps) / 4000) ** 0.5


def test_a_gap_makes_the_certificate_cheap_and_it_holds():
    wrong = 0
    for seed in range(200):
        loss, w, _ = quadratic(np.r_[10.0, 7.0, np.linspace(-1, 2, 300)], seed=seed)
        found = curvature.top_eigenvalues(loss, w, k=1, tol=1e-2, seed=seed)
        assert found.converged[0] and found.products <= 20
        assert found.ceiling < 10.2
        wrong += abs(float(found.values[0]) - 10.0) > float(found.residuals[0]) or found.ceiling < 10 - 1e-9
    assert wrong == 0
