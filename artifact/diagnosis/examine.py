"""The examination: a patient and the engine's method, side by side on the same weights."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from artifact import algorithms
from artifact.algorithms.base import FedAvg
from artifact.algorithms.cohort import Cohort, Context, LocalOptimiser
from artifact.base.errors import UserError
from artifact.base.flat import Layout, parameters
from artifact.diagnosis.compare import Meant, Terms, explain, judged, terms_of
from artifact.diagnosis.report import Report
from artifact.diagnosis.watch import Evaluation, Loss, Pair, Pass, Watch, flat, load
from artifact.interface.train import registered

#: (model, batches of a round, what the server sends, number of the client) -> None; it trains the model
Client = Callable[[nn.Module, Iterable[Pair], dict[str, Any], int], Any]
#: parameters of a function, which say what it is
KINDS = {
    ("model",): "makes an optimiser",
    ("model", "x", "y"): "takes one step",
    ("model", "batches", "sent"): "trains for a round",
    ("model", "batches", "sent", "client"): "trains one of two clients for a round",
}
#: methods of an optimiser that come after a backward pass each
PAIRS = (("first_step", "second_step"), ("ascent_step", "descent_step"))


def doctor(
    patient: Any,
    method: str | type[FedAvg] = "fedsam",
    *,
    model: nn.Module | None = None,
    data: Pair | None = None,
    loss: Loss = F.cross_entropy,
    lr: float | None = None,
    rho: float | Callable[[int], float] | None = None,
    weight_decay: float | None = None,
    momentum: float | None = None,
    clip: float | None = None,
    rounds: int = 4,
    steps: int = 3,
    batch_size: int = 8,
    variant: str = "paper",
    source: str | None = None,
    switches: Iterable[str] = (),
    **hyper: float | bool,
) -> Report:
    """Watch a patient train for some rounds, and say where it differs from the method that it is meant to be.

    patient: a ``torch.optim`` optimiser of ``model``, or a function. Its parameters' names say what it is: ``(model)``
    makes an optimiser, ``(model, x, y)`` takes one step, ``(model, batches, sent)`` trains the model, which holds the
    server's weights, on the batches of a round, and ``(model, batches, sent, client)`` does so for client 0 or 1, which
    shows whether states of clients are mixed up. ``sent`` holds round, lr, and flat [P] what the method's server sends
    beside the weights (``c``, ``s``, ``momentum``, ``g``), ``update``, the last global update (None in round 0), and
    ``r``, the ratio of Global FedSAM. A client keeps its own state from one round to the next.
    method, variant, source, switches, hyper: the method that the patient should be, named as ``fedsharp run`` names it;
    ``method`` may be a class of your own.
    model, data, loss: the patient's own, data as (x, y), x one tensor; by default a small network with BatchNorm in
    float64. Layers that draw random numbers are replayed with the numbers that they drew.
    lr, rho, weight_decay, momentum: by default what the optimiser has. rho may be a function of the round; where the
    method has one and no optimiser tells it, it must be given, because no length can be judged without it.
    clip: the norm to which the patient clips.  rounds, steps, batch_size: how long it is watched, and with what.
    Raises UserError for a patient of another kind.

        report = artifact.doctor(lambda model: SAM(model.parameters(), lr=0.1, rho=0.05), rho=0.05)
        assert report.healthy, report
    """
    model = _network() if model is None else model
    if isinstance(patient, torch.optim.Optimizer) and data is None:
        raise UserError("data", None, "the model of the optimiser and (x, y), or a function that makes the optimiser")
    pools = _pools(model, data)
    for name, value in (("rounds", rounds), ("steps", steps), ("batch_size", batch_size)):
        if not isinstance(value, int) or value < 1:
            raise UserError(name, value, "a whole number from 1 on")
    patient = _made(patient, model)
    found = _settings(patient)
    lr, weight_decay = (found.get("lr", 0.1) if lr is None else lr), weight_decay or found.get("weight_decay", 0.0)
    momentum = found.get("momentum", 0.0) if momentum is None else momentum
    rho = found.get("rho") if rho is None else rho
    method = registered(method) if isinstance(method, type) else method
    if "rho" in algorithms.hyperparameters(method):
        if rho is None:
            raise UserError("rho", None, f"the radius of this {method}, a number or a function of the round")
        hyper["rho"] = rho(0) if callable(rho) else rho
    meant = algorithms.build(method, variant, source, switches, **hyper)
    kind = _kind(patient)
    title = " ".join([method, variant, *sorted(meant.switches)]) + (f", momentum {momentum:g}" if momentum else "")
    report, watch = Report(title, driven="model" not in kind), Watch(model, loss)
    settings: dict[str, Any] = {"lr": lr, "weight_decay": weight_decay, "clip": clip, "clip_total": meant.clip_total}
    if momentum:
        settings["optimiser"] = _Momentum("momentum", momentum)
    examined = _Examined(
        report, watch, _client(patient, loss), meant, rho, pools, settings, (rounds, steps, batch_size)
    )
    try:
        examined.watched(2 if "client" in kind else 1, "batches" in kind)
    finally:
        watch.leave()
    return report


@dataclasses.dataclass(frozen=True)
class _Momentum(LocalOptimiser):
    """Momentum of an optimiser that outlives the round: its buffer is new where the context has none."""

    def update(self, d: Tensor, c: Context) -> Tensor:
        c.buffer = self.momentum * c.buffer + d if "buffer" in vars(c) else d
        return c.buffer


@dataclasses.dataclass
class _Examined:
    """settings: entries of the context of a step.  extent: rounds, steps, batch size."""

    report: Report
    watch: Watch
    client: Client
    method: FedAvg
    rho: float | Callable[[int], float] | None
    pools: list[Pair]
    settings: dict[str, Any]
    extent: tuple[int, int, int]

    def watched(self, patients: int, new_each_round: bool) -> None:
        """The patient is client 0, or both in turn. Where it is one, client 1 is the engine's own.

        So what the server sends is not the patient's alone.  new_each_round: momentum begins anew with every round.
        """
        model = self.watch.model
        w = before = flat(model)
        state, off = self.method.init(w, 2), list[Terms]()
        self.buffers: dict[int, Tensor] = {}
        self.last: dict[int, Meant] = {}
        for t in range(self.extent[0]):
            radius: dict[str, Any] = {"rho": self.rho(t)} if callable(self.rho) else {}
            own = dataclasses.replace(self.method, **radius)
            played = []
            for i in range(patients):
                kept = state if i == 0 else copy.deepcopy(state)
                found = self._round(own, t, i, kept, w, w - before if t else None, off)
                if found is None:
                    self.report.alarm("gradients", "a step, or all of them, evaluates no gradient of the model")
                    return
                played.append(found)
            if new_each_round:
                self.buffers.clear()
            c, C, ends = played[0]
            if patients == 2:
                second, _, other = played[1]
                for name, value in vars(c).items():
                    if torch.is_tensor(value) and value.dim() >= 2 and len(value) == 2:
                        vars(c)[name] = torch.stack([value[0], vars(second)[name][0]])
                ends = torch.stack([ends[0], other[0]])
            before, w = w, own.finish(state, c, w, ends, C)
        explain(self.report, off)

    def _round(
        self, own: FedAvg, t: int, i: int, state: Any, w: Tensor, update: Tensor | None, off: list[Terms]
    ) -> tuple[Context, Cohort, Tensor] | None:
        """One round of the patient as client i: the context after it, and the weights [2, P], the patient's first."""
        _, steps, batch_size = self.extent
        watch, lr = self.watch, self.settings["lr"]
        model, layout = watch.model, Layout.of(parameters(watch.model))
        pools = [self.pools[i], self.pools[1 - i]]
        batches = [_batches(pool, t, steps, batch_size) for pool in pools]
        C = _cohort(w, layout, t, lr, steps, batch_size, pools, watch, [i, 1 - i])
        c = Context(w, lr, **own.begin(state, w, C))
        vars(c).update(self.settings)
        if i in self.buffers:
            c.buffer = self.buffers[i]
        load(model, w)
        self.client(model, watch.batches(batches[0]), _sent(c, t, lr, update), i)
        seen = watch.taken()
        if len(seen) < steps or not all(step.evaluations for step in seen):
            return None
        healthy = w
        for k, step in enumerate(seen):
            c.k = k
            beside = Meant(own, c, step, watch, healthy, batches[1][k], self.last.get(i))
            self.last[i] = beside
            row = judged(self.report, beside, t, k, layout, i)
            if row.error > row.limit:
                off.append(terms_of(beside, row))
            healthy = beside.healthy
        if "buffer" in vars(c):
            self.buffers[i] = c.buffer
        return c, C, torch.stack([seen[-1].end, healthy])


