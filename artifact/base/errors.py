"""The one exception that reaches a user: a field, the value it was given, and what is allowed."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class UserError(ValueError):
    """Bad input. The command line prints it as one line and ends with exit code 2.

    field: name of the option, config entry or file that is wrong.
    value: what was given.
    allowed: what would have been accepted, in words.
    """

    def __init__(self, field: str, value: object, allowed: str):
        self.field, self.value, self.allowed = field, value, allowed
        super().__init__(" ".join(f"{field}: {value!r} is not possible; allowed: {allowed}".split()))

    def __reduce__(self) -> tuple[type[UserError], tuple[str, object, str]]:
        """As it was made, so that it comes whole out of another process."""
        return type(self), (self.field, self.value, self.allowed)


def first_fault(error: ValidationError, owner: str = "", fields: Iterable[str] = ()) -> UserError:
    """The first fault that pydantic has found in a record, as one line.

    owner: before the field's name.  fields: of the record, shown where a field is none of them.
    """
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return cause
    field = owner + ".".join(map(str, first["loc"]))
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return UserError(field, first["input"], f"one of {', '.join(fields)}")
    value = None if first["type"] in ("missing", "missing_argument") else first["input"]
    return UserError(field, value, first["msg"].removeprefix("Input should be "))


def fault(file: str, error: BaseException) -> UserError:
    """An error of the user's own code, with the line of the file that was read or running when it came up."""
    text, line = f"{type(error).__name__}: {error}", line_of(file, error)
    if isinstance(error, SyntaxError) and line is not None:  # its own text repeats file and line
        text = f"{type(error).__name__}: {error.msg}"
    return UserError("add", file, f"a Python file that runs ({text}{'' if line is None else f', line {line}'})")


def line_of(file: str, error: BaseException) -> int | None:
    """The last line of the file on the error's way; None where the error did not come through the file."""
    own = Path(file).absolute()
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename) == own:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == own), None)
