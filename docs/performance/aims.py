"""``python docs/performance/aims.py [FOLDER]``: the speeds that were aimed at, and those that each machine reached.

Prints the generated part of docs/performance.md from the results that are stored in a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from tables import FOLDER

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.tables_as_text import markdown_table
from artifact.bench.results import read

#: the start of a file's name -> what its machine is called in the table
MACHINES = {"amx-": "Intel with AMX", "": "AMD with AVX-512", "avx2-": "AMD with AVX2 alone"}
#: gigabytes in a MiB
MIB = 1.048576e-3

#: median, min, max and n of what was measured
Spread = dict[str, float]


@dataclass(frozen=True)
class Aim:
    """A number to reach and where to find what was measured.

    text: what the number is.  asked: at least this, or at most.  file: name of the JSON file without its machine.
    find: in the content of the file; None where nothing like it was measured.
    """

    text: str
    asked: float
    file: str
    find: Callable[[dict[str, Any]], Spread | None]
    at_most: bool = False

    def met(self, value: float) -> bool:
        return value <= self.asked if self.at_most else value >= self.asked


def released(
    text: str, asked: float, file: str, part: str = "train", kind: str = "auto", method: str = "fedavg"
) -> Aim:
    """Released code / ours."""
    find = partial(_first, "ratios", part, contender=kind, algorithm=method)
    return Aim(f"released code: {text}", asked, file, find)


def framework(text: str, asked: float, model: str, name: str) -> Aim:
    """Another framework / ours."""
    return Aim(text, asked, "frameworks", partial(_first, "frameworks", "ratio", model=model, contender=name))


def _first(kind: str, part: str, found: dict[str, Any], **wanted: str) -> Any:
    """A part of the first row of a kind that has what is wanted; None where none has."""
    return next((row[part] for row in found.get(kind, ()) if wanted.items() <= row.items()), None)


def _peak_memory(found: dict[str, Any]) -> Spread | None:
    """Of the whole process, in gigabytes."""
    peak = _first("rows", "peak_mib", found)
    return None if peak is None else dict.fromkeys(("median", "min", "max"), peak * MIB) | {"n": 1}


AIMS = (
    released("LeNet", 2.0, "lenet"),
    released("LeNet, whole round, same evaluation", 2.5, "lenet", part="whole"),
    released("LeNet, ours in bfloat16", 3.0, "lenet", kind="bfloat16"),
    released("ResNet-18-GN", 1.6, "resnet"),
    released("thesis CNN", 3.0, "cnn"),
    released("MLP", 6.0, "mlp"),
    released("MLP, FedSAM", 6.0, "mlp", method="fedsam"),
    released("MLP, FedSMOO", 6.0, "mlp", method="fedsmoo"),
    framework("pfl, tuned: LeNet", 1.0, "lenet", "pfl-tuned"),
    framework("pfl, tuned, a process per core: LeNet", 1.0, "lenet", "pfl-tuned-workers"),
    framework("pfl, tuned: MLP", 3.0, "mlp-200", "pfl-tuned"),
    framework("pfl, tuned, a process per core: MLP", 3.0, "mlp-200", "pfl-tuned-workers"),
    framework("Flower: LeNet", 1.6, "lenet", "flower"),
    framework("Flower, tuned, a node per active client: LeNet", 1.6, "lenet", "flower-tuned"),
    framework("Flower: MLP", 12.0, "mlp-200", "flower"),
    framework("Flower, tuned, a node per active client: MLP", 12.0, "mlp-200", "flower-tuned"),
    Aim("peak memory in GB: FedSMOO, ResNet-18-GN, 100 clients", 14.0, "memory", _peak_memory, at_most=True),
)


def table(folder: Path) -> list[str]:
    """Lines of the table of all aims against all machines; what is reached is bold.

    Raises UserError for a folder that has none of the results.
    """
    if not any((folder / f"{machine}{aim.file}.json").is_file() for aim in AIMS for machine in MACHINES):
        raise UserError("folder", str(folder), "one with results, such as docs/performance")
    rows = [[aim.text, f"{'≤' if aim.at_most else '≥'} {aim.asked:g}", *_cells(aim, folder)] for aim in AIMS]
    return markdown_table(["theirs / ours, unless said otherwise", "aim", *MACHINES.values()], rows)


def _cells(aim: Aim, folder: Path) -> Iterator[str]:
    for machine in MACHINES:
        path = folder / f"{machine}{aim.file}.json"
        found = aim.find(read(path)) if path.is_file() else None
        yield "not measured" if found is None else _cell(aim, found)


def _cell(aim: Aim, found: Spread) -> str:
    value, n = f"{found['median']:.2f}", found["n"]
    spread = f" [{found['min']:.2f}, {found['max']:.2f}]" if n > 1 else ""
    return (f"**{value}**" if aim.met(found["median"]) else value) + f"{spread}, n={n}"


@click.command(cls=OneLine)
@FOLDER
def main(folder: Path) -> None:
    """What each machine reached of what was aimed at, from the results in FOLDER. Default: those of this project."""
    click.echo("\n".join(table(folder)))


if __name__ == "__main__":
    main(prog_name="python docs/performance/aims.py")
