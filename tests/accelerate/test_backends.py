"""Several ways to the same gradients, against each other and finite differences; client state that is kept sparsely."""

import itertools
import tomllib

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.func import functional_call

from artifact.accelerate.choose import BACKENDS, PROCESSOR_VARIABLE, _measured, default_backend
from artifact.accelerate.cpu.cropped_convolutions import entries_that_meet_pixels
from artifact.accelerate.cpu.fully_connected import Perceptron, onednn_linear
from artifact.accelerate.cpu.pooling import PooledReLU
from artifact.algorithms import ALGORITHMS
from artifact.algorithms.client_rows import ClientRows, pack, unpack
from artifact.algorithms.cohort import Context, LocalOptimiser
from artifact.base.flat import parameters
from artifact.bench.command import merge
from artifact.models import networks
from artifact.models.activations import hidden_layers
from artifact.models.networks import Dropout
from artifact.runs.session import load_data
from artifact.training.config import make
from artifact.training.gradients import Group, Oracle, Penalty
from artifact.training.trainer import Trainer
from artifact.training.worker_model import WorkerModel

R, B = 3, 5


def problem(name, seed=0, shape=(1, 8, 8), dtype=torch.float64):
    """A model, R flat vectors around its initial weights, and a batch for each."""
    model = networks.build(name, shape, 4, seed).to(dtype).train()
    generator = torch.Generator().manual_seed(seed + 1)
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    W = flat + 0.1 * torch.randn(R, len(flat), generator=generator, dtype=dtype)
    x = torch.randn(R, B, *shape, generator=generator, dtype=dtype)
    y = torch.randint(0, 4, (R, B), generator=generator)
    u = torch.rand(R, B, model.dropout_units, generator=generator, dtype=dtype) if model.dropout_units else None
    return model, W, Group(None, x, y, u)


class Deep(networks.Chain):
    """Two hidden layers with dropout on both sides of a ReLU."""

    def __init__(self):
        layers = {"flatten": torch.nn.Flatten(), "a": torch.nn.Linear(64, 7), "d1": Dropout(0.3, 7)}
        layers |= {"relu_a": torch.nn.ReLU(), "b": torch.nn.Linear(7, 6), "relu_b": torch.nn.ReLU()}
        super().__init__(layers | {"d2": Dropout(0.5, 6), "c": torch.nn.Linear(6, 4)})


# ---- hand-written gradients -----------------------------------------------------------------------------------------

PENALTIES = [Penalty(), Penalty(0.3), Penalty(0.3, ("relu_fc1", "fc2"))]


@pytest.mark.parametrize("penalty", PENALTIES, ids=["none", "hidden", "with-logits"])
@pytest.mark.parametrize("name", ["mlp", "mlp-1", "mlp-20"])
def test_explicit_gradients_are_those_of_autograd(name, penalty):
    model, W, group = problem(name)
    loop, explicit = (Oracle(model, penalty, backend) for backend in ("loop", "explicit"))
    expected, found = loop.gradients(W, None, group), explicit.gradients(W, None, group)
    assert explicit.backend == "explicit"
    assert expected.abs().max() > 1e-3
    assert (expected - found).abs().max() <= 1e-12
    assert loop.passes == explicit.passes == R


def test_two_hidden_layers():
    model = Deep().double().train()
    generator = torch.Generator().manual_seed(3)
    W = torch.randn(R, sum(p.numel() for p in model.parameters()), generator=generator, dtype=torch.float64)
    x, u = torch.randn(R, B, 64, generator=generator).double(), torch.rand(R, B, 13, generator=generator).double()
    group = Group(None, x, torch.randint(0, 4, (R, B), generator=generator), u)
    loop, explicit = (Oracle(model, Penalty(0.2), b).gradients(W, None, group) for b in ("loop", "explicit"))
    assert (loop - explicit).abs().max() <= 1e-11 * loop.abs().max()


