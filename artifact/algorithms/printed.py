"""What the papers print literally where a slip had to be repaired, and two consistent alternatives.

These forms exist so that the effect of a slip can be measured; the ``paper`` variant runs none of them.
"""

from __future__ import annotations

from artifact.algorithms.base import Cohort, Context, FedAdam, FedAvg, State
from artifact.algorithms.duals import FedDyn, FedSMOO
from artifact.algorithms.lesam import FedLESAM, FedLESAMD
from artifact.algorithms.momentum import FedCM
from artifact.algorithms.sam import GlobalFedSAM, MoFedSAM
from artifact.algorithms.switches import switch
from artifact.algorithms.variates import FedDC, Scaffold
from artifact.base.flat import norm, unit
from artifact.base.lazy import Tensor, torch


@switch(
    "AVG-1",
    "printed",
    FedAvg,
    "server: (1/|S|) sum of p_k theta_k with p_k over ALL clients",
    when=lambda algorithm: algorithm.finish is FedAvg.finish,
)
class UnnormalisedMean(FedAvg):
    by_size = True

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        return C.sum(W, C.relative_size / C.m) / len(C.clients)


@switch("ADAM-1", "printed", FedAdam, "the second moment starts at tau^2 instead of zero")
class StartAtTau(FedAdam):
    def init(self, w: Tensor, m: int) -> State:
        return super().init(w, m) | {"v": torch.full_like(w, self.tau**2)}


@switch(
    "AVG-2",
    "printed",
    FedAvg,
    "server: the sum of the updates instead of their mean",
    when=lambda algorithm: not issubclass(algorithm, (FedAdam, FedDyn, FedDC, GlobalFedSAM)),  # servers of their own
)
class SumOfUpdates(FedAvg):
    def server(self, w: Tensor, Delta: Tensor, C: Cohort) -> Tensor:
        return w + self.server_lr * len(C.clients) * Delta


@switch("AVG-2", "printed", FedLESAMD, "server: the sum of the updates instead of their mean")
class SumBesideDual(FedLESAMD):
    def mean_update(self, total: Tensor, C: Cohort) -> Tensor:
        return total


@switch("SCAF-1", "printed", Scaffold, "the correction has the opposite sign")
class OppositeCorrection(Scaffold):
    def correction(self, c: Context) -> Tensor:
        return -super().correction(c)


@switch("SCAF-2", "printed", Scaffold, "c accumulates the mean variate instead of its increment")
class AccumulatedVariate(Scaffold):
    def server_variate(self, c: Tensor, c_plus: Tensor, c_i: Tensor, C: Cohort) -> Tensor:
        return c + C.sum(c_plus) / len(C.clients)


@switch("CM-1", "printed", FedCM, "server: eta_g times a per-step gradient estimate")
@switch("MOSAM-2", "printed", MoFedSAM, "server: eta_g times a per-step gradient estimate")
class GradientServerStep(FedCM):
    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        super().finish(state, c, w, W, C)
        return w + self.server_lr * self.velocity(W - w, C)


@switch("MOSAM-1", "printed", MoFedSAM, "the momentum has the opposite sign")
class OppositeMomentum(MoFedSAM):
    def momentum(self, Delta: Tensor, C: Cohort) -> Tensor:
        return -super().momentum(Delta, C)


@switch("SMOO-1", "alternative", FedSMOO, "sign of s as the augmented Lagrangian gives it")
class ConsistentSign(FedSMOO):
    def corrected(self, g: Tensor, c: Context) -> Tensor:
        return g - c.mu + c.s

    def estimate(self, mu: Tensor, e: Tensor) -> Tensor:
        return super().estimate(mu, -e)


@switch("SMOO-2", "alternative", FedSMOO, "the perturbation's dual is updated once a round, with the last perturbation")
class DualOncePerRound(FedSMOO):
    def step_dual(self, c: Context) -> Tensor:
        return c.mu

    def round_dual(self, c: Context) -> Tensor:
        return c.mu + c.e - c.s


@switch("LESAM-3", "printed", FedLESAM, "w_old starts at zero, so a first visit perturbs by -rho w/||w||")
class StartAtZero(FedLESAM):
    def estimate(self, state: State, w: Tensor, C: Cohort) -> Tensor:
        return state["w_old"][C.clients] - w


@switch("LESAM-4", "printed", FedLESAM, "the perturbation is multiplied by rho twice")
class RadiusTwice(FedLESAM):
    @property
    def radius(self) -> float:
        return self.rho**2


@switch("LESAMD-1", "printed", FedLESAMD, "the dual enters the local step with the opposite sign")
class OppositeDual(FedLESAMD):
    def direction(self, g: Tensor, c: Context) -> Tensor:
        return g + c.dual_i - c.coefficient * c.w


@switch("LESAMD-2", "printed", FedLESAMD, "the server's dual is computed and never used")
class UnusedDual(FedLESAMD):
    def server_dual(self, state: State, w: Tensor, total: Tensor, C: Cohort) -> Tensor:
        super().server_dual(state, w, total, C)
        return w + self.server_lr * self.mean_update(total, C)


@switch("LESAMD-3", "printed", FedLESAMD, "the server's dual divides by the active clients instead of all")
class DualOverActive(FedLESAMD):
    def server_dual(self, state: State, w: Tensor, total: Tensor, C: Cohort) -> Tensor:
        state["dual"] = state["dual"] - self.lam / len(C.clients) * total
        return w + self.mean_update(total, C) - state["dual"] / self.lam


@switch("GSAM-4", "printed", GlobalFedSAM, "r_k = 1 in the first round")
class FirstRatioOne(GlobalFedSAM):
    def ratio(self, Gfull: Tensor, gbar: Tensor, C: Cohort) -> Tensor:
        r = super().ratio(Gfull, gbar, C)
        return torch.ones_like(r) if C.t == 0 else r


@switch("GSAM-1", "printed", GlobalFedSAM, "r_k = ||G_k|| sum_j p_j cos(G_j, G_k)")
class RatioWithOwnNorm(GlobalFedSAM):
    def projection(self, Gfull: Tensor, gbar: Tensor, C: Cohort) -> Tensor:
        cosines = unit(Gfull) @ (self.shares(C) * unit(Gfull)).sum(0)  # sum_j p_j cos(G_j, G_k), at the server
        return norm(Gfull) * cosines[:, None]


@switch("GSAM-2", "printed", GlobalFedSAM, "p_k is normalised over ALL clients, so the model shrinks every round")
class WeightsOfAllClients(GlobalFedSAM):
    def shares(self, C: Cohort) -> Tensor:
        return C.relative_size / C.m

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        return C.sum(W, self.shares(C))
