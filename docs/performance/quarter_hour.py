"""``python docs/performance/quarter_hour.py``: the most of a GPU that is there for a quarter of an hour.

``pack`` writes what has to travel: code, data, the compiler's cache and the queue of runs, in slices that a transfer
allows. ``go``, on the machine with the GPU, holds the device's numbers against the CPU's, trains the queue until the
time is up, and packs what is finished; a second call goes on where the first one stopped. ``unpack`` brings the runs
home. Without a GPU the same commands work on the CPU, so that everything can be rehearsed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from checkout import HERE

from artifact import data
from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.options import Place
from artifact.runs import roofline
from artifact.runs.archive import finished_keys, open_run
from artifact.runs.session import execute, load_data
from artifact.runs.store import Run
from artifact.runs.sweep.sweep import plan
from artifact.training.config import RunConfig, make
from artifact.training.trainer import Trainer

ROOT = HERE.parents[1]
#: where the compilers of a GPU's kernels keep what they have made
CACHE = Path("cache")
#: the store at home
HOME = Path("results")
#: bytes of a slice on the way there, and of a file on the way back
THERE, BACK = 60 << 20, 15 << 20
#: what has to travel of the repository
CODE = ("artifact", "fedsharp", "experiments", "docs/performance", "tests/training/test_cuda.py", "tests/conftest.py")
CODE += ("pyproject.toml", "setup.py", "README.md", "LICENSE")
#: PAPER/TABLE:PROFILE in the order of what their runs are worth
TABLES = ("campaign/cell:paper", "campaign/1:laptop", "sun2023/1:paper")
QUEUE, PACKAGE, RESULTS = "queue.json", "package.tar.xz", "results"
#: seconds that are kept for the last checkpoint and for packing
RESERVE = 20.0
#: how far float64 weights of the device may be from the CPU's after a round
CLOSE = 1e-9
#: parts of a finished run that come back; the checkpoint stays, since a larger one does not pass
PARTS = ("config.json", "done", "environment.json", "metrics.jsonl", "timings.jsonl")


# ---- the queue -------------------------------------------------------------------------------------------------------


def queue(tables: Iterable[str], store: Path, on: str, most: int) -> list[dict[str, Any]]:
    """The runs that the store lacks, in order, with the seconds that they are expected to take on a machine."""
    from artifact.papers import needed_runs  # the papers' files stay at home

    known = roofline.reached(roofline.machines()[on], store)
    found: list[dict[str, Any]] = []
    for table in tables:
        selection, colon, profile = table.partition(":")
        if not colon:
            raise UserError("table", table, "PAPER/TABLE:PROFILE")
        runs = needed_runs.configs(selection, profile, everything=True)
        for job in plan(runs, store).jobs:
            one = {"config": json.loads(job.config.model_dump_json()), "seconds": _expected(known, job.config)}
            if one not in found:
                found.append(one)
    return found[:most]


def _expected(known: roofline.Reached, run: RunConfig) -> float | None:
    try:
        return known.seconds(run)
    except UserError:  # a network whose work cannot be counted
        return None


# ---- there -----------------------------------------------------------------------------------------------------------


def slices(blob: Path, size: int) -> list[Path]:
    """Cut a file into NAME.00, NAME.01, ... of at most so many bytes; the whole is removed."""
    found = []
    with blob.open("rb") as source:
        while piece := source.read(size):
            found.append(blob.with_name(f"{blob.name}.{len(found):02d}"))
            found[-1].write_bytes(piece)
    blob.unlink()
    return found


def code() -> Iterator[Path]:
    """Files of the repository that travel, as git lists them, or as they lie where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-z", *CODE], cwd=ROOT, capture_output=True, check=False)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    for name in filter(None, names):
        if (ROOT / name).is_file():
            yield ROOT / name


def write_package(folder: Path, wanted: list[dict[str, Any]], data_root: Path, size: int = THERE) -> list[Path]:
    """The package in slices. Raises UserError for data that are not here, and for a folder that holds a package."""
    if list(folder.glob(f"{PACKAGE}*")):
        raise UserError("folder", str(folder), "a folder without a package")
    sources = {data.sources.describe(one["config"]["dataset"]) for one in wanted}
    files = [path for source in sources if source.kind != "digits" for path in _files_of(source, data_root)]
    folder.mkdir(parents=True, exist_ok=True)
    blob = folder / PACKAGE
    with tarfile.open(blob, "w:xz", preset=1) as tar:
        for path in code():
            tar.add(path, str(path.relative_to(ROOT)))
        for path in files:
            tar.add(path, f"data/{path.relative_to(data_root)}")
        if CACHE.is_dir():
            tar.add(CACHE, str(CACHE))
        held = folder / QUEUE
        held.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
        tar.add(held, QUEUE)
        held.unlink()
    return slices(blob, size)


