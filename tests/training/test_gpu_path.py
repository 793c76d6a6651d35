"""What a GPU will run, exercised without one.

Tensors of torch's ``meta`` device have shapes and no numbers: whatever would read a number back to the host raises, and
so does an operation on tensors of two devices. A round that can be played on it never makes the host wait for a GPU.
"""

import contextlib
import gc
import weakref
from types import SimpleNamespace

import pytest
import torch
from switched import SWITCHED
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from artifact.accelerate.choose import BACKENDS
from artifact.accelerate.cuda_graphs import MOST, WARM_UP, Graphs
from artifact.algorithms import ALGORITHMS, cohort
from artifact.base import devices
from artifact.base.errors import UserError
from artifact.models.networks import Chain
from artifact.runs.session import load_data
from artifact.training import batches, rounds
from artifact.training import trainer as training
from artifact.training.config import RunConfig, make
from artifact.training.trainer import Trainer, draw_cohort

META = torch.device("meta")


class Crossings(TorchDispatchMode):
    """Counts the operations that read tensors of the host and give one on the device, outside ``sent``."""

    def __init__(self):
        super().__init__()
        self.found, self.allowed = [], 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        given = {t.device.type for t in tree_leaves((args, kwargs)) if torch.is_tensor(t) and t.dim() > 0}
        made = {t.device.type for t in tree_leaves(out) if torch.is_tensor(t)}
        if "cpu" in given and "meta" in made | given and not self.allowed:
            self.found.append(str(function))
        return out


@pytest.fixture
def on_meta(monkeypatch):
    """Runs train on the meta device; the crossings that they make."""
    watch = Crossings()

    def sent(tensor, device):
        watch.allowed += 1
        try:
            return tensor.to(device)
        finally:
            watch.allowed -= 1

    monkeypatch.setattr(RunConfig, "resolved_device", property(lambda _: META))
    for module in (batches, cohort, training, rounds, devices):
        monkeypatch.setattr(module, "sent", sent)
    return watch


class Shrinking(Trainer):
    """A trainer of a network most of whose weights meet no pixel: one of eight pixels a side is left."""

    def network(self):
        layers = {"conv1": nn.Conv2d(1, 3, 3, 2, 1), "relu1": nn.ReLU(), "pool": nn.AvgPool2d(4)}
        layers |= {"conv2": nn.Conv2d(3, 4, 3, 1, 1), "flatten": nn.Flatten(), "fc": nn.Linear(4, 10)}
        model = Chain(layers)
        model.name, model.input_shape, model.classes = "shrinking", (1, 8, 8), 10
        return model


def play(watch, kind=Trainer, graphs=False, **options):
    """The training part of two rounds of which the second has visited clients."""
    small = {"algorithm": "fedavg", "dataset": "digits", "train_size": 90, "test_size": 60, "clients": 5, "cohort": 3}
    small |= {"rounds": 3, "batch_size": 8, "model": "mlp-12", "backend": "batched", "clip": 1.0, "weight_decay": 0.01}
    run = make(**(small | options))
    trainer = kind(run, load_data(run))
    trainer.oracle.cuda_graphs = graphs
    trainer.images(torch.zeros(1, 1, dtype=torch.int64, device=META))  # sends the constants of the normalisation
    for t in range(2):
        clients = draw_cohort(run.seed, t, run.clients, run.cohort, run.cohort_rule)
        steps = trainer.local_steps([trainer.pools[i] for i in clients.tolist()])
        C = trainer.cohort(clients, steps)
        local = None if trainer.statistics is None else trainer.statistics.repeat(len(steps), 1)
        with watch:
            w, W = trainer.train(C, steps, local, None)
        trainer.w, trainer.completed = w, t + 1
        assert w.device == W.device == META and W.shape == (3, len(w))
    return trainer


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_method_makes_the_host_wait(name, on_meta):
    """Unequal numbers of local steps and a short last batch, so that rows are selected and merged too."""
    play(on_meta, algorithm=name, split="dirichlet:0.3", augment="flip-crop")
    assert on_meta.found == []


@pytest.mark.parametrize(("name", "id"), SWITCHED)
def test_no_discrepancy_makes_the_host_wait(name, id, on_meta):
    """With the formulas, whose few operations the watch looks through quickly."""
    play(on_meta, algorithm=name, switches=(id,), split="dirichlet:0.3", backend="explicit")
    assert on_meta.found == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("model", "zeta"), [("mlp-12", 0.1), ("cnn-fmnist", 0.1), ("cnn-emnist", 0.0)])
