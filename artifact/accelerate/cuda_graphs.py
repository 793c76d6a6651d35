"""A function of tensors that is recorded once per shape of its arguments and replayed from then on.

On a GPU a recording is a CUDA graph: the hundreds of kernels of a gradient are launched in one call, where launching
them one by one from Python takes longer than running them. Elsewhere a replay calls the function on the recording's own
tensors, so that what surrounds the graph is the same code on every machine.

On an H200 a cohort's gradient of ResNet-18-GN takes 2 to 17 times as long without (docs/performance.md). Runs
by ``stacked`` record theirs; others ask for it by ``cuda_graphs``, since pools of many sizes are many recordings.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

#: shapes that are recorded; every recording keeps its arguments and results
MOST = 32
#: calls before a recording, in which libraries choose kernels and take their workspaces
WARM_UP = 3

Tensors = tuple[Tensor | None, ...]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Recording:
    """inputs, outputs: the tensors that a replay reads and writes."""

    inputs: Tensors
    outputs: Tensors
    replay: Callable[[], object]

    def __call__(self, *arguments: Tensor | None) -> Tensors:
        for own, given in zip(self.inputs, arguments, strict=True):
            if own is not None and given is not None:
                own.copy_(given)
        self.replay()
        return tuple(None if own is None else own.clone() for own in self.outputs)


class Graphs:
    """Calls like ``function``: tensors or None in, a tuple of tensors or None out.

    The function may change its arguments in place, which callers do not see, and must not read numbers back to the
    host. Beyond ``MOST`` shapes it is called as it is.
    """

    def __init__(self, function: Callable[..., Tensors]):
        self.function = function
        self.recordings: dict[tuple, Recording] = {}
        self._pool: Any = None  # memory that all graphs share: each one's results are copied before the next replay

    def __call__(self, *arguments: Tensor | None) -> Tensors:
        shapes = tuple(None if a is None else (a.shape, a.dtype, a.device) for a in arguments)
        if shapes not in self.recordings:
            own = tuple(None if a is None else a.clone(memory_format=torch.contiguous_format) for a in arguments)
            if len(self.recordings) == MOST:
                return self.function(*own)
            self.recordings[shapes] = self._captured(own) if _on_gpu(own) else self._called(own)
        return self.recordings[shapes](*arguments)

    def _called(self, own: Tensors) -> Recording:
        outputs = self.function(*own)

        def replay() -> None:
            for old, new in zip(outputs, self.function(*own), strict=True):
                if old is not None and new is not None and old is not new:
                    old.copy_(new)

        return Recording(own, outputs, replay)

    def _captured(self, own: Tensors) -> Recording:
        outputs, replay, self._pool = captured(lambda: self.function(*own), self._pool)
        return Recording(own, outputs, replay)


def captured(
    function: Callable[[], Result], pool: Any, restore: Callable[[], object] | None = None
) -> tuple[Result, Callable[[], object], Any]:
    """A CUDA graph of a function: (what it has returned, the replay, the graph's memory).

    pool: memory to share with an earlier graph, or None.
    restore: what undoes the changes that calls of the function have left, after the warm-up.
    """
    here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
    aside.wait_stream(here)
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            function()
    here.wait_stream(aside)
    if restore is not None:
        restore()
    gc.collect()  # graphs of a run that has ended: CUDA ends a capture during which one is freed
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = function()
    return result, graph.replay, graph.pool()


def _on_gpu(arguments: Tensors) -> bool:
    return any(a is not None and a.is_cuda for a in arguments)
