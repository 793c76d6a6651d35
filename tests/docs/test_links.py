"""The pages for readers of the code name files, functions and excerpts that are there."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

import artifact
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


def walks() -> dict[str, tuple[list[Path], str]]:
    """Question -> (files that are opened, the row's text) of the walks in ``core.md``."""
    text = (DOCS / "core.md").read_text(encoding="utf-8").split("## Six walks")[1].split("## ")[0]
    rows = [row for row in text.splitlines() if row.startswith("| ") and not row.startswith("| question")]
    return {row.split(" | ")[0]: ([(DOCS / target).resolve() for _, target in LINK.findall(row)], row) for row in rows}


def names_of(file: Path) -> set[str]:
    """What a reader may have read that leads to a file: how it is imported, or how prose calls it."""
    path = file.relative_to(ROOT)
    dotted = ".".join(path.with_suffix("").parts)
    beside = {f"``{path.name}``"} if path.suffix == ".toml" else set()  # data of the folder that names it
    return {dotted, dotted.removeprefix("artifact."), f"{path.parent}/PAPER.toml", f"{path}", *beside}


def test_walks_through_the_code_open_few_files():
    found = walks()
    assert len(found) == 6
    for question, (files, row) in found.items():
        pages = 1 if "card" in row else 0  # the report's page is opened, too
        assert len(set(files)) + pages <= int(row.strip("| ").split("|")[-1]), question


def test_every_file_of_a_walk_is_named_by_an_earlier_one():
    for question, (files, _) in walks().items():
        for place, file in enumerate(files[1:], 1):
            earlier = " ".join(one.read_text(encoding="utf-8") for one in files[:place])
            assert any(name in earlier for name in names_of(file)), f"{question}: {file.name}"


def test_every_room_has_its_question():
    text = (DOCS / "core.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "artifact").glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)/`", text.split("## The other rooms")[1])) == rooms


def headings(file: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


WRITTEN = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


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


@pytest.mark.parametrize("name", sorted(path.stem for path in DOCS.glob("*.md") if path.name != "README.md"))
def test_a_page_is_listed(name):
    """In the index, and the page of one paper or machine on the page whose name it continues."""
    listing = DOCS / (f"{name.split('-')[0]}.md" if "-" in name else "README.md")
    assert f"({name}.md" in listing.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHANGELOG.md", "README.md"])
def test_paths_that_the_pages_at_the_top_name_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = PATH.findall(text.replace("results/checks/ID.json", "results/checks/*.json"))
    assert [path for path in paths if not any(ROOT.glob(path))] == []


def test_the_changes_name_the_version():
    assert f"Version {artifact.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_table_of_hooks_has_every_hook():
    told = re.findall(r"`(\w+)\(", (DOCS / "contributing.md").read_text(encoding="utf-8").split("| to say |")[1])
    assert set(HOOKS) <= set(told)
