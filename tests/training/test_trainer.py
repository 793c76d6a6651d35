"""The training engine on the embedded digits: what two methods under one seed share, and what every option does."""

import functools
import gc
import itertools
import math
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call

from artifact import NUMBERS
from artifact.accelerate.choose import BACKENDS
from artifact.algorithms.cohort import Context, LocalOptimiser
from artifact.base.errors import UserError
from artifact.base.random import key
from artifact.data import Dataset
from artifact.data.augment import normalise
from artifact.models import networks
from artifact.runs.session import load_data
from artifact.training.batches import schedule
from artifact.training.config import RunConfig, make
from artifact.training.trainer import Trainer, draw_cohort


def config(**options):
    small = {"algorithm": "fedavg", "dataset": "digits", "train_size": 90, "test_size": 60, "clients": 5, "cohort": 3}
    small |= {"rounds": 3, "batch_size": 8, "model": "mlp", "dtype": "float64", "backend": "loop", "device": "cpu"}
    return make(**(small | options))


@functools.lru_cache
def data() -> Dataset:
    return load_data(config())


def train(rounds=2, recorded=False, **options):
    run = config(**options)
    trainer = Trainer(run, data())
    trainer.oracle.cuda_graphs = recorded
    metrics = [trainer.play_round() for _ in range(rounds)]
    return trainer, metrics


# ---- backends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"sizes": "lognormal:0.6"},
        {"model": "cnn-fmnist", "sizes": "lognormal:0.6"},
        {"optimiser": "momentum", "momentum": 0.9, "algorithm": "fedsam"},
        {"optimiser": "adam", "lr": 0.01, "sizes": "lognormal:0.6"},
        {"man_zeta": 0.2, "model": "mlp-12", "algorithm": "feddyn", "sizes": "lognormal:0.6"},
        {"man_zeta": 0.2, "model": "cnn-fmnist", "algorithm": "mofedsam"},
        {"augment": "flip-crop", "algorithm": "globalfedsam", "clip": 1.0, "weight_decay": 0.01},
        {"model": "cnn-emnist", "algorithm": "fedsam", "sizes": "lognormal:0.6"},
        {"model": "convnet-tiny", "algorithm": "fedsmoo", "sizes": "lognormal:0.6"},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_backends_agree(options):
    loop, model = train(**options)[0], options.get("model", "mlp")
    otherwise = {} if model.startswith("mlp") else {"explicit": "batched", "onednn": "batched"}
    # the others have dropout or BatchNorm, or nothing to convolve
    otherwise |= {} if model == "convnet-tiny" else {"stacked": "batched", "kernels": "batched"}
    assert not torch.equal(loop.w, Trainer(loop.config, data()).w)
    for backend in BACKENDS:
        if backend in otherwise:  # it is played under its own name
            assert Trainer(config(backend=backend, **options), data()).oracle.backend == otherwise[backend]
            continue
        one, recorded = (train(backend=backend, recorded=graphs, **options)[0] for graphs in (False, True))
        assert one.oracle.backend == backend
        assert (loop.w - one.w).abs().max() <= 1e-10
        assert torch.equal(one.w, recorded.w)
        if loop.statistics is not None:
            assert (loop.statistics - one.statistics).abs().max() <= 1e-10
            assert torch.equal(one.statistics, recorded.statistics)


@pytest.mark.parametrize("B", [1, 3, 16])
def test_kept_images_have_the_bits_of_normalised_batches(B):
    trainer = Trainer(train()[0].config, data())
    indices = torch.randint(0, len(trainer.data.train_x), (2, B), generator=torch.Generator().manual_seed(B))
    kept = trainer.images(indices)
    assert trainer.normalised is not None and kept.shape == (2, B, *trainer.data.input_shape)
    trainer.normalised = None
    assert torch.equal(trainer.images(indices), kept)
    assert torch.equal(kept, normalise(trainer.data.train_x[indices], trainer.data, trainer.dtype))


