"""Every file of an audit, checked in one pass before anything is trained.

Each part below looks at one kind of content and goes on after a mistake, so that an author sees all of them at once. A
part that needs what another one has found wrong is left out: a broken ``method.py`` is told once, and not again for
each table that trains its methods.
"""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from artifact.algorithms import methods_of
from artifact.audit import publication, trial
from artifact.audit.faults import Fault, Faults
from artifact.base import errors, names
from artifact.base.errors import UserError
from artifact.base.extras import how_to_install
from artifact.base.files import inside, read_file
from artifact.base.registered import registered
from artifact.data import DATASETS
from artifact.papers import experiments, folders
from artifact.papers.declared import Figure, Line, Panel, Paper, Profile, Table, figure_of, read_toml, table_of
from artifact.papers.folders import Audit, line_of_entry
from artifact.statements.predicates import AnyPredicate, Difference, Trend, parse_sentence
from artifact.training.config import RunConfig
from artifact.verdicts import ledger
from artifact.verdicts.decide import PROFILE
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import FEWEST_SEEDS

#: endings of an audit's own files whose text is read
TEXTS = (".toml", ".csv", ".md", ".py", ".json", ".cff", ".yml")
#: what ``experiments.toml`` may hold at its top
SECTIONS = ("paper", "title", "settings", "profiles", "row", "column", "metric", "table", "figure")
#: points of a panel's axis that have a name
POINTS = ("mean", "last")


@dataclass
class Checked:
    """What a pass has read.

    paper: the entry ``[paper]``.  claims, tables, figures: those without a fault, by their numbers in the file.
    """

    audit: Audit
    faults: Faults
    paper: Mapping[str, Any] = field(default_factory=dict)
    claims: dict[int, Claim] = field(default_factory=dict)
    tables: dict[int, Table] = field(default_factory=dict)
    figures: dict[int, Figure] = field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """The audit's own text files; ``results`` holds what runs have written."""
        found = self.audit.folder.rglob("*")
        own = (path for path in found if path.relative_to(self.audit.folder).parts[0] not in ("results", "site"))
        return sorted(path for path in own if path.suffix in TEXTS and path.is_file())


def check(folder: Path) -> tuple[Audit, list[Fault]]:
    """Open a folder and find every fault of its files, in the order of files and lines.

    Raises UserError for a folder that is no audit at all.
    """
    folder = Path(folder)
    folders.require_audit(folder)
    faults = Faults()
    contents = {name: _toml(folder / name, faults) for name in ("claims.toml", "experiments.toml")}
    entry = (contents["claims.toml"] or {}).get("paper")
    checked = Checked(_opened(folder, contents, faults), faults, entry if isinstance(entry, dict) else {})
    if isinstance(entry, dict):
        for error in publication.faults(entry):
            faults.at(folder / "claims.toml", error, ("paper", error.field.split(": ")[-1]))
    _encodings(checked)
    _claims(checked)
    if contents["experiments.toml"] is not None:
        _experiments(checked, contents["experiments.toml"])
    _predicates(checked)
    _formulas(checked, contents)
    _method(checked)
    _statements(checked)
    return checked.audit, faults.sorted()


# ---- the folder ------------------------------------------------------------------------------------------------------


def _toml(path: Path, faults: Faults) -> dict[str, Any] | None:
    """The content of a TOML file; None where it has none, or is none."""
    if not path.is_file():
        return None
    try:
        read_file(path).decode()
        return read_toml(path, "TOML")
    except UnicodeDecodeError as error:
        faults.add(path, *_not_utf8(path, error))
    except UserError as error:
        line = re.search(r"line (\d+)", error.allowed)
        said = re.sub(r" \(at (line \d+, column \d+|end of document)\)", "", error.allowed)
        last = len(path.read_bytes().splitlines())
        faults.add(path, UserError(error.field, error.value, said), int(line[1]) if line else last)
    return None


def _not_utf8(path: Path, error: UnicodeDecodeError) -> tuple[UserError, int]:
    content = path.read_bytes()
    found = f"byte 0x{content[error.start]:02x}"
    return UserError("encoding", found, "text in UTF-8"), 1 + content[: error.start].count(b"\n")


