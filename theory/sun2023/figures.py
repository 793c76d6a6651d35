"""Plain figures for evidence that is a short list of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Figure = Callable[[Any, Mapping[str, Any]], None]


Select = Callable[[Mapping[str, Any]], Mapping[str, float]]


def numbers(name: str) -> Select:
    """evidence[name]."""
    return lambda evidence: evidence[name]


def cells_of(table: str, name: str) -> Select:
    """Column ``name`` of the table evidence[table]."""
    return lambda evidence: {row: cells[name] for row, cells in evidence[table].items()}


def second_minus_first(name: str) -> Select:
    """Differences of the pairs in evidence[name]."""
    return lambda evidence: {row: pair[1] - pair[0] for row, pair in evidence[name].items()}


def bars(select: Select, label: str, *, reference: float | None = None, log: bool = False) -> Figure:
    """Figure with one horizontal bar per entry of ``select(evidence)`` and a dotted line at ``reference``."""

    def draw(axes, evidence) -> None:
        values = select(evidence)
        axes.barh([str(name) for name in values], [float(value) for value in values.values()])
        axes.invert_yaxis()
        if log:
            axes.set_xscale("log")
        if reference is not None:
            axes.axvline(reference, color="black", linestyle=":")
        axes.set_xlabel(label)
        axes.tick_params(axis="y", labelsize="small")

    return draw


def printed_and_derived(axes, evidence) -> None:
    """Printed minus derived for every compared number, with the range that the rounding of the inputs allows."""
    rows = evidence["rows"]
    places = range(len(rows))
    width, height = axes.figure.get_size_inches()
    axes.figure.set_size_inches(width, max(height, 1.2 + 0.2 * len(rows)))
    for place, row in zip(places, rows, strict=True):
        low, high = (float(row["printed"]) - bound for bound in reversed(row["derived_range"]))
        axes.plot([low, high], [place, place], color="grey")
        axes.plot(row["difference"], place, "o" if row["agrees"] else "x", color="black" if row["agrees"] else "red")
    axes.axvline(0, color="black", linestyle=":")
    axes.set_yticks(list(places), [row["where"].replace("_", " ") for row in rows], fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel("printed minus derived (cross: no unrounded inputs can give the print)")