def _files_of(source: data.sources.Source, data_root: Path) -> list[Path]:
    names = [name for name, known in data.sources.DATASETS.items() if known is source]
    name = source.file or names[0]
    stored = data_root / f"{name}.npz"
    if stored.is_file():
        return [stored]
    where = data.status(names[0], data_root)["where"]
    if where is None:
        raise UserError("dataset", names[0], f"data that are present in {data_root}; {source.how}")
    place = Path(str(where))
    return [path for path in sorted(place.rglob("*")) if path.is_file()] if place.is_dir() else [place]


# ---- on the machine with the GPU -------------------------------------------------------------------------------------


class Clock:
    """Seconds since the call, and those that are left until packing has to begin."""

    def __init__(self, seconds: float, reserve: float):
        self.start, self.until = time.monotonic(), time.monotonic() + seconds - reserve

    @property
    def left(self) -> float:
        return self.until - time.monotonic()

    def say(self, text: str) -> None:
        click.echo(f"{time.monotonic() - self.start:6.1f} s  {text}")


def far(device: str) -> float:
    """The largest difference of float64 weights between a device's backends and the loop on the CPU after a round."""
    small = {"algorithm": "fedsmoo", "dataset": "digits", "train_size": 90, "test_size": 60, "clients": 5, "cohort": 3}
    small |= {"rounds": 1, "batch_size": 8, "dtype": "float64", "model": "convnet-tiny", "clip": 1.0}

    def weights(backend: str, on: str) -> Any:
        run = make(**small, backend=backend, device=on)
        trainer = Trainer(run, load_data(run))
        trainer.play_round()
        return trainer.w.cpu()

    reference = weights("loop", "cpu")
    return max(
        (weights(backend, device) - reference).abs().max().item() for backend in ("stacked", "kernels", "batched")
    )


def check(device: str, clock: Clock) -> None:
    """Raises UserError for a device whose numbers are not the CPU's."""
    difference = far(device)
    clock.say(f"float64 on {device} differs from the CPU by {difference:.1e}")
    if not difference <= CLOSE:
        raise UserError("device", device, f"a device whose float64 weights are within {CLOSE:g} of the CPU's")
    test = Path("tests/training/test_cuda.py")
    if device == "cpu" or not test.is_file():
        return
    limit = max(1.0, min(120.0, clock.left / 4))
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(test)]
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
        clock.say(f"{test}: {(ended.stdout.strip().splitlines() or [ended.stderr.strip()])[-1]}")
        if ended.returncode == 1:
            raise UserError("device", device, f"a device on which {test} passes")
    except subprocess.TimeoutExpired:
        clock.say(f"{test}: not finished within {limit:.0f} s")


def begun(run: RunConfig, store: Path, data_root: Path) -> Run:
    return open_run(store, run.key(load_data(run, data_root).fingerprint))


def train(wanted: list[dict[str, Any]], store: Path, data_root: Path, device: str, clock: Clock) -> dict[str, int]:
    """Train the queue while there is time: runs that were begun first, then those that fit; rounds played by run.

    A run that is expected to take longer than there is time waits until nothing else is left.
    """
    played: dict[str, int] = {}
    waiting = [(make(**one["config"] | {"device": device}), one["seconds"]) for one in wanted]
    state = {id(run): begun(run, store, data_root) for run, _ in waiting}
    waiting = [(run, seconds) for run, seconds in waiting if not state[id(run)].done]
    waiting.sort(key=lambda item: not state[id(item[0])].started)  # stable: otherwise in the order of their value
    while waiting and clock.left > 0:
        fitting = [item for item in waiting if state[id(item[0])].started or (item[1] or 0.0) <= clock.left]
        chosen = (fitting or waiting)[0]
        waiting.remove(chosen)
        run, seconds = chosen
        name = f"{run.algorithm} {run.dataset} {run.model} seed {run.seed}"
        expected = "unknown" if seconds is None else f"{seconds:.0f} s"
        clock.say(f"{name}: begins ({expected} expected, {clock.left:.0f} s left)")
        rounds = 0

        def after(_trainer: Trainer, _metrics: dict) -> None:
            nonlocal rounds
            rounds += 1
            if clock.left <= 0:
                signal.raise_signal(signal.SIGTERM)  # heard by the run, which saves and ends

        try:
            outcome = execute(run, store, data_root=data_root, quiet=True, after_round=after, slim=True)
            clock.say(f"{name}: finished, {rounds} rounds, key {outcome.run.key}")
        except KeyboardInterrupt:
            clock.say(f"{name}: cut off after {rounds} rounds more; another call goes on")
        except UserError as error:
            clock.say(f"{name}: left out: {error}")
        played[name] = rounds
    return played


