"""Losses on a flat vector, with gradients and exact Hessian-vector products.

Everything in this package measures a ``Risk``: a scalar function of one flat vector w [P] that also gives its
gradient and products with its Hessian. Any scalar function becomes one with ``as_risk``; ``EmpiricalRisk`` is a
module's mean loss over a whole data set, evaluated in pieces that fit a memory budget.

Products are double backward passes with one graph for all vectors. Seconds for 4 vectors on one CPU core, against
forward-over-reverse (``jvp`` of ``grad`` under ``vmap``): mlp-200 0.063 / 0.083, cnn-fmnist 0.40 / 0.42, cnn-cifar
0.14 / 0.09, resnet18-gn 1.01 / 1.11. Double backward also takes functions that ``torch.func`` cannot transform.
``torch.func.linearize`` traces the products once. A product on a kept graph / by it, and its set-up, take 0.067 / 0.045
and 1.5 s for cnn-cifar on 500 samples, 0.32 / 0.26 and 2.0 s for lenet on 250, 0.38 / 0.37 and 6.4 s for resnet18-gn
on 100: it would pay after 68, 32 and 470 products, about what an eigenvalue and a trace need together or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from artifact.base import flat
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, nn, torch

Loss: TypeAlias = "Callable[[Tensor], Tensor]"
#: Bytes that one pass over a piece of the data may take.
MEMORY = 1 << 30
#: Samples per pass on a CPU at most: larger passes measure slower there (seconds per product on 1000 samples at 250,
#: 500 and 1000 per pass: cnn-cifar 0.117, 0.117, 0.151; cnn-fmnist 0.29, 0.31, 0.39).
_CPU_BATCH = 256


def check_weights(w: Tensor) -> None:
    """Raises UserError unless w is a finite float32 or float64 vector."""
    if not isinstance(w, torch.Tensor) or w.dim() != 1 or w.dtype not in (torch.float32, torch.float64):
        given = f"{type(w).__name__} {list(getattr(w, 'shape', ()))} {getattr(w, 'dtype', '')}"
        raise UserError("w", given, "a tensor [P] in float32 or float64")
    if not torch.isfinite(w).all():
        raise UserError("w", "a vector with NaN or infinity", "finite numbers")


class Risk:
    """A weighted mean of pieces, sum_j c_j f_j(w) / sum_j c_j. Subclasses supply ``pieces``; the rest follows."""

    memory = MEMORY

    def pieces(self) -> Iterator[tuple[float, Loss]]:
        """Yields (c_j, f_j); f_j is a scalar function of w [P]."""
        raise NotImplementedError

    def _mean(self, zero: Tensor, term: Callable[[Loss], Tensor]) -> Tensor:
        total, mass = zero, 0.0
        for weight, piece in self.pieces():
            total += weight * term(piece)
            mass += weight
        if mass == 0:
            raise UserError("data", "no samples", "at least one")
        return total / mass

    def __call__(self, w: Tensor) -> Tensor:
        """The loss at w [P] -> scalar."""
        w = w.detach()
        return self._mean(w.new_zeros(()), lambda piece: _scalar(piece(w)).detach())

    def values(self, W: Tensor) -> Tensor:
        """The loss at many points: W [n, P] -> [n]."""
        return torch.stack([self(w) for w in W])

    def gradient(self, w: Tensor) -> Tensor:
        """w [P] -> [P]."""

        def slope(piece: Loss) -> Tensor:
            at = w.detach().clone().requires_grad_(True)
            return _derivative(_scalar(piece(at)), at)

        return self._mean(torch.zeros_like(w), slope)

    def value_and_gradient(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """w [P] -> (scalar, [P]), in one pass."""

        def both(piece: Loss) -> Tensor:
            at = w.detach().clone().requires_grad_(True)
            value = _scalar(piece(at))
            return torch.cat([value.detach()[None], _derivative(value, at)])

        result = self._mean(w.new_zeros(len(w) + 1), both)
        return result[0], result[1:]

    def hvp(self, w: Tensor, V: Tensor) -> Tensor:
        """Hessian at w [P] times vectors V [k, P] (or one vector [P]); the shape of V comes back."""
        rows = V.reshape(-1, w.numel())

        def products(piece: Loss) -> Tensor:
            return _products(*_slope(piece, w), rows, keep=False)

        return self._mean(torch.zeros_like(rows), products).reshape(V.shape)

    def graph_bytes(self, w: Tensor) -> float:
        """Rough size of the graphs of all pieces together; infinite when it cannot be known."""
        return 0.0

    def linearise(self, w: Tensor) -> Callable[[Tensor], Tensor]:
        """The map V [k, P] -> H V [k, P] at w. Graphs that fit twice the memory of one pass are built once and kept.

        A product then costs a second backward pass only: 0.6 of its time for cnn-cifar and cnn-fmnist, 0.7 for
        resnet18-gn on one CPU core.
        """
        if self.graph_bytes(w) > 2 * self.memory:
            return lambda V: self.hvp(w, V)
        kept = [(weight, *_slope(piece, w)) for weight, piece in self.pieces()]
        mass = sum(weight for weight, _, _ in kept)

        def product(V: Tensor) -> Tensor:
            total = torch.zeros_like(V)
            for weight, slope, at in kept:
                total += weight / mass * _products(slope, at, V, keep=True)
            return total

        return product


def _scalar(value: Tensor) -> Tensor:
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        shape = list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
        raise UserError("loss", shape, "a function that returns one number as a tensor")
    return value.reshape(())


def _derivative(value: Tensor, at: Tensor, cotangent: Tensor | None = None, **options: bool) -> Tensor:
    """Vector-Jacobian product; zeros where ``value`` does not depend on ``at``."""
    if not value.requires_grad:
        return torch.zeros_like(at)
    (slope,) = torch.autograd.grad(value, at, cotangent, allow_unused=True, materialize_grads=True, **options)
    return slope


def _slope(piece: Loss, w: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of a piece at w with its graph, and the leaf that it was taken at."""
    at = w.detach().clone().requires_grad_(True)
    return _derivative(_scalar(piece(at)), at, create_graph=True), at


