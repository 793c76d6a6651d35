"""``python docs/performance/against_pyhessian.py FOLDER MODEL``: top eigenvalue and trace by PyHessian and by ours.

PyHessian (Yao et al. 2020, https://github.com/amirgholami/PyHessian) is not part of this project; FOLDER is a clone of
it. Both tools measure a stored model in one process, at one accuracy. PyHessian states no error, so its results are
held against ours: the residual of its eigenvector is computed here, outside its time, and its tolerance is tightened
until that residual is small enough; its trace is sampled until the standard error is. Only the runs that get there are
charged. Everything is timed in CPU seconds of this process, both sides on the same samples and threads.

Nothing says that its eigenvalue is the largest. Power iteration comes with a guarantee too, if it runs long enough:
after m products with a positive definite matrix in dimension n, from a random start, the relative error e has
P(e > x) <= 0.824 sqrt(n) (1 - x)^(m - 1/2) (Kuczynski and Wozniakowski 1992, theorem 4.1). The cost of this at our risk
is stated from the seconds that one of its products took.
"""

from __future__ import annotations

import copy
import importlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import checkout  # noqa: F401
import click
import torch
from torch import Tensor

from artifact import curvature
from artifact.base.console import OneLine
from artifact.base.errors import UserError
from artifact.base.memory import peak_memory
from artifact.base.options import DATA_ROOT, Place
from artifact.curvature import EmpiricalRisk
from artifact.curvature.probe import RISK
from artifact.runs.stored_model import open_target

#: its tolerances, from the default downwards; each compares two successive eigenvalues
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
_CHUNK = 8
_MOST = 1000
_POSITIVE = click.FloatRange(0, min_open=True)

Row = dict[str, Any]


@contextmanager
def _imported(path: Path) -> Iterator[Any]:
    """PyHessian's class from a folder; the import path is restored. Raises UserError when it is not there."""
    sys.path.insert(0, str(path))
    try:
        yield importlib.import_module("pyhessian").hessian
    except ImportError as error:
        raise UserError("folder", str(path), f"a folder with PyHessian's package ({error})") from None
    finally:
        sys.path.remove(str(path))
        for name in [name for name in sys.modules if name.partition(".")[0] == "pyhessian"]:
            del sys.modules[name]  # another folder may hold another version


@contextmanager
def _counted(tool: Any) -> Iterator[list[int]]:
    """Counts PyHessian's Hessian products, of both of its modes, in the list that comes back."""
    module, count = sys.modules[tool.__module__], [0]
    kept = {(module, "hessian_vector_product"): module.hessian_vector_product}
    kept[tool, "dataloader_hv_product"] = tool.dataloader_hv_product

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            count[0] += 1
            return function(*given)

        return counted

    for (owner, name), function in kept.items():
        setattr(owner, name, counting(function))
    try:
        yield count
    finally:
        for (owner, name), function in kept.items():
            setattr(owner, name, function)


@contextmanager
def _clock(row: Row) -> Iterator[None]:
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    row["cpu_seconds"] = row.get("cpu_seconds", 0.0) + time.process_time() - cpu
    row["seconds"] = row.get("seconds", 0.0) + time.perf_counter() - wall
    row["peak_memory_bytes"] = peak_memory()


def compare(
    risk: EmpiricalRisk, w: Tensor, path: Path, k: int = 1, tol: float = 1e-2, error: float = 0.02
) -> list[Row]:
    """One row per tool and number {tool, number, value, error, cpu_seconds, seconds, products, peak_memory_bytes}.

    Errors are relative; the memory is the process's peak up to then, so that ours, which goes first, counts nothing of
    theirs.

    k: eigenpairs that ours computes for the trace's sake.  tol, error: what has to be reached. Ours is charged with
    its certificate (fresh residual and search of the complement), which PyHessian does not have.
    """
    with _imported(path) as tool:
        rows = _ours(risk, w, k, tol, error)
        for mode in ("batches", "one batch"):
            state = torch.random.get_rng_state()
            torch.manual_seed(0)  # PyHessian draws from the global generator
            try:
                with _counted(tool) as count:
                    rows += _theirs(tool, mode, risk, w, tol, error, count)
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


def _theirs(
    tool: Any, mode: str, risk: EmpiricalRisk, w: Tensor, tol: float, error: float, count: list[int]
) -> list[Row]:
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
    return [_eigenvalue(measured, name, risk, w, tol, setup, count), _trace(measured, name, error)]


