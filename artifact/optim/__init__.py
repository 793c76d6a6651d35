"""Sharpness-aware optimisers for ``torch``, whose ascents are computed by the methods of the engine itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from artifact.algorithms.base import FedAvg
from artifact.algorithms.cohort import Context
from artifact.algorithms.sam import FedASAM, FedSAM
from artifact.base.errors import UserError
from artifact.base.flat import Layout, unit

#: options of the sharpness-aware step itself; all others are the base optimiser's
_OWN = ("rho", "adaptive", "eta")
#: what a client of LESAM keeps of each parameter
_OF_ROUND = ("received", "perturbation")


class SAM(torch.optim.Optimizer):
    """The ascent of SAM (Foret et al. 2021) before the step of any optimiser of torch.

    params: parameters or groups of them; a group may have its own ``rho`` and its own options of the base.
    base_optimizer: a class such as ``torch.optim.SGD`` or ``torch.optim.AdamW``, which takes the descent.
    rho: perturbation radius, the L2 norm over all parameters; read from the groups at every step, so that
    ``group["rho"] = 0.1`` or a schedule changes it. A group's radius scales its own part of the unit ascent.
    adaptive: scale the ascent by the square of the weights (the ASAM of davda54/sam, without eta).
    model: the module whose buffers (BatchNorm's statistics) move at the first of the two passes alone.
    options: of the base optimiser, ``lr``, ``momentum``, ``weight_decay`` and others.
    Raises UserError for a number that is not possible and an option that the base does not have.

    With a closure that computes the gradient, ``step`` calls it twice:

        optimiser = fedsharp.optim.SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
        loss = optimiser.step(closure)

    Without one, ``first_step`` comes between the two passes. Gradients of several minibatches may be accumulated before
    either call. The length of a gradient does not matter to the ascent, so a GradScaler need not unscale the first:

        scaler.scale(loss_of(model)).backward()
        optimiser.first_step(zero_grad=True)
        scaler.scale(loss_of(model)).backward()
        scaler.step(optimiser)
        scaler.update()

    Where the scaler finds an infinite gradient, the weights return to where they were before ``first_step``.
    ``state_dict`` holds the groups with their radii and the base's state.
    """

    #: torch's GradScaler calls ``step`` in any case and says by ``found_inf`` and ``grad_scale`` what it has found
    _step_supports_amp_scaling = True
    #: radius where none is given
    _rho = 0.05

    def __init__(
        self,
        params: Iterable[Any],
        base_optimizer: type[torch.optim.Optimizer] = torch.optim.SGD,
        rho: float | None = None,
        adaptive: bool = False,
        *,
        model: nn.Module | None = None,
        **options: Any,
    ):
        if not (isinstance(base_optimizer, type) and issubclass(base_optimizer, torch.optim.Optimizer)):
            raise UserError("base_optimizer", base_optimizer, "a class such as torch.optim.SGD, not an object of it")
        if base_optimizer is torch.optim.SGD:
            options = {"lr": 0.1} | options
        own = {"rho": self._rho if rho is None else rho, "adaptive": adaptive} | self._more_defaults()
        self.model = model
        self._before: list[tuple[Tensor, Tensor]] = []
        self._buffers: list[tuple[nn.Module, str, Tensor, Tensor]] = []
        self._kind = base_optimizer
        groups = _as_groups(params)
        try:
            base = base_optimizer([_without_own(group) for group in groups], **options)
        except (TypeError, ValueError) as error:
            raise UserError(
                "options", ", ".join(options) or "none", f"options of {_title(base_optimizer)} ({error})"
            ) from None
        self._known = {*base.defaults, *own, "params", "names", "param_names", "initial_lr", "foreach", "fused"}
        self.base_optimizer = base
        super().__init__(groups, base.defaults | own)
        self._share()

    def _more_defaults(self) -> dict[str, Any]:
        return {}

    # ---- what torch asks of an optimiser ------------------------------------------------------------------------

    def _share(self) -> None:
        """The base works on the very groups and state that this object shows."""
        self.base_optimizer.param_groups = self.param_groups
        self.base_optimizer.state = self.state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters as in torch; the group may name its radius and options of the base optimiser."""
        param_group = dict(param_group)
        unknown = sorted(set(param_group) - self._known)
        if unknown:
            allowed = f"options of a group: {', '.join(sorted(self._known - {'params'}))}"
            raise UserError("param_groups", unknown[0], allowed)
        for name in ("lr", "rho", "weight_decay", "eta", "momentum"):
            value = param_group.get(name, self.defaults.get(name, 0.0))
            if value is None or (isinstance(value, Tensor) or 0 <= value < float("inf")):
                continue
            raise UserError(name, value, "a finite number from 0")
        super().add_param_group(param_group)
        kinds = {(p.device, p.dtype) for p in self._parameters()}
        if len(kinds) != 1:
            self.param_groups.pop()
            raise UserError("params", ", ".join(sorted(map(str, kinds))), "parameters of one device and one type")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Groups, radii among them, and the base's state; one that was stored without radii keeps the present ones."""
        present = [{name: group[name] for name in _OWN if name in group} for group in self.param_groups]
        super().load_state_dict(state_dict)
        for group, own in zip(self.param_groups, present, strict=True):
            for name, value in own.items():
                group.setdefault(name, value)
        self._before, self._buffers = [], []
        self._share()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "base_optimizer" in vars(self):
            self._share()

    @property
    def rho(self) -> float:
        """The radius of all groups; nan where they differ. Setting it sets every group's."""
        found = {group["rho"] for group in self.param_groups}
        return found.pop() if len(found) == 1 else float("nan")

    @rho.setter
    def rho(self, value: float) -> None:
        for group in self.param_groups:
            group["rho"] = value

    @property
    def method(self) -> FedAvg:
        """The engine's method with the present radius."""
        return FedSAM(rho=self.rho)

    # ---- the ascent ----------------------------------------------------------------------------------------------

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _flat(self, gradients: bool) -> Tensor:
        """[1, P]: all parameters, or their gradients; one without a gradient has zeros."""
        own = self._parameters()
        tensors = [_gradient(p) for p in own] if gradients else own
        return torch.cat([t.detach().flatten() for t in tensors])[None]

    def _by_group(self, name: str) -> Tensor | float:
        """A number of the groups: itself where all have the same, else [1, P]."""
        values = [float(group[name]) for group in self.param_groups]
        for value in values:
            if not 0 <= value < float("inf"):
                raise UserError(name, value, "a finite number from 0")
        if len(set(values)) == 1:
            return values[0]
        sizes = [sum(p.numel() for p in group["params"]) for group in self.param_groups]
        like = self._parameters()[0]
        return torch.cat([like.new_full((n,), v) for n, v in zip(sizes, values, strict=True)])[None]

    def _perturbation(self, W: Tensor) -> Tensor | None:
        """[1, P], from the gradients that the parameters hold."""
        g, rho = self._flat(gradients=True), self._by_group("rho")
        adaptive = {bool(group["adaptive"]) for group in self.param_groups}
        if adaptive == {False}:
            return _scaled(FedSAM, rho, W, g, Context(W[0], 0.0))
        flags = self._by_group("adaptive")
        scale = W.abs() if isinstance(flags, float) else torch.where(flags > 0, W.abs(), torch.ones_like(W))
        return rho * scale * unit(scale * g)

    @torch.no_grad()
    def first_step(self, zero_grad: bool = False) -> None:
        """Move to the perturbed weights; twice in a row, the second call starts where the first one did."""
        self._restore()
        own = self._parameters()
        W = self._flat(gradients=False)
        e = self._perturbation(W)
        self._before = [(p, p.detach().clone()) for p in own]
        if e is not None:
            for p, values in zip(own, (W + e)[0].split([p.numel() for p in own]), strict=True):
                p.copy_(values.view_as(p))
        if self.model is not None:
            self._buffers = [
                (layer, name, value, value.clone())
                for layer in self.model.modules()
                for name, value in layer._buffers.items()
                if value is not None
            ]
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad: bool = False) -> None:
        """Return to the weights before ``first_step``; the base optimiser descends along the gradient held now."""
        if not self._before:
            raise UserError("second_step", "called", "first_step before it")
        self._descend()
        self._opt_called = True  # what schedulers of the rate look for
        if zero_grad:
            self.zero_grad()

    def _descend(self) -> None:
        found, scale = getattr(self, "found_inf", None), getattr(self, "grad_scale", None)
        self._restore()
        if found is not None and bool(found):
            return
        if scale is not None:
            for p in self._parameters():
                if p.grad is not None:
                    p.grad = p.grad / scale
        if self._kind is torch.optim.SGD and all(map(_plain, self.param_groups)):
            for group in self.param_groups:
                _engines_step(group)
        else:
            self.base_optimizer.step()

    @torch.no_grad()
    def _restore(self) -> None:
        """Weights and buffers as they were before the perturbation."""
        for p, value in self._before:
            p.copy_(value)
        for layer, name, tensor, value in self._buffers:
            tensor.copy_(value)
            layer._buffers[name] = tensor
        self._before, self._buffers = [], []

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of SAM: ascend, take the gradient there, go back and descend. Returns the loss before the ascent.

        closure: zeroes the gradients, computes the loss and its gradients; called twice.

        Without a closure it is ``second_step``. Where the gradients of the first pass are there already, as in
        ``loss.backward(); optimiser.step(closure)``, the closure may be one that computes the second pass alone: call
        ``first_step`` and ``second_step`` in that case.
        """
        if closure is None:
            return self.second_step()
        with torch.enable_grad():
            loss = closure()
        self.first_step(zero_grad=True)
        with torch.enable_grad():
            closure()
        self.second_step()
        return loss


class ASAM(SAM):
    """SAM in the metric |w| + eta on weights (Kwon et al. 2021), the local step of FedASAM.

    params: named ones, ``model.named_parameters()``, or groups of them, since biases are scaled by 1.
    rho: perturbation radius in that metric.  eta: added to |w|.  Other arguments: see ``SAM``.

        optimiser = fedsharp.optim.ASAM(model.named_parameters(), rho=0.5, eta=0.2, lr=0.1)
    """

    _rho = 0.5

    def __init__(
        self,
        params: Iterable[Any],
        base_optimizer: type[torch.optim.Optimizer] = torch.optim.SGD,
        rho: float | None = None,
        *,
        eta: float = 0.2,
        model: nn.Module | None = None,
        **options: Any,
    ):
        self._eta = eta
        super().__init__(params, base_optimizer, rho, True, model=model, **options)

    def _more_defaults(self) -> dict[str, Any]:
        return {"eta": self._eta}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters as in torch; they have to be named."""
        given = param_group["params"]
        given = [given] if isinstance(given, Tensor) else list(given)
        if any(isinstance(one, Tensor) for one in given) and "param_names" not in param_group:
            allowed = "named parameters, model.named_parameters(), since biases are scaled in another way than weights"
            raise UserError("params", "parameters without names", allowed)
        super().add_param_group({**param_group, "params": given})

    def _perturbation(self, W: Tensor) -> Tensor | None:
        g, rho, eta = self._flat(gradients=True), self._by_group("rho"), self._by_group("eta")
        names = [name for group in self.param_groups for name in group["param_names"]]
        layout = Layout(tuple(names), tuple(tuple(p.shape) for p in self._parameters()))
        begun: Any = FedASAM().begin({}, W[0], SimpleNamespace(layout=layout))  # type: ignore[arg-type]
        if isinstance(eta, float):
            return _scaled(FedASAM, rho, W, g, Context(W[0], 0.0, **begun), eta_asam=eta)
        T = torch.where(begun["is_weight"], W.abs() + eta, torch.ones_like(W))
        return rho * T * unit(T * g)


