"""Which papers there are, and where the files of each lie.

``claims/papers.toml`` names the papers of the ledger. An audit is a folder elsewhere with one paper more
(``fedsharp audit init`` writes one); ``open_audit`` enters it beside them, and everything that lists papers goes on
from there. The lists below grow then, so other modules hold them and no copies.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifact.base import names, paths
from artifact.base.errors import UserError
from artifact.base.files import inside
from artifact.papers.declared import read_toml
from artifact.runs.evidence import SUFFIX


@dataclass(frozen=True)
class Audit:
    """A paper in a folder of its own. folder: with ``claims.toml`` and what else belongs to the paper."""

    key: str
    folder: Path

    @property
    def claims(self) -> Path:
        return self.folder / "claims.toml"

    @property
    def entry(self) -> dict[str, Any]:
        """The fields of ``[paper]`` in ``claims.toml``, such as ``authors``, ``code``, ``commit`` and ``steps``."""
        return dict(read_toml(self.claims, "claims").get("paper", {}))

    @property
    def experiments(self) -> Path:
        return self.folder / "experiments.toml"

    @property
    def tables(self) -> Path:
        """Folder of the transcribed tables."""
        return self.folder / "tables"

    @property
    def results(self) -> Path:
        """Store of its runs, with the evidence of its checks in ``checks``."""
        return self.folder / "results"

    @property
    def statements(self) -> Path:
        """Checks of its statements, registered with ``theory.kit``."""
        return self.folder / "statements.py"

    @property
    def method(self) -> Path:
        """The file with the audit's methods, networks and data sets."""
        return self.folder / "method.py"


#: keys in the order in which papers are shown; key -> title; key -> audit; ``KEY/TABLE`` -> smallest effect of interest
PAPERS: list[str] = []
TITLES: dict[str, str] = {}
AUDITS: dict[str, Audit] = {}
SMALLEST: dict[str, float] = {}
#: network -> papers that use it
USED_BY: dict[str, list[str]] = {}
#: what may be written otherwise in a TOML file without another meaning
BLANK = re.compile(r"[\s\"']")


def enter(entry: Mapping[str, Any]) -> str:
    """Add a paper to the lists; its key. Raises UserError for an entry without key or title, or with a known key."""
    key, title = entry.get("key"), entry.get("title")
    if not names.fits(key, names.PAPER) or key in PAPERS:
        known = f", none of {', '.join(PAPERS)}" if PAPERS else ""
        raise UserError("paper: key", key, f"{names.WORDS[names.PAPER]}, such as author2025{known}")
    if not isinstance(title, str) or not title.strip():
        raise UserError("paper: title", title, "the paper's name, such as FedX (Author et al., VENUE 2025)")
    models, smallest = entry.get("models", []), entry.get("smallest", {})
    if not (isinstance(models, list) and all(isinstance(name, str) for name in models)):
        raise UserError("paper: models", models, "names of networks")
    if not (isinstance(smallest, dict) and all(type(value) in (int, float) for value in smallest.values())):
        raise UserError("paper: smallest", smallest, "tables, each with its smallest effect of interest")
    for name in models:
        USED_BY.setdefault(name, []).append(key)
    SMALLEST.update({f"{key}/{table}": float(value) for table, value in smallest.items()})
    PAPERS.append(key)
    TITLES[key] = title
    return key


def files() -> tuple[str, ...]:
    """Files of open audits that a process registers before it trains their runs."""
    return tuple(str(audit.method) for audit in AUDITS.values() if audit.method.is_file())


def claims_file(paper: str, folder: Path = paths.CLAIMS) -> Path:
    """The ledger's file of a paper. folder: of the papers that are no audits."""
    return AUDITS[paper].claims if paper in AUDITS else folder / f"{paper}.toml"


def experiments_files(folder: Path = paths.EXPERIMENTS) -> dict[str, Path]:
    """Key -> file of everything that declares tables or figures."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".toml")) if folder.is_dir() else []
    found = {name.removesuffix(".toml"): folder / name for name in names}
    return found | {key: audit.experiments for key, audit in AUDITS.items() if audit.experiments.is_file()}


def tables_folder(paper: str, folder: Path = paths.PRINTED) -> Path:
    """Where the paper's transcribed tables are."""
    return AUDITS[paper].tables if paper in AUDITS else folder


def evidence_file(paper: str, results: Path) -> Path:
    """The file with the evidence of the paper's checks. results: store of the papers that are no audits."""
    return (AUDITS[paper].results if paper in AUDITS else results) / "checks" / f"{paper}{SUFFIX}"


def option(paper: str) -> str:
    """What a command takes beside the paper's name, with a space before; empty for a paper of the ledger."""
    return f" --audit {shlex.quote(str(AUDITS[paper].folder))}" if paper in AUDITS else ""


