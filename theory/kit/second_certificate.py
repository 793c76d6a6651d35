"""A solver's certificate beside a check's own evidence: the same statement, proved by an independent method.

The solvers stay optional. ``second_certificate`` returns the entry ``evidence["solver"]``; without the solver the entry
says that this part was left out, and the verdict rests on the check's own evidence alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import sympy as sp

from theory.kit import certificates

#: relative agreement asked of the numerical solution of a performance-estimation problem
TOLERANCE = 1e-4


def second_certificate(solver: str, statement: str, prove: Callable[[], str]) -> dict[str, str]:
    """Entry for ``evidence["solver"]``: the solver's package and its certificate, or why there is none.

    solver: a key of ``certificates.SOLVERS``. statement: what is certified, in words. prove: returns the certificate,
    raises where the statement fails.
    """
    package = certificates.SOLVERS[solver]
    if not certificates.available(solver):
        reason = f"{package} is not installed; the verdict does not depend on it"
        return {"package": package, "statement": statement, "left_out": reason}
    return {"package": f"{package} {version(package)}", "statement": statement, "certificate": prove()}


def dunkl_williams_by_z3() -> str:
    """4|a - b|^2 >= (|a| + |b|)^2 |u - v|^2 for a = p u, b = q v, unit vectors u, v with cosine c (any dimension)."""
    p, q, c = sp.symbols("p q c", real=True)
    right = (2 - 2 * c) * (p + q) ** 2
    return certificates.z3_implies([p >= 0, q >= 0, c >= -1, c <= 1], 4 * (p**2 + q**2 - 2 * p * q * c) >= right)


def three_term_split_by_z3(factor: sp.Rational) -> str:
    """(a + b + c)^2 <= factor (3 sigma_g^2 + 6 (L rho)^2) for norms a, c <= L rho and b <= sigma_g (any dimension)."""
    a, b, c, drift, sigma = sp.symbols("a b c Lrho sigma_g", real=True)
    premises = [a >= 0, b >= 0, c >= 0, a <= drift, c <= drift, b <= sigma]
    return certificates.z3_implies(premises, (a + b + c) ** 2 <= factor * (3 * sigma**2 + 6 * drift**2))


def _new_problem() -> tuple[Any, Any, Any]:
    pepit = importlib.import_module("PEPit")
    return pepit, importlib.import_module("PEPit.functions"), pepit.PEP()


def _worst_case(problem: Any, expected: float, statement: str) -> str:
    """Certificate that the problem's worst case is ``expected``; raises ArithmeticError where it is not.

    The dual value bounds every function of the class in every dimension; both values are numerical.
    """
    pep = certificates.solve_pep(problem, statement)
    if max(abs(pep.bound - expected), abs(pep.example - expected)) > TOLERANCE * expected:
        raise ArithmeticError(f"{statement}: dual {pep.bound}, primal {pep.example}, expected {expected}")
    return f"{statement}: dual bound and primal worst case are both {expected:g} to within {TOLERANCE:g} (numerical)"


def _never_above(problem: Any, left: Any, right: Any, size: Any, statement: str) -> str:
    """Certificate of left <= right: the largest left - right + size where size <= 1 is 1.

    left, right, size: of one degree under scaling of the problem, size >= 0, so that left > right at a point with
    size > 0 would give a value above 1 after scaling to size 1. size n = 0 leaves only left = 0 <= right.
    """
    problem.set_initial_condition(size <= 1)
    problem.set_performance_metric(left - right + size)
    return _worst_case(problem, 1.0, f"{statement}: left - right + n for n <= 1")


def inexact_step_by_pepit(step: float, L: float = 1.0) -> str:
    """F(w+) - F(w) <= (a/2)|e|^2 - (a/2)|grad F(w)|^2 for w+ = w - a (grad F(w) + e), F L-smooth, a L <= 1.

    step: a. n = |grad F(w)|^2 + |e|^2.
    """
    pepit, functions, problem = _new_problem()
    f = problem.declare_function(functions.SmoothFunction, L=L)
    start, error = problem.set_initial_point(), pepit.Point()
    gradient = f.gradient(start)
    end = start - step * (gradient + error)
    right = step / 2 * error**2 - step / 2 * gradient**2
    name = f"a = {step}, {L}-smooth functions"
    return _never_above(problem, f(end) - f(start), right, gradient**2 + error**2, name)


def perturbed_convexity_by_pepit(mu: float, L: float = 1.0) -> str:
    """-2<grad F(y), x - x*> <= -2(F(x) - F(x*)) - mu|y - x*|^2 + L|v|^2, y = x + v, any x, v, x*.

    F mu-strongly convex and L-smooth; n = |x - x*|^2 + |v|^2.
    """
    pepit, functions, problem = _new_problem()
    f = problem.declare_function(functions.SmoothStronglyConvexFunction, mu=mu, L=L)
    x, v, star = problem.set_initial_point(), pepit.Point(), pepit.Point()
    y = x + v
    left = -2 * f.gradient(y) * (x - star)
    right = -2 * (f(x) - f(star)) - mu * (y - star) ** 2 + L * v**2
    return _never_above(problem, left, right, (x - star) ** 2 + v**2, f"mu = {mu}, L = {L}")


def gradient_by_decrease_by_pepit(L: float) -> str:
    """|grad F(x)|^2 <= 2L (F(x) - F(x - grad F(x)/L)) for L-smooth F, convex or not; the constant is attained."""
    _, functions, problem = _new_problem()
    f = problem.declare_function(functions.SmoothFunction, L=L)
    x = problem.set_initial_point()
    gradient = f.gradient(x)
    problem.set_initial_condition(f(x) - f(x - gradient / L) <= 1)
    problem.set_performance_metric(gradient**2)
    return _worst_case(problem, 2 * L, f"{L}-smooth functions, |grad F(x)|^2 where F(x) - F(x - grad F(x)/L) <= 1")


def two_client_inner_product_by_pepit(factor: float, L: float = 1.0, step: float = 0.1) -> str:
    """Lemma 1 of Fan et al. 2024 for N = 2 clients with E = 2 local steps, gradients of two L-smooth functions.

    <G, mean_i (w_i2 - w) + 2 eta G> <= eta |G|^2 - eta/16 |sum of gradients|^2 + 2 eta L^2 factor mean_i (|y_i|^2 +
    |z_i|^2): y_i the model drift, z_i the change of the perturbation at the second step, G the mean of the first
    gradients. n = |first gradients|^2 + all |y_i|^2 + |z_i|^2.
    """
    pepit, functions, problem = _new_problem()
    first, later, squares = [], [], 0
    for _ in range(2):
        f = problem.declare_function(functions.SmoothFunction, L=L)
        point, drift, change = pepit.Point(), pepit.Point(), pepit.Point()
        first.append(f.gradient(point))
        later.append(f.gradient(point + drift + change))
        squares = squares + drift**2 + change**2
    mean, total = (first[0] + first[1]) / 2, sum(first[1:] + later, first[0])
    left = mean * (-step * total / 2 + 2 * step * mean)
    right = step * mean**2 - step / 16 * total**2 + step * L**2 * factor * squares
    size = squares + first[0] ** 2 + first[1] ** 2
    return _never_above(problem, left, right, size, f"two {L}-smooth clients, two local steps of {step}")
