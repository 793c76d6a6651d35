"""The type checker, as ``./reproduce.sh test`` runs it, finds a call that a changed helper has left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHED = """
from artifact.base.cache import cache


@cache
def area(width: float, height: float) -> float:
    return width * height


area(1.0)
"""
UNBOUND = """
def last(values: list[float]) -> float:
    if values:
        value = values[-1]
    return value + other
"""


def checked(folder: Path, *modules: str) -> str:
    """What mypy says of modules in a copy of the lowest room and of one caller, with the project's configuration."""
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", "cache"]
    words = [word for module in modules for word in ("-m", module)]
    free = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    return subprocess.run([*command, *words], cwd=folder, env=free, capture_output=True, text=True).stdout


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_call_that_was_missed_and_a_name_without_a_value_are_found(tmp_path):
    room = tmp_path / "artifact" / "base"
    shutil.copytree(ROOT / "artifact" / "base", room, ignore=shutil.ignore_patterns("__pycache__"))
    (room.parent / "__init__.py").touch()
    (room.parent / "statements").mkdir()
    for name in ("__init__.py", "hypotheses.py"):
        shutil.copy(ROOT / "artifact" / "statements" / name, room.parent / "statements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    changed(
        room / "stats.py", "def p_greater(differences: ArrayLike, margin: float = 0.0)", "def p_greater(differences)"
    )
    (room / "unbound.py").write_text(UNBOUND)
    (room / "cached.py").write_text(CACHED)
    said = checked(tmp_path, "artifact.statements.hypotheses", "artifact.base.unbound", "artifact.base.cached")
    found = {(line.split(":")[0], line.split("  ")[-1]) for line in said.splitlines() if ": error: " in line}
    assert found >= {
        ("artifact/statements/hypotheses.py", "[call-arg]"),
        ("artifact/base/stats.py", "[name-defined]"),
        ("artifact/base/stats.py", "[no-untyped-def]"),
        ("artifact/base/unbound.py", "[possibly-undefined]"),
        ("artifact/base/unbound.py", "[name-defined]"),
        ("artifact/base/cached.py", "[call-arg]"),
    }


def test_nothing_is_left_out_as_a_whole():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["packages"] == ["artifact"] and "exclude" not in settings
    for section in (settings, *settings["overrides"]):
        if section.get("module") == ["artifact.export.skeleton"]:  # text of exported files, which run in their test
            continue
        assert not section.keys() & {"ignore_errors", "disable_error_code"}
