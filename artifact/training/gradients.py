"""Gradients of a cohort: [S, P] -> [S, P], row i is the gradient of client i's loss on its current minibatch.

Every backend (``accelerate.choose`` lists them) gives the same answer; they differ in speed alone.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from artifact.accelerate.choose import LOOPS, RECORDED, WHOLE
from artifact.accelerate.cpu.fully_connected import Perceptron
from artifact.accelerate.cpu.tiled_convolutions import TiledNetwork, Tiling
from artifact.accelerate.cuda_graphs import Graphs, Tensors
from artifact.base.devices import gradient_memory, side_by_side
from artifact.base.flat import Layout, buffers, parameters
from artifact.models.activations import hidden_layers, mean_square_activations
from artifact.training.worker_model import Replica, convolutions_as_products, pool_before_relu


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


def _enlist(oracle: weakref.ref[Oracle]) -> None:
    """What a worker of an oracle does first, while a piece of work keeps the oracle alive."""
    owner = oracle()
    if owner is not None:
        owner.enlist()


@dataclass
class Oracle:
    """Gradients of the mean cross-entropy, plus MAN's penalty, of one architecture.

    memory: bytes that one batched call may take for activations and gradients, of tiles those of all workers together;
    None: what suits the device.
    threads: workers, one core each, so that the loop's results do not depend on their number; 0 works inline.
    passes: minibatch gradients evaluated so far, summed over clients (the measured cost of a method).
    """

    model: nn.Module
    penalty: Penalty = Penalty()
    backend: str = "batched"
    bfloat16: bool = False
    threads: int = 0
    memory: int | None = None
    passes: int = 0
    _local: threading.local = field(default_factory=threading.local, repr=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.layout = Layout.of(parameters(self.model))
        self.buffer_layout = Layout.of(buffers(self.model))
        # a worker's frame holds the initializer as long as it waits for work: a bound method would keep the oracle,
        # hence the pool, hence the worker; without it the workers end when the last user of the oracle is gone
        enlist = partial(_enlist, weakref.ref(self))
        self._pool = ThreadPoolExecutor(self.threads, initializer=enlist) if self.threads else None
        self._floats_per_sample: int | None = None
        watched = hidden_layers(self.model) if self.penalty.layers is None else self.penalty.layers
        self.kind, self.recorded = self.backend.removesuffix(RECORDED), self.backend.endswith(RECORDED)
        autograd = self.bfloat16 or self.penalty.variances
        self._by_hand = None if autograd else self._hand_written(watched)
        otherwise = {"explicit": "batched", "onednn": "batched", "tiles": "loop"}
        if self.kind in otherwise and self._by_hand is None:
            self._fall_back(otherwise[self.kind])
        if self.kind == "fourier" and self.bfloat16:
            self._fall_back("cropped")
        # what workers copy: one may begin late, while a caller has already swapped the model's tensors for others
        self._pattern = copy.deepcopy(self.model)
        self._functional = convolutions_as_products(self.model) if self.kind == "products" else self.model
        if self._pool is not None and self.kind not in WHOLE:
            torch.set_num_threads(1)  # the workers keep the cores busy; a team of threads here would spin beside them

    def _hand_written(self, watched: Sequence[str]) -> Perceptron | TiledNetwork | None:
        """The hand-written gradients of this kind, if the model has such."""
        if self.kind in ("explicit", "onednn"):
            return Perceptron.of(self.model, self.layout, watched, self.penalty.zeta, self.kind == "onednn")
        return TiledNetwork.of(self.model, self.layout) if self.kind == "tiles" and self.penalty.zeta == 0 else None

    @property
    def tilings(self) -> dict[str, Tiling]:
        """The convolutions that this backend does by tiles, by name of the layer."""
        blocks = self._by_hand.blocks if isinstance(self._by_hand, TiledNetwork) else ()
        return {block.name: block.tiling for block in blocks}

    def _fall_back(self, kind: str) -> None:
        self.kind, self.backend = kind, kind + RECORDED * self.recorded

    def enlist(self) -> None:
        """What a worker does first: one core each, so that results do not depend on their number; its own model."""
        torch.set_num_threads(1)
        self._local.worker = True
        self._replica()

    def work_inline(self) -> None:
        """Do everything in the calling thread from now on, where a profiler sees it."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        torch.set_num_threads(1)

    def minibatch(
        self, groups: Sequence[Group], statistics: Tensor | None = None, rows: Tensor | None = None
    ) -> Minibatch:
        """G of one local step.

        statistics: [S, Q] running statistics of the cohort, updated by the first call.  rows: [R] members of the
        cohort that are still at work; W and the groups' rows count among these.
        """
        return Minibatch(self, groups, statistics, rows)

    def _loss(self, model: nn.Module, call: Callable[..., Tensor], x: Tensor, y: Tensor, u: Tensor | None) -> Tensor:
        """Penalised loss of one client; ``call`` maps images, and dropout draws, to logits by way of ``model``."""
        arguments = (x,) if u is None else (x, u)
        with self._precision(x.device):
            if self.penalty.zeta == 0:
                return F.cross_entropy(call(*arguments).to(x.dtype), y)
            with mean_square_activations(model, self.penalty.layers, variances=self.penalty.variances) as squares:
                logits = call(*arguments)
            loss = F.cross_entropy(logits.to(x.dtype), y)
            return loss + self.penalty.zeta * reduce(add, squares.values()).to(x.dtype) if squares else loss

    def _precision(self, device: torch.device) -> AbstractContextManager:
        """A parameter is used once a pass, so casts of it need not be kept."""
        return torch.autocast(device.type, torch.bfloat16, cache_enabled=False) if self.bfloat16 else nullcontext()

    def loss(self, w: Tensor, b: dict[str, Tensor] | None, x: Tensor, y: Tensor, u: Tensor | None) -> Tensor:
        """Penalised loss at one flat vector, for ``torch.func``; the running statistics ``b`` are updated in place."""
        tensors = self.layout.views(w) | (b or {})
        model = self._own() if hasattr(self._local, "worker") else self._functional
        return self._loss(model, lambda *inputs: functional_call(model, tensors, inputs), x, y, u)

    def gradients(self, W: Tensor, b: Tensor | None, group: Group) -> Tensor:
        """[R, P] -> [R, P]; ``b`` [R, Q] is updated in place."""
        self._count(len(W))
        out, moved = self._function()(W, b, group.x, group.y, group.uniforms)
        if b is not None and moved is not b:
            b.copy_(moved)
        return out

    def _count(self, passes: int) -> None:
        """The workers count at the same time."""
        with self._counting:
            self.passes += passes

    def _function(self) -> Callable[..., Any]:
        """The gradients as a function of tensors; each worker has recordings of its own."""
        if not self.recorded:
            return self._gradients
        if not hasattr(self._local, "graphs"):
            self._local.graphs = Graphs(self._gradients)
        return self._local.graphs

    def _gradients(self, W: Tensor, b: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None) -> Tensors:
        """(gradients [R, P], running statistics [R, Q] after the pass, perhaps ``b`` itself)."""
        if self.kind in LOOPS:
            return self._loop(W, b, x, y, u), b
        if isinstance(self._by_hand, TiledNetwork):
            memory = self.memory or gradient_memory(x.device)
            return self._by_hand.gradients(W, x, y, u, memory // max(1, self.threads)), b
        if self._by_hand is not None:
            return self._by_hand.gradients(W, x, y, u), b
        return self._batched(W, b, x, y, u)

    def _loop(self, W: Tensor, b: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None) -> Tensor:
        """The running statistics ``b`` are updated in place."""
        out = torch.empty_like(W)

        def one(i: int) -> None:
            replica = self._replica()
            replica.point(W[i], None if b is None else b[i])
            loss = self._loss(replica.model, replica.model, pixels_last(x[i]), y[i], None if u is None else u[i])
            gradients = torch.autograd.grad(loss, replica.parameters, materialize_grads=True)
            replica.collect(gradients, out[i])

        if W.is_cuda:
            side_by_side(one, range(len(W)), W.device)
        else:
            self.map(one, range(len(W)))
        return out

    def teams(self, size: int) -> list[list[int]]:
        """Members of a cohort that one worker takes through all their local steps before the next ones.

        One client at a time keeps its weights in the cache and needs no waiting for the others; where clients are
        batched, every worker has a share of them.
        """
        if self._pool is None or self.kind in WHOLE:
            return [list(range(size))]
        if self.kind in LOOPS:
            return [[i] for i in range(size)]
        share = -(-size // self.threads)
        return [list(range(start, min(start + share, size))) for start in range(0, size, share)]

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Gradients evaluated here are no cost of the method."""
        counted = self.passes
        try:
            yield
        finally:
            self.passes = counted

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Results of independent pieces of work, in order, spread over the workers; a worker does its own inline."""
        if self._pool is None or hasattr(self._local, "worker"):
            return [work(item) for item in items]
        return list(self._pool.map(work, items))

    @contextmanager
    def evaluating(self, w: Tensor, statistics: Tensor | None) -> Iterator[nn.Module]:
        """This thread's module at w [P], in evaluation mode."""
        replica = self._replica()
        replica.point(w, statistics)
        replica.model.eval()
        try:
            yield replica.model
        finally:
            replica.model.train()

    def _replica(self) -> Replica:
        if not hasattr(self._local, "replica"):
            plain = self.penalty.zeta == 0
            self._local.replica = Replica(self._pattern, self.layout, self.buffer_layout, plain, self.kind)
        return self._local.replica

    def _own(self) -> nn.Module:
        """This worker's model for functional_call, which swaps tensors in place, and whole ones."""
        if not hasattr(self._local, "own"):
            self._local.own = copy.deepcopy(self._pattern)
            if self.penalty.zeta == 0:
                pool_before_relu(self._local.own)
        return self._local.own

    def _batched(self, W: Tensor, b: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None) -> Tensors:
        def client(w: Tensor, own: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None) -> tuple[Tensor, ...]:
            running = self._statistics(own)
            gradient = grad(lambda v: self.loss(v, running, x, y, u))(w)
            return (gradient,) if running is None else (gradient, self.buffer_layout.flatten(running))

        given = (W, b, x, y, u)
        clients: Callable[..., Any] = vmap(client, tuple(None if t is None else 0 for t in given))
        size = self.clients_per_call(x)
        slices = [slice(start, start + size) for start in range(0, len(W), size)]
        parts = [clients(*(None if t is None else t[part] for t in given)) for part in slices]
        joined = parts[0] if len(parts) == 1 else tuple(map(torch.cat, zip(*parts, strict=True)))
        return joined if b is not None else (*joined, None)

    def _statistics(self, own: Tensor | None) -> dict[str, Tensor] | None:
        """One client's running statistics for a pass that moves them.

        torch's batching rule updates only those that are tensors of their own, not views of a row.
        """
        return None if own is None else {name: v.clone() for name, v in self.buffer_layout.views(own).items()}

    def clients_per_call(self, x: Tensor) -> int:
        """How many clients fit one batched call: activations are kept for the backward pass, twice to be safe."""
        if self._floats_per_sample is None:
            self._floats_per_sample = activation_floats(self.model, x[0, :1])
        per_client = x.element_size() * (2 * x.shape[1] * self._floats_per_sample + 3 * self.layout.numel)
        return max(1, (self.memory or gradient_memory(x.device)) // per_client)

    def affine(
        self, W: Tensor, Lambda: Tensor, delta: Tensor, b: Tensor | None, group: Group
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients in w, Lambda and delta of the loss at x' = Lambda x + delta (one backward pass), for FedRobust.

        ``b`` [R, Q] is updated in place.
        """
        self._count(len(W))

        def client(w: Tensor, L: Tensor, d: Tensor, own: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None) -> Any:
            running = self._statistics(own)

            def shifted(w: Tensor, L: Tensor, d: Tensor) -> Tensor:
                moved = torch.einsum("ij,bj...->bi...", L, x) + d.reshape(-1, *[1] * (x.dim() - 2))
                return self.loss(w, running, moved, y, u)

            gradients = grad(shifted, argnums=(0, 1, 2))(w, L, d)
            return gradients if running is None else (*gradients, self.buffer_layout.flatten(running))

        given = (W, Lambda, delta, b, group.x, group.y, group.uniforms)
        found = vmap(client, tuple(None if t is None else 0 for t in given))(*given)
        if b is not None:
            b.copy_(found[3])
        return found[:3]


class Minibatch:
    """G: the gradient at any W of the minibatches of one local step; every call sees the same data and masks.

    The running statistics move once a step, at the first evaluation (for SAM methods that is the ascent pass, at the
    unperturbed weights), so a second pass does not count a batch twice.
    """

    def __init__(self, oracle: Oracle, groups: Sequence[Group], statistics: Tensor | None, rows: Tensor | None):
        self.oracle, self.groups, self.statistics, self.rows = oracle, groups, statistics, rows
        self.first = True

    def __call__(self, W: Tensor) -> Tensor:
        own = self._statistics()
        if len(self.groups) == 1 and self.groups[0].rows is None:
            out = self.oracle.gradients(W, own, self.groups[0])
        else:
            out = torch.empty_like(W)
            for group in self.groups:
                self._group(group, W, own, out)
        self._move(own)
        return out

    def _statistics(self) -> Tensor | None:
        """Running statistics of the clients at work, for one evaluation to move."""
        if self.statistics is None:
            return None
        return self.statistics[slice(None) if self.rows is None else self.rows].clone()

    def _move(self, own: Tensor | None) -> None:
        """Keep what the step's first evaluation has made of the statistics."""
        if own is not None and self.statistics is not None and self.first:
            self.statistics[slice(None) if self.rows is None else self.rows] = own
        self.first = False

    def _group(self, group: Group, W: Tensor, own: Tensor | None, out: Tensor) -> None:
        """Gradients of one group's rows into ``out``; their running statistics ``own`` move."""
        rows = slice(None) if group.rows is None else group.rows
        part = None if own is None else own[rows]
        out[rows] = self.oracle.gradients(W[rows], part, group)
        if own is not None and part is not None:
            own[rows] = part

    def affine(self, W: Tensor, Lambda: Tensor, delta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients in w, Lambda and delta, see ``Oracle.affine``."""
        out, own = (torch.empty_like(W), torch.empty_like(Lambda), torch.empty_like(delta)), self._statistics()
        for group in self.groups:
            rows = slice(None) if group.rows is None else group.rows
            part = None if own is None else own[rows]
            found = self.oracle.affine(W[rows], Lambda[rows], delta[rows], part, group)
            for whole, gradient in zip(out, found, strict=True):
                whole[rows] = gradient
            if own is not None and part is not None:
                own[rows] = part
        self._move(own)
        return out


def activation_floats(model: nn.Module, x: Tensor) -> int:
    """Numbers that all modules put out for one sample x [1, ...]; the model's running statistics do not move."""
    total = 0

    def count(_module: nn.Module, _inputs: tuple, output: object) -> None:
        nonlocal total
        total += output.numel() if isinstance(output, Tensor) else 0

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
