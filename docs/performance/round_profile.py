"""``python docs/performance/round_profile.py``: where a round's time goes on one core, and its layers alone.

The second part is a floor: a program that did these operations alone, at the rates that the libraries reach on these
shapes, would need that long. It says how far any implementation on the same libraries could still come.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import checkout  # noqa: F401
import click
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity
from torch.profiler import profile as profiler

from artifact.accelerate.choose import BACKENDS
from artifact.accelerate.cpu.fully_connected import onednn_linear
from artifact.accelerate.cpu.memory_layout import channels_last
from artifact.accelerate.loops import compiled
from artifact.base.console import OneLine
from artifact.base.devices import has_bfloat16
from artifact.base.random import stream
from artifact.bench import results
from artifact.bench.cases import available, contender
from artifact.bench.flops import limits
from artifact.models.activations import input_shapes
from artifact.runs.session import load_data
from artifact.runs.store import environment
from artifact.training import config
from artifact.training.trainer import Trainer

MODELS = ("lenet", "resnet18-gn", "cnn-mnist", "mlp-200")
#: models that are profiled in bfloat16 too
HALVED = ("lenet",)
#: kinds of operation by parts of torch's names for them; the first that fits counts
KINDS = {
    "convolutions, backward": ("convolution_backward",),
    "convolutions, forward": ("convolution",),
    "pooling": ("pool",),
    "normalisation layers": ("group_norm", "batch_norm"),
    "matrix products": ("mm", "linear_pointwise", "aten::mv", "aten::dot"),
    "copies, clearing, gathering": ("copy", "fill_", "zero", "index", "cat", "stack", "repeat", "clone", "gather"),
    "elementwise and sums": ("aten::",),
}
#: quiet calls per operation; the first quartile is kept
CALLS = 40


def measure(models: Sequence[str], kinds: Sequence[str] = ("auto",)) -> dict[str, Any]:
    """Shares of a FedAvg round by kind of operation, and the layers' own rates, per model and backend.

    The default backends are profiled in bfloat16 too.
    """
    torch.set_num_threads(1)
    machine, found = limits(), []
    halved = [name for name in HALVED if name in models and "auto" in kinds]
    if halved and not has_bfloat16(torch.device("cpu")):
        click.echo(f"{', '.join(halved)} in bfloat16: left out, this processor has no kernels for it", err=True)
        halved = []
    for model, kind in [*itertools.product(models, kinds), *((name, "bfloat16") for name in halved)]:
        trainer = _trainer(model, kind)
        trainer.play_round()  # buffers and kernels are chosen in the first round
        began = time.process_time()
        trainer.play_round()
        seconds = time.process_time() - began
        layers = list(_layers(trainer))
        steps = sum(trainer.local_steps(trainer.pools[: trainer.config.cohort]))
        one = {"model": model, "backend": trainer.oracle.backend, "dtype": trainer.config.dtype, "seconds": seconds}
        one |= {"shares": _shares(trainer)}
        one |= {"layers": layers, "floor": steps * sum(layer["milliseconds"] for layer in layers) / 1000}
        found.append(one)
        click.echo(line(one), err=True)
    return {"environment": environment(torch.device("cpu")), "limits": machine, "profiles": found}


def line(one: dict[str, Any]) -> str:
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in one["shares"].items() if share >= 0.005)
    text = f"{one['model']:<12} {one['backend']:<9} {one['dtype']:<9} {one['seconds']:.3f} processor s per round, "
    text += f"its products and convolutions alone {one['floor']:.3f} s ({100 * one['floor'] / one['seconds']:.0f} %): "
    return text + shares


def _trainer(model: str, kind: str) -> Trainer:
    run = config.make(**contender(model, "fedavg", kind, eval_train=False)["config"])
    trainer = Trainer(run, load_data(run))
    trainer.oracle.work_inline()  # the profiler sees one thread
    return trainer


def _shares(trainer: Trainer) -> dict[str, float]:
    """The time of a round by kind of operation, as shares; what no operation accounts for is last.

    The profiler has the wall time of an operation, so the whole is wall time too: on a busy machine both wait alike.
    """
    with profiler(activities=[ProfilerActivity.CPU]) as record, _watched_loops() as in_loops:
        began = time.perf_counter()
        trainer.play_round()
        whole = time.perf_counter() - began
    sums = dict.fromkeys(KINDS, 0.0)
    for event in record.key_averages():
        kind = next((kind for kind, parts in KINDS.items() if any(part in event.key for part in parts)), None)
        if kind is not None and event.key.startswith(("aten::", "mkldnn::")):
            sums[kind] += event.self_cpu_time_total / 1e6
    sums["compiled loops"] = sum(in_loops)
    shares = {kind: seconds / whole for kind, seconds in sums.items()}
    return shares | {"graph, Python, profiler": 1 - sum(shares.values())}


@contextmanager
def _watched_loops() -> Iterator[list[float]]:
    """Seconds of every call of a compiled loop, of which the profiler knows nothing."""
    loops, seconds = compiled(), []

    def timed(loop: Callable[..., None], *arrays: Any) -> None:
        began = time.perf_counter()
        loop(*arrays)
        seconds.append(time.perf_counter() - began)

    with ExitStack() as stack:
        for name, loop in [] if loops is None else list(vars(loops).items()):
            if hasattr(loop, "py_func"):  # compiled by numba
                stack.enter_context(patch.object(loops, name, partial(timed, loop)))
        yield seconds


@dataclass(frozen=True)
class _Seen:
    """A layer and the shape of its input in a round."""

    name: str
    module: nn.Module
    shape: tuple[int, ...]
    first: bool


def _layers(trainer: Trainer) -> Iterator[dict[str, Any]]:
    """What every convolution and fully connected layer takes alone: one batch, forward and backward, one core."""
    dtype = torch.bfloat16 if trainer.oracle.bfloat16 else torch.float32
    for seen in _watched(trainer):
        x = torch.rand(seen.shape, generator=stream(0, "bench/profile")).to(dtype)
        weight = torch.rand(seen.module.weight.shape, generator=stream(0, "bench/profile", 1)).to(dtype)
        calls = _convolution(seen, x, weight) if isinstance(seen.module, nn.Conv2d) else _product(seen, x, weight)
        timed = {name: _quiet(call) for name, call in calls.items()}
        flops = 2 * len(x) * _outputs(seen) * weight[0].numel()
        backward = flops * (1 if seen.first else 2)
        yield {
            "layer": seen.name,
            "input": "x".join(map(str, seen.shape[1:])),
            "weight": "x".join(map(str, weight.shape)),
            "forward_gflops": flops / timed["forward"] / 1e9,
            "backward_gflops": backward / timed["backward"] / 1e9,
            "milliseconds": 1000 * sum(timed.values()),
        }


def _watched(trainer: Trainer) -> list[_Seen]:
    """The layers of the network as the backend runs it, in order of execution."""
    x = channels_last(torch.zeros(trainer.config.batch_size, *trainer.data.input_shape))
    with trainer.oracle.evaluating(trainer.w, trainer.statistics) as network:
        seen = input_shapes(network, x, (nn.Conv2d, nn.Linear))
    return [_Seen(name, module, tuple(shape), number == 0) for number, (name, module, shape) in enumerate(seen)]


def _outputs(seen: _Seen) -> int:
    """Numbers that the layer puts out for one sample, before any pooling."""
    if not isinstance(seen.module, nn.Conv2d):
        return seen.module.out_features
    images, weight = torch.empty(seen.shape, device="meta"), torch.empty_like(seen.module.weight, device="meta")
    return torch.conv2d(images, weight, None, *_place(seen.module))[0].numel()


def _place(module: nn.Conv2d) -> tuple:
    return module.stride, module.padding, module.dilation


def _convolution(seen: _Seen, x: Tensor, weight: Tensor) -> dict[str, Callable[[], Any]]:
    """The channels innermost or torch's default layout: the faster one."""
    module, wanted = seen.module, (not seen.first, True, False)
    place = _place(module)
    d = torch.rand(torch.conv2d(x, weight, None, *place).shape, generator=stream(0, "bench/profile", 2)).to(x.dtype)

    def forward(x: Tensor) -> Callable[[], Any]:
        return lambda: torch.conv2d(x, weight, None, *place)

    def backward(x: Tensor, d: Tensor) -> Callable[[], Any]:
        of = torch.ops.aten.convolution_backward
        return lambda: of(d, x, weight, None, *place, False, (0, 0), module.groups, wanted)

    layouts = [(x.contiguous(), d.contiguous()), (channels_last(x), channels_last(d))]
    ways = [{"forward": forward(x), "backward": backward(x, d)} for x, d in layouts]
    return min(ways, key=lambda way: sum(map(_quiet, way.values())))


