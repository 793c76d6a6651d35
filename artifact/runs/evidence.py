"""What checks found, kept as one file a paper: ``checks/PAPER.jsonl`` holds a sealed JSON object a line, a claim each.

Lines are sorted by the claim's id, so that a changed verdict is one changed line of the file. A damaged line costs its
own claim alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifact.base.files import read_file, write_atomic
from artifact.runs.seal import Changed, believed, seal, unsealed

#: how the file's name ends, behind the paper's key
SUFFIX = ".jsonl"
#: the id at the beginning of a line, which is also read where the line is damaged further on
ID = re.compile(rb'\{"id": "([^"\\]+)"')


@dataclass(frozen=True)
class Line:
    """One claim's line in the evidence file of its paper.

    claim: the id that the line begins with; empty where the damage is there. number: of the line in the file, from 1.
    """

    path: Path
    number: int
    text: bytes

    @property
    def claim(self) -> str:
        found = ID.match(self.text)
        return found[1].decode(errors="replace") if found else ""

    @property
    def where(self) -> str:
        """As messages name the line."""
        return f"{self.path}, line {self.number}"

    def content(self) -> dict[str, Any]:
        """The sealed object, without its seal. Raises ``Changed`` where the line is not as it was sealed."""
        field = self.claim or self.path.stem
        try:
            content = unsealed(self.text, self.path)
        except Changed as error:
            raise Changed(field, self.where, error.allowed.replace("the file", "the line")) from None
        if not self.claim or content.get("id") != self.claim:
            raise Changed(field, self.where, 'an object whose first entry is the claim\'s "id"')
        return content


def files(folder: Path) -> list[Path]:
    """The papers' files in a folder of evidence."""
    return sorted(Path(folder).glob(f"*{SUFFIX}"))


def lines(path: Path) -> list[Line]:
    """Every claim's line of a paper's file; none where the file is missing.

    Raises UserError for a folder, a pipe, or a file of more than 64 MiB.
    """
    if not os.path.lexists(path):
        return []
    found = enumerate(read_file(path).split(b"\n"), 1)
    return [Line(path, number, text) for number, text in found if text.strip()]


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Claim id -> what its check found. A damaged line is left out, which standard error says.

    path: a paper's file, ``results/checks/PAPER.jsonl``; one that is missing holds no claim.

    >>> read(Path("results/checks/none.jsonl"))
    {}
    """
    contents = (believed(line.content) for line in believed(lambda: lines(path)) or ())
    return {content["id"]: content for content in contents if content is not None}


def find(path: Path, claim: str) -> dict[str, Any] | None:
    """What one claim's check found; None where its paper's file has no whole line of it."""
    for line in believed(lambda: lines(path)) or ():
        if line.claim == claim:
            return believed(line.content)
    return None


def read_all(folder: Path) -> dict[str, dict[str, Any]]:
    """As ``read``, of all papers of a folder of evidence, such as ``results/checks``."""
    return {claim: content for path in files(folder) for claim, content in read(path).items()}


def put(path: Path, content: Mapping[str, Any]) -> None:
    """Write a claim's line, in place of the one that was there; all other lines stay as they are.

    content: entries of the object, ``id`` first. Raises UserError where the folder cannot be written.
    """
    text = json.dumps(seal(content)).encode()
    _change(path, lambda old: [*(line for line in old if _claim(line) != content["id"]), text])


def remove(path: Path, claim: str) -> None:
    """Take a claim's line out of its paper's file; a file without lines goes."""
    if os.path.lexists(path):
        _change(path, lambda old: [line for line in old if _claim(line) != claim])


def replace_line(line: Line, text: bytes) -> None:
    """Write other text in place of a line that was read, where the file still holds it."""
    _change(line.path, lambda old: [text if one == line.text else one for one in old])


def _claim(text: bytes) -> str:
    return Line(Path(), 0, text).claim


def _change(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Replace a file by its changed lines, sorted. Processes that change files of one folder wait for each other."""
    with _alone(path.parent):
        changed = sorted(change([line.text for line in lines(path)]), key=lambda text: (_claim(text), text))
        if changed:
            write_atomic(path, b"\n".join(changed) + b"\n")
        else:
            path.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which ends with the process at the latest."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
