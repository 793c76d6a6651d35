"""The claims ledger: one TOML file per paper, one ``[[claim]]`` per statement, read and validated.

A claim is data, written by hand and never computed. Its verdict comes from ``python -m checks`` (theory and arithmetic)
or from the experiments (``decided_by = "experiments"``); ``expected`` is the verdict that the checker is held to. A
claim that the checks decide from the printed numbers can carry a predicate too: then the stored runs give an empirical
verdict beside the first one.
"""

from __future__ import annotations

import csv
import difflib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from artifact.base import paths
from artifact.base.errors import UserError, faults
from artifact.base.names import ClaimId, PaperKey
from artifact.papers.declared import read_toml
from artifact.papers.folders import PAPERS, TITLES, claims_file, line_of_entry, located
from artifact.statements.predicates import AnyPredicate, parse
from artifact.verdicts.lookup import reader

__all__ = ["PAPERS", "TITLES", "Claim", "judged", "load", "select"]

FOLDER = paths.CLAIMS
Kind = Literal["algorithm", "assumption", "figure", "identity", "lemma", "proposition", "table", "text", "theorem"]
Empirical = Literal[
    "reproduced",
    "seen",
    "mostly-seen",
    "no-difference",
    "undecided",
    "reversed",
    "contradicted",
    "untuned",
    "not-run",
]
Decided = Literal["proved", "holds", "agrees", "refuted", "repaired", "vacuous", "consistent", "inconsistent"]
Weight = Literal["conclusion", "proof", "constant", "slip", "reading"]
Fit = Literal["same", "narrower", "wider", "another"]
#: what a refuted claim changes in its paper, from the largest to the smallest
WEIGHTS: tuple[str, ...] = get_args(Weight)
KINDS: tuple[str, ...] = get_args(Kind)
#: what the stored runs can say of a claim, and what they or a check can
EMPIRICAL: tuple[str, ...] = get_args(Empirical)
VERDICTS: tuple[str, ...] = (*get_args(Decided), *EMPIRICAL)
#: what a check says of a claim; one that trains toy problems for it, or decides nothing, has no word of the runs
ON_PAPER: tuple[str, ...] = (*get_args(Decided), "on-toy-data", "not-decided")
Text = Annotated[str, Field(min_length=1)]
#: fields of a claim that its entry does not hold: the file's name says the paper, the protocol what is judged later
_ELSEWHERE = {"paper", "judged", "weight", "weight_why", "fit"}


@dataclass(frozen=True, config=ConfigDict(extra="forbid", str_strip_whitespace=True))
class Claim:
    """One statement of a paper.

    id: unique over all papers. paper: stem of its file. location: section, equation, table or figure.
    statement: self-contained, TeX. how_to_check: what would decide it.
    expected: verdict that CI expects ("" while unchecked). note: where the entry was corrected against the paper's
    text. predicate: what the stored runs must show. judged: what the protocol's runs must show, once they are there.
    undecided: why no run of this project decides it. reading: no paper contains the sentence, the ledger asks it of the
    paper's numbers; such verdicts are counted apart. refutes: "proof" where the counterexample takes values that the
    proof allows and the algorithm does not produce, so that the statement may hold for the algorithm. cannot_hold_for:
    of an assumption that is contested, the instances that break it; an assumption is not wrong.
    weight: of a claim that is refuted or repaired, what changes in the paper; weight_why: the same in a sentence. fit:
    of a claim that runs decide, whether the predicate asks what the paper's sentence says. Weight and fit were read
    twice, and a third time where the two differ (claims/weights.csv, claims/sentences.csv). Where a predicate was
    mended afterwards, the column ``now`` counts.
    """

    id: ClaimId
    paper: PaperKey
    location: Text
    kind: Kind
    title: Text
    statement: Text
    how_to_check: Text
    needs: Literal["cpu-toy", "cpu-real", "gpu"]
    difficulty: Literal["easy", "medium", "hard"] = "medium"
    expected: Literal["", Decided, Empirical] = ""
    decided_by: Literal["checks", "experiments"] = "checks"
    note: str = ""
    predicate: AnyPredicate | None = None
    judged: AnyPredicate | None = None
    undecided: str = ""
    reading: bool = False
    refutes: Literal["statement", "proof"] = "statement"
    cannot_hold_for: str = ""
    weight: Literal["", Weight] = ""
    weight_why: str = ""
    fit: Literal["", Fit] = ""

    def __post_init__(self) -> None:
        if self.empirical and self.expected_empirical not in EMPIRICAL:
            raise UserError(f"claim {self.id}: expected", self.expected_empirical, ", ".join(EMPIRICAL))

    @property
    def empirical(self) -> bool:
        """Whether the stored runs have a say."""
        return self.decided_by == "experiments" or self.predicate is not None

    def on_paper(self, verdict: str) -> str:
        """The check's verdict as one of ``ON_PAPER``; empty where no check has a say."""
        if self.decided_by != "checks":
            return ""
        return verdict if verdict not in EMPIRICAL else "not-decided" if verdict == "not-run" else "on-toy-data"

    @property
    def expected_empirical(self) -> str:
        """Verdict that the committed store gives: of the claim itself, or beside the one that the checks give."""
        if self.decided_by == "experiments":
            return self.expected
        return self.predicate.expected if self.predicate else ""


