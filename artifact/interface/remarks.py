"""What somebody with data or a network of their own should be told, beside the numbers, in one line."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from artifact.base.cache import cache


@cache
def once(remark: str) -> None:
    """Print a remark on standard error unless it is empty, and each text only once in a process."""
    if remark:
        print(remark, file=sys.stderr)


def not_finite(lines: Iterable[Mapping[str, Any]]) -> str:
    """In which round the model or its test loss stopped being finite; empty where both stayed so.

    lines: metrics of the rounds, as the engine or a stored run gives them.
    """
    for line in lines:
        if line.get("diverged"):
            return f"diverged: the model is not finite after round {line['round']}; the training ended there"
        loss = line.get("server", {}).get("loss", 0.0)
        if loss is None or not math.isfinite(loss):
            return f"diverged: the test loss is not finite after round {line['round']}; the model still is"
    return ""


def without_sample(name: str, counts: Sequence[int]) -> str:
    """Which classes have no sample; empty where each has one.  name: of the data.  counts: samples by label, from 0."""
    empty = [label for label, count in enumerate(counts) if not count]
    if not empty:
        return ""
    shown = ", ".join(map(str, empty[:5])) + (f" and {len(empty) - 5} more" if len(empty) > 5 else "")
    classes = f"{'class' if len(empty) == 1 else 'classes'} {shown} {'has' if len(empty) == 1 else 'have'} no sample"
    low = next(label for label, count in enumerate(counts) if count)
    asked = "; are they numbered from 0?" if low else ""
    return f"{name}: labels {low} to {len(counts) - 1}, {len(counts)} classes: {classes}{asked}"
