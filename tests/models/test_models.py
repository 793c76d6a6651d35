"""Models and activation taps: counts, shapes, seeds, and the same numbers in a loop and under ``vmap``."""

import pytest
import torch
from torch.func import functional_call, grad, vmap
from torch.nn import functional
from torchvision.models import vit_b_32

from artifact.base import flat
from artifact.base.errors import UserError
from artifact.models import activations, networks
from artifact.models.registry import MODELS

COUNTS = [  # (model, input, classes, parameters); 002's CNN and MLP counts are sums of the printed layer sizes
    ("lenet", (3, 32, 32), 10, 797_962),
    ("lenet", (3, 32, 32), 100, 815_332),
    ("convnet-tiny", (3, 64, 64), 200, 2_447_688),
    ("resnet18-gn", (3, 32, 32), 10, 11_181_642),
    ("resnet18-gn", (3, 32, 32), 100, 11_227_812),
    ("resnet18", (3, 32, 32), 10, 11_181_642),
    ("cnn-emnist", (1, 28, 28), 62, 320 + 18_496 + 9216 * 128 + 128 + 128 * 62 + 62),
    ("cnn-mnist", (1, 28, 28), 10, 260 + 5020 + 320 * 50 + 50 + 510),
    ("cnn-fmnist", (1, 28, 28), 10, 416 + 32 + 12_832 + 64 + 15_690),
    ("cnn-cifar", (3, 32, 32), 10, 62_006),
    ("mlp", (1, 28, 28), 10, 784 * 64 + 64 + 650),
    ("mlp-200", (1, 28, 28), 10, 159_010),
    ("mlp-32", (1, 8, 8), 10, 64 * 32 + 32 + 330),
]
DIGITS = ("mlp", "mlp-200", "cnn-fmnist", "cnn-emnist", "convnet-tiny", "resnet18-gn", "resnet18", "resnet18-cifar")
SMALL = ("cnn-fmnist", "cnn-emnist", "mlp", "mlp-7", "convnet-tiny")


def _clients(name, shape=(1, 8, 8), clients=3, batch=4):
    """Model in float64 and, per client, parameters, running statistics, images, labels and dropout uniforms."""
    model = networks.build(name, shape, 10, seed=0).double().train()
    draw = torch.Generator().manual_seed(1)
    noise = {"generator": draw, "dtype": torch.float64}
    parameters = {
        k: v.detach() + 0.01 * torch.randn(clients, *v.shape, **noise) for k, v in flat.parameters(model).items()
    }
    buffers = {k: v.expand(clients, *v.shape).clone() for k, v in flat.buffers(model).items()}
    images = torch.randn(clients, batch, *shape, **noise)
    labels = torch.randint(10, (clients, batch), generator=draw)
    uniforms = torch.rand(clients, batch, model.dropout_units, **noise)
    return model, parameters, buffers, images, labels, uniforms


@pytest.mark.parametrize(("name", "shape", "classes", "count"), COUNTS)
def test_parameter_counts(name, shape, classes, count):
    model = networks.build(name, shape, classes, seed=0)
    assert sum(p.numel() for p in model.parameters()) == count
    assert model.eval()(torch.zeros(2, *shape)).shape == (2, classes)


@pytest.mark.parametrize("name", DIGITS)
def test_digits_and_tiny_images_fit(name):
    for shape in ((1, 8, 8), (3, 64, 64)):
        assert networks.build(name, shape, 10, seed=0).eval()(torch.zeros(2, *shape)).shape == (2, 10)


@pytest.mark.parametrize("name", ["cnn-mnist", "cnn-cifar", "lenet"])
def test_five_by_five_kernels_need_sixteen_pixels(name):
    assert networks.build(name, (1, 16, 16), 10, seed=0).eval()(torch.zeros(1, 1, 16, 16)).shape == (1, 10)
    with pytest.raises(UserError, match="model"):
        networks.build(name, (1, 8, 8), 10, seed=0)


def test_registry_rows_build():
    for name in networks.BUILDERS.keys() - {"vit-b-32"}:
        assert networks.build(name, (3, 32, 32), 10, seed=0).name == name


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("resnet19", (3, 32, 32), 10, 0), "model"),
        (("mlp-0", (3, 32, 32), 10, 0), "model"),
        (("lenet", (32, 32), 10, 0), "input_shape"),
        (("mlp", (3, 0, 32), 10, 0), "input_shape"),
        (("mlp", (3, 32, 32), 1, 0), "classes"),
        (("vit-b-32", (3, 32, 32), 10, 0), "model"),
    ],
)
def test_bad_requests(arguments, field):
    with pytest.raises(UserError) as caught:
        networks.build(*arguments)
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["absent.pth", "absent.safetensors", "damaged.pth", "damaged.safetensors"])
def test_vit_weights_that_cannot_be_read(name, tmp_path, monkeypatch):
    if name.startswith("damaged"):
        (tmp_path / name).write_bytes(b"not weights")
    monkeypatch.setenv(networks.WEIGHTS_VARIABLE, str(tmp_path / name))
    with pytest.raises(UserError, match=networks.WEIGHTS_VARIABLE):
        networks.build("vit-b-32", (3, 224, 224), 10, seed=0)


