"""Layer by layer: the curvature that is measured, and every bound of it by the activations that enter the layer.

One call of a layer has the weight W, the input a and k = K1 K2 (1 for a linear layer). J = dz/dz_l goes from the
layer's output to the network's outputs z, and c is at least the curvature of the loss in z. The Gauss-Newton
block G_l obeys

    lambda_max(G_l) <= k mean_i lambda_max(J_i^T H_i J_i) ||a_i||^2                      sample
                    <= c k prod_{j>l} s_j mean ||a||^2,  s_j = k_j ||W_j||_2^2            spectral
                    <= the same with s_j = k_j ||W_j||_F^2                               frobenius
                    <= c k (K^2 sum_{j>l} ||W_j||_F^2 / n)^n mean ||a||^2                 am-gm
                    <= c k (K^2 ||w||^2 / n)^n mean ||a||^2                               corrected

with n layers above and K^2 their largest kernel area (theory: man-eq7, man-eq49, man-alpha-finite, man-thm3). The last
is alpha_l of Yashwanth et al. (2024) with the smallest radius that contains the weights; ``printed`` is their alpha_l,
that is ``corrected`` without kernel areas, which is no theorem for convolutions (man-thm3-alpha). They print it with a
sum over the batch instead of the mean. A layer that is called several times has J = sum_c J_c, hence the square of the
sum of the calls' square roots. The first needs no structure; the others need a chain of operations (``structure``).
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, nn, torch
from artifact.curvature.eigen import EigenResult, power_iteration, top_eigenvalues
from artifact.curvature.gauss_newton import GaussNewton
from artifact.curvature.layers import watch_calls
from artifact.curvature.masses import is_plain
from artifact.curvature.risk import MEMORY, EmpiricalRisk, evaluating, mapped
from artifact.looseness.shown import BOUNDS, figure, text
from artifact.looseness.structure import Chain, chain_of, kernel_area, kinds, weight_name

#: outputs per sample up to which the curvature of the loss in the outputs is computed
_OUTPUTS = 256


@dataclass(frozen=True)
class LayerBounds:
    """One layer.

    name: of its module; weight: of its parameter; parameters: their number; calls: in one pass of the model.
    squared_norm: mean over samples of ||input||^2, summed over calls.
    hessian: top eigenvalue of the Hessian's block; power: the same by power iteration, None where it was not asked for.
    gauss_newton: top eigenvalue of the Gauss-Newton block where it is another matrix, else None.
    bounds: {name of ``BOUNDS``: number}, those that hold here; why: why others are missing, empty where none is.
    """

    name: str
    weight: str
    parameters: int
    calls: int
    squared_norm: float
    hessian: EigenResult
    power: EigenResult | None
    gauss_newton: EigenResult | None
    bounds: dict[str, float]
    why: str

    @property
    def covered(self) -> EigenResult:
        """What the bounds limit: top eigenvalue of the Gauss-Newton block, which mostly equals the Hessian's."""
        return self.gauss_newton or self.hessian

    @property
    def measured(self) -> float | None:
        """Top eigenvalue of the covered block; None where it did not converge."""
        return self.covered.rows()[0]["value"]

    @property
    def ratio(self) -> float | None:
        """measured / squared_norm."""
        return None if self.measured is None or not self.squared_norm else self.measured / self.squared_norm

    @property
    def looseness(self) -> dict[str, float]:
        """bound / measured; empty where nothing was measured or the curvature is not positive."""
        return {} if not self.measured or self.measured < 0 else {n: b / self.measured for n, b in self.bounds.items()}

    @property
    def violated(self) -> tuple[str, ...]:
        """Bounds below the measurement by more than its residual; only ``printed`` can be among them."""
        least = float(self.covered.values[0] - self.covered.residuals[0])
        return tuple(name for name, bound in self.bounds.items() if bound * (1 + 1e-5) < least)

    @property
    def solvers_agree(self) -> bool | None:
        """Whether Lanczos and power iteration differ by no more than their residuals; None where one is missing."""
        if self.power is None or not (self.power.converged[0] and self.hessian.converged[0]):
            return None
        apart = abs(float(self.power.values[0] - self.hessian.values[0]))
        return apart <= float(self.power.residuals[0] + self.hessian.residuals[0])

    def record(self) -> dict[str, Any]:
        """One layer of ``Report.record``."""
        top = self.hessian.rows()[0]["value"]
        return {
            "top": top,
            "measured": self.measured,
            "residual": float(self.covered.residuals[0]),
            "squared_norm": self.squared_norm,
            "ratio": top / self.squared_norm if top is not None and self.squared_norm else None,
            "bounds": self.bounds,
        }

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        solved = {"hessian": self.hessian, "power": self.power, "gauss_newton": self.gauss_newton}
        return {
            "layer": self.name,
            "weight": self.weight,
            "parameters": self.parameters,
            "calls": self.calls,
            "squared_norm": self.squared_norm,
            **{name: found and found.rows()[0] | {"ceiling": found.ceiling} for name, found in solved.items()},
            "solvers_agree": self.solvers_agree,
            "measured": self.measured,
            "ratio": self.ratio,
            "bounds": self.bounds,
            "looseness": self.looseness,
            "violated": list(self.violated),
            "why": self.why,
        }


