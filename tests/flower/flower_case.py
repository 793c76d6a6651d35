"""The case of the Flower test, as its nodes and the engine see it; run as a program it is the simulation.

``python tests/flower/flower_case.py FILE`` trains every method of ``METHODS`` in Flower's simulation on the ray backend
and writes the server's models after each round.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import torch
from torch import nn

CLIENTS, COHORT, ROUNDS = 6, 3, 4
#: method -> its options, for artifact.train as for the strategies
METHODS = {
    "fedsam": {"rho": 0.1},
    "fedsmoo": {"rho": 0.1, "lam": 0.1, "clip": 1.0},
    "fedlesam": {"rho": 0.05, "weight_decay": 1e-3},
}
SETTING = {"local_epochs": 2, "batch_size": 16, "lr": 0.05, "lr_decay": 0.9, "seed": 3}


def network() -> nn.Module:
    """BatchNorm, so that statistics travel, and dropout, so that its masks must be the engine's."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))


def data() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Clients of unequal size: they take different numbers of steps."""
    x = torch.randn(300, 6, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    ends = np.cumsum([20, 35, 50, 45, 70, 80])
    return [(x[end - n : end], y[end - n : end]) for n, end in zip(np.diff([0, *ends]), ends, strict=True)]


def simulate(file: str) -> None:
    from flwr.app import ArrayRecord
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from artifact import flower

    server, found = ServerApp(), {}

    @server.main()
    def main(grid, context):
        strategies = {"fedsam": flower.FedSAM, "fedsmoo": flower.FedSMOO, "fedlesam": flower.FedLESAM}
        for name, strategy in strategies.items():
            method = strategy(network(), clients=CLIENTS, cohort=COHORT, **SETTING, **METHODS[name])

            def keep(server_round, arrays, name=name):
                found.update({f"{name}.{server_round}.{key}": v for key, v in arrays.to_torch_state_dict().items()})

            method.start(grid, ArrayRecord(network().state_dict()), num_rounds=ROUNDS, evaluate_fn=keep)

    client = flower.client_app(lambda context: (network(), data()[context.node_config["partition-id"]]))
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0}}
    run_simulation(server, client, num_supernodes=CLIENTS, backend_name="ray", backend_config=resources)
    np.savez(file, **{name: np.asarray(value) for name, value in found.items()})


if __name__ == "__main__":
    # a machine that is busy with other things is no reason to end
    os.environ |= {"RAY_raylet_start_wait_time_s": "300", "RAY_memory_monitor_refresh_ms": "0"}
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    simulate(sys.argv[1])
