"""The door opens at once: whatever trains and measures nothing answers without the libraries that training needs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

from artifact.base import paths
from artifact.cli import COMMANDS, LISTS

#: what only training, measuring, drawing, downloading or proving needs
HEAVY = ("torch", "matplotlib", "sympy", "plotly", "sklearn", "ray", "torchvision", "numba", "triton")
#: runs command lines one after the other in one process; prints of each, as JSON, its exit code, the heavy libraries
#: that are imported after it, and what it has printed. What one has imported the later ones show too.
PROBE = f"""
import contextlib, io, json, sys
from artifact.__main__ import main
for line in sys.argv[1:]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(line.split())
    print(json.dumps([code, [name for name in {HEAVY!r} if name in sys.modules], said.getvalue()]))
"""
UNTRAINED = "run --algorithm fedavg"


def left_imported(*lines: str, probe: str = PROBE) -> dict[str, tuple[int, list[str], str]]:
    """line -> (exit code, heavy libraries that are imported after it, what was printed)."""
    command = [sys.executable, "-c", probe, *lines]
    done = subprocess.run(command, capture_output=True, text=True, cwd=paths.ROOT, check=True)
    return {line: tuple(json.loads(found)) for line, found in zip(lines, done.stdout.splitlines(), strict=True)}


def test_help_imports_nothing_heavy():
    found = left_imported("--help", *(f"{name} --help" for name in COMMANDS), "data split --help")
    assert {line: one[:2] for line, one in found.items() if one[:2] != (0, [])} == {}


def test_reading_imports_nothing_heavy():
    found = left_imported(
        *(f"list {what}" for what in (*LISTS, "cells")),
        "data status",
        "table sun2023/1 --lookup",
        "variants --lookup",
        "verdicts --counts",
    )
    assert {line: one[:2] for line, one in found.items() if one[:2] != (0, [])} == {}


#: a wrong line -> a word of its error
WRONG = {
    "fly": "No such command",
    f"{UNTRAINED} --momentumm 1": "--momentumm",
    f"{UNTRAINED} --lr 0": "greater than 0",
    f"{UNTRAINED} --switch NOPE-1": "NOPE-1",
    "run --algorithm fedfoo": "fedsmoo",
    "run --algorithm fedavg --add nowhere.py": "an existing Python file",
    "replay": "CASE",
    "table sun2023/99 --lookup": "sun2023/99",
    "verdicts --claim nothing": "nothing",
    "verdicts --claim fan24-thm1": "python -m checks --claim fan24-thm1",
    "run --rounds 3": "algorithm: nothing is given; allowed: fedavg",
    "sweep --jobs 0": "jobs",
    "figure sun2023/fig99 --lookup": "fig99",
    "sharpness --samples none": "samples",
}


def test_an_error_is_told_without_anything_heavy():
    for line, (code, found, text) in left_imported(*WRONG).items():
        assert (code, found) == (2, []), line
        assert WRONG[line] in text, line


def test_the_list_of_methods_needs_no_arrays():
    probe = PROBE.replace(repr(HEAVY), repr((*HEAVY, "numpy")))
    assert left_imported("list algorithms", probe=probe)["list algorithms"][:2] == (0, [])


def test_a_replay_needs_no_compiler(tmp_path):
    """``torch.func`` would import one, for seconds, with its first gradient."""
    case = next((paths.ROOT / "tests" / "vectors").glob("fedsam*.npz"))
    line = f"replay {case} --out {tmp_path / 't.npz'}"
    found = left_imported(line, probe=PROBE.replace("'triton'", "'torch._dynamo'"))
    assert found[line][:2] == (0, ["torch"])


def _outside_annotations(tree: ast.AST, names: set[str]) -> set[str]:
    """Names that the code uses when it runs, which annotations are not: they are never evaluated."""
    annotated = {
        id(inner)
        for node in ast.walk(tree)
        for note in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if note is not None
        for inner in ast.walk(note)
    }
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in names and id(n) not in annotated}


def test_stand_ins_for_types_are_used_in_annotations_alone():
    users = [path for path in (paths.ROOT / "artifact").rglob("*.py") if "base.lazy import" in path.read_text()]
    assert len(users) > 20
    for path in users:
        tree = ast.parse(path.read_text())
        lazy = (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "artifact.base.lazy")
        names = {alias.name for node in lazy for alias in node.names} & {"Tensor", "nn"}
        assert not _outside_annotations(tree, names), path
        assert "from __future__ import annotations" in path.read_text(), path


def test_an_editable_install_finds_theory_and_checks_from_any_folder(tmp_path):
    """It maps the package alone; a link does the same here."""
    (tmp_path / "artifact").symlink_to(paths.ROOT / "artifact")
    code = "import artifact.cli; from artifact.base.registered import registered; print(registered('checks').__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}
    )
    assert done.stdout.strip() == str(paths.ROOT / "checks" / "runner.py"), done.stderr
