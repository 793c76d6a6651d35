"""FedAvg and the two baselines that differ from it in one line.

An algorithm is a frozen dataclass of its hyper-parameters with four hooks; W, G(W) are [S, P], w is [P]:

    init(w, m)              -> state       server vectors [P] and client rows [m, P] (``rows``), by name
    begin(state, w, C)      -> entries     what the cohort C receives and prepares, a dict for the context c
    step(W, G, c)           -> W           one local step for all clients at once; G is the same minibatch each call
    finish(state, c, w, W, C) -> w_next    client end-of-round state (rows updated in place) and the server update

``step`` is one for all: perturb, differentiate, correct, descend. A method supplies the parts; ``ALGORITHMS`` names it.
In a file of yours (``examples/fedsign.py``): ``fedsharp run --add FILE --algorithm NAME``, the class's in lower case.
Notation: m clients, cohort S, w^t the model sent, Delta_i = w_{i,K} - w^t, eta_g the server rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field

from artifact.algorithms.client_rows import ClientRows
from artifact.algorithms.cohort import Cohort, Context
from artifact.base.lazy import Tensor, torch

#: server vectors [P] and client rows [m, P], by name; equations read both, so their type is left to the equations
State = dict[str, Any]
Gradient: TypeAlias = "Callable[[Tensor], Tensor]"
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(gt=0, le=1)]


def rows(m: int, w: Tensor) -> ClientRows:
    """Client state [m, P], zero; a row takes memory once its client has been sampled."""
    return ClientRows(m, torch.zeros_like(w))


@dataclass(frozen=True)
class FedAvg:
    """McMahan et al. 2017, Algorithm 1.

    server_lr: server rate eta_g.
    """

    server_lr: Positive = 1.0

    #: the defaults of a method of the user's own must be in range too
    __pydantic_config__ = ConfigDict(validate_default=True)

    #: the clip acts on the whole direction instead of the data gradient (GEN-1)
    clip_total = False
    #: the w-part of a proximal term is clipped together with the rest (PROX-2)
    penalty_inside_clip = False
    #: factor of MAN's coefficient (MAN-1)
    man_scale = 1.0
    #: the server counts local models by their clients' sizes, whatever mean the run asks for (AVG-4)
    by_size = False
    #: every client runs the same number of steps whatever its size (SCAF-6)
    equal_steps = False
    #: in weights without a gradient a local step adds and scales vectors, by numbers that depend on norms alone, and
    #: it asks for plain gradients: then such weights can move in closed form (``accelerate.live_weights``)
    linear_without_gradient = True
    #: each client also learns and keeps a map of its inputs, so that what it has is more than weights
    maps_inputs = False
    #: registry name, and ids of the discrepancies that are on: ``algorithms.build`` sets both
    name, switches = "", frozenset[str]()
    #: file of a method of the user's own, a hash of its content, and the line where the class begins, in brackets
    added_from = added_digest = added_at = ""

    def init(self, w: Tensor, m: int) -> State:
        return {}

    def begin(self, state: State, w: Tensor, C: Cohort) -> dict:
        return {}

    def perturbation(self, W: Tensor, G: Gradient, c: Context) -> Tensor | None:
        """How far from its model each client takes its gradient, [S, P]; None for methods that take it at the model."""
        return None

    def direction(self, g: Tensor, c: Context) -> Tensor:
        """Each client's descent direction [S, P], from its data gradient; ``penalty`` adds the part in w."""
        return g

    def penalty(self, c: Context) -> Tensor | float:
        """Coefficient of the proximal term's w-part."""
        return 0.0

    def step(self, W: Tensor, G: Gradient, c: Context) -> Tensor:
        c.e = e = self.perturbation(W, G, c)
        g = c.clip_gradient(G(W if e is None else W + e))
        return c.descend(W, self.direction(g, c), self.penalty(c), self.penalty_inside_clip)

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        return self.server(w, C.mean(W - w), C)

    def server(self, w: Tensor, Delta: Tensor, C: Cohort) -> Tensor:
        """w^{t+1} from the cohort's mean update Delta [P]."""
        return w + self.server_lr * Delta

    def elapsed(self, C: Cohort) -> Tensor | float:
        """K_i eta_t, the length of a client's local path, where a method divides by it."""
        return C.K * C.lr


@dataclass(frozen=True)
class FedProx(FedAvg):
    """Li et al. 2020 (MLSys), Algorithm 2.

    lam: weight of the proximal term (lam/2) ||w - w^t||^2.
    """

    lam: NonNegative = 0.01

    def direction(self, g: Tensor, c: Context) -> Tensor:
        return g - self.lam * c.w  # g + lam (w - w^t), its w-part in the penalty

    def penalty(self, c: Context) -> Tensor | float:
        return self.lam


@dataclass(frozen=True)
class FedAdam(FedAvg):
    """Reddi et al. 2021 (ICLR), Algorithm 2; no bias correction, moments start at zero.

    beta1: decay of the server's first moment.
    beta2: decay of the server's second moment.
    tau: added to the root of the second moment.
    """

    server_lr: Positive = 0.1
    beta1: Fraction = 0.9
    beta2: Fraction = 0.99
    tau: Positive = 0.01

    def init(self, w: Tensor, m: int) -> State:
        return {"m": torch.zeros_like(w), "v": torch.zeros_like(w)}

    def finish(self, state: State, c: Context, w: Tensor, W: Tensor, C: Cohort) -> Tensor:
        Delta = C.mean(W - w)
        state["m"] = self.beta1 * state["m"] + (1 - self.beta1) * Delta
        state["v"] = self.beta2 * state["v"] + (1 - self.beta2) * Delta**2
        return w + self.server_lr * state["m"] / (state["v"].sqrt() + self.tau)
