"""What the drivers of other frameworks share: the exported work, the models, the turn-taking.

Runs in the frameworks' own environment, without the package ``artifact``. ``docs/performance/frameworks.py`` writes
the work (a folder of .npy files and ``work.json``) and starts the drivers; a line on standard input plays a
round, the answer is a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Work:
    """The same federated training for everybody.

    x: [n, C, H, W] normalised float32 images.  y: [n] labels.  w: [P] initial weights in ``parameters()`` order.
    cohorts: [rounds, S] active clients.  batches: [rounds, S, K, B] sample indices of every local step.
    lr, weight_decay: of plain SGD.  model: ``lenet`` or ``mlp-200``.
    """

    x: Tensor
    y: Tensor
    w: Tensor
    cohorts: np.ndarray
    batches: Tensor
    lr: float
    weight_decay: float
    model: str

    @classmethod
    def read(cls, folder: Path) -> Work:
        arrays = {name: np.load(folder / f"{name}.npy") for name in ("x", "y", "w", "cohorts", "batches")}
        tensors = {name: torch.from_numpy(arrays[name]) for name in ("x", "y", "w", "batches")}
        return cls(cohorts=arrays["cohorts"], **tensors, **json.loads((folder / "work.json").read_text()))

    def images(self, tuned: bool) -> Tensor:
        """All images, with the channels innermost where that is faster."""
        return self.x.contiguous(memory_format=torch.channels_last) if tuned and self.x.shape[1] > 1 else self.x

    def network(self, tuned: bool) -> nn.Sequential:
        """The model at the initial weights; tuned: pooling before the ReLU, which gives the same outputs."""
        model = lenet(tuned) if self.model == "lenet" else perceptron()
        load(model, self.w)
        return model.to(memory_format=torch.channels_last) if tuned else model

    def optimiser(self, parameters: Any, tuned: bool, lr: float | None = None) -> torch.optim.SGD:
        rate = self.lr if lr is None else lr
        return torch.optim.SGD(parameters, lr=rate, weight_decay=self.weight_decay, fused=tuned)


def lenet(tuned: bool) -> nn.Sequential:
    """3x32x32 images: two 5x5 convolutions of 64 channels, fully connected layers of 384 and 192."""
    layers: list[nn.Module] = []
    for inside in (3, 64):
        behind = [nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Conv2d(inside, 64, 5), *(reversed(behind) if tuned else behind)]
    dense = [nn.Linear(1600, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10)]
    return nn.Sequential(*layers, nn.Flatten(), *dense)


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))


@torch.no_grad()
def load(model: nn.Module, flat: Tensor) -> None:
    """Set the parameters from a vector [P]."""
    parts = flat.split([p.numel() for p in model.parameters()])
    for parameter, part in zip(model.parameters(), parts, strict=True):
        parameter.copy_(part.view(parameter.shape))


@torch.no_grad()
def flat(model: nn.Module) -> np.ndarray:
    """[P], the parameters as one vector."""
    return torch.cat([p.reshape(-1) for p in model.parameters()]).numpy()


def begin(argument: str) -> tuple[dict[str, Any], TextIO]:
    """The request, obeyed as far as cores are concerned, and the channel for answers.

    What frameworks print goes to standard error.
    """
    asked = json.loads(argument)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked["cores"]])
    torch.set_num_threads(asked["threads"])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return asked, out


@dataclass
class Turns:
    """Round by round: ``wait`` for a line on standard input, ``done`` answers with the seconds since then.

    steps: gradients computed so far by this process; None where other processes compute them.
    """

    out: TextIO
    keep: Path
    steps: int | None = None
    round: int = 0

    def ready(self, facts: dict[str, Any]) -> None:
        self._say({"ready": facts})

    def wait(self) -> bool:
        """False when there is no further round to play."""
        if not sys.stdin.readline():
            return False
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return True

    def done(self, weights: np.ndarray, **more: Any) -> None:
        """Answer; ``weights`` [P] are the server model, kept so that the work can be compared."""
        seconds = {"train": time.perf_counter() - self.wall, "own_cpu": time.process_time() - self.cpu}
        self.round += 1
        np.save(self.keep, weights)
        self._say(seconds | {"steps": self.steps, "round": self.round} | more)

    def _say(self, message: dict[str, Any]) -> None:
        self.out.write(json.dumps(message) + "\n")
        self.out.flush()
