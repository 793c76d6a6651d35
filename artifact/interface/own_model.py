"""A network of the user's own as the engine wants one: draws repeat, state starts at the server's in every pass.

State. The persistent buffers of a module (those in its ``state_dict``) are sent to the clients, move once a local step,
and are averaged over the cohort; whole numbers such as BatchNorm's counter are rounded. Buffers that are not persistent
and parameters that need no gradient keep their numbers; a pass that changes one is refused. Plain numbers and tensors
that a module keeps as attributes are as they were handed in at the start of every pass.

Draws. A pass of a network that draws random numbers, by whatever call, runs under generators that are seeded from
(seed, round, client, step). The two passes of a SAM step therefore draw the same, and so do two methods.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from artifact.base.errors import UserError
from artifact.base.flat import parameters
from artifact.models.calls import arguments, keywords, logits
from artifact.models.networks import Model
from artifact.training.gradients import Oracle

#: torch's dropouts -> how many axes of an activation have draws of their own; None stands for all
_DROPOUTS: dict[type, int | None] = {nn.Dropout: None, nn.Dropout1d: 2, nn.Dropout2d: 2, nn.Dropout3d: 2}
#: layers of torch that never draw, nor keep anything but buffers
_WITHOUT_DRAWS = """
    Sequential Linear Bilinear Identity Flatten Unflatten Embedding EmbeddingBag Conv1d Conv2d Conv3d ConvTranspose1d
    ConvTranspose2d ConvTranspose3d BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d
    LayerNorm GroupNorm RMSNorm LocalResponseNorm ReLU ReLU6 LeakyReLU PReLU ELU SELU CELU GELU SiLU Mish Tanh Sigmoid
    LogSigmoid Softplus Softmax LogSoftmax Softsign Hardtanh Hardswish Hardsigmoid MaxPool1d MaxPool2d MaxPool3d
    AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
    AdaptiveMaxPool2d AdaptiveMaxPool3d Upsample PixelShuffle PixelUnshuffle ZeroPad2d ReflectionPad2d
"""
#: whole numbers up to here are exact in float32
_WHOLE = 1 << 24


class _Turns:
    """Who may use the process's own generators: one thread alone, or any number that expect not to draw."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._alone: int | None = None
        self._depth, self._together = 0, 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else is inside meanwhile; the same thread may enter again."""
        me = threading.get_ident()
        with self._free:
            self._free.wait_for(lambda: self._alone == me or (self._alone is None and not self._together))
            self._alone = me
            self._depth += 1
        try:
            yield
        finally:
            with self._free:
                self._depth -= 1
                self._alone = me if self._depth else None
                self._free.notify_all()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Nobody is alone inside meanwhile, but this thread itself may be."""
        if self._alone == threading.get_ident():
            yield
            return
        with self._free:
            self._free.wait_for(lambda: self._alone is None)
            self._together += 1
        try:
            yield
        finally:
            with self._free:
                self._together -= 1
                self._free.notify_all()


_generators = _Turns()


class Samples:
    """Inputs of all samples, a tensor or a dict or tuple of tensors; copies of a model share it."""

    def __init__(self, inputs: Any):
        self.inputs = inputs

    def __deepcopy__(self, memo: dict) -> Samples:
        return self

    def __getitem__(self, index: Tensor) -> Any:
        return tree_map(lambda tensor: tensor[index], self.inputs)


class SeededDropout(nn.Module):
    """One of torch's dropouts, with a generator of its own that is seeded before every pass in training mode."""

    def __init__(self, p: float, axes: int | None):
        super().__init__()
        self.p, self.axes, self.seed = p, axes, 0

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        generator = torch.Generator().manual_seed(self.seed)
        shape = x.shape if self.axes is None else (*x.shape[: self.axes], *[1] * (x.dim() - self.axes))
        keep = torch.rand(shape, generator=generator).to(x.device) >= self.p
        return x * keep / (1 - self.p)


