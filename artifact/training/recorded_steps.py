"""A method's whole local step, recorded once per shape and replayed: gradients, correction and descent, in place.

On a GPU a recording is a CUDA graph: one call launches the hundreds of kernels of a step. It works on tensors of its
own, which hold the cohort's models and the entries of its context from one step to the next. Only images and labels are
copied in at every step, models and entries once a round. Elsewhere a replay calls the recorded function on the
same tensors, so that all but the capture itself is tested on a CPU.

What a recording has read as a number is fixed in it. Therefore the rate is a tensor, and a recording serves only steps
at which every other number that the method reads is the same. Its first step is played as it is, under a watch that
notes what the method reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from artifact.accelerate.cuda_graphs import MOST, Tensors, captured
from artifact.algorithms.base import FedAvg, Gradient
from artifact.algorithms.cohort import Context


class Source(Protocol):
    """Where gradients come from: an oracle."""

    def uncounted_gradients(self, W: Tensor, x: Tensor, y: Tensor, u: Tensor | None) -> Tensor:
        """W [R, P], images, labels and uniforms of the clients' minibatches -> [R, P]."""

    def count(self, passes: int) -> None:
        """So many minibatch gradients have been evaluated."""


class _Watched(Context):
    """Notes the entries that a step reads before it writes them, and those that it writes."""

    def __init__(self, entries: dict[str, Any]):
        vars(self).update(entries, _read=set(), _written=set())

    if not TYPE_CHECKING:

        def __getattribute__(self, name: str) -> Any:
            own = object.__getattribute__(self, "__dict__")
            if not name.startswith("_") and name not in own["_written"] and not hasattr(Context, name):
                own["_read"].add(name)
            return object.__getattribute__(self, name)

        def __setattr__(self, name: str, value: Any) -> None:
            self._written.add(name)
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class _Recording:
    """inputs: images, labels and uniforms.  written: by name, what the entry is after a replay."""

    inputs: Tensors
    written: dict[str, Any]
    replay: Callable[[], object]


