"""Nominal floating-point operations (zero padding counted, as every counter does) and the machine's measured limit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from artifact.streams import stream

if TYPE_CHECKING:
    from artifact.engine import Trainer


def round_flops(trainer: Trainer) -> float:
    """Operations of one gradient of every local step of a round: forward and backward pass, matrix products only."""
    config, model = trainer.config, trainer.oracle.evaluating(trainer.w, trainer.statistics)
    x = torch.zeros(config.batch_size, *trainer.data.input_shape, dtype=trainer.dtype, device=trainer.device)
    with model as network, FlopCounterMode(display=False) as counter:
        logits = network(x)
        F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.int64, device=x.device)).backward()
    for parameter in network.parameters():
        parameter.grad = None
    return counter.get_total_flops() * sum(trainer.local_steps(trainer.pools[: config.cohort]))


def limits(repeats: int = 7) -> dict[str, float]:
    """Best and median GFLOP/s of this machine in float32 at two shapes that saturate it; the larger best is the limit.

    matmul: 1024 x 1024 x 1024.  convolution: 64 to 64 channels, 5 x 5, 14 x 14, batch 50, channels last (LeNet's).
    """
    generator = stream(0, "bench")
    a, b = (torch.rand(1024, 1024, generator=generator) for _ in range(2))
    x = torch.rand(50, 64, 14, 14, generator=generator).contiguous(memory_format=torch.channels_last)
    w = torch.rand(64, 64, 5, 5, generator=generator)
    rates = {}
    for name, work, flops in (
        ("matmul", lambda: a @ b, 2 * 1024**3),
        ("convolution", lambda: torch.conv2d(x, w), 2 * 50 * 100 * 64 * 64 * 25),
    ):
        seconds = _times(work, repeats)
        rates[name], rates[f"{name}_median"] = flops / min(seconds) / 1e9, flops / statistics.median(seconds) / 1e9
    return rates | {"limit": max(rates["matmul"], rates["convolution"])}


def _times(work: Callable[[], object], repeats: int) -> list[float]:
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds[1:]
