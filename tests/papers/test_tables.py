"""Tables: ours beside the paper's, with paired statistics that say no more than the runs do."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from stored import accuracies, stored_run

from artifact.__main__ import main
from artifact.base.stats import holm, paired_difference
from artifact.base.tables_as_text import csv_table, markdown_table
from artifact.papers import experiments, table_results, tables, variants
from artifact.papers.declared import Line, Metric, Paper, Profile, Table
from artifact.papers.experiments import Cell, Number
from artifact.runs.lookup import find_runs, finished_runs
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import Settings
from artifact.statements.comparisons import UP_TO_TARGET

SEEDS = (0, 1, 2)
ROWS = (
    Line(id="fedavg", label="FedAvg", settings={"algorithm": "fedavg"}),
    Line(id="fedsam", label="FedSAM", against="FedAvg", settings={"algorithm": "fedsam", "rho": 0.1}),
    Line(id="fedcm", label="FedCM_100%", against="FedAvg", settings={"algorithm": "fedcm"}),
)
COLUMNS = (Line(id="iid", label="IID", settings={"split": "iid"}),)
ACCURACY = (Metric(),)
PAPER = Paper(paper="small", title="A paper")


def table(metrics=ACCURACY, rows=ROWS, only=("*",), rounds=4) -> Table:
    profile = Profile(seeds=SEEDS, settings={"rounds": rounds}, only=only, reason="machine time", note="small")
    return Table(
        id="1",
        paper="small",
        title="Test accuracy",
        location="Table 1",
        metrics=metrics,
        rows=rows,
        columns=COLUMNS,
        profiles={"laptop": profile},
    )


def entry(
    row: Line, values: dict[int, float], paper: float | None, metric: Metric | None = None
) -> table_results.Entry:
    declared = table((metric or Metric(),))
    cell = Cell(declared, row, COLUMNS[0], declared.metrics[0], "laptop")
    number = None if paper is None else Number(paper, str(paper), None, 0)
    return table_results.Entry(cell, values, number, [], "finished 3/3")


def side(own, reference, paper_own=2.0, paper_reference=1.0) -> str:
    pairs = [
        entry(ROWS[1], dict(enumerate(own)), paper_own),
        entry(ROWS[0], dict(enumerate(reference)), paper_reference),
    ]
    return table_results.compare(*pairs).side


# ---- comparisons -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "reference", "paper", "expected"),
    [
        ([12.0, 13.1, 11.9], [10.0, 11.0, 10.0], (2.0, 1.0), "same side, interval without 0"),
        ([12.0, 13.1, 11.9], [10.0, 11.0, 10.0], (1.0, 2.0), "other side, interval without 0"),
        ([12.0, 11.0, 10.5], [10.0, 11.0, 10.0], (2.0, 1.0), "same side, mean alone"),
        ([12.0, 11.0, 10.5], [10.0, 11.0, 10.0], (1.0, 2.0), "neither side"),
        ([12.0, 13.1, 11.9], [10.0, 11.0, 10.0], (1.0, 1.0), "neither side"),
        ([12.0], [10.0], (2.0, 1.0), ""),
    ],
)
def test_side_of_a_comparison(own, reference, paper, expected):
    assert side(own, reference, *paper) == expected


def test_the_interval_is_that_of_the_paired_differences():
    """Differences 1, 2, 3: mean 2, sd 1, half width t(0.975, 2) / sqrt(3) = 4.302653 / 1.732051."""
    own, reference = entry(ROWS[1], {0: 11.0, 1: 22.0, 2: 33.0}, 2.0), entry(ROWS[0], {0: 10.0, 1: 20.0, 2: 30.0}, 1.0)
    found = table_results.compare(own, reference)
    assert found.difference.mean == pytest.approx(2.0)
    assert found.difference.high - 2 == pytest.approx(2.484138, abs=1e-6)
    assert found.p_sign == 0.25
    assert found.p_t == pytest.approx(0.074180, abs=1e-6)
    assert found.printed == 1.0


def test_only_seeds_of_both_sides_are_compared():
    own, reference = entry(ROWS[1], {0: 11.0, 2: 30.0}, 2.0), entry(ROWS[0], {0: 10.0, 1: 99.0}, 1.0)
    found = table_results.compare(own, reference)
    assert (found.difference.n, found.difference.mean) == (1, 1.0)
    assert table_results.compare(own, entry(ROWS[0], {1: 5.0}, 1.0)) is None


def test_identical_methods_are_rarely_told_apart():
    """200 simulated tables of one comparison at n = 3 without any difference: the one-sided level is 2.5 %."""
    rng = np.random.default_rng(7)
    called = [side(*rng.normal(50, 1, (2, 3))) for _ in range(200)]
    assert called.count("same side, interval without 0") <= 11  # more has a probability under 1 % at 2.5 %
    assert called.count("other side, interval without 0") <= 11


def test_a_real_difference_is_found():
    rng = np.random.default_rng(8)
    common = rng.normal(50, 5, (200, 3))
    called = [side(c + 3 + rng.normal(0, 0.3, 3), c) for c in common]
    assert called.count("same side, interval without 0") > 190


def test_p_values_are_adjusted_over_all_comparisons_of_the_table():
    base = entry(ROWS[0], {0: 10.0, 1: 20.0, 2: 30.0}, 1.0)
    one = entry(ROWS[1], {0: 11.0, 1: 22.0, 2: 33.0}, 2.0)
    two = entry(ROWS[2], {0: 14.0, 1: 24.1, 2: 33.9}, 3.0)
    found = [e.comparison for e in table_results.compared([base, one, two])]
    assert found[0] is None
    assert [c.holm_t for c in found[1:]] == pytest.approx(holm([c.p_t for c in found[1:]]))
    assert found[2].holm_t == pytest.approx(2 * found[2].p_t)
    assert [c.holm_sign for c in found[1:]] == [0.5, 0.5]


def test_a_target_that_one_side_misses_enters_with_the_rounds_run():
    metric = Metric(quantity="rounds-to", unit="rounds")
    own = entry(ROWS[1], {0: 1.0, 1: 2.0, 2: 1.0}, 2.0, metric)
    never = entry(ROWS[0], dict.fromkeys(SEEDS, float("inf")), 3.0, metric)
    found = table_results.compare(own, never)
    assert found.difference.mean == pytest.approx((1 - 4 + 2 - 4 + 1 - 4) / 3)
    assert found.side == "same side, interval without 0"
    seconds = Metric(quantity="seconds-to", unit="s")
    missed = entry(ROWS[0], dict.fromkeys(SEEDS, float("inf")), 3.0, seconds)
    assert table_results.compare(entry(ROWS[1], own.values, 2.0, seconds), missed) is None


def counted(root, row, reached, printed):
    """An entry of rounds to 50 % from runs that are evaluated every ten of sixty rounds; None: not reached."""
    metric = Metric(id="rounds", quantity="rounds-to", unit="rounds", target={"laptop": 50.0})
    declared = table((metric,), rounds=60)
    cell = next(c for c in experiments.cells(declared, "laptop") if c.row.id == row.id)
    for c in cell.configs:
        values = [0.6 if reached[c.seed] is not None and t >= reached[c.seed] else 0.1 for t in range(10, 70, 10)]
        evaluated = {10 * line["round"]: line for line in accuracies(values)}
        stored_run(root, c, [evaluated.get(t, {}) | {"round": t} for t in range(1, 61)])
    stored = finished_runs(root)
    runs, values = find_runs(cell.configs, stored), experiments.by_seed(cell, stored)
    return table_results.Entry(cell, values, Number(printed, str(printed), None, 0), runs, "finished 3/3")


def test_a_difference_of_rounds_is_widened_by_the_grid_of_evaluated_rounds(tmp_path):
    """Own 30, 40, 40 and reference 50, 50, 60, each up to nine rounds too large: 9 more on both sides."""
    own, other = counted(tmp_path, ROWS[1], (30, 40, 40), 1.0), counted(tmp_path, ROWS[0], (50, 50, 60), 2.0)
    found = table_results.compare(own, other)
    expected = paired_difference((30, 40, 40), (50, 50, 60)).widened(9, 9)
    assert (found.difference.low, found.difference.high) == pytest.approx((expected.low, expected.high))
    assert found.side == "same side, mean alone"  # -16.7 +- 14.3 excludes 0 without the grid, and with it does not
    assert found.p_t > 0.05


def test_equal_differences_of_rounds_are_not_tested(tmp_path):
    """Never reached against 20 in all seeds: 40 at least, with no spread to test it by; a p value of 0 is none."""
    own, other = counted(tmp_path, ROWS[1], (None,) * 3, 1.0), counted(tmp_path, ROWS[0], (20,) * 3, 2.0)
    found = table_results.compare(own, other)
    assert (found.difference.mean, found.difference.low, found.difference.high) == (40.0, 40.0, 49.0)
    assert (found.side, found.p_t) == ("neither side", 1.0)


# ---- from runs to the printed table ----------------------------------------------------------------------------------

#: seed -> accuracies of four rounds; the third is the best one
CURVES = {
    "fedavg": lambda seed: [0.10, 0.20, 0.60, 0.30 + 0.01 * seed],
    "fedsam": lambda seed: [0.20, 0.30, 0.70, 0.40 + 0.011 * seed],
}


@pytest.fixture
def store(tmp_path):
    root = tmp_path / "store"
    for cell in experiments.cells(table(), "laptop"):
        for c in cell.configs if cell.row.id in CURVES else ():
            stored_run(root, c, accuracies(CURVES[cell.row.id](c.seed)))
    return root


def look_up(declared, store):
    numbers = {("fedavg", "iid"): 75.0, ("fedsam", "iid"): 80.123, ("fedcm", "iid"): 70.0}
    found = table_results.look_up(declared, "laptop", finished_runs(store))
    with_paper = []
    for e in found:
        number = numbers[(e.cell.row.id, e.cell.column.id)]
        with_paper.append(table_results.Entry(e.cell, e.values, Number(number, str(number), None, 0), e.runs, e.state))
    return table_results.compared(with_paper)


def test_the_headline_is_the_mean_of_the_last_rounds_and_the_best_round_stands_apart(store):
    first = tables.records(look_up(table(), store))[0]
    assert first["mean"] == pytest.approx(100 * (0.1 + 0.2 + 0.6 + 0.31) / 4)
    assert first["last"] == pytest.approx(31.0)
    assert first["best"] == pytest.approx(60.0)
    assert first["state"] == "finished 3/3"
    assert len(first["keys"]) == 3
    assert first["rise"] == pytest.approx(100 * np.polyfit([1, 2, 3, 4], [0.1, 0.2, 0.6, 0.31], 1)[0] * 3)


def test_markdown_shows_ours_the_papers_the_symbol_and_the_multiplicity(store):
    text = tables.markdown(PAPER, table(), "laptop", look_up(table(), store))
    rows = [line for line in text.splitlines() if line.startswith("| FedSAM")]
    assert rows[0] == "| FedSAM | 40.27 ± 0.68 (n=3) / 80.123 ✓ |"
    assert rows[1].startswith("| FedSAM minus FedAvg | +10.02 [+9.96, +10.09] (n=3) / +5.12 ✓")
    assert "| FedCM_100% | – / 70.0 |" in text
    assert "Multiplicity: 1 comparisons; at 5 % after Holm 1 by Student's t and 0 by the exact sign-flip test" in text
    assert "smallest p value with 3 seeds is 0.25" in text
    assert "60.00" not in text  # the best round
    assert "Change over the last ten evaluated rounds" in text


def test_json_and_csv_hold_every_cell_and_no_nan(store):
    found = look_up(table(), store)
    document = json.loads(tables.as_json(PAPER, table(), "laptop", found), parse_constant=pytest.fail)
    assert [c["id"] for c in document["cells"]] == [e.cell.id for e in found]
    rows = list(csv.DictReader(io.StringIO(tables.as_csv(PAPER, table(), "laptop", found))))
    assert [row["side"] for row in rows] == ["", "same side, interval without 0", ""]
    assert float(rows[1]["difference"]) == pytest.approx(100 * 0.401 / 4)
    assert rows[2]["mean"] == ""
    assert rows[0]["best"] != rows[0]["mean"]


def test_latex_escapes_what_latex_reads_otherwise(store):
    text = tables.latex(PAPER, table(), "laptop", look_up(table(), store))
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert r"FedCM\_100\% & -- / 70.0 \\" in body
    assert r"FedSAM & 40.27 $\pm$ 0.68 (n=3) / 80.123 $\checkmark$ \\" in body
    assert text.isascii()


def test_a_target_that_is_not_reached_is_said_to_be_so(store):
    metric = Metric(id="rounds", quantity="rounds-to", unit="rounds", target={"laptop": 65.0})
    texts = [e.text for e in look_up(table((metric,)), store)]
    assert texts == ["not reached (n=3)", "3 ± 0 (n=3)", "–"]
    ratio = metric.model_copy(update={"id": "ratio", "to": "FedAvg"})
    found = look_up(table((ratio,)), store)[1]
    assert found.ours is None


def test_some_seeds_that_miss_a_target_give_no_mean(tmp_path):
    metric = Metric(id="rounds", quantity="rounds-to", unit="rounds", target={"laptop": 65.0})
    for c in experiments.cells(table(), "laptop")[0].configs:
        stored_run(tmp_path / "s", c, accuracies([0.1, 0.7 if c.seed else 0.2]))
    found = look_up(table((metric,)), tmp_path / "s")[0]
    assert (found.text, found.ours) == ("reached in 2 of 3", None)


def test_what_is_not_run_is_said_with_its_reason(store):
    text = tables.markdown(PAPER, table(), "laptop", look_up(table(only=("fed[as]*",)), store))
    assert "Not run (machine time): 1 cells in IID." in text


def test_a_given_table_prints_the_papers_texts_and_who_decides_it():
    paper, declared = experiments.find("qu2022/3")
    text = tables.markdown(paper, declared, "quick", table_results.look_up(declared, "quick", {}))
    assert "decided by qu22-exp-emnist-size" in text
    assert "| EMNIST: total-samples | 81425 |" in text


# ---- running what is missing -----------------------------------------------------------------------------------------


CURVED = """
paper = "small"
title = "A paper"
[profiles.quick]
seeds = [0]
[[table]]
id = "1"
title = "Curvature"
location = "Table 1"
rows = [{ label = "FedAvg", settings = { algorithm = "fedavg" } }]
columns = [{ label = "IID", settings = { split = "iid" } }]
metrics = [{ id = "top", quantity = "top-eigenvalue", unit = "", samples = { quick = 60 } }]
settings = { model = "mlp-8", clients = 4, cohort = 2, rounds = 3, train_size = 120, test_size = 60 }
"""


@pytest.mark.parametrize(("name", "several"), [("kakoun2024", True), ("kakoun2024/5.1", False)])
def test_the_formats_for_programs_are_one_document(name, several, tmp_path, capsys):
    said = {}
    for style in ("json", "csv", "markdown"):
        assert main(["table", name, "--lookup", "--out", str(tmp_path), "--format", style]) == 0
        said[style] = capsys.readouterr().out
    document = json.loads(said["json"])
    listed = document if several else [document]
    rows = list(csv.DictReader(io.StringIO(said["csv"])))
    cells = [(f"{one['paper']}/{one['table']}", cell["id"]) for one in listed for cell in one["cells"]]
    assert [(row["table"], row["id"]) for row in rows] == cells
    assert (len(listed) > 1) == several and len({table for table, _ in cells}) > several
    assert said["markdown"].count("\n\nGlobal FedSAM (Al Kakoun") == len(listed) - 1


def collect(declared: Table, profile: str, store, *, run: bool, **options) -> list[table_results.Entry]:
    """A table's entries as the command has them."""
    if run:
        table_results.make([declared], profile, Settings(store), quiet=True, **options)
    return table_results.look_up(declared, profile, finished_runs(store))