def test_augmented_images_are_not_kept():
    assert train(augment="flip-crop")[0].normalised is None


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_trainer_that_is_gone_leaves_neither_oracle_nor_threads(backend, recorded, monkeypatch):
    """A sweep's worker builds hundreds of them, one after the other."""
    monkeypatch.setattr("artifact.training.trainer.usable_cores", lambda: 2)
    before, trainer = set(threading.enumerate()), train(rounds=1, backend=backend, recorded=recorded)[0]
    workers, oracle = set(threading.enumerate()) - before, weakref.ref(trainer.oracle)
    assert workers and oracle() is not None
    del trainer
    deadline = time.monotonic() + 60
    while oracle() is not None and time.monotonic() < deadline:  # a worker may not yet have let go of its last task
        gc.collect()
        time.sleep(0.01)
    assert oracle() is None
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers)


def test_a_small_memory_budget_gives_the_same_answer():
    whole, _ = train(backend="batched", sizes="lognormal:0.6")
    chunked = Trainer(whole.config, data())
    chunked.oracle.memory = 1
    assert chunked.oracle.clients_per_call(torch.zeros(3, 8, 1, 8, 8)) == 1
    assert whole.oracle.clients_per_call(torch.zeros(3, 8, 1, 8, 8)) >= 3
    for _ in range(2):
        chunked.play_round()
    assert (whole.w - chunked.w).abs().max() <= 1e-12


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_narrow_types_stay_close_to_float64(dtype):
    wide, narrow = train()[0], train(dtype=dtype)[0]
    assert narrow.w.dtype == torch.float32
    assert (wide.w - narrow.w).abs().max() < {"float32": 1e-5, "bfloat16": 0.05}[dtype]


def refused(dataset=None, **options):
    """The error of a trainer that must not be made."""
    with pytest.raises(UserError) as caught:
        Trainer(config(**options), dataset or data())
    return caught.value


def test_data_without_a_test_set_need_a_domain_that_is_left_out():
    whole = data()
    domains = torch.arange(len(whole.train_y)) % 2
    bare = replace(whole, test_x=whole.test_x[:0], test_y=whole.test_y[:0], domains=domains)
    bare = replace(bare, domain_names=("Art", "Real World"))
    error = refused(bare)
    assert error.field == "split" and "domain:NAME with one of Art, Real World" in error.allowed
    assert len(Trainer(config(split="domain:Art", clients=4), bare).data.test_y) == 45


def test_a_batch_of_one_is_refused_where_batch_norm_sees_single_pixels():
    """Five clients with 18 images each: batches of 17 leave one image, on which ResNet-18 ends at one pixel."""
    error = refused(model="resnet18", batch_size=17)
    assert error.field == "batch_size" and error.value == 17
    assert refused(model="resnet18", batch_size=1).value == 1
    Trainer(config(model="resnet18", batch_size=16), data())
    for model in ("resnet18-gn", "cnn-fmnist", "mlp"):
        Trainer(config(model=model, batch_size=17), data())
    train(1, model="cnn-fmnist", batch_size=17)


@pytest.mark.parametrize("name", ["local_steps", "local_epochs"])
def test_a_round_that_no_memory_holds_is_refused(name):
    error = refused(**{name: 10**12})
    most = int(error.allowed.split()[2].strip(","))
    assert error.field == name and error.value == 10**12 and 10**6 < most < 10**9
    Trainer(config(**{name: most}), data())
    refused(**{name: 2 * most})


# ---- randomness ---------------------------------------------------------------------------------------------------


class Recorder(Trainer):
    """Keeps what every local step is given: labels, augmented inputs and dropout draws."""

    def __init__(self, run, dataset):
        self.given = []
        super().__init__(run, dataset)

    def group(self, rows, indices, clients, k, augment=True):
        group = super().group(rows, indices, clients, k, augment)
        if k >= 0:  # negative steps are full passes, which only some methods make
            self.given.append((self.completed, k, clients, group.x, group.y, group.uniforms))
        return group


