"""A docstring or a comment names no Markdown, Python or declaration file that the repository does not hold."""

from __future__ import annotations

import io
import re
import tokenize

from artifact.base.paths import ROOT

PACKAGES = ("artifact", "checks", "notebooks", "theory")
FOLDERS = (*PACKAGES, "claims", "docs", "examples", "experiments", "tests")
#: names of files; a name in capitals stands for many, as claims/PAPER.toml
NAMED = re.compile(r"(?<![\w./{*<-])(?:[\w.-]+/)*[\w-]+\.(?:py|toml|md|ipynb|sh)\b(?!\.)")
#: a user's own file in an example
EXAMPLES = {"mine.py", "net.py", "method.py", "table.md"}


def words(text: str) -> str:
    """The docstrings and comments of a module; a docstring is a string that stands alone on its line."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    alone = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT, tokenize.ENCODING)
    return "\n".join(
        token.string
        for before, token in zip([None, *tokens], tokens, strict=False)
        if token.type == tokenize.COMMENT
        or (token.type == tokenize.STRING and (before is None or before.type in alone))
    )


def missing(text: str, held: set[str]) -> list[str]:
    """Files that docstrings and comments name and that are not held, whole or by the end of their path."""
    found = {name.removeprefix("./") for name in NAMED.findall(words(text))} - EXAMPLES
    return sorted(name for name in found if not re.search("[A-Z]{3}", name) and f"/{name}" not in held)


def test_files_that_docstrings_and_comments_name_are_held():
    files = [*ROOT.glob("*.*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*"))]
    parts = [path.relative_to(ROOT).parts for path in files]
    held = {"/" + "/".join(part[n:]) for part in parts for n in range(len(part))}
    modules = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    found = {str(path.relative_to(ROOT)): missing(path.read_text(encoding="utf-8"), held) for path in modules}
    assert len(modules) > 250 and {name: files for name, files in found.items() if files} == {}


def test_a_name_of_nothing_is_found():
    text = '"""See ``docs/gone.md`` and claims/PAPER.toml."""\nx = "lost.py"  # as kept.py and b/old.py do\n'
    assert missing(text, {"/kept.py"}) == ["b/old.py", "docs/gone.md"]
