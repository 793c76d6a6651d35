"""Spectral density of the Hessian by stochastic Lanczos quadrature (Golub and Welsch 1969; Lin, Saad and Yang 2016)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, stats, torch
from artifact.curvature.hessian import HessianOperator
from artifact.curvature.lanczos import Krylov, random_unit
from artifact.curvature.risk import Loss, Risk


@dataclass(frozen=True)
class SpectralDensity:
    """Smoothed eigenvalue density; unpacks as (grid, density, weights).

    grid: [G] eigenvalues; density: [G] per unit of eigenvalue, integral 1; weights: [M], with ``nodes`` [M] the
    quadrature rule behind it, sum 1: the mean of f over the eigenvalues is about sum(weights * f(nodes)).
    standard_error: [G] of the density, from probe to probe; probes: number of random starts; sigma: width of the
    Gaussian that replaces each node.
    """

    grid: Tensor
    density: Tensor
    weights: Tensor
    nodes: Tensor
    standard_error: Tensor
    probes: int
    sigma: float

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.grid, self.density, self.weights))

    def interval(self, level: float = 0.95) -> tuple[Tensor, Tensor]:
        """Pointwise Student t interval of the density: two tensors [G]."""
        half = float(stats.t.ppf((1 + level) / 2, self.probes - 1)) * self.standard_error
        return self.density - half, self.density + half


def spectral_density(
    loss: Loss | Risk,
    w: Tensor,
    probes: int = 10,
    steps: int = 80,
    points: int = 512,
    sigma: float | None = None,
    seed: int = 0,
    *,
    slice: slice | None = None,
) -> SpectralDensity:
    """Density of the Hessian's eigenvalues, smoothed by a Gaussian of width sigma.

    probes: independent random starts, at least 2; steps: Lanczos steps per start (fully reorthogonalised, so no
    spurious copies); points: grid size; sigma: in units of the eigenvalues (None: 1% of the spectrum's width); slice:
    only this diagonal block. Probes estimate without bias the quadrature of a random start; what ``steps`` cannot
    resolve is smaller than sigma once steps is large against width / sigma.

    Raises UserError for bad arguments and for a loss that is not deterministic or not finite.
    """
    for name, value, least in (("probes", probes, 2), ("steps", steps, 1), ("points", points, 2)):
        if value < least:
            raise UserError(name, value, f"an integer of at least {least}")
    if sigma is not None and not sigma > 0:
        raise UserError("sigma", sigma, "a positive number")
    operator = HessianOperator(loss, w, slice)
    rules = [_quadrature(operator, steps, seed, probe) for probe in range(probes)]
    nodes = torch.cat([torch.from_numpy(n) for n, _ in rules])
    low, high = float(nodes.min()), float(nodes.max())
    width = sigma or 0.01 * (high - low) or 1e-3 * max(abs(high), 1.0)
    grid = torch.linspace(low - 6 * width, high + 6 * width, points, dtype=torch.float64)
    each = torch.stack([_smooth(grid, torch.from_numpy(n), torch.from_numpy(p), width) for n, p in rules])
    weights = torch.cat([torch.from_numpy(p) for _, p in rules]) / probes
    error = each.std(0, correction=1) / math.sqrt(probes)
    error = torch.maximum(error, 64 * torch.finfo(w.dtype).eps * each.mean(0))  # probes that agree to rounding
    return SpectralDensity(grid, each.mean(0), weights, nodes, error, probes, width)


def _quadrature(operator: HessianOperator, steps: int, seed: int, probe: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [m] and weights [m] of one random start; the weights sum to 1."""
    krylov = Krylov(operator, random_unit(operator.size, operator.w, seed, "curvature/density", probe))
    while krylov.steps < min(steps, operator.size) and not krylov.exhausted:
        krylov.extend()
    nodes, vectors = krylov.tridiagonal()
    return nodes, vectors[0] ** 2


def _smooth(grid: Tensor, nodes: Tensor, weights: Tensor, sigma: float) -> Tensor:
    bumps = torch.exp(-0.5 * ((grid[:, None] - nodes) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
    return bumps @ weights
