"""Whether the assumptions of a replay are programs that can fail: the instance is changed until each has failed once.

Whether ``True`` was written down, passed through a variable or computed from constants makes no difference here.
"""

from __future__ import annotations

import copy
import random
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import chain, islice
from typing import Any

from theory.kit.verdict import BY_CONSTRUCTION, Check

FACTORS = (-1, 0, -3, 3, Fraction(1, 3), 1000, Fraction(1, 1000), 10**12)
TRIALS, SECONDS = 120, 1.0
Path = tuple[Any, ...]


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, bool]]:
    """Where numbers and lists stand in plain data: (path, whether it is a number)."""
    if isinstance(value, Mapping | list):
        if isinstance(value, list):
            yield path, False
        for key, entry in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from places(entry, (*path, key))
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError):
            Fraction(value)
            yield path, True


def scaled(value: Any, factor: Fraction | int, plus: int = 0) -> Any:
    """A number of the same kind, or every number of a list."""
    if isinstance(value, list):
        return [scaled(entry, factor, plus) for entry in value]
    if isinstance(value, float):
        return value * float(factor) + plus
    try:
        result = Fraction(value) * factor + plus
    except (TypeError, ValueError):
        return value
    return int(result) if result.denominator == 1 and not isinstance(value, str) else str(result)


def changed(example: Mapping[str, Any], path: Path, change: Any) -> dict[str, Any]:
    """A copy with change(value) at a path."""
    found = inside = copy.deepcopy(dict(example))
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = change(inside[path[-1]])
    return found


def variants(example: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Changed instances: every number and list times a few factors, numbers plus one, lists shorter; then several."""
    found, draw = sorted(places(example), key=str), random.Random(0)
    for factor in FACTORS:
        for path, _ in found:
            yield changed(example, path, lambda value, by=factor: scaled(value, by))
    for path, number in found:
        yield changed(example, path, (lambda value: scaled(value, 1, 1)) if number else (lambda value: value[:-1]))
        if not number:
            yield changed(example, path, lambda value: value + value[-1:])
    while True:
        many = example
        for path in draw.sample([path for path, number in found if number], draw.randint(1, min(4, len(found)))):
            factor = draw.choice(FACTORS)
            many = changed(many, path, lambda value, by=factor: scaled(value, by))
        yield many


def halves(example: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every whole number of the instance with a half more, which breaks "is whole"."""
    for path, number in sorted(places(example), key=str):
        if number:
            yield changed(example, path, lambda value: value + 0.5 if isinstance(value, int) else value)


@contextmanager
def processor_limit() -> Iterator[None]:
    """TimeoutError after SECONDS of this process's own time, whatever else the machine does."""

    def expire(*_):
        raise TimeoutError

    previous = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def never_broken(check: Check, evidence: Mapping[str, Any], trials: int = TRIALS) -> set[str]:
    """Names of the assumptions that are called tested and that no changed instance breaks."""
    left = {name for name, how in check.replay(evidence).assumptions.items() if how != BY_CONSTRUCTION}
    instance = evidence["counterexample"]
    for example in chain(islice(variants(instance), trials), halves(instance)):
        if not left:
            break
        with suppress(Exception), processor_limit():  # a changed instance need not be one at all
            replay = check.replay({**evidence, "counterexample": example})
            left -= {name for name, holds in replay.assumptions.items() if not holds}
    return left