def test_no_backend_makes_the_host_wait(backend, model, zeta, on_meta):
    trainer = play(on_meta, backend=backend, model=model, sizes="lognormal:0.6", algorithm="fedsam", man_zeta=zeta)
    assert on_meta.found == []
    assert trainer.oracle.backend in (backend, "batched")


@pytest.mark.parametrize("zeta", [0.0, 0.1])
@pytest.mark.parametrize("backend", ["stacked", "kernels"])
def test_no_stacked_network_makes_the_host_wait(backend, zeta, on_meta):
    options = {"model": "convnet-tiny", "sizes": "lognormal:0.6", "algorithm": "fedsam", "man_zeta": zeta}
    trainer = play(on_meta, backend=backend, **options)
    assert on_meta.found == [] and trainer.oracle.backend == backend


@pytest.mark.parametrize(("name", "id"), [*((name, None) for name in ALGORITHMS), *SWITCHED])
def test_no_recorded_step_on_live_weights_makes_the_host_wait(name, id, on_meta):
    """The whole fast path: coordinates of the weights without a pixel, steps in place, and back to whole weights."""
    switches = () if id is None else (id,)
    options = {"kind": Shrinking, "graphs": True, "backend": "stacked", "local_epochs": 1}
    trainer = play(on_meta, algorithm=name, switches=switches, **options)
    assert on_meta.found == [] and trainer.oracle.live is not None
    recorded = trainer.oracle.recorded
    assert bool(recorded.recordings) == trainer.algorithm.linear_without_gradient


def test_the_watch_sees_a_crossing_and_a_number_read_back(on_meta):
    """What the tests above would catch."""
    with on_meta:
        torch.zeros(3).to(META)
    assert on_meta.found == ["aten._to_copy.default"]
    with pytest.raises(RuntimeError), on_meta:
        torch.zeros(3, device=META).sum().item()


# ---- recordings ------------------------------------------------------------------------------------------------------


def test_a_recording_is_made_once_per_shape_and_its_results_are_the_callers_own():
    calls = []

    def function(x, y):
        calls.append(x.shape)
        x += 1  # in place, as running statistics move
        return x * 2, x, y

    graphs, first, second = Graphs(function), torch.arange(3.0), torch.full((3,), 5.0)
    a = graphs(first, None)
    b = graphs(second, None)
    assert [t.tolist() for t in a[:2]] == [[2, 4, 6], [1, 2, 3]] and a[2] is None
    assert [t.tolist() for t in b[:2]] == [[12, 12, 12], [6, 6, 6]]
    assert first.tolist() == [0, 1, 2] and second.tolist() == [5, 5, 5]
    assert len(graphs.recordings) == 1
    graphs(torch.zeros(2), None)
    graphs(torch.zeros(2), torch.zeros(1))
    assert len(graphs.recordings) == 3


def test_shapes_beyond_the_last_recording_are_computed_as_they_are():
    graphs = Graphs(lambda x: (x.cumsum(0),))
    for n in range(1, MOST + 4):
        assert graphs(torch.ones(n))[0].tolist() == list(range(1, n + 1))
    assert len(graphs.recordings) == MOST


@pytest.mark.parametrize("backend", BACKENDS)
def test_recorded_batches_of_several_lengths(backend):
    """Unequal pools: every batch length is its own recording, and the run has the bits of the backend itself."""
    options = {"algorithm": "fedsam", "dataset": "digits", "train_size": 90, "test_size": 60, "clients": 5, "cohort": 3}
    options |= {"rounds": 2, "batch_size": 8, "model": "cnn-fmnist", "split": "dirichlet:0.3", "device": "cpu"}
    found = []
    for graphs in (False, True):
        run = make(**options, backend=backend)
        trainer = Trainer(run, load_data(run))
        trainer.oracle.cuda_graphs = graphs
        lines = [trainer.play_round() for _ in range(2)]
        found.append((trainer.tensors(), lines))
    (plain, lines), (recorded, others) = found
    assert lines == others
    assert all(torch.equal(value, recorded[name]) for name, value in plain.items())