def recorded(**options):
    run = config(augment="flip-crop", split="dirichlet:0.5", rounds=2, **options)
    trainer = Recorder(run, data())
    start = trainer.w
    trainer.play_round(), trainer.play_round()
    trainer.given.sort(key=lambda entry: entry[:3])  # the workers take the clients in any order
    return trainer, start


@pytest.mark.parametrize("name", ["fedsam", "scaffold", "globalfedsam", "fedlesam"])
def test_methods_under_one_seed_share_every_draw(name):
    (one, start_one), (other, start_other) = recorded(), recorded(algorithm=name)
    assert torch.equal(start_one, start_other)
    assert one.partition.fingerprint == other.partition.fingerprint
    assert len(one.given) == len(other.given) > 0
    for a, b in zip(one.given, other.given, strict=True):
        assert a[:3] == b[:3]
        assert all(torch.equal(x, y) for x, y in zip(a[3:], b[3:], strict=True))


def test_another_seed_changes_every_draw():
    (one, start_one), (other, start_other) = recorded(), recorded(seed=1)
    assert not torch.equal(start_one, start_other)
    assert one.partition.fingerprint != other.partition.fingerprint
    first = {tuple(u.flatten()[:4].tolist()) for *_, u in one.given}
    assert not first & {tuple(u.flatten()[:4].tolist()) for *_, u in other.given}


def test_no_two_streams_share_a_key():
    """Four seeds, 500 rounds, ten clients, every purpose: all names have different keys."""
    keys = set()
    for seed, t in itertools.product(range(4), range(500)):
        keys.add(key(seed, "cohort", t))
        for purpose, client in itertools.product(("batches", "augment", "dropout"), range(10)):
            keys.add(key(seed, purpose, t, client))
    assert len(keys) == 4 * 500 * (1 + 3 * 10)
    assert key(1, "batches", 23, 4) != key(12, "batches", 3, 4) != key(1, "batches", 2, 34)


@pytest.mark.parametrize("rule", ["fixed", "bernoulli"])
def test_cohorts_of_neighbouring_seeds_are_not_shifted_copies(rule):
    """Seed s at round t is not seed s + 1 at round t - 1, as it is where a generator is seeded with seed + round."""
    of = {(s, t): tuple(draw_cohort(s, t, 100, 10, rule).tolist()) for s in (0, 1) for t in range(500)}
    assert sum(of[0, t] == of[1, t] for t in range(500)) == 0
    assert sum(of[0, t] == of[1, t - 1] for t in range(1, 500)) == 0
    assert len({of[0, t] for t in range(500)}) == 500


def test_fixed_cohorts_have_their_size_and_treat_clients_alike():
    draws = [draw_cohort(3, t, 20, 5, "fixed").tolist() for t in range(800)]
    assert all(len(set(d)) == 5 and d == sorted(d) for d in draws)
    counts = np.bincount(np.concatenate(draws), minlength=20)
    assert np.abs(counts - 200).max() < 5 * math.sqrt(800 * 0.25 * 0.75)


def test_bernoulli_cohorts_vary_in_size_and_are_never_empty():
    sizes = [len(draw_cohort(3, t, 20, 5, "bernoulli")) for t in range(800)]
    assert abs(np.mean(sizes) - 5) < 5 * math.sqrt(20 * 0.25 * 0.75 / 800)
    assert len(set(sizes)) > 5
    assert all(len(draw_cohort(0, t, 3, 1, "bernoulli")) >= 1 for t in range(200))


