"""What an author publishes beside an audit: what it is about, a workflow that runs it, a lock, how to cite it."""

from __future__ import annotations

import datetime
import json
import re
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from artifact import __version__
from artifact.base import errors
from artifact.base.errors import UserError
from artifact.base.files import write_atomic
from artifact.papers.declared import read_toml

Line = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f]+$")]
Address = Annotated[str, Field(pattern=r"^https?://[^\s\"<>]+$")]
#: extras of fedsharp that an audit's checks, tables and page need
EXTRAS = ("theory", "results", "report")
TEMPLATES = Path(__file__).resolve().parent / "publication"


class Publication(BaseModel):
    """What ``[paper]`` of ``claims.toml`` says of the paper itself; all of it may be left out.

    authors: names as the paper prints them.  doi: without an address, as 10.1000/182.  arxiv: number, as 2511.22080.
    code, commit: the published code that the audit speaks of.  licence: of that code.
    requires: versions of fedsharp that decide the audit, as ``>=0.2`` or ``==0.2.0``.
    steps: name of a method of ``method.py`` -> what it does, a sentence a step, with formulas between dollars.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    authors: tuple[Line, ...] = ()
    doi: Annotated[str, Field(pattern=r"^10\.\d{4,9}/[^\s\"<>]+$")] | None = None
    arxiv: Annotated[str, Field(pattern=r"^(\d{4}\.\d{4,5}|[a-z-]+(\.[A-Z]{2})?/\d{7})(v\d+)?$")] | None = None
    code: Address | None = None
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")] | None = None
    licence: Line | None = None
    requires: Annotated[str, Field(pattern=r"^(>=|==)\d+(\.\d+)*$")] | None = None
    steps: dict[str, tuple[Line, ...]] = {}

    @property
    def address(self) -> str:
        """Where the paper is: of its DOI, else of its arXiv number; empty where neither is given."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""


def faults(entry: dict[str, Any]) -> list[UserError]:
    """What is wrong with the fields of ``[paper]`` that name the paper, and with the version that it asks for."""
    known = ("key", "title", "models", "smallest", *Publication.model_fields)
    found = [errors.unknown(f"paper: {name}", entry[name], known) for name in entry if name not in known]
    try:
        asked = Publication.model_validate(entry)
    except ValidationError as error:
        return found + errors.faults(error, "paper: ")
    if asked.commit and not asked.code:
        found.append(UserError("paper: code", None, "the address of the code whose commit is named"))
    if asked.requires and not _fits(asked.requires, __version__):
        found.append(UserError("paper: requires", asked.requires, f"a version that this fedsharp, {__version__}, fits"))
    return found


def _fits(wanted: str, version: str) -> bool:
    """
    >>> _fits(">=0.2", "0.10.0"), _fits("==0.2.0", "0.3.0")
    (True, False)
    """
    first, own = ([int(part) for part in re.findall(r"\d+", text)] for text in (wanted, version))
    return own[: len(first)] == first if wanted.startswith("==") else own >= first


def read(folder: Path) -> tuple[str, str, Publication]:
    """Key, title and publication of an audit's folder. Raises UserError for ``[paper]`` without what it needs."""
    entry = read_toml(folder / "claims.toml", "claims").get("paper")
    if not isinstance(entry, dict) or not isinstance(entry.get("title"), str) or not isinstance(entry.get("key"), str):
        raise UserError("paper", str(folder / "claims.toml"), "an entry [paper] with key and title")
    if found := faults(entry):
        raise found[0]
    return entry["key"], entry["title"], Publication.model_validate(entry)


# ---- the files -------------------------------------------------------------------------------------------------------


