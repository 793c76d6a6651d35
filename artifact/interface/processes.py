"""The clients of a round in processes: the same bits as in one, for methods with one exchange a round.

Each process plays a client's whole round with what the server broadcasts, as a node does elsewhere (``sides``).
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from artifact.algorithms import ALGORITHMS
from artifact.algorithms.base import State
from artifact.algorithms.cohort import Cohort, Context
from artifact.base.errors import UserError
from artifact.interface.entry import Pair
from artifact.interface.live import Live
from artifact.interface.own_trainer import Loss, OwnTrainer
from artifact.interface.sides import Answer, Client, Task, at_server, elsewhere, next_model, tasks_of
from artifact.training.config import RunConfig

Kept = dict[str, Tensor]


class InProcesses(OwnTrainer):
    """``train``'s engine, whose clients are shared by so many processes.

    Raises UserError for a method that exchanges more than once a round, and for a device other than the CPU.
    """

    def __init__(self, workers: int, config: RunConfig, *given: Any):
        if ALGORITHMS[config.algorithm].maps_inputs:
            raise UserError("workers", workers, f"1, as the clients of {config.algorithm} keep a map of their inputs")
        super().__init__(config.model_copy(update={"device": "cpu"}), *given)
        self.workers = workers

    def _pool(self) -> Any:
        from joblib import Parallel  # not with every import of the package

        return Parallel(n_jobs=self.workers)

    def train(self, C: Cohort, steps: list[int], local: Tensor | None, watch: Any) -> tuple[Tensor, Tensor]:
        state = {name: copy.deepcopy(value) for name, value in self.state.items()}
        elsewhere(state, rows=True)
        there = at_server(C, self.w)
        there.traffic = C.traffic
        c = Context(self.w, C.lr, **self.algorithm.begin(state, self.w, there))
        config = self.config.model_copy(update={"hyper": self._hyper()})
        told = []
        for position, task in enumerate(tasks_of(C, steps)):
            statistics = None if local is None else local[position]
            kept = {name: value[C.clients[position : position + 1]] for name, value in self.rows.items()}
            data = self._data_of(task.number)
            live = self.live[task.number] if self.live else None
            given = (config, self.module, data, self.loss_given, self.output, live)
            told.append((*given, task, kept, there.sent, statistics))
        found: list[tuple[Answer, Kept]] = list(self._pool()((_played, one, {}) for one in told))
        answers = [answer for answer, _ in found]
        w = next_model(self.algorithm, state, c, self.w, there, answers)
        for name, value in state.items():
            if name not in self.rows:
                self.state[name] = value
        for name, value in self.rows.items():
            value[C.clients] = torch.cat([kept[name] for _, kept in found])
        if local is not None:
            local.copy_(torch.stack([answer.statistics for answer in answers if answer.statistics is not None]))
        self.oracle.passes += sum(answer.passes for answer in answers)
        return w, torch.stack([answer.w for answer in answers])

    @property
    def rows(self) -> dict[str, Any]:
        """State that clients keep between rounds, by name."""
        return rows_of(self.state)

    def _hyper(self) -> dict[str, Any]:
        """The hyper-parameters of this round, which a schedule may have changed."""
        return self.config.hyper | ({"rho": self.algorithm.rho} if "rho" in self.schedules else {})  # type: ignore[attr-defined]

    def _data_of(self, client: int) -> Pair:
        index = self.pools[client]
        return tree_map(lambda leaf: leaf[index], self.samples), self.data.train_y[index]


def rows_of(state: State) -> dict[str, Any]:
    """Entries with a row per client."""
    return {name: value for name, value in state.items() if len(value.shape) >= 2}


def _played(
    config: RunConfig,
    module: nn.Module,
    data: Pair,
    loss: Loss | None,
    output: Any,
    live: Live | None,
    task: Task,
    kept: Kept,
    sent: list[Tensor],
    statistics: Tensor | None,
) -> tuple[Answer, Kept]:
    """One client's round, in a process of its own; what it keeps is a row [1, P] by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the driver has warned
        client = Client(config, module, data, loss, task, {}, output, live)
        me = torch.tensor([task.number])
        rows = rows_of(client.state)
        for name, value in rows.items():
            value[me] = kept[name]
        answer = client.play([x.clone() for x in sent], statistics)
    client.oracle.work_inline()
    return answer, {name: value[me] for name, value in rows.items()}
