"""Papers are data: no name of one stands in the program, and faults in their files are told with the line."""

from __future__ import annotations

import re

import pytest

from artifact.base import paths
from artifact.papers.folders import PAPERS, TITLES, line_of_entry
from artifact.verdicts import ledger

TEXT = """[paper]
key = "a"

[row.fedavg]
label = "FedAvg"

[[claim]]
id = "one"
title = "t"

[[claim]]
id = "two"
[claim.predicate]
type = "ordering"
within = ["x"]

[[table]]
rows = ["fedavg"]
[[table.columns]]
label = "first"
[[table.columns]]
label = "second"
[[table]]
[[table.columns]]
label = "third"
"""


def test_no_paper_is_named_in_the_program():
    keys = re.compile("|".join(PAPERS))
    files = [path for path in paths.PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".so")]
    found = {path: keys.findall(path.read_text(encoding="utf-8", errors="ignore")) for path in files}
    assert {str(path): names for path, names in found.items() if names} == {}
    assert len(files) > 150 and len(PAPERS) >= 5


def test_every_paper_of_the_list_has_claims_and_a_title():
    assert {claim.paper for claim in ledger.load()} == set(PAPERS) == set(TITLES)


@pytest.mark.parametrize(
    ("where", "line"),
    [
        (("paper", "key"), 2),
        (("row", "fedavg", "label"), 5),
        (("claim", 0, "title"), 9),
        (("claim", 1, "id"), 12),
        (("claim", 1, "title"), 11),
        (("claim", 1, "predicate", "within"), 15),
        (("claim", 1, "predicate", "order"), 13),
        (("table", 0, "rows", 0), 18),
        (("table", 0, "columns", 1, "label"), 22),
        (("table", 1, "columns", 0, "label"), 25),
        (("nothing",), 1),
    ],
)
def test_the_line_of_an_entry(where, line, tmp_path):
    (tmp_path / "x.toml").write_text(TEXT, encoding="utf-8")
    assert line_of_entry(tmp_path / "x.toml", where) == line
