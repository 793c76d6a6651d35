"""Which of the slow tests are played: one of eight parts, in turn from commit to commit, or all of them at night."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from zlib import crc32

import pytest

PARTS = 8


def part() -> int | None:
    """Which; None where all are played."""
    if os.environ.get("FEDSHARP_NIGHTLY"):
        return None
    words = ["git", "rev-list", "--count", "HEAD"]
    count = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True).stdout
    return int(count or 0) % PARTS


def belongs(name: str, played: int | None) -> bool:
    """Whether what has this name is played with the part; each name is in one, and in all of them."""
    return played is None or crc32(name.encode()) % PARTS == played


def waits(item: pytest.Item, played: int | None) -> bool:
    """Whether a test is a slow one of another part; a file whose tests share what is slow is in one part whole."""
    mark = item.get_closest_marker("slow")
    if mark is None:
        return False
    name = item.nodeid.split("::")[0] if mark.kwargs.get("whole_file") else item.nodeid
    return not belongs(name, played)


def everything(config: pytest.Config) -> bool:
    """Whether neither files nor words nor marks select what is played."""
    chosen = config.getoption("keyword") or config.getoption("markexpr")
    return {Path(name).name for name in config.args} == {"tests", "checks"} and not chosen
