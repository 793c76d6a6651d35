"""Sharpness-aware local steps as ``torch.optim`` optimisers, computed by the methods of the engine itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from artifact.algorithms.base import FedAvg
from artifact.algorithms.cohort import Context
from artifact.algorithms.sam import FedASAM, FedSAM
from artifact.base.errors import UserError
from artifact.base.flat import Layout, buffers, unit


class SAM(torch.optim.Optimizer):
    """SGD with the ascent of SAM (Foret et al. 2021), the local step of FedSAM (Qu et al. 2022).

    params: parameters of one device and type; groups may differ in lr and weight_decay.
    lr, weight_decay: as in ``torch.optim.SGD``.  rho: perturbation radius, the L2 norm over all parameters.
    model: the module whose running statistics (BatchNorm) move at the first of the two passes alone.

    With a closure that computes the gradient, ``step`` calls it twice:

        optimiser = artifact.optim.SAM(model.parameters(), lr=0.1, rho=0.05, model=model)
        loss = optimiser.step(closure)

    Without one, ``first_step`` comes between the two passes. Gradients of several minibatches may be accumulated before
    either call. The length of a gradient does not matter to the ascent, so a GradScaler need not unscale the first:

        scaler.scale(loss_of(model)).backward()
        optimiser.first_step(zero_grad=True)
        scaler.scale(loss_of(model)).backward()
        scaler.step(optimiser)
        scaler.update()

    Where the scaler finds an infinite gradient, the weights return to where they were before ``first_step``.
    """

    #: torch's GradScaler calls ``step`` in any case and says by ``found_inf`` and ``grad_scale`` what it has found
    _step_supports_amp_scaling = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.1,
        rho: float = 0.05,
        weight_decay: float = 0.0,
        *,
        model: nn.Module | None = None,
    ):
        for name, value, least in (("lr", lr, 0.0), ("rho", rho, 0.0), ("weight_decay", weight_decay, 0.0)):
            if not least <= value < float("inf"):
                raise UserError(name, value, "a finite number from 0")
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self.method, self.model = self._method(rho), model
        self._before: Tensor | None = None
        self._statistics: dict[str, Tensor] = {}
        kinds = {(p.device, p.dtype) for p in self._parameters()}
        if len(kinds) != 1:
            raise UserError("params", sorted(map(str, kinds)), "parameters of one device and one type")

    def _method(self, rho: float) -> FedAvg:
        return FedSAM(rho=rho)

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _flat(self, gradients: bool) -> Tensor:
        """[1, P]: all parameters, or their gradients; one without a gradient has zeros."""
        own = self._parameters()
        tensors = [torch.zeros_like(p) if p.grad is None else p.grad for p in own] if gradients else own
        return torch.cat([t.detach().flatten() for t in tensors])[None]

    def _write(self, W: Tensor) -> None:
        own = self._parameters()
        for p, values in zip(own, W[0].split([p.numel() for p in own]), strict=True):
            p.copy_(values.view_as(p))

    def _context(self, w: Tensor) -> Context:
        return Context(w, self.param_groups[0]["lr"])

    @torch.no_grad()
    def first_step(self, zero_grad: bool = False) -> None:
        """Move to the perturbed weights; twice in a row, the second call starts where the first one did."""
        self._restore()
        W = self._flat(gradients=False)
        e = self._perturbation(W)
        self._before = W
        self._write(W if e is None else W + e)
        if self.model is not None:
            self._statistics = {name: value.clone() for name, value in buffers(self.model).items()}
        if zero_grad:
            self.zero_grad()

    def _perturbation(self, W: Tensor) -> Tensor | None:
        """[1, P], from the gradients that the parameters hold."""
        g = self._flat(gradients=True)
        return self.method.perturbation(W, lambda _: g, self._context(W[0]))

    @torch.no_grad()
    def second_step(self, zero_grad: bool = False) -> None:
        """Return to the weights before ``first_step`` and descend along the gradient at the perturbed ones."""
        if self._before is None:
            raise UserError("second_step", "called", "first_step before it")
        g, found = self._flat(gradients=True), getattr(self, "found_inf", None)
        scale = getattr(self, "grad_scale", None)
        self._restore()
        if found is None or not bool(found):
            W, parts, start = self._flat(gradients=False), [], 0
            for group in self.param_groups:
                stop = start + sum(p.numel() for p in group["params"])
                c = Context(W[0, start:stop], group["lr"])
                c.weight_decay = group["weight_decay"]
                own = g[:, start:stop].contiguous()
                parts.append(c.descend(W[:, start:stop].contiguous(), own if scale is None else own / scale))
                start = stop
            unused = torch.cat([torch.full((p.numel(),), p.grad is None, device=p.device) for p in self._parameters()])
            self._write(torch.where(unused, W, torch.cat(parts, -1)))
        if zero_grad:
            self.zero_grad()

    def _restore(self) -> None:
        """Weights and running statistics as they were before the perturbation."""
        if self._before is not None:
            self._write(self._before)
            self._before = None
        own = {} if self.model is None else buffers(self.model)
        for name, value in self._statistics.items():
            own[name].copy_(value)
        self._statistics = {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """closure: zeroes the gradients, computes the loss and its gradients; called twice. Returns the first loss.

        Without a closure it is ``second_step``.
        """
        if closure is None:
            return self.second_step()
        with torch.enable_grad():
            loss = closure()
        self.first_step()
        with torch.enable_grad():
            closure()
        self.second_step()
        return loss


class ASAM(SAM):
    """SAM in the metric |w| + eta on weights (Kwon et al. 2021), the local step of FedASAM.

    params: named ones, ``model.named_parameters()``, since biases are scaled by 1.  eta: added to |w|.

        optimiser = artifact.optim.ASAM(model.named_parameters(), lr=0.1, rho=0.5, eta=0.2)
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 0.1, rho: float = 0.5, weight_decay: float = 0.0, *,
        eta: float = 0.2, model: nn.Module | None = None,
    ):  # fmt: skip
        named = [(name, p) for name, p in params]
        self.eta, self.layout = eta, Layout.of(dict(named))
        super().__init__([p for _, p in named], lr, rho, weight_decay, model=model)

    def _method(self, rho: float) -> FedAvg:
        return FedASAM(rho=rho, eta_asam=self.eta)

    def _context(self, w: Tensor) -> Context:
        is_weight = torch.cat(
            [
                torch.full((size,), "weight" in name)
                for name, size in zip(self.layout.names, self.layout.sizes, strict=True)
            ]
        )
        return Context(w, self.param_groups[0]["lr"], is_weight=is_weight.to(w.device))