def _opened(folder: Path, contents: Mapping[str, dict[str, Any] | None], faults: Faults) -> Audit:
    """The audit, entered beside the other papers; under a key of its own where the file gives none that will do."""
    from artifact.interface.added import register_file

    for known in folders.AUDITS.values():
        if known.folder.resolve() == folder.resolve():
            return known
    claims, entry = folder / "claims.toml", (contents["claims.toml"] or {}).get("paper")
    try:
        key = folders.enter(entry if isinstance(entry, dict) else {})
    except UserError as error:
        if contents["claims.toml"] is not None:
            faults.at(claims, error, ("paper", error.field.split(": ")[-1]))
        key = folders.enter({"key": _unknown_key(folder, contents), "title": folder.name or "an audit"})
    audit = folders.add_audit(key, folder)
    if audit.method.is_file():
        with faults.told(audit.method):
            register_file(audit.method)
    return audit


def _unknown_key(folder: Path, contents: Mapping[str, dict[str, Any] | None]) -> str:
    """The key that the other files speak of, so that what is right in them is not told as wrong."""
    text = (folder / "claims.toml").read_text(encoding="utf-8", errors="replace")
    written = re.search(r'^\s*key\s*=\s*"([a-z][a-z0-9]*)"', text, re.M)
    declared = (contents["experiments.toml"] or {}).get("paper", "")
    for key in (written[1] if written else "", declared, "unnamed"):
        if names.fits(key, names.PAPER) and key not in folders.PAPERS:
            return key
    return f"unnamed{len(folders.PAPERS)}"


def _encodings(checked: Checked) -> None:
    for path in checked.files:
        if checked.faults.of(path) or path.suffix == ".py":  # Python has encodings of its own
            continue
        try:
            path.read_bytes().decode()
        except UnicodeDecodeError as error:
            checked.faults.add(path, *_not_utf8(path, error))


# ---- claims ----------------------------------------------------------------------------------------------------------


def _claims(checked: Checked) -> None:
    audit, faults = checked.audit, checked.faults
    if faults.of(audit.claims) and _toml(audit.claims, Faults()) is None:
        return
    try:
        found = list(ledger.entries(audit.claims, audit.key))
    except UserError as error:
        faults.add(audit.claims, error)
        return
    first: dict[str, int] = {}
    for number, claim in enumerate(found):
        if not isinstance(claim, Claim):
            for fault in claim:
                faults.add(audit.claims, fault)
            continue
        line = line_of_entry(audit.claims, ("claim", number, "id"))
        if claim.id in first:
            allowed = f"an id used once, not also in {audit.claims}, line {first[claim.id]}"
            faults.add(audit.claims, UserError("claim id", claim.id, allowed), line)
            continue
        first[claim.id] = line
        checked.claims[number] = claim
        _decidable(checked, claim, line)
    others = {claim.id for claim in ledger.load([paper for paper in folders.PAPERS if paper != audit.key])}
    for name in sorted(others & first.keys()):
        faults.add(audit.claims, UserError("claim id", name, "an id that no other paper has"), first[name])


def _decidable(checked: Checked, claim: Claim, line: int) -> None:
    """A claim that runs decide says what they must show, or why none does."""
    if claim.decided_by == "experiments" and claim.predicate is None and not claim.undecided:
        allowed = f"a [claim.predicate] that says what runs of {claim.id} must show, or `undecided` with the reason"
        checked.faults.add(checked.audit.claims, UserError("predicate", None, allowed), line)


# ---- tables and figures ----------------------------------------------------------------------------------------------


def _experiments(checked: Checked, content: dict[str, Any]) -> None:
    audit, faults = checked.audit, checked.faults
    path = audit.experiments
    for name in content.keys() - set(SECTIONS):
        faults.at(path, errors.unknown(name, content[name], SECTIONS), (name,))
    if content.get("paper") != audit.key:
        faults.at(path, UserError("paper", content.get("paper"), audit.key), ("paper",))
    if not isinstance(content.get("title"), str):
        faults.at(path, UserError("title", content.get("title"), "the paper's name"), ("title",))
    content = content | {"paper": audit.key, "title": ""}
    checked.tables = dict(_declared(checked, content, "table", table_of, Table))
    checked.figures = dict(_declared(checked, content, "figure", figure_of, Figure))
    with faults.told(path):
        Paper(paper=audit.key, title="", table=tuple(checked.tables.values()), figure=tuple(checked.figures.values()))
    for number, table in list(checked.tables.items()):
        _against_in_a_circle(checked, number, table)
        _transcription(checked, number, table)
        _cells(checked, number, table)
    for number, figure in checked.figures.items():
        for index, panel in enumerate(figure.panel):
            _panel(checked, (number, index), figure, panel)