def test_explicit_gradients_are_finite_differences_of_the_loss():
    """Central differences, error O(h^2), of the loss as the model itself computes it."""
    model, W, group = problem("mlp")
    oracle, h = Oracle(model, Penalty(0.3), "explicit"), 1e-6
    gradient = oracle.gradients(W, None, group)

    def loss(i, w):
        tensors, layer = oracle.layout.views(w), {}
        handle = model.relu_fc1.register_forward_hook(lambda *given: layer.update(a=given[-1]))
        logits = functional_call(model, tensors, (group.x[i], group.uniforms[i]))
        handle.remove()
        return F.cross_entropy(logits, group.y[i]) + 0.3 * layer["a"].square().mean()

    generator = torch.Generator().manual_seed(5)
    for i in range(R):
        v = torch.randn(W.shape[1], generator=generator, dtype=torch.float64)
        slope = (loss(i, W[i] + h * v) - loss(i, W[i] - h * v)) / (2 * h)
        assert slope.item() == pytest.approx((gradient[i] @ v).item(), rel=1e-6, abs=1e-8)


def large(seed=0, members=R):
    """A problem in float32 whose first layer is large enough for oneDNN."""
    model, generator = networks.build("mlp-96", (1, 28, 28), 10, seed), torch.Generator().manual_seed(seed)
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    W = flat + 0.01 * torch.randn(members, len(flat), generator=generator)
    x = torch.randn(members, 50, 1, 28, 28, generator=generator)
    return model, W, Group(None, x, torch.randint(0, 10, (members, 50), generator=generator))


@pytest.mark.skipif(onednn_linear() is None, reason="this torch has no oneDNN")
def test_onednn_gives_the_same_gradients_to_rounding(monkeypatch):
    """Its error against float64 is no larger than MKL's, up to a factor of two; and it is really called."""
    model, W, group = large()
    calls, operator = [], onednn_linear()
    monkeypatch.setattr(
        "artifact.accelerate.cpu.fully_connected.onednn_linear",
        lambda: lambda *given: calls.append(1) or operator(*given),
    )
    explicit, onednn = (Oracle(model, backend=b).gradients(W, None, group) for b in ("explicit", "onednn"))
    assert len(calls) == 2 * R  # first layer, forward and backward; the second layer is small
    exact = Oracle(model.double(), backend="loop").gradients(W.double(), None, Group(None, group.x.double(), group.y))
    error, other = ((g - exact).norm() / exact.norm() for g in (onednn, explicit))
    assert error <= 2 * other <= 1e-5


