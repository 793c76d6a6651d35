"""Static figures: copied into the report with their PDF and CSV, or drawn beforehand by ``artifact report --draw``."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from artifact.base.files import write_atomic
from artifact.base.plots import draw_all
from artifact.report.content import Content, Record

COLOURS, SMALL_WIDTH = 48, 620
#: before the name of a counterexample, in that of the figure of its losses
_LOSS = "loss-"


@dataclass(frozen=True)
class Picture:
    """A figure in the report: paths relative to its pages; ``shown`` is what the page displays, width and height of it.

    pdf, csv: None where the figure has none.
    """

    name: str
    png: str
    shown: str
    width: int
    height: int
    pdf: str | None = None
    csv: str | None = None


@dataclass
class Pictures:
    """Figures that were used, as target path -> content, so that only those are written.

    folders: where figures lie, the first that has a name wins.
    """

    folders: tuple[Path, ...]
    used: dict[str, bytes] = field(default_factory=dict)

    def find(self, name: str, small: bool = False) -> Picture | None:
        """The figure of that name (without suffix); None when no folder has it. small: fewer colours and pixels."""
        source = next((f / f"{name}.png" for f in self.folders if (f / f"{name}.png").is_file()), None)
        if source is None:
            return None
        content = source.read_bytes()
        png = shown = self._use(f"figures/{name}.png", content)
        if small:
            content = _reduced(content)
            shown = self._use(f"figures/small/{name}.png", content)
        width, height = Image.open(io.BytesIO(content)).size
        beside = {suffix: source.with_suffix(f".{suffix}") for suffix in ("pdf", "csv")}
        found = {
            suffix: self._use(f"figures/{name}.{suffix}", path.read_bytes()) if path.is_file() else None
            for suffix, path in beside.items()
        }
        return Picture(name, png, shown, width, height, **found)

    def _use(self, target: str, content: bytes) -> str:
        self.used[target] = content
        return target


def _reduced(content: bytes) -> bytes:
    """The picture with a small palette, at most ``SMALL_WIDTH`` wide."""
    image = Image.open(io.BytesIO(content)).convert("RGB")
    if image.width > SMALL_WIDTH:
        height = round(image.height * SMALL_WIDTH / image.width)
        image = image.resize((SMALL_WIDTH, height), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


# ---- drawing ---------------------------------------------------------------------------------------------------------


def draw(content: Content) -> Iterator[str]:
    """Draw the figures of checks and counterexamples that are missing or older than their evidence; yields each name.

    They take minutes together, so a build does not wait for them.
    """
    folder = content.root / content.drawn / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    yield from draw_all([partial(one.draw, folder) for one in _drawings(content) if not one.is_in(folder)])


@dataclass(frozen=True)
class Drawing:
    """A figure to draw.

    name: of its files.  fingerprint: of all that it is drawn from.  stored: verdict, evidence and repair of a claim;
    None for the losses of a counterexample.
    """

    name: str
    fingerprint: str
    stored: Mapping[str, Any] | None = None

    def is_in(self, folder: Path) -> bool:
        mark = self._mark(folder)
        return mark.is_file() and mark.read_text(encoding="utf-8") == self.fingerprint

    def draw(self, folder: Path) -> str:
        """Write PNG and PDF, then the mark that they are there; returns the name."""
        _, figures, findings, *_ = _theory()
        for path in (folder / f"{self.name}.{suffix}" for suffix in ("png", "pdf")):
            if self.stored is None:
                findings.draw_scenario(self.name.removeprefix(_LOSS), path)
            else:
                figures.draw(self.name, self.stored, path)
        write_atomic(self._mark(folder), self.fingerprint)
        return self.name

    def _mark(self, folder: Path) -> Path:
        return folder / f"{self.name}.evidence"


def _drawings(content: Content) -> Iterator[Drawing]:
    registry, _, _, losses, paths = _theory()
    for record in content.records.values():
        check = registry.checks.get(record.claim.id)
        if check is not None and check.figure is not None and record.evidence:
            stored = {"verdict": record.verdict, "evidence": record.evidence, "repaired": record.repaired}
            yield Drawing(record.claim.id, _fingerprint(record, check.figure), stored)
    scenery = _hash(inspect.getsource(losses), inspect.getsource(paths))
    for name in losses.SCENARIOS:
        yield Drawing(_LOSS + name, scenery)


def _theory() -> tuple:
    """The checks' drawing functions; imported on demand, since a build reads stored evidence only."""
    names = ("runner", "figures", "findings")
    runner, figures, findings = (importlib.import_module(f"checks.{name}") for name in names)
    verdict, *scenes = (importlib.import_module(f"theory.kit.{name}") for name in ("verdict", "losses", "loss_figures"))
    runner.import_theory()
    return verdict.registry, figures, findings, *scenes


def _fingerprint(record: Record, drawing: Callable[..., None]) -> str:
    """Of the evidence and of the module that draws it."""
    source = inspect.getsource(inspect.getmodule(drawing))
    return _hash(json.dumps([record.verdict, record.evidence, record.repaired], sort_keys=True), source)


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
