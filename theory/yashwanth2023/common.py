"""Helpers of the MAN audit: verdict builders, exact witnesses, spectral tools, real data.

A replay receives the evidence of a verdict and reads ``evidence["counterexample"]`` back as rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from artifact.data.digits import handwritten_digits
from theory.kit.exact import plain
from theory.kit.verdict import Verdict

Array = NDArray[np.float64]


def exact(scale: float) -> Fraction:
    """The decimal that ``scale`` shows, as a rational (0.9 -> 9/10)."""
    return Fraction(str(scale))


def proved(*steps: str, margin: float | None = None, **more: Any) -> Verdict:
    """``proved`` with the steps of the certificate joined into one text."""
    return Verdict("proved", {"certificate": " | ".join(steps), **plain(more)}, margin=margin)


def refuted(counterexample: Mapping[str, Any], margin: float | None = None, **more: Any) -> Verdict:
    """``refuted`` with plain numbers."""
    return Verdict("refuted", {"counterexample": plain(dict(counterexample)), **plain(more)}, margin=margin)


def repaired(
    counterexample: Mapping[str, Any],
    statement: str,
    *steps: str,
    margin: float | None = None,
    repair: Mapping[str, Any] | None = None,
    **more: Any,
) -> Verdict:
    """``repaired``: numbers against the printed form, the corrected statement, and what backs it.

    steps: texts of the certificate of the corrected statement. repair: further numbers behind it.
    """
    backing = {**({"certificate": " | ".join(steps)} if steps else {}), **plain(dict(repair or {}))}
    evidence = {"counterexample": plain(dict(counterexample)), "repair": backing, **plain(more)}
    return Verdict("repaired", evidence, margin=margin, repaired=statement)


def vacuous(reason: str, margin: float | None = None, **more: Any) -> Verdict:
    """``vacuous`` with the numbers in words and as evidence."""
    return Verdict("vacuous", {"reason": reason, **plain(more)}, margin=margin)


def agreement(agrees: bool, printed: Any, derived: Any, **more: Any) -> Verdict:
    """``consistent`` or ``inconsistent``, printed beside derived."""
    evidence = {"printed": plain(printed), "derived": plain(derived), **plain(more)}
    return Verdict("consistent" if agrees else "inconsistent", evidence)


def first_violation(
    cases: Iterable[Mapping[str, Any]], sides: Callable[[Mapping[str, Any]], tuple[Fraction, Fraction]], scale: float
) -> dict[str, Any] | None:
    """First case with left > scale * right, with both sides; None when every case satisfies the inequality.

    Each case meets the assumptions; sides computes (left, right) exactly.
    """
    for case in cases:
        left, right = sides(case)
        if left > exact(scale) * right:
            return {**case, "left": left, "right_times_scale": exact(scale) * right}
    return None


def tested(
    cases: Iterable[Mapping[str, Any]], sides: Callable[[Mapping[str, Any]], tuple[Fraction, Fraction]]
) -> list[dict[str, Any]]:
    """Each case with its two sides."""
    return [{**case, **dict(zip(("left", "right"), sides(case), strict=True))} for case in cases]


def decide_bound(
    cases: Sequence[Mapping[str, Any]],
    sides: Callable[[Mapping[str, Any]], tuple[Fraction, Fraction]],
    scale: float,
    steps: Sequence[str],
    **more: Any,
) -> Verdict:
    """Verdict of an inequality whose proof covers every factor ``scale`` >= 1 times a right side that is >= 0.

    cases: exact extremal instances; a factor that they violate is refuted, otherwise the proof in ``steps`` applies.
    """
    violation = first_violation(cases, sides, scale)
    if violation is not None:
        return refuted(violation, margin=float(violation["left"] / (violation["right_times_scale"] or 1)), **more)
    ratios = [float(left / right) for left, right in map(sides, cases) if right]
    return proved(*steps, margin=max(ratios, default=None), tested_at=tested(cases, sides), **more)


def top_eigenvalue(matrix: Array) -> float:
    """Largest algebraic eigenvalue of a symmetric matrix [d, d]."""
    return float(np.linalg.eigvalsh(matrix)[-1])


def power_iteration(
    product: Callable[[Array], Array], dimension: int, seed: int = 0, tolerance: float = 1e-7, steps: int = 5000
) -> float:
    """Largest algebraic eigenvalue of a symmetric operator v [d] -> Hv [d] by shifted power iteration.

    Thirty plain steps estimate the largest modulus r; then H + 1.1 r I is iterated, whose dominant eigenvalue belongs
    to the largest algebraic eigenvalue of H. Stops at a residual of ``tolerance`` r, which bounds the distance to an
    eigenvalue.
    """
    vector = np.random.default_rng(seed).standard_normal(dimension)
    modulus = 0.0
    for _ in range(30):
        image = product(vector / np.linalg.norm(vector))
        modulus = max(modulus, float(np.linalg.norm(image)))
        if modulus == 0 or not image.any():
            break
        vector = image
    vector = np.random.default_rng(seed + 1).standard_normal(dimension)
    value, shift = 0.0, 1.1 * modulus
    for _ in range(steps if modulus else 0):
        vector = vector / np.linalg.norm(vector)
        image = product(vector)
        value = float(vector @ image)
        if np.linalg.norm(image - value * vector) <= tolerance * modulus:
            break
        vector = image + shift * vector
    return value


@cache
def digits(count: int = 200) -> tuple[Array, NDArray[np.int64]]:
    """First ``count`` images of the 8x8 digits of scikit-learn: pixels in [0, 1] [count, 64] and labels [count]."""
    pixels, labels = handwritten_digits()
    return pixels[:count] / 16.0, labels[:count]


def softmax(logits: Array) -> Array:
    """Softmax over the last axis."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)
