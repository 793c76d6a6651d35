"""Verdicts under the protocol, from runs on disk: looks, horizon, collapsed methods, size, and what is provisional."""

from dataclasses import replace

import numpy as np
import pytest
from stored import stored_run

from artifact.base.stats import Interval
from artifact.papers import experiments
from artifact.statements import predicates
from artifact.statements.hypotheses import ALPHA
from artifact.verdicts import fidelity, ledger, protocol
from artifact.verdicts.decide import Size, Verdict, decide, level_text
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import Store

TOML = """
paper = "qu2022"
title = "planted"
[[table]]
id = "old"
title = "planted"
location = "nowhere"
csv = "qu22_table1.csv"
settings = { model = "mlp-8", rounds = 40 }
rows = [
  { label = "FedAvg", settings = { algorithm = "fedavg" } },
  { label = "FedSAM", settings = { algorithm = "fedsam" } },
  { label = "FedCM", settings = { algorithm = "fedcm" } },
  { label = "MimeLite", settings = { algorithm = "mimelite" } },
]
columns = [
  { label = "X", settings = { split = "iid" }, printed = { dataset = "CIFAR-10" } },
  { label = "Y", settings = { split = "dirichlet:0.1" }, printed = { dataset = "nowhere" } },
]
metrics = [{ printed = "validation_acc" }]
[table.profiles.laptop]
seeds = [0, 1, 2]
[[table]]
id = "new"
like = "old"
settings = { rounds = 80 }
[table.profiles.laptop]
seeds = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
[[figure]]
id = "fig1"
title = "planted"
location = "nowhere"
[[figure.panel]]
id = "a"
kind = "sweep"
title = "planted"
rows = [{ label = "FedAvg", settings = { algorithm = "fedavg" } }]
x = "lr"
values = [0.1, 0.2, 0.3]
settings = { model = "mlp-8", rounds = 40 }
profiles.laptop.seeds = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
"""
LEVELS = {"FedAvg": 60.0, "FedSAM": 62.0, "FedCM": 61.0, "MimeLite": 12.0}


@pytest.fixture(autouse=True)
def declared(tmp_path, monkeypatch):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "qu2022.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path / "experiments")
    monkeypatch.setattr(fidelity, "rung_of", lambda table: None)  # whose larger tables are not planted