def _declared(checked: Checked, content: Any, name: str, resolve: Any, model: Any) -> Iterator[tuple[int, Any]]:
    """Number and content of the entries ``[[name]]`` that are as the schema has them."""
    path, faults = checked.audit.experiments, checked.faults
    entries = content.get(name, [])
    if not (isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)):
        faults.at(path, UserError(name, type(entries).__name__, f"entries [[{name}]]"), (name,))
        content[name] = []
        return
    for number, entry in enumerate(entries):
        where: tuple[str | int, ...] = (name, number)
        if not isinstance(entry.get("id"), str):
            faults.at(
                path, UserError(f"{name}: id", entry.get("id"), "a short name, such as 1 or fig2"), (*where, "id")
            )
            continue
        try:
            yield number, model(**resolve(content, entry))
        except ValidationError as error:
            for one in errors.faults(error, "", model.model_fields):
                faults.at(path, one, (*where, *_parts(one.field)))
        except UserError as error:
            faults.at(path, error, where)
        except RecursionError:
            allowed = "names that lead to an end; this one comes back to itself"
            faults.at(path, UserError("like", entry.get("like", entry["id"]), allowed), (*where, "like"))
        except Exception as error:  # entries of another kind than the schema's lead to whatever error
            allowed = f"a {name} as the schema has it ({type(error).__name__}: {error})"
            faults.at(path, UserError(name, entry["id"], allowed), where)


def _parts(field: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in field.split(".")]


def _against_in_a_circle(checked: Checked, number: int, table: Table) -> None:
    """A row that is held against another one leads to a row that is held against none."""
    against = {row.label: row.against for row in table.rows}
    for index, row in enumerate(table.rows):
        passed, label = [row.label], row.against
        while label is not None and label not in passed:
            passed.append(label)
            label = against.get(label)
        if label == row.label and index == min(i for i, one in enumerate(table.rows) if one.label in passed):
            allowed = f"rows that are held against an end, not the circle {' -> '.join([*passed, label])}"
            where = ("table", number, "rows", index, "against")
            checked.faults.at(checked.audit.experiments, UserError("against", row.against, allowed), where)


def _cells(checked: Checked, number: int, table: Table) -> None:
    """Every setting of every cell, at every profile, is one that a run can have."""
    if table.given is not None:
        return
    for profile in table.profiles:
        for row in table.rows:
            for column in table.columns:
                values = experiments.settings_of(table, row, column, profile)
                _settings_possible(checked, values, table.profiles[profile].seeds, ())


def _settings_possible(checked: Checked, values: dict[str, Any], seeds: tuple[int, ...], where: Where) -> None:
    """Tell every setting that is not possible: each one is left out before the others are looked at again."""
    values = dict(values)
    while True:
        try:
            _require_personal_names(experiments.seeded(values, seeds)[0])
            return
        except UserError as error:
            if not _told_already(checked.audit, checked.faults, error):
                checked.faults.at(checked.audit.experiments, error, where)
            if error.field == "algorithm" or values.pop(error.field, None) is None:
                return


def _require_personal_names(config: RunConfig) -> None:
    """Raises UserError where ``personal`` names no parameter of the network.

    A data set of ``method.py`` is read later than this, so for a network on such data nothing is said here.
    """
    source = DATASETS[config.dataset]
    if config.personal and source.own is None:
        from artifact.models import networks  # torch comes when a network is built
        from artifact.training.personal import require_names

        model = networks.build(config.model, source.shape, source.classes, config.seed)
        require_names(config.personal, [name for name, _ in model.named_parameters()])


def _told_already(audit: Audit, faults: Faults, error: UserError) -> bool:
    """Whether a name is unknown only because ``method.py``, which would define it, has a fault."""
    if not faults.of(audit.method):
        return False
    named = error.field in ("algorithm", "model", "dataset", "variant")
    return named and str(error.value).lower() in _defined(audit.method)


