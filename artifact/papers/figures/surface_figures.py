"""Lines, statements and drawings of what ``papers.panels.surfaces`` has measured, on axes that a figure shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from artifact.base import plots
from artifact.base.lazy import pyplot as plt
from artifact.base.stats import t_interval
from artifact.papers.figures.statements import Statement, decide, from_interval, measured
from artifact.papers.figures.surfaces import GRID, RADII, Entry

_LEVELS = 21
#: radius, in units of the filters' lengths, at which rises are compared
AT = 0.5
#: largest part of a trace that counts as "little" (MAN, Sec. 5.1), as in the ledger's reading of that claim
NEGLIGIBLE = 0.1


def grouped(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry["label"], []).append(entry)
    return groups


def rise_lines(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Rise against radius: values [n, R], per seed the mean over the direction pairs."""
    return [
        {
            "label": label,
            "seeds": [e["seed"] for e in found],
            "keys": [e["key"] for e in found],
            "x": list(RADII),
            "values": [np.mean(np.array(e["rises"], float), 0).tolist() for e in found],
            "centre": [e["centre"] for e in found],
            "top_eigenvalue": [e["top_eigenvalue"] for e in found],
        }
        for label, found in grouped(entries).items()
    ]


def flatness(lines: Sequence[Mapping[str, Any]], checks: Sequence[str]) -> list[Statement]:
    """The rise at one radius per method, and the panel's comparisons of it."""
    at = RADII.index(AT)
    points = [{**line, "x": [AT], "values": [[row[at]] for row in line["values"]]} for line in lines]
    result = []
    for line in points:
        interval = t_interval([row[0] for row in line["values"]])
        tops = [x for x in line["top_eigenvalue"] if x is not None]
        top = f", top eigenvalue {np.mean(tops):.3g}" if tops else ""
        centre = f"loss {np.mean(line['centre']):.3g} at the centre{top}; mean rise at radius {AT:g}"
        result.append(measured(f"{line['label']}: {centre}", interval))
    return result + decide(checks, points, "of rise")


# ---- surfaces --------------------------------------------------------------------------------------------------------


def height_scale(surfaces: Sequence[np.ndarray]) -> tuple[float, float]:
    """Lowest loss, and the lowest of the panels' maxima: above it all panels show the top colour."""
    low = min(np.nanmin(surface) for surface in surfaces)
    high = min(np.nanmax(surface) for surface in surfaces)
    return low, max(high, low + 1e-9)


def rise_of(surface: Sequence[Sequence[float | None]]) -> np.ndarray:
    """A surface [G, G] minus its value at the model itself, the middle of the grid; NaN where it is not finite."""
    values = np.array(surface, float)
    return values - values[len(values) // 2, len(values) // 2]


def draw_surface(axes: Any, record: Mapping[str, Any], scale: tuple[float, float]) -> None:
    """A surface in space on the figure's scale; ``overlay`` lies over it as a grid."""
    a, b = np.meshgrid(GRID, GRID, indexing="ij")
    axes.plot_surface(a, b, clipped(record["surface"], scale), cmap="viridis", vmin=scale[0], vmax=scale[1], alpha=0.9)
    if record.get("overlay_surface") is not None:
        over = clipped(record["overlay_surface"], scale)
        axes.plot_wireframe(a, b, over, color=plots.style(record["overlay"]).colour, linewidth=0.7, rcount=9, ccount=9)
    axes.set_zlim(*scale)
    axes.set_xlabel("a", labelpad=-8)
    axes.set_ylabel("b", labelpad=-8)
    axes.set_zlabel("training loss", labelpad=-4)
    axes.set_xticks([-1, 0, 1])
    axes.set_yticks([-1, 0, 1])
    axes.locator_params(axis="z", nbins=5)
    axes.tick_params(labelsize=7, pad=-2)


def draw_contour(axes: plt.Axes, record: Mapping[str, Any], scale: tuple[float, float]) -> Any:
    """Contours of the rise over the model's own loss, so that models of different loss are told apart by flatness."""
    levels = np.linspace(*scale, _LEVELS)
    values = clipped(rise_of(record["surface"]), scale).T
    drawn = axes.contourf(GRID, GRID, values, levels=levels, cmap="viridis")
    axes.contour(GRID, GRID, values, levels=levels[::4], colors="k", linewidths=0.3)
    axes.plot(0, 0, "w+")
    ticks = [-1, -0.5, 0, 0.5, 1]
    axes.set(xlabel="a (first direction)", ylabel="b (second direction)", aspect="equal", xticks=ticks, yticks=ticks)
    return drawn


def clipped(surface: np.ndarray | Sequence[Sequence[float | None]], scale: tuple[float, float]) -> np.ndarray:
    values = np.array(surface, float)
    return np.clip(np.nan_to_num(values, nan=scale[1]), *scale)


def draw_rises(axes: plt.Axes, lines: Sequence[Mapping[str, Any]]) -> None:
    """Mean rise against radius with the band over seeds: the flatter model is the lower line."""
    for position, line in enumerate(lines):
        look, values = plots.style(line["label"], position), np.array(line["values"])
        label = f"{line['label']} (n={len(values)})"
        axes.plot(line["x"], values.mean(0), **look.plot(), markersize=4.5, linewidth=1.4, label=label)
        axes.fill_between(line["x"], values.min(0), values.max(0), color=look.colour, alpha=0.12, linewidth=0)
    axes.set_xlabel("radius, in filter lengths")
    axes.set_ylabel("mean rise of the loss")
    axes.set_xticks(list(RADII))
    axes.grid(alpha=0.3)


# ---- spectra ---------------------------------------------------------------------------------------------------------


def spectrum_lines(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "seeds": [e["seed"] for e in found],
            "keys": [e["key"] for e in found],
            "x": list(range(1, len(found[0]["values"]) + 1)),
            "values": [e["values"] for e in found],
            "unconverged": sum(e["unconverged"] for e in found),
        }
        for label, found in grouped(entries).items()
    ]