@dataclass(frozen=True)
class Report:
    """All layers of one model.

    loss: at w; samples: that it is the mean of; output_curvature: c; known: it holds for every output, else it is the
    largest at these; squared_weights: ||w||^2; chain: the operations; uncovered: weights without a bound.
    measured: which parameters were looked at, in words.
    """

    layers: tuple[LayerBounds, ...]
    loss: float
    samples: int
    output_curvature: float
    known: bool
    squared_weights: float
    chain: Chain
    uncovered: tuple[str, ...]
    measured: str = ""

    @property
    def violated(self) -> list[str]:
        """ "LAYER: BOUND" for every theorem below its measurement; empty unless the code is wrong."""
        return [f"{layer.name}: {name}" for layer in self.layers for name in layer.violated if name != "printed"]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "loss": self.loss,
            "samples": self.samples,
            "parameters": self.measured,
            "output_curvature": self.output_curvature,
            "output_curvature_is": "a supremum over all outputs" if self.known else "measured at these outputs",
            "squared_weights": self.squared_weights,
            "chain": self.chain.why or "yes",
            "uncovered": list(self.uncovered),
            "layers": [layer.plain() for layer in self.layers],
        }

    def record(self) -> dict[str, Any]:
        """The numbers of a round that a probe stores.

        top, ratio: the largest over the layers that have one.  inner_top, inner_norm: geometric mean over the layers
        whose input is an activation, all but the first, of the top eigenvalue and of the mean ||input||^2.
        One entry for each of ``BOUNDS``: measured / bound, the smallest over the layers, that is where it is loosest.
        each: per layer ``top`` (of the Hessian), ``measured`` (of the block that the bounds are for), ``residual``,
        ``squared_norm``, ``ratio`` top / squared_norm and ``bounds``.  violated: "LAYER: BOUND", with a warning;
        refuted: the same for ``printed``, which is no theorem for convolutions.
        """
        each = {layer.name: layer.record() for layer in self.layers}
        inner = [row for row in list(each.values())[1:] if (row["top"] or 0) > 0 and row["squared_norm"] > 0]
        loose = {b: max((la.looseness.get(b, 0.0) for la in self.layers), default=0.0) for b in BOUNDS}
        for place in self.violated:
            warnings.warn(f"{place}: the bound lies below the measured curvature", stacklevel=2)
        return {
            "top": _largest(row["top"] for row in each.values()),
            "ratio": _largest(row["ratio"] for row in each.values()),
            "inner_top": _geometric_mean([row["top"] for row in inner]),
            "inner_norm": _geometric_mean([row["squared_norm"] for row in inner]),
            **{name.replace("-", "_"): 1 / worst if worst else None for name, worst in loose.items()},
            "each": each,
            "violated": self.violated,
            "refuted": [layer.name for layer in self.layers if "printed" in layer.violated],
        }

    def __str__(self) -> str:
        return text(self)

    def figure(self) -> Any:
        """A matplotlib figure: measurements and bounds of every layer on a logarithmic axis."""
        return figure(self)

    def _repr_png_(self) -> bytes:
        """The figure, which a notebook shows."""
        self.figure().savefig(png := io.BytesIO(), format="png")
        return png.getvalue()


