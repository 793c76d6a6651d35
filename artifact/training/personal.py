"""Parameters that stay with the client, such as a head of its own (FedPer), or BatchNorm (FedBN).

The method acts on the shared parameters alone: its perturbation, corrections, duals and server state have no entry of a
personal one. In every local step the personal parameters descend along their own gradient of the step's last pass, by
the same rate, weight decay and local optimiser. Therefore no method needs them at the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any, Protocol

import torch
from torch import Tensor

from artifact.algorithms.base import FedAvg, State
from artifact.algorithms.client_rows import ClientRows, pack, unpack
from artifact.algorithms.cohort import Cohort, Context, LocalOptimiser
from artifact.base.errors import UserError
from artifact.base.flat import Layout
from artifact.training.batches import Schedule, schedule
from artifact.training.config import RunConfig
from artifact.training.gradients import Minibatch, Oracle
from artifact.training.rounds import play, without_full_gradient


class Engine(Protocol):
    """What personal parameters need of the trainer that they belong to."""

    config: RunConfig
    algorithm: FedAvg
    oracle: Oracle
    w: Tensor
    statistics: Tensor | None
    state: State
    pools: list[Tensor]
    device: torch.device

    @property
    def clip_norm(self) -> float | None:
        """Length at which a local gradient is cut."""

    def minibatch(self, plan: Schedule, ids: list[int], local: Tensor | None, k: int, rows: Tensor | None) -> Minibatch:
        """G of local step k for the given rows of the cohort."""


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern names the parameter, or a module that holds the parameter. In a pattern ``*`` is any text."""
    return any(fnmatch(name, pattern) or fnmatch(name, f"{pattern}.*") for pattern in patterns)


def require_names(patterns: Sequence[str], names: Sequence[str]) -> None:
    """Raises UserError for a pattern that names none of the parameters."""
    for pattern in patterns:
        if not any(matches(name, [pattern]) for name in names):
            raise UserError("personal", pattern, f"names of trained parameters, with *, such as {', '.join(names[:6])}")


