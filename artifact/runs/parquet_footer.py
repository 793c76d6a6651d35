"""How much a Parquet file unpacks to, read off its footer before anything of it is decoded.

A column of ten million equal numbers takes a few kilobytes of a file. The footer (Thrift's compact protocol) says how
many values each column has; the library that decodes them believes it, too.
"""

from __future__ import annotations

from typing import Any

#: tables inside tables of the footer, and values of one of its lists
DEEPEST, MOST = 16, 1 << 20


def values(data: bytes) -> int:
    """How many values all columns of a Parquet file have together. Raises ValueError for a footer that is none."""
    size = int.from_bytes(data[-8:-4], "little")
    if len(data) < 12 or data[:4] != b"PAR1" or data[-4:] != b"PAR1" or size > len(data) - 12:
        raise ValueError("no Parquet file")
    try:
        groups = Compact(data[-8 - size : -8]).struct()[4]
        return sum(abs(column[3][5]) for group in groups for column in group[1])
    except (IndexError, KeyError, TypeError, AttributeError):
        raise ValueError("no footer of a Parquet file") from None


class Compact:
    """Reads Thrift's compact protocol: structs as field number -> value, lists as lists, texts as bytes."""

    def __init__(self, data: bytes):
        self.data, self.at, self.depth = data, 0, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        found = shift = 0
        while shift < 70:
            one = self.byte()
            found |= (one & 127) << shift
            if one < 128:
                return found
            shift += 7
        raise ValueError("a number that does not end")

    def number(self) -> int:
        found = self.varint()
        return (found >> 1) ^ -(found & 1)

    def struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError("a footer as deep as no Parquet file's")
        last = 0
        while head := self.byte():
            last = last + (head >> 4) if head >> 4 else self.number()
            found[last] = self.value(head & 15, inner=False)
        self.depth -= 1
        return found

    def value(self, kind: int, inner: bool = True) -> Any:
        if kind in (1, 2):
            return self.byte() == 1 if inner else kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.number()
        if kind in (7, 8):
            size = 8 if kind == 7 else self.varint()
            if size > len(self.data) - self.at:
                raise ValueError("a text that is longer than the footer")
            self.at += size
            return self.data[self.at - size : self.at]
        if kind in (9, 10):
            return self.list()
        if kind == 12:
            return self.struct()
        raise ValueError(f"a value of kind {kind}, which no footer of a Parquet file has")

    def list(self) -> list[Any]:
        head = self.byte()
        size = head >> 4 if head >> 4 < 15 else self.varint()
        if size > min(MOST, len(self.data)):
            raise ValueError("a list that is longer than the footer")
        return [self.value(head & 15) for _ in range(size)]