def _defined(method: Path) -> set[str]:
    """Names under which the classes and functions of a file would be known."""
    text = method.read_text(encoding="utf-8", errors="replace")
    return {name.lower().replace("_", "-") for name in re.findall(r"^(?:class|def) (\w+)", text, re.M)}


# ---- printed numbers -------------------------------------------------------------------------------------------------


def _transcription(checked: Checked, number: int, table: Table) -> None:
    """The table's CSV: its names, its numbers, and one cell for each of its lines."""
    audit, faults = checked.audit, checked.faults
    if table.csv is None:
        return
    try:
        path = inside(audit.tables, table.csv, "csv")
    except UserError as error:
        faults.at(audit.experiments, error, ("table", number, "csv"))
        return
    if not path.is_file():
        there = ", ".join(sorted(one.name for one in audit.tables.glob("*.csv"))) or "no file there yet"
        absent = UserError("csv", table.csv, f"a file of {audit.tables}: {there}")
        faults.at(audit.experiments, absent, ("table", number, "csv"))
        return
    header, lines = _csv(path, faults)
    if table.given is not None or not header:
        return
    if missing := [name for name in _wanted(table) if name not in header]:
        allowed = f"one with {', '.join(_wanted(table))}"
        faults.add(path, UserError("header", ", ".join(header), f"{allowed}; {', '.join(missing)} is missing"), 1)
        return
    for wrong, line in (*numbers(table, lines), *places(table, lines)):
        faults.add(path, wrong, line)


Lines = Sequence[tuple[int, Mapping[str, str]]]


def _csv(path: Path, faults: Faults) -> tuple[list[str], Lines]:
    """The names of a CSV file, and (line, content) of each of its lines that is as long as they are."""
    if faults.of(path):
        return [], []
    reader = csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True)
    names: list[str] = []
    lines = []
    try:
        names = next(reader, [])
        for entries in reader:
            if len(entries) != len(names):
                allowed = f"{len(names)} entries, not {len(entries)}"
                faults.add(path, UserError("csv", ", ".join(entries), allowed), reader.line_num)
            else:
                lines.append((reader.line_num, dict(zip(names, entries, strict=True))))
    except csv.Error as error:
        faults.add(path, UserError("csv", path.name, f"a CSV file ({error})"), reader.line_num)
    if len(set(names)) < len(names) or not names:
        faults.add(path, UserError("header", ", ".join(names), "names that differ"), 1)
        return [], []
    return names, lines


def _wanted(table: Table) -> list[str]:
    """Every name that a row, a column or a metric asks the CSV for."""
    labels = [*(row.printed for row in table.rows), *(column.printed for column in table.columns)]
    names = [name for printed in (*labels, *(m.printed for m in table.metrics)) for name in printed]
    return list(dict.fromkeys(names + [metric.field for metric in table.metrics]))


def numbers(table: Table, lines: Lines) -> Iterator[tuple[UserError, int]]:
    """(fault, line) of printed numbers that cannot be: one is finite, a spread not negative, a share up to 100 %.

    An empty field is a dash of the paper. What is given, not measured, may be any text.
    """
    for metric in table.metrics:
        percent = metric.quantity == "accuracy" and metric.unit == "%" and metric.to is None
        for line, content in lines:
            if metric.quantity == "given" or not experiments.matches(metric.printed, content):
                continue
            for name in dict.fromkeys((metric.field, "std")):
                low, high = 0.0 if percent or name == "std" else -math.inf, 100.0 if percent else math.inf
                if not _possible(text := content.get(name, ""), low, high):
                    yield (
                        UserError(name, text, f"a finite number from {low:g} to {high:g}, or nothing for a dash"),
                        line,
                    )


def _possible(text: str, low: float, high: float) -> bool:
    try:
        return not text or (math.isfinite(float(text)) and low <= float(text) <= high)
    except ValueError:
        return False


