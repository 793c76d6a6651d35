"""Hand-written gradients of fully connected networks, many clients in one call.

Forward and backward pass are a handful of batched matrix products; the exact gradient of softmax cross-entropy is
p - y. There is no graph to record and the weights' gradients are written where they belong in the flat vector.

Large products in float32 can go to oneDNN, client by client. torch gives all of them to MKL, which reaches half of
oneDNN's rate on some processors; the operator behind oneDNN's is the one that torch's own compiler emits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from artifact.base.cache import cache
from artifact.base.flat import Layout
from artifact.models.networks import Chain, Dropout

#: multiplications of one client's product from which on oneDNN's rate outweighs its cost per call
_LARGE = 1 << 21

#: tensors by name
Named = dict[str, Tensor]


@dataclass(frozen=True)
class Perceptron:
    """A chain of fully connected layers, ReLU and dropout, in order of execution.

    layers: (name, module).  watched: names of the layers whose mean squared output joins the loss.  zeta: its weight.
    onednn: large products in float32 on the CPU go to oneDNN, where torch has it.
    """

    layers: tuple[tuple[str, nn.Module], ...]
    layout: Layout
    watched: frozenset[str] = frozenset()
    zeta: float = 0.0
    onednn: bool = False

    @classmethod
    def of(
        cls, model: nn.Module, layout: Layout, watched: Sequence[str], zeta: float, onednn: bool = False
    ) -> Perceptron | None:
        """None for a model that has other layers."""
        layers = layers_in_a_row(model, layout)
        plain = cls.of_layers(layers[1:], layout) if layers and is_flatten(layers[0][1]) else None
        return plain and replace(plain, watched=frozenset(watched) if zeta else frozenset(), zeta=zeta, onednn=onednn)

    @classmethod
    def of_layers(cls, layers: Iterable[tuple[str, nn.Module]], layout: Layout) -> Perceptron | None:
        """The layers of a network on rows of numbers; None where there are others."""
        layers = tuple((n, m) for n, m in layers if not is_flatten(m))
        if not any(type(m) is nn.Linear for _, m in layers):
            return None
        if not all(
            isinstance(m, (nn.ReLU, Dropout)) or (type(m) is nn.Linear and m.bias is not None) for _, m in layers
        ):
            return None
        return cls(layers, layout)

    def gradients(self, W: Tensor, x: Tensor, y: Tensor, uniforms: Tensor | None) -> Tensor:
        """W: [R, P], x: [R, B, ...], y: [R, B], uniforms: [R, B, D] or None -> [R, P], of the mean loss per client."""
        out = torch.empty_like(W)
        self.fill(self.layout.views(W), self.layout.views(out), x.flatten(2), y, uniforms)
        return out

    def fill(
        self,
        weights: dict[str, Tensor],
        gradients: dict[str, Tensor],
        a: Tensor,
        y: Tensor,
        uniforms: Tensor | None,
        inwards: bool = False,
    ) -> Tensor:
        """Write the gradients of these layers, from inputs a [R, B, I]; if ``inwards``, those in a are the result."""
        inputs, outputs, masks = self._forward(weights, a, uniforms)
        logits = outputs[self.layers[-1][0]]
        d = torch.softmax(logits, -1)
        d.scatter_add_(2, y[..., None], d.new_full((*y.shape, 1), -1.0))
        d /= y.shape[1]
        return self._backward(weights, gradients, d, inputs, outputs, masks, inwards)

    def _forward(self, weights: Named, a: Tensor, uniforms: Tensor | None) -> tuple[Named, Named, Named]:
        """Inputs of the linear layers, outputs of all layers, dropout factors, by layer name."""
        inputs, outputs, masks, used = {}, {}, {}, 0
        for name, layer in self.layers:
            if isinstance(layer, nn.Linear):
                inputs[name] = a
                a = self._affine(a, weights[f"{name}.weight"], weights[f"{name}.bias"])
            elif isinstance(layer, Dropout):
                assert uniforms is not None  # they come with a model that has dropout
                draws = uniforms[..., used : used + layer.units]
                used += layer.units
                masks[name] = layer.factors(draws, a.dtype)
                a = a * masks[name]
            else:
                a = a.relu()
            outputs[name] = a
        return inputs, outputs, masks

    def _backward(
        self, weights: Named, gradients: Named, d: Tensor, inputs: Named, outputs: Named, masks: Named, inwards: bool
    ) -> Tensor:
        """d: derivative of the loss in the logits; fills ``gradients``, the views of the result."""
        first = self.layers[0][0]
        for name, layer in reversed(self.layers):
            if name in self.watched:
                a = outputs[name]
                d = d + (2 * self.zeta / a[0].numel()) * a
            if isinstance(layer, nn.Linear):
                self._outer(d, inputs[name], gradients[f"{name}.weight"])
                torch.sum(d, 1, out=gradients[f"{name}.bias"])
                d = torch.bmm(d, weights[f"{name}.weight"]) if inwards or name != first else d
            elif isinstance(layer, Dropout):
                d = d * masks[name]
            else:
                d = torch.ops.aten.threshold_backward(d, outputs[name], 0.0)
        return d

    def _affine(self, a: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """a: [R, B, I], weight: [R, O, I], bias: [R, O] -> [R, B, O]."""
        product = self._product(a, weight)
        if product is None:
            return torch.baddbmm(bias[:, None], a, weight.mT)
        parts = zip(a.unbind(), weight.unbind(), bias.unbind(), strict=True)
        return torch.stack([product(x, w, b, "none", [], "") for x, w, b in parts])

    def _outer(self, d: Tensor, a: Tensor, out: Tensor) -> None:
        """d: [R, B, O], a: [R, B, I], out: [R, O, I] <- d^T a."""
        product = self._product(a, out)
        if product is None:
            torch.bmm(d.mT, a, out=out)
            return
        for into, left, right in zip(out.unbind(), d.unbind(), a.unbind(), strict=True):
            into.copy_(product(left.T, right.T, None, "none", [], ""))

    def _product(self, a: Tensor, weight: Tensor) -> Callable[..., Tensor] | None:
        """oneDNN's x w^T + b for a layer with inputs a [R, B, I] and weights [R, O, I]; None where torch chooses."""
        large = a.shape[1] * weight[0].numel() >= _LARGE
        if not (self.onednn and large and a.dtype == torch.float32 and a.device.type == "cpu"):
            return None
        return onednn_linear()


def layers_in_a_row(model: nn.Module, layout: Layout) -> list[tuple[str, nn.Module]] | None:
    """The layers of a plain chain that hold all its parameters, each its own; None for any other model."""
    if not isinstance(model, Chain) or type(model).forward is not Chain.forward:
        return None
    layers = list(model.named_children())
    held = [f"{name}.{own}" for name, layer in layers for own, _ in layer.named_parameters()]
    return layers if held == list(layout.names) else None


def is_flatten(layer: nn.Module) -> bool:
    """Whether it makes one row of a sample."""
    return type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1)


@cache
def onednn_linear() -> Callable[..., Tensor] | None:
    """torch's operator for a linear layer in oneDNN; None in a torch without it."""
    operator = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None
    return operator and operator.default
