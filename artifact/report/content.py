"""What the report shows, read from the ledger, the stored evidence and the stores; nothing is trained here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from artifact.base import paths
from artifact.base.errors import UserError
from artifact.papers import experiments, folders
from artifact.papers.declared import read_csv, read_toml
from artifact.report import SHOWN, places
from artifact.report.sections import Section, sections
from artifact.runs import evidence
from artifact.runs.archive import finished
from artifact.runs.lookup import finished_runs, stores
from artifact.runs.store import Run
from artifact.verdicts import findings as declared
from artifact.verdicts import ledger
from artifact.verdicts.decide import decide
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import Store, open_store

ROOT = paths.ROOT
TEXT = Path(__file__).resolve().parent / "text"


@dataclass(frozen=True)
class Record:
    """A claim with its verdict.

    evidence: as the checks stored it. margin: largest left/right, or None. repaired: corrected statement, TeX.
    command: what decides the claim again. versions: of what decided it. experiment: what the stored runs say of it at
    the report's profile (``verdicts.decide.Verdict.record``), which is the verdict where experiments decide it and
    stands beside it otherwise.
    """

    claim: Claim
    verdict: str
    evidence: Mapping[str, Any]
    margin: float | None = None
    repaired: str | None = None
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    experiment: Mapping[str, Any] | None = None
    page: str = ""

    @property
    def link(self) -> str:
        return f"{self.page}#{self.claim.id}"

    @property
    def on_paper(self) -> str:
        """What a check says, as one of ``ledger.ON_PAPER``; empty where none has a say."""
        return self.claim.on_paper(self.verdict)

    @property
    def in_training(self) -> str:
        """What the stored runs say; empty where they have no say."""
        return self.experiment["verdict"] if self.experiment else ""

    def counted(self, name: str) -> str:
        """The verdict "on_paper" or "in_training" as counts take it: empty for a sentence that no paper contains."""
        return "" if self.claim.reading else str(getattr(self, name))

    @property
    def asked(self) -> str:
        """Who asks, as counts and filters name it: a paper of the ledger, the ledger itself, or an audit's folder."""
        if self.claim.paper in folders.AUDITS:
            return "by an audit's ledger" if self.claim.reading else "by an audit"
        return "by the ledger" if self.claim.reading else "by a paper"

    @property
    def provisional(self) -> bool:
        """Whether the verdict in training is not final, by the rules of docs/protocol.md."""
        return bool(self.experiment and self.experiment["provisional"])


@dataclass(frozen=True)
class Finding:
    """One entry of ``claims/findings.toml``; the first claim's statement is shown, ``picture`` names the figure.

    numbers: (what it is, stored value, record that holds it or None). trained: whether it is about what the stored runs
    say of its claims.
    """

    title: str
    records: tuple[Record, ...]
    meaning: str
    picture: str
    numbers: tuple[tuple[str, Any, Record | None], ...] = ()
    trained: bool = False


@dataclass(frozen=True)
class Reply:
    """An author's answer, shown as it stands. about: ids of claims or discrepancies. by: who, when and where."""

    about: tuple[str, ...]
    by: str
    text: str


@dataclass(frozen=True)
class Counts:
    """How many of the statements that the ledger's papers make; every page and README take their numbers from here.

    on_paper, in_training: verdict -> statements. weights: what refuted and repaired statements change in their paper ->
    statements (``ledger.WEIGHTS``). scales: the largest scale that has runs -> statements.
    provisional: of the verdicts in training. readings: questions that no
    paper states, which are in none of these. audits: title of an audit -> its claims, in none either.
    """

    statements: int
    on_paper: Counter[str]
    in_training: Counter[str]
    weights: Counter[str]
    scales: Counter[str]
    provisional: int
    readings: int
    audits: Mapping[str, int]

    @property
    def decided(self) -> int:
        """Statements that a check decides on paper."""
        return self.on_paper.total() - self.on_paper["not-decided"]

    @property
    def both(self) -> int:
        """Statements that a program decides on paper and that training is asked about, too."""
        return self.on_paper.total() + self.in_training.total() - self.statements

    @property
    def changed(self) -> int:
        """Printed statements that need a change; what only reads more into the text than it says is left out."""
        return self.weights.total() - self.weights["reading"]

    @property
    def judged(self) -> int:
        """Statements that stored runs judge, decisively or not."""
        return self.in_training.total() - self.in_training["not-run"]


