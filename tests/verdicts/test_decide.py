"""Empirical verdicts: error rates by simulation, predicates by hand, runs on disk, and the ledger's expectations."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from stored import COST, DATA, stored_run

from artifact.base.errors import UserError
from artifact.base.stats import Crossing, paired_difference, t_interval
from artifact.papers import experiments
from artifact.statements import predicates
from artifact.statements.comparisons import Spent, at_point
from artifact.statements.hypotheses import ALPHA
from artifact.verdicts import command, fidelity, ledger
from artifact.verdicts.decide import decide, decide_all
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import MEASURES, Store, open_store, reader

TABLES = 200
#: so often may 200 tables of a claim that is false at its boundary call it reproduced (probability 0.001 beyond)
MOST = int(binom.ppf(0.999, TABLES, ALPHA))


# ---- claims on planted tables ----------------------------------------------------------------------------------------

TOML = """
paper = "qu2022"
title = "planted"
[[table]]
id = "1"
title = "planted"
location = "nowhere"
settings = { model = "mlp-8", rounds = 40 }
rows = [
  { label = "A", settings = { algorithm = "fedavg", lr = 0.1 } },
  { label = "B", settings = { algorithm = "fedavg", lr = 0.2 } },
  { label = "C", settings = { algorithm = "fedavg", lr = 0.3 } },
  { label = "D", settings = { algorithm = "fedavg", lr = 0.4 } },
]
columns = [
  { label = "X", settings = { split = "iid" }, target = { laptop = 60, quick = 60 } },
  { label = "Y", settings = { split = "dirichlet:0.1" }, target = { laptop = 60, quick = 60 } },
]
metrics = [
  { id = "accuracy" },
  { id = "rounds-to", unit = "rounds", quantity = "rounds-to" },
  { id = "sent", unit = "GB", quantity = "communication-to" },
]
[table.profiles.laptop]
seeds = [0, 1, 2]
note = "planted, small"
only = ["[abc]/*", "d/x"]
reason = "machine time"
[table.profiles.quick]
seeds = [0, 1, 2, 3, 4]
"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "qu2022.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path / "experiments")
    monkeypatch.setattr(fidelity, "rung_of", lambda table: None)  # whose larger tables are not planted


def claim(**predicate):
    entry = {"says": "planted", "table": "qu2022/1", "within": ["X"]} | predicate
    return Claim(
        "planted", "qu2022", "nowhere", "table", "t", "s", "h", "gpu", expected="not-run", decided_by="experiments",
        predicate=predicates.parse(entry, "planted"),
    )  # fmt: skip


class Planted(Store):
    """Numbers by (row, column, metric or measure) instead of runs."""

    def __init__(self, numbers):
        super().__init__(Path("nowhere"))
        self.numbers = numbers

    def runs(self, cell):
        return {seed: [] for seed in self.values(cell, "metric")}

    def values(self, cell, measure):
        found = self.numbers.get((cell.row.label, cell.column.label), ())
        return dict(enumerate(found))

    def spent(self, cell, target):
        assert target == 60
        return dict(enumerate(self.numbers[cell.row.label, cell.column.label]))


def table(generator, n, effects, columns=("X", "Y")):
    """Accuracies of methods A, B, ... on shared seeds: a seed moves all methods by about two points."""
    shared = generator.normal(60, 2, size=(len(columns), n))
    return {
        (row, column): effect + shared[j] + generator.normal(0, 0.5, size=n)
        for row, effect in zip("ABCD", effects, strict=True)
        for j, column in enumerate(columns)
    }


FALSE_CLAIMS = {
    "one difference": {"type": "difference", "pairs": [["A", "B"]]},
    "in two columns": {"type": "difference", "pairs": [["A", "B"]], "within": ["X", "Y"]},
    "mean of two columns": {"type": "difference", "pairs": [["A", "B"]], "within": ["X", "Y"], "mean": True},
    "one of two columns": {"type": "difference", "pairs": [["A", "B"]], "within": ["X", "Y"], "at_least": 1},
    "best of four": {"type": "ordering", "order": ["A", ["B", "C", "D"]]},
    "chain of four": {"type": "ordering", "order": ["D", "C", "B", "A"]},
    "larger lead": {"type": "difference", "pairs": [["A", "B"]], "within": ["Y", "X"], "lead": ["Y", "X"]},
    "rising": {"type": "trend", "order": ["A", "B", "C", "D"], "shape": "rising"},
    "interior maximum": {"type": "trend", "order": ["A", "B", "C", "D"], "shape": "interior-maximum"},
    "not rising": {"type": "trend", "order": ["A", "B", "C", "D"], "shape": "not-rising"},
    "above 60": {"type": "value", "labels": ["A"], "above": 60.0},
    "cheaper": {"type": "cost", "pairs": [["A", "B"]]},
}


