"""FedNSAM as its abstract has it, and what the command of its README trains instead."""

from dataclasses import dataclass

import torch

from artifact.algorithms.base import FedAvg, Fraction, NonNegative
from artifact.algorithms.switches import switch


@dataclass(frozen=True)
class FedNSAM(FedAvg):
    """Liu et al. 2026: clients look ahead along the server's momentum, which also gives the ascent.

    rho: radius of the ascent.
    gamma: share of the momentum that is kept, and how far ahead clients look along it.
    """

    rho: NonNegative = 0.05
    gamma: Fraction = 0.85

    def init(self, w, m):
        return {"m": torch.zeros_like(w)}

    def begin(self, state, w, C):
        return {"m": C.broadcast(state["m"])}

    def perturbation(self, W, G, c):
        ahead = self.ahead(c)
        return ahead + self.ascent(W + ahead, G, c)

    def ahead(self, c):
        return self.share() * c.m

    def share(self):  # of the momentum, at the clients
        return self.gamma

    def ascent(self, W, G, c):  # the momentum points downhill
        return -self.radius() * c.m / c.m.norm().clamp(min=1e-12)

    def radius(self):
        return self.rho

    def update(self, w, W, state):
        return W - w

    def momentum(self, m, Delta, C):
        return self.gamma * m + Delta

    def finish(self, state, c, w, W, C):
        state["m"] = self.momentum(state["m"], C.mean(self.update(w, W, state)), C)
        return w + self.server_lr * state["m"]


CODE = ("author-code",)


@switch("NSAM-1", "released", FedNSAM, "the ascent goes along the client's own gradient", CODE)
class OwnAscent(FedNSAM):
    def ascent(self, W, G, c):
        g = G(W)
        return self.radius() * g / (g.norm(dim=-1, keepdim=True) + 1e-12)


@switch("NSAM-2", "released", FedNSAM, "the radius is 0.05, whatever the option says", CODE)
class FixedRadius(FedNSAM):
    def radius(self):
        return 0.05


@switch("NSAM-3", "released", FedNSAM, "clients begin ahead, where weight decay acts", CODE)
class BeginAhead(FedNSAM):
    def ahead(self, c):
        return torch.zeros_like(c.m)

    def step(self, W, G, c):
        if c.k == 0:
            W = W + self.share() * c.m
        return super().step(W, G, c)

    def update(self, w, W, state):
        return W - w - self.share() * state["m"]


@switch("NSAM-4", "released", FedNSAM, "clients look 0.85 m ahead, whatever the option says", CODE)
class FixedShare(FedNSAM):
    def share(self):
        return 0.85


@switch("NSAM-5", "released", FedNSAM, "the momentum is 1 + gamma times the last update", CODE)
class NothingKept(FedNSAM):
    def momentum(self, m, Delta, C):
        return Delta if C.t == 0 else (1 + self.gamma) * Delta
