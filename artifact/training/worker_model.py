"""Threads that share the clients of a round, and one thread's own copy of a model."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from artifact.accelerate.cpu.cropped_convolutions import Crops, fit_to_images
from artifact.accelerate.cpu.pooling import join_pooling_and_relu, pool_before_relu
from artifact.base.flat import Layout, buffers
from artifact.models.networks import Model

Own = TypeVar("Own")

#: ``is_worker`` is set in the threads of a pool
_here = threading.local()


def _become_worker() -> None:
    """A worker uses one core, so that no result depends on how many workers there are."""
    torch.set_num_threads(1)
    _here.is_worker = True


class Workers:
    """Threads for independent pieces of work; with none, the calling thread does all.

    The threads end when nobody holds the object any more: all that they hold of it themselves is the work in hand.
    """

    def __init__(self, threads: int):
        self._pool = ThreadPoolExecutor(threads, initializer=_become_worker) if threads else None
        self._local = threading.local()

    @property
    def present(self) -> bool:
        """Whether there are threads beside the calling one."""
        return self._pool is not None

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """The results, in order. A worker that calls this does the work itself."""
        if self._pool is None or hasattr(_here, "is_worker"):
            return [work(item) for item in items]
        return list(self._pool.map(work, items))

    def own(self, name: str, make: Callable[[], Own]) -> Own:
        """The calling thread's own object of this name, made when it first asks."""
        objects = vars(self._local)
        if name not in objects:
            objects[name] = make()
        return objects[name]

    def dismiss(self) -> None:
        """End the threads; from now on the calling thread does all."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        torch.set_num_threads(1)


class WorkerModel:
    """One thread's copy of a model, whose parameters are views of any flat vector: setting them copies no number.

    watched: somebody looks at the activations, so every layer stays where it is. Otherwise max-pooling moves before its
    ReLU, which changes no bit of the outputs and gradients.
    backend: ``cropped`` fits the convolutions to their images, which changes rounding.
    module: the copy.  parameters: its parameters, in the order of the layout.
    """

    def __init__(self, model: nn.Module, layout: Layout, buffer_layout: Layout, watched: bool, backend: str = "loop"):
        self.module = copy.deepcopy(model)
        for parameter in self.module.parameters():
            parameter.requires_grad_()
        if not watched:
            pool_before_relu(self.module)
            join_pooling_and_relu(self.module)
        self.crops: Crops = {}
        if backend == "cropped" and isinstance(self.module, Model) and hasattr(model, "input_shape"):
            self.crops = fit_to_images(self.module)
        self.layout, self.buffer_layout = layout, buffer_layout
        self.parameters = list(self.module.parameters())
        self.buffers = list(buffers(self.module).values())

    def set(self, w: Tensor, statistics: Tensor | None) -> None:
        """Use the parameters w [P] and the running statistics [Q], which a pass in training mode updates in place."""
        for parameter, (name, view) in zip(self.parameters, self.layout.views(w.detach()).items(), strict=True):
            parameter.data = view[self.crops[name]].contiguous() if name in self.crops else view
        if statistics is not None:
            for buffer, view in zip(self.buffers, self.buffer_layout.views(statistics).values(), strict=True):
                buffer.data = view

    def collect(self, gradients: Iterable[Tensor], out: Tensor) -> None:
        """Write gradients, in the order of ``parameters``, to their places in out [P]; cropped entries get zeros."""
        for gradient, (name, view) in zip(gradients, self.layout.views(out).items(), strict=True):
            if name in self.crops:
                view.zero_()
                view = view[self.crops[name]]
            view.copy_(gradient.to_dense() if gradient.is_sparse else gradient)
