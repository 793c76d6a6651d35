"""Stored runs as two data frames: a row a run, and a row a round. A question to the runs is a query.

Loose folders and the archive of a store look alike here. A run whose record was changed is named in a line and left
out, as everywhere.

    >>> runs = fedsharp.stored_runs()  # doctest: +SKIP
    >>> runs.group_by("algorithm").agg(pl.col("server.accuracy").mean())  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artifact.base.errors import UserError
from artifact.runs import columns
from artifact.runs.archive import Archived, Shelf, finished_runs_of, record_of
from artifact.runs.schema import EVALUATED
from artifact.runs.seal import believed
from artifact.runs.store import tail_mean
from artifact.training.config import RunConfig

if TYPE_CHECKING:
    import polars

#: numbers of a tested model
TESTED = ("accuracy", "loss", "client_mean", "client_min", "client_sd")
#: settings that two runs share of which one is held against the other: all but the method and what it is asked for
ALIKE = [
    name
    for name in RunConfig.model_fields
    if name not in ("algorithm", "variant", "source", "switches", "hyper", "evaluate", "probes", "device", "backend")
]
#: columns of a run that serve its seal alone
SEALS = ("seal", "curvature.seal", "other", *columns.DIGESTS.values())


def stored_runs(store: str | os.PathLike[str] = "results") -> polars.DataFrame:
    """All finished runs of a store, a row each: settings, final numbers, costs, seconds and flatness.

    Settings have the names that ``run --help`` prints, hyper-parameters ``hyper.rho`` and so on; what a run does not
    have is null. Final numbers are those that tables show: ``server.accuracy`` is the mean over the last ten
    evaluations of the server's model, a share between 0 and 1, and ``server.accuracy.last`` the last one; the other
    evaluated models are ``active``, ``all`` and ``train``. ``diverged`` runs keep what they reached before.
    ``sent`` counts 1e9 parameters that crossed the line in both directions, ``seconds`` the whole run,
    ``curvature.top_eigenvalue.value`` the largest Hessian eigenvalue of the last model where it was measured.

    store: folder of the runs.
    Raises UserError for a folder that is not there.

        runs = fedsharp.stored_runs()
        fedsam = runs.filter(pl.col("algorithm") == "fedsam", pl.col("dataset") == "fashion-mnist")
    """
    pl = columns.library()
    frame = _stacked([_of_runs(place, rows) for place, rows in _tables(Path(store))])
    return frame.with_columns(pl.lit(None).alias(name) for name in ALIKE if name not in frame.columns)


def stored_rounds(store: str | os.PathLike[str] = "results", keys: Collection[str] | None = None) -> polars.DataFrame:
    """All rounds of the finished runs of a store, a row each: key of the run, round, seconds, and what was measured.

    Numbers have the names of the metrics: ``server.accuracy``, ``update_norm``, ``cost.up``. What a round did not
    measure is null; what was not finite is NaN.

    store: folder of the runs.  keys: of the runs that are wanted, all by default.
    Raises UserError for a folder that is not there.

        rounds = fedsharp.stored_rounds(keys=runs["key"])
        curves = rounds.join(runs.select("key", "algorithm", "seed"), on="key")
    """
    wanted = None if keys is None else set(keys)
    return _stacked([_of_rounds(place, rows, wanted) for place, rows in _tables(Path(store))])


def _stacked(frames: Sequence[polars.DataFrame]) -> polars.DataFrame:
    """One frame of all; a column that some of them lack is null there."""
    pl = columns.library()
    filled = [frame for frame in frames if frame.height]
    return pl.concat(filled, how="diagonal_relaxed") if filled else pl.DataFrame({"key": []}, {"key": pl.String})


def _tables(store: Path) -> list[tuple[Shelf, list[int]]]:
    """Tables of a store and which of their rows count, in the order of their files; loose runs are one table more.

    Raises UserError for a folder that is not there.
    """
    if not store.is_dir():
        raise UserError("store", str(store), "the folder of a store that is there")
    shelves: dict[int, tuple[Shelf, list[int]]] = {}
    loose: list[columns.Record] = []
    for run in finished_runs_of(store):
        if not run.intact:
            continue
        if isinstance(run, Archived):
            shelves.setdefault(id(run.shelf), (run.shelf, []))[1].append(run.row)
        elif (record := believed(partial(record_of, run))) is not None:
            loose.append(record)
    found = sorted(shelves.values(), key=lambda pair: pair[0].path)
    if loose:
        place = Shelf.of(store, columns.table(loose))
        found.append((place, list(range(len(loose)))))
    return [(place, sorted(rows)) for place, rows in found]


def _of_runs(place: Shelf, rows: list[int]) -> polars.DataFrame:
    pl = columns.library()
    kept = [name for name in place.types if not name.startswith(columns.ROUND) and name not in SEALS]
    frame = place.read(kept)[rows]
    runs = [Archived(Path(), place.rows[row]["key"], place, row) for row in rows]
    final: dict[str, list[Any]] = {"diverged": [run.diverged for run in runs]}
    final["sent"] = [_sent(run) for run in runs]
    final["seconds"] = [run.seconds() for run in runs]
    for model in EVALUATED:
        for number in TESTED:
            name = f"{model}.{number}"
            if columns.ROUND + name in place.types:
                curves = [list(run.series(name).values()) for run in runs]
                final[name] = [tail_mean(curve) for curve in curves]
                if number == "accuracy":
                    final[f"{name}.last"] = [curve[-1] if curve else None for curve in curves]
    types = {name: pl.Boolean if name == "diverged" else pl.Float64 for name in final}
    return frame.hstack(pl.DataFrame(final, types))


def _sent(run: Archived) -> float:
    """1e9 parameters that a run sent in both directions."""
    return sum(run.traffic()) * run.config()["parameters"] / 1e9


def _of_rounds(place: Shelf, rows: list[int], wanted: set[str] | None) -> polars.DataFrame:
    pl = columns.library()
    own = [row for row in rows if wanted is None or place.rows[row]["key"] in wanted]
    names = [name for name in place.types if name.startswith(columns.ROUND) and name != f"{columns.ROUND}other"]
    if not own:
        return pl.DataFrame({"key": []}, {"key": pl.String})
    frame = place.read(["key", *names])[own]
    lengths = frame[f"{columns.ROUND}seconds"].list.len()
    types: dict[str, Any] = dict(frame.schema)
    filled = frame.with_columns(
        pl.when(pl.col(name).is_null())
        .then(pl.lit(None, types[name].inner).repeat_by(lengths))
        .otherwise(pl.col(name))
        .alias(name)
        for name in names
    )
    kept = filled.filter(lengths > 0).explode(names)
    return kept.rename({name: name.removeprefix(columns.ROUND) for name in names})
