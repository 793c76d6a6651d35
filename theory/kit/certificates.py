"""Solver certificates: z3 for scalar inequalities, exactly checked sums of squares, PEPit for first-order methods.

The solvers come with the extra ``theory``. Without it ``MissingSolver`` is raised with a message for the user;
the runner lists such a claim as a stated skip instead of deciding it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
import sympy as sp

from theory.kit.exact import is_positive_semidefinite
from theory.kit.symbolic import NotProved
from theory.kit.verdict import decided

SOLVERS = {"z3": "z3-solver", "cvxpy": "cvxpy", "PEPit": "PEPit"}


class MissingSolver(ImportError):
    """A solver is not installed. solver: module name; package: what to install."""

    def __init__(self, solver: str):
        self.solver, self.package = solver, SOLVERS[solver]
        super().__init__(
            f'needs the package {self.package}; the extra "theory" brings it: pip install "fedsharp[theory]"'
        )


def available(solver: str) -> bool:
    """Whether the module of a solver can be imported."""
    return importlib.util.find_spec(solver) is not None


def _load(solver: str) -> Any:
    if not available(solver):
        raise MissingSolver(solver)
    return importlib.import_module(solver)


def to_z3(expression: Any, variables: dict[str, Any]) -> Any:
    """sympy expression or relation (rational functions, And, Or, Not) as a z3 term over real variables by name.

    Raises TypeError for functions that z3's real arithmetic lacks (roots: add a variable and its square as a premise).
    """
    z3 = _load("z3")
    expression = sp.sympify(expression)
    if expression.is_Symbol:
        return variables.setdefault(expression.name, z3.Real(expression.name))
    if expression.is_Rational:
        return z3.RealVal(f"{expression.p}/{expression.q}")
    parts = [to_z3(part, variables) for part in expression.args]
    if expression.is_Pow and expression.exp.is_Integer:
        power = z3.RealVal(1)
        for _ in range(abs(int(expression.exp))):
            power = power * parts[0]
        return power if expression.exp > 0 else 1 / power
    builders = {
        sp.Add: lambda *x: sum(x[1:], x[0]),
        sp.Mul: lambda *x: x[0] if len(x) == 1 else x[0] * builders[sp.Mul](*x[1:]),
        sp.Le: lambda a, b: a <= b,
        sp.Lt: lambda a, b: a < b,
        sp.Ge: lambda a, b: a >= b,
        sp.Gt: lambda a, b: a > b,
        sp.Eq: lambda a, b: a == b,
        sp.Ne: lambda a, b: a != b,
        sp.And: z3.And,
        sp.Or: z3.Or,
        sp.Not: z3.Not,
    }
    if expression.func not in builders:
        raise TypeError(f"{expression.func.__name__} has no counterpart in z3's real arithmetic")
    return builders[expression.func](*parts)


def z3_implies(premises: Iterable[Any], conclusion: Any, *, timeout_seconds: float = 20) -> str:
    """Certificate that the premises (sympy relations over the reals) imply the conclusion: their conflict is unsat.

    Raises NotProved with a rational point that satisfies the premises and violates the conclusion, or without a point
    where z3 gives up. Denominators must be kept away from 0 by the premises (z3 leaves x/0 free).
    """
    z3 = _load("z3")
    variables: dict[str, Any] = {}
    solver = z3.Solver()
    solver.set("timeout", int(1000 * timeout_seconds))
    premises = [sp.sympify(premise) for premise in premises]
    for premise in premises:
        solver.add(to_z3(premise, variables))
    solver.add(z3.Not(to_z3(conclusion, variables)))
    outcome = solver.check()
    statement = f"{', '.join(map(str, premises))} imply {conclusion}"
    if outcome == z3.unsat:
        solver_name = f"z3 {z3.get_version_string()}"
        text = f"{statement}: premises and negated conclusion are unsatisfiable over the reals ({solver_name})"
        return decided(text, "z3")
    point = None
    if outcome == z3.sat:
        model = solver.model()
        point = {
            name: _model_value(model.eval(variable, model_completion=True)) for name, variable in variables.items()
        }
    raise NotProved(
        f"{statement}: not proved ({outcome}{f' at {point}' if point else ''})", sp.sympify(conclusion), point
    )


def _model_value(value: Any) -> str:
    """Rational as "p/q"; an algebraic number as a decimal with 30 digits."""
    return str(value.as_fraction()) if hasattr(value, "as_fraction") else value.as_decimal(30).rstrip("?")


def sum_of_squares(polynomial: Any, *, denominator: int = 10**6, basis: Sequence[Any] | None = None) -> str:
    """Certificate that a polynomial is a sum of squares: an exact rational Gram matrix, positive semidefinite.

    cvxpy finds a Gram matrix with the largest smallest eigenvalue; it is rounded to rationals, projected back on the
    polynomial's coefficients exactly and tested by exact elimination. basis: monomials to use instead of all up to half
    the degree (a smaller one where zeros of the polynomial make the full Gram matrix singular). Raises NotProved where
    no interior Gram matrix exists, which decides nothing.
    """
    symbols = sorted(sp.sympify(polynomial).free_symbols, key=str)
    poly = sp.Poly(sp.expand(polynomial), *symbols)
    monomials = [sp.Poly(m, *symbols) for m in basis or _monomials(symbols, poly.total_degree())]
    places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for i, left in enumerate(monomials):
        for j, right in enumerate(monomials):
            places.setdefault((left * right).monoms()[0], []).append((i, j))
    if any(monomial not in places for monomial in poly.monoms()):
        raise NotProved(f"{polynomial}: the basis does not reach every monomial", poly.as_expr())
    targets = {monomial: Fraction(str(poly.coeff_monomial(monomial))) for monomial in places}
    gram = _project(_solve_gram(len(monomials), places, targets), places, targets, denominator)
    if not is_positive_semidefinite(gram):
        raise NotProved(f"{polynomial}: the rounded Gram matrix is not positive semidefinite", poly.as_expr())
    names = [str(m.as_expr()) for m in monomials]
    rows = "; ".join("[" + ", ".join(map(str, row)) + "]" for row in gram)
    text = f"{polynomial} = z^T Q z with z = {names}, Q = {rows}, positive semidefinite by exact elimination"
    return decided(text, "sum of squares")


def _monomials(symbols: Sequence[sp.Symbol], degree: int) -> list[sp.Expr]:
    return sorted(sp.itermonomials(symbols, (degree + 1) // 2), key=sp.default_sort_key)


def _solve_gram(size: int, places: dict, targets: dict) -> np.ndarray:
    cvxpy = _load("cvxpy")
    gram, floor = cvxpy.Variable((size, size), symmetric=True), cvxpy.Variable()
    constraints = [gram - floor * np.eye(size) >> 0, floor <= 1]
    constraints += [sum(gram[i, j] for i, j in cells) == float(targets[m]) for m, cells in places.items()]
    cvxpy.Problem(cvxpy.Maximize(floor), constraints).solve(solver=cvxpy.CLARABEL)
    if gram.value is None:
        raise NotProved("no Gram matrix found", sp.Integer(0))
    return gram.value


def _project(gram: np.ndarray, places: dict, targets: dict, denominator: int) -> list[list[Fraction]]:
    """Rational Gram matrix whose entries add up to the polynomial's coefficients exactly."""
    exact = [[Fraction(float(x)).limit_denominator(denominator) for x in row] for row in (gram + gram.T) / 2]
    for monomial, cells in places.items():
        correction = (targets[monomial] - sum(exact[i][j] for i, j in cells)) / len(cells)
        for i, j in cells:
            exact[i][j] += correction
    return exact


