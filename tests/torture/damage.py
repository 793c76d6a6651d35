"""Damage to a file at rest, each kind a function of the file and a place in it (0 to 1)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def _bytes(change: Callable[[bytes, int], bytes]) -> Callable[[Path, float], None]:
    def damage(path: Path, place: float) -> None:
        content = path.read_bytes()
        path.write_bytes(change(content, min(int(place * len(content)), max(len(content) - 1, 0))))

    return damage


def _lines(change: Callable[[list[bytes], int], list[bytes]]) -> Callable[[Path, float], None]:
    def damage(path: Path, place: float) -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(change(lines, min(int(place * len(lines)), max(len(lines) - 1, 0)))))

    return damage


def _in_place_of(make: Callable[[Path], object]) -> Callable[[Path, float], None]:
    def damage(path: Path, _place: float) -> None:
        path.unlink()
        make(path)

    return damage


def _json(path: Path, place: float) -> None:
    """Another number where the first line of JSON has one: what a hand that embellishes results would do."""
    first, *rest = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True) or ["{}"]
    try:
        content = json.loads(first if path.suffix == ".jsonl" else "".join([first, *rest]))
        content[next(name for name, value in content.items() if isinstance(value, int | float))] = round(99 * place, 2)
    except (ValueError, AttributeError, StopIteration):
        content = {"round": round(99 * place, 2)}
    path.write_text(json.dumps(content) + "\n" + ("".join(rest) if path.suffix == ".jsonl" else ""), encoding="utf-8")


#: name in ``scenarios.DAMAGES`` -> what it does
KINDS: dict[str, Callable[[Path, float], None]] = {
    "flip": _bytes(lambda content, at: content[:at] + bytes(b ^ 1 for b in content[at : at + 1]) + content[at + 1 :]),
    "cut": _bytes(lambda content, at: content[:at]),
    "empty": _bytes(lambda content, at: b""),
    "zeros": _bytes(lambda content, at: content[:at] + bytes(len(content) - at)),
    "drop": _lines(lambda lines, at: lines[:at] + lines[at + 1 :]),
    "twice": _lines(lambda lines, at: lines[:at] + lines[at : at + 1] + lines[at:]),
    "json": _json,
    "fifo": _in_place_of(os.mkfifo),
    "folder": _in_place_of(Path.mkdir),
    "loop": _in_place_of(lambda path: path.symlink_to(path.name)),
    "device": _in_place_of(lambda path: path.symlink_to("/dev/zero")),
    "outside": _in_place_of(lambda path: path.symlink_to("/etc/hostname")),
    "gone": _in_place_of(lambda path: None),
    "huge": _in_place_of(lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 33)),
}


def remove(folder: Path) -> None:
    """A run's folder, whatever lies in it."""
    shutil.rmtree(folder, ignore_errors=True)
