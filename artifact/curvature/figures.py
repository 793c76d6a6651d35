"""Figures of surfaces. Every panel of one figure shares its axes and its colour scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, pyplot

_LEVELS = 24


def _arrays(surfaces: Mapping[str, Tensor], axes: int) -> dict[str, np.ndarray]:
    # a dollar sign of a name is text, not mathematics
    arrays = {name.replace("$", r"\$"): np.asarray(values, dtype=float) for name, values in surfaces.items()}
    if not arrays or any(values.ndim != axes for values in arrays.values()):
        raise UserError("surfaces", {n: v.shape for n, v in arrays.items()}, f"at least one array with {axes} axes")
    return arrays


def _levels(arrays: Mapping[str, np.ndarray], ceiling: float | None) -> np.ndarray:
    """Common levels; losses above ``ceiling`` (None: the lowest of the panels' maxima) are drawn as the top colour."""
    finite = [values[np.isfinite(values)] for values in arrays.values()]
    low = min(values.min() for values in finite)
    high = min(values.max() for values in finite) if ceiling is None else ceiling
    return np.linspace(low, high if high > low else low + 1e-9, _LEVELS)


def contours(
    surfaces: Mapping[str, Tensor], grid: tuple[Tensor, Tensor], labels: tuple[str, str], ceiling: float | None = None
) -> pyplot.Figure:
    """Contour plots of {method: [G1, G2]} side by side on one scale. grid: the coordinates of both axes."""
    arrays = _arrays(surfaces, 2)
    levels = _levels(arrays, ceiling)
    figure = _figure(4 * len(arrays) + 1, 3.6)
    panels = figure.subplots(1, len(arrays), sharex=True, sharey=True, squeeze=False)[0]
    drawn = []
    for panel, (name, values) in zip(panels, arrays.items(), strict=True):
        clipped = np.clip(np.nan_to_num(values, nan=levels[-1], posinf=levels[-1]), None, levels[-1])
        a, b = np.asarray(grid[0]), np.asarray(grid[1])
        drawn.append(panel.contourf(a, b, clipped.T, levels=levels, cmap="viridis"))
        panel.contour(a, b, clipped.T, levels=levels[::3], colors="k", linewidths=0.4)
        panel.plot(0, 0, "w+")
        panel.set_title(name, fontsize="small")
        panel.set(xlabel=labels[0], aspect="equal")
    panels[0].set_ylabel(labels[1])
    figure.colorbar(drawn[-1], ax=list(panels), label="loss (top colour: this or more)", format="%.2g")
    return figure


def surfaces_3d(
    surfaces: Mapping[str, Tensor], grid: tuple[Tensor, Tensor], labels: tuple[str, str], ceiling: float | None = None
) -> pyplot.Figure:
    """Draw loss surfaces in space, on one height and colour scale."""
    arrays = _arrays(surfaces, 2)
    levels = _levels(arrays, ceiling)
    figure = _figure(4 * len(arrays) + 1, 4)
    a, b = np.meshgrid(np.asarray(grid[0]), np.asarray(grid[1]), indexing="ij")
    panels, drawn = [], []
    for index, (name, values) in enumerate(arrays.items(), 1):
        panel = figure.add_subplot(1, len(arrays), index, projection="3d")
        clipped = np.clip(np.nan_to_num(values, nan=levels[-1], posinf=levels[-1]), None, levels[-1])
        limits = {"vmin": levels[0], "vmax": levels[-1]}
        drawn.append(panel.plot_surface(a, b, clipped, cmap="viridis", linewidth=0, **limits))
        panel.set_title(name, fontsize="small")
        panel.set(xlabel=labels[0], ylabel=labels[1], zlim=(levels[0], levels[-1]))
        panels.append(panel)
    figure.colorbar(drawn[-1], ax=panels, shrink=0.7, label="loss (cut off at the top)")
    return figure


def profiles(lines: Mapping[str, Tensor], grid: Tensor, label: str) -> pyplot.Figure:
    """Loss along one direction, {method: [G]}, on shared axes."""
    figure = _figure(5, 3.6)
    panel = figure.subplots()
    for name, values in _arrays(lines, 1).items():
        panel.plot(np.asarray(grid), values, label=name)
    panel.set(xlabel=label, ylabel="loss")
    panel.legend()
    return figure


def spectrum(density: Mapping[str, Any] | None, eigenvalues: Sequence[float]) -> pyplot.Figure:
    """A spectral density on a logarithmic axis, and eigenvalues as ticks below it.

    density: grid [G], density [G] and standard_error [G], as lists or tensors; None draws the eigenvalues alone.
    """
    figure = _figure(6, 3.6)
    panel = figure.subplots()
    if density is not None:
        grid, values, error = (np.asarray(density[n], dtype=float) for n in ("grid", "density", "standard_error"))
        floor = max(values.max() * 1e-9, 1e-300)
        panel.semilogy(grid, np.maximum(values, floor), color="#0072B2", label="density")
        low, high = np.maximum(values - error, floor), np.maximum(values + error, floor)
        panel.fill_between(grid, low, high, color="#0072B2", alpha=0.25, linewidth=0, label="standard error")
        panel.set_ylim(bottom=floor)
    if eigenvalues:
        place = panel.get_xaxis_transform()
        heights = [0.03] * len(eigenvalues)
        panel.plot(list(eigenvalues), heights, "k|", ms=10, transform=place, label="eigenvalues")
    panel.set(xlabel="eigenvalue of the Hessian", ylabel="density" if density is not None else "")
    panel.legend()
    return figure


def _figure(width: float, height: float) -> pyplot.Figure:
    """A figure outside matplotlib's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
