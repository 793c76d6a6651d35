"""Bounds beside what they bound in the stored runs: a row for each run, probed round and theorem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from artifact.base.stats import t_interval
from artifact.base.tables_as_text import markdown_table
from artifact.runs.store import Run

#: relative excess over a bound that rounding explains
ROUNDING = 1e-5
#: chord of perpendicular directions
PERPENDICULAR = 2**0.5


@dataclass(frozen=True)
class Row:
    """measured, bound: of one theorem in one probed round of a run.  named: the record says that the bound is below."""

    run: str
    method: str
    seed: int
    round: int
    theorem: str
    measured: float
    bound: float
    named: bool

    @property
    def above(self) -> bool:
        """Whether the measurement lies above the bound."""
        return self.measured > self.bound * (1 + ROUNDING) + 1e-6

    @property
    def silent(self) -> bool:
        """Whether that is so and the record does not say it."""
        return self.above and not self.named


#: (probe, measured, bound) of the entries with one number each; a bound that is a number holds for every vector
_PAIRS: dict[str, tuple[str, str, str | float]] = {
    "Theorem 2, corrected": ("estimation", "bias", "bound"),
    "Theorem 2, how far the gradient turns": ("estimation", "moved", "moved_bound"),
    "bias of unit vectors": ("estimation", "bias", 2.0),
    "perturbation drift PD": ("drift", "drift", 1.0),
    "Lemma B.1, corrected": ("drift", "own", "own_bound"),
    "L^2 rho^2": ("estimation", "floor", "floor_bound"),
    "r_k over ||gbar||": ("ratios", "cosine", 1.0),
}

PROBES = {"layers", *(probe for probe, _, _ in _PAIRS.values())}


def method(run: Run) -> str:
    """The method with what runs of one name may differ in."""
    config = run.config()
    released = ", released" if config.get("variant", "paper") == "released" else ""
    man = " + MAN" if config.get("man_zeta", 0) else ""
    data = f"{config.get('dataset', 'digits')}, {config.get('model', 'mlp')}, {config.get('split', 'iid')}"
    return f"{config['algorithm']}{released}{man} ({data}, {config.get('rounds', 10)} rounds)"


def rows(run: Run) -> Iterator[Row]:
    """All rows of a run; none where it has no probe with a bound."""
    config = run.config()
    if not PROBES & set(config.get("probes", ())):
        return
    name = method(run)
    for line in run.metrics():
        head = (run.key, name, config.get("seed", 0), line["round"])
        for theorem, (probe, measured, bound) in _PAIRS.items():
            found = line.get(probe, {})
            limit = bound if isinstance(bound, float) else found.get(bound)
            if found.get(measured) is not None and limit is not None:
                yield Row(*head, theorem, found[measured], limit, measured in found.get("violated", ()))
        yield from _layers(head, config.get("model", "mlp"), line.get("layers", {}))


def _layers(head: tuple[str, str, int, int], model: str, found: dict[str, Any]) -> Iterator[Row]:
    """A row for each layer and bound, named by the network; of the measured curvature its residual is taken off."""
    for layer, entry in found.get("each", {}).items():
        if entry["top"] is None or entry.get("measured") is None:
            continue
        for bound, value in entry["bounds"].items():
            named = layer in found["refuted"] if bound == "printed" else f"{layer}: {bound}" in found["violated"]
            theorem = f"layers of {model}: {bound}" + (", no theorem" if bound == "printed" else "")
            yield Row(*head, theorem, entry["measured"] - entry["residual"], value, named)


def summary(found: Iterable[Row]) -> dict[str, Any]:
    """For each theorem the runs, the rows, how many measurements lie above their bound, silently or named, and the
    smallest, middle and largest measured / bound; for each method the bias of its update as an estimate, by seeds."""
    by_theorem: dict[str, list[Row]] = {}
    bias: dict[str, dict[int, list[float]]] = {}
    for row in found:
        by_theorem.setdefault(row.theorem, []).append(row)
        if row.theorem == "bias of unit vectors":
            bias.setdefault(row.method, {}).setdefault(row.seed, []).append(row.measured)
    theorems = {}
    for theorem, those in sorted(by_theorem.items()):
        shares = [row.measured / row.bound for row in those if row.bound > 0]
        theorems[theorem] = {
            "runs": len({row.run for row in those}),
            "rows": len(those),
            "above": sum(row.above for row in those),
            "silent": sum(row.silent for row in those),
            "least": min(shares, default=None),
            "median": float(np.median(shares)) if shares else None,
            "most": max(shares, default=None),
        }
    means = {name: t_interval([float(np.mean(v)) for v in seeds.values()]) for name, seeds in sorted(bias.items())}
    return {
        "theorems": theorems,
        "bias": {name: {"mean": i.mean, "low": i.low, "high": i.high, "seeds": i.n} for name, i in means.items()},
    }


def text(found: dict[str, Any]) -> str:
    """The summary as two tables."""
    head = ("bound", "runs", "rows", "above it", "of these silent", "measured / bound: least", "median", "most")
    lines = markdown_table(
        head,
        (
            (name, *(str(one[k]) for k in ("runs", "rows", "above", "silent")), *map(_short, list(one.values())[4:]))
            for name, one in found["theorems"].items()
        ),
    )
    lines += ["", f"Bias of w^t - w^(t+1) as an estimate of grad F(w^(t+1)); perpendicular: {PERPENDICULAR:.4f}", ""]
    bias = (
        (n, _short(b["mean"]), _short(b["low"]), _short(b["high"]), str(b["seeds"])) for n, b in found["bias"].items()
    )
    return "\n".join([*lines, *markdown_table(("method", "mean over rounds and seeds", "low", "high", "seeds"), bias)])


def _short(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.3g}"