def _eigenvalue(
    measured: Any, name: str, risk: EmpiricalRisk, w: Tensor, tol: float, setup: Row, count: list[int]
) -> Row:
    """The first run of its power iteration whose vector has the residual asked for, and what its default gave."""
    default = math.nan
    for tolerance in TOLERANCES:
        row: Row = {"tool": name, "number": "top eigenvalue"}
        count[0] = 0
        with _clock(row):
            values, vectors = measured.eigenvalues(maxIter=1000, tol=tolerance)
        v = torch.cat([part.reshape(-1) for part in vectors[0]])
        product = risk.hvp(w, v)
        residual = float((product - (v @ product) * v).norm() / (v @ product).abs())
        default = residual if tolerance == TOLERANCES[0] else default
        if residual <= tol:
            break
    row |= {"value": values[0], "error": residual, "products": count[0]}
    row |= {"tolerance": tolerance, "default_error": default, "guarantee_products": guarantee(len(w), tol)}
    row["guarantee_cpu_seconds"] = row["guarantee_products"] * row["cpu_seconds"] / count[0]
    return row | {part: row[part] + setup[part] for part in ("cpu_seconds", "seconds")}


def guarantee(size: int, tol: float) -> int:
    """Products after which power iteration is within ``tol`` of the largest eigenvalue, at the risk that ours takes."""
    return math.ceil(0.5 + math.log(0.824 * math.sqrt(size) / RISK) / -math.log1p(-tol))


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
    """A table, and how much longer PyHessian's two modes take than ours, per number and together."""
    head = (
        f"{'tool':<24}{'number':<16}{'value':>11}{'error':>9}{'products':>10}{'CPU s':>9}{'wall s':>9}{'peak MiB':>10}"
    )
    lines = [head]
    for row in rows:
        value = "not reached" if row["value"] is None else f"{row['value']:.6g}"
        cells = f"{row['tool']:<24}{row['number']:<16}{value:>11}{row['error']:>9.2%}{row['products']:>10}"
        spent = f"{row['cpu_seconds']:>9.2f}{row['seconds']:>9.2f}{row['peak_memory_bytes'] / 2**20:>10.0f}"
        lines.append(cells + spent)
        if "tolerance" in row:
            left = f"its default 0.001 leaves a residual of {row['default_error']:.2%}"
            cost = f"{row['guarantee_products']} products, about {row['guarantee_cpu_seconds']:.0f} CPU s"
            lines.append(f"    not certified; tolerance {row['tolerance']:g}, {left}; a guarantee as ours: {cost}")
    for number, ratio in ratios(rows).items():
        lines.append(f"{number}: " + ", ".join(f"{value:.1f} times in {mode}" for mode, value in ratio.items()))
    return "\n".join(lines)


def ratios(rows: list[Row]) -> dict[str, dict[str, float]]:
    """{number: {mode: CPU seconds of PyHessian / ours}}.

    "both": the two numbers together; "one product": of the trace; "certified top eigenvalue": if its power iteration
    ran until it is known to be right.
    """
    own, theirs = rows[:2], [rows[i : i + 2] for i in range(2, len(rows), 2)]

    def ratio(spent: Callable[[list[Row]], float], of_ours: Callable[[list[Row]], float] | None = None) -> dict:
        base = (of_ours or spent)(own)
        return {pair[0]["tool"].removeprefix("PyHessian, "): spent(pair) / base for pair in theirs}

    return {
        "top eigenvalue": ratio(lambda pair: pair[0]["cpu_seconds"]),
        "certified top eigenvalue": ratio(
            lambda pair: pair[0]["guarantee_cpu_seconds"], lambda pair: pair[0]["cpu_seconds"]
        ),
        "trace": ratio(lambda pair: pair[1]["cpu_seconds"]),
        "both": ratio(lambda pair: pair[0]["cpu_seconds"] + pair[1]["cpu_seconds"]),
        "one product": ratio(lambda pair: pair[1]["cpu_seconds"] / pair[1]["products"]),
    }


@click.command(cls=OneLine)
@click.argument("folder", type=Place())
@click.argument("model", metavar="CHECKPOINT_OR_RUN")
@click.option("--out", "store", type=Place(), default=Path("results"), show_default=True, help="Store of the runs.")
@click.option("--data-size", type=click.IntRange(1), help="Number of training samples, a fixed subset; default all.")
@click.option(
    "--k", type=click.IntRange(1), default=1, show_default=True, help="Eigenvectors that our trace takes out."
)
@click.option("--tol", type=_POSITIVE, default=1e-2, show_default=True, help="Relative residual of the eigenvalue.")
@click.option("--error", type=_POSITIVE, default=0.02, show_default=True, help="Relative standard error of the trace.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32", show_default=True)
@DATA_ROOT
def main(
    folder: Path,
    model: str,
    store: Path,
    data_size: int | None,
    k: int,
    tol: float,
    error: float,
    dtype: str,
    data_root: Path | None,
) -> None:
    """Top eigenvalue and trace of a stored model by PyHessian, whose clone is FOLDER, and by this project."""
    target = open_target(model, store, data_root)
    risk = target.trainer.risk(data_size)
    rows = compare(risk, target.w.to(getattr(torch, dtype)), folder, k, tol, error)
    click.echo(f"{target.describe()}, {len(risk)} samples, {dtype}\n{text(rows)}")


if __name__ == "__main__":
    main(prog_name="python docs/performance/against_pyhessian.py")
