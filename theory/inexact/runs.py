"""FedSAM and FedLESAM, as the package runs them, on random problems: measured values of the theorem's quantities.

Client i has F_i(w) = sum_j p (1 - cos(w_j - c)) + (1 - p) h (w_j - c)^2/2 with its own p in [0, 1], h in [-1, 1] and c
per coordinate, so L = 1 and clients may be concave while F is bounded below. A minibatch adds <xi, w> with |xi| =
sigma_l, the same one for ascent and descent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from artifact.algorithms import build, hyperparameters
from artifact.training.rounds import simulate
from theory.kit.hypotheses import Law
from theory.kit.statement import Run, drawn

Array = NDArray[np.float64]
REACH = 40.0  # half the width of the grid that finds the infimum
NOISE_RUNS = 4  # runs with independent noise behind one expected value (50 rounds or more are their own mean)


@dataclass(frozen=True)
class Problem:
    """Clients of the module's family; share, curvature, centre: [N, d]; start [d]."""

    share: Array
    curvature: Array
    centre: Array
    start: Array

    @classmethod
    def draw(cls, rng: np.random.Generator, clients: int, size: int) -> Problem:
        """A problem with a mean curvature of at least 0.1 in every coordinate.

        Two in five start at the least F of the grid, where only drift, perturbation, noise and sampling move the model.
        """
        shape = (clients, size)
        share = rng.choice([0.0, 1.0, 0.5], p=[0.5, 0.2, 0.3]) * rng.uniform(0, 1, shape)
        curvature = rng.uniform(-0.3, 1, shape)
        curvature[0] = 1.0
        share[0] *= 0.5
        spread = rng.choice([0.0, 0.3, 2.0])
        centre = rng.normal(0, spread, shape) if spread else np.zeros(shape)
        start = rng.normal(0, 1, size) * rng.choice([0.1, 1.0, 4.0])
        if ((1 - share) * curvature).mean(axis=0).min() < 0.1:
            curvature = abs(curvature)
        found = cls(share, curvature, centre, start)
        return replace(found, start=found.minimiser()) if rng.random() < 0.4 else found

    def gradients(self, w: Array, index: Any = slice(None)) -> Array:
        """Client gradients at their own rows; w [..., d] against clients ``index``."""
        x = w - self.centre[index]
        return self.share[index] * np.sin(x) + (1 - self.share[index]) * self.curvature[index] * x

    def value(self, w: Array) -> float:
        """F(w)."""
        return float(self._coordinates(w[:, None]).sum())

    def minimiser(self) -> Array:
        """Minimiser of F [d], coordinate by coordinate: a grid, refined around its best cell."""
        middle = np.zeros(len(self.start))
        half = REACH
        for _ in range(6):
            grid = middle[:, None] + half * np.linspace(-1, 1, 161)
            middle, half = grid[np.arange(len(middle)), self._coordinates(grid).argmin(axis=1)], half / 40
        return middle

    def infimum(self) -> float:
        """F at the minimiser, or at the start where that is lower."""
        return min(self.value(self.minimiser()), self.value(self.start))

    def _coordinates(self, points: Array) -> Array:
        """Mean loss by coordinate; points [d, n] -> [d, n]."""
        x = points[None] - self.centre[:, :, None]
        share, curvature = self.share[:, :, None], self.curvature[:, :, None]
        return (share * (1 - np.cos(x)) + (1 - share) * curvature * x**2 / 2).mean(axis=0)


@dataclass(frozen=True)
class Setting:
    """How a method runs. local: eta_l; server: eta_g; noise: sigma_l; options: further ones of the method.

    epochs: the minibatches of a round are one pass through the client's samples, so that their noise adds up to zero.
    """

    clients: int
    active: int
    steps: int
    rounds: int
    local: float
    server: float
    rho: float
    noise: float
    options: Mapping[str, float] = field(default_factory=dict)
    epochs: bool = False


@dataclass(frozen=True)
class Call:
    """One gradient of a cohort: round, step, clients [S], points, gradients of their losses there and noise [S, d]."""

    round: int
    step: int
    clients: NDArray[np.int64]
    points: Array
    exact: Array
    noise: Array


