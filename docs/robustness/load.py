"""``python docs/robustness/load.py``: how stores, ledgers, federations and sweeps grow; prints load.json.

``python docs/robustness/load.py measure PART...`` measures parts anew and writes them to load.json. Each number comes
from a process of its own and counts from the moment when the program is loaded. Processor time is what is compared,
since it moves little where other processes run beside; wall time is given where waiting counts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from kept_table import printing

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from artifact.base import paths
from artifact.base.devices import vector_unit
from artifact.base.files import write_atomic
from artifact.base.tables_as_text import markdown_table
from artifact.papers import experiments, folders, table_results
from artifact.runs import archive, lookup, schema, seal, store_command
from artifact.runs.sweep import sweep
from artifact.training import config
from artifact.verdicts import ledger
from artifact.verdicts.decide import decide
from artifact.verdicts.lookup import open_store

OUT = Path(__file__).with_name("load.json")
RECORDS = (1_250, 5_000, 20_000)
CLAIMS = (1_000, 5_000)
CLIENTS = (100, 1_000, 10_000)
CELLS = 200
TABLE = "qu2022/1"
ROUNDS = 10


# ---- what is made to be measured -------------------------------------------------------------------------------------


def make_store(root: Path, records: int) -> None:
    """Sealed records of the runs of ``TABLE`` at the profile laptop, then of further seeds of them."""
    _, table = experiments.find(TABLE)
    configs = [one for cell in experiments.cells(table, "laptop") for one in cell.configs]
    asked = list({one.model_dump_json(): one for one in configs}.values())
    first = [one for one in asked if one.seed == asked[0].seed]
    further = (one.model_copy(update={"seed": 1_000 + n}) for n in itertools.count() for one in first)
    for one in itertools.islice(itertools.chain(asked, further), records):
        _record(root, one)


def _record(root: Path, one: config.RunConfig) -> None:
    data = "0" * 64
    folder = root / one.key(data)
    folder.mkdir(parents=True, exist_ok=True)
    values = [0.5 + 0.01 * number + 0.001 * (one.seed % 7) for number in range(ROUNDS)]
    cost = dict.fromkeys(schema.Cost.model_fields, 1)
    lines = [{"round": t, "cohort": 2, "cost": cost, "server": {"accuracy": v}} for t, v in enumerate(values, 1)]
    parts = {
        "config.json": json.dumps(
            one.canonical() | {"parameters": 1000, "data_fingerprint": data}, indent=1, sort_keys=True
        ),
        "environment.json": json.dumps({"numbers": 1}),
        "metrics.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "timings.jsonl": "".join(json.dumps({"round": t, "seconds": 1.0}) + "\n" for t in range(1, ROUNDS + 1)),
    }
    for name, text in parts.items():
        (folder / name).write_text(text)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in parts.items()}
    (folder / "done").write_text(json.dumps(seal.seal({"parts": digests, "rounds": ROUNDS})))


def make_audit(folder: Path, claims: int) -> None:
    """A paper of one's own with so many claims, every second of which runs decide."""
    words = ["audit", "init", str(folder), "--key", "load2025", "--title", "A paper of many claims (2025)"]
    subprocess.run([sys.executable, "-m", "artifact", *words], check=True, capture_output=True)
    head, *pair = (folder / "claims.toml").read_text().split("\n[[claim]]\n")
    blocks = [pair[n % 2].replace('id = "load2025-', f'id = "load2025-{n}-') for n in range(claims)]
    (folder / "claims.toml").write_text("\n[[claim]]\n".join([head, *blocks]))


# ---- parts -----------------------------------------------------------------------------------------------------------


def of_table(root: Path) -> Callable[[], object]:
    """To call: the look-up of ``TABLE`` over a store."""
    _, table = experiments.find(TABLE)
    return lambda: sum(len(entry.runs) for entry in table_results.look_up(table, "laptop", lookup.finished_runs(root)))


def of_plan(root: Path) -> Callable[[], object]:
    _, table = experiments.find(TABLE)
    asked = [one for cell in experiments.cells(table, "laptop") for one in cell.configs]
    return lambda: len(sweep.plan(asked, root).jobs)


