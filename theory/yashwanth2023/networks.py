"""Small real networks in float64: forward pass, layer Hessians by automatic differentiation, pre-activation Hessians.

Layers are numbered 1..L as in the paper; layer l maps a_{l-1} to z_l = W_l a_{l-1} + b_l, and the logits are z_L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.func import hessian

from theory.yashwanth2023.common import Array, digits, power_iteration

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "leaky_relu": lambda z: torch.where(z > 0, z, 0.1 * z),
    "tanh": torch.tanh,
    "gelu": torch.nn.functional.gelu,
}


@dataclass(frozen=True)
class Mlp:
    """Fully connected classifier: W_l [d_l, d_{l-1}], b_l [d_l] and a key of ``ACTIVATIONS``."""

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    activation: str = "relu"

    @property
    def depth(self) -> int:
        """L."""
        return len(self.weights)

    @property
    def squared_norm(self) -> float:
        """||theta||_2^2 over all weights and biases."""
        return float(sum((t.detach() ** 2).sum() for t in (*self.weights, *self.biases)))

    def trace(self, inputs: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Pre-activations z_1..z_L and inputs of the layers a_0..a_{L-1}, each [batch, width]."""
        pre, post = [], [inputs]
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True), start=1):
            pre.append(post[-1] @ weight.T + bias)
            if layer < self.depth:
                post.append(ACTIVATIONS[self.activation](pre[-1]))
        return pre, post

    def loss_from(self, layer: int, pre_activation: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy as a function of z_layer [batch, d_layer], everything above held fixed."""
        z = pre_activation
        for weight, bias in zip(self.weights[layer:], self.biases[layer:], strict=True):
            z = ACTIVATIONS[self.activation](z) @ weight.T + bias
        return torch.nn.functional.cross_entropy(z, labels)

    def layer_loss(self, layer: int, inputs: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
        """Mean loss as a function of vec(W_layer), rows stacked one after the other."""
        below = self.trace(inputs)[1][layer - 1]
        shape = self.weights[layer - 1].shape
        return lambda w: self.loss_from(layer, below @ w.reshape(shape).T + self.biases[layer - 1], labels)

    def layer_hessian(self, layer: int, inputs: Tensor, labels: Tensor) -> Array:
        """Dense H_{W_l} of the mean loss, row-major vec(W_l), by automatic differentiation."""
        loss = self.layer_loss(layer, inputs, labels)
        return hessian(loss)(self.weights[layer - 1].flatten()).numpy()

    def layer_top(self, layer: int, inputs: Tensor, labels: Tensor, seed: int = 0) -> float:
        """lambda_max(H_{W_l}) by power iteration on Hessian-vector products, without forming the Hessian."""
        loss, point = self.layer_loss(layer, inputs, labels), self.weights[layer - 1].flatten().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(point), point, create_graph=True)

        def product(vector: Array) -> Array:
            (image,) = torch.autograd.grad(gradient, point, torch.from_numpy(vector), retain_graph=True)
            return image.numpy()

        return power_iteration(product, point.numel(), seed)

    def output_hessian(self, layer: int, inputs: Tensor, labels: Tensor) -> Array:
        """M_l = Hessian of one sample's loss with respect to z_l, [d_l, d_l]; inputs [1, d_0], labels [1]."""
        z = self.trace(inputs)[0][layer - 1].flatten()
        return hessian(lambda v: self.loss_from(layer, v[None], labels))(z).numpy()

    def full_hessian(self, inputs: Tensor, labels: Tensor) -> tuple[Array, list[int]]:
        """Hessian in all parameters, grouped by layer (W_l row-major, then b_l), and the layer sizes d_l."""
        sizes = [w.numel() + b.numel() for w, b in zip(self.weights, self.biases, strict=True)]

        def loss(theta: Tensor) -> Tensor:
            weights, biases = [], []
            for part, w in zip(theta.split(sizes), self.weights, strict=True):
                weights.append(part[: w.numel()].reshape(w.shape))
                biases.append(part[w.numel() :])
            return Mlp(tuple(weights), tuple(biases), self.activation).loss_from(
                1, inputs @ weights[0].T + biases[0], labels
            )

        theta = torch.cat([torch.cat([w.flatten(), b]) for w, b in zip(self.weights, self.biases, strict=True)])
        return hessian(loss)(theta).numpy(), sizes

    def activation_penalty(self, inputs: Tensor) -> Tensor:
        """L^act of the hidden layers: sum over l < L of the mean of a_l^2 over batch and units (eqs. (16) and (18))."""
        return sum((a**2).mean() for a in self.trace(inputs)[1][1:])


def random_mlp(widths: tuple[int, ...], seed: int, activation: str = "relu", gain: float = 1.0) -> Mlp:
    """Gaussian weights with variance gain^2 * 2 / fan-in and small biases, float64."""
    rng = np.random.default_rng(seed)
    weights = [rng.standard_normal((m, n)) * gain * np.sqrt(2 / n) for n, m in pairwise(widths)]
    biases = [0.1 * rng.standard_normal(m) for m in widths[1:]]
    return Mlp(tuple(map(torch.from_numpy, weights)), tuple(map(torch.from_numpy, biases)), activation)


def random_batch(dimension: int, classes: int, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Gaussian inputs [count, dimension] and uniform labels [count]."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((count, dimension))), torch.from_numpy(rng.integers(0, classes, count))


@cache
def digit_batch(count: int, features: int) -> tuple[Tensor, Tensor]:
    """Digits projected on a fixed random [64, features] map (small layers, real data), and their labels."""
    pixels, labels = digits(count)
    projection = np.random.default_rng(0).standard_normal((64, features)) / 4
    return torch.from_numpy(pixels @ projection), torch.from_numpy(labels)


@dataclass(frozen=True)
class Trained:
    """Network after full-batch gradient descent, and (loss, ||theta||, L^act) along the way."""

    network: Mlp
    path: tuple[tuple[float, float, float], ...]


@cache
def trained_mlp(
    widths: tuple[int, ...] = (12, 10, 10, 10),
    zeta: float = 0.0,
    decay: float = 0.0,
    steps: int = 300,
    rate: float = 0.2,
    count: int = 150,
) -> Trained:
    """Full-batch gradient descent on digits with loss + zeta L^act + decay/2 ||theta||^2; deterministic."""
    inputs, labels = digit_batch(count, widths[0])
    start = random_mlp(widths, seed=1)
    tensors = [t.clone().requires_grad_() for t in (*start.weights, *start.biases)]
    depth, path = start.depth, []
    for _ in range(steps):
        network = Mlp(tuple(tensors[:depth]), tuple(tensors[depth:]), start.activation)
        loss = network.loss_from(network.depth, network.trace(inputs)[0][-1], labels)
        penalty = network.activation_penalty(inputs)
        norm = float(network.squared_norm)
        path.append((float(loss), norm**0.5, float(penalty)))
        objective = loss + zeta * penalty + decay / 2 * sum((t**2).sum() for t in tensors)
        gradients = torch.autograd.grad(objective, tensors)
        with torch.no_grad():
            for tensor, gradient in zip(tensors, gradients, strict=True):
                tensor -= rate * gradient
    final = [t.detach() for t in tensors]
    return Trained(Mlp(tuple(final[:depth]), tuple(final[depth:]), start.activation), tuple(path))
