"""Command-line options, and types of them, that several commands share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from artifact.base.errors import UserError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


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


class Finite(click.FloatRange):
    """A number of a range that is finite; click's own ranges let nan and infinity pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = Finite(0, min_open=True)


def refuse_given(why: str, *names: str) -> None:
    """Raises UserError where the running command was told one of these options, which would be ignored."""
    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise UserError(param.opts[0].lstrip("-"), context.params[param.name], why)


#: how much of a paper's tables and figures is run, from seconds to the paper's own length
PROFILES = ("quick", "laptop", "paper")
if TYPE_CHECKING:  # any text, as an option of the command line is
    ProfileName = str
else:
    ProfileName = Literal["quick", "laptop", "paper"]


def profile_option(default: str, names: Sequence[str] = PROFILES) -> Callable[[Decorated], Decorated]:
    """``--profile``, with a default of the command's own."""
    text = "How much is run: for a check in seconds, on a laptop, or as the paper does."
    return click.option("--profile", type=click.Choice(names), default=default, show_default=True, help=text)


def jobs_option(name: str) -> Callable[[Decorated], Decorated]:
    """``--jobs``, passed on as ``name``."""
    cores, text = os.cpu_count() or 1, "Runs that are trained at the same time, each on a core of its own."
    return click.option("--jobs", name, type=click.IntRange(1, 1000), default=cores, show_default="cores", help=text)


QUIET = click.option("--quiet", is_flag=True, help="Show no progress.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")
DATA_HELP = "Folder of the data sets.  [default: $FEDSHARP_DATA, else data]"
DATA_ROOT = click.option("--data", "data_root", type=Place(), help=DATA_HELP)
ADD = click.option(
    "--add", multiple=True, help="Python file with methods, networks or data sets of your own; may be repeated."
)
#: for a command that needs nothing but what the file registers, which ``artifact.cli`` does before
ADD_ONLY = click.option(
    "--add",
    multiple=True,
    expose_value=False,
    help="Python file with the method, network or data set of a run; may be repeated.",
)
#: ``artifact.cli`` opens these before
AUDIT_ONLY = click.option(
    "--audit", multiple=True, expose_value=False, help="Folder with one paper more, as `audit init` writes it."
)
RUNS = click.option("--out", "store", type=Place(), default=Path("results"), help="Store of the runs.")
STORE = click.option(
    "--out",
    type=Place(),
    help="Store of the runs.  [default: out/quick for the profile quick, results for the others]",
)
