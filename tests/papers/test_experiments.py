"""The declared cells: none is missing against the transcriptions, and what was run is found again."""

from __future__ import annotations

import collections
import csv
import json
import math
import re
import tomllib

import numpy as np
import pytest
from stored import accuracies, stored_run

from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.papers import declared, experiments, figures, listing, needed_runs
from artifact.papers.declared import PROFILES, Metric
from artifact.papers.measured import curve, measure
from artifact.runs.lookup import find_run, find_runs, finished_runs, signature
from artifact.training import config
from artifact.verdicts import ledger
from artifact.verdicts.lookup import Store

TABLES = [(paper.paper, table) for paper, table in experiments.all_tables()]
NAMES = [f"{paper}/{table.id}" for paper, table in TABLES]
#: tables of the papers; those of the campaign and of the horizon print numbers of one of them a second time
OURS = ("campaign", "horizon")
OWNERS = [(name, table) for name, (paper, table) in zip(NAMES, TABLES, strict=True) if table.csv and paper not in OURS]
printed_table = pytest.mark.parametrize("table", [t for _, t in OWNERS], ids=[name for name, _ in OWNERS])
each_table = pytest.mark.parametrize("table", [table for _, table in TABLES], ids=NAMES)
#: the thesis' tables once more in one file
UNION = "thesis24_all.csv"


