"""Loss surfaces, spectra and densities of trained models, measured once from their last checkpoints.

A measurement is kept as a small text record per panel, ``<store>/figures/<paper>-<figure>-<panel>-<profile>.json``,
because checkpoints are not part of the repository. An entry of a record is valid as long as it names the key of the run
that the panel asks for. All models of a figure are measured along the same random draws, each filter scaled to the
model's own (Li et al. 2018), on the same grid and on the same kind of sample of the training data.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from artifact import curvature
from artifact.base.cache import cache
from artifact.base.files import write_atomic
from artifact.base.flat import Layout
from artifact.base.lazy import Tensor, torch
from artifact.curvature import EmpiricalRisk
from artifact.papers.figures.series import PanelAt, Stored, runs_of
from artifact.papers.folders import named
from artifact.runs.seal import believed, read_sealed, seal
from artifact.runs.store import Run
from artifact.runs.stored_model import open_target
from artifact.runs.sweep.workers import Data

#: [-1, 1] in both directions, an odd number of points so that the model itself is one of them
GRID = np.linspace(-1, 1, 17)
RADII = (0.25, 0.5, 0.75, 1.0)
ANGLES = 6
DIRECTIONS = 4
SAMPLES = 500
#: parameters up to which a Hessian product takes milliseconds
SMALL = 50_000

Entry = dict[str, Any]
_MADE: dict[tuple, Entry] = {}
#: loads the data sets below a folder and keeps the last few
_data = cache(Data)


def entries(panel: PanelAt, stored: Stored, store: Path, measure: bool, data_root: Path | None = None) -> list[Entry]:
    """One entry per model (line and seed) on record or, with ``measure``, measured now, which makes the record grow.

    data_root: folder of the data sets that models are measured on.
    Every measurement is kept as soon as it is made, so that one that is interrupted goes on.
    """
    path = store / "figures" / f"{panel.name}.json"
    known = {(e["label"], e["seed"], e["key"]): e for e in _read(path)}
    result: dict[tuple, Entry] = {}
    new = False
    for series in panel.series:
        by_seed = {run.config()["seed"]: run for run in runs_of(series, stored)}
        for config in series.configs:
            run = by_seed.get(config.seed)
            if run is None:
                continue
            name = (series.label, config.seed, run.key)
            entry = known.get(name)
            if entry is None and measure:
                entry = _new(panel, run, store, data_root, first=config.seed == series.configs[0].seed)
                if entry is not None:
                    new = True
                    entry |= {"label": series.label, "seed": config.seed, "key": run.key}
                    _save(path, panel, list((known | result | {name: entry}).values()))
            if entry is not None:
                result[name] = entry
    if new:
        _save(path, panel, list(result.values()))
    return list(result.values())


def _new(panel: PanelAt, run: Run, store: Path, data_root: Path | None, first: bool) -> Entry | None:
    """A measurement that is on record for another panel, or made now; None without a checkpoint."""
    found = _elsewhere(panel, store, run.key, first)
    if found is None and run.checkpoint_file.exists():
        found = _once(panel.panel.kind, run.folder, first, panel.panel.top.get(panel.profile, 0), data_root)
    return None if found is None else dict(found)


def _save(path: Path, panel: PanelAt, models: list[Entry]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(seal(_document(panel, models)), separators=(",", ":")) + "\n")


def _read(path: Path) -> list[Entry]:
    found = believed(lambda: read_sealed(path)) if os.path.lexists(path) else None
    return found["models"] if found else []


def _elsewhere(panel: PanelAt, store: Path, key: str, first: bool) -> Entry | None:
    """The surface of the same run on record for another panel; a panel's first seed needs the whole grid."""
    if panel.panel.kind != "landscape":
        return None
    for path in sorted((store / "figures").glob(f"*-{panel.profile}.json")):
        for entry in _read(path):
            if entry["key"] == key and "rises" in entry and ("surface" in entry or not first):
                return entry
    return None


def _document(panel: PanelAt, models: list[Entry]) -> dict[str, Any]:
    return {
        "panel": panel.id,
        "profile": panel.profile,
        "command": f"python -m fedsharp figure {named(panel.figure.paper, panel.figure.id)} --profile {panel.profile}",
        "samples": SAMPLES,
        "directions": f"{DIRECTIONS} pairs of filter-normalised draws, seeds 0 to {DIRECTIONS - 1}",
        "models": models,
    }


