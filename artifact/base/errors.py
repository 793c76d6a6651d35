"""The one exception that reaches a user: a field, the value it was given, and what is allowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


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
    return faults(error, owner, fields)[0]


def faults(error: ValidationError, owner: str = "", fields: Collection[str] = ()) -> list[UserError]:
    """Every fault that pydantic has found in a record, each as one line, the misspelt fields first.

    A field that is missing because it was misspelt is told once, as the misspelt one. Arguments as ``first_fault``.
    """
    found = sorted(error.errors(), key=lambda one: one["type"] not in _UNKNOWN)
    missing = [str(one["loc"][-1]) for one in found if one["type"] in _MISSING]
    for one in found:
        if one["type"] in _UNKNOWN and missing:
            missing.remove(next(iter(get_close_matches(str(one["loc"][-1]), missing, 1, 0.0)), missing[0]))
    kept = [one for one in found if one["type"] not in _MISSING or str(one["loc"][-1]) in missing]
    return [_fault(one, owner, fields) for one in kept]


_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = ("missing", "missing_argument")


def _fault(one: ErrorDetails, owner: str, fields: Collection[str]) -> UserError:
    cause = one.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return cause
    field = owner + ".".join(map(str, one["loc"]))
    if one["type"] in _UNKNOWN:
        return unknown(field, one["input"], fields)
    value = None if one["type"] in _MISSING else one["input"]
    return UserError(field, value, allowed_by(one))


def unknown(field: str, value: object, fields: Collection[str]) -> UserError:
    """A field that a record does not have. fields: those that it has, of which the nearest is named first."""
    close = get_close_matches(field.split(" ")[-1].split(".")[-1], fields, 1)
    near = "".join(f"{name}, which is nearest, or " for name in close)
    return UserError(field, value, f"{near}one of {', '.join(fields)}")


def allowed_by(fault: Mapping[str, Any]) -> str:
    """What one of pydantic's faults would have accepted, in words."""
    from artifact.base.names import WORDS  # with pydantic, which an error alone has no need for

    if (words := WORDS.get(fault.get("ctx", {}).get("pattern", ""))) is not None:
        return words
    return fault["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
