"""The model of a stored run or of a lone checkpoint, on the run's own data and partition."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor
from artifact.data import Dataset
from artifact.runs.archive import open_run
from artifact.runs.session import load_data, require_checkpoint_of
from artifact.runs.store import GLOBAL_MODEL, Run, read_checkpoint
from artifact.training import config
from artifact.training.config import RunConfig

if TYPE_CHECKING:
    from artifact.training.trainer import Trainer


@dataclass(frozen=True)
class Target:
    """A stored model: the run it belongs to (None for a lone checkpoint) and a trainer that has been set to it."""

    name: str
    run: Run | None
    trainer: Trainer

    @property
    def w(self) -> Tensor:
        """Weights [P] of the stored server model."""
        return self.trainer.w

    def describe(self) -> str:
        c = self.trainer.config
        parts = f"{c.algorithm} {c.variant} {c.dataset} {c.model} {c.split} seed {c.seed}"
        return f"{self.name}: {parts}, round {self.trainer.completed}, {len(self.w)} parameters"


def find(reference: str, store: Path) -> tuple[Path, Run | None]:
    """Checkpoint file of a run folder, a run's key in the store, or a checkpoint file. Raises UserError for others."""
    path = Path(reference)
    if path.is_file():
        folder = Path(os.path.realpath(path)).parent
        run = open_run(folder.parent, folder.name)
        return path, run if path.name == "checkpoint.safetensors" and run.started else None
    for folder in (path, store / reference):
        whole = Path(os.path.realpath(folder))  # a link or "." has another name than the run
        run = open_run(whole.parent, whole.name)
        if run.started:
            if not run.checkpoint_file.exists():
                raise UserError("checkpoint", str(run.checkpoint_file), "a run whose checkpoint is still there")
            return run.checkpoint_file, run
    raise UserError("checkpoint", reference, f"a run folder, the key of a run in {store}, or a checkpoint file")


def open_target(
    reference: str, store: Path, data_root: Path | None = None, load: Callable[[RunConfig], Dataset] | None = None
) -> Target:
    """The model behind a reference, on the run's own data and partition.

    load: gives the data of a config, for callers that keep them, in place of ``data_root``.
    Raises UserError for what is no checkpoint of ours, for one of another run than the folder's, and for data on
    which the run was not trained.
    """
    path, run = find(reference, store)
    tensors, metadata = read_checkpoint(path, GLOBAL_MODEL) if run is None else run.model()
    if run is not None:
        require_checkpoint_of(run, metadata, run.config())
    values = json.loads(metadata["config"]) | {"device": "auto", "backend": "auto"}
    known = {name: value for name, value in values.items() if name in RunConfig.model_fields}
    made = config.make(**known)
    if made.personal:
        allowed = f"a run whose model is whole at the server; with personal {', '.join(made.personal)} none is"
        raise UserError("checkpoint", reference, allowed)
    dataset = load_data(made, data_root) if load is None else load(made)
    if run is not None and (recorded := run.config().get("data_fingerprint")) != dataset.fingerprint:
        raise UserError("data", dataset.fingerprint, f"{recorded}, the data of {run.key}")
    from artifact.training.trainer import Trainer  # the engine comes with the first model that is measured

    trainer = Trainer(made, dataset)
    if "w" not in tensors or len(tensors["w"]) != len(trainer.w):
        raise UserError("checkpoint", str(path), f"a model {made.model} with {len(trainer.w)} parameters")
    trainer.take_model(tensors, int(metadata["round"]))
    return Target(reference if run is None else run.key, run, trainer)
