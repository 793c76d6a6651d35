"""Contenders in processes of their own that play in turn, and what their rounds say."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from artifact.base import family
from artifact.base.errors import UserError

#: what an answer tells as seconds of a round
SECONDS = ("train", "train_cpu", "evaluate", "evaluate_cpu", "own_cpu")


@dataclass
class Contender:
    """A process that has built its trainer and waits; ``play`` lets it take a turn.

    command: what to run with the JSON of ``asked`` as its last word; ours or the released simulator's by default.
    """

    asked: dict[str, Any]
    samples: list[dict[str, float]] = field(default_factory=list)
    command: Sequence[str] | None = None

    def __post_init__(self) -> None:
        kind = "reference" if self.asked["kind"] == "reference" else "worker"
        command = self.command or [sys.executable, "-m", f"artifact.bench.{kind}"]
        free = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process: Any = subprocess.Popen([*command, json.dumps(self.asked)], text=True, env=free, **pipes)
        self.facts = self._answer()["ready"]

    def _answer(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise UserError("contender", self.asked["kind"], "a process that answers; it ended before it did")
        return json.loads(line)

    def play(self, counted: bool, rounds: int = 1) -> None:
        """A turn of some rounds, recorded as their mean, with the share of the cores that other processes took."""
        before, own, start = busy_seconds(), tree_seconds(self.process.pid), time.perf_counter()
        self.process.stdin.write("\n" * rounds)
        self.process.stdin.flush()
        answers = [self._answer() for _ in range(rounds)]
        wall = time.perf_counter() - start
        used = tree_seconds(self.process.pid) - own
        means = {name: statistics.mean(a[name] for a in answers) for name in SECONDS if name in answers[0]}
        sample = answers[-1] | means | {"processes": used / rounds}
        sample["others"] = max(0.0, busy_seconds() - before - used) / (wall * (os.cpu_count() or 1))
        if counted:
            self.samples.append(sample)

    def close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            family.end(self.process.pid)
            self.process.wait()


def busy_seconds() -> float:
    """Processor seconds that all processes of the machine have used; 0 where the system does not tell."""
    try:
        first = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()
    except OSError:
        return 0.0
    user, nice, system, _idle, _wait, irq, softirq = map(int, first[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def tree_seconds(pid: int) -> float:
    """Processor seconds, in steps of 10 ms, that a process and its living descendants have used."""
    used, parents = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        except OSError:  # ended meanwhile
            continue
        parents[int(entry.parent.name)] = int(fields[1])
        used[int(entry.parent.name)] = sum(map(int, fields[11:15]))
    family = {pid}
    while grown := {child for child, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(used.get(member, 0) for member in family) / os.sysconf("SC_CLK_TCK")


def interleave(asked: Sequence[dict[str, Any]], turns: int, rounds: int = 1) -> list[Contender]:
    """Let every contender play one uncounted round, then ``turns`` counted turns of some ``rounds`` each."""
    return take_turns([partial(Contender, one) for one in asked], turns, rounds)


def take_turns(
    makers: Sequence[Callable[[], Contender]], turns: int, rounds: int = 1, warmed_up: Callable[[], None] | None = None
) -> list[Contender]:
    """Let contenders measure in turns, as ``interleave`` does; all are closed at the end, whatever happens.

    warmed_up: called when each has played its uncounted round.
    """
    contenders: list[Contender] = []
    try:
        for make in makers:
            contenders.append(make())
        for contender in contenders:
            contender.play(counted=False)
        if warmed_up is not None:
            warmed_up()
        for _ in range(turns):
            for contender in contenders:
                contender.play(counted=True, rounds=rounds)
    finally:
        for contender in contenders:
            contender.close()
    return contenders


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def row(contender: Contender, limit: float) -> dict[str, Any]:
    """A contender's result over all its turns. limit: GFLOP/s of the machine."""
    config, facts, samples = contender.asked["config"], contender.facts, contender.samples
    columns = {name: [s[name] for s in samples] for name in ("train", "train_cpu", "evaluate", "evaluate_cpu")}
    columns["whole"] = [s["train"] + s["evaluate"] for s in samples]
    result = {"model": config["model"], "algorithm": config["algorithm"], "contender": contender.asked["kind"]}
    result |= {"backend": facts["backend"], "cores": contender.asked.get("cores") or os.cpu_count()}
    result |= {name: spread(values) for name, values in columns.items()}
    result["others"] = spread([s["others"] for s in samples])
    result["peak_mib"] = max(s["peak_mib"] for s in samples)
    if "examples" in facts:
        seconds = result["train"]["median"]
        result["examples_per_second"] = facts["examples"] / seconds
        done = facts["flops_per_pass"] * statistics.median(s["passes"] for s in samples)
        result |= {"gflop": done / 1e9, "share_of_limit": done / 1e9 / seconds / limit}
    return result


def ratios(reference: Contender, ours: Contender) -> dict[str, Any]:
    """How much longer the reference takes: the median over neighbouring turns, with the extremes."""
    result = {"model": ours.asked["config"]["model"], "algorithm": ours.asked["config"]["algorithm"]}
    result["contender"] = ours.asked["kind"]
    pairs = list(zip(reference.samples, ours.samples, strict=True))
    for name, parts in (("train", ("train",)), ("evaluate", ("evaluate",)), ("whole", ("train", "evaluate"))):
        for suffix in ("", "_cpu"):
            quotients = [sum(r[p + suffix] for p in parts) / sum(o[p + suffix] for p in parts) for r, o in pairs]
            result[name + suffix] = spread(quotients)
    return result
