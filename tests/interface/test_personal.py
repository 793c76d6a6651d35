"""Personal parameters: FedPer by hand, bits on resume, and every method beside them."""

import pytest
import torch
from torch import nn

import artifact
from artifact import algorithms
from artifact.base.errors import UserError
from artifact.interface.privacy import leaves

SETTING = {"rounds": 3, "lr": 0.1, "batch_size": 100, "dtype": "float64", "local_epochs": 2}
#: methods that need a gradient over all of a client's data, or a map of its inputs
REFUSED = {"fedrobust", "globalfedsam", "globalfedsam-norm", "mimelite"}
REFUSED |= {name for name in algorithms.ALGORITHMS if "signed" in name}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def clients():
    """Of unequal size, and every second one with the labels exchanged: one head cannot fit all."""
    x = torch.randn(90, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = (x[:, 0] > 0).long()
    return [(x[:20], y[:20]), (x[20:50], 1 - y[20:50]), (x[50:], y[50:])]


def by_hand(rho=0.0, weight_decay=0.0, momentum=0.0):
    """FedPer with SAM on the body, full batches."""
    server, heads = network().double(), {}
    for _ in range(SETTING["rounds"]):
        bodies = []
        for i, (x, y) in enumerate(clients()):
            model = network().double()
            model[0].load_state_dict(server[0].state_dict())
            model[2].load_state_dict(heads.get(i, server[2].state_dict()))
            kept = [torch.zeros_like(p) for p in model.parameters()]
            for _ in range(SETTING["local_epochs"]):
                body = list(model[0].parameters())
                g = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), body)
                length = torch.sqrt(sum(one.square().sum() for one in g))
                with torch.no_grad():
                    shifts = [rho * one / length for one in g]
                    for p, e in zip(body, shifts, strict=True):
                        p.add_(e)
                g = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), list(model.parameters()))
                with torch.no_grad():
                    for p, e in zip(body, shifts, strict=True):
                        p.sub_(e)
                    for p, one, buffer in zip(model.parameters(), g, kept, strict=True):
                        buffer.mul_(momentum).add_(one + weight_decay * p)
                        p.sub_(SETTING["lr"] * buffer)
            bodies.append([p.detach().clone() for p in model[0].parameters()])
            heads[i] = {name: value.clone() for name, value in model[2].state_dict().items()}
        with torch.no_grad():
            for p, *own in zip(server[0].parameters(), *bodies, strict=True):
                p.copy_(torch.stack(own).mean(0))
    return server, heads


@pytest.mark.parametrize(
    ("method", "rho", "options"),
    [
        ("fedavg", 0.0, {}),
        ("fedavg", 0.0, {"weight_decay": 0.1, "optimiser": "momentum", "momentum": 0.5}),
        ("fedsam", 0.2, {}),
    ],
)
def test_a_personal_head_is_fedper_by_hand(method, rho, options):
    given = {"rho": rho} if rho else {}
    run = artifact.train(network(), clients(), personal="2", method=method, **SETTING, **given, **options)
    server, heads = by_hand(rho, options.get("weight_decay", 0.0), options.get("momentum", 0.0))
    assert torch.allclose(run.model[0].weight.double(), server[0].weight, atol=1e-6)
    assert torch.equal(run.model[2].weight, network()[2].weight)
    for i in range(3):
        own = run.client_model(i)
        assert torch.equal(own[0].weight, run.model[0].weight)
        assert torch.allclose(own[2].weight.double(), heads[i]["weight"], atol=1e-6)
    assert not torch.allclose(run.client_model(0)[2].weight, run.client_model(1)[2].weight, atol=1e-2)


def test_each_client_is_tested_with_its_own_head():
    data = clients()
    setting = SETTING | {"rounds": 30, "lr": 0.5}
    run = artifact.train(network(), data, personal=["2.*"], client_tests=data, **setting)
    row = run.metrics[-1]
    for i, (x, y) in enumerate(data):
        output = run.client_model(i).double()(x)
        assert row["per_client"][i]["accuracy"] == pytest.approx((output.argmax(1) == y).double().mean().item())
        assert row["per_client"][i]["loss"] == pytest.approx(nn.functional.cross_entropy(output, y).item(), rel=1e-5)
    assert row["accuracy"] == pytest.approx(sum(one["accuracy"] for one in row["per_client"]) / 3)
    common = artifact.train(network(), data, client_tests=data, **setting).metrics[-1]["per_client"]
    assert row["accuracy"] > 0.2 + sum(one["accuracy"] for one in common) / 3
    assert row["up"] == row["down"] == pytest.approx(30 / 44)


