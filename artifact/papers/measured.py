"""What a cell reads off a finished run: one number per run and metric, never the best round."""

from __future__ import annotations

import math

from artifact.base.stats import rounds_to_target
from artifact.papers.declared import Metric
from artifact.runs.store import Run, tail_mean
from artifact.statements.comparisons import UP_TO_TARGET


def measure(metric: Metric, run: Run, target: float | None = None, samples: int | None = None) -> float | None:
    """The metric of one run, before it is held against another row.

    target: accuracy in per cent that rounds, seconds or communication are counted up to; a run that never reaches it
    gives inf (not reached in T), one that has not been measured for the metric gives None. samples: training images
    that curvature has to be measured on; on fewer images eigenvalues are larger, so records on others do not count.
    A run that diverged has the accuracy 0, whatever it had reached before, and no deviation over clients.
    """
    if metric.quantity in ("accuracy", "deviation"):
        if run.diverged:
            return 0.0 if metric.quantity == "accuracy" else None
        field = "accuracy" if metric.quantity == "accuracy" else "client_sd"
        found = tail_mean(run.series(f"{metric.model}.{field}").values())
        return None if found is None else 100 * found * metric.scale
    if metric.quantity in ("top-eigenvalue", "trace"):
        record = run.curvature()
        row = record.get(metric.quantity.replace("-", "_"))
        return None if row is None or samples not in (None, record["data"]) else row["value"] * metric.scale
    if metric.quantity == "consistency":
        probed = list(run.series("consistency.to_sent").values())
        return probed[-1] * metric.scale if probed else None
    return _spent(metric, run, target)


def _spent(metric: Metric, run: Run, target: float | None) -> float | None:
    """Rounds, 1e9 parameters sent, or seconds, up to the target; or seconds of the run per round."""
    completed = run.completed()
    if metric.quantity == "seconds-per-round":
        return run.seconds() / completed * metric.scale if completed else None
    if target is None:
        return None
    crossing = rounds_to_target(*curve(run, metric.model), target) if completed else None
    if crossing is None or crossing.censored:
        return math.inf
    if metric.quantity == "rounds-to":
        return crossing.rounds * metric.scale
    if metric.quantity == "communication-to":
        models = sum(run.traffic()[: crossing.rounds])
        return models * run.config()["parameters"] / 1e9 * metric.scale
    return run.seconds() * crossing.rounds / completed * metric.scale


def grid(metric: Metric, run: Run, target: float | None) -> float:
    """By how much what a run spent up to the target may be too large: it is known to evaluated rounds only.

    In the metric's unit; 0 for other metrics, and for a run that never reached the target.
    """
    if target is None or not run.completed() or metric.quantity not in UP_TO_TARGET:
        return 0.0
    crossing = rounds_to_target(*curve(run, metric.model), target)
    spent = _spent(metric, run, target)
    return 0.0 if crossing.censored or spent is None else spent * crossing.grid / crossing.rounds


def curve(run: Run, model: str) -> tuple[list[int], list[float]]:
    """(rounds, accuracies in per cent) of the evaluated rounds.

    A run that diverged ends with 0 % in the last round of its settings: it shares the horizon of those beside it.
    """
    points = {number: 100 * value for number, value in run.series(f"{model}.accuracy").items()}
    if run.diverged:
        points[run.config()["rounds"]] = 0.0
    return list(points), list(points.values())
