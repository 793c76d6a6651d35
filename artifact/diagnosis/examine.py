"""The examination: a patient and the engine's method, side by side on the same weights."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from artifact import algorithms
from artifact.algorithms.base import FedAvg
from artifact.algorithms.cohort import Cohort, Context
from artifact.base.errors import UserError
from artifact.base.flat import Layout, parameters
from artifact.diagnosis.compare import TOLERANCE, Meant, explain, judged, terms_of
from artifact.diagnosis.report import Report
from artifact.diagnosis.watch import Evaluation, Loss, Pair, Watch, flat, load

#: (model, batches of a round, what the server sends) -> None; it trains the model
Client = Callable[[nn.Module, Iterable[Pair], dict[str, Any]], Any]
#: parameters of a function, which say what it is
KINDS = {
    ("model",): "makes an optimiser",
    ("model", "x", "y"): "takes one step",
    ("model", "batches", "sent"): "trains for a round",
}


def doctor(
    patient: Any,
    method: str = "fedsam",
    *,
    model: nn.Module | None = None,
    data: Pair | None = None,
    loss: Loss = F.cross_entropy,
    lr: float | None = None,
    rho: float | Callable[[int], float] | None = None,
    weight_decay: float | None = None,
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
    server's weights, on the batches of a round. ``sent`` holds round, lr, and flat [P] what the method's server sends
    beside the weights (``c``, ``s``, ``momentum``, ``g``), ``update``, the last global update (None in round 0), and
    ``r``, the ratio of Global FedSAM. A client keeps its own state from one round to the next.
    method, variant, source, switches, hyper: what is meant, as in ``python -m artifact run``.
    model, data, loss: the patient's own, data as (x, y); by default a small network with BatchNorm in float64.
    lr, rho, weight_decay: by default those of the optimiser. rho may be a function of the round; where the method has
    one and no optimiser tells it, it must be given, because no length can be judged without it.
    clip: the norm to which the patient clips.  rounds, steps, batch_size: how long it is watched, and with what.
    Raises UserError for a patient of another kind.

        report = artifact.doctor(lambda model: SAM(model.parameters(), lr=0.1, rho=0.05), rho=0.05)
        assert report.healthy, report
    """
    model = _network() if model is None else model
    if isinstance(patient, torch.optim.Optimizer) and data is None:
        raise UserError("data", None, "the model of the optimiser and (x, y), or a function that makes the optimiser")
    patient = _made(patient, model)
    found = _settings(patient)
    lr, weight_decay = (found.get("lr", 0.1) if lr is None else lr), weight_decay or found.get("weight_decay", 0.0)
    rho = found.get("rho") if rho is None else rho
    if "rho" in algorithms.hyperparameters(method):
        if rho is None:
            raise UserError("rho", None, f"the radius of this {method}, a number or a function of the round")
        hyper["rho"] = rho(0) if callable(rho) else rho
    meant = algorithms.build(method, variant, source, switches, **hyper)
    report, watch = Report(" ".join([method, variant, *sorted(meant.switches)])), Watch(model, loss)
    settings = {"lr": lr, "weight_decay": weight_decay, "clip": clip, "clip_total": meant.clip_total}
    try:
        _watched(
            report,
            watch,
            _client(patient, loss),
            meant,
            rho,
            _pools(model, data),
            settings,
            (rounds, steps, batch_size),
        )
    finally:
        watch.leave()
    return report


