"""Faults of an audit's files: each with its file and line, all of them collected before anything is trained."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from artifact.base.errors import UserError
from artifact.papers.folders import BLANK, line_of_entry

_PLACED = re.compile(r"\((?P<file>[^()]*), line (?P<line>\d+)\)$|, line (?P<inner>\d+)\)+$")


@dataclass(frozen=True)
class Fault:
    """One mistake in a file.  line: counted from 1.  error: field, value and what is allowed instead."""

    file: Path
    line: int
    error: UserError

    def __str__(self) -> str:
        placed = _PLACED.search(self.error.allowed)
        if placed and placed["file"] == str(self.file):
            return str(self.error)
        return str(
            UserError(self.error.field, self.error.value, f"{self.error.allowed} ({self.file}, line {self.line})")
        )

    @property
    def mistake(self) -> tuple[Path, int, str, str]:
        """What makes two faults one: other methods may allow other things in its place."""
        return self.file, self.line, self.error.field, repr(self.error.value)

    @property
    def record(self) -> dict[str, Any]:
        value = self.error.value
        told = {"field": self.error.field, "value": None if value is None else str(value)}
        return {"file": str(self.file), "line": self.line, **told, "allowed": self.error.allowed}


@dataclass
class Faults:
    """The faults that a pass has found so far, each told once, however many cells or profiles share it."""

    found: list[Fault] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.found)

    def of(self, file: Path) -> bool:
        """Whether the file has a fault."""
        return any(one.file == file for one in self.found)

    def add(self, file: Path, error: UserError, line: int | None = None) -> None:
        """Note an error; its line is the one that it names itself, else ``line``, else 1."""
        placed = _PLACED.search(error.allowed)
        if placed:
            line = int(placed["line"] or placed["inner"])
        fault = Fault(file, line or 1, error)
        if fault.mistake not in (one.mistake for one in self.found):
            self.found.append(fault)

    def at(self, file: Path, error: UserError, where: tuple[str | int, ...] = ()) -> None:
        """Note an error of a TOML entry: the line that gives the field its value, from the entry's own line on.

        where: keys, and numbers of entries of ``[[key]]``, from outside.
        """
        self.add(file, error, line_of_value(file, error, where))

    @contextlib.contextmanager
    def told(self, file: Path, where: tuple[str | int, ...] = ()) -> Iterator[None]:
        """For a block that raises at most one UserError of an entry, which is noted."""
        try:
            yield
        except UserError as error:
            self.at(file, error, where)

    def sorted(self) -> list[Fault]:
        return sorted(self.found, key=lambda one: (str(one.file), one.line))


def line_of_value(file: Path, error: UserError, where: tuple[str | int, ...]) -> int:
    """The first line from the entry on that gives the error's field its value, else anywhere, else the entry's line."""
    start = line_of_entry(file, where) if where else 1
    value = str(error.value).lower() if isinstance(error.value, bool) else str(error.value)
    name = error.field.split(": ")[-1].split(".")[-1].split(" ")[-1]
    lines = [re.sub(BLANK, "", line) for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    wanted = re.compile(rf"\b{re.escape(re.sub(BLANK, '', f'{name}={value}'))}(?![\w.])")
    inside = re.compile(rf"(?<![\w.-]){re.escape(re.sub(BLANK, '', value))}(?![\w.-])")
    for pattern, first in ((wanted, start), (wanted, 1), (inside, start)):
        for number, line in enumerate(lines[first - 1 :], first):
            if value and pattern.search(line):
                return number
    return start
