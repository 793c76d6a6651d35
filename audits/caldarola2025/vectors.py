"""Make the vectors: execute the authors' servers, clients and minimisers on a small problem, and keep the numbers.

    python audits/caldarola2025/vectors.py REPOSITORY.git

REPOSITORY.git: a clone of github.com/pietrocagnasso/fedgloss with commit cbd6cf5, bare or not. Nothing of its code is
kept: it is unpacked into a temporary folder and imported from there. Its functions run unmodified. Replaced are the
data set (the arrays of the case), the order of minibatches (none is shuffled), the augmentation (none), the choice of
clients (the case's lists), and the type of numbers (float64). ``tests/vectors/FORMAT.md`` describes the files.

vectors/fedgloss-cifar10.npz    radii in the proportions of the paper's CIFAR-10 scripts (rho = rho_l)
vectors/fedgloss-cifar100.npz   of the CIFAR-100 scripts (rho a twentieth of rho_l)
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

COMMIT = "cbd6cf5c002acca6cdc0b961668df63748b94a77"
HERE = Path(__file__).resolve().parent
SHAPES = [(4, 5), (4,), (3, 4), (3,)]
NAMES = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
CASES = {
    "cifar10": {"seed": 1, "rho": 0.15, "server_rho": 0.15, "lamb": 0.1, "warm_up": 3},
    "cifar100": {"seed": 2, "rho": 0.2, "server_rho": 0.01, "lamb": 0.01, "warm_up": 4},
}
COMMON = {"lr": 0.05, "lr_decay": 1.0, "weight_decay": 0.0004, "global_lr": 1.0, "rho0": 0.001}
SIZES, BATCH, ROUNDS = [12] * 6, 4, 6
ACTIVE = [[0, 2, 3], [1, 2, 5], [0, 1, 4], [2, 3, 4], [0, 4, 5], [1, 3, 5]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(5, 4), nn.Linear(4, 3)
        self.device, self.size = "cpu", 39

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def unpack(repository: str, folder: str) -> None:
    archive = subprocess.run(["git", "-C", repository, "archive", COMMIT, "codebase"], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    sys.path.insert(0, f"{folder}/codebase")


def flat(state) -> np.ndarray:
    return torch.cat([state[name].flatten() for name in NAMES]).double().numpy().copy()


def make(case: str, given: dict) -> dict[str, np.ndarray]:
    from clients.fedgloss_client import FedGloSSClient
    from servers.fedgloss_server import FedGloSSServer

    generator = np.random.default_rng(given["seed"])
    X, y = generator.normal(size=(sum(SIZES), 5)), generator.integers(3, size=sum(SIZES))
    w0 = 0.5 * generator.normal(size=39)
    model = Model()
    nn.utils.vector_to_parameters(torch.tensor(w0), model.parameters())
    clients, start = [], 0
    for i, size in enumerate(SIZES):
        rows = [(torch.tensor(X[k]), int(y[k])) for k in range(start, start + size)]
        client = FedGloSSClient(
            0, i, COMMON["lr"], COMMON["weight_decay"], BATCH, 0, rows, [], model, "none", given["rho"], 0,
            1 / given["lamb"], "cpu",
        )  # fmt: skip
        client.trainloader = torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=False)
        client.train_transforms = {"none": lambda x: x}
        clients.append(client)
        start += size
    server = FedGloSSServer(
        model, "sgd", COMMON["global_lr"], given["server_rho"], given["rho"], COMMON["rho0"], given["warm_up"], ROUNDS,
        1 / given["lamb"], len(SIZES),
    )  # fmt: skip
    traces: dict[str, list] = {name: [] for name in ("server_params", "lambda", "lambda_i", "radius")}
    for t, active in enumerate(ACTIVE):
        traces["radius"].append(server.server_rhos[t] if t else 0.0)
        server.train_model(1, BATCH, None, [clients[i] for i in active])
        server.update_model()
        traces["server_params"].append(flat(server.model))
        traces["lambda"].append(flat(server.sigma))
        traces["lambda_i"].append(np.stack([flat(client.state) for client in clients]))
    mask = np.array([[int(i in active) for i in range(len(SIZES))] for active in ACTIVE])
    meta = {
        "algo": "fedgloss", "case": case, "source": f"pietrocagnasso/fedgloss@{COMMIT[:8]}", "param_names": NAMES,
        "param_shapes": SHAPES, "batch": BATCH, "epochs": 1, "active": ACTIVE, "hp": COMMON | given,
    }  # fmt: skip
    arrays = {
        "X": X,
        "y": y,
        "sizes": np.array(SIZES),
        "w0": w0,
        "active_mask": mask,
        "meta": np.array(json.dumps(meta)),
    }
    return arrays | {name: np.array(values) for name, values in traces.items()}


def main(repository: str) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    # the code averages updates through this type; in single precision its numbers agree with these to 1e-7
    torch.FloatTensor = torch.DoubleTensor
    with tempfile.TemporaryDirectory() as folder:
        unpack(repository, folder)
        for case, given in CASES.items():
            target = HERE / "vectors" / f"fedgloss-{case}.npz"
            np.savez(target, **make(case, given))
            print(target)


if __name__ == "__main__":
    main(sys.argv[1])
