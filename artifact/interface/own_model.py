"""A network of the user's own as the engine wants one: every draw comes from outside, frozen tensors do not move."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from artifact.base.errors import UserError
from artifact.base.flat import buffers, parameters
from artifact.models.networks import Model
from artifact.training.gradients import Oracle

#: torch's dropouts -> how many axes of an activation have draws of their own; None stands for all
_DROPOUTS: dict[type, int | None] = {nn.Dropout: None, nn.Dropout1d: 2, nn.Dropout2d: 2, nn.Dropout3d: 2}
#: layers that draw and are none of these
_DRAWING = (nn.modules.dropout._DropoutNd, nn.RReLU)


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


class OwnModel(Model):
    """A user's module, called with the inputs of the samples that x names or, without ``samples``, with x itself.

    The module is a copy. Its dropout layers draw from the uniforms that the engine hands in, so that two methods see
    the same masks. Frozen parameters keep their numbers, and so do all buffers but the statistics of norm layers.
    """

    name = "own"

    def __init__(self, module: nn.Module, samples: Samples | None, device: torch.device, dtype: torch.dtype):
        super().__init__()
        self.module = copy.deepcopy(module).to(device, dtype)
        self.samples = samples
        _freeze(self.module)
        _seed_dropouts(self.module)
        # two numbers of 24 bits make a seed
        self.dropout_units = 2 if any(isinstance(m, SeededDropout) for m in self.module.modules()) else 0

    def forward(self, x: Any, uniforms: Tensor | None = None) -> Any:
        """x: [B, ...] inputs, or [B] numbers of samples.  uniforms: [B, 2], used in training mode only."""
        if uniforms is not None:
            high, low = (uniforms[0].double() * 2**24).long().tolist()
            layers = (m for m in self.module.modules() if isinstance(m, SeededDropout))
            for number, layer in enumerate(layers):
                layer.seed = ((high << 24) + low) * 1009 + number
        return self.module(x if self.samples is None else self.samples[x])

    @staticmethod
    def trained(module: nn.Module, w: Tensor, statistics: Tensor | None, oracle: Oracle) -> nn.Module:
        """A copy of the user's module with the parameters w [P] and the running statistics [Q]."""
        result = copy.deepcopy(module).to(w.device)
        found = oracle.layout.views(w) | ({} if statistics is None else oracle.buffer_layout.views(statistics))
        own = parameters(result) | buffers(result)
        with torch.no_grad():
            for name, value in found.items():
                own[name.removeprefix("module.")].copy_(value)
        return result


def _freeze(module: nn.Module) -> None:
    """Parameters that need no gradient, and buffers that are no running statistics, become plain tensors.

    These belong to no flat vector, so that no mean over clients rounds them.
    """
    for layer in module.modules():
        for name, buffer in [] if isinstance(layer, nn.modules.batchnorm._NormBase) else list(layer._buffers.items()):
            del layer._buffers[name]
            object.__setattr__(layer, name, buffer)
        for name, parameter in list(layer._parameters.items()):
            if parameter is not None and not parameter.requires_grad:
                del layer._parameters[name]
                object.__setattr__(layer, name, parameter.detach())
    if not any(True for _ in module.parameters()):
        raise UserError("model", type(module).__name__, "a module with a parameter that needs a gradient")


def _seed_dropouts(module: nn.Module) -> None:
    """Raises UserError for a layer that draws by itself and is none of torch's plain dropouts."""
    for layer in list(module.modules()):
        for name, child in layer.named_children():
            if isinstance(child, nn.modules.dropout._DropoutNd) and type(child) in _DROPOUTS:
                setattr(layer, name, SeededDropout(child.p, _DROPOUTS[type(child)]).train(child.training))
            elif isinstance(child, _DRAWING):
                allowed = f"modules whose draws can be repeated, such as nn.Dropout, unlike {type(child).__name__}"
                raise UserError("model", name, allowed)
