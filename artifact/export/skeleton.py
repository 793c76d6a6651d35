"""What surrounds a method in an exported file: cohort, context, gradients, rounds. torch is all that it needs.

``write.py`` takes from this file what a method uses and drops the rest. Names in capitals are constants of the method.
A network with BatchNorm needs one more line, since running statistics are averaged here by nobody.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

CLIP_TOTAL = PENALTY_INSIDE_CLIP = EQUAL_STEPS = False
CLIP: float | None = None
ZETA = 0.0
Method: Any = None
clip: Any = None


def rows(m, w):
    return torch.zeros(m, len(w), dtype=w.dtype)  # client state [m, P]


@dataclass
class Setting:
    """The federated run around the method."""

    rounds: int = 20
    cohort: int = 4
    epochs: int = 2
    batch: int = 16
    lr: float = 0.1
    lr_decay: float = 1.0
    weight_decay: float = 0.0
    clip: float | None = CLIP
    seed: int = 0

    def steps(self, samples):
        return self.epochs * math.ceil(samples / self.batch)  # of a client with so many samples


class Layout:
    """Where the tensors of a model lie in its flat vector."""

    def __init__(self, model):
        self.names = [name for name, _ in model.named_parameters()]
        self.sizes = [p.numel() for p in model.parameters()]

    def slices(self):
        ends = itertools.accumulate(self.sizes)
        return [(name, slice(end - n, end)) for name, n, end in zip(self.names, self.sizes, ends, strict=True)]


class Cohort(SimpleNamespace):
    """The S active clients of a round, and how the server adds up what they send."""

    def sum(self, X, weights=1.0):
        return (weights * X).sum(0)  # [S, P] -> [P]

    def mean(self, X):
        return X.mean(0)  # [S, P] -> [P]


class Context(SimpleNamespace):
    """What clients carry through their local steps: shared entries [P] and rows [S, ...] of their own."""

    def descend(self, W, d, penalty=0.0):
        """w <- w - eta (d + (penalty + weight decay) w)."""
        if PENALTY_INSIDE_CLIP:
            d, penalty = d + penalty * W, 0.0
        if CLIP_TOTAL:
            d = clip(d, self.clip)
        self.applied = d
        return W - self.lr * (d + (penalty + self.weight_decay) * W)


def loss_of(model, x, y):
    return F.cross_entropy(model(x), y)


def loss_of_man(model, x, y):
    """Cross-entropy plus ZETA times the sum over hidden layers of the mean squared activation (MAN)."""
    squares, hidden = [], [module for module in model.modules() if isinstance(module, nn.ReLU)]
    hooks = [m.register_forward_hook(lambda _m, _x, out: squares.append(out.square().mean())) for m in hidden]
    loss = F.cross_entropy(model(x), y)
    for hook in hooks:
        hook.remove()
    return loss + ZETA * sum(squares)


class Gradient:
    """G: W [1, P] -> [1, P], the gradient on one minibatch, the same whenever it is called."""

    def __init__(self, model, x, y):
        self.model, self.x, self.y = model, x, y

    def __call__(self, W):
        torch.nn.utils.vector_to_parameters(W[0], self.model.parameters())
        loss = loss_of(self.model, self.x, self.y)
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(self.model.parameters()))])[None]

    def affine(self, W, Lambda, delta):
        """Gradients in w, Lambda and delta at the inputs Lambda x + delta."""
        torch.nn.utils.vector_to_parameters(W[0], self.model.parameters())
        L, d = Lambda[0].detach().requires_grad_(), delta[0].detach().requires_grad_()
        x = torch.einsum("ij,bj...->bi...", L, self.x) + d.reshape(-1, *[1] * (self.x.dim() - 2))
        loss = loss_of(self.model, x, self.y)
        *own, g_Lambda, g_delta = torch.autograd.grad(loss, [*self.model.parameters(), L, d])
        return torch.cat([g.flatten() for g in own])[None], g_Lambda[None], g_delta[None]


def minibatches(x, y, steps, batch, generator=None):
    """As many as there are steps; every epoch has an order of its own. Without a generator the order stays."""
    while steps > 0:
        order = torch.arange(len(y)) if generator is None else torch.randperm(len(y), generator=generator)
        for part in order.split(batch)[:steps]:
            yield x[part], y[part]
            steps -= 1


def train(method, model, data, setting, cohorts=None, shuffle=True):
    """Yields the server model [P] after every round; ``model`` holds it, too.

    data: (x, y) of every client.  cohorts: the active clients of every round; drawn where it is None.
    """
    generator = torch.Generator().manual_seed(setting.seed)
    w = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    N = w.new_tensor([[len(y)] for _, y in data])  # [m, 1], samples of every client
    state = method.init(w, len(data))
    for t in range(setting.rounds):
        active = cohorts[t] if cohorts else torch.randperm(len(data), generator=generator)[: setting.cohort].tolist()
        C = Cohort(
            clients=torch.tensor(active),
            index=torch.tensor(active),
            m=len(data),
            t=t,
            lr=setting.lr * setting.lr_decay**t,
            first_lr=setting.lr,
            p=N[active] / N[active].sum(),
            relative_size=N[active] / N.mean(),
            K=w.new_tensor([[setting.steps(len(data[i][1]))] for i in active]),
            K_first=setting.epochs * len(data[0][1]) / setting.batch,
            K_mean=setting.steps(N.mean().item()),
            input_channels=data[0][0].shape[1],
            layout=Layout(model),
            full_gradient=lambda v, active=active: torch.cat([Gradient(model, *data[i])(v[None]) for i in active]),
        )
        c = Context(w=w, lr=C.lr, clip=setting.clip, weight_decay=setting.weight_decay, e=None, applied=None)
        vars(c).update(method.begin(state, w, C))
        W, parts = [], []
        for s, i in enumerate(active):
            own = {name: v[s : s + 1] if getattr(v, "ndim", 0) >= 2 else v for name, v in vars(c).items()}
            v, part = w[None], Context(**own)
            steps = C.K_mean if EQUAL_STEPS else setting.steps(len(data[i][1]))
            for k, (x, y) in enumerate(minibatches(*data[i], steps, setting.batch, generator if shuffle else None)):
                part.k = k
                v = method.step(v, Gradient(model, x, y), part)
            W, parts = [*W, v], [*parts, vars(part)]
        rows_left = [name for name, v in parts[0].items() if getattr(v, "ndim", 0) >= 2]
        vars(c).update({name: torch.cat([part[name] for part in parts]) for name in rows_left})
        w = method.finish(state, c, w, torch.cat(W), C)
        torch.nn.utils.vector_to_parameters(w, model.parameters())
        yield w


def main():
    setting, method = Setting(), Method()
    # Put your network and your clients' data here. These are 10 clients, each of which prefers two of four classes.
    torch.manual_seed(setting.seed)
    centres = 1.5 * torch.randn(4, 8)
    data = []
    for i in range(10):
        y = (torch.rand(60) < 0.9) * (i % 4) + (torch.rand(60) < 0.2) * 2
        data.append((centres[y % 4] + torch.randn(60, 8), y % 4))
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    x, y = (torch.cat(parts) for parts in zip(*data, strict=True))
    for t, _ in enumerate(train(method, model, data, setting), 1):
        accuracy = (model(x).argmax(1) == y).float().mean().item()
        print(f"round {t}: accuracy on all clients' data {accuracy:.3f}")


if __name__ == "__main__":
    main()
