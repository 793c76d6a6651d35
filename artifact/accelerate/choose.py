"""Which way of computing a gradient is the fastest on this machine: the names of all ways, and the table of timings.

* ``loop``: one client at a time, clients spread over threads that each use one core, or over the queues of a GPU;
* ``cropped``: ``loop`` with convolutions fitted to images of a few pixels;
* ``fourier``: ``cropped`` with wide convolutions by their spectra (``cpu.fourier_convolutions``);
* ``batched``: many clients in one call (``torch.func.vmap``), which makes their convolutions grouped ones;
* ``products``: ``batched`` with convolutions as batched matrix products;
* ``explicit``: hand-written gradients of fully connected networks, many clients at once (``cpu.fully_connected``);
* ``onednn``: ``explicit`` with large products in float32 by another library;
* ``tiles``: hand-written gradients of narrow convolutional networks (``cpu.tiled_convolutions``);
* ``NAME-graph``: records the gradient of a cohort once and replays it on a GPU (``cuda_graphs``).

A network that a hand-written gradient does not know goes to ``batched`` or ``loop``. ``backends.toml`` holds what
``python -m artifact bench --write`` has measured.
"""

from __future__ import annotations

import os
import tomllib
from importlib.resources import files

from artifact.base.cache import cache
from artifact.base.devices import vector_unit
from artifact.base.lazy import torch

#: how a gradient is computed
KINDS = ("loop", "cropped", "fourier", "batched", "products", "explicit", "onednn", "tiles")
#: those that take one client at a time, and those that take a whole cohort however many workers there are
LOOPS, WHOLE = ("loop", "cropped", "fourier"), ("batched", "products")
RECORDED = "-graph"
BACKENDS = (*KINDS, *(kind + RECORDED for kind in KINDS))


@cache
def _measured() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("artifact.accelerate").joinpath("backends.toml").read_text(encoding="utf-8"))


def measured_for(device: torch.device) -> str:
    """The section of ``backends.toml`` for this machine: libraries differ most between processors' vector units."""
    return "cuda" if device.type == "cuda" else f"cpu {vector_unit().lower()}"


def default_backend(model: str, device: torch.device, bfloat16: bool = False) -> str:
    """The fastest backend of a model on a device as ``backends.toml`` has it: its own entry, its family's, any.

    What was not measured on processors of this kind is taken from the section for any. It is measured in float32; eight
    bits are too few for spectra, which are sums over all pixels, and gradients written by hand have no autocast.
    """
    table, section = _measured(), measured_for(device)
    entries = table.get(section.split()[0], {}) | table.get(section, {})
    fastest = entries.get(model) or entries.get(f"{model.split('-')[0]}-*") or entries["*"]
    return "loop" if bfloat16 and fastest in ("fourier", "tiles") else fastest


def usable_cores() -> int:
    """Cores that this process may run on; $OMP_NUM_THREADS, where it is set, asks for fewer."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(here, int(asked)) if asked.isdigit() and int(asked) else here
