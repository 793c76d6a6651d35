"""The schema of ``experiments/<paper>.toml``: what a paper's tables and figures are made of.

A file is data. Three devices keep it short: settings and profiles of the whole paper, lines (rows and columns) that
tables share by name, and products of lines (``["cifar-10", ["10-of-100", "5-of-200"], ["iid"]]`` are two columns). A
line or a table may say what it is ``like``. ``expand`` resolves all three; the models below are what comes out.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from artifact.base.errors import UserError
from artifact.base.files import read_file
from artifact.base.names import ClaimId, FileName, PaperKey, Slug
from artifact.base.options import PROFILES, ProfileName

Settings = dict[str, Any]
#: fields of a transcription that a line or metric picks out; several texts mean one of them
Printed = dict[str, str | tuple[str, ...]]
#: tables inside tables that a TOML file may have, and bytes of the largest: what people write has a tenth of either
DEEPEST, MOST_TOML = 32, 4 << 20
#: parts of a TOML key, with whose square the parser's time grows
MOST_PARTS = 1000
_PART = re.compile(r"""\s*["']?[\w-]+["']?\s*""")


def read_toml(path: Path, field: str) -> dict[str, Any]:
    """Content of a TOML file. Raises UserError, naming ``field``, for anything else, and waits for no pipe."""
    deep = f"a TOML file with at most {DEEPEST} tables inside each other"
    try:
        text = read_file(path, field, MOST_TOML).decode()
        for number, line in enumerate(text.splitlines(), 1):
            if _parts_of_key(line) > MOST_PARTS:
                raise UserError(field, path.name, f"{deep} (line {number})")
        content = tomllib.loads(text)
    except UserError:
        raise
    except RecursionError:
        raise UserError(field, path.name, deep) from None
    except ValueError as error:  # no UTF-8, no TOML
        raise UserError(field, path.name, f"a TOML file ({error})") from None
    if _deeper(content, DEEPEST):
        raise UserError(field, path.name, deep)
    return content


def _parts_of_key(line: str) -> int:
    """Parts of the longest dotted key that the line may hold."""
    most = now = 0
    for part in line.split("."):
        now = now + 1 if _PART.fullmatch(part) else 0
        most = max(most, now)
    return most


def _deeper(content: Any, most: int) -> bool:
    """Whether tables and lists lie inside each other more often than so; no call inside a call, however deep."""
    level = [content]
    for _ in range(most):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def read_csv(path: Path, fields: Sequence[str] = ()) -> list[dict[str, str]]:
    """Lines of a CSV file by the names of its first line. Raises UserError, with the line that has another length.

    fields: names that have to be there.
    """
    try:
        names, *lines = csv.reader(io.StringIO(read_file(path, "csv").decode(), newline=""), strict=True)
    except (csv.Error, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("csv", str(path), f"a CSV file in UTF-8 with a line of names ({error})") from None
    missing = [name for name in fields if name not in names]
    if missing or len(set(names)) < len(names):
        raise UserError("csv", str(path), f"names that differ, with {', '.join(fields)}; not {', '.join(names)}")
    for number, line in enumerate(lines, 2):
        if len(line) != len(names):
            raise UserError("csv", f"{path}, line {number}", f"{len(names)} entries, not {len(line)}")
    return [dict(zip(names, line, strict=True)) for line in lines]


def as_number(text: str) -> float | None:
    """The number that a CSV file writes so; None for any other text. Raises UserError for one that is not finite."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        raise UserError("csv", text, "a text, or a number that is finite")
    return value


def number(text: str) -> float:
    """The number that a text is, as in ``as_number``. Raises UserError for any other text."""
    if (value := as_number(text)) is None:
        raise UserError("csv", text, "a number")
    return value


def slug(text: str) -> str:
    """Lower-case letters, digits, dots and hyphens: ``FedSAM+MAN`` -> ``fedsam-man``."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


class Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Line(Declared):
    """A row or column of a table, or a curve of a panel.

    printed: fields of the paper's CSV that belong to it; empty where the paper prints nothing.  against: label of the
    row it is held against.  settings: of the runs.  at: settings at one profile, on top of that profile's.  pool:
    columns over whose cells a cell of this column averages.
    target: accuracy in per cent, per profile, for metrics that count up to it.  not_run: why no profile but quick runs
    it here.
    """

    id: Slug
    label: str
    printed: Printed = {}
    against: str | None = None
    settings: Settings = {}
    at: dict[ProfileName, Settings] = {}
    pool: tuple[Line, ...] = ()
    target: dict[ProfileName, float] = {}
    not_run: str = ""


Quantity = Literal[
    "accuracy",
    "deviation",
    "rounds-to",
    "communication-to",
    "seconds-to",
    "seconds-per-round",
    "top-eigenvalue",
    "trace",
    "consistency",
    "given",
]


class Metric(Declared):
    """The quantity that a table's cells show.

    quantity: what is measured on a run (``papers.measured``); accuracy and deviation over clients are in per cent, of
    the evaluated model, as the mean of the last ten evaluated rounds: the headline is never the best round.
    scale: from per cent, rounds, 1e9 parameters or seconds to the unit.
    target: accuracy in per cent per profile, where the column names none.
    to, relation: label of the row (``against``: the row's own reference) whose value in the same column it is held
    against: ``ratio`` own / other, ``inverse`` other / own, ``difference``.
    probes: what the runs have to measure for it.  samples: training images on which curvature is measured, a fixed
    random subset, per profile; all of them by default.  printed, field: lines and field of the CSV with the paper's
    numbers; no field where the paper prints none.  not_run: why it is not measured at any profile.
    """

    id: Slug = "accuracy"
    label: str = "test accuracy"
    unit: str = "%"
    scale: float = 1.0
    quantity: Quantity = "accuracy"
    model: Literal["server", "active", "all", "train"] = "server"
    target: dict[ProfileName, float] = {}
    to: str | None = None
    relation: Literal["ratio", "inverse", "difference"] = "ratio"
    probes: tuple[str, ...] = ()
    samples: dict[ProfileName, Annotated[int, Field(ge=1)]] = {}
    printed: Printed = {}
    field: str = "value"
    not_run: str = ""


class Profile(Declared):
    """One profile's settings and seeds.

    minutes: measured on two cores, for the cells that are run here; 0 where nothing was measured.  only: patterns
    ``row/column/metric`` (ids) of the cells that are run here, all by default; reason: why the others are not.
    """

    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (0, 1, 2)
    settings: Settings = {}
    minutes: float = 0.0
    note: str = ""
    only: tuple[str, ...] = ("*",)
    reason: str = ""

    @field_validator("seeds")
    @classmethod
    def _each_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise UserError("seeds", list(seeds), "seeds that differ")
        return seeds


class Given(Declared):
    """A table that needs no training: its cells are the lines of its CSV.

    rows, columns: CSV fields that label them together.  fields: the CSV's fields with values.  claims: ids of the
    ledger that decide the table.  command: what prints ours beside it.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...] = ()
    fields: tuple[str, ...] = ("value",)
    claims: tuple[ClaimId, ...] = ()
    command: str = ""

    @field_validator("rows", "columns", mode="before")
    @classmethod
    def _one_or_more(cls, fields: Any) -> Any:
        return (fields,) if isinstance(fields, str) else fields


class Except(Declared):
    """Settings of the cells whose ``row/column`` (ids) fits a pattern, on top of their row's and column's."""

    cells: str
    settings: Settings
    profiles: tuple[ProfileName, ...] = PROFILES


class Table(Declared):
    """A table of a paper: every row and column with every metric is a cell.

    paper: its key.  csv: the transcription; its fields ``algorithm`` and ``split`` hold the label of a row and a column
    that name no fields themselves.  settings: common to all cells.  ours: settings that the paper leaves open, our
    choice and why.
    """

    id: Slug
    paper: PaperKey
    title: str
    location: str
    csv: FileName | None = None
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)] = (Metric(),)
    settings: Settings = {}
    ours: dict[str, str] = {}
    rows: tuple[Line, ...] = ()
    columns: tuple[Line, ...] = ()
    exceptions: tuple[Except, ...] = ()
    profiles: dict[ProfileName, Profile]
    given: Given | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for name in ("rows", "columns", "metrics"):
            _unique([line.id for line in getattr(self, name)], f"{name} of table {self.id}")
        if self.given is None and not (self.rows and self.columns):
            raise UserError(f"table {self.id}", "no rows or no columns", "both, or [table.given]")
        labels = {row.label for row in self.rows}
        for named in [row.against for row in self.rows] + [metric.to for metric in self.metrics]:
            if named not in {*labels, None, "against"}:
                raise UserError(f"table {self.id}: row", named, ", ".join(sorted(labels - {"against"})))
        return self


class Panel(Declared):
    """One panel of a figure.

    of: ``TABLE/COLUMN`` of the same paper whose runs it draws.
    rows: lines; with ``of`` the table's rows, all by default.  settings: on top of the paper's or the column's.
    x, values: the setting that a sweep varies and what it takes, for all profiles or one by one.  divide: setting that
    the value is divided by for the axis.  levels: lines that are not swept, drawn across.
    y: what is drawn of a round's metrics, e.g. ``server.accuracy``; the last ten evaluated rounds' mean in a sweep.
    y_label, x_label: of the axes where the setting's own name does not do.  log: the x axis is logarithmic.
    classes, samples: of the balanced labels that a bars or heatmap panel splits; no data are needed.
    overlay: line that is drawn over every surface.  top: eigenvalues of a spectrum, per profile.
    function: name in ``theory.schematics``.
    shows: what a reproduction has to show, in words; checks: the same as statements that a program decides
    (``artifact.statements.predicates``).  not_run: why a profile does not run it here.
    """

    id: Slug
    paper: PaperKey
    kind: Literal["curves", "sweep", "bars", "heatmap", "landscape", "spectrum", "density", "probe", "sketch"]
    title: str
    of: str | None = None
    rows: tuple[Line, ...] = ()
    levels: tuple[Line, ...] = ()
    x: str | None = None
    values: tuple[float, ...] | dict[ProfileName, tuple[float, ...]] = ()
    divide: str | None = None
    log: bool = False
    x_label: str = ""
    y: str = "server.accuracy"
    y_label: str = ""
    settings: Settings = {}
    classes: int = 0
    samples: int = 0
    overlay: str | None = None
    top: dict[ProfileName, int] = {}
    function: str | None = None
    profiles: dict[ProfileName, Profile] = {}
    shows: str = ""
    checks: tuple[str, ...] = ()
    ours: dict[str, str] = {}
    not_run: dict[ProfileName, str] = {}


class Figure(Declared):
    """A figure of a paper.

    id: ``fig3``.  panels_per_row: of the drawing.  claims: ids of the ledger that it bears on.
    """

    id: Slug
    paper: PaperKey
    title: str
    location: str
    panel: Annotated[tuple[Panel, ...], Field(min_length=1)]
    panels_per_row: int = 4
    claims: tuple[ClaimId, ...] = ()


class Paper(Declared):
    paper: PaperKey
    title: str
    table: tuple[Table, ...] = ()
    figure: tuple[Figure, ...] = ()

    @model_validator(mode="after")
    def _unique_ids(self) -> Self:
        _unique([table.id for table in self.table], "tables")
        _unique([figure.id for figure in self.figure], "figures")
        for figure in self.figure:
            _unique([panel.id for panel in figure.panel], f"panels of {figure.id}")
        return self


def _unique(ids: Sequence[str], what: str) -> None:
    for one in sorted(set(ids)):
        if ids.count(one) > 1:
            raise UserError(what, one, "ids that are used once")


# ---- from the file to the models -------------------------------------------------------------------------------------


def expand(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file with shared lines, likeness, products and the paper's defaults resolved.

    Raises UserError for a name that is not there.
    """
    _references(dict(raw.get("row", {})), raw.get("table", []))
    tables = [table_of(raw, table) for table in raw.get("table", [])]
    figures = [figure_of(raw, figure) for figure in raw.get("figure", [])]
    known = {name: raw[name] for name in ("paper", "title") if name in raw}
    return known | {"table": tables, "figure": figures}


def table_of(raw: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """One table of the file, resolved as ``expand`` does. Raises UserError for a name that is not there."""
    defaults = {"settings": raw.get("settings", {}), "profiles": raw.get("profiles", {})}
    tables = {one["id"]: one for one in raw.get("table", []) if "id" in one}
    return _table(_inherit(table, tables, defaults) | {"paper": raw["paper"]}, _shared(raw))


def figure_of(raw: Mapping[str, Any], figure: Mapping[str, Any]) -> dict[str, Any]:
    """One figure of the file, resolved as ``expand`` does. Raises UserError for a name that is not there."""
    return _figure(figure, raw, _shared(raw))


def _shared(raw: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows, columns and metrics that tables and panels have by name."""
    return {kind: dict(raw.get(kind, {})) for kind in ("row", "column", "metric")}


def _references(rows: Mapping[str, Any], tables: Iterable[Mapping[str, Any]]) -> None:
    """Raises UserError for a shared row that is held against a row which the whole file does not have."""
    own = [row for table in tables for row in table.get("rows", [])]
    labels = [str(row["label"]) for row in [*rows.values(), *own] if isinstance(row, dict) and "label" in row]
    for name, row in rows.items():
        if isinstance(row, dict) and row.get("against") not in (None, *labels):
            raise UserError(f"row.{name}.against", row["against"], f"another row's label: {', '.join(labels)}")


def _inherit(table: Mapping[str, Any], tables: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A table with what it is like underneath; settings, remarks and profiles are merged, all else is replaced."""
    own = {name: value for name, value in table.items() if name != "like"}
    if "given" in own:
        return {"profiles": {name: {} for name in PROFILES}} | own
    below = defaults if "like" not in table else _inherit(_named("like", table["like"], tables), tables, defaults)
    return _over(below, own)


def _over(below: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A line's own entries over its table's or panel's; settings, remarks, reasons and profiles are merged."""
    merged = {**below, **own}
    for name in {"settings", "ours", "not_run"} & merged.keys():
        merged[name] = below.get(name, {}) | own.get(name, {})
    return merged | {"profiles": _profiles(below.get("profiles", {}), own.get("profiles", {}))}


def _profiles(below: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _merged(below.get(name, {}), own.get(name, {})) for name in [*below, *(n for n in own if n not in below)]
    }


def _merged(below: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**below, **own, "settings": below.get("settings", {}) | own.get("settings", {})}


def _table(table: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    if "given" in table:
        return table
    rows = {"rows": _known_references(table, lines(table.get("rows", []), shared["row"], "algorithm"))}
    rows["columns"] = lines(table.get("columns", []), shared["column"], "split")
    if "metrics" in table:
        rows["metrics"] = [_metric(metric, shared["metric"]) for metric in table["metrics"]]
    return table | rows


def _known_references(table: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A shared row is held against nothing in a table that lacks its reference.

    Raises UserError for a row of the table's own that names no other row of it.
    """
    labels = [row.get("label", "") for row in rows]
    for row in table.get("rows", []):
        others = [label for label in labels if isinstance(row, dict) and label != row.get("label")]
        if isinstance(row, dict) and row.get("against") not in (None, *others):
            raise UserError("against", row["against"], f"another row of table {table['id']}: {', '.join(others)}")
    return [row if row.get("against") in labels else {**row, "against": None} for row in rows]


def _figure(figure: Mapping[str, Any], raw: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """A figure; what it says of its panels in ``common`` lies under each of them."""
    common = figure.get("common", {})
    panels = [_panel(_over(common, panel), raw, shared) for panel in figure.get("panel", [])]
    own = {name: value for name, value in figure.items() if name != "common"}
    return {**own, "paper": raw["paper"], "panel": panels}


def _panel(panel: Mapping[str, Any], raw: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """A panel; one ``like = "FIGURE/PANEL"`` has that one underneath.

    A panel that draws a table's column takes settings and profiles from there, every other one from the paper.
    """
    if "like" in panel:
        own = {name: value for name, value in panel.items() if name != "like"}
        return _panel(_over(_earlier_panel(panel["like"], raw), own), raw, shared)
    resolved = dict(panel) | {"paper": raw["paper"]}
    for name in ("rows", "levels"):
        resolved[name] = lines(panel.get(name, []), shared["row"], "algorithm")
    if "of" in panel:
        return resolved
    resolved["settings"] = raw.get("settings", {}) | panel.get("settings", {})
    return resolved | {"profiles": _profiles(raw.get("profiles", {}), panel.get("profiles", {}))}


def _earlier_panel(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The panel ``FIGURE/PANEL`` as the file has it, with its figure's ``common`` underneath."""
    known = {
        f"{figure['id']}/{panel['id']}": _over(figure.get("common", {}), panel)
        for figure in raw.get("figure", [])
        for panel in figure.get("panel", [])
    }
    return _named("like", name, known)


def lines(declared: Sequence[Any], shared: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """Rows or columns from names of shared lines, products of them (lists), or lines written out.

    field: the CSV field that holds a line's label where the line itself names none.
    """
    result: list[dict[str, Any]] = []
    for item in declared:
        if isinstance(item, list):
            factors = [[factor] if isinstance(factor, str) else factor for factor in item]
            result += [
                _product([_line(f, shared, field) for f in combination]) for combination in itertools.product(*factors)
            ]
        else:
            result.append(_line(item, shared, field))
    return result


def _line(item: str | Mapping[str, Any], shared: Mapping[str, Any], field: str) -> dict[str, Any]:
    line = {"id": item, **_named("line", item, shared)} if isinstance(item, str) else dict(item)
    if "like" in line:
        below = _line(line.pop("like"), shared, field)
        line = {**below, **line, "settings": below["settings"] | line.get("settings", {})}
    line.setdefault("id", slug(line.get("label", "")))
    line.setdefault("settings", {})
    line.setdefault("printed", line.get("label", ""))
    if isinstance(line["printed"], str):
        line["printed"] = {field: line["printed"]} if line["printed"] else {}
    if "pool" in line:
        line["pool"] = lines(line["pool"], shared, field)
    return line


def _product(factors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several lines as one: names side by side, fields and settings merged from left to right."""
    result: dict[str, Any] = {
        "id": "-".join(f["id"] for f in factors),
        "label": ", ".join(f["label"] for f in factors),
        "not_run": next((f["not_run"] for f in factors if f.get("not_run")), ""),
    }
    for name in ("printed", "settings", "target"):
        result[name] = {key: value for factor in factors for key, value in factor.get(name, {}).items()}
    at = [factor.get("at", {}) for factor in factors]
    result["at"] = {p: {k: v for own in at for k, v in own.get(p, {}).items()} for p in PROFILES}
    return result


def _metric(item: str | Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    metric = {"id": item, **_named("metric", item, shared)} if isinstance(item, str) else dict(item)
    if "like" in metric:
        metric = {**_metric(metric.pop("like"), shared), **metric}
    if isinstance(metric.get("printed"), str):
        metric["printed"] = {"metric": metric["printed"]}
    return metric


def _named(what: str, name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    if name not in known:
        raise UserError(what, name, ", ".join(known) or "a name that the file declares")
    return known[name]
