"""What the published code computes where it differs from the paper's method: one equation per switch.

Sources: FL-Simulator @502bec6 (code of FedSMOO), the FedLESAM repository @d6663cc, fedMAN @d38a10e. A switch that no
released form has is a fault of a public re-implementation, which its class names (claims/genealogy.csv).
"""

from __future__ import annotations

from artifact.algorithms.base import Cohort, Context, FedAvg, FedProx, Gradient, State
from artifact.algorithms.duals import FedDyn, FedSMOO, FedSpeed
from artifact.algorithms.lesam import FedLESAM, FedLESAMS
from artifact.algorithms.momentum import FedCM, MimeLite
from artifact.algorithms.sam import FedGAMMA, FedSAM, MoFedSAM
from artifact.algorithms.switches import SOURCES, switch
from artifact.algorithms.variates import FedDC, Scaffold
from artifact.base.flat import unit
from artifact.base.lazy import Tensor, torch

FORK = ("fl-simulator", "fedlesam")
#: the norm to which every released code clips where nothing else is asked for (GEN-1)
RELEASED_CLIP = 10.0


@switch("GEN-1", "released", FedAvg, "gradient and linear correction are clipped to norm 10 as one vector", SOURCES)
class ClipTotal(FedAvg):
    clip_total = True


@switch("MAN-1", "released", FedAvg, "MAN's penalty is added with half its coefficient", ("fedman",))
class HalfPenalty(FedAvg):
    man_scale = 0.5


@switch(
    "GEN-4",
    "released",
    (Scaffold, FedCM),
    "K = E*N_0/B of client 0 is used for every client",
    FORK,
    when=lambda algorithm: not issubclass(algorithm, MimeLite),  # its momentum is of full gradients
)
class StepsOfFirstClient(FedAvg):
    def elapsed(self, C: Cohort) -> Tensor | float:
        return C.K_first * C.lr


@switch("SAM-4", "released", FedSpeed, "1e-7 is added to the norm that the ascent divides by", ("fedman",))
@switch("SAM-4", "released", (FedSAM, FedSMOO, FedSpeed), "1e-7 is added to the norm that the ascent divides by", FORK)
class Stabilised(FedAvg):
    stabiliser = 1e-7


@switch("SAM-4", "released", FedSAM, "1e-16 is added to the norm that the ascent divides by", ("fedman",))
class StabilisedSlightly(FedSAM):
    stabiliser = 1e-16


@switch(
    "AVG-4",
    "released",
    FedAvg,
    "the server takes the size-weighted mean and ignores its own rate",
    ("fedman",),
    when=lambda algorithm: algorithm.finish is FedAvg.finish,
)
class WeightedMean(FedAvg):
    by_size = True

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        return w + C.sum(W - w, C.p)


@switch("PROX-2", "released", FedDC, "both halves of the proximal term are clipped together", ("fedman",))
class PenaltyInsideClip(FedAvg):
    penalty_inside_clip = True


@switch("PROX-2", "released", FedProx, "both halves of the proximal term are clipped together; lam 1e-4", ("fedman",))
class WeakPenaltyInsideClip(PenaltyInsideClip):
    defaults = {"lam": 1e-4}


@switch("DYN-3", "released", (FedDyn, FedDC), "the penalty is inverse to the client's relative size", ("fedman",))
class PenaltyBySize(FedAvg):
    lam: float

    def client_lam(self, C: Cohort) -> Tensor | float:
        return self.lam / C.relative_size


@switch("SCAF-6", "released", Scaffold, "variates by relative size, un-decayed rate, equal steps for all", ("fedman",))
class VariatesBySize(Scaffold):
    equal_steps = True

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"relative_size": C.relative_size}

    def sent_variate(self, c: Context) -> Tensor:
        return c.c / c.relative_size

    def elapsed(self, C: Cohort) -> Tensor | float:
        return C.K_mean * C.first_lr

    def server_variate(self, c: Tensor, c_plus: Tensor, c_i: Tensor, C: Cohort) -> Tensor:
        return c + C.sum(c_plus - c_i, C.relative_size) / C.m

    def server(self, w: Tensor, Delta: Tensor, C: Cohort) -> Tensor:
        return w + Delta


@switch("DC-2", "released", FedDC, "server: mean of active models plus mean of ALL clients' drift", ("fedman",))
class DriftOfAllClients(FedDC):
    def server_drift(self, state: State, W: Tensor, h: Tensor, C: Cohort) -> Tensor:
        return C.mean(W) + state["h"].mean(0)


@switch(
    "DC-3",
    "released",
    FedDC,
    "variates use the un-decayed rate, E*ceil(mean N/B) steps and relative sizes",
    ("fedman",),
)
class DriftVariatesBySize(FedDC):
    def sent_variate(self, g: Tensor, C: Cohort) -> Tensor:
        return g / C.relative_size

    def elapsed(self, C: Cohort) -> Tensor | float:
        return C.K_mean * C.first_lr

    def variate_weight(self, C: Cohort) -> Tensor | float:
        return C.relative_size


@switch(
    "SPEED-1", "released", FedSpeed, "only the perturbed gradient is used, the mixing weight is never read", SOURCES
)
class PerturbedGradientOnly(FedSpeed):
    def quasi_gradient(self, g1: Tensor, g2: Tensor) -> Tensor:
        return g2


