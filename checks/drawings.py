"""``python -m checks --draw``: the figures that checks draw themselves and the counter-example losses, for the report.

A figure is drawn anew when its evidence or the module that draws it has changed; a fingerprint beside it says so.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from artifact.base.files import write_atomic
from artifact.base.paths import ROOT
from artifact.base.plots import draw_all
from checks import findings, loss_formulas, runner
from checks.figures import draw
from theory.kit import loss_figures, losses
from theory.kit.verdict import registry

#: where the report looks for them
FOLDER = ROOT / "out" / "figures" / "claims"
#: before the name of a counter-example in the name of its figure
_LOSS = "loss-"


@dataclass(frozen=True)
class Drawing:
    """A figure to draw.

    name: of its files.  fingerprint: of all that it is drawn from.  stored: verdict, evidence and repair of a claim;
    None for the losses of a counter-example.
    """

    name: str
    fingerprint: str
    stored: Mapping[str, Any] | None = None

    def is_in(self, folder: Path) -> bool:
        mark = self._mark(folder)
        return mark.is_file() and mark.read_text(encoding="utf-8") == self.fingerprint

    def draw(self, folder: Path) -> str:
        """Write PNG and PDF, then the mark that they are there; returns the name."""
        runner.import_theory()  # the worker process that draws has no check registered yet
        paths = [folder / f"{self.name}.{suffix}" for suffix in ("png", "pdf")]
        if self.stored is None:
            findings.draw_scenario(self.name.removeprefix(_LOSS), *paths)
        else:
            draw(self.name, self.stored, *paths)
        write_atomic(self._mark(folder), self.fingerprint)
        return self.name

    def _mark(self, folder: Path) -> Path:
        return folder / f"{self.name}.evidence"


def draw_missing(folder: Path = FOLDER) -> Iterator[str]:
    """Draw what is missing or older than its evidence, on all cores; yields each name."""
    folder.mkdir(parents=True, exist_ok=True)
    yield from draw_all([partial(one.draw, folder) for one in drawings() if not one.is_in(folder)])


def drawings() -> Iterator[Drawing]:
    """One per check with a figure of its own and stored evidence, and one per counter-example loss."""
    runner.import_theory()
    stored = runner.stored()
    for id, check in registry.checks.items():
        if check.figure is not None and stored.get(id, {}).get("evidence"):
            found = {name: stored[id][name] for name in ("verdict", "evidence", "repaired")}
            source = inspect.getsource(inspect.getmodule(check.figure))
            yield Drawing(id, _hash(json.dumps(list(found.values()), sort_keys=True), source), found)
    scenery = _hash(*map(inspect.getsource, (losses, loss_figures, loss_formulas)))
    for name in losses.SCENARIOS:
        yield Drawing(_LOSS + name, scenery)


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
