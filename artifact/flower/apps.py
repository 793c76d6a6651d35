"""Flower's two apps around ``interface.sides``: a strategy for the ServerApp, and the ClientApp that answers it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import asdict
from logging import INFO, WARNING
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp import strategy as flower
from torch import Tensor, nn
from torch.utils.data import Dataset as TorchDataset

from artifact.base.errors import UserError
from artifact.interface.entry import Pair
from artifact.interface.live import source
from artifact.interface.own_loop import Loop, LoopClient, samples_of
from artifact.interface.own_trainer import Loss
from artifact.interface.sides import Answer, Client, Server, Task
from artifact.interface.train import _config, _pair
from artifact.training.config import RunConfig
from artifact.training.trainer import Trainer

#: what a node brings: its network and its data
Node = Callable[[Context], tuple[nn.Module, Pair | TorchDataset]]
#: key of the run's settings in a message
RUN = "fedsharp"


class Strategy(flower.Strategy):
    """A method of the engine as a strategy of Flower.

    model: the network; ``start`` wants its ``ArrayRecord(model.state_dict())``.
    clients: nodes to wait for, each one client.  cohort: active clients of a round; by default all.
    least: answers without which a round ends the training; clients that fail are left out of their round alone. By
    default half of the cohort.
    method: a name that ``python -m fedsharp list algorithms`` prints.
    options: as for ``fedsharp.train``: local_epochs, batch_size, lr, seed, rho and other hyper-parameters.

    Who takes part in a round is a function of the seed, and a client's number is its ``partition-id``. Therefore Flower
    trains the same models as ``fedsharp.train`` on the same data. ``start(..., evaluate_fn=...)`` evaluates the models.
    Raises UserError for an option that is not possible, for too few answers, and for a node with another ClientApp.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        clients: int,
        method: str,
        cohort: int | None = None,
        least: int | None = None,
        **options: Any,
    ):
        if not isinstance(method, str):
            shown = getattr(method, "__name__", method)
            raise UserError("method", shown, "the name of a method; a class of your own trains by fedsharp.train")
        self.model, self.config = model, _config(method, clients, cohort, options)
        self.least = -(-self.config.cohort // 2) if least is None else least
        if not 1 <= self.least <= self.config.cohort:
            raise UserError("least", least, f"a whole number from 1 to the cohort, {self.config.cohort}")
        self.server: Server | None = None
        self.nodes: list[int] = []
        self.tasks: list[Task] = []
        self.key = uuid.uuid4().hex  # what clients keep under it is theirs in this training alone

    def summary(self) -> None:
        config = self.config
        log(INFO, "\t├──> Method: %s %s", config.algorithm, config.hyper)
        log(INFO, "\t└──> Clients: %s, %s a round; seed %s", config.clients, config.cohort, config.seed)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        if self.server is None:
            _load(self.model, arrays)
            self.server = Server(self.config, self.model, self._sizes(grid))
        self.tasks, (_, *vectors) = self.server.begin()
        shared = {"arrays": arrays, "vectors": _record(dict(enumerate(vectors)))}
        run = self.server.config.model_dump_json()
        messages = []
        for task in self.tasks:
            told = ConfigRecord(
                {**config, "server-round": server_round, RUN: run, "task": json.dumps(asdict(task)), "kept": self.key}
            )
            content = RecordDict(shared | {"config": told})
            messages.append(Message(content, dst_node_id=self.nodes[task.number], message_type="train"))
        return messages

    def _sizes(self, grid: Grid) -> list[int]:
        """Samples of every client, in the order of their numbers; ``nodes`` takes their ids in this order."""
        while len(nodes := sorted(grid.get_node_ids())) < self.config.clients:
            time.sleep(0.2)
        asked = [Message(RecordDict(), dst_node_id=node, message_type="query") for node in nodes]
        replies = list(grid.send_and_receive(asked))
        failed = [reply for reply in replies if reply.has_error()]
        if failed:
            allowed = (
                "nodes whose ClientApp fedsharp.flower.client_app(node) has made, with train= for a training loop "
                "of your own, and whose node(context) runs"
            )
            raise UserError("client_app", failed[0].metadata.src_node_id, f"{allowed} ({_reason(failed[0])})")
        said = {reply.metadata.src_node_id: reply.content["metrics"] for reply in replies}
        numbers = {said[node]["number"]: node for node in nodes if node in said}
        if sorted(numbers) != [*range(self.config.clients)]:
            raise UserError("clients", self.config.clients, f"the number of nodes, whose numbers are {sorted(numbers)}")
        self.nodes = [numbers[i] for i in range(self.config.clients)]
        return [int(said[node]["num-examples"]) for node in self.nodes]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        assert self.server is not None
        found = {}
        for reply in replies:
            if reply.has_error():
                log(
                    WARNING,
                    "client %s is left out of round %s: %s",
                    reply.metadata.src_node_id,
                    server_round,
                    _reason(reply),
                )
            else:
                found[reply.metadata.src_node_id] = reply.content
        present = [position for position, task in enumerate(self.tasks) if self.nodes[task.number] in found]
        if len(present) < self.least:
            silent = [task.number for task in self.tasks if self.nodes[task.number] not in found]
            raise UserError("clients", silent, f"at least {self.least} clients that answer, or a smaller least=")
        answers = []
        for task in (self.tasks[position] for position in present):
            said = found[self.nodes[task.number]]
            w, statistics = _flat(self.server, said["arrays"])
            sums = {int(i): x for i, x in said["sums"].to_torch_state_dict().items()}
            passes = int(said["metrics"]["gradients"])
            answers.append(Answer(w, [sums.get(i) for i in range(int(said["metrics"]["sums"]))], statistics, passes))
        self.server.finish(answers, present)
        told = [found[self.nodes[self.tasks[position].number]] for position in present]
        arrays = dict(self.model.state_dict()) | _named(self.server, self.server.w, self.server.statistics)
        counted = {"clients": len(answers), "gradients": sum(answer.passes for answer in answers)}
        return ArrayRecord(arrays), MetricRecord(counted | _weighted_means(told))

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        return None


class FedSAM(Strategy):
    """Qu et al. 2022; rho: perturbation radius. Other arguments: see ``Strategy``."""

    def __init__(self, model: nn.Module, *, clients: int, rho: float = 0.5, **options: Any):
        super().__init__(model, clients=clients, method="fedsam", rho=rho, **options)


class FedSMOO(Strategy):
    """Sun et al. 2023; rho: perturbation radius, lam: penalty 1/beta. Other arguments: see ``Strategy``."""

    def __init__(self, model: nn.Module, *, clients: int, rho: float = 0.1, lam: float = 0.1, **options: Any):
        super().__init__(model, clients=clients, method="fedsmoo", rho=rho, lam=lam, **options)


class FedLESAM(Strategy):
    """Fan et al. 2024; rho: perturbation radius. Other arguments: see ``Strategy``."""

    def __init__(self, model: nn.Module, *, clients: int, rho: float = 0.01, **options: Any):
        super().__init__(model, clients=clients, method="fedlesam", rho=rho, **options)


def client_app(node: Node, loss: Loss | None = None, *, train: Loop | None = None) -> ClientApp:
    """The ClientApp for every ``Strategy``; the strategy says which method and with which options.

    node: Context -> (network, data), the data as one entry of ``fedsharp.train``'s ``clients``.
    loss: (output, labels) -> mean loss of a minibatch; by default the cross-entropy.
    train: a training loop of your own, (network, loader, optimiser) -> None or a dict of numbers to report. ``loader``
    is then whatever ``node`` returns beside the network, such as a DataLoader. Each ``optimiser.step(closure)`` is one
    local step of the strategy's method; the closure computes the loss of one minibatch and its gradients. The loop
    takes as many steps as the strategy's local_epochs and batch_size, or local_steps, say.
    A client's duals and what else it keeps between rounds stand in its Context's state.
    Raises UserError in a node for a loop with another number of steps.

        def train(network, loader, optimiser):
            for x, y in loader:
                def closure():
                    optimiser.zero_grad()
                    loss = nn.functional.cross_entropy(network(x), y)
                    loss.backward()
                    return loss
                optimiser.step(closure)

        client = client_app(lambda context: (network(), loader(context.node_config["partition-id"])), train=train)
    """
    app = ClientApp()
    if train is not None and loss is not None:
        raise UserError("loss", "given beside train", "one of both; a loop of your own has its own loss")
    if train is not None and not callable(train):
        raise UserError("train", type(train).__name__, "a function (network, loader, optimiser)")

    @app.query()
    def query(message: Message, context: Context) -> Message:
        _, data = node(context)
        samples = samples_of(data) if train is not None else len(_pair(data, "data")[1])
        said = {"number": int(context.node_config["partition-id"]), "num-examples": samples}
        return Message(RecordDict({"metrics": MetricRecord(said)}), reply_to=message)

    @app.train()
    def answer(message: Message, context: Context) -> Message:
        told = message.content["config"]
        config, task = RunConfig.model_validate_json(told[RUN]), Task(**json.loads(told["task"]))
        module, data = node(context)
        _load(module.to(torch.float64 if config.dtype == "float64" else torch.float32), message.content["arrays"])
        key = told["kept"]
        kept = context.state[key].to_torch_state_dict() if key in context.state else {}
        vectors = message.content["vectors"].to_torch_state_dict()
        further = [vectors[str(i)] for i in range(len(vectors))]
        client: Client | LoopClient
        reported: dict[str, float] = {}
        if train is None:
            first, live = source(data, "data", None, config.seed, task.number)
            client = Client(config, module, first, loss, task, kept, None, live)
            found = client.play([client.w, *further], client.statistics)
        else:
            client = LoopClient(config, module, samples_of(data), task, kept)
            found, reported = client.play([client.w, *further], data, train)
        context.state[key] = _record(client.kept())
        own = {i: x for i, x in enumerate(found.sums) if x is not None}
        counted = {"num-examples": len(client.pools[-1]), "gradients": found.passes, "sums": len(found.sums)}
        content = {
            "arrays": ArrayRecord(_named(client, found.w, found.statistics)),
            "sums": _record(own),
            "metrics": MetricRecord(counted),
            "reported": MetricRecord(reported),
        }
        return Message(RecordDict(content), reply_to=message)

    return app


def _weighted_means(told: list[RecordDict]) -> dict[str, float]:
    """What the clients' own loops report, each number's mean over those that report it, by their samples."""
    sums: dict[str, tuple[float, float]] = {}
    for said in told:
        size = float(said["metrics"]["num-examples"])
        for name, number in said["reported"].items():
            total, weight = sums.get(name, (0.0, 0.0))
            sums[name] = (total + size * number, weight + size)
    return {name: total / weight for name, (total, weight) in sums.items()}


def _reason(reply: Message) -> str:
    """The last line of what a client has said where it failed."""
    return " ".join(reply.error.reason.strip().splitlines()[-1:])


def _record(tensors: dict[Any, Tensor]) -> ArrayRecord:
    return ArrayRecord({str(name): tensor for name, tensor in tensors.items()})


def _load(module: nn.Module, arrays: ArrayRecord) -> None:
    module.load_state_dict(arrays.to_torch_state_dict())


def _named(side: Trainer, w: Tensor, statistics: Tensor | None) -> dict[str, Tensor]:
    """Parameters and running statistics by their names in the user's module."""
    found = side.oracle.layout.views(w) | ({} if statistics is None else side.oracle.buffer_layout.views(statistics))
    return {name.removeprefix("module."): tensor.contiguous() for name, tensor in found.items()}


def _flat(side: Trainer, arrays: ArrayRecord) -> tuple[Tensor, Tensor | None]:
    """Inverse of ``_named``."""
    found = {f"module.{name}": tensor for name, tensor in arrays.to_torch_state_dict().items()}
    statistics = None if side.statistics is None else side.oracle.buffer_layout.flatten(found)
    return side.oracle.layout.flatten(found), statistics
