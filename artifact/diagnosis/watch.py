"""What can be seen of a training step without reading its code: points of evaluation, inputs, weights after it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from artifact.base.flat import buffers

Pair = tuple[Tensor, Tensor]
Loss = Callable[[Any, Tensor], Tensor]


def flat(model: nn.Module) -> Tensor:
    """[P], a copy of all parameters."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def load(model: nn.Module, w: Tensor) -> None:
    """Give the model the parameters w [P], in place."""
    with torch.no_grad():
        own = list(model.parameters())
        for p, values in zip(own, w.split([p.numel() for p in own]), strict=True):
            p.copy_(values.view_as(p))


@dataclass
class Evaluation:
    """One gradient. w: [P], where.  inputs: one tensor, or several where a gradient was accumulated."""

    w: Tensor
    training: bool
    statistics: dict[str, Tensor]
    inputs: list[Tensor]


@dataclass
class Step:
    """One local step. start, end: [P].  moved: how often running statistics changed."""

    start: Tensor
    batch: Pair
    evaluations: list[Evaluation] = field(default_factory=list)
    end: Tensor = field(default_factory=lambda: torch.zeros(0))
    moved: int = 0

    def same_inputs(self) -> bool:
        """Whether all gradients of the step were taken on the samples of its batch."""
        return all(torch.equal(torch.cat(e.inputs).to(self.batch[0]), self.batch[0]) for e in self.evaluations)


class Watch:
    """Sees what happens to a model while batches are drawn from ``batches``."""

    def __init__(self, model: nn.Module, loss: Loss):
        self.copy, self.model, self.loss = copy.deepcopy(model), model, loss
        self._hook = model.register_forward_pre_hook(self._evaluated)
        self._steps: list[Step] = []
        self._open: Step | None = None
        self._last = self._statistics()
        self._labels: dict[bytes, Tensor] = {}

    def batches(self, data: Iterable[Pair]) -> Iterator[Pair]:
        for x, y in data:
            self._close()
            self._labels |= {_key(row): label for row, label in zip(x, y, strict=True)}
            self._open, self._last = Step(flat(self.model), (x, y)), self._statistics()
            yield x, y
        self._close()

    def taken(self) -> list[Step]:
        """The steps since the last call."""
        self._close()
        steps, self._steps = self._steps, []
        return steps

    def leave(self) -> None:
        self._hook.remove()

    def statistics(self) -> dict[str, Tensor]:
        """Running statistics, by name."""
        return {name: b.detach().clone() for name, b in buffers(self.model).items()}

    def _statistics(self) -> Tensor:
        return torch.cat([b.detach().flatten() for b in buffers(self.model).values()] or [torch.zeros(0)])

    def _compare(self, step: Step) -> None:
        now = self._statistics()
        step.moved += not torch.equal(now, self._last)
        self._last = now

    def _close(self) -> None:
        if self._open is not None:
            self._compare(self._open)
            self._open.end = flat(self.model)
            self._steps.append(self._open)
            self._open = None

    def _evaluated(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        step = self._open
        if step is None or not torch.is_grad_enabled():
            return
        self._compare(step)
        w, x = flat(module), inputs[0].detach()
        last = step.evaluations[-1] if step.evaluations else None
        if last is not None and sum(map(len, last.inputs)) < len(step.batch[1]) and torch.equal(w, last.w):
            last.inputs.append(x)
            return
        own = {name: b.detach().clone() for name, b in buffers(module).items()}
        step.evaluations.append(Evaluation(w, module.training, own, [x]))

    def gradient(self, evaluation: Evaluation, w: Tensor, y: Tensor) -> Tensor:
        """[P], the true gradient at w on the inputs of an evaluation.

        y: labels of the inputs where these are none that ``batches`` has given, as when they were shifted.
        """
        load(self.copy, w)
        self.copy.train(evaluation.training)
        with torch.no_grad():
            for name, b in buffers(self.copy).items():
                b.copy_(evaluation.statistics[name])
        samples, total = sum(map(len, evaluation.inputs)), torch.zeros_like(w)
        for x in evaluation.inputs:
            known = [label for label in map(self._labels.get, map(_key, x)) if label is not None]
            own = torch.stack(known) if len(known) == len(x) else y[: len(x)]
            x = x.to(next(self.copy.parameters()).dtype) if x.is_floating_point() else x
            found = torch.autograd.grad(self.loss(self.copy(x), own), list(self.copy.parameters()))
            total += len(x) / samples * torch.cat([g.flatten() for g in found])
        return total

    def gradient_of_map(self, w: Tensor, L: Tensor, d: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients in w [P], Lambda [C, C] and delta [C] at the inputs Lambda x + delta, for FedRobust."""
        load(self.copy, w)
        self.copy.train()
        L, d = L.detach().requires_grad_(), d.detach().requires_grad_()
        moved = torch.einsum("ij,bj...->bi...", L, x) + d.reshape(-1, *[1] * (x.dim() - 2))
        *own, in_L, in_d = torch.autograd.grad(self.loss(self.copy(moved), y), [*self.copy.parameters(), L, d])
        return torch.cat([g.flatten() for g in own]), in_L, in_d


def _key(row: Tensor) -> bytes:
    return row.detach().cpu().contiguous().numpy().tobytes()
