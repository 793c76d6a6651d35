"""Adversarial search for the largest left/right ratio of an inequality over a parametrised class.

Random draws only find typical instances. ``worst_ratio`` therefore climbs from the best draws: quasi-Newton ascent on a
finite-difference gradient, then Nelder-Mead, which also works where the ratio has kinks. The result is a lower bound on
the supremum: a ratio above 1 is a counterexample candidate, a ratio below 1 is evidence, not a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from theory.kit import effort

Vector = NDArray[np.float64]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: (admissible evaluations, largest ratio) of the searches that this process has made
COUNTED: set[tuple[int, float]] = set()


@dataclass(frozen=True)
class Search:
    """Result of a search.

    value: largest ratio found (``-inf`` when no argument satisfied the assumptions, ``inf`` when right is 0 and left is
    not). argument: the argument [n] that gives it. evaluations: calls of the ratio. admissible: calls that were not
    nan. seed: of the generator that made the draws. history: best value after the draws and after each restart.
    quantiles: of the ratios of the random draws, at ``QUANTILES``, which shows how far the ascent went beyond them.
    """

    value: float
    argument: Vector
    evaluations: int
    seed: int
    admissible: int = 0
    history: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()

    def as_evidence(self, function_class: str, **more: Any) -> dict[str, Any]:
        """Evidence of a verdict ``holds``: evaluations, worst_ratio, function_class, seed, argument; plus ``more``.

        evaluations counts the admissible ones only: an argument that breaks an assumption tests nothing.
        """
        return {
            "evaluations": self.admissible,
            "worst_ratio": self.value,
            "function_class": function_class,
            "seed": self.seed,
            "argument": [float(x) for x in self.argument],
            "history": [float(x) for x in self.history],
            "quantiles": [float(x) for x in self.quantiles],
            **more,
        }


class _Counter:
    """The ratio with bookkeeping: counts calls, keeps the best argument, turns nan into a large loss."""

    def __init__(self, ratio: Callable[[Vector], float]):
        self.ratio = ratio
        self.calls = self.admissible = 0
        self.value, self.argument = -math.inf, None

    def __call__(self, x: Vector) -> float:
        self.calls += 1
        with np.errstate(all="ignore"):
            value = float(self.ratio(x))
        if math.isnan(value):
            return -math.inf
        self.admissible += 1
        if value > self.value:
            self.value, self.argument = value, np.array(x, dtype=float)
        return value

    def loss(self, x: Vector) -> float:
        value = self(np.asarray(x, dtype=float))
        return float(np.clip(-value, -1e12, 1e12))


def _climb(counter: _Counter, start: Vector, evaluations: int) -> None:
    """Ascent from one start: L-BFGS-B on finite differences, then Nelder-Mead from wherever that ended."""
    per_gradient, half = start.size + 1, evaluations // 2
    result = minimize(counter.loss, start, method="L-BFGS-B", options={"maxfun": max(half, 3 * per_gradient)})
    start = result.x if result.fun <= counter.loss(start) else start
    rest = {"maxfev": evaluations - half, "adaptive": start.size > 4}
    minimize(counter.loss, start, method="Nelder-Mead", options=rest)


def worst_ratio(
    ratio: Callable[[Vector], float],
    sample: Callable[[np.random.Generator], Vector],
    *,
    draws: int = 2000,
    restarts: int = 6,
    seed: int = 0,
    climb: int = 400,
) -> Search:
    """Maximise ``ratio`` over arguments like those that ``sample`` draws.

    ratio: left/right of the statement at an argument [n]; nan where an assumption fails (never counted as evidence).
    sample: random argument [n] from a generator. draws: random arguments. restarts: how many of the best draws, apart
    from each other, start an ascent; half of the restarts continue from a jittered best argument. climb: evaluations
    per ascent.
    """
    rng = np.random.default_rng(seed)
    draws, restarts = effort.problems(draws), 0 if effort.tried() else restarts
    counter = _Counter(ratio)
    starts = [np.atleast_1d(np.asarray(sample(rng), dtype=float)) for _ in range(draws)]
    values = [counter(start) for start in starts]
    order = np.argsort(values)[::-1]
    history = [counter.value]
    for restart in range(restarts):
        if counter.argument is None or math.isinf(counter.value):
            break
        if restart % 2 == 0:
            start = starts[order[min(restart // 2, len(order) - 1)]]
        else:
            start = counter.argument * (1 + 0.05 * rng.standard_normal(counter.argument.size))
        _climb(counter, start, climb)
        history.append(counter.value)
    argument = counter.argument if counter.argument is not None else starts[0]
    finite = [value for value in values if math.isfinite(value)]
    quantiles = tuple(np.quantile(finite, QUANTILES)) if finite else ()
    COUNTED.add((counter.admissible, float(counter.value)))
    return Search(counter.value, argument, counter.calls, seed, counter.admissible, tuple(history), quantiles)


def safe_ratio(left: float, right: float, tiny: float = 1e-300) -> float:
    """left/right for a non-negative right side: inf where right is 0 and left is not, nan where both are 0."""
    if abs(right) <= tiny:
        return math.nan if abs(left) <= tiny else math.copysign(math.inf, left)
    return left / right
