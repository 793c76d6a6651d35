"""The one exception that reaches a user: a field, the value it was given, and what is allowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError


class UserError(ValueError):
    """Bad input. The command line prints it as one line and ends with exit code 2.

    field: name of the option, config entry or file that is wrong.
    value: what was given; None where nothing was.
    allowed: what would have been accepted, in words.
    """

    def __init__(self, field: str, value: object, allowed: str):
        self.field, self.value, self.allowed = field, value, allowed
        found = "nothing is given" if value is None else f"{_shown(value)} is not possible"
        super().__init__(" ".join(printable(f"{field}: {found}; allowed: {allowed}").split()))

    def __reduce__(self) -> tuple[type[UserError], tuple[str, object, str]]:
        """As it was made, so that it comes whole out of another process."""
        return type(self), (self.field, self.value, self.allowed)


#: characters of a value that an error's line shows
LONGEST = 400


def _shown(value: object) -> str:
    """What was given, as Python writes it; of what is long its beginning and its end."""
    try:
        text = repr(value)
    except Exception as error:  # as deep as Python can go, or an object whose own code fails
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 100]} ... {text[-60:]}"


def printable(text: str) -> str:
    """The text with an escape sequence for each character that a terminal would act on instead of showing it.

    >>> printable("a \\x1b[31m b")
    'a \\\\x1b[31m b'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one.isspace() else ascii(one)[1:-1] for one in text)


def first_fault(error: ValidationError, owner: str = "", fields: Collection[str] = ()) -> UserError:
    """The first fault that pydantic has found in a record, as one line.

    owner: before the field's name.  fields: of the record, shown where a field is none of them.
    """
    unknown = ("extra_forbidden", "unexpected_keyword_argument")
    first = min(error.errors(), key=lambda one: one["type"] not in unknown)  # what is misspelt is missing, too
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return cause
    field = owner + ".".join(map(str, first["loc"]))
    if first["type"] in unknown:
        near = "".join(f"{one}, which is nearest, or " for one in get_close_matches(str(first["loc"][-1]), fields, 1))
        return UserError(field, first["input"], f"{near}one of {', '.join(fields)}")
    value = None if first["type"] in ("missing", "missing_argument") else first["input"]
    return UserError(field, value, allowed_by(first))


def allowed_by(fault: Mapping[str, Any]) -> str:
    """What one of pydantic's faults would have accepted, in words."""
    from artifact.base.names import WORDS  # with pydantic, which an error alone has no need for

    if (words := WORDS.get(fault.get("ctx", {}).get("pattern", ""))) is not None:
        return words
    return fault["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
