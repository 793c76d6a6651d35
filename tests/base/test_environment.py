"""The front door's files agree: pyproject.toml, requirements.lock, environment.yml, CITATION.cff, the scripts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from artifact import __version__
from artifact.base import paths
from artifact.base.extras import EXTRAS

ROOT = paths.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")

#: the extra that no environment can have beside the others, and its own lock
APART, ITS_LOCK = "flower", (ROOT / "requirements-flower.lock").read_text(encoding="utf-8")

PACKAGES = ("artifact", "fedsharp", "theory", "checks", "notebooks", "tests")
#: import name -> distribution, where they differ
DISTRIBUTIONS = {
    "PIL": "pillow",
    "curvlinops": "curvlinops-for-pytorch",
    "pydantic_core": "pydantic",  # its own parser, which it pins
    "sklearn": "scikit-learn",
    "xdist": "pytest-xdist",
    "yaml": "pyyaml",
    "z3": "z3-solver",
}


def _name(requirement: str) -> str:
    """Normalised distribution name of a requirement (PEP 503)."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


@cache
def _direct() -> dict[str, str]:
    """Distribution -> version bound, over the dependencies and the extras of pyproject.toml but ``APART``."""
    groups = PROJECT["optional-dependencies"].items()
    extras = [entry for name, group in groups if name not in (APART, "all") for entry in group]
    return {_name(entry): entry[len(re.match(r"[\w.-]+", entry)[0]) :] for entry in PROJECT["dependencies"] + extras}


@cache
def _locked(lock: str = LOCK) -> dict[str, str]:
    return {_name(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock, re.M)}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0]))


def test_every_direct_dependency_is_locked_within_its_bound():
    for name, bound in _direct().items():
        operator, version = re.fullmatch(r"(>=|==)([\d.]+)", bound).groups()
        locked, allowed = _numbers(_locked()[name]), _numbers(version)
        assert locked == allowed if operator == "==" else locked >= allowed, f"{name}{bound}, locked {_locked()[name]}"


def test_all_is_every_extra_but_the_one_that_stands_apart():
    (entry,) = PROJECT["optional-dependencies"]["all"]
    named = re.fullmatch(r"fedsharp\[([\w,]+)\]", entry)[1].split(",")
    assert sorted(named) == sorted(PROJECT["optional-dependencies"].keys() - {APART, "all"})


def test_core_dependencies_are_those_of_training_and_the_command_line():
    core = "click filelock numpy pydantic safetensors scipy torch tqdm"
    assert sorted(map(_name, PROJECT["dependencies"])) == core.split()


def test_the_line_on_a_missing_library_names_the_extra_that_brings_it():
    for extra, modules in EXTRAS.items():
        own = {_name(entry) for entry in PROJECT["optional-dependencies"][extra]}
        for module in modules:
            assert _name(DISTRIBUTIONS.get(module, module)) in own, f"{module} of {extra}"
            assert _name(DISTRIBUTIONS.get(module, module)) not in map(_name, PROJECT["dependencies"])


def test_conda_installs_what_the_lock_holds():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["dependencies"] == ["python=3.11", "pip", {"pip": ["-r requirements.lock"]}]


def test_flowers_lock_is_the_same_where_flower_lets_it():
    """Each package that both locks hold has one version, beside those that Flower has its own wishes about."""
    own, other = _locked(ITS_LOCK), _locked()
    wished = PROJECT["optional-dependencies"][APART]
    assert wished == [f"flwr[simulation]=={own['flwr']}"]
    assert {_name(entry) for entry in PROJECT["dependencies"]} <= own.keys()
    assert "torch" in own.keys() & other.keys()
    differ = {name for name in own.keys() & other.keys() if own[name] != other[name]}
    assert differ <= {"certifi", "packaging", "protobuf", "ray", "rich", "typer"}
    assert own["ray"] != other["ray"]  # where they agree, the extra can join the others


@pytest.mark.parametrize("lock", [LOCK, ITS_LOCK], ids=["all", APART])
def test_lock_has_hashes_and_no_place_of_its_own(lock):
    """Every requirement is ``name==version`` with sha256 hashes; no index, link, file or editable path."""
    text = "\n".join(line for line in lock.splitlines() if not line.startswith("#"))
    requirements = re.split(r"\n(?=\S)", text.strip())
    for requirement in requirements:
        first, *hashes = requirement.split(" \\\n    ")
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[\w.+!]+( ; .+)?", first), first
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", entry.strip()) for entry in hashes), first
    assert len(requirements) == len(_locked(lock)) > len(_direct())
    assert not re.search(r"://|find-links|file:|^-e|^/|^\./", text, re.M)


def test_locked_versions_are_what_is_installed():
    """The tests run in the pinned environment; on another one this names the packages that differ."""
    installed = {name: metadata.version(name).split("+")[0] for name in _direct()}
    assert installed == {name: _locked()[name] for name in _direct()}


def test_every_import_is_declared():
    """Third-party imports of the project's code, against pyproject.toml."""
    files = [path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py")]
    beside = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]  # imported by their stems
    own = {*PACKAGES, *(path.stem for path in beside)}
    found: dict[str, Path] = {}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            found |= {module.split(".")[0]: path for module in modules}
    missing = {
        module: str(path.relative_to(ROOT))
        for module, path in found.items()
        if module not in sys.stdlib_module_names | own | {"flwr", "triton"}  # triton comes with torch for GPUs
        and _name(DISTRIBUTIONS.get(module, module)) not in _direct()
    }
    assert not missing


def test_citation_states_the_version_the_licence_and_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"] == __version__
    assert citation["title"].split(":")[0] == PROJECT["name"]
    assert citation["license"] == PROJECT["license"] == "MIT"
    assert "MIT License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert [len(paper["authors"]) for paper in citation["references"]] == [6, 5, 7, 6, 1]
    assert all(paper["title"] and paper["year"] in range(2022, 2025) for paper in citation["references"])


@pytest.mark.parametrize("script", ["reproduce.sh", ".ci/run"])
def test_scripts_are_executable_and_parse(script):
    assert (ROOT / script).stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(ROOT / script)], check=True)


def test_words_behind_the_verb_are_one_line():
    done = subprocess.run([ROOT / "reproduce.sh", "help", "--quick", "me"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: arguments: '--quick me' is not possible; allowed: nothing after 'help'\n"


def test_every_verb_is_explained():
    usage = subprocess.run([ROOT / "reproduce.sh", "help"], capture_output=True, text=True, check=True).stdout
    assert all(f"\n  {verb} " in usage for verb in ("setup", "quick", "laptop", "paper", "smoke", "test"))
