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

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from artifact.base import flat
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, nn, torch
from artifact.curvature.masses import mass_of
from artifact.curvature.twice import dense, require_pure, second_derivatives, twice_differentiable
from artifact.models.calls import arguments, keywords, logits

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
    with second_derivatives():
        (slope,) = torch.autograd.grad(value, at, cotangent, allow_unused=True, materialize_grads=True, **options)
    return dense(slope)


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


def _pair(data: object) -> tuple[Any, Tensor] | None:
    """Data that are inputs and targets of all samples, as such; batches are none."""
    match data:
        case (torch.Tensor() | Mapping() | tuple() as x, torch.Tensor() as y):
            return x, y
        case Mapping():
            return split(data)
    return None


def split(batch: Any) -> tuple[Any, Tensor]:
    """(inputs, targets) of a batch: a pair, or a dict with an entry ``labels`` or ``label``."""
    if isinstance(batch, Mapping):
        label = next((name for name in ("labels", "label") if name in batch), None)
        if label is not None:
            return {name: value for name, value in batch.items() if name != label}, batch[label]
    elif isinstance(batch, (tuple, list)) and len(batch) == 2:
        return batch[0], batch[1]
    found = f"a batch that is a {type(batch).__name__}"
    raise UserError("data", found, "batches (inputs, targets), or dicts with an entry labels")


def size(inputs: Any) -> int:
    """Samples of a batch, whose inputs are a tensor, or a dict or tuple of them."""
    return len(_leaves(inputs)[0])


