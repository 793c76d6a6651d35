"""A training in a folder: metrics, the last and the best model as plain ``state_dict``, and what resuming needs.

``metrics.jsonl`` has one row a line, ``last.pt`` and ``best.pt`` load by ``torch.load`` into the module that was handed
in, and ``checkpoint.safetensors`` holds all that the next round depends on. Every file is replaced whole.
With parameters that stay with their clients, ``personal.pt`` has {client: {name: tensor}}.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from artifact.base.errors import UserError
from artifact.base.files import require_writable, write_atomic


class Folder:
    """The folder that a training writes to and resumes from.

    out: made where it is missing.  identity: of settings, weights and data; another one is never resumed.
    """

    def __init__(self, out: str | Path, identity: str, best: str | None):
        self.path, self.identity, self.best = Path(out), identity, best
        require_writable(self.path)
        self.best_value: float | None = None

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    def load(self, resume: bool) -> tuple[dict[str, Tensor], list[dict[str, Any]], int] | None:
        """(tensors, rows, completed rounds) of the last checkpoint, or None where there is none."""
        if not self.checkpoint.exists():
            return None
        if not resume:
            raise UserError("out", str(self.path), "a folder without a training, or resume=True to go on with this one")
        with safe_open(self.checkpoint, "pt") as file:
            told = json.loads(file.metadata()["fedsharp"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
        if told["identity"] != self.identity:
            allowed = "the folder of a training with these settings, weights and data; rounds alone may grow"
            raise UserError("resume", str(self.path), allowed)
        self.best_value = told["best"]
        return tensors, told["rows"], told["completed"]

    def keep(
        self,
        tensors: dict[str, Tensor],
        rows: list[dict[str, Any]],
        completed: int,
        model: nn.Module,
        personal: dict[int, dict[str, Tensor]] | None = None,
    ) -> None:
        """After a round; the checkpoint comes last, so that a killed training goes on from the one before.

        personal: client -> its personal parameters and buffers, by name.
        """
        state = _bytes(model.state_dict())
        if personal is not None:
            write_atomic(self.path / "personal.pt", _bytes(personal))
        if self.best is not None and rows and rows[-1]["round"] == completed and self.best in rows[-1]:
            number = rows[-1][self.best]
            better = self.best_value is None or (
                number < self.best_value if "loss" in self.best else number > self.best_value
            )
            if better:
                self.best_value = number
                write_atomic(self.path / "best.pt", state)
        write_atomic(self.path / "last.pt", state)
        write_atomic(self.path / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        told = {"identity": self.identity, "rows": rows, "completed": completed, "best": self.best_value}
        plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        write_atomic(self.checkpoint, save(plain, {"fedsharp": json.dumps(told)}))


def _bytes(state: Any) -> bytes:
    out = io.BytesIO()
    torch.save(state, out)
    return out.getvalue()


def identity(settings: dict[str, Any], model: nn.Module, data: Any) -> str:
    """A hash of settings, weights and tensors."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for name, value in model.state_dict().items():
        digest.update(name.encode())
        digest.update(_raw(value))
    for leaf in tree_leaves(data):
        if leaf is None:  # no test
            continue
        digest.update(_raw(leaf))
    return digest.hexdigest()


def _raw(value: Tensor) -> bytes:
    return value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes() if value.numel() else b""
