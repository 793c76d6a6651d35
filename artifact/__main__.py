"""``python -m artifact``: the command line. Bad input ends in one line on standard error and exit code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from artifact.errors import UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 well, 2 bad input, 130 interrupted (a run keeps its last checkpoint)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    escape_what_cannot_be_shown()
    try:
        from artifact.cli import commands  # takes seconds, in which Ctrl-C must end as it does later

        code = _invoke(commands(arguments), arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except BrokenPipeError:  # the reader (head, less) has seen enough; the final flush must not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (click.ClickException, UserError, OSError) as error:
        print("error:", " ".join(explain(error).split()), file=sys.stderr)
        return 2
    except (KeyboardInterrupt, click.Abort):
        goes_on = (
            "; the same command with --resume goes on from the last checkpoint" if arguments[:1] == ["run"] else ""
        )
        print(f"interrupted{goes_on}", file=sys.stderr)
        return 130
    return code if isinstance(code, int) else 0


def _invoke(group: click.Group, arguments: list[str]) -> object:
    """As ``group.main``, which would turn a closed pipe into exit code 1 before it is seen here."""
    try:
        with group.make_context("python -m artifact", arguments) as context:
            return group.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code


def escape_what_cannot_be_shown() -> None:
    """A character that the terminal's encoding lacks is printed as its code instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def explain(error: click.ClickException | UserError | OSError) -> str:
    """Field, value and what is allowed, also for what click and the operating system refuse."""
    if isinstance(error, click.NoSuchOption):
        known = [name for option in error.ctx.command.params for name in option.opts] if error.ctx else []
        return str(UserError("option", error.option_name, ", ".join(known)))
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, UserError):
        return str(error)
    return str(UserError("file", error.filename, f"a file or folder that can be used ({error.strerror or error})"))


if __name__ == "__main__":
    sys.exit(main())
