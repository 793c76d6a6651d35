"""A server momentum that every local step mixes in."""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.base import Cohort, Context, FedAvg, State, Weight
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class FedCM(FedAvg):
    """Xu et al. 2021, Algorithm 1.

    beta: weight of the fresh gradient (alpha in Xu et al., beta in Qu et al. 2022).
    """

    beta: Weight = 0.1

    def init(self, w: Tensor, m: int) -> State:
        return super().init(w, m) | {"momentum": torch.zeros_like(w)}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"momentum": C.broadcast(state["momentum"])}

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return self.beta * g + (1 - self.beta) * c.momentum

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        Delta = W - w
        state["momentum"] = self.momentum(Delta, C)
        return self.server(w, C.mean(Delta), C)

    def momentum(self, Delta: Tensor, C: Cohort) -> Tensor:
        """M^{t+1} [P] in gradient units; the server forms it from the updates that it receives anyway."""
        return -self.velocity(Delta, C)

    def velocity(self, Delta: Tensor, C: Cohort) -> Tensor:
        """(1/n) sum_S Delta_i / (K_i eta_t), [P]: every client's update by the length of its own path."""
        return (Delta / self.elapsed(C)).mean(0)


@dataclass(frozen=True)
class MimeLite(FedCM):
    """Karimireddy et al. 2021 (Mime), Algorithm 1 without the SVRG correction, momentum statistics."""

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        Gfull = C.full_gradient(w)  # [S, P], gradients of the clients' whole data at w^t
        state["momentum"] = self.beta * C.mean(Gfull) + (1 - self.beta) * state["momentum"]
        return self.server(w, C.mean(W - w), C)
