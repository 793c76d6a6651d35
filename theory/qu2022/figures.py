"""Figures of single checks; each function draws on one axes from the stored evidence."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from theory.qu2022.recursions import mofedsam_round, quadratic


def ball_maximum(axes, evidence: Mapping[str, Any]) -> None:
    """Loss x^2/2, its maximum over the ball and the derivative of the maximum, which jumps at the minimiser."""
    x, rho = np.linspace(-1, 1, 401), float(Fraction(evidence["counterexample"]["rho"]))
    axes.plot(x, x**2 / 2, color="0.6", label="F")
    axes.plot(x, (np.abs(x) + rho) ** 2 / 2, label="max over |delta| <= rho")
    slope = (np.abs(x) + rho) * np.sign(x)
    axes.plot(x[x < 0], slope[x < 0], color="C3", label="derivative of the maximum")
    axes.plot(x[x > 0], slope[x > 0], color="C3")
    axes.set_xlabel("x")
    axes.legend()


def shifted_fixed_point(axes, evidence: Mapping[str, Any]) -> None:
    """Gradient of F at FedSAM's fixed point against rho for several curvature pairs; FedAvg's is 0."""
    rho = np.linspace(0, 0.5, 50)
    for a, b in ((1, 1), (1, 2), (1, 3)):
        axes.plot(rho, abs(b - a) * rho / 2, label=f"curvatures {a}, {b}")
    axes.axhline(0, color="k", lw=0.5, label="FedAvg")
    axes.set_xlabel("rho")
    axes.set_ylabel("|grad F| at the fixed point")
    axes.legend()


def sign_pairs(axes, evidence: Mapping[str, Any]) -> None:
    """|w^r| on x^2/2 for the four sign pairs of Algorithm 2."""
    for signs in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        w, momentum, path = 1.0, 0.0, [1.0]
        for _ in range(60):
            state = mofedsam_round(w, momentum, [quadratic(1.0, 0.0)], 0.0, 0.1, 0.1, 0.5, 1, signs=signs)
            w, momentum = state.w, state.momentum
            path.append(abs(w))
        axes.semilogy(path, label=f"s1, s2 = {signs}")
    axes.set_xlabel("round")
    axes.set_ylabel("|w|")
    axes.legend()


def drift_against_bound(axes, evidence: Mapping[str, Any]) -> None:
    """Drift of the perturbation before the first step against the printed bound, over the step size."""
    x = np.linspace(0.001, 0.25, 100)
    axes.semilogy(x, 2 * x**2, label="printed bound 2 (K L eta)^2")
    axes.axhline(2, color="C3", label="two clients with opposite gradients, k = 0")
    axes.axhline(4, color="0.5", ls="--", label="corrected bound 4")
    axes.set_xlabel("K L eta_l")
    axes.set_ylabel("E_delta / rho^2")
    axes.legend()


def turned_perturbation(axes, evidence: Mapping[str, Any]) -> None:
    """Start points of x^2/2 (rho = 1) at which the second perturbation has turned round, over the step size."""
    eta, start = np.meshgrid(np.linspace(0.001, 0.125, 120), np.linspace(0.001, 0.2, 120))
    axes.contourf(eta, start, (start < eta * (start + 1)).astype(float), levels=[0.5, 1], colors=["C3"], alpha=0.5)
    axes.plot(
        *(float(Fraction(evidence["counterexample"][k])) for k in ("eta", "start")), "ko", label="stored instance"
    )
    axes.set_xlabel("eta_l (L = 1)")
    axes.set_ylabel("start / rho")
    axes.set_title("red: drift 4 rho^2")
    axes.legend()


def network_constant(axes, evidence: Mapping[str, Any]) -> None:
    """Change of aligned networks over the bound without its constant, against the depth."""
    depth = np.arange(1, 41)
    axes.plot(depth, (1 + 1 / depth) ** depth - 1, "o-", ms=3, label="aligned network, |delta| = |W|/d")
    axes.axhline(np.e - 1, color="C2", ls="--", label="e - 1")
    axes.axhline(np.e, color="C3", label="printed constant e")
    axes.set_xlabel("depth d")
    axes.legend()


def bound_under_scaling(axes, evidence: Mapping[str, Any]) -> None:
    """Printed and squared complexity under W_j -> c W_j (depth 3), relative to c = 1: the classifier is unchanged."""
    c = np.logspace(0, 4, 50)
    axes.loglog(c, np.sqrt(c**4 / c**6), label="printed Q")
    axes.loglog(c, np.ones_like(c), label="squared norms")
    axes.set_xlabel("c, all layers multiplied, margin c^3")
    axes.set_ylabel("complexity / complexity at c = 1")
    axes.legend()


def leading_over_k(axes, evidence: Mapping[str, Any]) -> None:
    """Leading part of the partial-participation bound against K for several heterogeneity levels."""
    k = np.arange(1, 21)
    for level in (0.05, 0.25, 1.0, 4.0):
        axes.semilogy(k, 1 / np.sqrt(k) + level * np.sqrt(k), "o-", ms=3, label=f"sigma_g^2/(F L) = {level:g}")
    axes.set_xlabel("local steps K")
    axes.set_ylabel("leading coefficient")
    axes.legend()


def relative_dissimilarity(axes, evidence: Mapping[str, Any]) -> None:
    """Left over right of Lemma A.5 for one client against N - 1, sigma_g = L rho."""
    n = np.arange(2, 200)
    axes.plot(n, (3 - 2 / n) ** 2 / 9, label="one client against N - 1")
    axes.axhline(1, color="C3", label="bound")
    axes.set_xlabel("N")
    axes.set_ylabel("left / right")
    axes.legend()


def accepted_rounds(axes, evidence: Mapping[str, Any]) -> None:
    """Smallest number of rounds that the conditions of Theorem 3.1 admit, against K."""
    k = np.arange(1, 21)
    axes.semilogy(k, np.maximum(100, 100 * k), label="full, N = 100")
    axes.semilogy(k, np.maximum(101, 20 * k), label="S = 20")
    for rounds in (200, 800):
        axes.axhline(rounds, color="0.5", ls=":")
        axes.text(1, rounds, f"R = {rounds}")
    axes.set_xlabel("local steps K")
    axes.set_ylabel("smallest admissible R")
    axes.legend()


def margin_bound_values(axes, evidence: Mapping[str, Any]) -> None:
    """Complexity term of Theorem 3.5 over the margin for the initial and the trained network."""
    rows = evidence["rows"]
    for state in ("initial", "trained"):
        for squared in (False, True):
            chosen = [row for row in rows if row[0] == state and row[2] is squared]
            label = f"{state}, {'squared' if squared else 'printed'} norms"
            axes.loglog([r[3] for r in chosen], [r[4] for r in chosen], "o-", label=label)
    axes.axhline(1, color="k", lw=0.8)
    axes.set_xlabel("margin gamma")
    axes.set_ylabel("bound")
    axes.legend()


def expansion_error(axes, evidence: Mapping[str, Any]) -> None:
    """Error of the first-order expansion for a quadratic and a Huber loss against L rho^2/2."""
    rho = np.linspace(0.01, 2, 60)
    axes.plot(rho, rho**2 / 2, color="C3", label="L rho^2/2")
    axes.plot(rho, rho**2 / 2, "o", ms=3, label="x^2/2 (equality)")
    inside = np.where(rho <= 0.5, rho**2 / 2, 0.125 + 0.5 * (rho - 0.5))
    axes.plot(rho, inside, label="Huber loss, threshold 1, x = 1/2")
    axes.set_xlabel("rho")
    axes.set_ylabel("|max F(x + delta) - F(x) - rho |F'(x)||")
    axes.legend()