def _once(kind: str, folder: Path, first: bool, top: int, data_root: Path | None) -> Entry:
    """A model's measurement, made once in a process: a line may be in several panels of a figure."""
    name = (kind, folder, first, top)
    if name not in _MADE:
        _MADE[name] = _measured(kind, folder, first, top, data_root)
    return _MADE[name]


def _measured(kind: str, folder: Path, first: bool, top: int, data_root: Path | None) -> Entry:
    """Measure one model. Raises UserError as ``load`` does."""
    risk, w = load(folder, data_root)
    if kind == "spectrum":
        return _spectrum(risk, w, top)
    if kind == "density":
        return _density(risk, w)
    return _surface(risk, w, risk.layout, first)


def load(folder: Path, data_root: Path | None = None) -> tuple[EmpiricalRisk, Tensor]:
    """A run's training loss on ``SAMPLES`` images and its last server model [P].

    Raises UserError as ``sharpness.open_target`` does: also where the run was trained on other data.
    """
    target = open_target(str(folder), folder.parent, load=_data(data_root))
    return target.trainer.risk(SAMPLES), target.w


def _surface(risk: EmpiricalRisk, w: Tensor, layout: Layout, first: bool) -> Entry:
    """Rises on circles for all direction pairs; the whole surface for the first seed and pair only."""
    centre = float(risk(w))
    rises = [_rises(risk, w, _directions(layout, w, seed), centre) for seed in range(DIRECTIONS)]
    entry: dict[str, Any] = {"centre": _round(centre), "radii": list(RADII), "rises": rises}
    entry["top_eigenvalue"] = _top(risk, w)
    if first:
        values = curvature.landscape(risk, w, _directions(layout, w, 0), GRID)
        entry["surface"] = [[_round(x) for x in row] for row in values.tolist()]
    return entry


def _directions(layout: Layout, w: Tensor, seed: int) -> Tensor:
    return curvature.filter_normalised_directions(layout, w, 2, seed)


def _rises(risk: EmpiricalRisk, w: Tensor, plane: Tensor, centre: float) -> list[float | None]:
    """Mean rise of the loss over ``ANGLES`` directions of the plane, at every radius."""
    angles = torch.arange(ANGLES, dtype=w.dtype) * (2 * math.pi / ANGLES)
    circle = torch.stack([angles.cos(), angles.sin()], 1).to(w)
    return [_round(float(risk.values(w + radius * circle @ plane).mean()) - centre) for radius in RADII]


def _top(risk: EmpiricalRisk, w: Tensor) -> float | None:
    """Top eigenvalue of a small model; None for a large one, whose tables have it, and where it did not converge."""
    if len(w) > SMALL:
        return None
    value = curvature.top_eigenvalues(risk, w, 1, tol=1e-2, max_iterations=300).rows()[0]["value"]
    return None if value is None else _round(value)


def _spectrum(risk: EmpiricalRisk, w: Tensor, count: int) -> Entry:
    found = curvature.top_eigenvalues(risk, w, count, tol=1e-2, max_iterations=20 * count)
    values = [_round(x) for x in found.values.tolist()]
    return {"values": values, "unconverged": int((~found.converged).sum())}


def _density(risk: EmpiricalRisk, w: Tensor) -> Entry:
    """Density with its interval, and the two signs' shares of the trace."""
    probes, steps = (6, 60) if len(w) <= SMALL else (3, 40)
    found = curvature.spectral_density(risk, w, probes=probes, steps=steps, points=301)
    low, high = found.interval()
    parts = {
        "positive": float((found.weights * found.nodes.clamp_min(0)).sum()) * len(w),
        "negative": float((found.weights * found.nodes.clamp_max(0)).sum()) * len(w),
    }
    columns = {"grid": found.grid, "density": found.density, "low": low, "high": high}
    return {name: [_round(x) for x in column.tolist()] for name, column in columns.items()} | {
        name: _round(value) for name, value in parts.items()
    }


def _round(value: float) -> float | None:
    """Six significant digits; a loss that is not finite is None."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
