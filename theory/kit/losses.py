"""Counter-example losses on the line and in the plane, with exact derivatives and certified curvature.

Most losses of our own are sums of compact wells: -h (1 - u)^3 with u = sum_i (x_i - c_i)^2/w_i^2 where u < 1, and 0
outside. They are twice continuously differentiable, their curvature at the centre is 6 h / min(w)^2 and nowhere larger
in absolute value, and every quantity at a rational point is rational, so a statement about them is decided without
rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Loss(Protocol):
    """A loss on the line or in the plane. x: [..., d] with d = ``dimension``."""

    name: str
    dimension: int

    def value(self, x: Array) -> Array: ...  # [...]

    def gradient(self, x: Array) -> Array: ...  # [..., d]

    def hessian(self, x: Array) -> Array: ...  # [..., d, d]


@dataclass(frozen=True)
class Well:
    """-depth (1 - u)^3 with u = sum_i (x_i - centre_i)^2/widths_i^2 where u < 1, 0 outside; rational numbers."""

    centre: tuple[Fraction, ...]
    depth: Fraction
    widths: tuple[Fraction, ...]

    @property
    def curvature(self) -> Fraction:
        """6 depth / min(widths)^2: the largest curvature at the centre, and an upper bound on |curvature| anywhere.

        In units of the widths the second derivative along the radius is depth (1 - u)(6 - 30 u), which lies in
        [-4.8, 6] depth (extremes at u = 3/5 and u = 0), and across it is 6 depth (1 - u)^2; scaling back divides by at
        least min(widths)^2.
        """
        return 6 * self.depth / min(self.widths) ** 2


@dataclass(frozen=True)
class Wells:
    """A sum of wells. Twice continuously differentiable."""

    name: str
    wells: tuple[Well, ...]

    @property
    def dimension(self) -> int:
        return len(self.wells[0].centre)

    @property
    def L(self) -> Fraction:
        """Certified smoothness constant: only wells whose supports may meet add up."""
        return max(sum((b.curvature for b in self.wells if _overlap(a, b)), Fraction(0)) for a in self.wells)

    def value(self, x: Array) -> Array:
        return sum(-float(well.depth) * _inside(well, x)[1] ** 3 for well in self.wells)

    def gradient(self, x: Array) -> Array:
        return sum(_slope(well, x) for well in self.wells)

    def hessian(self, x: Array) -> Array:
        return sum(_curvature(well, x) for well in self.wells)

    def exact(self, x: Sequence[Any]) -> tuple[Fraction, list[Fraction], list[list[Fraction]]]:
        """(value, gradient [d], Hessian [d][d]) at a rational point, in rational arithmetic."""
        d = range(self.dimension)
        value, gradient, hessian = Fraction(0), [Fraction(0) for _ in d], [[Fraction(0) for _ in d] for _ in d]
        for well in self.wells:
            scaled = [(Fraction(a) - c) / w**2 for a, c, w in zip(x, well.centre, well.widths, strict=True)]
            rest = 1 - sum((p * w) ** 2 for p, w in zip(scaled, well.widths, strict=True))
            if rest <= 0:
                continue
            value -= well.depth * rest**3
            for i in d:
                gradient[i] += 6 * well.depth * rest**2 * scaled[i]
                hessian[i][i] += 6 * well.depth * rest**2 / well.widths[i] ** 2
                for j in d:
                    hessian[i][j] -= 24 * well.depth * rest * scaled[i] * scaled[j]
        return value, gradient, hessian


def _overlap(a: Well, b: Well) -> bool:
    """Whether the boxes around the supports meet."""
    return all(abs(p - q) < v + w for p, q, v, w in zip(a.centre, b.centre, a.widths, b.widths, strict=True))


def _inside(well: Well, x: Array) -> tuple[Array, Array, Array]:
    """((x - c)/w^2, (1 - u) clipped at 0, 1/w^2)."""
    centre, widths = (np.array([float(entry) for entry in row]) for row in (well.centre, well.widths))
    offset = np.asarray(x, dtype=float) - centre
    return offset / widths**2, np.clip(1 - np.sum((offset / widths) ** 2, axis=-1), 0, None), widths**-2


def _slope(well: Well, x: Array) -> Array:
    scaled, rest, _ = _inside(well, x)
    return 6 * float(well.depth) * rest[..., None] ** 2 * scaled


def _curvature(well: Well, x: Array) -> Array:
    scaled, rest, inverse = _inside(well, x)
    rest = rest[..., None, None]
    along = 24 * rest * scaled[..., :, None] * scaled[..., None, :]
    return float(well.depth) * (6 * rest**2 * np.diag(inverse) - along)


@dataclass(frozen=True)
class Valley:
    """k(x) y^2/2 in the plane, with k(x) = floor + rise t^2/(1 + t^2), t = x - centre.

    Every point of the line y = 0 is a global minimum; its curvature k(x) is smallest at the centre.
    """

    name: str
    centre: float
    floor: float
    rise: float
    dimension: int = 2

    def stiffness(self, x: Array) -> tuple[Array, Array, Array]:
        """k, k', k'' at first coordinates x [...]."""
        t = np.asarray(x, dtype=float) - self.centre
        below = 1 + t * t
        return (
            self.floor + self.rise * t * t / below,
            self.rise * 2 * t / below**2,
            self.rise * (2 - 6 * t * t) / below**3,
        )

    def value(self, x: Array) -> Array:
        return self.stiffness(x[..., 0])[0] * x[..., 1] ** 2 / 2

    def gradient(self, x: Array) -> Array:
        k, slope, _ = self.stiffness(x[..., 0])
        y = x[..., 1]
        return np.stack([slope * y**2 / 2, k * y], axis=-1)

    def hessian(self, x: Array) -> Array:
        k, slope, bend = self.stiffness(x[..., 0])
        y = x[..., 1]
        rows = [np.stack([bend * y**2 / 2, slope * y], axis=-1), np.stack([slope * y, k + 0 * y], axis=-1)]
        return np.stack(rows, axis=-2)


