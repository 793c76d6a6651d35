"""``fedsharp.train``: federated training of a user's own network on a user's own data."""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from artifact import algorithms
from artifact.base.errors import UserError
from artifact.interface import own_method, privacy, remarks, schedules
from artifact.interface.callbacks import Callback, Round
from artifact.interface.entry import Collate, Pair, require_module
from artifact.interface.entry import pair as _pair
from artifact.interface.live import source
from artifact.interface.own_model import OwnModel, left_alone
from artifact.interface.own_trainer import Loss, OwnTrainer
from artifact.interface.processes import InProcesses
from artifact.interface.saved import Folder, identity
from artifact.interface.schedules import Schedule
from artifact.training import config as configs
from artifact.training.config import RunConfig
from artifact.training.personal import matches

#: options of a run that speak of the project's own models and data sets
_NOT_OWN = {"algorithm", "hyper", "dataset", "model", "split", "sizes", "train_size", "test_size", "augment"}
_NOT_OWN |= {"clients", "probes", "probe_radius", "man_layers", "server_size", "personal"}


@dataclass(frozen=True)
class Run:
    """A finished training.

    metrics: one row per evaluated round: round, lr, cohort, update_norm, what the test says (loss; accuracy and its
    spread over clients for a classifier), and what the round cost (gradients per local step, models sent and kept).
    model: the trained module, a copy of the one that was handed in, in evaluation mode. Personal parameters keep their
    first values in it; ``client_model(i)`` holds the trained personal parameters of client i.
    """

    metrics: list[dict[str, Any]]
    model: nn.Module
    of_client: Callable[[int], nn.Module] | None = field(default=None, repr=False, compare=False)

    def client_model(self, i: int) -> nn.Module:
        """The model of client i, from 0: the server's, with the client's personal parameters in place.

        Raises UserError for another number.
        """
        return self.model if self.of_client is None else self.of_client(i)


