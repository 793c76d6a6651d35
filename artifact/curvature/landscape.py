"""Loss surfaces: values on a line or a plane through a model, and the directions that span them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from artifact.base import flat
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.base.random import stream
from artifact.curvature.eigen import top_eigenvalues
from artifact.curvature.hessian import require_deterministic
from artifact.curvature.lanczos import random_unit
from artifact.curvature.risk import MEMORY, Loss, Risk, as_risk

Grid: TypeAlias = "Tensor | np.ndarray | Sequence"


def landscape(
    loss: Loss | Risk, w: Tensor, directions: Tensor | Sequence[Tensor], grid: Grid, memory: int = MEMORY
) -> Tensor:
    """L(w + a d1) or L(w + a d1 + b d2) for all a (and b) on the grid.

    directions: [P] or [1, P] for a line, [2, P] or two vectors for a plane, used as they are (no rescaling). grid:
    coordinates [G], on both axes of a plane, or a pair of them ([G1], [G2]), one per axis. memory: bytes of models that
    are built at a time; a Risk evaluates each such group in one call.

    Returns [G] for a line, [G1, G2] for a plane (a by row), on the CPU in the dtype of w. Raises UserError for shapes
    that do not fit and for a loss that is not deterministic.
    """
    risk = as_risk(loss)
    require_deterministic(risk, w)
    D = torch.atleast_2d(torch.stack(list(map(torch.as_tensor, directions)))).to(w)
    if D.dim() != 2 or D.shape[1] != len(w) or len(D) not in (1, 2):
        raise UserError("directions", list(D.shape), f"one or two vectors of length {len(w)}")
    axes = _axes(grid, len(D))
    points = torch.cartesian_prod(*axes).reshape(-1, len(D)).to(w)
    together = max(1, memory // (len(w) * w.element_size()))
    values = torch.cat([risk.values(w.detach() + part @ D).cpu() for part in points.split(together)])
    return values.reshape([len(axis) for axis in axes])


def _axes(grid: Grid, count: int) -> list[Tensor]:
    """One coordinate tensor per axis."""
    pair = isinstance(grid, tuple | list) and len(grid) == 2 and all(np.ndim(part) == 1 for part in grid)
    parts = list(grid) if pair else [grid] * count
    axes = [torch.as_tensor(np.asarray(part), dtype=torch.float64) for part in parts]
    if len(axes) != count or any(axis.dim() != 1 or len(axis) == 0 for axis in axes):
        raise UserError(
            "grid", [list(axis.shape) for axis in axes], f"coordinates [G], or {count} of them, one per axis"
        )
    return axes


def orthogonal_directions(w: Tensor, count: int = 2, seed: int = 0) -> Tensor:
    """Random orthonormal directions [count, P], uniform, without regard to layers ("raw")."""
    rows = torch.stack([random_unit(len(w), w, seed, "curvature/direction", i) for i in range(count)])
    return torch.linalg.qr(rows.T)[0].T.contiguous()


def filter_normalised_directions(layout: flat.Layout, w: Tensor, count: int = 2, seed: int = 0) -> Tensor:
    """Random directions [count, P] whose every filter is as long as the model's (Li et al. 2018, section 4).

    A filter is one row of a weight tensor: an output channel of a convolution, an output unit of a linear layer.
    Tensors with fewer than two axes (biases, norm scales) get zero, as in that paper's experiments.
    """
    if layout.numel != len(w):
        raise UserError("w", len(w), f"the layout's {layout.numel} parameters")
    directions = torch.zeros(count, len(w), dtype=w.dtype, device=w.device)
    for index in range(count):
        draw = torch.randn(len(w), generator=stream(seed, "curvature/direction", index), dtype=torch.float64).to(w)
        for name, part in layout.views(draw).items():
            if part.dim() < 2:
                continue
            target = layout.views(w.detach())[name].flatten(1).norm(dim=1, keepdim=True)
            scaled = flat.unit(part.flatten(1)) * target
            layout.views(directions[index])[name].copy_(scaled.reshape(part.shape))
    return directions


def eigenvector_directions(loss: Loss | Risk, w: Tensor, count: int = 2, **options: Any) -> Tensor:
    """The Hessian's top eigenvectors [count, P] as directions; options as in ``top_eigenvalues``.

    Raises UserError when they did not converge: a surface along a vector that is not an eigenvector shows nothing.
    """
    result = top_eigenvalues(loss, w, count, **options)
    if not result.converged.all():
        raise UserError("directions", str(result).replace("\n", "; "), "converged eigenvectors: more iterations")
    return result.vectors