def places(table: Table, lines: Lines) -> Iterator[tuple[UserError, int]]:
    """(fault, line) of lines that belong to no cell of the table, and of those whose cell has a line already."""
    first: dict[tuple[str, str, str], int] = {}
    for line, content in lines:
        rows = [row for row in table.rows if row.printed and experiments.matches(row.printed, content)]
        columns = [column for column in table.columns if experiments.matches(column.printed, content)]
        metrics = [metric for metric in table.metrics if experiments.matches(metric.printed, content)]
        cells = [(row, column, metric) for row in rows for column in columns for metric in metrics]
        if not cells:
            shown = ", ".join(f"{name} {text}" for name, text in content.items() if name and text)
            labels, across = (", ".join(one.label for one in part) for part in (table.rows, table.columns))
            allowed = f"a row ({labels}) and a column ({across}) of table {table.id}"
            yield UserError("printed number", shown, allowed), line
        for row, column, metric in cells:
            before = first.setdefault((row.id, column.id, metric.id), line)
            if before != line:
                named = f"{row.label}, {column.label}, {metric.label}"
                yield UserError("printed number", named, f"one line, not also line {before}"), line


# ---- figures ---------------------------------------------------------------------------------------------------------


def _panel(checked: Checked, at: tuple[int, int], figure: Figure, panel: Panel) -> None:
    """A panel's lines, values and sentences; every point of it is a run that can be made."""
    audit, faults = checked.audit, checked.faults
    path, where = audit.experiments, ("figure", at[0], "panel", at[1])
    lines = _lines_of(checked, figure, panel, where)
    if (panel.kind == "sweep" and _sweeps(checked, panel, where)) or (
        panel.of is None and panel.kind in ("curves", "probe")
    ):
        _points(checked, panel, where)
    for sentence in panel.checks:
        with faults.told(path, (*where, "checks")):
            for predicate in parse_sentence(sentence, lines):
                _sentence(panel, sentence, predicate, lines)
    known = _entry_ids(audit.claims)
    for name in figure.claims:
        if name not in known:
            allowed = f"a claim of claims.toml: {', '.join(sorted(known))}"
            faults.at(path, UserError("claims", name, allowed), ("figure", at[0], "claims"))


def _lines_of(checked: Checked, figure: Figure, panel: Panel, where: tuple[str | int, ...]) -> list[str]:
    """Labels of what a panel draws; of a table's column the table's rows."""
    own = [line.label for line in (*panel.rows, *panel.levels)]
    if panel.of is None:
        return own
    path, faults = checked.audit.experiments, checked.faults
    name, _, column = panel.of.partition("/")
    table = next((one for one in checked.tables.values() if one.id == name), None)
    ids = [] if table is None else [one.id for one in table.columns]
    if table is None or column not in ids:
        there = [f"{one.id}/{line.id}" for one in checked.tables.values() for line in one.columns]
        faults.at(path, UserError("of", panel.of, ", ".join(there) or "TABLE/COLUMN"), (*where, "of"))
        return own
    rows = {row.id: row.label for row in table.rows}
    for row in panel.rows:
        if row.id not in rows:
            faults.at(path, UserError("rows", row.id, ", ".join(rows)), (*where, "rows"))
    return own or list(rows.values())


def _sweeps(checked: Checked, panel: Panel, where: tuple[str | int, ...]) -> bool:
    """Whether a sweep names its setting, and values for every profile that it is declared for."""
    path, faults, before = checked.audit.experiments, checked.faults, len(checked.faults)
    if panel.x is None:
        faults.at(path, UserError("x", None, "the setting that the sweep varies"), where)
    values = panel.values
    for profile in panel.profiles:
        own = values.get(profile, ()) if isinstance(values, Mapping) else values
        if not own:
            allowed = f"numbers for every profile of the panel: {', '.join(panel.profiles)}; {profile} has none"
            faults.at(path, UserError("values", None, allowed), (*where, "values"))
    return len(faults) == before


def _points(checked: Checked, panel: Panel, where: tuple[str | int, ...]) -> None:
    for profile in panel.profiles:
        values = panel.values[profile] if isinstance(panel.values, Mapping) else panel.values
        swept: Iterable[dict[str, Any]] = [{str(panel.x): value} for value in values] if panel.kind == "sweep" else [{}]
        for line, own in [(row, own) for row in panel.rows for own in swept] + [(row, {}) for row in panel.levels]:
            values_of = _settings(panel, line, profile) | own
            _settings_possible(checked, values_of, panel.profiles[profile].seeds, where)


