"""One frozen record describes a run; it is checked before anything is computed, and its key names the numbers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from artifact import NUMBERS, algorithms
from artifact.accelerate.choose import BACKENDS, default_backend
from artifact.base.devices import slow_precision
from artifact.base.errors import UserError, first_fault
from artifact.base.lazy import torch
from artifact.base.registered import ADDED

Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]

#: names of ``artifact.training.probes.PROBES``, which is above this module
Measured = Literal[
    "perturbation",
    "drift",
    "estimation",
    "consistency",
    "staleness",
    "dissimilarity",
    "ratios",
    "sharpness",
    "layers",
]


class RunConfig(BaseModel):
    """Everything that can change a number of a run; ``run --help`` shows these lines.

    algorithm: method, a name that ``list algorithms`` prints or a spelling of the papers.
    variant: the method as its paper prints it, or as published code computes it.
    source: repository of the released code: fl-simulator, fedlesam or fedman; by default the one of the method's paper.
    switches: id of a discrepancy to flip on top of the variant, from ``list discrepancies``; may be repeated.
    hyper: hyper-parameters of the method, by name.
    dataset: data set, a name that ``data status`` prints; NAME@SIZE resizes a folder of images to SIZE pixels.
    train_size: training images, drawn with the class shares of the whole set; by default all.
    test_size: test images, drawn in the same way; by default all.
    model: network, a name that ``list models`` prints, or mlp-WIDTH.
    split: which client holds what: iid, iid:stratified, dirichlet:ALPHA, pathological:CLASSES, these two also with
    :replace, or domain:NAME.
    sizes: samples per client: equal, or lognormal:SIGMA.
    server_size: training samples that the server holds and no client has, for a method that asks for them; else none.
    clients: clients that hold the training data.
    cohort: clients that are active in a round, at most all.
    cohort_rule: the cohort is a fixed number, or each client is drawn by itself so that the mean is that number.
    rounds: communication rounds.
    local_epochs: passes of a client over its own data in a round.
    local_steps: minibatch steps of a client in a round, in place of local epochs; by default as the epochs give.
    batch_size: samples of a minibatch.
    lr: step size of a local step in the first round.
    lr_decay: factor on the step size from one round to the next.
    weight_decay: weight of the L2 term in a local step.
    clip: L2 norm to which a local gradient is cut; by default it is not cut.
    optimiser: update rule of the local steps; its buffers start anew for each client and round.
    momentum: share of the last direction that ``optimiser`` momentum keeps.
    server_mean: clients count alike, or by their number of samples.
    man_zeta: weight of MAN's penalty on activations; 0 leaves it out.
    man_layers: layers that the penalty sees: hidden ones, those and the logits (MAN-3), or the released list (MAN-2).
    augment: what training images go through: nothing, or flips with crops of the padded image, sometimes or always.
    evaluate: models that are tested: the server's, the mean of the active clients', the mean of all clients' last ones.
    eval_every: rounds from one evaluation to the next.
    eval_last: last rounds that are all evaluated, for a mean over rounds that costs little.
    eval_train: the server's model is tested on the training set too.
    probes: what is measured on evaluated rounds beside the accuracy; changes no other number.
    personal: names of parameters and buffers that stay with their client, with *; a module's name stands for all of it;
    may be repeated. The test result is then the mean over clients of what each one's own model has on data of its kind.
    probe_radius: distance in weights, as an L2 norm, at which the sharpness probe looks.
    seed: number that every random draw starts from.
    dtype: type of the numbers; tf32 is float32 whose products round their inputs to ten bits, as CUDA devices can.
    backend: how gradients are computed; auto takes what was measured as the fastest for the model on this machine.
    device: processor: auto, cpu, cuda or cuda:N; auto takes a CUDA device where there is one.
    cuda_graphs: replay gradients as CUDA graphs, on a CUDA device; the backend stacked does so unasked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    algorithm: str
    variant: Literal["paper", "released"] = "paper"
    source: str | None = None
    switches: tuple[str, ...] = ()
    hyper: dict[str, float | bool] = {}
    dataset: str = "digits"
    train_size: Count | None = None
    test_size: Count | None = None
    model: str = "mlp"
    split: str = "iid"
    sizes: str = "equal"
    server_size: Count | None = None
    clients: Count = 10
    cohort: Count = 10
    cohort_rule: Literal["fixed", "bernoulli"] = "fixed"
    rounds: Count = 10
    local_epochs: Count = 1
    local_steps: Count | None = None
    batch_size: Count = 32
    lr: Rate = 0.1
    lr_decay: Rate = 1.0
    weight_decay: Weight = 0.0
    clip: Rate | None = None
    optimiser: Literal["sgd", "momentum", "adam"] = "sgd"
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    server_mean: Literal["uniform", "weighted"] = "uniform"
    man_zeta: Weight = 0.0
    man_layers: Literal["hidden", "with-logits", "released-convnet"] = "hidden"
    augment: Literal["none", "flip-crop", "flip-crop-always"] = "none"
    evaluate: tuple[Literal["server", "active", "all"], ...] = ("server",)
    eval_every: Count = 1
    eval_last: Count = 1
    eval_train: bool = False
    probes: tuple[Measured, ...] = ()
    personal: tuple[str, ...] = ()
    probe_radius: Rate = 0.1
    seed: Annotated[int, Field(ge=0)] = 0
    dtype: Literal["float64", "float32", "tf32", "bfloat16"] = "float32"
    backend: Literal["auto", *BACKENDS] = "auto"  # type: ignore[valid-type]  # known when the class is made
    device: str = "auto"
    cuda_graphs: bool = False

    @model_validator(mode="after")
    def _method_and_sizes(self) -> Self:
        if self.cohort > self.clients:
            raise UserError("cohort", self.cohort, f"1 to {self.clients}, the number of clients")
        self.build_algorithm()
        if self.personal and self.evaluate != ("server",):
            raise UserError("evaluate", ", ".join(self.evaluate), "server with personal, for each client's own model")
        if self.personal and self.server_size:
            raise UserError("server_size", self.server_size, "none with personal: no whole model is at the server")
        if self.server_size and self.split.startswith("domain"):
            raise UserError("server_size", self.server_size, f"none with {self.split}")
        if self.personal and self.probes:
            raise UserError("probes", ", ".join(self.probes), "none with personal: a probe looks at the server's model")
        if not finite_rates(self.lr, self.lr_decay, self.rounds):
            allowed = f"a factor with which the rate {self.lr:g} stays finite over {self.rounds} rounds"
            raise UserError("lr_decay", self.lr_decay, allowed)
        if self.device not in ("auto", "cpu"):
            self.resolved_device  # noqa: B018  (raises where there is no such device)
        if self.dtype == "tf32" and self.resolved_device.type == "cpu":
            raise UserError("dtype", self.dtype, "float64, float32, bfloat16; tf32 is a precision of CUDA devices")
        if self.cuda_graphs and self.resolved_device.type == "cpu":
            raise UserError("cuda_graphs", True, "left out; graphs are recorded on CUDA devices")
        return self

    def build_algorithm(self) -> algorithms.FedAvg:
        return algorithms.build(self.algorithm, self.variant, self.source, self.switches, **self.hyper)

    @property
    def resolved_device(self) -> torch.device:
        """``auto`` takes CUDA when there is one. Raises UserError for a device that is not there."""
        cuda = torch.cuda.is_available()
        if self.device == "auto":
            return torch.device("cuda" if cuda else "cpu")
        if self.device == "cpu" or (cuda and self.device.split(":")[0] == "cuda"):
            return torch.device(self.device)
        raise UserError("device", self.device, "auto, cpu" + (", cuda" if cuda else " (there is no CUDA device here)"))

    @property
    def resolved_backend(self) -> str:
        if self.backend != "auto":
            return self.backend
        if ("model", self.model) in ADDED:
            return "loop"
        return default_backend(self.model, self.resolved_device)

    @property
    def records_graphs(self) -> bool:
        """Whether gradients are CUDA graphs: where they are asked for, and by ``stacked`` and ``kernels``."""
        stacked = self.resolved_backend in ("stacked", "kernels")
        return self.cuda_graphs or (self.resolved_device.type == "cuda" and stacked)

    def canonical(self) -> dict[str, Any]:
        """The whole config as it is used: ``settings``, with the device and backend that this machine takes."""
        return self.settings() | {"device": self.resolved_device.type, "backend": self.resolved_backend}

    def settings(self) -> dict[str, Any]:
        """The config with method, hyper-parameters and discrepancies as they are used, on whatever machine."""
        method = self.build_algorithm()
        own = algorithms.hyperparameters(self.algorithm)
        settings = json.loads(self.model_dump_json()) | {
            "algorithm": algorithms.canonical(self.algorithm),
            "hyper": {name: getattr(method, name) for name in sorted(own)},
            "switches": sorted(method.switches),
        }
        # the names alone would find what an earlier text of the files has computed
        digests = sorted(self._files_of(method).values())
        return settings | ({"added": " ".join(digests)} if digests else {})

    @property
    def added(self) -> dict[str, str]:
        """The user's own files that define method, network or data set -> a hash of their content."""
        return self._files_of(self.build_algorithm())

    def _files_of(self, method: algorithms.FedAvg) -> dict[str, str]:
        own = {method.added_from: method.added_digest} if method.added_from else {}
        return own | dict(ADDED[one] for one in (("model", self.model), ("dataset", self.dataset)) if one in ADDED)

    def key(self, fingerprint: str) -> str:
        """Name of the run's numbers: hash of the config, the data and the numbers version.

        Options at their default are left out, so that a new option does not rename old runs; a changed default changes
        numbers and therefore needs a higher ``artifact.NUMBERS``.
        """
        return hashed(self.canonical(), fingerprint, NUMBERS, self.canonical().get("added"))


def hashed(values: Mapping[str, Any], fingerprint: str, numbers: int, added: str | None) -> str:
    defaults = {name: as_json(field.default) for name, field in RunConfig.model_fields.items()}
    changed = {name: values[name] for name in defaults if name in values and values[name] != defaults[name]}
    content = {"config": changed, "data": fingerprint, "numbers": numbers}
    if added:
        content["added"] = added
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def finite_rates(lr: float, decay: float, rounds: int) -> bool:
    """Whether lr * decay^t is a finite number in every round."""
    try:
        return math.isfinite(lr * decay ** (rounds - 1))
    except OverflowError:
        return False


def as_json(value: Any) -> Any:
    """A default as a stored config has it: JSON knows no tuples."""
    return list(value) if isinstance(value, tuple) else value


def make(**values: Any) -> RunConfig:
    """A checked config. Raises UserError with field, value and what is allowed."""
    try:
        return RunConfig(**values)
    except ValidationError as error:
        raise first_fault(error, fields=RunConfig.model_fields) from None


def remarks(configs: Iterable[RunConfig]) -> list[str]:
    """What somebody who is about to train these should know first, a line each."""
    found = {slow_precision(run.resolved_device, run.dtype) for run in configs}
    return sorted(text for text in found if text)
