"""Weights that meet no pixel move in closed form: every method and switch has the trajectory of ``batched``."""

import functools

import pytest
import torch
from switched import SWITCHED
from torch import nn

from artifact.accelerate.live_weights import LiveWeights, Narrow
from artifact.algorithms import ALGORITHMS
from artifact.algorithms.base import FedAvg
from artifact.base.flat import Layout
from artifact.models.networks import Chain
from artifact.runs.session import load_data
from artifact.training.config import make
from artifact.training.gradients import Oracle
from artifact.training.rounds import knows_its_steps
from artifact.training.trainer import Trainer

SMALL = {
    "dataset": "digits",
    "train_size": 60,
    "test_size": 20,
    "clients": 4,
    "cohort": 3,
    "rounds": 3,
    "batch_size": 8,
}
SMALL |= {"model": "mlp-12", "dtype": "float64", "device": "cpu", "lr": 0.05, "lr_decay": 0.9, "weight_decay": 0.05}
SMALL |= {"local_epochs": 1, "batch_size": 8}
#: rounds after which every state of a server and of a client that was there twice has had its effect
ROUNDS = 3


class Shrinking(Chain):
    """8 x 8 pixels become 1 x 1: eight ninths of the second and third convolution's weights, 392 of 441, meet none.

    No norm of a single pixel, which would blow rounding errors up a hundredfold in every step.
    """

    def __init__(self):
        layers = {"conv1": nn.Conv2d(1, 3, 3, 2, 1), "norm1": nn.GroupNorm(1, 3), "relu1": nn.ReLU()}
        layers |= {"pool": nn.AvgPool2d(4), "conv2": nn.Conv2d(3, 7, 3, 1, 1), "relu2": nn.ReLU()}
        layers |= {"conv3": nn.Conv2d(7, 4, 3, 1, 1), "relu3": nn.ReLU(), "flatten": nn.Flatten()}
        super().__init__(layers | {"fc": nn.Linear(4, 10)})
        self.name, self.input_shape, self.classes = "shrinking", (1, 8, 8), 10


class Small(Trainer):
    """A trainer of the shrinking network."""

    def network(self):
        torch.manual_seed(self.config.seed)
        return Shrinking()


@functools.lru_cache
def data():
    return load_data(make(algorithm="fedavg", **SMALL))


def played(backend, **options):
    """Everything that the next round depends on, and the widths at which gradients were asked for."""
    run = make(**(SMALL | options), backend=backend)
    trainer, widths = Small(run, data()), set()
    gradients = trainer.oracle.gradients
    trainer.oracle.gradients = lambda W, *given: widths.add(W.shape[1]) or gradients(W, *given)
    for _ in range(ROUNDS):
        trainer.play_round()
    return trainer.tensors(), widths, trainer


def compare(**options):
    expected, whole, trainer = played("batched", **options)
    assert trainer.oracle.backend == "batched" and whole <= {trainer.oracle.layout.numel}
    found, widths, trainer = played("stacked", **options)
    assert trainer.oracle.backend == "stacked" and found.keys() == expected.keys()
    for name, value in expected.items():
        off = (found[name].double() - value.double()).abs().max() if value.numel() else torch.tensor(0.0)
        assert off <= 1e-10 * max([1.0, *value.double().abs().flatten().tolist()]), (name, off)
    return min(widths, default=trainer.oracle.layout.numel) < trainer.oracle.layout.numel, trainer


CASES = [(name, ()) for name in ALGORITHMS] + [(name, (id,)) for name, id in SWITCHED]


@pytest.mark.parametrize(("name", "switches"), CASES)
def test_every_method_and_switch_has_the_trajectory_of_batched(name, switches):
    """Clients of unequal sizes, a clip that acts, weight decay, and a rate that falls."""
    short, trainer = compare(algorithm=name, switches=switches, sizes="lognormal:0.6", clip=0.5)
    assert short == trainer.algorithm.linear_without_gradient == (name != "fedrobust")


