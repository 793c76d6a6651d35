"""What ``audit init --publish`` adds to a folder, and the page that ``audit report`` writes of it alone."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml

from artifact import __version__
from artifact.audit import publication

NAMED = {
    "authors": ["Ann Author", 'Bo "B" Other'],
    "arxiv": "2501.01234",
    "code": "https://example.org/code",
    "commit": "0123abc",
    "requires": ">=0.2",
}


def run(*words, cwd):
    command = [sys.executable, "-m", "artifact", "audit", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    """A published folder whose ``[paper]`` names authors, paper and code; its runs are there."""
    folder = tmp_path_factory.mktemp("published") / "half2025"
    assert run("init", "half2025", cwd=folder.parent).returncode == 0
    shutil.copytree(made[0] / "results", folder / "results")
    claims, lines = folder / "claims.toml", []
    for name, value in NAMED.items():
        lines.append(f"{name} = {value!r}" if isinstance(value, str) else f"{name} = {value}")
    text = claims.read_text(encoding="utf-8")
    claims.write_text(text.replace("models = ", "\n".join(lines) + "\nmodels = ", 1), encoding="utf-8")
    done = run("init", "half2025", "--publish", cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_files_say_who_and_what(folder):
    cited = yaml.safe_load((folder / "CITATION.cff").read_text(encoding="utf-8"))["references"][0]
    assert [one["name"] for one in cited["authors"]] == NAMED["authors"]
    assert (cited["url"], cited["repository-code"]) == ("https://arxiv.org/abs/2501.01234", NAMED["code"])
    checked = yaml.safe_load((folder / "codecheck.yml").read_text(encoding="utf-8"))
    assert checked["paper"]["reference"] == cited["url"]
    assert {one["file"] for one in checked["manifest"]} == {"site/index.html", "tables/table1.csv"}
    assert (folder / "requirements.txt").read_text().startswith(f"fedsharp[theory,results,report]=={__version__}\n")
    assert all(re.fullmatch(r"[\w.\[\],-]+==\S+", line) for line in (folder / "requirements.txt").read_text().split())


def test_what_is_there_stays(folder):
    (folder / "LICENSE").write_text("mine", encoding="utf-8")
    done = run("init", "half2025", "--publish", cwd=folder.parent)
    assert (done.returncode, done.stdout.count("half2025/")) == (0, 0)
    assert (folder / "LICENSE").read_text(encoding="utf-8") == "mine"
    assert (folder / "README.md").read_text(encoding="utf-8").count("badge.svg") == 1


def test_the_steps_of_the_workflow_pass_and_write_the_papers_own_page(folder):
    steps = yaml.safe_load((folder / ".github/workflows/audit.yml").read_text())["jobs"]["audit"]["steps"]
    commands = [shlex.split(step["run"]) for step in steps if "run" in step]
    assert [words[0] for words in commands] == ["pip", "fedsharp", "fedsharp", "fedsharp"]
    for words in commands[1:]:
        done = run(*words[2:], cwd=folder)
        assert done.returncode == 0, done.stderr
    page = (folder / "site" / "index.html").read_text(encoding="utf-8")
    assert {path.name for path in (folder / "site").iterdir()} == {"index.html", "site.css"}
    for part in ("Ann Author", "0123abc", "half2025-better", "<td>toy</td>", "MINE-1", "<math", "63.5"):
        assert part in page, part


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("doi", "https://doi.org/10.1/x", "doi"),
        ("arxiv", "arXiv:2501.01234", "arxiv"),
        ("code", "javascript:alert(1)", "code"),
        ("commit", "main", "commit"),
        ("requires", ">=99", "requires"),
        ("requires", "newest", "requires"),
        ("author", ["Ann"], "authors, which is nearest"),
        ("authors", ["Ann\nCo"], "authors"),
    ],
)
def test_a_field_that_names_no_paper_is_a_fault(name, value, said):
    entry = {"key": "x2025", "title": "X", "code": "https://example.org"} | {name: value}
    (fault,) = publication.faults(entry)
    assert said in str(fault)


def test_a_commit_needs_its_code():
    assert publication.faults({"key": "x2025", "title": "X", "commit": "0123abc"})
    assert not publication.faults({"key": "x2025", "title": "X"} | NAMED)
