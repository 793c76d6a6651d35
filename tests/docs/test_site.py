"""``fedsharp docs``: the site builds without a warning, searches offline, and refuses what it should not replace."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from click.testing import CliRunner

from artifact import cli  # noqa: F401  (registers the command line, which a page lists)
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.report import docs_site


def built(*words: str):
    return CliRunner().invoke(docs_site.docs_command, words)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "site"
    result = built("--out", str(folder))
    assert result.exit_code == 0, result.exception
    return folder


def test_every_page_is_in_the_site_and_the_search_knows_it(site):
    pages = {path.relative_to(paths.DOCS).with_suffix("").as_posix() for path in paths.DOCS.glob("*.md")}
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(re.search(r"Search\.setIndex\((.*)\)", index, re.S)[1])
    assert pages <= set(found["docnames"])
    assert all((site / f"{name}.html").is_file() for name in pages)
    assert "fedsmoo" in found["terms"]


def test_no_page_needs_a_network(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img)[^>]*src="([^"]*)"|<link[^>]*rel="stylesheet"[^>]*href="([^"]*)"', page.read_text()
        )
        assert [one for pair in loaded for one in pair if one.startswith(("http", "//"))] == [], page.name


def test_the_reference_is_made_from_the_program(site):
    text = (site / "cli.html").read_text(encoding="utf-8")
    assert "--man-zeta" in text and "--mutations" not in text
    text = (site / "api.html").read_text(encoding="utf-8")
    assert all(name in text for name in ("fedsharp.train", "fedsharp.optim.SAM", "fedsharp.curvature.trace"))
    assert "Augmented Lagrangian" in (site / "glossary.html").read_text(encoding="utf-8")


def test_formulas_are_mathematics(site):
    assert "<math" in (site / "findings.html").read_text(encoding="utf-8")


def test_a_link_that_leads_nowhere_ends_in_one_line(tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copyfile(paths.DOCS / "conf.py", docs / "conf.py")
    (docs / "index.md").write_text("# Title\n\nSee [nothing](nowhere.md).\n", encoding="utf-8")
    monkeypatch.setattr(paths, "DOCS", docs)
    result = built("--out", str(tmp_path / "out"))
    assert isinstance(result.exception, UserError) and "nowhere" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "mine.txt").touch()
    result = built("--out", str(tmp_path))
    assert isinstance(result.exception, UserError) and [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
