"""The house: rooms import downward only. ``python tests/test_house.py`` prints what does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: rooms of ``artifact/``, lowest first; those on one line do not import each other
FLOORS = (
    ("base",),
    ("models",),
    ("accelerate", "curvature"),
    ("looseness",),
    ("data", "algorithms"),
    ("training",),
    ("interface", "optim", "losses", "export"),
    ("diagnosis", "runs", "flower"),
    ("statements",),
    ("papers", "bench"),
    ("verdicts", "rates"),
    ("report",),
    ("audit", "reproduce"),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
#: packages that stand on ``artifact``; the command line alone may look up to them
ABOVE = ("theory", "checks", "notebooks")
#: a string that names a module or the beginning of its name, and a module that a command line starts
MODULE = re.compile(r"(?:artifact|theory|checks|notebooks)\.[\w.]*(?::\w+)?")
STARTED = re.compile(r"-m ((?:artifact|theory|checks|notebooks)\.[\w.]+)")


def modules() -> dict[str, Path]:
    """Name -> file of every module of ``artifact/``."""
    files = sorted((ROOT / "artifact").rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imported(path: Path) -> Iterator[str]:
    """Every dotted name that a file imports, wherever in it: also in functions, by ``importlib``, by ``-m``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value.split(":")[0]] if MODULE.fullmatch(node.value) else STARTED.findall(node.value)


def room(name: str) -> str:
    """The room of a module of ``artifact``; empty for ``artifact`` itself, which holds no more than the version."""
    return next(iter(name.split(".")[1:2]), "")


def upward() -> list[str]:
    """Imports that do not go down: to a higher room, to another one on the same floor, or out of the package."""
    found = []
    for name, path in modules().items():
        own = room(name)
        for target in set(imported(path)):
            package, other = target.split(".")[0], room(target)
            rises = package == "artifact" and other in FLOOR and own and other != own and FLOOR[other] >= FLOOR[own]
            if rises or (package in ABOVE and own != "cli"):
                found.append(f"{name} -> {target}")
    return sorted(found)


def circle() -> list[str]:
    """Modules that import each other in a circle; empty where none do."""
    known = modules()
    graph = {}
    for name, path in known.items():
        parts = [target.split(".") for target in imported(path)]
        names = {".".join(words[:end]) for words in parts for end in range(1, len(words) + 1)} & known.keys()
        # a name of a package's own ``__init__`` stands for what is imported from it, not for the package
        deepest = {one for one in names if not any(other.startswith(f"{one}.") for other in names)}
        graph[name] = deepest - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def loose() -> list[str]:
    """Modules at the top level of ``artifact/`` beside the package's own, the command line's and folders."""
    return [path.name for path in (ROOT / "artifact").glob("*.py") if path.stem not in ("__init__", "__main__", "cli")]


def test_every_room_has_its_floor():
    there = {path.parent.name for path in (ROOT / "artifact").glob("*/__init__.py")}
    assert there | {"cli", "__main__"} == FLOOR.keys()


def test_imports_go_down_and_in_no_circle():
    assert upward() == []
    assert circle() == []


def test_no_loose_module_at_the_top():
    assert loose() == []


def test_lazy_imports_and_strings_are_seen(tmp_path):
    text = (
        'def f():\n    import theory.kit\n    run("python -m artifact.bench.worker", f"checks.{f}", "see checks.x")\n'
    )
    (tmp_path / "module.py").write_text(text, encoding="utf-8")
    assert sorted(imported(tmp_path / "module.py")) == ["artifact.bench.worker", "checks.", "theory.kit"]


if __name__ == "__main__":
    print(f"top-level modules beside the package's own and cli: {len(loose())}")
    print("\n".join([f"upward imports: {len(upward())}", *upward()]))
    print(f"circles: {int(bool(circle()))}", *circle())
