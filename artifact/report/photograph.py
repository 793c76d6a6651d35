"""A picture of the front page for the README: its head, the first findings and the matrix of verdicts."""

from __future__ import annotations

import importlib.util
import io
import shutil
from pathlib import Path

from PIL import Image

from artifact.base.errors import UserError
from artifact.base.files import replacing

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, FINDINGS = 1200, 2


def photograph(index: Path, target: Path) -> None:
    """Write a PNG, 1200 pixels wide. Raises UserError without playwright or a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or importlib.util.find_spec("playwright") is None:
        raise UserError("--picture", str(target), "a machine with the package playwright and chromium on the path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(index.as_uri())
        page.add_style_tag(content=f".findings > li:nth-child(n+{FINDINGS + 1}) {{ display: none }}")
        page.evaluate("document.querySelectorAll('img').forEach(i => { i.loading = 'eager' })")
        page.wait_for_function("[...document.images].every(i => i.complete)")
        height = page.evaluate(
            "Math.ceil([...document.querySelectorAll('.matrix')].at(-1).getBoundingClientRect().bottom) + 16"
        )
        page.set_viewport_size({"width": WIDTH, "height": height})
        shot = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        opened.close()
    small = Image.open(io.BytesIO(shot)).convert("RGB")
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        small.save(temporary, "PNG", optimize=True)
