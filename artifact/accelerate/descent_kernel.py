"""The local step in place, as one Triton kernel: it reads weights and direction once and writes the weights once.

The rate lies on the device, so that a recorded step (``training.recorded_steps``) serves all rounds of a decaying rate.
Triton comes with torch for GPUs; with ``TRITON_INTERPRET=1`` the same kernel runs on a CPU, for tests.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor
from triton.language import constexpr

#: numbers of one program
SIZE = 1024


@triton.jit
def _descend(w, d, lr, omega, count, N: constexpr):
    place = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = place < count
    weight = tl.load(w + place, mask=inside, other=0.0)
    direction = tl.load(d + place, mask=inside, other=0.0)
    tl.store(w + place, weight - tl.load(lr) * (direction + omega * weight), mask=inside)


def descend(W: Tensor, d: Tensor, omega: float, lr: Tensor) -> Tensor:
    """W - lr (d + omega W) in the place of W, [S, P] in float32, both contiguous; lr: a tensor of one number."""
    _descend[(-(-W.numel() // SIZE),)](W, d, lr, omega, W.numel(), SIZE)
    return W
