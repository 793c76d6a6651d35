"""Files beside the program: the container's lines, the workflow, Binder and REUSE name things that are there."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tomllib

import pytest
import yaml

from artifact.base.paths import ROOT

sys.path.insert(0, str(ROOT / "tests" / "door"))
import container_lines


def test_the_containers_copies_are_there_and_it_runs_the_first_command(tmp_path):
    for word, rest in container_lines.instructions():
        if word == "COPY" and rest != ". .":
            container_lines.copy(rest.split(), tmp_path)
    assert (tmp_path / "artifact" / "__init__.py").is_file() and (tmp_path / "reproduce.sh").is_file()
    assert container_lines.instructions()[-1] == ("CMD", '["./reproduce.sh"]')


def test_the_container_runs_no_set_up_before_what_it_installs_is_copied(monkeypatch):
    words = container_lines.instructions()
    set_up = words.index(("RUN", "./reproduce.sh setup"))
    copied = " ".join(rest for word, rest in words[:set_up] if word == "COPY").split()
    built = {}
    monkeypatch.setattr("setuptools.setup", built.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    folders = ["artifact", "fedsharp", *built["package_dir"].values()]
    assert len(folders) > 6
    for name in ["requirements.lock", "pyproject.toml", "setup.py", "README.md", *folders]:
        assert any(name == one or name.startswith(f"{one}/") for one in copied), name


def test_public_continuous_integration_calls_the_script_that_runs_everywhere():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    runs = [step.get("run") for step in workflow["jobs"]["ci"]["steps"]]
    assert ".ci/run" in runs and workflow["permissions"] == {"contents": "read"}
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def test_configurations_for_others_are_well_formed():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert (ROOT / ".devcontainer" / container["build"]["dockerfile"]).resolve() == ROOT / "Containerfile"
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for repo in hooks["repos"] for hook in repo["hooks"]]
    wanted = (ROOT / ".binder/requirements.txt").read_text(encoding="utf-8").split("[")[-1].split("]")[0].split(",")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(wanted) <= extras.keys()


@pytest.mark.parametrize("licence", ["MIT", "CC-BY-4.0"])
def test_every_licence_that_is_named_has_its_text(licence):
    rules = tomllib.loads((ROOT / "REUSE.toml").read_text(encoding="utf-8"))["annotations"]
    assert licence in {rule["SPDX-License-Identifier"] for rule in rules}
    assert (ROOT / "LICENSES" / f"{licence}.txt").read_text(encoding="utf-8").strip()


def test_nothing_is_left_in_git_of_what_a_container_must_not_get():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", "out", ".venv*"} <= set(ignored)
    assert not [name for name in names if name.startswith(("out/", ".venv", "build/"))]
