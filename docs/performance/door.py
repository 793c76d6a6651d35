"""``python docs/performance/door.py``: processor seconds that commands take to answer, beside bare imports.

Every turn runs each import and each command once, in processes of their own, so that other work on the machine meets
them alike. Commands that train nothing must answer in little more than their libraries take to import; a replay starts
torch and plays a case of a few steps. The result is stored in door.json beside this script.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
from checkout import HERE

from artifact.base.console import OneLine
from artifact.base.lazy import torch
from artifact.base.options import Place
from artifact.base.tables_as_text import markdown_table
from artifact.bench.measure import busy_seconds, spread
from artifact.bench.results import write
from artifact.runs.store import environment

ROOT = HERE.parents[1]
IMPORTS = {"libraries": "import numpy, pydantic, click", "torch": "import torch"}
#: command line -> the import that it is held against, and how many times as long it may take (None: no aim)
COMMANDS: dict[str, tuple[str, float | None]] = {
    "--help": ("libraries", 1.5),
    "list algorithms": ("libraries", 1.5),
    "data status": ("libraries", None),
    "run --help": ("torch", 1.3),
    "run --algorithm fedavg --momentumm 0.5": ("torch", 1.3),
    "replay tests/vectors/fedsmoo-partial.npz --out OUT": ("torch", 1.3),
    "table sun2023/1 --lookup": ("torch", None),
    "verdicts": ("torch", None),
}
#: exit code 7 where a command has imported torch
PROBE = "import sys; from artifact.__main__ import main; main(sys.argv[1:]); sys.exit(7 * ('torch' in sys.modules))"


def processor_seconds(words: list[str]) -> tuple[float, int]:
    """Processor seconds of ``python WORDS`` and its own processes, and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    code = subprocess.run([sys.executable, *words], cwd=ROOT, check=False, **options).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, code


def measure(turns: int) -> dict[str, Any]:
    """Every command's seconds and ratio to its import, medians with extremes over the turns; one turn more warms up."""
    with tempfile.TemporaryDirectory() as folder:
        words = {line: line.replace("OUT", f"{folder}/out.npz").split() for line in COMMANDS}
        with_torch = {line: processor_seconds(["-c", PROBE, *words[line]])[1] == 7 for line in COMMANDS}
        began, busy, used = time.monotonic(), busy_seconds(), 0.0
        samples: list[dict[str, float]] = []
        for _ in range(turns):
            sample = {name: processor_seconds(["-c", text])[0] for name, text in IMPORTS.items()}
            sample |= {line: processor_seconds(["-m", "artifact", *words[line]])[0] for line in COMMANDS}
            samples.append(sample)
            used += sum(sample.values())
        others = (busy_seconds() - busy - used) / (time.monotonic() - began) / (os.cpu_count() or 1)
    rows = []
    for line, (against, most) in COMMANDS.items():
        row = {"command": line, "torch": with_torch[line], "against": against, "at_most": most}
        row |= {"seconds": spread([s[line] for s in samples])}
        rows.append(row | {"ratio": spread([s[line] / s[against] for s in samples])})
    imports = {name: spread([s[name] for s in samples]) for name in IMPORTS}
    facts = {"environment": environment(torch.device("cpu")), "turns": turns, "others": max(0.0, others)}
    return facts | {"imports": imports, "door": rows}


def rows(result: dict[str, Any]) -> list[str]:
    """The table of a result."""
    head = ["command of artifact", "processor s", "held against", "ratio [min, max]", "at most", "imports torch"]
    body = []
    for row in result["door"]:
        ratio, most = row["ratio"], row["at_most"]
        text = f"{ratio['median']:.2f}"
        text = f"**{text}**" if most is not None and ratio["median"] <= most else text
        cells = [f"`{row['command']}`", f"{row['seconds']['median']:.2f}", f"`{IMPORTS[row['against']]}`"]
        cells += [f"{text} [{ratio['min']:.2f}, {ratio['max']:.2f}]", "" if most is None else f"{most:g}"]
        body.append([*cells, "yes" if row["torch"] else "no"])
    imports = ", ".join(f"`{IMPORTS[name]}` {one['median']:.2f} s" for name, one in result["imports"].items())
    below = f"{result['turns']} turns, {imports}; other processes took {100 * result['others']:.0f} % of the cores."
    return [*markdown_table(head, body), "", below]


@click.command(cls=OneLine)
@click.option("--turns", type=click.IntRange(1), default=9, show_default=True, help="How often each command is run.")
@click.option("--out", type=Place(), default=HERE / "door.json", show_default="beside the script", help="JSON result.")
def main(turns: int, out: Path) -> None:
    """Measure how long commands take to answer, and print the table."""
    result = measure(turns)
    write(out, result)
    click.echo("\n".join(rows(result)))


if __name__ == "__main__":
    main()
