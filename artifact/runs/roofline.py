"""What a round must compute and move, and the shortest time that a device could do it in.

The count is of the layers, not of a program: whatever way a gradient is computed, a dense product of every layer takes
so many operations, and weights, gradients and activations go through memory at least so often. A device that computes
and moves at the same time needs the longer of the two times. What a run takes beyond that is overhead.

* Operations: products of convolutions and fully connected layers. A kernel entry that meets nothing but padding is left
  out. A gradient takes three such products, for the output, the input and the weights; the first layer has no input's.
* Bytes: every activation five times (written and read forward, read once more backward, its gradient written and read),
  the live weights twice in the precision of the products, their gradient written, and one pass that reads weights and
  gradient and writes the weights, in float32. A weight is live if it meets a pixel; the others only decay, which a
  closed form does once a round.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from torch import nn

from artifact import data
from artifact.accelerate.cpu.cropped_convolutions import fitted
from artifact.base.cache import cache
from artifact.base.errors import UserError, first_fault
from artifact.base.files import read_file
from artifact.models import networks
from artifact.models.activations import input_shapes
from artifact.runs.archive import finished
from artifact.training import config
from artifact.training.config import RunConfig

TABLE = Path(__file__).with_name("machines.toml")
#: (training images, test images) of the data sets, which are known without reading them; "*": of the user's own
IMAGES = {
    "digits": (1_437, 360),
    "mnist": (60_000, 10_000),
    "fashion-mnist": (60_000, 10_000),
    "fashion-mnist-validation": (50_000, 10_000),
    "emnist": (697_932, 116_323),
    "emnist-20": (139_586, 23_264),
    "cifar10": (50_000, 10_000),
    "cifar10-validation": (40_000, 10_000),
    "cifar100": (50_000, 10_000),
    "tiny-imagenet": (100_000, 10_000),
    "*": (50_000, 10_000),
}
#: bytes of a number, by the type that products read
BYTES = {"float64": 8, "float32": 4, "tf32": 4, "bfloat16": 2}
#: how often an activation goes through memory in a gradient
PASSES_OF_ACTIVATIONS = 5


@dataclass(frozen=True)
class Part:
    """A layer at work on one image.

    multiplications: of the forward pass.  live: weights that meet a pixel.  numbers: what it puts out and others read.
    first: no gradient of its input is asked for.
    """

    name: str
    multiplications: int
    live: int
    numbers: int
    first: bool = False

    @property
    def gradient(self) -> int:
        """Multiplications of a gradient: forward, of the weights and, behind the first layer, of the input."""
        return self.multiplications * (2 if self.first else 3)


def parts(model: networks.Model) -> list[Part]:
    """The layers of a network in order of execution; what acts on single numbers goes with the layer before it.

    Raises UserError for a network with attention, whose products are in no layer.
    """
    if any(isinstance(layer, nn.MultiheadAttention) for layer in model.modules()):
        raise UserError("model", model.name, "a network of convolutions, norms, pooling and fully connected layers")
    kinds = (nn.Conv2d, nn.Linear, nn.GroupNorm, nn.modules.batchnorm._BatchNorm, nn.MaxPool2d, nn.AvgPool2d)
    was_training = model.training
    model.eval()  # running statistics stay, and dropout draws nothing
    seen = input_shapes(model, next(model.parameters()).new_zeros(1, *model.input_shape), kinds)
    model.train(was_training)
    found: list[Part] = []
    for name, layer, shape in seen:
        first = not any(part.multiplications for part in found)
        found.append(_part(name, layer, tuple(shape[1:]), first))
    return found


def _part(name: str, layer: nn.Module, shape: tuple[int, ...], first: bool) -> Part:
    weights = sum(p.numel() for p in layer.parameters(recurse=False))
    if isinstance(layer, nn.Linear):
        return Part(name, layer.in_features * layer.out_features, weights, layer.out_features, first)
    if isinstance(layer, nn.Conv2d):
        size: Any = layer.kernel_size
        if not isinstance(layer.padding, str) and layer.padding_mode == "zeros":
            kept, _ = fitted(layer, shape[1:])
            size = [part.stop - part.start for part in kept]
        kernels = layer.out_channels * layer.in_channels // layer.groups * math.prod(size)
        pixels = _pixels(layer, shape)
        biases = 0 if layer.bias is None else layer.out_channels
        return Part(name, kernels * pixels, kernels + biases, layer.out_channels * pixels, first)
    if isinstance(layer, (nn.MaxPool2d, nn.AvgPool2d)):
        return Part(name, 0, 0, shape[0] * _pixels(layer, shape))
    return Part(name, 0, weights, math.prod(shape))


def _pixels(layer: nn.Module, shape: tuple[int, ...]) -> int:
    with torch.no_grad():
        return math.prod(layer(next(layer.parameters(), torch.zeros(0)).new_zeros(1, *shape)).shape[2:])


@dataclass(frozen=True)
class Work:
    """Of one round: operations (two a multiplication) and bytes.

    operations, moved: of the local steps and, shared out over the rounds, of the evaluation.
    live, weights: weights that meet a pixel, and all of them.  steps: local steps of the cohort.
    """

    operations: float
    moved: float
    live: int
    weights: int
    steps: int

    def seconds(self, machine: Machine, dtype: str) -> float:
        """The limit: the longer of computing and moving."""
        return max(self.operations / (machine.product(dtype) * 1e12), self.moved / (machine.copy_tb * 1e12))

    def bound_by(self, machine: Machine, dtype: str) -> str:
        moving = self.moved / machine.copy_tb
        return "memory" if moving > self.operations / machine.product(dtype) else "arithmetic"


def of_round(run: RunConfig) -> Work:
    """What a round of a run must compute and move.

    >>> of_round(config.make(algorithm="fedavg", model="mlp-64", dataset="digits", train_size=100, batch_size=10)).steps
    10
    """
    source = data.sources.describe(run.dataset)
    layers = _parts_of(run.model, run.dataset)
    live, weights = sum(part.live for part in layers), _weights_of(run.model, run.dataset)
    given = IMAGES.get(run.dataset.split("@")[0], IMAGES["*"])
    train, test = (asked or there for asked, there in zip((run.train_size, run.test_size), given, strict=True))
    own = train / run.clients
    steps = run.local_steps or run.local_epochs * math.ceil(own / run.batch_size)
    images = steps * min(run.batch_size, own) if run.local_steps else run.local_epochs * own
    per_step, full_passes, rows = counted(run)
    b = BYTES[run.dtype]
    full = 8 if run.dtype == "float64" else 4
    one = 2 * sum(part.gradient for part in layers)
    activations = b * PASSES_OF_ACTIVATIONS * sum(part.numbers for part in layers) + 2 * b * math.prod(source.shape)
    gradient_of_weights = 2 * b * live + full * live
    # a gradient at another point than the weights: one pass that reads weights and gradient and writes the point
    ascent = (2 * full + b) * live
    copy = 0 if b == full else b * live
    descent = 3 * full * live + copy + full * live * rows
    gradients = steps * per_step + full_passes * math.ceil(own / run.batch_size)
    seen = images * per_step + full_passes * own
    client_moved = seen * activations + gradients * gradient_of_weights
    client_moved += steps * (max(0.0, per_step - 1) * ascent + descent)
    # both ends of a round: the model is handed out, the update is summed, the client's state is read and written
    client_moved += full * weights * (2 + 2 * rows)
    evaluated = (test * len(run.evaluate) + train * run.eval_train) / run.eval_every
    forward = 2 * sum(part.multiplications for part in layers)
    looked_at = b * (2 * sum(part.numbers for part in layers) + math.prod(source.shape))
    return Work(
        operations=run.cohort * seen * one + evaluated * forward,
        moved=run.cohort * client_moved + evaluated * looked_at,
        live=live,
        weights=weights,
        steps=run.cohort * steps,
    )


@cache
def _network(model: str, dataset: str) -> networks.Model:
    source = data.sources.describe(dataset)
    return networks.build(model, source.shape, data.sources.classes_of(dataset), 0)


@cache
def _parts_of(model: str, dataset: str) -> list[Part]:
    return parts(_network(model, dataset))


@cache
def _weights_of(model: str, dataset: str) -> int:
    return sum(p.numel() for p in _network(model, dataset).parameters())


def counted(run: RunConfig) -> tuple[float, float, float]:
    """(gradients a local step, full passes a round, vectors kept per client) of a run's method, as a trainer counts."""
    method = {name: getattr(run, name) for name in ("algorithm", "variant", "source", "switches")}
    return _counted(tuple(method.items()), tuple(sorted(run.hyper.items())))