class _Draws:
    """What all copies of a model know together: whether a pass of it has drawn from the process's generators."""

    def __init__(self, possible: bool):
        self.possible, self.seen = possible, False

    def __deepcopy__(self, memo: dict) -> _Draws:
        return self


class OwnModel(Model):
    """A user's module, called with the inputs of the samples that x names or, without ``samples``, with x itself.

    The module is a copy. Two uniforms per sample, of which the first sample's count, seed all that a pass draws.
    output: what the loss gets of what the module returns; by default the module's ``logits`` where it has some.
    """

    name = "own"

    def __init__(
        self,
        module: nn.Module,
        samples: Samples | None,
        device: torch.device,
        dtype: torch.dtype,
        output: Callable[[Any], Any] | None = None,
    ):
        super().__init__()
        self.module = copy.deepcopy(module).to(device, dtype)
        self.samples, self.output = samples, output or logits
        _seed_dropouts(self.module)
        self.draws = _Draws(not all(map(_draws_nothing, self.module.modules())))
        self._attributes = [one for layer in self.module.modules() for one in _plain_attributes(layer)]
        self._constants, self._counters = _freeze(self.module, dtype)
        self._keywords = keywords(self.module)
        self.recomputes = self.draws.possible and _recomputes(self.module)
        self.has_dropout = any(isinstance(m, SeededDropout) for m in self.module.modules())
        # two numbers of 24 bits make a seed
        self.dropout_units = 2 if self.has_dropout or self.draws.possible else 0

    def forward(self, x: Any, uniforms: Tensor | None = None) -> Any:
        """Output of the user's network.

        x: [B, ...] inputs, or [B] numbers of samples.  uniforms: [B, 2], used in training mode only.
        """
        seed = 0
        if uniforms is not None and not torch._C._functorch.is_batchedtensor(uniforms):
            high, low = (uniforms[0].double() * 2**24).long().tolist()
            seed = (high << 24) + low
            layers = (m for m in self.module.modules() if isinstance(m, SeededDropout))
            for number, layer in enumerate(layers):
                layer.seed = seed * 1009 + number
        else:
            uniforms = None
        inputs = x if self.samples is None else self.samples[x]
        if not self.draws.possible or (self.training and uniforms is None):
            return self._pass(inputs)
        if not self.draws.seen and not any(m._forward_hooks or m._forward_pre_hooks for m in self.module.modules()):
            kept = [(buffer, buffer.clone()) for buffer in self.module.buffers()] if self.training else []
            with _generators.together():
                before = _states(self.module)
                found = self._pass(inputs)
                if _same(before, _states(self.module)):
                    return found
            self.draws.seen = True  # this pass drew, or another thread's: it is made again, seeded
            with torch.no_grad():
                for buffer, value in kept:
                    buffer.copy_(value)
        with forked(seed):
            return self._pass(inputs)

    def turn(self) -> contextlib.AbstractContextManager[None]:
        """Held around a forward and a backward pass: nobody else draws while a layer is computed again."""
        return _generators.alone() if self.recomputes else contextlib.nullcontext()

    def _pass(self, inputs: Any) -> Any:
        """One pass of the module, which finds its state as it was handed in and leaves it moved in place."""
        held = [(layer, name, buffer) for layer in self.module.modules() for name, buffer in _tensors(layer)]
        constants = [(layer, name, getattr(layer, name)) for layer, name in self._constants]
        versions = [value._version for _, _, value in constants]
        for layer, name, buffer in held:
            kind = self._counters.get((layer, name))
            if kind is not None:
                layer._buffers[name] = buffer.detach().round().to(kind)
            elif not self.training:  # a pass in evaluation mode leaves the server's numbers alone
                layer._buffers[name] = buffer.clone()
        try:
            positional, named = arguments(inputs, self._keywords)
            return self.output(self.module(*positional, **named))
        finally:
            with torch.no_grad():
                for layer, name, buffer in held:
                    now = layer._buffers.get(name)
                    if self.training and now is not None and now is not buffer:
                        buffer.copy_(now)
                    layer._buffers[name] = buffer
            for attribute in self._attributes:
                attribute.reset()
            for (layer, name, value), version in zip(constants, versions, strict=True):
                changed = value is not None and value._version != version
                if changed or getattr(layer, name, None) is not value:
                    object.__setattr__(layer, name, value)
                    allowed = "a module whose passes change persistent buffers alone"
                    hint = "register_buffer(..., persistent=True) makes it state"
                    raise UserError("model", f"{type(layer).__name__}.{name}", f"{allowed}; {hint}")

    def settled(self, local: Tensor, mean: Tensor) -> Tensor:
        """The server's buffers after a round: means over clients, equal values bit for bit, counters rounded."""
        mean = torch.where((local == local[:1]).all(0), local[0], mean)
        if not self._counters:
            return mean
        counters = {id(layer._buffers[name]) for layer, name in self._counters}
        whole = [torch.full((b.numel(),), id(b) in counters) for b in self.module.buffers()]
        return torch.where(torch.cat(whole).to(mean.device), mean.round(), mean)

    @staticmethod
    def trained(module: nn.Module, w: Tensor, statistics: Tensor | None, oracle: Oracle) -> nn.Module:
        """A copy of the user's module with the parameters w [P] and the running statistics [Q]."""
        result = copy.deepcopy(module).to(w.device)
        found = oracle.layout.views(w) | ({} if statistics is None else oracle.buffer_layout.views(statistics))
        own = parameters(result) | dict(result.named_buffers())
        with torch.no_grad():
            for name, value in found.items():
                target = own[name.removeprefix("module.")]
                target.copy_(value if target.is_floating_point() else value.round())
        return result


