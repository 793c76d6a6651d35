"""What stands above each layer: the operations of a network in order, each with the factor that it stretches by.

The product bounds need a chain: every operation takes the output of the one before and nothing else. ``torch.fx``
gives the operations of any module whose ``forward`` it can trace; where there is a branch, an operation of unknown
factor or no trace, the chain ends, and ``Chain.why`` says so.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from artifact.base.lazy import Tensor, nn, torch
from artifact.curvature.risk import evaluating

State = Mapping[str, "Tensor"]  # parameters and buffers by name


@dataclass(frozen=True)
class Step:
    """One operation. layer: name of the weight layer, else empty; squared: its squared Lipschitz constant (1 for a
    layer, whose weights say more); linear: piecewise linear; reason: why the constant is unknown, else empty."""

    name: str
    layer: str = ""
    squared: float = 1.0
    linear: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Chain:
    """A network as a chain of operations, which the bounds by norms need.

    steps: in the order of execution, empty where there is no chain; why: the reason, empty for a chain.

    linear: every operation of the network is piecewise linear, chain or not.
    """

    steps: tuple[Step, ...]
    why: str
    linear: bool


def kinds() -> tuple[type, ...]:
    """Layers with a weight that the theorems speak of."""
    return torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d


def kernel_area(module: Any) -> int:
    """K1 K2 of a convolution: how many patches an entry of its input occurs in at most; 1 for a linear layer."""
    return math.prod(module.kernel_size) if hasattr(module, "kernel_size") else 1


def weight_name(model: nn.Module, layer: str) -> str:
    """Name of a layer's weight in the flat vector: shared weights have the name of their first owner."""
    weight = model.get_submodule(layer).weight
    return next(name for name, tensor in model.named_parameters() if tensor is weight)


def chain_of(model: nn.Module, state: State) -> Chain:
    """The operations of a module in evaluation mode, with parameters and buffers ``state``."""
    try:
        with evaluating(model):
            graph = _tracer()().trace(model, _fixed(model))
    except Exception as error:  # whatever a foreign ``forward`` does with a stand-in for its input
        return Chain((), f"torch.fx cannot trace it ({type(error).__name__})", False)
    for node in reversed(list(graph.nodes)):
        if getattr(node.target, "__name__", "").startswith("_assert"):  # that an argument keeps its default
            graph.erase_node(node)
    numbers: set[Any] = set()
    for node in graph.nodes:
        if node.op not in ("placeholder", "output", "get_attr") and _is_number(node, numbers):
            numbers.add(node)
    nodes = [node for node in graph.nodes if node not in numbers and not (node.op == "placeholder" and not node.users)]
    steps = {node: _step(model, node, state) for node in nodes if node.op not in ("placeholder", "output")}
    linear = all(step.linear or (node.op == "call_function" and node.target in _JOINS) for node, step in steps.items())
    why = next((f"{step.name}: {step.reason}" for step in steps.values() if step.reason), "")
    branch = next((n for n in nodes if len(set(n.users) - numbers) > 1), None)
    joined = next((n for n in nodes if sum(a not in numbers for a in n.all_input_nodes) > 1), None)
    place = joined or branch
    if place is not None:
        why = f"it is no chain: {place.name} joins or feeds several branches"
    return Chain(() if why else tuple(steps.values()), why, linear)


def _tracer() -> type:
    from torch import fx

    leaves = (*kinds(), torch.nn.modules.batchnorm._BatchNorm, *_modules())

    class Tracer(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, leaves) or super().is_leaf_module(m, module_qualified_name)

    return Tracer


def _fixed(model: nn.Module) -> dict[str, Any]:
    """Arguments of ``forward`` beyond the first keep their defaults."""
    further = list(signature(model.forward).parameters.items())[1:]
    return {name: p.default for name, p in further if p.default is not Parameter.empty}


_JOINS = (operator.add, operator.sub, operator.iadd)
_SIZES = ("size", "dim", "numel")


def _is_number(node: Any, numbers: set[Any]) -> bool:
    """Whether it reads a shape, or computes with what does."""
    if node.op == "call_method" and node.target in _SIZES:
        return True
    if node.target is getattr and node.args[1] in ("shape", "ndim"):
        return True
    return bool(node.all_input_nodes) and all(source in numbers for source in node.all_input_nodes)


def _step(model: nn.Module, node: Any, state: State) -> Step:
    if node.op == "call_module":
        return _module_step(node.target, model.get_submodule(node.target), state)
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    if (node.op == "call_method" and name in _RESHAPES) or (node.op == "call_function" and name in _RESHAPES):
        return Step(node.name)
    made = _functional().get(name) if node.op != "get_attr" else None
    options = {k: v for k, v in node.kwargs.items() if k not in ("inplace", "training", "input")}
    if name == "dropout" and node.kwargs.get("training", True):
        made = None
    if made is None:
        return Step(node.name, linear=False, reason=f"the factor of {name} is unknown")
    try:
        module = made() if name.startswith("dropout") else made(*node.args[1:], **options)
    except TypeError:
        return Step(node.name, linear=False, reason=f"the factor of {name} with these arguments is unknown")
    return _module_step(node.name, module, state)