@dataclass(frozen=True)
class Content:
    """Everything that the pages are made of.

    root: repository. profile: shown first where several were run. stores: profile -> folder of runs.
    drawn: folder of figures that ``fedsharp figure`` and ``checks --draw`` have made.
    """

    root: Path = ROOT
    profile: str = "laptop"
    stores: Mapping[str, Path] = field(default_factory=lambda: dict(experiments.STORES))
    drawn: Path = Path("out/figures")
    #: paper -> claim id -> what its check stored, of the papers that were asked for
    _evidence: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def records(self) -> dict[str, Record]:
        """Claim id -> what is known of the claim, in ledger order."""
        page = {id: section.page for section in self.sections for id in section.claims}
        return {id: replace(record, page=page[id]) for id, record in self.decided.items()}

    @cached_property
    def sections(self) -> list[Section]:
        """The pages of the papers, each with the claims on it."""
        return sections({id: record.claim for id, record in self.decided.items()})

    @cached_property
    def decided(self) -> dict[str, Record]:
        """Claim id -> what is known of the claim, before it has a page."""
        return {claim.id: self._record(claim) for claim in ledger.load(folder=self.root / "claims")}

    def counts(self) -> Counts:
        """Numbers of claims by verdict, weight and scale."""
        records = self.decided.values()
        own = [record for record in records if record.asked == "by a paper"]
        named = [folders.TITLES[record.claim.paper] for record in records if record.claim.paper in folders.AUDITS]
        return Counts(
            statements=len(own),
            on_paper=Counter(record.on_paper for record in own if record.on_paper),
            in_training=Counter(record.in_training for record in own if record.in_training),
            weights=Counter(r.claim.weight for r in own if r.on_paper in ("refuted", "repaired")),
            scales=Counter(r.experiment["scale"] for r in own if r.experiment and r.experiment["scale"]),
            provisional=sum(record.provisional for record in own),
            readings=sum(record.asked == "by the ledger" for record in records),
            audits=Counter(named),
        )

    def _stored(self, claim: Claim) -> dict[str, Any]:
        """What a check stored of a claim; empty where it stored nothing."""
        if claim.paper not in self._evidence:
            path = folders.evidence_file(claim.paper, self.root / "results")
            self._evidence[claim.paper] = evidence.read(path)
        return self._evidence[claim.paper].get(claim.id, {})

    def of_paper(self, paper: str) -> list[Record]:
        return [record for record in self.records.values() if record.claim.paper == paper]

    def _record(self, claim: Claim) -> Record:
        command = folders.checked_by(claim.paper, claim.id)
        experiment = self._experiment(claim)
        stored = self._stored(claim)
        record = Record(claim, "not-run", {"reason": "no verdict is stored; run the command below"}, command=command)
        if stored:
            names = ("verdict", "evidence", "margin", "repaired", "command", "versions")
            record = replace(record, **{name: stored[name] for name in names})
        if experiment is None:
            return record
        if claim.decided_by == "experiments":
            record = replace(record, verdict=experiment["verdict"], evidence={}, margin=None)
            record = replace(record, command=experiment["command"] or command)
        return replace(record, experiment=experiment)

    def _experiment(self, claim: Claim) -> dict[str, Any] | None:
        """What the stored runs say of a claim at the chosen profile; None where they have no say."""
        return decide(claim, self.profile, self._store).record if claim.empirical else None

    @cached_property
    def _store(self) -> Store:
        """The chosen profile's runs as verdicts read them."""
        return open_store(self.profile, self.root / self.stores[self.profile])

    @cached_property
    def findings(self) -> list[Finding]:
        """Raises UserError for an entry that names an unknown claim or lacks a field."""
        return [self._finding(entry) for entry in declared.load(self.root / "claims" / "findings.toml")]

    def _finding(self, entry: declared.Finding) -> Finding:
        unknown = [name for name in (*entry.claims, *(f.claim for f in entry.facts)) if name not in self.records]
        if unknown:
            raise UserError("findings.toml", unknown[0], "ids of the ledger")
        records = tuple(self.records[name] for name in entry.claims)
        facts = [(f.label, f.value(self.records[f.claim].evidence), self.records[f.claim]) for f in entry.facts]
        measured = [(label, value, None) for label, value in entry.measured(self.root)]
        numbers = (*facts, *measured)
        return Finding(entry.title, records, entry.meaning, entry.picture, numbers, bool(entry.numbers))

    @cached_property
    def replies(self) -> dict[str, list[Reply]]:
        """Id of a claim or discrepancy -> the authors' answers about it, of ``claims/replies.toml``.

        Raises UserError for an entry that lacks a field, or is about nothing that the report shows.
        """
        found: dict[str, list[Reply]] = {}
        known = {*self.records, *(row["id"] for row in self.discrepancies)}
        for entry in read_toml(self.root / "claims" / "replies.toml", "replies").get("reply", []):
            if not isinstance(entry, dict) or set(entry) != {"about", "by", "text"} or not entry["about"]:
                raise UserError("replies.toml", str(entry)[:80], "[[reply]] with the fields about, by and text")
            for id in entry["about"]:
                if id not in known:
                    raise UserError("replies.toml: about", id, "ids of claims and of discrepancies")
                found.setdefault(id, []).append(Reply(tuple(entry["about"]), entry["by"], entry["text"]))
        return found

    @cached_property
    def runs(self) -> list[tuple[str, Run]]:
        """(store's name, run) of every finished run at the profiles that are shown, by store and key."""
        named = dict.fromkeys(self.stores[profile] for profile in SHOWN if profile in self.stores)
        places = {place: str(store) for store in named for place in stores(self.root / store)}
        return [(store, run) for place, store in places.items() for run in finished(place) if run.intact]

    @cached_property
    def audit_runs(self) -> int:
        """How many of them lie in open audits' own stores, which the counts of ``docs/`` leave out."""
        own = {self.root / store for store in self.stores.values()}
        return sum(run.folder.parent not in own for _, run in self.runs)

    @cached_property
    def miniatures(self) -> list[Run]:
        """Finished runs of the quick profile, which test the program."""
        folder = self.stores.get("quick")
        return [run for run in finished(self.root / folder) if run.intact] if folder else []

    @cached_property
    def finished(self) -> dict[str, Mapping[str, list[Run]]]:
        """Profile -> finished runs by what they are."""
        found = {folder: finished_runs(self.root / folder) for folder in set(self.stores.values())}
        return {profile: found[folder] for profile, folder in self.stores.items()}

    @property
    def profiles(self) -> list[str]:
        """The profiles that are shown, the chosen one first."""
        return [self.profile, *(p for p in SHOWN if p != self.profile)]

    @cached_property
    def discrepancies(self) -> list[dict[str, str]]:
        return read_csv(self.root / "claims" / "discrepancies.csv", ("id", "kind", "severity", "differs"))

    @cached_property
    def code_lines(self) -> dict[str, list[dict[str, str]]]:
        """Id of a discrepancy -> files and lines of released code, each with its ``address``."""
        found: dict[str, list[dict[str, str]]] = {}
        fields = ("id", "repository", "commit", "file", "lines")
        for row in read_csv(self.root / "claims" / "code_lines.csv", fields):
            found.setdefault(row["id"], []).append({**row, "address": places.address(row)})
        return found

    @cached_property
    def methods(self) -> dict[str, Any]:
        return read_toml(TEXT / "methods.toml", "methods")["method"]

    @cached_property
    def glossary(self) -> list[dict[str, str]]:
        return read_toml(TEXT / "glossary.toml", "glossary")["term"]