@pytest.fixture
def trained(monkeypatch):
    """The configs that would be trained."""
    done = []
    monkeypatch.setattr(sweep, "run_missing", lambda wanted, *_, **__: done.extend(wanted))
    return done


def test_every_config_is_run_once_seed_by_seed(trained, tmp_path):
    collect(experiments.find("kakoun2024/5.3")[1], "quick", tmp_path, run=True)
    assert len(trained) == 27
    assert [c.seed for c in trained] == sorted(c.seed for c in trained)


def test_what_the_profile_does_not_run_is_run_only_when_asked_for(trained, tmp_path):
    declared = experiments.find("kakoun2024/5.6")[1]
    collect(declared, "laptop", tmp_path, run=True)
    assert trained == []
    collect(declared, "laptop", tmp_path, run=True, everything=True)
    assert len(trained) == 27


def test_curvature_that_is_not_on_record_is_measured_once(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(CURVED, encoding="utf-8")
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path)
    declared, store = experiments.find("small/1")[1], tmp_path / "store"
    assert [e.text for e in collect(declared, "quick", store, run=False)] == ["–"]
    found = collect(declared, "quick", store, run=True)
    recorded = json.loads((found[0].runs[0].folder / "curvature.json").read_text(encoding="utf-8"))
    assert found[0].values == {0: recorded["top_eigenvalue"]["value"]}
    assert recorded["top_eigenvalue"]["converged"]
    assert recorded["top_eigenvalue"]["value"] > 0 and recorded["data"] == 60
    table_results.record_curvature(found[0].runs[0], 30, None)
    assert collect(declared, "quick", store, run=False)[0].values == {}, "measured on other images"
    assert collect(declared, "quick", store, run=True)[0].values == found[0].values
    monkeypatch.setattr(table_results, "record_curvature", lambda *_: pytest.fail("measured again"))
    assert collect(declared, "quick", store, run=True)[0].values == found[0].values