class FakeCuda:
    """Stands in for torch.cuda: writes down what is asked for, in order. A captured graph computes when it replays."""

    def __init__(self):
        self.log, self.current, self.made = [], "main", 0

    def Stream(self, _device=None):
        self.made += 1
        return FakeStream(self, f"side {self.made}")

    def current_stream(self, _device=None):
        return FakeStream(self, self.current)

    @contextlib.contextmanager
    def stream(self, stream):
        before, self.current = self.current, stream.name
        yield
        self.current = before

    @contextlib.contextmanager
    def graph(self, graph, pool):
        self.log.append(f"capture {pool}")
        yield
        self.log.append("captured")

    def CUDAGraph(self):
        return SimpleNamespace(pool=lambda: "pool", replay=lambda: self.log.append("replay"))


class FakeStream:
    def __init__(self, cuda, name):
        self.cuda, self.name = cuda, name

    def wait_stream(self, other):
        self.cuda.log.append(f"{self.name} waits for {other.name}")


@pytest.fixture
def cuda(monkeypatch):
    fake = FakeCuda()
    for name in ("Stream", "current_stream", "stream", "graph", "CUDAGraph"):
        monkeypatch.setattr(torch.cuda, name, getattr(fake, name))
    devices._streams.cache_clear()
    yield fake
    devices._streams.cache_clear()


def test_queues_start_after_what_came_before_and_are_waited_for(cuda, monkeypatch):
    monkeypatch.setattr(devices, "STREAMS", 2)
    devices.side_by_side(lambda i: cuda.log.append(f"{i} on {cuda.current}"), range(3), torch.device("cuda"))
    assert cuda.log == [
        *("side 1 waits for main", "side 2 waits for main"),
        *("0 on side 1", "1 on side 2", "2 on side 1"),
        *("main waits for side 1", "main waits for side 2"),
    ]


def test_a_capture_is_warmed_up_aside_and_shares_its_memory(cuda):
    def function(x):
        cuda.log.append(f"call on {cuda.current}")
        return (x + 1,)

    graphs = Graphs(function)
    first = graphs._captured((torch.zeros(2),))
    warm_up = ["side 1 waits for main", *["call on side 1"] * WARM_UP, "main waits for side 1"]
    assert cuda.log == [*warm_up, "capture None", "call on main", "captured"]
    assert first(torch.full((2,), 7.0))[0].tolist() == [1, 1]  # the fake replay computes nothing
    assert first.inputs[0].tolist() == [7, 7] and cuda.log[-1] == "replay"
    graphs._captured((torch.zeros(3),))
    assert "capture pool" in cuda.log


class Run:
    """Holds itself, as a trainer and its method hold one another: only the collector frees it."""

    def __init__(self):
        self.itself = self


def test_what_an_earlier_run_recorded_is_freed_before_a_capture(cuda):
    """CUDA ends a capture during which a graph is freed, and the collector may run at any time."""
    run = Run()
    weakref.finalize(run, cuda.log.append, "freed")
    gc.disable()  # what is collected here is collected on purpose
    try:
        del run
        assert "freed" not in cuda.log
        Graphs(lambda x: (x + 1,))._captured((torch.zeros(2),))
    finally:
        gc.enable()
    assert cuda.log.index("freed") < cuda.log.index("capture None")


def test_graphs_are_refused_where_there_is_no_cuda_device():
    with pytest.raises(UserError) as caught:
        make(algorithm="fedavg", device="cpu", cuda_graphs=True)
    assert str(caught.value).count("\n") == 0 and caught.value.field == "cuda_graphs"


# ---- precision -------------------------------------------------------------------------------------------------------


def test_tf32_is_refused_where_there_is_none():
    with pytest.raises(UserError, match="tf32 is a precision of CUDA devices"):
        make(algorithm="fedavg", dtype="tf32", device="cpu")


@pytest.mark.parametrize(("dtype", "precision"), [("float32", "ieee"), ("bfloat16", "ieee"), ("tf32", "tf32")])
def test_float32_on_a_gpu_means_float32(dtype, precision, monkeypatch):
    """torch alone lets cuDNN round the inputs of float32 convolutions to ten bits."""
    before = (torch.backends.cuda.matmul.fp32_precision, torch.backends.cudnn.conv.fp32_precision)
    filled = torch.utils.deterministic.fill_uninitialized_memory
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    try:
        devices.prepare(torch.device("cuda"), dtype)
        assert torch.backends.cuda.matmul.fp32_precision == precision
        assert torch.backends.cudnn.conv.fp32_precision == precision
        assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.backends.cuda.matmul.fp32_precision, torch.backends.cudnn.conv.fp32_precision = before
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = filled
