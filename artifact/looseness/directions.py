"""How far directions turn: the corrected lemmas of perturbation drift and estimation bias, beside what they bound.

Directions are unit vectors, so that distances are chords between 0 and 2 and the radius rho drops out. L is unknown for
a network. Here it is the largest |eigenvalue| of the Hessian that was met at a few points of the path, which is at
most the largest on the whole path: a bound with it is at most the theorem's, and so is its looseness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from artifact.base.flat import norm, unit
from artifact.base.lazy import Tensor, torch
from artifact.curvature.eigen import top_eigenvalues
from artifact.curvature.risk import Risk


def chord(a: Tensor, b: Tensor) -> float:
    """||unit(a) - unit(b)|| of two vectors [P], in [0, 2]."""
    return float((unit(a.double()) - unit(b.double())).norm())


def largest_curvature(risk: Risk, points: Sequence[Tensor]) -> float:
    """The largest |eigenvalue| of the Hessian at some points [P]: from below, as every Rayleigh quotient is."""
    found = (top_eigenvalues(risk, w, 1, which="LM", tol=1e-2, max_iterations=100) for w in points)
    return max(abs(float(one.values[0])) for one in found)


@dataclass(frozen=True)
class Estimation:
    """The bias of FedLESAM's estimate u = w^t - w^{t+1} of grad F(w^{t+1}) (Fan et al. 2024, Theorem 2, corrected).

    bias: chord of the two.
    turned: chord of u and grad F(w^t), which holds the theorem's sigma_l', sigma_g' and the radius: zero for one step
    with exact gradients, all clients and no perturbation.
    moved: chord of grad F(w^t) and grad F(w^{t+1}), bounded by ``moved_bound`` = sqrt(2 - 2 sqrt(1 - kappa^2)), and by
    2 from kappa = 1 on.
    bound: of the bias, turned + moved_bound, at most 2.
    curvature: L, see the module.  kappa: L ||u|| / ||grad F(w^t)||, for a gradient step L eta_g eta_l.
    gradient_norm: ||grad F(w^{t+1})||.
    """

    bias: float
    turned: float
    moved: float
    moved_bound: float
    bound: float
    curvature: float
    kappa: float
    gradient_norm: float

    @property
    def violated(self) -> bool:
        """Whether a direction turned further than the curvature that was met allows: there is more on the path."""
        return self.moved > self.moved_bound + 1e-6


def estimation(risk: Risk, before: Tensor, after: Tensor, curvature_of: Risk | None = None) -> Estimation:
    """The estimate of a round from ``before`` to ``after`` [P]. curvature_of: of what L is taken (None: risk)."""
    update, first, second = before - after, risk.gradient(before), risk.gradient(after)
    L = largest_curvature(curvature_of or risk, [before, (before + after) / 2, after])
    length = float(first.norm())
    kappa = L * float(update.norm()) / length if length > 0 else math.inf
    moved_bound = math.sqrt(2 - 2 * math.sqrt(1 - kappa**2)) if kappa < 1 else 2.0
    turned = chord(update, first)
    bound = min(2.0, turned + moved_bound)
    bias, moved = chord(update, second), chord(first, second)
    return Estimation(bias, turned, moved, moved_bound, bound, L, kappa, float(second.norm()))


@dataclass(frozen=True)
class Drift:
    """How far a client's own perturbation turns on its way (Qu et al. 2022, Lemma B.1 for one client, corrected).

    squared: ||u_k - u_0||^2 [K] with u_k the direction of grad F_i(w_{i,k}): the drift over rho^2.
    bound: [K] 4 min(1, L^2 ||w_{i,k} - w_{i,0}||^2 / ||grad F_i(w_{i,0})||^2).
    printed: 2 K^2 L^2 eta_l^2 for the step size given.  curvature: L, see the module.
    """

    squared: tuple[float, ...]
    bound: tuple[float, ...]
    printed: float
    curvature: float

    @property
    def violated(self) -> bool:
        return any(s > b + 1e-6 for s, b in zip(self.squared, self.bound, strict=True))


def drift_of_client(risk: Risk, path: Tensor, steps: int, lr: float) -> Drift:
    """Along the models path [K + 1, P] of a client with the loss ``risk``; steps, lr: K, eta_l of the printed form."""
    gradients = torch.stack([risk.gradient(w) for w in path]).double()
    L = largest_curvature(risk, [path[0], path[len(path) // 2], path[-1]])
    squared = (unit(gradients[1:]) - unit(gradients[0])).square().sum(1)
    moved, length = norm((path[1:] - path[0]).double())[:, 0], float(gradients[0].norm())
    bound = (4 * (L * moved / length).square()).clamp_max(4) if length > 0 else torch.full_like(moved, 4.0)
    return Drift(tuple(squared.tolist()), tuple(bound.tolist()), 2 * (steps * L * lr) ** 2, L)
