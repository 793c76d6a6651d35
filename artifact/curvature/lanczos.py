"""Lanczos with full reorthogonalisation: the Krylov space behind the probes and the spectral density."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from artifact.streams import stream

_GROWTH = 32


def random_unit(size: int, like: Tensor, seed: int, purpose: str, *position: int) -> Tensor:
    """Uniform on the sphere: [size], in the dtype and on the device of ``like``, drawn on the CPU in float64."""
    v = torch.randn(size, generator=stream(seed, purpose, *position), dtype=torch.float64)
    return (v / v.norm()).to(like)


def length(v: Tensor) -> float:
    """||v||, summed in float64: in float32 the norm of ten million numbers is off by 4e-4."""
    return float(torch.linalg.vector_norm(v, dtype=torch.float64))


class Krylov:
    """The Krylov space of a symmetric operator, extended one product at a time.

    alpha [m], beta [m]: the tridiagonal matrix T; beta[-1] is the norm of the next direction.
    exhausted: the space is invariant, to rounding; T's eigenvalues are then eigenvalues of the operator.
    """

    def __init__(self, apply: Callable[[Tensor], Tensor], start: Tensor, against: Tensor | None = None):
        """apply: [1, n] -> [1, n]; start: [n], not zero; against: orthonormal rows [j, n].

        With ``against`` the space belongs to the operator's restriction to the rows' orthogonal complement.
        """
        self.apply = apply
        self.against = start.new_zeros(0, len(start)) if against is None else against
        self.alpha: list[float] = []
        self.beta: list[float] = []
        self.exhausted = False
        self._store = torch.empty(_GROWTH, len(start), dtype=start.dtype, device=start.device)
        start = start - (self.against @ start) @ self.against
        self._store[0] = start / length(start)

    @property
    def steps(self) -> int:
        return len(self.alpha)

    @property
    def basis(self) -> Tensor:
        """Orthonormal rows [m, n]."""
        return self._store[: self.steps]

    def extend(self) -> None:
        """One more step; nothing happens when the space is exhausted."""
        if self.exhausted:
            return
        q = self._store[self.steps]
        r = self.apply(q[None])[0]
        self.alpha.append(float((q * r).sum(dtype=torch.float64)))
        for _ in range(2):  # twice is enough (Parlett 1998, section 6.9)
            r = r - (self.basis @ r) @ self.basis
            r = r - (self.against @ r) @ self.against
        beta = length(r)
        scale = max(map(abs, self.alpha)) + max([*self.beta, beta])
        self.exhausted = self.steps == len(q) - len(self.against) or beta <= 32 * torch.finfo(q.dtype).eps * scale
        self.beta.append(0.0 if self.exhausted else beta)
        if self.exhausted:
            return
        if self.steps == len(self._store):
            self._store = torch.cat([self._store, torch.empty_like(self._store[:_GROWTH])])
        self._store[self.steps] = r / beta

    def tridiagonal(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues [m], ascending, and eigenvectors [m, m] (columns) of T."""
        off = np.asarray(self.beta[:-1])
        return np.linalg.eigh(np.diag(self.alpha) + np.diag(off, 1) + np.diag(off, -1))

    def vectors(self, coefficients: np.ndarray) -> Tensor:
        """Combinations of the basis: [m, j] -> unit rows [j, n]."""
        rows = torch.as_tensor(coefficients.T.copy()).to(self.basis) @ self.basis
        return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True, dtype=torch.float64).to(rows)
