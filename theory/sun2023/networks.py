"""Small networks for the generalisation bound: a ReLU net under perturbation and one trained on handwritten digits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from artifact.data.digits import handwritten_digits

LAYERS, WIDTH = 3, 2


def relu_change(x: np.ndarray) -> float:
    """Change of a 3-layer ReLU net over e L_n prod ||w_l|| sum ||s_l||/||w_l||, with ||s_l|| <= ||w_l||/3.

    x: 26 numbers, three 2x2 weights, three 2x2 perturbation shapes, one input.
    """
    size = LAYERS * WIDTH**2
    weights = x[:size].reshape(LAYERS, WIDTH, WIDTH)
    shapes = x[size : 2 * size].reshape(LAYERS, WIDTH, WIDTH)
    norms = [np.linalg.norm(w, 2) for w in weights]
    lengths = [np.linalg.norm(s, 2) for s in shapes]
    if min(norms) < 1e-6 or min(lengths) < 1e-9 or np.linalg.norm(x[2 * size :]) < 1e-9:
        return np.nan
    moves = [min(1.0, w / LAYERS / s) * shape for w, s, shape in zip(norms, lengths, shapes, strict=True)]
    plain = moved = x[2 * size :]
    for layer, (w, s) in enumerate(zip(weights, moves, strict=True)):
        plain, moved = w @ plain, (w + s) @ moved
        if layer < LAYERS - 1:
            plain, moved = np.maximum(plain, 0), np.maximum(moved, 0)
    share = sum(np.linalg.norm(s, 2) / w for s, w in zip(moves, norms, strict=True))
    return float(np.linalg.norm(moved - plain) / (np.e * np.linalg.norm(x[2 * size :]) * np.prod(norms) * share))


def train_two_layers(features: np.ndarray, labels: np.ndarray, width: int, steps: int = 400) -> list[np.ndarray]:
    """Weights [width, inputs], [classes, width] after full-batch gradient descent on the cross-entropy, no biases."""
    rng = np.random.default_rng(0)
    classes = int(labels.max()) + 1
    first = rng.standard_normal((width, features.shape[1])) * np.sqrt(2 / features.shape[1])
    second = rng.standard_normal((classes, width)) * np.sqrt(2 / width)
    targets = np.eye(classes)[labels]
    for _ in range(steps):
        hidden = np.maximum(features @ first.T, 0)
        scores = hidden @ second.T
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        error = (shares / shares.sum(axis=1, keepdims=True) - targets) / len(labels)
        back = (error @ second) * (hidden > 0)
        second -= 2.0 * error.T @ hidden
        first -= 2.0 * back.T @ features
    return [first, second]


@cache
def digits_network(width: int = 64) -> dict[str, Any]:
    """Margins, norms and the explicit bound of a two-layer ReLU net trained on 1,257 digits, ||x|| <= 1."""
    pixels, labels = handwritten_digits()
    features = pixels / np.linalg.norm(pixels, axis=1).max()
    train, test = slice(0, 1257), slice(1257, None)
    weights = train_two_layers(features[train], labels[train], width)

    def margins(part: slice) -> np.ndarray:
        scores = np.maximum(features[part] @ weights[0].T, 0) @ weights[1].T
        own = scores[np.arange(len(scores)), labels[part]]
        scores[np.arange(len(scores)), labels[part]] = -np.inf
        return own - scores.max(axis=1)

    norms = [np.linalg.norm(w, 2) for w in weights]
    ratio = sum(np.linalg.norm(w) ** 2 / n**2 for w, n in zip(weights, norms, strict=True))
    found, count, layers = margins(train), 1257, 2
    best = min(
        _bound(found, eps, norms, ratio, layers, width, count)
        for eps in np.quantile(np.maximum(found, 1e-6), np.linspace(0.005, 1, 200))
    )
    return {
        "test error": float(np.mean(margins(test) <= 0)),
        "bound": best,
        "V_L": float(np.prod(norms) ** 2 * ratio),
        "spectral norms": [float(n) for n in norms],
        "median margin": float(np.median(found)),
    }


def _bound(margins: np.ndarray, eps: float, norms: list, ratio: float, layers: int, width: int, count: int) -> float:
    divergence = 16 * np.e**4 * layers**2 * np.prod(norms) ** 2 * width * np.log(4 * width * layers) * ratio / eps**2
    return float(np.mean(margins <= eps) + 4 * np.sqrt((divergence + np.log(6 * count / 0.05)) / (count - 1)))
