"""``python docs/performance/frameworks.py PYTHON``: ours against pfl-research and Flower.

All train FedAvg on the same clients, batches and initial weights. The others run in an environment of
theirs, whose interpreter PYTHON is; their drivers lie in the folder ``frameworks``, import nothing of this project and
get the work as arrays.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from checkout import HERE

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.options import Place
from artifact.bench import results
from artifact.bench.cases import COMMON, ROUNDS_PER_TURN, available, contender
from artifact.bench.measure import Contender, spread, take_turns
from artifact.data.augment import normalise
from artifact.runs.session import load_data
from artifact.runs.store import environment
from artifact.training import config
from artifact.training.trainer import Trainer, draw_cohort, schedule

DRIVERS = HERE / "frameworks"
MODELS = ("mlp-200", "lenet")
PACKAGES = ("pfl", "flwr", "ray", "torch", "numpy")
#: what is the same for everybody: no augmentation, no clipping; nothing is evaluated
PLAIN = {"augment": "none", "clip": None, "eval_train": False}


def export(model: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Write the work of some rounds of FedAvg as arrays; the config that makes our trainer do the same.

    ``x`` normalised images, ``y`` labels, ``w`` initial weights [P], ``cohorts`` [rounds, S], ``batches``
    [rounds, S, K, B] sample indices, ``work.json`` the rest.
    """
    asked = contender(model, "fedavg", "auto", **PLAIN)
    run = config.make(**asked["config"])
    trainer = Trainer(run, load_data(run))
    cohorts, batches = [], []
    for t in range(rounds):
        clients = draw_cohort(run.seed, t, run.clients, run.cohort, run.cohort_rule)
        pools = [trainer.pools[i] for i in clients.tolist()]
        plan = schedule(pools, clients.tolist(), run.batch_size, trainer.local_steps(pools), run.seed, t)
        if {length for lengths in plan.lengths for length in lengths} != {run.batch_size}:
            raise UserError("batch_size", run.batch_size, "one that divides every client's number of samples")
        cohorts.append(clients)
        batches.append(plan.indices)
    arrays = {"x": normalise(trainer.data.train_x, trainer.data), "y": trainer.data.train_y, "w": trainer.w}
    arrays |= {"cohorts": torch.stack(cohorts), "batches": torch.stack(batches)}
    for name, tensor in arrays.items():
        np.save(folder / f"{name}.npy", tensor.numpy())
    facts = {"lr": run.lr, "weight_decay": run.weight_decay, "model": model}
    (folder / "work.json").write_text(json.dumps(facts), encoding="utf-8")
    return asked


def contenders(python: Path, cores: int) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """Command and request of every framework: its plain setting, and those of which one may be its fastest.

    Tuned ones get our allocator settings too (``artifact/accelerate/allocator.py``).
    """
    kept = ["env", "MALLOC_MMAP_MAX_=0", f"MALLOC_TRIM_THRESHOLD_={2**31 - 1}"]
    pfl, flower = [str(python), str(DRIVERS / "with_pfl.py")], [str(python), str(DRIVERS / "with_flower.py")]
    alone = ["unshare", "-rn"]  # a network of its own, with the loopback device only
    found = {
        "pfl": (pfl, {"tuned": False, "workers": 1, "threads": cores}),
        "pfl-tuned": ([*kept, *pfl], {"tuned": True, "workers": 1, "threads": cores}),
        "flower": ([*alone, *flower], {"tuned": False, "workers": cores, "threads": 1, "nodes": COMMON["clients"]}),
        "flower-tuned": (
            [*alone, *kept, *flower],
            {"tuned": True, "workers": cores, "threads": 1, "nodes": COMMON["cohort"]},
        ),
    }
    if cores > 1:
        found["pfl-tuned-workers"] = ([*kept, *pfl], {"tuned": True, "workers": cores, "threads": 1})
    return found


def measure(python: Path, models: Sequence[str], turns: int, cores: int | None) -> dict[str, Any]:
    """Rows of all contenders and, per framework, its ratio to ours and how far its weights end from ours.

    python: interpreter of the frameworks' environment.  turns: counted ones, after a round that is not.
    """
    if not python.is_file():
        raise UserError("python", str(python), "the Python of an environment with pfl and flwr")
    cores, rows, found = cores or os.cpu_count() or 1, [], versions(python)
    for model in models:
        with tempfile.TemporaryDirectory(prefix="work") as place:
            for result in _play(python, model, turns, cores, Path(place)):
                rows.append(result)
                click.echo(line(result), err=True)
    return {"environment": environment(torch.device("cpu")), "versions": found, "frameworks": rows}


