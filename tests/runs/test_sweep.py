"""The sweep: every run once, whatever dies; workers change no number; bad runs are reported and the rest goes on."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from stored import mark

from artifact import algorithms
from artifact.__main__ import main
from artifact.papers import experiments
from artifact.runs import session
from artifact.runs.lookup import merged
from artifact.runs.store import Run
from artifact.runs.sweep import sweep, workers
from artifact.runs.sweep.estimate import Estimator
from artifact.runs.sweep.workers import DEATHS, Job, LocalPool, Settings
from artifact.training import config
from artifact.training.config import RunConfig

PATIENCE = 300.0  # seconds until a process that makes no progress fails its test; a starved machine needs many
ROUNDS = 40

#: a method that ends its own process, and one with a fault
FAULTY = """
import os, signal
from dataclasses import dataclass
from artifact.algorithms.base import FedAvg

@dataclass(frozen=True)
class FedDeadly(FedAvg):
    def direction(self, g, c):
        os.kill(os.getpid(), signal.SIGKILL)

@dataclass(frozen=True)
class FedFaulty(FedAvg):
    def direction(self, g, c):
        raise ZeroDivisionError("no such direction")
"""


def _config(algorithm: str = "fedavg", seed: int = 0, **changes) -> RunConfig:
    values = {"model": "mlp-16", "clients": 6, "cohort": 3, "train_size": 200, "test_size": 60, "local_steps": 2}
    return config.make(algorithm=algorithm, seed=seed, **(values | {"batch_size": 16, "rounds": ROUNDS} | changes))


def _configs(**changes) -> list[RunConfig]:
    return [_config(algorithm, seed, **changes) for algorithm in ("fedsmoo", "scaffold") for seed in (0, 1)]


def _sweep(configs: list[RunConfig], store: Path, workers: int = 2, **settings) -> sweep.Tally:
    planned = sweep.plan(configs, store)
    return sweep.run_all(LocalPool(workers, Settings(store, **settings)), planned.jobs, workers, quiet=True)


def _assert_same_store(first: Path, second: Path) -> None:
    """The same finished runs with bit-identical tensors and metrics, and no other files."""
    assert sorted(path.name for path in first.iterdir()) == sorted(path.name for path in second.iterdir())
    for folder in first.iterdir():
        other = second / folder.name
        assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in other.iterdir())
        assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
        assert mark(folder) == mark(other)
        tensors = [load_file(place / "checkpoint.safetensors") for place in (folder, other)]
        assert tensors[0].keys() == tensors[1].keys()
        for name, tensor in tensors[0].items():
            assert tensor.numpy().tobytes() == tensors[1][name].numpy().tobytes(), name


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    """Store of ``_configs`` made one after the other, as ``fedsharp run`` does, on one core; then slimmed."""
    store, threads = tmp_path_factory.mktemp("alone"), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for one in _configs():
            session.execute(one, store, quiet=True).run.slim()
    finally:
        torch.set_num_threads(threads)
    return store


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_change_no_number(workers, alone, tmp_path):
    tally = _sweep(_configs(), tmp_path, workers)
    assert tally.ended == {"trained": 4}
    assert 0 < tally.cpu_share <= 1.1
    _assert_same_store(alone, tmp_path)


def test_what_is_finished_is_not_run_again(alone):
    before = {path: path.stat().st_mtime_ns for path in alone.rglob("*")}
    planned = sweep.plan(_configs(), alone)
    assert (planned.jobs, planned.finished) == ([], 4)
    assert {path: path.stat().st_mtime_ns for path in alone.rglob("*")} == before


# ---- faults ----------------------------------------------------------------------------------------------------------


def test_killed_workers_are_replaced_and_their_runs_go_on(alone, tmp_path):
    pool = LocalPool(2, Settings(tmp_path, checkpoint_seconds=0))
    jobs, killed = sweep.plan(_configs(), tmp_path).jobs, []
    tally = sweep.Tally(jobs, 2)
    for event in pool.run(jobs):
        tally.take(event)
        if event.kind == "round" and len(killed) < 2:
            worker = next(worker for worker in pool.workers if worker.job is event.job)
            os.kill(worker.process.pid, signal.SIGKILL)
            killed.append(event.job)
    assert len(killed) == 2
    assert 0 < sum(job.deaths for job in jobs) <= 2  # a signal may come just after the run's end
    assert not tally.failures and not tally.open
    _assert_same_store(alone, tmp_path)


def test_a_killed_server_of_workers_is_replaced(alone, tmp_path, monkeypatch):
    """As it answers the first request for a worker."""
    forkserver = pytest.importorskip("multiprocessing.forkserver")
    read, killed = forkserver.read_signed, []

    def read_signed(fd):
        if not killed:
            killed.append(forkserver._forkserver._forkserver_pid)
            os.kill(killed[0], signal.SIGKILL)
            raise EOFError("unexpected EOF")
        return read(fd)

    monkeypatch.setattr(forkserver, "read_signed", read_signed)
    tally = _sweep(_configs(), tmp_path)
    assert killed and forkserver._forkserver._forkserver_pid != killed[0]
    assert not tally.failures and tally.ended["trained"] == len(_configs())
    _assert_same_store(alone, tmp_path)


def test_bad_runs_are_reported_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    """Missing data, a method that raises and one that kills its worker every time, beside two good runs."""
    (tmp_path / "faulty.py").write_text(FAULTY)
    names = ("feddeadly", "fedfaulty", "fedavg", "fedsam")
    rows = [{"algorithm": name} for name in names] + [{"algorithm": "fedavg", "dataset": "cifar10", "model": "mlp"}]
    _toy(tmp_path, rows)
    monkeypatch.setattr(experiments, "EXPERIMENTS", tmp_path)
    monkeypatch.setattr(algorithms, "ALGORITHMS", dict(algorithms.ALGORITHMS))
    words = ["sweep", "--out", str(tmp_path / "store"), "--data", str(tmp_path), "--json", "--quiet", "--jobs", "2"]
    with pytest.raises(SystemExit) as ending:
        main([*words, "--add", str(tmp_path / "faulty.py")])
    captured = capsys.readouterr()
    assert ending.value.code == 1
    result = json.loads(captured.out)
    assert (result["trained"], result["finished"], result["worker_deaths"]) == (2, 0, DEATHS)
    assert len(list((tmp_path / "store").glob("*/done"))) == 2
    reasons = {failure["run"].split()[0]: failure["reason"] for failure in result["failed"]}
    assert reasons["feddeadly"] == f"its worker ended with SIGKILL, {DEATHS} times"
    assert reasons["fedfaulty"] == "ZeroDivisionError: no such direction"
    assert "cifar10" in reasons["fedavg"] and len(reasons) == 3
    lines = captured.err.splitlines()
    assert len(lines) == 3 and all(line.startswith("failed: ") for line in lines)


def _toy(folder: Path, rows: list[dict]) -> None:
    """An experiments file with one table of one column."""
    settings = {"model": "mlp-16", "clients": 6, "cohort": 3, "local_steps": 2, "rounds": 5, "split": "iid"}
    table = {"id": "1", "title": "toy", "location": "nowhere", "settings": settings}
    lines = ['paper = "toy"', 'title = "Toy"', "[[table]]", *(f"{k} = {_toml(v)}" for k, v in table.items())]
    lines += ["[[table.columns]]", 'id = "only"', 'label = "only"']
    for index, row in enumerate(rows):
        lines += ["[[table.rows]]", f'id = "row-{index}"', f'label = "row {index}"', f"settings = {_toml(row)}"]
    lines += ["[table.profiles.quick]", "seeds = [0]", "minutes = 1"]
    (folder / "toy.toml").write_text("\n".join(lines))


def _toml(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


# ---- interruption ----------------------------------------------------------------------------------------------------


def _context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["artifact.runs.sweep.workers"])
    return context


def _drive(store: Path, note: Path) -> None:
    """A sweep in a process of its own; ``note`` receives the workers' process ids and at the end the tally."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that a shell runs in the background ignore it
    planned = sweep.plan(_configs(), store)
    pool = LocalPool(2, Settings(store, checkpoint_seconds=0))

    class Noted:
        def run(self, jobs):
            for event in pool.run(jobs):
                note.with_suffix(".pids").write_text(" ".join(str(worker.process.pid) for worker in pool.workers))
                yield event

    try:
        tally = sweep.run_all(Noted(), planned.jobs, 2, quiet=True)
    except KeyboardInterrupt:
        sys.exit(130)
    note.write_text(json.dumps({"trained": tally.ended["trained"], "found": tally.ended["found"]}))


