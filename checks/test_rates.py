"""The bound calculator against the proved theorems: 1,000 random inputs, values and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray

from artifact.base.errors import UserError
from artifact.rates import METHODS, Setting, rate
from artifact.rates.bound import at_step
from artifact.rates.theorems import theorem
from theory.kit.statement import evaluated
from theory.theorems import theorems

Array = NDArray[np.float64]
COUNT = 200
PAIRS = {name: method for method, own in METHODS.items() for name in (*own.theorems, *own.unequal)}


def drawn(rng: np.random.Generator, exact: bool, cohorts: bool, unequal: bool = False) -> tuple[Setting, float]:
    """A setting and a step around the edge of the conditions, so that every other one is outside.

    unequal: every client has a number of steps and a weight of its own.
    """
    clients, steps = int(rng.integers(1, 200)), int(rng.integers(1, 60))
    L = float(10 ** rng.uniform(-3, 3))
    server, beta = float(rng.choice([1.0, 0.3, 2.0])), float(rng.uniform(0.05, 1))
    edge = min(0.1 / max(steps - 1, 1), 0.5 / (steps * server)) / L
    sizes = {name: float(10 ** rng.uniform(-2, 1)) for name in ("rho", "sigma_g", "sigma_l", "delta")}
    setting = Setting(
        L=L,
        T=int(rng.integers(1, 5000)),
        K=steps,
        N=clients,
        S=int(rng.integers(1, clients + 1)) if cohorts else clients,
        **sizes | ({"sigma_l": 0.0} if exact else {}),
        eta_g=server,
        beta=beta,
    )
    if unequal:
        counts = tuple(int(count) for count in rng.integers(1, 2 * steps + 1, clients))
        setting = replace(setting, steps=counts, weights=tuple(rng.uniform(0.1, 1, clients)))
        edge = min(edge, 0.1 / max(max(counts) - 1, 1) / L)
    return setting, edge * float(10 ** rng.uniform(-1.5, 0.3))


def holds(relation: sp.Rel, bank: Mapping[str, Array]) -> NDArray[np.bool_]:
    """An inequality of a statement at every point."""
    low, high = evaluated(relation.lts, bank), evaluated(relation.gts, bank)
    strict = isinstance(relation, sp.StrictLessThan | sp.StrictGreaterThan)
    return low < high * (1 - 1e-12) if strict else low <= high * (1 + 1e-12)


@pytest.mark.parametrize("name", list(PAIRS))
def test_bounds_and_warnings_are_those_of_the_proved_theorem(name):
    statement, method, rng = theorems()[name], PAIRS[name], np.random.default_rng(7)
    hypotheses = {h.name for h in statement.hypotheses}
    points = []
    for _ in range(COUNT):
        sampled = bool(hypotheses & {"cohorts", "weighted cohorts", "zero duals"})
        setting, step = drawn(rng, "exact gradients" in hypotheses, sampled, "weighted cohorts" in hypotheses)
        if method == "fedsmoo":
            step = 0.3 / setting.L * float(10 ** rng.uniform(-2, 0))
        if method == "globalfedsam":  # its radius has another unit
            setting = replace(setting, rho=setting.rho / setting.L)
        points.append((setting, step))
    values = [METHODS[method].values(*point) for point in points]
    bank = {key: np.array([one[key] for one in values]) for key in values[0]} | {"Gamma": np.ones(COUNT)}
    factor, terms = evaluated(statement.left, bank), [evaluated(term, bank) for term in statement.right]
    relations = [c.relation for c in statement.conditions if isinstance(c.relation, sp.Rel)]
    inside = factor > 0
    for relation in (r for r in relations if not isinstance(r, sp.Eq)):
        inside &= holds(relation, bank)
    for place, point in enumerate(points):
        found = at_step(method, point[0], theorem(name), point[1])
        assert (not found.outside) == inside[place], (found.outside, values[place])
        if inside[place]:
            assert found.bound == pytest.approx(sum(term[place] for term in terms) / factor[place], rel=1e-9)
            assert list(found.terms.values()) == pytest.approx([t[place] / factor[place] for t in terms], rel=1e-9)
    assert COUNT / 20 < inside.sum() < COUNT


def test_every_method_has_a_theorem_and_every_letter_of_it_a_value():
    setting = Setting(L=1.0, T=3)
    for method, own in METHODS.items():
        for name in (*own.theorems, *own.unequal):
            statement = theorems()[name]
            needed = {str(s) for s in statement.symbols} - {"Gamma"}
            assert needed <= own.values(setting, 0.1).keys(), name
            assert method == statement.method or name.startswith("inexact-gradients")


def test_letters_of_unequal_clients_by_hand():
    """Steps 1 and 3 with weights 3 and 1: mean 3/2, q = (1/2, 1/2); with equal weights q = (1/4, 3/4)."""
    setting = Setting(L=2.0, T=3, N=2, S=1, steps=(1, 3), weights=(3.0, 1.0), eta_g=2.0)
    found = setting.values(0.1)
    assert (found["K"], found["N"], found["excess"], found["X"]) == pytest.approx((1.5, 2, 0, 0.4))
    assert found["A"] == pytest.approx(1.5 * 2 * 0.1) and found["kappa"] == 1
    even = replace(setting, weights=None).values(0.1)
    assert (even["K"], even["N"], even["excess"]) == pytest.approx((2, 4 / 3, 0.5))
    assert METHODS["fedsam"].unequal == ("inexact-gradients-unequal-steps",) and METHODS["mofedsam"].unequal == ()


def test_equal_steps_and_weights_that_are_listed_change_nothing():
    numbers = {"L": 2.0, "T": 50, "S": 2, "rho": 0.1, "sigma_g": 0.3, "sigma_l": 0.2}
    listed = rate("fedsam", steps=[4, 4, 4], weights=[2, 2, 2], **numbers)
    plain = rate("fedsam", K=4, N=3, **numbers)
    assert listed.theorem.name == plain.theorem.name and listed.bound == pytest.approx(plain.bound)


def test_a_method_without_a_theorem_on_unequal_steps_says_so():
    found = rate("mofedsam", L=1.0, T=10, steps=[1, 2])
    assert found.outside[0] == "clients differ in steps or weights, and the theorem is for equal ones"


@pytest.mark.parametrize(
    ("numbers", "field"),
    [
        ({"steps": [1, 2], "N": 3}, "steps"),
        ({"steps": [1, 0]}, "steps"),
        ({"steps": [1, 2.5]}, "steps"),
        ({"weights": [1.0, -1.0]}, "weights"),
    ],
)
def test_lists_that_are_not_possible_are_told(numbers, field):
    with pytest.raises(UserError, match=field):
        rate("fedsam", L=1.0, T=10, **numbers)
