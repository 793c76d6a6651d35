"""Pages are read once: short paragraphs with few numbers, and no page over 6,000 words."""

from __future__ import annotations

import re

import pytest

from artifact.base import paths

WORDS, NUMBERS, PAGE = 90, 6, 6_000
PAGES = [paths.ROOT / "README.md", *sorted(paths.DOCS.rglob("*.md"))]
#: a line that is no prose of its own: table, heading, picture, comment
APART = re.compile(r"\||#+ |!\[|<!--")
#: a number as a reader meets it: 5,000 is one, and so is -0.3
NUMBER = re.compile(r"[-+]?\d(?:[\d,]*\d)?(?:\.\d+)?")


def paragraphs(text: str) -> list[str]:
    """The paragraphs and list items of Markdown, without code, tables, headings, pictures and mathematics."""
    text = re.sub(r"```.*?```", "\n\n", text, flags=re.S)
    text = re.sub(r"\$[^$]*\$|`[^`]*`|\]\([^)]*\)", " ", text)
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if not line.strip() or APART.match(line.strip()):
            found.append([])
        elif re.match(r"\s*(?:[-*]|\d+\.) ", line):
            found.append([re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line)])
        else:
            found[-1].append(line)
    return [" ".join(" ".join(lines).split()) for lines in found if lines]


def too_long(text: str) -> list[str]:
    """Paragraphs with too many words or numbers, each with its counts."""
    return [
        f"{len(one.split())} words, {len(NUMBER.findall(one))} numbers: {one}"
        for one in paragraphs(text)
        if len(one.split()) > WORDS or len(NUMBER.findall(one)) > NUMBERS
    ]


#: pages of prose that are held to short paragraphs; what else there is explains tables, or is generated
SHORT = ("contributing", "core", "data", "experiments", "troubleshooting", "yours")


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in SHORT)])
def test_paragraphs_are_short_and_have_few_numbers(page):
    assert too_long((paths.ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(paths.ROOT).as_posix())
def test_no_page_is_over_six_thousand_words(page):
    assert len(page.read_text(encoding="utf-8").split()) <= PAGE


@pytest.mark.parametrize("page", sorted(paths.DOCS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_begins_with_prose(page):
    """A sentence stands between the title and the first table, block or picture."""
    title, first = (part.strip() for part in page.read_text(encoding="utf-8").split("\n\n")[:2])
    assert title.startswith("# ") and not APART.match(first) and len(first.split()) >= 8


def test_long_paragraphs_and_many_numbers_are_seen():
    words, numbers = "word " * 91, " ".join(map(str, range(7)))
    assert len(too_long(f"# Title\n\n{words}\n\n- short\n- {numbers}\n\n| {words} | {numbers} |\n")) == 2
    assert too_long(f"{'word ' * 90}\n\n1. one 5,000 -0.3 +2.5 4 5 6\n\n```sh\n{words}\n```\n") == []
    assert paragraphs("a\nb\n\n* c\n  d\n* e\n\n| f |\n") == ["a b", "c d", "e"]
