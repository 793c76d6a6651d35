"""The networks of a cohort as one network with S times the channels: the backends ``stacked`` and ``kernels`` of a GPU.

S clients with weights of their own on images [S, B, C, H, W] are one network on [B, S*C, H, W]: its convolutions and
group norms have S times as many groups, and layers that act on each channel by itself stay as they are. ``torch.vmap``
comes to the same convolutions but moves the clients' axis before and behind each of them.

Kernel entries that meet only padding are left out, as ``cpu.cropped_convolutions`` does: ResNet-18 behind the ImageNet
stem has 4.2 million weights of 11.2 million that meet a pixel of a CIFAR image.

``kernels`` differs in its convolutions alone: each is one kernel each way (``convolution_kernels``), and channels lie
beside each other. Where there is no Triton, and in float64, its convolutions are products with copied windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from artifact.accelerate.cpu.cropped_convolutions import convolutions, fitted
from artifact.accelerate.live_weights import LiveWeights
from artifact.accelerate.triton_modules import kernels_for
from artifact.base.cache import cache
from artifact.base.flat import Layout
from artifact.models.activations import mean_square
from artifact.models.networks import Block, Chain, Model, plain_convolution

#: pixels along a side of images whose convolutions are products; strided ones are in any case. In groups
#: cuDNN takes 1.4 to 25 times as long for those of ResNet-18-GN in bfloat16, and a third of the time for the others
#: (docs/performance.md)
FEW_PIXELS = 4
#: layers that act on each channel by itself
_BY_CHANNEL = (nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.Identity)
#: all others that are known
_KNOWN = (Chain, Block, nn.Sequential, nn.Conv2d, nn.GroupNorm, nn.Flatten, nn.Linear)


def convolved(x: Tensor, w: Tensor, stride: tuple[int, ...], padding: tuple[int, ...]) -> Tensor:
    """The convolutions of x [B, S*C, H, W] with w [S, O, C, k, n] as one product of matrices per client."""
    (S, _, C, k, n), (down, across) = w.shape, padding
    window = F.pad(x, (across, across, down, down)) if any(padding) else x
    window = window.unflatten(1, (S, C)).unfold(3, k, stride[0]).unfold(4, n, stride[1])  # [B, S, C, H', W', k, n]
    columns = window.permute(1, 2, 5, 6, 0, 3, 4).reshape(S, C * k * n, -1)
    out = torch.bmm(w.flatten(2), columns).unflatten(2, (len(x), *window.shape[3:5]))
    return out.permute(2, 0, 1, 3, 4).flatten(1, 2)


@dataclass(frozen=True)
class _Pass:
    """Of one gradient: the live weights [S, *shape], where their gradients go, and MAN's mean squared activations."""

    weights: dict[str, Tensor]
    places: dict[str, Tensor]
    squares: list[Tensor]