def test_a_lookup_runs_nothing(trained, tmp_path):
    found = collect(experiments.find("sun2023/8")[1], "quick", tmp_path, run=False)
    assert trained == []
    assert [e.text for e in found] == ["–"] * 4
    assert found[3].cell.row.against == "DynReg+SAM"


def test_variants_are_the_tables_paired_comparisons():
    """The command's rows against numbers formed here from the stored runs' accuracies."""
    _, declared = experiments.find(variants.TABLE)
    found = table_results.look_up(declared, "laptop", finished_runs(experiments.ROOT / "results"))
    rows = {row["method"]: row for row in variants.rows(variants.compare(found))}
    values = {entry.cell.row.label: entry.values for entry in found}
    row = rows["FedLESAM-S, released (FedLESAM repository)"]
    released, paper = ([values[name][s] for s in SEEDS] for name in (row["method"], "FedLESAM-S"))
    assert (row["n"], row["difference"]) == (3, pytest.approx(np.mean(released) - np.mean(paper)))
    half = row["high"] - row["difference"]
    assert half == pytest.approx(4.302653 * np.std(np.subtract(released, paper), ddof=1) / 3**0.5, rel=1e-5)
    assert [r["p_holm"] for r in rows.values()] == list(holm([r["p"] for r in rows.values()]))
    lines = variants.markdown(variants.compare(found)).splitlines()
    assert len(lines) == 2 + len(rows) and all(line.count("(n=3)") == 1 for line in lines[2:])


