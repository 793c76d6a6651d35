"""Command-line options, and types of them, that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from artifact.base.errors import UserError


class Place(click.Path):
    """A file or folder. An empty word, mostly a shell variable that is not set, would be the current folder.

    Raises UserError for it.
    """

    def __init__(self, **rules: Any):
        super().__init__(path_type=Path, **rules)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            name = param.opts[0].lstrip("-") if param else "path"
            raise UserError(name, "", "the name of a file or folder")
        return super().convert(value, param, ctx)


def refuse_given(why: str, *names: str) -> None:
    """Raises UserError where the running command was told one of these options, which would be ignored."""
    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise UserError(param.opts[0].lstrip("-"), context.params[param.name], why)


DATA_ROOT = click.option("--data", "data_root", type=Place(), help="Folder of the data sets.")
STORE = click.option("--out", type=Place(), help="Store; default out/quick, or results for other profiles.")