@pytest.fixture
def one_thread():
    """As in the workers of the engine: with two threads the small products depend on how many there are."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.skipif(onednn_linear() is None, reason="this torch has no oneDNN")
def test_a_client_has_the_same_bits_alone_with_onednn(one_thread):
    model, W, group = large(members=4)
    oracle = Oracle(model, backend="onednn")
    together = oracle.gradients(W, None, group)
    for i in range(4):
        alone = oracle.gradients(W[i : i + 1], None, Group(None, group.x[i : i + 1], group.y[i : i + 1]))
        assert torch.equal(alone[0], together[i])


@pytest.mark.parametrize("case", ["float64", "small", "missing"])
def test_onednn_is_explicit_where_it_does_not_apply(case, monkeypatch):
    model, W, group = large()
    if case == "float64":
        model, W, group = model.double(), W.double(), Group(None, group.x.double(), group.y)
    if case == "small":
        group = Group(None, group.x[:, :4], group.y[:, :4])
    if case == "missing":
        monkeypatch.setattr("artifact.accelerate.cpu.fully_connected.onednn_linear", lambda: None)
    explicit, onednn = (Oracle(model, backend=b).gradients(W, None, group) for b in ("explicit", "onednn"))
    assert torch.equal(explicit, onednn)


@pytest.mark.parametrize("name", ["cnn-fmnist", "convnet-tiny"])
def test_other_models_fall_back_on_the_batched_backend(name):
    model = networks.build(name, (1, 8, 8), 4, 0)
    assert all(Oracle(model, backend=backend).backend == "batched" for backend in ("explicit", "onednn"))
    assert Perceptron.of(model, Oracle(model).layout, (), 0.0) is None


@pytest.mark.parametrize(
    ("name", "size", "products"),
    [("resnet18-gn", 32, 16), ("resnet18-cifar", 16, 12), ("convnet-tiny", 8, 2), ("lenet", 32, 0)],
)
def test_stacked_networks_have_the_gradients_of_the_loop(name, size, products):
    """With convolutions of strided or small images as products of matrices, and with all of them in groups."""
    model, W, group = problem(name, shape=(3, size, size))
    stacked = Oracle(model, backend="stacked")
    assert stacked.backend == "stacked" and len(stacked._formula.by_products) == products
    expected, found = (oracle.gradients(W, None, group) for oracle in (Oracle(model, backend="loop"), stacked))
    assert (found - expected).abs().max() <= 1e-12 * expected.abs().max()
    stacked._formula.by_products.clear()
    assert (stacked.gradients(W, None, group) - expected).abs().max() <= 1e-12 * expected.abs().max()


def test_stacked_networks_in_bfloat16_are_no_further_from_float64_than_the_loop():
    model, W, group = problem("resnet18-gn", shape=(3, 32, 32))
    expected, single = Oracle(model, backend="loop").gradients(W, None, group), model.float()
    group = Group(None, group.x.float(), group.y, group.uniforms)
    loop, stacked = (
        (Oracle(single, backend=backend, bfloat16=True).gradients(W.float(), None, group) - expected).norm()
        for backend in ("loop", "stacked")
    )
    assert 0 < stacked <= 1.5 * loop


STACKED = [
    ("convnet-tiny", 8, Penalty()),
    ("convnet-tiny", 8, Penalty(0.3)),
    ("convnet-tiny", 8, Penalty(0.3, ("relu1", "fc1", "relu_fc2"))),
    ("lenet", 16, Penalty(0.3)),
    ("cnn-cifar", 16, Penalty()),
    ("resnet18-gn", 32, Penalty(0.3, ("relu1", "layer1.0.relu1", "layer4.1.relu2", "fc"))),
]


@pytest.mark.parametrize("backend", ["stacked", "kernels"])
@pytest.mark.parametrize(("name", "size", "penalty"), STACKED)
def test_stacked_networks_know_biases_and_mans_penalty(name, size, penalty, backend):
    """Every convolution as a product in ``kernels``, strided and small ones in ``stacked``, the others in groups."""
    model, W, group = problem(name, shape=(3, size, size))
    loop, ours = Oracle(model, penalty, "loop"), Oracle(model, penalty, backend)
    assert ours.backend == backend
    expected = loop.gradients(W, None, group)
    assert (ours.gradients(W, None, group) - expected).abs().max() <= 1e-12 * expected.abs().max()


@pytest.mark.parametrize("backend", ["stacked", "kernels"])
@pytest.mark.parametrize(
    ("name", "penalty"),
    [("resnet18", Penalty()), ("cnn-emnist", Penalty()), ("convnet-tiny", Penalty(0.1, None, ("relu_fc2",)))],
    ids=["running statistics", "dropout", "variances"],
)
def test_what_cannot_be_stacked_is_batched(name, penalty, backend):
    assert Oracle(networks.build(name, (3, 32, 32), 4, 0), penalty, backend).backend == "batched"


def test_bfloat16_is_left_to_autocast():
    assert Oracle(networks.build("mlp", (1, 8, 8), 4, 0), backend="explicit", bfloat16=True).backend == "batched"


def test_batch_norm_in_bfloat16_for_many_clients_at_once():
    """Its inputs have eight bits and its statistics 24; the gradients stay as close to float64 as the loop's."""
    model, W, group = problem("cnn-fmnist", shape=(1, 16, 16))
    double = Oracle(model, backend="loop")
    running = double.buffer_layout.flatten(dict(model.named_buffers())).repeat(R, 1)
    expected, single = double.gradients(W, running.clone(), group), model.float()
    group = Group(None, group.x.float(), group.y, group.uniforms)
    errors = []
    for backend in ("loop", "batched"):
        oracle, moved = Oracle(single, backend=backend, bfloat16=True), running.float()
        found = oracle.gradients(W.float(), moved, group)
        assert not torch.equal(moved, running.float())
        errors.append(((found - expected).norm() / expected.norm()).item())
    assert 0 < errors[1] <= 1.5 * errors[0]


