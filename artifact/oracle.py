"""The gradient oracle: [S, P] -> [S, P], row i is the gradient of client i's loss on ITS current minibatch.

Two backends give one answer. ``loop`` differentiates one client at a time, clients spread over threads that each use
one core; ``batched`` differentiates many clients in one call (``torch.func.vmap``). Which is faster depends on model
and device: ``default_backend`` holds what ``python -m artifact bench`` measured.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from artifact.flat import Layout, buffers, parameters
from artifact.taps import mean_square_activations

BACKENDS = ("loop", "batched")


def default_backend(model: str, device: torch.device) -> str:
    """Convolutions of different weights per client do not batch well on a CPU; fully connected layers do."""
    return "batched" if device.type == "cuda" or model.startswith("mlp") else "loop"


@dataclass(frozen=True)
class Penalty:
    """MAN (Yashwanth et al. 2024, eq. 15-18): zeta * sum over layers of the mean squared activation.

    layers: module names; None for every hidden layer of the model.  variances: modules whose batch variance is added.
    """

    zeta: float = 0.0
    layers: tuple[str, ...] | None = None
    variances: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Clients whose current minibatches have one length.

    rows: [R] rows of W, or None for all.  x: [R, B, ...] inputs.  y: [R, B] labels.  uniforms: [R, B, D] or None.
    """

    rows: Tensor | None
    x: Tensor
    y: Tensor
    uniforms: Tensor | None = None


