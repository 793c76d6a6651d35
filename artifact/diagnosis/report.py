"""What the doctor has measured, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from artifact.base.tables_as_text import markdown_table

#: check -> what it looks at
CHECKS = {
    "gradients": "a step evaluates gradients of the model that it was given",
    "length": "the perturbation is as long as it is meant to be",
    "cosine": "it points along the gradient or update that it should follow",
    "minibatch": "both gradients of a step are of one minibatch",
    "statistics": "running statistics of BatchNorm move once a step",
    "clip": "the clip acts on what it is meant to act on",
    "update": "the step adds up the terms of the method, each with its weight and sign",
}


@dataclass
class Row:
    """One local step.

    length, meant: norms of the perturbation over rho.  by_tensor: name -> the same two.  cosine: to the meant one.
    evaluations: gradients.  same: of one minibatch.  moved: how often running statistics changed.
    error: the step minus the meant step, over the meant one.  limit: up to which that may be rounding.
    client: 1 for the second of two.
    """

    round: int
    step: int
    length: float
    meant: float
    cosine: float
    by_tensor: dict[str, tuple[float, float]]
    evaluations: int
    same: bool
    moved: int
    error: float
    limit: float = 1e-3
    client: int = 0


@dataclass
class Report:
    """What the doctor saw and what it calls wrong.

    rows: one per step.  alarms: check -> sentence, empty for a healthy patient.  terms: term -> (weight, meant).

    clip: what the clip was seen to act on, empty where it never acted.  notes: what is worth knowing and no fault.
    driven: the patient is an optimiser, around which the doctor writes the passes.
    """

    method: str
    rows: list[Row] = field(default_factory=list)
    alarms: dict[str, str] = field(default_factory=dict)
    terms: dict[str, tuple[float, float]] = field(default_factory=dict)
    clip: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    driven: bool = False

    @property
    def healthy(self) -> bool:
        return not self.alarms

    def alarm(self, check: str, text: str, row: Row | None = None) -> None:
        """Keep the first alarm of every check."""
        self.alarms.setdefault(check, text + _place(row))

    def note(self, about: str, text: str, row: Row) -> None:
        """Keep the first note about a thing."""
        self.notes.setdefault(about, text + _place(row))

    def plain(self) -> dict[str, Any]:
        """Numbers and texts alone, for JSON."""
        rows = [vars(row) for row in self.rows]
        said = {"alarms": self.alarms, "notes": self.notes, "terms": self.terms, "clip": self.clip}
        return {"method": self.method} | said | {"rows": rows}

    def __str__(self) -> str:
        two = any(row.client for row in self.rows)
        head = ["round", "step", "length/rho", "meant", "cosine", "gradients", "one minibatch", "statistics", "error"]
        head = ["client"] * two + head
        body = [[str(row.client)] * two + _cells(row) for row in self.rows]
        lines = [f"meant: {self.method}", "", *markdown_table(head, body), ""]
        lines += _tensors(self.rows[-1].by_tensor) if self.rows and "length" in self.alarms else []
        lines += [f"the clip acts on {self.clip}"] if self.clip else []
        lines += [f"{name}: weight {seen:.3f}, meant {meant:.3f}" for name, (seen, meant) in self.terms.items()]
        lines += [f"note: {text}" for text in self.notes.values()]
        lines += [f"ALARM {check}: {text}" for check, text in self.alarms.items()] or ["no alarm"]
        return "\n".join(lines)


def _place(row: Row | None) -> str:
    if row is None:
        return ""
    return f" (round {row.round}, step {row.step}{', client 1' if row.client else ''})"


def _cells(row: Row) -> list[str]:
    numbers = [f"{number:.3f}" for number in (row.length, row.meant, row.cosine)]
    counts = [str(row.evaluations), "yes" if row.same else "no", str(row.moved)]
    return [str(row.round), str(row.step), *numbers, *counts, f"{row.error:.1e}"]


def _tensors(lengths: Mapping[str, tuple[float, float]]) -> list[str]:
    """The perturbation of the last step by tensor."""
    body = [[name, f"{seen:.3f}", f"{meant:.3f}"] for name, (seen, meant) in lengths.items()]
    return [*markdown_table(["tensor", "length/rho", "meant"], body), ""]
