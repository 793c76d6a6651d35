"""The curvature of a finished run's last model, as ``artifact sharpness --record`` stores it beside the run."""

from __future__ import annotations

import json
from typing import Any

from artifact.base.errors import UserError
from artifact.runs.store import Run, is_number

RECORD = "curvature.json"


def recorded(run: Run) -> dict[str, Any]:
    """The record; empty where the run was not measured. Raises UserError for a damaged file.

    ``{"top_eigenvalue": {value, residual, converged}, "trace": {value, standard_error}, "data": training images}``.
    """
    path = run.folder / RECORD
    try:
        content = json.loads(path.read_bytes().decode())
    except FileNotFoundError:
        return {}
    except ValueError:  # no UTF-8, no JSON
        content = None
    if not _is_record(content):
        allowed = "the JSON object that sharpness --record writes; delete this file to measure the model again"
        raise UserError(path.stem, str(path), allowed)
    return content


def _is_record(content: Any) -> bool:
    if not (isinstance(content, dict) and isinstance(content.get("data"), int)):
        return False
    rows = [content[name] for name in ("top_eigenvalue", "trace") if name in content]
    return all(isinstance(row, dict) and is_number(row.get("value")) for row in rows)
