"""The one entry of a user's data, labels, losses and modules: what can be taken is, the rest is one line.

Each refusal names the remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.data import DataLoader, IterableDataset, default_collate
from torch.utils.data import Dataset as TorchDataset

from artifact.base.errors import UserError

#: (inputs, labels) of some samples; the inputs are a tensor [n, ...], or a dict or tuple of them
Pair = tuple[Any, Tensor]
Collate = Callable[[list[Any]], Any]

_FORM = "a pair (inputs, labels), a torch Dataset of such pairs, or a DataLoader"


def pair(given: Any, name: str, collate_fn: Collate | None = None) -> Pair:
    """(inputs, labels) as tensors, of a pair, a Dataset or a DataLoader.

    collate_fn: makes one batch of a list of samples, as a DataLoader's; for samples of unequal length it pads.
    Samples may be dicts with an entry ``labels`` or ``label``.
    Raises UserError where lengths differ, there is no sample, or numbers cannot be made of what is there.
    """
    if isinstance(given, DataLoader):
        own = given.collate_fn if given.collate_fn is not default_collate else None
        return pair(given.dataset, name, collate_fn or own)
    if isinstance(given, IterableDataset):
        raise UserError(name, type(given).__name__, "a Dataset with a length; list(dataset) of an iterable one")
    if is_dataset(given):
        given = collated([given[i] for i in range(len(given))], name, collate_fn)
    if isinstance(given, Mapping):
        entries = dict(given)
        label = next((key for key in ("labels", "label") if key in entries), None)
        if label is None:
            raise UserError(name, ", ".join(map(str, entries)), "a dict with an entry labels")
        given = ({key: v for key, v in entries.items() if key != label}, entries[label])
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        found = f"{type(given).__name__} of {len(given)}" if isinstance(given, (tuple, list)) else type(given).__name__
        raise UserError(name, found, _FORM)
    inputs: Any = dict(given[0]) if isinstance(given[0], Mapping) else given[0]
    if isinstance(inputs, list):
        inputs = _tensor(inputs, name)
    inputs = tree_map(lambda leaf: _tensor(leaf, name), inputs)
    labels = _labels(given[1], name)
    lengths = {len(leaf) if leaf.dim() else 0 for leaf in tree_leaves(inputs)} | {len(labels) if labels.dim() else 0}
    if len(lengths) != 1 or not len(labels):
        raise UserError(name, sorted(lengths), "inputs and labels of one length, with a sample at least")
    return inputs, labels


def is_dataset(given: Any) -> bool:
    """A Dataset of torch, or one of Hugging Face."""
    return isinstance(given, TorchDataset) or (hasattr(given, "__getitem__") and hasattr(given, "features"))


def collated(samples: list[Any], name: str, collate_fn: Collate | None) -> Any:
    """One batch of a list of samples. Raises UserError where there is none, or lengths differ."""
    if not samples:
        raise UserError(name, "no sample", "at least one sample")
    try:
        return (collate_fn or default_collate)(samples)
    except (RuntimeError, TypeError, ValueError) as error:
        allowed = "samples of one shape, or collate_fn=, a function that pads a list of samples"
        raise UserError(name, type(error).__name__, f"{allowed} ({_line(error)})") from None


def _tensor(leaf: Any, name: str) -> Tensor:
    try:
        return torch.as_tensor(np.asarray(leaf) if isinstance(leaf, list) and not _of_tensors(leaf) else _stacked(leaf))
    except (TypeError, ValueError, RuntimeError) as error:
        allowed = "numbers of one shape per sample; pad samples of unequal length, or give a Dataset and collate_fn="
        raise UserError(name, type(leaf).__name__, f"{allowed} ({_line(error)})") from None


def _of_tensors(leaf: list[Any]) -> bool:
    return bool(leaf) and isinstance(leaf[0], Tensor)


def _stacked(leaf: Any) -> Any:
    return torch.stack(leaf) if isinstance(leaf, list) else leaf


def _labels(given: Any, name: str) -> Tensor:
    first = given[0] if isinstance(given, (list, tuple)) and len(given) else given
    if isinstance(first, str) or (isinstance(given, np.ndarray) and given.dtype.kind in "USO"):
        remedy = "numbers: names, labels = np.unique(labels, return_inverse=True)"
        raise UserError(f"{name} labels", "names", remedy)
    labels = _tensor(given, name)
    return labels if labels.is_floating_point() or labels.dtype == torch.bool else labels.long()


def require_module(module: Any) -> None:
    """Raises UserError for what is no module, and for one whose parameters have no shapes yet."""
    if not isinstance(module, nn.Module):
        hint = "; an object of it" if isinstance(module, type) and issubclass(module, nn.Module) else ""
        raise UserError("model", getattr(module, "__name__", type(module).__name__), f"a torch.nn.Module{hint}")
    lazy = [name for name, p in module.named_parameters() if isinstance(p, nn.parameter.UninitializedParameter)]
    if lazy:
        raise UserError("model", lazy[0], "a module whose parameters have shapes: call it once on a batch before")


def output_of(model: nn.Module, inputs: Any, samples: Any) -> Any:
    """Output of the model for two samples. Raises UserError with the reason, and what the inputs are."""
    try:
        with torch.no_grad():
            return model(inputs)
    except UserError:
        raise
    except Exception as error:  # the user's own code may raise anything
        kinds = ", ".join(f"{str(x.dtype).removeprefix('torch.')} {list(x.shape[1:])}" for x in tree_leaves(samples))
        remedy = "a module that takes these inputs"
        if any(x.dtype == torch.uint8 for x in tree_leaves(samples)):
            remedy = "floating-point inputs: x.float() / 255 of images"
        raise UserError("model", f"inputs {kinds}", f"{remedy} ({type(error).__name__}: {_line(error)})") from None


def require_loss(loss: Callable[[Any, Tensor], Tensor], output: Any, labels: Tensor, default: bool) -> None:
    """Raises UserError where the loss of two samples is no scalar."""
    if default and not torch.is_tensor(output):
        kind = f"{type(output).__name__} of {', '.join(output)}" if isinstance(output, dict) else type(output).__name__
        remedy = "a tensor, or output=, a function of what the model returns, as output=lambda out: out[0], or loss="
        raise UserError("model output", kind, remedy)
    try:
        with torch.no_grad():
            found = loss(output, labels)
    except Exception as error:  # the user's own code may raise anything
        shapes = f"output {_shape(output)}, labels {str(labels.dtype).removeprefix('torch.')} {list(labels.shape)}"
        remedy = "loss=, a function (output, labels) that fits both"
        raise UserError("loss", shapes, f"{remedy} ({type(error).__name__}: {_line(error)})") from None
    if not torch.is_tensor(found) or found.numel() != 1:
        raise UserError("loss", _shape(found), "a scalar, the mean of a minibatch (reduction='mean')")


def _shape(value: Any) -> str:
    return str(list(value.shape)) if torch.is_tensor(value) else type(value).__name__


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:160]
