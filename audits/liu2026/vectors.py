"""Make the vectors: execute the authors' clients and server on a small problem, and keep the numbers.

    python audits/liu2026/vectors.py REPOSITORY.git

REPOSITORY.git: a clone of github.com/junkangLiu0/FedNSAM with the commits d41b5e6 and c3c9e90,
bare or not. Nothing of its code is kept: functions are taken out of its two scripts and run
unmodified, beside its optimizers. The scripts themselves need Ray and a GPU, so replaced are the
worker and server objects, the device (cpu), the data (arrays of the case), the order of minibatches
(none is shuffled), the choice of clients (the case's lists) and the type of numbers (float64). The
rate does not decay.

vectors/fednsam-optimizer.npz      the newest optimizer/Nesterov.py, which no script calls, in the
                                   loops of the first upload's new_NSAM.py; rho = 0.1, and zero_grad
                                   leaves zeros as before PyTorch 2.0
vectors/fednsam-first-torch2.npz   the first upload with the zero_grad of PyTorch 2.1, which its
                                   README asks for
vectors/fednsam-newest.npz         main_FedNSAM.py of the newest commit, called with rho = 0.01 as in
                                   the README
vectors/fednsam-newest-radius.npz  the same, called with rho = 0.1
vectors/fednsam-newest-share.npz   the same, called with rho = 0.05 and gamma = 0.5, as in the README
                                   for a transformer
"""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import torch
from torch import nn

FIRST, NEWEST = "d41b5e6ba76c8788312425385edc31483e6e715e", "c3c9e9014b580ebe49e8fcf96eb588ffc2eafad4"
HERE = Path(__file__).resolve().parent
SHAPES = [(4, 5), (4,), (3, 4), (3,)]
NAMES = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
LR, DECAY = 0.05, 0.001
SIZES, BATCH, EPOCHS = [12] * 6, 4, 2
ACTIVE = [[0, 2, 3], [1, 2, 5], [0, 1, 4], [2, 3, 4], [0, 4, 5], [1, 3, 5]]


class Model(nn.Module):
    def __init__(self, zeros: bool = False):
        super().__init__()
        self.zeros = zeros
        self.fc1, self.fc2 = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

    def zero_grad(self, set_to_none: bool = True):
        super().zero_grad(set_to_none=set_to_none and not self.zeros)

    def get_weights(self):
        return {k: v.clone() for k, v in self.state_dict().items()}

    def set_weights(self, weights):
        self.load_state_dict(weights)


def taken(repository: str, commit: str, path: str, names: list[str] | None, given: dict) -> dict:
    """The functions ``names`` of a file at a commit, executed in the namespace ``given``; None: the whole file."""
    words = ["git", "-C", repository, "show", f"{commit}:{path}"]
    source = subprocess.run(words, capture_output=True, check=True, text=True).stdout.replace("'cuda'", "'cpu'")
    tree = ast.parse(source)
    if names is not None:
        kept = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in names]
        tree = ast.Module(body=kept, type_ignores=[])
    exec(compile(tree, path, "exec"), given)
    return given


def flat(weights: dict) -> np.ndarray:
    return torch.cat([weights[name].flatten() for name in NAMES]).numpy().copy()


def make(repository: str, commit: str, rho: float, gamma: float = 0.85, optimizer: str = "") -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    X, y = generator.normal(size=(sum(SIZES), 5)), generator.integers(3, size=sum(SIZES))
    w0 = 0.5 * generator.normal(size=39)
    rows = np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1])
    pieces = np.split(w0, np.cumsum([int(np.prod(shape)) for shape in SHAPES])[:-1])
    start = {n: torch.tensor(p).reshape(s) for n, p, s in zip(NAMES, pieces, SHAPES, strict=True)}
    options = types.SimpleNamespace(
        rho=rho, gamma=gamma, K=10**6, lora=0, num_workers=len(SIZES), selection=len(ACTIVE[0]) / len(SIZES)
    )
    args = copy.copy(options)  # of the clients, which are processes of their own: what they assign stays there
    names = {"torch": torch, "args": args, "device": torch.device("cpu"), "deepcopy": copy.deepcopy}
    names["F"] = torch.nn.functional
    at_server = names | {"args": options}
    worker = types.SimpleNamespace(
        model=Model(zeros=optimizer == NEWEST), criterion=nn.CrossEntropyLoss(), num_workers=len(SIZES)
    )

    def load(index):
        parts = rows[index].reshape(-1, BATCH)
        worker.data_iterator = [(torch.tensor(X[p]), torch.tensor(y[p])) for p in parts]

    worker.data_id_loader = load
    weights, m, path = start, {}, []
    if commit == FIRST:
        taken(repository, optimizer or commit, "optimizer/Nesterov.py", None, names)
        taken(repository, commit, "new_NSAM.py", ["update_FedNesterov"], names)
        taken(repository, commit, "new_NSAM.py", ["apply_weights_avgACG"], at_server)
        server = types.SimpleNamespace(model=Model(), num_workers=len(SIZES), selection=options.selection, momen_v={})
        server.model.set_weights(start)
        m = {name: torch.zeros_like(value) for name, value in start.items()}
    else:
        taken(repository, commit, "sam.py", None, names)
        taken(repository, commit, "main_FedNSAM.py", ["update_NSAM"], names)
        taken(repository, commit, "main_FedNSAM.py", ["apply_weights_avgACG"], at_server)
        server = Model()
        server.load_state_dict(start)
    for active in ACTIVE:
        updates = []
        for client in active:  # Ray gives every client its own copies
            sent, momentum = copy.deepcopy(weights), copy.deepcopy(m)
            if commit == FIRST:
                updates.append(names["update_FedNesterov"](worker, sent, EPOCHS, client, momentum, LR))
            else:
                updates.append(names["update_NSAM"](worker, sent, EPOCHS, client, momentum, LR))
        if commit == FIRST:
            weights, m = at_server["apply_weights_avgACG"](server, len(SIZES), *updates)
        else:
            weights, m = at_server["apply_weights_avgACG"](len(SIZES), updates, server, m)
        weights, m = copy.deepcopy(weights), copy.deepcopy(m)
        path.append(flat(weights))
    meta = {
        "algo": "fednsam",
        "source": f"junkangLiu0/FedNSAM@{commit[:12]}",
        "param_names": NAMES,
        "param_shapes": SHAPES,
        "batch": BATCH,
        "epochs": EPOCHS,
        "active": ACTIVE,
        "hp": {
            "lr": LR, "lr_decay": 1.0, "weight_decay": DECAY, "rho": rho, "gamma": gamma, "global_lr": 1.0,
            "max_norm": None if commit == FIRST else 10.0,
        },
    }  # fmt: skip
    return {
        "X": X,
        "y": y,
        "sizes": np.array(SIZES),
        "w0": w0,
        "active_mask": np.array([[int(i in active) for i in range(len(SIZES))] for active in ACTIVE]),
        "meta": np.array(json.dumps(meta)),
        "server_params": np.array(path),
    }


def main(repository: str) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    (HERE / "vectors").mkdir(exist_ok=True)
    cases = {
        "optimizer": (FIRST, 0.1, 0.85, NEWEST),
        "first-torch2": (FIRST, 0.1),
        "newest": (NEWEST, 0.01),
        "newest-radius": (NEWEST, 0.1),
        "newest-share": (NEWEST, 0.05, 0.5),
    }
    for case, given in cases.items():
        target = HERE / "vectors" / f"fednsam-{case}.npz"
        np.savez_compressed(target, **make(repository, *given))
        print(target)


if __name__ == "__main__":
    main(sys.argv[1])
