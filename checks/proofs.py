"""Exported proofs of the theorems, ``docs/proofs/*.json`` and ``lean/*.lean``, and mutations of their inequalities.

A mutation tightens one constant, drops one term or moves one exponent by one:

* rejected: the proof fails, and a known run violates it;
* unproved: the proof fails, and no known run violates it;
* survives: the proof's facts give it as well, which is an error.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.base.tables_as_text import markdown_table
from artifact.papers.declared import read_csv
from checks import formulas, runner
from theory.kit import lean
from theory.kit.statement import Statement
from theory.kit.verdict import registry
from theory.theorems import theorems

FOLDER = paths.ROOT / "docs" / "proofs"
COLUMNS = ("theorem", "what", "result", "worst")
FINGERPRINTS = """## Fingerprints

Of each statement with its hypotheses, conditions and assumed steps; `verify.py` takes no file whose own is another.
Made by `python -m checks --mutations`.
"""


def export(folder: Path = FOLDER) -> list[Path]:
    """Write the proof of every theorem, and the page's table of fingerprints; the paths of the proofs."""
    paths = [_export(statement, folder) for statement in theorems().values()]
    page = folder / "README.md"
    write_atomic(page, with_fingerprints(page.read_text(encoding="utf-8")))
    return paths


def _export(statement: Statement, folder: Path) -> Path:
    path, exported = folder / f"{statement.name}.json", json.loads(json.dumps(statement.export()))
    if not path.is_file() or json.loads(path.read_text(encoding="utf-8")) != exported:  # letters may stand in any order
        write_atomic(path, json.dumps(exported, indent=1) + "\n")
    write_atomic(folder / "lean" / f"{statement.name}.lean", lean.exported(exported))
    return path


def with_fingerprints(page: str) -> str:
    """The page of proofs with the present fingerprint of every theorem behind its heading ``FINGERPRINTS``."""
    rows = [[name, f"`{statement.fingerprint}`"] for name, statement in theorems().items()]
    before, _, _ = page.partition(FINGERPRINTS)
    return f"{before.rstrip()}\n\n{FINGERPRINTS}\n" + "\n".join(markdown_table(["theorem", "fingerprint"], rows)) + "\n"


def mutate(
    names: tuple[str, ...] = (), each: Callable[[str], None] = print, folder: Path = FOLDER
) -> dict[str, list[dict[str, Any]]]:
    """Mutations of the theorems (all, or those named); each is stored when it is done.

    each: called with one line per mutation. Two theorems with one inequality (for two methods) are mutated once.
    """
    found, done = stored(folder), {}
    for name, statement in theorems().items():
        if names and name not in names:
            continue
        twin = next(
            (other for other, own in done.items() if own.left == statement.left and own.right == statement.right), None
        )
        done[name] = statement
        found[name] = found[twin] if twin else [asdict(outcome) for outcome in statement.outcomes()]
        for row in found[name]:
            each(f"{name:34} {row['result']:9} {row['worst']:10.3g}  {row['what']}")
        _write(found, folder)
    export(folder)
    return found


def _write(found: Mapping[str, list[dict[str, Any]]], folder: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({"theorem": name, **row} for name in sorted(found) for row in found[name])
    write_atomic(folder / "mutations.csv", text.getvalue())


def mutate_named(names: tuple[str, ...], each: Callable[[str], None] = print) -> list[Mapping[str, Any]]:
    """Mutate the theorems and the checks' formulas that are named, or all; rows with what became of each.

    names: of theorems, and ids of claims. Raises UserError for one that is neither.
    """
    runner.import_theory()
    rows: list[Mapping[str, Any]] = []
    for name in names:
        if name not in theorems() and name not in registry.checks:
            raise UserError("claim", name, "a theorem of docs/proofs, or a claim that a check decides")
    for known, mutated in ((theorems(), mutate), (registry.checks, formulas.mutate)):
        chosen = tuple(name for name in names if name in known)
        if chosen or not names:
            rows += [row for found in mutated(chosen, each).values() for row in found]
    return rows


def stored(folder: Path = FOLDER) -> dict[str, list[dict[str, Any]]]:
    """Stored outcomes by theorem."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in read_csv(folder / "mutations.csv", COLUMNS):
        outcome = {"what": row["what"], "result": row["result"], "worst": float(row["worst"])}
        found.setdefault(row["theorem"], []).append(outcome)
    return found
