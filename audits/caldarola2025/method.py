"""FedGloSS (Caldarola, Cagnasso, Caputo and Ciccone, CVPR 2025): Algorithm 1, and what the published code computes.

The algorithm is read from the figure ``algorithm.png`` of the authors' repository pietrocagnasso/fedgloss@cbd6cf5. One
thing of that code is no switch: where a client runs more than one epoch, every epoch is anchored at the model that it
starts from. All of its scripts for the paper run one epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.base import NonNegative, Positive, State
from artifact.algorithms.cohort import Cohort, Context
from artifact.algorithms.duals import FedDynSAM
from artifact.algorithms.switches import switch
from artifact.base.flat import unit
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class FedGloSS(FedDynSAM):
    """Caldarola et al. 2025, Algorithm 1: FedDyn around a server model that is perturbed by the last pseudo-gradient.

    rho: radius rho_l of the clients' ascent; 0 takes the plain gradient.
    server_rho: radius rho of the server's ascent.
    lam: penalty 1/beta.
    warm_up: rounds T_s over which both radii grow linearly from rho0; an option of the code, 0 in Algorithm 1.
    rho0: radii in the first round of a warm-up.
    """

    rho: NonNegative = 0.15
    server_rho: NonNegative = 0.15
    lam: Positive = 0.1
    warm_up: NonNegative = 0.0
    rho0: NonNegative = 0.001

    def init(self, w: Tensor, m: int) -> State:
        return super().init(w, m) | {"pseudo": torch.zeros_like(w)}

    def grown(self, radius: float, t: int) -> float:
        """The radius of round t, from 0."""
        return radius if t >= self.warm_up else self.rho0 + t * (radius - self.rho0) / self.warm_up

    def server_radius(self, t: int) -> float:
        return self.grown(self.server_rho, t)

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        ascent = self.server_radius(C.t) * unit(state["pseudo"])  # line 4; zero in the first round
        own = {"ascent": ascent, "anchor": w + ascent, "radius": self.grown(self.rho, C.t)}  # line 5
        return super().begin(state, w, C) | own

    def step(self, W: Tensor, G, c: Context) -> Tensor:
        return super().step(W + c.ascent if c.k == 0 else W, G, c)  # line 8

    def perturbation(self, W: Tensor, G, c: Context) -> Tensor:
        return c.radius * unit(G(W), self.stabiliser)  # line 13

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return g - c.dual_i - c.coefficient * c.anchor  # line 15; its w-part is the penalty

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        Delta = W - c.anchor
        state["pseudo"] = -C.sum(Delta, C.p)  # line 23
        total = Delta.sum(0)  # of the same models, so it is sent once
        state["dual_i"][C.clients] = self.client_dual(c, Delta)  # line 19
        state["dual"] = state["dual"] - self.lam * self.share(C) * total  # line 22
        return w - state["pseudo"] - state["dual"] / self.lam  # line 24

    def share(self, C: Cohort) -> float:
        """What line 22 multiplies the sum by, beside 1/beta."""
        return 1 / C.m


@switch("GLOSS-1", "released", FedGloSS, "in the warm-up the server's radius is the clients' last one", ("fedgloss",))
class RadiusOfClients(FedGloSS):
    """Its list grows from the clients' last radius by one step of its own, and so it stands still up to T_s."""

    def server_radius(self, t: int) -> float:
        if not 0 < t <= self.warm_up:
            return self.grown(self.server_rho, t)
        return self.rho + (self.server_rho - self.rho0) / self.warm_up


@switch(
    "GLOSS-2",
    "released",
    FedGloSS,
    "the server's dual takes the mean over the cohort / |C|, not its sum",
    ("fedgloss",),
)
class MeanDual(FedGloSS):
    def share(self, C: Cohort) -> float:
        return 1 / (C.m * len(C.clients))


@switch("GLOSS-3", "released", FedGloSS, "1e-16 is added to the norm in the clients' ascent", ("fedgloss",))
class StabilisedSlightly(FedGloSS):
    stabiliser = 1e-16
