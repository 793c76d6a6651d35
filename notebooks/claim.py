"""``show("claim-id")``: decide one claim now and display its statement, verdict, evidence and figure or table."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

from artifact.base.errors import UserError
from artifact.papers import folders
from artifact.report import evidence
from artifact.report.content import Record
from artifact.report.pages.papers import statement_parts
from artifact.runs import evidence as stored_evidence
from artifact.verdicts.ledger import Claim, load, select
from checks import runner
from checks.text import margin_text
from notebooks import empirical, render
from theory.kit.verdict import Check, registry

INCHES, DPI = (7.2, 4.4), 110
SMALL = {"font.size": 9, "axes.titlesize": 9}


class CheckFailed(RuntimeError):
    """The check of a claim ended in an error, so there is nothing to show."""


@dataclass(frozen=True)
class Card:
    """What a cell displays: HTML with MathML for Jupyter and the rendered pages, a line of text elsewhere."""

    claim: Claim
    verdict: str
    parts: tuple[Markup, ...]

    def _repr_html_(self) -> str:
        return f'<div class="card">{Markup("").join(self.parts)}</div>'

    def __repr__(self) -> str:
        return f"{self.claim.id}: {self.verdict} ({self.claim.title})"


def show(claim_id: str, profile: str = "laptop", **changed: str | float) -> Card:
    """Decide a claim now and return its card, which Jupyter displays.

    Theory and arithmetic are decided by running the claim's check. What training decides is read from the stored runs;
    at the quick profile the runs that are missing for the claim's table or figure are trained first, which takes
    seconds to minutes once. profile: of that table or figure.

    changed: values in place of those of the claim's counterexample, as in ``show("fan24-thm1", rho=0.1)``. Both sides
    of the printed statement are computed at them now, exactly, and the figure is drawn from them. The verdict and all
    that follows are stored, so that moving a number takes seconds. A number is taken as it is written, a text may be a
    fraction.

    Raises UserError for an unknown id or profile and for a name that the counterexample has not, CheckFailed for a
    check that ends in an error.
    """
    (claim,) = select(_ledger(), [claim_id])
    trained = empirical.section(claim, profile)
    if claim.decided_by == "experiments":
        if changed:
            raise UserError("parameter", next(iter(changed)), f"none: runs decide {claim.id}")
        return Card(
            claim,
            trained.verdict,
            (_statement(claim), _badge(trained.verdict, claim.expected, "in training"), *trained.parts),
        )
    verdict, parts = _checked(claim, changed)
    return Card(
        claim, verdict, (_statement(claim), _badge(verdict, claim.expected, "on paper"), *parts, *trained.parts)
    )


@cache
def _ledger() -> tuple[Claim, ...]:
    return load()


@cache
def _result(claim_ids: tuple[str, ...]) -> dict[str, Any]:
    """Outcome of one check function, run once per process for all the claims that it decides."""
    return runner.execute(runner.Job(claim_ids))


def _checked(claim: Claim, changed: Mapping[str, str | float]) -> tuple[str, list[Markup]]:
    """Verdict and HTML parts of a claim that a check decides. changed: values of its instance."""
    errors = runner.import_theory((claim.paper,))
    if claim.id not in registry.checks:
        raise CheckFailed(f"{claim.id}: {errors.get(claim.paper, 'no check decides it')}")
    check = registry.checks[claim.id]
    together = tuple(name for name, other in registry.checks.items() if other.function is check.function)
    result = (_stored(claim) if changed else None) or _result(together)
    if result["verdict"] == "error":
        raise CheckFailed(f"{claim.id}: {result['evidence']['error']}")
    record = Record(claim, result["verdict"], result["evidence"], result.get("margin"), result.get("repaired"))
    parts = [render.paragraphs(record.repaired, "Corrected statement")] if record.repaired else []
    here = _at(record, check, changed) if changed else record
    if changed:
        parts.append(_sides(here, check, changed))
    if check.figure is not None:
        parts.append(_drawn(here, check))
    if changed:
        own = ", ".join(f"{name} = {record.evidence['counterexample'][name]}" for name in changed)
        parts.append(render.paragraphs(f"All that follows is stored and has {own}.", "The project's instance"))
    parts += [render.part(piece, claim.id) for piece in evidence.parts(record)]
    return record.verdict, [*parts, _measure(record, result.get("seconds"))]


def _stored(claim: Claim) -> Mapping[str, Any] | None:
    """What the last run of a claim's check stored; None where nothing is."""
    return stored_evidence.find(folders.evidence_file(claim.paper, runner.STORE.parent), claim.id)


