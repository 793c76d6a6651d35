"""What was aimed at and what each machine reached: the first table of docs/performance.md, from results of bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from artifact.benchmark.page import read
from artifact.text import markdown_table

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


def released(found: dict[str, Any], part: str = "train", kind: str = "auto", method: str = "fedavg") -> Spread | None:
    """Released code / ours."""
    return _first(found["ratios"], part, contender=kind, algorithm=method)


def framework(found: dict[str, Any], model: str, name: str) -> Spread | None:
    """Another framework / ours."""
    return _first(found["frameworks"], "ratio", model=model, contender=name)


def peak_memory(found: dict[str, Any]) -> Spread:
    """Of the whole process, in gigabytes."""
    return dict.fromkeys(("median", "min", "max"), found["rows"][0]["peak_mib"] * MIB) | {"n": 1}


def _first(rows: list[dict[str, Any]], part: str, **wanted: str) -> Spread | None:
    return next((row[part] for row in rows if wanted.items() <= row.items()), None)


AIMS = (
    Aim("released: LeNet", 2.0, "lenet", released),
    Aim("released: LeNet, whole round, same evaluation", 2.5, "lenet", partial(released, part="whole")),
    Aim("released: LeNet, ours in bfloat16", 3.0, "lenet", partial(released, kind="bfloat16")),
    Aim("released: ResNet-18-GN", 1.6, "resnet", released),
    Aim("released: thesis CNN", 3.0, "cnn", released),
    Aim("released: MLP", 6.0, "mlp", released),
    Aim("released: MLP, FedSAM", 6.0, "mlp", partial(released, method="fedsam")),
    Aim("released: MLP, FedSMOO", 6.0, "mlp", partial(released, method="fedsmoo")),
    Aim("pfl, tuned: LeNet", 1.0, "frameworks", partial(framework, model="lenet", name="pfl-tuned")),
    Aim("same, a process per core", 1.0, "frameworks", partial(framework, model="lenet", name="pfl-tuned-workers")),
    Aim("pfl, tuned: MLP", 3.0, "frameworks", partial(framework, model="mlp-200", name="pfl-tuned")),
    Aim("same, a process per core", 3.0, "frameworks", partial(framework, model="mlp-200", name="pfl-tuned-workers")),
    Aim("Flower: LeNet", 1.6, "frameworks", partial(framework, model="lenet", name="flower")),
    Aim(
        "same, tuned, a node per active client",
        1.6,
        "frameworks",
        partial(framework, model="lenet", name="flower-tuned"),
    ),
    Aim("Flower: MLP", 12.0, "frameworks", partial(framework, model="mlp-200", name="flower")),
    Aim(
        "same, tuned, a node per active client",
        12.0,
        "frameworks",
        partial(framework, model="mlp-200", name="flower-tuned"),
    ),
    Aim("FedSMOO, ResNet-18-GN, 100 clients: peak memory, GB", 14.0, "memory", peak_memory, at_most=True),
)


def table(folder: Path) -> list[str]:
    """Lines of the table of all aims against all machines; what is reached is bold."""
    rows = [[aim.text, f"{'≤' if aim.at_most else '≥'} {aim.asked:g}", *_cells(aim, folder)] for aim in AIMS]
    return markdown_table(["theirs / ours", "aim", *MACHINES.values()], rows)


def _cells(aim: Aim, folder: Path) -> Iterator[str]:
    for machine in MACHINES:
        path = folder / f"{machine}{aim.file}.json"
        found = aim.find(read(path)) if path.is_file() else None
        yield "not measured" if found is None else _cell(aim, found)


def _cell(aim: Aim, found: Spread) -> str:
    value, n = f"{found['median']:.2f}", found["n"]
    spread = f" [{found['min']:.2f}, {found['max']:.2f}]" if n > 1 else ""
    return (f"**{value}**" if aim.met(found["median"]) else value) + f"{spread}, n={n}"
