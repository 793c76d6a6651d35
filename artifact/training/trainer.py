"""Training: cohorts, minibatches and evaluation around ``rounds.play``, on data that stay on the device.

Initial weights, partition, cohorts, batches, augmentation and dropout masks are functions of the seed and never of the
method, so two methods under one seed are a paired comparison and a resumed run needs no generator state.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from artifact.accelerate.allocator import keep_freed_memory
from artifact.accelerate.choose import usable_cores
from artifact.accelerate.cpu.memory_layout import channels_last
from artifact.algorithms import FedLESAM
from artifact.algorithms.client_rows import ClientRows, pack, unpack
from artifact.algorithms.cohort import Cohort, LocalOptimiser
from artifact.algorithms.released import RELEASED_CLIP
from artifact.base.devices import prepare, sent
from artifact.base.errors import UserError
from artifact.base.flat import Layout, buffers, norm, parameters
from artifact.base.random import stream
from artifact.curvature import EmpiricalRisk
from artifact.data import Dataset, Partition, partition
from artifact.data.augment import POLICIES, normalise
from artifact.models import networks
from artifact.models.activations import hidden_layers
from artifact.training.batches import Schedule, schedule
from artifact.training.config import RunConfig
from artifact.training.gradients import Group, Minibatch, Oracle, Penalty
from artifact.training.personal import Personal
from artifact.training.probes import Round, Watch
from artifact.training.rounds import play

EVALUATION_BATCH = 500
#: images of one forward pass: their activations stay in the cache
CACHED_BATCH = 100
#: bytes of a normalised training set that is kept; a larger one, or one that is augmented, is normalised by the batch
KEPT_IMAGES = 192 << 20
#: samples that the clients of a round may go through, each an index of eight bytes
LONGEST_ROUND = 1 << 30


def draw_cohort(seed: int, t: int, clients: int, size: int, rule: str) -> Tensor:
    """Sorted indices of round t's active clients: a fixed number, or independent draws, redrawn when empty."""
    if rule == "fixed":
        return torch.randperm(clients, generator=stream(seed, "cohort", t))[:size].sort().values
    attempt = 0
    while True:
        active = torch.rand(clients, generator=stream(seed, "cohort", t, attempt)) < size / clients
        if active.any():
            return active.nonzero()[:, 0]
        attempt += 1


def _leaving_out(dataset: Dataset) -> str:
    """Which splits are allowed for a data set whose only test images are its domains'."""
    return f"domain:NAME with one of {', '.join(dataset.domain_names)} ({dataset.name} has no test set of its own)"


