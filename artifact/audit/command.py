"""``fedsharp audit``: write a folder for a paper of one's own, and check it."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from artifact.audit import folder as files
from artifact.audit import publication
from artifact.audit.check import check
from artifact.base import paths
from artifact.base.errors import UserError
from artifact.base.files import require_writable
from artifact.base.options import AS_JSON, DATA_ROOT, QUIET, Place, jobs_option, profile_option
from artifact.base.registered import registered
from artifact.papers import experiments, folders, needed_runs
from artifact.papers.folders import Audit
from artifact.runs.sweep import sweep
from artifact.runs.sweep.workers import Settings
from artifact.verdicts import ledger
from artifact.verdicts.decide import PROFILE, decide
from artifact.verdicts.ledger import Claim
from artifact.verdicts.lookup import Store


@click.group("audit", help="Write a folder for a paper of your own, and check it.")
def audit_group() -> None:
    pass


@audit_group.command("init", help="Write a commented folder: claims, tables, experiments, method, a statement.")
@click.argument("folder", type=Place())
@click.option("--key", help="Key of the paper, such as author2025.  [default: the folder's name]")
@click.option("--title", default="My method (Author et al., VENUE 2025)", help="Name of the paper.")
@click.option("--publish", is_flag=True, help="Add a workflow, a lock, CITATION, LICENSE, codecheck.yml and badges.")
def init_command(folder: Path, key: str | None, title: str, publish: bool) -> None:
    written = []
    if not (publish and (folder / "claims.toml").is_file()):
        plain = re.sub(r"[^a-z0-9]", "", os.path.basename(os.path.realpath(folder)).lower())
        written += files.write(folder, key or plain, title)
    written += publication.publish(folder) if publish else []
    for path in dict.fromkeys(written):
        click.echo(str(path))
    click.echo(f"next: python -m fedsharp audit run {folder}")


@dataclass(frozen=True)
class Decided:
    """What came of a claim.  by: the check, or the runs at a profile.  held: whether it must be the expected one.

    declared: what the check itself declares for a constant that was multiplied; empty for the claim as it stands.
    scale: of the runs, as toy or short; empty for a check.
    """

    claim: Claim
    verdict: str
    by: str
    text: str
    held: bool = True
    declared: str = ""
    scale: str = ""

    @property
    def expected(self) -> str:
        return self.declared or (self.claim.expected_empirical if self.by != "check" else self.claim.expected)

    @property
    def as_expected(self) -> bool:
        return not self.held or self.verdict == self.expected

    @property
    def kind(self) -> str:
        """``missing`` where the runs that would decide the claim are not there, else ``unexpected``."""
        return "missing" if self.verdict == "not-run" and self.by != "check" else "unexpected"

    @property
    def record(self) -> dict[str, Any]:
        record = {"id": self.claim.id, "verdict": self.verdict, "by": self.by, "text": self.text, "scale": self.scale}
        return record | {"expected": self.expected if self.held else None, "as_expected": self.as_expected}


@audit_group.command("run", help="Check a folder, train what is missing, decide its claims, build the report with it.")
@click.argument("folder", type=Place())
@profile_option(PROFILE)
@jobs_option("workers")
@click.option("--lookup", is_flag=True, help="Train nothing; decide by the runs that are there.")
@click.option("--store/--no-store", default=True, show_default=True, help="Write evidence of checks into the folder.")
@click.option("--report/--no-report", "reported", default=True, show_default=True, help="Build the report.")
@click.option("--out", type=Place(), default=Path("out/report"), show_default=True, help="Folder of the report.")
@DATA_ROOT
@QUIET
@AS_JSON
def run_command(
    folder: Path,
    profile: str,
    workers: int,
    lookup: bool,
    store: bool,
    reported: bool,
    out: Path,
    data_root: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    start = time.monotonic()
    audit = _without_faults(folder, as_json)
    claims = tuple(claim for claim in ledger.load() if claim.paper == audit.key)
    decided = _by_checks(claims, audit, store)
    if not as_json:
        _print_verdicts(decided, claims)  # before hours of training
    if not lookup and audit.experiments.is_file():
        runs = experiments.own_store(profile, audit.key)
        wanted = needed_runs.configs(audit.key, profile)
        sweep.run_missing(wanted, Settings(runs, data_root, folders.files()), workers, quiet or as_json)
    trained = _by_runs(claims, audit, profile)
    decided += trained
    if as_json:
        click.echo(json.dumps([one.record for one in decided], indent=1))
    else:
        _print_verdicts(trained, claims)
        _print_counts(decided, time.monotonic() - start)
    for one in decided:
        if not one.as_expected:
            print(f"{one.kind}: {one.claim.id}: {_told(one)} ({_place(audit, claims, one)})", file=sys.stderr)
    if reported:
        click.echo(f"report: {_report(out)}", err=as_json)
    if codes := {CODES[one.kind] for one in decided if not one.as_expected}:
        raise click.exceptions.Exit(min(codes))


#: exit codes of what keeps a verdict from being the expected one; a fault in a file has 2, as bad input everywhere
CODES = {"unexpected": 1, "missing": 3}


def _told(one: Decided) -> str:
    who = "its mutation declares" if one.declared else "the ledger expects"
    says = "says" if one.by.startswith("check") else "say"
    return f"{who} {one.expected or 'nothing yet'}, the {one.by} {says} {one.verdict}: {one.text}"


def _place(audit: Audit, claims: tuple[Claim, ...], one: Decided) -> str:
    return files.line_of_claim(audit, claims, one.claim.id)


@audit_group.command("check", help="Check every file of a folder in one pass, and train nothing.")
@click.argument("folder", type=Place())
@AS_JSON
def check_command(folder: Path, as_json: bool) -> None:
    audit = _without_faults(folder, as_json)
    claims = [claim for claim in ledger.load() if claim.paper == audit.key]
    if as_json:
        click.echo("[]")
    else:
        click.echo(f"{audit.key}: {len(claims)} claims, no fault in {folder}")


@audit_group.command("report", help="Write the page of this paper alone, from its checks and the runs that are there.")
@click.argument("folder", type=Place())
@click.option("--out", type=Place(), default=Path("site"), show_default=True, help="Folder of the page.")
def report_command(folder: Path, out: Path) -> None:
    from artifact.audit import site

    audit = _without_faults(folder, as_json=False)
    claims = tuple(claim for claim in ledger.load() if claim.paper == audit.key)
    decided = _by_checks(claims, audit, store=False) + _by_runs(claims, audit, PROFILE)
    click.echo(str(site.build(audit, claims, [one.record for one in decided if not one.declared], out)))


def _without_faults(folder: Path, as_json: bool) -> Audit:
    """The open audit of a folder. Prints every fault of its files and ends with exit code 2 where there are some."""
    audit, faults = check(folder)
    if faults and as_json:
        click.echo(json.dumps([fault.record for fault in faults], indent=1))
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        raise click.exceptions.Exit(2)
    return audit


def _by_checks(claims: Sequence[Claim], audit: Audit, store: bool) -> list[Decided]:
    """Verdicts of the claims that a check decides, and of its mutations; ``store``: evidence goes beside the runs.

    Raises UserError, with file and line, for a fault in the file of the checks.
    """
    checked = [claim for claim in claims if claim.decided_by == "checks"]
    if not checked and not audit.statements.is_file():
        return []
    runner = registered("checks")
    lines = runner.registered_in(audit.statements)
    at = {name: f" ({audit.statements}, line {line})" for name, line in lines.items()}
    evidence = folders.evidence_file(audit.key, audit.results).parent
    if store:
        require_writable(evidence)
    found = []

    def each(outcome: Any) -> None:
        if store:
            runner.store(outcome, evidence)

    for outcome in runner.run_claims(checked, each=each):
        if outcome.raised:
            place = _line_in(audit, outcome.evidence) or at[outcome.claim.id]
            allowed = f"a check that returns a verdict: {_said(outcome.evidence)}{place}"
            raise UserError("statements", outcome.claim.id, allowed)
        text = outcome.skipped or _said(outcome.evidence)
        if outcome.verdict in ("refuted", "repaired") and "refutation" not in outcome.evidence:
            text += "; no replay confirms the counterexample"
        found.append(Decided(outcome.claim, outcome.verdict, "check", text, held=outcome.skipped is None))
    sound = {one.claim.id: one.claim for one in found if one.held and one.verdict != "error"}
    declared = runner.mutations(sound)
    for job, result in runner.run_jobs(list(declared), papers=[audit.key]).items():
        by, text = f"check at scale {job.scale:g}", result.get("skipped") or _said(result["evidence"])
        text += _line_in(audit, result["evidence"])
        held = not result.get("skipped")
        for name in job.claims:
            found.append(Decided(sound[name], result["verdict"], by, text, held, declared[job]))
    return found


def _said(evidence: Any) -> str:
    """What decided a check, in one line: the error, the certificate, the instance that refutes, or the reason."""
    instance = evidence.get("counterexample")
    if isinstance(instance, dict):
        instance = "counterexample " + ", ".join(f"{name} {value}" for name, value in instance.items())
    found = (evidence.get("error"), instance, evidence.get("certificate"), evidence.get("reason"))
    return " ".join(str(next(filter(None, found), "")).split())


def _line_in(audit: Audit, evidence: Any) -> str:
    """The line of the audit's own file that an error came through."""
    own = re.escape(str(audit.statements.absolute()))
    lines = re.findall(rf'File "{own}", line (\d+)', str(evidence.get("traceback", "")))
    return f" ({audit.statements}, line {lines[-1]})" if lines else ""


