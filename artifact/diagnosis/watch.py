"""What can be seen of a training step without reading its code: points of evaluation, inputs, weights after it."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from artifact.base.flat import buffers
from artifact.interface.own_model import unchanged_generators

Pair = tuple[Tensor, Tensor]
Loss = Callable[[Any, Tensor], Tensor]


def flat(model: nn.Module) -> Tensor:
    """A copy of all parameters of a model, as one vector [P]."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def load(model: nn.Module, w: Tensor) -> None:
    """Give the model the parameters w [P], in place."""
    with torch.no_grad():
        own = list(model.parameters())
        for p, values in zip(own, w.split([p.numel() for p in own]), strict=True):
            p.copy_(values.view_as(p))


@dataclass(frozen=True)
class Draws:
    """Where the generators of torch, numpy and Python stand."""

    of_torch: Tensor
    of_cuda: list[Tensor]
    of_numpy: Any
    of_python: Any

    @staticmethod
    def now() -> Draws:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        return Draws(torch.get_rng_state(), cuda, np.random.get_state(), random.getstate())  # noqa: NPY002

    def again(self) -> None:
        """Set the random generators back, so that they repeat the recorded draws."""
        torch.set_rng_state(self.of_torch)
        if self.of_cuda:
            torch.cuda.set_rng_state_all(self.of_cuda)
        np.random.set_state(self.of_numpy)  # noqa: NPY002
        random.setstate(self.of_python)

    def same(self, other: Draws) -> bool:
        cuda = all(map(torch.equal, self.of_cuda, other.of_cuda))
        of_numpy = self.of_numpy[2] == other.of_numpy[2] and np.array_equal(self.of_numpy[1], other.of_numpy[1])
        return torch.equal(self.of_torch, other.of_torch) and cuda and of_numpy and self.of_python == other.of_python


@dataclass
class Pass:
    """One forward pass. x: inputs.  y: their labels, None where no batch has such inputs.  draws: before it."""

    x: Tensor
    y: Tensor | None = None
    draws: Draws | None = None


@dataclass
class Evaluation:
    """One gradient.

    w: [P], where.  passes: one, or several where a gradient was accumulated.  moved: whether running statistics moved.
    drew: whether a pass of it drew random numbers.
    """

    w: Tensor
    training: bool
    statistics: dict[str, Tensor]
    passes: list[Pass]
    moved: bool = False
    drew: bool = False

    @property
    def samples(self) -> int:
        return sum(len(one.x) for one in self.passes)


@dataclass
class Step:
    """One local step. start, end: [P].  outside: whether running statistics moved before its first gradient."""

    start: Tensor
    batch: Pair
    evaluations: list[Evaluation] = field(default_factory=list)
    end: Tensor = field(default_factory=lambda: torch.zeros(0))
    outside: bool = False

    @property
    def moved(self) -> int:
        """How many gradients of the step moved the running statistics."""
        return self.outside + sum(e.moved for e in self.evaluations)

    def same_inputs(self) -> bool:
        """Whether all gradients of the step were taken on the samples of its batch, in any order."""
        own = Counter(map(_key, self.batch[0]))
        like = self.batch[0]
        return all(Counter(_key(row) for one in e.passes for row in one.x.to(like)) == own for e in self.evaluations)

    def moved_at_perturbed(self) -> bool:
        """Whether running statistics moved at the perturbed weights, though the step's start has a gradient, too."""
        at_start = [e.moved for e in self.evaluations if torch.equal(e.w, self.start)]
        return self.moved == 1 and bool(at_start) and not any(at_start) and not self.outside


