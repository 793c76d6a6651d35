"""Records of finished runs as the columns of a table, and back, without the loss of a single digit.

A row is a run. Its settings, environment, digests and curvature are plain columns; what it wrote in each round is a
list as long as the run. A dot joins the name of a group and of a number: ``hyper.rho``, ``round.server.accuracy``.
The rules that make the way back exact:

- an empty cell (Parquet's null) is an entry that the record does not have;
- NaN is an entry that the record has as JSON's null, which stands for a number that is not finite, or for "none";
- an entry that fits no column (a list of lists, a number among texts) stands in ``other`` as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from artifact.base.cache import cache

if TYPE_CHECKING:
    import polars

#: an object of JSON
Document = dict[str, Any]
#: a value of JSON that is no object, by the path that leads to it
Leaves = dict[str, Any]

#: part of a record -> column with its SHA-256
DIGESTS = {
    "config.json": "digest.config",
    "environment.json": "digest.environment",
    "metrics.jsonl": "digest.metrics",
    "timings.jsonl": "digest.timings",
    "model": "digest.model",
}
#: what stands before the columns of a part; settings have no prefix, since readers ask for them most
ENVIRONMENT, CURVATURE, ROUND = "environment.", "curvature.", "round."
#: columns of the table itself, which no setting may take
OWN = ("key", "completed", "seal", "other", *DIGESTS.values())
#: columns of a round that do not come from its metrics line
OF_ROUND = ("seconds", "other")
#: integers that a column holds
LARGEST = 2**63


@dataclass(frozen=True)
class Record:
    """What a finished run keeps, as plain data: one object a file, and for the two growing files one object a line."""

    key: str
    config: Document
    environment: Document
    mark: Document
    curvature: Document
    metrics: Sequence[Document]
    seconds: Sequence[float]


def library() -> Any:
    """The library that reads and writes Parquet, imported when an archive is first met.

    Raises ModuleNotFoundError without it, which ends a command: runs that cannot be read are not runs that are missing.
    """
    import polars

    return polars


# ---- one object and its leaves ---------------------------------------------------------------------------------------


def flatten(document: Mapping[str, Any]) -> tuple[Leaves, Document]:
    """Leaves of an object by their path of at most two names, and what no such path leads to."""
    leaves: Leaves = {}
    rest: Document = {}
    for name, value in document.items():
        inner = value if isinstance(value, dict) else None
        if "." in name or (inner is not None and (not inner or any("." in one for one in inner))):
            rest[name] = value
        elif inner is not None:
            leaves.update((f"{name}.{one}", held) for one, held in inner.items())
        else:
            leaves[name] = value
    return leaves, rest


def place(document: Document, path: str, value: Any) -> None:
    """Put a leaf back where its path leads."""
    group, dot, name = path.partition(".")
    if dot:
        document.setdefault(group, {})[name] = value
    else:
        document[group] = value


def merge(document: Document, rest: Mapping[str, Any]) -> Document:
    """The object with what no column held."""
    for name, value in rest.items():
        if isinstance(value, dict) and isinstance(document.get(name), dict):
            document[name].update(value)
        else:
            document[name] = value
    return document


def kind(value: Any) -> str:
    """The type of column that holds a leaf exactly; empty where none does, and for JSON's null."""
    if type(value) is int:
        return "int" if -LARGEST <= value < LARGEST else ""
    if type(value) in (bool, float, str):
        return type(value).__name__
    return "list" if isinstance(value, list) and all(type(one) is str for one in value) else ""


def kinds(rows: Iterable[Leaves]) -> dict[str, str]:
    """Path -> type of its column, the first that is met, in the order in which they are met."""
    found: dict[str, str] = {}
    for leaves in rows:
        for path, value in leaves.items():
            if path not in found and (own := kind(value)):
                found[path] = own
    return found


def fitting(
    leaves: Leaves, rest: Document, types: Mapping[str, str], put: Callable[[Document, str, Any], None] = place
) -> Leaves:
    """The leaves as their columns hold them; those that fit none are added to ``rest``."""
    held: Leaves = {}
    for path, value in leaves.items():
        own = types.get(path)
        if own is not None and kind(value) == own:
            held[path] = value
        elif own == "float" and value is None:
            held[path] = math.nan
        else:
            put(rest, path, value)
    return held


def as_json(value: Any) -> Any:
    """What a cell holds as JSON has it."""
    return None if isinstance(value, float) and math.isnan(value) else value


# ---- tables ----------------------------------------------------------------------------------------------------------


def table(records: Sequence[Record]) -> polars.DataFrame:
    """The table of records: a row a run, in the order of the keys."""
    pl = library()
    ordered = sorted(records, key=lambda record: record.key)
    split = [_row(record) for record in ordered]
    types = kinds(leaves for leaves, _ in split)
    dtypes = {
        "bool": pl.Boolean,
        "int": pl.Int64,
        "float": pl.Float64,
        "str": pl.String,
        "list": pl.List(pl.String),
    }
    rows = []
    for leaves, rest in split:
        unfit: Document = {}
        held = fitting(leaves, unfit, types, put=lambda document, path, value: place(*_within(document, path), value))
        for part, left in unfit.items():
            merge(rest.setdefault(part, {}), left)
        rows.append(held | ({"other": text(rest)} if rest else {}))
    names = [*types, *(["other"] if any("other" in row for row in rows) else [])]
    columns = [
        pl.Series(name, [row.get(name) for row in rows], dtype=dtypes[types.get(name, "str")])
        for name in sorted(names, key=_order)
    ]
    return pl.DataFrame([*columns, *_round_columns(pl, ordered, dtypes)])