@pytest.mark.parametrize("variant", [{"clip": 0.02, "switches": ("GEN-1",)}, {"man_zeta": 0.3}, {"clip": None}])
@pytest.mark.parametrize("name", ["fedavg", "scaffold", "feddc", "fedsmoo", "fedspeed", "fedlesam-d"])
def test_clips_of_the_whole_direction_and_mans_penalty(name, variant):
    """Equal pools, so that the whole cohort is at work in each step."""
    assert compare(algorithm=name, **variant)[0]


@pytest.mark.parametrize(("optimiser", "short"), [("momentum", True), ("adam", False)])
@pytest.mark.parametrize("name", ["fedavg", "fedcm", "fedsmoo"])
def test_momentum_is_linear_and_adam_is_not(name, optimiser, short):
    assert compare(algorithm=name, optimiser=optimiser, lr=0.02)[0] == short


def test_a_probe_sees_whole_weights():
    short, _ = compare(algorithm="fedlesam", probes=("perturbation",), eval_every=1)
    assert not short


def test_a_users_method_goes_the_whole_way():
    class Squares(FedAvg):
        """Would be wrong in coordinates."""

        def direction(self, g, c):
            return g + c.w.square()

    assert not knows_its_steps(Squares()) and knows_its_steps(FedAvg())


def test_weights_without_a_push_keep_their_bits():
    """No decay and no correction: nothing is rounded on the way into coordinates and out again."""
    found, _, trainer = played("stacked", algorithm="fedsam", weight_decay=0.0)
    live = trainer.oracle.live
    before = Small(trainer.config, data()).w
    assert torch.equal(live.idle(found["w"]), live.idle(before)) and not torch.equal(found["w"], before)
    assert int((live.idle(before) != 0).sum()) == live.layout.numel - live.narrow.numel == 392


def test_networks_whose_weights_are_all_live_have_no_narrow_form():
    from artifact.models.networks import build

    assert Oracle(build("lenet", (3, 32, 32), 10, 0), backend="stacked").live is None
    resnet = Oracle(build("resnet18-gn", (3, 32, 32), 10, 0), backend="stacked").live
    assert (resnet.narrow.numel, resnet.layout.numel) == (4_234_826, 11_181_642)


# ---- coordinates -----------------------------------------------------------------------------------------------------

LAYOUT = Layout(("a", "b"), ((2, 1, 3, 3), (4,)))
LIVE = LiveWeights(LAYOUT, {"a": (..., slice(1, 2), slice(1, 3))})


def test_the_parts_of_a_vector_by_hand():
    v = torch.arange(22.0)
    assert LIVE.taken(v).tolist() == [4, 5, 13, 14, 18, 19, 20, 21]
    assert LIVE.idle(v).nonzero()[:, 0].tolist() == [1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17]


def test_coordinates_keep_lengths_products_and_sums():
    """Also of vectors that are zero, that are multiples of one another, and that all clients share."""
    generator = torch.Generator().manual_seed(0)
    w, own = torch.randn(22, generator=generator).double(), torch.randn(3, 22, generator=generator).double()
    vectors = [own, w, torch.zeros(22).double(), 2 * w, own + w]
    form = Narrow(LIVE, vectors)
    narrow = [form.entered(v) for v in vectors]
    assert all(n.shape == (*v.shape[:-1], 8 + 5) for n, v in zip(narrow, vectors, strict=True))
    for a, x in zip(narrow, vectors, strict=True):
        for b, y in zip(narrow, vectors, strict=True):
            assert torch.allclose((a * b).sum(-1), (x * y).sum(-1), rtol=1e-12, atol=1e-12)
    found = form.left(3 * narrow[0] - narrow[1], None, None)
    assert torch.allclose(found, 3 * own - w, rtol=0, atol=1e-12)
    assert torch.equal(form.left(narrow[0], own, narrow[0]), own)
