"""How a verdict was decided, from what its evidence contains: nobody types a label.

A certificate consists of parts that a program decided (``theory.kit.verdict.DECIDED``: proof objects, identities,
solvers, exact arithmetic) and of steps in words. The statement of a claim is

* ``machine`` where no step is in words and proof objects carry it;
* ``computed`` where no step is in words, and identities, exact arithmetic or a solver carry it: that they give the
  statement is for a reader to see, no proof object says so;
* ``derived`` where steps are in words, which the evidence lists;
* ``trivial`` where every decided part is an identity of one expression with itself and nothing else is said;
* ``tested`` where a search, a run or machine numbers decide;
* ``arithmetic`` where a paper's printed numbers are compared with numbers that are computed from them;
* ``stated`` where the file of an audit gives the numbers of a search that no program of this process made.

A refutation has a label of its own: ``machine`` where its replay is exact (or has 50 digits) and every assumption was
tested, ``derived`` where the instance meets some by construction, ``tested`` in machine numbers. A repaired claim
counts by its corrected statement, a refuted one by its refutation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import sympy as sp

from artifact.base.tables_as_text import markdown_table
from artifact.verdicts.ledger import ON_PAPER, Claim
from theory.kit.search import COUNTED
from theory.kit.verdict import BY_CONSTRUCTION

LABELS = ("machine", "computed", "derived", "trivial", "tested", "arithmetic", "stated")
#: what a name of two sides does not hold: a word that reasons, or an inequality
REASONING = re.compile(
    r"\b(by|so|hence|thus|since|because|therefore|as|any|every|each|all|if|iff|only|for|where|no|never|always|"
    r"holds?|gives?|implies|attains?|agrees?|same|induction)\b|[<>]",
    re.IGNORECASE,
)
SEPARATOR = re.compile(r";|\s\|\s|\.\s(?=[A-Z\x00])|(?<=\x00)\.\s")
PART = "\x00"
PROOF = "proof object"


def split(certificate: str, decided: Mapping[str, tuple[str, bool]]) -> dict[str, Any]:
    """by_program: how -> number of parts; same: how many are one expression on both sides; in_words: the other steps.

    decided: text -> (how, same), as in ``DECIDED``.
    """
    ways: Counter[str] = Counter()
    same = 0
    for text in sorted((text for text in decided if text in certificate), key=len, reverse=True):
        how, one = decided[text]
        certificate, count = re.subn(rf"(?<!\w){re.escape(text)}(?!\w)", PART, certificate)  # 0: a longer part holds it
        ways += Counter({how: count})
        same += count * one
    words = []
    for fragment in _fragments(certificate):
        before, *after = fragment.split(PART)
        name = after and before.rstrip().endswith(":") and not REASONING.search(before)
        rest = " ".join(["" if name else before, *after])
        rest = rest.strip(" .,:;()|=>0") if after else rest
        if re.search("[A-Za-z]" if after else "[A-Za-z0-9]", rest):  # a formula that nobody decided is words, too
            words.append(" ".join(fragment.replace(PART, "[...]").split()))
    return {"by_program": dict(sorted(ways.items())), "same": same, "in_words": words}


def _fragments(certificate: str) -> Iterator[str]:
    """Steps between separators; one inside brackets, as in l(w; z), separates nothing."""
    begun = ""
    for fragment in SEPARATOR.split(certificate):
        begun = f"{begun};{fragment}" if begun else fragment
        if begun.count("(") <= begun.count(")"):
            yield begun
            begun = ""
    if begun:
        yield begun


def of_certificate(certificate: str, decided: Mapping[str, tuple[str, bool]]) -> tuple[str, dict[str, Any]]:
    """Label of a statement that a certificate backs, and its parts."""
    parts = split(certificate, decided)
    if parts["in_words"]:
        return "derived", parts
    if parts["same"] == sum(parts["by_program"].values()):
        return "trivial", parts
    return ("machine" if PROOF in parts["by_program"] else "computed"), parts


def of_refutation(sides: Sequence[Any], assumptions: Mapping[str, str]) -> str:
    """Label of a replayed counterexample; assumptions as ``runner.contest`` gives them."""
    exact = (int, Fraction, mpmath.mpf, mpmath.mp.clone().mpf)
    if not all(isinstance(side, exact) or type(side).__name__ == "mpf" or _exact(side) for side in sides):
        return "tested"
    return "derived" if BY_CONSTRUCTION in assumptions.values() else "machine"


def _exact(side: Any) -> bool:
    """A sympy number or a tuple of exact numbers."""
    if isinstance(side, tuple | list):
        return all(isinstance(entry, int | Fraction) or _exact(entry) for entry in side)
    return isinstance(side, sp.Basic) and not side.has(sp.Float)


def labelled(
    verdict: str, evidence: Mapping[str, Any], decided: Mapping[str, tuple[str, bool]], typed: bool = False
) -> dict[str, Any]:
    """The evidence's entries ``label`` and ``parts`` of a verdict; empty for one that was not run.

    evidence: with the refutation's label, where there is one. typed: of an audit, whose author may have written it.
    """
    backing = evidence.get("repair", {}) if verdict == "repaired" else evidence
    if verdict in ("proved", "repaired") and backing.get("certificate"):
        label, parts = of_certificate(backing["certificate"], decided)
        return {"label": label, "parts": parts}
    if verdict == "refuted":
        return {"label": evidence.get("refutation", "tested")}
    if verdict == "vacuous":
        return {"label": "derived"}
    if verdict in ("consistent", "inconsistent"):
        return {"label": "arithmetic"}
    if verdict == "not-run":
        return {}
    counted_here = (evidence.get("evaluations"), evidence.get("worst_ratio")) in COUNTED
    return {"label": "stated" if typed and verdict == "holds" and not counted_here else "tested"}


# ------------------------------------------------------------ what is printed


def counted(claims: Iterable[Claim], stored: Mapping[str, Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """(verdict, label) -> number of the claims that a check decides; without evidence or a label "none"."""
    found: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        if claim.decided_by == "checks":
            record = stored.get(claim.id, {})
            verdict = claim.on_paper(record["verdict"]) if record else "missing"
            found[verdict, record.get("evidence", {}).get("label", "none")] += 1
    return found


def table(claims: Iterable[Claim], stored: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown: verdicts x labels, refutations below."""
    claims = list(claims)
    found = counted(claims, stored)
    names = [name for name in (*LABELS, "none") if any(label == name for _, label in found)]
    verdicts = [verdict for verdict in (*ON_PAPER, "missing") if any(name == verdict for name, _ in found)]
    rows = [[v, *(str(found[v, n] or "") for n in names), str(sum(found[v, n] for n in names))] for v in verdicts]
    rows.append(["all", *(str(sum(found[v, n] for v in verdicts)) for n in names), str(found.total())])
    refuted = Counter(
        stored[c.id]["evidence"]["refutation"]
        for c in claims
        if c.id in stored and "refutation" in stored[c.id]["evidence"]
    )
    rows.append(["counterexamples", *(str(refuted[n] or "") for n in names), str(refuted.total())])
    return "\n".join(markdown_table(["verdict", *names, "total"], rows))


def listing(claims: Iterable[Claim], stored: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One line per claim that a check decides: label, verdict, id, number of steps in words."""
    lines = []
    for claim in claims:
        if claim.decided_by != "checks" or claim.id not in stored:
            continue
        record = stored[claim.id]
        evidence = record["evidence"]
        words = len(evidence.get("parts", {}).get("in_words", ()))
        note = f"  {words} steps in words" if words else ""
        if "refutation" in evidence:
            note += f"  counterexample {evidence['refutation']}"
        lines.append(f"{evidence.get('label', 'none'):10} {record['verdict']:12} {claim.id:26}{note}".rstrip())
    return sorted(lines)
