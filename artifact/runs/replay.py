"""Replay a case file: explicit data, batches and cohorts in, trajectory out.

``tests/vectors/FORMAT.md`` describes the format: a model that is a chain of fully connected layers with ReLU between,
clients that own consecutive rows, batches in order without shuffling, explicit lists of active clients.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor, nn

from artifact.accelerate.choose import BACKENDS
from artifact.algorithms import RELEASED, FedAvg, FedDyn, build, canonical, hyperparameters
from artifact.algorithms.base import State
from artifact.algorithms.client_rows import ClientRows
from artifact.algorithms.cohort import Cohort
from artifact.algorithms.released import RELEASED_CLIP
from artifact.base.errors import UserError, first_fault
from artifact.base.files import replacing
from artifact.data.arrays import MOST_CASE, read_arrays
from artifact.models.networks import Chain
from artifact.training.config import finite_rates
from artifact.training.gradients import Group, Minibatch, Oracle, Penalty
from artifact.training.rounds import Minibatches, play

FIELDS = {"X": 2, "y": 1, "sizes": 1, "w0": 1, "active_mask": 2, "meta": 0}
#: methods whose specification gives the server no rate: the next model is a mean of the local ones, with duals or not
NO_SERVER_RATE: tuple[str, ...] = ("mimelite", "fedrobust", "globalfedsam", "globalfedsam-norm", "feddyn", "feddyn-sam")
NO_SERVER_RATE += ("feddc", "fedspeed", "fedsmoo", "fedsmoo-admm", "fedlesam-d")
#: option of a method -> its name in the format; ``lam`` has two
ENTRIES = {"server_lr": "global_lr", "rho": "rho", "beta": "alpha", "mixing": "alpha", "tau": "epsilon"} | {
    "correction_weight": "lamb",
    "ascent_lr": "eta2",
    "shift_penalty": "lambda_robust",
    **{name: name for name in ("beta1", "beta2", "eta_asam")},
}


def perceptron(shapes: list[tuple[int, ...]]) -> Chain:
    """Fully connected layers with ReLU between, from the shapes of their weights and biases."""
    layers: dict[str, nn.Module] = {}
    for j, (outputs, inputs) in enumerate(shapes[::2], 1):
        layers |= {f"fc{j}": nn.Linear(inputs, outputs), f"relu{j}": nn.ReLU()}
    layers.popitem()
    return Chain(layers)


Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Hyper(BaseModel):
    """Hyper-parameters of a case; None stands for one that the method does not have."""

    model_config = ConfigDict(strict=True, extra="allow")
    __pydantic_extra__: dict[str, Weight | None] = Field(init=False)

    lr: Positive | None = None
    lr_decay: Positive | None = None
    max_norm: Positive | None = None


class Meta(BaseModel):
    """The entry ``meta`` of a case file."""

    model_config = ConfigDict(strict=True)

    algo: str
    source: str
    param_names: list[str]
    param_shapes: list[tuple[int, ...]]
    batch: Annotated[int, Field(ge=1)]
    epochs: Annotated[int, Field(ge=1)]
    hp: Hyper
    active: Any


class Case:
    """A case file, checked. Raises UserError for a file that is not of the format."""

    def __init__(self, path: str | Path):
        arrays = _read(path)
        self.meta = _meta(path, arrays)
        for name, dimensions in FIELDS.items():
            if arrays[name].ndim != dimensions:
                raise UserError(name, arrays[name].shape, f"an array of {dimensions} dimensions")
        for name in ("y", "sizes", "active_mask"):
            if arrays[name].dtype.kind not in "biuf" or np.any(arrays[name] % 1 != 0):
                raise UserError(name, np.unique(arrays[name])[:5].tolist(), "whole numbers")
        self.X = torch.tensor(arrays["X"], dtype=torch.float64)
        self.y = torch.tensor(arrays["y"], dtype=torch.int64)
        for name in ("X", "w0"):
            if not np.isfinite(arrays[name]).all():
                raise UserError(name, "nan or inf", "finite numbers")
        self.sizes = [int(n) for n in arrays["sizes"]]
        self.w0 = torch.tensor(arrays["w0"], dtype=torch.float64)
        self.active = [np.flatnonzero(row).tolist() for row in arrays["active_mask"]]
        self.hp, self.shapes = self.meta.hp.model_dump(exclude_unset=True), self.meta.param_shapes
        self._check()

    def _check(self) -> None:
        lr, decay = self.hp.get("lr", 1.0), self.hp.get("lr_decay", 1.0)
        if not finite_rates(lr, decay, len(self.active)):
            raise UserError(
                "lr_decay", decay, f"a factor with which the rate stays finite over {len(self.active)} rounds"
            )
        if len(self.X) != len(self.y) or sum(self.sizes) != len(self.y) or min(self.sizes) < 1:
            raise UserError("sizes", self.sizes, f"positive sizes that sum to the {len(self.y)} rows of X and y")
        if not all(len(s) == 2 for s in self.shapes[::2]) or len(self.shapes) % 2 or not self.shapes:
            raise UserError("param_shapes", self.shapes, "weight and bias of a chain of fully connected layers")
        if sum(math.prod(s) for s in self.shapes) != len(self.w0):
            raise UserError("w0", len(self.w0), f"{sum(math.prod(s) for s in self.shapes)} parameters")
        if not all(self.active) or max(map(max, self.active)) >= len(self.sizes):
            raise UserError("active_mask", self.active, f"at least one of {len(self.sizes)} clients in every round")
        if len(self.meta.param_names) != len(self.shapes):
            raise UserError("param_names", self.meta.param_names, f"{len(self.shapes)} texts, one for each shape")

    @property
    def source(self) -> str | None:
        """The released code that made the file; None for the repaired forms."""
        return next((name for name in RELEASED if f"/{name}@" in self.meta.source.lower()), None)

    @property
    def man(self) -> bool:
        return self.meta.algo.lower().endswith("+man")

    @property
    def algorithm(self) -> str:
        return canonical(self.meta.algo.split("+")[0])


def _read(path: str | Path) -> dict[str, np.ndarray]:
    arrays = read_arrays(Path(path), "case", MOST_CASE)
    missing = [name for name in FIELDS if name not in arrays]
    if missing:
        raise UserError("case", str(path), f"a file with the fields {', '.join(FIELDS)}; it lacks {', '.join(missing)}")
    return arrays


def _meta(path: str | Path, arrays: dict[str, np.ndarray]) -> Meta:
    try:
        return Meta.model_validate_json(str(arrays["meta"]))
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] in ("json_invalid", "model_type", "missing"):
            allowed = f"JSON with {', '.join(Meta.model_fields)} ({first['msg']} {'.'.join(map(str, first['loc']))})"
            raise UserError("meta", str(path), allowed) from None
        raise first_fault(error) from None


def method(case: Case, variant: str | None = None) -> FedAvg:
    """The method of a case with its hyper-parameters; the variant is the file's own unless one is named."""
    name = case.algorithm
    variant = variant or ("released" if case.source else "paper")
    source = case.source if variant == "released" else None
    fedman = case.source == "fedman"
    entries = ENTRIES | {"lam": "alpha_coef" if name == "feddc" or (fedman and name != "fedprox") else "lamb"}
    fixed = {"mixing": 1.0} if variant == "released" else {"correction_weight": 1.0}
    fixed |= {"server_lr": 1.0} if name in NO_SERVER_RATE or source == "fedman" else {}
    own: dict[str, Any] = {}
    for option in hyperparameters(name):
        if option in fixed or option in entries:
            own[option] = fixed[option] if option in fixed else _needed(case, entries[option])
        elif option in case.hp:  # of a method of the user's own, under its own name
            own[option] = _needed(case, option)
    return build(name, variant, source, **own)


