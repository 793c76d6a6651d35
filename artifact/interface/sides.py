"""One round in two places: what a server does and what one client does, by the hooks of the method itself.

A method talks through ``Cohort.broadcast``, ``Cohort.sum`` and ``Cohort.mean`` only. On the server, ``begin`` runs and
what it broadcasts is kept to be sent. A client runs the whole round with these vectors, and what its ``finish`` adds up
is kept to be sent back. On the server, ``finish`` then adds up what has arrived. So no rule is written a second time.

Numbers that live elsewhere are nan here: a server has no client's rows, a client has no vector that was not sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from artifact.algorithms import ALGORITHMS
from artifact.algorithms.base import FedAvg, State
from artifact.algorithms.client_rows import ClientRows, pack, unpack
from artifact.algorithms.cohort import Cohort, Context
from artifact.base.errors import UserError
from artifact.base.flat import buffers, parameters
from artifact.interface.entry import Pair
from artifact.interface.live import Live
from artifact.interface.own_model import OwnModel
from artifact.interface.own_trainer import Loss, OwnData, OwnTrainer
from artifact.training.config import RunConfig
from artifact.training.gradients import Oracle
from artifact.training.trainer import Trainer, draw_cohort


@dataclass(frozen=True)
class Task:
    """What one client is told of a round, beside vectors: plain numbers, see ``algorithms.cohort.Cohort``.

    number: of the client, from 0.  steps: local steps.
    """

    number: int
    t: int
    steps: int
    lr: float
    relative_size: float
    K_first: float
    K_mean: float


@dataclass(frozen=True)
class Answer:
    """The message of a client to the server at the end of its round.

    w: [P], its last local model.  sums: what it adds to the sums of ``finish``, one by one; None stands for its update.
    statistics: [Q], running statistics, or None.  passes: gradients that it has computed.
    """

    w: Tensor
    sums: list[Tensor | None]
    statistics: Tensor | None
    passes: int


@dataclass
class _AtServer(Cohort):
    """The channel's end at the server."""

    sent: list[Tensor] = field(default_factory=list)
    answers: Sequence[Answer] = ()
    calls: int = 0

    def broadcast(self, x: Tensor) -> Tensor:
        self.sent.append(super().broadcast(x))
        return x

    def sum(self, X: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        if not self.answers:
            raise UserError("method", "asks its clients before they train", "a method with one exchange a round")
        own = [answer.sums[self.calls] for answer in self.answers]
        self.calls += 1
        here = torch.stack([X[i] if x is None else x for i, x in enumerate(own)])
        return super().sum(here, weights)


@dataclass
class _AtClient(Cohort):
    """The channel's end at a client, a cohort of one."""

    received: list[Tensor] = field(default_factory=list)
    sums: list[Tensor] = field(default_factory=list)

    def broadcast(self, x: Tensor) -> Tensor:
        return self.received.pop(0)

    def sum(self, X: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        self.sums.append(X[0].clone())  # its caller may write over it
        return super().sum(X, weights)


def elsewhere(state: State, rows: bool) -> None:
    """Fill what is not here with nan: the clients' rows, or else the server's vectors."""
    for value in state.values():
        tensor = value.default if isinstance(value, ClientRows) else value
        if isinstance(value, ClientRows) == rows and tensor.is_floating_point() and (rows or tensor.dim() == 1):
            tensor.fill_(torch.nan)


def at_server(C: Cohort, w: Tensor) -> _AtServer:
    """The server's end of a cohort, which has sent the model; what every client computes is nan there."""
    there = _AtServer(**{one.name: getattr(C, one.name) for one in fields(Cohort)})
    there.full_gradient = lambda w: w.new_full((len(C.clients), len(w)), torch.nan)
    there.broadcast(w)
    return there


def tasks_of(C: Cohort, steps: Sequence[int]) -> list[Task]:
    """The task of each active client, in the order of the cohort."""
    own = zip(C.clients.tolist(), steps, C.relative_size[:, 0].tolist(), strict=True)
    return [Task(i, C.t, K, C.lr, share, float(C.K_first), float(C.K_mean)) for i, K, share in own]


def next_model(
    algorithm: FedAvg, state: State, c: Context, w: Tensor, C: _AtServer, answers: Sequence[Answer]
) -> Tensor:
    """The server's next model [P] of the answers, in the order of its cohort; ``state`` moves on.

    Raises UserError for a method whose server needs more than its clients' sums.
    """
    C.answers = answers
    W = torch.stack([answer.w for answer in answers])
    c.e = W.new_full((1, 1), torch.nan).expand_as(W)  # the perturbations stay at the clients
    found = algorithm.finish(state, c, w, W, C)
    if bool(torch.isfinite(W).all()) and not bool(torch.isfinite(found).all()):
        raise UserError("method", algorithm.name, "a method whose server needs its clients' sums alone")
    return found


class WithoutData(Trainer):
    """The engine where no data are: the model's vectors, the method and its state.

    module: the network with its weights.  sizes: [m], samples of each client.
    """

    def __init__(self, config: RunConfig, module: nn.Module, sizes: Sequence[int]):
        if ALGORITHMS[config.algorithm].maps_inputs:
            raise UserError("method", config.algorithm, "another method; its clients keep a map of their inputs")
        if config.device not in ("auto", "cpu"):
            raise UserError("device", config.device, "cpu, on which the nodes of Flower compute")
        self.config = config = config.model_copy(update={"device": "cpu"})
        self.device, self.statistics = torch.device("cpu"), None
        self.dtype = torch.float64 if config.dtype == "float64" else torch.float32
        self.model = OwnModel(module, None, self.device, self.dtype)
        self.oracle = Oracle(self.model, backend="loop")
        none = torch.empty(0, 1)
        self.data = OwnData("own", none, none, none, none, (), 1.0, (), (), fingerprint="own")
        self.pools = [torch.empty(size) for size in sizes]  # their lengths count
        self.sizes = torch.tensor([*sizes], dtype=self.dtype)
        self.algorithm = config.build_algorithm()
        self.w = self.oracle.layout.flatten(parameters(self.model)).detach().clone()
        if running := buffers(self.model):
            self.statistics = self.oracle.buffer_layout.flatten(running).clone()
        self.state, self.completed = self.algorithm.init(self.w, config.clients), 0


class Server(WithoutData):
    """The engine without data: of its clients it knows the numbers of samples.

    config: as it is sent to the clients: what travels lies in the memory of the host, so all compute on the CPU.
    """

    def __init__(self, config: RunConfig, module: nn.Module, sizes: Sequence[int]):
        super().__init__(config, module, sizes)
        elsewhere(self.state, rows=True)

    def begin(self) -> tuple[list[Task], list[Tensor]]:
        """What each active client is told, and the vectors [P] that all receive; the first is the server's model."""
        config, m = self.config, self.config.clients
        clients = draw_cohort(config.seed, self.completed, m, config.cohort, config.cohort_rule)
        steps = self.local_steps([self.pools[i] for i in clients.tolist()])
        self.C = C = at_server(self.cohort(clients, steps), self.w)
        self.c = Context(self.w, C.lr, **self.algorithm.begin(self.state, self.w, C))
        return tasks_of(C, steps), C.sent

    def finish(self, answers: Sequence[Answer], present: Sequence[int] | None = None) -> None:
        """Take the next server model from the answers, in the order of ``begin``'s tasks.

        present: positions of the tasks that were answered, where not all were; the round is then theirs alone.
        """
        if present is not None and len(present) < len(self.C.clients):
            rows, size = torch.tensor([*present]), len(self.C.clients)
            own = {name: getattr(self.C, name)[rows] for name in ("clients", "sizes", "K", "relative_size")}
            self.C, self.c = replace(self.C, **own), self.c.select(rows, size)
        w = next_model(self.algorithm, self.state, self.c, self.w, self.C, answers)
        if self.statistics is not None:
            local = torch.stack([_there(a.statistics) for a in answers])
            self.statistics = self.model.settled(local, self._mean_of_active(self.C, local))
        self.w, self.completed = w, self.completed + 1


def _there(statistics: Tensor | None) -> Tensor:
    assert statistics is not None
    return statistics


class AtNode(Trainer):
    """What both kinds of client do: take up what was kept, hold the channel's end, and answer.

    kept: what ``kept()`` gave after the client's last round; empty before its first.
    """

    task: Task

    def take_up(self, task: Task, kept: dict[str, Tensor]) -> None:
        """Become the task's client; what the server holds is nan here."""
        self.task, self.completed = task, task.t
        self.pools = [self.pools[0]] * (task.number + 1)  # found by its number; the others are nobody's
        elsewhere(self.state, rows=False)
        if kept:
            rows = {name: value for name, value in self.state.items() if isinstance(value, ClientRows)}
            self.state |= unpack(kept, rows)

    def channel(self, sent: list[Tensor], full_gradient: Callable[[Tensor], Tensor]) -> _AtClient:
        """The client's end, which has received the vectors of ``Server.begin``."""
        task = self.task
        return _AtClient(
            clients=torch.tensor([task.number]),
            sizes=torch.tensor([[float(len(self.pools[-1]))]], dtype=self.dtype),
            K=torch.tensor([[float(task.steps)]], dtype=self.dtype),
            m=self.config.clients,
            t=task.t,
            lr=task.lr,
            first_lr=self.config.lr,
            layout=self.oracle.layout,
            full_gradient=full_gradient,
            relative_size=torch.tensor([[task.relative_size]], dtype=self.dtype),
            K_first=task.K_first,
            K_mean=task.K_mean,
            weighted=self.config.server_mean == "weighted",
            received=list(sent),
        )

    def answer(self, C: _AtClient, W: Tensor, statistics: Tensor | None, sent: list[Tensor]) -> Answer:
        """The client's answer to the server. Raises UserError for a method whose clients read what was never sent."""
        sums = [None if torch.equal(x, W[0] - self.w) else x for x in C.sums]
        if bool(torch.isfinite(sent[0]).all()) and any(bool(x.isnan().any()) for x in sums if x is not None):
            raise UserError("method", self.config.algorithm, "a method whose clients use what is broadcast alone")
        return Answer(W[0], sums, statistics, self.oracle.passes)

    def kept(self) -> dict[str, Tensor]:
        """The client's own state, to be stored until its next round."""
        return pack({name: value for name, value in self.state.items() if len(value.shape) >= 2})


class Client(AtNode, OwnTrainer):
    """The engine with one client's data; kept: see ``AtNode``."""

    def __init__(
        self,
        config: RunConfig,
        module: nn.Module,
        data: Pair,
        loss: Loss | None,
        task: Task,
        kept: dict[str, Tensor],
        output: Callable[[Any], Any] | None = None,
        live: Live | None = None,
    ):
        super().__init__(config, module, [data], None, loss, output, [live])
        self.live *= task.number + 1
        self.take_up(task, kept)

    def play(self, sent: list[Tensor], statistics: Tensor | None) -> Answer:
        """The round; sent: the vectors of ``Server.begin``."""
        self.w = sent[0]
        local = None if statistics is None else statistics[None].clone()
        C = self.channel(sent, lambda w: self.full_gradient(w, [self.task.number]))
        _, W = self.train(C, [self.task.steps], local, None)
        return self.answer(C, W, None if local is None else local[0], sent)
