"""``artifact.train``: federated training of a user's own network on a user's own data."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import default_collate

from artifact import algorithms
from artifact.accelerate.choose import LOOPS
from artifact.base.errors import UserError
from artifact.data import Dataset, Partition
from artifact.interface import own_method, remarks
from artifact.interface.own_model import OwnModel, Samples, left_alone
from artifact.models.networks import Model
from artifact.training import config as configs
from artifact.training.config import RunConfig
from artifact.training.trainer import EVALUATION_BATCH, Trainer

Loss = Callable[[Any, Tensor], Tensor]
#: (inputs, labels) of some samples; the inputs are a tensor [n, ...], or a dict or tuple of them
Pair = tuple[Any, Tensor]
#: options of a run that speak of the project's own models and data sets
_NOT_OWN = {"algorithm", "hyper", "dataset", "model", "split", "sizes", "train_size", "test_size", "augment"}
_NOT_OWN |= {"clients", "probes", "probe_radius", "man_layers"}


@dataclass(frozen=True)
class Run:
    """A finished training.

    metrics: one row per evaluated round: round, lr, cohort, update_norm, what the test says (loss; accuracy and its
    spread over clients for a classifier), and what the round cost (gradients per local step, models sent and kept).
    model: the trained module, a copy of the one that was handed in, in evaluation mode.
    """

    metrics: list[dict[str, Any]]
    model: nn.Module


def train(
    model: nn.Module,
    clients: Sequence[Pair | TorchDataset],
    *,
    test: Pair | TorchDataset | None = None,
    method: str | type[algorithms.FedAvg] = "fedavg",
    loss: Loss | None = None,
    rounds: int = 10,
    cohort: int | None = None,
    local_epochs: int = 1,
    batch_size: int = 32,
    lr: float = 0.1,
    seed: int = 0,
    **options: Any,
) -> Run:
    """Train ``model`` on the clients' data; the module itself is left as it is.

    model: any module; its present weights are the first server model. Parameters with ``requires_grad=False`` stay.
    clients: one entry per client, (inputs [n, ...], labels [n, ...]) or a torch Dataset of such pairs. Inputs may be a
    dict or tuple of tensors, which the model is called with as it is.
    test: the same for the test; without it rows have no loss and no accuracy.
    method: a name that ``python -m artifact list algorithms`` prints, or a class of your own.
    loss: (output, labels) -> mean loss of a minibatch; by default the cross-entropy.
    rounds, local_epochs, batch_size, lr, seed: as in ``python -m artifact run``.
    cohort: active clients of a round; by default all.
    options: hyper-parameters of the method such as ``rho``, and other options of ``run``: lr_decay, weight_decay, clip,
    local_steps, eval_every, variant, optimiser, dtype, device, man_zeta.

    The engine is the one of ``python -m artifact run``: with the same weights, data and clients the numbers are equal.
    Raises UserError for an option, a shape or a value that is not possible; warns of a model that is no longer finite,
    which ends the training, and of labels up to the highest that no client has a sample of.

        run = artifact.train(nn.Linear(5, 2), [(x1, y1), (x2, y2)], test=(x, y), method="fedsam", rounds=3, rho=0.1)
        run.metrics[-1]["accuracy"]
    """
    if isinstance(method, type):
        method = _registered(method)
    asked = {"rounds": rounds, "local_epochs": local_epochs, "batch_size": batch_size, "lr": lr, "seed": seed}
    config = _config(method, len(clients), cohort, asked | options)
    with left_alone():
        trainer = _Own(config, model, [_pair(one, f"clients[{i}]") for i, one in enumerate(clients)], test, loss)
        rows, undefined = [], ""
        for _ in range(rounds):
            metrics = trainer.play_round()
            if not undefined and (undefined := remarks.not_finite([metrics])):
                warnings.warn(undefined, stacklevel=2)
            if "server" in metrics or metrics.get("diverged"):
                rows.append(_row(metrics))
            if metrics.get("diverged"):
                break
        trained = OwnModel.trained(model, trainer.w, trainer.statistics, trainer.oracle)
    return Run(rows, trained.eval())


def partition(
    labels: np.ndarray | Tensor | Sequence[Any],
    spec: str = "iid",
    *,
    clients: int,
    seed: int = 0,
    sizes: str = "equal",
    least: int = 1,
) -> list[np.ndarray]:
    """Index arrays that divide the samples behind ``labels`` among clients; a function of its arguments.

    labels: [N], a class per sample, numbers or names; for iid anything of length N.
    spec: iid, iid:stratified (class shares alike), dirichlet:ALPHA (class shares of every client from a Dirichlet
    distribution), by-class:ALPHA (the shares of every class, so that sizes differ too), shards:C (C pieces of the
    samples sorted by class), or pathological:C (C classes for every client). Each sample belongs to one client, but
    with pathological:C and :replace, after dirichlet or pathological: a warning says how many repeat and are left out.
    sizes: samples per client with iid, dirichlet and pathological: equal, lognormal:SIGMA or dirichlet:ALPHA.
    least: samples that every client has at least.
    Raises UserError for another spec, for labels that are no classes, and for more clients than samples.

        parts = artifact.partition(labels, "dirichlet:0.3", clients=100, seed=0, sizes="lognormal:0.5", least=8)
        clients = [(x[part], labels[part]) for part in parts]
    """
    from artifact.data import partition as divide

    given = labels if isinstance(labels, (np.ndarray, Tensor)) else np.asarray(labels)
    made = divide(spec, given, clients, seed, sizes=sizes, least=least)
    if made.reused:
        missing = len(given) - len(np.unique(np.concatenate(made.indices)))
        said = (
            f"{spec} is no true partition: {made.reused} samples are given out again and {missing} belong to no client"
        )
        warnings.warn(f"{said}; shards:C and by-class:ALPHA are", stacklevel=2)
    return list(made.indices)


def _registered(method: type[algorithms.FedAvg]) -> str:
    """The name of a method's class. A class that replaces one of the user's own, as in a notebook, takes its name."""
    for name, known in algorithms.ALGORITHMS.items():
        if known is method:
            return name
    name = method.__name__.lower()
    if not getattr(algorithms.ALGORITHMS.get(name), "__module__", "artifact.").startswith("artifact."):
        del algorithms.ALGORITHMS[name]
    with contextlib.suppress(OSError, TypeError):  # a class that was typed into an interpreter has no file
        file = inspect.getsourcefile(method) or ""
        own_method.checked(method, Path(file).read_text(encoding="utf-8"), file, alike=0.7)
    algorithms.register(name, method)
    return name


def _config(method: str, clients: int, cohort: int | None, options: Mapping[str, Any]) -> RunConfig:
    """The config of a run, with the method's own options apart, as the command line does it."""
    own = algorithms.hyperparameters(method)
    run = {name: value for name, value in options.items() if name not in own}
    for name, value in run.items():
        if name not in RunConfig.model_fields or name in _NOT_OWN:
            allowed = sorted({*own, *RunConfig.model_fields} - _NOT_OWN)
            raise UserError(name, value, f"an option of {method} or of a run: {', '.join(allowed)}")
    return configs.make(
        algorithm=method,
        hyper={name: value for name, value in options.items() if name in own},
        dataset="own",
        model="own",
        clients=clients,
        cohort=clients if cohort is None else cohort,
        **({"backend": "loop"} | run),
    )