class LESAM(SAM):
    """The base's step at weights shifted by the last global update, reversed: the local step of FedLESAM (Fan 2024).

    A step takes one gradient, at the weights plus rho * unit(old - received), where ``received`` is the server's model
    of this round and ``old`` that of the client's last round. In its first round a client has no ``old`` and takes
    plain steps of the base. Keep the optimiser, or its ``state_dict``, as long as the client lives.

        optimiser = fedsharp.optim.LESAM(model.parameters(), rho=0.01, lr=0.1)
        for server_model in rounds:
            model.load_state_dict(server_model)
            optimiser.receive()
            for x, y in batches:
                loss = optimiser.step(closure)      # the closure zeroes the gradients, and is called once

    Without a closure, ``first_step`` comes before the pass and ``second_step`` (or ``step``) after it.
    """

    _rho = 0.01

    def __init__(
        self,
        params: Iterable[Any],
        base_optimizer: type[torch.optim.Optimizer] = torch.optim.SGD,
        rho: float | None = None,
        **options: Any,
    ):
        super().__init__(params, base_optimizer, rho, **options)

    @torch.no_grad()
    def receive(self) -> None:
        """Take the weights that the parameters hold as the server's model of a new round."""
        self._restore()
        own = self._parameters()
        old = [self.state[p].get("received", p) for p in own]
        estimate = torch.cat([(o - p).flatten() for o, p in zip(old, own, strict=True)])
        e = self._by_group("rho") * unit(estimate)
        for p, part in zip(own, e.flatten().split([p.numel() for p in own]), strict=True):
            self.state[p].update(received=p.detach().clone(), perturbation=part.view_as(p).clone())

    def _perturbation(self, W: Tensor) -> Tensor:
        if any("perturbation" not in self.state[p] for p in self._parameters()):
            raise UserError("first_step", "called", "receive before it, at the beginning of every round")
        return torch.cat([self.state[p]["perturbation"].flatten() for p in self._parameters()])[None]

    def _descend(self) -> None:
        """The base sees its own state alone; some take a state that is not empty for one of theirs."""
        own = {p: {name: self.state[p].pop(name) for name in _OF_ROUND} for p in self._parameters()}
        super()._descend()
        for p, kept in own.items():
            self.state[p].update(kept)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of LESAM: move along the last global update, take the gradient there, go back and descend.

        closure: zeroes the gradients, computes the loss and its gradients; called once. Its loss is returned.

        Without a closure it is ``second_step``.
        """
        if closure is None:
            return self.second_step()
        self.first_step()
        with torch.enable_grad():
            loss = closure()
        self.second_step()
        return loss


def _plain(group: Mapping[str, Any]) -> bool:
    """Whether a group of SGD asks for what the engine's own local step computes."""
    return group["momentum"] == 0 and not (group["maximize"] or group.get("differentiable"))


