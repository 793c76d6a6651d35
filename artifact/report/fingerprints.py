"""Fingerprints of what a page is made from, so that one whose inputs are unchanged is not made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from artifact.base import paths

ROOT = paths.ROOT
#: folders with the program and what was written by hand
SOURCES = ("artifact", "checks", "theory", "notebooks", "claims", "experiments")
SUFFIXES = {".py", ".toml", ".csv", ".css", ".js", ".html"}
#: what a finished run, its measurements and a check leave in a store; all are replaced whole
RECORDS = ("runs/*.parquet", "*/done", "*/curvature.json", "figures/*.json", "checks/*.jsonl")


def sources(root: Path = ROOT) -> list[Path]:
    """The files of the program and of the ledger, without notebooks."""
    found = [path for name in SOURCES for path in (root / name).rglob("*") if path.suffix in SUFFIXES]
    return sorted(path for path in (*found, *timings(root), root / "CONTRIBUTING.md") if path.is_file())


def timings(root: Path = ROOT) -> list[Path]:
    """What ``fedsharp bench`` measured of the papers' networks, one file a network and kind of processor."""
    return sorted(path for name in ("lenet", "resnet") for path in (root / "docs/performance").glob(f"*{name}.json"))


def records(stores: Iterable[Path]) -> list[Path]:
    """The files of stores that change when a run ends or is measured."""
    return sorted(path for store in set(stores) for pattern in RECORDS for path in store.glob(pattern))


def digest(read: Iterable[Path], listed: Iterable[Path], *words: str) -> str:
    """SHA-256 of the content of ``read``, of name, size and time of ``listed``, and of words such as options."""
    found = hashlib.sha256(repr(words).encode())
    for path in read:
        found.update(f"\0{path}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    for path in listed:
        status = path.stat()
        found.update(f"\0{path}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return found.hexdigest()
