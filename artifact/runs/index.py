"""Which runs a large store holds, without reading every record: an index in the user's cache folder.

An entry counts as long as size, time and inode of the run's config and done mark are those that were read. The index
says where to look and is never believed: whoever takes a run reads its record, seal and config first.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from artifact.base.errors import UserError
from artifact.base.files import read_file, write_atomic
from artifact.runs.seal import believed, parsed
from artifact.runs.store import Finished, finished_folders

#: runs from which on a store has an index; to read fewer takes no time
FROM = 1_000
#: files that say what a run is
READ = ("config.json", "done")
#: nanoseconds: a file that changed so shortly before it was read may change again within one tick of the clock
SETTLED = 2_000_000_000

Entry = list[Any]


def signed(root: Path, sign: Callable[[Mapping[str, Any]], str]) -> Iterator[tuple[str, Finished]]:
    """(signature of its config, run) of the finished runs under a root; as ``store.finished`` leaves out damaged ones.

    sign: config -> signature.
    """
    folders = finished_folders(root)
    large, defaults = len(folders) >= FROM, sign({"algorithm": ""})
    known = _known(root, defaults) if large else {}
    kept: dict[str, Entry] = {}
    for folder in folders:
        stamp = _stamp(f"{folder}{os.sep}") if large else None
        entry, run = known.get(folder.name), Finished(root, folder.name)
        if stamp is None or entry is None or entry[0] != stamp:
            if (config := believed(run.config)) is None:
                continue
            entry = [stamp, sign(config)]
        if stamp is not None and time.time_ns() - max(stamp[::3]) > SETTLED:
            kept[folder.name] = entry
        yield entry[1], run
    if large and kept != known:
        _keep(root, defaults, kept)


def _stamp(folder: str) -> list[int] | None:
    """Time, size and inode of what an entry depends on; None for anything but regular files."""
    found: list[int] = []
    for name in READ:
        try:
            seen = os.lstat(folder + name)
        except OSError:
            return None
        if not stat.S_ISREG(seen.st_mode):
            return None
        found += [seen.st_mtime_ns, seen.st_size, seen.st_ino]
    return found


def place(root: Path) -> Path:
    """The index of a store."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "fedsharp" / f"{hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]}.json"


def _known(root: Path, defaults: str) -> dict[str, Entry]:
    """Entries of the index; none where it is missing, damaged, or was made with other settings. defaults: signed."""
    try:
        content = parsed(read_file(place(root)))
        entries = content["runs"] if content["defaults"] == defaults else {}
        sound = all(len(entry) == 2 and isinstance(entry[1], str) for entry in entries.values())
    except (UserError, ValueError, LookupError, TypeError, AttributeError, RuntimeError):
        return {}
    return entries if sound else {}


def _keep(root: Path, defaults: str, entries: Mapping[str, Entry]) -> None:
    """Write the index where that is possible; a store is read without one."""
    try:
        place(root).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(place(root), json.dumps({"defaults": defaults, "runs": entries}, separators=(",", ":")))
    except (UserError, OSError, RuntimeError):
        return
