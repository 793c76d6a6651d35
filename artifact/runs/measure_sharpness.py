"""``fedsharp sharpness``: the curvature of stored models, every number with its error, seconds and memory."""

from __future__ import annotations

import dataclasses
import math
import os
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from artifact import curvature
from artifact.base.errors import UserError
from artifact.base.lazy import Tensor, torch
from artifact.base.memory import peak_memory
from artifact.base.options import ADD_ONLY, AS_JSON, DATA_ROOT, POSITIVE, RUNS
from artifact.curvature import EigenResult, EmpiricalRisk
from artifact.runs.archive import finished
from artifact.runs.own_network import FIGURE, MODEL, PARAMETERS, require_picture, risk_of_file, save_picture
from artifact.runs.store import CURVATURE, dumps
from artifact.runs.stored_model import Target, find, open_target
from artifact.training.config import RunConfig

#: what can be measured, in the order in which it is; the trace uses the eigenvectors of ``top`` where it has them
PARTS = ("top", "negative", "trace", "density", "layers", "sam")


@dataclass(frozen=True)
class Options:
    """What is measured, and how well.

    k: top eigenvalues.  tol: relative residual.  samples: sign vectors of the trace, at most.  error: relative standard
    error at which the trace stops.  probes: random starts of the density.  rho: radius of the SAM sharpness.  m: group
    size of the m-sharpness.  memory: bytes for one pass over the data, and twice that for graphs that are kept.
    """

    parts: tuple[str, ...] = PARTS
    k: int = 10
    tol: float = 1e-2
    samples: int = 200
    error: float = 0.02
    probes: int = 5
    rho: float = 0.1
    m: int = 100
    memory: int = 1 << 30
    seed: int = 0


@dataclass
class Measurement:
    """Results of one model, filled part by part.

    seconds: per part.  memory: the process's peak in bytes.  parameters: which of the network's, in words.
    """

    loss: float
    samples: int
    dtype: str
    found: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    memory: int = 0
    parameters: str = ""
    eigen: EigenResult | None = None

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[part] = time.perf_counter() - start
        self.memory = max(self.memory, peak_memory())

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        head = {"loss": self.loss, "data": self.samples, "dtype": self.dtype, "parameters": self.parameters}
        return head | self.found | {"seconds": self.seconds, "peak_memory_bytes": self.memory}


def measure(risk: EmpiricalRisk, w: Tensor, options: Options | None = None) -> Measurement:
    """All parts that the options name, of a risk at w [P]. Raises UserError as ``artifact.curvature`` does."""
    options = options or Options()
    result = Measurement(float(risk(w)), len(risk), str(w.dtype).removeprefix("torch."), parameters=risk.measured)
    for part in PARTS:
        if part in options.parts:
            with result.timed(part):
                result.found[part] = _MEASURES[part](risk, w, options, result)
    return result


def _eigen(found: EigenResult) -> dict[str, Any]:
    return {"values": found.rows(), "iterations": found.iterations, "products": found.products}


def _top(risk: EmpiricalRisk, w: Tensor, o: Options, result: Measurement) -> dict[str, Any]:
    result.eigen = curvature.top_eigenvalues(risk, w, min(o.k, len(w)), tol=o.tol, seed=o.seed, keep_space=True)
    return _eigen(result.eigen)


def _negative(risk: EmpiricalRisk, w: Tensor, o: Options, _: Measurement) -> dict[str, Any]:
    return _eigen(curvature.top_eigenvalues(risk, w, 1, which="SA", tol=o.tol, seed=o.seed))


def _trace(risk: EmpiricalRisk, w: Tensor, o: Options, result: Measurement) -> dict[str, Any]:
    found = curvature.trace(risk, w, o.samples, o.seed, deflate=result.eigen, relative_error=o.error)
    low, high = found.interval()
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "samples": len(found.samples),
        "interval95": [low, high],
        "reached": found.standard_error <= o.error * abs(found.value),
    }


def _density(risk: EmpiricalRisk, w: Tensor, o: Options, _: Measurement) -> dict[str, Any]:
    found = curvature.spectral_density(risk, w, probes=o.probes, steps=min(60, len(w)), points=200, seed=o.seed)
    return {
        "grid": found.grid.tolist(),
        "density": found.density.tolist(),
        "standard_error": found.standard_error.tolist(),
        "sigma": found.sigma,
        "negative_mass": float(found.weights[found.nodes < -found.sigma].sum()),
    }