@pytest.mark.parametrize("name", FALSE_CLAIMS)
@pytest.mark.parametrize("profile", ["laptop", "quick"])
def test_a_planted_false_claim_is_not_reproduced_more_often_than_its_level(planted, name, profile):
    """Four identical methods, 200 tables with three (laptop) or five (quick) seeds."""
    n = 3 if profile == "laptop" else 5
    wanted = claim(**FALSE_CLAIMS[name])
    generator = np.random.default_rng(n)
    found = [decide(wanted, profile, Planted(table(generator, n, (0, 0, 0, 0)))).verdict for _ in range(TABLES)]
    assert found.count("seen") <= MOST
    assert found.count("reversed") <= MOST
    assert "not-run" not in found


TRUE_CLAIMS = {
    "best of four": {"type": "ordering", "order": ["D", ["A", "B", "C"]]},
    "chain of four": {"type": "ordering", "order": ["D", "C", "B", "A"], "within": ["X"]},
    "rising": {"type": "trend", "order": ["A", "B", "C", "D"], "shape": "rising"},
    "margin": {"type": "difference", "pairs": [["D", "A"]], "margin": 10.0, "within": ["X"]},
    "mean": {"type": "difference", "pairs": [["B", "A"], ["D", "C"]], "within": ["X", "Y"], "mean": True},
    "first lowest": {"type": "trend", "order": ["A", "B", "C"], "shape": "lowest-at", "level": "first"},
    "peak": {"type": "trend", "order": ["B", "D", "A"], "shape": "peak-at", "level": "D"},
    "within": {"type": "value", "labels": ["D"], "above": 70.0, "below": 130.0},
    "lower is better": {"type": "ordering", "order": ["A", "B", "C", "D"], "better": "lower"},
}


@pytest.mark.parametrize("name", TRUE_CLAIMS)
def test_a_large_true_effect_is_found(planted, name):
    generator = np.random.default_rng(7)
    tables = [table(generator, 3, (0, 15, 30, 45)) for _ in range(50)]
    found = [decide(claim(**TRUE_CLAIMS[name]), "laptop", Planted(numbers)).verdict for numbers in tables]
    assert found.count("seen") >= 45


def test_margin_decides_between_reproduced_and_direction_only(planted):
    numbers = {("A", "X"): [63.0, 64.125, 62.0], ("B", "X"): [61.0, 62.0, 60.125]}
    found = decide(claim(type="difference", pairs=[["A", "B"]], margin=1.5), "laptop", Planted(numbers))
    assert (found.verdict, found.n, found.unit, found.note) == ("seen", 3, "points", "planted, small")
    assert found.interval == t_interval([2.0, 2.125, 1.875])
    assert found.interval.low > 1.5
    small = decide(claim(type="difference", pairs=[["A", "B"]], margin=1.9), "laptop", Planted(numbers))
    assert small.verdict == "mostly-seen"
    large = decide(claim(type="difference", pairs=[["A", "B"]], margin=4.0), "laptop", Planted(numbers))
    assert large.verdict == "mostly-seen" and "rules out" in large.text
    reverse = decide(claim(type="difference", pairs=[["B", "A"]]), "laptop", Planted(numbers))
    assert reverse.verdict == "reversed" and reverse.symbol == "−"