def _watched(
    report: Report,
    watch: Watch,
    client: Client,
    method: FedAvg,
    rho: float | Callable[[int], float] | None,
    pools: list[Pair],
    settings: dict[str, Any],
    extent: tuple[int, int, int],
) -> None:
    """Client 0 is the patient; client 1 is the engine's own, so that what the server sends is not the patient's.

    settings: entries of the context of a step.  extent: rounds, steps, batch size.
    """
    model, layout, lr = watch.model, Layout.of(parameters(watch.model)), settings["lr"]
    rounds, steps, batch_size = extent
    w = before = flat(model)
    state, off = method.init(w, 2), []
    for t in range(rounds):
        radius: dict[str, Any] = {"rho": rho(t)} if callable(rho) else {}
        own = dataclasses.replace(method, **radius)
        batches = [_batches(pool, t, steps, batch_size) for pool in pools]
        C = _cohort(w, layout, t, lr, steps, batch_size, pools, watch)
        c = Context(w, lr, **own.begin(state, w, C))
        vars(c).update(settings)
        load(model, w)
        client(model, watch.batches(batches[0]), _sent(c, t, lr, w - before if t else None))
        seen = watch.taken()
        if len(seen) < steps or not all(step.evaluations for step in seen):
            report.alarm("gradients", "a step, or all of them, evaluates no gradient of the model")
            return
        healthy = w
        for k, step in enumerate(seen):
            c.k = k
            beside = Meant(own, c, step, watch, healthy, batches[1][k])
            row = judged(report, beside, t, k, layout)
            if row.error > TOLERANCE:
                off.append(terms_of(beside, row))
            healthy = beside.healthy
        before, w = w, own.finish(state, c, w, torch.stack([seen[-1].end, healthy]), C)
    explain(report, off)


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
    half = len(data[1]) // 2
    return [(data[0][:half], data[1][:half]), (data[0][half:], data[1][half:])]


def _batches(pool: Pair, t: int, steps: int, size: int) -> list[Pair]:
    """The batches of round t, one after the other through the samples, from the start again at their end."""
    x, y = pool
    size = min(size, len(y))
    count = len(y) // size
    parts = [slice(j * size, (j + 1) * size) for j in range(count)]
    return [(x[parts[j % count]], y[parts[j % count]]) for j in range(t * steps, (t + 1) * steps)]


def _cohort(
    w: Tensor, layout: Layout, t: int, lr: float, steps: int, size: int, pools: list[Pair], watch: Watch
) -> Cohort:
    sizes = w.new_tensor([[len(y)] for _, y in pools])

    def full_gradient(v: Tensor) -> Tensor:
        ends = [Evaluation(v, True, watch.statistics(), [x]) for x, _ in pools]
        return torch.stack([watch.gradient(end, v, y) for end, (_, y) in zip(ends, pools, strict=True)])

    return Cohort(
        clients=torch.arange(2),
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
        input_channels=pools[0][0].shape[1],
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
    known = inspect.signature(patient).parameters.values() if callable(patient) else ()
    return tuple(one.name for one in known if one.default is one.empty)


def _settings(patient: Any) -> dict[str, float]:
    """Rate, radius and decay of an optimiser."""
    if not hasattr(patient, "param_groups"):
        return {}
    group = patient.param_groups[0]
    found = {name: group[name] for name in ("lr", "rho", "weight_decay") if name in group}
    own = getattr(patient, "rho", getattr(getattr(patient, "method", None), "rho", None))
    return found | ({} if own is None or "rho" in found else {"rho": own})


def _client(patient: Any, loss: Loss) -> Client:
    if hasattr(patient, "param_groups") or not callable(patient):
        return lambda model, batches, sent: _driven(patient, model, batches, loss)
    if "batches" in _kind(patient):
        return patient

    def steps(model: nn.Module, batches: Iterable[Pair], sent: dict[str, Any]) -> None:
        for x, y in batches:
            patient(model, x, y)

    return steps


def _driven(optimiser: Any, model: nn.Module, batches: Iterable[Pair], loss: Loss) -> None:
    """A round with an optimiser, in the way that its methods ask for.

    ``receive`` is told that a round begins. ``first_step`` and ``second_step``, or ``ascent_step`` and
    ``descent_step``, come after a backward pass each. Others take a closure.
    """
    pairs = (("first_step", "second_step"), ("ascent_step", "descent_step"))
    two = next((pair for pair in pairs if all(hasattr(optimiser, name) for name in pair)), None)
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
