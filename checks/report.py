"""What the runner prints: the table of verdicts, totals per paper, and the README's generated table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from artifact.base.tables_as_text import markdown_table
from artifact.verdicts.ledger import EMPIRICAL, ON_PAPER, PAPERS, TITLES, VERDICTS, Claim
from checks.runner import Outcome
from checks.text import margin_text

COLUMNS = (("id", 26), ("title", 44), ("verdict", 13), ("expected", 13), ("margin", 9), ("seconds", 7))


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "~"


def table(outcomes: Sequence[Outcome]) -> str:
    """One line per claim; a line that differs from the ledger starts with "!"; a stated skip with "s"."""
    widths = dict(COLUMNS)
    widths["id"] = max([widths["id"], *(len(o.claim.id) for o in outcomes)])
    lines = ["  " + "  ".join(_fit(name, widths[name]) for name, _ in COLUMNS)]
    for outcome in outcomes:
        cells = {
            "id": outcome.claim.id,
            "title": outcome.claim.title,
            "verdict": outcome.verdict,
            "expected": outcome.claim.expected or "(none)",
            "margin": margin_text(outcome.margin),
            "seconds": f"{outcome.seconds:.2f}",
        }
        mark = "s" if outcome.skipped else " " if outcome.as_expected else "!"
        lines.append(f"{mark} " + "  ".join(_fit(cells[name], widths[name]) for name, _ in COLUMNS).rstrip())
    return "\n".join(lines)


def totals(outcomes: Sequence[Outcome]) -> str:
    """Counts per paper and verdict."""
    names = [v for v in (*VERDICTS, "error") if any(o.verdict == v for o in outcomes)]
    papers = [p for p in PAPERS if any(o.claim.paper == p for o in outcomes)]
    count = Counter((o.claim.paper, o.verdict) for o in outcomes)
    lines = ["paper".ljust(16) + "".join(name.rjust(max(len(name), 5) + 2) for name in names) + "  total"]
    for paper in (*papers, "all"):
        row = [sum(count[p, v] for p in (papers if paper == "all" else [paper])) for v in names]
        cells = "".join(str(n).rjust(max(len(v), 5) + 2) for n, v in zip(row, names, strict=True))
        lines.append(paper.ljust(16) + cells + str(sum(row)).rjust(7))
    return "\n".join(lines)


def beside(outcomes: Sequence[Outcome]) -> str:
    """What the stored runs say of the claims that a check decides from printed numbers; empty without such claims."""
    count = Counter(o.empirical for o in outcomes if o.empirical)
    counts = ", ".join(f"{count[name]} {name}" for name in EMPIRICAL if count[name])
    return f"the runs on {count.total()} of these claims (python -m fedsharp verdicts): {counts}" if count else ""


def apart(outcomes: Sequence[Outcome]) -> str:
    """How many of the verdicts are on sentences that no paper contains; empty where none is."""
    own = Counter(o.verdict for o in outcomes if o.claim.reading)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(own.items()))
    return f"of these the ledger's own reading, in no paper: {counts}" if own else ""


def problems(outcomes: Sequence[Outcome], unknown: Sequence[str] = ()) -> list[str]:
    """One line per error, unexpected verdict, stated skip, undrawn figure and check without a ledger entry."""
    lines = []
    for o in outcomes:
        if o.verdict == "error":
            lines.append(f"error      {o.claim.id}: {o.evidence['error']}")
        elif o.skipped:
            lines.append(f"skipped    {o.claim.id}: {o.skipped}")
        elif not o.decided_as_expected:
            lines.append(
                f"unexpected {o.claim.id}: {o.verdict}, the ledger expects {o.claim.expected or 'nothing yet'}"
            )
        elif not o.as_expected:
            expected = o.claim.expected_empirical
            lines.append(f"unexpected {o.claim.id}: the runs say {o.empirical}, the ledger expects {expected} of them")
        if o.figure and o.figure.startswith("error: "):
            lines.append(f"no figure  {o.claim.id}: {o.figure.removeprefix('error: ')}")
    lines += [f"unexpected {name}: a check is registered, the ledger has no such claim for it" for name in unknown]
    return lines


def readme(claims: Iterable[Claim], stored: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown table: papers x verdicts on paper, counted from the stored evidence files; without one "missing"."""
    checked = [claim for claim in claims if claim.decided_by == "checks"]
    claims = [claim for claim in checked if not claim.reading]
    found = {c.id: c.on_paper(stored[c.id]["verdict"]) if c.id in stored else "missing" for c in claims}
    names = [v for v in (*ON_PAPER, "missing") if v in found.values()]
    body = []
    for paper in PAPERS:
        count = Counter(found[c.id] for c in claims if c.paper == paper)
        body.append([TITLES[paper], *(str(count[v] or "") for v in names), str(sum(count.values()))])
    count = Counter(found.values())
    body.append(["all", *(str(count[v]) for v in names), str(len(claims))])
    table = "\n".join(markdown_table(["paper", *names, "total"], body))
    own = Counter(c.on_paper(stored[c.id]["verdict"]) for c in checked if c.reading and c.id in stored)
    apart = ", ".join(f"{count} {verdict}" for verdict, count in sorted(own.items()))
    decided = len(claims) - count["not-decided"] - count["missing"]
    text = f"On paper: {len(claims)} claims, of which a check decides {decided}.\n\n{table}\n"
    if not own:
        return text
    return (
        f"{text}\nCounted apart: {own.total()} questions that no paper states and this ledger asks of their numbers "
        f"({apart}).\n"
    )
