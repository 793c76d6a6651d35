"""How large the runs behind a finding are, beside what the paper ran: toy, short, full-length or paper.

The scale follows from the runs' settings and from the settings that the experiments declare for the profile ``paper``.
Nobody types it.

    toy          a perceptron, in any cell that is not the paper's own
    short        a convolutional network on a subset of the images, or for fewer rounds than printed
    full-length  a convolutional network on all images for as many rounds as printed
    paper        the cell itself: network, data, clients and rounds as printed
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from artifact.base.cache import cache
from artifact.base.errors import UserError
from artifact.papers import experiments
from artifact.training.config import RunConfig

#: from the smallest to the largest
SCALES = ("toy", "short", "full-length", "paper")

#: settings that make a cell the paper's own
_CELL = ("dataset", "model", "train_size", "clients", "cohort", "rounds")


def scale(configs: Iterable[Mapping[str, Any]], tables: Iterable[str]) -> str:
    """The smallest scale among the runs with these settings; empty without runs.

    tables: ``paper/table`` or ``paper/figure/panel``, whose settings at the profile ``paper`` are the printed ones.
    """
    printed = frozenset(one for name in tables for one in _printed(name))
    found = {_of_run(config, printed) for config in configs}
    return min(found, key=SCALES.index) if found else ""


def printed_rounds(tables: Iterable[str]) -> int | None:
    """The fewest rounds that the paper's own settings of these tables have; None where none are declared."""
    rounds = [one[_CELL.index("rounds")] for name in tables for one in _printed(name)]
    return min(rounds) if rounds else None


def _of_run(config: Mapping[str, Any], printed: frozenset[tuple[Any, ...]]) -> str:
    if _key(config) in printed:
        return "paper"
    if config["model"].startswith("mlp"):
        return "toy"
    rounds = [one[_CELL.index("rounds")] for one in printed]
    whole = config.get("train_size") is None and bool(rounds) and config["rounds"] >= min(rounds)
    return "full-length" if whole else "short"


def _key(config: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(config.get(name) for name in _CELL)


@cache
def _printed(name: str) -> frozenset[tuple[Any, ...]]:
    """The settings that a table or figure has at the profile ``paper``; none for one that no paper prints."""
    try:
        configs = _configs(name)
    except UserError:
        return frozenset()
    return frozenset(_key(config.model_dump()) for config in configs)


def _configs(name: str) -> list[RunConfig]:
    paper, of = name.split("/")[:2]
    if of.startswith("fig"):
        from artifact.papers.figures import series  # the package loads the drawing library

        panels = [one for one in series.select(name, "paper") if not _ours(one.figure.location)]
        return [config for panel in panels for one in panel.series for config in one.configs[:1]]
    _, table = experiments.find(f"{paper}/{of}")
    if _ours(table.location) or "paper" not in table.profiles:
        return []
    one_seed = table.profiles["paper"].model_copy(update={"seeds": table.profiles["paper"].seeds[:1]})
    table = table.model_copy(update={"profiles": {"paper": one_seed}})
    return [config for cell in experiments.cells(table, "paper") for config in cell.configs]


def _ours(location: str) -> bool:
    return location.startswith(("our addition", "no figure of a paper"))