# ---- the loop's own copy of a model ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "shape"), [("lenet", (3, 32, 32)), ("cnn-fmnist", (1, 28, 28)), ("mlp", (1, 8, 8))])
@pytest.mark.parametrize("bfloat16", [False, True])
def test_loop_gives_the_bits_of_functional_call(name, shape, bfloat16):
    """Pointed parameters and pooling before ReLU change no bit, in no precision."""
    model, W, group = problem(name, shape=shape, dtype=torch.float32)
    oracle = Oracle(model, backend="loop", bfloat16=bfloat16)
    statistics = [oracle.buffer_layout.flatten(dict(model.named_buffers())) for _ in range(R)] if "fm" in name else None
    running = torch.stack(statistics) if statistics else None
    found = oracle.gradients(W, running, group)
    for i in range(R):
        w = W[i].clone().requires_grad_()
        tensors = oracle.layout.views(w)
        own = None if statistics is None else oracle.buffer_layout.views(statistics[i].clone())
        x = group.x[i].contiguous(memory_format=torch.channels_last) if shape[0] > 1 else group.x[i]
        x = x if shape[0] > 1 else x.as_strided(x.shape, (shape[1] * shape[2], 1, shape[2], 1))
        inputs = (x,) if group.uniforms is None else (x, group.uniforms[i])
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            loss = F.cross_entropy(functional_call(model, tensors | (own or {}), inputs).float(), group.y[i])
        assert torch.equal(torch.autograd.grad(loss, w)[0], found[i])
        if own is not None:
            assert torch.equal(oracle.buffer_layout.flatten(own), running[i])


def test_a_workers_copy_leaves_the_model_alone_and_joins_only_max_pooling_and_relu():
    model, W, _ = problem("lenet", shape=(3, 32, 32), dtype=torch.float32)
    before, oracle = {n: p.clone() for n, p in parameters(model).items()}, Oracle(model)
    own = WorkerModel(model, oracle.layout, oracle.buffer_layout, watched=False)
    own.set(W[1], None)
    assert all(torch.equal(p, before[n]) for n, p in parameters(model).items())
    order = [n for n, _ in own.module.named_children()]
    assert order == [n for n, _ in model.named_children() if n not in ("relu1", "relu2")]
    assert [n for n, m in own.module.named_children() if isinstance(m, PooledReLU)] == ["pool1", "pool2"]
    assert torch.equal(torch.cat([p.flatten() for p in own.module.parameters()]), W[1])
    assert [n for n, _ in own.module.named_parameters()] == list(parameters(model))
    watched = WorkerModel(model, oracle.layout, oracle.buffer_layout, watched=True)
    assert hidden_layers(watched.module) == hidden_layers(model)


# ---- teams ----------------------------------------------------------------------------------------------------------


def trained(threads, rounds=2, **options):
    values = {"dataset": "digits", "train_size": 90, "test_size": 60, "clients": 7, "cohort": 5, "batch_size": 8}
    values |= {"split": "dirichlet:0.3", "model": "mlp-12", "dtype": "float64", "clip": 5.0, "weight_decay": 0.01}
    run = make(rounds=rounds, **(values | options))
    trainer = Trainer(run, load_data(run))
    trainer.oracle = Oracle(trainer.model, trainer._penalty(), run.resolved_backend, threads=threads)
    metrics = [trainer.play_round() for _ in range(rounds)]
    return trainer, metrics


@pytest.mark.parametrize("name", ALGORITHMS)
def test_clients_apart_give_what_the_whole_cohort_gives(name):
    """Every method, unequal numbers of local steps: one client per task, and all in one."""
    (together, lines), (apart, others) = (trained(n, algorithm=name, backend="loop") for n in (0, 3))
    assert apart.oracle.teams(5) == [[0], [1], [2], [3], [4]]
    assert together.oracle.teams(5) == [[0, 1, 2, 3, 4]]
    difference = (together.w - apart.w).abs().max()
    assert difference == 0 if name != "fedrobust" else difference <= 1e-12
    assert lines == others or name == "fedrobust"
    ours, theirs = together.tensors(), apart.tensors()
    assert ours.keys() == theirs.keys()
    assert all((value - theirs[key]).abs().max() <= 1e-12 for key, value in ours.items() if value.is_floating_point())


