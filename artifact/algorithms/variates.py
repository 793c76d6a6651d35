"""Control variates: the local direction is corrected by the difference of a server and a client estimate."""

from __future__ import annotations

from dataclasses import dataclass

from artifact.algorithms.base import Cohort, Context, FedAvg, NonNegative, State, rows
from artifact.base.lazy import Tensor, torch


@dataclass(frozen=True)
class Scaffold(FedAvg):
    """Karimireddy et al. 2020 (ICML), Algorithm 1, option II. Invariant: c is the mean of all c_i."""

    def init(self, w: Tensor, m: int) -> State:
        return super().init(w, m) | {"c": torch.zeros_like(w), "c_i": rows(m, w)}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return super().begin(state, w, C) | {"c": C.broadcast(state["c"]), "c_i": state["c_i"][C.clients]}

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return g + self.correction(c)

    def correction(self, c: Context) -> Tensor:
        return self.sent_variate(c) - c.c_i

    def sent_variate(self, c: Context) -> Tensor:
        """c as client i uses it."""
        return c.c

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        w_next = super().finish(state, c, w, W, C)
        c_plus = c.c_i - c.c - (W - w) / self.elapsed(C)  # c_i^+
        state["c"] = self.server_variate(state["c"], c_plus, c.c_i, C)
        state["c_i"][C.clients] = c_plus
        return w_next

    def server_variate(self, c: Tensor, c_plus: Tensor, c_i: Tensor, C: Cohort) -> Tensor:
        return c + C.sum(c_plus - c_i) / C.m


@dataclass(frozen=True)
class FedDC(FedAvg):
    """Gao et al. 2022 (CVPR), Algorithm 1, eq. (3)-(7), with variates in gradient units.

    lam: weight of the drift penalty (lam/2) ||h_i + w - w^t||^2 (alpha in Gao et al.).
    """

    lam: NonNegative = 0.01

    def init(self, w: Tensor, m: int) -> State:
        return {"h": rows(m, w), "g": torch.zeros_like(w), "g_i": rows(m, w)}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        own, g = {name: state[name][C.clients] for name in ("h", "g_i")}, C.broadcast(state["g"])
        return own | {"g": g, "coefficient": self.client_lam(C), "server_g": self.sent_variate(g, C)}

    def client_lam(self, C: Cohort) -> Tensor | float:
        return self.lam

    def sent_variate(self, g: Tensor, C: Cohort) -> Tensor:
        """The server's control variate as each client adds it: [P], or rows [S, P]."""
        return g

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return g + c.coefficient * (c.h - c.w) + (c.server_g - c.g_i)

    def penalty(self, c: Context) -> Tensor | float:
        return c.coefficient

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        h = c.h + (W - w)  # h_i^+
        g_plus = c.g_i - c.server_g - (W - w) / self.elapsed(C)
        state["g"] = state["g"] + C.sum(g_plus - c.g_i, self.variate_weight(C)) / C.m
        state["h"][C.clients], state["g_i"][C.clients] = h, g_plus
        return self.server_drift(state, W, h, C)

    def variate_weight(self, C: Cohort) -> Tensor | float:
        return 1.0

    def server_drift(self, state: State, W: Tensor, h: Tensor, C: Cohort) -> Tensor:
        return C.mean(W + h)  # w^{t+1} = (1/n) sum_S (w_{K_i} + h_i^+)
