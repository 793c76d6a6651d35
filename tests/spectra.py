"""Losses with a known Hessian."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from artifact import curvature
from artifact.curvature.risk import Risk

DOUBLE = torch.float64


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def quadratic(spectrum, seed=0):
    """(loss, w, eigenvalues ascending, H) with these eigenvalues in a random basis."""
    d = torch.as_tensor(np.asarray(spectrum, dtype=float))
    Q = torch.linalg.qr(normal(len(d), len(d), seed=seed))[0]
    H = Q @ torch.diag(d) @ Q.T
    H = (H + H.T) / 2
    b = normal(len(d), seed=seed + 1)
    return (lambda w: 0.5 * w @ H @ w + b @ w), normal(len(d), seed=seed + 2), np.linalg.eigvalsh(H.numpy()), H


class Quadratic(Risk):
    """The loss of ``quadratic`` with its products by hand, for tests that repeat a measurement some hundred times."""

    def __init__(self, H):
        self.H = H

    def __call__(self, w):
        return 0.5 * w @ self.H @ w

    def hvp(self, w, V):
        return V @ self.H

    def linearise(self, w):
        return lambda V: V @ self.H


def tanh_network():
    """A small tanh network, its risk over 50 samples, a point, and the dense Hessian from ``torch.func``."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    x, y = normal(50, 6), torch.arange(50) % 3
    risk = curvature.EmpiricalRisk(model, None, (x, y))
    w = 0.7 * normal(risk.layout.numel, seed=7)
    H = torch.func.hessian(lambda v: functional.cross_entropy(risk.outputs(v, x), y))(w)
    return risk, w, H
