"""Value of the margin bound of Theorem 3.5 on real networks."""

from __future__ import annotations

from itertools import pairwise
from math import log, sqrt

import numpy as np
import torch

from artifact.base.random import numpy_stream
from artifact.data.digits import handwritten_digits
from theory.kit.verdict import Verdict, check
from theory.qu2022 import figures

WIDTH, SAMPLES, CLIENTS, LARGEST_NORM, ZETA = 128, 600, 100, 10, 0.05
MARGINS = (0.1, 1.0, 10.0)


def _layers(rng: np.random.Generator) -> list[torch.Tensor]:
    """Three bias-free layers 64-128-128-10 with the usual uniform(+-1/sqrt(fan-in)) start."""
    sizes = (64, WIDTH, WIDTH, 10)
    layers = []
    for inputs, outputs in pairwise(sizes):
        bound = 1 / sqrt(inputs)
        layers.append(torch.from_numpy(rng.uniform(-bound, bound, (outputs, inputs))).requires_grad_())
    return layers


def _scores(layers: list[torch.Tensor], X: torch.Tensor) -> torch.Tensor:
    for W in layers[:-1]:
        X = torch.relu(X @ W.T)
    return X @ layers[-1].T


def _train(layers: list[torch.Tensor], X: torch.Tensor, y: torch.Tensor, steps: int = 300) -> float:
    """Full-batch gradient descent with momentum on the cross-entropy; final training accuracy."""
    optimiser = torch.optim.SGD(layers, lr=0.3, momentum=0.9)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(_scores(layers, X), y).backward()
        optimiser.step()
    return float((_scores(layers, X).argmax(1) == y).double().mean())


def complexity(layers: list[torch.Tensor], radius: float, margin: float, squared: bool) -> float:
    """Square root in Theorem 3.5 with constant 1; squared: A^2 and squared spectral norms (form of the KL term)."""
    spectral = np.array([float(torch.linalg.matrix_norm(W.detach(), 2)) for W in layers])
    frobenius = np.array([float(torch.linalg.matrix_norm(W.detach())) for W in layers])
    power, depth = (2 if squared else 1), len(layers)
    q = np.prod(spectral**power) * np.sum(frobenius**2 / spectral**power)
    top = 32 * radius**power * depth**2 * WIDTH * log(depth * WIDTH) * q
    top += depth * log(CLIENTS * SAMPLES * depth * log(LARGEST_NORM) / ZETA)
    return sqrt(top / (margin**2 * SAMPLES))


@check("qu22-thm3.5-value", figure=figures.margin_bound_values)
def value_of_the_margin_bound() -> Verdict:
    """Value of the margin bound on digit classifiers.

    Statement: the right side of Theorem 3.5, constant in O(.) set to 1, is below 1 for some realistic configuration.
    Assumptions: m = 600 samples per client, N = 100, M = 10, zeta = 0.05, gamma in {0.1, 1, 10}; a bias-free ReLU
        network 64-128-128-10 on the handwritten digits of scikit-learn, at initialisation and after training.
    Method: spectral and Frobenius norms; both forms of Q; samples per client that would bring the bound to 1.
    Verdict: vacuous: above 1 in all twelve configurations.
    Reference: Qu et al. 2022, Theorem 3.5.
    """
    pixels, labels = handwritten_digits()
    X = torch.from_numpy(pixels / 16.0)
    y = torch.from_numpy(labels)
    radius = float(X.norm(dim=1).max())
    layers = _layers(numpy_stream(0, "weights"))
    rows = []
    for state in ("initial", "trained"):
        accuracy = (
            _train(layers, X, y) if state == "trained" else float((_scores(layers, X).argmax(1) == y).double().mean())
        )
        for squared in (False, True):
            for margin in MARGINS:
                value = complexity(layers, radius, margin, squared)
                rows.append([state, round(accuracy, 4), squared, margin, round(value, 2), round(SAMPLES * value**2)])
    smallest = min(row[4] for row in rows)
    columns = ["state", "training accuracy", "squared norms", "gamma", "bound", "samples for bound 1"]
    reason = (
        f"smallest value of the complexity term over twelve configurations: {smallest} (an error rate is at most 1)"
    )
    if smallest <= 1:
        return Verdict("consistent", {"printed": "below 1 somewhere", "derived": smallest, "rows": rows})
    return Verdict("vacuous", {"reason": reason, "columns": columns, "rows": rows, "input_norm": radius}, smallest)
