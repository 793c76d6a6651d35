"""A sweep on a real Ray cluster of two nodes, one of which is killed while it works.

Ray binds the machine's own address whatever it is told, so the cluster runs in a network namespace that has only the
loopback device: ``unshare -rn python test_ray.py FOLDER`` is the scenario, the tests read its outcome.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import nodes
import pytest
from safetensors.torch import load_file

from artifact.__main__ import main
from artifact.base import paths
from artifact.runs.lookup import identity, unfinished_runs
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import LocalPool, Settings
from artifact.training import config
from artifact.training.config import RunConfig

ROUNDS = 1500  # seconds of work: a run must not be over before its node is killed
LIMIT = 300  # seconds until a scenario that hangs fails its tests


def _configs() -> list[RunConfig]:
    common = {"model": "mlp-16", "clients": 6, "cohort": 3, "train_size": 200, "test_size": 60, "batch_size": 16}
    common |= {"local_steps": 2, "rounds": ROUNDS}
    return [config.make(algorithm=name, seed=seed, **common) for name in ("fedsmoo", "fedavg") for seed in (0, 1)]


# ---- the scenario ----------------------------------------------------------------------------------------------------


def scenario(folder: Path) -> None:
    """Two nodes of one core; the second is killed as soon as a checkpoint of a run there has reached the driver."""
    from artifact.runs.sweep.ray_pool import RayPool

    nodes.quiet_ray()
    nodes.loopback_up()
    with nodes.cluster(1) as cluster:
        pool = RayPool(cluster.address, Settings(folder / "store", checkpoint_seconds=0.05))
        alone = pool.slots()  # this process belongs to the first node, as there is no other yet
        second = cluster.add_node(**nodes.NODE)
        outcome = {"slots": [alone, pool.slots()], "nodes": [], "killed": None, "kept": None}
        jobs = sweep.plan(_configs(), folder / "store").jobs
        tally = sweep.Tally(jobs, 2)
        for event in pool.run(jobs):
            tally.take(event)
            if event.kind != "round":
                continue
            outcome["nodes"].append(event.text)
            if outcome["killed"] is None and event.text == f"node {second.node_id}":
                kept = _kept(folder / "store", event.job.config)
                if len(kept) >= 5:
                    cluster.remove_node(second, allow_graceful=False)
                    outcome |= {"killed": event.job.name, "kept": kept}
        outcome |= {
            "nodes": sorted(set(outcome["nodes"])),
            "ended": dict(tally.ended),
            "deaths": sum(j.deaths for j in jobs),
        }
        (folder / "outcome.json").write_text(json.dumps(outcome))


def _kept(store: Path, wanted: RunConfig) -> list[str]:
    """Timings of the rounds that the driver has of a run: no repetition has the same."""
    run = unfinished_runs(store).get(identity(wanted.canonical()))
    return run.timings_file.read_text().splitlines() if run is not None and run.checkpoint_file.exists() else []


# ---- tests -----------------------------------------------------------------------------------------------------------


needs_cluster = pytest.mark.skipif(bool(nodes.missing()), reason=nodes.missing())


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> tuple[Path, dict]:
    """(store, outcome) of the scenario."""
    folder = tmp_path_factory.mktemp("ray")
    words = ["unshare", "-rn", sys.executable, __file__, str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (paths.ROOT, Path(nodes.__file__).parent)))}
    environment["RAY_raylet_start_wait_time_s"] = str(LIMIT)  # of a busy machine
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "store", json.loads((folder / "outcome.json").read_text())


@needs_cluster
def test_both_nodes_worked_and_one_was_killed(swept):
    _, outcome = swept
    assert outcome["slots"] == [1, 2] and len(outcome["nodes"]) == 2
    assert outcome["killed"] is not None and outcome["deaths"] >= 1
    assert outcome["ended"] == {"trained": 4}


@needs_cluster
def test_the_killed_node_s_run_went_on_from_its_checkpoint(swept):
    """The rounds that had reached the driver were not trained again."""
    store, outcome = swept
    starts = [(path.read_text().splitlines())[: len(outcome["kept"])] for path in store.glob("*/timings.jsonl")]
    assert len(outcome["kept"]) > 0 and outcome["kept"][0] in [lines[0] for lines in starts]


@needs_cluster
def test_store_is_complete_and_as_a_local_sweep_makes_it(swept, tmp_path):
    store, _ = swept
    jobs = sweep.plan(_configs(), tmp_path).jobs
    tally = sweep.run_all(LocalPool(2, Settings(tmp_path)), jobs, 2, quiet=True)
    assert tally.ended == {"trained": 4}
    assert sorted(path.name for path in store.iterdir()) == sorted(path.name for path in tmp_path.iterdir())
    for folder in tmp_path.iterdir():
        other = store / folder.name
        assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in other.iterdir())
        for name in ("metrics.jsonl", "config.json"):
            assert (folder / name).read_bytes() == (other / name).read_bytes()
        marks = [json.loads((place / "done").read_text()) for place in (folder, other)]
        assert marks[0]["rounds"] == marks[1]["rounds"]
        parts = [{name: v for name, v in mark["parts"].items() if name != "timings.jsonl"} for mark in marks]
        assert parts[0] == parts[1]  # the digests of all but the clocks, which differ
        assert len((other / "timings.jsonl").read_text().splitlines()) == ROUNDS
        tensors = [load_file(place / "checkpoint.safetensors") for place in (folder, other)]
        assert {name: t.numpy().tobytes() for name, t in tensors[0].items()} == {
            name: t.numpy().tobytes() for name, t in tensors[1].items()
        }


def test_without_ray_it_is_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["sweep", "kakoun2024/5.3", "--ray", "auto", "--out", str(tmp_path / "store")]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and "fedsharp[cluster]" in error
    assert not (tmp_path / "store").exists()


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_address_without_a_cluster_is_one_line(tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        assert main(["sweep", "kakoun2024/5.3", "--ray", address, "--out", str(tmp_path / "store")]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and address in error and "running cluster" in error
    assert not (tmp_path / "store").exists()


if __name__ == "__main__":
    scenario(Path(sys.argv[1]))