def _settings(panel: Panel, row: Line, profile: str) -> dict[str, Any]:
    return {**panel.settings, **row.settings, **panel.profiles[profile].settings, **row.at.get(profile, {})}


def _sentence(panel: Panel, sentence: str, predicate: AnyPredicate, lines: Sequence[str]) -> None:
    """Raises UserError for a sentence of a line that the panel does not draw, or of a value that it does not take."""
    named = _flat(predicate.pairs) if isinstance(predicate, Difference) else predicate.within
    for label in named:
        if label not in lines:
            raise UserError("checks", sentence, f"one of the lines that the panel draws: {', '.join(lines)}")
    at = [predicate.level] if isinstance(predicate, Trend) and predicate.level else []
    at += [text for text in predicate.within if isinstance(predicate, Difference) and not text.startswith("from ")]
    for profile, values in _values(panel).items():
        for text in at:
            if text not in POINTS and not _among(text, values):
                allowed = f"one at a value that the panel takes at the profile {profile}: {_listed(values)}"
                raise UserError("checks", sentence, allowed)


def _values(panel: Panel) -> dict[str, tuple[float, ...]]:
    """Profile -> values of a sweep; nothing for a panel whose axis is not declared."""
    if panel.kind != "sweep":
        return {}
    values = panel.values
    return {name: values.get(name, ()) if isinstance(values, Mapping) else values for name in panel.profiles}


def _among(text: str, values: Iterable[float]) -> bool:
    try:
        return any(math.isclose(float(text), value, rel_tol=1e-5) for value in values)
    except ValueError:
        return False


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


# ---- predicates ------------------------------------------------------------------------------------------------------


def _predicates(checked: Checked) -> None:
    """Every table, row, column, metric, panel, line and level that a claim's predicate names is declared."""
    for number, claim in checked.claims.items():
        predicate = claim.predicate
        if predicate is None:
            continue
        where = ("claim", number, "predicate")
        for name in (predicate.table, *predicate.also):
            if name.split("/")[0] != checked.audit.key:
                _elsewhere(checked, name, predicate, where)
            elif predicate.of_figure:
                _of_figure(checked, name, predicate, where)
            else:
                _of_table(checked, name, predicate, where)


Where = tuple[str | int, ...]


def _elsewhere(checked: Checked, name: str, predicate: AnyPredicate, where: Where) -> None:
    """Tell a predicate that names another paper's table where that paper has no such table."""
    with checked.faults.told(checked.audit.claims, (*where, "table")):
        if not predicate.of_figure:
            experiments.find(name)


def _of_table(checked: Checked, name: str, predicate: AnyPredicate, where: Where) -> None:
    faults, path = checked.faults, checked.audit.claims
    table = next((one for one in checked.tables.values() if name == f"{one.paper}/{one.id}"), None)
    if table is None:
        if name.split("/")[1] not in _entry_ids(checked.audit.experiments):  # whose own fault is told already
            there = (
                ", ".join(f"{one.paper}/{one.id}" for one in checked.tables.values()) or "a table of experiments.toml"
            )
            faults.at(path, UserError("table", name, there), (*where, "table"))
        return
    _profiles(checked, predicate, table.profiles, where)
    rows, columns = (_ids(part) for part in (table.rows, table.columns))
    across, along = (columns, rows) if predicate.along == "rows" else (rows, columns)
    kinds = ("row", "column") if predicate.along == "rows" else ("column", "row")
    for name_of, texts in _texts(predicate):
        known = {"metrics": _ids(table.metrics), "within": across, "lead": across}.get(name_of, along)
        seen: dict[str, str] = {}
        for text in texts:
            if text not in known:
                told = ", ".join(dict.fromkeys(known.values()))
                faults.at(path, UserError(name_of, text, told), (*where, name_of))
            elif name_of == "order" and seen.setdefault(known[text], text) != text:
                told = f"another {kinds[0]} than {seen[known[text]]}"
                faults.at(path, UserError(name_of, text, told), (*where, name_of))


def _ids(lines: Iterable[Any]) -> dict[str, str]:
    """Id and label -> label of the lines of a table."""
    found = {one.id: one.label or one.id for one in lines}
    return found | {label: label for label in found.values()}