def flat_curve(level: float, rise: float = 0.0, rounds: int = 80) -> list[dict]:
    """Evaluated in every round; the last quarter rises by so many points."""
    quarter = [0.0] * (rounds * 3 // 4) + list(np.linspace(-rise, 0, rounds // 4))
    values = [(level + x) / 100 for x in quarter]
    return [{"round": t + 1, "server": {"accuracy": value, "client_sd": 0.1}} for t, value in enumerate(values)]


def plant(store, table: str, seeds, levels=LEVELS, rise=0.0, spread=0.3, columns=("X", "Y")) -> Store:
    """Runs whose paired differences scatter by about ``spread`` around those of the levels."""
    for number, (label, level) in enumerate(levels.items()):
        for column in columns:
            cell = experiments.select(f"qu2022/{table}", "laptop", label, column)[0]
            for config in cell.configs:
                if config.seed in seeds:
                    noise = spread * np.random.default_rng([config.seed, number]).normal()
                    stored_run(store, config, flat_curve(level + noise, rise, config.rounds))
    return Store(store)


def claim(judged=None, **entry) -> Claim:
    own = {"type": "difference", "says": "old", "table": "qu2022/old", "within": ["X"], "pairs": [["FedSAM", "FedAvg"]]}
    return Claim(
        "planted", "qu2022", "nowhere", "table", "t", "s", "h", "gpu", expected="not-run", decided_by="experiments",
        predicate=predicates.parse(own | entry, "planted"),
        judged=None if judged is None else predicates.parse(own | {"says": "new", "table": "qu2022/new"} | judged, "x"),
    )  # fmt: skip


def verdict(store: Store, judged=None, **entry) -> Verdict:
    return decide(claim(judged, **entry), "laptop", store)


# ---- looks -----------------------------------------------------------------------------------------------------------


def test_other_seeds_decide_provisionally_until_six_fresh_ones_are_there(tmp_path):
    plant(tmp_path / "runs", "old", range(3))
    store = plant(tmp_path / "runs", "new", range(10, 15))
    found = verdict(store, judged={})
    assert (found.says, found.n) == ("old", 3)
    assert found.provisional == ("3 seeds that are not the protocol's",)


def test_what_six_seeds_decide_stands_whatever_the_others_say(tmp_path):
    plant(tmp_path / "runs", "old", range(3))
    plant(tmp_path / "runs", "new", range(10, 16))
    reversed_levels = LEVELS | {"FedSAM": 20.0}
    store = plant(tmp_path / "runs", "new", range(16, 20), reversed_levels)
    found = verdict(store, judged={})
    assert (found.verdict, found.says, found.n, found.provisional) == ("seen", "new", 6, ())
    assert found.interval.level == pytest.approx(1 - 2 * protocol.levels()[6])


def test_an_undecided_first_look_is_provisional_and_the_second_judges_all_ten(tmp_path):
    near = {"FedAvg": 60.0, "FedSAM": 60.4, "FedCM": 61.0}
    store = plant(tmp_path / "runs", "new", range(10, 16), near)
    found = verdict(store, judged={})
    assert (found.verdict, found.n, found.provisional) == ("undecided", 6, ("first look: 6 of 10 seeds",))
    plant(tmp_path / "runs", "new", range(16, 19), near)
    assert verdict(Store(tmp_path / "runs"), judged={}).n == 6  # eight seeds are no look
    plant(tmp_path / "runs", "new", [19], near)
    found = verdict(Store(tmp_path / "runs"), judged={})
    assert (found.n, found.provisional) == (10, ())
    assert found.interval.level == pytest.approx(1 - 2 * protocol.levels()[10])


def test_a_sweep_is_looked_at_when_six_seeds_have_all_its_points(tmp_path):
    (panel,) = Store(tmp_path).panels("qu2022/fig1/a", "laptop")
    for series in panel.series:
        for config in series.configs:
            if config.seed < 16 or series.x == 0.1:
                noise = 0.1 * np.random.default_rng([config.seed, round(10 * series.x)]).normal()
                stored_run(tmp_path / "runs", config, flat_curve(60 + 10 * series.x + noise, rounds=40))
    wanted = {"type": "trend", "table": "qu2022/fig1/a", "along": "columns", "within": ["FedAvg"], "shape": "rising"}
    judged = predicates.parse({"says": "new"} | wanted, "planted")
    found = decide(replace(claim(), judged=judged), "laptop", Store(tmp_path / "runs"))
    assert (found.verdict, found.n, found.provisional, found.says) == ("reproduced", 6, (), "new")


def test_the_ledger_gives_a_claim_the_predicate_that_the_protocol_names():
    by_id = {one.id: one for one in ledger.load()}
    judged = ledger.judged()
    assert {id for id, one in by_id.items() if one.judged is not None} == set(judged)
    assert by_id["sun23-tab1"].judged == judged["sun23-tab1"]


# ---- horizon ---------------------------------------------------------------------------------------------------------


def plant_with_rises(store, rises: dict[str, float]) -> Store:
    """Ten seeds of FedAvg and FedSAM, each rising by its own points over the last quarter of the rounds."""
    for label, rise in rises.items():
        for config in experiments.select("qu2022/new", "laptop", label, "X")[0].configs:
            level = LEVELS[label] + 0.1 * np.random.default_rng([config.seed, len(label)]).normal()
            stored_run(store, config, flat_curve(level, rise))
    return Store(store)


@pytest.mark.parametrize("rise", [0.0, 0.8, -0.8])
def test_methods_that_rise_alike_have_a_settled_difference(tmp_path, rise):
    found = verdict(plant_with_rises(tmp_path / "runs", {"FedAvg": rise, "FedSAM": rise}), judged={})
    assert (found.verdict, found.provisional) == ("seen", ())


@pytest.mark.parametrize(("rise", "word"), [(0.4, "seen"), (0.8, "undecided"), (-0.8, "seen")])
def test_a_lead_that_melts_is_undecided(tmp_path, rise, word):
    """FedAvg catches up by so many points over the last quarter; half a point is the smallest effect of interest."""
    found = verdict(plant_with_rises(tmp_path / "runs", {"FedAvg": rise, "FedSAM": 0.0}), judged={})
    assert found.verdict == word
    assert [one.startswith("the difference still moves: -0.8") for one in found.provisional] == [True] * (rise == 0.8)


def test_what_moves_is_the_difference_to_the_best_method_not_to_the_one_that_rises_most(tmp_path):
    """FedAvg is far below and catches up; FedCM, the best of the two, does not."""
    store = plant_with_rises(tmp_path / "runs", {"FedAvg": 0.8, "FedCM": 0.0, "FedSAM": 0.0})
    found = verdict(store, judged={"pairs": [["FedSAM", ["FedAvg", "FedCM"]]]})
    assert (found.verdict, found.provisional) == ("seen", ())


def test_a_point_of_a_sweep_that_is_no_number_is_no_seed(tmp_path):
    (panel,) = Store(tmp_path).panels("qu2022/fig1/a", "laptop")
    for series in panel.series:
        for config in series.configs:
            value = np.nan if (config.seed, series.x) == (10, 0.1) else 60 + 10 * series.x
            stored_run(tmp_path / "runs", config, flat_curve(value, rounds=40))
    wanted = {"type": "value", "says": "new", "table": "qu2022/fig1/a", "within": ["FedAvg"], "labels": ["0.1"]}
    judged = predicates.parse(wanted | {"along": "columns", "above": 50.0}, "planted")
    store = Store(tmp_path / "runs")
    assert decide(replace(claim(), judged=judged), "laptop", store).says != "new"


# ---- collapsed methods -----------------------------------------------------------------------------------------------


def test_a_collapsed_method_is_named_and_left_out(tmp_path):
    store = plant(tmp_path / "runs", "new", range(10, 20))
    found = verdict(store, judged={"pairs": [["FedSAM", "FedAvg"], ["MimeLite", "FedAvg"]]})
    assert (found.verdict, found.omitted, len(found.comparisons)) == ("seen", ("MimeLite",), 1)
    order = {"type": "ordering", "order": ["FedSAM", "MimeLite", "FedAvg"]}
    entry = {"says": "new", "table": "qu2022/new", "within": ["X"]} | order
    found = decide(replace(claim(), judged=predicates.parse(entry, "planted")), "laptop", store)
    assert [one["label"] for one in found.comparisons] == ["FedSAM better than FedAvg"]
    assert found.omitted == ("MimeLite",)


def test_where_all_methods_of_the_protocols_runs_collapse_no_old_seed_decides(tmp_path):
    plant(tmp_path / "runs", "old", range(3))
    fallen = LEVELS | {"FedSAM": 10.0}
    six = plant(tmp_path / "runs", "new", range(10, 16), fallen)
    assert (verdict(six, judged={}).verdict, verdict(six, judged={}).says) == ("not-run", "new")
    found = verdict(plant(tmp_path / "runs", "new", range(16, 20), fallen), judged={})
    assert (found.verdict, found.says, found.omitted) == ("not-run", "new", ("FedSAM",))


def test_two_of_three_cannot_hold_where_one_is_left(tmp_path):
    store = plant(tmp_path / "runs", "new", range(10, 20))
    pairs = [["FedSAM", "FedAvg"], ["MimeLite", "FedAvg"], ["FedCM", "MimeLite"]]
    found = verdict(store, judged={"pairs": pairs, "at_least": 2})
    assert found.verdict == "not-run" and found.text == "only 1 of 2 is left to compare: MimeLite did not learn"


def test_where_nothing_is_left_nothing_is_judged(tmp_path):
    plant(tmp_path / "runs", "old", range(3))
    found = verdict(Store(tmp_path / "runs"), pairs=[["FedAvg", "MimeLite"]])
    assert found.verdict == "not-run" and "MimeLite did not learn" in found.text


# ---- size ------------------------------------------------------------------------------------------------------------


def test_the_size_is_that_of_the_mean_contrast_beside_the_printed_one(tmp_path):
    """Qu et al. print 83.06 for FedSAM, 81.87 for FedAvg, 83.30 for FedCM on CIFAR-10; ours are 62, 60 and 61."""
    store = plant(tmp_path / "runs", "new", range(10, 20))
    found = verdict(store, judged={"pairs": [["FedSAM", "FedAvg"], ["FedSAM", "FedCM"]]})
    assert found.size.printed == pytest.approx((83.06 - 81.87 + 83.06 - 83.30) / 2)
    assert found.size.interval.mean == pytest.approx(1.5, abs=0.4)
    assert set(found.size.answers.values()) == {"exceeded"} and not found.size.negligible
    single = verdict(store, judged={})
    assert single.size.printed == pytest.approx(1.19) and single.size.unit == "points"


def test_a_claimed_size_that_is_excluded_contradicts(tmp_path):
    store = plant(tmp_path / "runs", "new", range(10, 20), {"FedAvg": 60.0, "FedSAM": 60.0, "FedCM": 61.0})
    found = verdict(store, judged={"margin": 8.0, "within": ["Y"]})
    assert found.verdict == "no-difference" and found.size.answers == {"claimed +8": "excluded"}
    assert found.size.text.startswith("claimed +8 excluded: ") and "rules out" in found.text


def test_a_range_has_no_mean_effect_since_its_two_sides_cancel(tmp_path):
    store = plant(tmp_path / "runs", "new", range(10, 20))
    entry = {"type": "value", "says": "new", "table": "qu2022/new", "within": ["X"], "labels": ["FedSAM"]}
    sides = {"above": 50.0, "below": 70.0}
    found = decide(replace(claim(), judged=predicates.parse(entry | sides, "x")), "laptop", store)
    assert (found.verdict, found.size, len(found.comparisons)) == ("seen", None, 2)
    above = decide(replace(claim(), judged=predicates.parse(entry | {"above": 50.0}, "x")), "laptop", store)
    assert above.size is not None


def interval(low, high):
    return Interval((low + high) / 2, low, high, 10)


@pytest.mark.parametrize(
    ("low", "high", "printed", "answer", "negligible"),
    [
        (-0.3, 0.1, 2.7, "excluded", True),
        (-0.3, 0.6, 0.5, "not excluded", False),
        (3.0, 4.0, 2.7, "exceeded", False),
        (-3.0, 4.0, None, None, False),
    ],
)
def test_answers_about_size(low, high, printed, answer, negligible):
    size = Size(interval(low, high), printed, None, 0.5, "points")
    assert (list(size.answers.values()), size.negligible) == ([answer] if answer else [], negligible)
    assert ("negligible" in size.text) is negligible


def test_a_printed_size_can_be_excluded_where_the_claimed_one_is_not():
    size = Size(interval(1.9, 2.6), 2.7, 2.0, 0.5, "points")
    assert size.text.startswith("claimed +2 not excluded, printed +2.7 excluded: ")
    both = Size(interval(-0.3, 0.1), 2.7, 2.0, 0.5, "points")
    assert both.text.startswith("claimed +2 and printed +2.7 excluded: ")


@pytest.mark.parametrize("n", [3, *protocol.LOOKS])
def test_the_divisor_of_a_level_is_told_whatever_look_it_is_of(n):
    """Also of ten seeds that are not the protocol's, whose level is the undivided 95 %."""
    own = {"": ALPHA} | ({", for its look": protocol.levels()[n]} if n in protocol.LOOKS else {})
    for name, level in own.items():
        for divisor in range(1, 301):
            interval = Interval(0.0, -1.0, 1.0, n, 1 - 2 * level / divisor)
            said = name if divisor == 1 else f", level divided by {divisor}"
            assert level_text(interval) == f"{100 * interval.level:.4g} %{said}"
