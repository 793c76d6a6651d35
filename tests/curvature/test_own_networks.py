"""Curvature of networks and losses as people bring them: attention, dicts, frozen parts, weights of classes."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from artifact import curvature
from artifact.base.errors import UserError
from artifact.looseness import bounds

DOUBLE = torch.float64


class Attends(nn.Module):
    """Tokens and a mask as keywords, attention of one of three kinds, and ``logits`` in a dict."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.embed, self.head = kind, nn.Embedding(9, 4), nn.Linear(4, 3)
        if kind == "layer":
            self.mix = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.3, batch_first=True)
        elif kind == "heads":
            self.mix = nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True)

    def forward(self, ids, mask):
        h = self.embed(ids)
        if self.kind == "layer":
            h = self.mix(h, src_key_padding_mask=mask)
        elif self.kind == "heads":
            h = h + self.mix(h, h, h, key_padding_mask=mask)[0]
        else:
            h = h + F.scaled_dot_product_attention(h, h, h, attn_mask=~mask[:, None])
        return {"logits": self.head(h.mean(1))}


def tokens(samples=12):
    draw = torch.Generator().manual_seed(3)
    ids = torch.randint(9, (samples, 4), generator=draw)
    mask = torch.arange(4)[None] >= torch.randint(2, 5, (samples, 1), generator=draw)
    return {"ids": ids, "mask": mask}, torch.arange(samples) % 3


def by_hand(model, mean, names=None):
    """Hessian of ``mean(outputs)`` in the named parameters, by autograd of the formula."""
    own = {n: p.detach().to(DOUBLE) for n, p in model.named_parameters()}
    names = list(own) if names is None else names

    def loss(w):
        parts = w.split([own[n].numel() for n in names])
        return mean(own | {n: part.view_as(own[n]) for n, part in zip(names, parts, strict=True)})

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.autograd.functional.hessian(loss, torch.cat([own[n].flatten() for n in names]))


@pytest.mark.parametrize("kind", ["layer", "heads", "function"])
def test_attention_with_a_dict_of_inputs_has_the_hessian_of_its_formula(kind):
    torch.manual_seed(0)
    model = Attends(kind).eval()
    inputs, y = tokens()

    def mean(state):
        return F.cross_entropy(torch.func.functional_call(model, state, (), inputs)["logits"], y)

    risk = curvature.EmpiricalRisk(model, None, (inputs, y), batch=5)
    dense = by_hand(model, mean)
    assert torch.allclose(curvature.dense_hessian(risk, risk.weights.double()), dense, atol=1e-10)
    top = curvature.top_eigenvalues(risk, risk.weights.double(), k=1)
    assert float(top.values[0]) == pytest.approx(float(torch.linalg.eigvalsh(dense)[-1]), rel=1e-6)
    assert not model.training
    assert torch.backends.mha.get_fastpath_enabled()
    shares = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
    assert shares == (True, True), "the kernels that were allowed before are allowed again"


def test_batches_may_be_dicts_of_unequal_length():
    torch.manual_seed(0)
    model = Attends("layer").eval()
    (inputs, y), (more, z) = tokens(6), tokens(4)
    short = {name: value[:, :3] for name, value in more.items()}
    batches = [inputs | {"labels": y}, short | {"labels": z}]
    risk = curvature.EmpiricalRisk.from_loader(model, None, batches)
    parts = [
        F.cross_entropy(model(**one)["logits"], labels, reduction="sum") for one, labels in ((inputs, y), (short, z))
    ]
    assert len(risk) == 10
    assert float(risk(risk.weights)) == pytest.approx(sum(part.item() for part in parts) / 10, rel=1e-6)


class Takes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(2, 3)

    def forward(self, pair):
        return torch.tanh(self.a(pair[0])) + self.b(pair[1])


