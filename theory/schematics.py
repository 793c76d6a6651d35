"""Schematic panels as functions of analytic losses, so that what a schematic suggests is computed and stated.

A schematic is plain data, which ``fedsharp figure`` draws:

- lines: [{label, x, y, colour, style}]
- points: [{label, x, y, colour, marker, size}]
- arrows: [{label, start, end, colour}]
- field: {x, y, z}, drawn as contours, or None
- axes: {x, y, equal}, the labels and whether both have one scale
- statements: [{text, holds, n}], each with a sentence, whether it is true, and the number of draws behind it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Schematic = dict[str, Any]
Statement = dict[str, Any]
RED, GREEN, BLUE, BLACK, ORANGE = "#D62728", "#2CA02C", "#1F77B4", "#000000", "#FF7F0E"
_RHOS = (0.5, 1.0, 2.0, 4.2)


def _line(label: str, x: Any, y: Any, colour: str, style: str = "-") -> dict[str, Any]:
    values = [[float(v) for v in column] for column in (x, y)]
    return {"label": label, "x": values[0], "y": values[1], "colour": colour, "style": style}


def _point(label: str, x: Any, y: Any, colour: str, marker: str = "o", size: float = 7) -> dict[str, Any]:
    return {"label": label, "x": float(x), "y": float(y), "colour": colour, "marker": marker, "size": size}


def _arrow(label: str, start: Sequence[Any], end: Sequence[Any], colour: str) -> dict[str, Any]:
    return {"label": label, "start": [float(v) for v in start], "end": [float(v) for v in end], "colour": colour}


def _stated(text: str, holds: bool, n: int = 0) -> Statement:
    return {"text": text, "holds": holds, "n": n}


def _schematic(x: str, y: str, statements: list[Statement], *, equal: bool = False, **parts: Any) -> Schematic:
    empty = {"lines": [], "points": [], "arrows": [], "field": None}
    return empty | parts | {"axes": {"x": x, "y": y, "equal": equal}, "statements": statements}


# ---- FedSMOO, Figure 1 -----------------------------------------------------------------------------------------------


def _toy(pair: Sequence[Any], disagree: bool) -> Schematic:
    """Two piecewise linear clients, their mean, the SAM surface max over |s| <= 1, and both objectives' minimisers."""
    from theory.sun2023.losses import mean, minimisers

    radius, average = Fraction(1), mean(pair)
    low, high = min(f.knots[0] for f in pair), max(f.knots[-1] for f in pair)
    grid = [low + (high - low) * Fraction(k, 400) for k in range(401)]
    curves = ((r"$f_1$", pair[0], RED), (r"$f_2$", pair[1], GREEN), (r"$f=(f_1+f_2)/2$", average, BLUE))
    lines = [_line(label, grid, [f(w) for w in grid], colour, ":") for label, f, colour in curves]
    worst = [average.neighbourhood_maximum(w, radius) for w in grid]
    lines.append(_line(r"$\max_{|s|\leq 1} f(w+s)$", grid, worst, BLUE))
    found = minimisers(pair, radius)
    names = {
        "fedsam": ("minimiser of the FedSAM objective", RED, "o", 11),  # seen below the other where they coincide
        "sam": ("minimiser of the global SAM objective", BLACK, "s", 6),
    }
    points = [_point(text, found[k][0], average(found[k][0]), *look) for k, (text, *look) in names.items()]
    sharp = {key: average.sharpness(found[key][0], radius) for key in names}
    both = [f"{float(sharp[key]):.3g}" for key in names]
    text = f"global sharpness {both[0]} at the FedSAM minimiser, {both[1]} at the SAM one"
    wanted = sharp["fedsam"] > sharp["sam"] if disagree else sharp["fedsam"] <= sharp["sam"]
    claim = "is sharper" if disagree else "is not sharper"
    statement = _stated(f"exact minimisers: {text}; the FedSAM minimiser {claim}", bool(wanted))
    return _schematic("parameter w", "loss", [statement], lines=lines, points=points)


def fedsmoo_agree() -> Schematic:
    """FedSMOO, Figure 1 (a): the clients' minima nearly agree."""
    from theory.sun2023.losses import CONSISTENT

    return _toy(CONSISTENT, disagree=False)


def fedsmoo_disagree() -> Schematic:
    """FedSMOO, Figure 1 (b): the clients' minima are far apart."""
    from theory.sun2023.losses import INCONSISTENT

    return _toy(INCONSISTENT, disagree=True)


