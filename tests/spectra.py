"""Losses with a known Hessian."""

import numpy as np
import torch

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