def publish(folder: Path) -> list[Path]:
    """Add what a repository of the audit needs; the files written. A file that is there already stays as it is."""
    key, title, about = read(folder)
    wanted = {
        ".github/workflows/audit.yml": _text("audit.yml"),
        "requirements.txt": lock(),
        "CITATION.cff": citation(key, title, about),
        "LICENSE": _text("LICENSE").replace("YEAR", str(datetime.date.today().year)),
        "codecheck.yml": codecheck(folder, title, about),
        ".gitignore": "__pycache__/\nout/\nsite/\n",
    }
    written = []
    for name, text in wanted.items():
        if not (path := folder / name).exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, text)
            written.append(path)
    readme = folder / "README.md"
    said = readme.read_text(encoding="utf-8") if readme.is_file() else f"# {title}\n"
    if BADGES not in said:
        said = re.sub(r"python -m fedsharp audit run .*", "fedsharp audit run .", said)
        head, _, rest = said.partition("\n")
        write_atomic(readme, f"{head}\n\n{BADGES}\n{rest}")
        written.append(readme)
    return written


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


_RUNS = "../../actions/workflows/audit.yml"
BADGES = (
    f"[![audit]({_RUNS}/badge.svg)]({_RUNS}) "
    f"[![fedsharp {__version__}](https://img.shields.io/badge/fedsharp-{__version__}-blue)](requirements.txt)"
)


def lock() -> str:
    """Lines ``name==version`` for pip: fedsharp and every library that it needs, as installed here."""
    pinned: dict[str, str] = {}
    queue: list[tuple[str, tuple[str, ...]]] = [("fedsharp", EXTRAS)]
    while queue:
        name, extras = queue.pop()
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain in pinned:
            continue
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of another platform, or an extra that is not installed
            continue
        pinned[plain] = __version__ if plain == "fedsharp" else found.version.split("+")[0]
        queue += [(needed, ()) for needed in _needed(found.requires or (), extras)]
    pinned.pop("fedsharp", None)
    lines = [f"fedsharp[{','.join(EXTRAS)}]=={__version__}", *(f"{name}=={pinned[name]}" for name in sorted(pinned))]
    return "\n".join(lines) + "\n"


def _needed(requirements: list[str] | tuple[()], extras: tuple[str, ...]) -> list[str]:
    """Names of the requirements that no marker leaves out, other than one of the wanted extras."""
    names = []
    for one in requirements:
        asked = re.search(r"extra\s*==\s*[\"']([^\"']+)", one)
        if asked is None or asked[1] in extras:
            names.append(re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0])
    return names


def citation(key: str, title: str, about: Publication) -> str:
    """``CITATION.cff`` of the audit, with the paper as its reference. Texts in JSON's quotes are texts of YAML."""
    lines = [
        "cff-version: 1.2.0",
        'message: "Cite the paper, and this audit where you use its verdicts."',
        f"title: {_quoted(f'Audit of {title}')}",
        "type: software",
        'authors: [{name: "The authors of this audit"}]',
        "license: MIT",
        f"keywords: [{_quoted(key)}, fedsharp, replication]",
        "references:",
        "  - type: article",
        f"    title: {_quoted(title)}",
        f"    authors: [{', '.join(f'{{name: {_quoted(name)}}}' for name in about.authors or ('unknown',))}]",
    ]
    lines += [f"    doi: {_quoted(about.doi)}"] if about.doi else []
    lines += [f"    url: {_quoted(about.address)}"] if about.address else []
    lines += [f"    repository-code: {_quoted(about.code)}"] if about.code else []
    return "\n".join(lines) + "\n"


def codecheck(folder: Path, title: str, about: Publication) -> str:
    """``codecheck.yml``: what a codechecker is to reproduce; name, date and report are the codechecker's to fill in."""
    lines = [
        "---",
        "version: https://codecheck.org.uk/spec/config/1.0/",
        "paper:",
        f"  title: {_quoted(title)}",
        "  authors:",
        *(f"    - name: {_quoted(name)}" for name in about.authors or ("unknown",)),
        f"  reference: {_quoted(about.address)}",
        "manifest:",
        '  - file: site/index.html\n    comment: "every claim with its verdict, from `fedsharp audit report .`"',
        *(
            f"  - file: {_quoted(f'tables/{path.name}')}\n    comment: {_quoted('printed numbers, as transcribed')}"
            for path in sorted((folder / "tables").glob("*.csv"))
        ),
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str | None) -> str:
    return json.dumps(text or "", ensure_ascii=False)