def _play(python: Path, model: str, turns: int, cores: int, folder: Path) -> list[dict[str, Any]]:
    per_turn = ROUNDS_PER_TURN.get(model, 1)
    rounds = 1 + turns * per_turn
    ours = export(model, rounds, folder) | {"cores": cores, "evaluate": False}
    makers = {"ours": partial(Contender, ours | {"weights": str(folder / "ours.npy")})}
    for name, (command, settings) in contenders(python, cores).items():
        asked = {"kind": name, "work": str(folder), "weights": str(folder / f"{name}.npy"), "cores": cores}
        makers[name] = partial(Contender, asked | settings, command=command)
    start, after_one = np.load(folder / "w.npy"), {}

    def moved() -> dict[str, np.ndarray]:
        """The server's update since the start, by contender."""
        return {name: np.load(folder / f"{name}.npy") - start for name in makers}

    took = take_turns(list(makers.values()), turns, per_turn, lambda: after_one.update(moved()))
    played, at_end = dict(zip(makers, took, strict=True)), moved()
    local_steps = rounds * played["ours"].facts["local_steps"]
    return [
        {
            "model": model,
            "contender": name,
            "cores": cores,
            "train": spread([s["train"] for s in one.samples]),
            "processor": statistics.mean(s["processes"] for s in one.samples),
            "others": statistics.median(s["others"] for s in one.samples),
            "ratio": spread(
                [t["train"] / o["train"] for t, o in zip(one.samples, played["ours"].samples, strict=True)]
            ),
            "steps": local_steps if name == "ours" else one.samples[-1]["steps"],
            "rounds": rounds,
            "difference_after_one": apart(after_one[name], after_one["ours"]),
            "difference": apart(at_end[name], at_end["ours"]),
        }
        for name, one in played.items()
    ]


def apart(theirs: np.ndarray, ours: np.ndarray) -> float:
    """Norm of the difference of two updates [P], relative to ours."""
    return float(np.linalg.norm(theirs - ours) / np.linalg.norm(ours))


def versions(python: Path) -> dict[str, str]:
    """Of the packages that matter, in the frameworks' environment."""
    code = "import json, sys; from importlib.metadata import version as v; "
    code += "print(json.dumps({name: v(name) for name in sys.argv[1:]}))"
    done = subprocess.run([python, "-c", code, *PACKAGES], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError("python", str(python), f"an environment with {', '.join(PACKAGES)}")
    return json.loads(done.stdout)


def line(result: dict[str, Any]) -> str:
    train, ratio = result["train"], result["ratio"]
    text = f"{result['model']:<8} {result['contender']:<18} train {train['median']:8.4f} s [{train['min']:.4f}, "
    text += f"{train['max']:.4f}]  cpu {result['processor']:7.3f} s  theirs / ours {ratio['median']:6.2f}x "
    text += f"[{ratio['min']:.2f}, {ratio['max']:.2f}]  n={train['n']}  others {100 * result['others']:.0f} %"
    text += f"  gradients {result['steps']}  update apart {result['difference_after_one']:.1e} after one round, "
    return text + f"{result['difference']:.1e} after {result['rounds']}"


@click.command(cls=OneLine)
@click.argument("python", type=Place())
@click.option("--model", "models", multiple=True, type=click.Choice(MODELS), help="Default: both.")
@click.option(
    "--rounds",
    "turns",
    type=click.IntRange(1),
    default=7,
    show_default=True,
    help="Turns; one is ten rounds of the MLP.",
)
@click.option("--cores", type=click.IntRange(1), help="Cores that every contender may use; default all.")
@results.OUT
def main(python: Path, models: tuple[str, ...], turns: int, cores: int | None, out: Path | None) -> None:
    """Seconds per round of ours, pfl-research and Flower on the same work; PYTHON has pfl and flwr."""
    result = measure(python, available(models or MODELS), turns, cores)
    if out is not None:
        results.write(out, result)


if __name__ == "__main__":
    main(prog_name="python docs/performance/frameworks.py")