@dataclass
class Oracle:
    """Gradients of the mean cross-entropy, plus MAN's penalty, of one architecture.

    memory: bytes that one batched call may take for activations and gradients.
    threads: workers of the loop backend, one core each, so that results do not depend on their number; 0 works inline.
    passes: minibatch gradients evaluated so far, summed over clients (the measured cost of a method).
    """

    model: nn.Module
    penalty: Penalty = Penalty()
    backend: str = "batched"
    bfloat16: bool = False
    threads: int = 0
    memory: int = 4 << 30
    passes: int = 0
    _local: threading.local = field(default_factory=threading.local, repr=False)

    def __post_init__(self):
        self.layout = Layout.of(parameters(self.model))
        self.buffer_layout = Layout.of(buffers(self.model))
        self._pool = ThreadPoolExecutor(self.threads, initializer=_one_core) if self.threads else None
        if self._pool is not None and self.backend == "loop":
            _one_core()  # the workers keep the cores busy; a team of threads in this one would spin beside them
        self._floats_per_sample: int | None = None

    def minibatch(
        self, groups: Sequence[Group], statistics: Tensor | None = None, rows: Tensor | None = None
    ) -> Minibatch:
        """G of one local step.

        statistics: [S, Q] running statistics of the cohort, updated by the first call.  rows: [R] members of the
        cohort that are still at work; W and the groups' rows count among these.
        """
        return Minibatch(self, groups, statistics, rows)

    def loss(
        self, model: nn.Module, w: Tensor, b: dict[str, Tensor] | None, x: Tensor, y: Tensor, u: Tensor | None
    ) -> Tensor:
        """Penalised loss of one client at one flat vector; the running statistics ``b`` are updated in place."""
        tensors = self.layout.views(w) | (b or {})
        precision = torch.autocast(x.device.type, torch.bfloat16) if self.bfloat16 else nullcontext()
        arguments = (x,) if u is None else (x, u)
        with precision:
            if self.penalty.zeta == 0:
                return F.cross_entropy(functional_call(model, tensors, arguments).to(w.dtype), y)
            with mean_square_activations(model, self.penalty.layers, variances=self.penalty.variances) as squares:
                logits = functional_call(model, tensors, arguments)
            return F.cross_entropy(logits.to(w.dtype), y) + self.penalty.zeta * sum(squares.values()).to(w.dtype)

    def gradients(self, W: Tensor, b: Tensor | None, group: Group) -> Tensor:
        """[R, P] -> [R, P]; ``b`` [R, Q] is updated in place."""
        self.passes += len(W)
        return self._loop(W, b, group) if self.backend == "loop" else self._batched(W, b, group)

    def _loop(self, W: Tensor, b: Tensor | None, group: Group) -> Tensor:
        out = torch.empty_like(W)

        def one(i: int) -> None:
            w = W[i].detach().requires_grad_()
            u = None if group.uniforms is None else group.uniforms[i]
            own = None if b is None else self.buffer_layout.views(b[i])
            loss = self.loss(self._own_model(), w, own, pixels_last(group.x[i]), group.y[i], u)
            (out[i],) = torch.autograd.grad(loss, w)

        self.map(one, range(len(W)))
        return out

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Gradients evaluated here are no cost of the method."""
        counted = self.passes
        try:
            yield
        finally:
            self.passes = counted

    def map(self, work: Callable[[int], Any], items: Iterable[int]) -> list[Any]:
        """Results of independent pieces of work, in order, spread over the workers."""
        return list(map(work, items) if self._pool is None else self._pool.map(work, items))

    @contextmanager
    def evaluating(self) -> Iterator[nn.Module]:
        """This thread's module in evaluation mode."""
        model = self._own_model()
        model.eval()
        try:
            yield model
        finally:
            model.train()

    def _own_model(self) -> nn.Module:
        """``functional_call`` swaps a module's tensors in place, so every thread works on its own copy."""
        if self._pool is None:
            return self.model
        if not hasattr(self._local, "model"):
            self._local.model = copy.deepcopy(self.model)
        return self._local.model

    def _batched(self, W: Tensor, b: Tensor | None, group: Group) -> Tensor:
        def client(w, own, x, y, u):
            # torch's batching rule updates only running statistics that are tensors of their own, not views of a row
            own = None if own is None else {name: v.clone() for name, v in self.buffer_layout.views(own).items()}
            gradient = grad(lambda v: self.loss(self.model, v, own, x, y, u))(w)
            return (gradient,) if own is None else (gradient, self.buffer_layout.flatten(own))

        axes = (0, None if b is None else 0, 0, 0, None if group.uniforms is None else 0)
        size = self.clients_per_call(group.x)
        parts = []
        for start in range(0, len(W), size):
            part = slice(start, start + size)
            u = None if group.uniforms is None else group.uniforms[part]
            own = None if b is None else b[part]
            result = vmap(client, in_dims=axes)(W[part], own, group.x[part], group.y[part], u)
            parts.append(result[0])
            if b is not None:
                b[part] = result[1]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def clients_per_call(self, x: Tensor) -> int:
        """How many clients fit one batched call: activations are kept for the backward pass, twice to be safe."""
        if self._floats_per_sample is None:
            self._floats_per_sample = activation_floats(self.model, x[0, :1])
        per_client = x.element_size() * (2 * x.shape[1] * self._floats_per_sample + 3 * self.layout.numel)
        return max(1, self.memory // per_client)

    def affine(self, W: Tensor, Lambda: Tensor, delta: Tensor, group: Group) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients in w, Lambda and delta of the loss at x' = Lambda x + delta (one backward pass), for FedRobust."""
        self.passes += len(W)

        def client(w, L, d, x, y):
            def shifted(w, L, d):
                moved = torch.einsum("ij,bj...->bi...", L, x) + d.reshape(-1, *[1] * (x.dim() - 2))
                return self.loss(self.model, w, None, moved, y, None)

            return grad(shifted, argnums=(0, 1, 2))(w, L, d)

        return vmap(client)(W, Lambda, delta, group.x, group.y)


class Minibatch:
    """G: the gradient at any W of the minibatches of one local step; every call sees the same data and masks.

    The running statistics move once a step, at the first evaluation (for SAM methods that is the ascent pass, at the
    unperturbed weights), so a second pass does not count a batch twice.
    """

    def __init__(self, oracle: Oracle, groups: Sequence[Group], statistics: Tensor | None, rows: Tensor | None):
        self.oracle, self.groups, self.statistics, self.rows = oracle, groups, statistics, rows
        self.first = True

    def __call__(self, W: Tensor) -> Tensor:
        own = (
            None
            if self.statistics is None
            else self.statistics[slice(None) if self.rows is None else self.rows].clone()
        )
        out = torch.empty_like(W)
        for group in self.groups:
            rows = slice(None) if group.rows is None else group.rows
            part = None if own is None else own[rows]
            out[rows] = self.oracle.gradients(W[rows], part, group)
            if part is not None:
                own[rows] = part
        if own is not None and self.first:
            self.statistics[slice(None) if self.rows is None else self.rows] = own
        self.first = False
        return out

    def affine(self, W: Tensor, Lambda: Tensor, delta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        out = tuple(torch.empty_like(t) for t in (W, Lambda, delta))
        for group in self.groups:
            rows = slice(None) if group.rows is None else group.rows
            for whole, part in zip(out, self.oracle.affine(W[rows], Lambda[rows], delta[rows], group), strict=True):
                whole[rows] = part
        return out


def activation_floats(model: nn.Module, x: Tensor) -> int:
    """Numbers that all modules put out for one sample x [1, ...]; the model's running statistics do not move."""
    total = 0

    def count(_module, _inputs, output):
        nonlocal total
        total += output.numel() if torch.is_tensor(output) else 0

    handles = [m.register_forward_hook(count) for m in model.modules() if not list(m.children())]
    training = model.training
    try:
        with torch.no_grad():
            model.eval()(x.to(next(model.parameters()).dtype))
    finally:
        model.train(training)
        for handle in handles:
            handle.remove()
    return total + x.numel()


def pixels_last(x: Tensor) -> Tensor:
    """Images [B, C, H, W] with the channels innermost in memory, which CPU convolutions and pooling prefer.

    With one channel both layouts are the same memory and torch takes the slow one, unless the strides say otherwise.
    """
    if x.dim() != 4 or x.device.type != "cpu":
        return x
    B, C, H, W = x.shape
    if C == 1:
        return x.contiguous().as_strided((B, C, H, W), (H * W, 1, W, 1))
    return x.contiguous(memory_format=torch.channels_last)


def _one_core() -> None:
    torch.set_num_threads(1)