class Trainer:
    """One run in memory: the server model, the method's state and everything needed to play the next round.

    w: [P] server model.  statistics: [Q] running statistics or None.  state: the method's tensors.
    normalised: [n, C, H, W] training images, or None where they are normalised by the batch.
    last: [m, P] last local model of every client, kept only when the mean of all is evaluated.  last_seen: [m, P] model
    that each client last received (nan before its first visit), kept only for the perturbation probe of FedLESAM.
    personal: the parameters that stay with their clients, or None.  server_pool: samples of the server, or None.
    completed: rounds done.
    """

    def __init__(self, config: RunConfig, dataset: Dataset):
        self.config, self.device = config, config.resolved_device
        keep_freed_memory()
        prepare(self.device, config.dtype)
        self.dtype = torch.float64 if config.dtype == "float64" else torch.float32
        self.server_pool = self.at_server(dataset)
        self.partition, dataset = self.divided(dataset)
        self.data = dataset.to(self.device)
        kept = config.augment == "none" and self.dtype.itemsize * self.data.train_x.numel() <= KEPT_IMAGES
        self.normalised = self.inputs(self.data.train_x) if kept else None
        self.pools = [torch.from_numpy(part) for part in self.partition.indices]
        self.sizes = torch.tensor([len(pool) for pool in self.pools], dtype=self.dtype)
        self.model = self.network().to(self.device, self.dtype).train()
        self._refuse_batches_of_one()
        self.algorithm = config.build_algorithm()
        self._refuse_endless_rounds()
        self.oracle = Oracle(
            self.model,
            self._penalty(),
            config.resolved_backend,
            bfloat16=config.dtype == "bfloat16",
            threads=usable_cores() if self.device.type == "cpu" else 0,
            cuda_graphs=config.records_graphs,
            loss=self.loss,
        )
        self.w = Layout.of(parameters(self.model)).flatten(parameters(self.model)).detach().clone()
        running = buffers(self.model)
        self.statistics = self.oracle.buffer_layout.flatten(running).clone() if running else None
        self.state = self.algorithm.init(self.w, config.clients)
        self.last = ClientRows(config.clients, self.w) if "all" in config.evaluate else None
        probed = {"perturbation", "staleness"} & {*config.probes} and isinstance(self.algorithm, FedLESAM)
        self.last_seen = ClientRows(config.clients, self.w * torch.nan) if probed else None
        self.completed = 0
        self.full_passes = 0
        self.personal = Personal(config.personal, self) if config.personal else None

    #: of an engine without data of its own, see ``artifact.interface.sides``
    server_pool: Tensor | None = None
    personal: Personal | None = None

    # ---- what a user's own model and data replace, see artifact.interface ------------------------------------------

    #: (output, labels) -> mean loss of a minibatch
    loss: Callable[[Any, Tensor], Tensor] = staticmethod(F.cross_entropy)

    def at_server(self, dataset: Dataset) -> Tensor | None:
        """Indices of the training samples that the server holds, or None."""
        size, samples = self.config.server_size, len(dataset.train_y)
        if size is None:
            return None
        if size > samples - self.config.clients:
            raise UserError("server_size", size, f"1 to {samples - self.config.clients}, which leaves each client one")
        return torch.randperm(samples, generator=stream(self.config.seed, "server samples"))[:size].sort().values

    def divided(self, dataset: Dataset) -> tuple[Partition, Dataset]:
        """Who holds which training samples, and the data with the test images of the split."""
        config, domains, names = self.config, dataset.domains, dataset.domain_names
        if self.server_pool is not None:
            rest = np.setdiff1d(np.arange(len(dataset.train_y)), self.server_pool.numpy())
            given = (config.split, dataset.train_y[torch.from_numpy(rest)], config.clients, config.seed)
            own = partition(*given, sizes=config.sizes)
            return Partition(config.split, tuple(rest[part] for part in own.indices)), dataset
        given = (config.split, dataset.train_y, config.clients, config.seed)
        split = partition(*given, sizes=config.sizes, domains=domains, domain_names=names)
        dataset = dataset.hold_out(split.held_out) if len(split.held_out) else dataset
        if not len(dataset.test_y):
            raise UserError("split", config.split, _leaving_out(dataset))
        return split, dataset

    def network(self) -> networks.Model:
        """The network with its initial weights."""
        return networks.build(self.config.model, self.data.input_shape, len(self.data.classes), self.config.seed)

    def inputs(self, samples: Tensor) -> Tensor:
        """What the network takes, of stored samples [..., C, H, W]."""
        return normalise(samples, self.data, self.dtype)

    def _refuse_batches_of_one(self) -> None:
        """BatchNorm of one number per channel has no variance; torch ends in the middle of a round."""
        B = self.config.batch_size
        last = {len(pool) - (math.ceil(len(pool) / B) - 1) * B for pool in self.pools}
        if 1 in last and networks.needs_two_samples(self.model, self.inputs(self.data.train_x[:1])):
            sizes = ", ".join(map(str, sorted({len(pool) for pool in self.pools})[:5]))
            allowed = f"a size that leaves no client a batch of one image, which {self.model.name} cannot normalise"
            raise UserError("batch_size", B, f"{allowed} (clients have {sizes} images)")

    def _refuse_endless_rounds(self) -> None:
        """A round's schedule lists every sample of every step; one that does not fit the memory would never end."""
        config, most = self.config, max(self.local_steps(self.pools))
        samples = config.cohort * most * min(config.batch_size, max(map(len, self.pools)))
        if samples > LONGEST_ROUND:
            name = "local_epochs" if config.local_steps is None else "local_steps"
            asked = getattr(config, name)
            raise UserError(name, asked, f"1 to {max(1, asked * LONGEST_ROUND // samples)}, with these clients")

    def _penalty(self) -> Penalty:
        """MAN's term; the released code applies half the coefficient (MAN-1)."""
        zeta, choice = self.config.man_zeta * self.algorithm.man_scale, self.config.man_layers
        if choice == "hidden" or zeta == 0:
            return Penalty(zeta)
        hidden = hidden_layers(self.model)
        if choice == "with-logits":
            final = [name for name, module in self.model.named_modules() if isinstance(module, torch.nn.Linear)][-1]
            return Penalty(zeta, (*hidden, final))
        if len(hidden) != 5:
            raise UserError("man_layers", choice, "hidden or with-logits; released-convnet is for model convnet-tiny")
        conv1, conv2, _, fc1, fc2 = hidden  # the third convolution's term is overwritten by the first layer's after it
        return Penalty(zeta, (conv1, conv2, fc1, fc2), (fc2,))

    # ---- a round -------------------------------------------------------------------------------------------------

    def play_round(self) -> dict[str, Any]:
        """Play the next round; returns its metrics (evaluation and probes only on the rounds that the config names)."""
        config, t = self.config, self.completed
        evaluated = (t + 1) % config.eval_every == 0 or t >= config.rounds - config.eval_last
        clients = draw_cohort(config.seed, t, config.clients, config.cohort, config.cohort_rule)
        members = clients.tolist()
        steps = self.local_steps([self.pools[i] for i in members])
        C = self.cohort(clients, steps)
        local = None if self.statistics is None else self.statistics.repeat(len(members), 1)
        self.full_passes, before = 0, self.oracle.passes
        watch = self.watch(C) if evaluated and config.probes else None
        w, W = self.train(C, steps, local, watch)
        metrics: dict[str, Any] = {"round": t + 1, "lr": C.lr, "cohort": len(members)}
        metrics |= {"update_norm": norm(w - self.w).item(), "cost": self.cost(C, self.oracle.passes - before, steps)}
        if self.last_seen is not None:
            self.last_seen[C.clients] = self.w
        self.w, self.completed = w, t + 1
        if self.last is not None:
            self.last[C.clients] = W
        self.statistics = None if local is None else self.model.settled(local, self._mean_of_active(C, local))
        if not torch.isfinite(w).all():
            metrics["diverged"] = True
        elif evaluated:
            candidates = {"server": w, "active": self._mean_of_active(C, W)}
            if self.last is not None:
                candidates["all"] = self._mean_of_all(self.last)
            metrics |= watch.results(w, W) if watch is not None else {}
            metrics |= self.evaluate(candidates)
        return metrics

    def train(self, C: Cohort, steps: list[int], local: Tensor | None, watch: Watch | None) -> tuple[Tensor, Tensor]:
        """The training of a round: next server model [P], last local models [S, P]; ``local`` [S, Q] moves in place.

        Without probes nothing in here waits for a GPU: the host only asks for work, step after step.
        """
        if self.personal is not None:
            return self.personal.train(self, C, steps, local)
        config, members = self.config, C.clients.tolist()
        pools = [self.pools[i] for i in members]
        plan = schedule(pools, members, config.batch_size, steps, config.seed, C.t).on(self.device)
        w, W, _ = play(
            self.algorithm,
            self.state,
            self.w,
            C,
            steps,
            lambda k, rows: self.minibatch(plan, members, local, k, rows),
            weight_decay=config.weight_decay,
            clip=self.clip_norm,
            optimiser=LocalOptimiser(config.optimiser, config.momentum),
            probe=watch,
            workers=self.oracle,
        )
        return w, W

    def watch(self, C: Cohort) -> Watch:
        """The config's probes at the start of a round."""
        config, everyone = self.config, list(range(self.config.clients))
        view = Round(
            method=self.algorithm,
            C=C,
            w=self.w,
            weights=self.sizes.to(self.device) / self.sizes.sum().item(),
            atypicality=torch.from_numpy(self.partition.atypicality(self.data.train_y.cpu())).to(self.device),
            client_gradients=lambda w: self.gradients_of(w, everyone),
            risk=self.risk,
            cohort_of=lambda t: draw_cohort(config.seed, t, config.clients, config.cohort, config.cohort_rule),
            last_seen=None if self.last_seen is None else self.last_seen[C.clients],
            uncounted=self.oracle.uncounted,
            radius=config.probe_radius,
        )
        return Watch(config.probes, view)

    def risk(self, most: int | None = None, client: int | None = None) -> EmpiricalRisk:
        """Mean loss over the data of all clients or of one, or over ``most`` samples of them, the same every round."""
        index = torch.cat(self.pools) if client is None else self.pools[client]
        if most is not None and most < len(index):
            index = index[torch.randperm(len(index), generator=stream(0, "probe/samples"))[:most].sort().values]
        x = channels_last(self.inputs(self.data.train_x[index.to(self.device)]))
        running = {} if self.statistics is None else self.oracle.buffer_layout.views(self.statistics)
        return EmpiricalRisk(self.model, None, (x, self.data.train_y[index.to(self.device)]), buffers=running)

    @property
    def clip_norm(self) -> float | None:
        """What the config asks for; where it names none, released forms clip all the same."""
        return self.config.clip or (RELEASED_CLIP if self.algorithm.clip_total else None)

    def local_steps(self, pools: list[Tensor]) -> list[int]:
        """K_i: local steps of each active client."""
        config = self.config
        if config.local_steps is not None:
            return [config.local_steps] * len(pools)
        if self.algorithm.equal_steps:
            return [self.mean_steps] * len(pools)
        return [config.local_epochs * math.ceil(len(pool) / config.batch_size) for pool in pools]

    @property
    def mean_steps(self) -> int:
        """E * ceil(mean N / B)."""
        return self.config.local_epochs * math.ceil(self.sizes.mean().item() / self.config.batch_size)

    def cohort(self, clients: Tensor, steps: list[int]) -> Cohort:
        config = self.config
        sizes = sent(self.sizes[clients], self.device)[:, None]
        one_client = config.local_epochs * len(self.pools[0]) / config.batch_size
        return Cohort(
            clients=clients,
            sizes=sizes,
            K=sent(torch.tensor(steps, dtype=self.dtype), self.device)[:, None],
            m=config.clients,
            t=self.completed,
            lr=config.lr * config.lr_decay**self.completed,
            first_lr=config.lr,
            layout=self.oracle.layout,
            full_gradient=lambda w: self.full_gradient(w, clients.tolist()),
            relative_size=sizes / self.sizes.mean().item(),
            K_first=config.local_steps or one_client,
            K_mean=config.local_steps or self.mean_steps,
            input_channels=self.data.input_shape[0],
            weighted=config.server_mean == "weighted",
            **({} if self.server_pool is None else self._of_server(self.server_pool)),
        )

    def _of_server(self, pool: Tensor) -> dict[str, Any]:
        """What a method sees of the server's samples."""
        return {
            "server_gradient": lambda w: self._whole_gradients(w, [pool], [-1])[0],
            "server_loss": lambda w: self.loss_on(w, pool),
        }

    def loss_on(self, w: Tensor, index: Tensor) -> float:
        """Mean loss over training samples, without augmentation."""
        at = index.to(self.device)
        return _confusion(self, w, self.data.train_x[at], self.data.train_y[at])[2]

    def minibatch(self, plan: Schedule, ids: list[int], local: Tensor | None, k: int, rows: Tensor | None) -> Minibatch:
        """G of local step k for the given rows of the cohort."""
        going = list(range(len(ids))) if rows is None else rows.tolist()
        groups = []
        for positions, indices in plan.groups(k, going):
            who = [ids[going[p]] for p in positions]
            whole = len(positions) == len(going)
            index = None if whole else sent(torch.tensor(positions), self.device)
            groups.append(self.group(index, indices, who, k))
        return self.oracle.minibatch(groups, local, None if rows is None else sent(rows, self.device))

    def group(self, rows: Tensor | None, indices: Tensor, clients: list[int], k: int, augment: bool = True) -> Group:
        """Normalised, augmented inputs and dropout draws of one batch per client; indices [R, B]."""
        seed, t, B = self.config.seed, self.completed, indices.shape[1]
        x = self.images(indices)
        if augment and self.config.augment != "none":
            draws = [torch.rand(B, 4, generator=stream(seed, "augment", t, i, k)) for i in clients]
            x = POLICIES[self.config.augment](x, sent(torch.stack(draws), self.device))
        units = self.model.dropout_units
        masks = [torch.rand(B, units, generator=stream(seed, "dropout", t, i, k)) for i in clients if units]
        return Group(rows, x, self.data.train_y[indices], sent(torch.stack(masks), self.device) if units else None)

    def images(self, indices: Tensor) -> Tensor:
        """Normalised training images [*indices.shape, C, H, W]."""
        source = self.data.train_x if self.normalised is None else self.normalised
        x = source.index_select(0, indices.flatten()).view(*indices.shape, *source.shape[1:])
        return self.inputs(x) if self.normalised is None else x

    def full_gradient(self, w: Tensor, clients: list[int]) -> Tensor:
        """[S, P]: one pass of every client over its data at w, in training mode and without augmentation.

        Exact for models without BatchNorm and Dropout; with them it is the mean of the minibatch gradients that a
        client computes in one epoch at fixed weights. Running statistics do not move.
        """
        self.full_passes += 1
        return self.gradients_of(w, clients)

    def gradients_of(self, w: Tensor, clients: list[int]) -> Tensor:
        """Gradient of each named client's loss over all its data at w, [len(clients), P].

        As with ``full_gradient`` its cost is not counted as the method's.
        """
        return self._whole_gradients(w, [self.pools[i] for i in clients], clients)

    def _whole_gradients(self, w: Tensor, pools: list[Tensor], clients: list[int]) -> Tensor:
        """Gradient of the mean loss over each pool of samples, [len(pools), P]; a client's number names its draws."""
        batch = self.config.batch_size
        steps = [math.ceil(len(pool) / batch) for pool in pools]
        plan = schedule(pools, clients, batch, steps, self.config.seed, self.completed).on(self.device)
        W = w.repeat(len(clients), 1)
        total = torch.zeros_like(W)
        with self.oracle.uncounted():  # a full pass is counted on its own, not as local steps
            for k in range(max(steps)):
                going = [i for i in range(len(clients)) if steps[i] > k]
                for positions, indices in plan.groups(k, going):
                    rows = [going[p] for p in positions]
                    group = self.group(None, indices, [clients[r] for r in rows], -1 - k, augment=False)
                    frozen = None if self.statistics is None else self.statistics.repeat(len(rows), 1)
                    at = sent(torch.tensor(rows), w.device)
                    total[at] += indices.shape[1] * self.oracle.gradients(W[: len(rows)], frozen, group)
        return total / sent(torch.tensor([len(pool) for pool in pools], dtype=w.dtype), w.device)[:, None]

    def cost(self, C: Cohort, passes: int, steps: list[int]) -> dict:
        """What the round cost, as counted: gradients per local step, extra full passes, models sent and kept."""
        P, m = self.oracle.layout.numel, self.config.clients
        kept = sum(math.prod(v.shape[1:]) for v in self.state.values() if len(v.shape) >= 2 and v.shape[0] == m)
        extra = 0 if self.statistics is None else len(self.statistics) / P
        return {
            "gradients_per_step": passes / sum(steps),
            "full_passes": self.full_passes,
            "down": C.traffic.down + extra,
            "up": C.traffic.up + extra,
            "client_memory": kept / P,
        }

    # ---- evaluation ----------------------------------------------------------------------------------------------

    @property
    def weighted(self) -> bool:
        """Whether a mean of local models counts them by size, as the method's own server does."""
        return self.config.server_mean == "weighted" or self.algorithm.by_size

    def _mean_of_active(self, C: Cohort, rows: Tensor) -> Tensor:
        return (C.p * rows).sum(0) if self.weighted else rows.mean(0)

    def _mean_of_all(self, last: ClientRows) -> Tensor:
        weights = self.sizes.to(self.device) / self.sizes.sum().item()
        return last.weighted_sum(weights) if self.weighted else last.mean(0)

    def evaluate(self, candidates: dict[str, Tensor]) -> dict[str, dict]:
        """Test results of the models that the config names, and of the training set when it asks for it."""
        results: dict[str, dict] = {name: self.test(candidates[name]) for name in self.config.evaluate}
        if self.config.eval_train:
            results["train"] = self.on_training_set(candidates["server"])
        return results

    def on_training_set(self, w: Tensor) -> dict[str, float]:
        """Accuracy and mean loss on all training samples, without augmentation."""
        correct, _, loss = _confusion(self, w, self.data.train_x, self.data.train_y)
        return {"accuracy": correct.sum().item() / len(self.data.train_y), "loss": loss}

    def of_client(self, i: int) -> tuple[Tensor, Tensor | None]:
        """Parameters [P] and buffers [Q] of client i's model, which is the server's where nothing is personal."""
        if self.personal is None:
            return self.w, self.statistics
        return self.personal.of_client(i, self.w, self.statistics)

    def final(self) -> dict[str, Any]:
        """What a finished run keeps of its server model: the fit of the training set, and which test samples are right.

        right: one bit a test sample in the order of the data set, as ``numpy.packbits`` has them, in base64. With
        personal parameters: per_client, the test result of every client's model.
        """
        if self.personal is not None:
            return {"per_client": self.of_every_client()}
        right = _predictions(self, self.w, self.data.test_x) == self.data.test_y
        bits = base64.b64encode(np.packbits(right.cpu().numpy()).tobytes()).decode("ascii")
        return {"train": self.on_training_set(self.w), "right": bits}

    def test(self, w: Tensor) -> dict:
        """Accuracy and mean loss on the test set, and the spread over clients.

        A client's accuracy is the test accuracy per class weighted by the client's own class shares: the accuracy that
        it can expect on new data of its kind, from every test image instead of a small local hold-out. With personal
        parameters, accuracy and loss are the means over clients of what each one's own model has on data of its kind.
        """
        if self.personal is not None:
            each = self.of_every_client()
            own = np.array([one["accuracy"] for one in each])
            return {
                "accuracy": float(own.mean()),
                "loss": float(np.mean([one["loss"] for one in each])),
                "client_mean": float(own.mean()),
                "client_sd": float(own.std(ddof=1)) if len(own) > 1 else 0.0,
                "client_min": float(own.min()),
            }
        correct, total, loss = _confusion(self, w, self.data.test_x, self.data.test_y)
        per_class = (correct / total.clamp_min(1)).numpy()
        counts = self.partition.counts(self.data.train_y)
        own = (counts / counts.sum(1, keepdims=True)) @ per_class[: counts.shape[1]]
        return {
            "accuracy": correct.sum().item() / total.sum().item(),
            "loss": loss,
            "client_mean": float(own.mean()),
            "client_sd": float(own.std(ddof=1)) if len(own) > 1 else 0.0,
            "client_min": float(own.min()),
        }

    def of_every_client(self) -> list[dict[str, float]]:
        """Accuracy and mean loss of every client's model on the test set, each class weighted by the client's share."""
        counts = self.partition.counts(self.data.train_y)
        shares = counts / counts.sum(1, keepdims=True)
        found = []
        for i, own in enumerate(shares):
            accuracy, loss = _by_class(self, *self.of_client(i))
            found.append({"accuracy": float(own @ accuracy), "loss": float(own @ loss)})
        return found

    # ---- checkpoints ---------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Everything that the next round depends on."""
        own = {"w": self.w, "statistics": self.statistics, "last": self.last, "last_seen": self.last_seen}
        own |= {f"state.{name}": value for name, value in self.state.items()}
        kept = {} if self.personal is None else self.personal.tensors()
        return pack({name: value for name, value in own.items() if value is not None}) | kept

    def take_model(self, tensors: dict[str, Tensor], completed: int) -> None:
        """The global model of a checkpoint: enough to evaluate and probe it, not to go on training."""
        model = {name: tensors[name].to(self.device) for name in ("w", "statistics") if name in tensors}
        self.w, self.statistics, self.completed = model["w"], model.get("statistics"), completed

    def restore(self, tensors: dict[str, Tensor], completed: int) -> None:
        """Everything, as ``tensors`` gave it."""
        kept = {"last": self.last, "last_seen": self.last_seen} | {f"state.{n}": v for n, v in self.state.items()}
        rows = {name: value for name, value in kept.items() if isinstance(value, ClientRows)}
        own = unpack({name: value.to(self.device) for name, value in tensors.items()}, rows)
        self.take_model(tensors, completed)
        self.state = {name.removeprefix("state."): v for name, v in own.items() if name.startswith("state.")}
        if self.personal is not None:
            self.personal.restore({name: value.to(self.device) for name, value in tensors.items()})


