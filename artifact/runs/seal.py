"""Seals: a JSON object holds a digest of its own content, by which a reader sees whether it was changed.

The digest is of the content, not of the bytes, so that white space changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic_core import from_json

from artifact.base.errors import UserError
from artifact.base.files import read_file

#: entry with the digest of all the others
SEAL = "seal"
#: what has been said of files that are left out
_told: set[str] = set()

T = TypeVar("T")


class Changed(UserError):
    """A stored file that is not as it was sealed."""


def seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its digest as the last entry."""
    own = {name: value for name, value in content.items() if name != SEAL}
    return own | {SEAL: _digest(own)}


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def parsed(data: bytes | str) -> Any:
    """Content of JSON text. Raises ValueError for any other, for NaN and infinity, and for too deep a nesting."""
    return from_json(data, allow_inf_nan=False)


def read_sealed(path: Path) -> dict[str, Any]:
    """The content of a sealed file, its seal left out. Raises UserError where it is not as it was sealed."""
    return unsealed(read_file(path), path)


def unsealed(data: bytes | str, path: Path) -> dict[str, Any]:
    """As ``read_sealed``, of what was read from a file."""
    try:
        content = parsed(data)
        if not isinstance(content, dict):
            raise ValueError("no object")
    except ValueError as error:
        raise Changed(path.stem, str(path), f"a JSON object ({error})") from None
    found = content.pop(SEAL, None)
    if found is None:
        raise Changed(path.stem, str(path), "a sealed file; `python -m fedsharp store seal` checks and seals")
    if found != _digest(content):
        raise Changed(path.stem, str(path), "the file as it was sealed; it was changed since")
    return content


def believed(read: Callable[[], T]) -> T | None:
    """What is read of a stored file; None where it was changed, which standard error says in a line, once."""
    try:
        return read()
    except UserError as error:
        if str(error) not in _told:
            _told.add(str(error))
            print(f"left out: {error}", file=sys.stderr)
        return None