def write_results(store: Path, folder: Path, size: int = BACK) -> list[Path]:
    """The finished runs of a store in files of at most so many bytes, each of which stands alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("results-*.tar.xz"):
        old.unlink()
    written: list[Path] = []
    batch: list[Path] = []
    taken = 0
    for key in finished_keys(store):
        own = [path for name in PARTS if (path := store / key / name).is_file()]
        weight = sum(path.stat().st_size for path in own)  # compressed it is less
        if batch and taken + weight > size:
            written.append(_tar(folder, len(written), batch, store))
            batch, taken = [], 0
        batch += own
        taken += weight
    return [*written, _tar(folder, len(written), batch, store)] if batch else written


def _tar(folder: Path, number: int, files: list[Path], store: Path) -> Path:
    path = folder / f"results-{number:02d}.tar.xz"
    with tarfile.open(path, "w:xz") as tar:
        for file in files:
            tar.add(file, str(file.relative_to(store)))
    return path


# ---- home ------------------------------------------------------------------------------------------------------------


def take_home(files: Iterable[Path], store: Path, told: Callable[[str], None]) -> int:
    """Put the runs of some files into a store; whatever is there stays, and a run that is not intact is not taken."""
    taken = 0
    for file in files:
        inbox = store / f".inbox-{file.name}"
        inbox.mkdir(parents=True)
        try:
            with tarfile.open(file) as tar:
                tar.extractall(inbox, filter="data")
            for folder in sorted(inbox.iterdir()):
                if (store / folder.name).exists() or folder.name in finished_keys(store):
                    told(f"{folder.name}: is there")
                elif not open_run(inbox, folder.name).intact:
                    told(f"{folder.name}: damaged on the way, not taken")
                else:
                    folder.rename(store / folder.name)
                    taken += 1
        except (tarfile.TarError, OSError, EOFError) as error:
            raise UserError("file", str(file), f"a file that go has written ({error})") from None
        finally:
            _remove(inbox)
    return taken


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


# ---- commands --------------------------------------------------------------------------------------------------------


class Lines(OneLine, click.Group):
    """A group whose faults are one line."""


@click.group(cls=Lines)
def main() -> None:
    """Make the most of a GPU that is there for a quarter of an hour."""


@main.command("pack")
@click.argument("folder", type=Place())
@click.option("--table", "tables", multiple=True, default=TABLES, help="PAPER/TABLE:PROFILE, in order of value.")
@click.option("--on", type=click.Choice(["h200", "h100", "two-cores"]), default="h200", help="Where it will run.")
@click.option("--most", type=click.IntRange(1), default=40, help="Runs in the queue.")
@click.option("--data-root", type=Place(), default=Path("data"), help="Folder of the data sets.")
def pack(folder: Path, tables: tuple[str, ...], on: str, most: int, data_root: Path) -> None:
    """Write what has to travel into FOLDER, in slices of at most 60 MiB."""
    wanted = queue(tables, HOME, on, most)
    for path in write_package(folder, wanted, data_root):
        click.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    known = sum(one["seconds"] or 0.0 for one in wanted)
    click.echo(f"{len(wanted)} runs, about {known / 60:.0f} minutes; there: cat {PACKAGE}.* | tar xJ")


@main.command("go")
@click.option("--seconds", type=click.FloatRange(1), default=560.0, help="From now until everything has to be packed.")
@click.option("--reserve", type=click.FloatRange(0), default=RESERVE, help="Of these, for the last steps.")
@click.option("--device", default="auto", help="cuda, cpu, or auto.")
@click.option("--check/--no-check", "checked", default=True, help="Whether numbers are checked; once is enough.")
@click.option("--store", type=Place(), default=Path("runs"), help="Where runs are kept between two calls.")
@click.option("--data-root", type=Place(), default=Path("data"), help="Folder of the data sets.")
@click.option("--out", type=Place(), default=Path(RESULTS), help="Where the files to bring home go; $OUT of a job.")
def go(seconds: float, reserve: float, device: str, checked: bool, store: Path, data_root: Path, out: Path) -> None:
    """Check the device, train the queue until the time is up, and pack what is finished."""
    clock = Clock(seconds, reserve)
    for variable, name in (("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton")):
        os.environ.setdefault(variable, str((CACHE / name).absolute()))  # read when something is compiled
    try:
        wanted = json.loads(Path(QUEUE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError("folder", str(Path.cwd()), f"the folder of an unpacked package, with {QUEUE}") from None
    used = make(algorithm="fedavg", device=device).resolved_device.type
    cached = sum(1 for path in CACHE.rglob("*") if path.is_file()) if CACHE.is_dir() else 0
    clock.say(f"{len(wanted)} runs wait; the compiler's cache has {cached} files")
    if checked:
        check(used, clock)
    played = train(wanted, store, data_root, used, clock)
    files = write_results(store, out)
    report = {"device": used, "played": played, "finished": finished_keys(store), "files": [f.name for f in files]}
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    clock.say(f"{len(report['finished'])} runs are finished; {len(files)} files to bring home in {out}")


@main.command("unpack")
@click.argument("files", nargs=-1, required=True, type=Place(exists=True, dir_okay=False))
@click.option("--store", type=Place(), default=HOME, help="Where the runs go.")
def unpack(files: tuple[Path, ...], store: Path) -> None:
    """Bring the runs of FILES home."""
    click.echo(f"{take_home(files, store, click.echo)} runs taken into {store}")


if __name__ == "__main__":
    main()