def _engines_step(group: Mapping[str, Any]) -> None:
    """The group's step of SGD, with the rounding of the engine's."""
    own = group["params"]
    W = torch.cat([p.detach().flatten() for p in own])[None]
    c = Context(W[0], float(group["lr"]))
    c.weight_decay = group["weight_decay"]
    moved = c.descend(W.clone(), torch.cat([_gradient(p).flatten() for p in own])[None])
    for p, values in zip(own, moved[0].split([p.numel() for p in own]), strict=True):
        if p.grad is not None:
            p.copy_(values.view_as(p))


def _scaled(
    method: type[FedSAM], rho: Tensor | float, W: Tensor, g: Tensor, c: Context, **hyper: float
) -> Tensor | None:
    """The method's own perturbation [1, P], at one radius or at radii [1, P]."""
    one = isinstance(rho, float)
    radius: Any = rho if one else 1.0
    made: FedAvg = method(rho=radius, **hyper)
    e = made.perturbation(W, lambda _: g, c)
    return e if one or e is None else rho * e


def _gradient(p: Tensor) -> Tensor:
    if p.grad is None:
        return torch.zeros_like(p)
    return p.grad.to_dense() if p.grad.is_sparse else p.grad


def _as_groups(params: Iterable[Any]) -> list[dict[str, Any]]:
    """Groups as torch takes them: ``params`` a list, of parameters or of (name, parameter)."""
    if isinstance(params, Tensor):
        raise UserError("params", "a tensor", "an iterable of parameters, model.parameters()")
    given = list(params)
    if not given:
        raise UserError("params", "none", "at least one parameter")
    if not isinstance(given[0], Mapping):
        given = [{"params": given}]
    groups = [dict(group) for group in given]
    for group in groups:
        own = group["params"]
        group["params"] = [own] if isinstance(own, Tensor) else list(own)
    return groups


def _without_own(group: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name not in _OWN}


def _title(kind: type) -> str:
    return (
        f"{kind.__module__.split('.')[0]}.optim.{kind.__name__}" if kind.__module__[:6] == "torch." else kind.__name__
    )
