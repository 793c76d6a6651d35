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