@dataclass(frozen=True)
class ThesisPiece:
    """0.07 (x + s)^2 left of the join, -9 sin(-0.7 (x + s)) right of it (Al Kakoun 2024, Section 3.1).

    The join itself belongs to neither printed branch; here it takes the right one. The branches do not meet: the loss
    jumps there.
    """

    name: str
    shift: float
    join: float
    dimension: int = 1

    def _branches(self, x: Array, left: Array, right: Array) -> Array:
        return np.where(np.asarray(x)[..., 0] < self.join, left, right)

    def _moved(self, x: Array) -> Array:
        return np.asarray(x, dtype=float)[..., 0] + self.shift

    def value(self, x: Array) -> Array:
        t = self._moved(x)
        return self._branches(x, 0.07 * t**2, -9 * np.sin(-0.7 * t))

    def gradient(self, x: Array) -> Array:
        t = self._moved(x)
        return self._branches(x, 0.14 * t, 6.3 * np.cos(0.7 * t))[..., None]

    def hessian(self, x: Array) -> Array:
        t = self._moved(x)
        return self._branches(x, 0.14 + 0 * t, -4.41 * np.sin(0.7 * t))[..., None, None]


@dataclass(frozen=True)
class Average:
    """Mean of losses of one dimension: the global objective of equally weighted clients."""

    clients: tuple[Loss, ...]
    name: str = "global"

    @property
    def dimension(self) -> int:
        return self.clients[0].dimension

    def value(self, x: Array) -> Array:
        return np.mean([f.value(x) for f in self.clients], axis=0)

    def gradient(self, x: Array) -> Array:
        return np.mean([f.gradient(x) for f in self.clients], axis=0)

    def hessian(self, x: Array) -> Array:
        return np.mean([f.hessian(x) for f in self.clients], axis=0)


