"""The Gauss-Newton part of a Hessian, the curvature of which the layerwise theorems speak.

With z = f(w, x) the outputs of a network, the Hessian of a loss l(z) is J^T H_z J + sum_c (dl/dz_c) grad^2_w z_c. The
first term is the Gauss-Newton matrix; the theorems bound it. The second vanishes on the block of one layer wherever z
is affine in that layer's weights near w: piecewise linear operations above it, and one call of the layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from artifact.base.lazy import Tensor, torch
from artifact.curvature.risk import EmpiricalRisk, Loss, Risk, evaluating
from artifact.curvature.twice import dense, second_derivatives


class GaussNewton(Risk):
    """The generalised Gauss-Newton matrix of a risk as an operator: whatever takes a risk measures this matrix instead.

    risk: a network's mean loss. The operator's products are J^T H_z J v, with J the slopes of the outputs [B, ...] in w
    and H_z the loss's second derivatives in the outputs (Schraudolph 2002; Martens 2010). With a loss that is convex in
    the outputs it has no negative eigenvalue; of the cross-entropy it is the Fisher matrix. Values and gradients are
    the risk's own.

        G = fedsharp.curvature.GaussNewton(risk)
        fedsharp.curvature.top_eigenvalues(G, risk.weights, k=1).values
        G.hvp(risk.weights, vectors)  # [k, P] -> [k, P]
    """

    def __init__(self, risk: EmpiricalRisk):
        self.risk, self.memory = risk, risk.memory

    def pieces(self) -> Iterator[tuple[float, Loss]]:
        return self.risk.pieces()

    def linearise(self, w: Tensor) -> Callable[[Tensor], Tensor]:
        """The map V [k, P] -> J^T H_z J V at w."""
        return lambda V: self.hvp(w, V)

    def hvp(self, w: Tensor, V: Tensor) -> Tensor:
        """The matrix at w [P] times vectors V [k, P] (or one vector [P]); the shape of V comes back."""
        rows = V.reshape(-1, w.numel())
        total, mass = torch.zeros_like(rows), 0.0
        for count, x, y in self.risk.weighed():
            total += count * self._products(w, x, self.risk._like(y, w), rows)
            mass += count
        return (total / mass).reshape(V.shape)

    def _products(self, w: Tensor, x: Any, y: Tensor, V: Tensor) -> Tensor:
        at = w.detach().clone().requires_grad_(True)
        with evaluating(self.risk.model):
            z = self.risk.outputs(at, x)
        free = torch.zeros_like(z, requires_grad=True)
        rows = []
        with second_derivatives():
            (pulled,) = torch.autograd.grad(z, at, free, create_graph=True)  # J^T free, linear in free
            outputs = z.detach().requires_grad_(True)
            (slope,) = torch.autograd.grad(self.risk.loss_at(w)(outputs, y), outputs, create_graph=True)
            for v in V:
                (moved,) = torch.autograd.grad(pulled, free, v, retain_graph=True)  # J v
                curved = torch.zeros_like(z)
                if slope.requires_grad:
                    (curved,) = torch.autograd.grad(slope, outputs, moved, retain_graph=True)
                rows.append(dense(torch.autograd.grad(z, at, curved, retain_graph=True)[0]))
        return torch.stack(rows)
