"""Python files of a user's own: run as modules, with what they raise in one line that names theirs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType

from artifact.base.errors import UserError
from artifact.base.files import read_file

#: seconds in which the code of a file has to have run
SECONDS = 60.0
#: where the process is told that waits for this one (``runs.guardian``); none for a program of somebody else's
GUARDIAN: int | None = None


@contextlib.contextmanager
def guarded(path: Path, field: str) -> Iterator[None]:
    """For a block that runs a file's code: whoever waits for this process is told that it begins, and that it ended."""
    _tell({"path": str(path), "field": field, "seconds": SECONDS})
    try:
        yield
    finally:
        _tell(None)


def _tell(running: dict[str, object] | None) -> None:
    if GUARDIAN is not None:
        os.write(GUARDIAN, json.dumps(running).encode() + b"\n")


def run_file(path: Path, field: str, name: str = "") -> ModuleType:
    """The module that a file makes; it is known as ``name``, and leaves no ``__pycache__`` behind.

    Raises UserError for the field, with the line where there is one, when the file is missing or does not run.
    """
    if not (path.is_file() and path.suffix == ".py"):
        raise UserError(field, str(path), "an existing Python file, NAME.py")
    module = ModuleType(name or f"{field} {path.absolute()}")
    sys.modules[module.__name__] = module  # where dataclasses and pydantic look up annotations that are texts
    module.__file__ = str(path.absolute())
    with running(path, field):
        source = decode_source(read_file(path, field))  # Python itself lets wrong bytes in a comment pass
        with warnings.catch_warnings(record=True) as remarks:  # said once the file has run: an error is one line
            code = compile(source, module.__file__, "exec", dont_inherit=True)
        with guarded(path, field):
            exec(code, vars(module))
    for one in remarks:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return module


@contextlib.contextmanager
def running(path: Path | str, field: str, line: int | None = None) -> Iterator[None]:
    """For a block that calls what a file defines. Raises UserError for the field, as ``fault``, for what it raises."""
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # the user's own code may raise anything
        raise fault(str(path), error, field, line) from error


def fault(file: str, error: BaseException, field: str = "add", line: int | None = None) -> UserError:
    """An error of the user's own code, with the line of the file that it came through, else ``line``."""
    said = error.msg if isinstance(error, SyntaxError) else error  # its own text repeats file and line
    at = f", line {found}" if (found := line_of(file, error) or line) else ""
    return UserError(field, file, f"a Python file that runs ({type(error).__name__}: {said}{at})")


def line_of(file: str, error: BaseException) -> int | None:
    """The last line of the file on the error's way; None where the error did not come through the file."""
    own = Path(file).absolute()
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename) == own:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == own), None)
