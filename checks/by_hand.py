"""What a run should report, by loops over plain numbers: shares no line with the code that measures runs.

A gradient is a central difference of the client's loss, a least value comes from a search on the line, and rounds are
replayed from the noise that the run drew. ``Recorder`` stands in for the simulator and keeps what a run asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import torch

Point = list[float]
Loss = Callable[[float], float]
STEP = 1e-4  # of a central difference


@dataclass(frozen=True)
class Losses:
    """Clients' losses, each a sum over coordinates.  by_coordinate: [N][d]; weights: [N], equal ones by default."""

    by_coordinate: list[list[Loss]]
    weights: list[float] = field(default_factory=list)

    @property
    def shares(self) -> list[float]:
        """[N], adding up to 1."""
        given = self.weights or [1.0] * len(self.by_coordinate)
        return [one / sum(given) for one in given]

    def gradient(self, client: int, w: Sequence[float]) -> Point:
        """Of one client's loss, with an error below 1e-7."""
        return [slope(loss, x) for loss, x in zip(self.by_coordinate[client], w, strict=True)]

    def all_gradients(self, w: Sequence[float]) -> list[Point]:
        return [self.gradient(client, w) for client in range(len(self.by_coordinate))]

    def mean_gradient(self, w: Sequence[float]) -> Point:
        return mixed(self.shares, self.all_gradients(w))

    def spread(self, w: Sequence[float]) -> float:
        """Mean squared distance of the clients' gradients from their mean."""
        mean = self.mean_gradient(w)
        own = self.all_gradients(w)
        return sum(share * squared(minus(g, mean)) for share, g in zip(self.shares, own, strict=True))

    def mean_loss(self, coordinate: int) -> Loss:
        """The part of F that belongs to one coordinate."""
        parts = [row[coordinate] for row in self.by_coordinate]
        return lambda x: sum(share * part(x) for share, part in zip(self.shares, parts, strict=True))

    def value(self, w: Sequence[float]) -> float:
        """F(w)."""
        return sum(self.mean_loss(j)(x) for j, x in enumerate(w))

    def minimiser(self) -> Point:
        return [least(self.mean_loss(j)) for j in range(len(self.by_coordinate[0]))]

    def least_curvature(self) -> float:
        """Of F, over a grid."""
        grid = [x / 10 for x in range(-200, 201)]
        return min(bend(self.mean_loss(j), x) for j in range(len(self.by_coordinate[0])) for x in grid)

    def largest_curvature(self) -> float:
        """Of any client's loss, in absolute value, over a grid."""
        grid = [x / 10 for x in range(-200, 201)]
        return max(abs(bend(loss, x)) for row in self.by_coordinate for loss in row for x in grid)


def slope(loss: Loss, x: float) -> float:
    return (8 * (loss(x + STEP) - loss(x - STEP)) - (loss(x + 2 * STEP) - loss(x - 2 * STEP))) / (12 * STEP)


def bend(loss: Loss, x: float) -> float:
    return (loss(x + 1e-3) - 2 * loss(x) + loss(x - 1e-3)) / 1e-6


def least(loss: Loss, reach: int = 40) -> float:
    """Where a function on the line is least: every tenth, then thirds of the best interval."""
    best = min((x / 10 for x in range(-10 * reach, 10 * reach + 1)), key=loss)
    low, high = best - 0.1, best + 0.1
    for _ in range(200):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        if loss(first) < loss(second):
            high = second
        else:
            low = first
    return (low + high) / 2


def minus(x: Sequence[float], y: Sequence[float]) -> Point:
    return [a - b for a, b in zip(x, y, strict=True)]


def squared(x: Sequence[float]) -> float:
    return sum(a * a for a in x)


def length(x: Sequence[float]) -> float:
    return math.sqrt(squared(x))


def mixed(weights: Sequence[float], points: Sequence[Sequence[float]]) -> Point:
    return [sum(p * x[j] for p, x in zip(weights, points, strict=True)) for j in range(len(points[0]))]


def cosines_and_quadratics(share: Any, curvature: Any, centre: Any) -> Losses:
    """The family of ``theory.inexact.runs``: p (1 - cos(x - c)) + (1 - p) h (x - c)^2/2 in every coordinate."""

    def loss(p: float, h: float, c: float) -> Loss:
        return lambda x: p * (1 - math.cos(x - c)) + (1 - p) * h * (x - c) ** 2 / 2

    rows = zip(share.tolist(), curvature.tolist(), centre.tolist(), strict=True)
    return Losses([[loss(*one) for one in zip(*row, strict=True)] for row in rows])


def quadratics(q: Any, c: Any, sizes: Any) -> Losses:
    """The family of ``theory.inexact.vanishing_radius``: q (x - c)^2/2 in every coordinate, clients of given sizes."""

    def loss(curvature: float, centre: float) -> Loss:
        return lambda x: curvature * (x - centre) ** 2 / 2

    rows = zip(q.tolist(), c.tolist(), strict=True)
    return Losses([[loss(*one) for one in zip(*row, strict=True)] for row in rows], sizes.tolist())


