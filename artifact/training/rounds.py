"""One communication round of any method, on any source of gradients.

``play`` is the only place that runs local steps: training, replay and the theory checks all go through it, so what is
checked is what is run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from artifact.accelerate.allocator import returning
from artifact.accelerate.live_weights import LiveWeights, NarrowRound
from artifact.algorithms.base import FedAvg, State
from artifact.algorithms.cohort import Cohort, Context, LocalOptimiser
from artifact.base.devices import sent
from artifact.base.errors import UserError
from artifact.base.flat import Layout
from artifact.training.recorded_steps import RecordedSteps

#: (local step k, rows [R] still at work or None for all) -> G of that step for these rows
Minibatches = Callable[[int, Tensor | None], Callable[[Tensor], Tensor]]


class Workers(Protocol):
    """Threads among which the cohort's clients can be divided; they do not interact during local steps."""

    @property
    def live(self) -> LiveWeights | None:
        """The weights whose gradients alone are computed, where some have none; then matrices may be narrow."""

    @property
    def recorded(self) -> RecordedSteps | None:
        """Local steps as recordings, of the calling thread, where they are recorded."""

    def teams(self, size: int) -> list[list[int]]:
        """Members of a cohort of ``size`` that are trained together."""

    def map(self, work: Callable[[list[int]], None], items: list[list[int]]) -> list[None]:
        """Do the work of every team."""


class Probe(Protocol):
    """Watches the local steps of a round; it may evaluate G (not counted as cost) and must not change anything."""

    def before(self, W: Tensor, G: Callable[[Tensor], Tensor], c: Context, rows: Tensor | None) -> None:
        """W, c: models and context of the clients at work, just before their step."""

    def after(self, W: Tensor, c: Context, rows: Tensor | None) -> None:
        """The same clients after the step."""


def play(
    algorithm: FedAvg,
    state: State,
    w: Tensor,
    C: Cohort,
    steps: Sequence[int],
    minibatches: Minibatches,
    *,
    weight_decay: float = 0.0,
    clip: float | None = None,
    optimiser: LocalOptimiser | None = None,
    probe: Probe | None = None,
    workers: Workers | None = None,
    loop: Callable[[Tensor, Context], Tensor] | None = None,
) -> tuple[Tensor, Tensor, Context]:
    """Server model [P] -> (next server model [P], last local models [S, P], context).

    steps: local steps of every active client; one that has finished keeps its model while the others go on.
    loop: takes all local steps itself, of first to last local models [S, P], in place of the minibatches.
    workers: train the cohort in teams, at the same time; a probe sees the whole cohort at every step, so then there
    is one team. The model itself is sent to the cohort here, so it counts as one model down.
    """
    C.broadcast(w)
    size, cohort_bytes = len(steps), len(steps) * w.nbytes
    with returning(cohort_bytes):
        c, W = Context(w, C.lr, **algorithm.begin(state, w, C)), w.new_empty(size, len(w))
    c.weight_decay, c.clip, c.clip_total = weight_decay, clip, algorithm.clip_total
    c.optimiser = optimiser or LocalOptimiser()
    teams = [list(range(size))] if workers is None or probe is not None else workers.teams(size)
    fast = workers if workers is not None and probe is None and knows_its_steps(algorithm) else None
    if loop is not None:
        W = loop(w.repeat(size, 1), c)
    elif len(teams) == 1 or workers is None:
        W = _trained(algorithm, c, teams[0], steps, minibatches, fast, probe)
    else:
        own, taking = {team[0]: c.select(slice(team[0], team[-1] + 1), size) for team in teams}, threading.Lock()

        def train(team: list[int]) -> None:
            rows, part = slice(team[0], team[-1] + 1), own.pop(team[0])
            W[rows] = _trained(algorithm, part, team, steps, minibatches, fast)
            with taking:
                c.settle(part, rows, size)

        workers.map(train, teams)
    c.forget()
    with returning(cohort_bytes):
        return _next_model(algorithm, algorithm.finish(state, c, w, W, C), w, C), W, c


def _next_model(algorithm: FedAvg, found: Tensor, w: Tensor, C: Cohort) -> Tensor:
    """What a ``finish`` returned. Raises UserError for no model, and for one made of models that no client sent."""
    if not torch.is_tensor(found) or (found.shape, found.dtype) != (w.shape, w.dtype) or not C.traffic.up:
        told = f"{getattr(found, 'shape', found)}, {getattr(found, 'dtype', 'no tensor')}, {C.traffic.up:g} models sent"
        allowed = f"the next model, a tensor {[*w.shape]} of {w.dtype}, made of what C.mean and C.sum collect and count"
        raise UserError("finish", told, allowed + algorithm.added_at)
    return found


def knows_its_steps(algorithm: FedAvg) -> bool:
    """Whether what the local step does is known: a method of this package says so itself (``linear_without_gradient``).

    One with code of the user's own takes its steps on whole matrices, and one by one.
    """
    ours = all(base.__module__.startswith("artifact.algorithms") for base in type(algorithm).__mro__[:-1])
    return algorithm.linear_without_gradient and ours and not algorithm.added_from


