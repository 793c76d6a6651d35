"""Runs in an archive: nothing is lost on the way in and out, and no changed byte passes unseen."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import accuracies, stored_run

from artifact.__main__ import main
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.runs import archive, columns, croissant
from artifact.runs.archive import Archived, finished, open_run, pack, unpack
from artifact.runs.lookup import find_run, finished_runs
from artifact.runs.seal import _told, seal
from artifact.runs.session import execute
from artifact.runs.store import CURVATURE, PARTS, Run
from artifact.runs.stored_model import find
from artifact.training import config

pl = pytest.importorskip("polars")
RESULTS = paths.ROOT / "results"
#: rounds of the small runs
ROUNDS = 4


def run_of(root: Path, seed: int, **values: object) -> Run:
    """A small finished run; its accuracies are a function of the seed."""
    made = config.make(algorithm="fedavg", rounds=ROUNDS, seed=seed, **values)
    lines = [
        {"lr": 0.1 * 0.5**t, "update_norm": None if t == 2 else 1 / (t + 3)} | line
        for t, line in enumerate(accuracies([0.1 + seed / 7, 0.2, 0.3, 0.1 + 0.2]))
    ]
    return stored_run(root, made, lines, seconds=1 / 3)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for seed in range(3):
        run_of(tmp_path, seed)
    Run(tmp_path, next(finished(tmp_path)).key).record_curvature({"data": 20, "trace": {"value": 30.0, "samples": 7}})
    return tmp_path


def contents(root: Path) -> dict[str, bytes]:
    """Path in a store -> content of every file of its loose runs."""
    found = (path for path in root.rglob("*") if path.is_file() and path.parent.name != archive.FOLDER)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def packed(root: Path, name: str = "table") -> dict[str, int]:
    return pack(root, {folder.name: name for folder in archive.finished_folders(root)})


# ---- there and back --------------------------------------------------------------------------------------------------

NAMES = st.text("ab.", min_size=1, max_size=3)
NUMBERS = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = NUMBERS | st.text(max_size=3) | st.lists(st.text(max_size=2) | st.integers(0, 2), max_size=2)
DOCUMENTS = st.dictionaries(NAMES, LEAVES | st.dictionaries(NAMES, LEAVES | st.dictionaries(NAMES, LEAVES)), max_size=4)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(DOCUMENTS, DOCUMENTS, st.lists(DOCUMENTS, max_size=3)), min_size=1, max_size=3))
def test_whatever_a_record_holds_columns_give_it_back(documents):
    records = [
        columns.Record(
            key=f"{number}",
            config=own,
            environment=environment,
            mark=seal({"parts": {"config.json": "c", "model": "m"}, "rounds": len(lines)}),
            curvature=environment,
            metrics=lines,
            seconds=[0.1 + t for t in range(len(lines))],
        )
        for number, (own, environment, lines) in enumerate(documents)
    ]
    place = archive.Shelf(Path("x"), archive._bytes(columns.table(records)), False)
    for row, record in enumerate(records):
        run = Archived(Path("x"), record.key, place, row)
        assert columns.text(run.config()) == columns.text(record.config)
        assert columns.text(run.environment()) == columns.text(record.environment)
        assert columns.text(run._sealed_curvature()) == columns.text(record.curvature)
        assert json.dumps(columns.mark_of(place.rows[row])) == json.dumps(record.mark)
        assert [columns.text(line) for line in run.metrics()] == [columns.text(line) for line in record.metrics]
        assert run.round_seconds() == list(record.seconds)


def test_packing_and_unpacking_change_no_byte(store):
    before = contents(store)
    assert packed(store) == {"table": 3}
    assert contents(store) == {}
    assert sorted(path.name for path in (store / archive.FOLDER).iterdir()) == ["croissant.json", "table.parquet"]
    assert unpack(store, ["table"]) == 3
    assert contents(store) == before
    assert not (store / archive.FOLDER).exists()


def test_archived_runs_read_like_loose_ones(store):
    def read(run):
        return (
            run.key,
            run.config(),
            run.environment(),
            run.curvature(),
            run.metrics(),
            run.round_seconds(),
            run.seconds(),
            run.mark(),
            run.diverged,
            [run.series(name) for name in ("server.accuracy", "server.client_sd", "server.missing")],
            [run.part(name) for name in PARTS],
            run.intact,
        )

    loose = [read(run) for run in finished(store)]
    packed(store)
    runs = list(finished(store))
    assert all(isinstance(run, Archived) for run in runs)
    assert [read(run) for run in runs] == loose
    assert all(run.checked() for run in runs)


def test_a_diverged_run_stays_one(tmp_path):
    made = config.make(algorithm="fedavg", rounds=ROUNDS)
    lines = [*accuracies([0.5]), {"round": 2, "diverged": True}]
    stored_run(tmp_path, made, lines)
    run_of(tmp_path, 5)
    packed(tmp_path)
    assert {run.config()["seed"]: run.diverged for run in finished(tmp_path)} == {0: True, 5: False}


def test_a_store_may_hold_both(store):
    keys = [run.key for run in finished(store)]
    pack(store, {keys[1]: "one"})
    assert [run.key for run in finished(store)] == keys
    found = finished_runs(store)
    made = [config.make(algorithm="fedavg", rounds=ROUNDS, seed=seed) for seed in range(3)]
    assert sorted(find_run(one, found).key for one in made) == keys


def test_folders_may_stay_beside_the_archive(store):
    before = contents(store)
    chosen = {folder.name: "table" for folder in archive.finished_folders(store)}
    assert pack(store, chosen, keep=True) == {"table": 3}
    data = archive.files(store)[0].read_bytes()
    assert contents(store) == before
    assert all(isinstance(run, Archived) for run in finished(store))
    one, other = sorted(chosen)[1:]
    Run(store, one).record_curvature({"data": 3, "trace": {"value": 1.5}})
    assert {run.key: isinstance(run, Archived) for run in finished(store)}[one] is False
    assert open_run(store, one).curvature()["data"] == 3
    assert pack(store, {key: "table" for key in chosen if key != one}) == {"table": 2}
    assert archive.files(store)[0].read_bytes() == data
    assert {name.partition("/")[0] for name in contents(store)} == {one}
    assert packed(store) == {"table": 1}
    assert open_run(store, one).curvature()["data"] == 3
    assert open_run(store, other).intact


def test_files_from_another_store_are_checked_and_described(store, tmp_path_factory):
    packed(store, "a")
    other = tmp_path_factory.mktemp("other")
    run_of(other, 9)
    packed(other, "b")
    shutil.copy(archive.files(other)[0], store / archive.FOLDER)
    assert len(list(finished(store))) == 4
    assert not all(archive.shelf(path).vouched for path in archive.files(store))
    assert pack(store, {}) == {}
    assert all(archive.shelf(path).vouched for path in archive.files(store))


def test_an_update_touches_one_file(store):
    keys = [run.key for run in finished(store)]
    pack(store, dict(zip(keys, "aab", strict=True)))
    folder = store / archive.FOLDER
    before = (folder / "b.parquet").read_bytes()
    new = run_of(store, 9)
    assert pack(store, {new.key: "a"}) == {"a": 1}
    assert (folder / "b.parquet").read_bytes() == before
    assert len(list(finished(store))) == 4


# ---- work on archived runs -------------------------------------------------------------------------------------------


def test_a_run_in_the_archive_is_not_trained_again(tmp_path):
    made = config.make(algorithm="fedavg", dataset="digits", rounds=2, train_size=100, test_size=50)
    first = execute(made, tmp_path, quiet=True)
    loose = contents(tmp_path)
    packed(tmp_path)
    assert list(contents(tmp_path)) == [f"{first.run.key}/checkpoint.safetensors"]
    again = execute(made, tmp_path, quiet=True)
    assert again.found
    assert again.summary == first.summary
    path, run = find(first.run.key, tmp_path)
    assert path == tmp_path / first.run.key / "checkpoint.safetensors"
    assert run.model()[1]["round"] == "2"
    unpack(tmp_path, ["table"])
    assert contents(tmp_path) == loose


def test_a_measurement_takes_a_run_out_and_packing_puts_it_back(store):
    before = contents(store)
    packed(store)
    key = min(run.key for run in finished(store) if not run.curvature())
    open_run(store, key).record_curvature({"data": 11, "trace": {"value": 2.5}})
    assert open_run(store, key).curvature() == {"data": 11, "trace": {"value": 2.5}}
    assert {run.key for run in finished(store) if not isinstance(run, Archived)} == {key}
    assert packed(store, "elsewhere") == {"table": 1}
    assert open_run(store, key).curvature() == {"data": 11, "trace": {"value": 2.5}}
    unpack(store, ["table"])
    after = contents(store)
    assert set(after) - set(before) == {f"{key}/{CURVATURE}"}
    assert {name: after[name] for name in before} == before


# ---- damage ----------------------------------------------------------------------------------------------------------


def _numbers(root: Path) -> dict[str, list]:
    return {run.key: run.metrics() for run in finished(root) if run.intact}


def test_a_changed_byte_is_noticed_wherever_it_is(store, capfd):
    packed(store)
    whole = _numbers(store)
    path = store / archive.FOLDER / "table.parquet"
    data = path.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 40)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        _told.clear()
        found = _numbers(store)
        told = [line for line in capfd.readouterr().err.splitlines() if "left out" in line]
        assert found.items() <= whole.items()
        assert found == whole or told
        assert main(["store", "verify", "--out", str(store)]) == (0 if found == whole else 1)
        capfd.readouterr()
    path.write_bytes(data)
    assert _numbers(store) == whole


def test_a_damaged_folder_beside_the_archive_is_named(store, capfd):
    pack(store, {folder.name: "table" for folder in archive.finished_folders(store)}, keep=True)
    run = Run(store, min(run.key for run in finished(store)))
    run.done_file.write_text("{}")
    assert run.key not in _numbers(store)
    assert run.key in capfd.readouterr().err


def test_a_changed_number_costs_its_run_alone(store, capfd):
    packed(store)
    path = store / archive.FOLDER / "table.parquet"
    frame = pl.read_parquet(path)
    lists = frame["round.server.accuracy"].to_list()
    lists[1][2] = math.nextafter(lists[1][2], 1)
    frame.with_columns(pl.Series("round.server.accuracy", lists)).write_parquet(path)
    assert sorted(_numbers(store)) == sorted(frame["key"][row] for row in (0, 2))
    (line,) = capfd.readouterr().err.splitlines()
    assert frame["key"][1] in line
    assert "metrics.jsonl was changed" in line


def test_a_file_that_is_no_table_is_named_once(store, capfd):
    packed(store)
    (store / archive.FOLDER / "other.parquet").write_text("no table")
    assert len(_numbers(store)) == 3
    (line,) = capfd.readouterr().err.splitlines()
    assert "other.parquet" in line


def test_a_run_that_columns_would_not_give_back_stays_loose(store):
    run = next(finished(store))
    text = run.config_file.read_text()
    run.config_file.write_text(text.replace('"algorithm": ', '"algorithm":  '))
    Run(store, run.key).finish(ROUNDS)
    told: list[str] = []
    assert pack(store, {one.key: "t" for one in finished(store)}, told.append) == {"t": 2}
    (line,) = told
    assert f"{run.key}/config.json" in line
    assert run.done_file.exists()


def test_a_changed_run_is_not_packed(store):
    run = next(finished(store))
    run.metrics_file.write_bytes(run.metrics_file.read_bytes().replace(b"0.2", b"0.9"))
    told: list[str] = []
    assert pack(store, {folder.name: "t" for folder in archive.finished_folders(store)}, told.append) == {"t": 2}
    assert "changed since" in told[0]


@pytest.mark.parametrize("stops", range(9))
def test_packing_that_is_killed_loses_nothing(store, monkeypatch, stops):
    """The process ends before the file is written, before its digest is, and after so many removed files."""
    before = contents(store)
    unlink, write, count = Path.unlink, croissant.write, [0]

    def killed(path, **options):
        if path.name in (*PARTS, CURVATURE, "done"):
            count[0] += 1
            if count[0] > stops - 2:
                raise KeyboardInterrupt
        unlink(path, **options)

    def unwritten(folder):
        if stops == 1:
            raise KeyboardInterrupt
        write(folder)

    def table(records):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        patch.setattr(croissant, "write", unwritten)
        if stops == 0:
            patch.setattr(columns, "table", table)
        with pytest.raises(KeyboardInterrupt):
            packed(store)
    assert len(_numbers(store)) == 3
    assert list(archive.unfinished(store)) == []
    packed(store)
    assert len(_numbers(store)) == 3
    for path in (store / archive.FOLDER).glob("*.parquet"):
        unpack(store, [path.stem])
    assert contents(store) == before


def test_one_process_at_a_time_changes_an_archive(store):
    (store / archive.FOLDER).mkdir()
    with archive._alone(store / archive.FOLDER), pytest.raises(UserError, match="no other process"):
        packed(store)


# ---- commands and metadata -------------------------------------------------------------------------------------------


def test_the_command_packs_by_tables_and_says_what_it_did(store, capsys):
    assert main(["store", "pack", "--out", str(store)]) == 0
    assert "3 runs packed, 0 left loose" in capsys.readouterr().out
    assert [path.stem for path in archive.files(store)] == [archive.OTHERS]
    assert main(["store", "verify", "--out", str(store)]) == 0
    assert main(["store", "unpack", "--table", "others", "--out", str(store)]) == 0
    assert "3 runs unpacked" in capsys.readouterr().out
    assert main(["store", "pack", "--table", "nothing", "--out", str(store)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_every_column_is_described(store):
    packed(store)
    (path,) = archive.files(store)
    document = json.loads((path.parent / croissant.FILE).read_text())
    fields = {field["name"]: field for field in document["recordSet"][0]["field"]}
    assert list(fields) == list(pl.read_parquet_schema(path))
    assert all(field["description"] for field in fields.values())
    assert fields["round.server.accuracy"]["dataType"] == "sc:Float"
    assert fields["round.server.accuracy"]["repeated"]
    assert document["distribution"][0]["sha256"] == archive.digest(path.read_bytes())


# ---- the repository's own runs ---------------------------------------------------------------------------------------

FILES = archive.files(RESULTS)


def test_the_repository_describes_its_archive():
    assert {path.name: archive.digest(path.read_bytes()) for path in FILES} == {
        name: found for name, found in croissant.digests(RESULTS / archive.FOLDER).items() if name.endswith(".parquet")
    }
    document = json.loads((RESULTS / archive.FOLDER / croissant.FILE).read_text())
    assert [field["name"] for field in document["recordSet"][0]["field"] if not field["description"]] == []
