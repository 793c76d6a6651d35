"""docs/robustness/load.py makes what it measures as the program writes it, and every part has a number."""

from __future__ import annotations

import json

import load

from artifact.base import paths
from artifact.runs import store_command


def test_made_records_are_believed_and_found(tmp_path):
    load.make_store(tmp_path / "store", 9)
    assert list(store_command.faults(tmp_path / "store")) == [] and load.of_list(tmp_path / "store")() == 9
    assert load.of_table(tmp_path / "store")() >= 9


def test_made_claims_are_read_and_judged(tmp_path):
    load.make_audit(tmp_path / "audit", 7)
    assert load.measured("verdicts", tmp_path / "audit", tmp_path)["result"] == 3
    assert load.measured("ledger", tmp_path / "audit", tmp_path)["result"] > 450


def test_every_part_is_on_record():
    parts = json.loads((paths.DOCS / "robustness" / "load.json").read_text(encoding="utf-8"))["parts"]
    assert parts.keys() == load.MEASURES.keys() and all(parts.values())
    (cells,) = parts["cells"]
    assert cells["n"] == cells["result"] == load.CELLS and cells["failures"] == []
    faults = [row["result"] for row in parts["stores"] if row["what"] == "verify every byte"]
    assert faults == [0, 0, 0]
    again = [row["processor"] for row in parts["stores"] if row["what"] == "look-up of a table"]
    assert max(again) < 1, "what the page says of the second look-up"
