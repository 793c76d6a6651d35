"""Bounds of stored rows: none fails in silence, in the repository's own store either."""

from __future__ import annotations

import json

import pytest
from stored import stored_run

from artifact.__main__ import main
from artifact.base import paths
from artifact.runs.archive import finished
from artifact.runs.bound_rows import PROBES, Row, rows, summary
from artifact.training import config

RESULTS = paths.ROOT / "results"
CONFIG = config.make(algorithm="fedsam", rounds=1, probes=("drift", "estimation", "layers"))


def line(violated=(), refuted=(), layers=(), **numbers):
    """A metrics line whose bounds hold, but for the given numbers; violated, refuted, layers: what it says of that."""
    entries = {"bias": 0.5, "bound": 1.0, "moved": 0.2, "moved_bound": 0.3, "floor": 0.1, "floor_bound": 0.4} | numbers
    each = {"top": 1.0, "measured": 1.0, "residual": 1e-3, "squared_norm": 4.0, "ratio": 0.25}
    bounds = {"sample": numbers.get("sample", 2.0), "printed": numbers.get("printed", 3.0)}
    return {
        "round": 1,
        "estimation": entries | {"violated": list(violated)},
        "drift": {"drift": 0.7, "own": 1.0, "own_bound": 2.0, "violated": []},
        "layers": {"each": {"fc1": each | {"bounds": bounds}}, "violated": list(layers), "refuted": list(refuted)},
    }


def table(capsys, root, *options):
    code = main(["bounds", "--along", "--out", str(root), "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_rows_are_those_of_the_record(tmp_path, capsys):
    run = stored_run(tmp_path, CONFIG, [line()])
    found = {row.theorem: (row.measured, row.bound) for row in rows(run)}
    assert found["Theorem 2, corrected"] == (0.5, 1.0) and found["L^2 rho^2"] == (0.1, 0.4)
    assert found["Lemma B.1, corrected"] == (1.0, 2.0) and found["perturbation drift PD"] == (0.7, 1.0)
    assert found["layers of mlp: sample"] == (1.0 - 1e-3, 2.0), "the curvature is known to its residual"
    code, content = table(capsys, tmp_path)
    assert code == 0
    one = content["theorems"]["L^2 rho^2"]
    assert (one["runs"], one["rows"], one["above"], one["median"]) == (1, 1, 0, 0.25)
    assert [entry["mean"] for entry in content["bias"].values()] == [0.5]


@pytest.mark.parametrize(
    ("planted", "theorem"),
    [
        ({"bound": 0.4}, "Theorem 2, corrected"),
        ({"moved_bound": 0.1}, "Theorem 2, how far the gradient turns"),
        ({"floor": 0.5}, "L^2 rho^2"),
        ({"bias": 2.1, "bound": 2.2}, "bias of unit vectors"),
        ({"sample": 0.9}, "layers of mlp: sample"),
        ({"printed": 0.9}, "layers of mlp: printed, no theorem"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_planted_violation_is_no_silent_one(tmp_path, capsys, planted, theorem):
    stored_run(tmp_path, CONFIG, [line(**planted)])
    code, content = table(capsys, tmp_path)
    assert code == 1 and content["theorems"][theorem]["silent"] == 1
    assert sum(one["silent"] for one in content["theorems"].values()) == 1


def test_a_named_violation_is_counted_and_ends_well(tmp_path, capsys):
    named = line(["floor"], ["fc1"], ["fc1: sample"], floor=0.5, sample=0.9, printed=0.9)
    stored_run(tmp_path, CONFIG, [named])
    code, content = table(capsys, tmp_path)
    assert code == 0
    assert sum(one["above"] for one in content["theorems"].values()) == 3
    assert main(["bounds", "--along", "--out", str(tmp_path)]) == 0
    assert "| L^2 rho^2 | 1 | 1 | 1 | 0 | 1.25 |" in capsys.readouterr().out


def test_the_option_stands_alone(tmp_path, capsys):
    assert main(["bounds", "--along", "abc", "--out", str(tmp_path)]) == 2
    assert "along" in capsys.readouterr().err


def test_no_bound_of_the_stored_runs_fails_in_silence():
    """Issue: a violated bound is an error or a finding, never silent, in every stored row of every run."""
    probed = [run for run in finished(RESULTS) if PROBES & set(run.config().get("probes", ()))]
    found: list[Row] = [row for run in probed for row in rows(run)]
    assert {row.run for row in found} == {run.key for run in probed}, "every probed run has rows"
    assert [row for row in found if row.silent] == []
    theorems = summary(found)["theorems"]
    assert all(one["least"] is not None for one in theorems.values()), "the looseness is printed"
    assert theorems["bias of unit vectors"]["runs"] >= 24


def test_the_bounds_of_layers_stand_apart_by_network(tmp_path):
    """So that the least of a perceptron's rows is not read as that of a convolutional network."""
    found = [stored_run(tmp_path, CONFIG.model_copy(update={"model": name}), [line()]) for name in ("mlp", "lenet")]
    theorems = summary(row for run in found for row in rows(run))["theorems"]
    assert {"layers of mlp: sample", "layers of lenet: sample"} <= set(theorems)
    assert theorems["L^2 rho^2"]["runs"] == 2 and list(theorems) == sorted(theorems)