def test_fedrobust_counts_its_gradients_under_the_lock():
    """The workers count at the same time and the number goes into the metrics; ``+=`` alone may lose one of two."""
    model, W, group = problem("mlp-3")
    oracle, counted = Oracle(model), []

    class Lock:
        def __enter__(self):
            counted.append(oracle.passes)

        def __exit__(self, *_):
            counted.append(oracle.passes)

    oracle._counting = Lock()
    oracle.affine(W, torch.ones(R, 1, 1, dtype=W.dtype), torch.zeros(R, 1, dtype=W.dtype), None, group)
    assert counted == [0, R]


@pytest.mark.parametrize("backend", ["loop", "explicit"])
def test_a_worker_may_begin_while_the_model_is_in_use(backend):
    """As ``functional_call`` swaps the model's tensors in one thread, another one makes its copy."""
    model, W, group = problem("mlp-5")
    oracle, w = Oracle(model, backend=backend, threads=2), W[0].clone().requires_grad_()
    expected, found = Oracle(model, backend=backend).gradients(W, None, group), []
    model.register_forward_hook(lambda *_: found.extend(oracle.map(lambda _: oracle.gradients(W, None, group), [0])))
    loss = functional_call(model, oracle.layout.views(w * 1), (group.x[0],)).sum()
    (gradient,) = torch.autograd.grad(loss, w)
    assert torch.equal(found[0], expected) and gradient.any()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_shares_of_a_batched_cohort(threads):
    teams = Oracle(networks.build("mlp-3", (1, 8, 8), 4, 0), backend="explicit", threads=threads).teams(5)
    assert list(itertools.chain(*teams)) == [0, 1, 2, 3, 4]
    assert len(teams) <= threads and max(map(len, teams)) - min(map(len, teams)) <= -(-5 // threads)
    whole, parts = (trained(n, algorithm="fedsmoo", backend="explicit")[0] for n in (0, threads))
    assert (whole.w - parts.w).abs().max() <= 1e-12


@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
def test_local_optimiser_buffers_belong_to_their_client(optimiser):
    one, other = (trained(n, algorithm="fedsam", backend="loop", optimiser=optimiser)[0] for n in (0, 2))
    assert torch.equal(one.w, other.w)


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam"])
def test_a_step_leaves_its_inputs_and_the_direction_alone(decay, optimiser):
    """w - lr * u(d + decay * w); neither w, d nor what the optimiser keeps is written to."""
    generator = torch.Generator().manual_seed(0)
    W, d = (torch.randn(2, 3, generator=generator) for _ in range(2))
    c = Context(W[0], 0.1, weight_decay=decay, optimiser=LocalOptimiser(optimiser))
    before, direction = W.clone(), d.clone()
    moved = c.descend(W, d)
    total = d + decay * W
    expected = total if optimiser != "adam" else total / (total.abs() + 1e-8)
    assert torch.allclose(moved, W - 0.1 * expected, atol=1e-6)
    assert torch.equal(W, before) and torch.equal(d, direction) and torch.equal(c.applied, direction)
    if optimiser == "momentum":
        assert torch.allclose(c.buffer, total)


def test_settled_entries():
    """What teams have rebound, also to new names, comes back in the order of the cohort; shared entries stay."""
    w = torch.zeros(2)
    c = Context(w, 0.1, mu=torch.arange(6.0).view(3, 2), s=torch.ones(2))
    untouched, rows = c.mu, (slice(0, 2), slice(2, 3))
    for part, where in [(c.select(r, 3), r) for r in rows]:
        part.mu = part.mu + 10
        part.e = part.mu * 2
        c.settle(part, where, 3)
    assert c.mu.tolist() == [[10, 11], [12, 13], [14, 15]]
    assert torch.equal(c.e, 2 * c.mu)
    assert c.mu is untouched and torch.equal(c.s, torch.ones(2)) and c.w is w


# ---- client rows ----------------------------------------------------------------------------------------------------


def test_client_rows_read_like_a_matrix():
    rows, matrix = ClientRows(6, torch.tensor([7.0, 8.0])), torch.tensor([[7.0, 8.0]]).repeat(6, 1)
    generator = torch.Generator().manual_seed(0)
    for chosen in ([1, 4], [4, 5], [0, 1, 4]):
        clients, values = torch.tensor(chosen), torch.randn(len(chosen), 2, generator=generator)
        rows[clients], matrix[clients] = values, values
        assert torch.equal(rows[clients], matrix[clients])
    rows[torch.tensor([4, 0])], matrix[[4, 0]] = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0])
    rows[torch.tensor([4])], matrix[4] = torch.tensor([[3.0, 4.0]]), torch.tensor([3.0, 4.0])
    assert torch.equal(rows.dense(), matrix) and rows.shape == matrix.shape
    assert rows.written == (0, 1, 4, 5)
    assert torch.equal(rows.mean(0), matrix.mean(0))
    weights = torch.rand(6, generator=generator)
    assert torch.allclose(rows.weighted_sum(weights), weights @ matrix, rtol=1e-6)
    taken = rows[2]
    taken += 1
    assert torch.equal(rows[2], matrix[2])
    with pytest.raises(ValueError, match="dim 1"):
        rows.mean(1)


