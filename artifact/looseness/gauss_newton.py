"""The Gauss-Newton part of a Hessian, the curvature of which the layerwise theorems speak.

With z = f(w, x) the outputs of a network, the Hessian of a loss l(z) is J^T H_z J + sum_c (dl/dz_c) grad^2_w z_c. The
first term is the Gauss-Newton matrix; the theorems bound it. The second vanishes on the block of one layer wherever z
is affine in that layer's weights near w: piecewise linear operations above it, and one call of the layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from artifact.base.lazy import Tensor, torch
from artifact.curvature.risk import EmpiricalRisk, Loss, Risk, evaluating


class GaussNewton(Risk):
    """A risk whose Hessian products are products with its Gauss-Newton matrix, for the solvers of ``curvature``."""

    def __init__(self, risk: EmpiricalRisk):
        self.risk, self.memory = risk, risk.memory

    def pieces(self) -> Iterator[tuple[float, Loss]]:
        return self.risk.pieces()

    def linearise(self, w: Tensor) -> Callable[[Tensor], Tensor]:
        """The map V [k, P] -> J^T H_z J V at w."""
        return lambda V: self.hvp(w, V)

    def hvp(self, w: Tensor, V: Tensor) -> Tensor:
        total, mass = torch.zeros_like(V), 0
        for count, x, y in self.risk.batches():
            total += count * self._products(w, x, self.risk._like(y, w), V)
            mass += count
        return total / mass

    def _products(self, w: Tensor, x: Tensor, y: Tensor, V: Tensor) -> Tensor:
        at = w.detach().clone().requires_grad_(True)
        with evaluating(self.risk.model):
            z = self.risk.outputs(at, x)
        free = torch.zeros_like(z, requires_grad=True)
        (pulled,) = torch.autograd.grad(z, at, free, create_graph=True)  # J^T free, linear in free
        outputs = z.detach().requires_grad_(True)
        (slope,) = torch.autograd.grad(self.risk.loss(outputs, y), outputs, create_graph=True)
        rows = []
        for v in V:
            (moved,) = torch.autograd.grad(pulled, free, v, retain_graph=True)  # J v
            curved = torch.zeros_like(z)
            if slope.requires_grad:
                (curved,) = torch.autograd.grad(slope, outputs, moved, retain_graph=True)
            rows.append(torch.autograd.grad(z, at, curved, retain_graph=True)[0])
        return torch.stack(rows)