def _largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _geometric_mean(values: list[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


@dataclass
class _Call:
    """One call of a layer: its input [B, ...] and output [B, ...], the latter with its graph.

    called: by the layer itself; attention uses the weight of its output projection without a call.
    """

    layer: str
    input: Tensor
    output: Tensor
    called: bool = True


def bounds(
    model: nn.Module | EmpiricalRisk,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    data: Any = None,
    *,
    parameters: str | Sequence[str] = "trainable",
    output: Callable[[Any], Any] | None = None,
    w: Tensor | None = None,
    tol: float | None = None,
    max_iterations: int = 1000,
    seed: int = 0,
    power: bool = True,
) -> Report:
    """Curvature of every linear and convolution layer beside the bounds by its input; see the module.

    model, loss, data, parameters, output: as in ``artifact.curvature.EmpiricalRisk``, or such a risk alone.
    w: [P] the weights to look at (None: the model's own); their type is the type that is measured in.
    tol: relative residual of an eigenvalue (None: 1e-9 in float64, 1e-3 in float32).
    power: repeat each eigenvalue by power iteration.

    Raises UserError for data, losses and weights that cannot be used, and for a model without such a layer.

        >>> import torch
        >>> from torch import nn
        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        >>> report = bounds(net, nn.CrossEntropyLoss(), (torch.randn(20, 4), torch.arange(20) % 3))
        >>> [layer.name for layer in report.layers], report.violated
        (['0', '2'], [])
    """
    risk = model if isinstance(model, EmpiricalRisk) else _risk(model, loss, data, parameters=parameters, output=output)
    w = risk.weights if w is None else w
    names = _layers(risk.model, risk.layout.names)
    chain = chain_of(risk.model, _state(risk, w))
    options: dict[str, Any] = {"tol": tol, "max_iterations": max_iterations, "seed": seed}
    if not math.isfinite(value := float(risk(w))):
        raise UserError("loss", value, "a finite loss at the weights that are looked at")
    inputs = _Inputs(risk, w, names)
    c, known = _supremum(risk, inputs.largest)
    slices = dict(risk.layout.slices())
    rows = []
    for name, group in names.items():
        part, affine = slices[name], _affine(chain, group, inputs.calls[name])
        hessian = top_eigenvalues(risk, w, 1, slice=part, **options)
        again = power_iteration(risk, w, "LA", slice=part, **options) if power else None
        other = None if affine else top_eigenvalues(GaussNewton(risk), w, 1, slice=part, **options)
        found, why = _bounds(chain, risk, w, group, inputs, c)
        rows.append(
            LayerBounds(
                ", ".join(group), name, part.stop - part.start, inputs.calls[name], sum(inputs.squared[name]),
                hessian, again, other, found, why,
            )
        )  # fmt: skip
    uncovered = tuple(name for name in risk.layout.names if name not in names and not name.endswith("bias"))
    return Report(tuple(rows), value, len(risk), c, known, _squared(risk, w), chain, uncovered, risk.measured)


def _risk(model: nn.Module, loss: Any, data: Any, **options: Any) -> EmpiricalRisk:
    if not isinstance(model, torch.nn.Module):
        raise UserError("model", type(model).__name__, "a torch.nn.Module, or an EmpiricalRisk")
    if loss is not None and not callable(loss):
        raise UserError("loss", type(loss).__name__, "a function of (outputs, targets), or None for cross-entropy")
    if data is None:
        raise UserError("data", None, "two tensors (inputs, targets), or batches (inputs, targets)")
    return EmpiricalRisk(model, loss, data, **options)


def _state(risk: EmpiricalRisk, w: Tensor) -> dict[str, Tensor]:
    own = {name: tensor.detach() for name, tensor in risk.model.named_parameters()}
    own |= {name: buffer for name, buffer in risk.model.named_buffers() if buffer is not None}
    return {**own, **risk.layout.views(w.detach()), **risk.buffers}


def _squared(risk: EmpiricalRisk, w: Tensor) -> float:
    """||w||^2 of all parameters, of which w may be a part."""
    state = _state(risk, w)
    return sum(float(state[name].double().square().sum()) for name in risk._all)


def _layers(model: nn.Module, chosen: Collection[str]) -> dict[str, list[str]]:
    """Weight name -> the layers that use it, of the chosen parameters. Raises UserError where there is none."""
    found: dict[str, list[str]] = {}
    for name, module in model.named_modules():
        if isinstance(module, kinds()) and weight_name(model, name) in chosen:
            found.setdefault(weight_name(model, name), []).append(name)
    if not found:
        raise UserError("model", type(model).__name__, "a model with a linear or convolution layer to train")
    return found


class _Inputs:
    """One pass over the data, keyed by weight name.

    calls: number of calls; squared: mean ||a||^2 of each call; sample: the bound ``sample``; largest: curvature of the
    loss in the outputs, the largest; refused: why there is no ``sample``, empty where there is one.
    """

    def __init__(self, risk: EmpiricalRisk, w: Tensor, names: dict[str, list[str]]):
        self.risk, self.names, self.refused = risk, names, ""
        self.owner = {layer: name for name, group in names.items() for layer in group}
        self.calls: dict[str, int] = dict.fromkeys(names, 0)
        self.squared: dict[str, list[float]] = {name: [] for name in names}
        self.sample: dict[str, float] = dict.fromkeys(names, 0.0)
        self.largest, self.samples, self.foreign = 0.0, 0, set[str]()
        at = w.detach().clone().requires_grad_(True)
        whole = sum(mass for mass, _, _ in risk.weighed()) / len(risk)
        for mass, x, y in risk.weighed():
            count = len(y)
            with evaluating(risk.model), torch.no_grad():
                z = risk.outputs(w.detach(), x)
            if z.shape[0] != count:
                raise UserError("model output", list(z.shape), f"one row for each of {count} samples")
            H = self._output_hessians(z, risk._like(y, w))
            if H is not None and mass != whole * count:  # samples of a batch that counts more count more
                H = H * (mass / (whole * count))
            step = max(1, self._chunk(x, z))
            for start in range(0, count, step):
                part = slice(start, start + step)
                self._take(at, mapped(itemgetter(part), x), len(y[part]), None if H is None else H[part])
        self.samples = len(risk)
        self.squared = {name: [v / self.samples for v in values] for name, values in self.squared.items()}
        self.sample = {name: value / self.samples for name, value in self.sample.items()}

    def _chunk(self, x: Any, z: Tensor) -> int:
        """Samples whose Jacobians fit."""
        each = self.risk._bytes_per_sample(x) // 4 * max(1, z[0].numel())
        return int(max(1, min(len(z), MEMORY // 4 // max(1, each))))

    def _output_hessians(self, z: Tensor, y: Tensor) -> Tensor | None:
        """Curvature of every sample's loss in its outputs, [B, C, C]; the loss is their mean.

        Raises UserError for a loss in which samples meet.
        """
        size = z[0].numel()
        if size > _OUTPUTS:
            self.refused = f"{size} outputs per sample, more than {_OUTPUTS}"
            return None
        flat = z.reshape(len(z), size).detach().requires_grad_(True)
        (slope,) = torch.autograd.grad(self.risk.loss_at(z)(flat.reshape(z.shape), y), flat, create_graph=True)
        if not slope.requires_grad:  # a loss that is piecewise linear in the outputs
            return torch.zeros(len(z), size, size, dtype=z.dtype, device=z.device)

        def product(v: Tensor) -> Tensor:
            return torch.autograd.grad(slope, flat, v, retain_graph=True)[0] * len(z)

        eye = torch.eye(size, dtype=z.dtype, device=z.device)
        H = torch.stack([product(e.expand_as(flat)) for e in eye], -1)
        signs = torch.ones_like(flat)
        signs[::2] = -1
        if not torch.allclose(product(signs), (H @ signs[..., None])[..., 0], rtol=1e-3, atol=1e-5):
            raise UserError("loss", type(self.risk.loss).__name__, "a mean of one loss per sample")
        return (H + H.mT) / 2

    def _take(self, at: Tensor, x: Any, count: int, H: Tensor | None) -> None:
        with _calls(self.risk.model, list(self.owner)) as calls, evaluating(self.risk.model):
            z = self.risk.outputs(at, x).reshape(count, -1)
        by_owner: dict[str, list[_Call]] = {name: [] for name in self.names}
        for call in calls:
            by_owner[self.owner[call.layer]].append(call)
        for name, group in by_owner.items():
            self.calls[name] = len(group)
            self.squared[name] = self.squared[name] or [0.0] * len(group)
            for i, call in enumerate(group):
                self.squared[name][i] += float(call.input.double().square().sum())
        if H is None:
            return
        calls = [call for call in calls if call.called and len(call.input) == count]
        roots = _roots(H.double())  # a float32 solver meets numbers too small for it where a class is certain
        self.largest = max(self.largest, float(torch.linalg.eigvalsh(H.double())[:, -1].max()))
        outputs = [call.output for call in calls]
        J: list[list[Tensor]] = [[] for _ in calls]
        for k in range(z.shape[1]):
            rows = torch.autograd.grad(z[:, k].sum(), outputs, retain_graph=True, allow_unused=True)
            for collected, row, call in zip(J, rows, calls, strict=True):
                collected.append((torch.zeros_like(call.output) if row is None else row).reshape(count, -1))
        lengths: dict[str, Tensor] = {}
        for call, slopes in zip(calls, J, strict=True):
            pulled = roots @ torch.stack(slopes, 1).double()  # [B, C, units]: H^(1/2) J
            top = torch.linalg.eigvalsh(pulled @ pulled.mT)[:, -1].clamp_min(0)
            area = kernel_area(self.risk.model.get_submodule(call.layer))
            length = (area * top * call.input.double().flatten(1).square().sum(1)).sqrt()
            name = self.owner[call.layer]
            lengths[name] = lengths.get(name, 0) + length
        for name, length in lengths.items():
            self.sample[name] += float(length.square().sum())
        self._only_in_layers(at, z, calls)

    def _only_in_layers(self, at: Tensor, z: Tensor, calls: list[_Call]) -> None:
        """Notes weights that act on the outputs by another way than their layers' calls."""
        probe = torch.linspace(1, 2, z.numel(), dtype=z.dtype, device=z.device).reshape(z.shape)
        (whole,) = torch.autograd.grad((z * probe).sum(), at, retain_graph=True)
        slopes = torch.autograd.grad((z * probe).sum(), [call.output for call in calls], allow_unused=True)
        views = self.risk.layout.views(at.detach())
        shares: dict[str, Tensor] = {}
        for call, slope in zip(calls, slopes, strict=True):
            if slope is None:
                continue
            module: Any = self.risk.model.get_submodule(call.layer)
            name = self.owner[call.layer]
            weight = views[name].detach().requires_grad_(True)
            again = torch.func.functional_call(module, {"weight": weight, **_bias(module, call)}, (call.input,))
            (share,) = torch.autograd.grad((again * slope).sum(), weight)
            shares[name] = shares.get(name, 0) + share
        for name, part in self.risk.layout.slices():
            if name in self.names:
                share = shares[name].flatten() if name in shares else torch.zeros_like(whole[part])
                scale = float(whole[part].abs().max()) + 1e-12
                if float((whole[part] - share).abs().max()) > 1e-3 * scale:
                    self.foreign.add(name)


def _bias(module: Any, call: _Call) -> dict[str, Tensor]:
    """A layer's bias moves no slope with respect to the weight."""
    return {} if module.bias is None else {"bias": module.bias.detach().to(call.input)}


@contextmanager
def _calls(model: nn.Module, layers: list[str]) -> Iterator[list[_Call]]:
    """Collects the calls of these layers while the model runs, in the order of execution."""
    seen: list[_Call] = []
    with watch_calls(model, layers, lambda *call: seen.append(_Call(*call))):
        yield seen


def _roots(H: Tensor) -> Tensor:
    """Square roots of the positive parts of symmetric matrices [B, C, C]."""
    values, vectors = torch.linalg.eigh(H)
    return vectors * values.clamp_min(0).sqrt()[:, None] @ vectors.mT


def _supremum(risk: EmpiricalRisk, measured: float) -> tuple[float, bool]:
    """c: 1/2 for cross-entropy, whatever the outputs (man-alpha-finite); else the largest that was met."""
    known = is_plain(risk.loss) and measured <= 0.5 * (1 + 1e-5)  # ignored targets scale it
    return (0.5, True) if known else (measured, False)


def _affine(chain: Chain, group: list[str], calls: int) -> bool:
    """Whether the outputs are affine in the weight near w, so that its Hessian block is the Gauss-Newton block."""
    if calls != 1:
        return False
    if not chain.steps:
        return chain.linear
    position = next(i for i, step in enumerate(chain.steps) if step.layer in group)
    return all(step.linear for step in chain.steps[position:])


def _bounds(
    chain: Chain, risk: EmpiricalRisk, w: Tensor, group: list[str], inputs: _Inputs, c: float
) -> tuple[dict[str, float], str]:
    """All bounds that hold for one weight, and why others are missing."""
    name = inputs.owner[group[0]]
    if name in inputs.foreign:
        return {}, "the weight is also used outside the calls of its layers"
    if any(getattr(risk.model.get_submodule(layer), "padding_mode", "zeros") != "zeros" for layer in group):
        return {}, "a padding that repeats entries"
    found = {} if inputs.refused else {"sample": inputs.sample[name]}
    if inputs.refused and c == 0:
        return found, inputs.refused
    if not chain.steps:
        return found, chain.why
    views, model = {name: t.double() for name, t in _state(risk, w).items()}, risk.model
    calls = [i for i, step in enumerate(chain.steps) if step.layer in group]
    if len(calls) != inputs.calls[name]:
        return found, "the traced calls are not those of the data"
    roots: dict[str, float] = dict.fromkeys(BOUNDS[1:], 0.0)
    squared_weights, plain = _squared(risk, w), True
    for position, squared in zip(calls, inputs.squared[name], strict=True):
        above = chain.steps[position + 1 :]
        weights = [(weight_name(model, s.layer), kernel_area(model.get_submodule(s.layer))) for s in above if s.layer]
        others = math.prod(step.squared for step in above)
        plain = plain and others <= 1 and len({owner for owner, _ in weights}) == len(weights)
        own = kernel_area(model.get_submodule(chain.steps[position].layer))
        n, largest = len(weights), max((area for _, area in weights), default=1)
        frobenius = [float(views[owner].square().sum()) for owner, _ in weights]
        spectral = [float(torch.linalg.matrix_norm(views[owner].flatten(1), 2)) ** 2 for owner, _ in weights]
        areas = [area for _, area in weights]
        factors = {
            "spectral": math.prod(k * s for k, s in zip(areas, spectral, strict=True)),
            "frobenius": math.prod(k * s for k, s in zip(areas, frobenius, strict=True)),
            "am-gm": (largest * sum(frobenius) / n) ** n if n else 1.0,
            "corrected": (largest * squared_weights / n) ** n if n else 1.0,
            "printed": (squared_weights / n) ** n / own if n else 1.0 / own,
        }
        for bound, factor in factors.items():
            roots[bound] += math.sqrt(c * own * others * factor * squared)
    found |= {bound: root**2 for bound, root in roots.items()}
    if plain:
        return found, ""
    for bound in ("corrected", "printed"):  # alpha_l knows neither factors above 1 nor a weight that occurs twice
        del found[bound]
    return found, "alpha_l is for layers that occur once and operations that do not stretch"