def train(
    model: nn.Module,
    clients: Sequence[Pair | TorchDataset | DataLoader],
    *,
    test: Pair | TorchDataset | DataLoader | None = None,
    method: str | type[algorithms.FedAvg] = "fedavg",
    loss: Loss | None = None,
    rounds: int = 10,
    cohort: int | None = None,
    local_epochs: int = 1,
    batch_size: int = 32,
    lr: Schedule = 0.1,
    seed: int = 0,
    on_round: Callback | Sequence[Callback] = (),
    out: str | Path | None = None,
    resume: bool = False,
    best: str | None = None,
    collate_fn: Collate | None = None,
    output: Callable[[Any], Any] | None = None,
    client_tests: Sequence[Pair | TorchDataset | DataLoader] | None = None,
    train_only: str | Sequence[str] | None = None,
    personal: str | Sequence[str] | None = None,
    server_data: Pair | TorchDataset | DataLoader | None = None,
    workers: int = 1,
    update_clip: float | None = None,
    update_noise: float = 0.0,
    **options: Any,
) -> Run:
    """Train ``model`` on the clients' data; the module itself is left as it is.

    model: any module; its present weights are the first server model. Parameters with ``requires_grad=False`` stay.
    clients: one entry per client, (inputs [n, ...], labels [n, ...]), a torch Dataset of such pairs or of dicts with an
    entry ``labels``, or a DataLoader, of which the samples are taken. A Dataset whose transforms draw random numbers is
    read anew in every local step, under generators that follow (seed, round, client, step).
    Inputs may be a dict or tuple of tensors; a dict is spread over keyword arguments where the model has these.
    test: the same for the test; without it rows have no loss and no accuracy.
    method: a name that ``python -m fedsharp list algorithms`` prints, or a class of your own.
    loss: (output, labels) -> mean loss of a minibatch; by default the cross-entropy.
    rounds, local_epochs, batch_size, seed: as in ``python -m fedsharp run``.
    lr: rate of the local steps, and ``rho`` likewise: a number, a list with one a round, a function of the round from
    0, or ``fedsharp.cosine(0.1, warmup=5)``.
    cohort: active clients of a round; by default all.
    on_round: called after every round, one or several; see ``fedsharp.callbacks``. Ctrl-C ends the training, too, and
    gives what there is.
    out: a folder for metrics, checkpoints and the models ``last.pt`` and ``best.pt``, each a ``state_dict``.
    resume: go on in that folder, with the bits of a training that was never stopped. More rounds than before are
    possible where no schedule changes with their number, as ``cosine(0.1)`` without ``rounds=`` does.
    best: number of a row that picks the best model, as ``accuracy``; losses count downwards.
    collate_fn: list of samples -> batch, as a DataLoader's, which pads unequal lengths; called on all samples of a
    client at once, and by the minibatch where they are read anew.
    output: what the module returns -> what the loss gets; by default its ``logits`` where it has some.
    client_tests: one entry per client; rows then have ``per_client``, loss and accuracy of the server's model on each.
    train_only: names of parameters, with ``*``, that alone are trained and sent, such as ``"*lora*"``; also of modules.
    personal: names of parameters and buffers, likewise, that stay with the client, such as ``"head"``. The method acts
    on the others. Rows then have the mean over clients of each one's own model, and ``per_client``.
    server_data: samples that the server holds, like one client's. A method of your own reads them in ``finish``, by
    ``C.server_gradient(w)`` [P], the gradient of their mean loss, and ``C.server_loss(w)``.
    workers: processes that share the clients of a round, which changes no bit; for methods with one exchange a round.
    joblib copies model, loss and data to processes that it starts itself; an open file or a lock cannot be copied.
    update_clip: L2 norm to which every vector that a client sends is clipped, for differential privacy.
    update_noise: standard deviation of the noise on each number of a sum of these, over the most that one client can
    change the sum. Which methods it fits says ``fedsharp.privacy``.
    options: hyper-parameters of the method such as ``rho``, and other options of ``run``: lr_decay, weight_decay, clip,
    local_steps, eval_every, variant, optimiser, dtype, device, man_zeta.

    The engine is the one of ``python -m fedsharp run``: with the same weights, data and clients the numbers are equal.
    Raises UserError for an option, a shape or a value that is not possible; warns of a model that is no longer finite,
    which ends the training, and of labels up to the highest that no client has a sample of.

        run = fedsharp.train(nn.Linear(5, 2), [(x1, y1), (x2, y2)], test=(x, y), method="fedsam", rounds=3, rho=0.1)
        run.metrics[-1]["accuracy"]
    """
    require_module(model)
    if not clients:
        raise UserError("clients", "none", "at least one client")
    if resume and out is None:
        raise UserError("resume", True, "together with out=, the folder to go on in")
    if isinstance(method, type):
        method = registered(method)
    varying = {name: given for name, given in {"lr": lr, **options}.items() if schedules.varies(given)}
    if "lr" in varying and "lr_decay" in options:
        raise UserError("lr_decay", options["lr_decay"], "left out where lr is a schedule")
    first = {name: schedules.value(given, 0, rounds, name) for name, given in varying.items() if name in ("lr", "rho")}
    asked = {"rounds": rounds, "local_epochs": local_epochs, "batch_size": batch_size, "lr": lr, "seed": seed}
    if personal is not None and server_data is not None:
        allowed = "None with personal: no whole model is at the server"
        raise UserError("server_data", type(server_data).__name__, allowed)
    stay = (personal,) if isinstance(personal, str) else tuple(personal or ())
    config = _config(method, len(clients), cohort, asked | options | first, stay)
    with left_alone():
        read = [source(one, f"clients[{i}]", collate_fn, config.seed, i) for i, one in enumerate(clients)]
        parts = [samples for samples, _ in read]
        live = [dataset for _, dataset in read]
        held_out = None if test is None else source(test, "test", collate_fn, config.seed, len(clients))[0]
        at_server = None
        if server_data is not None:
            at_server = source(server_data, "server_data", collate_fn, config.seed, -1)[0]
    start = _only(model, train_only)
    with left_alone():
        trainer = _engine(workers, config, start, parts, held_out, loss, output, live, at_server)
        trainer.schedules = {name: varying[name] for name in first}
        privacy.require(config.algorithm, config.variant, update_clip, update_noise, trainer.statistics is not None)
        if update_clip is not None and workers > 1:
            raise UserError("workers", workers, "1 with update_clip")
        trainer.update_clip, trainer.update_noise = update_clip, update_noise
        own_tests = [_pair(one, f"client_tests[{i}]", collate_fn) for i, one in enumerate(client_tests or ())]
        if personal is not None:
            if workers > 1:
                raise UserError("workers", workers, "1 with personal")
            if own_tests and len(own_tests) != len(clients):
                raise UserError("client_tests", len(own_tests), f"one per client, {len(clients)}")
            trainer.own_tests = own_tests
        folder, rows = None, list[dict[str, Any]]()
        if out is not None:
            told = config.settings() | {"rounds": 0, "schedules": sorted(first), "train_only": train_only}
            del told["personal"]
            if personal is not None:
                told |= {"personal": personal}
            if update_clip is not None:
                told |= {"update_clip": update_clip, "update_noise": update_noise}
            del told["server_size"]
            known = [parts, held_out, *([at_server] if at_server is not None else [])]
            folder = Folder(out, identity(told, model, known), best)
            if (kept := folder.load(resume)) is not None:
                tensors, rows, completed = kept
                schedules.require_same(trainer.schedules, rows, rounds)
                trainer.restore(tensors, completed)
        calls = [on_round] if callable(on_round) else list(on_round)
        over = [one.resume(list(rows)) for one in calls if rows and hasattr(one, "resume")]

        def trained() -> nn.Module:
            return OwnModel.trained(model, trainer.w, trainer.statistics, trainer.oracle).eval()

        def own_model(i: int) -> nn.Module:
            if not 0 <= i < len(clients):
                raise UserError("client", i, f"0 to {len(clients) - 1}")
            return OwnModel.trained(model, *trainer.of_client(i), trainer.oracle).eval()

        undefined = ""
        while trainer.completed < rounds and not any(over):
            try:
                metrics = trainer.play_round()
            except KeyboardInterrupt:
                warnings.warn(f"interrupted in round {trainer.completed + 1}; the rounds before are kept", stacklevel=2)
                break
            if not undefined and (undefined := remarks.not_finite([metrics])):
                warnings.warn(undefined, stacklevel=2)
            told_row = flat_row(metrics)
            if own_tests and personal is None and "server" in metrics:
                told_row["per_client"] = [trainer.tested(trainer.w, x, y) for x, y in own_tests]
            if "server" in metrics or metrics.get("diverged"):
                rows.append(told_row)
            if folder is not None:
                folder.keep(trainer.tensors(), rows, trainer.completed, trained(), trainer.personal_parts())
            r = Round(trainer.completed, told_row, trained, evaluated="server" in metrics)
            try:
                for one in calls:
                    one(r)
            except KeyboardInterrupt:
                warnings.warn(f"interrupted after round {trainer.completed}; this round is kept", stacklevel=2)
                break
            if metrics.get("diverged") or r.stopped:
                break
        return Run(rows, trained(), None if personal is None else own_model)