def _needed(case: Case, name: str) -> float:
    """A hyper-parameter that the method has. Raises UserError rather than let a default of ours stand in for it."""
    if case.hp.get(name) is None:
        raise UserError(name, "missing or null", f"a number in hp: {case.algorithm} needs it")
    return case.hp[name]


def replay(path: str | Path, variant: str | None = None, backend: str = "loop") -> dict[str, np.ndarray]:
    """Trajectory of a case: ``server_params`` [rounds, P] and the traces that its method has.

    variant: paper or released; None takes what the file was made with.  backend: one of BACKENDS. ``loop``
    is ready first: the others differentiate by ``torch.func``, whose first use imports a compiler for seconds.
    """
    if backend not in BACKENDS:
        raise UserError("backend", backend, ", ".join(BACKENDS))
    case = Case(path)
    algorithm = method(case, variant)
    zeta = case.hp["mu_mean"] * algorithm.man_scale if case.man else 0.0
    model = perceptron(case.shapes).double()
    oracle = Oracle(model, Penalty(zeta), backend)
    recorder = Recorder(case, algorithm)
    w, state = case.w0, algorithm.init(case.w0, len(case.sizes))
    for t, active in enumerate(case.active):
        C, schedule = cohort(case, algorithm, oracle, active, t)
        minibatches = ordered_minibatches(case, oracle, active, schedule)
        w, W, c = play(
            algorithm,
            state,
            w,
            C,
            [len(batches) for batches in schedule],
            minibatches,
            weight_decay=case.hp["weight_decay"],
            clip=(case.hp.get("max_norm") or RELEASED_CLIP) if algorithm.clip_total else None,
        )
        recorder.record(w, W, c, state, C)
    return recorder.arrays()


