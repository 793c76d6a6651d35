"""Extreme eigenvalues of a Hessian, each with a certificate.

Two different statements back a value. *It is an eigenvalue*: with a unit vector v, some eigenvalue lies within
||Hv - value v|| of the value (Parlett 1998, theorem 4.5.1); the residual is recomputed with a fresh product after the
solver has ended. *It is the extreme one*: no residual can say so, because a Krylov space that misses the extreme vector
has tiny residuals too. So a witness is needed: a Krylov space from a uniformly random start that would have shown
anything further out. For one eigenvalue that is the solver's own, if it can tell after a few more steps; else, and for
several, an independent probe searches the orthogonal complement of what was found. ``converged`` means that the
residual meets the tolerance and that the witness, extended until it is sharp enough to tell, has seen nothing beyond.

How far a witness can be wrong is known, in two ways. An eigenvector that it cannot have seen holds less of the start
than all but 0.001 of random starts have of any given vector (``fedsharp.curvature.probe``); this ends the search early
where there is a gap. And after m steps in dimension n, the relative error e of the extreme Ritz value has
P(e > x) <= 1.648 sqrt(n) exp(-sqrt(x) (2m - 1)) (Kuczynski and Wozniakowski 1992, theorem 4.2); this serves where there
is none. ``EigenResult.ceiling`` states the sharper of the two in the units of the eigenvalues.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.curvature.hessian import HessianOperator
from artifact.curvature.lanczos import Krylov, random_unit
from artifact.curvature.probe import SCORES, OwnSpace, Pairs, Probe, excludes, rayleigh_ritz
from artifact.curvature.risk import MEMORY, Loss, Risk

_DENSE = 32


@dataclass(frozen=True)
class EigenResult:
    """Eigenvalues with their certificates, outermost first in the sense of ``which``.

    values: [k] float64; vectors: [k, P], unit rows.
    residuals: [k] ||Hv - value v||, recomputed, plus the rounding of one product.
    converged: [k] bool, see the module's text.
    iterations: products that the solver used; products: all of them, checks included.
    ceiling: with probability at least 0.999 over the witness's start, no eigenvalue outside the found ones scores
    higher (up to the residuals); NaN when no residual met the tolerance, so that nothing was searched.
    tol, which: as asked for.
    space, space_trace: with ``keep_space``, orthonormal rows [j, P] that the certificate has gone through, the vectors
    within their span, and the trace of the Hessian restricted to them; ``trace`` takes them out for nothing.
    """

    values: Tensor
    vectors: Tensor
    residuals: Tensor
    converged: Tensor
    iterations: int
    products: int
    ceiling: float
    tol: float
    which: str
    space: Tensor | None = None
    space_trace: float = math.nan

    def rows(self) -> list[dict[str, Any]]:
        """One plain record per eigenvalue, for printing and JSON; an unconverged one has the value None.

        interval: an eigenvalue lies in it; converged or not, that is known.
        """
        return [
            {"value": x if good else None, "converged": good, "residual": r, "interval": [x - r, x + r]}
            for x, r, good in zip(self.values.tolist(), self.residuals.tolist(), self.converged.tolist(), strict=True)
        ]

    def __str__(self) -> str:
        """One line per eigenvalue; of an unconverged one only the interval is shown."""
        return "\n".join(
            f"{row['value']:.8g} +- {row['residual']:.2g}"
            if row["converged"]
            else "not converged; an eigenvalue lies in [{:.6g}, {:.6g}]".format(*row["interval"])
            for row in self.rows()
        )


def top_eigenvalues(
    loss: Loss | Risk,
    w: Tensor,
    k: int = 5,
    which: str = "LA",
    tol: float | None = None,
    max_iterations: int = 1000,
    seed: int = 0,
    *,
    slice: slice | None = None,
    memory: int = 4 * MEMORY,
    keep_space: bool = False,
) -> EigenResult:
    """The k outermost eigenvalues of the Hessian of ``loss`` at w [P]: Lanczos, restarted where needed, certificates.

    which: "LA" largest, "SA" smallest, "LM" largest in magnitude. tol: relative residual that counts as converged
    (None: 1e-9 in float64, 1e-3 in float32). max_iterations: products that the solver may use, and the probe again.
    slice: only this diagonal block of the Hessian. memory: bytes for the probe's Krylov basis. keep_space: see there.

    Raises UserError for bad arguments and for a loss that is not deterministic or not finite.
    """
    operator = HessianOperator(loss, w, slice)
    tol = _check(operator, k, which, tol, max_iterations)
    if operator.size <= max(_DENSE, 2 * k + 1) and operator.size <= max_iterations:
        return _dense_result(operator, k, which, tol)
    V, own = _solve(operator, k, which, tol, max_iterations, seed)
    iterations = operator.products
    steps = min(max_iterations, max(1, memory // (operator.size * w.element_size())))
    attempt = 0
    while True:
        pairs, witness = rayleigh_ritz(operator, V, which, k, tol), None
        if not pairs.any_converged:
            break
        witness = _witness(operator, pairs, own, (seed, attempt), steps)
        if attempt == k or not isinstance(witness, Probe) or not witness.found_more:
            break
        V = torch.cat([pairs.vectors, witness.vector()])
        attempt += 1
    result = _result(pairs, operator, iterations, witness)
    if not keep_space or witness is None:
        return result
    rows, share = witness.explored()
    return replace(result, space=rows, space_trace=share)


def power_iteration(
    loss: Loss | Risk,
    w: Tensor,
    which: str = "LM",
    tol: float | None = None,
    max_iterations: int = 1000,
    seed: int = 0,
    *,
    start: Tensor | None = None,
    slice: slice | None = None,
) -> EigenResult:
    """One extreme eigenvalue by power iteration; k = 1, arguments as in ``top_eigenvalues`` (tol in float64: 1e-6).

    "LA" and "SA" shift by the dominant eigenvalue when that has the other sign. Each step solves the 2 x 2 problem on
    the last two iterates, so a pair of eigenvalues +-x of equal size is told apart. start: [n] instead of a random
    vector. The result is probed like any other; the probe's finding is not used to improve it: a vector that
    stopped at the wrong eigenvalue is returned with converged = False.
    """
    operator = HessianOperator(loss, w, slice)
    tol = _check(operator, 1, which, max(1e-6, _default_tolerance(w)) if tol is None else tol, max_iterations)
    v = random_unit(operator.size, w, seed, "curvature/power") if start is None else start / start.norm()
    u, value = _iterate(operator, v, 0.0, tol, max_iterations)
    if SCORES[which](value) < 0:
        u, _ = _iterate(operator, v, value, tol, max_iterations - operator.products)
    iterations = operator.products
    pairs = rayleigh_ritz(operator, u[None], which, 1, tol)
    witness = None
    if pairs.any_converged:
        steps = min(max_iterations, max(1, 4 * MEMORY // (operator.size * w.element_size())))
        witness = Probe(operator, pairs, (seed, 0), steps)
    return _result(pairs, operator, iterations, witness)


def block_top_eigenvalue(loss: Loss | Risk, w: Tensor, slice: slice, k: int = 1, **options: Any) -> EigenResult:
    """Top eigenvalues of the diagonal block of the Hessian that belongs to ``slice`` of w, e.g. one layer.

    Options as in ``top_eigenvalues``; vectors are [k, length of the slice].
    """
    return top_eigenvalues(loss, w, k, slice=slice, **options)


def _default_tolerance(w: Tensor) -> float:
    return 1e-9 if w.dtype == torch.float64 else 1e-3


def _check(operator: HessianOperator, k: int, which: str, tol: float | None, max_iterations: int) -> float:
    if not 1 <= k <= operator.size:
        raise UserError("k", k, f"1..{operator.size}")
    if which not in SCORES:
        raise UserError("which", which, ", ".join(SCORES))
    if max_iterations < 1:
        raise UserError("max_iterations", max_iterations, "an integer of at least 1")
    tol = _default_tolerance(operator.w) if tol is None else tol
    if not 0 < tol < 1:
        raise UserError("tol", tol, "a number between 0 and 1")
    return tol


def _witness(
    operator: HessianOperator, pairs: Pairs, own: Krylov | None, seed: tuple[int, int], steps: int
) -> OwnSpace | Probe:
    """What vouches for the pairs: the solver's space where it can, else a search of at most so many steps."""
    if own is not None and excludes(own, pairs.which, pairs.limit - pairs.rounding):
        return OwnSpace(own, pairs)
    return Probe(operator, pairs, seed, steps)