def transcription(name: str) -> list[dict[str, str]]:
    with open(experiments.PRINTED / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- against the transcriptions --------------------------------------------------------------------------------------


def test_every_transcription_belongs_to_one_table():
    used = collections.Counter(table.csv for _, table in OWNERS)
    files = {path.name for path in experiments.PRINTED.glob("*.csv")}
    assert set(used) == files - {UNION}
    assert max(used.values()) == 1


def test_the_union_of_the_thesis_tables_holds_nothing_else():
    def key(row):
        return row["table"], row["split"], row["algorithm"], row["value"]

    parts = [row for n in range(1, 7) for row in transcription(f"thesis24_table5_{n}.csv")]
    assert sorted(map(key, parts)) == sorted(map(key, transcription(UNION)))


@printed_table
def test_every_line_of_a_transcription_has_exactly_one_cell(table):
    fields = {metric.id: metric.field for metric in table.metrics}
    owners = collections.Counter((n.line, fields[place[2]]) for place, n in experiments.printed(table).items())
    assert max(owners.values()) == 1
    first = "task" if table.csv == "qu22_table3.csv" else "value"
    assert {line for line, field in owners if field == first} == set(range(len(transcription(table.csv))))


def test_the_papers_numbers_are_all_there():
    """1,588 lines in all files, of which 54 are the thesis' six tables a second time."""
    lines = sum(len(transcription(path.name)) for path in experiments.PRINTED.glob("*.csv"))
    cells = sum(len({n.line for n in experiments.printed(table).values()}) for _, table in OWNERS)
    assert lines == 1588
    assert cells == lines - len(transcription(UNION))


@printed_table
def test_no_line_or_metric_names_what_the_transcription_lacks(table):
    content = transcription(table.csv)
    for line in (*table.rows, *table.columns, *(metric for metric in table.metrics if metric.field)):
        assert not line.printed or any(experiments.matches(line.printed, row) for row in content), line.id
    for metric in table.metrics:
        assert metric.field in (*content[0], "")


@printed_table
def test_a_number_is_what_the_transcription_prints(table):
    content = transcription(table.csv)
    fields = {metric.id: metric.field for metric in table.metrics}
    for place, number in experiments.printed(table).items():
        text = content[number.line][fields[place[2]]]
        if number.value is None:
            with pytest.raises(ValueError):
                float(text)
        else:
            assert number.value == float(text)


# ---- ids and settings ------------------------------------------------------------------------------------------------


def test_ids_are_unique_and_well_formed():
    ids = [cell.id for _, table in TABLES for cell in experiments.cells(table, "quick")]
    assert len(set(ids)) == len(ids)
    form = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+/[a-z0-9.-]+/[a-z0-9.-]+/[a-z0-9.-]+")
    assert all(form.fullmatch(id) for id in ids)


@each_table
def test_runs_of_a_cell_differ_in_the_seed_alone(table):
    assert set(table.profiles) <= set(PROFILES)
    for cell in (cell for profile in table.profiles for cell in experiments.cells(table, profile)):
        if table.given is not None:
            assert cell.configs == ()
            continue
        for member in cell.configs_by_member:
            assert tuple(c.seed for c in member) == cell.seeds
            assert len({c.model_copy(update={"seed": 0}).model_dump_json() for c in member}) == 1


def test_references_are_rows_of_their_file():
    for name in experiments.papers():
        raw = tomllib.loads((experiments.EXPERIMENTS / f"{name}.toml").read_text(encoding="utf-8"))
        inline = [row for table in raw["table"] for row in table.get("rows", []) if isinstance(row, dict)]
        lines = [*raw.get("row", {}).values(), *inline]
        assert {line["against"] for line in lines if "against" in line} <= {line.get("label") for line in lines}


def test_given_tables_name_claims_of_the_ledger():
    known = {claim.id for claim in ledger.load()}
    named = {claim for _, table in TABLES if table.given for claim in table.given.claims}
    assert named
    assert named <= known


def test_every_quick_cell_runs_on_data_that_are_always_there():
    cells = [c for _, table in TABLES if not table.given for c in experiments.cells(table, "quick")]
    left_out = {cell.metric.id for cell in cells if cell.not_run and cell.table.profiles["quick"].only}
    assert left_out == {"train-deviation"}
    assert {c.dataset for cell in cells for c in cell.configs} == {"digits"}


def test_quick_columns_share_their_runs():
    """Cells of different tables ask for the same miniatures, which keeps the quick profile within its minutes."""
    cells = [c for _, table in TABLES for c in experiments.cells(table, "quick")]
    runs = {signature(c) for cell in cells for c in cell.configs}
    assert sum(len(cell.configs) for cell in cells) > 5 * len(runs)


def test_a_column_of_other_data_finds_no_runs_on_cifar_10():
    """MAN's CIFAR-100 columns are the one declared stand-in."""
    for _, table in TABLES:
        if table.given is not None or table.paper in ("yashwanth2023", "discrepancies"):
            continue
        for cell in experiments.cells(table, "laptop"):
            if not cell.column.pool and "CIFAR-10," not in f"{cell.column.label},":
                assert {c.dataset for c in cell.configs} & {"cifar10"} == set() or table.paper == "kakoun2024"
    assert "in place of CIFAR-100" in experiments.load("yashwanth2023").table[0].profiles["laptop"].note


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (
            "sun2023/1/fedsmoo/cifar-10-10-of-100-dirichlet-0.1/accuracy",
            {"algorithm": "fedsmoo", "lr_decay": 0.9995, "hyper": {"rho": 0.1, "lam": 0.1}},
        ),
        (
            "fan2024/2/fedlesam-s-released/cifar-10-10-of-100-dirichlet-0.1/accuracy",
            {"algorithm": "fedlesam-s", "variant": "released", "hyper": {"rho": 0.1}},
        ),
        (
            "sun2023/8/dynreg-sam/cifar-10-10-of-100-pathological-3/accuracy",
            {"algorithm": "feddyn-sam", "split": "pathological:3:replace", "hyper": {"rho": 0.1, "lam": 0.1}},
        ),
    ],
)
def test_laptop_settings_on_cifar_10(cell, expected):
    common = {"dataset": "cifar10", "train_size": 5000, "test_size": 2000, "model": "lenet", "clients": 100}
    common |= {"cohort": 10, "batch_size": 10, "local_epochs": 5, "rounds": 60, "eval_every": 10, "eval_last": 10}
    common |= {"lr": 0.1, "clip": 10.0, "weight_decay": 0.001, "augment": "flip-crop", "dtype": "bfloat16"}
    found = experiments.cell(cell, "laptop").configs
    assert [c.seed for c in found] == [0, 1, 2]
    for name, value in (common | expected).items():
        assert getattr(found[0], name) == value, name