class Watch:
    """Sees what happens to a model while batches are drawn from ``batches``."""

    def __init__(self, model: nn.Module, loss: Loss):
        self.copy, self.model, self.loss = copy.deepcopy(model), model, loss
        self._hooks = [
            model.register_forward_pre_hook(self._begins, with_kwargs=True),
            model.register_forward_hook(self._ends),
        ]
        self._steps: list[Step] = []
        self._open: Step | None = None
        self._last = self._statistics()
        self._labels: dict[bytes, Tensor] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Watch:
        """A patient that evaluates a copy of its model is seen, too."""
        return self

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
        for hook in self._hooks:
            hook.remove()

    def statistics(self) -> dict[str, Tensor]:
        """Running statistics, by name."""
        return {name: b.detach().clone() for name, b in buffers(self.model).items()}

    def _statistics(self) -> Tensor:
        return torch.cat([b.detach().flatten() for b in buffers(self.model).values()] or [torch.zeros(0)])

    def _compare(self, step: Step) -> None:
        now = self._statistics()
        if not torch.equal(now, self._last):
            if step.evaluations:
                step.evaluations[-1].moved = True
            else:
                step.outside = True
        self._last = now

    def _close(self) -> None:
        if self._open is not None:
            self._compare(self._open)
            self._open.end = flat(self.model)
            self._steps.append(self._open)
            self._open = None

    def _begins(self, module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        step = self._open
        if step is None or not torch.is_grad_enabled():
            return
        self._compare(step)
        w = flat(module)
        x = next(value for value in (*inputs, *named.values()) if torch.is_tensor(value)).detach()
        last = step.evaluations[-1] if step.evaluations else None
        if last is None or last.samples >= len(step.batch[1]) or not torch.equal(w, last.w):
            own = {name: b.detach().clone() for name, b in buffers(module).items()}
            step.evaluations.append(last := Evaluation(w, module.training, own, []))
        last.passes.append(Pass(x, self._known(step, last, x), Draws.now()))

    def _ends(self, module: nn.Module, inputs: Any, output: Any) -> None:
        step = self._open
        if step is not None and step.evaluations and torch.is_grad_enabled():
            last = step.evaluations[-1]
            before = last.passes[-1].draws
            last.drew = last.drew or (before is not None and not before.same(Draws.now()))

    def _known(self, step: Step, evaluation: Evaluation, x: Tensor) -> Tensor | None:
        """Labels of the inputs x, looked up in the step's batch, each label once, else in any batch before it."""
        own: dict[bytes, list[Tensor]] = {}
        for row, label in zip(*step.batch, strict=True):
            own.setdefault(_key(row), []).append(label)
        for one in evaluation.passes:
            for row in one.x.to(step.batch[0]):
                if left := own.get(_key(row)):
                    left.pop(0)
        found = []
        for key in map(_key, x.to(step.batch[0])):
            label = own[key].pop(0) if own.get(key) else self._labels.get(key)
            if label is None:
                return None
            found.append(label)
        return torch.stack(found) if found else None

    def gradient(self, evaluation: Evaluation, w: Tensor, y: Tensor, flipped: bool = False) -> Tensor:
        """The true gradient [P] at w on the inputs of a watched evaluation, with the random numbers that it drew.

        y: labels of the inputs where these are none that ``batches`` has given, as when they were shifted.
        flipped: samples in the other order, which changes nothing but the rounding.
        """
        load(self.copy, w)
        self.copy.train(evaluation.training)
        with torch.no_grad():
            for name, b in buffers(self.copy).items():
                b.copy_(evaluation.statistics[name])
        total = torch.zeros_like(w)
        with unchanged_generators():
            for one in evaluation.passes:
                labels = y[: len(one.x)] if one.y is None else one.y
                x = one.x.to(next(self.copy.parameters()).dtype) if one.x.is_floating_point() else one.x
                if flipped:
                    x, labels = x.flip(0), labels.flip(0)
                if one.draws is not None:
                    one.draws.again()
                found = torch.autograd.grad(self.loss(self.copy(x), labels), list(self.copy.parameters()))
                total += len(x) / evaluation.samples * torch.cat([g.flatten() for g in found])
        return total

    def rounding(self, evaluation: Evaluation, g: Tensor, y: Tensor) -> float:
        """How far rounding may carry the gradient g of an evaluation, over its length; 0 in double precision."""
        if g.dtype == torch.float64 or evaluation.drew:
            return 0.0
        other = self.gradient(evaluation, evaluation.w, y, flipped=True)
        return float((other - g).norm() / g.norm().clamp_min(1e-30))

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
