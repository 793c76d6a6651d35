"""Faults for real: processes killed at random moments, Ctrl-C, full disks, read-only folders, damaged files."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from stored import mark

from artifact import algorithms
from artifact.__main__ import main
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.interface.added import register_file
from artifact.papers.figures import surfaces
from artifact.runs import session
from artifact.runs.store import Run, read_checkpoint
from artifact.runs.sweep.workers import Data, Settings, perform
from artifact.training import config, trainer
from artifact.training.trainer import Trainer

ROOT = paths.ROOT
ROUNDS = 400
LINE = (
    "run --algorithm fedsmoo --model mlp-16 --clients 6 --cohort 3 --train-size 200 --test-size 60 --batch-size 16 "
    f"--local-steps 2 --split dirichlet:0.5 --evaluate server,all --rounds {ROUNDS} --quiet"
)
PATIENCE = 600.0  # seconds until a process that makes no progress fails its test; a starved machine needs many


def _config(**changes) -> config.RunConfig:
    values = {"algorithm": "scaffold", "model": "mlp-64", "clients": 20, "cohort": 4, "rounds": 6, "local_steps": 2}
    return config.make(**(values | changes))


def _leave(words: list[str]) -> None:
    """What a child process does: one command line."""
    sys.exit(main(words))


def _start(words: list[str]) -> multiprocessing.Process:
    """A process that runs a command line; the server that it is forked from has imported the program already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["artifact.__main__", "artifact.cli", "artifact.runs.command"])
    process = context.Process(target=_leave, args=(words,), daemon=True)
    process.start()
    return process


def _rounds(out: Path) -> int:
    """Rounds that the metrics of the only run under ``out`` hold."""
    return sum(path.read_bytes().count(b"\n") for path in out.glob("*/metrics.jsonl"))


def _wait_for_rounds(process: multiprocessing.Process, out: Path, number: int) -> None:
    """Return when the run holds that many rounds or its process has ended."""
    end = time.monotonic() + PATIENCE
    while _rounds(out) < number and process.is_alive():
        assert time.monotonic() < end, f"{_rounds(out)} of {number} rounds after {PATIENCE} s"
        time.sleep(0.005)


def _kill_at_a_random_moment(words: list[str], out: Path, rng: np.random.Generator) -> bool:
    """Start or resume the run and kill it; True when the signal found it alive and in mid-run."""
    process = _start(words)
    _wait_for_rounds(process, out, _rounds(out) + int(rng.integers(1, 20)))
    time.sleep(rng.uniform(0, 0.03))
    os.kill(process.pid, signal.SIGKILL)
    process.join(PATIENCE)
    return process.exitcode == -signal.SIGKILL and 0 < _rounds(out) < ROUNDS and not list(out.glob("*/done"))


def _only(out: Path) -> Path:
    (folder,) = out.iterdir()
    return folder


def _assert_same_run(first: Path, second: Path) -> None:
    """Bit-identical numbers, and nothing but a finished run's files."""
    assert sorted(path.name for path in second.iterdir()) == sorted(path.name for path in first.iterdir())
    assert (first / "metrics.jsonl").read_bytes() == (second / "metrics.jsonl").read_bytes()
    assert mark(first) == mark(second)
    tensors = [load_file(folder / "checkpoint.safetensors") for folder in (first, second)]
    assert tensors[0].keys() == tensors[1].keys()
    for name, tensor in tensors[0].items():
        assert tensor.numpy().tobytes() == tensors[1][name].numpy().tobytes(), name


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    """The run of ``LINE`` without any fault."""
    out = tmp_path_factory.mktemp("undisturbed")
    assert main([*LINE.split(), "--out", str(out)]) == 0
    return _only(out)


def test_ten_kills_and_the_same_bits(undisturbed, tmp_path, capsys):
    """SIGKILL at ten random moments; checkpoints come after every round or every few, so that work is lost and redone.

    Killed moments include the writing of checkpoints: their temporary files must not stay.
    """
    rng = np.random.default_rng(0)
    words = [*LINE.split(), "--out", str(tmp_path), "--resume", "--checkpoint-seconds"]
    hits = [_kill_at_a_random_moment([*words, pause], tmp_path, rng) for pause in ("0", "0.05") * 5]
    assert sum(hits) >= 7, f"only {sum(hits)} of {len(hits)} kills hit a run at work"
    assert main([*words, "0.05"]) == 0
    _assert_same_run(undisturbed, _only(tmp_path))
    capsys.readouterr()