def load(papers: Sequence[str] = PAPERS, folder: Path = FOLDER) -> tuple[Claim, ...]:
    """Claims of the papers in ledger order. Raises UserError for a bad file, an unknown field or a repeated id."""
    later = judged(folder / "protocol.toml") if (folder / "protocol.toml").is_file() else {}
    read = (claim for paper in papers for claim in _read(claims_file(paper, folder), paper))
    weights = _readings(folder / "weights.csv")
    fits = _readings(folder / "sentences.csv")
    claims = tuple(
        replace(
            claim,
            judged=later.get(claim.id),
            weight=weights.get(claim.id, {}).get("decided", ""),
            weight_why=weights.get(claim.id, {}).get("reason", ""),
            fit=fit.get("now") or fit.get("decided", ""),
        )
        for claim in read
        for fit in [fits.get(claim.id, {})]
    )
    seen: dict[str, Claim] = {}
    for claim in claims:
        if claim.id in seen:
            first, second = (_place(one, claims, claims_file(one.paper, folder)) for one in (seen[claim.id], claim))
            raise UserError("claim id", claim.id, f"an id used once, not also in {first} ({second})")
        seen[claim.id] = claim
    return claims


def _readings(path: Path) -> dict[str, dict[str, Any]]:
    """Claim id -> its row: what its readings decided and why; nothing without such a file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["claim"]: row for row in csv.DictReader(file)}


def _place(claim: Claim, claims: Iterable[Claim], path: Path) -> str:
    """File and line of one of the claims."""
    number = next(i for i, one in enumerate(c for c in claims if c.paper == claim.paper) if one is claim)
    return f"{path}, line {line_of_entry(path, ('claim', number, 'id'))}"


def judged(path: Path = FOLDER / "protocol.toml") -> dict[str, AnyPredicate]:
    """Claim id -> the predicate that the protocol's runs decide it by, written before any of them.

    Raises UserError for an entry without a claim or a predicate, a claim named twice, or a predicate that is none.
    """
    found: dict[str, AnyPredicate] = {}
    for entry in _content(path).get("judged", []):
        if set(entry) != {"claim", "predicate"} or entry["claim"] in found:
            raise UserError(f"{path.name}: judged", entry.get("claim"), "a claim and its predicate, each claim once")
        found[entry["claim"]] = parse(entry["predicate"], entry["claim"])
    return found


def select(claims: Iterable[Claim], ids: Sequence[str] = (), papers: Sequence[str] = ()) -> tuple[Claim, ...]:
    """Claims with one of the ids or papers; all of them when both are empty. Raises UserError for an unknown one."""
    claims = tuple(claims)
    known_ids, known_papers = [c.id for c in claims], sorted({c.paper for c in claims})
    for name in ids:
        if name not in known_ids:
            raise UserError("claim", name, _near(name, known_ids))
    for name in papers:
        if name not in known_papers:
            raise UserError("paper", name, ", ".join(known_papers))
    if not ids and not papers:
        return claims
    return tuple(c for c in claims if c.id in ids or c.paper in papers)


def _near(name: str, known: Sequence[str]) -> str:
    """The most similar ids, because the whole list would not fit on a line."""
    close = difflib.get_close_matches(name, known, n=4, cutoff=0.4)
    return f"an id of the ledger ({len(known)} entries{'; near: ' + ', '.join(close) if close else ''})"


def _read(path: Path, paper: str) -> Iterator[Claim]:
    for found in entries(path, paper):
        if not isinstance(found, Claim):
            raise found[0]
        yield found


def entries(path: Path, paper: str) -> Iterator[Claim | list[UserError]]:
    """Each claim of a file, or all faults of its entry with file and line. Raises UserError for a file without claims.

    A fault of a field that an entry lacks has the entry's line.
    """
    found = _content(path).get("claim", [])
    if not (isinstance(found, list) and all(isinstance(entry, dict) for entry in found)):
        raise UserError("ledger", path.name, "a list of [[claim]]")
    for number, entry in enumerate(found):
        claim = _claim(entry, paper)
        yield claim if isinstance(claim, Claim) else [_at(error, path, number, entry) for error in claim]


def _at(error: UserError, path: Path, number: int, entry: dict[str, Any]) -> UserError:
    """The error with file and line of the field that it names."""
    predicate = entry.get("predicate")
    no_key = ("field", predicate.get("type") if isinstance(predicate, dict) else None)  # the type is a tag
    words = [word for part in error.field.split(": ")[1:] for word in re.split(r"[ .]", part)]
    inner = [word for word in words if word not in no_key]
    return located(error, path, ("claim", number, *inner))


def _content(path: Path) -> dict[str, Any]:
    if not os.path.lexists(path):
        raise UserError("ledger", path.name, ", ".join(sorted(entry.name for entry in path.parent.glob("*.toml"))))
    return read_toml(path, "ledger")


def _claim(entry: dict[str, Any], paper: str) -> Claim | list[UserError]:
    """The claim of an entry, or everything that is wrong with it."""
    owner, fields = f"claim {entry.get('id')} of {paper}: field ", Claim.__dataclass_fields__.keys() - _ELSEWHERE
    found = [
        UserError(owner + name, entry[name], ", ".join(sorted(fields))) for name in sorted(_ELSEWHERE & entry.keys())
    ]
    own = {name: value for name, value in entry.items() if name not in _ELSEWHERE}
    if isinstance(predicate := entry.get("predicate"), dict):
        try:
            own["predicate"] = _predicate(predicate, owner, f"{entry.get('id')} of {paper}")
        except UserError as error:
            found.append(error)
            del own["predicate"]
    try:
        claim = Claim(paper=paper, **own)
    except ValidationError as error:
        return found + faults(error, owner, sorted(fields))
    return found or claim


def _predicate(entry: dict[str, Any], owner: str, claim: str) -> AnyPredicate:
    """Raises UserError for an entry that is no predicate, and for a measure that no run has."""
    found = parse(entry, claim)
    if found.measure != "metric":
        try:
            reader(found.measure)
        except UserError as error:
            raise UserError(f"{owner}predicate.measure", error.value, error.allowed) from None
    return found
