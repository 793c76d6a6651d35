"""Sharpness-aware local steps: where the gradient is taken when the ascent uses the client's own minibatch."""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.base import Cohort, Context, FedAvg, Gradient, NonNegative, State, rows
from artifact.algorithms.momentum import FedCM
from artifact.algorithms.variates import Scaffold
from artifact.base.flat import norm, unit
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class FedSAM(FedAvg):
    """Qu et al. 2022, Algorithm 1, eq. (4).

    rho: perturbation radius.
    """

    rho: NonNegative = 0.5

    #: added to the norm that the ascent divides by (SAM-4)
    stabiliser = 0.0

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        return self.rho * unit(G(W), self.stabiliser)


@dataclass(frozen=True)
class FedASAM(FedSAM):
    """Caldarola et al. 2022 with ASAM of Kwon et al. 2021, Algorithm 1; T = |w| + eta on weights, 1 on biases.

    eta_asam: added to |w| on weight tensors.
    """

    rho: NonNegative = 0.5
    eta_asam: NonNegative = 0.2

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        is_weight = torch.ones_like(w, dtype=torch.bool)
        for name, part in C.layout.slices():
            is_weight[part] = "weight" in name.replace(".original", "").rpartition(".")[2]
        return super().begin(state, w, C) | {"is_weight": is_weight}

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        T = torch.where(c.is_weight, W.abs() + self.eta_asam, torch.ones_like(W))
        Tg = T * G(W)
        return self.rho * T * unit(Tg, self.stabiliser)


@dataclass(frozen=True)
class MoFedSAM(FedSAM, FedCM):
    """Qu et al. 2022, Algorithm 2, eq. (6): FedSAM's ascent, FedCM's momentum."""


@dataclass(frozen=True)
class FedGAMMA(FedSAM, Scaffold):
    """Dai et al. 2023 (TNNLS): FedSAM's ascent, SCAFFOLD's control variates."""

    rho: NonNegative = 0.1


@dataclass(frozen=True)
class CorrectedSAM(FedAvg):
    """FedSMOO's perturbation by itself (Sun et al. 2023, Algorithm 1), with the printed sign of s.

    The ascent direction is corrected towards s, the perturbation that the server has agreed on, by a dual per client.

    rho: perturbation radius.
    """

    rho: NonNegative = 0.1

    stabiliser = 0.0

    def init(self, w: Tensor, m: int) -> State:
        return super().init(w, m) | {"s": torch.zeros_like(w), "mu": rows(m, w)}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"s": C.broadcast(state["s"]), "mu": state["mu"][C.clients]}

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        q = self.corrected(G(W), c)  # line 8
        c.e = self.rho * unit(q, self.stabiliser)
        c.mu = self.step_dual(c)  # line 9, at every local step
        return c.e

    def corrected(self, g: Tensor, c: Context) -> Tensor:
        return g - c.mu - c.s

    def step_dual(self, c: Context) -> Tensor:
        return c.mu + c.e - c.s

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        w_next = super().finish(state, c, w, W, C)
        mu = state["mu"][C.clients] = self.round_dual(c)
        mean = C.sum(self.estimate(mu, c.e)) / len(C.clients)
        state["s"] = self.rho * unit(mean, self.stabiliser)  # line 17
        return w_next

    def round_dual(self, c: Context) -> Tensor:
        return c.mu

    def estimate(self, mu: Tensor, e: Tensor) -> Tensor:
        return mu - e  # stilde_i; index K is never computed, so the last perturbation stands in (SMOO-3)


@dataclass(frozen=True)
class SignedSAM(FedSAM):
    """Global FedSAM's perturbation by itself (Al Kakoun 2024, eq. (3.9)-(3.12)): radius rho * r_i of either sign.

    normalised: r_i = cos(gbar, G_i) instead of ||gbar|| cos(gbar, G_i); it fits the unsquared objective (3.7)-(3.8).
    """

    rho: NonNegative = 0.05
    normalised: bool = False

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        Gfull = C.full_gradient(w)  # [S, P], phase 1
        gbar = C.sum(Gfull, self.shares(C))  # gbar = sum_j p_j G_j
        r = C.broadcast(self.ratio(Gfull, gbar, C))
        return super().begin(state, w, C) | {"r": r, "Gfull": Gfull}

    def shares(self, C: Cohort) -> Tensor:
        """Weights p_j [S, 1] of the clients, in the mean gradient and in r_k."""
        return C.p

    def ratio(self, Gfull: Tensor, gbar: Tensor, C: Cohort) -> Tensor:
        r = self.projection(Gfull, gbar, C)
        return r / norm(gbar).clamp_min(torch.finfo(r.dtype).tiny) if self.normalised else r

    def projection(self, Gfull: Tensor, gbar: Tensor, C: Cohort) -> Tensor:
        """The mean gradient along each client's, [S, 1]: sum_j p_j ||G_j|| cos(G_j, G_i) = <gbar, G_i> / ||G_i||."""
        return (unit(Gfull) * gbar).sum(-1, keepdim=True)

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        return c.r * super().perturbation(W, G, c)


@dataclass(frozen=True)
class GlobalFedSAM(SignedSAM):
    """Al Kakoun 2024, Algorithm 3: the signed radii, and a server mean with the cohort's weights p_j.

    normalised: r_i = cos(gbar, G_i) instead of ||gbar|| cos(gbar, G_i); it fits the unsquared objective (3.7)-(3.8).
    """

    by_size = True

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        return w + self.server_lr * C.sum(W - w, self.shares(C))  # theta^{t+1} = sum_S p_i theta_i