@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM"])
def test_interruption_leaves_a_checkpoint(signal_name, undisturbed, tmp_path, capsys):
    """With the default pause of twenty seconds, the checkpoint can only come from the interruption."""
    process = _start([*LINE.split(), "--out", str(tmp_path), "--checkpoint-seconds", "3600"])
    _wait_for_rounds(process, tmp_path, 5)
    os.kill(process.pid, getattr(signal, signal_name))
    process.join(PATIENCE)
    assert process.exitcode == 130
    run = Run(tmp_path, _only(tmp_path).name)
    completed = int(read_checkpoint(run.checkpoint_file)[1]["round"])
    assert 5 <= completed == len(run.metrics()) < ROUNDS
    assert not run.done
    assert main([*LINE.split(), "--out", str(tmp_path), "--resume"]) == 0
    _assert_same_run(undisturbed, run.folder)
    capsys.readouterr()


class _CtrlC:
    """Interrupts the import of the command line."""

    def find_spec(self, name, *_):
        if name == "artifact.cli":
            raise KeyboardInterrupt


@pytest.mark.parametrize(("command", "goes_on"), [("run", True), ("table", False)])
def test_an_interrupted_import_ends_in_one_line(command, goes_on, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "artifact.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_CtrlC(), *sys.meta_path])
    assert main([command]) == 130
    error = capsys.readouterr().err
    assert error.startswith("interrupted") and len(error.splitlines()) == 1
    assert ("--resume" in error) == goes_on, "only run has that option"


def _terminate_when_diverged(_trainer, metrics) -> None:
    if "diverged" in metrics:
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_diverged_run_ends_there_also_when_interrupted(tmp_path):
    """By a signal in its last round, or by a kill between its last checkpoint and its mark."""
    ours = _config(lr=1e30, train_size=200, test_size=60)
    expected = session.execute(ours, tmp_path / "undisturbed")
    assert expected.summary["diverged"] and expected.summary["rounds"] < 6
    run = session.execute(ours, tmp_path / "disturbed", after_round=_terminate_when_diverged).run
    _assert_same_run(expected.run.folder, run.folder)
    run.done_file.unlink()
    session.execute(ours, tmp_path / "disturbed")
    _assert_same_run(expected.run.folder, run.folder)


def test_second_process_on_a_run_is_refused(undisturbed, tmp_path, capsys):
    words = [*LINE.split(), "--out", str(tmp_path), "--resume", "--checkpoint-seconds", "0"]
    first = _start(words)
    _wait_for_rounds(first, tmp_path, 2)
    os.kill(first.pid, signal.SIGSTOP)  # so that it cannot finish meanwhile
    try:
        code, error = main(words), capsys.readouterr().err
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert code == 2
    assert error.startswith("error: run:") and "no other process" in error and len(error.splitlines()) == 1
    first.join(PATIENCE)
    assert first.exitcode == 0
    _assert_same_run(undisturbed, _only(tmp_path))


def _perform_all(store: Path, barrier, results) -> None:
    """What one of two processes does: new runs of a second, each begun at the same moment as by the other."""
    settings, load = Settings(store), Data(None)
    for seed in range(40):
        barrier.wait(PATIENCE)
        results.put((seed, *perform(_config(seed=seed, rounds=1, train_size=200, test_size=60), settings, load, _idle)))


def _idle(_trainer, _metrics) -> None:
    """Nothing after a round."""


def test_two_processes_may_start_the_same_new_run(tmp_path):
    """One makes it; the other finds it or is told that it is being made."""
    context = multiprocessing.get_context("forkserver")
    barrier, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_perform_all, args=(tmp_path, barrier, results), daemon=True) for _ in "ab"]
    for process in processes:
        process.start()
    kinds: dict[int, list[str]] = {}
    for _ in range(80):
        seed, kind, text = results.get(timeout=PATIENCE)
        assert kind != "failed", text
        kinds.setdefault(seed, []).append(kind)
    assert all(pair.count("trained") == 1 for pair in kinds.values()), kinds
    for process in processes:
        process.join(PATIENCE)
    assert len(list(tmp_path.glob("*/done"))) == 40 and not list(tmp_path.glob("*/.*"))


