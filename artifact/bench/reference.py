"""``python -m artifact.bench.reference JSON``: a clone of the released FL-Simulator as a contender.

The clone is imported from where it lies and not changed. Three things are set from outside: the import of ``F``
that its models lack, the active clients (it draws a random number of them; here as many as ours has), and the clock
around its own ``_test_``. It takes data, batch sizes and hyper-parameters from our contender and draws its own random
numbers. Allocator settings are ours, by importing this package; OpenMP keeps torch's default.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

os.environ.pop("OMP_WAIT_POLICY", None)

import numpy as np
import torch

from artifact.base.devices import finish, set_precision
from artifact.bench.cases import OWN_CLASS, RELEASED
from artifact.bench.worker import answer, peak_mib, request
from artifact.data import partition
from artifact.data.augment import normalise
from artifact.models import networks
from artifact.runs.session import load_data
from artifact.training import config


class Data:
    """Client and test arrays under the names that the simulator's server reads: normalised float32, labels [n, 1]."""

    def __init__(self, run: config.RunConfig):
        data = load_data(run)
        split = partition(run.split, data.train_y, run.clients, run.seed)
        x, y = normalise(data.train_x, data).numpy(), data.train_y.numpy()[:, None]
        self.client_x, self.client_y = ([part[i] for i in split.indices] for part in (x, y))
        self.test_x, self.test_y = normalise(data.test_x, data).numpy(), data.test_y.numpy()[:, None]
        self.input_shape, self.classes = data.input_shape, len(data.classes)


class WithDraws(torch.nn.Module):
    """Our network as the simulator calls it, with one argument; dropout draws are made here."""

    def __init__(self, network: networks.Model):
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        units = self.network.dropout_units if self.training else 0
        return self.network(x, torch.rand(len(x), units, device=x.device) if units else None)


def arguments(run: config.RunConfig) -> Namespace:
    """The simulator's command-line options for our config."""
    return Namespace(
        dataset="CIFAR10" if run.dataset == "cifar10" else "mnist",
        method=RELEASED[run.algorithm],
        model=run.model,
        total_client=run.clients,
        active_ratio=run.cohort / run.clients,
        comm_rounds=100_000,
        local_epochs=run.local_epochs,
        batchsize=run.batch_size,
        weight_decay=run.weight_decay,
        local_learning_rate=run.lr,
        global_learning_rate=1.0,
        lr_decay=run.lr_decay,
        seed=run.seed,
        use_RI=False,
        rho=run.hyper.get("rho", 0.1),
        lamb=run.hyper.get("lam", 0.1),
        alpha=0.1,
        beta=0.1,
        beta1=0.9,
        beta2=0.99,
        gamma=1.0,
        epsilon=0.01,
        out_file="out/",
    )


def main() -> None:
    asked = request()
    run = config.make(**asked["config"])
    set_precision(run.dtype)  # and nothing else of ours: deterministic kernels would slow it down
    server = build(Path(asked["path"]), run)
    drive(server, run)


def build(path: Path, run: config.RunConfig) -> Any:
    """The simulator's server object."""
    sys.path.insert(0, str(path))
    theirs: Any
    theirs, servers, utils = map(importlib.import_module, ("models", "server", "utils"))  # of the clone

    theirs.F = torch.nn.functional
    data = Data(run)

    def network() -> torch.nn.Module:
        if run.model in OWN_CLASS:
            return theirs.client_model(OWN_CLASS[run.model], data.classes)
        return WithDraws(networks.build(run.model, data.input_shape, data.classes, run.seed))

    with redirect_stdout(sys.stderr):
        first = network()
        options = {"init_model": first, "init_par_list": utils.get_mdl_params(first), "datasets": data}
        options |= {"method": RELEASED[run.algorithm], "args": arguments(run), "model_func": network}
        return getattr(servers, RELEASED[run.algorithm])(device=run.resolved_device, **options)


def drive(server: Any, run: config.RunConfig) -> None:
    """Let the simulator's own loop run; a round starts when a line comes in and is reported when it has ended."""
    rng, test, device = np.random.default_rng(run.seed), server._test_, run.resolved_device
    marks: dict[str, float] = {}

    def activate(_t: int) -> np.ndarray:
        if not sys.stdin.readline():
            os._exit(0)  # the simulator's loop has no way out before its last round
        marks.update(start=time.perf_counter(), cpu=time.process_time())
        return np.sort(rng.choice(run.clients, run.cohort, replace=False))

    def timed_test(*given: Any) -> None:
        finish(device)
        marks.update(tested=time.perf_counter(), tested_cpu=time.process_time())
        test(*given)

    def schedule() -> None:
        finish(device)
        end, end_cpu = time.perf_counter(), time.process_time()
        message = {"train": marks["tested"] - marks["start"], "train_cpu": marks["tested_cpu"] - marks["cpu"]}
        message |= {"evaluate": end - marks["tested"], "evaluate_cpu": end_cpu - marks["tested_cpu"]}
        out.write(json.dumps(message | {"peak_mib": peak_mib(device)}) + "\n")
        out.flush()

    out = sys.stdout
    server._activate_clients_, server._test_, server._lr_scheduler_ = activate, timed_test, schedule
    answer({"ready": {"backend": "reference", "loaded_mib": peak_mib(device)}})
    with redirect_stdout(sys.stderr):
        server.train()


if __name__ == "__main__":
    main()