def _order(name: str) -> tuple[int, str]:
    """Settings first, then what the run was made with, digests, curvature and the rest."""
    groups = ("key", "", "environment", "completed", "digest", "seal", "curvature", "other")
    group = name.partition(".")[0]
    number = groups.index(group) if group in groups else 1
    return (number, "" if group == "curvature" else name)  # curvature keeps the order of its own file


def _row(record: Record) -> tuple[Leaves, Document]:
    """The columns of a run but for its rounds, and what fits none of them."""
    config, rest = flatten(record.config)
    for path in [path for path in config if path in OWN or path.startswith((ENVIRONMENT, CURVATURE, ROUND, "digest."))]:
        place(rest, path, config.pop(path))
    leaves: Leaves = {"key": record.key, **config}
    others: Document = {"config": rest} if rest else {}
    for prefix, document in ((ENVIRONMENT, record.environment), (CURVATURE, record.curvature)):
        own, left = flatten(document)
        leaves |= {prefix + path: value for path, value in own.items()}
        others |= {prefix.rstrip("."): left} if left else {}
    parts = record.mark["parts"]
    leaves |= {column: parts[part] for part, column in DIGESTS.items() if part in parts}
    leaves |= {"completed": record.mark["rounds"], "seal": record.mark["seal"]}
    return leaves, others


def _within(document: Document, path: str) -> tuple[Document, str]:
    """The part of ``other`` that a column's entry goes to, and its path there."""
    for prefix in (ENVIRONMENT, CURVATURE):
        if path.startswith(prefix):
            return document.setdefault(prefix.rstrip("."), {}), path.removeprefix(prefix)
    return document.setdefault("config", {}), path


def _round_columns(pl: Any, records: Sequence[Record], dtypes: Mapping[str, Any]) -> Iterator[Any]:
    split = [[flatten(line) for line in record.metrics] for record in records]
    for lines in split:
        for leaves, rest in lines:
            for name in OF_ROUND:
                if name in leaves:
                    place(rest, name, leaves.pop(name))
    types = {
        path: one for path, one in kinds(leaves for lines in split for leaves, _ in lines).items() if one != "list"
    }
    held = [[(fitting(leaves, rest, types), rest) for leaves, rest in lines] for lines in split]
    for path, one in types.items():
        lists = [[leaves.get(path) for leaves, _ in lines] for lines in held]
        yield pl.Series(ROUND + path, [_unless_empty(values) for values in lists], dtype=pl.List(dtypes[one]))
    yield pl.Series(ROUND + "seconds", [list(record.seconds) for record in records], dtype=pl.List(pl.Float64))
    others = [_unless_empty([text(rest) if rest else None for _, rest in lines]) for lines in held]
    if any(others):
        yield pl.Series(ROUND + "other", others, dtype=pl.List(pl.String))


def _unless_empty(values: list[Any]) -> list[Any] | None:
    return values if any(value is not None for value in values) else None


def text(document: Any) -> str:
    """JSON as the metrics have it: sorted, on one line."""
    return json.dumps(document, sort_keys=True, allow_nan=False)


# ---- and back --------------------------------------------------------------------------------------------------------


def config_of(row: Mapping[str, Any], other: Mapping[str, Any]) -> Document:
    """The settings of a row. other: its entries that fit no column."""
    document: Document = {}
    for name in _settings(tuple(row)):
        value = row[name]
        if value is not None:
            place(document, name, as_json(value))
    return merge(document, other.get("config", {}))


@cache
def _settings(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a table's columns that hold settings."""
    others = (ENVIRONMENT, CURVATURE, ROUND, "digest.")
    return tuple(name for name in names if name not in OWN and not name.startswith(others))


def part_of(row: Mapping[str, Any], prefix: str, other: Mapping[str, Any]) -> Document:
    """Environment or curvature of a row."""
    document: Document = {}
    for name, value in row.items():
        if value is not None and name.startswith(prefix):
            place(document, name.removeprefix(prefix), as_json(value))
    return merge(document, other.get(prefix.rstrip("."), {}))


def curvature_of(row: Mapping[str, Any], other: Mapping[str, Any]) -> Document:
    """Curvature of a row as its file has it: by name, the seal last."""
    document = part_of(row, CURVATURE, other)
    return {name: document[name] for name in sorted(document, key=lambda name: (name == "seal", name))}


def mark_of(row: Mapping[str, Any]) -> Document:
    """The done mark of a row, its seal included."""
    parts = {part: row[column] for part, column in DIGESTS.items() if row.get(column) is not None}
    return {"parts": parts, "rounds": row["completed"], "seal": row["seal"]}


def lines_of(columns: Mapping[str, Sequence[Any]], rounds: int) -> list[Document]:
    """The metrics lines of a run. columns: path in a line -> value in every round, None where the line has none."""
    lines: list[Document] = [{} for _ in range(rounds)]
    for path, values in columns.items():
        if path in OF_ROUND:
            continue
        group, dot, name = path.partition(".")
        for line, value in zip(lines, values, strict=True):
            if value is None:
                continue
            if value != value:
                value = None
            if dot:
                line.setdefault(group, {})[name] = value
            else:
                line[group] = value
    for line, rest in zip(lines, columns.get("other", ()), strict=False):
        if rest is not None:
            merge(line, json.loads(rest))
    return lines
