"""``python docs/robustness/determinism.py``: what differs between kinds of processor; prints determinism.json.

``python docs/robustness/determinism.py measure`` plays every case on this machine as it is, twice, and again while the
libraries are told to use smaller vector units, and writes determinism.json: the golden values that a test compares on
whatever machine it runs. Numbers that move need a higher ``artifact.NUMBERS``, and then this command.
``python docs/robustness/determinism.py again`` trains stored runs of other makers' processors once more, as they were
asked for, and compares all rounds.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from kept_table import printing

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from artifact import NUMBERS
from artifact.base.devices import vector_unit
from artifact.base.files import write_atomic
from artifact.base.lazy import torch
from artifact.base.tables_as_text import markdown_table
from artifact.runs import session, store
from artifact.training import config
from artifact.training.trainer import Trainer

OUT = Path(__file__).with_name("determinism.json")
RESULTS = Path(__file__).resolve().parents[2] / "results"
AGAIN = 3
METHODS = ("fedavg", "fedsam", "mofedsam", "fedsmoo", "fedlesam-d", "scaffold")
#: network -> types in which it is played
NETWORKS = {"mlp": ("float64", "float32"), "convnet-tiny": ("float64", "float32", "bfloat16")}
CASES = tuple((network, dtype, method) for network in NETWORKS for dtype, method in product(NETWORKS[network], METHODS))
COMMON = {"dataset": "digits", "train_size": 240, "test_size": 200, "clients": 6, "cohort": 3, "rounds": 3}
COMMON |= {"batch_size": 16, "local_steps": 3, "lr": 0.05, "split": "dirichlet:0.3", "backend": "auto"}
#: largest relative difference of two kinds' weights, and of a golden value from what a machine finds
TOLERANCE = {"float64": 1e-10, "float32": 1e-3, "bfloat16": 0.1}
#: the same in float64 where torch has no vector unit and draws normal numbers, in float32, by another order of sums
UNVECTORISED = 1e-5
ALONE = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: kinds of surroundings -> what the libraries are told
SURROUNDINGS: dict[str, dict[str, str]] = {
    "as it is, once more": {},
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    "no vector unit": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "two threads": {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
}


def kind() -> str:
    """This processor and the libraries that its bits depend on."""
    text = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    found = re.findall(r"^(?:vendor_id|cpu family|model)\s*: (.+)$", text, re.M)[:3] or [platform.machine()]
    return f"{' '.join(found)}, {vector_unit()}, torch {torch.__version__}, numpy {np.__version__}"


def play(case: tuple[str, str, str], **changed: Any) -> tuple[np.ndarray, dict[str, float]]:
    """Weights [P] of the server after the last round, and the values that are kept of them."""
    network, dtype, method = case
    one = config.make(**({"algorithm": method, "model": network, "dtype": dtype} | COMMON | changed))
    trainer = Trainer(one, session.load_data(one))
    for _ in range(one.rounds):
        trainer.play_round()
    w = trainer.w.double().numpy()
    tested = trainer.test(trainer.w)
    return w, {"norm": float(np.linalg.norm(w)), "loss": tested["loss"], "accuracy": tested["accuracy"]}


def played(surroundings: dict[str, str]) -> tuple[str, dict[str, tuple[np.ndarray, dict[str, Any]]]]:
    """Kind and cases, from a process of its own in these surroundings."""
    with tempfile.TemporaryDirectory() as folder:
        around = os.environ | ALONE | surroundings
        words = [sys.executable, "-W", "ignore", __file__, "play", folder]
        done = subprocess.run(words, env=around, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-1000:])
        found = json.loads(done.stdout.splitlines()[-1])
        cases = {name: (np.load(Path(folder) / f"{name}.npy"), row) for name, row in found["cases"].items()}
        return found["kind"], cases


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """||a - b|| / ||a||"""
    return float(np.linalg.norm(a - b) / np.linalg.norm(a))


def measured() -> dict[str, Any]:
    """The content of determinism.json."""
    here, reference = played({})
    kept: dict[str, Any] = {"numbers": NUMBERS, "kind": here, "golden": {}, "surroundings": {}}
    kept["again"] = json.loads(OUT.read_text(encoding="utf-8"))["again"] if OUT.exists() else []
    kept["golden"] = {name: row for name, (_, row) in reference.items()}
    for words, told in SURROUNDINGS.items():
        _, cases = played(told)
        kept["surroundings"][words] = {
            name: {
                "same bits": row["digest"] == reference[name][1]["digest"],
                "weights": difference(reference[name][0], w),
                "accuracy": abs(row["accuracy"] - reference[name][1]["accuracy"]),
            }
            for name, (w, row) in cases.items()
        }
    return kept


def allowed(dtype: str, vectorised: bool = True) -> float:
    return TOLERANCE[dtype] if vectorised else max(UNVECTORISED, TOLERANCE[dtype])


def others() -> list[store.Finished]:
    """Stored runs that another maker's processor trained: the ``AGAIN`` shortest per data set, network and type."""
    here = store.environment(torch.device("cpu"))["processor"]
    found: dict[tuple[str, ...], list[store.Finished]] = {}
    for run in store.finished(RESULTS):
        if run.environment()["processor"] != here and run.config()["device_used"] == "cpu":
            found.setdefault(tuple(run.config()[name] for name in ("dataset", "model", "dtype")), []).append(run)
    return [run for runs in found.values() for run in sorted(runs, key=lambda run: run.seconds())[:AGAIN]]


