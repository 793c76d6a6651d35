"""Results of measurements: JSON files that name the machine and the software that they were taken with."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from artifact.base.errors import UserError
from artifact.base.files import read_file, require_writable, write_atomic
from artifact.base.options import Place


def _writable(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Measuring takes minutes: what cannot be kept at the end is refused at the start, when no folder is made yet."""
    if path is not None:
        require_writable(next(folder for folder in path.absolute().parents if os.path.lexists(folder)))
    return path


OUT = click.option("--out", type=Place(), callback=_writable, help="File for the JSON result.")


def write(path: Path, result: dict[str, Any]) -> None:
    """Store a result whole, in a folder that is made where it is missing, or raise UserError."""
    require_writable(path.parent)
    write_atomic(path, json.dumps(result, indent=1) + "\n")


def read(path: Path) -> dict[str, Any]:
    """A result. Raises UserError for a file that no measurement has written."""
    try:
        result = json.loads(read_file(path))
    except (UserError, ValueError, RecursionError):
        result = None
    if not isinstance(result, dict) or "environment" not in result:
        raise UserError("file", str(path), "a result of bench --out or of a script of docs/performance")
    return result