@switch("SPEED-2", "released", FedSpeed, "server: FedDyn's dual over all clients instead of the active ones", SOURCES)
class SpeedServerOfFedDyn(FedSpeed):
    def server_speed(self, state: State, c: Context, w: Tensor, W: Tensor, dual_i: Tensor, C: Cohort) -> Tensor:
        return self.server_dual(state, w, C.sum(W - w), C)


@switch("SPEED-3", "released", FedSpeed, "the ascent adds the previous step's clipped direction", ("fedman",))
class ContaminatedAscent(FedSpeed):
    def ascent(self, g1: Tensor, c: Context) -> Tensor:
        return g1 if c.applied is None else g1 + c.applied


@switch("MOSAM-3", "released", MoFedSAM, "the weight of the fresh gradient is not applied", ("fedlesam",))
class UnweightedGradient(MoFedSAM):
    def direction(self, g: Tensor, c: Context) -> Tensor:
        return g + (1 - self.beta) * c.momentum


@switch(
    "SMOO-5", "released", FedSMOO, "s is formed from mu_i alone, the perturbation's term is dropped", ("fl-simulator",)
)
class EstimateFromDualOnly(FedSMOO):
    def estimate(self, mu: Tensor, e: Tensor) -> Tensor:
        return mu


@switch("SMOO-11", "released", FedSMOO, "every tensor's dual and s are read from the start of the flat vectors")
class DualsWithoutOffsets(FedSMOO):
    """FL-Simulator before 502bec6, and forks of it: ``idx += length`` is missing where vectors are taken apart."""

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        own = super().begin(state, w, C)
        read = torch.cat([torch.arange(size, device=w.device) for size in C.layout.sizes])
        return own | {"s": own["s"][..., read], "mu": own["mu"][..., read]}


@switch(
    "SAM-8",
    "released",
    FedSAM,
    "the ascent is scaled by the squared weights",
    when=lambda algorithm: (algorithm.perturbation, algorithm.step) == (FedSAM.perturbation, FedAvg.step),
)
class SquaredWeights(FedSAM):
    """FL-boop-blip/DPFed@b36b793: FL-Simulator's option for ASAM is on by default, e = rho w^2 g / |w g|."""

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        return self.rho * W.abs() * unit(W.abs() * G(W), self.stabiliser)


@switch("MOSAM-5", "released", MoFedSAM, "every local step shrinks the momentum for all later steps and clients")
class FadingMomentum(MoFedSAM):
    """hwan-sig/Official-FedGF@36233b7: ``mul_`` on a view of the vector that all clients of the round are sent."""

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"steps_before": torch.cumsum(C.K, 0) - C.K}

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return self.beta * g + (1 - self.beta) ** (c.steps_before + c.k + 1) * c.momentum


@switch("GAMMA-4", "released", FedGAMMA, "the server's variate takes the cohort's mean / m, not its sum / m")
class VariateOfTheMean(FedGAMMA):
    """hwan-sig/Official-FedGF@36233b7."""

    def server_variate(self, c: Tensor, c_plus: Tensor, c_i: Tensor, C: Cohort) -> Tensor:
        return c + C.sum(c_plus - c_i) / len(C.clients) / C.m


@switch("GAMMA-5", "released", FedGAMMA, "a client's variate is its update by the steps, not by steps and rate")
class VariateWithoutRate(FedGAMMA):
    """Ultraman6/FedScar@d347eeb."""

    def elapsed(self, C: Cohort) -> Tensor | float:
        return C.K


class _LastGlobalUpdate(FedLESAM):
    """Every client gets w^t - w^{t-1}: one more model down, no client memory."""

    def init(self, w: Tensor, m: int) -> State:
        state = super().init(w, m)
        del state["w_old"], state["visited"]
        return state | {"w_previous": w.clone()}

    def estimate(self, state: State, w: Tensor, C: Cohort) -> Tensor:
        return C.broadcast(state["w_previous"] - w).expand(len(C.clients), -1)

    def remember(self, state: State, w: Tensor, C: Cohort) -> None:
        state["w_previous"] = w.clone()


class _ScalarPerTensor(FedLESAM):
    """Tensor j is shifted by q_j / (sum_j' |q_j'| + 1e-7), q_j the j-th ENTRY of the flat update."""

    def ascent(self, estimate: Tensor, C: Cohort) -> Tensor:
        tensors = len(C.layout.sizes)
        entries = estimate[:, :tensors]
        scalars = entries / (entries.abs().sum(-1, keepdim=True) + 1e-7)
        columns = zip(scalars.split(1, -1), C.layout.sizes, strict=True)
        return torch.cat([scalar.expand(-1, size) for scalar, size in columns], -1)


_SCALAR = "every tensor is shifted by one scalar, an entry of the flat update"
switch("LESAM-1", "released", FedLESAM, _SCALAR, ("fedlesam",))(_ScalarPerTensor)
switch(
    "LESAM-2", "released", FedLESAM, "every client gets the last global update instead of its own w_old", ("fedlesam",)
)(_LastGlobalUpdate)


@switch("LESAMS-2", "released", FedLESAMS, "the control variates are scaled by the proximal coefficient", ("fedlesam",))
class ScaledCorrection(FedLESAMS):
    defaults = {"correction_weight": 0.1}
