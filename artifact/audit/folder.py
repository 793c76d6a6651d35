"""The files of an audit: written as a template, and checked before anything is trained."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from artifact.base import names
from artifact.base.errors import UserError
from artifact.base.files import inside
from artifact.papers import experiments
from artifact.papers.declared import Table
from artifact.papers.folders import PAPERS, Audit, at_setting, line_of_entry, located
from artifact.papers.predicates import AnyPredicate
from artifact.verdicts import ledger
from artifact.verdicts.ledger import Claim

TEMPLATE = Path(__file__).resolve().parent / "template"


def write(folder: Path, key: str, title: str) -> list[Path]:
    """Fill a new folder with the commented template; the files written.

    Raises UserError for a folder that holds something, for a key that is no key or is taken, and for a title that
    cannot stand between quotes in a file.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError("folder", str(folder), "a new or empty folder")
    if not names.fits(key, names.PAPER) or key in PAPERS:
        raise UserError("key", key, f"{names.WORDS[names.PAPER]}; none of {', '.join(PAPERS)}")
    if not title.isprintable() or "\\" in title:
        raise UserError("title", title, "one line of text without backslashes")
    named = str(folder) if str(folder).isprintable() else ascii(str(folder))  # a name may hold any byte
    (folder / "tables").mkdir(parents=True)
    files = []
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file()):
        files.append(folder / source.relative_to(TEMPLATE).with_suffix(source.suffix.removesuffix(".in")))
        text = source.read_text(encoding="utf-8").replace("KEY", key).replace("TITLE", title.replace('"', "'"))
        files[-1].write_text(text.replace("FOLDER", named), encoding="utf-8")
    schema = folder / "claims.schema.json"
    schema.write_text(json.dumps(schema_of_claims(), indent=1) + "\n", encoding="utf-8")
    return [*files, schema]


def schema_of_claims() -> dict[str, Any]:
    """The JSON schema of ``claims.toml``."""
    claim = TypeAdapter(Claim).json_schema()
    shared = claim.pop("$defs", {})
    for name in ("paper", "judged"):  # which the folder and the protocol say
        claim["properties"].pop(name)
        claim["required"] = [one for one in claim["required"] if one != name]
    text, number = {"type": "string"}, {"type": "object", "additionalProperties": {"type": "number"}}
    paper = {"key": text, "title": text, "models": {"type": "array", "items": text}, "smallest": number}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": shared,
        "type": "object",
        "required": ["paper"],
        "properties": {
            "paper": {"type": "object", "properties": paper, "required": ["key", "title"]},
            "claim": {"type": "array", "items": claim},
        },
    }


# ---- check -----------------------------------------------------------------------------------------------------------


def check(audit: Audit) -> tuple[Claim, ...]:
    """The claims, when every file is right. Raises UserError for the first fault, with file and line."""
    claims = tuple(claim for claim in ledger.load() if claim.paper == audit.key)
    if audit.experiments.is_file():
        declared = experiments.load(audit.key)
        if declared.paper != audit.key:
            error = UserError("paper", declared.paper, audit.key)
            raise located(error, audit.experiments, ("paper",))
        for number, table in enumerate(declared.table):
            _check_table(audit, number, table)
    for number, claim in enumerate(claims):
        if claim.predicate is not None:
            _check_predicate(audit, number, claim.predicate)
    return claims


def check_registered(audit: Audit, claims: Sequence[Claim], lines: Mapping[str, int]) -> None:
    """Every check decides a claim, and every claim that a check decides has one. lines: id -> line of its check.

    Raises UserError, with file and line, for the first that does not or has not.
    """
    wanted = [claim.id for claim in claims if claim.decided_by == "checks"]
    for name, line in lines.items():
        if name not in wanted:
            allowed = f"a claim that checks decide: {', '.join(wanted) or 'none'} ({audit.statements}, line {line})"
            raise UserError("check", name, allowed)
    for number, claim in enumerate(claims):
        if claim.decided_by == "checks" and claim.id not in lines:
            error = UserError("check", claim.id, f'@check("{claim.id}") in {audit.statements}, or decided_by')
            raise located(error, audit.claims, ("claim", number, "id"))


def _check_table(audit: Audit, number: int, table: Table) -> None:
    path = None
    try:
        path = None if table.csv is None else inside(audit.tables, table.csv, "csv")
    except UserError as outside:
        raise located(outside, audit.experiments, ("table", number, "csv")) from None
    if path is not None and not path.is_file():
        there = ", ".join(sorted(path.name for path in audit.tables.glob("*.csv"))) or "no file there yet"
        error = UserError("csv", table.csv, f"a file of {audit.tables}: {there}")
        raise located(error, audit.experiments, ("table", number, "csv"))
    for profile in table.profiles:
        try:
            for cell in experiments.cells(table, profile):
                cell.configs  # noqa: B018  (raises for a setting that is not possible)
        except UserError as error:
            raise at_setting(error, audit.experiments) from None
    if path is not None:
        _check_header(path, table)
        _check_numbers(path, table)
        _check_transcription(path, table)