# ---- draws -----------------------------------------------------------------------------------------------------------


@contextmanager
def unchanged_generators() -> Iterator[None]:
    """The generators of torch, numpy and Python are afterwards as they were."""
    cpu, cuda = torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002  (what a user's code may use)
    try:
        yield
    finally:
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)


@contextmanager
def left_alone() -> Iterator[None]:
    """The process's generators and its number of threads are afterwards as they were."""
    threads = torch.get_num_threads()
    try:
        with unchanged_generators():
            yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def forked(seed: int) -> Iterator[None]:
    """A block whose draws, by torch, numpy or Python, follow the seed; nobody else's do."""
    with _generators.alone(), unchanged_generators():
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        random.seed(seed)
        yield


def _recomputes(module: nn.Module) -> bool:
    """Whether its backward pass runs layers again, as ``torch.utils.checkpoint`` does, and so draws again."""
    for layer in module.modules():
        if any("checkpoint" in name and given is True for name, given in vars(layer).items()):
            return True
        if not type(layer).__module__.startswith("torch."):
            with contextlib.suppress(OSError, TypeError):
                if re.search(r"\bcheckpoint\(", inspect.getsource(type(layer).forward)):
                    return True
    return False


def _states(module: nn.Module) -> tuple[Any, ...]:
    """Where the generators stand that a pass could use."""
    where = next(module.parameters()).device
    cuda = torch.cuda.get_rng_state(where) if where.type == "cuda" else None
    return torch.get_rng_state(), cuda, np.random.get_state(), random.getstate()  # noqa: NPY002


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    cuda = one[1] is None or torch.equal(one[1], other[1])
    of_numpy = one[2][2] == other[2][2] and np.array_equal(one[2][1], other[2][1])
    return torch.equal(one[0], other[0]) and cuda and of_numpy and one[3] == other[3]


