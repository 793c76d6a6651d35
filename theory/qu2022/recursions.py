"""FedSAM and MoFedSAM on the real line, written straight from the printed equations.

On the line g/|g| is the sign of g, so that every iterate is rational when the data are: runs are exact with
``Fraction`` inputs and symbolic with sympy inputs (then ``unit`` is handed in).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Gradient = Callable[[Any], Any]


def sign(value: Any) -> int:
    """g/|g| on the line, 0 at 0."""
    return (value > 0) - (value < 0)


@dataclass(frozen=True)
class Round:
    """One communication round on the line.

    iterates: per client the K + 1 local iterates; perturbations, ascended: per client the K values of delta_{i,k} and
    of the gradient at the perturbed point; update: mean of w_{i,K} - w^r; w: next server iterate; momentum: next Delta.
    """

    iterates: list[list[Any]]
    perturbations: list[list[Any]]
    ascended: list[list[Any]]
    update: Any
    w: Any
    momentum: Any = 0


def _client(w, gradient, rho, steps, direction, lr, unit):
    iterates, perturbations, ascended = [w], [], []
    for _ in range(steps):
        perturbation = rho * unit(gradient(iterates[-1]))
        sharp = gradient(iterates[-1] + perturbation)
        iterates.append(iterates[-1] - lr * direction(sharp))
        perturbations.append(perturbation)
        ascended.append(sharp)
    return iterates, perturbations, ascended


def _cohort(w, gradients, rho, steps, direction, lr, unit):
    runs = [_client(w, gradient, rho, steps, direction, lr, unit) for gradient in gradients]
    iterates, perturbations, ascended = (list(part) for part in zip(*runs, strict=True))
    update = sum(path[-1] - w for path in iterates) / len(gradients)
    return iterates, perturbations, ascended, update


def fedsam_round(w, gradients: Sequence[Gradient], rho, lr, global_lr, steps: int, unit=sign) -> Round:
    """Algorithm 1 (FedSAM branch) with every client of ``gradients`` active: w + eta_g * mean(w_{i,K} - w)."""
    parts = _cohort(w, gradients, rho, steps, lambda sharp: sharp, lr, unit)
    return Round(*parts, w + global_lr * parts[3])


def mofedsam_round(
    w, momentum, gradients: Sequence[Gradient], rho, beta, lr, global_lr, steps: int, unit=sign, signs=(-1, -1)
) -> Round:
    """Algorithm 2: v = beta g~ + (1 - beta) Delta; Delta' = s1 mean(w_{i,K} - w)/(eta_l K); w' = w + s2 eta_g Delta'.

    signs: (s1, s2); (-1, -1) is the pair for which Delta estimates +grad F, as the text and the proofs use it.
    """
    parts = _cohort(w, gradients, rho, steps, lambda sharp: beta * sharp + (1 - beta) * momentum, lr, unit)
    following = signs[0] * parts[3] / (lr * steps)
    return Round(*parts, w + signs[1] * global_lr * following, following)


def fedcm_round(w, momentum, gradients: Sequence[Gradient], alpha, lr, global_lr, steps: int) -> Round:
    """FedCM (Xu et al. 2021), written independently of MoFedSAM: v = alpha g + (1 - alpha) Delta."""
    paths = []
    for gradient in gradients:
        path = [w]
        for _ in range(steps):
            path.append(path[-1] - lr * (alpha * gradient(path[-1]) + (1 - alpha) * momentum))
        paths.append(path)
    following = sum(w - path[-1] for path in paths) / (lr * steps * len(gradients))
    return Round(paths, [], [], sum(path[-1] - w for path in paths) / len(paths), w - global_lr * following, following)


def fedavg_round(w, gradients: Sequence[Gradient], lr, global_lr, steps: int) -> Any:
    """Next server iterate of FedAvg: K plain gradient steps per client."""
    ends = []
    for gradient in gradients:
        local = w
        for _ in range(steps):
            local = local - lr * gradient(local)
        ends.append(local)
    return w + global_lr * sum(end - w for end in ends) / len(ends)


def quadratic(curvature, centre) -> Gradient:
    """Gradient of curvature/2 (x - centre)^2, smooth with L = |curvature|."""
    return lambda x: curvature * (x - centre)


def plateau(rho, smoothness) -> Gradient:
    """Gradient of a bounded smooth loss whose descent reaches a maximum one radius ahead of x = -rho.

    It is 0 for x >= 0, -L x on [-rho, 0], L (x + 2 rho) on [-2 rho, -rho] and 0 further left: L-Lipschitz, and the loss
    falls by L rho^2 from x = 0 to x = -2 rho. At x = -rho the gradient is L rho, but at x + rho it is 0.
    """

    def gradient(x):
        if x >= 0 or x <= -2 * rho:
            return x * 0
        return -smoothness * x if x >= -rho else smoothness * (x + 2 * rho)

    return gradient


def shoulder(x):
    """Odd 1-Lipschitz gradient with one zero: slope 1 up to |x| = 8, slope -1 up to 12, slope 1 beyond.

    The loss is even and unimodal, 0 at its only stationary point x = 0.
    """
    distance = abs(x)
    if distance <= 8:
        size = distance
    else:
        size = 16 - distance if distance <= 12 else distance - 8
    return size if x > 0 else -size


def shoulder_loss(x):
    """Loss of ``shoulder``: the integral of its gradient from 0 to |x|."""
    distance = abs(x)
    if distance <= 8:
        return distance**2 / 2
    if distance <= 12:
        return 16 * distance - distance**2 / 2 - 64
    return distance**2 / 2 - 8 * distance + 80


@dataclass(frozen=True)
class Stall:
    """Quadratic clients on which FedSAM with K = 1 stands still although no gradient vanishes.

    Curvatures 1, 1, 3, 3 with centres 0, 0, 4 rho, 4 rho and start 7 rho/2: the perturbed gradients are +-9 rho/2,
    their mean is 0, the gradient of F is rho at the iterate and 3 rho at the perturbed iterate. L = 3.
    """

    rho: Fraction

    smoothness = 3

    @property
    def start(self) -> Fraction:
        """Server model at which both methods stand still."""
        return Fraction(7, 2) * self.rho

    @property
    def clients(self) -> list[Gradient]:
        """Gradients of the four clients."""
        return [quadratic(a, c * self.rho) for a, c in ((1, 0), (1, 0), (3, 4), (3, 4))]

    def gradient(self, x) -> Fraction:
        """Gradient of F = mean of the clients."""
        return sum((client(x) for client in self.clients), Fraction(0)) / 4

    def heterogeneity(self) -> Fraction:
        """Smallest sigma_g^2 at the start, the only server iterate."""
        mean = self.gradient(self.start)
        return max((client(self.start) - mean) ** 2 for client in self.clients)

    def excess(self) -> Fraction:
        """F(w^0) - F^*: F has curvature 2, so that it is |grad F|^2/4."""
        return self.gradient(self.start) ** 2 / 4

    def perturbed_excess(self) -> Fraction:
        """max over the ball at w^0 minus its minimum over w: (|d| + rho)^2 - rho^2, d the distance to the minimiser."""
        distance = abs(self.gradient(self.start)) / 2
        return (distance + self.rho) ** 2 - self.rho**2

    def stands_still(self, lr, global_lr) -> bool:
        """One exact round of FedSAM and one of MoFedSAM (Delta^0 = 0) leave the start unchanged."""
        fed = fedsam_round(self.start, self.clients, self.rho, lr, global_lr, 1)
        momentum = mofedsam_round(self.start, Fraction(0), self.clients, self.rho, Fraction(1, 10), lr, global_lr, 1)
        return fed.w == self.start and momentum.w == self.start and momentum.momentum == 0
