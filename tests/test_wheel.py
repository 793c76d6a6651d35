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
SOURCES = ("artifact", "fedsharp", "checks", "claims", "docs/proofs", "experiments", "theory")
SOURCES += ("pyproject.toml", "setup.py", "README.md", "LICENSE", "LICENSES")
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
    assert {name for name in top if not name.endswith(".dist-info")} == {"artifact", "fedsharp"}
    assert {"artifact/data/digits.csv.gz", "fedsharp/py.typed"} <= set(names)
    for folder, pattern in (("claims", "*.toml"), ("claims", "tables/*.csv"), ("experiments", "*.toml")):
        found = {path.relative_to(paths.ROOT).as_posix() for path in (paths.ROOT / folder).glob(pattern)}
        assert found
        assert {f"artifact/{name}" for name in found} <= set(names)
    assert {path.relative_to(paths.ROOT).as_posix() for path in paths.PACKAGE.rglob("*.py")} <= set(names)
    template = [path for path in (paths.PACKAGE / "audit" / "template").rglob("*") if path.is_file()]
    assert {path.relative_to(paths.ROOT).as_posix() for path in template} <= set(names)
    assert "artifact/py.typed" in names
    beside = {name.removeprefix("artifact/beside/") for name in names if name.startswith("artifact/beside/")}
    kit = {path.relative_to(paths.ROOT).as_posix() for path in (paths.ROOT / "theory" / "kit").glob("*.py")}
    modules = {path.name for path in (paths.ROOT / "checks").glob("*.py")}
    runner = {f"checks/{name}" for name in modules if not name.startswith("test_")} - {"checks/conftest.py"}
    assert beside == kit | runner | {"theory/__init__.py"}  # the runner and no proof of a paper


def test_a_script_of_twenty_lines_trains_a_network_of_its_own(python, tmp_path):
    page = (paths.DOCS / "yours.md").read_text(encoding="utf-8")
    script = re.search(r"<!-- example: train.py -->\n\n```python\n(.*?)```", page, re.S)[1]
    assert len([line for line in script.splitlines() if line.strip()]) <= 20
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    lines = _run(python, "train.py", cwd=tmp_path).splitlines()
    shown = r"(\w+): accuracy (\S+), largest eigenvalue (\S+), bound / curvature by layer (\S+) (\S+)"
    found = [re.fullmatch(shown, line).groups() for line in lines]
    assert [method for method, *_ in found] == ["fedavg", "fedsmoo", "fedlesam"]
    for _, accuracy, top, *loose in found:
        assert float(accuracy) > 0.6
        assert float(top) > 0
        assert all(float(one) >= 1 - 1e-3 for one in loose)  # the theorem's bound holds


def test_the_package_comes_from_the_wheel_and_imports_nothing_heavy(python, tmp_path):
    probe = "import sys, artifact; print(artifact.__file__); print({'torch', 'numpy', 'pydantic'} & {*sys.modules})"
    file, heavy = _run(python, "-c", probe, cwd=tmp_path).splitlines()
    assert Path(file).is_relative_to(python.parents[1])
    assert heavy == "set()"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("list claims", "thesis-thm1-partial"),
        ("data split digits dirichlet:0.3", "fingerprint"),
        ("run --algorithm fedsam --model mlp-16 --rounds 1", "trained out/runs/"),
        ("rate fedsam --L 10 --T 800", "dominant: start above the optimum"),
    ],
)
def test_commands_work_outside_a_checkout(python, tmp_path, line, told):
    assert told in _run(python, "-m", "artifact", *line.split(), cwd=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"out"}


@pytest.mark.parametrize("line", ["figure sun2023/fig1", "report"])
def test_what_needs_a_checkout_says_so_in_one_line(python, tmp_path, line):
    _is_refused(python, tmp_path, line, "a checkout")


#: read stored runs
READERS = ("verdicts --claim sun23-tab2", "table sun2023/1 --lookup", "variants --lookup", "list cells")


def _is_refused(python: Path, folder: Path, line: str, told: str, **variables: str) -> None:
    command = [str(python), "-m", "fedsharp", *line.split()]
    environment = {"PATH": "", "HOME": str(folder)} | variables
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("line", READERS)
def test_without_stored_runs_no_command_says_that_nothing_was_run(python, tmp_path, line):
    _is_refused(python, tmp_path, line, "fedsharp data results FOLDER")


def test_stored_runs_that_were_given_are_read(python, tmp_path):
    """Two verdicts of a folder of results with one table's runs are those of the checkout."""
    store = paths.ROOT / "results"
    _is_refused(python, tmp_path, "data results .", "runs/*.parquet")
    given = {"PATH": "", "HOME": str(tmp_path)}
    command = [str(python), "-m", "fedsharp"]
    kept = subprocess.run([*command, "data", "results", store], cwd=tmp_path, env=given, capture_output=True, text=True)
    assert kept.returncode == 0 and f"kept in {tmp_path}" in kept.stdout, kept.stderr
    words = ["verdicts", "--claim", "sun23-tab2"]
    done = subprocess.run([*command, *words], cwd=tmp_path, env=given, capture_output=True, text=True)
    here = subprocess.run([sys.executable, "-m", "artifact", *words], cwd=paths.ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "sun23-tab2" in done.stdout and "not-run" not in done.stdout
    assert done.stdout == here.stdout


@pytest.fixture(scope="module")
def audited(python, tmp_path_factory) -> tuple[Path, str]:
    """The folder of a paper of one's own, as ``init`` writes it, and what its first ``run`` says."""
    folder = tmp_path_factory.mktemp("audit")
    _run(python, "-m", "artifact", "audit", "init", "half2025", cwd=folder)
    return folder, _run(python, "-m", "artifact", "audit", "run", "half2025", "--quiet", cwd=folder)


def test_an_audit_is_decided_without_a_checkout(audited):
    """The statement by its check, the table by its runs; the report says what it needs."""
    folder, said = audited
    assert len(re.findall(r"^ok half2025-\S+ +proved +check: right minus left is", said, re.M)) == 1, said
    assert len(re.findall(r"^ok half2025-\S+ +seen +laptop runs: ", said, re.M)) == 1, said
    assert "2 verdicts held to what claims.toml expects, 1 to what their checks declare, 0 differ" in said
    assert "report: none, since it is built in a checkout" in said
    assert {path.name for path in folder.iterdir()} == {"half2025"}


def test_a_planted_false_claim_is_caught_without_a_checkout(python, audited):
    """The statement with twice the descent, then the table's claim the other way round."""
    folder, _ = audited
    statement, claims = folder / "half2025" / "statements.py", folder / "half2025" / "claims.toml"
    text, printed = statement.read_text(encoding="utf-8"), claims.read_text(encoding="utf-8")
    statement.write_text(text.replace("scale * eta / 2", "scale * eta"), encoding="utf-8")
    right, wrong = 'order = ["Mine", "FedAvg"]', 'order = ["FedAvg", "Mine"]'
    assert right in printed
    claims.write_text(printed.replace(right, wrong), encoding="utf-8")
    command = [str(python), "-m", "artifact", "audit", "run", "half2025", "--lookup"]
    done = subprocess.run(command, cwd=folder, env={"PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    caught = [line for line in done.stderr.splitlines() if line.startswith("unexpected: ")]
    assert [re.search(r", the ([^,]+?) says? (\w+)", line).groups() for line in caught] == [
        ("check", "refuted"),
        ("laptop runs", "reversed"),
    ]
    assert all(re.search(r"claims\.toml, line \d+\)$", line) for line in caught)
