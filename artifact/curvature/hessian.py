"""The Hessian at a point as an operator, after a check that there is one to measure."""

from __future__ import annotations

import math

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.curvature.risk import MEMORY, Loss, Risk, as_risk, check_weights


def require_deterministic(risk: Risk, w: Tensor) -> Tensor:
    """Evaluates twice; the two must agree to rounding. Returns the loss at w.

    Raises UserError for a bad w, a loss that is not finite, or one that changes between evaluations, in which case no
    curvature is defined.
    """
    check_weights(w)
    first, second = float(risk(w)), float(risk(w))
    if not math.isfinite(first):
        raise UserError("loss", first, "a finite loss at w")
    if abs(first - second) > 1024 * torch.finfo(w.dtype).eps * abs(first):  # a loader's order may move the last digits
        causes = "Dropout, BatchNorm in training mode, augmentation and a shuffled loader that drops samples change it"
        raise UserError("loss", f"{first!r}, then {second!r}", f"the same value in two evaluations at one w ({causes})")
    return w.new_tensor(first)


class HessianOperator:
    """V [k, n] -> H V [k, n] for the Hessian at w, or for its diagonal block on a slice of w.

    V has no zero rows; ``fresh`` builds a new graph instead of using the kept one.
    size: n; products: vectors multiplied so far; norm: largest ||Hv|| / ||v|| seen.
    Raises UserError as ``require_deterministic`` does, for an empty slice, and for a product that is not finite.
    """

    def __init__(self, loss: Loss | Risk, w: Tensor, block: slice | None = None):
        self.risk, self.w = as_risk(loss), w.detach() if isinstance(w, torch.Tensor) else w
        require_deterministic(self.risk, self.w)
        self.kept = self.risk.linearise(self.w)
        self.block = slice(None) if block is None else block
        self.size = len(self.w[self.block])
        self.products, self.norm = 0, 0.0
        if self.size == 0:
            raise UserError("slice", str(block), f"a part of 0..{len(w)} that is not empty")

    def __call__(self, V: Tensor, fresh: bool = False) -> Tensor:
        full = V
        if self.size != len(self.w):
            full = V.new_zeros(len(V), len(self.w))
            full[:, self.block] = V
        self.products += len(V)
        result = (self.risk.hvp(self.w, full) if fresh else self.kept(full))[:, self.block]
        growth = float((result.norm(dim=1) / V.norm(dim=1)).max())
        if not math.isfinite(growth):
            raise UserError("loss", "a Hessian-vector product with NaN or infinity", "a twice differentiable loss at w")
        self.norm = max(self.norm, growth)
        return result


def dense_hessian(loss: Loss | Risk, w: Tensor, slice: slice | None = None, memory: int = 4 * MEMORY) -> Tensor:
    """The whole Hessian [P, P] (or a block), symmetrised, for small models.

    Raises UserError when it would take more than ``memory`` bytes.
    """
    operator = HessianOperator(loss, w, slice)
    needed = operator.size**2 * w.element_size()
    if needed > memory:
        raise UserError("w", f"{operator.size} parameters", f"a dense Hessian within {memory} bytes, not {needed}")
    eye = torch.eye(operator.size, dtype=w.dtype, device=w.device)
    H = torch.cat([operator(rows) for rows in eye.split(64)])  # 64 products share one graph
    return (H + H.T) / 2
