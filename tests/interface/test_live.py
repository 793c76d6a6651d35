"""Datasets whose transforms draw: read anew in every step, by (seed, round, client, step)."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import artifact
from artifact.base.errors import UserError
from artifact.base.random import key
from artifact.interface.live import source
from artifact.interface.own_model import forked
from artifact.training.batches import schedule

SETTING = {"rounds": 2, "lr": 0.1, "batch_size": 4, "local_epochs": 2, "seed": 5}
X = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
Y = (X[:, 0] > 0).long()


class Noisy(Dataset):
    """Adds noise by one of three generators, and counts its readings."""

    def __init__(self, part: slice, by: str = "torch"):
        self.x, self.y, self.by, self.read = X[part], Y[part], by, []

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        drawn = {"torch": lambda: torch.rand(1).item(), "numpy": np.random.rand, "python": random.random}[self.by]()
        self.read.append((i, drawn))
        return self.x[i] + drawn, self.y[i]


def network():
    torch.manual_seed(0)
    return nn.Linear(4, 2)


def flat(run):
    return torch.cat([p.detach().flatten() for p in run.model.parameters()])


@pytest.mark.parametrize("by", ["torch", "numpy", "python"])
def test_every_step_reads_its_minibatch_once_with_new_draws(by):
    """Each sample once a step, for both passes of SAM; no draw comes twice; the run repeats and leaves no trace."""
    clients = [Noisy(slice(0, 10), by), Noisy(slice(10, 30), by)]
    torch.manual_seed(1)
    first = flat(artifact.train(network(), clients, method="fedsam", rho=0.1, **SETTING))
    for client in clients:
        n = len(client)
        epochs = client.read[-4 * n :]
        for epoch in range(4):
            assert sorted(i for i, _ in epochs[epoch * n : (epoch + 1) * n]) == list(range(n))
        assert len({drawn for _, drawn in epochs}) == 4 * n
    torch.manual_seed(2)
    random.seed(9)
    anew = [Noisy(slice(0, 10), by), Noisy(slice(10, 30), by)]
    again = flat(artifact.train(network(), anew, method="fedsam", rho=0.1, **SETTING))
    assert torch.equal(first, again)
    other = SETTING | {"seed": 6}
    assert not torch.equal(first, flat(artifact.train(network(), clients, method="fedsam", rho=0.1, **other)))


def test_fedavg_on_transforms_is_the_loop_by_hand():
    data = [Noisy(slice(0, 10)), Noisy(slice(10, 30))]
    server = network()
    for t in range(2):
        found = []
        for i, one in enumerate(data):
            steps = 2 * -(-len(one) // 4)
            plan = schedule([torch.arange(len(one))], [i], 4, [steps], 5, t)
            model = network()
            model.load_state_dict(server.state_dict())
            optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
            for k in range(steps):
                numbers = plan.indices[0, k, : plan.lengths[0][k]].tolist()
                with forked(key(5, "samples", t, i, k)):
                    samples = [one[n] for n in numbers]
                x, y = torch.stack([s[0] for s in samples]), torch.stack([s[1] for s in samples])
                optimiser.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimiser.step()
            found.append(model.state_dict())
        server.load_state_dict({name: (found[0][name] + found[1][name]) / 2 for name in found[0]})
    run = artifact.train(network(), data, **SETTING)
    assert torch.allclose(run.model.weight, server.weight, atol=1e-6)


def test_threads_processes_and_a_pause_change_no_bit(tmp_path):
    clients = [Noisy(slice(0, 10)), Noisy(slice(10, 30))]
    setting = SETTING | {"method": "fedsmoo", "rho": 0.1}
    whole = flat(artifact.train(network(), clients, **setting))
    assert torch.equal(whole, flat(artifact.train(network(), clients, workers=2, **setting)))
    artifact.train(network(), clients, out=tmp_path, **setting | {"rounds": 1})
    assert torch.equal(whole, flat(artifact.train(network(), clients, out=tmp_path, resume=True, **setting)))


def test_a_dataset_that_does_not_draw_keeps_its_bits():
    """Read once, as the tensors themselves; with a client that draws beside it, its own steps stay the same."""
    still = [TensorDataset(X[:10], Y[:10]), TensorDataset(X[10:], Y[10:])]
    assert source(still[0], "data", None, 0, 0)[1] is None
    pairs = [(X[:10], Y[:10]), (X[10:], Y[10:])]
    found = [flat(artifact.train(network(), given, **SETTING)) for given in (still, pairs)]
    assert torch.equal(*found)

    class Own(Noisy):
        generator = np.random.default_rng(0)

        def __getitem__(self, i):
            return self.x[i] + self.generator.random(), self.y[i]

    assert source(Own(slice(0, 10)), "data", None, 0, 0)[1] is not None


class Texts(Dataset):
    """Of unequal length, with words left out at random; the labels are marks of every word."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(3, 9, (12,), generator=generator)
        self.texts = [torch.randint(1, 20, (n,), generator=generator) for n in lengths.tolist()]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        text = self.texts[i]
        kept = text[torch.rand(len(text)) > 0.2] if len(text) > 3 else text
        kept = text[:1] if not len(kept) else kept
        return kept, kept % 3


