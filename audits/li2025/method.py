"""FedWMSAM (Li et al., NeurIPS 2025) as the authors' poster has it, and what their published code computes.

The equations stand on the poster and in the README of Huang-Yongzhi/NeurlPS_FedWMSAM@a922a1d; the paper's own text,
arXiv 2511.22080, was at hand as an abstract alone. Where the poster's signs contradict each other, the class has the
reading that can be run, and a claim of ``claims.toml`` says so: the momentum is in gradient units, and the server walks
along the clients' mean update. One thing of the code is no switch: it multiplies the momentum by the decay of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.base import FedAvg, Gradient, NonNegative, State, Weight, rows
from artifact.algorithms.cohort import Cohort, Context
from artifact.algorithms.switches import switch
from artifact.base.flat import norm, unit
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class FedWMSAM(FedAvg):
    """Li et al. 2025, boxes A to D of the poster: momentum per client, and an ascent along where it leads.

    rho: perturbation radius.
    alpha: weight of the fresh gradient in the first round.
    smoothing: weight lambda of a round's similarity in that weight; 0 keeps it.
    """

    rho: NonNegative = 0.01
    alpha: Weight = 0.1
    smoothing: NonNegative = 0.01

    def init(self, w: Tensor, m: int) -> State:
        vectors = {name: torch.zeros_like(w) for name in ("momentum", "c")}
        return vectors | {"c_i": rows(m, w), "alpha": torch.full_like(w[:1], self.alpha)}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        alpha = C.broadcast(state["alpha"])
        correction = alpha / (1 - alpha) * (state["c"] - state["c_i"][C.clients])
        return {"alpha": alpha, "momentum": C.broadcast(state["momentum"]) + correction}  # box A; the server keeps c_i

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        return self.rho * self.towards(c.w + c.k * c.momentum - W, c)  # box B; zero in the first step

    def towards(self, delta: Tensor, c: Context) -> Tensor:
        """The direction [S, P] of the ascent, from delta [S, P]."""
        return unit(delta)

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return c.alpha * g + (1 - c.alpha) * c.momentum  # line 16

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        Delta = W - w
        similarity = self.similarity(-Delta, state["momentum"])
        state["alpha"] = (1 - self.smoothing) * c.alpha + self.smoothing * similarity.mean(0).clamp(0.1, 0.9)  # box C
        g_i = -Delta / self.elapsed(C)  # the client's mean direction
        c_plus = state["c_i"][C.clients] - state["c"] + g_i  # box D
        state["c"] = state["c"] + (c_plus - state["c_i"][C.clients]).sum(0) / C.m
        state["c_i"][C.clients] = c_plus
        state["momentum"] = g_i.mean(0)
        return self.server(w, C.mean(Delta), C)

    def similarity(self, directions: Tensor, momentum: Tensor) -> Tensor:
        """[S, 1], what box C takes the mean of, from the clients' directions [S, P] and the momentum [P]."""
        return cosine(directions, momentum)


def cosine(X: Tensor, y: Tensor) -> Tensor:
    """[S, 1], of every row and a vector [P]; 0 where either is 0."""
    length = norm(X) * y.norm()
    return torch.where(length > 0, (X @ y)[:, None] / length.clamp(min=torch.finfo(X.dtype).tiny), 0.0)


@switch("WMSAM-1", "released", FedWMSAM, "every tensor is shifted by one scalar, an entry of delta", ("fedwmsam",))
class ScalarPerTensor(FedWMSAM):
    """optimizer/WMSAM.py indexes the flat delta by the number of the tensor, as FedLESAM's code does."""

    def towards(self, delta: Tensor, c: Context) -> Tensor:
        tensors = len(c.sizes)
        entries = delta[:, :tensors]
        scalars = entries / (entries.abs().sum(-1, keepdim=True) + 1e-7)
        columns = zip(scalars.split(1, -1), c.sizes, strict=True)
        return torch.cat([scalar.expand(-1, size) for scalar, size in columns], -1)

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"sizes": C.layout.sizes}


@switch("WMSAM-2", "released", FedWMSAM, "the gradient is taken on the other side, at x - rho delta", ("fedwmsam",))
class OtherSide(FedWMSAM):
    """FedLESAM's code subtracts an update, which points down; delta points up, and is subtracted, too."""

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        return -super().perturbation(W, G, c)


@switch("WMSAM-3", "released", FedWMSAM, "the weight of the gradient follows 1 minus the similarity", ("fedwmsam",))
class Dissimilarity(FedWMSAM):
    """The server adds 1 to the cosine of an update, which points down, and the momentum, which points up."""

    def similarity(self, directions: Tensor, momentum: Tensor) -> Tensor:
        if not momentum.any():
            return torch.zeros_like(directions[:, :1])
        return 1 - super().similarity(directions, momentum)


@switch("WMSAM-4", "released", FedWMSAM, "the whole direction is clipped to norm 10", ("fedwmsam",))
class ClipTotal(FedWMSAM):
    clip_total = True


@switch("WMSAM-5", "released", FedWMSAM, "K = E*N_0/B of client 0 is used for every client", ("fedwmsam",))
class StepsOfFirstClient(FedWMSAM):
    def elapsed(self, C: Cohort) -> Tensor | float:
        return C.K_first * C.lr