def _product(seen: _Seen, x: Tensor, weight: Tensor) -> dict[str, Callable[[], Any]]:
    """By torch's own library or by oneDNN, whichever is faster here."""
    d = torch.rand(len(x), len(weight), generator=stream(0, "bench/profile", 2)).to(x.dtype)
    onednn = onednn_linear()

    def backward(product: Callable[[Tensor, Tensor], Tensor]) -> Callable[[], Any]:
        return lambda: (product(d.T, x.T), None if seen.first else product(d, weight.T))

    ways = [F.linear] if onednn is None else [F.linear, lambda a, b: onednn(a, b, None, "none", [], "")]
    forward = [lambda way=way: way(x, weight) for way in ways]
    return {"forward": min(forward, key=_quiet), "backward": min(map(backward, ways), key=_quiet)}


def _quiet(call: Callable[[], Any]) -> float:
    """Processor seconds of one call: the first quartile, which other processes hardly touch."""
    seconds = []
    with torch.no_grad():
        for _ in range(CALLS + 5):
            began = time.thread_time()
            call()
            seconds.append(time.thread_time() - began)
    return sorted(seconds[5:])[CALLS // 4]


@click.command(cls=OneLine)
@click.option("--model", "models", multiple=True, type=click.Choice(MODELS), help="Default: all.")
@click.option(
    "--backend",
    "kinds",
    multiple=True,
    type=click.Choice([*BACKENDS, "auto"]),
    default=("auto",),
    show_default=True,
    help="auto: the default backend, of LeNet in bfloat16 too.",
)
@results.OUT
def main(models: tuple[str, ...], kinds: tuple[str, ...], out: Path | None) -> None:
    """Shares of a round of FedAvg by kind of operation, and what every layer takes alone."""
    result = measure(available(models or MODELS), kinds)
    if out is not None:
        results.write(out, result)


if __name__ == "__main__":
    main(prog_name="python docs/performance/round_profile.py")