def _trained(
    algorithm: FedAvg,
    c: Context,
    team: list[int],
    steps: Sequence[int],
    minibatches: Minibatches,
    fast: Workers | None,
    probe: Probe | None = None,
) -> Tensor:
    """The models [S, P] of a team after their local steps, of which ``c`` is left in the context.

    fast: with recordings, and on live weights alone but for Adam, whose square roots are of single weights.
    """
    live = fast.live if fast is not None and c.optimiser.name != "adam" else None
    form = NarrowRound(live, vars(c)) if live is not None else None
    recorded = fast.recorded if fast is not None else None
    W = _local_steps(algorithm, c.w.repeat(len(team), 1), c, team, steps, minibatches, recorded, probe)
    c.forget()
    W = W if recorded is None else recorded.own(W, c)
    return W if form is None else form.leave(W, vars(c))


def _local_steps(
    algorithm: FedAvg,
    W: Tensor,
    c: Context,
    team: list[int],
    steps: Sequence[int],
    minibatches: Minibatches,
    recorded: RecordedSteps | None = None,
    probe: Probe | None = None,
) -> Tensor:
    """All local steps of a team; W and c are its rows, ``team`` its members' positions in the cohort."""
    size = len(team)
    for k in range(max(steps[i] for i in team)):
        going = [position for position, i in enumerate(team) if steps[i] > k]
        rows = None if len(going) == size else sent(torch.tensor(going), W.device)
        members = None if len(going) == len(steps) else torch.tensor([team[position] for position in going])
        c.k = k
        part = c if rows is None else c.select(rows, size)
        moving, G = W if rows is None else W[rows], minibatches(k, members)
        if probe is not None:
            probe.before(moving, G, part, rows)
        whole = getattr(G, "whole", None) if rows is None and recorded is not None else None
        if whole is not None and recorded is not None:
            moved = recorded.step(algorithm, moving, part, whole)
        else:
            moved = algorithm.step(moving, G, part)
        if probe is not None:
            probe.after(moved, part, rows)
        if rows is None:
            W = moved
        else:
            W = W.index_copy(0, rows, moved)
            c.merge(part, rows, size)
    return W


def simulate(
    algorithm: FedAvg,
    gradient: Callable[[Tensor, Tensor, int, int], Tensor],
    w0: Tensor,
    clients: int,
    rounds: int,
    *,
    steps: int | Sequence[int] = 1,
    lr: float = 0.1,
    lr_decay: float = 1.0,
    cohorts: Sequence[Sequence[int]] | None = None,
    weight_decay: float = 0.0,
    clip: float | None = None,
    probe: Callable[[int, Tensor, Tensor, Context], None] | None = None,
    sizes: Sequence[float] | None = None,
    weighted: bool = False,
) -> Tensor:
    """Run a method on arbitrary client losses; [rounds + 1, P], the server model before round 0 and after each round.

    gradient: (W [R, P], client indices [R], round, step) -> [R, P], gradients of those clients at their own rows.
    steps: local steps of every client, one number for all or one for each.
    cohorts: active clients of every round; all clients by default.  probe: (round, w, W, context) after each round.
    sizes: samples of every client, which weigh it where a method does so; equal by default.
    weighted: server means by ``sizes``.
    """
    w, state = w0, algorithm.init(w0, clients)
    counts = torch.tensor([steps] * clients if isinstance(steps, int) else list(steps))
    ones = torch.ones(clients, 1, dtype=w0.dtype)
    held = ones if sizes is None else torch.as_tensor(sizes, dtype=w0.dtype)[:, None]
    own_steps, relative = counts[:, None].to(w0.dtype), held / held.mean()
    first_steps, mean_steps = float(counts[0]), float(counts.double().mean())
    layout = Layout(("w",), ((len(w0),),))

    def full_gradient(active: Tensor, t: int, v: Tensor) -> Tensor:
        return gradient(v.repeat(len(active), 1), active, t, -1)

    def minibatches(active: Tensor, t: int, k: int, rows: Tensor | None) -> Callable[[Tensor], Tensor]:
        own = active if rows is None else active[rows]
        return lambda W: gradient(W, own, t, k)

    trajectory = [w0]
    for t in range(rounds):
        active = torch.tensor(list(cohorts[t]) if cohorts is not None else range(clients))
        C = Cohort(
            clients=active,
            sizes=held[active],
            K=own_steps[active],
            m=clients,
            t=t,
            lr=lr * lr_decay**t,
            first_lr=lr,
            layout=layout,
            full_gradient=partial(full_gradient, active, t),
            relative_size=relative[active],
            K_first=first_steps,
            K_mean=mean_steps,
            weighted=weighted,
        )
        G = partial(minibatches, active, t)
        w, W, c = play(algorithm, state, w, C, counts[active].tolist(), G, weight_decay=weight_decay, clip=clip)
        if probe is not None:
            probe(t, w, W, c)
        trajectory.append(w)
    return torch.stack(trajectory)


def without_full_gradient(method: str) -> Callable[[Tensor], Tensor]:
    """Stands for the gradient over all of a client's data where there is none: raises UserError once a method asks."""

    def full_gradient(w: Tensor) -> Tensor:
        raise UserError("method", method, "a method without a gradient over all of a client's data, as fedsam")

    return full_gradient
