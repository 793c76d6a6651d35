"""Every command that a page prints is one that the command line knows, with options that it has."""

from __future__ import annotations

import re
import shlex

import click
import pytest
from click.exceptions import Exit

from artifact import cli
from artifact.base import paths
from artifact.base.errors import UserError

PAGES = [paths.ROOT / "README.md", paths.ROOT / "CONTRIBUTING.md", *sorted(paths.DOCS.rglob("*.md"))]
PRINTED = sorted(
    {
        (page.relative_to(paths.ROOT).as_posix(), line.partition("  #")[0].strip())
        for page in PAGES
        for block in re.findall(r"```(?:sh|bash)?\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
        for line in block.replace("\\\n", " ").splitlines()
        if line.strip().startswith("python -m fedsharp ") and "--add" not in line  # a process takes a file once
    }
)
#: what may be wrong with a command of a page: a file or a name of the reader's own
OWN = re.compile(r"does not exist|half2025|mine\.py|PAPER|TABLE|CLONE|FOLDER|ID\b|RUN")


@pytest.mark.parametrize(("page", "line"), PRINTED)
def test_a_printed_command_is_known(page, line):
    words = shlex.split(re.sub(r"[|&].*", "", line))[3:]
    try:
        group = cli.commands(words)
        command = group.get_command(click.Context(group), words[0])
        assert command is not None, words[0]
        command.make_context(words[0], words[1:])
    except Exit:
        assert "--help" in words
    except (click.UsageError, UserError) as error:
        assert OWN.search(f"{error} {line}"), f"{page}: {error}"


def test_pages_print_commands():
    assert {words.split()[3] for _, words in PRINTED} > {"run", "sweep", "verdicts", "report", "audit"}
