"""Networks of the libraries that people bring train as they are, twice to the same bits, and have a curvature."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import artifact
from artifact.curvature import EmpiricalRisk, top_eigenvalues
from artifact.models.calls import logits

METHODS = {"fedavg": {}, "fedsam": {"rho": 0.05}, "fedsmoo": {"rho": 0.05}, "fedlesam": {"rho": 0.05}}
Y = torch.arange(16) % 3


class Sentences(torch.utils.data.Dataset):
    """Dicts as of Hugging Face's ``datasets``, of unequal length."""

    def __init__(self, first):
        self.lengths = [3 + (first + i) % 4 for i in range(8)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        n = self.lengths[i]
        return {"input_ids": torch.arange(1, 1 + n), "attention_mask": torch.ones(n, dtype=torch.long), "labels": n % 3}


def padded(samples):
    parts = {
        name: nn.utils.rnn.pad_sequence([s[name] for s in samples], batch_first=True)
        for name in ("input_ids", "attention_mask")
    }
    return {**parts, "labels": torch.tensor([s["labels"] for s in samples])}


def bert():
    transformers = pytest.importorskip("transformers")
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=20, num_labels=3, **size)
    clients = [Sentences(0), Sentences(2)]
    return transformers.BertForSequenceClassification(config), clients, {"collate_fn": padded, "test": Sentences(1)}


def images(size):
    x = torch.randn(16, 3, size, size, generator=torch.Generator().manual_seed(0))
    return [(x[:8], Y[:8]), (x[8:], Y[8:])], {"test": (x, Y)}


def vit():
    timm = pytest.importorskip("timm")
    size = {"img_size": 8, "patch_size": 4, "embed_dim": 16, "depth": 2, "num_heads": 2, "num_classes": 3}
    model = timm.models.vision_transformer.VisionTransformer(**size, drop_path_rate=0.3, proj_drop_rate=0.1)
    return model, *images(8)


def resnet():
    torchvision = pytest.importorskip("torchvision")
    model = torchvision.models.resnet.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=3)
    model.layer3, model.layer4, model.fc = nn.Identity(), nn.Identity(), nn.Linear(128, 3)  # 0.3 of 4.9 million numbers
    return model, *images(8)


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 6, 2, dropout=0.3, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def lstm():
    x = torch.randn(16, 5, 4, generator=torch.Generator().manual_seed(0))
    return Last(), [(x[:8], Y[:8]), (x[8:], Y[8:])], {"test": (x, Y)}


@pytest.mark.parametrize("make", [bert, vit, resnet, lstm])
def test_networks_of_other_libraries_train_twice_to_the_same_bits(make):
    torch.manual_seed(0)
    model, clients, options = make()
    for method, own in METHODS.items():
        runs = []
        for elsewhere in (1, 2):
            torch.manual_seed(elsewhere)
            setting = {"rounds": 2, "batch_size": 4, "lr": 0.05} | own | options
            runs.append(artifact.train(model, clients, method=method, **setting))
        first, second = (run.model.state_dict() for run in runs)
        assert all(torch.equal(first[name], second[name]) for name in first), method
        assert runs[0].metrics == runs[1].metrics
        assert any(not torch.equal(first[name], value) for name, value in model.state_dict().items())
        assert "accuracy" in runs[0].metrics[-1]


def called(model, inputs):
    return logits(model(**inputs) if isinstance(inputs, dict) else model(inputs))


def power_iteration(model, batches, shift, steps=300):
    """Rayleigh quotient of H after power iteration on H + shift, by plain double backward passes of all samples."""
    own = [p for p in model.parameters() if p.requires_grad]
    total, slopes = sum(len(y) for _, y in batches), []
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        for inputs, y in batches:
            loss = nn.functional.cross_entropy(called(model, inputs), y, reduction="sum") / total
            slopes.append(torch.autograd.grad(loss, own, create_graph=True, materialize_grads=True))
    draw = torch.Generator().manual_seed(5)
    v = [torch.randn(p.shape, generator=draw, dtype=p.dtype) for p in own]
    value, last = 0.0, float("inf")
    for _ in range(steps):
        length = torch.stack([one.norm() for one in v]).norm()
        v = [one / length for one in v]
        parts = [torch.autograd.grad(s, own, v, retain_graph=True, materialize_grads=True) for s in slopes]
        product = [sum(column) for column in zip(*parts, strict=True)]
        value = float(sum((one * other).sum() for one, other in zip(v, product, strict=True)))
        if abs(value - last) < 1e-7 * abs(value):
            break
        last, v = value, [new + shift * one for new, one in zip(product, v, strict=True)]
    return value


@pytest.mark.parametrize("make", [bert, vit, resnet, lstm])
def test_top_eigenvalues_agree_with_an_independent_power_iteration(make):
    """BERT's batches differ in length, a dict each; the ResNet normalises with the statistics of a training."""
    torch.manual_seed(0)
    model, clients, options = make()
    trained = artifact.train(model, clients, rounds=2, batch_size=4, lr=0.05, **options).model.double()
    if make is bert:
        batches = [padded([dataset[i] for i in part]) for dataset in clients for part in (range(5), range(5, 8))]
        risk = EmpiricalRisk.from_loader(trained, None, batches)
        pairs = [({k: v for k, v in b.items() if k != "labels"}, b["labels"]) for b in batches]
    else:
        x, y = (torch.cat(parts) for parts in zip(*clients, strict=True))
        risk = EmpiricalRisk(trained, None, (x.double(), y), batch=5)
        pairs = [(x.double(), y)]
    found = top_eigenvalues(risk, risk.weights, k=1, tol=1e-4)
    assert found.converged.all()
    lowest = float(top_eigenvalues(risk, risk.weights, k=1, which="SA", tol=0.05).values[0])
    again = power_iteration(trained, pairs, shift=max(0.0, -lowest / 2))
    assert again == pytest.approx(float(found.values[0]), rel=1e-3)