def batches_in_order(size: int, batch: int, steps: int) -> list[slice]:
    """Rows of each local step: blocks in order, the last of an epoch may be short, start over as long as needed."""
    epoch = [slice(start, min(start + batch, size)) for start in range(0, size, batch)]
    return [epoch[k % len(epoch)] for k in range(steps)]


def cohort(
    case: Case, algorithm: FedAvg, oracle: Oracle, active: list[int], t: int
) -> tuple[Cohort, list[list[slice]]]:
    """The cohort of round t and its schedule, one list of row slices per active client."""
    batch, epochs = case.meta.batch, case.meta.epochs
    K_mean = epochs * math.ceil(np.mean(case.sizes) / batch)
    steps = [K_mean if algorithm.equal_steps else epochs * math.ceil(case.sizes[i] / batch) for i in active]
    starts = np.cumsum([0, *case.sizes])

    def full_gradient(w: Tensor) -> Tensor:
        parts = [slice(starts[i], starts[i + 1]) for i in active]
        groups = [Group(torch.tensor([r]), case.X[None, p], case.y[None, p]) for r, p in enumerate(parts)]
        return oracle.minibatch(groups)(w.repeat(len(active), 1))

    sizes = torch.tensor([[case.sizes[i]] for i in active], dtype=torch.float64)
    C = Cohort(
        clients=torch.tensor(active),
        sizes=sizes,
        K=torch.tensor(steps, dtype=torch.float64)[:, None],
        m=len(case.sizes),
        t=t,
        lr=case.hp["lr"] * case.hp["lr_decay"] ** t,
        first_lr=case.hp["lr"],
        layout=oracle.layout,
        full_gradient=full_gradient,
        relative_size=sizes * len(case.sizes) / sum(case.sizes),
        K_first=epochs * case.sizes[0] / batch,
        K_mean=K_mean,
        input_channels=case.X.shape[1],
    )
    return C, [batches_in_order(case.sizes[i], batch, k) for i, k in zip(active, steps, strict=True)]


def ordered_minibatches(case: Case, oracle: Oracle, active: list[int], schedule: list[list[slice]]) -> Minibatches:
    starts = np.cumsum([0, *case.sizes])

    def minibatches(k: int, rows: Tensor | None) -> Minibatch:
        members = range(len(active)) if rows is None else rows.tolist()
        by_length: dict[int, list[tuple[int, slice]]] = {}
        for position, member in enumerate(members):
            local, start = schedule[member][k], int(starts[active[member]])
            part = slice(start + local.start, start + local.stop)
            by_length.setdefault(local.stop - local.start, []).append((position, part))
        return oracle.minibatch([_group(case, entries) for entries in by_length.values()])

    return minibatches


