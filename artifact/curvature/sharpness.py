"""How much the loss can rise within a small ball: what sharpness-aware methods bound (Foret et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from artifact.base import flat
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.base.random import numpy_stream
from artifact.curvature.hessian import require_deterministic
from artifact.curvature.lanczos import random_unit
from artifact.curvature.risk import EmpiricalRisk, Loss, Risk, as_risk


@dataclass(frozen=True)
class Sharpness:
    """How much a perturbation of bounded length raises the loss L.

    value: L(w + perturbation) - L(w); perturbation: [P], at most rho long; loss: L(w); radius: rho.
    """

    value: float
    perturbation: Tensor
    loss: float
    radius: float


def sam_sharpness(
    loss: Loss | Risk,
    w: Tensor,
    rho: float,
    exact: bool = False,
    *,
    restarts: int = 3,
    steps: int = 100,
    tol: float = 1e-9,
    seed: int = 0,
) -> Sharpness:
    """Rise of the loss from w to a point at most rho away.

    exact = False: the ascent step of SAM, rho times the unit gradient (zero where the gradient is zero). exact = True:
    projected gradient ascent with backtracking from that step, from its opposite and from ``restarts`` random points
    of the sphere; every accepted step raises the loss, so the value is a lower bound of the maximum over the ball and
    at least max(0, the value of the SAM step). It is the maximum itself where the loss is convex enough for
    ascent to find it; it is not certified. steps: per start; tol: relative rise of the value below which a start ends.

    Raises UserError for a bad radius and for a loss that is not deterministic or not finite.
    """
    _check_radius(rho)
    risk = as_risk(loss)
    base = float(require_deterministic(risk, w))
    w = w.detach()
    first = rho * flat.unit(risk.gradient(w))
    rise = float(risk(w + first)) - base
    if not exact:
        return Sharpness(rise, first, base, rho)
    starts = [first, -first] + [rho * random_unit(len(w), w, seed, "curvature/sharpness", i) for i in range(restarts)]
    best = max(((rise, first), (0.0, torch.zeros_like(w))), key=lambda pair: pair[0])
    for start in starts:
        found = _ascend(risk, w, start, base, rho, steps, tol)
        best = max((best, found), key=lambda pair: pair[0])
    return Sharpness(best[0], best[1], base, rho)


@dataclass(frozen=True)
class IteratedSharpness:
    """How much the loss rises within rho of w, after one step uphill and after several.

    one_step: L(w + rho unit(grad L(w))) - L(w).  ascent: the largest rise found.  perturbation: [P], where.

    loss, gradient_norm: at w.  radius: rho.
    """

    one_step: float
    ascent: float
    perturbation: Tensor
    loss: float
    gradient_norm: float
    radius: float


def iterated_sharpness(loss: Loss | Risk, w: Tensor, rho: float, steps: int = 5) -> IteratedSharpness:
    """Rise of the loss on the sphere of radius rho by the iteration d <- rho unit(grad L(w + d)), from d = 0.

    The first d is SAM's; a maximiser on the sphere is a fixed point, and where the loss is convex the rise never falls
    (a power iteration). ``ascent`` is the best of ``steps`` points and 0, so a lower bound of the maximum over the
    ball, at a fixed cost: ``steps`` gradients and one more evaluation. ``sam_sharpness(exact=True)`` searches longer.

    Raises UserError for a bad radius or number of steps.
    """
    _check_radius(rho)
    if steps < 1:
        raise UserError("steps", steps, "an integer of at least 1")
    risk, w = as_risk(loss), w.detach()
    base, gradient = risk.value_and_gradient(w)
    length, best, rises = float(gradient.norm()), torch.zeros_like(w), [0.0]
    for step in range(steps):
        delta = rho * flat.unit(gradient)
        if step + 1 < steps:
            value, gradient = risk.value_and_gradient(w + delta)
        else:
            value = risk(w + delta)
        rises.append(float(value - base))
        best = delta if rises[-1] >= max(rises) else best
    return IteratedSharpness(rises[1], max(rises), best, float(base), length, rho)


def _check_radius(rho: float) -> None:
    if not (rho > 0 and math.isfinite(rho)):
        raise UserError("rho", rho, "a positive number")


def _project(perturbation: Tensor, rho: float) -> Tensor:
    return perturbation * min(1.0, rho / max(float(perturbation.norm()), 1e-300))


def _ascend(
    risk: Risk, w: Tensor, delta: Tensor, base: float, rho: float, steps: int, tol: float
) -> tuple[float, Tensor]:
    """Projected ascent from delta [P]: (rise, perturbation)."""
    rise, length = float(risk(w + delta)) - base, 1024.0 * rho
    for _ in range(steps):
        direction = flat.unit(risk.gradient(w + delta))
        while True:
            candidate = _project(delta + length * direction, rho)
            higher = float(risk(w + candidate)) - base
            if higher > rise:
                break
            length /= 4
            if length <= 1e-9 * rho:
                return rise, delta
        gain, delta, rise = higher - rise, candidate, higher
        length = min(4 * length, 1024.0 * rho)
        if gain <= tol * abs(rise):
            break
    return rise, delta


def m_sharpness(
    risk: EmpiricalRisk, w: Tensor, rho: float, m: int, *, groups: int | None = None, seed: int = 0
) -> Tensor:
    """SAM sharpness of groups of m samples each (Foret et al. 2021, section 4.1): [groups]; its mean is m-sharpness.

    The data are dealt into disjoint groups at random; a rest smaller than m is left out. groups: at most so many
    (None: all). Raises UserError for a bad radius, and when the data hold no group of m samples.
    """
    _check_radius(rho)
    if risk.tensors is None or not 1 <= m <= len(risk):
        raise UserError("m", m, "1 to the number of samples, with data given as a pair of tensors")
    order = numpy_stream(seed, "curvature/m-sharpness").permutation(len(risk))
    count = len(order) // m if groups is None else min(groups, len(order) // m)
    parts = (risk.subset(order[i * m : (i + 1) * m]) for i in range(count))
    return torch.tensor([sam_sharpness(part, w, rho).value for part in parts], dtype=torch.float64)


def sharpness_along(loss: Loss | Risk, path: Iterable[Tensor], rho: float, **options: Any) -> Tensor:
    """Global sharpness along training (Fan et al. 2024, Figure 2, right): ``sam_sharpness`` of every model -> [T].

    path: models [P], e.g. one per evaluated round; loss: the global risk over all clients' data.
    """
    return torch.tensor([sam_sharpness(loss, w, rho, **options).value for w in path], dtype=torch.float64)