def fedsmoo_deviations() -> Schematic:
    """Beside FedSMOO, Figure 2: the printed deviation among those of simulated partitions, two readings of Dir(u)."""
    from theory.sun2023.partitions import PRINTED_DEVIATION, total_deviations

    lines, statements = [], []
    edges = np.linspace(0, 4500, 76)
    for label, concentration, colour in (("Dir(u, ..., u)", 0.1, BLUE), ("Dir(u/10, ..., u/10)", 0.01, ORANGE)):
        found = total_deviations(10, concentration)
        counts, _ = np.histogram(found, edges)
        lines.append(_line(f"{label}, {len(found)} partitions", (edges[:-1] + edges[1:]) / 2, counts, colour))
        low, high = np.quantile(found, [0.025, 0.975])
        text = f"{PRINTED_DEVIATION} lies in the central 95 % [{low:.0f}, {high:.0f}] of {label}"
        statements.append(_stated(text, bool(low <= PRINTED_DEVIATION <= high), n=len(found)))
    top = max(max(line["y"]) for line in lines)
    last = max(int(np.flatnonzero(line["y"])[-1]) for line in lines) + 2
    lines = [line | {"x": line["x"][:last], "y": line["y"][:last]} for line in lines]
    lines.append(_line(f"printed: {PRINTED_DEVIATION}", [PRINTED_DEVIATION] * 2, [0, top], BLACK, ":"))
    return _schematic("standard deviation of the class totals", "partitions per bin of 60", statements, lines=lines)


# ---- FedLESAM, Figure 1 (d)-(f) --------------------------------------------------------------------------------------

_CURVATURE = (np.diag([1.0, 0.25]), np.diag([0.25, 1.0]))
_STEP, _RHO = 0.4, 1.0


def _plane(weights: Sequence[float], x: tuple = (-1.5, 7), y: tuple = (-1.5, 5.5)) -> dict[str, Any]:
    """Values of the weighted sum of the two clients of the theory's example on a grid between these ends."""
    minima = np.array(_example()["points"]["minima"])
    x, y = np.linspace(*x, 60), np.linspace(*y, 50)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), -1)
    z = sum(
        p * 0.5 * np.einsum("...i,ij,...j->...", points - m, h, points - m)
        for p, h, m in zip(weights, _CURVATURE, minima, strict=True)
    )
    return {"x": x.tolist(), "y": y.tolist(), "z": np.round(z, 5).tolist()}


def _on_plane(statement: Statement, points: list[dict], arrows: list[dict], field: dict[str, Any]) -> Schematic:
    """Points and arrows over the two parameters of the theory's example."""
    axes = ("first parameter", "second parameter")
    return _schematic(*axes, [statement], equal=True, points=points, arrows=arrows, field=field)


def _example() -> Mapping[str, Any]:
    """Points and arrows of the exact example behind the ledger's claim fan24-fig1def."""
    from theory.fan2024.estimation import schematic_example

    return schematic_example().evidence


def _unit(v: Any) -> np.ndarray:
    return np.asarray(v, float) / np.linalg.norm(v)


def _degrees(a: Any, b: Any) -> float:
    return float(np.degrees(np.arccos(np.clip(_unit(a) @ _unit(b), -1, 1))))


def lesam_local_update() -> Schematic:
    """FedLESAM, Figure 1 (d): one SAM step of client 1, up its own gradient and down by the one there."""
    example = _example()
    w, minimum = np.array(example["points"]["w"]), np.array(example["points"]["minima"][0])
    gradient, whole = np.array(example["arrows"]["client 1"]), example["arrows"]["grad F"]
    ascent = w + _RHO * _unit(gradient)
    end = w - _STEP * _CURVATURE[0] @ (ascent - minimum)
    arrows = [_arrow("perturbation of client 1", w, ascent, RED), _arrow("local update", w, end, BLACK)]
    points = [_point(r"$w^t$", *w, BLACK), _point(r"client minimum $w_1^*$", *minimum, RED, "*")]
    angle = _degrees(gradient, whole)
    statement = _stated(f"client 1 perturbs at {angle:.0f} degrees to the global gradient (more than 45)", angle > 45)
    return _on_plane(statement, points, arrows, _plane((1, 0)))


def lesam_conflict() -> Schematic:
    """FedLESAM, Figure 1 (e): the clients' minima and perturbations against the global minimum and gradient."""
    example = _example()
    w, minima = np.array(example["points"]["w"]), np.array(example["points"]["minima"])
    best = np.linalg.solve(sum(_CURVATURE), sum(h @ m for h, m in zip(_CURVATURE, minima, strict=True)))
    arrows = [
        _arrow(f"perturbation of {name}", w, w + _RHO * _unit(example["arrows"][key]), colour)
        for name, key, colour in (("client 1", "client 1", RED), ("client 2", "client 2", GREEN), ("F", "grad F", BLUE))
    ]
    points = [_point(rf"$w_{k + 1}^*$", *minima[k], colour, "*") for k, colour in enumerate((RED, GREEN))]
    points += [_point(r"global minimum $w^*$", *best, BLUE, "*"), _point(r"$w^t$", *w, BLACK)]
    angles = [_degrees(example["arrows"][f"client {k}"], example["arrows"]["grad F"]) for k in (1, 2)]
    text = (
        f"the clients' perturbations lie {angles[0]:.0f} and {angles[1]:.0f} degrees from the global one (more than 45)"
    )
    statement = _stated(text, min(angles) > 45)
    return _on_plane(statement, points, arrows, _plane((0.5, 0.5)))