def test_the_mean_over_blocks_has_the_bits_of_the_whole(monkeypatch):
    rows = ClientRows(37, torch.zeros(1001))
    rows[torch.arange(20)] = torch.randn(20, 1001, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr("artifact.algorithms.client_rows._BLOCK", 37 * 64)
    assert len(list(rows.blocks())) == 16
    assert torch.equal(rows.mean(0), rows.dense().mean(0))


def test_a_checkpoint_holds_written_rows_once():
    rows = ClientRows(50, torch.zeros(3))
    rows[torch.tensor([3, 9])] = torch.arange(6.0).view(2, 3)
    rows[torch.tensor([9, 11, 20])] = torch.ones(3)
    packed = pack({"mu": rows, "s": torch.ones(2)})
    assert sorted(packed) == ["mu.index", "mu.row.3", "mu.row.9", "s"]
    again = ClientRows(50, torch.zeros(3))
    unpacked = unpack(packed, {"mu": again})
    assert unpacked["mu"] is again and torch.equal(unpacked["s"], torch.ones(2)) and set(unpacked) == {"mu", "s"}
    assert torch.equal(again.dense(), rows.dense()) and pack({"mu": again}).keys() == pack({"mu": rows}).keys()
    again[torch.tensor([9])] = torch.full((1, 3), 5.0)
    assert torch.equal(again[11], torch.ones(3)) and torch.equal(packed["mu.row.9"], torch.ones(3))


def test_state_is_kept_for_visited_clients_only():
    """1,000 clients: two rounds touch at most ten of them, and so does the checkpoint."""
    options = {"split": "iid", "dataset": "digits", "train_size": 1000, "clients": 1000, "evaluate": ("server", "all")}
    trainer, _ = trained(2, algorithm="fedsmoo", **options)
    assert 5 <= len(trainer.state["mu"].written) <= 10
    P = trainer.oracle.layout.numel
    assert sum(t.numel() for t in trainer.tensors().values()) <= 3 * 10 * P + 3 * 1000 + 4 * P


def test_released_lesam_and_others_share_one_model_per_round():
    trainer, _ = trained(2, rounds=1, algorithm="fedlesam")
    assert len([name for name in trainer.tensors() if ".row." in name]) == 1
    assert len(trainer.state["w_old"].written) == 5


# ---- kernels without the entries that only meet padding --------------------------------------------------------------


@given(n=st.integers(1, 6), k=st.integers(1, 7), stride=st.integers(1, 3), padding=st.integers(0, 3))
def test_entries_that_meet_pixels_are_all_that_the_outputs_and_gradients_need(n, k, stride, padding):
    assume(n + 2 * padding >= k)
    kept, left = entries_that_meet_pixels(n, k, stride, padding)
    generator = torch.Generator().manual_seed(k)
    kernel = torch.randn(1, 1, k, generator=generator, dtype=torch.float64, requires_grad=True)
    x = torch.randn(2, 1, n, generator=generator, dtype=torch.float64)
    whole, part = F.conv1d(x, kernel, None, stride, padding), F.conv1d(x, kernel[..., kept], None, stride, left)
    assert whole.shape == part.shape and torch.allclose(whole, part, rtol=0, atol=1e-12)
    (gradient,) = torch.autograd.grad((whole * torch.randn(whole.shape, generator=generator).double()).sum(), kernel)
    lost = torch.ones(k, dtype=torch.bool)
    lost[kept] = False
    assert not gradient[0, 0, lost].any()
    met = {entry for entry in range(k) for o in range(whole.shape[-1]) if 0 <= o * stride - padding + entry < n}
    narrow = range(min(met), max(met) + 1) if met else ()
    smaller = kept.stop - kept.start < k
    assert not smaller or [*narrow] == [*range(k)[kept]], "cropped to exactly the entries that meet a pixel"


@pytest.mark.parametrize("name", ["resnet18-gn", "resnet18", "lenet"])
def test_convolutions_fitted_to_their_images_give_the_gradients_of_plain_ones(name):
    model, W, group = problem(name, shape=(3, 32, 32))
    loop, cropped = (Oracle(model, Penalty(0.1), b) for b in ("loop", "cropped"))
    running = loop.buffer_layout.flatten(dict(model.named_buffers())).repeat(R, 1) if name == "resnet18" else None
    moved = [None if running is None else running.clone() for _ in range(2)]
    expected, found = (o.gradients(W, b, group) for o, b in zip((loop, cropped), moved, strict=True))
    assert (expected - found).abs().max() <= 1e-12 * expected.abs().max()
    assert running is None or torch.allclose(*moved, rtol=0, atol=1e-12)
    own = None if running is None else running[0]
    with loop.evaluating(W[0], own) as one, cropped.evaluating(W[0], own) as other:
        assert torch.allclose(one(group.x[0]), other(group.x[0]), rtol=1e-10)


def test_only_the_last_stage_of_a_resnet_on_small_images_is_cropped():
    model, W, _ = problem("resnet18-gn", shape=(3, 32, 32), dtype=torch.float32)
    oracle = Oracle(model)
    own = WorkerModel(model, oracle.layout, oracle.buffer_layout, watched=True, backend="cropped")
    own.set(W[1], None)
    sizes = {name: tuple(own.module.get_submodule(name.removesuffix(".weight")).weight.shape[2:]) for name in own.crops}
    assert sizes == {
        "layer4.0.conv1.weight": (2, 2),
        "layer4.0.conv2.weight": (1, 1),
        "layer4.1.conv1.weight": (1, 1),
        "layer4.1.conv2.weight": (1, 1),
    }
    assert [tuple(p.shape) for p in parameters(model).values()] == [*oracle.layout.shapes], "the model itself is whole"
    assert not WorkerModel(model, oracle.layout, oracle.buffer_layout, watched=True).crops
    large = networks.build("resnet18-gn", (3, 224, 224), 4, 0)
    assert not WorkerModel(large, oracle.layout, oracle.buffer_layout, watched=True, backend="cropped").crops


@pytest.mark.parametrize(("name", "backend"), [("resnet18-gn", "cropped"), ("convnet-tiny", "stacked")])
def test_a_worker_takes_a_whole_model_where_torch_func_does(name, backend):
    """FedRobust's three gradients are one call of ``vmap``; cropped kernels are not for that."""
    model, W, group = problem(name, shape=(3, 32, 32))
    Lambda, delta = torch.eye(3, dtype=W.dtype).repeat(R, 1, 1), torch.zeros(R, 3, dtype=W.dtype)
    expected = Oracle(model, backend="loop").affine(W, Lambda, delta, None, group)
    oracle = Oracle(model, backend=backend, threads=1)
    (found,) = oracle.map(lambda _: oracle.affine(W, Lambda, delta, None, group), [0])
    for one, other in zip(expected, found, strict=True):
        assert one.any() and (one - other).abs().max() <= 1e-12 * one.abs().max()


class Scaled(networks.Chain):
    """A chain that does more than its layers."""

    def forward(self, x, uniforms=None):
        return super().forward(x / 255, uniforms)


def chain(*layers, of=networks.Chain):
    model = of({str(number): layer for number, layer in enumerate(layers)})
    model.input_shape = (1, 6, 6)
    return model


def odd_models():
    """Models on 6 x 6 pixels that look like what is written by hand and are not."""

    def convolution():
        return torch.nn.Conv2d(1, 4, 3)

    def flatten(*dims):
        return torch.nn.Flatten(*dims)

    linear = torch.nn.Linear
    shared = chain(torch.nn.Conv2d(1, 1, 3), torch.nn.Conv2d(1, 1, 3), flatten(), linear(4, 3))
    shared.get_submodule("1").weight = shared.get_submodule("0").weight
    extra = chain(convolution(), flatten(), linear(64, 3))
    extra.extra = torch.nn.Parameter(torch.ones(3))
    return {
        "no linear layer": chain(torch.nn.Conv2d(1, 3, 6), flatten()),
        "no layer but flatten": chain(flatten()),
        "own forward": chain(convolution(), flatten(), linear(64, 3), of=Scaled),
        "own forward, dense": chain(flatten(), linear(36, 3), of=Scaled),
        "shared weights": shared,
        "parameter of no layer": extra,
        "linear on rows of pixels": chain(convolution(), linear(4, 2), flatten(), linear(32, 3)),
        "linear on rows of pixels, dense": chain(linear(6, 2), flatten(), linear(12, 3)),
        "half a flatten": chain(convolution(), flatten(2), linear(16, 2), flatten(), linear(8, 3)),
        "channels behind numbers": chain(convolution(), Dropout(0.5, 64), Dropout(0.5, 4), flatten(), linear(64, 3)),
    }


@pytest.mark.parametrize("name", odd_models())
def test_models_that_only_look_written_are_left_to_autograd(name):
    model = odd_models()[name]
    assert Oracle(model, backend="explicit").backend == "batched"


# ---- the table of backends ------------------------------------------------------------------------------------------


def test_default_backend_reads_the_table(monkeypatch):
    """The section for this kind of processor, then the one for any."""
    cpu = torch.device("cpu")
    for model in networks.BUILDERS:
        assert default_backend(model, cpu) in BACKENDS
    assert default_backend("resnet18", torch.device("cuda")) == _measured()["cuda"]["*"]
    table = {"cpu": {"*": "loop", "mlp-*": "explicit"}, "cpu avx512": {"mlp-*": "onednn"}}
    monkeypatch.setattr("artifact.accelerate.choose._measured", lambda: table)
    monkeypatch.delenv(PROCESSOR_VARIABLE, raising=False)  # the suite itself may be forced to a kind
    for unit, expected in (("AVX512", "onednn"), ("AMX", "explicit"), ("UNHEARD OF", "explicit")):
        monkeypatch.setattr("artifact.accelerate.choose.vector_unit", lambda unit=unit: unit)
        assert default_backend("mlp-77", cpu) == expected
        assert default_backend("cnn-mnist", cpu) == "loop"


def test_a_new_measurement_replaces_one_section():
    old = (
        '# What it is\n\n[cpu]\n"*" = "loop"  # a note\n\n["cpu avx2"]\n"mlp" = "batched"\n\n[cuda]\n"*" = "batched"\n'
    )
    result = {"environment": {"processor": "P", "cores": 2, "torch": "T"}, "rows": [{"train": {"n": 3}}]}
    text = merge(old, "cpu avx2", {"mlp-200": ("explicit", "explicit 1 ms"), "lenet": ("loop", "loop 2 ms")}, result)

    table = tomllib.loads(text)
    assert table["cpu avx2"] == {"mlp": "batched", "mlp-*": "explicit", "lenet": "loop"}
    assert table["cpu"] == {"*": "loop"} and table["cuda"] == {"*": "batched"}
    assert "explicit 1 ms" in text and "P, 2 cores, torch T" in text
    assert text.startswith("# What it is\n\n[cpu]\n") and '"*" = "loop"  # a note' in text, "the rest as it was"
    again = merge(text, "cpu avx2", {"lenet": ("loop", "loop 2 ms")}, result)
    assert "explicit 1 ms" in again, "timings of the models that are not measured again stay"
    assert tomllib.loads(again) == table and merge(again, "cpu avx2", {"lenet": ("loop", "loop 2 ms")}, result) == again


def test_the_first_measurement_on_a_kind_of_processor_begins_a_section():
    result = {"environment": {"processor": "P", "cores": 2, "torch": "T"}, "rows": [{"train": {"n": 3}}]}
    text = merge('[cpu]\n"*" = "loop"\n', "cpu avx512", {"lenet": ("loop", "loop 2 ms")}, result)
    assert tomllib.loads(text) == {"cpu": {"*": "loop"}, "cpu avx512": {"lenet": "loop"}}