def test_schedule_covers_every_sample_once_per_epoch():
    pools = [torch.arange(0, 11), torch.arange(11, 15), torch.arange(15, 25)]
    steps = [2 * 3, 2 * 1, 2 * 2]
    plan = schedule(pools, [4, 7, 9], 5, steps, seed=1, t=3)
    assert plan.lengths == [[5, 5, 1] * 2, [4, 4], [5, 5] * 2]
    for row, pool in enumerate(pools):
        per_epoch = steps[row] // 2
        batches = [plan.indices[row, k, :n].tolist() for k, n in enumerate(plan.lengths[row])]
        for epoch in (batches[:per_epoch], batches[per_epoch:]):
            assert sorted(itertools.chain(*epoch)) == pool.tolist()
    later = schedule(pools, [4, 7, 9], 5, steps, seed=1, t=4)
    assert not torch.equal(plan.indices, later.indices)
    alone = schedule(pools[1:2], [7], 5, steps[1:2], seed=1, t=3)
    assert alone.lengths == plan.lengths[1:2]
    assert torch.equal(alone.indices[0, :, :4], plan.indices[1, :2, :4])
    huge = schedule(pools, [4, 7, 9], 10**12, [2, 2, 2], seed=1, t=3)
    assert huge.indices.shape == (3, 2, 11)
    assert huge.lengths == [[11, 11], [4, 4], [10, 10]]


# ---- local steps --------------------------------------------------------------------------------------------------


def test_local_steps():
    pools = [torch.arange(17), torch.arange(8), torch.arange(3)]
    by_epochs = Trainer(config(local_epochs=2), data())
    assert by_epochs.local_steps(pools) == [6, 2, 2]
    assert Trainer(config(local_steps=4), data()).local_steps(pools) == [4, 4, 4]
    equal = Trainer(config(algorithm="scaffold", variant="released", source="fedman"), data())
    assert equal.local_steps(pools) == [math.ceil(18 / 8)] * 3


def test_learning_rate_decays_per_round():
    _, metrics = train(3, lr=0.2, lr_decay=0.5)
    assert [m["lr"] for m in metrics] == [0.2, 0.1, 0.05]


def test_one_step_is_bounded_by_the_clip():
    trainer, metrics = train(1, local_steps=1, lr=0.5, clip=1e-3, cohort=1)
    assert metrics[0]["update_norm"] == pytest.approx(0.5e-3, rel=2e-3)
    _, free = train(1, local_steps=1, lr=0.5, cohort=1)
    assert free[0]["update_norm"] > 0.01
    assert trainer.clip_norm == 1e-3
    assert Trainer(config(variant="released"), data()).clip_norm == 10.0
    assert Trainer(config(), data()).clip_norm is None


def test_weight_decay_is_added_once_per_step():
    plain, decayed = train(1, local_steps=1, lr=0.1)[0], train(1, local_steps=1, lr=0.1, weight_decay=0.3)[0]
    start = Trainer(plain.config, data()).w
    assert torch.allclose(plain.w - decayed.w, 0.1 * 0.3 * start, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.1)),
        ("momentum", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        ("adam", lambda p: torch.optim.Adam(p, lr=0.1)),
    ],
)
def test_local_optimisers_are_those_of_torch(name, reference):
    theirs = torch.tensor([[1.0, -0.5, 0.5]], dtype=torch.float64, requires_grad=True)
    ours, optimiser = theirs.detach().clone(), reference([theirs])
    context = Context(ours[0], 0.1)
    context.optimiser = LocalOptimiser(name)
    for context.k in range(6):
        optimiser.zero_grad()
        ((theirs - 0.3) ** 4).sum().backward()
        optimiser.step()
        ours = context.descend(ours, 4 * (ours - 0.3) ** 3)
    assert torch.allclose(ours, theirs.detach(), rtol=0, atol=1e-12)


def test_optimiser_state_is_new_in_every_round():
    """Two rounds of one momentum step each are two plain steps."""
    momentum = train(2, optimiser="momentum", local_steps=1)[0]
    assert torch.equal(momentum.w, train(2, local_steps=1)[0].w)


