"""The local step of stochastic gradient descent, in as few passes over the cohort's matrix as the device allows.

torch's four operations read or write a whole matrix [S, P] ten times. The compiled loops of a CPU and the kernel of a
GPU, which torch compiles from the text below when it is first called, do so three times. The kernel takes one
number for all clients; rates of their own go by torch's operations. In a recorded step the rate is a tensor, and the
models move in place (``descent_kernel``).
"""

from __future__ import annotations

from collections.abc import Callable

from artifact.accelerate.loops import loops_for
from artifact.accelerate.triton_modules import kernels_for
from artifact.base.cache import cache
from artifact.base.lazy import Tensor, torch

_KERNEL = "template <typename T> T step(T w, T d, T omega, T lr) { return w - lr * (d + omega * w); }"


def sgd_step(W: Tensor, d: Tensor, omega: Tensor | float, lr: Tensor | float, out: Tensor | None = None) -> Tensor:
    """W - lr (d + omega W), [S, P]; omega, lr: a number or [S, 1].

    out: where the result goes, perhaps W itself.
    Raises ValueError for a direction of another shape.
    """
    if d.shape != W.shape:  # compiled loops would read whatever lies behind it
        raise ValueError(f"the direction of a step is {[*d.shape]}, the models are {[*W.shape]}")
    own_rates = torch.is_tensor(lr)
    if W.is_cuda and not torch.is_tensor(omega) and not own_rates and out is None:
        return _kernel()(W, d, omega=omega, lr=lr)
    if torch.is_tensor(lr) and lr.numel() == 1 and out is W and not torch.is_tensor(omega):
        fits = W.dtype == d.dtype == lr.dtype == torch.float32 and W.is_contiguous() and d.is_contiguous()
        kernel = kernels_for("descent_kernel", W, d, lr) if fits else None
        if kernel is not None:
            return kernel.descend(W, d, omega, lr)
    loops, moved = None if own_rates else loops_for(W, d), torch.empty_like(W)
    if loops is not None:
        decay = torch.as_tensor(omega, dtype=W.dtype).expand(len(W), 1)[:, 0].contiguous()
        loops.descend(W.numpy(), d.numpy(), decay.numpy(), torch.tensor(lr, dtype=W.dtype).numpy()[()], moved.numpy())
        return moved
    decayed = torch.is_tensor(omega) or omega != 0
    torch.mul(W, omega, out=moved).add_(d).mul_(lr) if decayed else torch.mul(d, lr, out=moved)
    return torch.sub(W, moved, out=moved if out is None else out)


@cache
def _kernel() -> Callable[..., Tensor]:
    return torch.cuda.jiterator._create_jit_fn(_KERNEL, omega=0.0, lr=0.0)
