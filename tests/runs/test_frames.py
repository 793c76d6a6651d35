"""One frame of runs and one of rounds, from loose folders and archives alike."""

from __future__ import annotations

import importlib.util
import math
import re
import shutil

import pytest
from stored import accuracies, stored_run

import artifact
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.runs import archive
from artifact.runs.archive import finished
from artifact.runs.frames import ALIKE
from artifact.runs.session import summarise
from artifact.runs.store import Run
from artifact.training import config

pl = pytest.importorskip("polars")


@pytest.fixture
def store(tmp_path):
    for method, seed in (("fedavg", 0), ("fedsam", 0), ("fedsam", 1)):
        made = config.make(algorithm=method, rounds=3, seed=seed)
        lines = accuracies([0.1 + seed / 7, 0.2, 0.7])
        lines[1] |= {"train": {"accuracy": 0.5, "loss": None}, "drift": {"violated": ["a"], "cosine": 0.25}}
        lines[2] |= {"train": {"accuracy": 0.5, "loss": 0.25}}
        stored_run(tmp_path, made, lines, seconds=0.5)
    Run(tmp_path, next(finished(tmp_path)).key).record_curvature({"data": 20, "top_eigenvalue": {"value": 3.5}})
    return tmp_path


def test_a_row_a_run_with_settings_and_final_numbers(store):
    runs = artifact.stored_runs(store)
    (row,) = runs.filter(pl.col("algorithm") == "fedsam", pl.col("seed") == 1).to_dicts()
    assert (row["dataset"], row["rounds"], row["completed"], row["diverged"]) == ("digits", 3, 3, False)
    assert row["server.accuracy"] == (0.1 + 1 / 7 + 0.2 + 0.7) / 3
    assert (row["server.accuracy.last"], row["train.accuracy"]) == (0.7, 0.5)
    assert row["train.loss"] == 0.25  # the other one was not finite
    assert row["seconds"] == 1.5
    assert row["sent"] == 3 * 2 * (1 + 1) * 1000 / 1e9  # rounds, clients, models up and down, parameters
    assert runs["curvature.top_eigenvalue.value"].drop_nulls().to_list() == [3.5]


def test_a_row_a_round(store):
    runs, rounds = artifact.stored_runs(store), artifact.stored_rounds(store)
    assert rounds.height == 9
    own = rounds.join(runs.select("key", "algorithm", "seed"), on="key")
    own = own.filter(pl.col("algorithm") == "fedavg").sort("round")
    assert own["server.accuracy"].to_list() == [0.1, 0.2, 0.7]
    assert own["drift.cosine"].to_list() == [None, 0.25, None]
    assert own["seconds"].to_list() == [0.5] * 3
    first, second, third = own["train.loss"].to_list()
    assert (first, third) == (None, 0.25)
    assert math.isnan(second)
    chosen = runs["key"][:1]
    assert set(artifact.stored_rounds(store, keys=chosen)["key"]) == set(chosen)


def test_loose_packed_and_mixed_stores_give_the_same_frames(store):
    def frames():
        runs, rounds = artifact.stored_runs(store), artifact.stored_rounds(store)
        return [
            runs.select(sorted(runs.columns)).sort("key").to_dicts(),
            str(rounds.select(sorted(rounds.columns)).sort("key", "round").to_dicts()),
        ]

    loose = frames()
    keys = [run.key for run in finished(store)]
    archive.pack(store, {keys[0]: "one"})
    assert frames() == loose
    archive.pack(store, dict.fromkeys(keys[1:], "two"))
    assert frames() == loose


def test_a_paired_comparison_is_a_join_on_what_is_alike(store):
    runs = artifact.stored_runs(store)
    fedsam, fedavg = (runs.filter(algorithm=name) for name in ("fedsam", "fedavg"))
    pairs = fedsam.join(fedavg, on=ALIKE, nulls_equal=True)
    assert pairs["seed"].to_list() == [0]
    assert pairs.select(pl.col("server.accuracy") - pl.col("server.accuracy_right")).to_series().to_list() == [0.0]


def test_the_example_of_the_page_runs(store, monkeypatch, capsys):
    page = (paths.DOCS / "api.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(import polars.*?)```", page, re.S)[1]
    (store / "results").mkdir()
    shutil.copytree(paths.ROOT / "results" / archive.FOLDER, store / "results" / archive.FOLDER)
    monkeypatch.chdir(store)
    exec(code, {})
    assert "hyper.rho" in capsys.readouterr().out


def test_final_numbers_are_those_of_the_tables(tmp_path):
    shutil.copytree(paths.ROOT / "results" / archive.FOLDER, tmp_path / archive.FOLDER)
    runs = {row["key"]: row for row in artifact.stored_runs(tmp_path).to_dicts()}
    for run in list(finished(tmp_path))[::60]:
        summary = summarise(run)
        row = runs[run.key]
        assert row["seconds"] == summary["seconds"]
        assert row["completed"] == summary["rounds"]
        for model in ("server", "active", "all", "train"):
            mean = summary[model]["mean_last_10"] if model in summary else None
            assert row.get(f"{model}.accuracy") == mean


def test_bad_input_is_one_line(tmp_path):
    with pytest.raises(UserError, match="store: "):
        artifact.stored_runs(tmp_path / "missing")
    assert artifact.stored_runs(tmp_path).height == 0
    assert artifact.stored_rounds(tmp_path).height == 0


def test_a_changed_run_is_left_out(store, capfd):
    run = next(finished(store))
    run.metrics_file.write_bytes(run.metrics_file.read_bytes().replace(b"0.2", b"0.9"))
    assert artifact.stored_runs(store).height == 2
    assert run.key in capfd.readouterr().err


# ---- without the project ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["duckdb", "pandas", "polars"])
def test_other_programs_read_the_files_in_three_lines(library):
    pytest.importorskip(library)
    if library == "pandas":
        pytest.importorskip("pyarrow")
    spec = importlib.util.spec_from_file_location("runs_example", paths.ROOT / "examples/runs.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    found = getattr(example, f"with_{library}")(example.FILE)
    place = archive.shelf(paths.ROOT / "results/runs/qu2022-fig3-protocol.parquet")
    ends: dict[str, list[float]] = {}
    for row, content in enumerate(place.rows):
        ends.setdefault(content["algorithm"], []).append(place.numbers("server.accuracy", row)[-1])
    assert found == pytest.approx({method: sum(values) / len(values) for method, values in ends.items()})
