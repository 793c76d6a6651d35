"""The order in memory in which the CPU's kernels want images."""

from __future__ import annotations

import torch
from torch import Tensor


def channels_last(x: Tensor) -> Tensor:
    """Images [B, C, H, W] with the channels innermost in memory, which convolutions and pooling prefer on a CPU.

    With one channel both layouts are the same memory and torch takes the slow one, unless the strides say otherwise.
    Anything else, and images on a GPU, come back as they are.
    """
    if x.dim() != 4 or x.device.type != "cpu":
        return x
    B, C, H, W = x.shape
    if C == 1:
        return x.contiguous().as_strided((B, C, H, W), (H * W, 1, W, 1))
    return x.contiguous(memory_format=torch.channels_last)
