"""``python docs/performance/tables.py [FOLDER]``: every result that is stored in a folder, as a table.

Prints the generated part of docs/performance-MACHINE.md. Results are written by ``fedsharp bench --out`` and by the
scripts beside this one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bfloat16
import click
import door
from checkout import HERE

from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.options import Place
from artifact.base.tables_as_text import markdown_table
from artifact.bench.results import read

FOLDER = click.argument("folder", type=Place(file_okay=False, exists=True), default=HERE)


def tables(folder: Path, machine: str | None = None) -> str:
    """The tables of all results in a folder, or of one machine. Raises UserError where there is none."""
    paths = [path for path in sorted(folder.glob("*.json")) if machine in (None, machine_of(path))]
    if not paths:
        raise UserError("folder", str(folder), "one with results, such as docs/performance")
    return "\n\n".join(section(path) for path in paths)


def machine_of(path: Path) -> str:
    """The machine that a file was measured on, by the beginning of its name."""
    return next((name for name in ("amx", "avx2") if path.stem.startswith(f"{name}-")), "avx512")


def section(path: Path) -> str:
    """One file's tables, with the machine that they were measured on."""
    result = read(path)
    lines = [f"### {path.stem}", "", machine(result), ""]
    if "panels" in result:
        lines += scaling(result)
    elif "accuracy" in result:
        lines += accuracy(result)
    elif "profiles" in result:
        lines += profiles(result)
    elif "door" in result:
        lines += door.rows(result)
    elif "product_ratio" in result:
        lines += bfloat16.rows(result)
    elif "frameworks" in result:
        lines += frameworks(result)
    else:
        lines += rows(result["rows"])
        lines += ["", *quotients(result["ratios"])] if result["ratios"] else []
    return "\n".join(lines)


def machine(result: dict[str, Any]) -> str:
    facts = result["environment"]
    gpu = "" if facts["device"] == "cpu" else f"{facts['device']}, "
    instructions = f" ({facts['instructions']})" if "instructions" in facts else ""
    text = f"{gpu}{facts['processor']}{instructions}, {facts['cores']} cores, torch {facts['torch']}"
    if "limits" in result:
        rates = result["limits"]
        measured = f"matmul {rates['matmul']:.0f}, convolution {rates['convolution']:.0f} GFLOP/s"
        text += f".\nMeasured at the start: {measured}"
    return text + "."


def rows(measured: list[dict[str, Any]]) -> list[str]:
    header = ["model", "method", "contender", "cores", "n", "training s/round [min, max]", "processor s", "whole s"]
    header += ["examples/s", "share of limit", "peak MiB", "others"]
    body = []
    for r in measured:
        train, known = r["train"], "examples_per_second" in r
        cells = [r["model"], r["algorithm"], r["contender"], str(r["cores"]), str(train["n"])]
        cells += [f"{train['median']:.3f} [{train['min']:.3f}, {train['max']:.3f}]", f"{r['train_cpu']['median']:.3f}"]
        cells += [f"{r['whole']['median']:.3f}", f"{r['examples_per_second']:.0f}" if known else ""]
        cells += [f"{100 * r['share_of_limit']:.0f} %" if known else "", f"{r['peak_mib']:.0f}"]
        body.append([*cells, f"{100 * r['others']['median']:.0f} %"])
    return markdown_table(header, body)


def quotients(measured: list[dict[str, Any]]) -> list[str]:
    header = ["model", "method", "released / ours", "n", "training [min, max]", "evaluation", "whole round"]
    header += ["training, processor time"]
    body = []
    for r in measured:
        train = r["train"]
        cells = [r["model"], r["algorithm"], r["contender"], str(train["n"])]
        cells += [f"**{train['median']:.2f}** [{train['min']:.2f}, {train['max']:.2f}]"]
        cells += [f"{r[name]['median']:.2f}" for name in ("evaluate", "whole", "train_cpu")]
        body.append(cells)
    return markdown_table(header, body)