def test_a_tuple_of_inputs():
    torch.manual_seed(0)
    model, x, y = Takes(), (torch.randn(9, 3), torch.randn(9, 2)), torch.arange(9) % 3
    risk = curvature.EmpiricalRisk(model, None, (x, y), batch=4)
    assert float(risk(risk.weights)) == pytest.approx(float(F.cross_entropy(model(x), y)), rel=1e-6)
    assert len(risk.subset([1, 5])) == 2
    assert bounds(model, None, (x, y), power=False).layers[0].squared_norm == pytest.approx(
        float(x[0].square().sum()) / 9, rel=1e-6
    )


WEIGHTS = torch.tensor([5.0, 1.0, 0.2])
LOSSES = {
    "weighted": nn.CrossEntropyLoss(weight=WEIGHTS),
    "partial": partial(F.cross_entropy, weight=WEIGHTS, label_smoothing=0.1),
    "ignoring": nn.CrossEntropyLoss(ignore_index=2),
    "both": nn.CrossEntropyLoss(weight=WEIGHTS, ignore_index=1),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_weighted_or_ignoring_mean_is_that_of_all_samples_at_once(name):
    torch.manual_seed(0)
    loss, model = LOSSES[name], nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    x, y = torch.randn(23, 4), torch.tensor([0] * 9 + [1] * 8 + [2] * 6)  # batches of one class each
    risk = curvature.EmpiricalRisk(model, loss, (x, y), batch=4)
    whole = curvature.EmpiricalRisk(model, loss, (x, y), batch=23)
    w = risk.weights.double()
    assert float(risk(w)) == pytest.approx(float(loss(model(x), y)), rel=1e-5)
    v = torch.randn(2, len(w), dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(risk.gradient(w), whole.gradient(w), atol=1e-12)
    for cut, at_once in ((risk, whole), (curvature.GaussNewton(risk), curvature.GaussNewton(whole))):
        assert torch.allclose(cut.hvp(w, v), at_once.hvp(w, v), atol=1e-12)
    cut, at_once = (bounds(r, power=False, w=w) for r in (risk, whole))
    assert cut.layers[0].bounds["sample"] == pytest.approx(at_once.layers[0].bounds["sample"], rel=1e-8)
    assert not cut.violated


def test_a_loss_that_is_no_mean_over_samples_is_refused_with_the_remedy():
    model, x, y = nn.Linear(3, 1), torch.randn(20, 3), torch.arange(20.0)[:, None]

    def own(z, y):
        return (y * (z - y) ** 2).sum() / y.sum()

    risk = curvature.EmpiricalRisk(model, own, (x, y), batch=8)
    with pytest.raises(UserError, match=r"loss: .* batch=, the number of samples, for one pass over all"):
        risk(risk.weights)
    whole = curvature.EmpiricalRisk(model, own, (x, y), batch=20)
    assert float(whole(whole.weights)) == pytest.approx(float(own(model(x), y)))


def test_a_choice_of_parameters_is_the_block_of_these_and_said():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    model[0].requires_grad_(False)
    x, y = torch.randn(30, 4), torch.arange(30) % 3
    make = partial(curvature.EmpiricalRisk, model, None, (x, y))

    def mean(state):
        return F.cross_entropy(torch.func.functional_call(model, state, (x.double(),)), y)

    for asked, names, said in (
        ("trainable", ["2.weight", "2.bias"], "21 of 51 parameters (trainable ones)"),
        ("all", None, "all 51 parameters"),
        (["0.*"], ["0.weight", "0.bias"], "30 of 51 parameters (0.*)"),
    ):
        risk = make(parameters=asked)
        dense = by_hand(model, mean, names)
        assert torch.allclose(curvature.dense_hessian(risk, risk.weights.double()), dense, atol=1e-12)
        assert risk.measured == said
    assert make().measured == make(parameters="trainable").measured
    assert "21 of 51 parameters (trainable ones)" in str(bounds(model, None, (x, y)))
    assert [layer.name for layer in bounds(model, None, (x, y), parameters=["0.*"]).layers] == ["0"]
    with pytest.raises(UserError, match=r"parameters: 'head.*' .* such as 0.weight"):
        make(parameters=["head.*"])


class Hidden(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 4, **options), nn.Linear(4, 3)

    def forward(self, ids):
        return self.head(F.hardsigmoid(self.embed(ids)))


def test_sparse_gradients_and_hardsigmoid_have_second_derivatives():
    torch.manual_seed(0)
    sparse, ids, y = Hidden(sparse=True), torch.arange(15) % 5, torch.arange(15) % 3
    dense = Hidden()
    dense.load_state_dict(sparse.state_dict())
    H = [
        curvature.dense_hessian(risk := curvature.EmpiricalRisk(model, None, (ids, y)), risk.weights.double())
        for model in (sparse, dense)
    ]
    assert torch.equal(*H)

    def mean(state):
        h = F.relu6(F.embedding(ids, state["embed.weight"]) + 3) / 6
        return F.cross_entropy(h @ state["head.weight"].T + state["head.bias"], y)

    assert torch.allclose(H[0], by_hand(sparse, mean), atol=1e-12)
    risk = curvature.EmpiricalRisk(sparse, None, (ids, y))
    assert torch.allclose(
        risk.gradient(risk.weights), curvature.EmpiricalRisk(dense, None, (ids, y)).gradient(risk.weights)
    )


class Once(nn.Module):
    """An operation of which torch knows the first derivative alone."""

    def forward(self, x):
        return torch.ops.aten.hardsigmoid(x)


def test_what_has_no_second_derivative_is_one_line():
    with pytest.raises(UserError, match="embedding without max_norm"):
        curvature.EmpiricalRisk(Hidden(max_norm=1.0), None, (torch.arange(5), torch.arange(5) % 3))

    net = nn.Sequential(nn.Linear(3, 4), Once())
    risk = curvature.EmpiricalRisk(net, None, (torch.randn(4, 3), torch.arange(4) % 4))
    with pytest.raises(UserError, match=r"model: 'aten::hardsigmoid_backward' .* write this one out by simpler ones"):
        curvature.top_eigenvalues(risk, risk.weights)


def test_gauss_newton_is_the_matrix_of_its_definition_and_a_public_operator():
    """J^T H_z J with J and H_z whole; of the cross-entropy it is the mean of the outer products of sampled slopes."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    x, y = torch.randn(7, 3, dtype=DOUBLE), torch.arange(7) % 3
    risk = curvature.EmpiricalRisk(model, None, (x, y), batch=3)
    w = risk.weights
    J = torch.autograd.functional.jacobian(lambda v: risk.outputs(v, x), w)  # [7, 3, P]
    p = model(x).softmax(1).detach()
    H = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    expected = torch.einsum("bcp,bcd,bdq->pq", J, H, J) / 7
    G = curvature.GaussNewton(risk)
    assert torch.allclose(G.hvp(w, torch.eye(len(w), dtype=DOUBLE)), expected, atol=1e-12)
    assert torch.allclose(G.hvp(w, w), expected @ w, atol=1e-12)
    top = curvature.top_eigenvalues(G, w, k=2)
    assert torch.allclose(top.values, torch.linalg.eigvalsh(expected)[-2:].flip(0), rtol=1e-6)
    assert float(torch.linalg.eigvalsh(expected)[0]) > -1e-12


def test_input_of_attentions_output_projection_is_measured():
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    net = nn.Sequential(model, nn.Flatten(), nn.Linear(40, 3))
    x, y = torch.randn(12, 5, 8), torch.arange(12) % 3
    a = model.self_attn
    q, k, v = F.linear(x, a.in_proj_weight, a.in_proj_bias).chunk(3, -1)
    parts = [z.view(12, 5, 2, 4).transpose(1, 2) for z in (q, k, v)]
    mixed = F.scaled_dot_product_attention(*parts)
    risk = curvature.EmpiricalRisk(net, None, (x, y))
    by_layer = {layer.name: layer.squared_norm for layer in curvature.layer_curvature(risk, risk.weights)}
    expected = float(mixed.square().sum()) / 12
    assert by_layer["0.self_attn.out_proj"] == pytest.approx(expected, rel=1e-5)
    report = bounds(net, None, (x, y), power=False)
    assert report.layers[0].squared_norm == pytest.approx(expected, rel=1e-5)
    assert "outside the calls" in report.layers[0].why
