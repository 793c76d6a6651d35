"""Terms that are added to a loss in a training loop of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from artifact.models.activations import mean_square_activations


@contextmanager
def man(model: nn.Module, zeta: float = 0.15) -> Iterator[Callable[[], Tensor]]:
    """MAN's activation term of the passes inside: zeta * sum over hidden layers of the mean squared activation.

    Hidden layers are the non-linearities (Yashwanth et al. 2024, eq. 15-18). The function that comes out returns
    the term of all passes since it was last called, a scalar with gradient.

        with artifact.losses.man(model, zeta=0.15) as term:
            loss = F.cross_entropy(model(x), y) + term()
    """
    with mean_square_activations(model) as squares:

        def term() -> Tensor:
            total = sum(squares.values(), torch.zeros(()))
            squares.clear()
            return zeta * total

        yield term
