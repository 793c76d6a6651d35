"""The case of the Flower test, as its nodes and the engine see it; run as a program it is the simulation.

``python tests/flower/flower_case.py methods FILE`` trains every method of ``METHODS`` in Flower's simulation on the ray
backend and writes the server's models after each round; ``loop FILE`` does so with a training loop of the clients' own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

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


def loader_of(number: int) -> DataLoader:
    return DataLoader(TensorDataset(*data()[number]), SETTING["batch_size"], shuffle=True)


def loop(network, loader, optimiser):
    """A training loop of a user's own, which shuffles by itself."""
    total = 0.0
    for _ in range(SETTING["local_epochs"]):
        for x, y in loader:

            def closure(x=x, y=y):
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(network(x), y)
                loss.backward()
                return loss

            total += optimiser.step(closure).item()
    return {"train_loss": total}


def simulate_loop(file: str) -> None:
    """FedSMOO with clients whose training loop is their own, the last of which fails in the second round."""
    from flwr.app import ArrayRecord
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from artifact import flower
    from artifact.base.errors import UserError

    found, mark = {}, Path(f"{file}.second")
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0}}

    def node(context):
        number = context.node_config["partition-id"]
        if number == CLIENTS - 1 and mark.exists():
            raise ConnectionError("the line is cut")
        return network(), loader_of(number)

    def strategy():
        return flower.FedSMOO(network(), clients=CLIENTS, **SETTING, **METHODS["fedsmoo"])

    server = ServerApp()

    @server.main()
    def main(grid, context):
        def keep(server_round, arrays):
            found.update({f"{server_round}.{key}": v for key, v in arrays.to_torch_state_dict().items()})
            mark.unlink(missing_ok=True)
            if server_round == 1:
                mark.touch()

        result = strategy().start(grid, ArrayRecord(network().state_dict()), num_rounds=3, evaluate_fn=keep)
        told = result.train_metrics_clientapp
        found.update({f"{r}.{name}": torch.tensor(told[r][name]) for r in told for name in ("clients", "train_loss")})

    client = flower.client_app(node, train=loop)
    run_simulation(server, client, num_supernodes=CLIENTS, backend_name="ray", backend_config=resources)
    foreign, refusing, said = ClientApp(), ServerApp(), []

    @foreign.train()
    def train(message, context):
        raise AssertionError("never asked")

    @refusing.main()
    def refuse(grid, context):
        try:
            strategy().start(grid, ArrayRecord(network().state_dict()), num_rounds=1)
        except UserError as error:
            said.append(str(error))

    run_simulation(refusing, foreign, num_supernodes=CLIENTS, backend_name="ray", backend_config=resources)
    np.savez(file, said=np.array(said), **{name: np.asarray(value) for name, value in found.items()})


if __name__ == "__main__":
    # a machine that is busy with other things is no reason to end
    os.environ |= {"RAY_raylet_start_wait_time_s": "300", "RAY_memory_monitor_refresh_ms": "0"}
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    {"methods": simulate, "loop": simulate_loop}[sys.argv[1]](sys.argv[2])