@dataclass(frozen=True)
class Scenario:
    """A counter-example: client losses, what it shows, where to look.

    points: name -> point [d] worth marking. window: (low, high) per axis of a plot. start, rho, lr: settings of the
    runs that show it (start [d], perturbation radius, local step size), where it is about an algorithm.
    """

    name: str
    shows: str
    clients: tuple[Loss, ...]
    points: dict[str, tuple[float, ...]]
    window: tuple[tuple[float, float], ...]
    start: tuple[float, ...] | None = None
    rho: float = 0.0
    lr: float = 0.05
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def average(self) -> Average:
        return Average(self.clients)


def top_curvature(loss: Loss, x: Sequence[float]) -> float:
    """Largest eigenvalue of the Hessian at a point [d]."""
    return float(np.linalg.eigvalsh(loss.hessian(np.asarray(x, dtype=float)))[-1])


def ball_grid(dimension: int, radius: float, count: int = 401) -> Array:
    """Points of the closed ball [M, d]: an interval, or rings of a disc."""
    if dimension == 1:
        return np.linspace(-radius, radius, count)[:, None]
    angles, lengths = np.linspace(0, 2 * np.pi, 72, endpoint=False), np.linspace(0, radius, 24)
    r, a = (mesh.ravel() for mesh in np.meshgrid(lengths, angles))
    return np.stack([r * np.cos(a), r * np.sin(a)], axis=-1)


def sam_value(loss: Loss, x: Array, radius: float) -> Array:
    """max over |s| <= radius of loss(x + s) for points x [..., d], on a grid of the ball (a lower bound)."""
    return loss.value(np.asarray(x, dtype=float)[..., None, :] + ball_grid(loss.dimension, radius)).max(axis=-1)


def sharpness(loss: Loss, x: Array, radius: float) -> Array:
    """SAM value minus value: how much the loss rises within the radius."""
    return sam_value(loss, x, radius) - loss.value(np.asarray(x, dtype=float))


def federated_run(scenario: Scenario, algorithm: Any, rounds: int = 400, local_steps: int = 5) -> Array:
    """Global models [rounds + 1, d] of one of ``artifact.algorithms`` on the scenario's clients.

    Full participation, exact gradients, step size ``scenario.lr``, from ``scenario.start``.
    """
    import torch  # here, because the losses themselves are used where torch is not loaded

    from artifact.training.rounds import simulate

    def gradient(W, clients, t, k):
        rows = [scenario.clients[int(i)].gradient(row) for i, row in zip(clients, W.numpy(), strict=True)]
        return torch.from_numpy(np.stack(rows))

    start = torch.tensor(scenario.start, dtype=torch.float64)
    return simulate(
        algorithm, gradient, start, len(scenario.clients), rounds, steps=local_steps, lr=scenario.lr
    ).numpy()


def _well(centre: Sequence[Any], depth: Any, *widths: Any) -> Well:
    """One width for all axes or one per axis."""
    widths = widths * len(centre) if len(widths) == 1 else widths
    return Well(tuple(map(Fraction, centre)), Fraction(depth), tuple(map(Fraction, widths)))


def thesis_pair() -> Scenario:
    """Al Kakoun 2024, Figure 3.1, as printed."""
    return Scenario(
        "thesis Figure 3.1",
        "printed: flat local minima at 0 and -17 whose average lies in a sharp region",
        (ThesisPiece("client 1", 0.0, 4.283), ThesisPiece("client 2", 17.0, -12.8)),
        {"minimum of client 1": (0.0,), "minimum of client 2": (-17.0,), "average": (-8.5,)},
        ((-25.0, 10.0),),
    )


