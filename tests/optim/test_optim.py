"""``artifact.optim`` against the engine, and beside BatchNorm, accumulated gradients and a GradScaler."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import artifact
from artifact.base.errors import UserError

STREAM = torch.Generator().manual_seed(0)
X, Y = torch.randn(40, 6, generator=STREAM), torch.randint(3, (40,), generator=STREAM)


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def optimiser(name, model, **options):
    named = name == "ASAM"
    return getattr(artifact.optim, name)(model.named_parameters() if named else model.parameters(), **options)


@pytest.mark.parametrize(("name", "method"), [("SAM", "fedsam"), ("ASAM", "fedasam")])
@pytest.mark.parametrize("style", ["closure", "two steps"])
def test_the_weights_are_those_of_one_client(name, method, style):
    """Five steps over all data, bit for bit; the order within the only minibatch is the engine's own."""
    from artifact.base.random import stream

    run = artifact.train(
        network(), [(X, Y)], method=method, rounds=5, batch_size=40, lr=0.2, rho=0.3, weight_decay=0.01
    )
    model = network()
    own = optimiser(name, model, lr=0.2, rho=0.3, weight_decay=0.01)
    start = flat(model)
    for t in range(5):
        order = torch.randperm(40, generator=stream(0, "batches", t, 0))

        def closure(order=order):
            own.zero_grad()
            loss = F.cross_entropy(model(X[order]), Y[order])
            loss.backward()
            return loss

        before = flat(model)
        if style == "closure":
            own.step(closure)
        else:
            closure()
            own.first_step(zero_grad=True)
            closure()
            own.second_step()
        # the server adds the mean update, which rounds: w + (w_K - w)
        rounded = before + (flat(model) - before)
        torch.nn.utils.vector_to_parameters(rounded, model.parameters())
    assert not torch.equal(flat(model), start)
    assert torch.equal(flat(model), flat(run.model))


@pytest.mark.parametrize("style", ["closure", "two steps", "stored"])
def test_the_weights_of_lesam_are_those_of_one_client(style):
    """Four rounds of three steps, bit for bit. ``stored``: the client's state goes through a ``state_dict``."""
    from artifact.base.random import stream

    options = {"lr": 0.2, "rho": 0.3, "weight_decay": 0.01}
    setting = {"rounds": 4, "batch_size": 16, "local_epochs": 1} | options
    run, plain = (artifact.train(network(), [(X, Y)], method="fedlesam", **setting | r) for r in ({}, {"rho": 0.0}))
    model = network()
    own = optimiser("LESAM", model, **options)
    for t in range(4):
        order = torch.randperm(40, generator=stream(0, "batches", t, 0))
        if style == "stored":
            kept, own = own.state_dict(), optimiser("LESAM", model, **options)
            own.load_state_dict(kept)
        before = flat(model)
        own.receive()
        for part in order.split(16):

            def closure(part=part, own=own):
                own.zero_grad()
                loss = F.cross_entropy(model(X[part]), Y[part])
                loss.backward()
                return loss

            if style == "closure":
                own.step(closure)
            else:
                own.first_step()
                closure()
                own.step()
        torch.nn.utils.vector_to_parameters(before + (flat(model) - before), model.parameters())
    assert torch.equal(flat(model), flat(run.model))
    assert not torch.equal(flat(model), flat(plain.model))


@pytest.mark.parametrize("name", ["SAM", "ASAM"])
def test_accumulated_gradients_are_those_of_the_whole_batch(name):
    """The question of issue 8 of davda54/sam."""
    whole, parts = network().double(), network().double()
    one, two = (optimiser(name, m, lr=0.2, rho=0.3) for m in (whole, parts))

    def backward(model, pieces):
        for x, y in zip(X.double().chunk(pieces), Y.chunk(pieces), strict=True):
            (F.cross_entropy(model(x), y) / pieces).backward()

    for model, own, pieces in ((whole, one, 1), (parts, two, 4)):
        backward(model, pieces)
        own.first_step(zero_grad=True)
        backward(model, pieces)
        own.second_step()
    assert torch.allclose(flat(whole), flat(parts), rtol=0, atol=1e-12)


