"""``python with_flower.py JSON``: FedAvg with Flower's simulation on Ray, one round per line on standard input.

nodes: one per client of the federation, as its documentation has it, of which Flower draws a cohort; or one per place
in the cohort, which costs it least, since it looks at every node several times a second. The message says which
client's work a node does, so the work is everybody's. A client's weights travel as one vector. tuned: as in
``with_pfl.py``.

Ray binds the machine's own address whatever it is told, so the driver is started in a network namespace that has only
the loopback device (``unshare -rn``).
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

from shared import Turns, Work, begin


def loopback_up() -> None:
    """What ``ip link set lo up`` does."""
    get, put, up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(device, get, request))
        fcntl.ioctl(device, put, struct.pack("16sh14x", b"lo", flags | up))


def strategy(turns: Turns, places: int, nodes: int):
    """Flower's FedAvg, which waits for its turn before a round and answers after it."""
    from flwr.app import ConfigRecord, RecordDict
    from flwr.serverapp.strategy import FedAvg

    class Waiting(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            if not turns.wait():
                os._exit(0)  # the strategy has no way out before its last round
            messages = [*super().configure_train(server_round, arrays, config, grid)]
            for place, message in enumerate(messages):
                own = ConfigRecord({"place": place, "round": server_round - 1})
                message.content = RecordDict({"arrays": arrays, "config": own})
            return messages

        def aggregate_train(self, server_round, replies):
            arrays, metrics = super().aggregate_train(server_round, replies)
            turns.steps = (turns.steps or 0) + round(places * metrics["steps"])
            turns.done(arrays.to_numpy_ndarrays()[0])
            return arrays, metrics

    return Waiting(
        fraction_train=places / nodes, fraction_evaluate=0.0, min_train_nodes=places, min_available_nodes=nodes
    )


def main() -> None:
    asked, out = begin(sys.argv[1])
    loopback_up()
    workers, nodes = asked["workers"], asked["nodes"]
    os.environ |= {"FRAMEWORKS_WORK": asked["work"], "FRAMEWORKS_TUNED": str(int(asked["tuned"]))}
    os.environ |= {"FRAMEWORKS_THREADS": str(max(1, asked["cores"] // workers))}
    # no reports to the makers; by default Ray's workers give way to every other process
    os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}

    from flower_client import app
    from flwr.app import ArrayRecord
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    work, server = Work.read(Path(asked["work"])), ServerApp()
    rounds, places = work.batches.shape[:2]

    @server.main()
    def serve(grid, context):
        turns = Turns(out, Path(asked["weights"]))
        turns.ready({"backend": "flower", "workers": workers})
        first = ArrayRecord([work.w.numpy()])
        strategy(turns, places, nodes).start(grid=grid, initial_arrays=first, num_rounds=rounds)

    run_simulation(
        server_app=server,
        client_app=app,
        num_supernodes=nodes,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": workers, "num_gpus": 0, "log_to_driver": False, "include_dashboard": False},
        },
    )


if __name__ == "__main__":
    main()
