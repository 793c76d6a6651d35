"""Mutations of the formulas that checks print: each must end its check or change the verdict.

A check that prints ``theory.kit.formula.Formula`` objects is run once for every change that tightens one of them, in a
process of its own. What came of it is on record in ``docs/proofs/formulas.jsonl``, one line for each check:

* rejected: an instance of the check contradicts the changed formula, or the verdict changes;
* unproved: the certificate no longer shows it, and no instance contradicts it;
* survives: the check says what it said before, which is an error.

    python -m checks.formulas fan24-lem1        one check: a line for every mutation, and what its text leaves undecided
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

import sympy as sp

from artifact.base import paths
from artifact.base.files import write_atomic
from checks import edits, runner
from theory.kit import formula as kit
from theory.kit.verdict import registry

FILE = paths.ROOT / "docs" / "proofs" / "formulas.jsonl"
#: what holds digits in a corrected statement without being a number of it: indices, names of assumptions and lemmas
INDEX = re.compile(
    r"_\{[^{}]*\}|_\w|\^\{\w[+-]1\}|\b[A-Z]\.?\d+(\.\d+)?\b|\(\d[\d.]*\)|(Lemma|Theorem|line|Algorithm)s? \d+"
)


def group(claim: str) -> tuple[str, ...]:
    """The claims that the check of this one decides."""
    return tuple(n for n, check in registry.checks.items() if check.function is registry.checks[claim].function)


def _result(claim: str) -> dict[str, Any]:
    """What the check says when it is run in this process, which is a child: not what an earlier one has kept."""
    os.environ.pop(runner.KEPT_VARIABLE, None)
    return runner.execute(runner.Job(group(claim)))


def changes(claim: str) -> dict[str, Any]:
    """verdict of the check; formulas: their LaTeX; changes: what is changed in which formula, with both sides; loose:
    numbers of its corrected statement that no formula prints."""
    result = _result(claim)
    if result["verdict"] == "error":
        raise ValueError(f"{claim} fails before any mutation: {result['evidence']['error']}")
    found = [
        {"place": place, "what": what, "left": sp.srepr(other.left), "right": sp.srepr(other.right)}
        for place, made in enumerate(list(kit.MADE))
        for what, other in made.mutations()
    ]
    theorems = [entry["latex"] for entry in result["evidence"].get("repair", {}).get("statements", ())]
    undecided = loose(str(result["repaired"] or ""), [made.latex for made in kit.MADE] + theorems)
    return {"verdict": result["verdict"], "formulas": [m.latex for m in kit.MADE], "changes": found, "loose": undecided}


def outcome(claim: str, change: Mapping[str, Any]) -> dict[str, Any]:
    """Verdict and error text of the check with one formula changed."""
    kit.CHANGED[change["place"]] = sp.sympify(change["left"]), sp.sympify(change["right"])
    result = _result(claim)
    return {"verdict": result["verdict"], "fails": str(result["evidence"].get("error", ""))}


def mutated(claim: str) -> dict[str, Any]:
    """The record of a check: formulas, and for each mutation what was changed and what came of it; loose: as for
    ``changes``, not stored."""
    before = edits.in_child(lambda: changes(claim))
    if before.get("fails"):
        raise ValueError(before["fails"])
    rows = []
    for change in before["changes"]:
        after = edits.in_child(partial(outcome, claim, change))
        verdict, fails = after.get("verdict", "error"), after["fails"]
        refuted = verdict != "error" or fails.startswith(kit.Violated.__name__)
        result = "survives" if verdict == before["verdict"] else "rejected" if refuted else "unproved"
        rows.append({"formula": change["place"], "what": change["what"], "result": result})
    return {"formulas": before["formulas"], "loose": before["loose"], "mutations": rows}


def loose(text: str, formulas: Iterable[str]) -> list[str]:
    """Numbers and fractions of a corrected statement that no formula prints, indices and names aside."""
    for one in sorted(formulas, key=len, reverse=True):
        text = text.replace(one, " ")
    return re.findall(r"\d+(?:\.\d+)?|\\frac|\^[A-Za-z]", INDEX.sub(" ", text))


# ------------------------------------------------------------ on record


def stored(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """Records by the first claim of their check."""
    if not file.is_file():
        return {}
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {line.pop("claim"): line for line in lines}


def write(records: Mapping[str, Mapping[str, Any]], file: Path = FILE) -> None:
    """Put records on file, one line each, in the order of their checks' names."""
    lines = [json.dumps({"claim": name, **records[name]}) for name in sorted(records)]
    write_atomic(file, "\n".join(lines) + "\n")


def printing() -> dict[str, list[str]]:
    """First claim of every check whose stored evidence prints formulas -> these."""
    runner.import_theory()
    kept = runner.stored()
    firsts = {check.function: name for name, check in reversed(registry.checks.items())}
    found = {name: kept.get(name, {}).get("evidence", {}).get("formulas") for name in firsts.values()}
    return {name: made for name, made in found.items() if made}


def stale(records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Checks whose formulas are not those on record."""
    return [name for name, made in printing().items() if records.get(name, {}).get("formulas") != made]


def mutate(
    names: Sequence[str] = (), each: Callable[[str], None] = print, file: Path = FILE
) -> dict[str, list[dict[str, Any]]]:
    """Mutations of the formulas of all checks, or of those that decide the claims named.

    A record is put on file when its check is done.

    each: called with one line per mutation, and one per check.
    """
    known = printing()
    todo = [group(name)[0] for name in names] or list(known)
    found = {}
    records = {name: record for name, record in stored(file).items() if name in {*known, *todo}}
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        jobs = {pool.submit(mutated, name): name for name in todo}
        for job in as_completed(jobs):
            name, record = jobs[job], job.result()
            found[name] = record["mutations"]
            undecided = record.pop("loose")
            records[name] = record
            write(records, file)
            for row in found[name]:
                each(f"{name:34} {row['result']:9} formula {row['formula']}: {row['what']}")
            count = Counter(row["result"] for row in found[name])
            each(f"{name}: {len(record['formulas'])} formulas, {dict(count)}; undecided in the text: {undecided}")
    return found


if __name__ == "__main__":
    mutate(sys.argv[1:])