def test_the_campaign_runs_the_cells_of_fan2024():
    """Under the papers' settings they are the same runs, and show the same printed numbers."""
    _, fan = experiments.find("fan2024/2")
    theirs = {c.id.removeprefix("fan2024/2/"): c for c in experiments.cells(fan, "paper")}
    for number, column in enumerate(("cifar-10-10-of-100-dirichlet-0.1", "cifar-10-10-of-100-dirichlet-0.6"), 1):
        _, table = experiments.find(f"campaign/{number}")
        printed, known = experiments.printed(table), experiments.printed(fan)
        for cell in experiments.cells(table, "paper"):
            other = theirs.get(f"{cell.row.id}/{column}/accuracy")
            assert cell.not_run == ""
            if other is None:
                assert cell.row.id == "fedsmoo-released"
                continue
            assert cell.configs == other.configs
            place, its = ((c.row.id, c.column.id, c.metric.id) for c in (cell, other))
            assert printed.get(place) == known.get(its)


@pytest.mark.parametrize(("rates", "use"), [("fashion-mnist", "fashion-mnist"), ("cifar-10", "b")])
def test_learning_rates_of_qu2022_are_the_best_of_its_grid(rates, use):
    """Appendix E.2; by training accuracy, on seeds that no compared run has."""
    (grid,), (curves,) = (
        figures.select(f"qu2022/grid/{rates}", "laptop"),
        figures.select(f"qu2022/fig1/{use}", "laptop"),
    )
    store = experiments.ROOT / experiments.STORES["laptop"]
    record = figures.record(grid, finished_runs(store), store, measure=False)
    used = {series.label: series.configs for series in curves.series}
    assert len(record["lines"]) == len(used) == 7
    for line in record["lines"]:
        means = np.mean(line["values"], axis=0)
        assert {config.lr for config in used[line["label"]]} == {line["x"][int(means.argmax())]}
        assert not {config.seed for config in used[line["label"]]} & {*line["seeds"]}


def test_exceptions_hold_for_their_cells_only_and_come_last():
    """MimeLite's rate at the laptop profile is its row's in the figures and the exception's in the tables."""
    rates = {
        row: experiments.cell(f"qu2022/2/{row}/cifar-10-iid/accuracy", "laptop").configs[0].lr
        for row in ("fedavg", "fedcm", "mimelite")
    }
    assert rates == {"fedavg": 0.1, "fedcm": 0.3162, "mimelite": 0.0316}

    def rho(cell):
        return experiments.cell(f"yashwanth2023/1/{cell}/accuracy-all", "paper").configs[0].hyper["rho"]

    assert rho("fedspeed/cifar-100-iid") == 0.01
    assert rho("fedspeed/cifar-100-dirichlet-0.3") == 0.1
    assert rho("fedsam/tiny-imagenet-iid") == 0.03
    assert rho("fedsam-man/tiny-imagenet-iid") == 0.01
    assert rho("fedsam/cifar-100-iid") == 0.05


# ---- the schema ------------------------------------------------------------------------------------------------------

