"""What a run sets on its device, and how work and tensors get there without the host waiting for it.

A method's formulas and the probes name no device. This module, ``accelerate`` and the loops over clients do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from artifact.base.cache import cache
from artifact.base.lazy import Tensor, torch

#: streams among which the clients of a GPU's loop are dealt out
STREAMS = 8


def prepare(device: torch.device, dtype: str) -> None:
    """Precision and determinism of this process's kernels on a GPU; nothing to do on a CPU."""
    if device.type != "cuda":
        return
    set_precision(dtype)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS is first called
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    # it guards against bugs, at the price of a write; torch hides it from type checkers behind the module's class
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def set_precision(dtype: str) -> None:
    """How a GPU computes with float32 numbers.

    dtype: ``tf32`` lets products and convolutions read ten bits of their mantissas. Every other type means what it
    says: torch alone would round the inputs of float32 convolutions on a GPU without being asked.
    """
    precision = "tf32" if dtype == "tf32" else "ieee"
    torch.backends.cuda.matmul.fp32_precision = precision
    torch.backends.cudnn.conv.fp32_precision = precision  # type: ignore[attr-defined]  # hidden in the same way


def has_bfloat16(device: torch.device) -> bool:
    """Whether there are kernels in bfloat16 for this device; a processor without AVX-512 or AMX has none in oneDNN."""
    return device.type != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def vector_unit() -> str:
    """The widest unit of this processor that its libraries' kernels use: AMX (of matrices), AVX512, AVX2, ..."""
    amx = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)  # not in every torch that we run under
    return "AMX" if amx() else torch.backends.cpu.get_cpu_capability()


def slow_precision(device: torch.device, dtype: str) -> str | None:
    """What to tell somebody who asks for a type that this device computes slowly; None where it does not."""
    if dtype != "bfloat16" or has_bfloat16(device):
        return None
    text = "this processor has no kernels for it and computes convolutions one number at a time"
    return f"dtype bfloat16: {text}; expect ten times the time of float32"


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on a device. A GPU fetches it from pinned memory when its queue gets there; the host goes on."""
    if device.type != "cuda" or tensor.is_cuda:
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def finish(device: torch.device) -> None:
    """Wait until the device has done all that it was asked for: for clocks."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def side_by_side(work: Callable[[int], Any], items: Iterable[int], device: torch.device) -> None:
    """Do independent pieces of work in several queues of a GPU, so that small kernels share it.

    A queue starts when all that was asked for before is done, and what is asked for afterwards waits for every queue.
    """
    here, streams = torch.cuda.current_stream(device), _streams(device)
    for stream in streams:
        stream.wait_stream(here)
    for item in items:
        with torch.cuda.stream(streams[item % len(streams)]):
            work(item)
    for stream in streams:
        here.wait_stream(stream)


@cache
def _streams(device: torch.device) -> list[torch.cuda.Stream]:
    return [torch.cuda.Stream(device) for _ in range(STREAMS)]


def gradient_memory(device: torch.device) -> int:
    """Bytes that one batched gradient call may take for activations: a quarter of a GPU, 4 GiB elsewhere.

    A function of the machine alone, since it decides how a cohort is split and so may decide the bits.
    """
    return torch.cuda.get_device_properties(device).total_memory // 4 if device.type == "cuda" else 4 << 30
