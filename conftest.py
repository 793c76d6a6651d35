"""What every test process starts with."""

import os

import artifact  # noqa: F401  # before torch: it says how OpenMP's threads wait

# two workers of a parallel run share two cores: OpenMP's teams of two threads would wait for each other's turns
if "PYTEST_XDIST_WORKER" in os.environ:
    import torch

    torch.set_num_threads(1)