class RecordedSteps:
    """Of one oracle, in one thread."""

    def __init__(self, oracle: Source):
        self.oracle = oracle
        self._read: dict[FedAvg, set[str]] = {}
        self._passes: dict[tuple, int] = {}  # gradients per client of a step that has been watched
        self.recordings: dict[tuple, _Recording] = {}
        self._tensors: dict[tuple, Tensor] = {}  # of our own, by entry and form
        self._copied: dict[tuple, Tensor] = {}  # what each of them holds, where it was copied from the context
        self._pool: Any = None

    def step(self, algorithm: FedAvg, W: Tensor, c: Context, given: Tensors) -> Tensor:
        """The models [S, P] after a step of the whole cohort; ``c`` as the step leaves it.

        given: images [S, B, C, H, W], labels [S, B] and uniforms or None, of minibatches of one length.
        What comes back may be the recording's own tensors, which the next step overwrites: ``own`` copies them.
        """
        key = self._key(algorithm, W, c, given)
        if key not in self._passes or (key not in self.recordings and len(self.recordings) == MOST):
            return self._watched(algorithm, W, c, given)
        models = self._taken("", W)
        rate = self._rate(c, W)
        held = {n: self._taken(n, vars(c)[n]) for n in self._read[algorithm] if torch.is_tensor(vars(c).get(n))}
        if key not in self.recordings:
            numbers = {name: value for name, value in vars(c).items() if not torch.is_tensor(value)}
            self.recordings[key] = self._recorded(algorithm, models, numbers | held | {"lr": rate}, held, given)
        recording = self.recordings[key]
        for own, new in zip(recording.inputs, given, strict=True):
            if own is not None and new is not None:
                own.copy_(new)
        recording.replay()
        vars(c).update(recording.written)
        self.oracle.count(self._passes[key] * len(W))
        return models

    def own(self, W: Tensor, c: Context) -> Tensor:
        """At the end of a round: W, and the entries of ``c``, as tensors that no later step overwrites."""
        self._copied.clear()
        held = {id(t) for t in self._tensors.values()}
        held |= {id(t) for recording in self.recordings.values() for t in recording.written.values()}
        vars(c).update({n: v.clone() for n, v in vars(c).items() if torch.is_tensor(v) and id(v) in held})
        return W.clone() if id(W) in held else W

    def _key(self, algorithm: FedAvg, W: Tensor, c: Context, given: Tensors) -> tuple:
        """What a recording is made for: the forms of tensors and all that the method reads, but for the rate."""
        entries = sorted(self._read.get(algorithm, set()) - {"lr"})
        return (algorithm, _form(W), *map(_form, given), *((name, _form(vars(c).get(name))) for name in entries))

    def _watched(self, algorithm: FedAvg, W: Tensor, c: Context, given: Tensors) -> Tensor:
        """The step without a recording, by the same kernels; from now on it can be recorded."""
        watch, calls = _Watched(vars(c) | {"lr": self._rate(c, W), "in_place": True}), list[None]()
        moved = algorithm.step(W, self._gradients(given, calls), watch)
        read, written = vars(watch).pop("_read"), vars(watch).pop("_written")
        self._read[algorithm] = self._read.get(algorithm, set()) | read
        self._passes[self._key(algorithm, W, c, given)] = len(calls)
        vars(c).update({name: vars(watch)[name] for name in written})
        self.oracle.count(len(calls) * len(W))
        return moved

    def _recorded(
        self, algorithm: FedAvg, models: Tensor, entries: dict[str, Any], held: dict[str, Tensor], given: Tensors
    ) -> _Recording:
        """entries: of the context that the step sees; ``held``, among them, are tensors of our own."""
        inputs = tuple(None if t is None else t.clone(memory_format=torch.contiguous_format) for t in given)

        def function() -> dict[str, Any]:
            own = Context.__new__(Context)
            vars(own).update(entries, in_place=True)
            before = dict(vars(own))
            moved = algorithm.step(models, self._gradients(inputs, []), own)
            if moved is not models:
                models.copy_(moved)
            after = {n: v for n, v in vars(own).items() if n not in before or v is not before[n]}
            return after | {n: held[n].copy_(v) for n, v in after.items() if n in held}

        if models.is_cuda:
            changing = [models, *held.values()]
            kept = [t.clone() for t in changing]
            written, replay, self._pool = captured(function, self._pool, lambda: _restore(changing, kept))
            return _Recording(inputs, written, replay)
        results: dict[str, Any] = {}

        def again() -> None:
            for name, value in function().items():
                if name in results and torch.is_tensor(value) and value is not results[name]:
                    results[name].copy_(value)
                else:
                    results[name] = value

        return _Recording(inputs, results, again)

    def _gradients(self, given: Tensors, calls: list[None]) -> Gradient:
        x, y, u = given
        assert x is not None and y is not None

        def G(W: Tensor) -> Tensor:
            calls.append(None)
            return self.oracle.uncounted_gradients(W, x, y, u)

        return G

    def _taken(self, name: str, value: Tensor) -> Tensor:
        """Our own tensor with this entry's numbers."""
        place = (name, _form(value))
        if place not in self._tensors:
            self._tensors[place] = torch.empty_like(value, memory_format=torch.contiguous_format)
        own = self._tensors[place]
        if value is not own and self._copied.get(place) is not value:
            own.copy_(value)
            if not any(value is out for r in self.recordings.values() for out in r.written.values()):
                self._copied[place] = value  # the numbers of a recording's results change with every replay
        return own

    def _rate(self, c: Context, W: Tensor) -> Tensor:
        return self._tensors.setdefault(("lr",), W.new_empty(())).fill_(c.lr)


def _form(value: Any) -> Any:
    return (value.shape, value.dtype, value.device) if torch.is_tensor(value) else value


def _restore(tensors: list[Tensor], values: list[Tensor]) -> None:
    for own, value in zip(tensors, values, strict=True):
        own.copy_(value)
