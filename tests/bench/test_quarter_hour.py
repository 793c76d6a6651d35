"""A quarter of an hour on a GPU, rehearsed on the CPU: from packing to unpacking, with a cut in the middle of a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile

import pytest
import quarter_hour

from artifact.base.errors import UserError
from artifact.runs.archive import finished_keys, open_run
from artifact.runs.session import execute
from artifact.training.config import make

SMALL = {"dataset": "digits", "train_size": 60, "test_size": 20, "model": "mlp-4", "clients": 3, "cohort": 2}
SHORT = make(algorithm="fedavg", rounds=2, **SMALL)
ENDLESS = make(algorithm="fedsam", rounds=10**6, eval_every=10**6, **SMALL)


def item(run, seconds=None):
    return {"config": json.loads(run.model_dump_json()), "seconds": seconds}


def go(folder, seconds):
    words = [
        sys.executable,
        "docs/performance/quarter_hour.py",
        "go",
        "--device",
        "cpu",
        "--reserve",
        "2",
        "--no-check",
    ]
    free = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}  # what travelled has to be enough
    found = subprocess.run(
        [*words, "--seconds", str(seconds)], cwd=folder, env=free, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return json.loads((folder / "results" / "report.json").read_text()), found.stdout


def test_the_rehearsal_from_packing_to_unpacking(tmp_path):
    """Two calls; the first is cut off in the middle of the second run, with which the second call goes on."""
    pieces = quarter_hour.write_package(tmp_path / "home", [item(SHORT), item(ENDLESS)], tmp_path, size=100_000)
    assert len(pieces) > 1 and all(piece.stat().st_size <= 100_000 for piece in pieces)
    there = tmp_path / "there"
    there.mkdir()
    (there / "whole").write_bytes(b"".join(piece.read_bytes() for piece in pieces))
    with tarfile.open(there / "whole") as tar:
        tar.extractall(there, filter="data")

    first, said = go(there, 7)
    assert "cut off" in said
    (key,) = first["finished"]
    (begun,) = {folder.name for folder in (there / "runs").iterdir() if folder.is_dir()} - {key}
    rounds = len(open_run(there / "runs", begun).metrics())
    assert rounds > 0 and open_run(there / "runs", begun).checkpoint_file.exists()

    second, _ = go(there, 7)
    assert second["finished"] == [key] and len(second["played"]) == 1
    assert len(open_run(there / "runs", begun).metrics()) > rounds

    store = tmp_path / "store"
    files = [there / "results" / name for name in second["files"]]
    assert quarter_hour.take_home(files, store, print) == 1
    assert finished_keys(store) == [key] and open_run(store, key).intact
    assert quarter_hour.take_home(files, store, print) == 0  # it is there
    assert [path.name for path in store.iterdir() if path.is_dir()] == [key]


def test_runs_that_were_begun_come_first_and_long_ones_last(tmp_path):
    """Nothing that takes longer than is left starts before what fits."""
    long, fits = (make(algorithm=name, rounds=1, **SMALL) for name in ("fedprox", "fedavg"))
    clock = quarter_hour.Clock(60, 0)
    played = quarter_hour.train([item(long, 10**6), item(fits, 1.0)], tmp_path, tmp_path, "cpu", clock)
    assert [name.split()[0] for name in played] == ["fedavg", "fedprox"]
    assert len(finished_keys(tmp_path)) == 2


def test_files_on_the_way_back_have_a_limit_and_stand_alone(tmp_path):
    for seed in range(3):
        execute(make(algorithm="fedavg", rounds=1, seed=seed, **SMALL), tmp_path / "runs", quiet=True)
    files = quarter_hour.write_results(tmp_path / "runs", tmp_path / "out", size=1)
    assert len(files) == 3
    assert quarter_hour.take_home(files[1:], tmp_path / "store", print) == 2


def test_a_run_that_was_damaged_on_the_way_is_not_taken(tmp_path):
    execute(make(algorithm="fedavg", rounds=1, **SMALL), tmp_path / "runs", quiet=True)
    (run,) = (tmp_path / "runs" / key for key in finished_keys(tmp_path / "runs"))
    lines = (run / "metrics.jsonl").read_text()
    (run / "metrics.jsonl").write_text(lines.replace('"round": 1', '"round": 2'))
    said = []
    files = quarter_hour.write_results(tmp_path / "runs", tmp_path / "out")
    assert quarter_hour.take_home(files, tmp_path / "store", said.append) == 0
    assert "damaged" in said[0] and not list((tmp_path / "store").iterdir())


def test_a_file_of_something_else_is_one_line(tmp_path):
    (tmp_path / "results-00.tar.xz").write_text("no archive")
    with pytest.raises(UserError, match="a file that go has written"):
        quarter_hour.take_home([tmp_path / "results-00.tar.xz"], tmp_path / "store", print)


def test_the_numbers_of_this_device_are_checked(capsys):
    quarter_hour.check("cpu", quarter_hour.Clock(10, 0))
    assert "float64 on cpu differs" in capsys.readouterr().out


def test_a_device_with_other_numbers_is_refused(monkeypatch):
    monkeypatch.setattr(quarter_hour, "far", lambda _device: 1e-3)
    with pytest.raises(UserError, match="within 1e-09"):
        quarter_hour.check("cpu", quarter_hour.Clock(10, 0))


def test_a_package_needs_its_data(tmp_path):
    with pytest.raises(UserError, match="cifar10"):
        quarter_hour.write_package(tmp_path / "home", [item(make(algorithm="fedavg", dataset="cifar10"))], tmp_path)
    assert not (tmp_path / "home").exists()
