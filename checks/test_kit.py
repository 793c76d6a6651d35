"""The theory kit: certified classes keep their certificates, searches find known maxima, weak evidence is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from artifact.base.errors import UserError
from theory.kit import certificates, exact, proof, symbolic, tables
from theory.kit.search import safe_ratio, worst_ratio
from theory.kit.verdict import Registry, Verdict


def test_search_finds_a_known_maximum():
    """max of x.Ax/x.x is the top eigenvalue, 3, which random draws in 6 dimensions miss by several per cent."""
    rotation = np.linalg.qr(np.random.default_rng(6).standard_normal((6, 6)))[0]
    A = rotation * [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0] @ rotation.T
    search = worst_ratio(lambda x: x @ A @ x / (x @ x), lambda rng: rng.standard_normal(6), draws=1000)
    assert search.value == pytest.approx(3.0, rel=1e-6)
    assert search.history[0] < 2.95
    assert search.evaluations >= 1000


def test_search_is_deterministic_and_ignores_inadmissible_arguments():
    def ratio(x):
        return math.nan if x[0] < 0 else 1 - (x[0] - 1) ** 2

    first, second = (worst_ratio(ratio, lambda rng: rng.standard_normal(1), draws=1200) for _ in range(2))
    assert first.value == second.value == pytest.approx(1.0)
    assert first.admissible < first.evaluations
    assert first.as_evidence("half line")["evaluations"] == first.admissible


def test_an_odd_budget_of_an_ascent_is_spent():
    def kinked(x):
        return -float(np.abs(x - np.arange(4)).sum())

    even, odd = (worst_ratio(kinked, lambda rng: rng.normal(size=4), draws=9, restarts=1, climb=n) for n in (60, 61))
    assert odd.evaluations == even.evaluations + 1


def test_safe_ratio():
    assert safe_ratio(1.0, 0.0) == math.inf and math.isnan(safe_ratio(0.0, 0.0)) and safe_ratio(1.0, 2.0) == 0.5


WEAK = [
    ("true", {}, {}),
    ("proved", {}, {}),
    ("holds", {"worst_ratio": 0.5, "function_class": "x", "seed": 0}, {}),
    ("holds", {"evaluations": 999, "worst_ratio": 0.5, "function_class": "x", "seed": 0}, {}),
    ("refuted", {"worst_ratio": 2.0}, {}),
    ("repaired", {"counterexample": {}, "repair": {"certificate": "x"}}, {}),
    ("repaired", {"counterexample": {}, "repair": {"evaluations": 10, "worst_ratio": 0.1}}, {"repaired": "x"}),
    ("proved", {"certificate": "x"}, {"repaired": "x"}),
    ("consistent", {"printed": 1}, {}),
    ("vacuous", {}, {}),
]


@pytest.mark.parametrize(("verdict", "evidence", "more"), WEAK)
def test_verdict_refuses_weak_evidence(verdict, evidence, more):
    with pytest.raises(ValueError):
        Verdict(verdict, evidence, **more)


def test_check_refuses_an_undocumented_function_and_a_second_decision():
    registry = Registry()
    with pytest.raises(ValueError, match="docstring"):
        registry.check("a")(lambda: None)

    def documented():
        """T. Statement: Assumptions: Method: Verdict: Reference:"""

    registry.check("a")(documented)
    with pytest.raises(ValueError, match="two checks"):
        registry.check("a")(documented)


def test_exact_round_trip_and_positive_semidefiniteness():
    values = {"x": ["3/7", 2, 0.5], "y": {"z": "1/3"}}
    assert exact.plain(exact.fractions_of(values)) == {"x": ["3/7", 2, "1/2"], "y": {"z": "1/3"}}
    assert exact.is_positive_semidefinite([[1, 2], [2, 4]])
    assert not exact.is_positive_semidefinite([[1, 2], [2, Fraction(39, 10)]])
    assert not exact.is_positive_semidefinite([[0, 1], [1, 5]])
    assert exact.eigenvalues_within([[2, 1], [1, 2]], 1, 3) and not exact.eigenvalues_within([[2, 1], [1, 2]], 1, 2)


def test_exact_roots():
    assert exact.rational_sqrt(Fraction(9, 4)) == Fraction(3, 2) and exact.rational_sqrt(Fraction(2)) is None
    assert exact.sqrt_le(Fraction(2), Fraction(3, 2)) and not exact.sqrt_le(Fraction(2), Fraction(7, 5))
    x = exact.unit([Fraction(3), Fraction(4)])
    assert abs(x[0] - exact.mpf("3/5")) < exact.mp.mpf(10) ** -48


def test_identity_certificate_and_witness():
    a, b = sp.symbols("a b", positive=True)
    assert "reduces to 0" in symbolic.identity((a + b) ** 2, a**2 + 2 * a * b + b**2)
    with pytest.raises(symbolic.NotProved) as caught:
        symbolic.identity((a + b) ** 2, a**2 + b**2)
    assert caught.value.point is not None
    verdict = symbolic.decide_identity((a + b) ** 2, a**2 + b**2)
    sides = verdict.evidence["counterexample"]
    assert verdict.verdict == "refuted" and Fraction(sides["left"]) != Fraction(sides["right"])


@pytest.mark.parametrize("values", [[(1, 2)], [(1, 2), (-3, 5)], [(2, 7), (4, -1), (-6, 3)]])
def test_a_sum_by_linearity_is_the_sum_that_it_stands_for(values):
    x, y, a, n, sums = *sp.symbols("x y a n"), sp.symbols("sum_x sum_y sum_xy sum_x2")
    summand = (x - a) * (x + 3 * y) / n
    given = dict(zip((x, y, x * y, x**2), sums, strict=True))
    totals = {s: sum(monomial.subs({x: p, y: q}) for p, q in values) for monomial, s in given.items()}
    written_out = sum(summand.subs({x: p, y: q}) for p, q in values)
    assert sp.expand(symbolic.total(summand, given, len(values)).subs(totals) - written_out) == 0
    with pytest.raises(KeyError):
        symbolic.total(y**2, given, n)


def test_nonnegative_certificate():
    K, k = sp.symbols("K k", nonnegative=True)
    assert symbolic.nonnegative(K**2 - K, shift={K: 1 + k})
    with pytest.raises(symbolic.NotProved):
        symbolic.nonnegative(K**2 - K)


@pytest.mark.skipif(not certificates.available("z3"), reason="optional z3-solver is not installed")
def test_z3_certificate_and_counterexample():
    x = sp.Symbol("x", real=True)
    assert "unsatisfiable" in certificates.z3_implies([x > 0, x < sp.Rational(1, 6)], 30 * x**2 < 1)
    with pytest.raises(symbolic.NotProved) as caught:
        certificates.z3_implies([x > 0, x < sp.Rational(1, 2)], 30 * x**2 < 1)
    point = Fraction(caught.value.point["x"])
    assert 0 < point < Fraction(1, 2) and 30 * point**2 >= 1


@pytest.mark.skipif(not certificates.available("cvxpy"), reason="optional cvxpy is not installed")
def test_sum_of_squares_certificate():
    x, y = sp.symbols("x y", real=True)
    assert "exact elimination" in certificates.sum_of_squares(x**4 + y**4 - x**2 * y**2 + 1)
    with pytest.raises(symbolic.NotProved):
        certificates.sum_of_squares(x**2 - 3 * x * y + y**2)


@pytest.mark.skipif(not certificates.available("PEPit"), reason="optional PEPit is not installed")
@pytest.mark.parametrize("step", [0.2, 0.4, 0.9])
def test_pep_gives_the_known_contraction(step):
    pep = certificates.gradient_step_contraction(L=2.0, mu=0.5, step=step)
    known = max(abs(1 - step * 0.5), abs(1 - step * 2.0)) ** 2
    assert pep.bound == pytest.approx(known, abs=1e-5) and pep.example == pytest.approx(known, abs=1e-5)


def test_missing_solver_is_named(monkeypatch):
    monkeypatch.setattr(certificates, "available", lambda name: False)
    with pytest.raises(certificates.MissingSolver, match="z3-solver"):
        certificates.z3_implies([], sp.Symbol("x") > 0)


def test_printed_numbers_keep_their_rounding():
    assert tables.unit("79.50") == Fraction(1, 100) and tables.unit("246") == 1
    box = tables.Interval.printed("79.5")
    assert (box.low, box.high) == (Fraction("79.45"), Fraction("79.55"))
    assert tables.Interval.printed("246").low == 246


@pytest.mark.parametrize(
    ("printed", "a", "b", "agrees", "same"),
    [
        ("0.43", "79.52", "79.09", True, True),
        ("0.42", "79.52", "79.09", True, False),
        ("0.40", "79.52", "79.09", False, False),
    ],
)
def test_comparison_at_the_printed_rounding(printed, a, b, agrees, same):
    comparison = tables.compare("x", printed, tables.difference(a, b))
    assert (comparison.agrees, comparison.same_digits) == (agrees, same)
    assert tables.arithmetic_verdict([comparison]).verdict == ("consistent" if agrees else "inconsistent")


def test_derived_ranges():
    assert tables.average(["1.0", "2.0"]).high == Fraction("1.55")
    assert tables.ratio("10", "4").value == Fraction(5, 2) == tables.ratio("10", "4").low
    assert tables.total(["1.0", "2.0", "3.0"]).low == Fraction("5.85")


def test_tables_select_rows():
    rows = tables.table("fedsmoo_table1")
    cell = rows.where(algorithm="FedAvg", dataset="CIFAR-10", split="Dirichlet-0.6", participation="10% of 100")
    assert str(cell.values(metric="test_accuracy")[0]) == "79.52"
    assert set(rows.where(algorithm=["FedAvg", "FedSAM"]).distinct("algorithm")) == {"FedAvg", "FedSAM"}
    with pytest.raises(UserError):
        tables.table("no_such_table")
    with pytest.raises(UserError):
        rows.one(algorithm="FedAvg")


def test_a_sum_with_roots_is_compared_too():
    """A root is no polynomial in its symbol, so that the sum is expanded."""
    x = sp.Symbol("x", positive=True)
    assert proof.reduced((1 + sp.sqrt(x)) * (1 - sp.sqrt(x)) - 1 + x) == 0
    assert proof.reduced((1 + x) ** 2 - 1 - 2 * x) == x**2 and proof.reduced(x / (1 + x) - 1 + 1 / (1 + x)) == 0


def test_a_table_without_a_column_of_values_has_no_number():
    """A transcription whose header was damaged: a line of the error, not a traceback."""
    row = tables.Row({"method": "FedSAM", "valve": "78.5"})
    assert not row.is_number and tables.Row({"value": "78.50"}).is_number
    with pytest.raises(UserError, match="table value"):
        row.value  # noqa: B018
