"""What leaves a client: clipping and noise on it (differential privacy), and whether the server needs sums alone.

A method talks to its server through ``Cohort.sum`` and ``Cohort.mean`` only. So one channel clips and adds noise for
every method, and what a method sends, keeps and needs is found by watching the channel while the method runs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from artifact import algorithms
from artifact.algorithms.base import FedAvg
from artifact.algorithms.client_rows import ClientRows
from artifact.algorithms.cohort import Cohort, Context, clip
from artifact.base.errors import UserError
from artifact.base.flat import Layout
from artifact.base.random import stream
from artifact.training.rounds import play


@dataclass
class Private(Cohort):
    """A channel that clips every vector of every client to the L2 norm ``limit``, and adds noise to their sum.

    noise: standard deviation of each number of a sum, over the most that one client can change the sum.
    seed: of the noise, a function of (seed, round, number of the sum).
    """

    limit: float = 1.0
    noise: float = 0.0
    seed: int = 0
    sums: int = 0

    @classmethod
    def of(cls, C: Cohort, limit: float, noise: float, seed: int) -> Private:
        own = {one.name: getattr(C, one.name) for one in fields(Cohort)}
        return cls(**own, limit=limit, noise=noise, seed=seed)

    def sum(self, X: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        total = super().sum(clip(X, self.limit), weights)
        generator = stream(self.seed, "update-noise", self.t, self.sums)
        self.sums += 1
        if not self.noise:
            return total
        most = self.limit * (float(weights.abs().max()) if torch.is_tensor(weights) else abs(weights))
        drawn = torch.randn(total.shape, generator=generator, dtype=torch.float64)
        return total + self.noise * most * drawn.to(total)


@dataclass(frozen=True)
class Leaves:
    """What leaves the clients of a method, as watched while it runs.

    sent: vectors [P] that a client sends a round.  keeps: it keeps vectors between rounds, such as duals.
    sums_alone: the server needs nothing but sums over the cohort, so that secure aggregation may hide their parts.
    exchanges: how often a round clients and server talk.
    updates: what is sent is zero where nothing is learnt; a method that sends whole models has no update to clip.
    """

    method: str
    sent: int
    keeps: bool
    sums_alone: bool
    exchanges: int
    updates: bool = True

    @property
    def clipping(self) -> str:
        """What clipping and noise on updates do to the method, in words."""
        if not self.sums_alone:
            return "no: its server reads single clients"
        if not self.updates:
            return "no: it sends models, not updates"
        told = "yes" if self.sent == 1 else f"yes, {self.sent} vectors: effective noise / {self.sent}^0.5"
        return told + ("; what clients keep stays as it is" if self.keeps else "")

    @property
    def aggregation(self) -> str:
        """Whether secure aggregation can hide single clients, in words."""
        return ("yes" if self.exchanges == 1 else f"yes, {self.exchanges} times a round") if self.sums_alone else "no"


def leaves(method: str, variant: str = "paper") -> Leaves:
    """What leaves the clients of a method, watched in its third round on quadratic losses.

    method: a name that ``python -m fedsharp list algorithms`` prints.
    Raises UserError for another name.

        fedsharp.privacy.leaves("fedsmoo").sent   # 2: its update, and its perturbation with the dual
    """
    if method not in algorithms.ALGORITHMS:
        raise UserError("method", method, ", ".join(algorithms.ALGORITHMS))
    if algorithms.ALGORITHMS[method].maps_inputs:  # there are no inputs to watch; the map stays with the client
        return Leaves(method, sent=1, keeps=True, sums_alone=True, exchanges=1)
    algorithm = algorithms.build(method, variant)
    w = torch.linspace(-1, 1, 12, dtype=torch.float64)
    still = _Watched(**_cohort(0) | {"full_gradient": lambda w: w.new_zeros(2, len(w))})
    _round(algorithm, algorithm.init(w, 3), w, still, slope=0.0)
    updates = not any(bool(one.any()) for one in still.found)
    state = algorithm.init(w, 3)
    for t in range(2):
        w, _, _ = _round(algorithm, state, w, _Watched(**_cohort(t)))
    before = copy.deepcopy(state)
    C = _Watched(**_cohort(2))
    _, W, c = _round(algorithm, state, w, C)
    keeps = any(len(value.shape) >= 2 for value in before.values())
    asked = C.at_begin + 1
    return Leaves(method, len(C.found), keeps, _by_sums(algorithm, before, w, W, c, C.found), asked, updates)


def table(methods: tuple[str, ...] | None = None) -> str:
    """One row per method, in Markdown: vectors sent, what clients keep, clipping and noise, secure aggregation.

    print(fedsharp.privacy.table())
    """
    rows = [
        "| method | vectors sent | clients keep some | clipping and noise | secure aggregation |",
        "|---|---|---|---|---|",
    ]
    for name in methods or tuple(algorithms.ALGORITHMS):
        one = leaves(name)
        rows.append(f"| {name} | {one.sent} | {'yes' if one.keeps else 'no'} | {one.clipping} | {one.aggregation} |")
    return "\n".join(rows)


def require(method: str, variant: str, limit: Any, noise: Any, statistics: bool) -> None:
    """Raises UserError where clipping and noise on updates are not possible, or do not cover all that is sent."""
    if not isinstance(noise, (int, float)) or not 0 <= noise < float("inf"):
        raise UserError("update_noise", noise, "a finite number from 0")
    if limit is None:
        if noise:
            raise UserError("update_noise", noise, "0, or update_clip= beside it: without a clip noise hides nothing")
        return
    if not isinstance(limit, (int, float)) or not 0 < limit < float("inf"):
        raise UserError("update_clip", limit, "a finite number above 0, the L2 norm of what a client sends")
    told = leaves(method, variant).clipping
    if told.startswith("no"):
        fits = [name for name in ("fedavg", "fedsam", "fedsmoo", "fedlesam") if name != method]
        raise UserError("update_clip", method, f"a method such as {', '.join(fits)} ({method}: {told})")
    if statistics and noise:
        allowed = "a module without buffers, as with GroupNorm or LayerNorm: running statistics are sent without noise"
        raise UserError("update_noise", "BatchNorm", allowed)


# ---- a method, watched ---------------------------------------------------------------------------------------------


@dataclass
class _Watched(Cohort):
    """A channel that remembers its sums."""

    found: list[Tensor] = field(default_factory=list)
    at_begin: int = 0

    def sum(self, X: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        self.found.append(super().sum(X, weights))
        return self.found[-1].clone()


@dataclass
class _Replayed(Cohort):
    """A channel that knows the sums and nothing else."""

    known: list[Tensor] = field(default_factory=list)

    def sum(self, X: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        self.traffic.up += 1
        return self.known.pop(0).clone()


def _gradients(W: Tensor, clients: Tensor, k: int) -> Tensor:
    """Of quadratics with other minima and curvatures for each client."""
    scale = torch.linspace(0.5, 2, W.shape[1], dtype=W.dtype)
    return (1 + 0.3 * clients[:, None]) * scale * (W - clients[:, None].to(W.dtype)) + 0.1 * k


def _cohort(t: int) -> dict[str, Any]:
    clients = torch.tensor([0, 2])
    sizes = torch.tensor([[3.0], [5.0]], dtype=torch.float64)
    layout = Layout(("a.weight", "a.bias"), ((3, 3), (3,)))
    return {
        "clients": clients,
        "sizes": sizes,
        "K": torch.full((2, 1), 2.0, dtype=torch.float64),
        "m": 3,
        "t": t,
        "lr": 0.05,
        "first_lr": 0.05,
        "layout": layout,
        "full_gradient": lambda w: _gradients(w.repeat(2, 1), clients, 0),
        "relative_size": sizes / 4.0,
        "K_first": 2.0,
        "K_mean": 2.0,
    }


def _round(algorithm: FedAvg, state: Any, w: Tensor, C: _Watched, slope: float = 1.0) -> tuple[Tensor, Tensor, Context]:
    def minibatches(k: int, rows: Tensor | None) -> Any:
        if k == 0:
            C.at_begin = int(bool(C.found))
        return lambda W: slope * _gradients(W, C.clients if rows is None else C.clients[rows], k)

    return play(algorithm, state, w, C, [2, 2], minibatches, clip=10.0 if algorithm.clip_total else None)


def _by_sums(algorithm: FedAvg, state: Any, w: Tensor, W: Tensor, c: Context, sums: list[Tensor]) -> bool:
    """Whether the server's next model and its state are the same numbers where all but the sums is nan."""
    nan = torch.nan
    hidden = Context(w, c.lr)
    vars(hidden).update(vars(c))
    for name, value in vars(c).items():
        if torch.is_tensor(value) and value.dim() >= 2 and value.is_floating_point():
            vars(hidden)[name] = torch.full_like(value, nan)
    C = _Replayed(**_cohort(2) | {"full_gradient": lambda w: w.new_full((2, len(w)), nan)}, known=list(sums))
    for value in state.values():
        row = value.default if isinstance(value, ClientRows) else value[0]
        if len(value.shape) >= 2 and row.is_floating_point():
            value[torch.arange(3)] = torch.full((3, value.shape[1]), nan, dtype=w.dtype)
    begun = algorithm.begin(state, w, C)
    vars(hidden).update({k: v for k, v in begun.items() if torch.is_tensor(v) and v.dim() == 1})
    found = algorithm.finish(state, hidden, w, torch.full_like(W, nan), C)
    vectors = [value for value in state.values() if torch.is_tensor(value) and value.dim() == 1]
    return all(bool(torch.isfinite(one).all()) for one in (found, *vectors))
