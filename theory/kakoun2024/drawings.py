"""Figures of single claims: measured against bound, the counterexample, the region where a condition holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from theory.kit.losses import flat_clients_sharp_average, thesis_pair

Evidence = Mapping[str, Any]


def _finish(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(fontsize=8)


def error_curves(axes: Any, evidence: Evidence) -> None:
    """F - F* against the round for four radius rules, log-log."""
    run = evidence["runs"]
    for name, values in run["F_minus_optimum"].items():
        axes.loglog(run["rounds"], np.maximum(values, 1e-16), label=f"{name} (slope {run['slopes'][name]:.2f})")
    _finish(axes, "round", "F - F*")


def theorem1_sides(axes: Any, evidence: Evidence) -> None:
    """Both sides of Theorem 1 with the proof's constants for one client, start at distance 10."""
    curve = evidence["curve_K1_start_10"]
    axes.semilogy(curve["T"], curve["left"], label="F - F*")
    axes.semilogy(curve["T"], curve["right"], "--", label="printed bound")
    axes.fill_between(
        curve["T"], curve["right"], curve["left"], where=np.array(curve["left"]) > curve["right"], alpha=0.3
    )
    _finish(axes, "T", "left and right side")


def bounds_of_theorem2(axes: Any, evidence: Evidence) -> None:
    """Smallest squared gradient, corrected bound and printed bound along a run that ends in a local minimum."""
    run = evidence["run"]
    for name, style in (("printed", "--"), ("corrected", "-."), ("smallest", "-")):
        axes.loglog(run["T"], np.maximum(run[name], 1e-12), style, marker="o", label=name)
    _finish(axes, "T", "min |grad F|^2 and its bounds")


def limits_on_the_line(axes: Any, evidence: Evidence) -> None:
    """Distance of the limit to theta* against rho: Global FedSAM, Local FedSAM, closed form."""
    rows = evidence["limits_on_the_line"]
    rho = [float(key.split("=")[1]) for key in rows]
    for index, (name, style) in enumerate(
        (("Global FedSAM", "o-"), ("Local FedSAM", "s"), ("rho |a1-a2|/(a1+a2)", "--"))
    ):
        axes.plot(rho, [row[index] for row in rows.values()], style, label=name)
    _finish(axes, "rho", "distance of the limit to theta*")


def stable_curvature(axes: Any, evidence: Evidence) -> None:
    """Largest curvature at which a minimum is stable, times eta, against rho/eta."""
    q = np.linspace(1e-3, 20, 200)
    axes.plot(q, (np.sqrt(1 + 8 * q) - 1) / (2 * q), label="stable below")
    axes.axhline(2, linestyle=":", color="grey", label="gradient descent: 2")
    _finish(axes, "rho / eta", "eta times largest stable curvature")


def constants_of_lemma2(axes: Any, evidence: Evidence) -> None:
    """Printed constant 2L against what is needed: 4L^2 for every draw, L^2 in expectation."""
    L = np.linspace(0.05, 4, 200)
    axes.plot(L, 2 * L, "--", label="printed: 2L")
    axes.plot(L, 4 * L**2, label="needed for every draw: 4L^2")
    axes.plot(L, L**2, label="needed in expectation: L^2")
    axes.set_ylim(0, 16)
    _finish(axes, "L", "squared deviation / rho^2")


def sam_objective(axes: Any, evidence: Evidence) -> None:
    """SAM objective of F_1 at the flat point and at the sharp minimum against rho."""
    rho = np.linspace(0.01, 4.2, 300)
    axes.plot(rho, 0.07 * rho**2, label="at the flat minimum 0")
    axes.plot(rho, -9 * np.cos(0.7 * rho), label="at the sharp minimum 6.73")
    _finish(axes, "rho", "max over |v| <= rho of F_1(x + v)")


def expected_distance(axes: Any, evidence: Evidence) -> None:
    """Expected total-variation distance against alpha."""
    rows = evidence["expected_distance"]
    axes.semilogx([float(a) for a in rows], list(rows.values()), "o-", label="closed form")
    _finish(axes, "alpha", "expected distance to the global distribution")


def gains(axes: Any, evidence: Evidence) -> None:
    """Gain over Local FedSAM per table and split."""
    rows = evidence["gains_iid_0.6_0.2"]["Local FedSAM"]
    place = np.arange(len(rows))
    for index, split in enumerate(("iid", "Dirichlet 0.6", "Dirichlet 0.2")):
        axes.bar(place + 0.27 * (index - 1), [row[index] for row in rows.values()], 0.25, label=split)
    axes.set_xticks(place, list(rows))
    axes.set_yscale("log")
    _finish(axes, "table", "Global minus Local FedSAM, points")


def growing_noise(axes: Any, evidence: Evidence) -> None:
    """The recursion over v/(t + gamma) when xi contains 1/eta."""
    axes.plot(evidence["growing_xi_ratio"], label="a_t (t + gamma) / v")
    axes.axhline(1, linestyle=":", color="grey", label="claimed")
    _finish(axes, "t", "ratio")


def directions(axes: Any, evidence: Evidence) -> None:
    """The counterexample in the plane: first-order term of Algorithm 3 against the gradient of (3.9)."""
    for (x, y), name in (((1, -1), "sum p_k r_k H_k u_k"), ((-2, 2), "2 H grad F"), ((1, 3), "grad F")):
        axes.annotate("", xy=(x, y), xytext=(0, 0), arrowprops={"arrowstyle": "->"})
        axes.text(x, y, name, fontsize=8)
    axes.set_xlim(-3.5, 3.5)
    axes.set_ylim(-1.8, 3.6)
    axes.set_xlabel("first coordinate")
    axes.set_ylabel("second coordinate")


def wells(axes: Any, evidence: Evidence) -> None:
    """The smooth pair: flat clients' minima at 0 and 6, sharp average at 3."""
    pair = flat_clients_sharp_average()
    x = np.linspace(*pair.window[0], 2000)[:, None]
    for loss in pair.clients:
        axes.plot(x, loss.value(x), label=loss.name)
    axes.plot(x, pair.average.value(x), ":", label="average")
    for point in pair.points.values():
        axes.plot(point, pair.average.value(np.array([point])), "o", color="black")
    _finish(axes, "x", "loss")


def minima_of_the_printed_average(axes: Any, evidence: Evidence) -> None:
    """The printed average with all its minima and their curvatures."""
    loss = thesis_pair().average
    x = np.linspace(-25, 40, 4000)
    axes.plot(x, loss.value(x[:, None]), label="average")
    for point, curvature in evidence["minima_and_curvatures"]:
        axes.plot([point], loss.value(np.array([[point]])), "o", color="black")
        axes.text(point, float(loss.value(np.array([[point]]))[0]), f" {curvature:.2f}", fontsize=8)
    _finish(axes, "x", "loss, curvature at the minima")