def _check_header(path: Path, table: Table) -> None:
    """Every name that a row, a column or a metric asks for is there. Raises UserError with line 1 where one is not."""
    labels = [*(row.printed for row in table.rows), *(column.printed for column in table.columns)]
    names = [name for printed in (*labels, *(m.printed for m in table.metrics)) for name in printed]
    wanted = dict.fromkeys(names + [metric.field for metric in table.metrics])
    for content in experiments.transcription(table)[:1]:
        if wanted.keys() - content.keys():
            raise UserError("header", ", ".join(content), f"one with {', '.join(wanted)} ({path}, line 1)")


def _check_transcription(path: Path, table: Table) -> None:
    """Every line with a number belongs to a cell. Raises UserError for the first that does not."""
    placed = {number.line for number in experiments.printed(table).values()}
    for line, content in enumerate(experiments.transcription(table)):
        if line not in placed:
            shown = ", ".join(f"{name} {text}" for name, text in content.items() if name and text)
            rows, columns = (", ".join(one.label for one in part) for part in (table.rows, table.columns))
            allowed = f"a row ({rows}) and a column ({columns}) of table {table.id} ({path}, line {line + 2})"
            raise UserError("printed number", shown, allowed)


def _check_numbers(path: Path, table: Table) -> None:
    """A printed number is finite, a spread not negative, an accuracy in per cent between 0 and 100; empty is a dash.

    Raises UserError with file and line for the first that is not so. What is given, not measured, may be any text.
    """
    for metric in table.metrics:
        percent = metric.quantity == "accuracy" and metric.unit == "%" and metric.to is None
        for line, content in enumerate(experiments.transcription(table), 2):
            if metric.quantity == "given" or not experiments.matches(metric.printed, content):
                continue
            for field in dict.fromkeys((metric.field, "std")):
                low, high = 0.0 if percent or field == "std" else -math.inf, 100.0 if percent else math.inf
                text = content.get(field, "")
                try:
                    possible = not text or (math.isfinite(float(text)) and low <= float(text) <= high)
                except ValueError:
                    possible = False
                if not possible:
                    allowed = f"a finite number from {low:g} to {high:g}, or nothing for a dash ({path}, line {line})"
                    raise UserError(field, text, allowed)


def _check_predicate(audit: Audit, number: int, predicate: AnyPredicate) -> None:
    """Raises UserError for a table, row, column or metric that is not declared, and for one named in two ways."""
    where, kind = ("claim", number, "predicate"), predicate.along.removesuffix("s")
    for name in (predicate.table, *predicate.also):
        named: dict[str, str] = {}
        try:
            if predicate.of_figure:
                continue
            for across, along, metric in _places(predicate):
                row, column = (across, along) if predicate.along == "rows" else (along, across)
                cell, *_ = experiments.select(name, _profile_of(name), row, column, metric)
                if (first := named.setdefault(getattr(cell, kind).id, across)) != across:
                    raise UserError(kind, across, f"another {kind} than {first}")
        except UserError as error:
            field = next((f for f, texts in _texts(predicate) if error.value in texts), "table")
            told = UserError(field, error.value, error.allowed)
            raise located(told, audit.claims, (*where, field)) from None


def _profile_of(name: str) -> str:
    _, table = experiments.find(name)
    return next(iter(table.profiles), "laptop")


def _places(predicate: AnyPredicate) -> Iterator[tuple[str, str, str | None]]:
    """(compared, within, metric) of every cell that the predicate asks for."""
    for within in predicate.within:
        for metric in predicate.metrics or (None,):
            for field, texts in _texts(predicate):
                if field in ("order", "pairs", "labels"):
                    yield from ((text, within, metric) for text in texts)


def _texts(predicate: AnyPredicate) -> Iterator[tuple[str, list[str]]]:
    """Field -> the labels that it names."""
    for field in ("within", "metrics", "order", "pairs", "labels"):
        yield field, list(_flat(getattr(predicate, field, ())))


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        for one in value:
            yield from _flat(one)


def line_of_claim(audit: Audit, claims: tuple[Claim, ...], id: str, field: str = "id") -> str:
    """``FILE, line N`` of a claim's field."""
    number = [claim.id for claim in claims].index(id)
    return f"{audit.claims}, line {line_of_entry(audit.claims, ('claim', number, field))}"
