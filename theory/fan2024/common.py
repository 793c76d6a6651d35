"""Helpers of the FedLESAM audit: inequality certificates, exact one-dimensional runs, evidence of repairs.

Certificates are identities between inner products, read as such: a letter stands for a vector and a product of two for
their inner product, so one identity serves every dimension. (Smoothness and norms do not hold "coordinate by
coordinate"; what they give enters as a slack.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from theory.kit.exact import plain
from theory.kit.statement import Statement, backing, corrected
from theory.kit.verdict import Replay, Verdict


def exact(scale: float) -> sp.Rational:
    """The decimal that ``scale`` shows, as a rational (0.9 -> 9/10)."""
    return sp.Rational(str(scale))


def _numbers(value: Any) -> Any:
    """Plain numbers also from sympy's rationals."""
    if isinstance(value, Mapping):
        return {key: _numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(entry) for entry in value]
    if isinstance(value, sp.Rational):
        value = Fraction(int(value.p), int(value.q))
    return plain(value)


def refuted(counterexample: Mapping[str, Any], margin: float | None = None, **more: Any) -> Verdict:
    """``refuted`` with plain numbers."""
    return Verdict("refuted", {"counterexample": _numbers(counterexample), **more}, margin=margin)


def repaired(
    replay: Callable[[Mapping[str, Any]], Replay],
    counterexample: Mapping[str, Any],
    statement: str | tuple[Statement, ...],
    certificate: str = "",
    **more: Any,
) -> Verdict:
    """``repaired``: counterexample of the printed statement, corrected statement, and the certificate behind it.

    Statement objects bring their own text and backing. The two sides and the margin come from the exact replay. Raises
    ValueError where the replay does not violate the printed statement or breaks one of its assumptions.
    """
    whole = isinstance(statement, tuple)
    behind = backing(*statement) if whole else {"certificate": certificate}
    evidence = {"counterexample": _numbers(counterexample), "repair": behind, **more}
    outcome = replay(evidence)
    if not (outcome.violated and all(outcome.assumptions.values())):
        raise ValueError(f"not a counterexample: {outcome}")
    evidence["sides"] = {"left": _numbers(outcome.left), "right": _numbers(outcome.right), "relation": outcome.relation}
    comparable = outcome.relation != "==" and outcome.right > 0
    return Verdict(
        "repaired",
        evidence,
        margin=float(outcome.left / outcome.right) if comparable else None,
        repaired=corrected(*statement) if whole else statement,
    )


def proved(certificate: str, margin: float | None = None, **more: Any) -> Verdict:
    """``proved`` with the text that a reader can verify."""
    return Verdict("proved", {"certificate": certificate, **more}, margin=margin)


def not_run(reason: str, **more: Any) -> Verdict:
    """``not-run`` with the reason and whatever numbers the paper itself offers."""
    return Verdict("not-run", {"reason": reason, **more})


def sign(x: Any) -> int:
    """unit() of a number, with unit(0) = 0."""
    return (x > 0) - (x < 0)


def lesam_path(w0: Fraction, radius: Fraction, step: Fraction, rounds: int) -> list[Fraction]:
    """FedLESAM as printed (Algorithm 1, one client, E = 1, w_old = 0 at the start) on F = w^2/2, exact.

    step is eta_g * eta_l. Returns w^0, ..., w^rounds. A zero difference gives a zero perturbation.
    """
    path, old = [w0], Fraction(0)
    for _ in range(rounds):
        w = path[-1]
        path.append(w - step * (w + radius * sign(old - w)))
        old = w
    return path


def sam_path(w0: Fraction, radius: Fraction, step: Fraction, rounds: int) -> list[Fraction]:
    """FedSAM with one client and E = 1 on F = w^2/2 (that is SAM), exact. Returns w^0, ..., w^rounds."""
    path = [w0]
    for _ in range(rounds):
        w = path[-1]
        path.append(w - step * (w + radius * sign(w)))
    return path


def clip(x: Any, bound: Any) -> Any:
    """Derivative of the Huber function with unit curvature: x limited to [-bound, bound]."""
    return max(-bound, min(bound, x))