def _group(case: Case, entries: list[tuple[int, slice]]) -> Group:
    x = torch.stack([case.X[part] for _, part in entries])
    y = torch.stack([case.y[part] for _, part in entries])
    return Group(torch.tensor([position for position, _ in entries]), x, y)


class Recorder:
    """Collects the traces of a method under the names of the format."""

    #: state entry -> trace of the same content
    SAME = {
        "mu": "mu",
        "s": "s",
        "c_i": "c_i",
        "c": "c",
        "m": "adam_m",
        "v": "adam_v",
        "h": "h",
        "g": "g",
        "g_i": "g_i",
    } | {
        "Lambda": "Lambda",
        "delta": "delta",
    }

    def __init__(self, case: Case, algorithm: FedAvg):
        self.case, self.algorithm = case, algorithm
        self.released = "GEN-1" in algorithm.switches
        self.last = case.w0.repeat(len(case.sizes), 1)
        self.previous = case.w0
        self.traces: dict[str, list[Tensor]] = {}

    def record(self, w: Tensor, W: Tensor, c: Any, state: State, C: Cohort) -> None:
        self.last[C.clients] = W
        state = {name: v.dense() if isinstance(v, ClientRows) else v for name, v in state.items()}
        entries = {"server_params": w} | {self.SAME[name]: value for name, value in state.items() if name in self.SAME}
        entries |= self._duals(state)
        entries |= self._released(w, W, c, C) if self.released else self._repaired(W, c, state, C)
        for name, value in entries.items():
            self.traces.setdefault(name, []).append(value.clone())
        self.previous = w

    def _duals(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        if "dual_i" not in state:
            return {}
        if isinstance(self.algorithm, FedDyn) and self.released:  # drift h_i = -lambda_i / lam_i
            sizes = torch.tensor(self.case.sizes, dtype=torch.float64)[:, None]
            relative = sizes / sizes.mean() if "DYN-3" in self.algorithm.switches else 1.0
            return {"h": -state["dual_i"] / (self.algorithm.lam / relative)}
        return {"lambda_i": state["dual_i"], "lambda": state["dual"]}

    def _released(self, w: Tensor, W: Tensor, c: Any, C: Cohort) -> dict[str, Tensor]:
        entries = {"client_params": self.last, "lr_used": torch.tensor(C.lr, dtype=torch.float64)}
        if hasattr(c, "momentum"):
            entries["momentum_used"] = c.momentum
        if "LESAM-2" in self.algorithm.switches:
            entries["global_update"] = w - self.previous
        if self.case.source == "fedman":
            weighted = self.algorithm.by_size
            sizes = torch.tensor(self.case.sizes, dtype=torch.float64)[:, None]
            everyone = sizes / sizes.sum() if weighted else torch.full_like(sizes, 1 / len(sizes))
            entries["avg_active"] = ((C.p if weighted else 1 / len(C.clients)) * W).sum(0)
            entries["avg_all"] = (everyone * self.last).sum(0)
            del entries["lr_used"]
        return entries

    def _repaired(self, W: Tensor, c: Any, state: dict[str, Tensor], C: Cohort) -> dict[str, Tensor]:
        entries = {"local_params": self._spread(W, C)}
        if hasattr(c, "r"):
            entries |= {"r_k": self._spread(c.r, C)[:, 0], "full_grad": self._spread(c.Gfull, C)}
        if "momentum" in state:
            entries["momentum"] = state["momentum"]
        return entries

    def _spread(self, rows: Tensor, C: Cohort) -> Tensor:
        """[S, ...] -> [m, ...], zero rows for inactive clients."""
        whole = rows.new_zeros(C.m, *rows.shape[1:])
        whole[C.clients] = rows
        return whole

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: torch.stack(values).numpy() for name, values in self.traces.items()}


def write(arrays: dict[str, Any], path: str | Path) -> None:
    """Write the trajectory atomically. Raises UserError when the folder cannot be written."""
    with replacing(Path(path)) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)
