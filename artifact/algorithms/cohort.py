"""What a method sees of a round: the cohort, the local context and the step that all methods share.

Server and clients talk only through ``Cohort.broadcast``, ``Cohort.mean`` and ``Cohort.sum``; these count what they
carry, so the communication cost of a method is measured while it runs and never typed in. The model itself is sent by
``artifact/training/rounds.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

from artifact.accelerate.sgd_step import sgd_step
from artifact.base.devices import sent
from artifact.base.errors import UserError
from artifact.base.flat import Layout, norm
from artifact.base.lazy import Tensor, torch


@dataclass
class Traffic:
    """Numbers sent per active client in a round, in models (one model = P numbers)."""

    down: float = 0.0
    up: float = 0.0


def _no_samples(w: Tensor) -> Any:
    """Stands for the gradient and the loss on the server's samples where the server has none."""
    allowed = "samples at the server, which the method asks for: server_size of a run, server_data of train"
    raise UserError("server data", None, allowed)


@dataclass
class Cohort:
    """The active clients of one round and the only channel between them and the server.

    clients: [S] client indices.  sizes: [S, 1] samples per active client.  K: [S, 1] local steps of each.
    m: number of all clients.  t: round, from 0.  lr, first_lr: local rate of this round and of round 0.
    K_first, K_mean: E*N_0/B of client 0 and E*ceil(mean N/B), the step counts that two released codes divide by.
    relative_size: [S, 1], N_i*m/N.  input_channels: width of the input map of FedRobust.
    weighted: server mean by N_i instead of 1/S.
    full_gradient: w [P] -> [S, P], gradient of every active client's loss over all its data (one counted pass).
    server_gradient: w [P] -> [P], gradient of the mean loss over the samples that the server holds.
    server_loss: w [P] -> that loss. What the server computes counts as no client's cost.
    """

    clients: Tensor
    sizes: Tensor
    K: Tensor
    m: int
    t: int
    lr: float
    first_lr: float
    layout: Layout
    full_gradient: Callable[[Tensor], Tensor]
    relative_size: Tensor
    K_first: float
    K_mean: float
    input_channels: int = 0
    weighted: bool = False
    server_gradient: Callable[[Tensor], Tensor] = _no_samples
    server_loss: Callable[[Tensor], float] = _no_samples
    traffic: Traffic = field(default_factory=Traffic)

    @cached_property
    def index(self) -> Tensor:
        """Indices [S] of the cohort's clients, on the models' device, to pick from a tensor over all clients."""
        return sent(self.clients, self.sizes.device)

    @property
    def p(self) -> Tensor:
        """Each client's share [S, 1] of the cohort's samples: N_i / sum of N_j."""
        return self.sizes / self.sizes.sum()

    def broadcast(self, x: Tensor) -> Tensor:
        """Server to every active client: a vector [P], or [S, 1] scalars of their own."""
        self.traffic.down += x.numel() / (self.layout.numel if x.dim() == 1 else self.layout.numel * len(self.clients))
        return x

    def sum(self, X: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        """Clients to server: [S, P] -> [P], sum of weights_i * X_i."""
        self.traffic.up += X.shape[-1] / self.layout.numel
        return X.sum(0) if isinstance(weights, float) and weights == 1 else (weights * X).sum(0)

    def mean(self, X: Tensor) -> Tensor:
        """Clients to server: [S, P] -> [P], uniform or size-weighted mean over the cohort."""
        return self.sum(X, self.p) if self.weighted else self.sum(X) / len(self.clients)


def clip(v: Tensor, limit: float | None) -> Tensor:
    """Row-wise v * min(1, limit / (||v|| + 1e-6)); no-op for limit None.

    Where no row is that long, ``v`` itself comes back; finding that out would hold up a GPU.
    """
    if limit is None:
        return v
    factor = (limit / (norm(v) + 1e-6)).clamp(max=1.0)
    return v if v.device.type == "cpu" and bool((factor == 1).all()) else v * factor


@dataclass(frozen=True)
class LocalOptimiser:
    """The local update rule, new for each client and round.

    name: sgd, momentum (buffer <- momentum * buffer + d) or adam (Kingma and Ba 2015, bias-corrected).
    """

    name: str = "sgd"
    momentum: float = 0.9
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def update(self, d: Tensor, c: Context) -> Tensor:
        """Direction [S, P] after momentum or Adam; its buffers are rows of the context."""
        if self.name == "sgd":
            return d
        if self.name == "momentum":
            before = getattr(c, "buffer", None)
            c.buffer = d if before is None else self.momentum * before + d
            return c.buffer
        b1, b2 = self.betas
        c.first = (1 - b1) * d if c.k == 0 else b1 * c.first + (1 - b1) * d
        c.second = (1 - b2) * d * d if c.k == 0 else b2 * c.second + (1 - b2) * d * d
        corrected = c.second / (1 - b2 ** (c.k + 1))
        return c.first / (1 - b1 ** (c.k + 1)) / (corrected.sqrt() + self.epsilon)


class Context:
    """What the cohort carries through the local steps of one round.

    Shared entries are vectors [P] or plain numbers, entries of the clients are rows [S, ...] (two axes or more).
    Methods read their own entries as attributes and may rebind them in ``step``. Always there: ``w`` [P], the model
    that was sent; ``lr``; ``k``, the local step, from 0.
    """

    def __init__(self, w: Tensor, lr: float, **entries: Any):
        self.w, self.lr, self.k = w, lr, 0
        self.weight_decay: float = 0.0
        self.clip: float | None = None
        self.clip_total = False
        self.optimiser = LocalOptimiser()
        self.applied: Tensor | None = None  # direction of the last step, after clipping
        self.in_place = False  # whether a step may write over the models that it is given
        self.e: Any = None  # [S, P], perturbation of the last step; None for methods without one
        vars(self).update(entries)

    if TYPE_CHECKING:  # of entries

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def clip_gradient(self, g: Tensor) -> Tensor:
        """Clip the data gradient; a method whose code clips the whole direction does so in ``descend``."""
        return g if self.clip_total else clip(g, self.clip)

    def descend(self, W: Tensor, d: Tensor, penalty: Tensor | float = 0.0, inside: bool = False) -> Tensor:
        """One local step, w <- w - eta_t [ d + (penalty + weight decay) * w ].

        d: [S, P] direction without the w-part of proximal terms.  penalty: the coefficient of that part.
        inside: the proximal part is clipped together with d (only where the whole direction is clipped).
        """
        if inside:
            d, penalty = d + penalty * W, 0.0
        if self.clip_total:
            d = clip(d, self.clip)
        self.applied = d
        omega = penalty + self.weight_decay
        if self.optimiser.name == "sgd":
            return sgd_step(W, d, omega, self.lr, W if self.in_place else None)
        if torch.is_tensor(omega) or omega != 0:
            d = (omega * W).add_(d)
        step = self.lr * self.optimiser.update(d, self)
        return torch.sub(W, step, out=W if self.in_place else step)  # W - lr * d with one buffer less

    def select(self, rows: Tensor | slice, size: int) -> Context:
        """The context of some of the ``size`` clients; a slice of them is not copied."""
        part = Context.__new__(Context)
        vars(part).update({name: v[rows] if _is_row(v, size) else v for name, v in vars(self).items()})
        return part

    def settle(self, part: Context, rows: slice, size: int) -> None:
        """Take the entries of some clients, as their steps have left them, out of a part made by ``select``."""
        part.forget()
        for name, value in list(vars(part).items()):
            if not _is_row(value, rows.stop - rows.start):
                continue
            whole = vars(self).get(name)
            if not _is_row(whole, size) or not whole.is_contiguous():
                whole = vars(self)[name] = value.new_empty(size, *value.shape[1:])
            if whole[rows].data_ptr() != value.data_ptr():
                whole[rows] = value
            del vars(part)[name]

    def forget(self) -> None:
        """Drop what only the next local step would need."""
        self.applied = None
        for name in ("buffer", "first", "second"):
            vars(self).pop(name, None)

    def merge(self, part: Context, rows: Tensor, size: int) -> None:
        """Write back what ``part``, made by ``select``, has rebound; clients outside keep their last entries."""
        for name, value in vars(part).items():
            if torch.is_tensor(value) and value.dim() >= 2 and value.shape[0] == len(rows):
                old = vars(self).get(name)
                whole = old.clone() if _is_row(old, size) else value.new_zeros(size, *value.shape[1:])
                whole[rows] = value
                vars(self)[name] = whole


def _is_row(value: Any, size: int) -> TypeGuard[Tensor]:
    return torch.is_tensor(value) and value.dim() >= 2 and value.shape[0] == size