def padded(samples):
    x = nn.utils.rnn.pad_sequence([x for x, _ in samples], batch_first=True)
    return x, nn.utils.rnn.pad_sequence([y for _, y in samples], batch_first=True, padding_value=-100)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(20, 6, padding_idx=0), nn.Linear(6, 3)
        self.lengths = []

    def forward(self, x):
        return self.out(self.words(x)).transpose(1, 2)


def test_texts_of_unequal_length_are_padded_by_the_minibatch():
    torch.manual_seed(0)
    model, data = Tagger(), [Texts(0), Texts(1)]
    setting = SETTING | {"collate_fn": padded, "rounds": 8, "lr": 1.0, "test": Texts(2)}
    run = artifact.train(model, data, **setting)
    assert run.metrics[-1]["loss"] < 0.7 * run.metrics[0]["loss"]
    loaders = [DataLoader(one, 3, collate_fn=padded) for one in data]
    setting |= {"collate_fn": None, "test": DataLoader(Texts(2), collate_fn=padded)}
    by_loader = artifact.train(model, loaders, **setting)
    assert torch.equal(flat(run), flat(by_loader))


def test_a_comparison_reads_transforms_anew_in_every_step(tmp_path):
    """``compare`` gets the rows that ``train`` gets on the same Datasets; a second ``compare`` finds finished runs."""
    clients, test = [Noisy(slice(0, 10)), Noisy(slice(10, 30))], (X, Y)
    own = {name: value for name, value in SETTING.items() if name != "seed"}
    methods = {"fedavg": {}, "fedsam": {"rho": 0.1}}
    found = artifact.compare(methods, network(), clients, test, seeds=2, out=tmp_path, **own)
    for name, options in (("fedavg", {}), ("fedsam", {"rho": 0.1})):
        for seed in range(2):
            run = artifact.train(network(), clients, test=test, method=name, seed=seed, **options, **own)
            assert [row["loss"] for row in run.metrics] == [row["loss"] for row in found.runs[name][seed]]
    read = [len(client.read) for client in clients]
    again = artifact.compare(methods, network(), clients, test, seeds=2, out=tmp_path, **own)
    assert again.runs == found.runs
    assert [len(client.read) - before for client, before in zip(clients, read, strict=True)] == [10, 20]


def test_what_does_not_go_with_transforms_is_one_line():
    clients = [Noisy(slice(0, 10)), Noisy(slice(10, 30))]
    with pytest.raises(UserError, match=r"fedrobust.*without random transforms"):
        artifact.train(network(), clients, method="fedrobust", **SETTING)
    with pytest.raises(UserError, match=r"backend: 'batched' .* with random transforms"):
        artifact.train(network(), clients, backend="batched", **SETTING)
