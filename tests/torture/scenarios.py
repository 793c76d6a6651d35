"""What can happen, drawn from a seed: steps as plain data, so that any part of a scenario can be played again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

#: command lines of the runs that a store holds; long enough to be hit, short enough to be many
RUN = (
    "run --model mlp-8 --clients 6 --cohort 3 --train-size 120 --test-size 40 --batch-size 16 --local-steps 2"
    " --split dirichlet:0.5 --rounds 150 --quiet"
)
METHODS = ("fedavg", "fedsam", "fedsmoo", "fedlesam-d")
SWEEP = "sweep qu2022/1 --profile quick --jobs 2 --quiet"
#: commands that only read; {key} stands for a run of the store
READERS = (
    "store verify",
    "table qu2022/1 --lookup --profile quick",
    "sweep qu2022/1 --profile quick --dry-run",
    "verdicts --paper qu2022 --profile quick",
    "sharpness {key}",
    "bounds {key}",
    "figure qu2022/fig3 --profile quick --lookup",
)
#: what surrounds a process and must change no bit
SURROUNDINGS = (
    {"PYTHONHASHSEED": "7"},
    {"LC_ALL": "C"},
    {"TZ": "Pacific/Kiritimati"},
    {"PYTHONOPTIMIZE": "1"},
    {"MALLOC_PERTURB_": "165"},
    {"OMP_NUM_THREADS": "1"},
    {"COLUMNS": "20"},
    {},
)
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
#: limits of the operating system: name in ``resource``, least and most
SCARCE = {"RLIMIT_NOFILE": (12, 64), "RLIMIT_FSIZE": (0, 60_000), "RLIMIT_AS": (1 << 29, 8 << 30)}
#: how a file of a record is damaged; ``damage.py`` does it
DAMAGES = (
    *("flip", "cut", "empty", "drop", "twice", "zeros", "json", "fifo", "folder", "loop", "device", "outside", "gone"),
    "huge",
)
#: which file of a record
PARTS = ("config.json", "metrics.jsonl", "timings.jsonl", "environment.json", "done", "checkpoint.safetensors")


@dataclass(frozen=True)
class Step:
    """One thing that happens.  kind: method of ``Chamber``.  how: its arguments.  fault: name in the fault matrix."""

    kind: str
    how: dict[str, Any] = field(default_factory=dict)

    @property
    def fault(self) -> str:
        how = self.how
        match self.kind:
            case "run" | "sweep" if how["signal"]:
                who = f" of a {how['target']}" if self.kind == "sweep" else ""
                return f"{how['signal']}{' fifty times' if how['burst'] > 1 else ''} in a {self.kind}{who}"
            case "damage":
                return f"{how['part']}: {how['how']}"
            case "scarce":
                return f"{how['limit']} in a run"
            case "pair":
                return "two processes on a run"
        return f"{self.kind}, undisturbed"


def draw(seed: int, number: int) -> list[Step]:
    """Scenario ``number`` of a seed: three to nine steps."""
    rng = random.Random(f"{seed}/{number}")
    return [_step(rng) for _ in range(rng.randint(3, 9))]


def _step(rng: random.Random) -> Step:
    kind = rng.choices(("run", "sweep", "pair", "damage", "read", "scarce"), (30, 8, 6, 24, 24, 8))[0]
    return Step(kind, dict(_arguments(kind, rng)))


def _arguments(kind: str, rng: random.Random) -> Iterator[tuple[str, Any]]:
    yield "around", rng.randrange(len(SURROUNDINGS))
    if kind in ("run", "pair", "scarce", "damage", "read"):
        yield "method", rng.choice(METHODS)
    if kind in ("run", "sweep"):
        yield "signal", rng.choice((*SIGNALS, None))
        yield "burst", rng.choice((1, 1, 50))
        yield "delay", round(rng.choice((0.0, 0.01, rng.uniform(0, 1), rng.uniform(0, 6))), 3)
    if kind == "run":
        yield "pause", rng.choice(("0", "0.05", "20"))
    if kind == "sweep":
        yield "target", rng.choice(("driver", "driver", "worker"))
    if kind == "damage":
        yield "part", rng.choice(PARTS)
        yield "how", rng.choice(DAMAGES)
        yield "place", rng.random()
    if kind == "read":
        yield "reader", rng.randrange(len(READERS))
    if kind == "scarce":
        limit = rng.choice(tuple(SCARCE))
        yield "limit", limit
        yield "most", rng.randint(*SCARCE[limit])
