"""Audits of strangers: no name leads out of the folder, no depth ends in a traceback, and nothing is half-written."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from registries import kept

from artifact.__main__ import main
from artifact.audit import folder as files
from artifact.base import names
from artifact.base.errors import UserError
from artifact.papers import experiments, folders
from artifact.verdicts import ledger


@pytest.fixture(autouse=True)
def _forgotten():
    with kept():
        yield


@pytest.fixture
def folder(tmp_path):
    """A sound audit without code of its own, in a folder of which everything is watched."""
    place = tmp_path / "inner" / "odd2025"
    files.write(place, "odd2025", "Odd (Author et al., 2025)")
    for name in ("method.py", "statements.py"):
        (place / name).unlink()
    to_check = 'expected = "proved"             # what the check must say; write it down before you run it'
    _edit(
        place, "claims.toml", to_check, 'decided_by = "experiments"\nundecided = "nobody ran it"\nexpected = "not-run"'
    )
    _edit(place, "experiments.toml", 'algorithm = "mine", factor = 2.0', 'algorithm = "fedsam"')
    return place


def _edit(place, name, old, new):
    text = (place / name).read_text(encoding="utf-8")
    assert old in text
    (place / name).write_text(text.replace(old, new), encoding="utf-8")


def _everything(place):
    return {path: path.lstat().st_mtime_ns for path in place.rglob("*") if not path.is_dir()}


def _refused(place, root, capsys, *words):
    """What a command that would write says when it refuses the audit, a line a fault; everything is as before."""
    before = _everything(root)
    code = main([*words] or ["audit", "run", str(place), "--lookup", "--no-report"])
    error = capsys.readouterr().err
    lines = error.splitlines()
    assert code == 2 and lines and all(line.startswith("error: ") for line in lines), error
    assert all(len(line) < 700 and line.isprintable() for line in lines)
    assert _everything(root) == before
    return error


@pytest.mark.parametrize(
    "name", ["../../out", "/tmp/out", "..", "a/b", "a\\\\b", "<b>", "=1+1", "a" * 200, "-x", "a b"]
)
@pytest.mark.parametrize(
    ("file", "old", "field"),
    [
        ("claims.toml", '"odd2025-step"', "id"),
        ("claims.toml", '"odd2025-better"', "id"),
        ("claims.toml", 'key = "odd2025"', "key"),
        ("claims.toml", 'table = "odd2025/1"', "table"),
        ("experiments.toml", 'id = "1"', "id"),
        ("experiments.toml", 'paper = "odd2025"', "paper"),
        ("experiments.toml", 'csv = "table1.csv"', "csv"),
    ],
)
def test_a_name_that_is_none_is_one_line_with_its_field(file, old, field, name, folder, tmp_path, capsys):
    if field == "csv" and name == "a b":
        pytest.skip("a file may be called so")
    _edit(folder, file, old, re.sub('"[^"]*"', lambda _: f'"{name}"', old))
    error = _refused(folder, tmp_path, capsys)
    assert re.search(rf"\b({field}|paper)\b", error) and re.search(r"\.toml", error)


def test_a_key_of_thousands_of_parts_is_one_line(folder, tmp_path, capsys):
    with (folder / "experiments.toml").open("a", encoding="utf-8") as file:
        file.write("\n" + ".".join(["part"] * 8000) + " = 1\n")
    assert "inside each other" in _refused(folder, tmp_path, capsys)


@pytest.mark.parametrize(
    "name", ["results", "results/checks", "tables", "experiments.toml", "claims.toml", "method.py"]
)
def test_a_link_that_leads_out_of_the_folder_is_one_line(name, folder, tmp_path, capsys):
    path, outside = folder / name, tmp_path / "outside"
    if path.is_dir():
        path.rename(outside)
    elif path.exists():
        outside.write_bytes(path.read_bytes())
        path.unlink()
    elif name == "method.py":
        outside.write_text("raise SystemExit(7)\n")
    else:
        outside.mkdir()
        path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    assert "inside the folder" in _refused(folder, tmp_path, capsys)


def test_a_table_that_is_a_link_out_of_the_folder_is_one_line(folder, tmp_path, capsys):
    (tmp_path / "secret").write_text("algorithm,split,value,std\n")
    (folder / "tables" / "table1.csv").unlink()
    (folder / "tables" / "table1.csv").symlink_to(tmp_path / "secret")
    error = _refused(folder, tmp_path, capsys)
    assert "csv" in error and "experiments.toml, line" in error


def test_a_link_to_the_folder_and_links_inside_it_are_followed(folder, tmp_path):
    (folder / "tables").rename(folder / "numbers")
    (folder / "tables").symlink_to("numbers")
    (folder / "kept").mkdir()
    (folder / "results").symlink_to("kept")
    (tmp_path / "link").symlink_to(folder)
    audit = folders.open_audit(tmp_path / "link")
    assert experiments.load(audit.key).table[0].csv == "table1.csv"


@given(name=st.text(min_size=1, max_size=12), which=st.sampled_from(["id", "csv", "key", "table"]))
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_an_audit_is_called_its_files_lie_in_its_folder(name, which, tmp_path_factory):
    """Each audit is read; where that is possible every path that is made of its names lies inside."""
    place = tmp_path_factory.mktemp("audit") / "odd2025"
    files.write(place, "odd2025", "Odd")
    (place / "method.py").unlink()
    said = '"' + "".join(f"\\U{ord(one):08x}" for one in name if not 0xD800 <= ord(one) < 0xE000) + '"'
    file = "experiments.toml" if which == "csv" else "claims.toml"
    old = {
        "id": '"odd2025-step"',
        "csv": '"table1.csv"',
        "key": 'key = "odd2025"',
        "table": '"odd2025/1"',
    }[which]
    _edit(place, file, old, f"key = {said}" if which == "key" else said)
    try:
        with kept():
            audit = folders.open_audit(place)
            claims = [claim for claim in ledger.load() if claim.paper == audit.key]
            if which == "csv":
                (table,) = experiments.load(audit.key).table
                assert os.path.dirname(audit.tables / table.csv) == str(audit.tables)
            for claim in claims:
                evidence = folders.evidence_file(audit.key, audit.results)
                assert evidence.parent == audit.results / "checks" and names.fits(claim.id, names.CLAIM)
    except UserError as error:
        assert str(error).isprintable()
