"""The pages for readers of the code name files, functions and excerpts that are there."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

from artifact.interface.own_method import HOOKS

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


def test_every_room_has_its_question():
    text = (DOCS / "core.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "artifact").glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)/`", text.split("## The other rooms")[1])) == rooms


def headings(file: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


#: without the changes, which name files of the past
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(file):
    """Files are there and pages have the headings; pictures are links, too."""
    targets = [t for t in re.findall(r"\]\(([^)\s]+)\)", prose(file)) if not t.startswith("http")]
    for target in targets:
        name, _, anchor = target.partition("#")
        there = file.parent / name if name else file
        assert there.exists(), target
        assert not anchor or anchor in headings(there), target


def prose(file: Path) -> str:
    """A page without its code and without mathematics, in which brackets are no links."""
    text = re.sub(r"```.*?```", "", file.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"\$[^$\n]*\$", "", text)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_paths_that_the_pages_at_the_top_name_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = PATH.findall(text.replace("results/checks/PAPER.jsonl", "results/checks/*.jsonl"))
    assert [path for path in paths if not any(ROOT.glob(path))] == []


def test_the_table_of_hooks_has_every_hook():
    told = re.findall(r"`(\w+)\(", (DOCS / "method.md").read_text(encoding="utf-8").split("| to say |")[1])
    assert set(HOOKS) <= set(told)