class Personal:
    """The personal parameters and buffers of all clients, and the training of a round with them.

    patterns: names of parameters and buffers, see ``matches``.
    Raises UserError for a name that no trained parameter has, where nothing is left to share, and for a method that
    needs a client's whole gradient.
    """

    def __init__(self, patterns: str | Sequence[str], trainer: Engine):
        asked = [patterns] if isinstance(patterns, str) else list(patterns)
        self.patterns = asked
        layout, statistics = trainer.oracle.layout, trainer.statistics
        of_buffers = trainer.oracle.buffer_layout if statistics is not None else Layout((), ())
        names = [name.removeprefix("module.") for name in (*layout.names, *of_buffers.names)]
        require_names(asked, names)
        self.columns, self.shared, self.layout = _split(layout, asked)
        self.buffer_columns, _, _ = _split(of_buffers, asked)
        if not len(self.shared):
            raise UserError("personal", ", ".join(asked), "names that leave a parameter to share")
        config = trainer.config
        if trainer.algorithm.maps_inputs:
            raise UserError("personal", config.algorithm, "another method; it moves inputs beside weights")
        if config.eval_train:
            raise UserError("eval_train", True, "False with personal, whose models are the clients' own")
        self.rows = ClientRows(config.clients, trainer.w[self.columns].clone())
        own = torch.zeros(0) if statistics is None else statistics[self.buffer_columns].clone()
        self.buffers = ClientRows(config.clients, own)
        trainer.state = trainer.algorithm.init(trainer.w[self.shared], config.clients)

    def of_client(self, i: int, w: Tensor, statistics: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Parameters [P] and buffers [Q] of client i's model: the server's, with its own in place."""
        w = w.clone()
        w[self.columns] = self.rows[i]
        if statistics is not None:
            statistics = statistics.clone()
            statistics[self.buffer_columns] = self.buffers[i]
        return w, statistics

    def parts(self, trainer: Engine) -> dict[int, dict[str, Tensor]]:
        """Client -> its personal parameters and buffers, by name in the user's module."""
        found = {}
        for i in range(trainer.config.clients):
            w, statistics = self.of_client(i, trainer.w, trainer.statistics)
            views = trainer.oracle.layout.views(w)
            if statistics is not None:
                views |= trainer.oracle.buffer_layout.views(statistics)
            named = {name.removeprefix("module."): value for name, value in views.items()}
            found[i] = {name: value.cpu().clone() for name, value in named.items() if matches(name, self.patterns)}
        return found

    def tensors(self) -> dict[str, Tensor]:
        return pack({"personal": self.rows, "personal_buffers": self.buffers})

    def restore(self, tensors: dict[str, Tensor]) -> None:
        own = {name: value for name, value in tensors.items() if name.startswith(("personal.", "personal_buffers."))}
        unpack(own, {"personal": self.rows, "personal_buffers": self.buffers})

    def train(self, trainer: Engine, C: Cohort, steps: list[int], local: Tensor | None) -> tuple[Tensor, Tensor]:
        """The training of a round, as ``Trainer.train``."""
        config, members, method = trainer.config, C.clients.tolist(), trainer.algorithm
        pools = [trainer.pools[i] for i in members]
        plan = schedule(pools, members, config.batch_size, steps, config.seed, C.t).on(trainer.device)
        inside = replace(C, layout=self.layout, full_gradient=without_full_gradient(config.algorithm))
        V, P, S = self.rows[C.clients], len(trainer.w), len(members)
        own = Context(trainer.w[self.columns], C.lr)
        own.weight_decay, own.clip, own.clip_total = config.weight_decay, trainer.clip_norm, method.clip_total
        own.optimiser = LocalOptimiser(config.optimiser, config.momentum)
        latest = torch.zeros_like(V)
        of_server = None if local is None else local[:, self.buffer_columns].clone()
        if local is not None:
            local[:, self.buffer_columns] = self.buffers[C.clients]

        def whole(W: Tensor, at: Any) -> Tensor:
            found = W.new_empty(len(W), P)
            found[:, self.shared], found[:, self.columns] = W, V[at]
            return found

        def descend(k: int, rows: Tensor) -> None:
            part = own.select(rows, S)
            part.k = k
            V[rows] = part.descend(V[rows], part.clip_gradient(latest[rows]))
            own.merge(part, rows, S)

        def minibatches(k: int, rows: Tensor | None) -> Any:
            at = torch.arange(S) if rows is None else rows
            if k:
                descend(k - 1, at)
            G = trainer.minibatch(plan, members, local, k, rows)

            def gradient(W: Tensor) -> Tensor:
                g = G(whole(W, at))
                latest[at] = g[:, self.columns]
                return g[:, self.shared]

            return gradient

        w, W, _ = play(
            method,
            trainer.state,
            trainer.w[self.shared],
            inside,
            steps,
            minibatches,
            weight_decay=config.weight_decay,
            clip=trainer.clip_norm,
            optimiser=own.optimiser,
        )
        for K in sorted(set(steps)):
            descend(K - 1, torch.tensor([position for position, own_steps in enumerate(steps) if own_steps == K]))
        self.rows[C.clients] = V
        if local is not None and of_server is not None:
            self.buffers[C.clients] = local[:, self.buffer_columns]
            local[:, self.buffer_columns] = of_server
        share = len(self.shared) / P
        C.traffic.down, C.traffic.up = C.traffic.down * share, C.traffic.up * share
        found = trainer.w.clone()
        found[self.shared] = w
        return found, whole(W, slice(None))


def _split(layout: Layout, patterns: list[str]) -> tuple[Tensor, Tensor, Layout]:
    """(columns of the personal tensors, columns of the others, the others' layout)."""
    own, rest, kept = list[Tensor](), list[Tensor](), list[int]()
    for number, (name, part) in enumerate(layout.slices()):
        here = torch.arange(part.start, part.stop)
        if matches(name.removeprefix("module."), patterns):
            own.append(here)
        else:
            rest.append(here)
            kept.append(number)
    none = torch.zeros(0, dtype=torch.long)
    shared = Layout(tuple(layout.names[n] for n in kept), tuple(layout.shapes[n] for n in kept))
    return torch.cat([none, *own]), torch.cat([none, *rest]), shared