class LESAM(SAM):
    """SGD at weights shifted by the last global update, reversed: the local step of FedLESAM (Fan et al. 2024).

    A step takes one gradient, at the weights plus rho * unit(old - received), where ``received`` is the server's model
    of this round and ``old`` that of the client's last round. In its first round a client has no ``old`` and takes
    plain steps of SGD. Keep the optimiser, or its ``state_dict``, as long as the client lives.

        optimiser = artifact.optim.LESAM(model.parameters(), lr=0.1, rho=0.01)
        for server_model in rounds:
            model.load_state_dict(server_model)
            optimiser.receive()
            for x, y in batches:
                loss = optimiser.step(closure)      # the closure zeroes the gradients, and is called once

    Without a closure, ``first_step`` comes before the pass and ``second_step`` (or ``step``) after it.
    """

    def __init__(self, params: Iterable[Any], lr: float = 0.1, rho: float = 0.01, weight_decay: float = 0.0):
        super().__init__(params, lr, rho, weight_decay)
        self.rho = rho

    @torch.no_grad()
    def receive(self) -> None:
        """Take the weights that the parameters hold as the server's model of a new round."""
        self._restore()
        own = self._parameters()
        old = [self.state[p].get("received", p) for p in own]
        estimate = torch.cat([(o - p).flatten() for o, p in zip(old, own, strict=True)])
        e = self.rho * unit(estimate)
        for p, part in zip(own, e.split([p.numel() for p in own]), strict=True):
            self.state[p] = {"received": p.detach().clone(), "perturbation": part.view_as(p).clone()}

    def _perturbation(self, W: Tensor) -> Tensor:
        if any("perturbation" not in self.state[p] for p in self._parameters()):
            raise UserError("first_step", "called", "receive before it, at the beginning of every round")
        return torch.cat([self.state[p]["perturbation"].flatten() for p in self._parameters()])[None]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """closure: zeroes the gradients, computes the loss and its gradients; called once. Returns its loss.

        Without a closure it is ``second_step``.
        """
        if closure is None:
            return self.second_step()
        self.first_step()
        with torch.enable_grad():
            loss = closure()
        self.second_step()
        return loss
