"""Fingerprint of all that the numbers come from: a step that ended well with the same one has nothing to do."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

FOLDERS = (
    *("artifact", "audits", "theory", "checks", "claims", "experiments", "notebooks", "results"),
    *("docs/findings", "docs/figures", "docs/performance", "requirements.lock"),
)
#: what running programs leave in these folders
LEFT = {"__pycache__", ".ipynb_checkpoints", ".lock"}
ENDINGS = (".safetensors", ".tmp", ".pyc")


class Sources:
    """Fingerprint of the files below a folder. Files that did not change since the last call are not read again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, tuple[tuple[int, int, int], bytes]] = {}

    def fingerprint(self) -> str:
        found = hashlib.sha256()
        for path in sorted(self._files()):
            found.update(f"\0{os.path.relpath(path, self.root)}\0".encode() + self._digest(path))
        return found.hexdigest()

    def _files(self) -> Iterator[str]:
        for name in FOLDERS:
            top = self.root / name
            if top.is_file():
                yield str(top)
            for folder, inside, files in os.walk(top):
                inside[:] = [one for one in inside if one not in LEFT]
                yield from (os.path.join(folder, one) for one in files if one not in LEFT and not one.endswith(ENDINGS))

    def _digest(self, path: str) -> bytes:
        try:
            status = os.stat(path)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._known.get(path, (None,))[0] != stamp:
                with open(path, "rb") as file:
                    self._known[path] = (stamp, hashlib.file_digest(file, "sha256").digest())
        except FileNotFoundError:  # a temporary file, or one that is being replaced
            return b""
        return self._known[path][1]
