"""docs/robustness.md: every fault of the review has a test that exists, and what is supplied agrees with the lock."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import licences
import matrix
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8")
#: packages whose metadata name no licence
UNSTATED = ["axe-playwright-python", "cuda-toolkit"]
FOLDER = ROOT / "docs" / "robustness"


def _missing(named: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of (file, test) that are not there; files of ``checks/`` are named with their folder."""
    folder = {path: ROOT if path.startswith("checks/") else ROOT / "tests" for path, _ in named}
    trees = {path: ast.parse((folder[path] / path).read_text(encoding="utf-8")) for path, _ in named}
    there = {
        (path, node.name)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    return [pair for pair in named if pair not in there]


def test_every_fault_of_the_review_has_a_test_that_exists():
    rows = dict(re.findall(r"^\| (R-F\d+) \|.*\| ([^|]+) \|$", PAGE, re.M))
    assert list(rows) == [f"R-F{number}" for number in range(1, 13)]
    for fault, cell in rows.items():
        named = re.findall(r"`(\S+\.py)::(\w+)`", cell)
        assert named, fault
        assert _missing(named) == [], fault


def test_every_fault_that_the_chamber_and_the_fuzzer_found_has_a_test_that_exists():
    chamber, _, fuzzer = PAGE.partition("## The fuzzer")
    for part in (chamber, fuzzer):
        named = re.findall(r"^\| [^|]+ \| [^|]+ \| `(\S+\.py)::(\w+)` \|$", part, re.M)
        assert len(named) >= 7
        assert _missing(named) == []


def test_the_bill_of_materials_agrees_with_the_lock():
    bill = json.loads((FOLDER / "sbom.json").read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert {part["name"]: part["version"] for part in bill["components"]} == licences.locked()


def test_the_page_has_the_licence_of_every_package():
    found = {package: licences.licence(package) for package in licences.locked()}
    assert "not installed here" not in found.values()
    assert [package for package, name in found.items() if name == "not stated"] == UNSTATED


@pytest.mark.parametrize(
    ("rule", "column"), [("no finished run lost", 2), ("same bits", 3), ("no record believed unchecked", 3)]
)
def test_a_broken_rule_stands_in_its_column(rule, column):
    row = {"times": 3, "broken": {rule: 2}, "said": {"a": 1, "b": 4}}
    record = {"seeds": [1], "minutes": 1.0, "processor minutes": 0.5, "scenarios": 1, "commands": 4}
    record["faults"] = {"x": row}
    _, _, cells, _, last = matrix.lines([record])
    cells = [cell.strip() for cell in cells.strip("|").split("|")]
    assert cells[:2] == ["x", "3"] and cells[column] == "2" and cells[5] == "`b`"
    assert last.endswith("2 broken rules.*")
