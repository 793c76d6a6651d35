"""Dual variables: each client's dual estimates its gradient at the consensus, lam = 1/beta is the penalty."""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.base import Cohort, Context, FedAvg, Fraction, Gradient, NonNegative, Positive, State, rows
from artifact.algorithms.sam import CorrectedSAM, FedSAM
from artifact.base.flat import unit
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class FedDyn(FedAvg):
    """Acar et al. 2021 (ICLR), Algorithm 1. Invariant: dual is the mean of all dual_i. eta_g is not used.

    lam: penalty (alpha in Acar et al., 1/beta in Sun et al. 2023).
    """

    lam: Positive = 0.1

    def init(self, w: Tensor, m: int) -> State:
        return super().init(w, m) | {"dual": torch.zeros_like(w), "dual_i": rows(m, w)}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"dual_i": state["dual_i"][C.clients], "coefficient": self.client_lam(C)}

    def client_lam(self, C: Cohort) -> Tensor | float:
        return self.lam

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return g - c.dual_i - c.coefficient * c.w  # g - lambda_i + lam (w - w^t), its w-part in the penalty

    def penalty(self, c: Context) -> Tensor | float:
        return c.coefficient

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        Delta = W - w
        total = C.sum(Delta)
        state["dual_i"][C.clients] = self.client_dual(c, Delta)
        return self.server_dual(state, w, total, C)

    def client_dual(self, c: Context, Delta: Tensor) -> Tensor:
        """lambda_i <- lambda_i - lam Delta_i, written over Delta: a large model's [S, P] is half a gigabyte."""
        return torch.sub(c.dual_i, Delta.mul_(c.coefficient), out=Delta)

    def server_dual(self, state: State, w: Tensor, total: Tensor, C: Cohort) -> Tensor:
        """lambda <- lambda - (lam/m) sum_S Delta_i;  w^{t+1} = (1/n) sum_S w_{K_i} - lambda / lam."""
        state["dual"] = state["dual"] - self.lam / C.m * total
        return w + self.mean_update(total, C) - state["dual"] / self.lam

    def mean_update(self, total: Tensor, C: Cohort) -> Tensor:
        """(1/n) sum_S Delta_i, from the sum over the cohort."""
        return total / len(C.clients)


@dataclass(frozen=True)
class FedDynSAM(FedSAM, FedDyn):
    """Sun et al. 2023, appendix B.7, row "DR + SAM": FedDyn with FedSAM's ascent."""

    rho: NonNegative = 0.1


@dataclass(frozen=True)
class FedSpeed(FedDynSAM):
    """Sun et al. 2023 (ICLR), Algorithm 1.

    mixing: a, weight of the perturbed gradient against the plain one; 1 is recommended there.
    """

    mixing: Fraction = 1.0

    def step(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        g1 = G(W)
        c.e = self.rho * unit(self.ascent(g1, c), self.stabiliser)
        g2 = G(W + c.e)
        g = c.clip_gradient(self.quasi_gradient(g1, g2))
        return c.descend(W, self.direction(g, c), self.penalty(c))

    def quasi_gradient(self, g1: Tensor, g2: Tensor) -> Tensor:
        return (1 - self.mixing) * g1 + self.mixing * g2

    def ascent(self, g1: Tensor, c: Context) -> Tensor:
        return g1

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        dual_i = state["dual_i"][C.clients] = self.client_dual(c, W - w)  # ghat_i
        return self.server_speed(state, c, w, W, dual_i, C)

    def server_speed(self, state: State, c: Context, w: Tensor, W: Tensor, dual_i: Tensor, C: Cohort) -> Tensor:
        return C.mean(W - dual_i / c.coefficient)  # xhat_i = w_{K_i} - lam_s ghat_i, lam_s = 1/lam of the client


@dataclass(frozen=True)
class FedSMOO(CorrectedSAM, FedDyn):
    """Sun et al. 2023 (ICML), Algorithm 1, with the printed sign of s (SMOO-1): FedDyn with the corrected ascent."""