def _layers(risk: EmpiricalRisk, w: Tensor, o: Options, _: Measurement) -> list[dict[str, Any]]:
    return [
        {
            "layer": layer.name,
            "parameters": layer.slice.stop - layer.slice.start,
            "top": layer.top.rows()[0],
            "squared_norm": layer.squared_norm,
            "mean_square": layer.squared_norm / layer.units,
            "ratio": None if math.isnan(layer.ratio) else layer.ratio,
        }
        for layer in curvature.layer_curvature(risk, w, tol=o.tol, seed=o.seed)
    ]


def _sam(risk: EmpiricalRisk, w: Tensor, o: Options, _: Measurement) -> dict[str, Any]:
    one_step = curvature.sam_sharpness(risk, w, o.rho).value
    if not math.isfinite(one_step):
        raise UserError("rho", o.rho, "a radius at which the loss is still a finite number")
    ascent = curvature.sam_sharpness(risk, w, o.rho, exact=True, restarts=1, steps=20, tol=1e-3, seed=o.seed)
    groups = curvature.m_sharpness(risk, w, o.rho, min(o.m, len(risk)), groups=20, seed=o.seed)
    return {
        "rho": o.rho,
        "one_step": one_step,
        "ascent": ascent.value,
        "m": min(o.m, len(risk)),
        "m_sharpness": float(groups.mean()),
        "m_standard_error": float(groups.std() / math.sqrt(len(groups))) if len(groups) > 1 else None,
        "groups": len(groups),
    }


_MEASURES: dict[str, Callable] = {
    "top": _top,
    "negative": _negative,
    "trace": _trace,
    "density": _density,
    "layers": _layers,
    "sam": _sam,
}


# ---- text ------------------------------------------------------------------------------------------------------------


def text(measured: Measurement) -> str:
    """For people: one block per part; of a number that did not converge only the interval is shown."""
    head = f"loss {measured.loss:.6g} on {measured.samples} training samples, {measured.dtype}"
    lines = [f"{head}, {measured.parameters}" if measured.parameters else head]
    for part, found in measured.found.items():
        lines.append(f"{part} ({measured.seconds[part]:.1f} s)")
        lines += ["  " + line for line in _TEXTS[part](found)]
    return "\n".join([*lines, f"peak memory {measured.memory / 2**20:.0f} MiB"])


def _eigen_text(found: dict[str, Any]) -> list[str]:
    rows = [_row_text(row) for row in found["values"]]
    return [*rows, f"{found['products']} Hessian products, {found['iterations']} of them by the solver"]


def _row_text(row: dict[str, Any]) -> str:
    if row["converged"]:
        return f"{row['value']:.6g}  residual {row['residual']:.2g}"
    return "not converged; an eigenvalue lies in [{:.6g}, {:.6g}]".format(*row["interval"])


def _trace_text(found: dict[str, Any]) -> list[str]:
    low, high = found["interval95"]
    note = "" if found["reached"] else "; the asked-for error was not reached: more --samples"
    value, error = found["value"], found["standard_error"]
    interval = f"95% interval [{low:.6g}, {high:.6g}]"
    return [f"{value:.6g}  standard error {error:.2g}, {interval}, {found['samples']} samples{note}"]


def _density_text(found: dict[str, Any]) -> list[str]:
    low, high = found["grid"][0], found["grid"][-1]
    negative = f"share below minus one width {found['negative_mass']:.3g}"
    return [f"on [{low:.4g}, {high:.4g}], width {found['sigma']:.2g}; {negative}"]


def _layers_text(found: list[dict[str, Any]]) -> list[str]:
    return [
        f"{row['layer']:<20} top {_row_text(row['top'])}; mean |input|^2 {row['squared_norm']:.4g}"
        + ("" if row["ratio"] is None else f", ratio {row['ratio']:.4g}")
        for row in found
    ]


def _sam_text(found: dict[str, Any]) -> list[str]:
    return [
        f"rho {found['rho']:g}: one step {found['one_step']:.6g}, ascent at least {found['ascent']:.6g}",
        f"m-sharpness, m = {found['m']}: {found['m_sharpness']:.6g} over {found['groups']} groups",
    ]


_TEXTS: dict[str, Callable] = {
    "top": _eigen_text,
    "negative": _eigen_text,
    "trace": _trace_text,
    "density": _density_text,
    "layers": _layers_text,
    "sam": _sam_text,
}


# ---- figures ---------------------------------------------------------------------------------------------------------