def _by_runs(claims: Sequence[Claim], audit: Audit, profile: str) -> list[Decided]:
    """Verdicts of the claims that training decides: at the profile, and, where that is another, as they stand."""
    trained = [claim for claim in claims if claim.empirical]
    found = []
    for name in dict.fromkeys((PROFILE, profile)):
        store = Store(experiments.own_store(name, audit.key))
        for claim in trained:
            verdict = decide(claim, name, store)
            final = "".join(f"; provisional: {reason}" for reason in verdict.provisional)
            text, held = verdict.text + final, name == PROFILE
            found.append(Decided(claim, verdict.verdict, f"{name} runs", text, held, scale=verdict.scale))
    return found


def _report(out: Path) -> str:
    """Where the report is; an installed package has no stores and pages that it could be built from."""
    if paths.INSTALLED:
        return "none, since it is built in a checkout, from the stores and pages there"
    from artifact.report.build import build
    from artifact.report.content import Content

    return str(build(Content(), out).folder / "index.html")


def _print_verdicts(decided: Sequence[Decided], claims: Sequence[Claim]) -> None:
    width = max((len(claim.id) for claim in claims), default=0)
    for one in decided:
        mark = "ok" if one.held and one.as_expected else "--" if not one.held else "!!"
        click.echo(f"{mark} {one.claim.id.ljust(width)}  {one.verdict.ljust(14)} {one.by}: {one.text}")


def _print_counts(decided: Sequence[Decided], seconds: float) -> None:
    held = [one for one in decided if one.held]
    wrong = sum(not one.as_expected for one in held)
    claims = sum(not one.declared for one in held)
    text = f"{claims} verdicts held to what claims.toml expects, {len(held) - claims} to what their checks declare"
    missing = sum(not one.as_expected and one.kind == "missing" for one in held)
    click.echo(f"{text}, {wrong - missing} differ, {missing} lack their runs; {seconds:.0f} s")
