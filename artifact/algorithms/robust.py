"""FedRobust: each client also learns the affine shift of its inputs that hurts the model most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from artifact.algorithms.base import Cohort, Context, FedAvg, Positive, State
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class FedRobust(FedAvg):
    """Reisizadeh et al. 2020 (NeurIPS), Algorithm 1: simultaneous descent in w, ascent in (Lambda_i, delta_i).

    On images the map acts on colour channels (a C x C matrix and a C-vector); that restriction is ours. On feature
    vectors of length D it is the full D x D map.
    ascent_lr: step of the ascent.
    shift_penalty: weight of ||Lambda_i - I||^2 + ||delta_i||^2.
    """

    ascent_lr: Positive = 0.05
    shift_penalty: Positive = 1.0

    #: asks for gradients in the affine maps, too
    linear_without_gradient = False
    maps_inputs = True

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        if "Lambda" not in state:  # the width of the input is known to the cohort, not to init
            identity = torch.eye(C.input_channels, dtype=w.dtype, device=w.device)
            state["Lambda"] = identity.repeat(C.m, 1, 1)
            state["delta"] = torch.zeros(C.m, C.input_channels, dtype=w.dtype, device=w.device)
        return {"Lambda": state["Lambda"][C.index], "delta": state["delta"][C.index]}

    def step(self, W: Tensor, G: Any, c: Context) -> Tensor:
        g, g_Lambda, g_delta = G.affine(W, c.Lambda, c.delta)  # one backward pass gives all three
        identity = torch.eye(c.delta.shape[-1], dtype=W.dtype, device=W.device)
        c.Lambda = c.Lambda + self.ascent_lr * (g_Lambda - 2 * self.shift_penalty * (c.Lambda - identity))
        c.delta = c.delta + self.ascent_lr * (g_delta - 2 * self.shift_penalty * c.delta)
        return c.descend(W, c.clip_gradient(g))

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        state["Lambda"][C.index], state["delta"][C.index] = c.Lambda, c.delta
        return super().finish(state, c, w, W, C)
