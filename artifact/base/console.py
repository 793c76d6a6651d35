"""How every command of the project ends: 0 well, 1 by its own word, 2 after one line on bad input, 130 interrupted."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Never, TextIO

import click

from artifact.base.errors import UserError
from artifact.base.extras import how_to_install


class OneLine(click.Command):
    """A command of a module of its own; its usage errors are one line, too."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **_options: Any) -> Never:
        sys.exit(exit_code(lambda: invoked(self, args, prog_name)))


@contextlib.contextmanager
def needs_extra() -> Iterator[None]:
    """For imports at the top of a program: a library that an extra would bring ends it with one line, exit code 2."""
    try:
        yield
    except ImportError as error:
        if not (missing := how_to_install(error)):
            raise
        _tell(f"error: {missing}")
        sys.exit(2)


def exit_code(command: Callable[[], object], interrupted: str = "interrupted") -> int:
    """Run a command and say how it ended; what it returns counts if it is a number.

    interrupted: what to print when it was interrupted from the keyboard.
    """
    try:
        _escape_what_cannot_be_shown()
        code = command()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except BrokenPipeError:  # the reader (head, less) has seen enough; the final flush must not complain either
        _silence(sys.stdout)
        return 0
    except (click.ClickException, UserError, OSError, MemoryError, ImportError) as error:
        _tell("error: " + " ".join(_explain(error).split()))
        return 2
    except (KeyboardInterrupt, click.Abort):
        _tell(interrupted)
        return 130
    return code if isinstance(code, int) else 0


def _tell(line: str) -> None:
    """Print on standard error; the exit code says the same where that cannot be written (a full disk, a limit)."""
    try:
        print(line, file=sys.stderr)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """What the stream still holds goes nowhere, so that the interpreter's last flush does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def invoked(command: click.Command, arguments: Sequence[str] | None, name: str | None) -> object:
    """Run a command as ``command.main`` does, but let the caller see a closed pipe, which that turns into exit code 1.

    Raises UserError for a word with a zero byte.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    for word in arguments:
        if "\0" in word:  # of a caller in Python: no shell passes one, and no file has such a name
            raise UserError("argument", word, "words without a zero byte")
    try:
        with command.make_context(name, arguments) as context:
            return command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code


def _escape_what_cannot_be_shown() -> None:
    """A character that the terminal's encoding lacks is printed as its code instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _explain(error: Exception) -> str:
    """Field, value and what is allowed, also for what click and the operating system refuse."""
    if isinstance(error, click.NoSuchOption):
        known = [name for option in error.ctx.command.params for name in option.opts] if error.ctx else []
        return str(UserError("option", error.option_name, ", ".join(known)))
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        return str(UserError("file", error.filename, f"a file or folder that can be used ({error.strerror or error})"))
    if isinstance(error, ImportError) and (missing := how_to_install(error)):
        return missing
    text = f"the packages of requirements.lock, and memory for them and for what they compute ({error})"
    return str(UserError("environment", type(error).__name__, text))
