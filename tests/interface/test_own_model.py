"""State and draws of a user's network: buffers start at the server's, every draw follows the seed."""

from __future__ import annotations

import copy
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import artifact
from artifact.base.errors import UserError
from artifact.interface.own_model import OwnModel

STREAM = torch.Generator().manual_seed(1)
X, Y = torch.randn(24, 5, 8, generator=STREAM), torch.arange(24) % 3
CLIENTS = [(X[:12], Y[:12]), (X[12:], Y[12:])]


class Drawing(nn.Module):
    """A layer of its own before and a linear one after something that draws."""

    def __init__(self, draw):
        super().__init__()
        self.a, self.draw, self.head = nn.Linear(8, 8), draw, nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.draw(self, self.a(x).mean(1)))


class Drawn(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(8, 3)

    def forward(self, x):
        out = (
            self.layer(x, x, x, need_weights=False) if isinstance(self.layer, nn.MultiheadAttention) else self.layer(x)
        )
        return self.head((out[0] if isinstance(out, tuple) else out).mean(1))


def attention(module, h):
    q = h[:, None, None]
    return F.scaled_dot_product_attention(q, q, q, dropout_p=0.5 if module.training else 0.0)[:, 0, 0] + h


DRAWS = {
    "dropout": lambda m, h: F.dropout(h, 0.5, m.training),
    "noise": lambda m, h: h + torch.randn_like(h) if m.training else h,
    "numpy": lambda m, h: h + float(np.random.rand()) if m.training else h,  # noqa: NPY002
    "python": lambda m, h: h * random.random() if m.training else h,
    "seldom": lambda m, h: F.dropout(h, 0.5, m.training) if h.sum() > 0 else h,
    "attention": attention,
}
LAYERS = {
    "alpha": lambda: nn.Sequential(nn.Linear(8, 8), nn.AlphaDropout(0.5)),
    "lstm": lambda: nn.LSTM(8, 8, 2, dropout=0.5, batch_first=True),
    "heads": lambda: nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True),
    "encoder": lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True),
}


def drawing(name):
    torch.manual_seed(0)
    return Drawing(DRAWS[name]) if name in DRAWS else Drawn(LAYERS[name]())


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def trained(model, clients=CLIENTS, **options):
    setting = {"method": "fedsam", "rho": 0.05, "rounds": 2, "batch_size": 6} | options
    return artifact.train(model, clients, **setting).model


@pytest.mark.parametrize("name", [*DRAWS, *LAYERS])
def test_every_draw_follows_the_seed_and_nothing_else(name):
    model, found = drawing(name), []
    for elsewhere in (1, 2):
        torch.manual_seed(elsewhere)
        np.random.seed(elsewhere)  # noqa: NPY002
        random.seed(elsewhere)
        found.append(weights(trained(model)))
    assert torch.equal(*found)
    assert not torch.equal(found[0], weights(trained(model, seed=1)))


