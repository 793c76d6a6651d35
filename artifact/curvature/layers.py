"""Layer by layer: block Hessians beside the activations that enter the layer.

Yashwanth et al. 2024, Theorems 2 and 3, bound the top eigenvalue of the Hessian with respect to one layer's weights
by a constant times the squared norm of that layer's input activations. ``layer_curvature`` measures both sides and
their ratio, which the theorems call bounded as long as the weights are; ``activation_terms`` gives the terms of MAN's
penalty, from the same taps, over the whole data set.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, nn, torch
from artifact.curvature.eigen import EigenResult, top_eigenvalues
from artifact.curvature.risk import EmpiricalRisk, evaluating
from artifact.models import activations


@dataclass(frozen=True)
class LayerCurvature:
    """One linear or convolution layer.

    name: its module name; slice: its weight tensor (without bias) in the flat vector; top: top eigenvalue of that block
    with certificate; squared_norm: mean over samples of ||input of the layer||^2; units: numbers in one sample's input;
    ratio: top eigenvalue / squared_norm, NaN where the eigenvalue did not converge or the input is zero.
    """

    name: str
    slice: slice
    top: EigenResult
    squared_norm: float
    units: int

    @property
    def ratio(self) -> float:
        good = bool(self.top.converged[0]) and self.squared_norm > 0
        return float(self.top.values[0]) / self.squared_norm if good else math.nan


def layer_slices(risk: EmpiricalRisk) -> dict[str, slice]:
    """Weight tensors of all linear and convolution layers: {module name: slice of the flat vector}."""
    layers = {
        name for name, module in risk.model.named_modules() if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d))
    }
    parts = ((name.rpartition("."), part) for name, part in risk.layout.slices())
    return {owner: part for (owner, _, tensor), part in parts if tensor == "weight" and owner in layers}


@contextmanager
def watch_calls(
    model: nn.Module, names: list[str], seen: Callable[[str, Tensor, Tensor, bool], None]
) -> Iterator[None]:
    """Tells ``seen`` (name, input, output, whether by a call of the layer) of the named layers while the model runs.

    Attention hands the weight of its output projection to a function in place of a call of the layer; the rows of its
    input are then tokens.
    """
    modules = dict(model.named_modules())

    def hook_for(name: str) -> Callable[[nn.Module, tuple, Tensor], None]:
        return lambda _module, inputs, output: seen(name, inputs[0].detach(), output, True)

    handles = [modules[name].register_forward_hook(hook_for(name)) for name in names]
    attentions = {name for name, module in modules.items() if isinstance(module, torch.nn.MultiheadAttention)}
    handed: dict[str, Any] = {n: modules[n] for n in names if n.rpartition(".")[0] in attentions}
    real = torch.nn.functional.linear

    def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        output = real(x, weight, bias)
        name = next((name for name, module in handed.items() if module.weight is weight), None)
        if name is not None:
            seen(name, x.detach(), output, False)
        return output

    try:
        if handed:
            torch.nn.functional.linear = linear  # type: ignore[assignment]  # of another name for x
        yield
    finally:
        torch.nn.functional.linear = real
        for handle in handles:
            handle.remove()


def input_norms(risk: EmpiricalRisk, w: Tensor) -> dict[str, tuple[float, int]]:
    """Mean over the data of ||input of the layer||^2, and units per sample: {module name: (mean, units)}."""
    names, samples, now = list(layer_slices(risk)), 0, 1
    sums, units = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)

    def seen(name: str, value: Tensor, _output: Tensor, _called: bool) -> None:
        sums[name] += float(value.double().square().sum())
        units[name] = value.numel() // now

    for count, x, _ in risk.batches():
        now = count
        with evaluating(risk.model), watch_calls(risk.model, names, seen), torch.no_grad():
            risk.outputs(w, x)
        samples += count
    return {name: (sums[name] / samples, units[name]) for name in names}


def activation_terms(risk: EmpiricalRisk, w: Tensor) -> dict[str, float]:
    """A_l of every tapped layer, the mean over data and units of a_l^2: {module name: A_l} (``models.activations``)."""
    sums: defaultdict[str, float] = defaultdict(float)
    samples = 0
    for count, x, _ in risk.batches():
        with evaluating(risk.model), torch.no_grad(), activations.mean_square_activations(risk.model) as squares:
            risk.outputs(w, x)
        for name, value in squares.items():
            sums[name] += count * float(value)
        samples += count
    return {name: total / samples for name, total in sums.items()}


def layer_curvature(
    risk: EmpiricalRisk, w: Tensor, layers: list[str] | None = None, **options: Any
) -> list[LayerCurvature]:
    """Block top eigenvalue, input activation norm and their ratio for each layer; see ``LayerCurvature``.

    layers: module names (None: every linear and convolution layer); options as in ``top_eigenvalues``. Along training,
    call it once per stored model. Raises UserError for a name that is no such layer.
    """
    slices = layer_slices(risk)
    chosen = list(slices) if layers is None else layers
    unknown = [name for name in chosen if name not in slices]
    if unknown:
        raise UserError("layers", unknown[0], ", ".join(slices))
    norms = input_norms(risk, w)
    options = {"k": 1} | options
    return [
        LayerCurvature(n, slices[n], top_eigenvalues(risk, w, slice=slices[n], **options), *norms[n]) for n in chosen
    ]
