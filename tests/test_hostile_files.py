"""Experiments, claims, findings and notebooks that were edited badly, or are no files: one line each, and no hang."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from artifact.__main__ import main
from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.papers import experiments
from artifact.report import notebooks
from artifact.verdicts import findings, ledger

PAPER = "kakoun2024"
READERS: dict[str, Callable[[Path], object]] = {
    f"{PAPER}.toml": lambda path: experiments._load(path, 0),
    "claims.toml": lambda path: list(ledger._read(path, PAPER)),
    "findings.toml": findings.load,
    "one.ipynb": lambda path: notebooks.read("one", path.parent),
}
NO_FILES: list[Callable[[Path], object]] = [
    os.mkfifo,
    Path.mkdir,
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.write_bytes(b"a = " + b"[" * 50_000),
    lambda path: path.write_bytes(b"\xff\xfe"),
    lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 30),
]


@pytest.mark.parametrize("make", NO_FILES)
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_small_regular_file_is_one_line(name, make, tmp_path):
    make(tmp_path / name)
    with pytest.raises(UserError) as caught:
        READERS[name](tmp_path / name)
    assert "\n" not in str(caught.value)


SHAPES = [
    'paper = "x"\ntitle = "t"\ntable = 5\n',
    'paper = "x"\ntitle = "t"\n[[table]]\nid = "a"\nlike = "a"\n',
    'paper = "x"\ntitle = "t"\n[[table]]\nid = "a"\nrows = [["b"]]\n',
    'paper = "x"\ntitle = "t"\n[[table]]\nid = "a"\nsettings = 1\n',
    'paper = "x"\ntitle = "t"\nfigure = [1]\n',
    '[[table]]\nid = "a"\n',
]


@pytest.mark.parametrize("text", SHAPES)
def test_experiments_of_another_shape_are_one_line(text, tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"^(experiments|line): .*x\.toml"):
        experiments._load(path, 0)


@pytest.mark.parametrize(
    "text",
    [
        "claim = 5\n",
        "claim = [1]\n",
        '[[claim]]\nid = ["a"]\n',
        '[[claim]]\nid = "a"\n[claim.predicate]\ntype = { a = 1 }\n',
    ],
)
def test_claims_of_another_shape_are_one_line(text, tmp_path):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(UserError):
        list(ledger._read(tmp_path / "x.toml", PAPER))


def test_edited_experiments_load_or_end_in_one_line(tmp_path):
    """A hundred edits from a seed: lines go, come twice, or change a character."""
    draw, whole = random.Random(35), (experiments.EXPERIMENTS / f"{PAPER}.toml").read_text().splitlines()
    refused = 0
    for number in range(100):
        lines, at = list(whole), draw.randrange(len(whole))
        edit = draw.choice(["drop", "twice", "character"])
        if edit == "character" and lines[at]:
            place = draw.randrange(len(lines[at]))
            lines[at] = lines[at][:place] + draw.choice("[]{}\"'=,0a") + lines[at][place + 1 :]
        else:
            lines[at : at + 1] = [lines[at]] * (2 * (edit == "twice"))
        path = tmp_path / f"{number}.toml"
        path.write_text("\n".join(lines))
        try:
            declared = experiments._load(path, 0)
            for table in declared.table:
                for profile in table.profiles:
                    [cell.configs for cell in experiments.cells(table, profile)]
        except UserError:
            refused += 1
    assert 20 < refused < 100
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize(
    "make", [Path.mkdir, os.mkfifo, *(lambda path, to=to: path.symlink_to(to) for to in ("x", "/dev/null"))]
)
def test_nothing_but_a_file_is_replaced(make, tmp_path):
    """A device or a loop of links given as a place for results stays as it is."""
    path = tmp_path / "x"
    make(path)
    before = os.lstat(path)
    with pytest.raises(UserError, match=r"^out: .*a file that can be written"):
        write_atomic(path, "new")
    assert os.lstat(path) == before and [entry.name for entry in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["report", "--out", "x"], "out"),
        (["landscape", "nothing", "--folder", "new"], "checkpoint"),
        (["audit", "init", "x", "--key", "author2025"], "file"),
        (["audit", "init", "x"], "file"),
        (["table", "qu2022/1", "--lookup", "--out", "x"], "out"),
        (["bench", "--out", "new/folder/x.json", "--rounds", "0"], "Invalid value for '--rounds'"),
    ],
)
def test_a_refused_command_leaves_nothing_behind(words, field, tmp_path, monkeypatch, capsys):
    """Of a report, an audit or a table on a loop of links; of a landscape without a model; of no measurement."""
    monkeypatch.chdir(tmp_path)
    Path("x").symlink_to("x")
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {field}: ") and len(error.splitlines()) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_more_jobs_than_any_machine_has_are_refused_at_once(capsys):
    """They made a list of so many cores, for minutes and all of the memory."""
    assert main(["sweep", "--dry-run", "--jobs", "9" * 30]) == 2
    assert "1<=x<=1000" in capsys.readouterr().err
