"""The counter-example losses as formulas, and what is run on them: start, cohort and steps."""

from __future__ import annotations

import inspect
from typing import Any

import sympy

from theory.kit.losses import SCENARIOS, Loss, ThesisPiece, Valley, Wells, federated_run

#: loss -> claims of the thesis' Figure 3.1 whose checks use it
USED_BY = {
    "thesis": tuple(f"thesis-fig3.1-{name}" for name in ("plot", "cont", "flat", "localsam", "avg", "flatglobal")),
    "sharp-average": ("thesis-fig3.1-flatglobal", "thesis-fig3.1-concl"),
}
X, Y = sympy.symbols("x y")


def expression(loss: Loss) -> sympy.Expr:
    """A loss as an expression in x, and y in the plane. Raises TypeError for a kind of loss without a formula."""
    if isinstance(loss, Wells):
        places = [list(zip((X, Y), well.centre, well.widths, strict=False)) for well in loss.wells]
        inside = [1 - sum(((v - _exact(c)) / _exact(w)) ** 2 for v, c, w in place) for place in places]
        wells = zip(loss.wells, inside, strict=True)
        return sympy.Add(*(-_exact(well.depth) * sympy.Max(0, u) ** 3 for well, u in wells))
    if isinstance(loss, Valley):
        t = (X - _exact(loss.centre)) ** 2
        return (_exact(loss.floor) + _exact(loss.rise) * t / (1 + t)) * Y**2 / 2
    if isinstance(loss, ThesisPiece):
        t = X + _exact(loss.shift)
        left, right = _exact("0.07") * t**2, -9 * sympy.sin(-_exact("0.7") * t)
        return sympy.Piecewise((left, _exact(loss.join) > X), (right, True))
    raise TypeError(f"no formula of {type(loss).__name__}")


def _exact(number: Any) -> sympy.Rational:
    return sympy.Rational(str(number))


def told(name: str) -> dict[str, Any]:
    """``formulas``: client -> TeX; ``run``: start, cohort and steps of the methods, in words; ``claims`` about it."""
    scenario = SCENARIOS[name]()
    formulas = {loss.name: sympy.latex(expression(loss)) for loss in scenario.clients}
    found = {"formulas": formulas, "claims": list(USED_BY.get(name, ()))}
    if scenario.start is None:
        return found | {"run": "No method runs on it: the marked points are computed."}
    default = {name: one.default for name, one in inspect.signature(federated_run).parameters.items()}
    start = ", ".join(f"{value:g}" for value in scenario.start)
    run = f"Every method starts at ({start}). Both clients take part in each of {default['rounds']} rounds, with "
    run += f"{default['local_steps']} steps of size {scenario.lr:g} along exact gradients and radius {scenario.rho:g}."
    return found | {"run": run}