@cache
def _counted(method: tuple, hyper: tuple) -> tuple[float, float, float]:
    from artifact.runs.session import load_data
    from artifact.training.trainer import Trainer  # the engine comes when something is counted

    small = {"model": "mlp-4", "clients": 4, "cohort": 2, "rounds": 2, "local_steps": 2, "lr": 0.01, "device": "cpu"}
    run = config.make(**dict(method), hyper=dict(hyper), dataset="digits", train_size=80, test_size=10, **small)
    trainer = Trainer(run, load_data(run))
    cost = [trainer.play_round()["cost"] for _ in range(2)][-1]
    return cost["gradients_per_step"], cost["full_passes"], cost["client_memory"]


# ---- machines --------------------------------------------------------------------------------------------------------


class Machine(BaseModel):
    """What a device was measured at.

    title: what it is called.  copy_tb: TB/s that a copy reads and writes.  products: TFLOP/s by type of numbers.
    at_once: runs side by side, each of which has these rates.
    where: entries of a stored run's environment that name this kind of machine.
    like: the machine whose stored runs stand in where none was made on this one.
    source: where the numbers come from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    copy_tb: float = Field(gt=0)
    products: dict[str, float]
    at_once: int = 1
    where: dict[str, str | int] = {}
    like: str = ""
    source: str = ""

    def product(self, dtype: str) -> float:
        """TFLOP/s in a type; the next wider one stands in for a type that was not measured."""
        order = ("bfloat16", "tf32", "float32")
        wider = order[order.index(dtype) :] if dtype in order else ()
        return next((self.products[name] for name in wider if name in self.products), self.products["float32"] / 2)


@cache
def machines() -> dict[str, Machine]:
    """The known machines by name. Raises UserError, with the place, for an entry that describes none."""
    try:
        return TypeAdapter(dict[str, Machine]).validate_python(tomllib.loads(read_file(TABLE).decode()))
    except ValidationError as error:
        raise first_fault(error, f"{TABLE}: ") from None


@dataclass(frozen=True)
class Reached:
    """Shares of the limit that stored runs have reached on a machine.

    runs: (network, type of numbers) -> (share of the median round, number of runs).
    """

    machine: Machine
    runs: Mapping[tuple[str, str], tuple[float, int]]

    def share(self, run: RunConfig) -> tuple[float, bool]:
        """The share to expect of a run, and whether runs of its network and type were timed.

        Of a network that was not timed there, the lowest that any network reached; 1 where nothing was timed.
        """
        known = self.runs.get((run.model, run.dtype))
        if known is not None:
            return known[0], True
        return min((share for share, _ in self.runs.values()), default=1.0), False

    def seconds(self, run: RunConfig) -> float:
        """Of a whole run."""
        return run.rounds * of_round(run).seconds(self.machine, run.dtype) / self.share(run)[0]


def reached(machine: Machine, store: Path) -> Reached:
    """From the runs of a store that were made on such a machine, or on the one whose runs stand in."""
    own = _shares(machine, store)
    return Reached(machine, own or (_shares(machines()[machine.like], store) if machine.like else {}))


def _shares(made_on: Machine, store: Path) -> dict[tuple[str, str], tuple[float, int]]:
    found: dict[tuple[str, str], list[float]] = {}
    limits: dict[str, tuple[tuple[str, str], float] | None] = {}
    for run in finished(store) if made_on.where else ():
        there = run.environment()
        if not run.intact or any(there.get(name) != value for name, value in made_on.where.items()):
            continue
        settings = _settings(run.config())
        name = json.dumps({k: v for k, v in settings.items() if k != "seed"}, sort_keys=True)
        if name not in limits:
            limits[name] = _limit(settings, made_on)
        known, seconds = limits[name], run.round_seconds()
        if known is not None and seconds:
            found.setdefault(known[0], []).append(known[1] / median(seconds))
    return {name: (median(shares), len(shares)) for name, shares in found.items()}


def _limit(settings: dict[str, Any], machine: Machine) -> tuple[tuple[str, str], float] | None:
    """((network, type), seconds of a round at the limit); None for a method or network that cannot be counted."""
    try:
        run = config.make(**settings)
        return (run.model, run.dtype), of_round(run).seconds(machine, run.dtype)
    except UserError:  # one of somebody's own, or one with attention
        return None


def _settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored config as it can be made on whatever machine."""
    left = {"device", "backend", "cuda_graphs", "added"}
    return {name: value for name, value in stored.items() if name in RunConfig.model_fields and name not in left}