def _result(pairs: Pairs, operator: HessianOperator, iterations: int, witness: OwnSpace | Probe | None) -> EigenResult:
    """Puts the two halves of the certificate together; without a witness nothing counts as converged."""
    outermost, ceiling = (math.inf, math.nan) if witness is None else (witness.outermost, witness.ceiling)
    good = (pairs.residuals <= pairs.allowed) & (outermost <= pairs.limits)
    found = (pairs.values, pairs.vectors, pairs.residuals, good)
    return EigenResult(*found, iterations, operator.products, ceiling, pairs.tol, pairs.which)


def _dense_result(operator: HessianOperator, k: int, which: str, tol: float) -> EigenResult:
    """All eigenvalues of a small Hessian: nothing can be missed, so there is no probe."""
    pairs = rayleigh_ritz(operator, torch.eye(operator.size).to(operator.w), which, k, tol)
    good = pairs.residuals <= pairs.allowed
    ceiling, products = float(SCORES[which](pairs.values)[-1]), operator.products
    return EigenResult(pairs.values, pairs.vectors, pairs.residuals, good, products, products, ceiling, tol, which)


class _Budget(Exception):
    """The solver used all products that it may use."""


def _solve(
    operator: HessianOperator, k: int, which: str, tol: float, budget: int, seed: int
) -> tuple[Tensor, Krylov | None]:
    """Approximate eigenvectors [k, n], and the space they come from where it can vouch for them.

    One Lanczos run, and scipy's restarted Lanczos where that is not enough.
    """
    krylov = Krylov(operator, random_unit(operator.size, operator.w, seed, "curvature/eigen"))
    V, done = _plain_lanczos(krylov, k, which, tol, min(budget, 4 * k + 40))
    if done and k == 1:
        return _vouched(krylov, which, tol, min(budget, 2 * krylov.steps))
    if done or k >= operator.size:
        return V, None
    restarted = _arpack(operator, k, which, tol, budget, V.sum(0))
    return V if restarted is None else restarted, None  # best effort; the residuals will say what V is worth