def test_a_mean_is_taken_over_places_and_never_over_pairs(planted):
    numbers = {("A", "X"): [60.0, 61.0, 62.0], ("B", "X"): [61.0, 62.1, 62.9], ("C", "X"): [50.0, 51.1, 52.0]}
    numbers |= {("A", "Y"): [70.0, 71.0, 72.0], ("B", "Y"): [66.0, 67.1, 68.2], ("C", "Y"): [80.0, 81.1, 82.0]}
    pairs = {"type": "difference", "pairs": [["A", "B"]], "within": ["X", "Y"], "mean": True}
    found = decide(claim(**pairs), "laptop", Planted(numbers))
    assert found.verdict == "seen" and len(found.comparisons) == 1
    expected = t_interval([(-1 + 4) / 2, (-1.1 + 3.9) / 2, (-0.9 + 3.8) / 2])
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))
    assert decide(claim(**{**pairs, "mean": False}), "laptop", Planted(numbers)).verdict == "undecided"
    both = decide(claim(**{**pairs, "pairs": [["A", "B"], ["C", "B"]]}), "laptop", Planted(numbers))
    assert [row["mean"] > 0 for row in both.comparisons] == [True, True] and both.verdict != "reversed"
    assert decide(claim(**{**pairs, "pairs": [["A", "B"], ["B", "A"]]}), "laptop", Planted(numbers)).verdict == (
        "no-difference"
    )


def test_a_pair_is_held_against_the_one_that_is_best_in_the_mean(planted):
    numbers = {("A", "X"): [60.0, 61.0, 62.0], ("B", "X"): [59.0, 50.0, 61.0], ("C", "X"): [50.0, 60.1, 52.0]}
    pairs = {"type": "difference", "pairs": [["A", ["B", "C"]]]}
    found = decide(claim(**pairs), "laptop", Planted(numbers))
    assert found.decided_by == "A - best of B, C"
    assert found.interval == t_interval([1.0, 11.0, 1.0])  # B, whose mean is the higher one, at every seed
    lowest = decide(claim(**pairs, better="lower"), "laptop", Planted(numbers))
    assert lowest.interval.mean == pytest.approx((50 - 60 + 60.1 - 61 + 52 - 62) / 3)
    numbers |= {(row, "Y"): [value + 2 * (row == "A") for value in numbers[row, "X"]] for row in "ABC"}
    lead = decide(claim(**pairs, within=["Y", "X"], lead=["Y", "X"]), "laptop", Planted(numbers))
    assert [row["mean"] for row in lead.comparisons] == pytest.approx([2.0])


def test_cells_are_held_against_their_printed_numbers(planted, monkeypatch):
    printed = {("a", "x", "accuracy"): SimpleNamespace(value=62.0), ("b", "x", "accuracy"): SimpleNamespace(value=70.0)}
    monkeypatch.setattr(experiments, "printed", lambda table: printed)
    numbers = {("A", "X"): [60.9, 61.0, 61.1], ("B", "X"): [65.9, 66.0, 66.1], ("C", "X"): [1.0, 1.1, 1.2]}

    def verdict(*labels, short):
        wanted = claim(type="value", labels=list(labels), short_of_printed=short)
        return decide(wanted, "laptop", Planted(numbers))

    assert verdict("A", short=2.0).verdict == "seen"
    assert verdict("A", "B", short=2.0).verdict == "undecided"  # one lies above its bound, one below
    assert verdict("A", "B", short=5.0).verdict == "seen"
    assert verdict("C", short=2.0).verdict == "not-run"  # nothing is printed for it


def test_the_mean_of_a_curve_does_not_weigh_rounds_by_how_often_they_are_evaluated():
    line = {"x": [0, 10, 11, 12], "values": [[0.0, 10.0, 10.0, 10.0], [2.0, 2.0, 2.0, 2.0]]}
    assert at_point(line | {"curve": True}, "mean") == pytest.approx([(10 * 5 + 2 * 10) / 12, 2.0])
    assert at_point(line, "mean") == pytest.approx([7.5, 2.0])
    assert at_point(line | {"curve": True}, "11") == pytest.approx([10.0, 2.0])


def test_a_claim_on_several_tables_must_hold_in_each(planted, monkeypatch):
    second = TOML[TOML.index("[[table]]") :].replace('id = "1"', 'id = "2"', 1).replace("lr = 0.", "lr = 0.0")
    path = experiments.EXPERIMENTS / "qu2022.toml"
    path.write_text(path.read_text() + second, encoding="utf-8")
    numbers = {"1": [[63.0, 64.1, 62.0], [61.0, 62.0, 60.1]], "2": [[51.0, 52.2, 50.0], [53.0, 54.1, 52.1]]}

    class TwoTables(Planted):
        def values(self, cell, measure):
            own = numbers[cell.table.id]
            return dict(enumerate(own["AB".index(cell.row.label)] if cell.row.label in "AB" else []))

    wanted = {"type": "difference", "pairs": [["A", "B"]]}
    assert decide(claim(**wanted), "laptop", TwoTables({})).verdict == "seen"
    found = decide(claim(**wanted, also=["qu2022/2"]), "laptop", TwoTables({}))
    assert found.verdict == "no-difference" and found.decided_by == "mean of 2 comparisons"
    assert (found.k, found.K, found.against) == (1, 2, ("A - B (qu2022/2)",))
    assert {cell.split("/")[1] for cell in found.cells} == {"1", "2"}
    assert found.command == "python -m fedsharp sweep qu2022 --profile laptop"
    assert found.note == "; ".join(
        dict.fromkeys(experiments.find(f"qu2022/{n}")[1].profiles["laptop"].note for n in "12")
    )