@pytest.mark.parametrize("told", [True, False])
def test_running_statistics_move_once_where_the_model_is_known(told):
    model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    once = copy.deepcopy(model)
    once(X)
    own = artifact.optim.SAM(model.parameters(), model=model if told else None)
    own.step(lambda: (own.zero_grad(), F.cross_entropy(model(X), Y).backward()))
    assert torch.equal(model[1].running_mean, once[1].running_mean) == told


def test_a_scaler_changes_nothing_and_skips_infinite_gradients():
    plain, scaled = network().double(), network().double()
    one, two = (artifact.optim.SAM(m.parameters(), lr=0.2, rho=0.3) for m in (plain, scaled))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def loss_of(model):
        return F.cross_entropy(model(X.double()), Y)

    loss_of(plain).backward()
    one.first_step(zero_grad=True)
    loss_of(plain).backward()
    one.second_step()
    scaler.scale(loss_of(scaled)).backward()
    two.first_step(zero_grad=True)
    scaler.scale(loss_of(scaled)).backward()
    scaler.step(two)
    scaler.update()
    assert torch.allclose(flat(plain), flat(scaled), rtol=0, atol=1e-12)

    before = flat(scaled)
    two.zero_grad()
    scaler.scale(loss_of(scaled)).backward()
    two.first_step(zero_grad=True)
    assert not torch.equal(flat(scaled), before)
    scaler.scale(loss_of(scaled) * float("inf")).backward()
    scaler.step(two)
    assert torch.equal(flat(scaled), before)


def test_an_infinite_first_gradient_skips_the_step_and_the_second_may_be_unscaled():
    plain, scaled = network().double(), network().double()
    one, two = (artifact.optim.SAM(m.parameters(), lr=0.2, rho=0.3) for m in (plain, scaled))
    scaler, before = torch.amp.GradScaler("cpu", init_scale=1024.0), flat(scaled)

    def backward(model, factor=1.0):
        (F.cross_entropy(model(X.double()), Y) * factor).backward()

    for first in (float("inf"), 1.0):
        scale = scaler.get_scale()
        backward(scaled, scale * first)
        two.first_step(zero_grad=True)
        scaler.scale(F.cross_entropy(scaled(X.double()), Y)).backward()
        if first == 1.0:
            scaler.unscale_(two)
        scaler.step(two)
        scaler.update()
        two.zero_grad()
        if first != 1.0:
            assert torch.equal(flat(scaled), before) and scaler.get_scale() == scale / 2
    backward(plain)
    one.first_step(zero_grad=True)
    backward(plain)
    one.second_step()
    assert torch.allclose(flat(plain), flat(scaled), rtol=0, atol=1e-12)


def test_parameters_without_a_gradient_stay():
    model = nn.ModuleList([nn.Linear(6, 3), nn.Linear(2, 2)])
    before = model[1].weight.detach().clone()
    own = artifact.optim.SAM(model.parameters(), weight_decay=0.1)
    own.step(lambda: (own.zero_grad(), F.cross_entropy(model[0](X), Y).backward()))
    assert torch.equal(model[1].weight, before)


def test_what_is_not_possible_is_told():
    with pytest.raises(UserError, match="rho"):
        artifact.optim.SAM(network().parameters(), rho=-1)
    with pytest.raises(UserError, match="first_step"):
        artifact.optim.SAM(network().parameters()).step()
    with pytest.raises(UserError, match="receive"):
        artifact.optim.LESAM(network().parameters()).first_step()


def test_the_activation_term_is_that_of_man():
    model = network()
    with artifact.losses.man(model, zeta=0.15) as term:
        model(X)
        first = term()
        model(X)
        second = term()
    assert first.item() == second.item() == pytest.approx(0.15 * model[:2](X).square().mean().item())
    first.backward()
    assert model[0].weight.grad.abs().sum() > 0


