"""``fedsharp landscape``: loss surfaces of stored models on the same axes and one colour scale."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from artifact import curvature
from artifact.base.errors import UserError
from artifact.base.files import require_writable, write_atomic
from artifact.base.lazy import Tensor, torch
from artifact.base.options import ADD_ONLY, AS_JSON, DATA_ROOT, POSITIVE, RUNS, Place
from artifact.base.plots import save
from artifact.curvature import EmpiricalRisk, figures
from artifact.runs.measure_sharpness import files_options
from artifact.runs.own_network import MODEL, PARAMETERS, risk_of_file
from artifact.runs.store import dumps
from artifact.runs.stored_model import Target, open_target

DIRECTIONS = {
    "filter": "one random draw for all models, every filter scaled to the length of the model's own (Li et al. 2018)",
    "orthogonal": "one pair of random orthonormal vectors for all models, without regard to layers",
    "eigenvectors": "every model's own top Hessian eigenvectors, converged to a relative residual of 1%",
}
_AXES = {"filter": "random direction", "orthogonal": "random unit vector", "eigenvectors": "top eigenvector"}


@dataclass(frozen=True)
class Plan:
    """Where a loss surface is evaluated.

    directions: of ``DIRECTIONS``.  axes: 1 or 2.  points, reach: of the grid [-reach, reach].  seed: of draws.
    """

    directions: str = "filter"
    axes: int = 2
    points: int = 21
    reach: float = 1.0
    seed: int = 0

    @property
    def grid(self) -> Tensor:
        """Distances along a direction, [points]; an odd number, so that one of them is the model itself."""
        return torch.linspace(-self.reach, self.reach, self.points, dtype=torch.float64)

    def rows(self, risk: EmpiricalRisk, w: Tensor) -> Tensor:
        """Directions of the surface, [axes, P]. Raises UserError for eigenvectors that did not converge."""
        if self.directions == "filter":
            return curvature.filter_normalised_directions(risk.layout, w, self.axes, self.seed)
        if self.directions == "orthogonal":
            return curvature.orthogonal_directions(w, self.axes, self.seed)
        return curvature.eigenvector_directions(risk, w, self.axes, tol=1e-2, seed=self.seed)


def surface(risk: EmpiricalRisk, w: Tensor, plan: Plan) -> Tensor:
    """The loss on the plan's grid around w [P]: [points], or [points, points] for two axes."""
    return curvature.landscape(risk, w, plan.rows(risk, w), plan.grid)


def summary(values: Tensor, plan: Plan) -> dict[str, float | None]:
    """How much the loss rises around the model, in three numbers.

    loss: at the model.  rise_half, rise: mean rise of the loss at half of the reach and at the reach.

    Of a plane the grid points within half a step of the circle count, of a line its two points. None where the loss is
    not finite.
    """
    grid, middle = plan.grid, plan.points // 2
    distance = grid.abs() if plan.axes == 1 else torch.hypot(grid[:, None], grid[None])
    centre = float(values[(middle,) * plan.axes])
    step = 2 * plan.reach / (plan.points - 1)
    rises = {}
    for name, radius in (("rise_half", plan.reach / 2), ("rise", plan.reach)):
        ring = values[(distance - radius).abs() <= step / 2].double()
        rises[name] = _finite(float(ring.mean()) - centre)
    return {"loss": _finite(centre)} | rises


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def draw(surfaces: dict[str, Tensor], plan: Plan, folder: Path, stem: str, ceiling: float | None) -> list[Path]:
    """Contours and surfaces in space of planes, profiles of lines; each as PNG and PDF, with the rise in its title."""
    axis = _AXES[plan.directions]
    surfaces = {f"{name}\n{_numbers(summary(values, plan), plan)}": values for name, values in surfaces.items()}
    if plan.axes == 1:
        drawn = {"profile": figures.profiles(surfaces, plan.grid, axis)}
    else:
        labels, grid = (f"{axis} 1", f"{axis} 2"), (plan.grid, plan.grid)
        drawn = {
            "contour": figures.contours(surfaces, grid, labels, ceiling),
            "surface": figures.surfaces_3d(surfaces, grid, labels, ceiling),
        }
    return [path for kind, figure in drawn.items() for path in save(figure, folder, f"{stem}-{kind}")]


def _labels(targets: Sequence[Target], given: Sequence[str]) -> list[str]:
    """One name per model: the ones given, or what tells the runs apart."""
    if given:
        if len(given) != len(targets):
            raise UserError("label", list(given), f"{len(targets)} labels, one per model")
        names = list(given)
    else:
        names = [f"{t.trainer.config.algorithm} {t.trainer.config.split} seed {t.trainer.config.seed}" for t in targets]
    if len(set(names)) < len(names):
        names = [f"{name} ({target.name})" for name, target in zip(names, targets, strict=True)]
    if len(set(names)) < len(names):
        raise UserError("run", [target.name for target in targets], "every model once, or a label of its own for each")
    return names


