"""Which runs a large store holds, without reading every record: an index in the user's cache folder.

An entry counts as long as size, times and inode of the run's config and done mark are those that were read, or an
archived run has the seal that was read. The index
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
from artifact.runs.archive import Archived, finished_runs_of
from artifact.runs.seal import believed, parsed
from artifact.runs.store import Finished

#: runs from which on a store has an index; to read fewer takes no time
FROM = 1_000
#: files that say what a run is
READ = ("config.json", "done")

Entry = list[Any]


def signed(root: Path, sign: Callable[[Mapping[str, Any]], str]) -> Iterator[tuple[str, Finished]]:
    """(signature of its config, run) of the finished runs under a root; as ``store.finished`` leaves out damaged ones.

    sign: config -> signature.
    """
    runs = list(finished_runs_of(root))
    large, defaults = len(runs) >= FROM, sign({"algorithm": ""})
    known = _known(root, defaults) if large else {}
    kept: dict[str, Entry] = {}
    for run in runs:
        seen = _seen(run) if large else None
        entry = known.get(run.key)
        if seen is None or entry is None or entry[0] != seen:
            if (config := believed(run.config)) is None:
                continue
            entry = [seen, sign(config)]
        if seen is not None and (isinstance(run, Archived) or settled(seen)):
            kept[run.key] = entry
        yield entry[1], run
    if large and kept != known:
        _keep(root, defaults, kept)


def _seen(run: Finished) -> Any:
    """What changes with a run's config: its seal in an archive whose bytes are vouched for, else its files' stamp."""
    if isinstance(run, Archived):
        return run.seal if run.shelf.vouched else None
    return stamp(run.folder, READ)


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