def cost_of_sampling(clients: int, active: int) -> float:
    """kappa: how far the mean of a cohort is from the mean of all, over the clients' own spread; every cohort once."""
    values = [float(3**i) for i in range(clients)]
    mean = sum(values) / clients
    own = sum((v - mean) ** 2 for v in values) / clients
    means = [sum(cohort) / active for cohort in combinations(values, active)]
    return sum((m - mean) ** 2 for m in means) / len(means) / own if own else 0.0


# ------------------------------------------------------------ what a run asked for


@dataclass(frozen=True)
class Asked:
    """One client's gradient: its round and local step (-1: before the local steps), client, point and answer."""

    round: int
    step: int
    client: int
    point: Point
    answer: Point


@dataclass
class Simulation:
    """One call of the simulator: method, its options, every gradient, server models, cohorts' last local models."""

    method: Any
    options: dict[str, Any]
    asked: list[Asked] = field(default_factory=list)
    models: list[Point] = field(default_factory=list)
    last: list[list[Point]] = field(default_factory=list)

    def of(self, t: int, client: int) -> dict[int, list[Asked]]:
        """A client's gradients of a round by local step."""
        found: dict[int, list[Asked]] = {}
        for one in self.asked:
            if (one.round, one.client) == (t, client):
                found.setdefault(one.step, []).append(one)
        return found

    def cohort(self, t: int) -> list[int]:
        cohorts = self.options.get("cohorts")
        everyone = sorted({one.client for one in self.asked if one.round == t})
        return list(cohorts[t]) if cohorts is not None else everyone

    @property
    def rounds(self) -> int:
        return len(self.models) - 1


class Recorder:
    """Stands in for ``artifact.training.rounds.simulate`` and keeps every simulation."""

    def __init__(self, simulate: Callable[..., torch.Tensor]):
        self.simulate = simulate
        self.simulations: list[Simulation] = []

    def __call__(self, method: Any, gradient: Any, start: Any, clients: int, rounds: int, **options: Any) -> Any:
        found = Simulation(method, dict(options))
        probe = options.pop("probe", None)

        def asking(W: Any, index: Any, t: int, k: int) -> Any:
            answer = gradient(W, index, t, k)
            rows = zip(index.tolist(), W.tolist(), answer.tolist(), strict=True)
            found.asked += [Asked(t, k, client, point, slope) for client, point, slope in rows]
            return answer

        def after(t: int, w: Any, W: Any, c: Any) -> None:
            found.last.append(W.tolist())
            if probe is not None:
                probe(t, w, W, c)

        models = self.simulate(method, asking, start, clients, rounds, probe=after, **options)
        found.models = models.tolist()
        self.simulations.append(found)
        return models


def noises(losses: Losses, simulation: Simulation, before: bool = False) -> list[Point]:
    """What every gradient was beyond the exact one, of the local steps or of those before them."""
    asked = (one for one in simulation.asked if (one.step < 0) == before)
    return [minus(one.answer, losses.gradient(one.client, one.point)) for one in asked]


def replay(losses: Losses, simulation: Simulation, perturb: Callable[..., Point]) -> tuple[list[Point], list[float]]:
    """Server models by plain loops from the run's own noise, and the length of every perturbation.

    perturb: (round, client, local model, noisy gradient there, servers' models so far) -> perturbation.
    """
    options, method = simulation.options, simulation.method
    eta, steps = options["lr"], options.get("steps", 1)
    beta = getattr(method, "beta", 1.0)
    w = simulation.models[0]
    models, radii = [w], []
    momentum = [0.0] * len(w)
    for t in range(simulation.rounds):
        ends, cohort = [], simulation.cohort(t)
        for client in cohort:
            own, x = simulation.of(t, client), w
            for k in range(steps):
                noise = minus(own[k][-1].answer, losses.gradient(client, own[k][-1].point))
                here = [g + z for g, z in zip(losses.gradient(client, x), noise, strict=True)]
                e = perturb(t, client, x, here, models)
                radii.append(length(e))
                there = losses.gradient(client, [a + b for a, b in zip(x, e, strict=True)])
                step = [beta * (g + z) + (1 - beta) * m for g, z, m in zip(there, noise, momentum, strict=True)]
                x = [a - eta * b for a, b in zip(x, step, strict=True)]
            ends.append(x)
        weights = [losses.shares[client] for client in cohort]
        mean = mixed([one / sum(weights) for one in weights], ends)
        momentum = [(a - b) / (steps * eta) for a, b in zip(w, mean, strict=True)]
        w = [a + method.server_lr * (b - a) for a, b in zip(w, mean, strict=True)]
        models.append(w)
    return models, radii


def ascent(rho: float) -> Callable[..., Point]:
    """FedSAM: rho along the client's own gradient."""

    def perturb(t: int, client: int, x: Point, here: Point, models: list[Point]) -> Point:
        size = length(here)
        return [rho * g / size if size else 0.0 for g in here]

    return perturb
