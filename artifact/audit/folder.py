"""The files of an audit as ``audit init`` writes them, and where a claim stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from artifact.audit.publication import Publication
from artifact.base import names
from artifact.base.errors import UserError
from artifact.papers.folders import PAPERS, Audit, line_of_entry
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
    paper |= Publication.model_json_schema()["properties"]
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


def line_of_claim(audit: Audit, claims: tuple[Claim, ...], id: str, field: str = "id") -> str:
    """``FILE, line N`` of a claim's field."""
    number = [claim.id for claim in claims].index(id)
    return f"{audit.claims}, line {line_of_entry(audit.claims, ('claim', number, field))}"
