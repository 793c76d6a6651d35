"""``python docs/performance/bfloat16.py``: why a ResNet-18-GN gradient in bfloat16 is not twice as fast as in float32.

One minibatch gradient on one core, in both precisions, split into convolutions and the rest by torch's profiler; and
the largest ratio that the core gives at all, from matrix products of the convolutions' shapes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import torch
from checkout import HERE
from torch.profiler import ProfilerActivity, profile

from artifact.base.console import OneLine
from artifact.base.flat import parameters
from artifact.base.options import Place
from artifact.base.tables_as_text import markdown_table
from artifact.bench.results import write
from artifact.models.networks import build
from artifact.runs.store import environment
from artifact.training.gradients import Group, Oracle

BATCH = 50
#: rows of the page: what the profiler's operators belong to
PARTS = {
    "convolutions, forward": ("aten::mkldnn_convolution",),
    "convolutions, backward": ("aten::convolution_backward",),
    "casts and copies of weights and gradients": ("aten::copy_", "aten::fill_", "aten::zero_"),
    "group norm": ("aten::native_group_norm", "aten::native_group_norm_backward"),
}
#: (rows, columns, inner length) of the forward products of the four stages' 3x3 convolutions, as matrix products
PRODUCTS = ((3200, 64, 576), (800, 128, 1152), (200, 256, 2304), (50, 512, 512))


def median_seconds(work: Callable[[], object], turns: int) -> float:
    """Processor seconds of this thread."""
    spent = []
    for _ in range(turns + 2):
        start = time.thread_time()
        work()
        spent.append(time.thread_time() - start)
    return sorted(spent[2:])[turns // 2]


def gradient(bfloat16: bool) -> Callable[[], object]:
    """One client's gradient of a minibatch, at the papers' batch size."""
    model = build("resnet18-gn", (3, 32, 32), 10, 0)
    oracle = Oracle(model, backend="cropped", bfloat16=bfloat16)
    W = oracle.layout.flatten(parameters(model)).detach()[None]
    draw = torch.Generator().manual_seed(0)
    group = Group(None, torch.randn(1, BATCH, 3, 32, 32, generator=draw), torch.arange(BATCH)[None] % 10)
    return lambda: oracle.gradients(W, None, group)


def parts(work: Callable[[], object], turns: int = 10) -> dict[str, float]:
    """Milliseconds of each part, from the profiler's own times; what is left of the whole is "the rest"."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(turns):
            work()
    own = {event.key: event.self_cpu_time_total / 1000 / turns for event in profiler.key_averages()}
    found = {part: sum(own.get(name, 0.0) for name in names) for part, names in PARTS.items()}
    return found | {"the rest": sum(own.values()) - sum(found.values())}


def product_seconds(shape: tuple[int, int, int], dtype: torch.dtype, turns: int) -> float:
    """A matrix product of the shape."""
    rows, columns, inner = shape
    a, b = torch.randn(rows, inner).to(dtype), torch.randn(columns, inner).to(dtype)
    return median_seconds(lambda: a @ b.t(), turns)


def measure(turns: int) -> dict[str, Any]:
    """Both precisions in turn, three times; the middle one counts."""
    works = {"float32": gradient(False), "bfloat16": gradient(True)}
    samples = [{name: median_seconds(work, turns) for name, work in works.items()} for _ in range(3)]
    whole = {name: 1000 * sorted(sample[name] for sample in samples)[1] for name in works}
    products = {
        "x".join(map(str, shape)): product_seconds(shape, torch.float32, turns)
        / product_seconds(shape, torch.bfloat16, turns)
        for shape in PRODUCTS
    }
    split = {name: parts(work) for name, work in works.items()}
    facts = {"environment": environment(torch.device("cpu")), "turns": turns, "batch": BATCH}
    return facts | {"whole_ms": whole, "parts_ms": split, "product_ratio": products}


def rows(result: dict[str, Any]) -> list[str]:
    """The table of a result."""
    slow, fast, whole = result["parts_ms"]["float32"], result["parts_ms"]["bfloat16"], result["whole_ms"]
    lines = [(part, slow[part], fast[part]) for part in slow]
    lines.append(("all, without the profiler", whole["float32"], whole["bfloat16"]))
    convolutions = [part for part in slow if part.startswith("convolutions")]
    product = sum(result["product_ratio"].values()) / len(result["product_ratio"])
    left = sum(b for part, b in fast.items() if part not in convolutions)
    at_best = left + sum(slow[part] for part in convolutions) / product
    lines.append(("all, if convolutions gained as much as matrix products", whole["float32"], at_best))
    body = [[name, f"{a:.1f}", f"{b:.1f}", f"{a / b:.2f}"] for name, a, b in lines]
    body += [
        [f"a matrix product of {shape}", "", "", f"{ratio:.2f}"] for shape, ratio in result["product_ratio"].items()
    ]
    head = ["ResNet-18-GN, one gradient", "float32, processor ms", "bfloat16, processor ms", "float32 / bfloat16"]
    below = f"{result['batch']} images, backend `cropped`, one core; medians of {result['turns']} calls, n=3 in turn."
    return [*markdown_table(head, body), "", below]


@click.command(cls=OneLine)
@click.option("--turns", type=click.IntRange(1), default=21, show_default=True, help="Timed calls; the median counts.")
@click.option("--out", type=Place(), default=HERE / "bfloat16.json", show_default="beside the script", help="JSON.")
def main(turns: int, out: Path) -> None:
    """Profile a gradient in both precisions, and print the table."""
    torch.set_num_threads(1)
    result = measure(turns)
    write(out, result)
    click.echo("\n".join(rows(result)))


if __name__ == "__main__":
    main()