def test_the_decisive_comparison_is_named(planted):
    numbers = {("A", "X"): [60.0, 61.0, 62.0], ("B", "X"): [50.0, 51.1, 52.0], ("C", "X"): [59.5, 60.0, 61.6]}
    found = decide(claim(type="ordering", order=["A", ["B", "C"]]), "laptop", Planted(numbers))
    assert (found.verdict, found.decided_by, found.k, found.K) == ("mostly-seen", "mean of 2 comparisons", 2, 2)
    assert found.comparisons[0]["p"] < found.comparisons[0]["p_holm"] <= 2 * found.comparisons[0]["p"]
    assert found.cells == ("qu2022/1/a/x/accuracy", "qu2022/1/b/x/accuracy", "qu2022/1/c/x/accuracy")
    assert found.command == "python -m fedsharp sweep qu2022/1 --profile laptop"
    json.dumps(found.record, allow_nan=False)


def test_only_seeds_that_both_sides_have_are_compared(planted):
    numbers = {("A", "X"): [63.0, 64.125, 62.0], ("B", "X"): [61.0, 62.0]}
    found = decide(claim(type="difference", pairs=[["A", "B"]]), "laptop", Planted(numbers))
    assert found.n == 2 and found.interval == t_interval([2.0, 2.125])


@pytest.mark.parametrize(
    ("numbers", "within", "pairs", "text"),
    [
        ({("A", "X"): [1.0, 2.0]}, ["X"], [["A", "B"]], "0 of 3 seeds"),
        ({("A", "X"): [1.0, 2.0], ("B", "X"): [3.0]}, ["X"], [["A", "B"]], "1 of 3 seeds"),
        ({("A", "Y"): [1.0, 2.0]}, ["Y"], [["A", "D"]], "machine time"),
        ({}, ["X"], [["A", "Z"]], "Z"),
        ({}, ["Q"], [["A", "B"]], "Q"),
    ],
)
def test_missing_runs_and_names_are_not_run_with_the_reason(planted, numbers, within, pairs, text):
    found = decide(claim(type="difference", within=within, pairs=pairs), "laptop", Planted(numbers))
    assert found.verdict == "not-run" and found.interval is None and text in found.text
    json.dumps(found.record, allow_nan=False)


@pytest.mark.parametrize("name", ["qu2022/9", "sun2023/1", "qu2022/1/panel"])
def test_a_table_that_is_not_declared_is_not_run(planted, name):
    found = decide(claim(type="difference", table=name, pairs=[["A", "B"]]), "laptop", Planted({}))
    assert found.verdict == "not-run" and found.text


def test_a_profile_that_the_table_lacks_is_not_run_and_an_unknown_one_refused(planted):
    wanted = claim(type="difference", pairs=[["A", "B"]])
    assert decide(wanted, "paper", Planted({})).verdict == "not-run"
    with pytest.raises(UserError):
        open_store("huge")


def test_a_predicate_says_nothing_at_other_profiles(planted):
    wanted = claim(type="value", labels=["A"], above=60.0, profiles=["laptop"])
    numbers = {("A", "X"): [61.0, 61.5, 61.2]}
    assert decide(wanted, "laptop", Planted(numbers)).verdict == "seen"
    assert decide(wanted, "quick", Planted(numbers)).verdict == "not-run"


def test_a_claim_without_predicate_says_why(planted):
    bare = replace(claim(type="difference", pairs=[["A", "B"]]), predicate=None, undecided="needs weights")
    found = decide(bare, "laptop", Planted({}))
    assert (found.verdict, found.text, found.command) == ("not-run", "needs weights", "")


def spent(*rounds, horizon=40, grid=9):
    """Crossings; None is a run that never reaches the target."""
    return [Spent(Crossing(r or horizon, grid if r else 0, r is None, horizon), 1.0) for r in rounds]


