"""FedLESAM: the perturbation is estimated from the global update that the client last saw; one gradient a step."""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.base import Cohort, Context, FedAvg, Gradient, NonNegative, State, rows
from artifact.algorithms.duals import FedDyn
from artifact.algorithms.variates import Scaffold
from artifact.base.flat import unit
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class FedLESAM(FedAvg):
    """Fan et al. 2024, Algorithm 1, eq. (3).

    rho: perturbation radius.
    """

    rho: NonNegative = 0.01

    def init(self, w: Tensor, m: int) -> State:
        never = torch.zeros(m, 1, dtype=torch.bool, device=w.device)
        return super().init(w, m) | {"w_old": rows(m, w), "visited": never}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"e": self.radius * self.ascent(self.estimate(state, w, C), C)}

    @property
    def radius(self) -> float:
        return self.rho

    def estimate(self, state: State, w: Tensor, C: Cohort) -> Tensor:
        """w_i^old - w^t [S, P], the descent that the client saw, reversed; zero on a first visit."""
        return state["visited"][C.index] * (state["w_old"][C.clients] - w)

    def ascent(self, estimate: Tensor, C: Cohort) -> Tensor:
        return unit(estimate)

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        return c.e

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        self.remember(state, w, C)
        return super().finish(state, c, w, W, C)

    def remember(self, state: State, w: Tensor, C: Cohort) -> None:
        state["w_old"][C.clients], state["visited"][C.index] = w, True  # w_i^old <- w^t


@dataclass(frozen=True)
class FedLESAMS(FedLESAM, Scaffold):
    """Fan et al. 2024, Algorithm 3: FedLESAM's perturbation, SCAFFOLD's control variates.

    correction_weight: weight of c - c_i, 1 in the paper.
    """

    rho: NonNegative = 0.1
    correction_weight: NonNegative = 1.0

    def correction(self, c: Context) -> Tensor:
        return self.correction_weight * super().correction(c)


@dataclass(frozen=True)
class FedLESAMD(FedLESAM, FedDyn):
    """Fan et al. 2024, Algorithm 4: FedLESAM's perturbation, FedDyn's duals."""

    rho: NonNegative = 0.1
