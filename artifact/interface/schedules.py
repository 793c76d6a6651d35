"""Rates and radii that change from round to round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Union

from artifact.base.errors import UserError

#: a number, one number a round (the last one stays), or a function of the round, from 0
Schedule = Union[float, Sequence[float], Callable[[int], float]]  # noqa: UP007  (also evaluated at run time)


def cosine(peak: float, warmup: int = 0, rounds: int | None = None, least: float = 0.0) -> Callable[..., float]:
    """A schedule that rises linearly to ``peak`` over ``warmup`` rounds and falls to ``least`` along half a cosine.

    rounds: rounds in all; by default those of the training that it is given to.

        run = fedsharp.train(model, clients, lr=fedsharp.cosine(0.1, warmup=5), rounds=100)
    """
    if not (0 <= least <= peak < math.inf) or warmup < 0:
        raise UserError("cosine", peak, "a finite peak from least on, least from 0 on, warmup from 0 on")

    def at(t: int, whole: int | None = None) -> float:
        end = rounds or whole or 1
        if warmup >= end > 1:
            raise UserError("warmup", warmup, f"fewer rounds than the training, {end}")
        if t < warmup:
            return peak * (t + 1) / warmup
        share = min(1.0, (t - warmup) / max(1, end - warmup))
        return least + (peak - least) * (1 + math.cos(math.pi * share)) / 2

    at.takes_rounds = True  # type: ignore[attr-defined]
    return at


def value(schedule: Schedule, t: int, rounds: int, name: str) -> float:
    """The number of round t. Raises UserError, naming the option, where it is no finite number from 0."""
    if callable(schedule):
        found = schedule(t, rounds) if hasattr(schedule, "takes_rounds") else schedule(t)  # type: ignore[call-arg]
    elif isinstance(schedule, Sequence):
        if not schedule:
            raise UserError(name, "[]", "a number, a list with one a round, or a function of the round")
        found = schedule[min(t, len(schedule) - 1)]
    else:
        found = schedule
    try:
        number = float(found)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise UserError(name, found, f"a finite number from 0 in every round (round {t})")
    return number


def varies(schedule: object) -> bool:
    """Whether a schedule is a list or a function of the round, not one number."""
    return callable(schedule) or (isinstance(schedule, Sequence) and not isinstance(schedule, str))


def require_same(given: dict[str, Schedule], rows: list[dict[str, Any]], rounds: int) -> None:
    """Raises UserError where a schedule has other numbers than the stored rows of the rounds before."""
    for name, schedule in given.items():
        for row in rows:
            found = value(schedule, row["round"] - 1, rounds, name)
            if name in row and not math.isclose(found, row[name], rel_tol=1e-9):
                hint = "; cosine(..., rounds=N) keeps its numbers when rounds grow"
                allowed = f"the schedule of the training that goes on, {row[name]:g} in round {row['round']}{hint}"
                raise UserError(name, f"{found:g}", allowed)
