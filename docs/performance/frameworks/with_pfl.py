"""``python with_pfl.py JSON``: FedAvg with pfl-research, one round per line on standard input.

tuned: channels innermost, pooling before the ReLU, torch's fused SGD.  workers: processes among which pfl divides the
cohort (its distributed simulation, over gloo on the loopback device); the first one starts the others.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from shared import Turns, Work, begin, flat
from torch import Tensor, nn


class Network(nn.Module):
    """The model as pfl calls it; counts its gradients."""

    def __init__(self, layers: nn.Module):
        super().__init__()
        self.layers, self.steps = layers, 0

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        self.steps += 1
        return F.cross_entropy(self.layers(x), y)

    def metrics(self, x: Tensor, y: Tensor) -> dict[str, Any]:
        """Nothing is evaluated."""
        return {}


def build(work: Work, tuned: bool):
    """pfl's model and its backend over the exported clients."""
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.pytorch import PyTorchTensorDataset
    from pfl.model.pytorch import PyTorchModel

    images, network = work.images(tuned), Network(work.network(tuned))
    places = ((t, slot) for t, cohort in enumerate(work.cohorts) for slot in range(len(cohort)))

    def user(place: tuple[int, int]) -> PyTorchTensorDataset:
        """Samples of a client in the order in which its local steps take them."""
        order = work.batches[place].flatten()
        return PyTorchTensorDataset((images[order], work.y[order]), user_id=str(place))

    model = PyTorchModel(
        network,
        local_optimizer_create=lambda parameters, lr: work.optimiser(parameters, tuned, lr),
        central_optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
    )
    return model, SimulatedBackend(training_data=FederatedDataset(user, lambda: next(places)), val_data=None)


def train(work: Work, tuned: bool, gate: Any) -> None:
    """Run pfl's FedAvg; ``gate`` is its callback."""
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams

    rounds, cohort, _, batch = work.batches.shape
    model, backend = build(work, tuned)
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=rounds,
            evaluation_frequency=rounds,
            train_cohort_size=cohort,
            val_cohort_size=0,
        ),
        backend=backend,
        model=model,
        model_train_params=NNTrainHyperParams(local_num_epochs=1, local_learning_rate=work.lr, local_batch_size=batch),
        model_eval_params=NNEvalHyperParams(local_batch_size=batch),
        callbacks=[gate],
        send_metrics_to_platform=False,
    )


def gatekeeper(turns: Turns | None, workers: int) -> Any:
    """A callback of pfl that lets a round begin when a line comes in.

    turns: None in the processes that follow the first one.
    """
    from pfl.callback.base import TrainingProcessCallback

    def wait() -> None:
        go = torch.tensor([turns is None or turns.wait()])
        if workers > 1:
            torch.distributed.broadcast(go, 0)
        if not go:
            os._exit(0)  # pfl has no way out before its last round

    class Gate(TrainingProcessCallback):
        def on_train_begin(self, *, model):
            if turns is not None:
                turns.ready({"backend": "pfl", "workers": workers})
            wait()
            return super().on_train_begin(model=model)

        def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
            if turns is not None:
                turns.steps = model.pytorch_model.steps if workers == 1 else None
                turns.done(flat(model.pytorch_model))
            wait()
            return super().after_central_iteration(aggregate_metrics, model, central_iteration=central_iteration)

    return Gate()


def others(asked: dict[str, Any]) -> list[subprocess.Popen]:
    """Start the workers after the first one and tell pfl in this process about them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    os.environ |= {"PFL_WORKER_ADDRESSES": ",".join([address] * asked["workers"]), "GLOO_SOCKET_IFNAME": "lo"}
    started = []
    for rank in range(1, asked["workers"]):
        command = [sys.executable, __file__, json.dumps(asked | {"rank": rank})]
        environment = os.environ | {"PFL_WORKER_RANK": str(rank)}
        started.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
    os.environ["PFL_WORKER_RANK"] = "0"
    return started


def main() -> None:
    asked, out = begin(sys.argv[1])
    os.environ["PFL_PYTORCH_DEVICE"] = "cpu"
    first = "rank" not in asked
    if first and asked["workers"] > 1:
        others(asked)
    turns = Turns(out, Path(asked["weights"])) if first else None
    train(Work.read(Path(asked["work"])), asked["tuned"], gatekeeper(turns, asked["workers"]))


if __name__ == "__main__":
    main()
