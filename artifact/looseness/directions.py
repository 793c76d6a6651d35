"""How far directions turn in a round: the corrected lemmas and theorems, beside what they bound.

Directions are unit vectors, so that distances are chords between 0 and 2 and the radius rho drops out. The theorems ask
for a constant L, which is unknown for a network. Here it is the largest |eigenvalue| of the Hessian that was met at a
few points of the path: at most the largest on the whole path. A bound with it is at most the theorem's, so that a
measurement can lie above it: there is more curvature between the points, or a kink of a piecewise linear network, where
no L exists. Such a bound is named under ``violated``, and a warning says so.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from artifact.base.flat import norm, unit
from artifact.base.lazy import Tensor, torch
from artifact.curvature.hessian import HessianOperator
from artifact.curvature.lanczos import Krylov, random_unit
from artifact.curvature.risk import Risk

#: relative excess over a bound that rounding explains
ROUNDING = 1e-5
_STEPS = 12


def chord(a: Tensor, b: Tensor) -> float:
    """||unit(a) - unit(b)|| of two vectors [P], in [0, 2]."""
    return float((unit(a.double()) - unit(b.double())).norm())


def largest_curvature(risk: Risk, points: Sequence[Tensor]) -> float:
    """The largest |eigenvalue| of the Hessian at some points [P], each the largest Ritz value of ``_STEPS`` Lanczos
    steps: from below, as every Rayleigh quotient is, and without a certificate, which a lower bound does not need."""
    largest = 0.0
    for number, w in enumerate(points):
        krylov = Krylov(HessianOperator(risk, w), random_unit(len(w), w, number, "looseness/curvature"))
        for _ in range(_STEPS):
            krylov.extend()
        largest = max(largest, float(abs(krylov.tridiagonal()[0]).max()))
    return largest


def above(pairs: dict[str, tuple[float, float]]) -> list[str]:
    """Names of the (measured, bound) pairs whose bound lies below the measurement; each is warned of."""
    names = [name for name, (measured, bound) in pairs.items() if measured > bound * (1 + ROUNDING) + 1e-6]
    for name in names:
        warnings.warn(f"{name}: measured {pairs[name][0]:.6g} above its bound {pairs[name][1]:.6g}", stacklevel=3)
    return names


def share(measured: float, bound: float) -> float | None:
    """measured / bound; None for a bound of 0."""
    return measured / bound if bound > 0 else None


def estimation(risk: Risk, before: Tensor, after: Tensor, rho: float | None = None) -> dict[str, Any]:
    """The bias of FedLESAM's estimate u = before - after [P] of grad F(after), and the floor of SAM's gradient.

    bias: chord of u and grad F(after) (Fan et al. 2024, Theorem 2); cosine of the two.  bound: of the bias, turned +
    moved_bound, at most 2; ratio: bias / bound.
    turned: chord of u and grad F(before), which holds the theorem's sigma_l', sigma_g', radius, local steps and weight
    decay; it is zero for one step with exact gradients, all clients and no perturbation.
    moved: chord of grad F(before) and grad F(after), bounded by ``moved_bound`` = sqrt(2 - 2 sqrt(1 - kappa^2)), and by
    2 from kappa = 1 on.  curvature: L, see the module.  kappa: L ||u|| / ||grad F(before)||, which is the theorem's
    L eta_g eta_l for a gradient step.  gradient_norm: ||grad F(after)||.
    floor: ||grad F(after + rho unit(grad F(after))) - grad F(after)||^2, by which a model that is stationary for SAM
    can miss a stationary one; floor_bound: L^2 rho^2; floor_ratio (Qu et al. 2022). None without a radius.
    full_passes: gradients of F; the eigenvalues take Hessian products besides.
    """
    update, first, second = before - after, risk.gradient(before), risk.gradient(after)
    if not (torch.isfinite(first).all() and torch.isfinite(second).all()):
        return {"bias": None, "cosine": None, "full_passes": 2}
    points, floor = [before, (before + after) / 2, after], 0.0
    if rho:
        points.append(after + rho * unit(second))
        floor = float((risk.gradient(points[-1]) - second).double().square().sum())
    L = largest_curvature(risk, points)
    length = float(first.norm())
    kappa = L * float(update.norm()) / length if length > 0 else math.inf
    moved_bound = math.sqrt(2 - 2 * math.sqrt(1 - kappa**2)) if kappa < 1 else 2.0
    turned, moved, bias = chord(update, first), chord(first, second), chord(update, second)
    bound = min(2.0, turned + moved_bound)
    pairs = {"bias": (bias, bound), "moved": (moved, moved_bound)}
    if rho:
        pairs["floor"] = (floor, (L * rho) ** 2)
    return {
        "bias": bias,
        "cosine": float(unit(update.double()) @ unit(second.double())),
        "full_passes": 3 if rho else 2,
        "bound": bound,
        "ratio": share(bias, bound),
        "turned": turned,
        "moved": moved,
        "moved_bound": moved_bound,
        "curvature": L,
        "kappa": kappa if math.isfinite(kappa) else None,
        "gradient_norm": float(second.norm()),
        "floor": floor if rho else None,
        "floor_bound": (L * rho) ** 2 if rho else None,
        "floor_ratio": share(floor, (L * rho) ** 2) if rho else None,
        "violated": above(pairs),
    }


def own_drift(risk: Risk, path: Sequence[Tensor], steps: int, lr: float) -> dict[str, Any]:
    """How far a client's own direction turns on its way (Qu et al. 2022, Lemma B.1 for one client, corrected).

    path: models w_{i,0}, w_{i,k}, ... [P] of the client with the loss ``risk``.  steps, lr: K and eta_l.
    own: ||u_k - u_0||^2, u_k the direction of grad F_i(w_{i,k}): the drift of the perturbation over rho^2; own_bound: 4
    min(1, L^2 ||w_{i,k} - w_{i,0}||^2 / ||grad F_i(w_{i,0})||^2); both of the step with the largest ``ratio`` own /
    own_bound.  curvature: L on the path, see the module.  printed: 2 K^2 L^2 eta_l^2, the paper's bound, which is none.
    """
    models = torch.stack(list(path))
    gradients = torch.stack([risk.gradient(w) for w in models]).double()
    if not torch.isfinite(gradients).all():
        return {"own": None, "own_bound": None, "ratio": None}
    L = largest_curvature(risk, list(models))
    squared = (unit(gradients[1:]) - unit(gradients[0])).square().sum(1)
    moved, length = norm((models[1:] - models[0]).double())[:, 0], float(gradients[0].norm())
    bound = (4 * (L * moved / length).square()).clamp_max(4) if length > 0 else torch.full_like(moved, 4.0)
    ratios = torch.where(bound > 0, squared / bound, 0.0)
    worst = int(ratios.argmax())
    own, most = float(squared[worst]), float(bound[worst])
    return {
        "own": own,
        "own_bound": most,
        "ratio": share(own, most),
        "curvature": L,
        "printed": 2 * (steps * L * lr) ** 2,
        "violated": above({"own": (own, most)}),
    }
