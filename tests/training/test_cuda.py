"""On a GPU: the same numbers as on the CPU, the same bits twice, graphs equal to what they record, no waiting."""

import functools

import pytest
import torch

from artifact.accelerate.choose import BACKENDS
from artifact.accelerate.sgd_step import sgd_step
from artifact.runs.session import load_data
from artifact.training.config import make
from artifact.training.trainer import Trainer, draw_cohort

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")

#: oneDNN is a library for CPUs; the backend is `explicit` here
ON_GPU = [backend for backend in BACKENDS if backend != "onednn"]
#: a network with running statistics for all, and one that can be stacked
KINDS = [*((backend, "cnn-fmnist") for backend in ON_GPU), ("stacked", "resnet18-gn"), ("kernels", "resnet18-gn")]
SMALL = {
    "dataset": "digits",
    "train_size": 90,
    "test_size": 60,
    "clients": 5,
    "cohort": 3,
    "rounds": 3,
    "batch_size": 8,
}


@functools.lru_cache
def data():
    return load_data(make(algorithm="fedavg", **SMALL))


def trained(rounds=2, **options):
    run = make(**(SMALL | {"algorithm": "fedsam", "model": "cnn-fmnist", "device": "cuda"} | options))
    trainer = Trainer(run, data())
    for _ in range(rounds):
        trainer.play_round()
    return trainer


@pytest.mark.parametrize("backend", ON_GPU)
@pytest.mark.parametrize("model", ["mlp-12", "cnn-fmnist", "resnet18-gn"])
def test_float64_gives_the_numbers_of_the_cpu(backend, model):
    options = {"model": model, "dtype": "float64", "sizes": "lognormal:0.6", "algorithm": "fedsmoo", "clip": 1.0}
    ours, theirs = trained(backend=backend, **options), trained(backend="loop", device="cpu", **options)
    assert (ours.w.cpu() - theirs.w).abs().max() <= 1e-9


@pytest.mark.parametrize(("backend", "model"), KINDS)
@pytest.mark.parametrize("dtype", ["float32", "tf32", "bfloat16"])
def test_same_bits_twice_and_from_a_graph(backend, model, dtype):
    """Equal pools: the shapes of all rounds are one recording."""
    first, second, recorded = (
        trained(backend=backend, model=model, dtype=dtype, cuda_graphs=graphs).w for graphs in (False, False, True)
    )
    assert torch.equal(first, second)
    assert torch.equal(first, recorded)


@pytest.mark.parametrize(("backend", "model"), KINDS)
def test_a_round_never_waits_for_the_device(backend, model):
    trainer = trained(backend=backend, model=model, cuda_graphs=True, split="dirichlet:0.3", augment="flip-crop")
    t, run = trainer.completed, trainer.config
    clients = draw_cohort(run.seed, t, run.clients, run.cohort, run.cohort_rule)
    steps = trainer.local_steps([trainer.pools[i] for i in clients.tolist()])
    C = trainer.cohort(clients, steps)
    local = None if trainer.statistics is None else trainer.statistics.repeat(len(steps), 1)
    trainer.train(C, steps, local, None)  # records the shapes of this round: a capture does wait
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        trainer.train(C, steps, local, None)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("backend", ["stacked", "kernels", "batched"])
@pytest.mark.parametrize("options", [{"algorithm": "fedsmoo"}, {"algorithm": "feddc", "optimiser": "momentum"}])
def test_recorded_steps_give_the_numbers_of_the_cpu(backend, options):
    """Equal pools, so that whole steps are replayed; most weights of this network meet none of 8 x 8 pixels."""
    options |= {"model": "resnet18-gn", "dtype": "float64", "clip": 1.0, "weight_decay": 0.01, "lr_decay": 0.9}
    ours = trained(backend=backend, cuda_graphs=True, **options)
    theirs = trained(backend="loop", device="cpu", **options)
    assert ours.oracle.recorded.recordings and (ours.oracle.live is None) == (backend == "batched")
    assert (ours.w.cpu() - theirs.w).abs().max() <= 1e-9


def test_a_step_in_place_has_the_bits_of_one_that_is_not():
    g = torch.Generator().manual_seed(0)
    W, d = (torch.randn(3, 5000, generator=g).cuda() for _ in range(2))
    expected = sgd_step(W, d, 0.1, 0.3)
    assert torch.equal(sgd_step(W, d, 0.1, torch.tensor(0.3, device="cuda"), W), expected)


def test_float32_is_float32_and_tf32_is_not():
    exact = trained(1, dtype="float64", backend="loop").w.float()
    single, rounded = (trained(1, dtype=dtype, backend="loop").w for dtype in ("float32", "tf32"))
    assert (single - exact).norm() <= 1e-4 * exact.norm()
    assert not torch.equal(single, rounded)