@click.command("landscape", help="Draw loss surfaces of runs or of any network along shared directions.")
@click.argument("references", metavar="RUN", nargs=-1)
@MODEL
@PARAMETERS
@RUNS
@click.option(
    "--directions",
    type=click.Choice(list(DIRECTIONS)),
    default="filter",
    help="Random ones scaled filter by filter, random orthogonal ones, or eigenvectors of the Hessian.",
)
@click.option("--axes", type=click.Choice(["1", "2"]), default="2", help="A line or a plane.")
@click.option("--points", type=click.IntRange(3), default=21, help="Grid points per axis, an odd number.")
@click.option("--reach", type=POSITIVE, default=1.0, help="The grid goes from -reach to reach.")
@click.option("--data-size", type=click.IntRange(1), default=1000, help="Training samples, a fixed random subset.")
@click.option("--ceiling", type=POSITIVE, help="Loss of the top colour; default the lowest of the panels' maxima.")
@click.option("--label", multiple=True, help="Name of a model, in order.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the random directions.")
@click.option("--folder", type=Place(), default=Path("out/landscapes"), help="Folder of figures.")
@click.option("--name", help="Stem of the files; default made of the directions and the models.")
@DATA_ROOT
@ADD_ONLY
@AS_JSON
def landscape_command(
    references: Sequence[str],
    files: Sequence[Path],
    parameters: str,
    store: Path,
    directions: str,
    axes: str,
    points: int,
    reach: float,
    data_size: int,
    ceiling: float | None,
    label: Sequence[str],
    seed: int,
    folder: Path,
    name: str | None,
    data_root: Path | None,
    as_json: bool,
) -> None:
    """See the module."""
    if points % 2 == 0:
        raise UserError("points", points, "an odd number, so that the model itself is on the grid")
    if name is not None and Path(name).name != name:
        raise UserError("name", name, "the stem of a file name; --folder names the folder")
    plan = Plan(directions, int(axes), points, reach, seed)
    if not (references or files):
        raise UserError("run", "nothing", "run folders, run keys, checkpoints, or --model FILE.py")
    targets = [open_target(reference, store, data_root) for reference in references]
    kinds = [target.trainer.config.model for target in targets] + [str(file) for file in files]
    if len(set(kinds)) > 1:
        raise UserError("run", kinds, "models of one architecture, to share axes")
    stored = len(targets)
    labels, surfaces, models = _labels(targets, label[:stored] if files else label), {}, []
    labels += list(label[stored:]) or [file.stem for file in files] if files else []
    if len(labels) != stored + len(files):
        raise UserError("label", list(label), f"{stored + len(files)} labels, one per model")
    require_writable(folder, "folder")
    opened: list[Callable[[], tuple[str, str, EmpiricalRisk, Tensor]]] = [
        partial(_of_target, target, data_size) for target in targets
    ]
    opened += [partial(_of_file, file, parameters, data_size) for file in files]
    for each, shown in zip(opened, labels, strict=True):
        start = time.perf_counter()
        key, described, risk, w = each()
        surfaces[shown] = surface(risk, w, plan)
        row = {"label": shown, "key": key, "describe": described} | summary(surfaces[shown], plan)
        models.append(row | {"values": surfaces[shown].tolist(), "seconds": time.perf_counter() - start})
        if not as_json:
            click.echo(f"{shown}: {_numbers(row, plan)}")
    named = [directions, axes + "d", *(target.name for target in targets), *(file.stem for file in files)]
    stem = name or "-".join(named)[:100].replace("/", "-")
    document = {
        "directions": DIRECTIONS[directions],
        "seed": seed,
        "grid": plan.grid.tolist(),
        "data": data_size,
        "models": models,
        "command": _command(references, _files(store, targets, files, parameters), plan, data_size, ceiling, label),
    }
    write_atomic(folder / f"{stem}.json", dumps(document) + "\n")
    files = [folder / f"{stem}.json", *draw(surfaces, plan, folder, stem, ceiling)]
    click.echo(dumps(document) if as_json else "\n".join(map(str, files)))


def _of_target(target: Target, data_size: int) -> tuple[str, str, EmpiricalRisk, Tensor]:
    return target.name, target.describe(), target.trainer.risk(data_size), target.w


def _of_file(file: Path, parameters: str, data_size: int) -> tuple[str, str, EmpiricalRisk, Tensor]:
    risk = risk_of_file(file, parameters, data_size)
    return file.stem, f"{file}, {risk.measured}", risk, risk.weights


def _files(store: Path, targets: Sequence[Target], files: Sequence[Path], parameters: str) -> list[str]:
    """Words of a command line that name files of a user's own."""
    words = [word for file in files for word in ("--model", str(file))]
    words += ["--parameters", parameters] if files and parameters != "trainable" else []
    return [*words, *files_options(store, targets)]


def _command(
    references: Sequence[str],
    files: Sequence[str],
    plan: Plan,
    data_size: int,
    ceiling: float | None,
    label: Sequence[str],
) -> str:
    """The command line that makes the same surfaces and figures again."""
    words = ["python", "-m", "artifact", "landscape", *references, *files]
    for option, value in [*vars(plan).items(), ("data-size", data_size), ("ceiling", ceiling)]:
        words += [] if value is None else [f"--{option}", str(value)]
    return shlex.join([*words, *(word for name in label for word in ("--label", name))])


def _numbers(found: dict[str, Any], plan: Plan) -> str:
    half, full = ("undefined" if found[n] is None else f"{found[n]:.4g}" for n in ("rise_half", "rise"))
    loss = "undefined" if found["loss"] is None else f"{found['loss']:.4g}"
    return f"loss {loss}, mean rise {half} at {plan.reach / 2:g}, {full} at {plan.reach:g}"
