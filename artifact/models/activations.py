"""Activation taps: watch a model's hidden activations without editing it (Yashwanth et al. 2024, eq. 15-18).

MAN adds ``zeta * sum_l A_l`` to the loss, with A_l = mean over batch and units of a_l^2. The layers l are the outputs
of the non-linearities, before any pooling that follows, and not the logits. For the paper's CIFAR
model these are conv1, conv2, fc1, fc2 after ReLU, for its Tiny-ImageNet model conv1, conv2, conv3, fc1, fc2. The paper
gives no list for ResNet-18 and its released ResNet returns no activations; the list used here is ours: the stem's ReLU
and both ReLUs of every block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, nn, torch

_NON_LINEARITIES = ("ReLU", "LeakyReLU", "ELU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softplus")  # of torch.nn


def hidden_layers(model: nn.Module) -> tuple[str, ...]:
    """Names of the modules whose outputs are hidden activations, in order of registration (here: of execution)."""
    kinds = tuple(getattr(torch.nn, name) for name in _NON_LINEARITIES)
    return tuple(name for name, module in model.named_modules() if isinstance(module, kinds))


def input_shapes(model: nn.Module, x: Tensor, kinds: tuple) -> list[tuple[str, nn.Module, torch.Size]]:
    """(name, module, input shape) of every module of these kinds that x [B, ...] meets, in order of execution."""
    seen: list[tuple[str, nn.Module, torch.Size]] = []

    def see(name: str) -> Callable[[nn.Module, tuple], None]:
        return lambda module, inputs: seen.append((name, module, inputs[0].shape))

    hooks = [m.register_forward_pre_hook(see(name)) for name, m in model.named_modules() if isinstance(m, kinds)]
    try:
        with torch.no_grad():
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def mean_square(activations: Tensor) -> Tensor:
    """A_l of one layer: activations [B, ...] -> scalar, eq. (17)."""
    return activations.square().mean()


def batch_variance(activations: Tensor) -> Tensor:
    """Mean over units of the unbiased variance over the batch, [B, ...] -> scalar (MAN-2)."""
    return activations.flatten(1).var(0).mean()


@contextmanager
def mean_square_activations(
    model: nn.Module,
    names: Iterable[str] | None = None,
    variances: Sequence[str] = (),
) -> Iterator[dict[str, Tensor]]:
    """Collects A_l while the model runs: ``with mean_square_activations(model) as squares: logits = model(x)``.

    names: modules to watch, default ``hidden_layers(model)``. The dict fills with {name: scalar with gradient} during
    the forward pass; under ``torch.func`` transforms open the context inside the transformed function and use the
    values there. A module that is called several times in one pass counts as several layers: name, name#2, ...
    variances: modules whose ``batch_variance`` is collected too, as "variance of NAME".

    Raises UserError for a name that the model does not have.
    """
    modules = dict(model.named_modules())
    names = hidden_layers(model) if names is None else tuple(names)
    unknown = [name for name in (*names, *variances) if name not in modules]
    if unknown:
        raise UserError("layers", unknown[0], ", ".join(hidden_layers(model)))
    squares: dict[str, Tensor] = {}

    def record(name: str) -> Callable[[nn.Module, tuple, Tensor], None]:
        def hook(_module: nn.Module, _inputs: tuple, output: Tensor) -> None:
            calls = sum(key.split("#")[0] == name for key in squares)
            squares[name if calls == 0 else f"{name}#{calls + 1}"] = mean_square(output)

        return hook

    def record_variance(name: str) -> Callable[[nn.Module, tuple, Tensor], None]:
        def hook(_module: nn.Module, _inputs: tuple, output: Tensor) -> None:
            squares[f"variance of {name}"] = batch_variance(output)

        return hook

    handles = [modules[name].register_forward_hook(record(name)) for name in names]
    handles += [modules[name].register_forward_hook(record_variance(name)) for name in variances]
    try:
        yield squares
    finally:
        for handle in handles:
            handle.remove()
