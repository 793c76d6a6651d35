"""Lanczos with full reorthogonalisation: the Krylov space behind the probes and the spectral density."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from artifact.base.lazy import Tensor, torch
from artifact.base.random import stream

_GROWTH = 32
#: Polynomial values are scaled down beyond this, so that they cannot overflow.
_LARGE = 1e100


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
    noise: what rounding leaves of a next direction that is zero.
    """

    def __init__(self, apply: Callable[[Tensor], Tensor], start: Tensor, against: Tensor | None = None):
        """apply: [1, n] -> [1, n]; start: [n], not zero; against: orthonormal rows [j, n].

        With ``against`` the space belongs to the operator's restriction to the rows' orthogonal complement.
        """
        self.apply = apply
        self.against = start.new_zeros(0, len(start)) if against is None else against
        self.alpha: list[float] = []
        self.beta: list[float] = []
        self.exhausted, self.noise = False, 0.0
        self._store = torch.empty(_GROWTH, len(start), dtype=start.dtype, device=start.device)
        start = start - (self.against @ start) @ self.against
        self._store[0] = start / length(start)

    @property
    def steps(self) -> int:
        return len(self.alpha)

    @property
    def room(self) -> int:
        """Dimension of the space that the operator acts on."""
        return self._store.shape[1] - len(self.against)

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
        self.noise = 32 * torch.finfo(q.dtype).eps * scale
        self.exhausted = self.steps == self.room or beta <= self.noise
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

    def log_weight(self, value: float) -> float:
        """Logarithm of the largest squared component that the start can have along an eigenvector of this eigenvalue.

        Let p_0, ..., p_m be the orthonormal polynomials of the start's spectral measure; T holds their recurrence. An
        eigenvector e of x has |<e, q_j>| = |p_j(x) <e, start>| for the orthonormal basis q_0, ..., q_m, hence
        <e, start>^2 <= 1 / sum_j p_j(x)^2 (Christoffel's function; Szego 1939, theorem 3.4.1 f.). Beyond the Ritz
        values the bound falls with the distance from them and with every step; within rounding of one it means nothing.
        Of a space that has no next direction what rounding may hide of one is put in its place.
        """
        last, now, total, scale = 0.0, 1.0, 1.0, 0.0
        for j, (a, b) in enumerate(zip(self.alpha, self.beta, strict=True)):
            below = self.beta[j - 1] * last if j else 0.0
            b = max(b, self.noise) if j == self.steps - 1 else b
            if b == 0.0:
                return -math.inf if value != a else -math.log(total) - scale
            last, now = now, ((value - a) * now - below) / b
            total += now * now
            if abs(now) > _LARGE:
                last, now, total, scale = last / _LARGE, now / _LARGE, total / _LARGE**2, scale + 2 * math.log(_LARGE)
        return -math.log(total) - scale

    def vectors(self, coefficients: np.ndarray) -> Tensor:
        """Combinations of the basis: [m, j] -> unit rows [j, n]."""
        rows = torch.as_tensor(coefficients.T.copy()).to(self.basis) @ self.basis
        return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True, dtype=torch.float64).to(rows)