def _products(slope: Tensor, at: Tensor, V: Tensor, keep: bool) -> Tensor:
    """Rows of V [k, P] times the Hessian behind ``slope``; keep: the graph will be used again."""
    last = len(V) - 1
    return torch.stack([_derivative(slope, at, v, retain_graph=keep or i < last) for i, v in enumerate(V)])


class FunctionRisk(Risk):
    """A differentiable scalar function of w [P]."""

    def __init__(self, function: Loss):
        self.function = function

    def pieces(self) -> Iterator[tuple[float, Loss]]:
        yield 1.0, self.function


def as_risk(loss: Loss | Risk) -> Risk:
    """A Risk as it is, any other scalar function of w wrapped. Raises UserError when it cannot be called."""
    if not callable(loss):
        raise UserError("loss", type(loss).__name__, "a scalar function of a flat vector, or an EmpiricalRisk")
    return loss if isinstance(loss, Risk) else FunctionRisk(loss)


def _pair(data: object) -> tuple[Tensor, Tensor] | None:
    """Data that are two tensors, as such."""
    match data:
        case (torch.Tensor() as x, torch.Tensor() as y):
            return x, y
    return None


class EmpiricalRisk(Risk):
    """Mean of ``loss(model(x), y)`` over a data set, as a function of the model's flat parameter vector.

    The model runs in evaluation mode, with its own buffers (running statistics stay as they are) unless ``buffers``
    {name: tensor} replaces them. Images and buffers follow the dtype and device of w, so a float64 w gives a float64
    measurement.

    model: any ``nn.Module``; loss: function of (outputs, targets) that averages over its batch (None: cross-entropy).
    data: a pair of tensors (inputs [N, ...], targets [N, ...]), or batches (x, y) that can be iterated over again and
    again: a list, a DataLoader. batch: samples per pass for a pair of tensors (None: as many as ``memory`` bytes allow
    for one Hessian-vector product, on a CPU at most 256). Raises UserError for data that cannot be used.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[Tensor, Tensor], Tensor] | None,
        data: tuple[Tensor, Tensor] | Iterable[tuple[Tensor, Tensor]],
        *,
        batch: int | None = None,
        memory: int = MEMORY,
        buffers: dict[str, Tensor] | None = None,
    ):
        self.model, self.loss, self.data = model, loss or torch.nn.functional.cross_entropy, data
        self.layout = flat.Layout.of(flat.parameters(model))
        self.buffers, self.memory, self.batch = buffers or {}, memory, batch
        #: the pair (inputs, targets), None for batches
        self.tensors = _pair(data)
        self._check()

    @classmethod
    def from_loader(
        cls,
        model: nn.Module,
        loss: Callable[[Tensor, Tensor], Tensor] | None,
        loader: Iterable[tuple[Tensor, Tensor]],
        *,
        memory: int = MEMORY,
    ) -> EmpiricalRisk:
        """The risk over a loader's samples, read once and kept, so that its order and workers cost nothing later.

        A loader that augments is frozen at the draw of this one pass. Data that should stay on disk go to the
        constructor instead, which reads them in every pass. Raises UserError for a loader without samples.
        """
        parts = [(x, y) for x, y in loader]
        if not parts:
            raise UserError("data", "a loader without samples", "at least one batch (inputs, targets)")
        inputs, targets = zip(*parts, strict=True)
        return cls(model, loss, (torch.cat(inputs), torch.cat(targets)), memory=memory)

    def _check(self) -> None:
        if self.tensors is not None:
            x, y = self.tensors
            if len(x) != len(y) or len(x) == 0:
                raise UserError("data", f"{len(x)} inputs, {len(y)} targets", "equally many, at least one")
        elif isinstance(self.data, Iterator) or not isinstance(self.data, Iterable):
            raise UserError("data", type(self.data).__name__, "two tensors, or batches that can be iterated over again")
        if self.batch is not None and self.batch < 1:
            raise UserError("batch", self.batch, "an integer of at least 1")
        if not self.layout.names:
            raise UserError("model", type(self.model).__name__, "a module with parameters")

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.tensors[0]) if self.tensors else sum(len(x) for x, _ in self.data)

    @property
    def weights(self) -> Tensor:
        """A copy of the model's parameters as one vector [P]."""
        return self.layout.flatten({name: p.detach() for name, p in flat.parameters(self.model).items()})

    def subset(self, indices: Tensor | np.ndarray) -> EmpiricalRisk:
        """The same risk over some samples, e.g. one client's: indices [n] into the data."""
        if self.tensors is None:
            raise UserError("data", "batches", "a pair of tensors, to take a subset of")
        index = torch.as_tensor(np.asarray(indices), dtype=torch.long)
        x, y = (t[index.to(t.device)] for t in self.tensors)
        return EmpiricalRisk(self.model, self.loss, (x, y), batch=self.batch, memory=self.memory, buffers=self.buffers)

    def outputs(self, w: Tensor, x: Tensor) -> Tensor:
        """The model with parameters w [P] on inputs [B, ...]."""
        if w.shape[-1] != self.layout.numel:
            raise UserError("w", w.shape[-1], f"the model's {self.layout.numel} parameters")
        state = {name: self._like(b, w) for name, b in self.model.named_buffers() if b is not None}
        state |= {name: self._like(b, w) for name, b in self.buffers.items()}
        return torch.func.functional_call(self.model, (self.layout.views(w), state), (self._like(x, w),))

    @staticmethod
    def _like(x: Tensor, w: Tensor) -> Tensor:
        return x.to(w.device, w.dtype if x.is_floating_point() else None)

    def batches(self) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yields (samples, inputs, targets)."""
        if self.tensors is None:
            for x, y in self.data:
                yield len(x), x, y
            return
        x, y = self.tensors
        if self.batch is None:
            most = len(x) if x.is_cuda else _CPU_BATCH
            self.batch = int(min(most, max(1, self.memory // self._bytes_per_sample(x))))
        for start in range(0, len(x), self.batch):
            part = slice(start, start + self.batch)
            yield len(x[part]), x[part], y[part]

    def pieces(self) -> Iterator[tuple[float, Loss]]:
        for count, x, y in self.batches():
            yield float(count), self._piece(x, y)

    def _piece(self, x: Tensor, y: Tensor) -> Loss:
        def piece(w: Tensor) -> Tensor:
            with evaluating(self.model):
                return self.loss(self.outputs(w, x), self._like(y, w))

        return piece

    def values(self, W: Tensor) -> Tensor:
        """Many points per call on an accelerator (``vmap``); on a CPU one by one, which measures faster there."""
        if not W.is_cuda:
            return super().values(W)
        W = W.detach()
        return self._mean(W.new_zeros(len(W)), lambda piece: torch.func.vmap(piece, chunk_size=16)(W))

    def graph_bytes(self, w: Tensor) -> float:
        if self.tensors is None:
            return math.inf
        x, _ = self.tensors
        return len(x) * self._bytes_per_sample(x) * w.element_size() / 8

    def _bytes_per_sample(self, x: Tensor) -> int:
        """Activations of one sample in float64, times 4 for the two backward passes and their temporaries."""
        numbers, one = [], x[:1]

        def count(_module: nn.Module, _inputs: tuple, output: object) -> None:
            if isinstance(output, torch.Tensor):
                numbers.append(output.numel())

        handles = [m.register_forward_hook(count) for m in self.model.modules() if not list(m.children())]
        try:
            with evaluating(self.model), torch.no_grad():
                self.outputs(self.weights, one)
        finally:
            for handle in handles:
                handle.remove()
        return 32 * (sum(numbers) + one.numel())


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside, every module's own mode restored after."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
