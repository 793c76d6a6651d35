"""Hand-written gradients of fully connected networks, many clients in one call.

Forward and backward pass are a handful of batched matrix products; the exact gradient of softmax cross-entropy is
p - y. There is no graph to record and the weights' gradients are written where they belong in the flat vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from artifact.flat import Layout
from artifact.models import Chain, Dropout


@dataclass(frozen=True)
class Perceptron:
    """A chain of fully connected layers, ReLU and dropout, in order of execution.

    layers: (name, module).  watched: names of the layers whose mean squared output joins the loss.  zeta: its weight.
    """

    layers: tuple[tuple[str, nn.Module], ...]
    layout: Layout
    watched: frozenset[str] = frozenset()
    zeta: float = 0.0

    @classmethod
    def of(cls, model: nn.Module, layout: Layout, watched: Sequence[str], zeta: float) -> Perceptron | None:
        """None for a model that has other layers."""
        if not isinstance(model, Chain):
            return None
        layers = tuple((n, m) for n, m in model.named_children() if not isinstance(m, nn.Flatten))
        if not all(
            isinstance(m, (nn.ReLU, Dropout)) or (type(m) is nn.Linear and m.bias is not None) for _, m in layers
        ):
            return None
        return cls(layers, layout, frozenset(watched) if zeta else frozenset(), zeta)

    def gradients(self, W: Tensor, x: Tensor, y: Tensor, uniforms: Tensor | None) -> Tensor:
        """W: [R, P], x: [R, B, ...], y: [R, B], uniforms: [R, B, D] or None -> [R, P], of the mean loss per client."""
        weights, out = self.layout.views(W), torch.empty_like(W)
        inputs, outputs, masks = self._forward(weights, x.flatten(2), uniforms)
        logits = outputs[self.layers[-1][0]]
        d = torch.softmax(logits, -1)
        d.scatter_add_(2, y[..., None], d.new_full((*y.shape, 1), -1.0))
        d /= y.shape[1]
        self._backward(weights, self.layout.views(out), d, inputs, outputs, masks)
        return out

    def _forward(self, weights: dict[str, Tensor], a: Tensor, uniforms: Tensor | None):
        """Inputs of the linear layers, outputs of all layers, dropout factors, by layer name."""
        inputs, outputs, masks, used = {}, {}, {}, 0
        for name, layer in self.layers:
            if isinstance(layer, nn.Linear):
                inputs[name] = a
                a = torch.baddbmm(weights[f"{name}.bias"][:, None], a, weights[f"{name}.weight"].mT)
            elif isinstance(layer, Dropout):
                draws = uniforms[..., used : used + layer.units]
                used += layer.units
                masks[name] = (draws >= layer.p).to(a.dtype) / (1 - layer.p)
                a = a * masks[name]
            else:
                a = a.relu()
            outputs[name] = a
        return inputs, outputs, masks

    def _backward(self, weights, gradients, d, inputs, outputs, masks) -> None:
        """d: derivative of the loss in the logits; fills ``gradients``, the views of the result."""
        first = self.layers[0][0]
        for name, layer in reversed(self.layers):
            if name in self.watched:
                a = outputs[name]
                d = d + (2 * self.zeta / a[0].numel()) * a
            if isinstance(layer, nn.Linear):
                torch.bmm(d.mT, inputs[name], out=gradients[f"{name}.weight"])
                torch.sum(d, 1, out=gradients[f"{name}.bias"])
                d = torch.bmm(d, weights[f"{name}.weight"]) if name != first else d
            elif isinstance(layer, Dropout):
                d = d * masks[name]
            else:
                d = torch.ops.aten.threshold_backward(d, outputs[name], 0.0)
