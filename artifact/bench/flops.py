"""Nominal floating-point operations (zero padding counted, as every counter does) and the machine's measured limit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from artifact.base.devices import finish, prepare
from artifact.base.lazy import torch
from artifact.base.random import stream

if TYPE_CHECKING:
    from artifact.training.trainer import Trainer


def round_flops(trainer: Trainer) -> float:
    """Operations of one gradient of every local step of a round: forward and backward pass, matrix products only."""
    from torch.utils.flop_counter import FlopCounterMode  # torch comes when something is counted

    config, model = trainer.config, trainer.oracle.evaluating(trainer.w, trainer.statistics)
    x = torch.zeros(config.batch_size, *trainer.data.input_shape, dtype=trainer.dtype, device=trainer.device)
    with model as network, FlopCounterMode(display=False) as counter:
        logits = network(x)
        torch.nn.functional.cross_entropy(logits, torch.zeros(len(x), dtype=torch.int64, device=x.device)).backward()
    for parameter in network.parameters():
        parameter.grad = None
    return counter.get_total_flops() * sum(trainer.local_steps(trainer.pools[: config.cohort]))


def limits(repeats: int = 7, device: torch.device | None = None) -> dict[str, float]:
    """Best and median GFLOP/s of this machine in float32 at two shapes that saturate it; the larger best is the limit.

    matmul: n x n x n, n = 1024, on a GPU 8192.  convolution: 64 to 64 channels, 5 x 5, 14 x 14, batch 50, on a GPU
    5000, channels last (LeNet's).
    """
    device = device or torch.device("cpu")
    n, batch = (8192, 5000) if device.type == "cuda" else (1024, 50)
    prepare(device, "float32")
    generator = stream(0, "bench")
    a, b = (torch.rand(n, n, generator=generator).to(device) for _ in range(2))
    x = torch.rand(batch, 64, 14, 14, generator=generator).to(device, memory_format=torch.channels_last)
    w = torch.rand(64, 64, 5, 5, generator=generator).to(device)
    rates = {}
    for name, work, flops in (
        ("matmul", lambda: a @ b, 2 * n**3),
        ("convolution", lambda: torch.conv2d(x, w), 2 * batch * 100 * 64 * 64 * 25),
    ):
        seconds = seconds_of(work, repeats, device)
        rates[name], rates[f"{name}_median"] = flops / min(seconds) / 1e9, flops / statistics.median(seconds) / 1e9
    return rates | {"limit": max(rates["matmul"], rates["convolution"])}


def seconds_of(work: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    """Seconds of every repeat but an uncounted first one."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        finish(device)
        seconds.append(time.perf_counter() - start)
    return seconds[1:]