def _profiles(checked: Checked, predicate: AnyPredicate, declared: Mapping[str, Profile], where: Where) -> None:
    """A predicate that no profile of its table can decide would be not-run for good."""
    shared = [name for name in predicate.profiles if name in declared]
    if not shared:
        allowed = f"one at least of the profiles of {predicate.table}: {', '.join(declared)}"
        error = UserError("profiles", ", ".join(predicate.profiles), allowed)
        checked.faults.at(checked.audit.claims, error, (*where, "profiles"))
    held = [name for name in shared if name == PROFILE] or shared
    for name in held:
        if len(seeds := declared[name].seeds) < FEWEST_SEEDS:
            allowed = f"{FEWEST_SEEDS} seeds at least at the profile {name}, for a claim about {predicate.table}"
            checked.faults.at(checked.audit.experiments, UserError("seeds", list(seeds), allowed))


def _of_figure(checked: Checked, name: str, predicate: AnyPredicate, where: Where) -> None:
    faults, path = checked.faults, checked.audit.claims
    _, wanted, *part = name.split("/")
    figure = next((one for one in checked.figures.values() if one.id == wanted), None)
    panels = [] if figure is None else [one for one in figure.panel if part in ([], [one.id])]
    if not panels:
        if figure is not None or wanted not in _entry_ids(checked.audit.experiments):
            known = [f"{one.paper}/{one.id}/{panel.id}" for one in checked.figures.values() for panel in one.panel]
            faults.at(
                path, UserError("table", name, ", ".join(known) or "a figure of experiments.toml"), (*where, "table")
            )
        return
    assert figure is not None
    _profiles(checked, predicate, {k: v for one in panels for k, v in _declared_at(checked, one).items()}, where)
    labels = {label for panel in panels for label in _labels(checked, panel)}
    for name_of, texts in _texts(predicate):
        of_axis = (name_of in ("within", "lead")) == (predicate.along == "rows")
        for text in texts:
            if (
                name_of == "metrics"
                or (of_axis and _is_point(panels, predicate, text))
                or (not of_axis and text in labels)
            ):
                continue
            values = {value for panel in panels for own in _values(panel).values() for value in own}
            points = f"{_listed(sorted(values)) or 'a round'}, {', '.join(POINTS)}"
            told = points if of_axis else ", ".join(sorted(labels))
            faults.at(path, UserError(name_of, text, told), (*where, name_of))


def _declared_at(checked: Checked, panel: Panel) -> Mapping[str, Profile]:
    if panel.of is None:
        return panel.profiles
    name = panel.of.split("/")[0]
    return next((one.profiles for one in checked.tables.values() if one.id == name), {})


def _labels(checked: Checked, panel: Panel) -> list[str]:
    own = [line.label for line in (*panel.rows, *panel.levels)]
    if own or panel.of is None:
        return own
    name = panel.of.split("/")[0]
    return [row.label for table in checked.tables.values() if table.id == name for row in table.rows]


def _is_point(panels: Iterable[Panel], predicate: AnyPredicate, text: str) -> bool:
    """Whether a panel has a point of that name, at every profile where both predicate and panel mean something."""
    if text in POINTS:
        return True
    for panel in panels:
        values = [own for name, own in _values(panel).items() if name in predicate.profiles]
        swept = bool(values) and all(_among(text, own) for own in values)
        if swept or (panel.kind != "sweep" and re.fullmatch(r"\d+(\.\d+)?", text)):
            return True
    return False


def _texts(predicate: AnyPredicate) -> Iterator[tuple[str, list[str]]]:
    """Field -> the labels that it names."""
    for name in ("within", "metrics", "order", "pairs", "labels", "level", "lead"):
        if texts := [text for text in _flat(getattr(predicate, name, None) or ()) if text]:
            yield name, texts


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        for one in value:
            yield from _flat(one)


# ---- formulas --------------------------------------------------------------------------------------------------------