def _plain_lanczos(krylov: Krylov, k: int, which: str, tol: float, steps: int) -> tuple[Tensor, bool]:
    """Outermost k Ritz vectors [k, n], filled up by random ones where the space is smaller, and whether all settled."""
    while True:
        krylov.extend()
        values, S = krylov.tridiagonal()
        best = np.argsort(-SCORES[which](values))[:k]
        slack = krylov.beta[-1] * np.abs(S[-1, best])
        done = len(best) == k and bool((slack <= tol / 2 * np.abs(values[best])).all())
        if done or krylov.exhausted or krylov.steps >= steps:
            break
    V = krylov.vectors(S[:, best])
    fill = [random_unit(V.shape[1], V, 0, "curvature/fill", i)[None] for i in range(k - len(V))]
    return torch.cat([V, *fill]), done


def _vouched(krylov: Krylov, which: str, tol: float, steps: int) -> tuple[Tensor, Krylov | None]:
    """The outermost Ritz vector [1, n] once the space excludes a better one; no space where it takes more steps."""
    while True:
        values, S = krylov.tridiagonal()
        best = int(np.argmax(SCORES[which](values)))
        vouches = excludes(krylov, which, float(SCORES[which](values[best])) + tol / 2 * abs(float(values[best])))
        if vouches or krylov.exhausted or krylov.steps >= steps:
            return krylov.vectors(S[:, [best]]), krylov if vouches else None
        krylov.extend()


def _arpack(operator: HessianOperator, k: int, which: str, tol: float, budget: int, start: Tensor) -> Tensor | None:
    """Eigenvectors [k, n] by scipy's eigsh; None where it does not get there within the budget of products."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # readers of stored runs go without it

    def matvec(x: np.ndarray) -> np.ndarray:
        if operator.products >= budget:
            raise _Budget
        return operator(torch.from_numpy(x.reshape(1, -1)).to(start))[0].cpu().numpy()

    v0 = start.cpu().numpy()
    linear = LinearOperator((operator.size,) * 2, matvec=matvec, dtype=v0.dtype)
    try:
        _, vectors = eigsh(linear, k, which=which, tol=tol / 4, v0=v0, maxiter=budget)
    except (_Budget, ArpackError):
        return None
    return torch.from_numpy(vectors.T.copy()).to(start)


def _iterate(operator: HessianOperator, v: Tensor, shift: float, tol: float, budget: int) -> tuple[Tensor, float]:
    """Power iteration on H - shift I from the unit vector v; returns a unit vector and its Rayleigh quotient of H."""
    last: tuple[Tensor, Tensor] | None = None
    best, value = v, 0.0
    for _ in range(max(1, budget)):
        product = operator(v[None])[0]
        best, value, residual = v, float(v @ product), float((product - (v @ product) * v).norm())
        if last is not None:
            pair = _two_vectors(*last, v, product, shift)
            if pair is not None and pair[2] < residual:
                best, value, residual = pair
        if residual <= max(tol / 2 * abs(value), 16 * torch.finfo(v.dtype).eps * float(product.norm())):
            break
        step = product - shift * v
        last, v = (v, product), step / step.norm()
    return best, value


def _two_vectors(a: Tensor, Ha: Tensor, b: Tensor, Hb: Tensor, shift: float) -> tuple[Tensor, float, float] | None:
    """Dominant Ritz pair of H - shift I on span(a, b): (vector, value of H, residual); None when they are parallel."""
    overlap = a @ b
    c, Hc = b - overlap * a, Hb - overlap * Ha
    length = c.norm()
    if length < torch.finfo(a.dtype).eps ** 0.5:
        return None
    Q, HQ = torch.stack([a, c / length]), torch.stack([Ha, Hc / length])
    T = (Q @ HQ.T).double()
    values, S = torch.linalg.eigh((T + T.T) / 2)
    best = int((values - shift).abs().argmax())
    s = S[:, best].to(Q)
    vector, value = s @ Q, float(values[best])
    return vector / vector.norm(), value, float((s @ HQ - value * vector).norm())