def _draws_nothing(layer: nn.Module) -> bool:
    """Whether it is a layer that is known never to draw; other layers are watched."""
    if layer._forward_hooks or layer._forward_pre_hooks:
        return False
    kind = type(layer)
    if isinstance(layer, (nn.LSTM, nn.GRU, nn.RNN)):
        return layer.dropout == 0 and kind.__module__.startswith("torch.nn.")
    if kind.__module__.startswith("torch.nn.modules."):
        return kind.__name__ in _WITHOUT_DRAWS.split()
    return kind is SeededDropout or kind.__module__.startswith("artifact.models.")


def _seed_dropouts(module: nn.Module) -> None:
    for layer in list(module.modules()):
        for name, child in layer.named_children():
            if type(child) in _DROPOUTS and not (child._forward_hooks or child._forward_pre_hooks):
                p: Any = child.p
                setattr(layer, name, SeededDropout(p, _DROPOUTS[type(child)]).train(child.training))


# ---- state -----------------------------------------------------------------------------------------------------------


class _Places(dict):
    """{(layer, name of a buffer): ...}; layers are told apart by identity, in copies too."""

    def __deepcopy__(self, memo: dict) -> _Places:
        return _Places({(copy.deepcopy(layer, memo), name): kind for (layer, name), kind in self.items()})


def _freeze(module: nn.Module, dtype: torch.dtype) -> tuple[list[tuple[nn.Module, str]], _Places]:
    """Parameters that need no gradient, and buffers that are no state, become plain tensors; the latter by place.

    These belong to no flat vector, so that no mean over clients rounds them. Whole numbers that are state become
    floating-point ones, beside the types that a pass sees.
    """
    constants, counters = [], _Places()
    for layer in module.modules():
        for name, buffer in list(layer._buffers.items()):
            if buffer is None:
                continue
            small = not buffer.is_complex() and (
                buffer.is_floating_point() or not bool((buffer.long().abs() > _WHOLE).any())
            )
            if name in layer._non_persistent_buffers_set or not small:
                del layer._buffers[name]
                object.__setattr__(layer, name, buffer)
                constants.append((layer, name))
            elif not buffer.is_floating_point():
                layer._buffers[name] = buffer.to(dtype)
                counters[layer, name] = buffer.dtype
        for name, parameter in list(layer._parameters.items()):
            if parameter is not None and not parameter.requires_grad:
                del layer._parameters[name]
                object.__setattr__(layer, name, parameter.detach())
    if not any(True for _ in module.parameters()):
        raise UserError("model", type(module).__name__, "a module with a parameter that needs a gradient")
    return constants, counters


def _tensors(layer: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, buffer) for name, buffer in layer._buffers.items() if buffer is not None]


#: what torch itself keeps in a module's dict
_OF_TORCH = frozenset(vars(nn.Module()))


def _plain_attributes(layer: nn.Module) -> list[_Attribute]:
    """Numbers and tensors that a module of the user's own keeps outside its buffers."""
    if type(layer).__module__.startswith(("torch.nn.", "artifact.")):
        return []
    own = {name: value for name, value in vars(layer).items() if name not in _OF_TORCH}
    return [_Attribute(layer, name, v) for name, v in own.items() if v is None or isinstance(v, _PLAIN)]


#: what a pass may leave behind in an attribute without being seen
_PLAIN = (bool, int, float, Tensor)


class _Attribute:
    """One attribute of a layer, and its value before any pass."""

    def __init__(self, layer: nn.Module, name: str, value: Any):
        self.layer, self.name, self.now = layer, name, value
        self.first = value.detach().clone() if torch.is_tensor(value) else value
        self.version = value._version if torch.is_tensor(value) else 0

    def reset(self) -> None:
        found = vars(self.layer).get(self.name)
        if found is self.now and (not torch.is_tensor(found) or found._version == self.version):
            return
        self.now = self.first.clone() if torch.is_tensor(self.first) else self.first
        self.version = self.now._version if torch.is_tensor(self.first) else 0
        vars(self.layer)[self.name] = self.now