def scaling(result: dict[str, Any]) -> list[str]:
    body = []
    for name, panel in result["panels"].items():
        for p in panel["points"] if name != "rounds" else ():
            label = panel["label"] + ("" if "ray" not in p else ", Ray" if p["ray"] else ", local workers")
            cells = [label, f"{p['x']:g}", f"{p['train']:.4f} [{p['min']:.4f}, {p['max']:.4f}]"]
            known = "cpu" in p
            cells += [f"{p['cpu']:.4f}", f"{p['peak_mib']:.0f}"] if known else ["", ""]
            body.append([*cells, f"{100 * p['others']:.0f} %" if known else ""])
    header = ["axis", "value", "training s/round [min, max]", "processor s", "peak MiB", "others"]
    return [*markdown_table(header, body), "", "![cost of a round along each axis](performance/scaling.png)"]


def accuracy(result: dict[str, Any]) -> list[str]:
    names = [*result["accuracy"]]
    body = [
        [str(seed), *(f"{100 * result['accuracy'][name][i]:.2f}" for name in names)]
        for i, seed in enumerate(result["seeds"])
    ]
    d = result["difference"]
    text = f"bfloat16 - float32: {100 * d['mean']:+.2f} points, 95 % t interval [{100 * d['low']:+.2f}, "
    return [*markdown_table(["seed", *names], body), "", text + f"{100 * d['high']:+.2f}], n = {d['n']}."]


def frameworks(result: dict[str, Any]) -> list[str]:
    header = [
        "model",
        "contender",
        "cores",
        "n",
        "training s/round [min, max]",
        "processor s",
        "theirs / ours [min, max]",
    ]
    header += ["gradients", "update apart after one round", "after all", "others"]
    body = []
    for r in result["frameworks"]:
        train, ratio = r["train"], r["ratio"]
        cells = [r["model"], r["contender"], str(r["cores"]), str(train["n"])]
        cells += [f"{train['median']:.4f} [{train['min']:.4f}, {train['max']:.4f}]", f"{r['processor']:.3f}"]
        cells += [f"**{ratio['median']:.2f}** [{ratio['min']:.2f}, {ratio['max']:.2f}]"]
        counted = "" if r["steps"] is None else str(r["steps"])
        apart = f"{r['difference_after_one']:.0e}", f"{r['difference']:.0e} ({r['rounds']})"
        body.append([*cells, counted, *apart, f"{100 * r['others']:.0f} %"])
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return [f"Their environment: {versions}.", "", *markdown_table(header, body)]


def profiles(result: dict[str, Any]) -> list[str]:
    """Shares of a round by kind of operation, then every layer alone."""
    found = result["profiles"]
    header = ["FedAvg, one core", *(f"{one['model']} ({one['backend']}, {one['dtype']})" for one in found)]
    body = [[kind, *(f"{100 * one['shares'][kind]:.0f} %" for one in found)] for kind in found[0]["shares"]]
    body.append(["**processor s per round**", *(f"**{one['seconds']:.3f}**" for one in found)])
    body.append(["products and convolutions alone, s", *(f"{one['floor']:.3f}" for one in found)])
    body.append(["so much of the round", *(f"{100 * one['floor'] / one['seconds']:.0f} %" for one in found)])
    lines = markdown_table(header, body)
    header = [
        "model",
        "backend",
        "precision",
        "layer",
        "input",
        "weight",
        "forward GFLOP/s",
        "backward GFLOP/s",
        "ms per batch of 50",
    ]
    body = [
        [one["model"], one["backend"], one["dtype"], layer["layer"], layer["input"], layer["weight"]]
        + [f"{layer[f'{way}_gflops']:.0f}" for way in ("forward", "backward")]
        + [f"{layer['milliseconds']:.2f}"]
        for one in found
        for layer in one["layers"]
    ]
    return [*lines, "", *markdown_table(header, body)]


@click.command(cls=OneLine)
@FOLDER
@click.option("--machine", type=click.Choice(["amx", "avx512", "avx2"]), help="Only what was measured there.")
def main(folder: Path, machine: str | None) -> None:
    """Every result that is stored in FOLDER, as a table. Default: those beside this script."""
    click.echo(tables(folder, machine))


if __name__ == "__main__":
    main(prog_name="python docs/performance/tables.py")
