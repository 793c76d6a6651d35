"""The build: every page rendered into a new folder, which then takes the place of the old one."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifact import __version__
from artifact.base.errors import UserError
from artifact.base.files import replaced_folder, require_writable
from artifact.report import MARK
from artifact.report.content import Content
from artifact.report.pages import PAGES
from artifact.report.site import HERE, Site


@dataclass(frozen=True)
class Built:
    """What a build wrote. unconverted: (text, TeX, reason) of formulas that are shown as text."""

    folder: Path
    pages: tuple[str, ...]
    claims: int
    formulas: int
    unconverted: tuple[tuple[str, str, str], ...]
    seconds: float


def build(content: Content, folder: Path, notebooks: Path | None = None, inputs: str = "") -> Built:
    """Write the site. inputs: fingerprint of what it is made from, kept with it.

    Raises UserError for a folder that holds something else than a report.
    """
    start = time.perf_counter()
    _check_target(folder)
    site = Site(content, notebooks)
    rendered = {page.name: site.render(page) for make in PAGES for page in make(site)}
    manifest: dict[str, Any] = {"fedsharp": __version__, "profile": content.profile}
    for name in ("on_paper", "in_training"):
        manifest[name] = Counter(v for record in content.records.values() if (v := record.counted(name)))
    manifest["inputs"] = inputs
    manifest["formulas"] = {"converted": site.converter.converted, "as text": len(site.converter.failures)}
    with replaced_folder(Path(os.path.realpath(folder))) as new:  # of a link, what it points to
        for name, html in rendered.items():
            (new / name).write_text(html, encoding="utf-8")
        for name, file in (site.pictures.used | site.files).items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(file)
        shutil.copytree(HERE / "static", new / "static", dirs_exist_ok=True)
        if site.notebooks:
            (new / "notebooks").mkdir()
        for name, source in site.notebooks.items():
            shutil.copyfile(source, new / "notebooks" / f"{name}.html")
        (new / MARK).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    failures = tuple(site.converter.failures)
    count = len(content.records)
    return Built(
        folder, tuple(rendered), count, site.converter.converted, failures, round(time.perf_counter() - start, 1)
    )


def _check_target(folder: Path) -> None:
    allowed = f"a new or empty folder, or one with an earlier report ({MARK})"
    if os.path.islink(os.path.realpath(folder)) or (folder.exists() and not folder.is_dir()):  # a loop of links, a file
        raise UserError("out", str(folder), allowed)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise UserError("out", str(folder), allowed)
    require_writable(folder.parent)