def _engine(workers: int, config: RunConfig, *given: Any) -> OwnTrainer:
    if not isinstance(workers, int) or workers < 1:
        raise UserError("workers", workers, "a whole number from 1 on")
    if workers == 1:
        return OwnTrainer(config, *given)
    return InProcesses(workers, config, *given)


def _only(model: nn.Module, names: str | Sequence[str] | None) -> nn.Module:
    """The module, or a copy in which no other parameter needs a gradient."""
    if names is None:
        return model
    patterns = [names] if isinstance(names, str) else list(names)
    found = copy.deepcopy(model)
    for name, parameter in found.named_parameters():
        parameter.requires_grad_(matches(name, patterns))
    if not any(p.requires_grad for p in found.parameters()):
        known = ", ".join(name for name, _ in list(model.named_parameters())[:5])
        raise UserError("train_only", ", ".join(patterns), f"names of parameters, with *, such as {known}")
    return found


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

        parts = fedsharp.partition(labels, "dirichlet:0.3", clients=100, seed=0, sizes="lognormal:0.5", least=8)
        clients = [(x[part], labels[part]) for part in parts]
    """
    from artifact.data import partition as divide

    try:
        given = labels if isinstance(labels, (np.ndarray, Tensor)) else np.asarray(labels)
    except ValueError:  # rows of unequal length
        raise UserError("labels", "several numbers for a sample", "one class per sample") from None
    made = divide(spec, given, clients, seed, sizes=sizes, least=least)
    if made.reused:
        missing = len(given) - len(np.unique(np.concatenate(made.indices)))
        said = (
            f"{spec} is no true partition: {made.reused} samples are given out again and {missing} belong to no client"
        )
        warnings.warn(f"{said}; shards:C and by-class:ALPHA are", stacklevel=2)
    return list(made.indices)


def registered(method: type[algorithms.FedAvg]) -> str:
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


def _config(
    method: str, clients: int, cohort: int | None, options: Mapping[str, Any], personal: tuple[str, ...] = ()
) -> RunConfig:
    """The config of a run, with the method's own options apart, as the command line does it."""
    own = algorithms.hyperparameters(method)
    if "momentum" in options and "momentum" not in own and options.get("optimiser") != "momentum":
        raise UserError("momentum", options["momentum"], 'a number together with optimiser="momentum"')
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
        personal=personal,
        **({"backend": "loop"} | run),
    )


def flat_row(metrics: dict[str, Any]) -> dict[str, Any]:
    """The engine's metrics of a round as one flat row."""
    nested = {"server", "cost"}
    plain = {name: value for name, value in metrics.items() if name not in nested}
    return plain | metrics.get("server", {}) | metrics["cost"]