def compared(run: store.Finished) -> dict[str, Any]:
    """A stored run beside the same one, trained here."""
    content = run.config()
    one = config.RunConfig(**{name: content[name] for name in config.RunConfig.model_fields if name in content})
    with tempfile.TemporaryDirectory() as folder:
        session.execute(one, Path(folder))
        (fresh,) = store.finished(Path(folder))
        pairs = {name: (run.series(name), fresh.series(name)) for name in ("server.accuracy", "server.loss")}
        same = [a == b for a, b in zip(run.metrics(), fresh.metrics(), strict=True)]
    apart = {name: max(abs(a[t] - b[t]) for t in a) for name, (a, b) in pairs.items()}
    last = [series[max(series)] for series in pairs["server.accuracy"]]
    return {
        "processor": run.environment()["processor"],
        "run": run.key,
        "what": [content["dataset"], content["model"], content["dtype"], content["algorithm"]],
        "rounds": len(same),
        "same rounds": same.index(False) if False in same else len(same),
        "accuracy": apart["server.accuracy"],
        "loss": apart["server.loss"],
        "last": last[1] - last[0],
    }


def table(content: dict[str, Any]) -> list[str]:
    body = []
    for words, cases in content["surroundings"].items():
        for network, dtypes in NETWORKS.items():
            for dtype in dtypes:
                rows = [cases["-".join((network, dtype, method))] for method in METHODS]
                body.append(
                    [
                        words,
                        network,
                        dtype,
                        f"{sum(row['same bits'] for row in rows)} of {len(rows)}",
                        f"{max(row['weights'] for row in rows):.1e}",
                        f"{100 * max(row['accuracy'] for row in rows):.1f}",
                        f"{TOLERANCE[dtype]:g}",
                    ]
                )
    head = ["libraries are told to use", "network", "type", "methods with the same bits"]
    head += ["largest relative difference of the weights", "of the accuracy, points", "allowed"]
    return [
        *markdown_table(head, body),
        "",
        f"*{content['kind']}; numbers version {content['numbers']}.*",
        "",
        *_again(content),
    ]


def _again(content: dict[str, Any]) -> list[str]:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in content["again"]:
        groups.setdefault((row["processor"], *row["what"][:3]), []).append(row)
    body = [
        [
            *words,
            str(len(rows)),
            f"{min(row['same rounds'] for row in rows)} of {rows[0]['rounds']}",
            f"{100 * max(row['accuracy'] for row in rows):.2f}",
            f"{100 * sum(row['last'] for row in rows) / len(rows):+.2f}",
        ]
        for words, rows in groups.items()
    ]
    head = ["stored runs of", "data set", "network", "type", "runs", "first rounds that are equal, at least"]
    head += ["largest difference of an accuracy, points", "mean difference at the end, points"]
    return [*markdown_table(head, body), "", f"*Trained once more on {content['kind']}.*"]


main = printing(OUT, table)


@main.command()
def measure() -> None:
    """Play every case in all surroundings and keep the outcome."""
    write_atomic(OUT, json.dumps(measured(), indent=1) + "\n")


@main.command()
def again() -> None:
    """Train stored runs of other makers' processors once more."""
    kept = json.loads(OUT.read_text(encoding="utf-8"))
    kept["again"] = [compared(run) for run in others()]
    write_atomic(OUT, json.dumps(kept, indent=1) + "\n")


@main.command("play")
@click.argument("folder", type=click.Path(path_type=Path))
def play_all(folder: Path) -> None:
    """Play every case here; weights go to FOLDER, the rest to standard output."""
    rows = {}
    for case in CASES:
        w, row = play(case)
        np.save(folder / f"{'-'.join(case)}.npy", w)
        rows["-".join(case)] = row | {"digest": hashlib.sha256(w.tobytes()).hexdigest()}
    click.echo(json.dumps({"kind": kind(), "cases": rows}))


if __name__ == "__main__":
    main()
