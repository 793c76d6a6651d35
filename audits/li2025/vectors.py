"""Make the vectors: execute the authors' server and clients on a small problem, and keep the numbers.

    python audits/li2025/vectors.py REPOSITORY.git

REPOSITORY.git: a clone of github.com/Huang-Yongzhi/NeurlPS_FedWMSAM with commit a922a1d, bare or not. Nothing of its
code is kept: it is unpacked into a temporary folder and imported from there. Its classes run unmodified. Replaced are
the data set (the arrays of the case), the order of minibatches (none is shuffled), the choice of clients (the case's
lists), testing and saving (left out), and the type of numbers (float64). The rate does not decay.

The files are as ``tests/vectors/FORMAT.md`` describes them. ``momentum_used`` is what every active client is sent,
``shift`` [rounds, steps, P] is where the first active client takes its gradients minus where it stands, and ``alpha``
the weight that the next round has.

vectors/fedwmsam-small.npz   radius 0.1, as the code's parser has it
vectors/fedwmsam-clip.npz    inputs 25 times as large, so that the clip acts
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

COMMIT = "a922a1d5c485"
HERE = Path(__file__).resolve().parent
SHAPES = [(4, 5), (4,), (3, 4), (3,)]
NAMES = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
CASES = {"small": {"seed": 1, "scale": 1.0, "alpha": 0.1}, "clip": {"seed": 2, "scale": 25.0, "alpha": 0.3}}
COMMON = {"lr": 0.05, "lr_decay": 1.0, "weight_decay": 0.001, "global_lr": 0.9, "rho": 0.1, "max_norm": 10.0}
SIZES, BATCH, EPOCHS = [12] * 6, 4, 2
ACTIVE = [[0, 2, 3], [1, 2, 5], [0, 1, 4], [2, 3, 4], [0, 4, 5], [1, 3, 5]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def unpack(repository: str, folder: str) -> None:
    words = ["git", "-C", repository, "archive", COMMIT, "client", "server", "optimizer", "utils.py", "dataset.py"]
    archive = subprocess.run(words, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    sys.path.insert(0, folder)


class Shifts:
    """Where a model stands before the code's ascent, and where its gradient is taken."""

    def __init__(self):
        self.kept: list[np.ndarray] = []

    def watching(self, first_step):
        def watched(optimizer, *given):
            before = flat(optimizer.param_groups[0]["params"])
            found = first_step(optimizer, *given)
            self.kept.append(flat(optimizer.param_groups[0]["params"]) - before)
            return found

        return watched


def flat(parameters) -> np.ndarray:
    return torch.cat([p.detach().flatten() for p in parameters]).numpy().copy()


def make(given: dict) -> dict[str, np.ndarray]:
    from client import client as clients
    from optimizer.WMSAM import WMSAM
    from server.FedWMSAM import FedWMSAM

    generator = np.random.default_rng(given["seed"])
    X = given["scale"] * generator.normal(size=(sum(SIZES), 5))
    y, w0 = generator.integers(3, size=sum(SIZES)), 0.5 * generator.normal(size=39)
    rows = np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1])
    clients.Dataset = lambda inputs, labels, **_: list(zip(torch.tensor(inputs), torch.tensor(labels), strict=True))
    clients.data = SimpleNamespace(
        DataLoader=lambda rows, batch_size, **_: torch.utils.data.DataLoader(rows, batch_size=batch_size, shuffle=False)
    )
    args = SimpleNamespace(
        method="FedWMSAM", dataset="none", total_client=len(SIZES), comm_rounds=len(ACTIVE), local_epochs=EPOCHS,
        batchsize=BATCH, weight_decay=COMMON["weight_decay"], local_learning_rate=COMMON["lr"], mode="normal", beta=0.1,
        global_learning_rate=COMMON["global_lr"], lr_decay=COMMON["lr_decay"], rho=COMMON["rho"], alpha=given["alpha"],
        use_RI=False,
    )  # fmt: skip
    data = SimpleNamespace(client_x=[X[r] for r in rows], client_y=[y[r] for r in rows])
    model, shifts, first_step = Model(), Shifts(), WMSAM.first_step
    WMSAM.first_step = shifts.watching(first_step)
    server = FedWMSAM(torch.device("cpu"), Model, model, torch.tensor(w0), data, "FedWMSAM", args)
    traces: dict[str, list] = {name: [] for name in ("server_params", "momentum_used", "c", "c_i", "alpha", "shift")}
    sent = server.process_for_communication

    def communicated(client, update):
        sent(client, update)
        traces["momentum_used"].append(server.comm_vecs["Client_momentum"].numpy().copy())

    def after(t, selected):
        traces["server_params"].append(server.server_model_params_list.numpy().copy())
        traces["c"].append(server.c_params_list.numpy().copy())
        traces["c_i"].append(server.c_i_params_list.numpy().copy())
        traces["alpha"].append(float(args.alpha))

    server._activate_clients_ = lambda t: np.array(ACTIVE[t])
    server._test_, server._save_results_, server._summary_ = after, lambda: None, lambda: None
    server.process_for_communication = communicated
    server.train()
    WMSAM.first_step = first_step
    steps = EPOCHS * SIZES[0] // BATCH
    traces["shift"] = np.array(shifts.kept).reshape(len(ACTIVE), -1, steps, 39)[:, 0]
    traces["momentum_used"] = np.array(traces["momentum_used"]).reshape(len(ACTIVE), -1, 39)
    mask = np.array([[int(i in active) for i in range(len(SIZES))] for active in ACTIVE])
    meta = {
        "algo": "fedwmsam", "source": f"Huang-Yongzhi/NeurlPS_FedWMSAM@{COMMIT}", "param_names": NAMES,
        "param_shapes": SHAPES, "batch": BATCH, "epochs": EPOCHS, "active": ACTIVE,
        "hp": COMMON | {"alpha": given["alpha"], "smoothing": 0.01},
    }  # fmt: skip
    fixed = {
        "X": X,
        "y": y,
        "sizes": np.array(SIZES),
        "w0": w0,
        "active_mask": mask,
        "meta": np.array(json.dumps(meta)),
    }
    return fixed | {name: np.array(values) for name, values in traces.items()}


def main(repository: str) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    (HERE / "vectors").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        unpack(repository, folder)
        for case, given in CASES.items():
            target = HERE / "vectors" / f"fedwmsam-{case}.npz"
            with contextlib.redirect_stdout(io.StringIO()):
                arrays = make(given)
            np.savez_compressed(target, **arrays)
            print(target)


if __name__ == "__main__":
    main(sys.argv[1])
