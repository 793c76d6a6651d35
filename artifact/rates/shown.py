"""A bound as text and as a figure."""

from __future__ import annotations

import math
from textwrap import fill
from typing import Any

import numpy as np

from artifact.base.plots import COLOURS

#: widest description of a term
_WIDTH = 28


def text(found: Any) -> str:
    """The bound, its terms with their shares, the step, and what the theorem assumes."""
    s = found.setting
    if found.outside:
        lines = [f"{found.method}: no bound", *(f"outside the hypotheses: {said}" for said in found.outside)]
    else:
        lines = [
            f"{found.method}: mean over {s.T} rounds of the squared gradient at most {found.bound:.4g}",
            "",
            f"{'term':<{_WIDTH}}{'value':>12}{'share':>8}",
        ]
        for name, value in found.terms.items():
            lines.append(f"{name:<{_WIDTH}}{value:>12.4g}{value / found.bound if found.bound else 0:>8.0%}")
        lines += ["", f"dominant: {found.dominant}"]
    given = "" if s.eta_l is None else f"{found.step_name} = {s.eta_l:.4g} as given; "
    lines.append(f"step: {given}{_best(found)}")
    lines.append(f"theorem: {found.theorem.name}, {found.theorem.file}")
    lines.append(f"it assumes: {', '.join(found.theorem.assumed)}")
    return "\n".join([*lines, *([f"note: {found.note}"] if found.note else [])])


def _best(found: Any) -> str:
    step, server = found.step_name, found.setting.eta_g
    if found.best is None:
        return "no step is admissible"
    beside = f" with eta_g = {server:g}" if step == "eta_l" else ""
    return f"the best admissible one is {step} = {found.best:.4g}{beside}"


def table(rates: list[Any], equal: str) -> str:
    """All methods side by side, the least bound first."""
    words = {"rounds": "equal rounds", "gradients": "equal minibatch gradients", "traffic": "equal traffic"}[equal]
    lines = [f"at {words}, each at its best step", f"{'method':<14}{'rounds':>8}{'bound':>12}  dominant"]
    for one in rates:
        said = one.dominant or f"outside the hypotheses: {one.outside[0]}"
        lines.append(f"{one.method:<14}{one.setting.T:>8}{one.bound:>12.4g}  {said}")
    return "\n".join(lines)


def figure(found: Any) -> Any:
    """Left the terms over the step on logarithmic axes, right every method's terms at equal rounds and gradients."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(drawn)
    left, right = drawn.subplots(1, 2)
    end = found.best or found.step
    steps = end * np.geomspace(1e-3, 1e2, 120)
    here = [found.at(float(step)) for step in steps]
    inside = [one for one in here if not one.outside]
    colours = dict(zip(_names(found), COLOURS, strict=False))
    for name in found.terms:
        values = [one.terms[name] for one in inside]
        if any(values):
            left.plot([one.step for one in inside], values, "--", color=colours[name], label=name)
    left.plot([one.step for one in inside], [one.bound for one in inside], "k", lw=2, label="bound")
    if not found.outside:
        left.plot([found.step], [found.bound], "ko")
    if inside:
        left.set_xscale("log")
        left.set_yscale("log")
        left.legend(*_line_of_the_bound(left), fontsize="small")
        left.set_ylabel("bound on the mean squared gradient")
    else:
        words = "\n".join(fill(said, 50) for said in found.outside)
        left.text(0.5, 0.5, words, ha="center", va="center", transform=left.transAxes).set_in_layout(False)
    left.set_xlabel(found.step_name)
    left.set_title(f"{found.method}: the bound of {found.theorem.name}", fontsize="medium")
    _bars(right, found, colours)
    drawn.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize="small")
    return drawn


def _line_of_the_bound(axes: Any) -> tuple[list[Any], list[str]]:
    """The last line and its name; the terms have the colours of the bars, whose legend stands above both."""
    handles, labels = axes.get_legend_handles_labels()
    return handles[-1:], labels[-1:]


def _names(found: Any) -> list[str]:
    """What the terms of all methods are for, each once."""
    return list(dict.fromkeys(name for one in (found, *found.beside()) for name in one.terms))


def _bars(axes: Any, found: Any, colours: dict[str, str]) -> None:
    rates = [(equal, one) for equal in ("rounds", "gradients") for one in found.beside(equal)]
    shown = [(equal, one) for equal, one in rates if math.isfinite(one.bound)]
    bottom = np.zeros(len(shown))
    for name, colour in colours.items():
        heights = np.array([one.terms.get(name, 0.0) for _, one in shown])
        axes.bar(range(len(shown)), heights, bottom=bottom, color=colour, label=name)
        bottom = bottom + heights
    labels = [f"{one.method}\nequal {equal}" for equal, one in shown]
    axes.set_xticks(range(len(shown)), labels, rotation=90, fontsize="small")
    axes.set_title("all methods at their best steps", fontsize="medium")
    axes.set_ylim(0, 1.05 * bottom.max() if len(shown) else 1)