def lesam_estimate() -> Schematic:
    """FedLESAM, Figure 1 (f): w_old - w^t as an estimate of the global ascent direction."""
    example = _example()
    w, old = np.array(example["points"]["w"]), np.array(example["points"]["w_old"])
    estimate, whole = np.array(example["arrows"]["w_old - w"]), np.array(example["arrows"]["grad F"])
    length = np.linalg.norm(estimate)  # of the update, so that all three can be seen
    arrows = [
        _arrow(r"direction of the global gradient", w, w + 3 * length * _unit(whole), BLUE),
        _arrow(r"direction of the estimate $w^{old}-w^t$", w, w + 2 * length * _unit(estimate), RED),
        _arrow(r"global update $w^{old}\to w^t$", old, w, BLACK),
    ]
    points = [_point(r"$w^t$", *w, BLACK), _point(r"$w^{old}$", *old, BLACK, "s")]
    angle = _degrees(estimate, whole)
    statement = _stated(f"the estimate lies {angle:.2f} degrees from the global gradient (less than 5)", angle < 5)
    return _on_plane(statement, points, arrows, _plane((0.5, 0.5), (1.46, 1.56), (0.965, 1.045)))


# ---- MAN, Figure 1 (b) -----------------------------------------------------------------------------------------------


def man_regulariser() -> Schematic:
    """MAN, Figure 1 (b): what the penalty on activations does, on f(a, b) = (a b - 1)^2 / 2 with input 1.

    The hidden activation is a. Every a with b = 1/a fits exactly; there the Hessian is (b, a)'(b, a), so the block of
    the last layer is a^2 = ||activation||^2 and the top eigenvalue of the whole is a^2 + 1/a^2.
    """
    a = np.linspace(0.5, 2, 151)
    lines = [
        _line("MAN's penalty: squared activation", a, a**2, GREEN, "--"),
        _line("top eigenvalue, last layer's block", a, [_top(v, block=True) for v in a], RED, ":"),
        _line("top eigenvalue, whole Hessian", a, [_top(v, block=False) for v in a], BLUE),
    ]
    gap = max(abs(_top(v, block=True) - v**2) for v in a)
    best = float(a[np.argmin([_top(v, block=False) for v in a])])
    statements = [
        _stated(
            f"on the exact fits the block's eigenvalue equals the penalty (largest difference {gap:.1e})", gap < 1e-12
        ),
        _stated(
            f"the whole Hessian is flattest at a = {best:g}; below it a smaller penalty means a sharper fit", best == 1
        ),
    ]
    return _schematic("activation a of the exact fit b = 1/a", "penalty and eigenvalues", statements, lines=lines)


def _top(a: float, block: bool) -> float:
    """Top eigenvalue of the Hessian of (a b - 1)^2 / 2 at b = 1/a, or of its part for b."""
    hessian = np.array([[1 / a**2, 1.0], [1.0, a**2]])
    return float(hessian[1, 1] if block else np.linalg.eigvalsh(hessian)[-1])


# ---- thesis, Figures 1.1 and 3.1 -------------------------------------------------------------------------------------


def flat_and_sharp() -> Schematic:
    """Thesis, Figure 1.1: a training loss with a flat and a sharp minimum, and the test loss as a shifted copy."""
    from theory.kakoun2024.landscape import quartic

    x, shift = np.linspace(-0.8, 5.2, 400), 0.6
    height = float(quartic(4.0))
    lines = [
        _line("training loss", x, quartic(x) - height, BLACK),
        _line(f"test loss, shift {shift}", x, quartic(x - shift) - height, RED),
    ]
    gaps = {
        name: {s: float(quartic(at - s) - quartic(at)) for s in (-0.6, -0.3, 0.3, 0.6)}
        for name, at in (("flat", 4.0), ("sharp", 0.0))
    }
    points = [
        _point("flat minimum, curvature 4", 4, 0, GREEN, size=4),
        _point("sharp minimum, curvature 12", 0, quartic(0.0) - height, RED, "s", size=4),
    ]
    for name, at, colour in (("flat", 4.0, GREEN), ("sharp", 0.0, RED)):
        ends = quartic(np.array([at, at - shift])) - height
        lines.append(_line(f"gap at the {name} minimum, {gaps[name][shift]:.2f}", [at, at], ends, colour))
    printed = "; ".join(f"{s:+.1f}: {gaps['flat'][s]:.2f} and {gaps['sharp'][s]:.2f}" for s in gaps["flat"])
    holds = all(gaps["flat"][s] < gaps["sharp"][s] for s in gaps["flat"])
    statement = _stated(f"gap smaller at the flat minimum than at the sharp one for every shift ({printed})", holds)
    return _schematic("parameter", "loss", [statement], lines=lines, points=points)


