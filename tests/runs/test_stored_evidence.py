"""Evidence of checks: one file a paper, a sealed line a claim."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.runs import evidence


@pytest.fixture
def path(tmp_path):
    """A paper's file with the claims c-1, c-2 and c-3, which were written in another order."""
    file = tmp_path / "checks" / "paper2025.jsonl"
    file.parent.mkdir()
    for number in (2, 3, 1):
        evidence.put(file, _content(number))
    return file


def _content(number, **more):
    return {"id": f"c-{number}", "paper": "paper2025", "verdict": "proved", "evidence": {"x": [number, 0.5]}, **more}


def test_lines_are_sorted_and_read_as_they_were_written(path):
    assert evidence.read(path) == {f"c-{number}": _content(number) for number in (1, 2, 3)}
    assert list(evidence.read(path)) == ["c-1", "c-2", "c-3"]
    assert evidence.find(path, "c-2") == _content(2) and evidence.find(path, "c-4") is None
    assert evidence.read(path.with_name("other2025.jsonl")) == {}


def test_a_changed_verdict_is_one_changed_line(path):
    before = path.read_text().splitlines()
    evidence.put(path, _content(2, margin=0.25))
    after = path.read_text().splitlines()
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_claim_is_removed_and_an_empty_file_goes(path):
    evidence.remove(path, "c-2")
    assert list(evidence.read(path)) == ["c-1", "c-3"]
    evidence.remove(path, "c-1")
    evidence.remove(path, "c-3")
    assert not path.exists()
    evidence.remove(path, "c-3")


@pytest.mark.parametrize("new", ['{"id": "c-2", "verdict', '{"id": "c-9"}', "[]", "\0\0", '{"verdict": "proved"}'])
def test_a_damaged_line_costs_its_own_claim_alone(path, new, capsys):
    first, _, third = path.read_text().splitlines()
    path.write_text("\n".join([first, new, third]) + "\n")
    assert list(evidence.read(path)) == ["c-1", "c-3"]
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and f"{path}, line 2" in said
    evidence.put(path, _content(2))
    assert list(evidence.read(path)) == ["c-1", "c-2", "c-3"]


def test_a_file_that_cannot_be_read_is_named(path, capsys):
    path.unlink()
    path.mkdir()
    assert evidence.read(path) == {} and str(path) in capsys.readouterr().err
    with pytest.raises(UserError):
        evidence.put(path, _content(1))


def test_one_changed_bit_is_noticed_and_mended(path, capsys):
    store, whole = path.parent.parent, path.read_bytes()
    place = whole.index(b"0.5", whole.index(b"c-2"))
    path.write_bytes(whole[:place] + b"1" + whole[place + 1 :])
    assert main(["store", "verify", "--out", str(store)]) == 1
    said = capsys.readouterr().out
    assert f"{path}, line 2" in said and "3 records" in said and "2 as they were sealed, 1 not" in said
    assert main(["store", "repair", "--out", str(store)]) == 0
    assert path.read_bytes() == whole
    path.write_bytes(whole[:place] + b"7.25" + whole[place + 3 :])
    assert main(["store", "repair", "--out", str(store)]) == 1
    assert "python -m checks --claim c-2" in capsys.readouterr().out


def test_a_line_without_a_seal_is_sealed_by_a_command(path, capsys):
    store, lines = path.parent.parent, path.read_text().splitlines()
    path.write_text("\n".join([lines[0], json.dumps(_content(2)), lines[2]]) + "\n")
    assert list(evidence.read(path)) == ["c-1", "c-3"]
    assert main(["store", "seal", "--out", str(store)]) == 0
    assert "1 sealed, 2 sealed before, 0 refused" in capsys.readouterr().out
    assert path.read_text().splitlines() == lines


WRITER = """
import sys
from pathlib import Path
from artifact.runs import evidence
for number in range(40):
    evidence.put(Path(sys.argv[1]), {"id": f"{sys.argv[2]}-{number}", "verdict": "proved"})
"""


def test_processes_that_write_at_once_lose_nothing(path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert len(evidence.read(path)) == 3 + 80
