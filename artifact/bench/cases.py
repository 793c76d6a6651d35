"""What is timed: reference cases, and the description of one contender that goes to its process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from artifact import data
from artifact.base.errors import UserError

#: 10 of 100 clients with 100 samples each, five epochs of two batches of 50: 100 local steps per round
COMMON: dict[str, Any] = {
    "train_size": 10000,
    "test_size": 1000,
    "clients": 100,
    "cohort": 10,
    "batch_size": 50,
    "local_epochs": 5,
    "lr": 0.1,
    "weight_decay": 0.001,
    "clip": 10.0,
    "rounds": 10**6,
    "eval_every": 10**6,
    "eval_train": True,
}
CASES: dict[str, dict[str, Any]] = {
    "mlp-200": {"dataset": "fashion-mnist"},
    "mlp": {"dataset": "fashion-mnist"},
    "cnn-fmnist": {"dataset": "fashion-mnist"},
    "cnn-mnist": {"dataset": "fashion-mnist"},
    "lenet": {"dataset": "cifar10", "augment": "flip-crop"},
    "resnet18-gn": {"dataset": "cifar10", "augment": "flip-crop"},
}
#: precisions other than float32 that the default backend can be timed in; the second on a GPU alone
PRECISIONS = ("bfloat16", "tf32")
#: the default backend without compiled loops, as in an environment without numba
UNCOMPILED = "uncompiled"
#: the default backend as a recorded graph, on a GPU alone
CUDA_GRAPHS = "cuda-graphs"
METHODS = ("fedavg", "fedsam", "fedsmoo", "fedlesam")
#: our name -> the released simulator's; it has no FedLESAM
RELEASED = {"fedavg": "FedAvg", "fedsam": "FedSAM", "fedsmoo": "FedSMOO", "scaffold": "SCAFFOLD", "feddyn": "FedDyn"}
#: models at which a clone is timed with its own class of this name
OWN_CLASS = {"lenet": "LeNet", "resnet18-gn": "ResNet18"}
#: rounds of one turn, for models whose round is over before a process that has waited is up to speed
ROUNDS_PER_TURN = {"mlp-200": 10, "mlp": 10}
#: radii that every contender gets, so that the work is the same
RHO = {"fedsam": {"rho": 0.1}, "fedsmoo": {"rho": 0.1, "lam": 0.1}, "fedlesam": {"rho": 0.1}}


def contender(model: str, algorithm: str, kind: str, **changes: Any) -> dict[str, Any]:
    """One process's work.

    kind: a backend, "auto", "uncompiled", "cuda-graphs", a precision of ``PRECISIONS`` or "reference".
    """
    values = {**COMMON, **CASES[model], "model": model, "algorithm": algorithm, "hyper": RHO.get(algorithm, {})}
    values["backend"] = "auto" if kind in (*PRECISIONS, UNCOMPILED, CUDA_GRAPHS, "reference") else kind
    values["cuda_graphs"] = kind == CUDA_GRAPHS
    values["dtype"] = kind if kind in PRECISIONS else "float32"
    return {"kind": kind, "config": values | changes, "loops": kind != UNCOMPILED}


def available(models: Iterable[str]) -> list[str]:
    """Those of the models whose data are here; says of each other one on standard error why it is left out."""
    found = []
    for model in models:
        try:
            data.load(CASES[model]["dataset"])
        except UserError as error:
            click.echo(f"{model}: left out, {error}", err=True)
        else:
            found.append(model)
    return found
