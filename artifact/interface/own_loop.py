"""A client whose training loop is the user's own: every step of its optimiser is a local step of the method.

The loop decides what a minibatch is, how it is augmented and which loss is taken. It steps the optimiser that it is
given with a closure, which the method calls as often as it needs gradients, at the weights where it needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Any

import torch
from torch import Tensor, nn

from artifact.algorithms.base import FedAvg
from artifact.algorithms.cohort import Context, LocalOptimiser
from artifact.base.errors import UserError
from artifact.base.random import key
from artifact.interface.own_model import forked
from artifact.interface.sides import Answer, AtNode, Task, WithoutData
from artifact.training.config import RunConfig
from artifact.training.rounds import play, without_full_gradient

#: (network, loader, optimiser) -> numbers to report, or None
Loop = Callable[[nn.Module, Any, torch.optim.Optimizer], Mapping[str, float] | None]


def samples_of(loader: Any) -> int:
    """How many samples a loader hands out in an epoch.

    Raises UserError for one that has no length.
    """
    held = getattr(loader, "dataset", loader)
    if not isinstance(held, Sized):
        raise UserError("loader", type(loader).__name__, "a DataLoader, or another iterable with a length")
    return len(held)


class Steps(torch.optim.Optimizer):
    """Takes a method's local steps in a user's loop, by ``step(closure)``.

    module: the network that the loop trains.  seed_of: local step -> seed of what its passes draw.
    """

    def __init__(self, module: nn.Module, algorithm: FedAvg, W: Tensor, c: Context, seed_of: Callable[[int], int]):
        self.module, self.algorithm, self.W, self.c, self.seed_of = module, algorithm, W, c, seed_of
        self.own = [p for p in module.parameters() if p.requires_grad]
        self.passes = 0
        super().__init__(self.own, {"lr": c.lr})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One local step. Returns the loss of the closure's first call.

        closure: zeroes the gradients, computes the loss of one minibatch and its gradients, returns the loss. All its
        calls in a step draw the same random numbers, and the buffers of the network move at the first call alone.
        Without a closure the gradient is the one that the parameters hold, which is enough for methods that
        differentiate once, at the model itself.
        Raises UserError without a closure for a method that needs a gradient at other weights.
        """
        losses, calls = list[Any](), 0
        buffers = [(b, b.clone()) for b in self.module.buffers()]
        at = self.W

        def gradient(W: Tensor) -> Tensor:
            nonlocal calls, buffers
            calls += 1
            self.passes += 1
            if closure is None:
                if calls > 1 or not torch.equal(W, at):
                    needed = f"step(closure), as {self.algorithm.name} takes gradients at other weights too"
                    raise UserError("optimiser.step", "called without a closure", needed)
                return self._gathered(W)
            self._write(W[0])
            moved = None if calls == 1 else [(b, b.clone()) for b in self.module.buffers()]
            with torch.no_grad():
                for buffer, value in buffers if moved else ():
                    buffer.copy_(value)
            with forked(self.seed_of(self.c.k)), torch.enable_grad():
                losses.append(closure())
            with torch.no_grad():
                for buffer, value in moved or ():
                    buffer.copy_(value)
            return self._gathered(W)

        self.W = self.algorithm.step(at, gradient, self.c)
        self.c.k += 1
        self._write(self.W[0])
        return losses[0] if losses else None

    def _gathered(self, like: Tensor) -> Tensor:
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.own]
        return torch.cat([part.detach().flatten().to(like) for part in parts])[None]

    @torch.no_grad()
    def _write(self, w: Tensor) -> None:
        for p, values in zip(self.own, w.split([p.numel() for p in self.own]), strict=True):
            p.copy_(values.view_as(p))


class LoopClient(AtNode, WithoutData):
    """One client's round by a loop of the user's own; kept: see ``AtNode``.

    samples: of the client, as ``samples_of`` counts them.
    """

    def __init__(self, config: RunConfig, module: nn.Module, samples: int, task: Task, kept: dict[str, Tensor]):
        if config.man_zeta:
            raise UserError("man_zeta", config.man_zeta, "0 with a loop of your own; fedsharp.losses.man in its loss")
        super().__init__(config, module, [samples])
        self.module = module
        self.take_up(task, kept)

    def play(self, sent: list[Tensor], loader: Any, train: Loop) -> tuple[Answer, dict[str, float]]:
        """The round, and what the loop reports. The module is left as the loop leaves it.

        Raises UserError where the loop takes another number of steps than the task, or returns no numbers.
        """
        config, task = self.config, self.task
        reported: Any = None
        self.w = sent[0]

        def loop(W: Tensor, c: Context) -> Tensor:
            nonlocal reported
            place = (config.seed, "own-loop", task.t, task.number)
            optimiser = Steps(self.module.train(), self.algorithm, W, c, lambda k: key(*place, k))
            with forked(key(*place)):
                reported = train(self.module, loader, optimiser)
            if c.k != task.steps:
                hint = "local_epochs, batch_size or local_steps of the strategy say how many"
                raise UserError("train", f"{c.k} steps of its optimiser", f"{task.steps} steps; {hint}")
            self.oracle.passes += optimiser.passes
            return optimiser.W

        C = self.channel(sent, without_full_gradient(config.algorithm))
        _, W, _ = play(
            self.algorithm,
            self.state,
            self.w,
            C,
            [task.steps],
            _no_minibatch,
            weight_decay=config.weight_decay,
            clip=self.clip_norm,
            optimiser=LocalOptimiser(config.optimiser, config.momentum),
            loop=loop,
        )
        if not isinstance(reported, Mapping | None):
            raise UserError("train", type(reported).__name__, "a dict of numbers to report, or None")
        statistics = None
        if self.statistics is not None:
            moved = {f"module.{name}": b.to(self.dtype).cpu() for name, b in self.module.named_buffers()}
            statistics = self.oracle.buffer_layout.flatten(moved)
        numbers = {name: float(number) for name, number in (reported or {}).items()}
        return self.answer(C, W, statistics, sent), numbers


def _no_minibatch(k: int, rows: Tensor | None) -> Any:
    raise AssertionError("the loop takes the steps")