def test_vit_takes_the_body_of_a_state():
    with torch.device("meta"):  # shapes only: the 88 million weights are neither drawn nor stored
        state = vit_b_32().state_dict()
        model = networks.VisionTransformer(65, state)
    assert sum(p.numel() for p in model.parameters()) == 87_455_232 + 768 * 65 + 65
    with pytest.raises(UserError, match="exactly the tensors"):
        networks.VisionTransformer(65, {"conv_proj.bias": torch.zeros(768)})


def test_initial_weights_follow_the_seed_alone():
    before = torch.get_rng_state()
    first = flat.parameters(networks.build("lenet", (3, 32, 32), 10, seed=3))
    assert torch.equal(before, torch.get_rng_state())
    torch.rand(5)
    again, other = (flat.parameters(networks.build("lenet", (3, 32, 32), 10, seed=s)) for s in (3, 4))
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not any(torch.equal(first[k], other[k]) for k in first)


def test_resnet_initial_norm():
    """algorithms.md, section 5: ||w0|| about 111.8, of which sqrt(4800) = 69.3 are the GroupNorm scales."""
    weights = flat.parameters(networks.build("resnet18-gn", (3, 32, 32), 10, seed=0))
    norm = torch.cat([v.detach().flatten() for v in weights.values()]).norm()
    assert norm == pytest.approx(111.8, abs=0.4)
    scales = torch.cat([v.detach() for k, v in weights.items() if "norm" in k or "shortcut.1" in k])
    assert scales.norm() == pytest.approx(4800**0.5, rel=1e-6)


@pytest.mark.parametrize("name", SMALL)
def test_vmap_over_clients_equals_the_loop(name):
    model, parameters, buffers, images, labels, uniforms = _clients(name)
    looped = {k: v.clone() for k, v in buffers.items()}

    def loss(p, b, x, y, u):
        return functional.cross_entropy(functional_call(model, (p, b), (x, u)), y)

    together = vmap(grad(loss))(parameters, buffers, images, labels, uniforms)
    for i in range(len(images)):
        own = {k: v[i] for k, v in looped.items()}
        alone = grad(loss)({k: v[i] for k, v in parameters.items()}, own, images[i], labels[i], uniforms[i])
        assert all(torch.allclose(together[k][i], alone[k], rtol=1e-10, atol=1e-12) for k in alone)
    for k, v in buffers.items():
        assert torch.allclose(v, looped[k], rtol=0, atol=1e-13)
        assert not torch.equal(v, flat.buffers(model)[k].expand_as(v)), "running statistics must move"


def test_running_statistics_follow_the_definition():
    """BatchNorm keeps 0.9 of the old statistic and takes 0.1 of the batch's mean and unbiased variance."""
    norm = networks.BatchNorm(2).double().train()
    x = torch.arange(24, dtype=torch.float64).reshape(3, 2, 2, 2)
    norm(x)
    channel = x.transpose(0, 1).flatten(1)
    assert torch.allclose(norm.running_mean, 0.1 * channel.mean(1))
    assert torch.allclose(norm.running_var, 0.9 + 0.1 * channel.var(1, correction=1))
    assert set(flat.buffers(norm)) == set(dict(norm.named_buffers())) == {"running_mean", "running_var"}


def test_dropout_masks_are_the_uniforms():
    x = torch.ones(2, 3, 2, 2)
    u = torch.tensor([[0.0, 0.25, 0.9], [0.24, 0.5, 0.1]])
    whole_channels = networks.Dropout(0.25, 3)(x, u)
    expected = torch.tensor([[0, 1, 1], [0, 1, 0]])[:, :, None, None] / 0.75 * x
    assert torch.equal(whole_channels, expected)
    single = networks.Dropout(0.5, 12)(x, torch.linspace(0, 0.99, 24).reshape(2, 12))
    assert torch.equal(single[0], torch.zeros(3, 2, 2))
    assert torch.equal(single[1], torch.full((3, 2, 2), 2.0))