_RESHAPES = [
    "view",
    "reshape",
    "flatten",
    "squeeze",
    "unsqueeze",
    "contiguous",
    "transpose",
    "permute",
    "mean",
    "float",
]


def _functional() -> Mapping[str, Callable[..., nn.Module]]:
    layers = torch.nn
    named = {
        "relu": layers.ReLU,
        "relu_": layers.ReLU,
        "tanh": layers.Tanh,
        "sigmoid": layers.Sigmoid,
        "leaky_relu": layers.LeakyReLU,
    }
    named |= {
        "elu": layers.ELU,
        "gelu": layers.GELU,
        "silu": layers.SiLU,
        "softplus": layers.Softplus,
        "dropout": layers.Identity,
    }
    for size in (1, 2, 3):
        named[f"max_pool{size}d"], named[f"avg_pool{size}d"] = _pools("MaxPool")[size - 1], _pools("AvgPool")[size - 1]
        named[f"adaptive_avg_pool{size}d"] = _pools("AdaptiveAvgPool")[size - 1]
    return named


def _modules() -> dict[type, tuple[float, bool]]:
    """Operations without weights: their squared Lipschitz constant, and whether they are piecewise linear."""
    layers = torch.nn
    plain = (
        layers.ReLU,
        layers.ReLU6,
        layers.Hardtanh,
        layers.Identity,
        layers.Flatten,
        layers.Unflatten,
        layers.Dropout,
        layers.Dropout1d,
    )
    table: dict[type, tuple[float, bool]] = dict.fromkeys((*plain, layers.Dropout2d, layers.Dropout3d), (1.0, True))
    table |= {layers.Tanh: (1.0, False), layers.Softplus: (1.0, False), layers.Sigmoid: (1 / 16, False)}
    return table | {layers.GELU: (1.13**2, False), layers.SiLU: (1.1**2, False)}


def _module_step(name: str, module: Any, state: State) -> Step:
    if isinstance(module, kinds()):
        zeros = getattr(module, "padding_mode", "zeros") == "zeros"
        return Step(name, layer=name, reason="" if zeros else "a padding that repeats entries")
    for kind, (squared, linear) in _modules().items():
        if isinstance(module, kind):
            return Step(name, squared=squared, linear=linear)
    if isinstance(module, torch.nn.LeakyReLU):
        return Step(name, squared=max(1.0, module.negative_slope**2))
    if isinstance(module, torch.nn.ELU):
        return Step(name, squared=max(1.0, module.alpha**2), linear=False)
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return _normalisation(name, module, state)
    if isinstance(module, _pools("MaxPool")):
        return Step(name, squared=_windows(module))  # a difference passes through in so many windows at most
    if isinstance(module, _pools("AvgPool")):
        rows, padded = _windows(module), any(_each(module.padding)) or module.ceil_mode
        area = (
            1 if padded or getattr(module, "divisor_override", None) else math.prod(_each(module.kernel_size, module))
        )
        known = not getattr(module, "divisor_override", None)
        return Step(name, squared=rows / area, reason="" if known else "a divisor of its own")
    if isinstance(module, (*_pools("AdaptiveAvgPool"), *_pools("AdaptiveMaxPool"))):
        sizes: Any = vars(module)["output_size"]
        alone = all(size == 1 for size in _each(sizes))
        return Step(name, reason="" if alone else "windows whose overlap depends on the input")
    return Step(name, linear=False, reason=f"the factor of {type(module).__name__} is unknown")


def _normalisation(name: str, module: Any, state: State) -> Step:
    """Batch normalisation with running statistics: a factor per channel."""
    variance = state.get(f"{name}.running_var")
    if variance is None:
        return Step(name, linear=False, reason="it normalises with the statistics of the batch")
    gain = state.get(f"{name}.weight", torch.ones_like(variance))
    return Step(name, squared=float((gain.double() ** 2 / (variance.double() + module.eps)).max()))


def _pools(kind: str) -> tuple[Any, ...]:
    return tuple(getattr(torch.nn, f"{kind}{axes}d") for axes in (1, 2, 3))


def _each(value: Any, module: nn.Module | None = None) -> tuple[Any, ...]:
    """One number per axis."""
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (value,) * (int(type(module).__name__[-2]) if module is not None else 1)


def _windows(module: Any) -> float:
    """In how many windows of a pooling an entry lies at most; counted without regard to dilation or padding."""
    kernel, stride = _each(module.kernel_size, module), _each(module.stride, module)
    if any(d != 1 for d in _each(getattr(module, "dilation", 1))):
        return float(math.prod(kernel))
    return float(math.prod(math.ceil(k / s) for k, s in zip(kernel, stride, strict=True)))
