"""Exact worst cases of a few rounds (performance estimation, PEPit), the yardstick of the proved theorems.

For N clients, K local steps and T rounds the largest mean squared gradient over all L-smooth losses of any dimension,
all perturbations of length at most rho and all starts is the value of a semidefinite program (Drori and Teboulle 2014;
Taylor, Hendrickx and Glineur 2017). Where F(w^0) - F^* is bounded in a theorem, F(w^0) - F(end) is bounded here, which
is what the proofs use; so a worst case lies between what runs can reach and the proved bound. The theorem on strongly
convex means bounds F(w^T) - F^*, and so does its program. Gradients have no noise: a law of noise has no finite
description. Cohorts are drawn in one round, whose every draw is a branch.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import sympy as sp

from theory.inexact import momentum, one_step, statements, strongly_convex
from theory.kit.certificates import Pep, solve_pep
from theory.kit.statement import Statement
from theory.sun2023 import lyapunov


@dataclass(frozen=True)
class Case:
    """clients N, active S, steps K, rounds T; the other numbers of the theorem by the names of its symbols."""

    clients: int
    active: int
    steps: int
    rounds: int
    values: Mapping[str, float]

    def __post_init__(self) -> None:
        if self.active < self.clients and self.rounds > 1:
            raise ValueError("cohorts are drawn in one round only")

    def all(self) -> dict[str, float]:
        """Values of every symbol. local: the local step, 1/10 of the largest that a theorem admits for one step."""
        size, active = self.clients, self.active
        kappa = (size - active) / (active * (size - 1)) if size > 1 else 0.0
        local = 0.1 / max(self.steps - 1, 1)
        x = (self.steps - 1) * local
        names = {"N": size, "K": self.steps, "T": self.rounds, "kappa": kappa, "theta": active / size}
        return {"L": 1.0, "sigma_l": 0.0, "eta": local, "X": x, "Y": x, **names, **self.values}


class Problem:
    """A performance-estimation problem over N smooth clients."""

    def __init__(self, clients: int, L: float):
        pepit = importlib.import_module("PEPit")
        functions = importlib.import_module("PEPit.functions")
        self.point, self.value = pepit.Point, pepit.Expression
        self.pep = pepit.PEP()
        self.clients = [self.pep.declare_function(functions.SmoothFunction, L=L) for _ in range(clients)]
        self.start = self.pep.set_initial_point()

    def at(self, w: Any) -> tuple[list[Any], Any, Any]:
        """Gradients of the clients, gradient and value of their mean."""
        gradients, values = zip(*(client.oracle(w) for client in self.clients), strict=True)
        return list(gradients), mean(gradients), mean(values)

    def small(self, vectors: list[Any], size: float) -> None:
        """The mean square of vectors is at most size^2."""
        self.pep.add_constraint(mean([v**2 for v in vectors]) <= size**2)

    def wrong_gradient(self, client: Any, w: Any, rho: float) -> Any:
        """Gradient of a client at w + e, |e| <= rho."""
        error = self.point()
        self.pep.add_constraint(error**2 <= rho**2)
        return client.gradient(w + error)

    def solve(self, squares: list[Any], decrease: Any, delta: float, name: str) -> Pep:
        """Largest mean of the squares with decrease <= delta."""
        self.pep.set_initial_condition(decrease <= delta)
        self.pep.set_performance_metric(mean(squares))
        return solve_pep(self.pep, name)


def mean(terms: Any) -> Any:
    first, *others = terms
    for term in others:
        first = first + term
    return first / (len(others) + 1)


def inexact(case: Case) -> Pep:
    """FedAvg with inexact local gradients: FedSAM, FedLESAM, Global FedSAM."""
    v, problem, squares = case.all(), Problem(case.clients, 1.0), []
    w, begin, ends = problem.start, None, []
    for _ in range(case.rounds):
        own, gradient, value = problem.at(w)
        begin = value if begin is None else begin
        squares.append(gradient**2)
        problem.small([g - gradient for g in own], v["sigma_g"])
        directions = []
        for client in problem.clients:
            x, total = w, []
            for _ in range(case.steps):
                total.append(problem.wrong_gradient(client, x, v["rho"]))
                x = x - v["eta"] * total[-1]
            directions.append(mean(total))
        ends = [w - v["A"] * mean(cohort) for cohort in combinations(directions, case.active)]
        w = ends[0]
    return problem.solve(squares, begin - mean([problem.at(end)[2] for end in ends]), v["Delta"], "inexact gradients")


def with_momentum(case: Case) -> Pep:
    """MoFedSAM from zero momentum; the decrease is that of F at w - A (1 - beta)/beta m."""
    v, problem, squares = case.all(), Problem(case.clients, 1.0), []
    w, m, begin, b = problem.start, 0 * problem.start, None, v["beta"]
    for _ in range(case.rounds):
        own, gradient, value = problem.at(w)
        begin = value if begin is None else begin
        squares.append(gradient**2)
        problem.small([g - gradient for g in own], v["sigma_g"])
        directions = []
        for client in problem.clients:
            x = w
            for _ in range(case.steps):
                directions.append(problem.wrong_gradient(client, x, v["rho"]))
                x = x - v["eta"] * (b * directions[-1] + (1 - b) * m)
        m = (1 - b) * m + b * mean(directions)
        w = w - v["A"] * m
    end = problem.at(w - v["A"] * (1 - b) / b * m)[2]
    return problem.solve(squares, begin - end, v["Delta"], "MoFedSAM")


def smoo(case: Case) -> Pep:
    """FedSMOO from zero duals, every client active: the new dual is the gradient at the local model up to eps."""
    v, problem, squares = case.all(), Problem(case.clients, 1.0), []
    w, beta, duals = problem.start, v["beta"], [0 * problem.start] * case.clients
    bar, begin = w, None
    for _ in range(case.rounds):
        own, gradient, value = problem.at(bar)
        if begin is None:
            begin = value
            problem.small(own, v["D_0"] ** 0.5)
        squares.append(gradient**2)
        errors, models, after = [], [], []
        for client, dual in zip(problem.clients, duals, strict=True):
            slope, error = problem.point(), problem.point()
            local = w + beta * (dual - slope - error)
            client.add_point((local, slope, problem.value()))
            errors.append(error), models.append(local), after.append(slope + error)
        problem.small(errors, v["eps"])
        duals, bar = after, mean(models)
        w = bar - beta * mean(duals)
    return problem.solve(squares, begin - problem.at(bar)[2], v["Delta"], "FedSMOO")


def strongly(case: Case) -> Pep:
    """Global FedSAM with steps that decrease; the mean is strongly convex at the averages, a client need not be.

    Strong convexity is asked between the points at which a round begins or ends and the minimiser. A true worst case
    asks it everywhere and is at most this one.
    """
    v, problem = case.all(), Problem(case.clients, 1.0)
    best = problem.point()
    _, zero, least = problem.at(best)
    problem.pep.add_constraint(zero**2 <= 0)
    problem.pep.set_initial_condition((problem.start - best) ** 2 <= v["D_0"])
    known, ends = [(best, zero, least)], [problem.start]
    for t in range(case.rounds):
        (w,) = ends
        own, gradient, value = problem.at(w)
        known.append((w, gradient, value))
        problem.small([g - gradient for g in own], v["sigma_g"])
        step, models = 2 / (case.steps * v["mu"] * (t + v["gamma"] + 2)), []
        for client in problem.clients:
            x = w
            for _ in range(case.steps):
                x = x - step * problem.wrong_gradient(client, x, v["rho"])
            models.append(x)
        ends = [mean(cohort) for cohort in combinations(models, case.active)]
    last = [(w, *problem.at(w)[1:]) for w in ends]
    for (x, _, high), (y, slope, low) in permutations([*known, *last], 2):
        problem.pep.add_constraint(high >= low + slope * (x - y) + v["mu"] / 2 * (x - y) ** 2)
    problem.pep.set_performance_metric(mean([value for _, _, value in last]) - least)
    return solve_pep(problem.pep, "strongly convex mean")


def bound(statement: Statement, case: Case) -> float:
    """What the theorem gives for the one quantity on its left: right side over its factor."""
    (measured,) = statement.left.free_symbols & set(sp.symbols("Gamma Gap", nonnegative=True))
    values = {symbol: case.all()[str(symbol)] for symbol in statement.symbols if symbol != measured}
    factor = sp.expand(statement.left).coeff(measured)
    return float((sp.Add(*statement.right) / factor).subs(values))


_FLOOR = {"Delta": 1.0, "rho": 0.5, "sigma_g": 0.5, "A": 0.5}
#: gamma = 20 L/mu - 2, the smallest that the theorem takes
_CONVEX = {"mu": 0.5, "gamma": 38.0, "D_0": 1.0, "rho": 0.1, "sigma_g": 0.5}
_ALL = [(1, 1), (2, 1), (1, 2), (2, 2)]


def _cases(values: Mapping[str, float], rounds: int = 3, sizes: Any = _ALL) -> list[Case]:
    return [Case(n, n, k, t, values) for n, k in sizes for t in range(1, rounds + 1 if n * k < 4 else 3)]


#: theorem -> (statement, worst case of a case, cases)
YARDSTICKS: dict[str, tuple[Callable[[], Statement], Callable[[Case], Pep], list[Case]]] = {
    "inexact-gradients-exact": (statements.exact, inexact, _cases(_FLOOR)),
    "inexact-gradients-one-step-exact": (
        one_step.exact,
        inexact,
        _cases(_FLOOR | {"A": 1.0}, sizes=[(1, 1), (2, 1)]),
    ),
    "inexact-gradients-cohorts": (
        statements.sampled,
        inexact,
        [Case(n, 1, k, 1, _FLOOR) for n in (2, 3) for k in (1, 2)],
    ),
    "mofedsam": (momentum.statement, with_momentum, _cases(_FLOOR | {"beta": 0.5, "A": 0.125})),
    "fedsmoo-zero-duals": (
        lyapunov.theorem,
        smoo,
        _cases({"Delta": 1.0, "beta": 1 / 9, "eps": 0.5, "D_0": 25.0}, sizes=[(1, 1), (2, 1)]),
    ),
    "inexact-gradients-strongly-convex": (
        strongly_convex.statement,
        strongly,
        [*_cases(_CONVEX), *(Case(n, 1, k, 1, _CONVEX) for n in (2, 3) for k in (1, 2))],
    ),
}
