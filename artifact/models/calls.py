"""How a module of any kind is called on inputs of any kind: tensors, dicts and tuples in, a tensor out."""

from __future__ import annotations

import inspect
from typing import Any

from artifact.base.lazy import nn, torch


def keywords(module: nn.Module) -> frozenset[str]:
    """Names under which a module takes the entries of a dict; empty where it takes the dict as it is."""
    names = list(inspect.signature(module.forward).parameters)
    return frozenset(names) if len(names) > 1 else frozenset()


def arguments(inputs: Any, taken: frozenset[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of a call: a dict is spread over keywords where the module has all of them."""
    if isinstance(inputs, dict) and taken.issuperset(inputs):
        return (), inputs
    return (inputs,), {}


def logits(output: Any) -> Any:
    """The tensor of what a network returns: itself, or its ``logits`` as in Hugging Face's models."""
    if torch.is_tensor(output):
        return output
    found = output.get("logits") if isinstance(output, dict) else getattr(output, "logits", None)
    return output if found is None else found