@dataclass(frozen=True)
class Pep:
    """Worst case of a performance-estimation problem: bound (dual value), example (primal value), certificate text."""

    bound: float
    example: float
    certificate: str


def solve_pep(problem: Any, statement: str) -> Pep:
    """Solve a ``PEPit.PEP``; its dual solution proves the bound for every function of the class and every dimension."""
    pepit = _load("PEPit")
    bound = float(problem.solve(wrapper="cvxpy", return_primal_or_dual="dual", verbose=0))
    example = float(problem.objective.eval())
    text = (
        f"{statement}: worst case {bound:.10g}, primal-dual gap {abs(bound - example):.2g} (PEPit "
        f"{version(pepit.__name__)}, dual multipliers of the interpolation inequalities)"
    )
    return Pep(bound, example, text)


def gradient_step_contraction(L: float, mu: float, step: float) -> Pep:
    """Worst ||x1 - x*||^2 / ||x0 - x*||^2 of one gradient step over mu-strongly convex L-smooth functions.

    The known value is max(|1 - step mu|, |1 - step L|)^2, which a test compares with; a template for fixed-step
    statements.
    """
    pepit = _load("PEPit")
    functions = importlib.import_module("PEPit.functions")
    problem = pepit.PEP()
    f = problem.declare_function(functions.SmoothStronglyConvexFunction, mu=mu, L=L)
    minimiser, start = f.stationary_point(), problem.set_initial_point()
    problem.set_initial_condition((start - minimiser) ** 2 <= 1)
    problem.set_performance_metric((start - step * f.gradient(start) - minimiser) ** 2)
    return solve_pep(problem, f"one gradient step of size {step} on {mu}-strongly convex {L}-smooth functions")
