"""The protocol: what is declared fits together, and its rules do what the page says."""

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from artifact.base.errors import UserError
from artifact.papers import experiments, needed_runs
from artifact.papers.figures import series
from artifact.statements.hypotheses import ALPHA, Comparison, every, verdict
from artifact.verdicts import ledger, protocol
from artifact.verdicts.lookup import open_store

JUDGED = ledger.judged()


def seeds_of(predicate) -> set[tuple[int, ...]]:
    """Seeds of everything that a predicate names, at the laptop profile."""
    if predicate.of_figure:
        return {s for one in series.select(predicate.table, "laptop") for s in [one.settings.seeds]}
    return {experiments.find(predicate.table)[1].profiles["laptop"].seeds}


@pytest.mark.parametrize("claim", JUDGED)
def test_a_judged_claim_is_in_the_ledger_and_has_the_fresh_seeds(claim):
    assert claim in {one.id for one in ledger.load() if one.empirical}
    assert seeds_of(JUDGED[claim]) == {protocol.SEEDS}


@pytest.mark.parametrize("claim", [claim for claim, p in JUDGED.items() if not p.of_figure])
def test_every_row_and_column_that_a_judged_claim_names_is_declared(claim):
    predicate = JUDGED[claim]
    _, table = experiments.find(predicate.table)
    rows, columns = ({x.label for x in lines} | {x.id for x in lines} for lines in (table.rows, table.columns))
    within, compared = (columns, rows) if predicate.along == "rows" else (rows, columns)
    names = predicate.order if predicate.type == "ordering" else [name for pair in predicate.pairs for name in pair]
    assert set(predicate.within) <= within
    assert {one for name in names for one in ([name] if isinstance(name, str) else name)} <= compared


@pytest.mark.parametrize("claim", [claim for claim, p in JUDGED.items() if p.of_figure])
def test_every_line_and_level_that_a_judged_claim_names_is_declared(claim):
    predicate = JUDGED[claim]
    drawn = [s for panel in series.select(predicate.table, "laptop") for s in panel.series]
    labels, levels = {s.label for s in drawn}, {f"{s.x:g}" for s in drawn if s.x is not None}
    if predicate.along == "columns":
        assert set(predicate.within) <= labels
        sides = [side for pair in getattr(predicate, "pairs", ()) for side in pair]
        assert {x for side in sides for x in ([side] if isinstance(side, str) else side)} <= levels
        assert set(getattr(predicate, "order", ())) | ({getattr(predicate, "level", "")} - {"", "first"}) <= levels
    else:
        pairs = [x for pair in getattr(predicate, "pairs", ()) for x in pair]
        named = {*getattr(predicate, "labels", ()), *getattr(predicate, "order", ()), *pairs}
        assert named and named <= labels


@pytest.mark.parametrize(
    "text",
    [
        "[[judged]]\nclaim = 'a'",
        "[[judged]]\npredicate = {}",
        "[[judged]]\nclaim = 'a'\npredicate = { type = 'ordering' }",
        "[[judged]",
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, text: str):
    (tmp_path / "protocol.toml").write_text(text)
    with pytest.raises(UserError):
        ledger.judged(tmp_path / "protocol.toml")


# ---- looks -----------------------------------------------------------------------------------------------------------


def test_the_page_names_the_levels_and_critical_values_that_the_code_has():
    page = (experiments.ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    levels, t = protocol.levels(), protocol.critical_values()
    assert f"(1 - Phi(z / sqrt(0.6))) = {levels[6]:.6f}`" in page
    assert re.search(rf"Ten have the rest,\s+{levels[10]:.6f}\.", page)
    assert math.isclose(levels[6], 2 * (1 - norm.cdf(norm.ppf(0.9875) / math.sqrt(0.6))))
    assert f"t = {t[6]:.2f} at six and t = {t[10]:.2f} at ten" in page
    assert math.isclose(sum(levels.values()), ALPHA)


def trained_for(name: str) -> set[str]:
    return {config.model_dump_json() for config in needed_runs.configs(name, "laptop", everything=True)}


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("horizon/rounds", "horizon/fashion-mnist"),
        ("horizon/rounds-fedlesam", "horizon/fashion-mnist"),
        ("horizon/man-curvature", "horizon/man"),
        ("yashwanth2023/fig1-protocol", "horizon/man"),
    ],
)
def test_what_reads_the_runs_of_another_table_trains_none_of_its_own(name, whole):
    assert trained_for(name) and trained_for(name) <= trained_for(whole)


