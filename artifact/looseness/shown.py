"""A report of bounds as text and as a figure."""

from __future__ import annotations

from typing import Any

from artifact.base.plots import COLOURS

#: the bounds, sharpest first; all but ``printed`` are theorems for the curvature that they stand beside
BOUNDS = ("sample", "spectral", "frobenius", "am-gm", "corrected", "printed")


def text(report: Any) -> str:
    """One line per layer, then how far each bound is from the measurement, then what does not hold here."""
    known = "for every output" if report.known else "the largest at these outputs"
    width = max(16, *(2 + len(layer.name) for layer in report.layers))
    lines = [
        f"loss {report.loss:.6g} on {report.samples} samples, {report.measured}, ||w||^2 {report.squared_weights:.4g}, "
        f"curvature of the loss in the outputs at most {report.output_curvature:.4g} ({known})",
        "",
        f"{'layer':<{width}}{'curvature':>12}{'residual':>10}{'|input|^2':>11}{'ratio':>10}"
        + "".join(f"{name:>12}" for name in BOUNDS),
    ]
    for layer in report.layers:
        row = layer.covered.rows()[0]
        measured = "none" if row["value"] is None else f"{row['value']:.5g}"
        ratio = "" if layer.ratio is None else f"{layer.ratio:.3g}"
        lines.append(
            f"{layer.name:<{width}}{measured:>12}{row['residual']:>10.2g}{layer.squared_norm:>11.4g}{ratio:>10}"
            + "".join(f"{_cell(layer, name):>12}" for name in BOUNDS)
        )
    lines += ["", "bound / curvature"]
    for layer in report.layers:
        lines.append(f"{layer.name:<{width}}" + " " * 43 + "".join(f"{_loose(layer, name):>12}" for name in BOUNDS))
    return "\n".join([*lines, "", *_notes(report)])


def _cell(layer: Any, name: str) -> str:
    if name not in layer.bounds:
        return "-"
    return f"{layer.bounds[name]:.4g}" + "!" * (name in layer.violated)


def _loose(layer: Any, name: str) -> str:
    return f"{layer.looseness[name]:.4g}" if name in layer.looseness else "-"


def _notes(report: Any) -> list[str]:
    notes = []
    for layer in report.layers:
        if layer.gauss_newton is not None:
            row = layer.hessian.rows()[0]
            value = "not converged" if row["value"] is None else f"{row['value']:.5g} +- {row['residual']:.2g}"
            notes.append(
                f"{layer.name}: curvature is that of the Gauss-Newton block, which the bounds are for; Hessian {value}"
            )
        if layer.power is not None and layer.solvers_agree is not True:
            said = "did not converge" if layer.solvers_agree is None else f"gives {float(layer.power.values[0]):.6g}"
            notes.append(f"{layer.name}: power iteration {said}")
        if layer.why:
            notes.append(f"{layer.name}: bounds are missing, as {layer.why}")
        if "printed" in layer.violated:
            notes.append(
                f"{layer.name}: the printed alpha_l is below the curvature (!), which refutes it as a bound here"
            )
    if all(layer.solvers_agree for layer in report.layers):
        notes.append("Lanczos and power iteration agree within their residuals in every layer")
    if report.uncovered:
        notes.append("weights without a bound: " + ", ".join(report.uncovered))
    notes += [f"VIOLATED: {place}" for place in report.violated]
    return notes


def figure(report: Any) -> Any:
    """Measurements and bounds of every layer on a logarithmic axis."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(1.5 + 1.1 * max(4, len(report.layers)), 4), layout="constrained")
    FigureCanvasAgg(drawn)
    axes = drawn.subplots()
    places = range(len(report.layers))
    values = [layer.measured if layer.measured and layer.measured > 0 else float("nan") for layer in report.layers]
    axes.plot(places, values, "ko", ms=8, label="measured")
    for name, colour, marker in zip(BOUNDS, COLOURS, "v^<>sx", strict=False):
        there = [(i, layer.bounds[name]) for i, layer in enumerate(report.layers) if layer.bounds.get(name, 0) > 0]
        if there:
            axes.plot(*zip(*there, strict=True), marker, color=colour, label=name)
    axes.set_yscale("log")
    axes.set_xticks(list(places), [layer.name.replace("$", r"\$") for layer in report.layers], rotation=30, ha="right")
    axes.set_ylabel("top eigenvalue of the layer's block")
    axes.legend(fontsize="small")
    return drawn