def named(paper: str, table: str) -> str:
    """What names a table or figure on a command line."""
    return f"{paper}/{table}{option(paper)}"


def checked_by(paper: str, claim: str) -> str:
    """The command that decides a claim again."""
    return (
        f"python -m fedsharp audit run {AUDITS[paper].folder}"
        if paper in AUDITS
        else f"python -m checks --claim {claim}"
    )


def open_audit(folder: Path) -> Audit:
    """Enter the paper of a folder, with its methods, networks, data sets and runs; one that is open stays as it is.

    Raises UserError, with file and line, for a folder without ``claims.toml`` and for what cannot be entered.
    """
    from artifact.interface.added import register_file

    folder = Path(folder)
    for audit in AUDITS.values():
        if os.path.realpath(audit.folder) == os.path.realpath(folder):
            return audit
    require_audit(folder)
    content = read_toml(folder / "claims.toml", "claims")
    entry = content.get("paper")
    try:
        key = enter(entry if isinstance(entry, dict) else {})
    except UserError as error:
        raise located(error, folder / "claims.toml", ("paper", error.field.split(": ")[-1])) from None
    audit = add_audit(key, folder)
    if audit.method.is_file():
        register_file(audit.method)
    return audit


def require_audit(folder: Path) -> None:
    """Raises UserError for a folder without ``claims.toml``, or whose files are links that lead out of it."""
    if not (folder / "claims.toml").is_file():
        allowed = "a folder with claims.toml, such as `python -m fedsharp audit init FOLDER` writes"
        raise UserError("audit", str(folder), allowed)
    for name in ("claims.toml", "experiments.toml", "statements.py", "method.py", "tables", "results/checks"):
        inside(folder, name, "audit")


def add_audit(key: str, folder: Path) -> Audit:
    """The audit of a paper that has been entered under the key; commands find its runs from now on."""
    from artifact.runs import lookup

    audit = AUDITS[key] = Audit(key, folder)
    lookup.ALSO.append(audit.results)
    return audit


# ---- where in a file -------------------------------------------------------------------------------------------------


def located(error: UserError, path: Path, where: tuple[str | int, ...]) -> UserError:
    """The error with file and line of a TOML entry.

    where: keys, and numbers of entries of ``[[key]]``, from outside.
    """
    return UserError(error.field, error.value, f"{error.allowed} ({path}, line {line_of_entry(path, where)})")


def at_setting(error: UserError, path: Path) -> UserError:
    """The error with the first line that gives the field this value; where none does, with the file alone."""
    value = str(error.value).lower() if isinstance(error.value, bool) else str(error.value)
    wanted = re.compile(rf"\b{re.escape(re.sub(BLANK, '', f'{error.field}={value}'))}(?![\w.])")
    lines = path.read_text(encoding="utf-8").splitlines()
    found = next((number for number, line in enumerate(lines, 1) if wanted.search(re.sub(BLANK, "", line))), None)
    place = f"{path}, line {found}" if found else str(path)
    return UserError(error.field, error.value, f"{error.allowed} ({place})")


def line_of_entry(path: Path, where: tuple[str | int, ...]) -> int:
    """The line of the innermost part of an entry that has a line of its own, 1 where none has.

    >>> line_of_entry(Path("claims.toml"), ("claim", 0, "title"))  # doctest: +SKIP
    12
    """
    best, depth = 1, 0
    here: list[str | int] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if header := re.match(r"\s*\[(\[?)([^\[\]]+)\]", line):
            names: list[str | int] = [part.strip().strip("\"'") for part in header[2].split(".")]
            full = ".".join(map(str, names))
            if header[1]:
                counts[full] = counts.get(full, -1) + 1
                for inner in [name for name in counts if name.startswith(f"{full}.")]:
                    del counts[inner]
            here = []
            for end in range(len(names)):
                here.append(names[end])
                if (prefix := ".".join(map(str, names[: end + 1]))) in counts:
                    here.append(counts[prefix])
            found = here
        elif entry := re.match(r"\s*([\w.\"-]+)\s*=", line):
            found = [*here, *entry[1].replace('"', "").split(".")]
        else:
            continue
        shared = next((i for i, (a, b) in enumerate(zip(found, where, strict=False)) if a != b), None)
        if shared is None and depth < len(found) <= len(where):
            best, depth = number, len(found)
    return best


def _enter_all(path: Path) -> None:
    """Enter the papers of the project. Raises UserError, with the file, where it is not as ``enter`` wants."""
    entries = read_toml(path, "papers").get("paper")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError("papers", str(path), "entries [[paper]]")
    for entry in entries:
        enter(entry)


_enter_all(paths.CLAIMS / "papers.toml")
