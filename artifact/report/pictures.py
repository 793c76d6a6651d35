"""Figures that ``fedsharp figure``, ``checks --draw`` and others have drawn: copied with their PDF and CSV."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from artifact.base.errors import UserError
from artifact.base.files import read_file


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
        """The figure of that name (without suffix); None when no folder has it. small: shown as a smaller file."""
        source = self._path(f"{name}.png")
        if source is None:
            return None
        content = source.read_bytes()
        png = shown = self._use(f"figures/{name}.png", content)
        if small:
            content = _small(content)
            shown = self._use(f"figures/small/{name}.webp", content)
        width, height = Image.open(io.BytesIO(content)).size
        beside = {suffix: source.with_suffix(f".{suffix}") for suffix in ("pdf", "csv")}
        found = {
            suffix: self._use(f"figures/{name}.{suffix}", path.read_bytes()) if path.is_file() else None
            for suffix, path in beside.items()
        }
        return Picture(name, png, shown, width, height, **found)

    def numbers(self, pattern: str) -> dict[str, Any]:
        """Name -> content of the JSON files that lie beside figures."""
        paths = [path for folder in self.folders for path in sorted(folder.glob(f"{pattern}.json"))]
        found = {path.stem: _numbers(path) for path in reversed(paths)}
        return dict(sorted(found.items()))

    def _path(self, name: str) -> Path | None:
        return next((folder / name for folder in self.folders if (folder / name).is_file()), None)

    def _use(self, target: str, content: bytes) -> str:
        self.used[target] = content
        return target


def _numbers(path: Path) -> Any:
    try:
        return json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, UserError) else UserError("figure", str(path), f"JSON ({error})") from None


def _small(content: bytes) -> bytes:
    """The same picture, every pixel and colour of it, in a format that takes less than half of a PNG's bytes."""
    out = io.BytesIO()
    Image.open(io.BytesIO(content)).convert("RGB").save(out, "WEBP", lossless=True, method=6)
    return out.getvalue()