def _leaves(inputs: Any) -> list[Tensor]:
    found = [leaf for leaf in _pytree().tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    if not found:
        raise UserError("data", type(inputs).__name__, "inputs that are a tensor, or a dict or tuple of tensors")
    return found


def mapped(function: Callable[[Tensor], Tensor], inputs: Any) -> Any:
    """Apply a function to every tensor of an input: a dict or tuple keeps its form."""
    inputs = dict(inputs) if isinstance(inputs, Mapping) else inputs
    return _pytree().tree_map(lambda leaf: function(leaf) if isinstance(leaf, torch.Tensor) else leaf, inputs)


def _pytree() -> Any:
    from torch.utils import _pytree

    return _pytree


class EmpiricalRisk(Risk):
    """Mean of ``loss(model(x), y)`` over a data set, as a function of a flat vector of the model's parameters.

    The model runs in evaluation mode, with its own buffers (running statistics stay as they are) unless ``buffers``
    {name: tensor} replaces them. Images and buffers follow the dtype and device of w, so a float64 w gives a float64
    measurement. Attention is computed by its formula, which has second derivatives.

    model: any ``nn.Module``; of an output with ``logits`` these are taken. output: another choice for the loss.
    loss: function of (outputs, targets) that averages over its batch (None: cross-entropy). Class weights and ignored
    targets of torch's own losses make the mean over all samples that torch would give for one batch of them all.
    data: inputs [N, ...] and targets [N, ...], or batches (x, y) that can be iterated over again and again: a list, a
    DataLoader. Inputs are a tensor, or a dict or tuple of tensors; a dict is spread over keyword arguments where the
    model has these. Batches may be dicts with an entry ``labels``.
    parameters: those that w consists of: "trainable" (the default: all that require a gradient), "all", or names with
    ``*``, as ["head.*"]. The others keep their values.
    batch: samples per pass for a pair of tensors (None: as many as ``memory`` bytes allow for one Hessian-vector
    product, on a CPU at most 256). Raises UserError for what cannot be used.

        risk = fedsharp.curvature.EmpiricalRisk(net, nn.CrossEntropyLoss(), (x, y), parameters=["head.*"])
        fedsharp.curvature.top_eigenvalues(risk, risk.weights, k=2).values
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[Any, Tensor], Tensor] | None,
        data: Any,
        *,
        batch: int | None = None,
        memory: int = MEMORY,
        buffers: dict[str, Tensor] | None = None,
        parameters: str | Sequence[str] = "trainable",
        output: Callable[[Any], Any] | None = None,
    ):
        if not isinstance(model, torch.nn.Module):
            raise UserError("model", type(model).__name__, "a torch.nn.Module")
        self.model, self.loss, self.data = model, loss or torch.nn.functional.cross_entropy, data
        self.parameters, self.output = parameters, output or logits
        self._all = flat.parameters(model)
        self.layout = flat.Layout.of(_chosen(model, self._all, parameters))
        self.buffers, self.memory, self.batch = buffers or {}, memory, batch
        self._losses: dict[tuple[torch.dtype, torch.device], Callable[[Any, Tensor], Tensor]] = {}
        self._keywords, self._mass, self._additive = keywords(model), mass_of(self.loss), False
        #: the pair (inputs, targets), None for batches
        self.tensors = _pair(data)
        self._check()

    @classmethod
    def from_loader(
        cls,
        model: nn.Module,
        loss: Callable[[Any, Tensor], Tensor] | None,
        loader: Iterable[Any],
        **options: Any,
    ) -> EmpiricalRisk:
        """The risk over a loader's samples, read once and kept, so that its order and workers cost nothing later.

        A loader that augments is frozen at the draw of this one pass. Batches of unequal length stay batches. Data that
        should stay on disk go to the constructor instead, which reads them in every pass. options: as there. Raises
        UserError for a loader without samples.
        """
        parts = [split(batch) for batch in loader]
        if not parts:
            raise UserError("data", "a loader without samples", "at least one batch (inputs, targets)")
        if len({tuple(leaf.shape[1:] for leaf in [*_leaves(x), y]) for x, y in parts}) > 1:
            return cls(model, loss, parts, **options)
        inputs, targets = zip(*parts, strict=True)
        joined = _pytree().tree_map(lambda *leaves: torch.cat(leaves), *(mapped(lambda leaf: leaf, x) for x in inputs))
        return cls(model, loss, (joined, torch.cat(targets)), **options)

    def _check(self) -> None:
        require_pure(self.model)
        if self.tensors is not None:
            x, y = self.tensors
            lengths = [len(leaf) for leaf in _leaves(x)]
            if set(lengths) != {len(y)} or len(y) == 0:
                raise UserError("data", f"{lengths[0]} inputs, {len(y)} targets", "equally many, at least one")
        elif isinstance(self.data, Iterator) or not isinstance(self.data, Iterable):
            raise UserError("data", type(self.data).__name__, "two tensors, or batches that can be iterated over again")
        if self.batch is not None and self.batch < 1:
            raise UserError("batch", self.batch, "an integer of at least 1")

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.tensors[1]) if self.tensors else sum(size(split(one)[0]) for one in self.data)

    @property
    def weights(self) -> Tensor:
        """A copy of the chosen parameters as one vector [P]."""
        return self.layout.flatten({name: p.detach() for name, p in self._all.items()})

    @property
    def measured(self) -> str:
        """Which parameters w consists of, in words."""
        whole, own = sum(p.numel() for p in self._all.values()), self.layout.numel
        if whole == own:
            return f"all {own} parameters"
        kind = "trainable ones" if self.parameters == "trainable" else ", ".join(self.parameters)
        return f"{own} of {whole} parameters ({kind})"

    def subset(self, indices: Tensor | np.ndarray) -> EmpiricalRisk:
        """The same risk over some samples, e.g. one client's: indices [n] into the data."""
        if self.tensors is None:
            raise UserError("data", "batches", "a pair of tensors, to take a subset of")
        index = torch.as_tensor(np.asarray(indices), dtype=torch.long)
        x, y = self.tensors
        part = mapped(lambda leaf: leaf[index.to(leaf.device)], x), y[index.to(y.device)]
        options: dict[str, Any] = {"batch": self.batch, "memory": self.memory, "buffers": self.buffers}
        options |= {"parameters": self.parameters, "output": self.output}
        return EmpiricalRisk(self.model, self.loss, part, **options)

    def outputs(self, w: Tensor, x: Any) -> Any:
        """The model with parameters w [P] on inputs [B, ...]."""
        if w.shape[-1] != self.layout.numel:
            raise UserError("w", w.shape[-1], f"the model's {self.layout.numel} parameters")
        views = self.layout.views(w)
        state = {name: self._like(p.detach(), w) for name, p in self._all.items() if name not in views}
        state |= {name: self._like(b, w) for name, b in self.model.named_buffers() if b is not None}
        state |= {name: self._like(b, w) for name, b in self.buffers.items()}
        positional, named = arguments(mapped(lambda leaf: self._like(leaf, w), x), self._keywords)
        with twice_differentiable():
            return self.output(torch.func.functional_call(self.model, (views, state), positional, named))

    @staticmethod
    def _like(x: Tensor, w: Tensor) -> Tensor:
        return x.to(w.device, w.dtype if x.is_floating_point() else None)

    def batches(self) -> Iterator[tuple[int, Any, Tensor]]:
        """Yields (samples, inputs, targets)."""
        if self.tensors is None:
            for x, y in map(split, self.data):
                yield size(x), x, y
            return
        x, y = self.tensors
        if self.batch is None:
            most = len(y) if _leaves(x)[0].is_cuda else _CPU_BATCH
            self.batch = int(min(most, max(1, self.memory // self._bytes_per_sample(x))))
        for start in range(0, len(y), self.batch):
            part = slice(start, start + self.batch)
            yield len(y[part]), mapped(itemgetter(part), x), y[part]

    def weighed(self) -> Iterator[tuple[float, Any, Tensor]]:
        """Yields (mass, inputs, targets): what a batch counts in the mean, see ``curvature.masses``."""
        first: tuple[int, Any, Tensor] | None = None
        for count, x, y in self.batches():
            if self._mass is not None:
                if (mass := self._mass(y)) > 0:  # a batch of ignored targets has no mean
                    yield mass, x, y
                continue
            if first is not None and not self._additive:
                self._require_additive(first, (count, x, y))
            first = (count, x, y)
            yield float(count), x, y

    def _require_additive(self, one: tuple[int, Any, Tensor], other: tuple[int, Any, Tensor]) -> None:
        """Raises UserError for a loss of two batches that is not the mean of their losses, weighted by samples."""
        w = self.weights
        with evaluating(self.model), torch.no_grad():
            both = [(count, self.outputs(w, x), self._like(y, w)) for count, x, y in (one, other)]
            z, y = [out for _, out, _ in both], [targets for _, _, targets in both]
            if not all(isinstance(out, torch.Tensor) and out.shape[1:] == z[0].shape[1:] for out in z):
                return
            loss = self.loss_at(w)
            whole = float(loss(torch.cat(z), torch.cat(y)))
            parts = sum(count * float(loss(out, targets)) for count, out, targets in both)
        mean = parts / (one[0] + other[0])
        if math.isfinite(mean) and abs(whole - mean) > 1e-3 * max(abs(whole), abs(mean)):
            found = f"{whole:.6g} of two batches together, {mean:.6g} as the mean of theirs"
            remedy = "a mean over samples; of another loss batch=, the number of samples, for one pass over all"
            raise UserError("loss", found, remedy)
        self._additive = True

    def pieces(self) -> Iterator[tuple[float, Loss]]:
        for mass, x, y in self.weighed():
            yield mass, self._piece(x, y)

    def _piece(self, x: Any, y: Tensor) -> Loss:
        def piece(w: Tensor) -> Tensor:
            with evaluating(self.model):
                return self.loss_at(w)(self.outputs(w, x), self._like(y, w))

        return piece

    def loss_at(self, w: Tensor) -> Callable[[Any, Tensor], Tensor]:
        """The loss, with its numbers, such as class weights, in the type and on the device of w."""
        if (where := (w.dtype, w.device)) not in self._losses:
            loss = self.loss
            if isinstance(loss, torch.nn.Module):
                loss = copy.deepcopy(loss).to(w.device, w.dtype)
            elif isinstance(loss, partial):
                own = {name: self._like(v, w) if torch.is_tensor(v) else v for name, v in loss.keywords.items()}
                loss = partial(loss.func, *loss.args, **own)
            self._losses[where] = loss
        return self._losses[where]

    def values(self, W: Tensor) -> Tensor:
        """Many points per call on an accelerator (``vmap``); on a CPU one by one, which measures faster there."""
        if not W.is_cuda:
            return super().values(W)
        W = W.detach()
        return self._mean(W.new_zeros(len(W)), lambda piece: torch.func.vmap(piece, chunk_size=16)(W))

    def graph_bytes(self, w: Tensor) -> float:
        if self.tensors is None:
            return math.inf
        x, y = self.tensors
        return len(y) * self._bytes_per_sample(x) * w.element_size() / 8

    def _bytes_per_sample(self, x: Any) -> int:
        """Activations of one sample in float64, times 4 for the two backward passes and their temporaries."""
        numbers, one = [], mapped(lambda leaf: leaf[:1], x)

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
        return 32 * (sum(numbers) + sum(leaf.numel() for leaf in _leaves(one)))


def _chosen(model: nn.Module, everything: dict[str, Tensor], asked: str | Sequence[str]) -> dict[str, Tensor]:
    """The parameters that are asked for. Raises UserError where there is none."""
    if not everything:
        raise UserError("model", type(model).__name__, "a module with parameters")
    if asked == "all":
        return everything
    if asked == "trainable":
        found = {name: p for name, p in everything.items() if p.requires_grad}
        if not found:
            raise UserError("parameters", "trainable", "all, where no parameter requires a gradient")
        return found
    patterns = [asked] if isinstance(asked, str) else list(asked)
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in everything):
            known = ", ".join(list(everything)[:6])
            raise UserError("parameters", pattern, f"trainable, all, or names with *, such as {known}")
    return {name: p for name, p in everything.items() if any(fnmatch(name, pattern) for pattern in patterns)}


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
