"""Randomness as a function: every draw is named by (seed, purpose, round, client, step).

No generator state is ever stored, so a resumed run needs none, and two methods under one seed see the same initial
weights, partition, cohorts, batches and augmentation. Names that differ anywhere share nothing.
"""

from __future__ import annotations

import hashlib

import numpy as np

from artifact.base.lazy import torch


def key(seed: int, purpose: str, *position: int) -> int:
    """63-bit integer that names a stream; position is any of (round, client, step), in that order."""
    name = "/".join([str(int(seed)), purpose, *(str(int(p)) for p in position)])
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") >> 1


def stream(seed: int, purpose: str, *position: int) -> torch.Generator:
    """CPU generator of the named stream; draws are made on the CPU, so they do not depend on the device."""
    return torch.Generator().manual_seed(key(seed, purpose, *position))


def numpy_stream(seed: int, purpose: str, *position: int) -> np.random.Generator:
    """A numpy generator for a seed and a purpose, for draws that torch does not offer (Dirichlet, gamma)."""
    return np.random.default_rng(key(seed, purpose, *position))