# ---- what is examined ------------------------------------------------------------------------------------------------


def _network() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 4)).double()


def _pools(model: nn.Module, data: Pair | None) -> list[Pair]:
    """Samples of the two clients."""
    if data is None:
        stream = torch.Generator().manual_seed(1)
        kind = next(model.parameters()).dtype
        shift = torch.tensor([[0.0], [0.5]], dtype=kind)
        return [
            (torch.randn(48, 6, dtype=kind, generator=stream) + shift[i], torch.randint(4, (48,), generator=stream))
            for i in range(2)
        ]
    if not isinstance(data, (tuple, list)) or len(data) != 2 or not all(map(torch.is_tensor, data)):
        raise UserError("data", type(data).__name__, "(x, y), a tensor each; wrap a network that takes a dict or more")
    half = len(data[1]) // 2
    if not half or len(data[0]) != len(data[1]):
        raise UserError("data", f"{len(data[0])} inputs, {len(data[1])} labels", "as many of both, two at least")
    return [(data[0][:half], data[1][:half]), (data[0][half:], data[1][half:])]


def _batches(pool: Pair, t: int, steps: int, size: int) -> list[Pair]:
    """The batches of round t, one after the other through the samples, from the start again at their end."""
    x, y = pool
    size = min(size, len(y))
    count = len(y) // size
    parts = [slice(j * size, (j + 1) * size) for j in range(count)]
    return [(x[parts[j % count]], y[parts[j % count]]) for j in range(t * steps, (t + 1) * steps)]