def _pair(given: Pair | TorchDataset, name: str) -> Pair:
    """(inputs, labels) as tensors. Raises UserError where their lengths differ or there is no sample."""
    if isinstance(given, TorchDataset):
        size = len(given)  # type: ignore[arg-type]  # datasets without a length are refused by it
        given = default_collate([given[i] for i in range(size)])
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise UserError(name, type(given).__name__, "a pair (inputs, labels) or a torch Dataset of such pairs")
    inputs, labels = tree_map(lambda leaf: torch.as_tensor(leaf), given[0]), torch.as_tensor(given[1])
    lengths = {len(leaf) for leaf in tree_leaves(inputs)} | {len(labels)}
    if len(lengths) != 1 or not len(labels):
        raise UserError(name, sorted(lengths), "inputs and labels of one length, with a sample at least")
    return inputs, labels


def _row(metrics: dict[str, Any]) -> dict[str, Any]:
    """The engine's metrics of a round as one flat row."""
    nested = {"server", "cost"}
    plain = {name: value for name, value in metrics.items() if name not in nested}
    return plain | metrics.get("server", {}) | metrics["cost"]


class _OwnData(Dataset):
    """Inputs and labels as they are handed in: numbers that the network takes without normalisation."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.train_x.shape[1:]) or (1,)


class _Own(Trainer):
    """The engine with a user's model, data and loss in place of the project's."""

    def __init__(self, config: RunConfig, module: nn.Module, clients: list[Pair], test: Any, loss: Loss | None):
        self.module, self.loss = module, loss or F.cross_entropy
        parts = [*clients, *([_pair(test, "test")] if test is not None else [])]
        inputs, labels = _joined(parts)
        self.of_tensors = torch.is_tensor(inputs)
        if config.algorithm == "fedrobust" and not self.of_tensors:
            raise UserError("method", "fedrobust", "another method; it shifts inputs, which must be one tensor")
        ends = np.cumsum([len(y) for _, y in parts])
        self.indices = [np.arange(end - len(y), end) for end, (_, y) in zip(ends, clients, strict=False)]
        split = int(ends[len(clients) - 1])
        self.dtype = torch.float64 if config.dtype == "float64" else torch.float32
        device = config.resolved_device
        labels = self._in_precision(labels)
        self.samples = tree_map(lambda leaf: self._in_precision(leaf).to(device), inputs)
        x = self.samples if self.of_tensors else torch.arange(len(labels))
        self.classes = self._classes(device, labels, split)
        names = tuple(map(str, range(self.classes)))
        given = (x[:split], labels[:split], x[split:], labels[split:])
        super().__init__(config, _OwnData("own", *given, names, 1.0, (), (), fingerprint="own"))

    def _in_precision(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def _classes(self, device: torch.device, labels: Tensor, split: int) -> int:
        """Classes of a classifier, whose output for one sample is [1, classes] and whose labels are numbers; else 0."""
        model = OwnModel(self.module, Samples(self.samples), device, self.dtype).eval()
        with torch.no_grad():  # two samples: without running statistics one has no variance
            output = model(torch.zeros(2, dtype=torch.int64, device=device))
        numbered = labels.dim() == 1 and not labels.is_floating_point() and torch.is_tensor(output)
        if not numbered or output.dim() != 2 or output.shape[1] < 2:
            return 0
        if not 0 <= int(labels.min()) <= int(labels.max()) < output.shape[1]:
            found, allowed = f"{int(labels.min())} to {int(labels.max())}", f"0 to {output.shape[1] - 1}, as the output"
            raise UserError("labels", found, allowed)
        counts = labels[:split].long().bincount(minlength=1 + int(labels.max()))
        if empty := remarks.without_sample("clients", counts.tolist()):
            warnings.warn(empty, stacklevel=4)
        return output.shape[1]

    def divided(self, dataset: Dataset) -> tuple[Partition, Dataset]:
        return Partition("own", tuple(self.indices)), dataset

    def network(self) -> Model:
        model = OwnModel(self.module, None if self.of_tensors else Samples(self.samples), self.device, self.dtype)
        if model.dropout_units and self.config.resolved_backend not in LOOPS:
            raise UserError("backend", self.config.backend, f"{', '.join(LOOPS)}, with dropout")
        return model

    def inputs(self, samples: Tensor) -> Tensor:
        return samples

    def test(self, w: Tensor) -> dict:
        """The engine's own numbers for a classifier with the cross-entropy; else the loss, and the accuracy if any."""
        if not len(self.data.test_y):
            return {}
        if self.classes and self.loss is F.cross_entropy:
            return super().test(w)
        x, y, total, correct = self.data.test_x, self.data.test_y, 0.0, 0
        with torch.no_grad(), self.oracle.evaluating(w, self.statistics) as model:
            for start in range(0, len(y), EVALUATION_BATCH):
                part = slice(start, start + EVALUATION_BATCH)
                output = model(x[part])
                total += self.loss(output, y[part]).item() * len(y[part])
                correct += int((output.argmax(1) == y[part]).sum()) if self.classes else 0
        return {"loss": total / len(y)} | ({"accuracy": correct / len(y)} if self.classes else {})


def _joined(parts: list[Pair]) -> tuple[Any, Tensor]:
    """All samples one after the other. Raises UserError where the clients' inputs are of different kinds or shapes."""
    try:
        joined = tree_map(lambda *leaves: torch.cat(leaves), *(inputs for inputs, _ in parts))
        return joined, torch.cat([labels for _, labels in parts])
    except (ValueError, RuntimeError, TypeError) as error:
        reason = str(error).split("\n")[0]
        raise UserError(
            "clients", len(parts), f"clients and test with inputs of one kind and shape ({reason})"
        ) from None