def local_steps(calls: Sequence[Call], models: Array, local: float) -> Iterator[tuple[Call, Array]]:
    """The gradient that each local step moved along, and the local models [S, d] before it."""
    here: Array = models[0]
    for place, call in enumerate(calls):
        last = place + 1 == len(calls) or (calls[place + 1].round, calls[place + 1].step) != (call.round, call.step)
        first = place == 0 or (calls[place - 1].round, calls[place - 1].step) != (call.round, call.step)
        if first:
            if call.step == 0:
                here = np.broadcast_to(models[call.round], call.points.shape)
            elif not last:
                here = call.points
        if last:
            yield call, here
            here = here - local * (call.exact + call.noise)


def law(method: str, problem: Problem, s: Setting, rng: np.random.Generator, runs: int = 4) -> Law:
    """What happened along some runs of a problem, from the gradients that the method asked for.

    The first gradient of a local step is taken at the local model, or, where a method asks for one alone, at a
    perturbed point; then the local model follows from the steps before it.
    """
    shape = (runs, s.rounds * s.steps, s.clients, len(problem.start))
    noise, errors = np.full(shape, np.nan), np.full(shape, np.nan)
    spreads, lowest, cohorts, moved, turned = [], np.inf, [], [], []
    for run in range(runs):
        calls: list[Call] = []
        models = path(method, problem, s, rng, calls=calls)
        gradients = np.stack([problem.gradients(w) for w in models[:-1]])
        spreads.append(((gradients - gradients.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1))
        lowest = min(lowest, *(problem.value(w) for w in models))
        drawn = {call.round: call.clients.tolist() for call in calls}
        cohorts.append([drawn[t] for t in range(s.rounds)])
        for call, here in local_steps(calls, models, s.local):
            own = problem.gradients(here, call.clients)
            at = call.round * s.steps + call.step
            noise[run, at, call.clients], errors[run, at, call.clients] = call.noise, call.exact - own
            moved += np.linalg.norm(call.points - here, axis=1).tolist()
            turned += np.linalg.norm(call.exact - own, axis=1).tolist()
    values = {"L": 1.0, "K": s.steps, "N": s.clients, "S": s.active, "rho": s.rho, "sigma_l": s.noise}
    values |= {"sigma_g": float(np.sqrt(np.mean(spreads, axis=0).max())), "F_star": problem.infimum()}
    found = {"noise": noise, "errors": errors, "spreads": spreads, "moved": moved, "turned": turned, "radii": moved}
    return Law(values, cohorts=cohorts, lowest=lowest, **found)


@cache
def laws(method: str, draw: Callable[[np.random.Generator], Setting], count: int = 8, seed: int = 5) -> tuple[Law, ...]:
    """What happened along runs of ``count`` random problems."""
    rng = np.random.default_rng(seed)
    settings = (draw(rng) for _ in range(count))
    return tuple(law(method, Problem.draw(rng, s.clients, int(rng.integers(2, 5))), s, rng) for s in settings)


def measured(method: str, problem: Problem, setting: Setting, rng: np.random.Generator) -> dict[str, float]:
    """Values of the theorem's symbols on one problem; with chance (noise, cohorts) the mean of ``NOISE_RUNS`` runs."""
    chance = setting.noise > 0 or setting.active < setting.clients
    paths = [path(method, problem, setting, rng) for _ in range(NOISE_RUNS if chance and setting.rounds < 50 else 1)]
    squares, spreads = [], []
    for models in paths:
        gradients = problem.gradients(models[:-1, None])  # [T, N, d]
        mean = gradients.mean(axis=1)
        squares.append((mean**2).sum(axis=1).mean())
        spreads.append(((gradients - mean[:, None]) ** 2).sum(axis=2).mean(axis=1).max())
    s = setting
    return {
        "L": 1.0,
        "K": s.steps,
        "N": s.clients,
        "S": s.active,
        "T": s.rounds,
        "eta": s.local,
        "eta_g": s.server,
        "A": s.steps * s.local * s.server,
        "X": (s.steps - 1) * s.local,
        "kappa": (s.clients - s.active) / (s.active * max(s.clients - 1, 1)),
        "rho": s.rho,
        "sigma_g": float(np.sqrt(max(spreads))),
        "sigma_l": s.noise,
        "Gamma": float(np.mean(squares)),
        "Delta": problem.value(problem.start) - problem.infimum(),
        **s.options,
    }


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=3, keepdims=True))