def test_cost_compares_restricted_means_and_says_who_was_first(planted):
    numbers = {("A", "X"): spent(10, 10, 20), ("B", "X"): spent(40, None, None)}
    found = decide(claim(type="cost", metrics=["rounds-to"], pairs=[["A", "B"]]), "laptop", Planted(numbers))
    expected = paired_difference((40, 40, 40), (10, 10, 20)).widened(3, 9)  # B is censored twice: grids 9, 0, 0
    assert found.verdict == "seen" and found.unit == "rounds" and "earlier in 3, later in 0" in found.text
    assert (found.interval.low, found.interval.high) == (expected.low, expected.high)
    half = claim(type="cost", metrics=["rounds-to"], pairs=[["A", "B"]], factor=0.3)
    assert decide(half, "laptop", Planted(numbers)).verdict == "undecided"  # 0.3 * 40 is no more than 40 / 3


def test_rounds_over_different_horizons_are_not_compared(planted):
    """A run that stopped early has no restricted mean up to the last round of the others."""
    numbers = {("A", "X"): spent(None, None, None, horizon=3), ("B", "X"): spent(20, 20, 21)}
    found = decide(claim(type="cost", metrics=["rounds-to"], pairs=[["A", "B"]]), "laptop", Planted(numbers))
    assert found.verdict == "not-run" and "runs of 3 and 40 rounds have no common horizon" in found.text


def test_two_methods_that_never_reach_the_target_are_not_told_apart(planted):
    numbers = {("A", "X"): spent(None, None, None), ("B", "X"): spent(None, None, None)}
    found = decide(claim(type="cost", metrics=["rounds-to"], pairs=[["A", "B"]]), "laptop", Planted(numbers))
    assert (
        found.verdict == "undecided"
        and "of 3 pairs it is there earlier in 0, later in 0, at the same time in 0, neither in 3" in found.text
    )


def test_several_metrics_must_all_hold(planted):
    numbers = {("A", "X"): [63.0, 64.1, 62.0], ("B", "X"): [61.0, 62.0, 60.1]}
    wanted = claim(type="difference", metrics=["accuracy", "sent"], pairs=[["A", "B"]])
    found = decide(wanted, "laptop", Planted(numbers))
    assert [c["label"] for c in found.comparisons] == ["A - B (accuracy)", "A - B (sent)"]


# ---- from runs on disk -----------------------------------------------------------------------------------------------


def write_runs(store, curves):
    """Runs of the planted table's cells: {(row, column): one accuracy curve over rounds 10, 20, ... per seed}."""
    for (row, column), seeds in curves.items():
        cell = experiments.select("qu2022/1", "laptop", row, column, "accuracy")[0]
        for config, values in zip(cell.configs, seeds, strict=False):
            tested = {10 * (i + 1): _line(10 * (i + 1), value) for i, value in enumerate(values)}
            rounds = range(1, 10 * len(values) + 1)
            lines = [tested.get(number, {"round": number} | _SENT) for number in rounds]
            stored_run(store, config, lines)


_SENT = {"cohort": 5, "cost": COST}


def _line(number, accuracy):
    server = {"accuracy": accuracy / 100, "loss": 1.0, "client_sd": 0.1}
    probe = {"to_sent": 2.0 * number, "to_next": None}
    return {"round": number, "server": server, "consistency": probe} | _SENT


@pytest.fixture
def store(planted, tmp_path):
    rising = [[40, 50, 61, 65], [42, 52, 60, 66], [41, 50, 62, 65.5]]
    flat_ = [[40, 45, 50, 50], [42, 46, 51, 51], [41, 45, 50, 50.4]]
    write_runs(tmp_path / "runs", {("A", "X"): rising, ("B", "X"): flat_, ("A", "Y"): rising[:1]})
    return Store(tmp_path / "runs")


