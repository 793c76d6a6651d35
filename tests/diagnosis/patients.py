"""Patients for the doctor: clients that compute a method of the engine on a torch module, as an author's code would."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from artifact.algorithms.cohort import Cohort, Context
from artifact.base.flat import Layout, parameters


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def put(model, w):
    with torch.no_grad():
        nn.utils.vector_to_parameters(w.clone(), model.parameters())


class Gradient:
    """G of one minibatch, by passes through the module, W [1, P]; BatchNorm moves at the first one alone."""

    def __init__(self, model, x, y):
        self.model, self.x, self.y, self.calls = model, x, y, 0

    def __call__(self, W):
        return self._at(W, self.x)[0]

    def affine(self, W, Lambda, delta):
        L, d = Lambda[0].detach().requires_grad_(), delta[0].detach().requires_grad_()
        return self._at(W, torch.einsum("ij,bj->bi", L, self.x) + d, L, d)

    def _at(self, W, x, *more):
        put(self.model, W[0])
        layers = [m for m in self.model.modules() if isinstance(m, nn.BatchNorm1d)] if self.calls else []
        before = [layer.momentum for layer in layers]
        for layer in layers:
            layer.momentum = 0.0
        loss = F.cross_entropy(self.model(x), self.y)
        for layer, momentum in zip(layers, before, strict=True):
            layer.momentum = momentum
        self.calls += 1
        own = list(self.model.parameters())
        found = torch.autograd.grad(loss, [*own, *more])
        return torch.cat([g.flatten() for g in found[: len(own)]])[None], *(g[None] for g in found[len(own) :])


def client_of(method, weight_decay=0.0, clip=None, forgets=False, sizes=(48, 48), steps=3):
    """Client 0 of two, with state of its own, and what the doctor sends in place of the server's.

    forgets: the state is lost after every round.
    """
    memory = {}

    def client(model, batches, sent):
        w = flat(model)
        if not memory or forgets:
            memory.update(state=method.init(w, 2))
        state = memory["state"]
        for name in ("c", "s", "momentum", "g"):  # what this server sends
            if name in sent and name in state:
                state[name] = sent[name]
        if "w_previous" in state and sent["update"] is not None:
            state["w_previous"] = w - sent["update"]
        N = w.new_tensor([[n] for n in sizes])
        C = Cohort(
            clients=torch.tensor([0]), sizes=N[:1], K=w.new_full((1, 1), steps), m=2, t=sent["round"], lr=sent["lr"],
            first_lr=sent["lr"], layout=Layout.of(parameters(model)), full_gradient=lambda v: v[None] * 0,
            relative_size=N[:1] / N.mean(), K_first=steps, K_mean=steps,
            input_channels=next(model.parameters()).shape[1],
        )  # fmt: skip
        begun = method.begin(state, w, C)
        if "r" in sent:
            begun["r"] = w.new_tensor([[sent["r"]]])
        c = Context(w, sent["lr"], **begun)
        c.weight_decay, c.clip, c.clip_total = weight_decay, clip, method.clip_total
        W = w[None]
        for k, (x, y) in enumerate(batches):
            c.k = k
            W = method.step(W, Gradient(model, x, y), c)
            put(model, W[0])
        method.finish(state, c, w, W, C)

    return client
