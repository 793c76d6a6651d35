"""Trace of the Hessian, with its sampling error."""

from __future__ import annotations

import math
from dataclasses import dataclass

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, stats, torch
from artifact.base.random import stream
from artifact.curvature.eigen import EigenResult
from artifact.curvature.hessian import HessianOperator
from artifact.curvature.risk import Loss, Risk

_TOGETHER = 4
#: Columns that are summed in float64 at a time when orthonormality is checked.
_COLUMNS = 1 << 16
#: Independent estimates before a run may end early; below that the spread itself is too uncertain.
_LEAST = 24


@dataclass(frozen=True)
class TraceResult:
    """An estimated trace with its error.

    value: estimate of the trace; standard_error: of the value; samples: [n] independent estimates behind it.
    """

    value: float
    standard_error: float
    samples: Tensor

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Student t interval of the value at this confidence level."""
        half = float(stats.t.ppf((1 + level) / 2, len(self.samples) - 1)) * self.standard_error
        return self.value - half, self.value + half

    def __str__(self) -> str:
        return f"{self.value:.6g} +- {self.standard_error:.2g} (standard error, {len(self.samples)} samples)"


def trace(
    loss: Loss | Risk,
    w: Tensor,
    samples: int = 100,
    seed: int = 0,
    *,
    deflate: Tensor | EigenResult | None = None,
    sketch: int = 8,
    slice: slice | None = None,
    relative_error: float | None = None,
) -> TraceResult:
    """Hutchinson's estimate of the Hessian's trace: the mean of z'Hz over random sign vectors z (Hutchinson 1990).

    A few dominant eigenvalues make z'Hz wide and skewed, and a t interval of 20 samples then covers 89% instead of 95%.
    So a part of the space that holds them is taken out and its share of the trace computed exactly: the rows that
    ``deflate`` gives, orthonormal [j, n], or eigenpairs that were found before; else the range of H on ``sketch`` sign
    vectors (Meyer et al. 2021, Hutch++), at two products each, none for 0. The estimate is unbiased for any such rows
    that do not depend on the same draws.

    samples: number of sign vectors after that, at least 2; slice: only this diagonal block. relative_error: end before
    ``samples``, after at least ``_LEAST``, once the standard error is below this share of the value.

    The standard error is the samples' standard deviation over sqrt(samples), never below the rounding of one sample:
    for a diagonal Hessian every sample is exact. Raises UserError for bad arguments and for a loss that is not
    deterministic or not finite.
    """
    if samples < 2:
        raise UserError("samples", samples, "an integer of at least 2")
    if sketch < 0:
        raise UserError("sketch", sketch, "an integer of at least 0")
    if relative_error is not None and not relative_error > 0:
        raise UserError("relative_error", relative_error, "a positive number")
    operator = HessianOperator(loss, w, slice)
    Q, exact = _taken_out(operator, deflate) if deflate is not None else _sketched(operator, min(sketch, samples), seed)
    values, rounding = torch.empty(0, dtype=torch.float64), _deviation(Q) * abs(exact)
    if len(Q) == operator.size:
        return TraceResult(exact, rounding, torch.full((samples,), exact, dtype=torch.float64))
    while len(values) < samples:
        Z = _signs(operator, seed, len(values), min(_TOGETHER, samples - len(values)))
        Z = Z - (Z @ Q.T) @ Q
        terms = (Z * operator(Z)).double()
        values = torch.cat([values, terms.sum(1).cpu() + exact])
        rounding = max(rounding, torch.finfo(w.dtype).eps * float(terms.abs().sum(1).max() + abs(exact)))
        if relative_error is None or len(values) < _LEAST:
            continue
        if _standard_error(values) <= relative_error * abs(float(values.mean())):
            break
    return TraceResult(float(values.mean()), math.hypot(_standard_error(values), rounding), values)


def _taken_out(operator: HessianOperator, deflate: Tensor | EigenResult) -> tuple[Tensor, float]:
    """(orthonormal rows [j, n], their share of the trace)."""
    if isinstance(deflate, EigenResult) and deflate.space is not None:
        return _orthonormal(deflate.space, operator), deflate.space_trace
    if isinstance(deflate, EigenResult):
        return _orthonormal(deflate.vectors, operator), float(deflate.values.sum())  # Rayleigh quotients
    Q = _orthonormal(deflate, operator)
    return Q, float((Q * operator(Q)).double().sum()) if len(Q) else 0.0


def _sketched(operator: HessianOperator, count: int, seed: int) -> tuple[Tensor, float]:
    """As ``_taken_out`` for the range of H on sign vectors; nothing where all of them see the same trace."""
    nothing = operator.w.new_zeros(0, operator.size), 0.0
    if count == 0:
        return nothing
    Z = _signs(operator, seed, 0, count, "curvature/sketch")
    HZ = operator(Z)
    terms = (Z * HZ).double()
    rounding = 8 * torch.finfo(operator.w.dtype).eps * float(terms.abs().sum(1).max())
    seen = terms.sum(1)
    if count > 1 and float(seen.max() - seen.min()) <= rounding:
        return nothing
    Q, R = torch.linalg.qr(HZ.T)
    kept = R.diagonal().abs() > torch.finfo(operator.w.dtype).eps ** 0.5 * R.diagonal().abs().max()
    Q = Q.T[kept].contiguous()
    return Q, float((Q * operator(Q)).double().sum())


def _standard_error(values: Tensor) -> float:
    return float(values.std(correction=1)) / math.sqrt(len(values))


def _orthonormal(rows: Tensor, operator: HessianOperator) -> Tensor:
    """The rows [j, n] in the operator's dtype, checked."""
    Q = rows.to(operator.w)
    fits = Q.dim() == 2 and Q.shape[1] == operator.size and len(Q) <= operator.size
    if not fits or _deviation(Q) > 8 * torch.finfo(Q.dtype).eps ** 0.5:
        raise UserError("deflate", list(rows.shape), f"at most {operator.size} orthonormal rows of that length")
    return Q


def _deviation(Q: Tensor) -> float:
    """Largest entry of |QQ' - I|, summed in float64, and at least the rounding of one number.

    Ten million float32 numbers leave about 5e-4; the share of the trace that is taken out is uncertain by as much.
    """
    gram = torch.eye(len(Q), dtype=torch.float64, device=Q.device).neg()
    for part in Q.split(_COLUMNS, dim=1):
        gram += part.double() @ part.double().T
    return max(torch.finfo(Q.dtype).eps, float(gram.abs().max()) if len(Q) else 0.0)


def _signs(operator: HessianOperator, seed: int, first: int, count: int, purpose: str = "curvature/trace") -> Tensor:
    """Sign vectors first, first + 1, ... of a seed: [count, n]."""
    bits = [torch.randint(2, (operator.size,), generator=stream(seed, purpose, first + i)) for i in range(count)]
    return (2 * torch.stack(bits) - 1).to(operator.w)
