"""Forward passes whose graph can be differentiated twice, whatever kernels a network would use in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, nn, torch


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """Attention by its formula, and recurrent layers without cuDNN: the fused kernels have no second derivative.

    Encoder layers do not take their fast path for evaluation, either, which has no derivative at all.
    """
    attention = torch.nn.attention
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with ExitStack() as stack:
            stack.enter_context(attention.sdpa_kernel(attention.SDPBackend.MATH))
            if torch.backends.cudnn.is_available():
                stack.enter_context(torch.backends.cudnn.flags(enabled=False))
            with _written_out()():
                yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _written_out() -> Callable[[], Any]:
    """The class of a mode that puts formulas in place of operations without a second derivative."""
    if _made:
        return _made[0]
    from torch.overrides import TorchFunctionMode

    functional = torch.nn.functional
    sparse_at = {functional.embedding: 6}

    class WrittenOut(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func is functional.hardsigmoid:
                x = args[0] if args else kwargs["input"]
                return functional.relu6(x + 3) / 6
            if func in sparse_at:  # a sparse gradient has no derivative
                args = (*args[: sparse_at[func]], *([False] if len(args) > sparse_at[func] else []))
                kwargs = kwargs | ({"sparse": False} if "sparse" in kwargs else {})
            return func(*args, **kwargs)

    _made.append(WrittenOut)
    return WrittenOut


_made: list[Callable[[], Any]] = []


def require_pure(model: nn.Module) -> None:
    """Raises UserError for a network whose forward pass changes its own weights."""
    for name, module in model.named_modules():
        if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and module.max_norm is not None:
            allowed = (
                "an embedding without max_norm, which shortens weights in every pass, so that the loss has no slope"
            )
            raise UserError("model", f"{name or 'Embedding'}(max_norm={module.max_norm:g})", allowed)


@contextmanager
def second_derivatives() -> Iterator[None]:
    """Raises UserError, with the operation's name, where torch has no second derivative of it."""
    try:
        yield
    except RuntimeError as error:
        said = str(error).split("\n")[0]
        if (
            not said.startswith("derivative for")
            and "double backward" not in said
            and "does not require grad" not in said
        ):
            raise
        operation = said.removeprefix("derivative for ").split(" ")[0]
        allowed = f"operations that torch can differentiate twice; write this one out by simpler ones ({said})"
        raise UserError("model", operation, allowed) from None


def dense(gradient: Tensor) -> Tensor:
    """A gradient as a vector of numbers; embeddings may give sparse ones."""
    return gradient.to_dense() if gradient.is_sparse else gradient
