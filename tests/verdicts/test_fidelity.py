"""How well a setting predicts a larger one: hand-derived numbers, the interval, and what it keeps out of headlines."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from artifact.base.errors import UserError
from artifact.papers import experiments
from artifact.verdicts import decide, fidelity, ledger
from artifact.verdicts.lookup import open_store


@pytest.fixture(scope="module")
def store():
    return open_store("laptop")


def alone(**means: float) -> dict[str, np.ndarray]:
    """One column and one seed."""
    return {name: np.array([[value]]) for name, value in means.items()}


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_rank_correlation_is_one_minus_six_sums_of_squares():
    """1 - 6 sum(d^2) / (n (n^2 - 1)): of five with one swapped pair of neighbours 1 - 6 * 2 / 120."""
    assert math.isclose(fidelity.rank_correlation([1, 2, 3, 4, 5], [1, 3, 2, 4, 5]), 0.9)
    assert fidelity.rank_correlation([1, 2, 3], [9, 5, 1]) == -1
    assert math.isnan(fidelity.rank_correlation([1, 1, 1], [1, 2, 3]))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12))
def test_rank_correlation_is_scipys_with_ties(pairs):
    a, b = (list(side) for side in zip(*pairs, strict=True))
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert math.isclose(fidelity.rank_correlation(a, b), spearmanr(a, b).statistic, abs_tol=1e-12)


def test_slope_is_of_our_gains_on_the_larger_ones():
    """(1 * 2 + 3 * 4) / (2^2 + 4^2)."""
    assert math.isclose(fidelity.slope_through_zero([1, 3], [2, 4]), 14 / 20)
    assert math.isnan(fidelity.slope_through_zero([1, 3], [0, 0]))


def test_gains_are_over_fedavg_and_not_accuracies():
    """Ours are half of the larger gains: over FedAvg 1, 2, 3 and 4 of 2, 4, 6 and 8."""
    ours = alone(FedAvg=50, A=51, B=52, C=53, D=54)
    larger = alone(FedAvg=70, A=72, B=74, C=76, D=78)
    rank, low, _, slope, slope_low, slope_high = fidelity.compare(ours, larger)
    assert (rank, slope, slope_low, slope_high) == (1, 0.5, 0.5, 0.5) and low == 1


def test_fewer_than_five_methods_say_nothing():
    four = alone(FedAvg=1, A=2, B=3, C=4)
    assert all(map(math.isnan, fidelity.compare(four, four)))


def test_the_interval_knows_seeds_and_methods():
    """Seeds that disagree about the order widen it; methods in a clear order with one seed leave it narrow."""
    steady = {name: np.array([[value, value]]) for name, value in zip("ABCDEFGH", range(8), strict=True)}
    torn = {
        name: np.array([[value, 7.0 - value + 0.1 * value]]) for name, value in zip("ABCDEFGH", range(8), strict=True)
    }
    clear, unclear = fidelity.compare(steady, steady), fidelity.compare(torn, steady)
    assert clear[1] > 0.99 and unclear[1] < -0.9 and unclear[2] > 0.9


def test_the_draws_are_a_function_of_the_numbers_alone():
    ours = {name: np.array([[value, value + 1.0]]) for name, value in zip("ABCDEF", (1, 3, 2, 5, 4, 6), strict=True)}
    first, second = (fidelity.compare(ours, ours) for _ in range(2))
    assert np.array_equal(first, second, equal_nan=True)


def test_methods_without_any_relation_are_rarely_said_to_predict():
    """Twelve methods in a random order: the lower end lies above zero in a few per cent of the draws."""
    generator = np.random.default_rng(1)
    found = 0
    for _ in range(100):
        sides = [{str(i): np.array([[value]]) for i, value in enumerate(generator.normal(size=12))} for _ in range(2)]
        found += fidelity.compare(*sides, draws=300)[1] > 0
    assert found <= 10


# ---- what is compared ------------------------------------------------------------------------------------------------


def test_every_declared_table_column_and_subject_is_there():
    for rung in fidelity.rungs():
        tables = [(rung.table, rung.columns.keys()), *([(rung.larger, rung.columns.values())] * bool(rung.larger))]
        for name, columns in tables:
            assert set(columns) <= {column.id for column in experiments.find(name)[1].columns}
        assert set(rung.subjects) <= {row.label for row in experiments.find(rung.table)[1].rows}


@pytest.mark.parametrize("entry", ["[[rung]]\ntable = 'a/1'", "[[rung]]\ntable = 'a/1'\ncolumns = {}\nrow = 'x'"])
def test_a_bad_declaration_is_one_clear_error(tmp_path, entry):
    (tmp_path / "fidelity.toml").write_text(entry)
    with pytest.raises(UserError, match="rung"):
        fidelity.rungs(tmp_path / "fidelity.toml")


def test_at_the_end_the_methods_have_the_means_of_the_table(store):
    (rung,) = [one for one in fidelity.rungs() if one.table == "horizon/qu2022"]
    found, last = fidelity.measured(store, rung.table, tuple(rung.columns))
    cell = store.cell(rung.table, "laptop", "fedsam", "qu-iid", "accuracy")
    assert last == 400 and math.isclose(found["FedSAM"][0].mean(), np.mean(list(store.values(cell, "metric").values())))


def test_printed_numbers_leave_the_subjects_of_the_claims_out(store):
    for rung in fidelity.rungs():
        assert not set(fidelity.printed(rung.table, tuple(rung.columns), rung.subjects)) & set(rung.subjects)


def test_a_setting_without_larger_runs_or_a_rung_is_not_said_to_predict(store):
    assert fidelity.predicts(store, ("kakoun2024/5.3",), "short") is None
    assert fidelity.predicts(store, ("kakoun2024/5.3",), "paper") is True
    assert fidelity.predicts(store, (), "toy") is None


def test_no_firm_finding_rests_on_a_setting_that_does_not_predict(store):
    claims = [claim for claim in ledger.load() if claim.id in ("qu22-fig1", "sun23-fig4-beta", "thesis-toy-radius")]
    found = {one.id: one for one in decide.decide_all(claims, "laptop", store)}
    assert found["qu22-fig1"].predicts is False and found["thesis-toy-radius"].predicts is True
    from artifact.verdicts.command import firm

    sheet = firm(list(found.values()))
    assert "qu22-fig1" not in sheet and "thesis-toy-radius" in sheet


def test_the_command_prints_the_same_rows_as_text_and_as_csv():
    text, listed = (CliRunner().invoke(fidelity.fidelity_command, words) for words in ([], ["--csv"]))
    assert text.exit_code == listed.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(listed.output)))
    assert len(rows) == len(text.output.strip().splitlines()) - 2 and list(rows[0]) == list(fidelity.FIELDS)
    assert {row["predicts"] for row in rows} <= {"yes", "no", "fewer than 5 methods"}