def draw_spectrum(axes: plt.Axes, record: Mapping[str, Any]) -> None:
    for position, line in enumerate(record["lines"]):
        look, values = plots.style(line["label"], position), np.array(line["values"])
        label, every = f"{line['label']} (n={len(values)})", max(1, len(line["x"]) // 8)
        axes.plot(line["x"], values.mean(0), **look.plot(), markevery=every, markersize=4.5, linewidth=1.3, label=label)
        axes.fill_between(line["x"], values.min(0), values.max(0), color=look.colour, alpha=0.12, linewidth=0)
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(plt.LogLocator(subs=(2, 5)))
    for set_formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        set_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("index of the eigenvalue, largest first")
    axes.set_ylabel("eigenvalue of the Hessian")
    axes.grid(alpha=0.3)


def density_lines(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The first seed's density per method; the shares of the trace of all seeds."""
    return [
        {name: found[0][name] for name in ("grid", "density", "low", "high")}
        | {"label": label, "seeds": [e["seed"] for e in found], "keys": [e["key"] for e in found]}
        | {name: [e[name] for e in found] for name in ("positive", "negative")}
        for label, found in grouped(entries).items()
    ]


def share_lines(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Sum of the negative eigenvalues over the sum of the positive ones: one point per method."""
    return [
        {"label": line["label"], "seeds": line["seeds"], "keys": line["keys"], "x": [0.0]}
        | {"values": [[-n / p if p > 0 else np.inf] for p, n in zip(line["positive"], line["negative"], strict=True)]}
        for line in density_lines(entries)
    ]


def density_statements(lines: Sequence[Mapping[str, Any]]) -> list[Statement]:
    """The negative eigenvalues' part of the trace is at most ``NEGLIGIBLE`` times the positive ones'."""
    statements = []
    for line in lines:
        shares = [-n / p if p > 0 else np.inf for p, n in zip(line["positive"], line["negative"], strict=True)]
        left = [NEGLIGIBLE * p + n for p, n in zip(line["positive"], line["negative"], strict=True)]
        size = f"{np.mean(shares):.1%} of the positive ones"
        text = f"{line['label']}: negative eigenvalues sum to {size}, below {NEGLIGIBLE:.0%} of them (positive margin)"
        statements.append(from_interval(text, t_interval(left), "as a sum of eigenvalues"))
    return statements


def draw_density(axes: plt.Axes, record: Mapping[str, Any], floor: float = 1e-5) -> None:
    for position, line in enumerate(record["lines"]):
        look = plots.style(line["label"], position)
        density, low, high = (np.clip(np.array(line[name], float), floor, None) for name in ("density", "low", "high"))
        label = f"{line['label']} (n={len(line['seeds'])})"
        axes.semilogy(line["grid"], density, color=look.colour, linestyle=look.line, linewidth=1.2, label=label)
        axes.fill_between(line["grid"], low, high, color=look.colour, alpha=0.12, linewidth=0)
    axes.set_ylim(floor, None)
    axes.set_xlabel("eigenvalue of the Hessian")
    axes.set_ylabel("density (band: 95 % over probes)")
    axes.grid(alpha=0.3)