def test_a_cell_cannot_break_its_table():
    lines = markdown_table(["a", "b"], [["x | y", "two\nlines"]])
    assert lines == ["| a | b |", "|---|---|", "| x \\| y | two lines |"]
    assert list(csv.reader(io.StringIO(csv_table(["a"], [["x,\n y"], [None]])))) == [["a"], ["x,\n y"], [""]]


def test_a_miniature_says_in_its_cell_what_it_was_trained_on_and_is_not_held_against_the_paper():
    _, table = experiments.find("yashwanth2023/1")
    found = table_results.look_up(table, "laptop", finished_runs(experiments.ROOT / "results"))
    entry = next(e for e in found if e.symbol)
    assert entry.symbol and "on " not in tables._both(entry)
    small = replace(entry, cell=replace(entry.cell, profile="quick"))
    assert small.symbol == small.side == ""
    assert f"{small.text} on digits / {small.printed}" == tables._both(small)


def test_every_column_that_trains_other_data_than_the_paper_says_so():
    seen = 0
    for _, table in experiments.all_tables():
        for profile in set(table.profiles) & {"quick", "laptop"} if table.given is None else ():
            for cell in experiments.cells(table, profile):
                declared = (table.settings | cell.column.settings | cell.row.settings).get("dataset")
                if declared and cell.configs[0].dataset != declared:
                    assert f"{cell.trained_on} (paper: " in cell.heading, (cell.id, profile)
                    seen += 1
    assert seen > 1000


def test_every_column_that_counts_up_to_a_target_names_it_and_the_papers():
    seen = 0
    for _, table in experiments.all_tables():
        for profile in set(table.profiles) & {"quick", "laptop"} if table.given is None else ():
            for cell in experiments.cells(table, profile):
                if cell.metric.quantity in UP_TO_TARGET and cell.target is not None:
                    printed = (cell.column.target or cell.metric.target).get("paper")
                    if printed is not None:
                        also = "" if cell.target == printed else f" (paper: to {printed:g} %)"
                        assert f"to {cell.target:g} %{also}" in cell.heading, (cell.id, profile)
                        assert f"to {printed:g} %" in cell.printed_heading, cell.id
                        seen += 1
    assert seen > 100