def of_verify(root: Path) -> Callable[[], object]:
    return lambda: len(list(store_command.faults(root)))


def of_list(root: Path) -> Callable[[], object]:
    return lambda: sum(1 for _ in archive.finished(root))


def of_ledger(folder: Path) -> Callable[[], object]:
    folders.open_audit(folder)
    return lambda: len(ledger.load())


def of_verdicts(folder: Path) -> Callable[[], object]:
    """To call: the verdict of every claim that runs decide, over the audit's own store, which is empty."""
    folders.open_audit(folder)
    chosen = [claim for claim in ledger.load() if claim.paper == "load2025" and claim.decided_by == "experiments"]
    (folder / "results").mkdir(exist_ok=True)
    own = open_store("laptop", folder / "results")
    return lambda: len([decide(claim, "laptop", own) for claim in chosen])


def of_report(folder: Path) -> Callable[[], object]:
    import artifact.cli  # noqa: F401  (which registers what the report asks of other rooms)
    from artifact.report.build import build
    from artifact.report.content import Content

    folders.open_audit(folder)
    return lambda: len(list(build(Content(), folder / "site", folder, "load").folder.rglob("*.html")))


def of_clients(place: Path) -> Callable[[], object]:
    """To call: two rounds of FedSMOO, which keeps a vector per client, with 100 clients in each."""
    from artifact.runs.session import load_data
    from artifact.training.trainer import Trainer

    clients = int(place.name)
    values = {"dataset": "fashion-mnist", "model": "mlp-8", "split": "iid", "clients": clients, "cohort": 100}
    one = config.make(algorithm="fedsmoo", batch_size=5, local_steps=2, rounds=2, **values)
    trainer = Trainer(one, load_data(one))
    return lambda: [trainer.play_round() for _ in range(2)] and trainer.oracle.layout.numel


PARTS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "table": of_table,
    "plan": of_plan,
    "verify": of_verify,
    "list": of_list,
    "ledger": of_ledger,
    "verdicts": of_verdicts,
    "report": of_report,
    "clients": of_clients,
}