def flat_clients() -> Schematic:
    """Thesis, Figure 3.1: flat local minima whose average lies in a steep region of the mean."""
    from theory.kakoun2024.landscape import JOIN_1, JOIN_2, average, minima_of_average
    from theory.kit.losses import thesis_pair

    pair = thesis_pair()
    x = np.linspace(-25, 10, 1401)
    coloured = zip((r"$F_1$", r"$F_2$"), pair.clients, ("#1F77B4", ORANGE), strict=True)
    lines = [_line(label, x, loss.value(x[:, None]), colour) for label, loss, colour in coloured]
    lines.append(_line(r"$f=(F_1+F_2)/2$", x, pair.average.value(x[:, None]), GREEN, ":"))
    value, slope, bend = (float(average(-8.5, order)) for order in (0, 1, 2))
    ends = np.array([-11.0, -6.0])
    lines.append(_line("tangent at the averaged point", ends, value + slope * (ends + 8.5), BLACK, "--"))
    points = [_point("minimum of $F_1$", 0, 0, BLUE), _point("minimum of $F_2$", -17, 0, ORANGE)]
    points.append(_point("average of the minima", -8.5, value, BLACK, "s"))
    minima = [(float(at), float(h)) for at, h in minima_of_average(-25.0, 10.0)]
    points += [
        _point(f"minimum of $f$ at {at:.2f}, curvature {h:.2f}", at, float(average(at)), GREEN, marker)
        for (at, h), marker in zip(minima, "v^D", strict=True)
    ]
    statements = [
        _slope_statement(slope, bend),
        _minima_statement(minima),
        _sharpness_statement(pair),
        _jumps(pair, JOIN_1, JOIN_2),
    ]
    return _schematic("x", "loss", statements, lines=lines, points=points)


def _slope_statement(slope: float, bend: float) -> Statement:
    """Where gradient descent from the averaged point ends, with steps of 0.05."""
    from theory.kakoun2024.landscape import average

    at = -8.5
    for _ in range(800):
        at -= 0.05 * float(average(at, 1))
    text = f"slope {slope:.3f}, curvature {bend:.3f}; gradient descent from there ends at {at:.3f}"
    return _stated(f"the averaged point is a minimum of f ({text})", abs(slope) < 1e-6)


def _minima_statement(minima: Sequence[tuple[float, float]]) -> Statement:
    listed = ", ".join(f"{at:.2f} ({h:.2f})" for at, h in minima)
    text = f"f has a minimum about as flat as the clients' 0.14 (at most 0.28); position (curvature): {listed}"
    return _stated(text, any(h <= 0.28 for _, h in minima))


def _sharpness_statement(pair: Any) -> Statement:
    """max over |v| <= rho of the rise, at the averaged point and at the client's minimum, by a fine grid."""

    def rise(loss: Any, at: float, rho: float) -> float:
        values = loss.value(np.linspace(at - rho, at + rho, 4001)[:, None])
        return float(values.max() - loss.value(np.array([[at]]))[0])

    both = [(rho, rise(pair.average, -8.5, rho), rise(pair.clients[0], 0.0, rho)) for rho in _RHOS]
    text = "; ".join(f"rho {rho:g}: {mean:.2f} and {local:.2f}" for rho, mean, local in both)
    return _stated(f"sharper at the averaged point than at a client's minimum ({text})", all(m > c for _, m, c in both))


def _jumps(pair: Any, *joins: str) -> Statement:
    limits = [
        [float(loss.value(np.array([[float(join) + step]]))[0]) for step in (-1e-9, 1e-9)]
        for loss, join in zip(pair.clients, joins, strict=True)
    ]
    sides = "; ".join(f"{join}: {left:.3f} and {right:.3f}" for join, (left, right) in zip(joins, limits, strict=True))
    continuous = all(abs(left - right) < 1e-6 for left, right in limits)
    return _stated(f"the clients are continuous at their joins (left and right limits at {sides})", continuous)


#: the name in ``experiments/*.toml`` -> its function
SCHEMATICS: dict[str, Callable[[], Schematic]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        fedsmoo_agree,
        fedsmoo_disagree,
        fedsmoo_deviations,
        lesam_local_update,
        lesam_conflict,
        lesam_estimate,
        man_regulariser,
        flat_and_sharp,
        flat_clients,
    )
}