class Reference(torch.optim.Optimizer):
    """SAM around a base by the arithmetic of Foret et al., tensor by tensor, independent of the engine."""

    def __init__(self, params, base, rho, adaptive, **options):
        super().__init__(params, {"rho": rho, "adaptive": adaptive, **options})
        self.base = base(self.param_groups, **options)
        self.param_groups = self.base.param_groups

    def step(self, closure):
        closure()
        own = [(p, g["rho"], p.abs() if g["adaptive"] else 1.0) for g in self.param_groups for p in g["params"]]
        length = torch.stack([(scale * p.grad).norm() for p, _, scale in own]).norm()
        before = [p.detach().clone() for p, _, _ in own]
        with torch.no_grad():
            for p, rho, scale in own:
                p.add_(rho * scale * scale * p.grad / length)
        closure()
        with torch.no_grad():
            for (p, _, _), value in zip(own, before, strict=True):
                p.copy_(value)
        self.base.step()


BASES = [
    (torch.optim.SGD, {"lr": 0.2, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    (torch.optim.Adam, {"lr": 0.01}),
]


def steps(model, own, times=4):
    x = X.to(next(model.parameters()).dtype)

    def closure():
        own.zero_grad()
        loss = F.cross_entropy(model(x), Y)
        loss.backward()
        return loss

    return [own.step(closure) for _ in range(times)]


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(("base", "options"), BASES)
def test_any_base_takes_the_descent_and_groups_have_radii(base, options, adaptive):
    one, two = network().double(), network().double()

    def groups(model):
        return [{"params": model[0].parameters(), "rho": 0.3}, {"params": model[2].parameters(), "lr": 0.05}]

    own = artifact.optim.SAM(groups(one), base, rho=0.1, adaptive=adaptive, **options)
    reference = Reference(groups(two), base, 0.1, adaptive, **options)
    steps(one, own)
    steps(two, reference)
    assert torch.allclose(flat(one), flat(two), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["SAM", "ASAM", "LESAM"])
@pytest.mark.parametrize(("base", "options"), BASES)
def test_a_stored_optimiser_goes_on_with_the_same_bits(name, base, options, tmp_path):
    model = network()
    own = optimiser(name, model, base_optimizer=base, rho=0.4, **options)
    for _ in range(2):
        if name == "LESAM":
            own.receive()
        steps(model, own, 2)
    torch.save({"model": model.state_dict(), "own": own.state_dict()}, tmp_path / "kept.pt")
    steps(model, own)
    again = network()
    other = optimiser(name, again, base_optimizer=base)
    kept = torch.load(tmp_path / "kept.pt")
    again.load_state_dict(kept["model"])
    other.load_state_dict(kept["own"])
    assert other.rho == 0.4 and other.param_groups[0]["lr"] == options["lr"]
    steps(again, other)
    assert torch.equal(flat(model), flat(again))


def test_the_radius_is_read_from_the_groups_at_every_step():
    p, q = (nn.Parameter(torch.tensor([v])) for v in (3.0, 4.0))  # gradients (3, 4), norm 5
    own = artifact.optim.SAM([{"params": [p]}, {"params": [q], "rho": 0.0}], rho=1.0, lr=0.1)

    def moved():
        own.zero_grad()
        ((p**2 + q**2) / 2).sum().backward()
        own.first_step()
        found = [p.item() - 3, q.item() - 4]
        own._restore()
        return pytest.approx(found, abs=1e-6)

    assert moved() == [0.6, 0.0]
    own.param_groups[1]["rho"] = 2.0
    assert moved() == [0.6, 1.6]
    own.rho = 0.5
    assert moved() == [0.3, 0.4]
    own.param_groups[0]["rho"] = -1.0
    with pytest.raises(UserError, match="rho"):
        moved()


@pytest.mark.parametrize("name", ["SAM", "ASAM", "LESAM"])
def test_a_group_may_come_later_and_schedulers_do_not_warn(name, recwarn):
    model = network()
    first, second = model[0], model[2]
    own = optimiser(name, first, lr=0.1, rho=0.1)
    own.add_param_group({"params": list(second.named_parameters() if name == "ASAM" else second.parameters())})
    scheduler = torch.optim.lr_scheduler.StepLR(own, 1, 0.5)
    before = flat(model)
    for _ in range(2):
        if name == "LESAM":
            own.receive()
        own.zero_grad()
        F.cross_entropy(model(X), Y).backward()
        own.first_step(zero_grad=True)
        F.cross_entropy(model(X), Y).backward()
        own.second_step(zero_grad=True)
        scheduler.step()
    assert own.param_groups[1]["lr"] == 0.025 and own.base_optimizer.param_groups[1]["lr"] == 0.025
    assert not torch.equal(flat(model), before)
    assert not [str(w.message) for w in recwarn if "scheduler" in str(w.message)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"momentun": 0.9}, "momentun"),
        ({"base_optimizer": torch.optim.AdamW, "momentum": 0.9}, "AdamW"),
        ({"lr": -1.0}, "lr"),
        ({"base_optimizer": "sgd"}, "a class"),
    ],
)
def test_options_that_the_base_does_not_have_are_refused(arguments, told):
    with pytest.raises(UserError, match=told):
        artifact.optim.SAM(network().parameters(), **arguments)


