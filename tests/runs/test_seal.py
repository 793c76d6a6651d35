"""Stored records vouch for themselves: whatever is changed is noticed, named in a line and left out."""

from __future__ import annotations

import json
import os
import random
import shutil
from functools import partial
from pathlib import Path

import pytest
from nightly import NIGHTLY
from safetensors.torch import load_file, save_file
from stored import accuracies, stored_run

from artifact.__main__ import main
from artifact.base import files, paths
from artifact.base.errors import UserError
from artifact.base.files import read_file
from artifact.runs import archive, seal, store_command
from artifact.runs import store as store_module
from artifact.runs.archive import finished
from artifact.runs.lookup import find_run, finished_runs
from artifact.runs.store import CURVATURE, PARTS, Finished, Run, finished_folders, read_checkpoint
from artifact.training import config

RESULTS = paths.ROOT / "results"
#: parts of a run that is not finished
UNSEALED = (*PARTS, "checkpoint.safetensors")
CONFIG = config.make(algorithm="fedavg", rounds=3)


@pytest.fixture
def run(tmp_path) -> Run:
    found = stored_run(tmp_path / "store", CONFIG, accuracies([0.1, 0.2, 0.3]))
    found.record_curvature({"data": 500, "trace": {"value": 30.0}})
    return found


def _noticed(path: Path) -> bool:
    """Whether the next reader of a store notices the file, or reads from it what it would have read before."""
    if (path.parent / "done").exists():
        return not any(run.intact for run in finished(path.parent.parent))
    return seal.believed(lambda: seal.read_sealed(path)) is None


def _content(path: Path):
    try:
        return seal.parsed(path.read_bytes())
    except ValueError:
        return None


def test_500_single_bytes_changed_under_results_are_noticed_or_change_nothing(tmp_path, capsys):
    draw = random.Random(35)
    files = sorted(path for path in RESULTS.rglob("*") if path.is_file() and path.suffix != ".safetensors")
    same = 0
    for number in range(500):
        path = draw.choice(files)
        place = tmp_path / str(number) / path.relative_to(RESULTS).parent
        shutil.copytree(path.parent, place) if (path.parent / "done").exists() else place.mkdir(parents=True)
        copy = Path(shutil.copy(path, place))
        data, before = bytearray(copy.read_bytes()), _content(copy)
        at = draw.randrange(len(data))
        data[at] ^= draw.randrange(1, 256)
        copy.write_bytes(data)
        if not _noticed(copy):
            same += 1
            assert path.name not in PARTS and _content(copy) == before, (path, at)
        shutil.rmtree(tmp_path / str(number))
    assert same < 100, "most bytes are no white space"
    assert all(line.startswith("left out: ") for line in capsys.readouterr().err.splitlines())


#: of so many runs in the archive one is read; all of them at night. Digests of whole files are in test_archive.py.
EACH = 1 if NIGHTLY else 20


def test_records_under_results_are_as_they_were_sealed():
    """``fedsharp store verify`` reads all of them, in three quarters of a minute."""
    for path in archive.files(RESULTS):
        place = archive.readable(path)
        for row in range(0, len(place.rows), EACH):
            assert archive.Archived(RESULTS, place.rows[row]["key"], place, row).checked()
    for folder in finished_folders(RESULTS):
        assert store_command.fault(Finished(RESULTS, folder.name)) is None, folder
    sealed = store_command.sealed_files(RESULTS)
    assert sealed and [path for path in sealed if seal.believed(partial(seal.read_sealed, path)) is None] == []


@pytest.mark.parametrize("name", [*PARTS, "done", CURVATURE])
def test_a_changed_part_is_named_and_left_out_and_one_bit_is_mended(name, run, capsys):
    store, path = run.folder.parent, run.folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[:20] + bytes([whole[20] ^ 4]) + whole[21:])
    assert find_run(CONFIG, finished_runs(store)) is None
    error = capsys.readouterr().err
    assert error.startswith(f"left out: {path.stem}: ") and str(path) in error and len(error.splitlines()) == 1
    assert main(["store", "verify", "--out", str(store)]) == 1
    assert str(path) in capsys.readouterr().out
    assert main(["store", "repair", "--out", str(store)]) == 0
    assert path.read_bytes() == whole and main(["store", "verify", "--out", str(store)]) == 0
    path.write_bytes(b"\n" + bytes(9) + whole[10:])
    assert main(["store", "repair", "--out", str(store)]) == 1
    assert f"make again: {run.folder}: " in capsys.readouterr().out
    path.unlink()
    if name not in ("done", CURVATURE):  # without its mark a run has not ended; without the other it was not measured
        assert find_run(CONFIG, finished_runs(store)) is None


@pytest.mark.parametrize("name", [*PARTS, "done", CURVATURE])
def test_a_process_reads_a_record_once_and_again_when_it_was_changed(name, run, monkeypatch):
    monkeypatch.setattr(files, "SETTLED", -1)
    read, store = [], run.folder.parent
    monkeypatch.setattr(
        store_module, "read_file", lambda path, **how: (read.append(path.name), read_file(path, **how))[1]
    )
    held = [find_run(CONFIG, finished_runs(store)) for _ in range(3)]
    assert held[0] is not held[1] and held[0].metrics() is held[2].metrics()
    assert sorted(read) == sorted(PARTS)
    path = run.folder / name
    seen, whole = os.stat(path), path.read_bytes()
    path.write_bytes(whole[:20] + bytes([whole[20] ^ 4]) + whole[21:])
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert find_run(CONFIG, finished_runs(store)) is None