def test_verdict_from_stored_runs(store):
    found = decide(claim(type="difference", pairs=[["A", "B"]], measure="curve"), "laptop", store)
    heights = [(45 + 55.5 + 63) / 3 - (42.5 + 47.5 + 50) / 3, (47 + 56 + 63) / 3 - (44 + 48.5 + 51) / 3,
               (45.5 + 56 + 63.75) / 3 - (43 + 47.5 + 50.2) / 3]  # fmt: skip
    assert found.interval.mean == pytest.approx(np.mean(heights))
    cells = [experiments.select("qu2022/1", "laptop", row, "X", "accuracy")[0] for row in "AB"]
    keys = sorted(config.key(DATA) for cell in cells for config in cell.configs)
    assert (found.verdict, list(found.runs)) == ("seen", keys)
    own = decide(claim(type="difference", pairs=[["A", "B"]]), "laptop", store)
    assert own.interval.mean == pytest.approx(np.mean([54 - 46.25, 55 - 47.5, 54.625 - 46.6]))


def test_cost_from_stored_runs(store):
    found = decide(claim(type="cost", metrics=["rounds-to"], pairs=[["A", "B"]]), "laptop", store)
    assert found.interval.mean == pytest.approx(10.0)  # 30 against 40, never reached
    sent = decide(claim(type="cost", metrics=["sent"], pairs=[["A", "B"]]), "laptop", store)
    assert sent.unit == "1e9 parameters" and sent.interval.mean == pytest.approx(10 * 10 * 1000 / 1e9)


@pytest.mark.parametrize(
    "mine, theirs, rates, factor, verdict",
    [
        ((30, 31, 32), (60, 60, 60), (1, 1), 1.0, "seen"),  # 60: never reached; later, by an unknown number
        ((60, 60, 60), (30, 31, 32), (1, 1), 1.0, "reversed"),
        ((30, 31, 32), (60, 60, 60), (1, 1), 0.25, "undecided"),  # a quarter of unknown many rounds
        ((30, 31, 32), (50, 51, 53), (1, 1), 0.25, "reversed"),
        ((10, 11, 12), (60, 60, 60), (1, 1), 0.25, "seen"),
        ((40, 41, 42), (60, 60, 60), (2, 1), 1.0, "undecided"),  # a round of the first sends twice as much
        ((40, 41, 42), (50, 51, 53), (2, 1), 1.0, "reversed"),
        ((60, 60, 60), (40, 41, 42), (1, 2), 1.0, "undecided"),
    ],
)
def test_a_target_that_is_never_reached_leaves_the_interval_open(planted, mine, theirs, rates, factor, verdict):
    numbers = {
        (name, "X"): [Spent(Crossing(r, 0, r == 60, 60), rate) for r in rounds]
        for name, rounds, rate in zip("AB", (mine, theirs), rates, strict=True)
    }
    wanted = claim(type="cost", metrics=["rounds-to"], pairs=[["A", "B"]], factor=factor)
    found = decide(wanted, "laptop", Planted(numbers))
    assert found.verdict == verdict
    assert ("open" in found.text) == (60 in mine + theirs and (factor, rates) != (1.0, (1, 1)))
    assert json.loads(json.dumps(found.record, allow_nan=False))["verdict"] == verdict


def test_measures_of_a_run(store):
    cell = experiments.select("qu2022/1", "laptop", "B", "X", "accuracy")[0]
    assert store.values(cell, "loss") == {0: 1.0, 1: 1.0, 2: 1.0}
    assert store.values(cell, "spread")[0] == pytest.approx(10.0)
    assert store.values(cell, "consistency.to_sent") == {0: 80.0, 1: 80.0, 2: 80.0}
    assert store.values(cell, "consistency.to_next") == {}
    assert store.values(cell, "train") == store.values(cell, "gap") == store.values(cell, "trace") == {}
    line = np.polyval(np.polyfit([10, 20, 30, 40], [40, 45, 50, 50], 1), [10, 20, 30, 40])
    assert store.values(cell, "fluctuation")[0] == pytest.approx(np.std([40, 45, 50, 50] - line))
    with pytest.raises(UserError, match=r"beauty.*metric, curve"):
        reader("beauty")
    assert all(callable(read) for read, _ in MEASURES.values())


def test_the_gap_and_the_spread_are_means_over_the_last_ten_evaluations(planted, tmp_path):
    """Twelve evaluations whose last one alone would say the opposite: the rule of the headlines, of all accuracies."""
    cell = experiments.select("qu2022/1", "laptop", "B", "X", "accuracy")[0]
    lines = [
        {"round": t, "server": {"accuracy": 0.5, "client_sd": 0.1 * t}, "train": {"accuracy": 0.9 if t < 12 else 0.4}}
        for t in range(1, 13)
    ]
    for settings in cell.configs:
        stored_run(tmp_path / "runs", settings, lines)
    found = Store(tmp_path / "runs")
    assert found.values(cell, "gap")[0] == pytest.approx((9 * 40 - 10) / 10)
    assert found.values(cell, "train")[0] == pytest.approx((9 * 90 + 40) / 10)
    assert found.values(cell, "spread")[0] == pytest.approx(10 * np.mean(range(3, 13)))


