"""Exact worst cases beside the proved bounds, ``docs/proofs/worst-cases.csv``: how much of a bound is needed.

For a few clients, local steps and rounds a semidefinite program gives the largest mean squared gradient over all
L-smooth losses of any dimension and all perturbations of length at most rho. The program bounds F(w^0) - F(end) where
the theorem bounds F(w^0) - F^*, so that a method's runs are at most the worst case, and the worst case is at most the
proved bound.

For the theorem on strongly convex means the number is the largest F(w^T) - F^*. Strong convexity is asked between the
averages and the minimiser only, so that the number is at least the worst case. Gradients have no noise here; cohorts
are drawn in one round. The numbers are dual values of PEPit; ``gap`` is how far the primal values are from them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from artifact.base import paths
from artifact.base.files import write_atomic
from artifact.papers.declared import read_csv
from theory.worst_cases import YARDSTICKS, Case, bound

FILE = paths.ROOT / "docs" / "proofs" / "worst-cases.csv"
SIZES = ("N", "S", "K", "T")
MEASURED = ("worst", "gap", "proved")
COLUMNS = ("theorem", *SIZES, "values", *MEASURED)


def measure(each: Callable[[str], None] = print, file: Path = FILE) -> dict[str, list[dict[str, Any]]]:
    """Solve every case and write the table. each: called with a line per case."""
    found = {}
    for name, (make, worst, cases) in YARDSTICKS.items():
        statement, rows = make(), []
        for case in cases:
            solution, proved = worst(case), bound(statement, case)
            value, gap = solution.bound, abs(solution.bound / solution.example - 1)
            row = {"N": case.clients, "S": case.active, "K": case.steps, "T": case.rounds}
            rows.append({**row, "values": dict(case.values), "worst": value, "gap": gap, "proved": proved})
            each(f"{name:28} {row} worst {value:.4g}, proved {proved:.4g}, ratio {value / proved:.3f}")
        found[name] = rows
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for name in sorted(found):
        writer.writerows({"theorem": name, **row, "values": json.dumps(row["values"])} for row in found[name])
    write_atomic(file, text.getvalue())
    return found


def stored(file: Path = FILE) -> dict[str, list[dict[str, Any]]]:
    """Stored worst cases by theorem."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in read_csv(file, COLUMNS):
        sizes = {name: int(row[name]) for name in SIZES}
        measured = {name: float(row[name]) for name in MEASURED}
        found.setdefault(row["theorem"], []).append({**sizes, "values": json.loads(row["values"]), **measured})
    return found


def case_of(row: Mapping[str, Any]) -> Case:
    return Case(row["N"], row["S"], row["K"], row["T"], row["values"])
