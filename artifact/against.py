"""Top eigenvalue and trace of one model by PyHessian and by ``artifact.curvature``, in one run, at one accuracy.

PyHessian (Yao et al. 2020, https://github.com/amirgholami/PyHessian) is not part of this project; the user names a
folder that holds it. It states no error of its own, so its results are held against ours: the residual of its
eigenvector is computed here, outside its time, and its tolerance is tightened until that residual is small enough; its
trace samples are drawn until their standard error is. Only the runs that get there are charged. Everything is timed in
CPU seconds of this process, both sides on the same samples and threads.
"""

from __future__ import annotations

import copy
import importlib
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from artifact import curvature
from artifact.curvature import EmpiricalRisk
from artifact.errors import UserError

#: its tolerances, from the default downwards; each compares two successive eigenvalues
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
_CHUNK = 8
_MOST = 400

Row = dict[str, Any]


@contextmanager
def _imported(path: Path) -> Iterator[Any]:
    """PyHessian's class from a folder; the import path is restored. Raises UserError when it is not there."""
    sys.path.insert(0, str(path))
    try:
        yield importlib.import_module("pyhessian").hessian
    except ImportError as error:
        raise UserError("against", str(path), f"a folder with PyHessian's package ({error})") from None
    finally:
        sys.path.remove(str(path))


@contextmanager
def _clock(row: Row) -> Iterator[None]:
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    row["cpu_seconds"] = row.get("cpu_seconds", 0.0) + time.process_time() - cpu
    row["seconds"] = row.get("seconds", 0.0) + time.perf_counter() - wall


def compare(
    risk: EmpiricalRisk, w: Tensor, path: Path, k: int = 1, tol: float = 1e-2, error: float = 0.02
) -> list[Row]:
    """One row per tool and number {tool, number, value, error, cpu_seconds, seconds, products}; errors are relative.

    k: eigenpairs that ours computes for the trace's sake.  tol, error: what has to be reached. Ours is charged with
    its certificate (fresh residual and search of the complement), which PyHessian does not have.
    """
    rows = _ours(risk, w, k, tol, error)
    with _imported(path) as tool:
        for mode in ("batches", "one batch"):
            state = torch.random.get_rng_state()
            torch.manual_seed(0)  # PyHessian draws from the global generator
            try:
                rows += _theirs(tool, mode, risk, w, tol, error)
            finally:
                torch.random.set_rng_state(state)
    return rows


def _ours(risk: EmpiricalRisk, w: Tensor, k: int, tol: float, error: float) -> list[Row]:
    top: Row = {"tool": "artifact.curvature", "number": "top eigenvalue"}
    with _clock(top):
        found = curvature.top_eigenvalues(risk, w, k, tol=tol, keep_space=True)
    value = found.rows()[0]["value"]
    top |= {"value": value, "error": float(found.residuals[0] / found.values[0].abs()), "products": found.products}
    trace: Row = {"tool": "artifact.curvature", "number": "trace"}
    with _clock(trace):
        estimate = curvature.trace(risk, w, _MOST, deflate=found, relative_error=error)
    products = len(estimate.samples)
    trace |= {"value": estimate.value, "error": estimate.standard_error / abs(estimate.value), "products": products}
    return [top, trace]


def _theirs(tool: Any, mode: str, risk: EmpiricalRisk, w: Tensor, tol: float, error: float) -> list[Row]:
    model = copy.deepcopy(risk.model).to(w.dtype)
    for parameter, view in zip(model.parameters(), risk.layout.views(w).values(), strict=True):
        parameter.data.copy_(view)
    data = [(x, y) for _, x, y in risk.batches()]
    if mode == "one batch":
        whole = tuple(torch.cat(column) for column in zip(*data, strict=True))
    setup: Row = {}
    with _clock(setup):
        options = {"dataloader": data} if mode == "batches" else {"data": whole}
        measured = tool(model, risk.loss, cuda=w.is_cuda, **options)
    name = f"PyHessian, {mode}"
    return [_eigenvalue(measured, name, risk, w, tol, setup), _trace(measured, name, error)]


def _eigenvalue(measured: Any, name: str, risk: EmpiricalRisk, w: Tensor, tol: float, setup: Row) -> Row:
    """The first run of its power iteration whose vector has the residual asked for, and what its default gave."""
    default = math.nan
    for tolerance in TOLERANCES:
        row: Row = {"tool": name, "number": "top eigenvalue"}
        with _clock(row):
            values, vectors = measured.eigenvalues(maxIter=1000, tol=tolerance)
        v = torch.cat([part.reshape(-1) for part in vectors[0]])
        product = risk.hvp(w, v)
        residual = float((product - (v @ product) * v).norm() / (v @ product).abs())
        default = residual if tolerance == TOLERANCES[0] else default
        if residual <= tol:
            break
    row |= {"value": values[0], "error": residual, "products": None, "tolerance": tolerance, "default_error": default}
    return row | {part: row[part] + setup[part] for part in setup}


def _trace(measured: Any, name: str, error: float) -> Row:
    row: Row = {"tool": name, "number": "trace"}
    samples: list[float] = []
    while len(samples) < _MOST:
        with _clock(row):
            samples += measured.trace(maxIter=_CHUNK, tol=0.0)
        values = torch.tensor(samples, dtype=torch.float64)
        relative = float(values.std() / math.sqrt(len(values)) / values.mean().abs())
        if len(samples) >= 24 and relative <= error:
            break
    return row | {"value": float(values.mean()), "error": relative, "products": len(samples)}


def text(rows: list[Row]) -> str:
    """A table, and how much longer the faster of PyHessian's two modes takes than ours, per number and together."""
    lines = [f"{'tool':<24}{'number':<16}{'value':>11}{'error':>9}{'CPU s':>9}{'wall s':>9}  products"]
    for row in rows:
        value = "not reached" if row["value"] is None else f"{row['value']:.6g}"
        products = "-" if row["products"] is None else row["products"]
        cells = f"{row['tool']:<24}{row['number']:<16}{value:>11}{row['error']:>9.2%}"
        lines.append(f"{cells}{row['cpu_seconds']:>9.2f}{row['seconds']:>9.2f}  {products}")
        if "tolerance" in row:
            reached = (
                f"tolerance {row['tolerance']:g}; its default 0.001 leaves a residual of {row['default_error']:.1%}"
            )
            lines.append(f"    {reached}")
    for number, ratio in ratios(rows).items():
        lines.append(f"{number}: " + ", ".join(f"{value:.1f} times in {mode}" for mode, value in ratio.items()))
    return "\n".join(lines)


def ratios(rows: list[Row]) -> dict[str, dict[str, float]]:
    """{number: {mode: CPU seconds of PyHessian / ours}}, with "both" for the two numbers together."""
    result: dict[str, dict[str, float]] = {}
    for number in ("top eigenvalue", "trace", "both"):
        spent: dict[str, float] = {}
        for row in rows:
            if number in ("both", row["number"]):
                spent[row["tool"]] = spent.get(row["tool"], 0.0) + row["cpu_seconds"]
        own = spent.pop("artifact.curvature")
        result[number] = {tool.removeprefix("PyHessian, "): seconds / own for tool, seconds in spent.items()}
    return result