def test_running_statistics_move_once_a_step():
    """The second gradient of a SAM step does not count the batch twice."""
    once = train(1, model="cnn-fmnist")[0]
    twice = train(1, model="cnn-fmnist", algorithm="fedsam", hyper={"rho": 0.0})[0]
    assert torch.equal(once.statistics, twice.statistics)
    assert not torch.equal(once.statistics, Trainer(once.config, data()).statistics)


@pytest.mark.parametrize("model", ["mlp", "cnn-fmnist"])
@pytest.mark.parametrize("backend", ["loop", "batched"])
def test_fedrobust_without_ascent_is_fedavg(model, backend):
    """With next to no ascent the shift stays the identity: dropout masks and running statistics are FedAvg's."""
    shared = {"model": model, "backend": backend, "sizes": "lognormal:0.6"}
    plain = train(2, **shared)[0]
    robust, others = train(2, algorithm="fedrobust", hyper={"ascent_lr": 1e-18}, **shared)
    assert (plain.w - robust.w).abs().max() <= 1e-9
    assert (plain.statistics is None) == (model == "mlp")
    if plain.statistics is not None:
        assert (plain.statistics - robust.statistics).abs().max() <= 1e-9
    assert [line["cost"]["gradients_per_step"] for line in others] == [1.0, 1.0]
    moved = train(2, algorithm="fedrobust", **shared)[0]
    assert not torch.allclose(moved.w, plain.w) and torch.isfinite(moved.w).all()


# ---- evaluation ---------------------------------------------------------------------------------------------------


def slow_predictions(trainer, w):
    """Class predictions and losses of every test image, one at a time."""
    model = networks.build(trainer.config.model, trainer.data.input_shape, 10, 0).double().eval()
    tensors, d = trainer.oracle.layout.views(w), trainer.data
    mean, std = (torch.tensor(values, dtype=torch.float64) for values in (d.mean, d.std))
    results = []
    for image, label in zip(d.test_x, d.test_y, strict=True):
        x = (image.double() / d.scale - mean) / std
        logits = functional_call(model, tensors, (x[None],))
        results.append((int(logits.argmax()), F.cross_entropy(logits, label[None]).item()))
    return results


def test_the_three_evaluated_models():
    trainer, metrics = train(2, evaluate=("server", "active", "all"), sizes="lognormal:0.6", hyper={"server_lr": 0.5})
    cohort = draw_cohort(0, 1, 5, 3, "fixed")
    expected = {"server": trainer.w, "active": trainer.last[cohort].mean(0), "all": trainer.last.mean(0)}
    assert not torch.allclose(expected["server"], expected["active"])
    labels = trainer.data.test_y.tolist()
    for name, w in expected.items():
        found = slow_predictions(trainer, w)
        hits = sum(prediction == label for (prediction, _), label in zip(found, labels, strict=True))
        assert metrics[1][name]["accuracy"] == pytest.approx(hits / len(labels), abs=1e-12), name
        assert metrics[1][name]["loss"] == pytest.approx(np.mean([loss for _, loss in found]), abs=1e-9), name


def test_clients_that_were_never_sampled_keep_the_first_model():
    trainer, _ = train(1, evaluate=("all",), cohort=1)
    start, visited = Trainer(trainer.config, data()).w, draw_cohort(0, 0, 5, 1, "fixed").item()
    for i in range(5):
        assert torch.equal(trainer.last[i], start) != (i == visited)


def test_spread_over_clients():
    """Mean over a client's own samples of the test accuracy of their class; then mean, deviation and minimum."""
    trainer, metrics = train(2, split="dirichlet:0.3", sizes="lognormal:0.6")
    labels = trainer.data.test_y.tolist()
    hits = {c: [] for c in range(10)}
    for (prediction, _), label in zip(slow_predictions(trainer, trainer.w), labels, strict=True):
        hits[label].append(prediction == label)
    own = []
    for indices in trainer.partition.indices:
        own.append(np.mean([np.mean(hits[int(trainer.data.train_y[i])]) for i in indices]))
    result = metrics[1]["server"]
    expected = {"client_mean": np.mean(own), "client_sd": np.std(own, ddof=1), "client_min": min(own)}
    for name, value in expected.items():  # the engine keeps accuracies per class in single precision
        assert result[name] == pytest.approx(value, abs=1e-6), name