def test_a_run_that_another_process_ends_meanwhile_is_found(tmp_path, monkeypatch):
    """It ends while this process builds its trainer; its checkpoint then holds the model alone."""
    build, settings, load = trainer.Trainer, Settings(tmp_path), Data(None)
    ours = _config(rounds=1, train_size=200, test_size=60)

    def slow(*arguments):
        monkeypatch.setattr(trainer, "Trainer", build)
        assert perform(ours, settings, load, _idle) == ("trained", "")
        return build(*arguments)

    monkeypatch.setattr(trainer, "Trainer", slow)
    assert perform(ours, settings, load, _idle) == ("found", "")


def test_a_sweep_shrinks_checkpoints_with_the_lock_held(tmp_path, monkeypatch):
    """Otherwise a process that takes the lock just then restores a checkpoint without its clients' rows."""
    locked, shrink = [], Run.slim

    def slim(run: Run) -> None:
        locked.append((run.folder / ".lock").exists())
        shrink(run)

    monkeypatch.setattr(Run, "slim", slim)
    perform(_config(rounds=1, train_size=200, test_size=60), Settings(tmp_path), Data(None), _idle)
    assert locked == [True]


# ---- damaged files ---------------------------------------------------------------------------------------------------


class _Stopped(Exception):
    """Ends a run from inside, as a kill would: no checkpoint, no mark."""


def _stop_after(rounds: int):
    def after_round(trainer, metrics):
        if trainer.completed == rounds:
            raise _Stopped

    return after_round


def test_truncated_checkpoint_is_one_line(tmp_path):
    run = session.execute(_config(), tmp_path).run
    whole = run.checkpoint_file.read_bytes()
    run.done_file.unlink()
    for length in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        run.checkpoint_file.write_bytes(whole[:length])
        with pytest.raises(UserError, match="intact safetensors file") as caught:
            session.execute(_config(), tmp_path)
        assert "\n" not in str(caught.value) and str(run.checkpoint_file) in str(caught.value)
        assert str(caught.value).endswith(f"; delete the folder {run.folder} to make the run from its start")
        assert run.checkpoint_file.read_bytes() == whole[:length] and not run.done
    run.checkpoint_file.write_bytes(whole)
    assert session.execute(_config(), tmp_path).summary["rounds"] == 6


def test_half_written_metrics_line_is_dropped(tmp_path):
    expected = session.execute(_config(), tmp_path / "undisturbed").run
    with pytest.raises(_Stopped):
        session.execute(_config(), tmp_path, after_round=_stop_after(4), checkpoint_seconds=0)
    run = Run(tmp_path, expected.key)
    assert read_checkpoint(run.checkpoint_file)[1]["round"] == "3"
    with open(run.metrics_file, "a", encoding="utf-8") as file:
        file.write('{"round": 5, "server": {"accur')
    assert [line["round"] for line in run.metrics()] == [1, 2, 3, 4]
    session.execute(_config(), tmp_path)
    _assert_same_run(expected.folder, run.folder)


@pytest.mark.parametrize("name", ["metrics", "timings"])
def test_records_behind_the_checkpoint_are_refused(name, tmp_path):
    """What a power loss can leave where the checkpoint reached the disk and the lines before it did not."""
    with pytest.raises(_Stopped):
        session.execute(_config(), tmp_path, after_round=_stop_after(5), checkpoint_seconds=0)
    path = _only(tmp_path) / f"{name}.jsonl"
    first, second, third, *rest = whole = path.read_bytes().splitlines(keepends=True)
    assert len(whole) == 5, "the checkpoint is one round behind"
    damages = {
        "cut": [first, second, third[:9]],
        "gap": [first, second, *rest],
        "twice": [first, first, *whole],
        "zeros": [first, second, third, bytes(40) + b"\n"],
        "empty": [],
    }
    for damage, lines in damages.items():
        path.write_bytes(b"".join(lines))
        with pytest.raises(UserError, match=rf"^{name}: .*{name}\.jsonl.*4 rounds.*delete the folder") as caught:
            session.execute(_config(), tmp_path)
        assert "\n" not in str(caught.value)
        assert path.read_bytes() == b"".join(lines), damage
        assert not (path.parent / "done").exists()
    path.write_bytes(b"".join(whole))
    assert session.execute(_config(), tmp_path).summary["rounds"] == 6


