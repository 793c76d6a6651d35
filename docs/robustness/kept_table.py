"""What measuring scripts of this folder share: a command that prints the table of the file which its others fill."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def printing(file: Path, table: Callable[[dict[str, Any]], list[str]]) -> click.Group:
    """A group of commands; alone it prints the lines of a table made of the file's content."""

    @click.group(invoke_without_command=True)
    @click.pass_context
    def main(context: click.Context) -> None:
        if context.invoked_subcommand is None:
            click.echo("\n".join(table(json.loads(file.read_text(encoding="utf-8")))))

    return main