@dataclass(frozen=True)
class Stacked:
    """Gradients of a whole cohort as one network with S times the channels.

    It takes chains of convolutions, group norms, ReLUs and pooling, with residual blocks, that end in fully connected
    layers.

    bfloat16: weights, images and activations; norms and the loss are computed in float32.
    live: which weights meet a pixel, where some do not.  padding: of each convolution.
    by_products: convolutions that are products of matrices.  kernels: whether kernels of our own compute these.
    zeta, watched: MAN's coefficient, and the layers whose mean squared activation it weighs.
    """

    model: Model
    layout: Layout
    bfloat16: bool = False
    kernels: bool = False
    zeta: float = 0.0
    watched: tuple[str, ...] = ()
    live: LiveWeights | None = None
    padding: dict[str, tuple[int, ...]] = field(default_factory=dict)
    by_products: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        model: nn.Module,
        layout: Layout,
        bfloat16: bool = False,
        kernels: bool = False,
        zeta: float = 0.0,
        watched: tuple[str, ...] = (),
    ) -> Stacked | None:
        """None for a model that has other layers, or no convolution, and for a penalty on a norm."""
        layers = list(model.modules())
        if any(isinstance(layer, (nn.GroupNorm, Block)) for name, layer in model.named_modules() if name in watched):
            return None
        convolves = any(isinstance(layer, nn.Conv2d) for layer in layers)
        if not (isinstance(model, Chain) and convolves and all(map(_known, layers))):
            return None
        seen = [(name, layer, image, *fitted(layer, image)) for name, layer, image in convolutions(model)]
        crops = {
            f"{name}.weight": (..., *kept)
            for name, layer, _, kept, _ in seen
            if tuple(part.stop - part.start for part in kept) != layer.kernel_size
        }
        live = LiveWeights(layout, crops) if crops else None
        found = cls(model, layout, bfloat16, kernels, zeta, watched if zeta else (), live)
        for name, layer, image, _, padding in seen:
            found.padding[name] = padding
            if max(layer.dilation) == 1 and (kernels or max(image) <= FEW_PIXELS or max(layer.stride) > 1):
                found.by_products.add(name)
        return found

    def gradients(self, W: Tensor, x: Tensor, y: Tensor, _uniforms: Tensor | None) -> Tensor:
        """W: [S, P] or narrow, x: [S, B, C, H, W], y: [S, B] -> as W, of the mean loss per client.

        Of narrow matrices (``live_weights``) the columns behind the live weights are coordinates, without gradient.
        Nothing here has dropout.
        """
        dtype = torch.bfloat16 if self.bfloat16 else W.dtype
        out = torch.empty_like(W)
        places = self._live_parts(out)
        weights = {name: w.detach().requires_grad_() for name, w in self._live_parts(W, dtype).items()}
        with torch.enable_grad():
            squares: list[Tensor] = []  # over all clients, of one number of units each: S times the mean is their sum
            logits = self._logits(_Pass(weights, places, squares), x.to(dtype))
            loss = F.cross_entropy(logits.to(W.dtype).flatten(0, 1), y.flatten(), reduction="sum") / y.shape[1]
            for square in squares:
                loss = loss + self.zeta * len(W) * square.to(W.dtype)
        found = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
        for place, gradient in zip(places.values(), found, strict=True):
            if gradient is not None:  # else the kernel has written it there
                place.copy_(gradient)
        return out

    def _live_parts(self, W: Tensor, dtype: torch.dtype | None = None) -> dict[str, Tensor]:
        """Views [S, *shape] of the weights that meet a pixel, by name; of a copy if they are of another type.

        Whatever else stands in a matrix that is to be filled (no type) becomes zero.
        """
        live = self.live
        if live is None:
            return self.layout.views(W if dtype is None else W.to(dtype))
        size = live.narrow.numel
        if W.shape[1] != self.layout.numel:
            if dtype is None:
                W[:, size:] = 0
            return live.narrow.views(W[:, :size] if dtype is None else W[:, :size].to(dtype))
        if dtype is not None:
            return {name: part.to(dtype) for name, part in live.parts(W).items()}
        for name, whole in self.layout.views(W).items():
            if name in live.crops:
                whole.zero_()
        return live.parts(W)

    def _logits(self, given: _Pass, x: Tensor) -> Tensor:
        """x: [S, B, C, H, W] -> [S, B, classes]."""
        x = x.transpose(0, 1).flatten(1, 2)
        x = x.contiguous(memory_format=torch.channels_last) if self.kernels else x
        return self._run(self.model, "", x, given)

    def _seen(self, name: str, x: Tensor, given: _Pass) -> Tensor:
        """The output of a layer, whose mean square is noted where MAN watches the layer."""
        if name in self.watched:
            given.squares.append(mean_square(x.float() if self.bfloat16 else x))
        return x

    def _run(self, layer: nn.Module, name: str, x: Tensor, given: _Pass) -> Tensor:
        """x: [B, S*C, H, W], behind ``Flatten`` [S, B, features]."""
        weights = given.weights
        if isinstance(layer, Block):
            out = self._run(layer.conv1, f"{name}.conv1", x, given)
            out = self._normalised(layer.norm1, f"{name}.norm1", out, weights, relu=True)
            out = self._run(layer.conv2, f"{name}.conv2", self._seen(f"{name}.relu1", out, given), given)
            shortcut = self._run(layer.shortcut, f"{name}.shortcut", x, given)
            out = self._normalised(layer.norm2, f"{name}.norm2", out, weights, relu=True, beside=shortcut)
            return self._seen(f"{name}.relu2", out, given)
        if isinstance(layer, (Chain, nn.Sequential)):
            children = list(layer.named_children())
            kinds = [None, *(type(inner) for _, inner in children), None]
            for (child, inner), before, behind in zip(children, kinds, kinds[2:], strict=False):
                own = f"{name}.{child}" if name else child
                if isinstance(inner, nn.GroupNorm):
                    x = self._normalised(inner, own, x, weights, relu=behind is nn.ReLU)
                elif (before, type(inner)) == (nn.GroupNorm, nn.ReLU):  # the norm's kernel has done it
                    x = self._seen(own, x, given)
                elif isinstance(inner, (Chain, nn.Sequential, Block)):
                    x = self._run(inner, own, x, given)
                else:
                    x = self._seen(own, self._run(inner, own, x, given), given)
            return x
        if isinstance(layer, nn.Conv2d):
            bias = weights[f"{name}.bias"].flatten() if layer.bias is not None else None
            return self._convolved(layer, name, x, weights[f"{name}.weight"], bias, given.places[f"{name}.weight"])
        if isinstance(layer, nn.Flatten):
            clients = len(next(iter(weights.values())))
            return x.reshape(len(x), clients, -1).transpose(0, 1)
        if isinstance(layer, nn.Linear):
            product = x @ weights[f"{name}.weight"].mT
            return product if layer.bias is None else product + weights[f"{name}.bias"][:, None]
        return layer(x)

    def _convolved(
        self, layer: nn.Conv2d, name: str, x: Tensor, w: Tensor, bias: Tensor | None, place: Tensor
    ) -> Tensor:
        """In groups, as products with copied windows, or by our kernels, which write the weights' gradient in place."""
        stride, padding = layer.stride, self.padding[name]
        if name not in self.by_products:
            return F.conv2d(x, w.flatten(0, 1), bias, stride, padding, layer.dilation, len(w))
        known = self.kernels and x.dtype in (torch.float32, torch.bfloat16)
        module = kernels_for("convolution_kernels", x, w) if known else None
        if module is not None:
            out = module.convolved(x, w, stride, padding, place)
        else:
            out = convolved(x, w, stride, padding)
        return out if bias is None else out + bias[:, None, None]

    def _normalised(
        self,
        layer: nn.Module,
        name: str,
        x: Tensor,
        weights: dict[str, Tensor],
        relu: bool,
        beside: Tensor | None = None,
    ) -> Tensor:
        """The norm, plus what comes from the shortcut, and the ReLU behind them: on a GPU one kernel each way."""
        assert isinstance(layer, nn.GroupNorm)  # ``of`` has let nothing else pass
        scale, shift = (weights[f"{name}.{part}"] for part in ("weight", "bias"))  # [S, C]
        function = _compiled() if x.is_cuda else _norm_add_relu
        groups = len(scale) * layer.num_groups
        return function(x, groups, scale.flatten(), shift.flatten(), layer.eps, relu, beside)


def _known(layer: nn.Module) -> bool:
    if isinstance(layer, nn.Conv2d):
        return plain_convolution(layer)
    if isinstance(layer, Block):
        return isinstance(layer.norm1, nn.GroupNorm)
    return isinstance(layer, (*_BY_CHANNEL, *_KNOWN)) and not (isinstance(layer, nn.GroupNorm) and not layer.affine)


def _norm_add_relu(
    x: Tensor, groups: int, scale: Tensor, shift: Tensor, eps: float, relu: bool, beside: Tensor | None
) -> Tensor:
    out = F.group_norm(x, groups, scale, shift, eps)
    out = out if beside is None else out + beside
    return F.relu(out) if relu else out


@cache
def _compiled() -> Callable[..., Tensor]:
    """``_norm_add_relu`` as torch's compiler fuses it, once per shape."""
    torch._dynamo.config.cache_size_limit = max(64, torch._dynamo.config.cache_size_limit)
    return torch.compile(_norm_add_relu, dynamic=False)
