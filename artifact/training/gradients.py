"""Gradients of a cohort: W [R, P] -> G [R, P]; row i is the gradient of client i's loss on its current minibatch.

Training, replay and the theory's checks all ask an ``Oracle``. Its backend (``accelerate.choose`` lists them) names one
of three ways. They give the same numbers up to rounding and differ in speed:

* ``_one_by_one``: one client after the other by autograd, shared by the cores of a CPU or the queues of a GPU;
* ``_batched``: many clients in one call of ``torch.func.vmap``, on a GPU the default;
* formulas instead of autograd (``accelerate.cpu.fully_connected``).
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from artifact.accelerate.choose import LOOPS
from artifact.accelerate.cpu.fully_connected import Perceptron
from artifact.accelerate.cpu.memory_layout import channels_last
from artifact.accelerate.cpu.pooling import pool_before_relu
from artifact.accelerate.cuda_graphs import Graphs
from artifact.accelerate.live_weights import LiveWeights
from artifact.accelerate.stacked import Stacked
from artifact.base.devices import gradient_memory, side_by_side
from artifact.base.flat import Layout, buffers, parameters
from artifact.models.activations import hidden_layers, mean_square_activations
from artifact.training.recorded_steps import RecordedSteps
from artifact.training.worker_model import WorkerModel, Workers

#: what computes the gradients of a network that no formula knows
_WITHOUT_FORMULA = {
    "stacked": "batched",
    "kernels": "batched",
    "explicit": "batched",
    "onednn": "batched",
}


@dataclass(frozen=True)
class Penalty:
    """MAN (Yashwanth et al. 2024, eq. 15-18): zeta * sum over layers of the mean squared activation.

    layers: module names; None for every hidden layer of the model.
    variances: modules whose batch variance is added.
    """

    zeta: float = 0.0
    layers: tuple[str, ...] | None = None
    variances: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Clients whose current minibatches have one length.

    rows: [R] rows of W, or None for all.
    x: [R, B, ...] inputs.
    y: [R, B] labels.
    uniforms: [R, B, D] numbers in [0, 1) for dropout, or None.
    """

    rows: Tensor | None
    x: Tensor
    y: Tensor
    uniforms: Tensor | None = None