def figure(measured: Measurement) -> Any:
    """The density of the eigenvalues on a logarithmic axis, with those that were found one by one as ticks below.

    Raises UserError where neither was measured.
    """
    density, top = measured.found.get("density"), measured.found.get("top")
    if density is None and top is None:
        raise UserError("parts", ",".join(measured.found), "top or density among them, to be drawn")
    values = [row["value"] for part in ("top", "negative") for row in measured.found.get(part, {}).get("values", ())]
    return curvature.figures.spectrum(density, [value for value in values if value is not None])


# ---- records ---------------------------------------------------------------------------------------------------------


def record(target: Target, measured: Measurement, data_size: int | None, options: Options) -> Path:
    """Stores top eigenvalue and trace beside a finished run, whole or not at all.

    data_size, options: as it was measured, for the command line that does so again.

    Of a top eigenvalue that did not converge only the interval is stored, under a name of its own.

    Raises UserError for a lone checkpoint, a run that is not finished, and without both parts.
    """
    if target.run is None or not target.run.done:
        raise UserError("record", target.name, "a finished run in a store")
    _require_recordable(measured.found)
    top = measured.found["top"]["values"][0]
    row = {name: top[name] for name in ("value", "residual", "converged")}
    row |= {"iterations": measured.found["top"]["iterations"]}
    content = {"top_eigenvalue": row} if top["converged"] else {"top_eigenvalue_within": top["interval"]}
    content |= {
        "trace": {name: measured.found["trace"][name] for name in ("value", "standard_error", "samples")},
        "data": measured.samples,
        "dtype": measured.dtype,
        "loss": measured.loss,
        "round": target.trainer.completed,
        "command": command_line(target, data_size, measured.dtype, options),
        "seconds": sum(measured.seconds.values()),
    }
    target.run.record_curvature(content)
    return target.run.folder / CURVATURE


def _require_recordable(parts: Collection[str]) -> None:
    if not {"top", "trace"} <= set(parts):
        raise UserError("parts", ",".join(parts), "top,trace among them, to be recorded")


def matching(store: Path, conditions: Sequence[str]) -> list[str]:
    """Keys of the finished runs with a checkpoint whose config has all ``FIELD=VALUE``; else UserError."""
    wanted = []
    for condition in conditions:
        name, equals, value = condition.partition("=")
        if not equals or name not in RunConfig.model_fields:
            raise UserError("where", condition, f"FIELD=VALUE with a field among {', '.join(RunConfig.model_fields)}")
        wanted.append((name, value))
    alike = [run for run in finished(store) if all(_written(run.config().get(name)) == value for name, value in wanted)]
    found = [run.key for run in alike if run.checkpoint_file.exists()]
    if not found:
        lost = f", with its checkpoint: {len(alike)} of them have none" if alike else ""
        raise UserError("where", " ".join(conditions), f"conditions that a finished run in {store} meets{lost}")
    return found