def test_dropout_of_the_mlp_by_hand():
    """Thesis MLP: fc1, dropout, ReLU, fc2; the mask scales the hidden units by 0 or 2."""
    model = networks.build("mlp", (1, 8, 8), 10, seed=0)
    x, u = torch.rand(5, 1, 8, 8), torch.rand(5, 64, generator=torch.Generator().manual_seed(0))
    hidden = torch.relu(model.fc1(x.flatten(1)))
    assert torch.allclose(model(x, u), model.fc2(hidden * 2 * (u >= 0.5)), atol=1e-6)
    assert torch.allclose(model.eval()(x, u), model.fc2(hidden), atol=1e-6)
    with pytest.raises(UserError, match="uniforms"):
        model.train()(x)


@pytest.mark.parametrize(
    ("name", "shape", "layers"),
    [
        ("lenet", (3, 32, 32), ("relu1", "relu2", "relu_fc1", "relu_fc2")),
        ("convnet-tiny", (3, 64, 64), ("relu1", "relu2", "relu3", "relu_fc1", "relu_fc2")),
        ("mlp", (1, 8, 8), ("relu_fc1",)),
    ],
)
def test_hidden_layers(name, shape, layers):
    assert activations.hidden_layers(networks.build(name, shape, 10, seed=0)) == layers


def test_resnet_taps_run_once_each_in_order():
    model = networks.build("resnet18-gn", (3, 8, 8), 10, seed=0).eval()
    names = activations.hidden_layers(model)
    assert len(names) == 1 + 2 * 8
    with activations.mean_square_activations(model) as squares:
        model(torch.ones(1, 3, 8, 8))
    assert tuple(squares) == names


def test_taps_equal_hand_computed_means():
    model = networks.build("lenet", (3, 32, 32), 10, seed=0).double().eval()
    x = torch.rand(4, 3, 32, 32, dtype=torch.float64)
    with activations.mean_square_activations(model) as squares:
        model(x)
    a1 = torch.relu(model.conv1(x))
    a2 = torch.relu(model.conv2(functional.max_pool2d(a1, 2)))
    a3 = torch.relu(model.fc1(functional.max_pool2d(a2, 2).flatten(1)))
    a4 = torch.relu(model.fc2(a3))
    for value, activation in zip(squares.values(), (a1, a2, a3, a4), strict=True):
        assert value.item() == pytest.approx((activation**2).mean().item(), rel=1e-12)
    assert not any(module._forward_hooks for module in model.modules())


def test_repeated_calls_are_separate_layers():
    relu = torch.nn.ReLU()
    model = torch.nn.Sequential(relu, torch.nn.Linear(3, 3), relu)
    with activations.mean_square_activations(model, ["0"]) as squares:
        model(torch.ones(2, 3))
    assert list(squares) == ["0", "0#2"]
    with pytest.raises(UserError, match="layers"), activations.mean_square_activations(model, ["nowhere"]):
        pass


def _penalised(model):
    def loss(p, x, u):
        with activations.mean_square_activations(model) as squares:
            logits = functional_call(model, p, (x, u))
        return logits.square().mean() + 0.15 * sum(squares.values())

    return loss


def test_gradient_of_the_penalty_by_finite_differences():
    model, parameters, _, images, _, uniforms = _clients("cnn-emnist")
    loss, p = _penalised(model), {k: v[0] for k, v in parameters.items()}
    direction = {
        k: torch.randn(v.shape, dtype=v.dtype, generator=torch.Generator().manual_seed(2)) for k, v in p.items()
    }
    slope = sum((grad(loss)(p, images[0], uniforms[0])[k] * direction[k]).sum() for k in p)
    step = 1e-8  # short enough not to cross a kink of a ReLU
    ahead, behind = ({k: p[k] + s * direction[k] for k in p} for s in (step, -step))
    numeric = (loss(ahead, images[0], uniforms[0]) - loss(behind, images[0], uniforms[0])) / (2 * step)
    assert slope.item() == pytest.approx(numeric.item(), rel=1e-5)


def test_penalty_under_vmap_equals_the_loop():
    model, parameters, _, images, _, uniforms = _clients("cnn-emnist")
    loss = _penalised(model)
    together = vmap(grad(loss))(parameters, images, uniforms)
    for i in range(len(images)):
        alone = grad(loss)({k: v[i] for k, v in parameters.items()}, images[i], uniforms[i])
        assert all(torch.allclose(together[k][i], alone[k], rtol=1e-10, atol=1e-12) for k in alone)


def test_every_listed_model_is_built_and_every_built_one_listed():
    assert list(networks.BUILDERS) == list(MODELS)
