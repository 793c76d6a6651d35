"""Ids, keys and file names of other people's files: what the patterns take can neither leave a folder nor act."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from artifact.base import names
from artifact.base.errors import LONGEST, UserError, printable
from artifact.base.files import inside
from artifact.papers.declared import read_toml

PATTERNS = (names.PAPER, names.SLUG, names.CLAIM, names.FILE, names.RUN)
HOSTILE = (
    *("", ".", "..", "../x", "/etc/hostname", "a/b", "a\\b", "~", "a\n", "a\0", "-x", ".hidden", "a b/..", "x" * 101),
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_pattern_takes_a_way_out_of_a_folder(pattern, text):
    assert not names.fits(text, pattern)


@given(st.text(max_size=12), st.sampled_from(PATTERNS))
@example("a..b", names.FILE)
@settings(deadline=None)
def test_what_a_pattern_takes_is_one_name_in_its_folder(text, pattern):
    if names.fits(text, pattern):
        assert Path("folder", text).parent == Path("folder") and text not in (".", "..")
        assert text.isprintable() and not text.startswith(("-", "."))
        assert inside(Path("folder"), text, "name") == Path("folder", text)


@pytest.mark.parametrize("pattern", [*PATTERNS, names.TABLE])
def test_every_pattern_is_said_in_words(pattern):
    assert names.WORDS[pattern]
    assert pattern.startswith("^") and pattern.endswith("$")


def test_a_path_is_held_in_its_folder_where_links_are_followed(tmp_path):
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inside.csv").symlink_to("inner")
    (folder / "outside.csv").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to("loop")
    assert inside(folder, "inside.csv", "csv") == folder / "inside.csv"
    (tmp_path / "link").symlink_to("folder")
    assert inside(tmp_path / "link", "inside.csv", "csv").exists() is True
    for name in ("outside.csv", "../folder2", "/etc/hostname", ".."):
        with pytest.raises(UserError, match=r"^csv: .*; allowed: a path inside the folder "):
            inside(folder, name, "csv")


@given(st.text(max_size=60))
@settings(deadline=None)
def test_a_folder_holds_whatever_it_gives(text):
    folder = Path("/nowhere/folder")
    try:
        path = inside(folder, text, "name")
    except UserError:
        return
    assert os.path.normpath(path).startswith("/nowhere/folder")


def test_an_error_of_a_value_that_is_deep_or_long_is_one_short_line():
    deep: dict = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert "a dict that cannot be shown (RecursionError)" in str(UserError("field", deep, "words"))
    while deep:  # or its end would be as deep
        deep = deep.pop("a")
    assert len(str(UserError("field", "a" * 10**6, "words"))) < LONGEST + 100


@given(st.text())
def test_an_error_shows_nothing_that_a_terminal_acts_on(text):
    line = str(UserError("field", text, text))
    assert line.isprintable()
    assert printable("α ≤ β") == "α ≤ β" and printable("\x1b[31m") == "\\x1b[31m"


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 3000) + " = 1",
        "[" + ".".join("a" * 3000) + "]",
        "x = " + "[" * 3000 + "]" * 3000,
        "x = " + "[" * 40 + "]" * 40,
        "x = {a." * 40 + "b = 1" + "}" * 40,
        "".join(f"[{'.'.join('a' * n)}]\n" for n in range(1, 40)),
        'x = { "a" . "b"' + ' . "c"' * 3000 + " = 1 }",
    ],
)
def test_a_deep_toml_file_is_one_line(text, tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"^file: 'x.toml'.*at most 32 tables inside each other") as caught:
        read_toml(path, "file")
    assert len(str(caught.value)) < 200


def test_text_with_many_dots_is_a_toml_file(tmp_path):
    path = tmp_path / "x.toml"
    text = "Eq. 1.2.3.4: " + "... " * 50 + "Thm. 2." * 50
    path.write_text(f'a = "{text}"\nb.c.d = 1\n')
    assert read_toml(path, "file") == {"a": text, "b": {"c": {"d": 1}}}