def _written(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---- command ---------------------------------------------------------------------------------------------------------


@click.command("sharpness", help="Measure eigenvalues, trace, density and sharpness, of a run or of any network.")
@click.argument("references", metavar="CHECKPOINT_OR_RUN", nargs=-1)
@click.option("--where", multiple=True, metavar="FIELD=VALUE", help="All finished runs of the store with this value.")
@RUNS
@click.option("--parts", default=",".join(PARTS), help="What to measure.")
@click.option("--k", type=click.IntRange(1), default=10, help="Number of top eigenvalues.")
@click.option("--tol", type=POSITIVE, default=1e-2, help="Relative residual of an eigenvalue.")
@click.option("--samples", type=click.IntRange(2), default=200, help="Sign vectors of the trace, at most.")
@click.option("--error", type=POSITIVE, default=0.02, help="Relative standard error where the trace stops.")
@click.option("--data-size", type=click.IntRange(1), help="Training samples, a fixed random subset; default all.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32", help="Type of the numbers.")
@click.option("--rho", type=POSITIVE, default=0.1, help="Radius of the SAM sharpness.")
@click.option("--m", type=click.IntRange(1), default=100, help="Group size of the m-sharpness.")
@click.option("--memory", type=click.IntRange(1), default=1024, help="MiB for one pass over the data.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the random vectors.")
@DATA_ROOT
@click.option(
    "--record", "keep", is_flag=True, help="Store top eigenvalue and trace beside the run; skips what is there."
)
@MODEL
@PARAMETERS
@FIGURE
@ADD_ONLY
@AS_JSON
def sharpness_command(
    references: Sequence[str],
    where: Sequence[str],
    files: Sequence[Path],
    parameters: str,
    picture: Path | None,
    store: Path,
    data_root: Path | None,
    data_size: int | None,
    dtype: str,
    keep: bool,
    as_json: bool,
    memory: int,
    parts: str,
    **given: Any,
) -> None:
    """See the module."""
    chosen = _options(parts, memory, given)
    if keep:
        _require_recordable(chosen.parts)
    require_picture(picture)
    references = [*references, *(matching(store, where) if where else ())]
    if not (references or files):
        allowed = "run folders, run keys, checkpoints, --where FIELD=VALUE, or --model FILE.py"
        raise UserError("checkpoint", "nothing", allowed)
    if keep and files:
        raise UserError("record", str(files[0]), "a finished run in a store")
    results, last = [], None

    def show(name: str, measured: Measurement) -> None:
        results.append({"model": name} | measured.plain())
        if not as_json:
            click.echo(name + "\n" + text(measured))

    for reference in references:
        if keep and (run := find(reference, store)[1]) is not None and run.curvature():
            click.echo(f"{run.key}: recorded before", err=True)
            continue
        target = open_target(reference, store, data_root)
        risk = target.trainer.risk(data_size)
        risk.memory = chosen.memory
        w = target.w.to(getattr(torch, dtype))
        last = measure(risk, w, chosen)
        if keep:
            record(target, last, data_size, chosen)
        show(target.describe(), last)
    for file in files:
        risk = risk_of_file(file, parameters, data_size)
        risk.memory = chosen.memory
        last = measure(risk, risk.weights.to(getattr(torch, dtype)), chosen)
        show(str(file), last)
    if as_json:
        click.echo(dumps(results))
    if last is not None:
        found = last
        save_picture(picture, lambda: figure(found))


def _options(parts: str, memory: int, given: dict[str, Any]) -> Options:
    chosen = tuple(part.strip() for part in parts.split(",") if part.strip())
    unknown = [part for part in chosen if part not in PARTS]
    if unknown or not chosen:
        raise UserError("parts", parts, ", ".join(PARTS))
    return Options(parts=chosen, memory=memory << 20, **given)


def files_options(store: Path, targets: Sequence[Target]) -> list[str]:
    """Words of a command line that name the files with methods of one's own, and the store if not the default one."""
    added = dict.fromkeys(file for target in targets for file in target.trainer.config.added)
    place = os.path.relpath(store)  # seen from here
    words = [word for file in added for word in ("--add", file)]
    return words if place == "results" else [*words, "--out", place]


def command_line(target: Target, data_size: int | None, dtype: str, options: Options) -> str:
    """The command line that measures a run's model again in the same way."""
    default = dataclasses.asdict(Options())
    assert target.run is not None  # a checkpoint alone is not recorded
    words = ["python -m fedsharp sharpness", target.name, *files_options(target.run.folder.parent, [target])]
    words += ["--parts", ",".join(options.parts), "--dtype", dtype]
    words += ["--data-size", str(data_size)] if data_size else []
    for name in ("k", "tol", "samples", "error", "rho", "m", "seed"):
        if getattr(options, name) != default[name]:
            words += [f"--{name}", str(getattr(options, name))]
    return " ".join(words[:1] + [shlex.quote(word) for word in words[1:]])


@click.command("density", help="Draw the spectral density of the Hessian, of a run or of any network.")
@click.argument("references", metavar="CHECKPOINT_OR_RUN", nargs=-1)
@RUNS
@MODEL
@PARAMETERS
@click.option("--data-size", type=click.IntRange(1), help="Training samples, a fixed random subset; default all.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32", help="Type of the numbers.")
@click.option("--probes", type=click.IntRange(2), default=5, help="Random starts.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the random vectors.")
@FIGURE
@DATA_ROOT
@ADD_ONLY
@AS_JSON
@click.pass_context
def density_command(ctx: click.Context, /, probes: int, **given: Any) -> None:
    """``sharpness`` of the part ``density`` and the three largest eigenvalues."""
    options = {"where": (), "keep": False, "memory": 1024, "parts": "top,density", "k": 3, "tol": 1e-2}
    options |= {"samples": 200, "error": 0.02, "rho": 0.1, "m": 100, "probes": probes}
    ctx.invoke(sharpness_command, **options, **given)
