"""The index of a large store: it says where to look, is never believed, and a store is read without it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from stored import accuracies, stored_run

from artifact.base import files
from artifact.runs import index
from artifact.runs.lookup import find_run, finished_runs
from artifact.runs.store import Finished
from artifact.training import config

CONFIGS = [config.make(algorithm="fedavg", rounds=3, seed=seed) for seed in range(4)]


@pytest.fixture
def store(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(index, "FROM", 3)
    monkeypatch.setattr(files, "SETTLED", -1)
    for one in CONFIGS[:3]:
        stored_run(tmp_path / "store", one, accuracies([0.1, 0.2, 0.3]))
    return tmp_path / "store"


def _opened(store: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the runs whose config is read when the store is looked through."""
    read, own = [], Finished.config
    with monkeypatch.context() as patch:
        patch.setattr(Finished, "config", lambda run: read.append(run.key) or own(run))
        finished_runs(store)
    return read


def test_a_large_store_is_read_once_and_then_what_is_new(store, monkeypatch):
    assert len(_opened(store, monkeypatch)) == 3
    assert _opened(store, monkeypatch) == []
    new = stored_run(store, CONFIGS[3], accuracies([0.1, 0.2, 0.3]))
    assert _opened(store, monkeypatch) == [new.key]
    assert all(find_run(one, finished_runs(store)) is not None for one in CONFIGS)


def test_a_small_store_has_no_index(store, monkeypatch):
    monkeypatch.setattr(index, "FROM", 4)
    assert len(_opened(store, monkeypatch)) == len(_opened(store, monkeypatch)) == 3
    assert not index.place(store).exists()


def test_what_has_just_changed_may_change_again_and_is_read_again(store, monkeypatch):
    monkeypatch.setattr(files, "SETTLED", 10**12)
    assert len(_opened(store, monkeypatch)) == len(_opened(store, monkeypatch)) == 3


def test_a_changed_record_is_left_out_also_where_the_index_does_not_notice(store, capsys):
    assert find_run(CONFIGS[0], finished_runs(store)) is not None
    run = find_run(CONFIGS[0], finished_runs(store))
    seen, text = os.stat(run.config_file), run.config_file.read_text()
    run.config_file.write_text(text.replace('"rounds": 3', '"rounds": 4'))
    os.utime(run.config_file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    stored = finished_runs(store)
    assert find_run(CONFIGS[0], stored) is None
    assert capsys.readouterr().err.startswith("left out: config: ")
    assert find_run(config.make(algorithm="fedavg", rounds=4), stored) is None


def test_an_index_that_names_another_run_is_not_believed(store):
    finished_runs(store)
    path = index.place(store)
    content = json.loads(path.read_text())
    one, two, _ = content["runs"].values()
    one[1], two[1] = two[1], one[1]
    path.write_text(json.dumps(content))
    stored = finished_runs(store)
    assert [find_run(each, stored) is None for each in CONFIGS[:3]].count(True) == 2


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"defaults": 1, "runs": []}', "[" * 10**5, None])
def test_a_store_is_read_where_its_index_is_damaged_or_cannot_be_written(text, store, monkeypatch):
    finished_runs(store)
    path = index.place(store)
    path.unlink()
    path.mkdir() if text is None else path.write_text(text)
    assert all(find_run(one, finished_runs(store)) is not None for one in CONFIGS[:3])
    assert len(_opened(store, monkeypatch)) == (0 if text is not None else 3)


@pytest.mark.parametrize("entries", [5, {"a": 5}, {"a": [1]}, {"a": [None, 5]}])
def test_entries_of_another_shape_count_as_none(entries, store, monkeypatch):
    finished_runs(store)
    path = index.place(store)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"runs": entries}))
    assert len(_opened(store, monkeypatch)) == 3


def test_entries_made_with_other_defaults_count_as_none(store, monkeypatch):
    finished_runs(store)
    path = index.place(store)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"defaults": "another"}))
    assert len(_opened(store, monkeypatch)) == 3