SMALL = """
paper = "small"
title = "A paper"
[settings]
lr = 0.1
clients = 4
cohort = 2
[profiles.quick]
seeds = [0, 1]
[profiles.quick.settings]
rounds = 3
[row.fedavg]
label = "FedAvg"
settings = { algorithm = "fedavg" }
[row.fedsam]
label = "FedSAM"
against = "FedAvg"
settings = { algorithm = "fedsam", rho = 0.2 }
[column.a]
label = "A"
settings = { split = "iid" }
[column.b]
label = "B"
settings = { split = "dirichlet:0.5" }
[column.short]
label = "short"
settings = { batch_size = 8 }
at.quick = { batch_size = 4 }
[column.long]
label = "long"
[[table]]
id = "2"
like = "1"
title = "Two"
location = "Table 2"
rows = ["fedsam", { like = "fedsam", id = "wide", label = "wide", against = "FedSAM", settings = { rho = 0.9 } }]
[table.settings]
lr = 0.5
[[table]]
id = "1"
title = "One"
location = "Table 1"
rows = ["fedavg", "fedsam"]
columns = [[["a", "b"], ["short", "long"]]]
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path)
    return experiments.load("small")


def test_products_likeness_and_defaults(small):
    two, one = small.table
    assert [column.id for column in one.columns] == ["a-short", "a-long", "b-short", "b-long"]
    assert one.columns[2].label == "B, short"
    assert [row.id for row in two.rows] == ["fedsam", "wide"]
    assert two.columns == one.columns
    found = experiments.select("small/2", "quick", row="wide", column="b-short")[0].configs
    assert [(c.lr, c.rounds, c.clients, c.split, c.batch_size) for c in found] == [(0.5, 3, 4, "dirichlet:0.5", 4)] * 2
    assert found[0].hyper == {"rho": 0.9}
    assert one.settings["lr"] == 0.1


def test_a_row_is_held_against_nothing_where_its_reference_is_missing(small):
    two, one = small.table
    assert [row.against for row in two.rows] == [None, "FedSAM"]
    assert [row.against for row in one.rows] == [None, "FedAvg"]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('rows = ["fedavg", "fedsam"]', 'rows = ["fedfoo"]', "fedfoo"),
        ('like = "1"', 'like = "9"', "'9'"),
        ("seeds = [0, 1]", "seeds = []", "seeds"),
        ('id = "2"\n', 'id = "Table Two"\n', "table.0.id"),
        ('location = "Table 1"', 'location = "Table 1"\nheadline = "best"', "headline"),
        ("[settings]", "[settings", "small.toml"),
        ('against = "FedAvg"', 'against = "FedAgv"', "row.fedsam.against: 'FedAgv'"),
    ],
)
def test_a_file_that_breaks_the_schema_is_named(tmp_path, monkeypatch, old, new, named):
    assert old in SMALL
    (tmp_path / "small.toml").write_text(SMALL.replace(old, new), encoding="utf-8")
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path)
    with pytest.raises(UserError, match=r"small\.toml") as error:
        experiments.load("small")
    assert named in str(error.value)


def test_the_headline_cannot_be_the_best_round():
    with pytest.raises(ValueError, match="summary"):
        Metric(summary="best")


@pytest.mark.parametrize(
    ("text", "expected"), [("FedSAM+MAN", "fedsam-man"), ("Dirichlet-0.6", "dirichlet-0.6"), ("(a) b", "a-b")]
)
def test_slugs(text, expected):
    assert declared.slug(text) == expected


# ---- what was run ----------------------------------------------------------------------------------------------------


def test_the_thesis_runs_are_found():
    stored = finished_runs(experiments.ROOT / "results")
    for name, state in {"kakoun2024/5.3": "finished 10/10", "kakoun2024/5.4": "finished 3/3"}.items():
        found = [experiments.state(c, stored) for c in experiments.cells(experiments.find(name)[1], "laptop")]
        assert found == [state] * 9


def test_a_run_with_more_probes_serves_a_cell_that_asks_for_fewer(small, tmp_path):
    cell = experiments.cells(small.table[1], "quick")[0]
    probed = cell.configs[0].model_copy(update={"probes": ("consistency",)})
    stored_run(tmp_path / "store", probed, accuracies([0.5]))
    stored = finished_runs(tmp_path / "store")
    assert [run.config()["seed"] for run in find_runs(cell.configs, stored)] == [0]
    assert find_run(probed.model_copy(update={"probes": ("perturbation",)}), stored) is None
    assert experiments.state(cell, stored) == "finished 1/2"


@pytest.mark.parametrize("first", [True, False])
def test_of_several_runs_the_one_with_the_fewest_probes_serves(small, tmp_path, first):
    cell = experiments.cells(small.table[1], "quick")[0]
    probed = cell.configs[0].model_copy(update={"probes": ("consistency",)})
    for one in (cell.configs[0], probed):
        stored_run(tmp_path / "store", one, accuracies([0.5]))
    stored = {name: runs[:: 1 if first else -1] for name, runs in finished_runs(tmp_path / "store").items()}
    asked = (cell.configs[0], probed)
    assert [find_run(c, stored).config()["probes"] for c in asked] == [[], ["consistency"]]


def test_a_run_without_the_metric_is_not_finished(small, tmp_path):
    table = small.table[1]
    cell = experiments.Cell(table, table.rows[0], table.columns[0], Metric(quantity="trace"), "quick")
    run = stored_run(tmp_path / "store", cell.configs[0], accuracies([0.5]))
    stored = finished_runs(tmp_path / "store")
    assert experiments.state(cell, stored) == "missing"
    run.record_curvature({"trace": {"value": 3.0}, "data": 9})
    assert experiments.state(cell, stored) == "finished 1/2"


def test_the_machine_does_not_matter_and_the_seed_does(small, tmp_path):
    cell = experiments.cells(small.table[1], "quick")[0]
    stored_run(tmp_path / "store", cell.configs[1].model_copy(update={"backend": "loop"}), accuracies([0.5]))
    found = find_runs(cell.configs, finished_runs(tmp_path / "store"))
    assert [run.config()["seed"] for run in found] == [1]


def test_selected_configs_are_unique_and_hold_all_probes():
    found = needed_runs.configs("sun2023/2", "quick")
    signatures = [signature(c) for c in found]
    assert len(set(signatures)) == len(signatures) == 2 * 2 * 3
    assert all(c.probes == ("consistency",) for c in found)
    assert [c.seed for c in found] == sorted(c.seed for c in found)


def test_what_a_profile_does_not_run_is_left_out_of_a_sweep():
    table = experiments.find("sun2023/1")[1]
    run = needed_runs.configs("sun2023/1", "laptop")
    assert {c.dataset for c in run} == {"cifar10"} and len(run) == 8 * len(table.columns) // 2 * 3
    assert len(needed_runs.configs("sun2023/1", "laptop", everything=True)) == 8 * len(table.columns) * 3


@pytest.mark.parametrize("selection", ["smith2020", "sun2023/99", "sun2023/fig99"])
def test_an_unknown_selection_is_an_error(selection):
    with pytest.raises(UserError):
        needed_runs.configs(selection, "quick")


def test_list_cells_knows_every_cell_and_panel(capsys):
    assert main(["list", "cells", "--paper", "kakoun2024", "--json"]) == 0
    rows = {row["id"]: row["state"] for row in json.loads(capsys.readouterr().out)}
    assert rows["kakoun2024/5.3/fedavg/iid/accuracy"] == "finished 10/10"
    assert rows["kakoun2024/5.6/fedavg/iid/accuracy"].startswith("not-run: machine time")
    assert rows["kakoun2024/hyperparameters/clients/5.1/value"] == "given"
    panels = {f"kakoun2024/{f.id}/{p.id}" for f in experiments.load("kakoun2024").figure for p in f.panel}
    assert panels <= set(rows)


def test_a_list_of_nothing_is_empty(capsys):
    for words, printed in (([], ""), (["--markdown"], ""), (["--json"], "[]\n")):
        assert main(["list", "cells", "--paper", "discrepancies", "--profile", "paper", *words]) == 0
        assert capsys.readouterr().out == printed


def test_list_cells_of_an_unknown_paper_is_an_error():
    with pytest.raises(UserError, match="smith2020"):
        listing.cells("smith2020")


# ---- what is read off a run ------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path):
    """Twelve rounds, evaluated in all of them; accuracy 0.10, 0.20, ... with the best in round 11."""
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.7, 0.7, 0.7, 0.9, 0.8]
    lines = accuracies(values)
    lines[-1] |= {"consistency": {"to_sent": 2.5, "to_next": 3.5}}
    return stored_run(tmp_path, config.make(algorithm="fedavg"), lines, seconds=2.0)


@pytest.mark.parametrize(
    ("metric", "target", "expected"),
    [
        ({}, None, 63.0),  # mean of rounds 3 to 12
        ({"quantity": "deviation"}, None, 10.0),
        ({"quantity": "rounds-to"}, 40.0, 4),
        ({"quantity": "rounds-to"}, 95.0, float("inf")),
        ({"quantity": "rounds-to"}, None, None),
        ({"quantity": "communication-to"}, 40.0, 4 * 2 * 2 * 1000 / 1e9),  # rounds x cohort x (up + down) x parameters
        ({"quantity": "seconds-to", "scale": 0.5}, 40.0, 4.0),
        ({"quantity": "seconds-per-round"}, None, 2.0),
        ({"quantity": "consistency"}, None, 2.5),
        ({"quantity": "trace"}, None, None),
        ({"model": "all"}, None, None),
    ],
)
def test_metrics(run, metric, target, expected):
    found = measure(Metric(**metric), run, target)
    assert found == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("before", [[], [0.6, 0.7]])
def test_a_run_that_diverged_has_no_accuracy_and_the_horizon_of_those_beside_it(small, tmp_path, before):
    config = experiments.Cell(
        small.table[1], small.table[1].rows[0], small.table[1].columns[0], Metric(), "quick"
    ).configs[0]
    lines = [*accuracies(before), {"round": len(before) + 1, "diverged": True}]
    run = stored_run(tmp_path / "store", config, lines)
    assert measure(Metric(), run) == 0.0
    assert measure(Metric(quantity="deviation"), run) is None
    assert curve(run, "server") == ([*range(1, len(before) + 1), config.rounds], [*(100 * v for v in before), 0.0])
    assert measure(Metric(quantity="rounds-to"), run, 90.0) == math.inf


def test_curvature_is_read_from_its_record(run):
    record = {"top_eigenvalue": {"value": 7.5}, "trace": {"value": 30.0}, "data": 500}
    run.record_curvature(record)
    assert measure(Metric(quantity="top-eigenvalue"), run) == 7.5
    assert measure(Metric(quantity="trace"), run, samples=500) == 30.0
    assert measure(Metric(quantity="trace"), run, samples=5000) is None, "eigenvalues depend on the images"


@pytest.mark.parametrize(("asked", "found"), [(500, {0: 30.0}), (5000, {})])
def test_claims_read_curvature_as_tables_do(small, tmp_path, asked, found):
    table = small.table[1]
    metric = Metric(quantity="trace", samples={"quick": asked})
    cell = experiments.Cell(table, table.rows[0], table.columns[0], metric, "quick")
    run = stored_run(tmp_path, cell.configs[0], accuracies([0.5]))
    run.record_curvature({"trace": {"value": 30.0}, "data": 500})
    assert Store(tmp_path).values(cell, "metric") == found
    assert experiments.by_seed(cell, finished_runs(tmp_path)) == found


def test_relations_to_another_row(small, tmp_path):
    """FedAvg reaches 40 % in round 4, FedSAM in round 2: ratio 0.5, speed-up 2, difference -2."""
    table = small.table[1]
    for cell in experiments.cells(table, "quick")[::4]:
        fast = cell.row.id == "fedsam"
        for c in cell.configs:
            stored_run(tmp_path / "s", c, accuracies([0.1, 0.4 if fast else 0.2, 0.4 if fast else 0.3, 0.4]))
    stored = finished_runs(tmp_path / "s")
    for relation, expected in (("ratio", 0.5), ("inverse", 2.0), ("difference", -2.0)):
        metric = Metric(quantity="rounds-to", target={"quick": 40}, to="FedAvg", relation=relation)
        cell = experiments.Cell(table, table.rows[1], table.columns[0], metric, "quick")
        assert experiments.by_seed(cell, stored) == {0: expected, 1: expected}


def test_a_pool_averages_over_its_columns_by_seed(small, tmp_path):
    table = small.table[1]
    pooled = declared.Line(id="pool", label="pool", pool=table.columns[:2])
    cell = experiments.Cell(table, table.rows[0], pooled, Metric(), "quick")
    for column, value in ((0, 0.2), (1, 0.6)):
        for c in cell.configs_by_member[column]:
            stored_run(tmp_path / "s", c, accuracies([value + 0.1 * c.seed]))
    found = experiments.by_seed(cell, finished_runs(tmp_path / "s"))
    assert found == {0: pytest.approx(40.0), 1: pytest.approx(50.0)}