def fedsmoo_toy(offset: Any = "9/10") -> Scenario:
    """Sun et al. 2023, Figure 1, as two smooth clients whose broad wells lie ``offset`` to the left and right of 0.

    Both also share a narrower well at 5. With a small offset the FedSAM objective is smallest at the broad well; with a
    large one the clients' slopes at 0 are charged by the client-wise maximum although they cancel in the global loss,
    and the FedSAM minimiser moves to the narrower, globally sharper well. Radius of the perturbation: 3/10.
    """
    offset = Fraction(offset)
    common = _well([5], "13/20", 1)
    clients = tuple(Wells(f"client {i + 1}", (_well([sign * offset], 1, 2), common)) for i, sign in enumerate((-1, 1)))
    where = {"broad well": (0.0,), "common narrow well": (5.0,)}
    return Scenario(
        f"FedSMOO Figure 1 toy, offset {offset}",
        "the minimiser of the client-wise SAM objective is globally flat only while the clients agree",
        clients,
        where,
        ((-4.0, 7.0),),
        rho=0.3,
    )


def flat_clients_sharp_average() -> Scenario:
    """Two clients, each at its global minimum with curvature 3/2, whose average is a minimum of curvature 48.

    Client 1 has wells of depth 1 at 0 and 3/4 at 6 (width 2) and a narrow one of depth 1/2 and width 1/4 at 3; client 2
    is its mirror image. The global loss has flat minima at 0 and 6 that are also lower (-7/8) than the sharp one
    (-1/2).
    """
    narrow = _well([3], "1/2", "1/4")
    clients = (
        Wells("client 1", (_well([0], 1, 2), _well([6], "3/4", 2), narrow)),
        Wells("client 2", (_well([0], "3/4", 2), _well([6], 1, 2), narrow)),
    )
    return Scenario(
        "flat clients, sharp average",
        "both clients sit at flat global minima; at their average, a stationary point, the mean loss is 32 times as "
        "curved (48) as each client's own loss at its minimum (1.5)",
        clients,
        {"minimum of client 1": (0.0,), "minimum of client 2": (6.0,), "average": (3.0,)},
        ((-2.5, 8.5),),
    )


def local_sam_sharpens() -> Scenario:
    """Two clients with wells at (-0.88, 0) and (0.88, 0), widths 2 and 10: local SAM misses the flat minimum between.

    At 0 the global curvature along the first axis is small and positive, so plain federated descent ends there. A
    client's perturbation points away from its own well, to where its loss is concave, so the averaged SAM gradient
    pushes outwards and the iterates settle near one client's minimum, where the global loss is higher and more curved.
    """
    clients = tuple(Wells(f"client {i + 1}", (_well([x, 0], 1, 2, 10),)) for i, x in enumerate(("-22/25", "22/25")))
    return Scenario(
        "local SAM raises global sharpness",
        "plain local descent reaches the flat global minimum, local SAM is driven to a sharper and higher point",
        clients,
        {"global minimum": (0.0, 0.0), "client 1": (-0.88, 0.0), "client 2": (0.88, 0.0)},
        ((-2.5, 2.5), (-2.0, 2.0)),
        start=(0.1, 1.0),
        rho=0.3,
    )


def local_sam_helps() -> Scenario:
    """Two clients with one valley of global minima and different stiffness along it: local SAM drifts to the flat part.

    Plain descent stops where it first reaches the valley floor. A SAM perturbation keeps climbing the walls by rho,
    where the loss falls towards the part of the valley with the lower stiffness.
    """
    clients = (Valley("client 1", -0.5, 0.3, 4.0), Valley("client 2", 0.5, 0.3, 4.0))
    return Scenario(
        "local SAM lowers global sharpness",
        "all points of the valley have loss 0; plain descent stays in the stiff part, local SAM reaches the flat part",
        clients,
        {"flattest minimum": (0.0, 0.0)},
        ((-1.5, 2.5), (-1.0, 1.0)),
        start=(1.5, 0.5),
        rho=0.3,
    )


SCENARIOS = {
    "thesis": thesis_pair,
    "fedsmoo-consistent": lambda: fedsmoo_toy("1/10"),
    "fedsmoo-inconsistent": fedsmoo_toy,
    "sharp-average": flat_clients_sharp_average,
    "sam-sharpens": local_sam_sharpens,
    "sam-helps": local_sam_helps,
}
