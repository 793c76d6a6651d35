"""The engine with a user's model, data and loss in place of the project's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from artifact.accelerate.choose import LOOPS
from artifact.algorithms import ALGORITHMS
from artifact.algorithms.cohort import Cohort
from artifact.base.errors import UserError
from artifact.base.random import key
from artifact.data import Dataset, Partition
from artifact.interface import remarks, schedules
from artifact.interface.entry import Pair, output_of, require_loss
from artifact.interface.entry import pair as _pair
from artifact.interface.live import Live, LiveSamples
from artifact.interface.own_model import OwnModel, Samples, forked
from artifact.interface.privacy import Private
from artifact.interface.schedules import Schedule as Varying
from artifact.models.networks import Model
from artifact.training.batches import Schedule
from artifact.training.config import RunConfig
from artifact.training.gradients import Group, Minibatch
from artifact.training.trainer import EVALUATION_BATCH, Trainer

Loss = Callable[[Any, Tensor], Tensor]


class OwnData(Dataset):
    """Inputs and labels as they are handed in: numbers that the network takes without normalisation."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.train_x.shape[1:]) or (1,)


class OwnTrainer(Trainer):
    """The engine with a user's model, data and loss in place of the project's."""

    def __init__(
        self,
        config: RunConfig,
        module: nn.Module,
        clients: list[Pair],
        test: Any,
        loss: Loss | None,
        output: Callable[[Any], Any] | None = None,
        live: Sequence[Live | None] = (),
        at_server: Pair | None = None,
    ):
        self.module, self.loss, self.output, self.loss_given = module, loss or F.cross_entropy, output, loss
        self.schedules: dict[str, Varying] = {}
        self.update_clip: float | None = None
        self.update_noise = 0.0
        self.own_tests: list[Pair] = []
        held = [*clients, *([at_server] if at_server is not None else [])]
        parts = [*held, *([_pair(test, "test")] if test is not None else [])]
        if loss is None:
            parts = [(x, _in_a_row(y)) for x, y in parts]
        inputs, labels = _joined(parts)
        self.live = [*live] if any(one is not None for one in live) else []
        self.of_tensors = torch.is_tensor(inputs) and not self.live
        if ALGORITHMS[config.algorithm].maps_inputs and not self.of_tensors:
            allowed = "another method; it shifts inputs, which must be one tensor"
            hint = ", without random transforms" if self.live else ""
            raise UserError("method", config.algorithm, allowed + hint)
        ends = np.cumsum([len(y) for _, y in parts])
        self.indices = [np.arange(end - len(y), end) for end, (_, y) in zip(ends, clients, strict=False)]
        split = int(ends[len(held) - 1])
        of_server = torch.arange(int(ends[len(clients) - 1]), split)
        self.of_server = of_server if at_server is not None else None
        self.dtype = torch.float64 if config.dtype == "float64" else torch.float32
        device = config.resolved_device
        labels = self._in_precision(labels)
        self.samples = tree_map(lambda leaf: self._in_precision(leaf).to(device), inputs)
        x = self.samples if self.of_tensors else torch.arange(len(labels))
        self.ignoring = False
        self.classes = self._classes(device, labels, split, loss is None)
        names = tuple(map(str, range(self.classes)))
        given = (x[:split], labels[:split], x[split:], labels[split:])
        super().__init__(config, OwnData("own", *given, names, 1.0, (), (), fingerprint="own"))

    def _in_precision(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def _classes(self, device: torch.device, labels: Tensor, split: int, default: bool) -> int:
        """Classes of a classifier, whose output for a sample is [1, classes] and whose labels are numbers; else 0."""
        model = OwnModel(self.module, Samples(self.samples), device, self.dtype, self.output).eval()
        two = torch.tensor([0, min(1, len(labels) - 1)], device=device)  # one sample may have no variance
        with forked(0):
            output = output_of(model, two, self.samples)
        whole = not labels.is_floating_point() and labels.dtype != torch.bool and torch.is_tensor(output)
        if default and labels.is_floating_point() and labels.dim() == 2 and torch.is_tensor(output):
            self._require_probabilities(labels, output)
        if default and whole and output.dim() > 1:
            known = labels[labels != -100]
            low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
            if not 0 <= low <= high < output.shape[1]:
                allowed = f"0 to {output.shape[1] - 1}, as the output, or -100 for samples to leave out"
                hint = "; of labels from 1 on labels - 1" if low == 1 and high == output.shape[1] else ""
                ignored = "; for another number to leave out loss=nn.CrossEntropyLoss(ignore_index=...)"
                raise UserError("labels", f"{low} to {high}", allowed + (hint or ignored))
            self.ignoring = len(known) < labels.numel()
        require_loss(self.loss, output, labels[two.cpu()].to(device), default)
        if not whole or labels.dim() != 1 or output.dim() != 2 or output.shape[1] < 2:
            return 0
        known = labels[:split][(labels[:split] >= 0) & (labels[:split] < output.shape[1])]
        if len(known) < split:
            self.ignoring = True
        counts = known.long().bincount(minlength=1 + int(labels.clamp(0, output.shape[1] - 1).max()))
        if empty := remarks.without_sample("clients", counts.tolist()):
            warnings.warn(empty, stacklevel=4)
        return output.shape[1]

    @staticmethod
    def _require_probabilities(labels: Tensor, output: Tensor) -> None:
        sums = labels.sum(1)
        if labels.shape[1:] == output.shape[1:] and bool((labels < 0).any() | ((sums - 1).abs() > 1e-3).any()):
            low, high = float(sums.min()), float(sums.max())
            allowed = "classes, or rows of probabilities that sum to 1; for several labels a sample give "
            allowed += "loss=torch.nn.BCEWithLogitsLoss()"
            raise UserError("labels", f"rows that sum to {low:g} to {high:g}", allowed)

    def at_server(self, dataset: Dataset) -> Tensor | None:
        return self.of_server

    def loss_on(self, w: Tensor, index: Tensor) -> float:
        at = index.to(self.device)
        return float(self._tested(w, self.data.train_x[at], self.data.train_y[at])["loss"])

    def divided(self, dataset: Dataset) -> tuple[Partition, Dataset]:
        return Partition("own", tuple(self.indices)), dataset

    def network(self) -> Model:
        samples = None if self.of_tensors else Samples(self.samples)
        if self.live:
            samples = LiveSamples(self.samples, np.array([index[-1] + 1 for index in self.indices]))
            if self.config.resolved_backend not in LOOPS:
                raise UserError("backend", self.config.backend, f"{', '.join(LOOPS)}, with random transforms")
        model = OwnModel(self.module, samples, self.device, self.dtype, self.output)
        if model.has_dropout and self.config.resolved_backend not in LOOPS:
            raise UserError("backend", self.config.backend, f"{', '.join(LOOPS)}, with dropout")
        return model

    def inputs(self, samples: Tensor) -> Tensor:
        return samples

    def minibatch(self, plan: Schedule, ids: list[int], local: Tensor | None, k: int, rows: Tensor | None) -> Minibatch:
        if not self.live:
            return super().minibatch(plan, ids, local, k, rows)
        going, groups = list(range(len(ids))) if rows is None else rows.tolist(), list[Group]()
        for position, member in enumerate(going):  # a group of its own, as minibatches may differ in length
            ((_, indices),) = plan.groups(k, [member])
            index = None if len(going) == 1 else torch.tensor([position], device=self.device)
            groups.append(self.group(index, indices, [ids[member]], k))
        return self.oracle.minibatch(groups, local, None if rows is None else rows.to(self.device))

    def group(self, rows: Tensor | None, indices: Tensor, clients: list[int], k: int, augment: bool = True) -> Group:
        """As the engine's; a client with random transforms reads its minibatch now."""
        found = super().group(rows, indices, clients, k, augment)
        for own, client in zip(indices if self.live else (), clients, strict=False):
            samples: Any = self.model.samples
            live = self.live[client]
            samples.drop(own)
            if live is None or not augment:
                continue
            start = int(self.pools[client][0])
            with forked(key(self.config.seed, "samples", self.completed, client, k)):
                inputs, labels = live.batch([int(i) - start for i in own])
            samples.put(own, tree_map(lambda leaf: self._in_precision(leaf).to(self.device), inputs))
            labels = self._in_precision(_in_a_row(labels) if self.loss_given is None else labels)
            found = replace(found, y=labels.to(self.device)[None])
        return found

    def play_round(self) -> dict[str, Any]:
        if "rho" not in self.schedules:
            return super().play_round()
        rho = schedules.value(self.schedules["rho"], self.completed, self.config.rounds, "rho")
        hyper = self.config.hyper | {"rho": rho}
        self.algorithm = self.config.model_copy(update={"hyper": hyper}).build_algorithm()
        return super().play_round() | {"rho": rho}

    def cohort(self, clients: Tensor, steps: list[int]) -> Cohort:
        C = super().cohort(clients, steps)
        if "lr" in self.schedules:
            C.lr = schedules.value(self.schedules["lr"], self.completed, self.config.rounds, "lr")
        if self.update_clip is None:
            return C
        return Private.of(C, self.update_clip, self.update_noise, self.config.seed)

    def personal_parts(self) -> dict[int, dict[str, Tensor]] | None:
        """Client -> its personal parameters and buffers, by name in the user's module."""
        return None if self.personal is None else self.personal.parts(self)

    def per_client(self) -> list[dict[str, float]]:
        """Loss and accuracy of every client's model on its own test, or on the common one."""
        found = []
        for i in range(self.config.clients):
            w, statistics = self.of_client(i)
            if self.own_tests:
                found.append(self.tested(w, *self.own_tests[i], statistics))
            else:
                found.append(self._tested(w, self.data.test_x, self.data.test_y, statistics))
        return found

    def test(self, w: Tensor) -> dict:
        """The engine's own numbers for a classifier with the cross-entropy; else the loss, and the accuracy if any.

        With personal parameters: the mean over clients of what each one's own model has.
        """
        if self.personal is not None:
            each = self.per_client() if self.own_tests or len(self.data.test_y) else []
            means = {name: sum(one[name] for one in each) / len(each) for name in (each[0] if each else {})}
            return means | ({"per_client": each} if each else {})
        if not len(self.data.test_y):
            return {}
        if self.classes and self.loss is F.cross_entropy and not self.ignoring:
            return super().test(w)
        return self._tested(w, self.data.test_x, self.data.test_y)

    def tested(self, w: Tensor, x: Any, y: Tensor, statistics: Tensor | None = None) -> dict[str, float]:
        """Loss and accuracy on data that are no part of the training; statistics: by default the server's."""
        inputs = tree_map(lambda leaf: self._in_precision(leaf).to(self.device), x)
        kept, labels = self.samples, self._in_precision(y).to(self.device)
        if self.of_tensors:
            return self._tested(w, inputs, labels, statistics)
        with self.oracle.evaluating(w, self.statistics if statistics is None else statistics) as evaluated:
            model: Any = evaluated
            model.samples, before = Samples(inputs), model.samples
            try:
                return self._means(model, torch.arange(len(labels), device=self.device), labels)
            finally:
                model.samples, self.samples = before, kept

    def _tested(self, w: Tensor, x: Any, y: Tensor, statistics: Tensor | None = None) -> dict[str, float]:
        with self.oracle.evaluating(w, self.statistics if statistics is None else statistics) as model:
            return self._means(model, x, y)

    def _means(self, model: nn.Module, x: Any, y: Tensor) -> dict[str, float]:
        """One call of the loss on all outputs: a weighted or ignoring mean is no mean of its parts' means."""
        with torch.no_grad():
            parts = [model(x[start : start + EVALUATION_BATCH]) for start in range(0, len(y), EVALUATION_BATCH)]
            output = tree_map(lambda *leaves: torch.cat(leaves) if leaves[0].dim() else leaves[0], *parts)
            found = {"loss": self.loss(output, y).item()}
        if self.classes:
            known = (y >= 0) & (y < self.classes) & (y != getattr(self.loss, "ignore_index", -100))
            if bool(known.any()):
                found["accuracy"] = float((output.argmax(1) == y)[known].double().mean())
        return found


def _in_a_row(labels: Tensor) -> Tensor:
    """Classes [n] of classes in a column [n, 1]."""
    column = labels.dim() == 2 and labels.shape[1] == 1 and not labels.is_floating_point()
    return labels[:, 0] if column else labels


def _joined(parts: list[Pair]) -> tuple[Any, Tensor]:
    """All samples one after the other; clients that a ``collate_fn`` has padded to other lengths are padded with 0,
    and labels of their words with -100, which the cross-entropy leaves out.

    Raises UserError where the clients' inputs are of different kinds or shapes.
    """
    try:
        joined = tree_map(lambda *leaves: _cat(leaves), *(inputs for inputs, _ in parts))
        return joined, _cat([labels for _, labels in parts], -100)
    except (ValueError, RuntimeError, TypeError) as error:
        reason = str(error).split("\n")[0]
        raise UserError(
            "clients", len(parts), f"clients and test with inputs of one kind and shape ({reason})"
        ) from None


def _cat(leaves: Sequence[Tensor], beyond: int = 0) -> Tensor:
    """[n, length] tensors of whole numbers, as text has them, may differ in length; they are padded by ``beyond``."""
    if all(leaf.dim() == 2 and not leaf.is_floating_point() for leaf in leaves):
        longest = max(leaf.shape[1] for leaf in leaves)
        leaves = [F.pad(leaf, (0, longest - leaf.shape[1]), value=beyond) for leaf in leaves]
    return torch.cat(list(leaves))
