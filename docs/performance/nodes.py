"""``python docs/performance/nodes.py FILE REPEATS``: one sweep on one and on two Ray nodes of this machine.

The same sweep goes by local workers too. A node has one core. Ray binds the machine's own address whatever it is told,
so ``measure`` starts this script in a network namespace that has only the loopback device.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import checkout  # noqa: F401

from artifact.bench.cases import contender
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import LocalPool, Pool, Settings
from artifact.training import config
from artifact.training.config import RunConfig

RUNS, ROUNDS = 4, 60
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False, "include_log_monitor": False}


def missing() -> str:
    """Why no cluster can be had here; empty where it can."""
    if importlib.util.find_spec("ray") is None:
        return "ray is not installed (pip install 'fedsharp[cluster]')"
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        return "no network namespaces without privileges here (unshare -rn)"
    return ""


def measure(repeats: int) -> list[dict[str, Any]]:
    """Points {x: nodes, ray, train: seconds per round of the whole sweep, min, max}, medians of interleaved sweeps."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "nodes.json"
        words = ["unshare", "-rn", sys.executable, __file__, str(out), str(repeats)]
        subprocess.run(words, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        return json.loads(out.read_text(encoding="utf-8"))


def runs() -> list[RunConfig]:
    """FedSMOO on the MLP, as in the other panels; seeds apart."""
    values = contender("mlp-200", "fedsmoo", "auto")["config"]
    values |= {"rounds": ROUNDS, "eval_every": ROUNDS, "eval_train": False}
    return [config.make(**values | {"seed": seed}) for seed in range(RUNS)]


def seconds(pool: Pool, store: Path, workers: int) -> float:
    """Wall seconds of the sweep per round of its runs. Raises RuntimeError where a run failed."""
    tally = sweep.run_all(pool, sweep.plan(runs(), store).jobs, workers, quiet=True)
    if tally.ended != {"trained": RUNS}:
        raise RuntimeError(f"{dict(tally.ended)}: {[*tally.failures]}")
    return tally.wall / (RUNS * ROUNDS)


@contextmanager
def cluster(nodes: int) -> Iterator[Any]:
    """A new ``ray.cluster_utils.Cluster`` of so many nodes; to be called in a network namespace of its own."""
    from ray.cluster_utils import Cluster

    # a short path: Ray makes sockets below it
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as place:
        os.environ["RAY_TMPDIR"] = place  # else it notes this cluster in the folder of the machine's own
        started = Cluster(initialize_head=True, head_node_args=NODE)
        try:
            for _ in range(nodes - 1):
                started.add_node(**NODE)
            yield started
        finally:
            started.shutdown()


def loopback_up() -> None:
    """What ``ip link set lo up`` does."""
    get, put, up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(device, get, request))
        fcntl.ioctl(device, put, struct.pack("16sh14x", b"lo", flags | up))


def quiet_ray() -> None:
    """Nothing is sent home, and workers have the priority of everybody else."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}


def main() -> None:
    from artifact.runs.sweep.ray_pool import RayPool

    out, repeats = Path(sys.argv[1]), int(sys.argv[2])
    quiet_ray()
    loopback_up()
    found: dict[tuple[int, bool], list[float]] = {(n, ray): [] for n in (1, 2) for ray in (False, True)}
    for turn in range(repeats):
        for nodes, ray in found:
            store = out.parent / f"{turn}-{nodes}-{ray}"
            if not ray:
                found[nodes, ray].append(seconds(LocalPool(nodes, Settings(store)), store, nodes))
                continue
            with cluster(nodes) as started:
                found[nodes, ray].append(seconds(RayPool(started.address, Settings(store)), store, nodes))
    points = [
        {"x": nodes, "ray": ray, "train": statistics.median(values), "min": min(values), "max": max(values)}
        for (nodes, ray), values in found.items()
    ]
    out.write_text(json.dumps(points), encoding="utf-8")


if __name__ == "__main__":
    main()