def test_a_record_under_another_key_is_noticed(run, capsys):
    run.folder.rename(run.folder.parent / "0123456789abcdef")
    assert find_run(CONFIG, finished_runs(run.folder.parent)) is None
    assert "the config of 0123456789abcdef" in capsys.readouterr().err


def test_a_config_that_was_sealed_again_does_not_fit_its_key(run, capsys):
    content = json.loads(run.config_file.read_text())
    run.config_file.write_text(json.dumps(content | {"seed": 9}))
    run.finish(3)
    assert find_run(CONFIG.model_copy(update={"seed": 9}), finished_runs(run.folder.parent)) is None
    assert f"the config of {run.key}, not of" in capsys.readouterr().err


def test_unsealed_records_are_sealed_once_by_a_command(run, capsys):
    store = run.folder.parent
    run.done_file.write_text('{"rounds": 3}\n')
    (run.folder / CURVATURE).write_text('{"data": 500, "trace": {"value": 30.0}}\n')
    assert find_run(CONFIG, finished_runs(store)) is None
    assert "a sealed file; `python -m fedsharp store seal`" in capsys.readouterr().err
    assert main(["store", "seal", "--out", str(store)]) == 0
    assert "2 sealed, 0 sealed before, 0 refused" in capsys.readouterr().out
    found = find_run(CONFIG, finished_runs(store))
    assert found is not None and found.curvature()["trace"] == {"value": 30.0}
    run.done_file.write_text('{"rounds": 4}\n')
    assert main(["store", "seal", "--out", str(store)]) == 1
    assert run.done_file.read_text() == '{"rounds": 4}\n', "what does not pass its checks stays as it was"


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _deep(path: Path) -> None:
    path.write_bytes(b"[" * 100_000)


@pytest.mark.parametrize("make", [_fifo, _loop, Path.mkdir, _deep, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", [*PARTS, "done", CURVATURE])
def test_what_is_no_regular_file_is_named_and_hangs_nothing(name, make, run, capsys):
    (run.folder / name).unlink()
    make(run.folder / name)
    assert find_run(CONFIG, finished_runs(run.folder.parent)) is None
    assert capsys.readouterr().err.startswith("left out: ")


def test_a_changed_tensor_is_noticed(tmp_path, capsys):
    words = (
        "run --algorithm fedavg --model mlp-8 --clients 2 --cohort 2 --train-size 40 --test-size 20 --rounds 1 --quiet"
    )
    assert main([*words.split(), "--out", str(tmp_path)]) == 0
    (run,) = finished(tmp_path)
    tensors, metadata = read_checkpoint(run.checkpoint_file)
    whole = {name: tensor.clone() for name, tensor in tensors.items()}  # not in the file that is changed now
    with open(run.checkpoint_file, "rb+") as file:
        file.seek(-3, os.SEEK_END)
        byte = file.read(1)
        file.seek(-3, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(UserError, match=r"^checkpoint: .* was changed since"):
        read_checkpoint(run.checkpoint_file)
    save_file(load_file(run.checkpoint_file), run.checkpoint_file, metadata=metadata)  # as older versions wrote them
    with pytest.raises(UserError, match=r"^checkpoint: .*the model as it was sealed"):
        Finished(tmp_path, run.key).model()
    save_file(whole, run.checkpoint_file, metadata=metadata)
    assert Finished(tmp_path, run.key).model()[1] == metadata
    assert main(["store", "verify", "--out", str(tmp_path)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("environment.json", "[]"),
        ("config.json", None),
        ("config.json", "{"),
        ("timings.jsonl", '{"round": 1}\n'),
        ("metrics.jsonl", '{"round": 1, "cohort": 2}\n'),
        *((name, Path("/dev/zero")) for name in UNSEALED),
        *((name, Path("/")) for name in UNSEALED),
    ],
)
def test_an_unfinished_run_with_a_damaged_part_is_refused_before_it_goes_on(name, text, tmp_path, capsys):
    words = (
        "run --algorithm fedavg --model mlp-8 --clients 2 --cohort 2 --train-size 40 --test-size 20 --rounds 1 --quiet"
    )
    words = [*words.split(), "--resume", "--out", str(tmp_path)]
    assert main(words) == 0
    (run,) = finished(tmp_path)
    run.done_file.unlink()
    path = run.folder / name
    if isinstance(text, Path):
        path.unlink()
        path.mkdir() if text.is_dir() else path.symlink_to(text)
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"seed": 9}) if text is None else text)
    capsys.readouterr()
    assert main(words) == 2
    assert "delete the folder" in capsys.readouterr().err and not run.done_file.exists()


def test_the_same_checkpoint_has_the_same_bytes(tmp_path, capsys):
    words = (
        "run --algorithm fedsmoo --model mlp-8 --clients 2 --cohort 2 --train-size 40 --test-size 20 --rounds 1 --quiet"
    )
    contents = set()
    for number in range(3):
        assert main([*words.split(), "--out", str(tmp_path / str(number))]) == 0
        (run,) = finished(tmp_path / str(number))
        contents.add(run.checkpoint_file.read_bytes())
    assert len(contents) == 1
    capsys.readouterr()