def test_records_reach_the_disk_before_the_checkpoint(tmp_path, monkeypatch):
    """Once per checkpoint, not per round."""
    synced, fsync = [], os.fsync

    def note(descriptor):
        synced.append(re.sub(r"^\.|\.[^.]*\.tmp$", "", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    session.execute(_config(), tmp_path)
    assert synced[-4:] == ["metrics.jsonl", "timings.jsonl", "checkpoint.safetensors", "done"]
    assert synced.count("metrics.jsonl") == 1


def test_temporary_files_of_a_killed_process_are_removed(tmp_path):
    with pytest.raises(_Stopped):
        session.execute(_config(), tmp_path, after_round=_stop_after(4), checkpoint_seconds=0)
    folder = next(path for path in tmp_path.iterdir() if path.is_dir())
    leftovers = [folder / ".checkpoint.safetensors.abc123.tmp", folder / ".tmpMV4Qth"]
    for leftover in leftovers:
        leftover.write_bytes(b"half a checkpoint")
    session.execute(_config(), tmp_path)
    assert not any(leftover.exists() for leftover in leftovers)


SMALL = "run --algorithm fedsam --model mlp-8 --clients 4 --cohort 2 --train-size 80 --test-size 40 --rounds 2 --quiet"


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A store with the finished run of ``SMALL``."""
    store = tmp_path_factory.mktemp("small")
    assert main([*SMALL.split(), "--out", str(store)]) == 0
    return store


RECORDS = {"metrics.jsonl": b'{"round": 1}\n', "timings.jsonl": b'{"round": 1, "seconds": 1.0}\n'}
HUGE = 10**400  # more than a float holds
DAMAGES = [("config.json", damage) for damage in (b"{", b"", b"[]", b"{}", b"\xff\xfe{}")]
DAMAGES += [("metrics.jsonl", damage) for damage in (b"x\n", b"\xff\n", b"[]\n", b"{}\n", bytes(9) + b"\n")]
DAMAGES += [("timings.jsonl", damage) for damage in (b"x\n", b'{"round": 2}\n', b'{"round": 2, "seconds": "x"}\n')]
DAMAGES += [("timings.jsonl", b'{"round": 2, "seconds": %d}\n' % HUGE), ("metrics.jsonl", b'{"round": %d}\n' % HUGE)]


DAMAGES += [("done", damage) for damage in (b"{", b"\xff", b"[]", b"{}", b'{"rounds": "2"}', b'{"rounds": %d}' % HUGE)]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_a_damaged_record_is_one_line(name, damage, small, tmp_path, capsys):
    """Commands that read a whole store name it and go on without it; nothing is trained in its place in silence."""
    store = shutil.copytree(small, tmp_path / "store")
    path = _only(store) / name
    path.write_bytes(RECORDS.get(name, b"") + damage)
    capsys.readouterr()
    assert main([*SMALL.split(), "--out", str(store)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path.stem}: ") and len(error.splitlines()) == 1, error
    assert str(path) in error and f"store repair --out {store}" in error
    assert main(["sweep", "qu2022/1", "--dry-run", "--out", str(store)]) == 0
    assert capsys.readouterr().err == error.replace("error: ", "left out: ")


@pytest.mark.parametrize("name", ["metrics.jsonl", "timings.jsonl"])
def test_a_finished_record_without_all_rounds_is_one_line(name, small, tmp_path):
    """Each line that is left is intact, so that only the done mark tells that rounds are missing."""
    run = Run(shutil.copytree(small, tmp_path / "store"), _only(small).name)
    first, second = (run.folder / name).read_bytes().splitlines(keepends=True)
    for left in (b"", first, second, second + first, first + second[:-1], first + first + second):
        (run.folder / name).write_bytes(left)
        run.finish(2)
        with pytest.raises(UserError, match=rf"{name}.*a line for each of the 2 rounds.*store repair"):
            session.summarise(run)


@pytest.mark.parametrize(
    "change",
    [
        {"server": 5},
        {"server": {"accuracy": "high"}},
        {"server": {"accuracy": float("nan")}},
        {"server": {}},
        {"cost": None},
        {"cost": {"up": "x"}},
        {"train": {"accuracy": None}},
        {"server": {"accuracy": 0.5, "loss": "1.0"}},
        {"server": {"accuracy": 0.5, "client_mean": None}},
        {"cost": {"up": 1.0, "down": 1.0, "full_passes": []}},
        {"update_norm": "x"},
        {"diverged": 1},
    ],
)
def test_a_finished_line_with_wrong_contents_is_one_line(change, small, tmp_path):
    run = Run(shutil.copytree(small, tmp_path / "store"), _only(small).name)
    first, second = run.metrics_file.read_text().splitlines()
    run.metrics_file.write_text(first + "\n" + json.dumps(json.loads(second) | change) + "\n")
    run.finish(2)
    with pytest.raises(UserError, match=r"^metrics: .*line 2"):
        session.summarise(run)
    run.done_file.unlink()
    with pytest.raises(UserError, match=r"^metrics: .*each of the 2 rounds"):  # an unfinished run goes on from it
        run.truncate(2)


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        "[]",
        "{}",
        '{"data": 80, "trace": 3}',
        '{"data": 80, "trace": {"value": "x"}}',
        f'{{"data": 80, "trace": {{"value": {HUGE}}}}}',
    ],
)
def test_a_damaged_record_of_curvature_is_one_line(damage, small, tmp_path, capsys):
    run = Run(shutil.copytree(small, tmp_path / "store"), _only(small).name)
    path = run.folder / "curvature.json"
    path.write_text(damage)
    assert main(["sharpness", run.key, "--record", "--out", str(run.folder.parent)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: curvature: ") and str(path) in error and len(error.splitlines()) == 1
    with pytest.raises(UserError, match=r"^curvature: "):
        run.curvature()


def test_a_damaged_end_of_an_unfinished_run_does_not_keep_others_from_being_made(small, tmp_path, capsys):
    """A power loss leaves one; the run goes on from its checkpoint, which comes before it."""
    store = shutil.copytree(small, tmp_path / "store")
    run = Run(store, _only(store).name)
    run.done_file.unlink()
    whole = run.metrics_file.read_bytes()
    run.metrics_file.write_bytes(whole + bytes(9) + b"\n")
    assert main(["sweep", "qu2022/1", "--dry-run", "--out", str(store)]) == 0
    assert len(run.metrics()) == 2
    assert main([*SMALL.split(), "--resume", "--out", str(store)]) == 0
    assert run.metrics_file.read_bytes() == whole
    capsys.readouterr()


def test_a_run_with_a_damaged_config_does_not_go_on(small, tmp_path, capsys):
    run = Run(shutil.copytree(small, tmp_path / "store"), _only(small).name)
    run.done_file.unlink()
    run.config_file.write_text("{")
    assert main([*SMALL.split(), "--resume", "--out", str(run.folder.parent)]) == 2
    assert re.match(r"error: config: .*delete the folder", capsys.readouterr().err)
    assert not run.done


@pytest.mark.parametrize(
    "metadata",
    [{"round": "x"}, {"round": "-1"}, {"round": "9" * 400}, {"round": "9" * 5000}, {"config": "x"}, {"config": "[]"}],
)
def test_metadata_that_name_no_run_are_one_line(metadata, small, tmp_path, capsys):
    store = shutil.copytree(small, tmp_path / "store")
    run = Run(store, _only(store).name)
    tensors, own = read_checkpoint(run.checkpoint_file)
    save_file(tensors, run.checkpoint_file, metadata=own | metadata)
    run.done_file.unlink()
    for words in (["sharpness", run.key], [*SMALL.split(), "--resume"]):
        assert main([*words, "--out", str(store)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: checkpoint: ") and str(run.checkpoint_file) in error
        assert len(error.splitlines()) == 1


def _rewritten(run: Run, change) -> None:
    """The run's checkpoint with its config changed."""
    tensors, metadata = read_checkpoint(run.checkpoint_file)
    own = json.dumps(change(json.loads(metadata["config"])))
    save_file(tensors, run.checkpoint_file, metadata=metadata | {"config": own})


def test_a_checkpoint_of_another_run_is_one_line(small, tmp_path, capsys):
    """Its tensors have the right shapes, so that only its metadata tell."""
    run = Run(shutil.copytree(small, tmp_path / "store"), _only(small).name)
    run.done_file.unlink()
    _rewritten(run, lambda own: own | {"seed": 1})
    for words in (["sharpness", run.key, "--parts", "top", "--k", "1"], [*SMALL.split(), "--resume"]):
        assert main([*words, "--out", str(run.folder.parent)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: checkpoint: ") and str(run.checkpoint_file) in error
        assert "seed is 1, not 0" in error and len(error.splitlines()) == 1


def test_a_checkpoint_from_before_an_option_goes_on(small, tmp_path, capsys):
    run = Run(shutil.copytree(small, tmp_path / "store"), _only(small).name)
    run.done_file.unlink()
    _rewritten(run, lambda own: {name: value for name, value in own.items() if name not in ("probes", "eval_last")})
    assert main([*SMALL.split(), "--resume", "--out", str(run.folder.parent)]) == 0
    assert run.done
    capsys.readouterr()


def _without(*names: str):
    return lambda tensors: {name: tensor for name, tensor in tensors.items() if name not in names}


def _shorter(name: str):
    return lambda tensors: tensors | {name: tensors[name][:-1].clone()}


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: {"w": tensors["w"]},  # what a sweep leaves of a finished run
        lambda tensors: _without(next(name for name in tensors if ".row." in name))(tensors),
        lambda tensors: _shorter(next(name for name in tensors if ".row." in name))(tensors),
        lambda tensors: _shorter(next(name for name in tensors if name.endswith(".index")))(tensors),
        lambda tensors: tensors | {"w": tensors["w"].double()},
        _without("w"),
        _shorter("w"),
    ],
    ids=["model alone", "no row", "short row", "short index", "type", "no model", "short model"],
)
def test_tensors_that_are_not_the_runs_are_one_line(change, tmp_path):
    ours = _config(rounds=2, train_size=200, test_size=60)
    run = session.execute(ours, tmp_path).run
    run.done_file.unlink()
    tensors, metadata = read_checkpoint(run.checkpoint_file)
    save_file(change(tensors), run.checkpoint_file, metadata=metadata)
    with pytest.raises(
        UserError, match=r"^checkpoint: .*all tensors of a run of scaffold.*delete the folder"
    ) as caught:
        session.execute(ours, tmp_path)
    assert "\n" not in str(caught.value) and str(run.checkpoint_file) in str(caught.value) and not run.done


OWN = """from dataclasses import dataclass
import torch
from artifact.algorithms.base import FedAvg
@dataclass(frozen=True)
class Keeping(FedAvg):
    def init(self, w, m):
        return {"history": torch.zeros(0, len(w)), "previous": torch.zeros_like(w)}
    def finish(self, state, c, w, W, C):
        state["history"] = torch.cat([state["history"], w[None]])[-3:]
        state["previous"] = new = w + C.mean(W - w) + 0.1 * state["history"].mean(0)
        return new
"""


@pytest.fixture
def keeping(tmp_path):
    """A method of the user's own whose state grows, and holds the model that it returns; registered under its name."""
    (tmp_path / "keeping.py").write_text(OWN)
    yield register_file(tmp_path / "keeping.py")[0]
    del algorithms.ALGORITHMS["keeping"]


def test_a_state_that_grows_goes_on_with_the_same_bits(keeping, tmp_path):
    ours = _config(algorithm=keeping, rounds=5, train_size=200, test_size=60)
    whole = session.execute(ours, tmp_path / "whole").run

    def interrupt(trainer: Trainer, _metrics: dict) -> None:
        if trainer.completed == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        session.execute(ours, tmp_path / "parts", after_round=interrupt)
    _assert_same_run(whole.folder, session.execute(ours, tmp_path / "parts").run.folder)


@pytest.mark.parametrize(
    "words", ["artifact run --algorithm fedavg --rounds 1", "artifact list algorithms", "checks", "notebooks"]
)
def test_too_few_addresses_are_told_at_once(words, tmp_path):
    """With 3,283,512,585 bytes scipy's OpenBLAS would ask for memory for ever."""
    limit = (3_283_512_585, resource.RLIM_INFINITY)
    done = subprocess.run(
        [sys.executable, "-m", *words.split()],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    assert (done.returncode, done.stdout) == (2, "")
    said = r"error: address space in bytes: 3283512\d+ .*4294967296 or more.*ulimit -v unlimited\)\n"
    assert re.fullmatch(said, done.stderr)


def test_tensors_that_share_memory_are_saved(tmp_path):
    """A method may keep the very model that it returns, or a part of it; safetensors refuses such tensors."""
    w = torch.arange(6.0)
    run = Run(tmp_path, "shared")
    run.folder.mkdir()
    tensors = {"w": w, "state.previous": w, "state.end": w[4:], "state.column": w.view(2, 3)[:, 1]}
    run.save(tensors, 1, {"algorithm": "shared"})
    found, _ = read_checkpoint(run.checkpoint_file)
    assert found.keys() == tensors.keys() and all(torch.equal(found[name], tensors[name]) for name in found)


@pytest.mark.parametrize("change", [_without("w"), _shorter("w")], ids=["no model", "short model"])
def test_a_panel_of_another_model_is_one_line(change, tmp_path):
    ours = _config(rounds=1, train_size=200, test_size=60)
    run = session.execute(ours, tmp_path).run
    tensors, metadata = read_checkpoint(run.checkpoint_file)
    save_file(change(tensors), run.checkpoint_file, metadata=metadata)
    run.finish(1)
    with pytest.raises(UserError, match=r"^checkpoint: .*the model as it was sealed; it was changed since"):
        surfaces.load(run.folder)


# ---- folders ---------------------------------------------------------------------------------------------------------


@contextmanager
def _small_disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of the given size; skips where mounting is not possible."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root and the right to mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _remount(place: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(place)], check=True)


@pytest.mark.parametrize("size", ["100k", "500k"])
def test_full_disk_is_one_line_and_resumable(size, tmp_path):
    """A checkpoint grows to about 310 kB: none fits, or one fits and the next, written beside it, does not."""
    expected = session.execute(_config(), tmp_path / "undisturbed").run
    assert 280_000 < expected.checkpoint_file.stat().st_size < 400_000
    with _small_disk(tmp_path / "disk", size) as disk:
        with pytest.raises(UserError, match="a folder that can be written") as caught:
            session.execute(_config(), disk, checkpoint_seconds=0)
        assert "\n" not in str(caught.value)
        run = Run(disk, expected.key)
        assert not run.done
        assert run.checkpoint_file.exists() == (size == "500k")
        assert not list(run.folder.glob(".*.tmp"))
        assert all(json.dumps(line) for line in run.metrics())
        _remount(disk, "size=8m")
        session.execute(_config(), disk)
        _assert_same_run(expected.folder, run.folder)


def test_disk_without_room_for_the_first_file(tmp_path):
    with _small_disk(tmp_path / "disk", "64k") as disk:
        (disk / "filler").write_bytes(bytes(64 * 1024 - 4096))
        with pytest.raises(UserError, match="a folder that can be written"):
            session.execute(_config(), disk)
        assert [path.name for path in disk.iterdir()] == ["filler"]


def test_set_up_without_room_is_one_line_and_leaves_nothing(tmp_path):
    with _small_disk(tmp_path / "disk", "4m") as disk:
        for name in ("reproduce.sh", "requirements.lock"):
            shutil.copy(ROOT / name, disk)
        bare = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}  # no environment with the pinned packages is active
        done = subprocess.run([disk / "reproduce.sh", "setup"], env=bare, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert re.fullmatch(r"error: disk: \d+ MB are free in .*; setting up \.venv takes \d+ MB there\n", done.stderr)
        assert sorted(path.name for path in disk.iterdir()) == ["reproduce.sh", "requirements.lock"]


def test_read_only_disk(tmp_path, capsys):
    with _small_disk(tmp_path / "disk", "8m") as disk:
        finished = session.execute(_config(), disk).run
        done = finished.done_file.read_bytes()
        finished.done_file.unlink()
        words = "run --algorithm scaffold --model mlp-64 --clients 20 --cohort 4 --rounds 6 --local-steps 2 --resume"
        words = [*words.split(), "--out", str(disk)]
        _remount(disk, "ro")
        for seed in ("0", "1"):  # a run to go on with, and a new one
            assert main([*words, "--seed", seed]) == 2
            error = capsys.readouterr().err
            assert error.startswith("error:") and str(disk) in error and len(error.splitlines()) == 1
        _remount(disk, "rw")
        assert main(words) == 0
        assert finished.done_file.read_bytes() == done
        capsys.readouterr()


def test_folder_below_a_file(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(UserError, match="a folder that can be written"):
        session.execute(_config(), tmp_path / "file" / "runs")
    assert (tmp_path / "file").read_text() == "not a folder"