class Slow(nn.Module):
    """Draws from two generators, slowly enough for other workers to come in between."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        if self.training:
            time.sleep(0.01)
            x = x + torch.randn_like(x)
            time.sleep(0.01)
            x = x * random.random()
        return self.head(x)


def passes_side_by_side(model, seeds):
    """Gradients of one training pass per seed, each by a thread with a copy of the model."""
    copies = [copy.deepcopy(model) for _ in seeds]
    start, x = threading.Barrier(len(seeds)), torch.ones(4, 3)

    def one(i):
        start.wait()
        with copies[i].turn():
            loss = copies[i](x, torch.full((4, 2), seeds[i])).square().sum()
            return torch.cat([g.flatten() for g in torch.autograd.grad(loss, copies[i].parameters())])

    with ThreadPoolExecutor(len(seeds)) as pool:
        return list(pool.map(one, range(len(seeds))))


class Recomputed(nn.Module):
    """Its middle layer is computed again in the backward pass, with the draws of the forward pass."""

    def __init__(self):
        super().__init__()
        self.first, self.middle, self.head = nn.Linear(3, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def part(self, h):
        time.sleep(0.01)
        return F.dropout(self.middle(h), 0.5, self.training)

    def forward(self, x):
        h = checkpoint(self.part, self.first(x), use_reentrant=False)
        time.sleep(0.01)
        return self.head(F.dropout(h, 0.5, self.training))


@pytest.mark.parametrize("network", [Slow, Recomputed])
@pytest.mark.parametrize("seen", [False, True])
def test_threads_that_draw_do_not_disturb_each_other(network, seen):
    torch.manual_seed(0)
    model, seeds = OwnModel(network(), None, torch.device("cpu"), torch.float32), [0.1, 0.2, 0.3, 0.4]
    alone = []
    for seed in seeds:
        model.draws.seen = True
        alone += passes_side_by_side(model, [seed])
    for elsewhere in range(3):
        torch.manual_seed(elsewhere)
        model.draws.seen = seen
        assert all(map(torch.equal, passes_side_by_side(model, seeds), alone))


@pytest.mark.parametrize("name", ["dropout", "lstm", "numpy"])
def test_both_passes_of_a_step_draw_the_same(name):
    """With a radius of 0 the second gradient is the first one: FedSAM is FedAvg, bit for bit."""
    sam = trained(drawing(name), rho=0.0)
    plain = artifact.train(
        drawing(name), CLIENTS, method="fedavg", rounds=2, batch_size=6
    ).model  # fmt: skip
    assert torch.equal(weights(sam), weights(plain))


def test_the_process_keeps_its_generators_and_threads():
    model = drawing("dropout")
    torch.manual_seed(3)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    threads = torch.get_num_threads()
    trained(model)
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002
    assert before[2] == random.getstate()
    assert threads == torch.get_num_threads()


class Ema(nn.Module):
    """Keeps a mean of its inputs in a buffer, which it replaces, a number of passes, and a plain attribute."""

    def __init__(self, persistent=True, fresh=True):
        super().__init__()
        self.head, self.fresh, self.passes = nn.Linear(3, 2), fresh, 0
        self.register_buffer("ema", torch.zeros(3), persistent=persistent)
        self.register_buffer("seen", torch.tensor(0), persistent=persistent)
        self.register_buffer("tenth", torch.full((3,), 0.1))

    def forward(self, x):
        self.passes += 1
        if self.training:
            with torch.no_grad():
                moved = 0.5 * self.ema + 0.5 * x.mean(0)
                if self.fresh:
                    self.ema = moved
                else:
                    self.ema.copy_(moved)
                self.seen += 1
        return self.head(x - self.ema) + 0 * self.passes


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("method", ["fedavg", "fedsam"])
def test_a_buffer_of_ones_own_starts_at_the_servers_and_is_averaged(fresh, method):
    """By hand: every client moves once a step from the server's numbers, at the first pass alone."""
    x, y = torch.randn(20, 3, generator=STREAM), torch.arange(20) % 2
    clients = [(x[i::4] + i, y[i::4]) for i in range(4)]
    model = artifact.train(Ema(fresh=fresh), clients, test=(x, y), method=method, rounds=2, batch_size=5).model
    ema = torch.zeros(3)
    for _ in range(2):
        ema = torch.stack([0.5 * ema + 0.5 * own.mean(0) for own, _ in clients]).mean(0)
    assert torch.allclose(model.ema, ema, atol=1e-6)
    assert model.seen.item() == 2 and model.seen.dtype == torch.int64
    assert torch.equal(model.tenth, Ema().tenth)  # what all have alike keeps its bits
    assert model.passes == 0


def test_a_buffer_outside_the_state_dict_may_not_move():
    x, y = torch.randn(8, 3, generator=STREAM), torch.arange(8) % 2
    with pytest.raises(UserError, match=r"Ema\.ema.*persistent=True"):
        artifact.train(Ema(persistent=False), [(x, y)], rounds=1)


def test_the_cumulative_mean_of_batchnorm_is_that_of_plain_torch():
    x, y = torch.randn(16, 3, generator=STREAM) + 5, torch.arange(16) % 2

    def net():
        torch.manual_seed(1)
        return nn.Sequential(nn.BatchNorm1d(3, momentum=None, affine=False), nn.Linear(3, 2))

    one = artifact.train(net(), [(x, y)], rounds=3, batch_size=16).model[0]
    assert torch.allclose(one.running_mean, x.mean(0), atol=1e-5)
    assert one.num_batches_tracked.item() == 3
    two = artifact.train(net(), [(x, y), (2 * x - 1, y)], rounds=1, batch_size=16).model[0]
    assert torch.allclose(two.running_mean, (x.mean(0) + (2 * x - 1).mean(0)) / 2, atol=1e-5)


@pytest.mark.parametrize("norm", [nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm])
def test_spectral_norms_give_the_same_bits_whoever_trains_beside(norm):
    """A client's vectors start at the server's: the first of two clients trains as if it were alone."""
    x, y = torch.randn(16, 6, generator=STREAM), torch.arange(16) % 3

    def net():
        torch.manual_seed(2)
        return nn.Sequential(norm(nn.Linear(6, 8)), nn.Tanh(), nn.Linear(8, 3))

    half = [(x[:8], y[:8]), (x[8:], y[8:])]
    apart = [artifact.train(net(), [one], rounds=1, batch_size=8).model.state_dict() for one in half]
    both = artifact.train(net(), half, rounds=1, batch_size=8).model.state_dict()
    for name, found in both.items():
        assert torch.allclose(found, (apart[0][name] + apart[1][name]) / 2, atol=1e-6), name


def test_sparse_gradients_train_as_dense_ones():
    x, y, found = torch.arange(24).view(8, 3) % 12, torch.arange(8) % 3, []
    for sparse in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(12, 4, sparse=sparse), nn.Flatten(), nn.Linear(12, 3))
        found.append(weights(trained(model, [(x, y)])))
    assert torch.allclose(*found)
