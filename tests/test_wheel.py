"""The wheel: what it holds, and that it works in a fresh environment outside a checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from artifact.base import paths

#: what a wheel is built from
SOURCES = ("artifact", "claims", "experiments", "pyproject.toml", "setup.py", "README.md", "LICENSE")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, since a build leaves files where it runs."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source, target = paths.ROOT / name, folder / "source" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    _run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, folder / "source", cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """A fresh environment with the wheel alone; its dependencies are those of this one, by path."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False, symlinks=True)
    interpreter = folder / "bin" / "python"
    _run(*PIP, "--python", interpreter, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    site = next(folder.glob("lib/python*/site-packages"))
    # a plain path: the files ending in .pth behind it, which may name a checkout, are not read
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return interpreter


def test_the_wheel_holds_the_package_the_ledger_and_the_experiments(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    assert len(top) == 2
    assert "artifact" in top
    for folder, pattern in (("claims", "*.toml"), ("claims", "tables/*.csv"), ("experiments", "*.toml")):
        found = {path.relative_to(paths.ROOT).as_posix() for path in (paths.ROOT / folder).glob(pattern)}
        assert found
        assert {f"artifact/{name}" for name in found} <= set(names)
    assert {path.relative_to(paths.ROOT).as_posix() for path in paths.PACKAGE.rglob("*.py")} <= set(names)
    template = [path for path in (paths.PACKAGE / "audit" / "template").rglob("*") if path.is_file()]
    assert {path.relative_to(paths.ROOT).as_posix() for path in template} <= set(names)
    assert "artifact/py.typed" in names


def test_a_script_of_twenty_lines_trains_a_network_of_its_own(python, tmp_path):
    page = (paths.DOCS / "yours.md").read_text(encoding="utf-8")
    script = re.search(r"<!-- example: train.py -->\n\n```python\n(.*?)```", page, re.S)[1]
    assert len([line for line in script.splitlines() if line.strip()]) <= 20
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    lines = _run(python, "train.py", cwd=tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == ["fedavg", "fedsmoo", "fedlesam"]


def test_the_package_comes_from_the_wheel_and_imports_nothing_heavy(python, tmp_path):
    probe = "import sys, artifact; print(artifact.__file__); print({'torch', 'numpy', 'pydantic'} & {*sys.modules})"
    file, heavy = _run(python, "-c", probe, cwd=tmp_path).splitlines()
    assert Path(file).is_relative_to(python.parents[1])
    assert heavy == "set()"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("list claims", "thesis-thm1-partial"),
        ("table qu2022/1 --lookup --profile laptop", "Not run"),
        ("run --algorithm fedsam --model mlp-16 --rounds 1", "trained out/runs/"),
    ],
)
def test_commands_work_outside_a_checkout(python, tmp_path, line, told):
    assert told in _run(python, "-m", "artifact", *line.split(), cwd=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"out"}


def test_what_needs_a_checkout_says_so_in_one_line(python, tmp_path):
    command = [str(python), "-m", "artifact", "figure", "sun2023/fig1"]
    done = subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "a checkout" in done.stderr
    assert len(done.stderr.splitlines()) == 1