def test_equal_counts_up_to_a_target_decide_nothing(planted):
    """Ten rounds earlier in all seeds: no spread to judge by, whatever the grid."""
    numbers = {(name, "X"): [Spent(Crossing(r, 0, False, 60), 1)] * 3 for name, r in (("A", 20), ("B", 30))}
    wanted = claim(type="cost", metrics=["rounds-to"], pairs=[["A", "B"]])
    found = decide(wanted, "laptop", Planted(numbers))
    assert found.verdict == "undecided" and "[open, open]" in found.text


def test_questions_of_the_ledger_are_counted_apart(store):
    wanted = [
        replace(claim(type="difference", pairs=[["A", "B"]]), id="one"),
        replace(claim(type="difference", pairs=[["B", "A"]]), id="two"),
        replace(claim(type="difference", pairs=[["A", "B"]], within=["Y"]), id="three"),
    ]
    own = [*wanted, replace(wanted[0], id="four", reading=True), replace(wanted[1], id="five", reading=True)]
    found = decide_all(own, "laptop", store)
    assert command.summary(found) == command.summary(found[:3]) + (
        ". Counted apart: 2 questions that no paper states and this ledger asks (1 seen, 1 reversed; 2 are provisional)"
    )
    assert "Counted apart: 1 question that" in command.summary(found[:4])
    assert "| questions of this ledger |  | 1 |" in command.counts(found, store)
    firm = command.counts([replace(wanted_one, provisional=()) for wanted_one in found[:2]], store)
    assert "Final, since" not in command.counts(found, store) and "`one` (seen)" in firm
    tallies = [re.findall(r"(?m)^\\| FedSAM.*", command.counts(some, store)) for some in (found, found[:3])]
    assert tallies[0] == tallies[1] != []
    assert "| digits | 7 | 3 |" in command.counts(decide_all(wanted, "laptop", store), store)
    assert command.table(decide_all(wanted, "laptop", store)).splitlines()[0].startswith("+ one")


# ---- the ledger's expectations ---------------------------------------------------------------------------------------

BLOCKS = """paper = "x"

[[claim]]
id = "one"
location = "x"
kind = "table"
title = "t"
statement = "s"
how_to_check = "h"
needs = "gpu"
decided_by = "experiments"
expected = "not-run"
[claim.predicate]
type = "difference"
says = "a"
table = "qu2022/1"
within = ["X"]
pairs = [["A", "B"]]

[[claim]]
id = "two"
location = "x"
kind = "table"
title = "t"
statement = "s"
how_to_check = "h"
needs = "gpu"
expected = "consistent"
[claim.predicate]
type = "difference"
says = "a"
table = "qu2022/1"
within = ["X"]
pairs = [["B", "A"]]
expected = "not-run"
"""


def test_accepting_writes_the_verdicts_where_they_belong(store, tmp_path):
    (tmp_path / "qu2022.toml").write_text(BLOCKS, encoding="utf-8")
    claims = ledger.load(["qu2022"], tmp_path)
    assert [c.expected_empirical for c in claims] == ["not-run", "not-run"]
    found = decide_all(claims, "laptop", store)
    assert command.accept(found, claims, tmp_path) == ["one", "two"]
    again = ledger.load(["qu2022"], tmp_path)
    assert [(c.expected, c.expected_empirical) for c in again] == [
        ("seen", "seen"),
        ("consistent", "reversed"),
    ]
    changed = BLOCKS.replace('"not-run"', '"seen"', 1).replace('"not-run"', '"reversed"')
    assert (tmp_path / "qu2022.toml").read_text(encoding="utf-8") == changed
    assert command.accept(found, again, tmp_path) == []


def test_an_empirical_claim_needs_an_empirical_expectation(tmp_path):
    (tmp_path / "qu2022.toml").write_text(BLOCKS.replace('"not-run"', '"proved"', 1), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        ledger.load(["qu2022"], tmp_path)
    assert "one" in str(caught.value) and "expected" in str(caught.value)