@dataclass
class Oracle:
    """Gradients of the mean loss, plus MAN's penalty, of one architecture.

    model: the architecture; the numbers in its parameters are not used.
    backend: what was asked for, and after the start what is used: a network that no formula knows has another one.
    bfloat16: forward and backward passes under autocast.
    threads: workers, one core each, so that the loop's results do not depend on their number; 0 works in the caller.
    memory: bytes that the activations and gradients of one batched call may take; None for the device's share
    (``base.devices.gradient_memory``).
    cuda_graphs: record local steps (``recorded_steps``) or at least gradients, once per shape, and replay them.
    loss: (output, labels) -> mean loss of a minibatch.
    passes: minibatch gradients evaluated so far, summed over clients: the measured cost of a method.
    """

    model: nn.Module
    penalty: Penalty = Penalty()
    backend: str = "batched"
    bfloat16: bool = False
    threads: int = 0
    memory: int | None = None
    cuda_graphs: bool = False
    loss: Callable[[Any, Tensor], Tensor] = F.cross_entropy
    passes: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.layout = Layout.of(parameters(self.model))
        self.buffer_layout = Layout.of(buffers(self.model))
        self._formula = self._formula_of_backend()
        if self._formula is None:
            self.backend = _WITHOUT_FORMULA.get(self.backend, self.backend)
        # threads copy this one: whoever uses the model meanwhile may have swapped its tensors for others
        self._pattern = copy.deepcopy(self.model)
        self._floats_per_sample: int | None = None
        self._workers = Workers(self.threads)
        if self.threads and self.backend != "batched":
            torch.set_num_threads(1)  # the workers keep the cores busy; a team of threads here would spin beside them

    def _formula_of_backend(self) -> Perceptron | Stacked | None:
        """The formulas that the backend names, if they know this network, penalty and precision."""
        if self.backend in ("stacked", "kernels") and not self.penalty.variances and self.loss is F.cross_entropy:
            hidden = hidden_layers(self.model) if self.penalty.layers is None else self.penalty.layers
            own = self.backend == "kernels"
            return Stacked.of(self.model, self.layout, self.bfloat16, own, self.penalty.zeta, hidden)
        if self.bfloat16 or self.penalty.variances or self.loss is not F.cross_entropy:
            return None
        zeta, watched = self.penalty.zeta, self.penalty.layers
        if self.backend in ("explicit", "onednn"):
            watched = hidden_layers(self.model) if watched is None else watched
            return Perceptron.of(self.model, self.layout, watched, zeta, onednn=self.backend == "onednn")
        return None

    @property
    def recorded(self) -> RecordedSteps | None:
        """The calling thread's own, where steps are recorded; networks with running statistics have gradients alone."""
        if not self.cuda_graphs or self.buffer_layout.names:
            return None
        return self._workers.own("steps", lambda: RecordedSteps(self))

    @property
    def live(self) -> LiveWeights | None:
        """Which weights meet a pixel, where this backend takes these alone and some do not."""
        return self._formula.live if isinstance(self._formula, Stacked) else None

    # ---- what callers ask ----------------------------------------------------------------------------------------

    def minibatch(
        self, groups: Sequence[Group], statistics: Tensor | None = None, rows: Tensor | None = None
    ) -> Minibatch:
        """G of one local step.

        statistics: [S, Q] running statistics of the cohort, updated by the first call.
        rows: [R] members of the cohort that are still at work; W and the groups' rows count among these.
        """
        return Minibatch(self, groups, statistics, rows)

    def gradients(self, W: Tensor, b: Tensor | None, group: Group) -> Tensor:
        """W [R, P] -> [R, P], of a group of R clients; their running statistics ``b`` [R, Q] are updated in place.

        Where only live weights are asked for (``live``), W is as narrow as ``accelerate.live_weights`` makes it.
        """
        self.count(len(W))
        work: Callable[..., Any] = self._gradients
        if self.cuda_graphs:
            work = self._workers.own("graphs", lambda: Graphs(self._gradients))
        out, moved = work(W, b, group.x, group.y, group.uniforms)
        if b is not None and moved is not b:
            b.copy_(moved)
        return out

    def affine(
        self, W: Tensor, Lambda: Tensor, delta: Tensor, b: Tensor | None, group: Group
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients in w, Lambda and delta of the loss at x' = Lambda x + delta, for FedRobust; in one backward pass.

        Lambda: [R, C, C] and delta: [R, C] mix the C channels of a pixel.  b: [R, Q], updated in place.
        """
        self.count(len(W))

        def client(
            w: Tensor, L: Tensor, d: Tensor, own: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None
        ) -> tuple[Tensor, ...]:
            statistics = self._one_clients_statistics(own)

            def shifted(w: Tensor, L: Tensor, d: Tensor) -> Tensor:
                moved = torch.einsum("ij,bj...->bi...", L, x) + d.reshape(-1, *[1] * (x.dim() - 2))
                return self._functional_loss(w, statistics, moved, y, u)

            gradients = grad(shifted, argnums=(0, 1, 2))(w, L, d)
            return gradients if statistics is None else (*gradients, self.buffer_layout.flatten(statistics))

        given = (W, Lambda, delta, b, group.x, group.y, group.uniforms)
        in_w, in_Lambda, in_delta, *moved = _for_each_row(client, *given)
        if b is not None:
            b.copy_(moved[0])
        return in_w, in_Lambda, in_delta

    @contextmanager
    def evaluating(self, w: Tensor, statistics: Tensor | None) -> Iterator[nn.Module]:
        """This thread's module at w [P], in evaluation mode."""
        model = self._worker_model()
        model.set(w, statistics)
        model.module.eval()
        try:
            yield model.module
        finally:
            model.module.train()

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Gradients evaluated here are no cost of the method."""
        counted = self.passes
        try:
            yield
        finally:
            self.passes = counted

    def uncounted_gradients(self, W: Tensor, x: Tensor, y: Tensor, u: Tensor | None) -> Tensor:
        """``gradients`` of a network without running statistics, for what counts and records by itself."""
        return self._gradients(W, None, x, y, u)[0]

    def count(self, passes: int) -> None:
        """The workers count at the same time."""
        with self._counting:
            self.passes += passes

    # ---- who does the work ---------------------------------------------------------------------------------------

    def teams(self, size: int) -> list[list[int]]:
        """Members of a cohort that one worker takes through all their local steps.

        One client at a time keeps its weights in the cache and waits for nobody. A formula takes many clients in a
        call, so every worker has an equal share. One call of ``batched`` uses all cores.
        """
        if not self._workers.present or self.backend == "batched":
            return [list(range(size))]
        share = 1 if self.backend in LOOPS else -(-size // self.threads)
        return [list(range(start, min(start + share, size))) for start in range(0, size, share)]

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Results of independent pieces of work, in order, spread over the workers."""
        return self._workers.map(work, items)

    def work_inline(self) -> None:
        """Do everything in the calling thread from now on, where a profiler sees it."""
        self._workers.dismiss()

    def _worker_model(self) -> WorkerModel:
        """The calling thread's own."""
        watched = self.penalty.zeta != 0
        return self._workers.own(
            "model", lambda: WorkerModel(self._pattern, self.layout, self.buffer_layout, watched, self.backend)
        )

    # ---- the loss of one client ----------------------------------------------------------------------------------

    def _loss(
        self, model: nn.Module, x: Tensor, y: Tensor, u: Tensor | None, tensors: dict[str, Tensor] | None = None
    ) -> Tensor:
        """Penalised loss of a minibatch, a scalar. tensors: parameters and buffers in place of the model's own."""
        inputs = (x,) if u is None else (x, u)
        with self._precision(x.device), self._squares(model) as squares:
            output = model(*inputs) if tensors is None else functional_call(model, tensors, inputs)
            loss = self.loss(output.float() if self.bfloat16 else output, y)
            return loss + self.penalty.zeta * reduce(add, squares.values()).to(loss.dtype) if squares else loss

    def _precision(self, device: torch.device) -> AbstractContextManager:
        """A parameter is used once in a pass, so casts of it need not be kept."""
        return torch.autocast(device.type, torch.bfloat16, cache_enabled=False) if self.bfloat16 else nullcontext()

    def _squares(self, model: nn.Module) -> AbstractContextManager[dict[str, Tensor]]:
        """The terms of the penalty, by layer, while the model runs."""
        if self.penalty.zeta == 0:
            return nullcontext({})
        return mean_square_activations(model, self.penalty.layers, variances=self.penalty.variances)

    # ---- the three ways ------------------------------------------------------------------------------------------

    def _gradients(
        self, W: Tensor, b: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """(gradients [R, P], running statistics [R, Q] after the pass, perhaps ``b`` itself)."""
        if self.backend in LOOPS:
            return self._one_by_one(W, b, x, y, u), b
        if self._formula is not None:
            return self._formula.gradients(W, x, y, u), b
        return self._batched(W, b, x, y, u)

    def _one_by_one(self, W: Tensor, b: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None) -> Tensor:
        """The running statistics ``b`` are updated in place."""
        out = torch.empty_like(W)

        def client(i: int) -> None:
            model = self._worker_model()
            model.set(W[i], None if b is None else b[i])
            with getattr(
                model.module, "turn", nullcontext
            )():  # networks of users may draw from the process's generators
                loss = self._loss(model.module, channels_last(x[i]), y[i], None if u is None else u[i])
                gradients = torch.autograd.grad(loss, model.parameters, materialize_grads=True)
            model.collect(gradients, out[i])

        if W.is_cuda:
            side_by_side(client, range(len(W)), W.device)
        else:
            self.map(client, range(len(W)))
        return out

    def _batched(
        self, W: Tensor, b: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """As many clients in a call as the memory holds."""

        def client(w: Tensor, own: Tensor | None, x: Tensor, y: Tensor, u: Tensor | None) -> tuple[Tensor, ...]:
            statistics = self._one_clients_statistics(own)
            gradient = grad(lambda v: self._functional_loss(v, statistics, x, y, u))(w)
            return (gradient,) if statistics is None else (gradient, self.buffer_layout.flatten(statistics))

        size = self.clients_per_call(x)
        slices = [slice(start, start + size) for start in range(0, len(W), size)]
        given = (W, b, x, y, u)
        parts = [_for_each_row(client, *(None if t is None else t[part] for t in given)) for part in slices]
        gradients, *moved = parts[0] if len(parts) == 1 else map(torch.cat, zip(*parts, strict=True))
        return gradients, moved[0] if moved else None

    def _functional_loss(
        self, w: Tensor, statistics: dict[str, Tensor] | None, x: Tensor, y: Tensor, u: Tensor | None
    ) -> Tensor:
        """The loss at w [P], for ``torch.func``; the running statistics are updated in place."""
        tensors = self.layout.views(w) | (statistics or {})
        return self._loss(self._workers.own("functional", self._functional_model), x, y, u, tensors)

    def _functional_model(self) -> nn.Module:
        """A model for ``functional_call``, which swaps the tensors of a whole one."""
        model = copy.deepcopy(self._pattern)
        if self.penalty.zeta == 0:
            pool_before_relu(model)
        if self.bfloat16:
            for layer in model.modules():
                if isinstance(layer, nn.BatchNorm2d):  # its batching rule takes numbers of one type only
                    layer.register_forward_pre_hook(lambda _, inputs: (inputs[0].float(),))
        return model

    def _one_clients_statistics(self, own: Tensor | None) -> dict[str, Tensor] | None:
        """[Q] -> tensors by name. The batching rule of torch updates only tensors of their own, not views of a row."""
        return None if own is None else {name: v.clone() for name, v in self.buffer_layout.views(own).items()}

    def clients_per_call(self, x: Tensor) -> int:
        """How many clients fit one batched call: activations are kept for the backward pass, twice to be safe."""
        if self._floats_per_sample is None:
            self._floats_per_sample = activation_floats(self._pattern, x[0, :1])
        per_client = x.element_size() * (2 * x.shape[1] * self._floats_per_sample + 3 * self.layout.numel)
        return max(1, (self.memory or gradient_memory(x.device)) // per_client)


def _for_each_row(function: Callable[..., tuple[Tensor, ...]], *given: Tensor | None) -> tuple[Tensor, ...]:
    """The function of every row of the tensors, in one call; None stays None."""
    return vmap(function, tuple(None if t is None else 0 for t in given))(*given)


class Minibatch:
    """G: the gradient at any W of the minibatches of one local step; every call sees the same data and masks.

    The running statistics move once a step, at the first evaluation (for SAM methods that is the ascent pass, at the
    unperturbed weights), so a second pass does not count a batch twice.
    """

    def __init__(self, oracle: Oracle, groups: Sequence[Group], statistics: Tensor | None, rows: Tensor | None):
        self.oracle, self.groups, self.statistics = oracle, groups, statistics
        self.members = slice(None) if rows is None else rows
        self.first = True

    @property
    def whole(self) -> tuple[Tensor | None, ...] | None:
        """Inputs, labels and uniforms of all clients at work, where their minibatches have one length."""
        group = self.groups[0]
        return (group.x, group.y, group.uniforms) if len(self.groups) == 1 and group.rows is None else None

    def __call__(self, W: Tensor) -> Tensor:
        """W: [R, P] -> [R, P]."""
        (out,) = self._over_groups(lambda *given: (self.oracle.gradients(*given),), W)
        return out

    def affine(self, W: Tensor, Lambda: Tensor, delta: Tensor) -> tuple[Tensor, ...]:
        """Gradients in w, Lambda and delta, see ``Oracle.affine``."""
        return self._over_groups(self.oracle.affine, W, Lambda, delta)

    def _over_groups(self, gradients: Callable[..., tuple[Tensor, ...]], *at: Tensor) -> tuple[Tensor, ...]:
        """Gradients of all clients at work in the tensors ``at``, whose rows are theirs."""
        statistics, members = self.statistics, self.members
        own = None if statistics is None else statistics[members].clone()
        if len(self.groups) == 1 and self.groups[0].rows is None:
            out = gradients(*at, own, self.groups[0])
        else:
            out = tuple(torch.empty_like(t) for t in at)
            for group in self.groups:
                rows = slice(None) if group.rows is None else group.rows
                part = None if own is None else own[rows]
                found = gradients(*(t[rows] for t in at), part, group)
                for whole, gradient in zip(out, found, strict=True):
                    whole[rows] = gradient
                if own is not None and part is not None:
                    own[rows] = part
        if statistics is not None and own is not None and self.first:
            statistics[members] = own
        self.first = False
        return out


def activation_floats(model: nn.Module, x: Tensor) -> int:
    """Numbers that all modules put out for one sample x [1, ...]; the model's running statistics do not move."""
    total = 0

    def count(_module: nn.Module, _inputs: tuple, output: Any) -> None:
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