def test_groups_are_checked():
    model = network()
    with pytest.raises(UserError, match="typo"):
        artifact.optim.SAM([{"params": model.parameters(), "typo": 1}])
    with pytest.raises(UserError, match="lr"):
        artifact.optim.SAM([{"params": model.parameters(), "lr": -1.0}])
    with pytest.raises(UserError, match="names"):
        artifact.optim.ASAM(model.parameters())


@pytest.mark.parametrize("name", ["SAM", "ASAM", "LESAM"])
def test_sparse_gradients_are_those_of_a_dense_embedding(name):
    found = []
    for sparse in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(12, 4, sparse=sparse), nn.Flatten(), nn.Linear(12, 3))
        x, own = torch.arange(24).view(8, 3) % 12, optimiser(name, model, lr=0.1, rho=0.1)
        if name == "LESAM":
            own.receive()
        own.step(lambda: (own.zero_grad(), F.cross_entropy(model(x), Y[:8]).backward()))  # noqa: B023
        found.append(flat(model))
    assert torch.allclose(*found)


@pytest.mark.parametrize("path", ["head", "weight_head", "reweighting"])
def test_the_last_part_of_a_name_says_what_a_weight_is(path):
    """w = 2, b = 1, eta = 0.2: the metric is 2.2 on the weight and 1 on the bias."""
    model, line = nn.Module(), nn.Linear(1, 1)
    line.weight.data.fill_(2.0)
    line.bias.data.fill_(1.0)
    setattr(model, path, line)
    own = artifact.optim.ASAM(model.named_parameters(), rho=1.0, eta=0.2)
    line(torch.tensor([[3.0]])).sum().backward()  # gradients 3 and 1
    own.first_step()
    T, g = torch.tensor([2.2, 1.0]), torch.tensor([3.0, 1.0])
    assert torch.allclose(flat(line) - torch.tensor([2.0, 1.0]), T * T * g / (T * g).norm(), atol=1e-6)


def test_counters_and_cumulative_means_move_once_where_the_model_is_known():
    model = nn.Sequential(nn.BatchNorm1d(6, momentum=None), nn.Linear(6, 3))
    own = artifact.optim.SAM(model.parameters(), rho=0.1, lr=0.1, model=model)
    for k in range(3):
        own.step(lambda: (own.zero_grad(), F.cross_entropy(model(X + k), Y).backward()))  # noqa: B023
    assert model[0].num_batches_tracked.item() == 3
    assert torch.allclose(model[0].running_mean, (X + 1).mean(0), atol=1e-5)