@pytest.mark.parametrize("method", [name for name in algorithms.ALGORITHMS if name not in REFUSED])
def test_every_method_leaves_personal_parameters_at_home(method, tmp_path):
    """Clients that sit out keep theirs, and a training that was stopped goes on with its bits."""
    setting = SETTING | {"batch_size": 16, "cohort": 2, "seed": 1, "method": method, "personal": "2"}
    whole = artifact.train(network(), clients(), **setting)
    artifact.train(network(), clients(), out=tmp_path, **setting | {"rounds": 1})
    again = artifact.train(network(), clients(), out=tmp_path, resume=True, **setting)
    assert torch.equal(whole.model[2].weight, network()[2].weight)
    for i in range(3):
        for one, other in zip(whole.client_model(i).parameters(), again.client_model(i).parameters(), strict=True):
            assert torch.isfinite(one).all() and torch.equal(one, other)
    saved = torch.load(tmp_path / "personal.pt", weights_only=True)
    assert torch.equal(saved[0]["2.weight"].float(), whole.client_model(0)[2].weight)


def test_batchnorm_may_stay_at_home():
    """FedBN: scales and running statistics are each client's; nothing of them is averaged."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
    run = artifact.train(model, clients(), personal="1", method="fedsmoo", **SETTING)
    assert torch.equal(run.model[1].running_mean, model[1].running_mean)
    means = [run.client_model(i)[1].running_mean for i in range(3)]
    assert not torch.allclose(means[0], means[1], atol=1e-3)
    x = clients()[0][0]
    alone = artifact.train(model, clients()[:1] * 2, personal="1", **SETTING | {"rounds": 1, "local_epochs": 1})
    hidden = model.double()[0](x)
    assert torch.allclose(alone.client_model(0)[1].running_mean.double(), 0.1 * hidden.mean(0), atol=1e-5)


def test_personal_and_trained_alone_go_together():
    run = artifact.train(network(), clients(), train_only=["0.bias", "2"], personal="2.bias", **SETTING)
    assert torch.equal(run.model[0].weight, network()[0].weight)
    assert not torch.equal(run.model[0].bias, network()[0].bias)
    assert not torch.equal(run.client_model(1)[2].bias, run.model[2].bias)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"personal": "haed"},
            "personal: 'haed' .*allowed: names of trained parameters, with *, such as 0.w",
        ),
        ({"personal": "*"}, "names that leave a parameter to share"),
        ({"personal": "2", "train_only": "0"}, "personal: '2' is not possible; allowed: names of trained parameters"),
        ({"personal": "2", "workers": 2}, "workers: 2 is not possible; allowed: 1 with personal"),
        ({"personal": "2", "client_tests": []}, None),
        (
            {"personal": "2", "method": "globalfedsam"},
            "method: 'globalfedsam' .*allowed: a method without",
        ),
        ({"personal": "2", "method": "fedrobust"}, "personal: 'fedrobust' is not possible"),
    ],
)
def test_what_cannot_be_personal_is_one_line(options, said):
    if said is None:
        assert artifact.train(network(), clients(), **SETTING | options).metrics
        return
    with pytest.raises(UserError, match=said.replace("with *", r"with \*")):
        artifact.train(network(), clients(), **SETTING | options)


def test_personal_parameters_are_never_clipped_or_noised():
    assert leaves("fedavg").sent == 1
    setting = SETTING | {"personal": "2", "update_clip": 1e-9}
    run = artifact.train(network(), clients(), **setting)
    assert torch.allclose(run.model[0].weight, network()[0].weight, atol=1e-7)
    assert not torch.allclose(run.client_model(0)[2].weight, network()[2].weight, atol=1e-3)