def test_weighted_server_mean():
    """One round of FedAvg: the model is the mean of the local ones, by size where asked for."""
    for rule, power in (("uniform", 0), ("weighted", 1)):
        trainer, _ = train(1, evaluate=("all",), sizes="lognormal:0.6", server_mean=rule)
        cohort = draw_cohort(0, 0, 5, 3, "fixed").tolist()
        weights = torch.tensor([float(len(trainer.pools[i])) ** power for i in cohort], dtype=torch.float64)
        expected = weights @ trainer.last[cohort] / weights.sum()
        assert torch.allclose(trainer.w, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "globalfedsam"},
        {"algorithm": "fedavg", "variant": "released", "source": "fedman"},
        {"algorithm": "fedavg", "server_mean": "weighted"},
    ],
    ids=lambda o: "-".join(o.values()),
)
def test_means_of_clients_count_them_as_the_method_does(options):
    """With the default server rate the mean over the cohort is the server model itself."""
    trainer, _ = train(1, model="cnn-fmnist", evaluate=("server", "active", "all"), sizes="lognormal:0.6", **options)
    members = draw_cohort(0, 0, 5, 3, "fixed")
    active, sizes = trainer.last[members], trainer.sizes[members]
    trainer.completed = 0
    C = trainer.cohort(members, [1, 1, 1])
    assert torch.allclose(trainer._mean_of_active(C, active), trainer.w, rtol=0, atol=1e-12)
    assert not torch.allclose(active.mean(0), trainer.w, rtol=0, atol=1e-6)
    assert torch.allclose(sizes @ active / sizes.sum(), trainer.w, rtol=0, atol=1e-12)
    everyone = trainer.sizes @ trainer.last.dense() / trainer.sizes.sum()
    assert torch.allclose(trainer._mean_of_all(trainer.last), everyone, rtol=0, atol=1e-12)


def test_the_printed_server_of_mans_paper_is_evaluated_at_the_mean_by_size():
    """Its own mean is shorter than any local model (AVG-1), so that the server is no model to compare with."""
    trainer, _ = train(1, switches=("AVG-1",), evaluate=("all",), sizes="lognormal:0.6")
    members = draw_cohort(0, 0, 5, 3, "fixed")
    C, active, sizes = trainer.cohort(members, [1, 1, 1]), trainer.last[members], trainer.sizes[members]
    assert torch.allclose(trainer._mean_of_active(C, active), sizes @ active / sizes.sum(), rtol=0, atol=1e-12)
    assert torch.allclose(trainer.w, sizes @ active / trainer.sizes.sum() / 3, rtol=0, atol=1e-12)


def test_running_statistics_are_averaged_as_the_model_is(monkeypatch):
    seen = []
    monkeypatch.setattr(Trainer, "_mean_of_active", lambda self, C, rows: seen.append(rows.shape[1]) or rows.mean(0))
    trainer, _ = train(1, model="cnn-fmnist", algorithm="globalfedsam", evaluate=("active",))
    assert seen == [len(trainer.statistics), len(trainer.w)]


def test_evaluation_rounds_and_the_training_set():
    _, metrics = train(3, eval_every=2, eval_train=True)
    assert ["server" in m for m in metrics] == [False, True, True]
    assert 0 <= metrics[1]["train"]["accuracy"] <= 1
    trainer = Trainer(config(rounds=5, eval_every=10, eval_last=2), data())
    assert ["server" in trainer.play_round() for _ in range(5)] == [False, False, False, True, True]