def _at(record: Record, check: Check, changed: Mapping[str, str | float]) -> Record:
    """The record with other values in its counterexample. Raises UserError for a name that it has not."""
    example = record.evidence.get("counterexample")
    known = example if check.replay and isinstance(example, Mapping) else {}
    for name, value in changed.items():
        if name not in known or not isinstance(known[name], (str, int, float)):
            plain = [one for one, old in known.items() if isinstance(old, (str, int, float))]
            raise UserError("parameter", name, ", ".join(plain) or f"none: {record.claim.id} has no instance to change")
        try:
            Fraction(str(value))
        except ValueError:
            raise UserError(name, value, "a number, or a fraction such as '1/3'") from None
    return replace(record, evidence={**record.evidence, "counterexample": {**known, **_texts(changed)}})


def _texts(changed: Mapping[str, str | float]) -> dict[str, str]:
    """As evidence holds numbers: exact, as written."""
    return {name: str(Fraction(str(value))) for name, value in changed.items()}


def _sides(record: Record, check: Check, changed: Mapping[str, str | float]) -> Markup:
    """Both sides of the printed statement at the changed instance, and the assumptions that it breaks."""
    assert check.replay is not None  # _at has looked
    try:
        found = check.replay(record.evidence)
    except (ValueError, ZeroDivisionError, ArithmeticError, LookupError) as error:
        raise UserError("instance", ", ".join(changed), f"one at which both sides can be computed ({error})") from None
    at = ", ".join(f"{name} = {value}" for name, value in changed.items())
    broken = [name for name, met in found.assumptions.items() if not met]
    said = "fails" if found.violated else "holds"
    sides = f"{float(found.left):.6g} {found.relation} {float(found.right):.6g}"
    met = f" Not met there: {'; '.join(broken)}." if broken else " Every assumption is met."
    return render.paragraphs(f"At {at} the printed statement {said}: {sides}.{met}", "Your instance")


def _statement(claim: Claim) -> Markup:
    """The statement; a setting that many claims repeat is folded away."""
    setting, rest = statement_parts(claim.statement)
    shown = render.paragraphs(rest, "Statement")
    before = render.folded("Setting", render.paragraphs(setting)) if setting else Markup("")
    return Markup('<div class="statement">{}{}</div>').format(before, shown)


def _badge(verdict: str, expected: str, where: str) -> Markup:
    """The verdict in words; a verdict that the ledger does not expect says so."""
    against = f" The ledger expects {expected}." if expected not in ("", verdict) else ""
    return Markup('<p class="verdict {}"><strong>Verdict {}: {}</strong>, that is, {}.{}</p>').format(
        verdict, where, verdict, evidence.MEANINGS[verdict], against
    )


def _measure(record: Record, seconds: float | None) -> Markup:
    """Margin, time and command of a check in a line; seconds: None for what an earlier run has stored."""
    left = "" if record.margin is None else f"Left over right side at the worst point: {margin_text(record.margin)}. "
    when = "Stored by an earlier run" if seconds is None else f"Decided in {seconds:.2f} s"
    command = f"python -m checks --claim {record.claim.id}"
    return Markup('<p class="measure">{}{}; the same by <code>{}</code>.</p>').format(left, when, command)


def _drawn(record: Record, check: Check) -> Markup:
    """The check's own figure from the evidence that was just found."""
    with matplotlib.rc_context(SMALL):
        figure = Figure(figsize=INCHES, layout="constrained")
        check.figure(figure.subplots(), record.evidence)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=DPI)
    claim = record.claim
    described = f"Figure of {claim.id}: {claim.title}. Verdict {record.verdict}; described in the text above."
    return render.image(content.getvalue(), described)