def one_pass(directions: Array) -> Array:
    """Noise of minibatches that are all of a client's samples, [T, K, N, d]: adds up to zero, mean square 1 (K > 1)."""
    away = directions - directions.mean(axis=1, keepdims=True)
    size = np.sqrt((away**2).sum(axis=3, keepdims=True).mean(axis=1, keepdims=True))
    return np.asarray(away / np.maximum(size, 1e-300))


@torch.inference_mode()
def path(
    method: str,
    problem: Problem,
    s: Setting,
    rng: np.random.Generator,
    local: Array | None = None,
    radius: Array | None = None,
    calls: list[Call] | None = None,
) -> Array:
    """Server models [T + 1, d] of the package's own class.

    local, radius: eta_l and rho of every round [T], for a method that keeps nothing between two rounds. calls: gets
    every gradient that was asked for, in order.
    """
    size = len(problem.start)
    directions = rng.normal(size=(s.rounds, s.steps, s.clients, size))
    noise = torch.as_tensor(s.noise * (one_pass(directions) if s.epochs else directions / _lengths(directions)))
    share, curvature, centre = (torch.as_tensor(x) for x in (problem.share, problem.curvature, problem.centre))
    bowl = (1 - share) * curvature
    drawn: Tensor | None = None  # the cohort whose rows of share, bowl and centre are at hand
    rows: tuple[Tensor, Tensor, Tensor] = (share, bowl, centre)

    def gradient(W: Tensor, index: Tensor, t: int, k: int, first: int = 0) -> Tensor:
        nonlocal drawn, rows
        if index is not drawn:
            drawn, rows = index, (share[index], bowl[index], centre[index])
        waves, bowls, middle = rows
        x = W - middle
        exact = waves * torch.sin(x) + bowls * x
        own = noise[first + t, k, index]
        if calls is not None:
            calls.append(Call(first + t, k, index.numpy().copy(), W.numpy().copy(), exact.numpy(), own.numpy().copy()))
        return exact + own

    cohorts = [rng.choice(s.clients, s.active, replace=False).tolist() for _ in range(s.rounds)]
    start, options = torch.as_tensor(problem.start), {"server_lr": s.server, **s.options}
    if local is None or radius is None:
        algorithm = build(method, **({"rho": s.rho} if "rho" in hyperparameters(method) else {}), **options)
        found = simulate(algorithm, gradient, start, s.clients, s.rounds, steps=s.steps, lr=s.local, cohorts=cohorts)
        return found.numpy()
    models = [start]
    for t in range(s.rounds):
        algorithm, own = build(method, rho=float(radius[t]), **options), partial(gradient, first=t)
        one = simulate(
            algorithm, own, models[-1], s.clients, 1, steps=s.steps, lr=float(local[t]), cohorts=[cohorts[t]]
        )
        models.append(one[1])
    return torch.stack(models).numpy()


def random_runs(method: str, count: int, draw: Any, seed: int = 0) -> tuple[Run, ...]:
    """``count`` problems; draw(rng) -> ``Setting``."""

    def measure(rng: np.random.Generator) -> Run:
        setting = draw(rng)
        return measured(method, Problem.draw(rng, setting.clients, int(rng.integers(2, 5))), setting, rng)

    return drawn(measure, "Gamma", count, seed)


def any_setting(rng: np.random.Generator, cohorts: bool = True, noise: bool = True) -> Setting:
    """A setting of the general theorem: X <= 1/10, L A <= 1/2, up to 12 rounds."""
    clients, steps = int(rng.integers(1, 6)), int(rng.choice([1, 1, 2, 4]))
    active = int(rng.integers(1, clients + 1)) if cohorts else clients
    local = rng.choice([1.0, rng.uniform(0.1, 1)]) * (0.1 / (steps - 1) if steps > 1 else 0.5)
    whole = rng.choice([0.5, 0.25, 0.05]) * rng.choice([1.0, rng.uniform(0.5, 1)])
    sigma = rng.choice([0.0, 0.0, 0.1, 1.0]) if noise else 0.0
    rho = rng.choice([0.0, 0.05, 0.5, 2.0])
    rounds = int(rng.choice([1, 2, 4, 12]))
    return Setting(clients, active, steps, rounds, local, whole / (steps * local), rho, sigma)