def test_a_probe_changes_no_number():
    plain, watched = train(2, algorithm="fedlesam")[0], train(2, algorithm="fedlesam", probes=("perturbation",))
    assert torch.equal(plain.w, watched[0].w)
    assert watched[1][1]["cost"]["gradients_per_step"] == 1.0
    assert watched[1][1]["perturbation"]["norm"] is not None


# ---- state --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "fedsmoo", "evaluate": ("server", "all")},
        {"algorithm": "fedlesam-s"},
        {"algorithm": "fedlesam", "variant": "released", "probes": ("perturbation",)},
        {"algorithm": "fedadam"},
        {"algorithm": "feddc"},
        {"algorithm": "fedrobust", "model": "mlp-12"},
        {"algorithm": "mofedsam", "model": "cnn-fmnist"},
    ],
    ids=lambda o: o["algorithm"],
)
def test_restored_state_continues_bit_for_bit(options):
    undisturbed, expected = train(3, **options)
    first, _ = train(1, **options)
    saved = {name: value.clone() for name, value in first.tensors().items()}
    second = Trainer(first.config, data())
    second.restore(saved, 1)
    metrics = [second.play_round() for _ in range(2)]
    assert torch.equal(second.w, undisturbed.w)
    assert metrics[-1] == expected[-1]
    assert second.tensors().keys() == undisturbed.tensors().keys()
    assert all(torch.equal(value, undisturbed.tensors()[name]) for name, value in second.tensors().items())


# ---- the name of a run --------------------------------------------------------------------------------------------

RENAMED = "this changes numbers of stored runs: raise artifact.NUMBERS, then this snapshot"

#: artifact.NUMBERS, and the defaults of RunConfig that it stands for
SNAPSHOT = (
    1,
    {
        "variant": "paper",
        "source": None,
        "switches": (),
        "hyper": {},
        "dataset": "digits",
        "train_size": None,
        "test_size": None,
        "model": "mlp",
        "split": "iid",
        "sizes": "equal",
        "clients": 10,
        "cohort": 10,
        "cohort_rule": "fixed",
        "rounds": 10,
        "local_epochs": 1,
        "local_steps": None,
        "batch_size": 32,
        "lr": 0.1,
        "lr_decay": 1.0,
        "weight_decay": 0.0,
        "clip": None,
        "optimiser": "sgd",
        "momentum": 0.9,
        "server_mean": "uniform",
        "man_zeta": 0.0,
        "man_layers": "hidden",
        "augment": "none",
        "evaluate": ("server",),
        "eval_every": 1,
        "eval_train": False,
        "probes": (),
        "seed": 0,
        "dtype": "float32",
        "backend": "auto",
        "device": "auto",
    },
)


def test_defaults_are_those_of_the_snapshot():
    """A new option may join; a changed default renames nothing and so needs a higher NUMBERS."""
    defaults = {name: field.default for name, field in RunConfig.model_fields.items() if not field.is_required()}
    assert SNAPSHOT[0] == NUMBERS, RENAMED
    assert {name: defaults.get(name) for name in SNAPSHOT[1]} == SNAPSHOT[1], RENAMED


def test_golden_key():
    run = make(algorithm="fedsam", hyper={"rho": 0.05}, rounds=7, seed=3, device="cpu", backend="loop")
    assert run.key("data") == "9e8476da012a64a3", RENAMED
    assert run.key("data") == make(**run.model_dump()).key("data")
    assert run.key("other data") != run.key("data")


@pytest.mark.parametrize("change", [{"seed": 4}, {"lr": 0.2}, {"hyper": {"rho": 0.06}}, {"dtype": "float64"}])
def test_every_option_is_part_of_the_key(change):
    same = {"algorithm": "fedsam", "hyper": {"rho": 0.05}, "rounds": 7, "seed": 3, "device": "cpu", "backend": "loop"}
    assert make(**(same | change)).key("data") != make(**same).key("data")
    assert make(**(same | {"algorithm": "Local FedSAM"})).key("data") == make(**same).key("data")
