"""How much a batch counts in the mean of a loss over a data set.

A loss that is a mean of its batch's samples counts a batch by their number. Class weights and ignored targets change
that: the mean is then over the weights of the targets that count.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from artifact.base.lazy import Tensor, torch

#: (targets) -> how much a batch with them counts
Mass = Callable[["Tensor"], float]


def mass_of(loss: Callable[[Any, Any], Any]) -> Mass | None:
    """The mass of a batch for torch's classification losses; None for a loss that is not known.

    Functions may be wrapped by ``functools.partial``. Targets that are probabilities count by their number.
    """
    options: dict[str, Any] = {}
    while isinstance(loss, partial):
        options = loss.keywords | options
        loss = loss.func
    if isinstance(loss, (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss)):
        options = {"weight": loss.weight, "ignore_index": loss.ignore_index}
    elif loss not in (torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss):
        return None
    weight, ignored = options.get("weight"), options.get("ignore_index", -100)

    def mass(targets: Tensor) -> float:
        if targets.is_floating_point():
            return float(len(targets))
        kept = targets[targets != ignored]
        return float(len(kept) if weight is None else weight.to(kept.device).double()[kept].sum())

    return mass


def is_plain(loss: Callable[[Any, Any], Any]) -> bool:
    """Whether a loss is a cross-entropy in which every sample counts alike, but for ignored ones."""
    while isinstance(loss, partial):
        if loss.keywords.get("weight") is not None:
            return False
        loss = loss.func
    if isinstance(loss, torch.nn.CrossEntropyLoss):
        return loss.weight is None
    return loss is torch.nn.functional.cross_entropy