@pytest.mark.parametrize("name", ["horizon/fashion-mnist", "horizon/man", "horizon/qu2022", "horizon/iid"])
def test_a_column_of_the_store_has_six_or_ten_seeds_in_every_row(name):
    store = open_store("laptop")
    seeds: dict[str, set[int]] = {}
    for cell in experiments.cells(experiments.find(name)[1], "laptop"):
        seeds.setdefault(cell.column.id, set()).add(len(store.runs(cell)))
    assert all(found in ({6}, {10}) for found in seeds.values()), seeds


def decided(claims: np.ndarray) -> np.ndarray:
    """Share of [n claims, 10 seeds, k parts] that is called reproduced, and contradicted, at either look."""
    count = np.zeros(2)
    for data in claims:
        for n, level in protocol.levels().items():
            parts = [Comparison(str(j), tuple(data[:n, j])) for j in range(data.shape[1])]
            name, _, _ = verdict(every(parts), level)
            if name in ("reproduced", "contradicted"):
                count[int(name == "contradicted")] += 1
                break
    return count / len(claims)


@pytest.mark.parametrize("parts", [1, 3])
def test_both_looks_together_err_at_most_at_the_level(parts):
    """5,000 null claims: one part errs with 0.0233 (4 million draws), 0.025 is the bound, 0.0075 are 3.4 sigma."""
    errors = decided(np.random.default_rng(parts).normal(size=(5000, 10, parts)))
    assert errors.max() < 0.025 + 0.0075
    assert errors[1] > 0.012


def test_an_effect_of_three_deviations_is_mostly_seen_at_the_first_look():
    claims = np.random.default_rng(0).normal(3.0, size=(500, 10, 1))
    assert decided(claims)[0] == 1
    assert (
        np.mean([verdict(Comparison("a", tuple(c[:6, 0])), protocol.levels()[6])[0] == "reproduced" for c in claims])
        > 0.8
    )


# ---- smallest effects, horizon, collapse -----------------------------------------------------------------------------


def test_examples():
    assert doctest.testmod(protocol).failed == 0


def test_smallest_effects():
    assert protocol.smallest("kakoun2024/5.2") == 0.1 and protocol.smallest("sun2023/1") == 0.5


def test_the_rise_is_that_of_the_last_quarter_alone():
    rounds = list(range(10, 401, 10))
    values = [min(r, 300) / 10 for r in rounds]
    assert protocol.rise(rounds, values) == 0
    assert protocol.rise(rounds, [r / 100 for r in rounds]) == pytest.approx(1.0)
    assert protocol.rise([100, 200, 300, 400], [1, 2, 3, 4]) is None and protocol.rise([], []) is None


def test_the_slowest_method_decides_and_a_falling_curve_is_not_flat():
    still = {"A": [0.1, -0.1, 0.0]}
    assert protocol.flat(still, 0.5)
    assert not protocol.flat(still | {"B": [0.6, 0.7, 0.4]}, 0.5)
    assert not protocol.flat(still | {"B": [-0.6, -0.7, -0.4]}, 0.5)
    assert not protocol.flat(still | {"B": [0.1, None, 0.0]}, 0.5)


def test_collapse_is_half_way_to_the_median_method():
    columns = {"A": 80.0, "B": 78.0, "C": 45.1, "D": 43.9}
    assert protocol.collapsed(columns, 10) == ()  # the median, 61.55, is pulled down by two
    assert protocol.collapsed(columns | {"E": 79.0}, 10) == ("D",)
    assert protocol.collapsed({}, 10) == ()
