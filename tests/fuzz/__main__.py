"""``python -m tests.fuzz``: hostile command lines and files; exit code 1 where one broke a rule."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from artifact.__main__ import main as artifact_main
from artifact.papers import experiments
from artifact.runs.store import Run
from artifact.training import trainer  # noqa: F401, which every attempt would load
from artifact.verdicts import ledger
from tests.fuzz.files import Sound
from tests.fuzz.lines import draw, grammar
from tests.fuzz.process import MEMORY, Ended, attempt
from tests.torture.damage import KINDS as DAMAGE
from tests.torture.scenarios import RUN, SWEEP

ROOT = Path(__file__).resolve().parents[2]


class Workshop:
    """A folder with sound files of every kind; ``play`` gives each attempt a folder of its own."""

    def __init__(self, folder: Path, patience: float):
        os.environ |= {"FEDSHARP_DATA": str(folder / "data"), "HTTPS_PROXY": "http://127.0.0.1:9"}
        os.environ["HTTP_PROXY"] = os.environ["HTTPS_PROXY"]
        self.folder, self.patience = folder, patience
        self.store, self.place = folder / "store", folder / "place"
        for words in (
            f"{RUN.replace('150', '2')} --algorithm fedsam --out {self.store}",
            f"{SWEEP} --out {self.store}",
        ):
            subprocess.run([sys.executable, "-m", "artifact", *shlex.split(words)], check=True, capture_output=True)
        said = f"audit init {folder / 'audit'} --key author2025 --title {shlex.quote('FedX (Author et al., 2025)')}"
        key = next(path.parent.name for path in self.store.glob("*/config.json") if '"rounds": 2' in path.read_text())
        subprocess.run([sys.executable, "-m", "artifact", *shlex.split(said)], check=True, capture_output=True)
        Run(self.store, key).record_curvature({"data": 20, "trace": {"value": 30.0}})
        self.runs = folder / "runs"  # the one run, whose reading takes no time
        shutil.copytree(self.store / key, self.runs / key)
        shutil.copytree(self.store, folder / "packed")
        words = ["store", "pack", "--out", str(folder / "packed")]
        subprocess.run([sys.executable, "-m", "artifact", *words], check=True, capture_output=True)
        self.sound, self.known, self.key = Sound(folder, self.runs), grammar(), key
        self._warm()

    def _warm(self) -> None:
        """What every attempt would load, once."""
        for words in ("list claims", "list experiments", "table qu2022/1 --lookup --profile quick --out x"):
            attempt(lambda words=words: artifact_main(words.split()), self.folder, 120)
        ledger.load()
        list(experiments.all_tables())

    def line(self, seed: int, number: int) -> tuple[str, Callable[[], Ended]]:
        names = {"key": self.key, "store": str(self.place / "store")}
        words = [
            word.replace("{key}", names["key"]).replace("{store}", names["store"])
            for word in draw(seed, number, self.known)
        ]
        return shlex.join(words), lambda: self._judged(lambda: artifact_main(words), self._furnish())

    def _furnish(self) -> set[Path]:
        """The folder that a command line finds: files that names of the pools mean."""
        place = self._empty()
        shutil.copytree(self.runs, place / "store")
        shutil.copytree(self.folder / "audit", place / "audit")
        (place / "file").write_text("a file\n")
        (place / "folder").mkdir()
        for name, how in (("fifo", "fifo"), ("loop", "loop")):
            (place / name).touch()
            DAMAGE[how](place / name, 0)
        shutil.copy(ROOT / "examples/fedsign.py", place)
        shutil.copy(ROOT / "tests/vectors/fedavg-partial.npz", place / "case.npz")
        (place / "page.md").write_text("# A page\n")
        (place / "table.csv").write_text("a,b\n1,2\n")
        (place / "doctor.py").write_text("def step(model, x, y):\n    raise ValueError('nothing')\n")
        return set(place.rglob("*"))

    def file(self, seed: int, number: int) -> tuple[str, Callable[[], Ended]]:
        hostile = self.sound.draw(seed, number)

        def play() -> Ended:
            place = self._empty()
            return self._judged(self.sound.lay(hostile, place), set(place.rglob("*")))

        return f"{hostile.kind}, reader {hostile.reader}", play

    def _empty(self) -> Path:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        return self.place

    def _judged(self, call: Callable[[], int], before: set[Path]) -> Ended:
        around = set(self.folder.iterdir())
        ended = attempt(call, self.place, self.patience)
        left = sorted(str(path.relative_to(self.place)) for path in set(self.place.rglob("*")) - before)
        outside = sorted(path.name for path in set(self.folder.iterdir()) - around)
        return replace(ended, left=" ".join(left), outside=" ".join(outside))

    def process(self, seed: int, number: int) -> tuple[str, Callable[[], Ended]]:
        """A command line in a process as a user starts it."""
        text, _ = self.line(seed, number)

        def play() -> Ended:
            self._furnish()
            words = [word.encode("utf-8", "surrogateescape") for word in shlex.split(text)]
            begin = [sys.executable, "-m", "artifact"]
            try:
                around = {"cwd": self.place, "env": os.environ | {"PYTHONPATH": str(ROOT)}, "timeout": self.patience}
                ended = subprocess.run([*begin, *words], capture_output=True, stdin=subprocess.DEVNULL, **around)
            except subprocess.TimeoutExpired:
                return Ended(None, "", "")
            said, errors = (part.decode(errors="replace") for part in (ended.stdout, ended.stderr))
            return Ended(ended.returncode, said, errors)

        return text, play


@click.command()
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--lines", type=click.IntRange(0), default=0, help="Command lines, each in a child of this process.")
@click.option("--files", type=click.IntRange(0), default=0, help="Hostile files.")
@click.option("--processes", type=click.IntRange(0), default=0, help="Command lines, each in a new interpreter.")
@click.option("--first", type=click.IntRange(0), default=0, help="Number of the first attempt.")
@click.option("--only", type=click.IntRange(0), help="Only the attempt with this number.")
@click.option("--patience", default=20.0, show_default=True, help="Seconds in which an attempt has to end.")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Keep counts and what was late or broken here."
)
def main(seed, lines, files, processes, first, only, patience, record):
    """Draw command lines and files from a seed, and print each that breaks a rule."""
    start, codes, broken, slow = time.monotonic(), Counter(), [], []
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        shop = Workshop(Path(scratch), patience)
        for sort, draw_one, count in (
            ("lines", shop.line, lines),
            ("files", shop.file, files),
            ("processes", shop.process, processes),
        ):
            for number in range(first, first + count) if only is None or not count else [only]:
                text, play = draw_one(seed, number)
                ended = play()
                late = ended.code is None
                if late:  # once more, with patience, to tell a loaded machine from a hang
                    shop.patience = 10 * patience
                    ended, shop.patience = play(), patience
                codes[f"{sort}: {ended.code}"] += 1
                for rule in ended.broken():
                    broken.append({"sort": sort, "number": number, "rule": rule, "text": text})
                    click.echo(
                        f"broken: {rule}: {sort} {number}: {text!r}: {ended.code}: {ended.errors[-700:]} {ended.left}"
                    )
                if late:
                    slow.append({"sort": sort, "number": number, "text": text, "then": round(ended.seconds, 1)})
                    click.echo(f"late: {sort} {number}: {text!r}: then {slow[-1]['then']} s of processor time")
                if record is not None:
                    minutes = round((time.monotonic() - start) / 60, 1)
                    content = {"seed": seed, "first": first, "minutes": minutes, "ended": dict(sorted(codes.items()))}
                    record.write_text(json.dumps(content | {"late": slow, "broken": broken}, indent=1) + "\n")
                if number % 100 == 99:
                    click.echo(f"{sort}: {number + 1}, {len(broken)} broken, {time.monotonic() - start:.0f} s")
    for name, times in sorted(codes.items()):
        click.echo(f"{times:6d}  {name}")
    minutes = round((time.monotonic() - start) / 60, 1)
    click.echo(
        f"{lines} command lines, {files} files, {processes} processes in {minutes} min: {len(broken)} broken rules"
    )
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
