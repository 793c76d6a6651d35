"""Which runs a large store holds, without reading every record: an index in the user's cache folder.

An entry counts as long as size, times and inode of the run's config and done mark are those that were read. The index
says where to look and is never believed: whoever takes a run reads its record, seal and config first.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from artifact.base.errors import UserError
from artifact.base.files import read_file, settled, stamp, write_atomic
from artifact.runs.seal import believed, parsed
from artifact.runs.store import Finished, finished_folders

#: runs from which on a store has an index; to read fewer takes no time
FROM = 1_000
#: files that say what a run is
READ = ("config.json", "done")

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
        seen = stamp(folder, READ) if large else None
        entry, run = known.get(folder.name), Finished(root, folder.name)
        if seen is None or entry is None or entry[0] != seen:
            if (config := believed(run.config)) is None:
                continue
            entry = [seen, sign(config)]
        if seen is not None and settled(seen):
            kept[folder.name] = entry
        yield entry[1], run
    if large and kept != known:
        _keep(root, defaults, kept)


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