def measured(part: str, place: Path, caches: Path) -> dict[str, Any]:
    """Seconds, peak memory and result of a part, measured in a process of its own."""
    around = os.environ | {"XDG_CACHE_HOME": str(caches), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, __file__, "part", part, str(place)]
    done = subprocess.run(words, capture_output=True, text=True, env=around, check=False)
    if done.returncode:
        raise RuntimeError(f"{part}: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def stores() -> Iterator[dict[str, Any]]:
    for records in RECORDS:
        with tempfile.TemporaryDirectory() as folder:
            root, caches = Path(folder) / "store", Path(folder) / "caches"
            make_store(root, records)
            time.sleep(3)  # the index waits for files to settle
            whats = [
                "look-up of a table, the first time",
                "look-up of a table",
                "plan of a sweep",
                "list",
                "verify every byte",
            ]
            for what, part in zip(whats, ("table", "table", "plan", "list", "verify"), strict=True):
                yield {"what": what, "of": "records", "n": records} | measured(part, root, caches)


def ledgers() -> Iterator[dict[str, Any]]:
    for claims in CLAIMS:
        with tempfile.TemporaryDirectory() as folder:
            make_audit(audit := Path(folder) / "audit", claims)
            for what, part in (("read the ledger", "ledger"), ("verdicts of runs", "verdicts"), ("report", "report")):
                yield {"what": what, "of": "claims", "n": claims} | measured(part, audit, Path(folder))


def clients() -> Iterator[dict[str, Any]]:
    for number in CLIENTS:
        found = measured("clients", Path(str(number)), Path(tempfile.gettempdir()))
        yield {"what": "two rounds of FedSMOO, mlp-8", "of": "clients", "n": number} | found


def cells() -> Iterator[dict[str, Any]]:
    """``CELLS`` runs on a Ray cluster whose nodes come and go; in a network namespace of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "cells.json"
        words = ["unshare", "-rn", sys.executable, __file__, "cluster", str(out)]
        done = subprocess.run(
            words, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-1500:])
        yield json.loads(out.read_text())


MEASURES = {"stores": stores, "ledgers": ledgers, "clients": clients, "cells": cells}


# ---- shown -----------------------------------------------------------------------------------------------------------

NUMBERS = ("processor", "wall", "mib")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,g}"


def table(content: dict[str, Any]) -> list[str]:
    rows = [row for part in MEASURES for row in content["parts"].get(part, [])]
    rows.sort(key=lambda row: (row["of"], row["what"], row["n"]))
    head = ["what", "of how many", "processor s", "wall s", "peak MiB", "result"]
    body = [
        [row["what"], f"{row['n']:,} {row['of']}", *(_number(row[name]) for name in NUMBERS), f"{row['result']:,}"]
        for row in rows
    ]
    return [*markdown_table(head, body), "", f"*{content['machine']}; n=1 each.*"]


# ---- commands --------------------------------------------------------------------------------------------------------

main = printing(OUT, table)


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(MEASURES)))
def measure(names: tuple[str, ...]) -> None:
    """Measure parts anew."""
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {"parts": {}}
    kept["machine"] = f"{os.cpu_count()} cores, {vector_unit()}"
    for name in names or MEASURES:
        kept["parts"][name] = []
        for row in MEASURES[name]():
            click.echo(json.dumps(row))
            kept["parts"][name].append(row)
            write_atomic(OUT, json.dumps(kept, indent=1) + "\n")


@main.command()
@click.argument("name", type=click.Choice(list(PARTS)))
@click.argument("place", type=click.Path(path_type=Path))
def part(name: str, place: Path) -> None:
    call = PARTS[name](place)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    result = call()
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    found = {"processor": round(cpu, 3), "wall": round(time.monotonic() - start, 3), "mib": used.ru_maxrss // 1024}
    click.echo(json.dumps(found | {"result": result}))


@main.command()
@click.argument("out", type=click.Path(path_type=Path))
def cluster(out: Path) -> None:
    """A sweep while a node comes after every 25th run that has ended, and another is killed."""
    sys.path.append(str(paths.ROOT / "docs" / "performance"))
    import nodes

    from artifact.runs.sweep.ray_pool import RayPool
    from artifact.runs.sweep.workers import Settings

    nodes.quiet_ray()
    nodes.loopback_up()
    common = {"model": "mlp-8", "clients": 6, "cohort": 3, "train_size": 120, "test_size": 40, "batch_size": 16}
    common |= {"local_steps": 2, "rounds": 20}
    names = ("fedavg", "fedsam", "fedsmoo", "fedlesam-d")
    asked = [config.make(algorithm=name, seed=seed, **common) for seed in range(CELLS // 4) for name in names]
    start, came, went, ended = time.monotonic(), 0, 0, 0
    with nodes.cluster(1) as started:
        further = [started.add_node(**nodes.NODE)]
        root = out.parent / "store"
        pool = RayPool(started.address, Settings(root, checkpoint_seconds=0.2))
        jobs = sweep.plan(asked, root).jobs
        tally = sweep.Tally(jobs, 2)
        for event in pool.run(jobs):
            tally.take(event)
            ended, before = sum(tally.ended.values()), ended
            if ended // 25 > before // 25:
                if further:
                    started.remove_node(further.pop(), allow_graceful=False)
                    went += 1
                else:
                    further.append(started.add_node(**nodes.NODE))
                    came += 1
    intact = sum(run.intact for run in archive.finished(root))
    found = {
        "what": f"a Ray cluster to which {came} nodes came and from which {went} went",
        "of": "runs",
        "n": len(jobs),
    }
    found |= {"wall": round(time.monotonic() - start, 1), "processor": None, "mib": None, "result": intact}
    out.write_text(json.dumps(found | {"ended": dict(tally.ended), "failures": [*tally.failures]}))


if __name__ == "__main__":
    main()
