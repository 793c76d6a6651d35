"""Which way of computing a gradient is the fastest on this machine: the names of all ways, and the table of timings.

A run names its way as its backend:

* ``loop``: one client after the other by autograd. Worker threads share the clients, or the queues of a GPU do;
* ``cropped``: ``loop`` without the kernel entries that meet only padding (``cpu.cropped_convolutions``);
* ``batched``: many clients in one call of ``torch.func.vmap``, which makes their convolutions grouped ones;
* ``stacked``: the cohort as one network with as many times the channels (``stacked``), for a GPU;
* ``kernels``: ``stacked`` with convolutions by kernels of our own (``convolution_kernels``), for a GPU; not timed yet;
* ``explicit``: formulas for fully connected networks, many clients in one call (``cpu.fully_connected``);
* ``onednn``: ``explicit`` with its large float32 products by oneDNN instead of torch's choice.

A network that no formula knows goes to ``batched`` or ``loop``. ``backends.toml`` holds the fastest backend per device
and model, as ``python -m fedsharp bench --write`` has measured it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from pydantic import TypeAdapter, ValidationError

from artifact.base.cache import cache
from artifact.base.devices import vector_unit
from artifact.base.errors import UserError, first_fault
from artifact.base.files import read_file
from artifact.base.lazy import torch

Backend = Literal["loop", "cropped", "batched", "stacked", "kernels", "explicit", "onednn"]
BACKENDS: tuple[str, ...] = get_args(Backend)
TABLE = Path(__file__).with_name("backends.toml")
#: those that take one client at a time
LOOPS = ("loop", "cropped")
#: a kind of processor to choose for in place of this one: avx2, avx512, amx, or a name without measurements
PROCESSOR_VARIABLE = "FEDSHARP_VECTOR_UNIT"


@cache
def _measured() -> Mapping[str, Mapping[str, str]]:
    """Raises UserError, with the place, for an entry that names no backend."""
    try:
        content = tomllib.loads(read_file(TABLE).decode())
        return TypeAdapter(dict[str, dict[str, Backend]]).validate_python(content)
    except ValidationError as error:
        raise first_fault(error, f"{TABLE}: ") from None
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, UserError) else UserError("backends", str(TABLE), str(error)) from None


def measured_for(device: torch.device, unit: str = "") -> str:
    """The section of ``backends.toml`` for a device; processors with the same vector unit share one.

    The kernels of the libraries, and so the order of the backends, differ most between vector units.
    unit: in place of this processor's.
    """
    return "cuda" if device.type == "cuda" else f"cpu {(unit or vector_unit()).lower()}"


def default_backend(model: str, device: torch.device) -> str:
    """The fastest backend of a model on a device, by the entry of the model, of its family (``mlp-*``) or of any model.

    A model that was not measured on this kind of processor has the entry of the section for any processor. Timings are
    of float32 on CPUs, and of bfloat16 on the one GPU.

    >>> default_backend("resnet18-gn", torch.device("cpu"))
    'cropped'
    """
    table, section = _measured(), measured_for(device, os.environ.get(PROCESSOR_VARIABLE, ""))
    entries = {**table.get(section.split()[0], {}), **table.get(section, {})}
    return entries.get(model) or entries.get(f"{model.split('-')[0]}-*") or entries["*"]


def usable_cores() -> int:
    """Cores that this process may run on; $OMP_NUM_THREADS, where it is set, asks for fewer."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(here, int(asked)) if asked.isdigit() and int(asked) else here