def _cohort(
    w: Tensor,
    layout: Layout,
    t: int,
    lr: float,
    steps: int,
    size: int,
    pools: list[Pair],
    watch: Watch,
    clients: list[int],
) -> Cohort:
    sizes = w.new_tensor([[len(y)] for _, y in pools])

    def full_gradient(v: Tensor) -> Tensor:
        ends = [Evaluation(v, True, watch.statistics(), [Pass(x, y)]) for x, y in pools]
        return torch.stack([watch.gradient(end, v, y) for end, (_, y) in zip(ends, pools, strict=True)])

    return Cohort(
        clients=torch.tensor(clients),
        sizes=sizes,
        K=w.new_full((2, 1), steps),
        m=2,
        t=t,
        lr=lr,
        first_lr=lr,
        layout=layout,
        full_gradient=full_gradient,
        relative_size=sizes / sizes.mean(),
        K_first=steps,
        K_mean=steps,
        input_channels=pools[0][0].shape[1] if pools[0][0].dim() > 1 else 0,
    )


def _sent(c: Context, t: int, lr: float, update: Tensor | None) -> dict[str, Any]:
    """What the server sends beside the weights: the context's vectors, and the patient's own ratio."""
    vectors = {name: v.clone() for name, v in vars(c).items() if torch.is_tensor(v) and v.dim() == 1 and name != "w"}
    ratio = {"r": c.r[0].item()} if "r" in vars(c) else {}
    return {"round": t, "lr": lr, "update": update} | vectors | ratio


def _made(patient: Any, model: nn.Module) -> Any:
    """The patient, or the optimiser that it makes."""
    if isinstance(patient, torch.optim.Optimizer):
        return patient
    kind = _kind(patient)
    if kind not in KINDS:
        allowed = " or ".join(f"({', '.join(names)}), which {what}" for names, what in KINDS.items())
        raise UserError(
            "patient", ", ".join(kind) or type(patient).__name__, f"an optimiser, or a function of {allowed}"
        )
    return patient(model) if len(kind) == 1 else patient


def _kind(patient: Any) -> tuple[str, ...]:
    """Names of the parameters that a function needs; nothing for what is no function."""
    if hasattr(patient, "param_groups") or not callable(patient):
        return ()
    known = inspect.signature(patient).parameters.values()
    return tuple(one.name for one in known if one.default is one.empty)


def _settings(patient: Any) -> dict[str, float]:
    """Rate, radius, decay and momentum of an optimiser, or of the one inside that it steps with."""
    inside = [value for value in vars(patient).values() if isinstance(value, torch.optim.Optimizer)]
    known = patient if hasattr(patient, "param_groups") else inside[0] if len(inside) == 1 else None
    if known is None or "model" in _kind(patient):
        return {}
    group = known.param_groups[0]
    found = {name: group[name] for name in ("lr", "rho", "weight_decay", "momentum") if name in group}
    if group.get("nesterov") or group.get("dampening"):
        found.pop("momentum")
    own = getattr(patient, "rho", getattr(getattr(patient, "method", None), "rho", None))
    return found | ({} if own is None or "rho" in found else {"rho": own})


def _client(patient: Any, loss: Loss) -> Client:
    kind = _kind(patient)
    if "model" not in kind:
        return lambda model, batches, sent, client: _driven(patient, model, batches, loss)
    if "client" in kind:
        return patient
    if "batches" in kind:
        return lambda model, batches, sent, client: patient(model, batches, sent)

    def steps(model: nn.Module, batches: Iterable[Pair], sent: dict[str, Any], client: int) -> None:
        for x, y in batches:
            patient(model, x, y)

    return steps


def _driven(optimiser: Any, model: nn.Module, batches: Iterable[Pair], loss: Loss) -> None:
    """A round with an optimiser, in the way that its methods ask for.

    ``receive`` is told that a round begins. ``first_step`` and ``second_step``, or ``ascent_step`` and
    ``descent_step``, come after a backward pass each. Others take a closure.
    """
    two = next((pair for pair in PAIRS if all(hasattr(optimiser, name) for name in pair)), None)
    if two is None and not hasattr(optimiser, "step"):
        allowed = "an object with " + ", ".join(" and ".join(pair) for pair in PAIRS) + ", or step(closure)"
        raise UserError("patient", type(optimiser).__name__, allowed)
    if hasattr(optimiser, "receive"):
        optimiser.receive()
        two = None
    cleared = optimiser if hasattr(optimiser, "zero_grad") else model
    for x, y in batches:

        def closure(x: Tensor = x, y: Tensor = y) -> Tensor:
            cleared.zero_grad()
            value = loss(model(x), y)
            value.backward()
            return value

        if two is None:
            optimiser.step(closure)
        else:
            for name in two:
                closure()
                getattr(optimiser, name)()