def _logits(trainer: Trainer, w: Tensor, images: Tensor, statistics: Tensor | None = None) -> Tensor:
    """[samples, classes], of at most ``EVALUATION_BATCH`` samples. statistics: by default the server's."""
    x = channels_last(trainer.inputs(images))
    with trainer.oracle.evaluating(w, trainer.statistics if statistics is None else statistics) as model:
        return torch.cat([model(piece) for piece in x.split(CACHED_BATCH)])


@torch.no_grad()
def _predictions(trainer: Trainer, w: Tensor, images: Tensor) -> Tensor:
    """[samples], the class that the model gives each sample."""
    starts = range(0, len(images), EVALUATION_BATCH)
    return torch.cat([_logits(trainer, w, images[at : at + EVALUATION_BATCH]).argmax(1) for at in starts])


def _confusion(trainer: Trainer, w: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, float]:
    """(correct per class, images per class, mean loss) of a model on a labelled set."""
    classes = len(trainer.data.classes)

    @torch.no_grad()
    def batch(start: int) -> tuple[Tensor, Tensor]:
        part = slice(start, start + EVALUATION_BATCH)
        logits, y = _logits(trainer, w, images[part]), labels[part]
        correct = torch.bincount(y[logits.argmax(1) == y], minlength=classes)
        return correct, F.cross_entropy(logits, y, reduction="sum").double()

    results = trainer.oracle.map(batch, range(0, len(labels), EVALUATION_BATCH))
    correct, loss = (torch.stack(column).sum(0) for column in zip(*results, strict=True))
    return correct.cpu(), torch.bincount(labels, minlength=classes).cpu(), loss.item() / len(labels)


@torch.no_grad()
def _by_class(trainer: Trainer, w: Tensor, statistics: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    """(accuracy, mean loss) [classes] of a model on the test images of each class; 0 for a class without any."""
    labels, classes = trainer.data.test_y, len(trainer.data.classes)
    starts = range(0, len(labels), EVALUATION_BATCH)
    images = trainer.data.test_x
    logits = torch.cat([_logits(trainer, w, images[at : at + EVALUATION_BATCH], statistics) for at in starts])
    right = (logits.argmax(1) == labels).double()
    losses = F.cross_entropy(logits, labels, reduction="none").double()
    total = torch.bincount(labels, minlength=classes).clamp_min(1)
    sums = (torch.bincount(labels, weights=one, minlength=classes) for one in (right, losses))
    accuracy, loss = ((one / total).cpu().numpy() for one in sums)
    return accuracy, loss
