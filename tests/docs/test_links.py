"""The pages for readers of the code name files, functions and excerpts that are there."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("core.md", "contributing.md")
LINK = re.compile(r"\[`([^`]+)`\]\(([^)]+)\)")
EXCERPT = re.compile(r"<!-- excerpt: (\S+) (\S+) -->\n\n```python\n(.*?)```", re.S)
PATH = re.compile(r"`((?:artifact|tests|theory|checks|claims|experiments|examples|results|docs)/[\w./*-]*)`")


def definitions(file: Path) -> dict[str, str]:
    """Qualified name -> source of every function, class and assigned name of a file, two levels deep."""
    source = file.read_text(encoding="utf-8")
    found: dict[str, str] = {}

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            names = [getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)]
            found.update({prefix + n: ast.get_source_segment(source, node, padded=True) for n in names if n})
            if isinstance(node, ast.ClassDef) and not prefix:
                collect(node.body, f"{node.name}.")

    collect(ast.parse(source).body, "")
    return found


def wrong_links(text: str) -> list[str]:
    """Links of the form [`name`](path) whose file is missing or does not define the name."""
    wrong = []
    for name, target in LINK.findall(text):
        file = DOCS / target
        if not file.is_file() or not (file.name == name or name in definitions(file)):
            wrong.append(f"{name} in {target}")
    return wrong


@pytest.mark.parametrize("page", PAGES)
def test_every_named_function_is_in_the_file_that_its_link_names(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert len(LINK.findall(text)) > 5
    assert wrong_links(text) == []
    assert wrong_links(text.replace("networks.py)", "activations.py)")) != []


@pytest.mark.parametrize("page", PAGES)
def test_every_named_path_is_there(page):
    paths = PATH.findall((DOCS / page).read_text(encoding="utf-8").replace("PAPER", "fan2024").replace("NAME", "*"))
    assert paths
    assert [path for path in paths if not any(ROOT.glob(path))] == []


def test_excerpts_are_the_code():
    excerpts = EXCERPT.findall((DOCS / "core.md").read_text(encoding="utf-8"))
    assert excerpts
    for file, name, text in excerpts:
        assert textwrap.dedent(definitions(ROOT / file)[name]).strip() == text.strip()