def _start(store: Path, note: Path):
    process = _context().Process(target=_drive, args=(store, note))
    process.start()
    return process


def _wait(condition, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no {what} after {PATIENCE} s"
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_ended_driver_leaves_no_process_and_the_same_sweep_goes_on(number, code, alone, tmp_path):
    store, note = tmp_path / "store", tmp_path / "note"
    store.mkdir()
    process = _start(store, note)
    _wait(lambda: note.with_suffix(".pids").exists() and any(store.glob("*/checkpoint.safetensors")), "checkpoint")
    os.kill(process.pid, number)
    process.join(PATIENCE)
    assert process.exitcode == code and not note.exists()
    pids = [int(word) for word in note.with_suffix(".pids").read_text().split()]
    _wait(lambda: not any(map(_alive, pids)), "end of the workers")
    assert len(list(store.glob("*/metrics.jsonl"))) > 0 and len(list(store.glob("*/done"))) < 4
    tally = _sweep(_configs(), store)
    assert not tally.open and not tally.failures
    for lock in store.glob("*/.lock"):  # of a killed process, on a run that it had finished
        lock.unlink()
    _assert_same_store(alone, store)


@pytest.mark.parametrize("begun", [False, True])
def test_a_killed_driver_leaves_no_temporary_file(begun, tmp_path):
    """Whether its workers have begun, or only the server that they come from."""
    store = tmp_path / "store"
    words = [sys.executable, "-m", "artifact", "sweep", "qu2022/1", "--profile", "quick", "--jobs", "2", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:  # short: the path of a socket has at most 107 characters
        scratch = Path(folder)
        with subprocess.Popen([*words, "--out", str(store)], env=os.environ | {"TMPDIR": folder}) as process:
            place, sign = (store, "*/metrics.jsonl") if begun else (scratch, "pymp-*/*")
            _wait(lambda: any(place.glob(sign)) or process.poll() is not None, "beginning")
            process.kill()
        assert process.returncode == -signal.SIGKILL
        _wait(lambda: not any(scratch.glob("pymp-*")), "end of the temporary files")


def test_a_worker_that_is_told_to_end_as_it_writes_leaves_nothing_half_written(tmp_path, monkeypatch):
    """Before the first round, in which a signal only asks for a checkpoint."""
    monkeypatch.setattr("artifact.base.files.os.replace", lambda *_: time.sleep(60))
    processes = multiprocessing.get_context("fork")
    ours, theirs = processes.Pipe()
    worker = processes.Process(target=workers._work, args=(theirs, Settings(tmp_path), None))
    worker.start()
    ours.send(_config())
    _wait(lambda: any(tmp_path.glob("*/.*.tmp")), "half-written file")
    worker.terminate()
    worker.join(PATIENCE)
    assert worker.exitcode == 0
    assert [path.name for path in tmp_path.glob("*/.*")] == []


def test_a_worker_that_is_told_to_end_as_it_begins_says_nothing(tmp_path, monkeypatch, capfd):
    started = multiprocessing.get_context("fork").Event()
    monkeypatch.setattr(workers, "use_core", lambda _: (started.set(), time.sleep(60)))
    processes = multiprocessing.get_context("fork")
    _ours, theirs = processes.Pipe()
    worker = processes.Process(target=workers._work, args=(theirs, Settings(tmp_path), None))
    worker.start()
    assert started.wait(PATIENCE)
    worker.terminate()
    worker.join(PATIENCE)
    assert worker.exitcode == -signal.SIGTERM and capfd.readouterr().err == ""


def test_two_sweeps_at_once_share_the_work(alone, tmp_path):
    store, notes = tmp_path / "store", [tmp_path / "first", tmp_path / "second"]
    store.mkdir()
    processes = [_start(store, note) for note in notes]
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0, 0]
    counts = [json.loads(note.read_text()) for note in notes]
    assert sum(count["trained"] for count in counts) == 4
    for folder in store.iterdir():
        assert (
            len(Run(store, folder.name).metrics()) == len((folder / "timings.jsonl").read_text().split()) // 4 == ROUNDS
        )
    _assert_same_store(alone, store)


# ---- plan ------------------------------------------------------------------------------------------------------------


def test_comparisons_start_whole_and_longest_first():
    small = [Job(_config(a, s), seconds=t) for a, t in (("fedavg", 1.0), ("fedsam", 2.0)) for s in (1, 0)]
    large = [Job(_config("fedavg", s, split="dirichlet:0.5"), seconds=30.0) for s in (1, 0)]
    ordered = sweep._ordered([*small, *large])
    names = [(job.config.split, job.config.seed, job.config.algorithm) for job in ordered]
    assert names == [
        ("dirichlet:0.5", 0, "fedavg"),
        ("dirichlet:0.5", 1, "fedavg"),
        ("iid", 0, "fedsam"),
        ("iid", 0, "fedavg"),
        ("iid", 1, "fedsam"),
        ("iid", 1, "fedavg"),
    ]


def test_configs_that_differ_in_probes_alone_are_one_run():
    plain, probed = _config("fedsam"), _config("fedsam", probes=("perturbation",))
    (only,) = merged([plain, probed, plain])
    assert only == probed
    assert len(merged([plain, probed, _config("fedsam", seed=1)])) == 2


class Timed:
    """A stored run of so many seconds a round."""

    intact = True

    def __init__(self, seconds: list[float], **changes):
        self.seconds, self.of = seconds, _config(**changes)

    def config(self):
        return self.of.canonical()

    def completed(self):
        return len(self.seconds)

    def metrics(self):
        passes = 2.0 if self.of.algorithm == "fedsmoo" else 1.0
        return [{"cost": {"gradients_per_step": passes, "full_passes": 0}}] * len(self.seconds)

    def cost(self):
        return self.metrics()[-1]["cost"]

    def round_seconds(self):
        return self.seconds


def _estimator(monkeypatch, *runs: Timed) -> Estimator:
    monkeypatch.setattr("artifact.runs.sweep.estimate.finished", lambda _: runs)
    monkeypatch.setattr("artifact.runs.sweep.estimate.unfinished", lambda _: ())
    return Estimator(Path())


def test_estimates_are_counted_gradients_times_the_pace_of_runs_that_are_alike(monkeypatch):
    """A pace of 1 s a gradient: 3 clients x 2 steps x 16 examples, and 60 that are evaluated at a third."""
    estimate = _estimator(monkeypatch, Timed([116.0]), Timed([212.0], algorithm="fedsmoo"))
    assert estimate(_config(seed=7, rounds=10)) == pytest.approx(1160)
    assert estimate(_config("fedsmoo", rounds=10)) == pytest.approx(2120)  # two gradients a step
    assert estimate(_config("fedsmoo", rounds=10, hyper={"rho": 0.3}, split="iid")) == pytest.approx(2120)
    assert estimate(_config(rounds=10, cohort=6)) == pytest.approx(10 * (2 * 96 + 20))
    assert estimate(_config(model="lenet"), 12.0) == 12.0 and estimate(_config(model="lenet")) is None
    assert estimate(_config(dtype="float64")) is None


def test_a_gpus_pace_says_nothing_of_a_cpus(monkeypatch):
    class OnAGpu(Timed):
        def config(self):
            return super().config() | {"device": "cuda"}

    assert _estimator(monkeypatch, OnAGpu([1.0]))(_config()) is None
    assert _estimator(monkeypatch, OnAGpu([1.0]), Timed([116.0]))(_config(rounds=10)) == pytest.approx(1160)


def test_runs_beside_other_work_widen_the_estimate_and_a_pause_does_not(monkeypatch):
    """Ten runs, eight of them slowed down: the fast end is that of the undisturbed, whichever method they are of."""
    free = [Timed([116.0, 116.0, 9_000.0], seed=0), Timed([116.0], algorithm="scaffold")]
    estimate = _estimator(monkeypatch, *free, *(Timed([580.0], seed=seed) for seed in range(1, 9)))
    assert estimate.span(_config(rounds=1)) == pytest.approx((116, 580))
    assert estimate(_config(rounds=1)) == pytest.approx(580)


@pytest.mark.parametrize("cost", [None, {}, {"gradients_per_step": "two", "full_passes": 0}, {"full_passes": 1e400}])
def test_a_begun_run_without_a_count_of_gradients_counts_one_a_step(monkeypatch, cost):
    begun = Timed([116.0])
    begun.metrics = lambda: [{"cost": cost}]
    assert _estimator(monkeypatch, begun)(_config(rounds=1)) == pytest.approx(116)


def test_two_tables_of_the_same_runs_have_the_same_time_a_run(monkeypatch):
    """One slow run of a method does not set the time of that method alone."""
    slow, *others = (Timed([t], algorithm=a) for t, a in ((900.0, "fedavg"), (116.0, "scaffold"), (116.0, "feddyn")))
    estimate = _estimator(monkeypatch, slow, *others)
    assert estimate(_config("fedavg")) == estimate(_config("scaffold")) == estimate(_config("feddyn"))


def test_remaining_time_follows_what_was_measured():
    """Two workers, four runs of 10 estimated seconds; the first took 20, so 3 x 20 / 2 remain, then less."""
    jobs = [Job(_config(seed=seed), seconds=10.0) for seed in range(4)]
    tally = sweep.Tally(jobs, 2)
    assert tally.remaining() == pytest.approx(20)
    tally.take(sweep.Event("trained", jobs[0], seconds=20.0))
    assert tally.remaining() == pytest.approx(30)
    jobs[1].completed = ROUNDS // 2
    assert tally.remaining() == pytest.approx(25)
    tally.take(sweep.Event("failed", jobs[2], "reason"))
    assert tally.remaining() == pytest.approx(20)  # the longest that is left
    assert sweep.Tally([Job(_config())], 2).remaining() is None


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("sweep nobody2020", ("paper", "nobody2020", "kakoun2024")),
        ("sweep --profile huge", ("--profile", "huge", "quick")),
        ("sweep --jobs 0", ("--jobs", "0", "1")),
        ("sweep --gpus 0.25", ("gpus", "0.25", "--ray")),
        ("sweep --cpus 2", ("cpus", "2", "--ray")),
        ("sweep --nodes-data there", ("nodes-data", "there", "--ray")),
        ("sweep --ray auto --jobs 2", ("jobs", "2", "--ray")),
    ],
)
def test_bad_input_is_one_line(words, named, tmp_path, capsys):
    assert main([*words.split(), "--out", str(tmp_path / "store")]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and all(part in error for part in named)
    assert not (tmp_path / "store").exists()


def test_a_store_that_cannot_be_written_is_told_before_the_first_run(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    store = tmp_path / "file" / "store"
    assert main(["sweep", "sun2023/8", "--out", str(store), "--quiet", "--jobs", "1"]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and str(store) in error and "written" in error


def test_all_is_what_no_selection_is(tmp_path, capsys):
    said = []
    for words in ((), ("all",)):
        assert main(["sweep", *words, "--dry-run", "--json", "--out", str(tmp_path)]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1] and said[0]["to_make"] > 100 and said[0]["estimate"]


def test_everything_is_more_than_the_profile_runs_here(tmp_path, capsys):
    """The papers' settings are left out for want of machine time, unless they are asked for."""
    counts = []
    for words in ((), ("--everything",)):
        folder = ["--out", str(tmp_path)]
        assert main(["sweep", "sun2023/1", "--profile", "paper", "--dry-run", "--json", *folder, *words]) == 0
        counts.append(json.loads(capsys.readouterr().out)["to_make"])
    assert counts == [0, 8 * 16 * 2]  # methods, columns, seeds
