"""``python docs/performance/gpu_gradient.py``: what a cohort's gradient of ResNet-18-GN takes a GPU, by every backend.

Ten clients with 50 images each. Each convolution forward and backward, in groups, as products of matrices and by own
kernels, by the device's own clock (torch's profiler); the whole gradient by every backend, precision and with or
without a CUDA graph; and the local step. Without a GPU it says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import torch
import torch.nn.functional as F
from checkout import HERE
from torch.profiler import ProfilerActivity, profile

from artifact.accelerate.cpu.cropped_convolutions import convolutions
from artifact.accelerate.sgd_step import sgd_step
from artifact.accelerate.stacked import Stacked, convolved
from artifact.base.console import OneLine
from artifact.base.devices import prepare, set_precision
from artifact.base.errors import UserError
from artifact.base.flat import parameters
from artifact.base.options import Place
from artifact.bench.results import write
from artifact.models.networks import build
from artifact.runs.store import environment
from artifact.training.gradients import Group, Oracle

CLIENTS, BATCH, TURNS = 10, 50, 20


def on_the_device(work: Callable[[], object], turns: int = 6) -> float:
    """Milliseconds of all kernels, by the device's clock."""
    for _ in range(2):
        work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(turns):
            work()
        torch.cuda.synchronize()
    return sum(row.self_device_time_total for row in seen.key_averages()) / turns / 1e3


def milliseconds(work: Callable[[], object], turns: int = TURNS) -> float:
    """By the host's clock, work behind work."""
    for _ in range(2):
        work()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(turns):
        work()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / turns


def of_convolutions(model: Any, formula: Stacked, device: torch.device) -> Iterator[dict[str, Any]]:
    """Each kind of convolution once: its shape, how often the network has it, and both ways in milliseconds."""
    from artifact.accelerate.convolution_kernels import convolved as own_kernels  # Triton comes with a GPU

    kinds: dict[tuple, int] = {}
    for name, layer, image in convolutions(model):
        kernel = tuple(part.stop - part.start for part in formula.crops[f"{name}.weight"][1:])
        kind = (layer.in_channels, layer.out_channels, kernel, layer.stride, formula.padding[name], image)
        kinds[kind] = kinds.get(kind, 0) + 1
    for (inside, outside, kernel, stride, padding, image), times in kinds.items():
        first = inside == model.input_shape[0]
        x = torch.randn(BATCH, CLIENTS * inside, *image, device=device, dtype=torch.bfloat16).requires_grad_(not first)
        w = torch.randn(CLIENTS, outside, inside, *kernel, device=device).div(10).bfloat16().requires_grad_()
        wanted = [w] if first else [w, x]

        def grouped() -> torch.Tensor:
            return F.conv2d(x, w.flatten(0, 1), None, stride, padding, 1, CLIENTS)  # noqa: B023

        def product() -> torch.Tensor:
            return convolved(x, w, stride, padding)  # noqa: B023

        def kernel() -> torch.Tensor:
            return own_kernels(x, w, stride, padding)  # noqa: B023

        ways = {"grouped": grouped, "product": product, "kernel": kernel}
        d = torch.ones_like(grouped())
        spent = {
            way: on_the_device(lambda f=f: torch.autograd.grad(f(), wanted, d))  # noqa: B023
            for way, f in ways.items()
        }
        yield {
            "channels": [inside, outside],
            "kernel": kernel,
            "stride": stride,
            "image": image,
            "times": times,
        } | spent


@click.command(cls=OneLine)
@click.option("--out", type=Place(), default=HERE / "gpu-gradient.json", help="Where the numbers go.")
def main(out: Path) -> None:
    """Measure the gradient of ten ResNet-18-GN on this machine's GPU."""
    if not torch.cuda.is_available():
        raise UserError("device", "cpu", "a machine with a CUDA device")
    device = torch.device("cuda")
    prepare(device, "bfloat16")
    model = build("resnet18-gn", (3, 32, 32), 10, 0).to(device).train()
    oracle = Oracle(model, backend="stacked", bfloat16=True)
    assert isinstance(oracle._formula, Stacked)
    W = oracle.layout.flatten(parameters(model)).detach().repeat(CLIENTS, 1)
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(CLIENTS, BATCH, 3, 32, 32, generator=draw).to(device)
    group = Group(None, x, torch.arange(CLIENTS * BATCH, device=device).view(CLIENTS, BATCH) % 10)
    found: dict[str, Any] = {"environment": environment(device), "clients": CLIENTS, "batch": BATCH}
    found["convolutions_ms"] = list(of_convolutions(model, oracle._formula, device))
    gradients = found["gradient_ms"] = {}
    for backend in ("loop", "batched", "stacked", "kernels"):
        for dtype in ("float32", "tf32", "bfloat16"):
            for graphs in (False, True):
                set_precision(dtype)
                own = Oracle(model, backend=backend, bfloat16=dtype == "bfloat16", cuda_graphs=graphs)
                name = f"{backend}, {dtype}{', graph' if graphs else ''}"
                gradients[name] = milliseconds(lambda own=own: own.gradients(W, None, group))
                click.echo(f"{name}: {gradients[name]:.2f} ms")
    omega = torch.full((CLIENTS, 1), 0.001, device=device)  # a rate of its own per client goes by torch's operations
    found["step_ms"] = {
        "kernel": milliseconds(lambda: sgd_step(W, W, 0.001, 0.1)),
        "operations": milliseconds(lambda: sgd_step(W, W, omega, 0.1)),
    }
    write(out, found)


if __name__ == "__main__":
    main()