def _formulas(checked: Checked, contents: Mapping[str, dict[str, Any] | None]) -> None:
    """The renderer can show every formula of every text; it would show some others wrongly and without a word."""
    try:
        from artifact.report.mathematics import faults as faults_of_formulas
    except ImportError as error:
        print(f"formulas are not checked: {how_to_install(error) or error}", file=sys.stderr)
        return
    for name, content in contents.items():
        path = checked.audit.folder / name
        for where, text in _all_texts(content, ()) if content else ():
            for tex, reason in faults_of_formulas(text):
                start = line_of_entry(path, where)
                lines = path.read_text(encoding="utf-8").splitlines()[start - 1 :]
                first = tex.split("\n")[0]
                line = next((number for number, one in enumerate(lines, start) if first in one), start)
                said = f"TeX that the report can show, between two dollar signs ({reason})"
                checked.faults.add(path, UserError(str(where[-1]), tex, said), line)


def _all_texts(value: Any, where: Where) -> Iterator[tuple[Where, str]]:
    """Every text of a TOML content, with the keys and numbers that lead to it."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _all_texts(one, (*where, name))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _all_texts(one, (*where, number))


# ---- the method ------------------------------------------------------------------------------------------------------


def _method(checked: Checked) -> None:
    """Each method of the file, and each of its switches, trains two clients for a round without an error."""
    audit, faults = checked.audit, checked.faults
    if not audit.method.is_file() or faults.of(audit.method):
        return
    declared: dict[str, dict[str, Any]] = {}
    for table in checked.tables.values():
        for row in table.rows:
            name = row.settings.get("algorithm", table.settings.get("algorithm"))
            declared.setdefault(str(name), dict(row.settings))
    for error, line in trial.faults(audit.method, declared):
        faults.add(audit.method, error, line)
    own = methods_of(audit.method)
    entry = checked.paper.get("steps")
    for name in entry if isinstance(entry, dict) else ():
        if name not in own:
            allowed = f"a method of method.py: {', '.join(own)}"
            faults.at(audit.claims, UserError("paper: steps", name, allowed), ("paper", "steps", name))


# ---- statements ------------------------------------------------------------------------------------------------------


def _statements(checked: Checked) -> None:
    """``statements.py`` imports, has one check for each claim that checks decide, and each returns a verdict."""
    audit, faults = checked.audit, checked.faults
    broken = any(one.file == audit.claims and one.error.field in ("TOML", "encoding") for one in faults.found)
    wanted = {claim.id: number for number, claim in checked.claims.items() if claim.decided_by == "checks"}
    runner = registered("checks")
    if error := runner.import_theory([audit.key]).get(audit.key):
        faults.add(
            audit.statements, UserError("statements", audit.statements.name, f"a Python file that runs: {error}")
        )
        return
    lines = runner.registered_in(audit.statements) if audit.statements.is_file() else {}
    entries = _entry_ids(audit.claims)
    for name, line in lines.items():
        if name not in wanted and name not in entries and not broken:
            allowed = f"a claim that checks decide: {', '.join(wanted) or 'none'}"
            faults.add(audit.statements, UserError("check", name, allowed), line)
    misspelt = any(one.error.field == "check" for one in faults.found)
    for name, number in wanted.items():
        if name not in lines and not misspelt:
            allowed = f'@check("{name}") in {audit.statements}, or decided_by'
            line = line_of_entry(audit.claims, ("claim", number, "id"))
            faults.add(audit.claims, UserError("check", name, allowed), line)
    for name in [name for name in lines if name in entries]:
        verdict, error, line = runner.tried(name)
        if error is not None and not _of_the_method(audit, faults, error):
            faults.add(audit.statements, error, line or lines[name])
        declared = set(runner.mutations([name]).values())
        if name in wanted and declared == {verdict} == {checked.claims[wanted[name]].expected}:
            allowed = f"one at least that changes the verdict {verdict}"
            faults.add(audit.statements, UserError("mutations", name, allowed), lines[name])


def _of_the_method(audit: Audit, faults: Faults, error: UserError) -> bool:
    """Whether a check fails only because ``method.py``, whose methods it runs, has a fault."""
    return faults.of(audit.method) and any(f"'{name}'" in error.allowed for name in _defined(audit.method))


def _entry_ids(path: Path) -> set[str]:
    """Ids that a file gives to its entries, also to those that have another fault."""
    if not path.is_file():
        return set()
    text = path.read_text(encoding="utf-8", errors="replace")
    return set(re.findall(r"""^\s*id\s*=\s*["']([^"']+)["']""", text, re.M))
