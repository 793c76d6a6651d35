"""The one exception that reaches a user: a field, the value it was given, and what is allowed."""

from __future__ import annotations

import traceback
from pathlib import Path


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


def fault(file: str, error: BaseException) -> UserError:
    """An error of the user's own code, with the line of the file that was read or running when it came up."""
    text, line = f"{type(error).__name__}: {error}", _line_of(file, error)
    if isinstance(error, SyntaxError) and line is not None:  # its own text repeats file and line
        text = f"{type(error).__name__}: {error.msg}"
    return UserError("add", file, f"a Python file that runs ({text}{'' if line is None else f', line {line}'})")


def _line_of(file: str, error: BaseException) -> int | None:
    """The last line of the file on the error's way; None where the error did not come through the file."""
    own = Path(file).absolute()
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename) == own:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == own), None)
